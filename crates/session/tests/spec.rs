//! Runs the scripts in the pages of `tests/spec`, `docs/guides` and `docs/reference`, and compares
//! their answers with the pages.
//!
//! Each page has one database. A block `datalog` is a script; scripts run in the order of the page.
//! A block `result` or `error` after it is the expected answer; a block `parameters` before it
//! gives values to its parameters, one `$name = expression` per line. A block with a path after its
//! kind, `csv /data/people.csv`, is a file that scripts read. With `UPDATE_SPEC=1` the answers are
//! written into the pages: read them before you commit them.
#![allow(clippy::disallowed_methods, reason = "the pages are the test's own files")]

mod pages;

use env::Env;
use kv::{Kv, KvOptions};
use pages::{blocks, pages};
use std::path::Path;
use std::sync::Arc;
use store::Store;

/// A store in memory.
fn in_memory(env: &Arc<dyn Env>) -> Arc<dyn Store> {
    Arc::new(Kv::open(Arc::clone(env), Path::new("/memory"), KvOptions::default()).unwrap())
}

#[track_caller]
fn check(folder: &str) {
    pages::check(folder, &in_memory, &[]);
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

/// Not run by examples in the reference: a Parquet file is not text.
const NOT_RUN: &[&str] = &["ParquetReader"];

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
