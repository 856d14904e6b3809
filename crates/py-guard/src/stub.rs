//! Docstrings of a Python stub, by name.
//!
//! # Why no parser of Python
//! The stub is formatted by ruff: a definition begins a line, nesting is four blanks, a docstring
//! begins the line after the definition and is in `"""`. `python/tests/test_docstrings.py` reads
//! the stub with Python's own parser, and compares.

use std::collections::BTreeMap;

/// Blanks before a method of a class.
const NESTED: usize = 4;
const QUOTES: &str = "\"\"\"";

/// Docstrings by name: `open`, `Graph`, `Graph.upsert`; that of the module has the empty name.
pub(crate) struct Stub(BTreeMap<String, String>);

impl Stub {
    pub(crate) fn parse(text: &str) -> Self {
        let mut docstrings = BTreeMap::new();
        let mut class = String::new();
        // The item that the next docstring describes; a definition takes several lines.
        let mut name = Some(String::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let inner = line.trim_start();
            let indent = line.len() - inner.len();
            if let Some(begin) = inner.strip_prefix(QUOTES) {
                let text = docstring(begin, &mut lines);
                if let Some(name) = name.take() {
                    docstrings.entry(name).or_insert(text);
                }
            } else if let Some(rest) = inner.strip_prefix("class ").filter(|_| indent == 0) {
                class = identifier(rest).to_owned();
                name = Some(class.clone());
            } else if let Some(rest) = inner.strip_prefix("def ") {
                name = match indent {
                    0 => Some(identifier(rest).to_owned()),
                    NESTED => Some(format!("{class}.{}", identifier(rest))),
                    _ => None,
                };
            } else if indent == 0 && inner.contains('=') {
                // A type's name may have a docstring, too, which is for readers of the stub.
                name = None;
            }
            // `...` ends a definition without a docstring.
            if inner.ends_with(": ...") {
                name = None;
            }
        }
        Self(docstrings)
    }

    pub(crate) fn docstring(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !(c == '_' || c.is_alphanumeric()));
    end.map_or(text, |end| &text[..end])
}

/// The docstring whose first line goes on with `begin`, cleaned as `inspect.cleandoc` does.
fn docstring<'a>(begin: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut all = vec![begin];
    while !all.last().is_some_and(|last| last.trim_end().ends_with(QUOTES)) {
        let Some(line) = lines.next() else { break };
        all.push(line);
    }
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let inner = all.iter().skip(1).filter(|line| !line.trim().is_empty());
    let margin = inner.map(indent).min().unwrap_or(0);
    let cleaned = all.iter().enumerate().map(|(i, line)| {
        let line = if i == 0 { *line } else { line.get(margin..).unwrap_or_default() };
        line.trim_end()
    });
    let text = cleaned.collect::<Vec<_>>().join("\n");
    text.trim_end_matches(QUOTES).trim().to_owned()
}
