//! Diagnostics: an error in a script, its position, and a suggestion.

use std::fmt::{self, Write as _};

use crate::ast::Span;

/// Number of characters of a line that are shown before and after the position of an error.
const SHOWN_CHARACTERS: usize = 80;

/// Longer names get no suggestions.
const CLOSE_NAME_CHARACTERS_MAX: usize = 64;

/// An error in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The error, on one line.
    pub message: String,
    /// Position of the error in the script.
    pub span: Span,
    /// A suggestion for the fix.
    pub hint: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}

impl Diagnostic {
    /// The error of an unknown name. `near` is a similar name from [`closest`], for the hint.
    #[must_use]
    pub fn unknown(message: impl Into<String>, span: Span, near: Option<&str>) -> Self {
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        Self { message: message.into(), span, hint }
    }

    /// The message, the line of the script with the error marked, and the hint. Has no line break
    /// at the end.
    ///
    /// A long line is shortened to 80 characters before the error and 80 from where the error
    /// starts.
    #[must_use]
    pub fn render(&self, text: &str) -> String {
        let start = boundary(text, self.span.start);
        let end = boundary(text, self.span.end).max(start);
        let (line, column) = line_and_column(text, self.span.start);
        let (before, rest) = text.split_at(start);
        let before = before.rsplit('\n').next().unwrap_or_default();
        let rest = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let marked = text.get(start..end).unwrap_or_default();
        let marked = marked.split('\n').next().unwrap_or_default().trim_end_matches('\r');

        let hidden = before.chars().count().saturating_sub(SHOWN_CHARACTERS);
        let mut source = String::from(if hidden > 0 { "…" } else { "" });
        source.extend(before.chars().skip(hidden).map(visible));
        let indent = source.chars().count();
        source.extend(rest.chars().take(SHOWN_CHARACTERS).map(visible));
        if rest.chars().nth(SHOWN_CHARACTERS).is_some() {
            source.push('…');
        }
        let carets = marked.chars().count().clamp(1, SHOWN_CHARACTERS);

        let mut shown = self.message.clone();
        // Writing to a string cannot fail.
        let _ = write!(shown, "\n--> line {line}, column {column}\n  {}", source.trim_end());
        let _ = write!(shown, "\n  {:indent$}{:^<carets$}", "", "");
        if let Some(hint) = &self.hint {
            let _ = write!(shown, "\nhint: {hint}");
        }
        shown
    }
}

/// Replaces control characters such as tabs, which would shift the carets.
fn visible(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// The last character boundary up to `offset`.
fn boundary(text: &str, offset: u32) -> usize {
    text.floor_char_boundary(usize::try_from(offset).unwrap_or(usize::MAX))
}

/// Line and column of a byte, both counted from 1. Columns are counted in characters. An offset
/// past the end means the end.
#[must_use]
pub fn line_and_column(text: &str, offset: u32) -> (u32, u32) {
    let before = text.get(..boundary(text, offset)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
    let column = 1 + before.get(line_start..).unwrap_or_default().chars().count();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (number(line), number(column))
}

/// The most similar candidate, ignoring case; the first one if several are equally similar. The
/// edit distance may be at most a third of the longer name. For "did you mean" hints.
#[must_use]
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |name: &str| -> Vec<char> { name.chars().flat_map(char::to_lowercase).collect() };
    let name = letters(name);
    if name.len() > CLOSE_NAME_CHARACTERS_MAX {
        return None;
    }
    let mut best = None;
    for candidate in candidates {
        if candidate.len() > 4 * CLOSE_NAME_CHARACTERS_MAX {
            continue;
        }
        let other = letters(candidate);
        let allowed = name.len().max(other.len()) / 3;
        if name.len().abs_diff(other.len()) > allowed {
            continue;
        }
        let found = distance(&name, &other);
        if found <= allowed && best.is_none_or(|(least, _)| found < least) {
            best = Some((found, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Edit distance with swaps of neighbors (Damerau-Levenshtein, optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_lines_and_characters_from_one() {
        for (offset, want) in [(0, (1, 1)), (3, (1, 3)), (4, (2, 1)), (6, (2, 2)), (99, (2, 3))] {
            assert_eq!(line_and_column("aé\nöx", offset), want, "{offset}");
        }
    }

    #[test]
    fn a_message_shows_its_line_with_the_place_marked() {
        let text = "first\n\tsecond line\nthird";
        let span = Span { start: 14, end: 18 };
        let diagnostic = Diagnostic { message: "no".into(), span, hint: Some("yes".into()) };
        let want = "no\n--> line 2, column 9\n   second line\n          ^^^^\nhint: yes";
        assert_eq!(diagnostic.render(text), want);
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let text = format!("{}x{}", "a".repeat(1000), "b".repeat(1000));
        let span = Span { start: 1000, end: 1001 };
        let shown = Diagnostic { message: "no".into(), span, hint: None }.render(&text);
        let source = format!("  …{}x{}…", "a".repeat(80), "b".repeat(79));
        let carets = format!("  {}^", " ".repeat(81));
        assert_eq!(shown, format!("no\n--> line 1, column 1001\n{source}\n{carets}"));
    }

    #[test]
    fn a_span_outside_the_text_or_inside_a_character_is_shown_too() {
        for span in [Span { start: 1, end: 2 }, Span { start: 9, end: 3 }, Span::default()] {
            let shown = Diagnostic { message: "no".into(), span, hint: None }.render("é");
            assert!(shown.contains('^'), "{shown}");
        }
    }

    #[test]
    fn the_closest_name_differs_in_at_most_a_third() {
        let names = ["limit", "offset", "order", "PageRank", "put"];
        for (name, want) in [
            ("limt", Some("limit")),
            ("ofsfet", Some("offset")),
            ("pagerank", Some("PageRank")),
            ("pgrank", Some("PageRank")),
            ("lxmxt", None),
            ("pt", Some("put")),
            ("", None),
        ] {
            assert_eq!(closest(name, names.into_iter()), want, "{name}");
        }
        assert_eq!(closest(&"x".repeat(9000), ["x"].into_iter()), None);
    }
}
