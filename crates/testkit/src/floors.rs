//! The floors of a crate, which documents call layers: which of its modules may import which.
//! `tests/floors.rs` of `exec` and of `session` call [`floor_problems`].
//!
//! A crate lists its modules in the doc comment of `lib.rs`, of a program without one that of
//! `main.rs`, below a heading `# Floors`, in a numbered list from bottom to top. The names of an
//! item are in backticks before its first colon:
//!
//! ```text
//! //! # Floors
//! //! 1. `error`, `limits`: what everything else uses.
//! //! 2. `table`, `sink::set`: sets of rows.
//! ```
//!
//! A module may import from modules that are named before it, on its own floor or below. So there
//! are no cycles. A name means the module and its inner modules, except inner modules that the list
//! names too: `sink::set` above is a module of its own, whatever floor `sink` is on.
//!
//! # Input
//! Paths that begin with `crate::` or `super::`, in `use` lines and elsewhere, outside of comments
//! and of modules for tests. Methods that are called without naming a path are not seen.

#![allow(clippy::disallowed_methods)] // It reads source files, on the machine that tests run on.

use std::fs;
use std::path::Path;

/// Beginnings of paths inside a crate. Put together here, so that this file does not contain them
/// outside of imports.
const CRATE: &str = concat!("crate", "::");
const SUPER: &str = concat!("super", "::");

/// A module of a crate, as the names on the way to it.
type ModulePath = Vec<String>;

/// The upward imports of a crate, a line each. `src` is the folder of its `lib.rs` or `main.rs`.
///
/// # Panics
/// If the files cannot be read, or have no list of floors.
#[must_use]
pub fn floor_problems(src: &Path) -> Vec<String> {
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().find(|at| at.exists());
    let root = root.expect("a crate has a lib.rs or a main.rs");
    let floors = floors_of(&fs::read_to_string(&root).expect("a file can be read"));
    assert!(!floors.is_empty(), "{} has no list below a heading `# Floors`", root.display());
    let mut files = Vec::new();
    collect(src, &mut Vec::new(), &mut files);
    files.sort();
    let mut problems = Vec::new();
    for (module, text) in &files {
        problems.extend(problems_of(&floors, module, text));
    }
    for floor in &floors {
        if !files.iter().any(|(module, _)| module.starts_with(floor)) {
            problems.push(format!("the floors name `{}`, which is no module", floor.join("::")));
        }
    }
    problems
}

