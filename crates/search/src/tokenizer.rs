//! Tokenizers: split a text into words. The names are those of CozoDB.

use crate::component::{Component, SettingError};
use crate::token::Token;

/// Longest parts that `NGram` may make, in characters.
const NGRAM_MAX: usize = 64;

/// How a text is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tokenizer {
    /// Runs of letters and digits.
    Simple,
    /// Runs of anything but white space.
    Whitespace,
    /// The whole text.
    Raw,
    /// All parts of `min` to `max` characters, or only those at the beginning.
    NGram { min: usize, max: usize, prefix_only: bool },
}

impl Tokenizer {
    /// The tokenizer that a setting names.
    ///
    /// # Errors
    /// There is none with this name, or its arguments are not valid.
    pub(crate) fn of(component: &Component) -> Result<Self, SettingError> {
        let plain = |tokenizer| component.args_max(0).map(|()| tokenizer);
        match component.name.as_str() {
            "simple" => plain(Self::Simple),
            "whitespace" => plain(Self::Whitespace),
            "raw" => plain(Self::Raw),
            "ngram" => ngram(component),
            "cangjie" => Err(SettingError::new(
                "the tokenizer `Cangjie` is not there yet",
                "NGram(1, 2) finds parts of words in texts without spaces",
            )),
            other => Err(SettingError::new(
                format!("there is no tokenizer `{other}`"),
                "tokenizers are Simple, Whitespace, Raw and NGram",
            )),
        }
    }

    /// The words of a text in order.
    pub(crate) fn tokens(self, text: &str) -> Vec<Token> {
        match self {
            Self::Simple => runs(text, char::is_alphanumeric),
            Self::Whitespace => runs(text, |c| !c.is_whitespace()),
            Self::Raw if text.is_empty() => Vec::new(),
            Self::Raw => vec![token(text, 0, text.len(), 0)],
            Self::NGram { min, max, prefix_only } => parts(text, min, max, prefix_only),
        }
    }
}

fn ngram(component: &Component) -> Result<Tokenizer, SettingError> {
    component.args_max(3)?;
    let min = component.count(0, "the shortest part")?.unwrap_or(1);
    let max = component.count(1, "the longest part")?.unwrap_or(min);
    let prefix_only = match component.args.get(2) {
        None => false,
        Some(model::Value::Bool(prefix_only)) => *prefix_only,
        Some(other) => {
            let what = format!("the third argument of `NGram` is true or false, not {other}");
            return Err(SettingError::new(what, "true keeps only parts at the beginning"));
        }
    };
    if min == 0 || min > max || max > NGRAM_MAX {
        let what = format!("`NGram` cannot make parts of {min} to {max} characters");
        let hint = format!("the shortest part has at least 1, the longest at most {NGRAM_MAX}");
        return Err(SettingError::new(what, hint));
    }
    Ok(Tokenizer::NGram { min, max, prefix_only })
}

fn token(text: &str, start: usize, end: usize, number: usize) -> Token {
    let position = u32::try_from(number).unwrap_or(u32::MAX);
    Token { text: text[start..end].to_owned(), start, end, position }
}

/// The longest runs of characters that belong to words.
fn runs(text: &str, belongs: impl Fn(char) -> bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (start, belongs(c)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                tokens.push(token(text, from, at, tokens.len()));
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        tokens.push(token(text, from, text.len(), tokens.len()));
    }
    tokens
}

/// Parts of a text. Their position is that of their first character, so that a phrase finds parts
/// that overlap in the same way.
fn parts(text: &str, min: usize, max: usize, prefix_only: bool) -> Vec<Token> {
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let ends: Vec<usize> = ends.collect();
    let starts = if prefix_only { ends.len().min(1) } else { ends.len() };
    let mut tokens = Vec::new();
    for first in 0..starts {
        let start = if first == 0 { 0 } else { ends[first - 1] };
        for chars in min..=max {
            let Some(&end) = ends.get(first + chars - 1) else { break };
            tokens.push(token(text, start, end, first));
        }
    }
    tokens
}
