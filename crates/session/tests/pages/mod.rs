//! Runs the scripts of pages and compares their answers with the pages. Tests of other crates
//! include this file, to run the same pages on other engines.
#![allow(clippy::disallowed_methods, reason = "the pages are the test's own files")]

use env::{Env, MemoryEnv};
use quipu_session::{Engine, Parameters, QueryResult};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Store;

/// Makes the store of a page.
pub(crate) type NewStore<'a> = &'a dyn Fn(&Arc<dyn Env>) -> Arc<dyn Store>;

/// An engine on a new store, with the page's files.
fn engine(blocks: &[Block<'_>], new_store: NewStore<'_>) -> Engine {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(2));
    for block in blocks {
        if let Some((_, path)) = block.kind.split_once(' ') {
            let path = Path::new(path);
            env.create_folder(path.parent().unwrap()).unwrap();
            let mut file = env.create(path).unwrap();
            file.append(block.text.as_bytes()).unwrap();
            file.flush().unwrap();
        }
    }
    Engine::new(new_store(&env), env, 1 << 30)
}

/// A fenced block of a page.
pub(crate) struct Block<'p> {
    pub(crate) kind: &'p str,
    pub(crate) text: String,
    /// Number of its first line of text, from 0, and of the line after the last.
    lines: std::ops::Range<usize>,
}

pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (number, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => {
                open = Some(Block { kind, text: String::new(), lines: number + 1..number + 1 });
            }
            (Some(block), Some(_)) => {
                block.lines.end = number;
                found.extend(open.take());
            }
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

fn shown(output: &QueryResult) -> String {
    let mut text = output.headers.join(" | ");
    for row in 0..output.rows {
        let values: Vec<String> = output.row(row).iter().map(ToString::to_string).collect();
        write!(text, "\n{}", values.join(" | ")).unwrap();
    }
    text.push('\n');
    text
}

/// Values of a block `parameters`.
fn parameters(engine: &Engine, text: &str) -> Parameters {
    let value = |line: &str| {
        let (name, expression) = line.strip_prefix('$')?.split_once(" = ")?;
        let answer = engine.run(&format!("?[v] := v = {expression}"), &Parameters::new()).ok()?;
        Some((name.to_owned(), answer.row(0).first()?.clone()))
    };
    text.lines().map(|line| value(line).unwrap_or_else(|| panic!("no parameter: {line}"))).collect()
}

/// Runs a page; returns it with the actual answers, and the differences. Workers help after
/// `help_rows` rows.
fn run(page: &str, help_rows: Option<usize>, new_store: NewStore<'_>) -> (String, Vec<String>) {
    let blocks = blocks(page);
    let engine = engine(&blocks, new_store);
    if let Some(rows) = help_rows {
        engine.set_parallel_rows(rows);
    }
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let mut wrong = Vec::new();
    let mut answers = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        if block.kind != "datalog" {
            continue;
        }
        let before = i.checked_sub(1).and_then(|before| blocks.get(before));
        let given = before.filter(|block| block.kind == "parameters");
        let given = given.map_or_else(Parameters::new, |block| parameters(&engine, &block.text));
        let answer = engine.run(&block.text, &given);
        let (kind, answer) = match &answer {
            Ok(output) => ("result", shown(output)),
            Err(error) => ("error", format!("{}\n", error.render(&block.text))),
        };
        let want = blocks.get(i + 1).filter(|next| ["result", "error"].contains(&next.kind));
        match want {
            None if kind == "result" => {}
            None => wrong.push(format!("line {}: {answer}", block.lines.start)),
            Some(want) => {
                if want.kind != kind || want.text != answer {
                    wrong.push(format!(
                        "line {}: {kind} instead of {}\n{answer}instead of\n{}",
                        want.lines.start, want.kind, want.text
                    ));
                }
                answers.push((want.lines.clone(), kind, answer));
            }
        }
    }
    for (range, kind, answer) in answers.into_iter().rev() {
        lines[range.start - 1] = format!("```{kind}");
        lines.splice(range, answer.lines().map(str::to_owned));
    }
    let mut page = lines.join("\n");
    page.push('\n');
    (page, wrong)
}

/// The pages of a folder of the repository.
pub(crate) fn pages(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut pages: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    assert!(!pages.is_empty(), "no pages in {}", folder.display());
    pages
}

/// Runs the pages of a folder, except some scripts: a page's name and a part of the script, whose
/// answers may differ.
#[track_caller]
pub(crate) fn check(folder: &str, new_store: NewStore<'_>, differ: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    let mut scripts = 0;
    for path in pages(folder) {
        let page = std::fs::read_to_string(&path).unwrap();
        scripts += blocks(&page).iter().filter(|block| block.kind == "datalog").count();
        let (answered, differences) = run(&page, None, new_store);
        let (_, helped) = run(&page, Some(1), new_store);
        assert_eq!(
            helped,
            differences,
            "{}: several threads answer something else",
            path.display()
        );
        if std::env::var_os("UPDATE_SPEC").is_some() {
            std::fs::write(&path, answered).unwrap();
        }
        let name = path.file_name().unwrap_or_default();
        let mut left = differences;
        for (_, part) in differ.iter().filter(|(page, _)| name == *page) {
            let before = left.len();
            left.retain(|one| !one.contains(part));
            assert!(left.len() < before, "{}: {part:?} does not differ", path.display());
        }
        wrong.extend(left.into_iter().map(|one| format!("{}: {one}", path.display())));
    }
    assert!(scripts > 0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