/// The upward imports of one module.
fn problems_of(floors: &[ModulePath], module: &ModulePath, text: &str) -> Vec<String> {
    let name = module.join("::");
    let Some(own) = floor_of(floors, module) else {
        return vec![format!("`{name}` is on no floor")];
    };
    let mut problems = Vec::new();
    for path in imports(module, text) {
        let problem = match floor_of(floors, &path) {
            None => format!("`{name}` imports `{}` from the root of the crate", path.join("::")),
            Some(other) if other > own => {
                format!("`{name}` imports upward: `{}`", path.join("::"))
            }
            Some(_) => continue,
        };
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

/// The modules of a list of floors, from bottom to top.
fn floors_of(root: &str) -> Vec<ModulePath> {
    let doc = root.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let list = doc.skip_while(|line| *line != "# Floors").skip(1);
    let list = list.take_while(|line| !line.starts_with("# "));
    let (mut floors, mut is_in_names) = (Vec::new(), false);
    for line in list {
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            is_in_names = true;
        }
        if !is_in_names {
            continue;
        }
        let (names, ends) = match line.find("`:") {
            Some(end) => (&line[..=end], true),
            None => (line, false),
        };
        let quoted = names.split('`').skip(1).step_by(2);
        floors.extend(quoted.map(|name| name.split("::").map(str::to_owned).collect()));
        is_in_names = !ends;
    }
    floors
}

/// The place in the list of the longest name that a path begins with.
fn floor_of(floors: &[ModulePath], path: &[String]) -> Option<usize> {
    let begins = floors.iter().enumerate().filter(|(_, floor)| path.starts_with(floor));
    begins.max_by_key(|(_, floor)| floor.len()).map(|(place, _)| place)
}

/// The modules below a folder, without those for tests, and their texts.
fn collect(folder: &Path, module: &mut ModulePath, files: &mut Vec<(ModulePath, String)>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("a folder can be read").path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_test = stem == "tests" || stem.ends_with("_tests");
        if is_test || (module.is_empty() && (stem == "lib" || stem == "main")) {
            continue;
        }
        if path.is_dir() {
            module.push(stem);
            collect(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut module = module.clone();
            if stem != "mod" {
                module.push(stem);
            }
            files.push((module, fs::read_to_string(&path).expect("a file can be read")));
        }
    }
}

/// The paths inside the crate that a module's text mentions.
fn imports(module: &[String], text: &str) -> Vec<ModulePath> {
    let code = without_tests_and_comments(text);
    let mut paths = Vec::new();
    let mut at = 0;
    while let Some(place) = next_of(&[CRATE, SUPER], &code[at..]) {
        let (before, found) = code.split_at(at + place);
        at += place + CRATE.len();
        // A word of its own, and the first of its path.
        if before.ends_with(|last: char| is_name(last) || last == ':') {
            continue;
        }
        let (mut base, mut tail) = (Vec::new(), found);
        if let Some(after) = found.strip_prefix(CRATE) {
            tail = after;
        } else {
            base = module.to_vec();
            while let Some(after) = tail.strip_prefix(SUPER) {
                base.pop();
                tail = after;
            }
        }
        read_tree(tail, &base, &mut paths);
    }
    paths
}

/// The place of the first of some words.
fn next_of(words: &[&str], text: &str) -> Option<usize> {
    words.iter().filter_map(|word| text.find(word)).min()
}

/// Reads a path, or a tree of paths in braces; returns what follows it.
fn read_tree<'t>(text: &'t str, base: &[String], paths: &mut Vec<ModulePath>) -> &'t str {
    let mut path = base.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(mut inner) = rest.strip_prefix('{') {
            loop {
                inner = read_tree(inner, &path, paths).trim_start();
                match inner.strip_prefix(',') {
                    Some(after) => inner = after.trim_start(),
                    None => break,
                }
                if inner.starts_with('}') {
                    break;
                }
            }
            return inner.strip_prefix('}').unwrap_or(inner);
        }
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if !name.is_empty() && name != "self" {
            path.push(name.to_owned());
        }
        match after.strip_prefix("::") {
            Some(after) if after.starts_with(|c: char| is_name(c) || c == '{') => rest = after,
            _ => {
                paths.push(path);
                // A name of its own: `Error as Failure`.
                let alias = after
                    .strip_prefix(" as ")
                    .map(|after| after.trim_start_matches(|c: char| is_name(c)));
                return alias.unwrap_or(after);
            }
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The code of a file: no comments, and no module that is there for tests alone.
fn without_tests_and_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test,") {
            // An item at the margin ends with its brace there, or is one line.
            for item in lines.by_ref() {
                let is_at_margin = !item.starts_with(' ');
                if is_at_margin && item.ends_with(';') || item.starts_with('}') {
                    break;
                }
            }
            continue;
        }
        let is_comment = line.trim_start().starts_with("//");
        if !is_comment {
            code.push_str(line.split(" // ").next().unwrap_or(line));
        }
        code.push('\n');
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "//! A crate.\n//!\n//! # Floors\n//! From bottom to top.\n//!\n\
        //! 1. `error`, `cell`: at the bottom, below `table`.\n//! 2. `table`,\n\
        //!    `sink::set`: `rows`.\n//! 3. `sink`: more.\n//!\n//! # More\n//! 1. `other`: no.\n";

    fn path(name: &str) -> ModulePath {
        name.split("::").map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(module: &str, text: &str, want: &[&str]) {
        assert_eq!(problems_of(&floors_of(ROOT), &path(module), text), want, "{module}: {text}");
    }

    #[test]
    fn a_list_is_read_up_to_its_next_heading() {
        let want: Vec<ModulePath> =
            ["error", "cell", "table", "sink::set", "sink"].into_iter().map(path).collect();
        assert_eq!(floors_of(ROOT), want);
    }

    #[test]
    fn imports_go_down() {
        check("table", "use crate::cell::Cell;\nuse crate::{error::Error, cell};\n", &[]);
        check("sink", "use crate::sink::set::{A, B as C, d::{self, E}};", &[]);
        check("sink::set", "use super::super::table::Table;", &[]);
        check("sink::set::inner", "use super::A;", &[]);
    }

    #[test]
    fn imports_upward_are_found() {
        let up = "`cell` imports upward: `table::Table`";
        check("cell", "use crate::table::Table;", &[up]);
        check(
            "cell",
            "use crate::{error::Error, table::{Table, Row}};",
            &[up, "`cell` imports upward: `table::Row`"],
        );
        check("cell", "fn f() -> crate::table::Table {}", &[up]);
        check("sink::set", "use super::Sink;", &["`sink::set` imports upward: `sink::Sink`"]);
        check(
            "sink",
            "use crate::Engine;",
            &["`sink` imports `Engine` from the root of the crate"],
        );
        check("new", "", &["`new` is on no floor"]);
    }

    #[test]
    fn comments_and_tests_are_not_read() {
        check("cell", "/// See [`crate::table`].\nlet a = 1; // crate::table\n", &[]);
        check(
            "cell",
            "#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::table::T;\n}\n",
            &[],
        );
        let after = "#[cfg(test)]\nmod tests;\nuse crate::table::Table;\n";
        check("cell", after, &["`cell` imports upward: `table::Table`"]);
    }
}
