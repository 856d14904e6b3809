//! `--name value` pairs of the command line. The harness starts itself with them ten thousand
//! times, so parsing is kept cheap.

use crate::outcome::Outcome;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The pairs of a command line.
#[derive(Debug, Default)]
pub(crate) struct Arguments(BTreeMap<String, String>);

impl Arguments {
    /// Parses the words. Every name must be followed by its value.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Outcome<Self> {
        let (mut words, mut pairs) = (words, BTreeMap::new());
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").ok_or_else(|| format!("{word:?} is no --name"))?;
            let value = words.next().ok_or_else(|| format!("{word} has no value"))?;
            pairs.insert(name.to_owned(), value);
        }
        Ok(Self(pairs))
    }

    /// The value of this name, if it is given.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value as a number, or `otherwise` if it is not given.
    pub(crate) fn number(&self, name: &str, otherwise: u64) -> Outcome<u64> {
        let Some(text) = self.text(name) else { return Ok(otherwise) };
        text.parse().map_err(|_| format!("--{name} {text:?} is not a number"))
    }

    /// The value as a number of bytes, such as `512MB`, or `otherwise`.
    pub(crate) fn bytes(&self, name: &str, otherwise: u64) -> Outcome<u64> {
        let Some(text) = self.text(name) else { return Ok(otherwise) };
        quipu::parse_bytes(text).map_err(|error| format!("--{name}: {error}"))
    }

    /// The value as a path, if it is given.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// The value as a path; an error if it is not given.
    pub(crate) fn needed_path(&self, name: &str) -> Outcome<PathBuf> {
        self.path(name).ok_or_else(|| format!("--{name} is missing"))
    }
}
