//! Runs the scripts in the pages of `tests/spec`, `docs/guides` and `docs/reference`, and compares
//! their answers with the pages.
//!
//! Each page has one database. A block `datalog` is a script; scripts run in the order of the page.
//! A block `result` or `error` after it is the expected answer; a block `parameters` before it
//! gives values to its parameters, one `$name = expression` per line. A block with a path after its
//! kind, `csv /data/people.csv`, is a file that scripts read. With `UPDATE_SPEC=1` the answers are
//! written into the pages: read them before you commit them.
#![allow(clippy::disallowed_methods, reason = "the pages are the test's own files")]

use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use quipu_session::{Engine, Output, Parameters};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An engine on a store in memory, with the page's files.
fn engine(blocks: &[Block<'_>]) -> Engine {
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
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    Engine::new(Arc::new(store), env, 1 << 30)
}

/// A fenced block of a page.
struct Block<'p> {
    kind: &'p str,
    text: String,
    /// Number of its first line of text, from 0, and of the line after the last.
    lines: std::ops::Range<usize>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
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

fn shown(output: &Output) -> String {
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
fn run(page: &str, help_rows: Option<usize>) -> (String, Vec<String>) {
    let blocks = blocks(page);
    let engine = engine(&blocks);
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

fn pages(folder: &str) -> Vec<PathBuf> {
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

#[track_caller]
fn check(folder: &str) {
    let mut wrong = Vec::new();
    let mut scripts = 0;
    for path in pages(folder) {
        let page = std::fs::read_to_string(&path).unwrap();
        scripts += blocks(&page).iter().filter(|block| block.kind == "datalog").count();
        let (answered, differences) = run(&page, None);
        let (_, helped) = run(&page, Some(1));
        assert_eq!(
            helped,
            differences,
            "{}: several threads answer something else",
            path.display()
        );
        if std::env::var_os("UPDATE_SPEC").is_some() {
            std::fs::write(&path, answered).unwrap();
        }
        wrong.extend(differences.into_iter().map(|one| format!("{}: {one}", path.display())));
    }
    assert!(scripts > 0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_language_is_what_its_specification_says() {
    check("tests/spec");
}

#[test]
fn the_guides_say_what_happens() {
    check("docs/guides");
}

#[test]
fn the_reference_says_what_happens() {
    check("docs/reference");
}

/// The text of a reference page.
fn reference(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    std::fs::read_to_string(&path).unwrap()
}

#[test]
fn every_function_and_aggregate_has_its_entry_with_an_example() {
    let words = quipu_session::words();
    for (page, names) in [("functions.md", words.functions), ("aggregates.md", words.aggregates)] {
        let text = reference(page);
        let entries: Vec<&str> = text.split("\n### `").skip(1).collect();
        for name in &names {
            let entry = entries.iter().find(|entry| entry.split('(').next() == Some(name));
            let entry = entry.unwrap_or_else(|| panic!("{page} has no entry for {name}"));
            let example = blocks(entry).into_iter().find(|block| block.kind == "datalog");
            let example = example.unwrap_or_else(|| panic!("{page}: {name} has no example"));
            assert!(!example.text.is_empty());
        }
        let unknown = entries.iter().find(|entry| {
            let name = entry.split('(').next().unwrap_or_default();
            !names.contains(&name)
        });
        assert_eq!(unknown, None, "{page}");
    }
}

/// Not run by examples in the reference: what is not there yet, and a Parquet file is not text.
const NOT_RUN: &[&str] = &["::hnsw", "::lsh", "ParquetReader"];

/// The scripts of a page.
fn scripts(page: &str) -> String {
    let scripts = blocks(page).into_iter().filter(|block| block.kind == "datalog");
    scripts.map(|block| block.text).collect()
}

#[test]
fn every_word_of_the_language_is_explained_and_run() {
    let words = quipu_session::words();
    let language = reference("language.md");
    let names = |sign: &str, names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("{sign}{name}")).collect()
    };
    let all =
        [names("::", &words.system_ops), names(":", &words.options), names("%", &words.statements)];
    let scripts: String = pages("docs/reference")
        .iter()
        .map(|page| scripts(&std::fs::read_to_string(page).unwrap()))
        .collect();
    for word in all.concat() {
        assert!(language.contains(&word), "{word}");
        assert!(NOT_RUN.contains(&word.as_str()) || scripts.contains(&word), "{word} is never run");
    }
    let algorithms = reference("algorithms.md");
    for name in &words.fixed_rules {
        assert!(algorithms.contains(&format!("`{name}`")), "{name}");
        let is_run = NOT_RUN.contains(&name.as_str()) || scripts.contains(&format!("{name}("));
        assert!(is_run, "{name} is never run");
    }
}
