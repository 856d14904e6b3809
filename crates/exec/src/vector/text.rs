//! Kernels for columns of strings: lengths, tests for parts, changes of case and white space.

use super::column::{Texts, TypedColumn, Values};
use function::Pattern;
use memchr::memmem;
use std::borrow::Cow;

/// A test of a text against a known one.
#[derive(Debug)]
pub(crate) enum TextTest {
    StartsWith(String),
    EndsWith(String),
    Includes(Box<memmem::Finder<'static>>),
    Matches(Pattern),
}

/// A text made of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextChange {
    Upper,
    Lower,
    Trim,
    TrimStart,
    TrimEnd,
}

impl TextChange {
    /// The change that a function makes.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "uppercase" => Self::Upper,
            "lowercase" => Self::Lower,
            "trim" => Self::Trim,
            "trim_start" => Self::TrimStart,
            "trim_end" => Self::TrimEnd,
            _ => return None,
        })
    }
}

/// The texts of a column without nulls; `None` if it has others.
fn texts<'t>(column: &'t TypedColumn<'_>) -> Option<&'t Texts<'t>> {
    match &column.values {
        Values::Texts(texts) if !column.has_nulls() => Some(texts),
        _ => None,
    }
}

/// The numbers of characters; `None` where the row way has to tell.
pub(crate) fn lengths<'v>(column: &TypedColumn<'_>, rows: usize) -> Option<TypedColumn<'v>> {
    let texts = texts(column)?;
    let lengths: Vec<i64> = match texts.is_ascii {
        true => (0..rows).map(|row| texts.len(row) as i64).collect(),
        false => (0..rows).map(|row| texts.get(row).chars().count() as i64).collect(),
    };
    Some(TypedColumn::of(Values::Ints(Cow::Owned(lengths))))
}

/// Whether a test holds, by row; `None` where the row way has to tell.
pub(crate) fn test(by: &TextTest, column: &TypedColumn<'_>, rows: usize) -> Option<Vec<bool>> {
    let texts = texts(column)?;
    let each = |holds: &dyn Fn(&[u8]) -> bool| -> Vec<bool> {
        (0..rows).map(|row| holds(texts.get(row).as_bytes())).collect()
    };
    Some(match by {
        TextTest::StartsWith(part) => each(&|text| text.starts_with(part.as_bytes())),
        TextTest::EndsWith(part) => each(&|text| text.ends_with(part.as_bytes())),
        TextTest::Includes(finder) => match adjacent(texts) {
            true => included(finder, texts),
            false => each(&|text| finder.find(text).is_some()),
        },
        TextTest::Matches(pattern) => {
            (0..rows).map(|row| pattern.matches(texts.get(row))).collect()
        }
    })
}

/// Whether each text begins where the one before ends.
fn adjacent(texts: &Texts<'_>) -> bool {
    texts.spans.windows(2).all(|pair| pair[0].1 == pair[1].0)
}

/// Which of adjacent texts include the searched string. All are searched as one text: a search that
/// begins anew for each costs more than the search.
fn included(finder: &memmem::Finder<'_>, texts: &Texts<'_>) -> Vec<bool> {
    let needle_bytes = finder.needle().len();
    if needle_bytes == 0 {
        return vec![true; texts.spans.len()];
    }
    let mut found = vec![false; texts.spans.len()];
    let heap = texts.heap.as_bytes();
    let (mut row, mut from) = (0, texts.spans.first().map_or(0, |span| span.0 as usize));
    let end = texts.spans.last().map_or(0, |span| span.1 as usize);
    while let Some(at) = finder.find(&heap[from..end]) {
        let at = from + at;
        while texts.spans[row].1 as usize <= at {
            row += 1;
        }
        let row_end = texts.spans[row].1 as usize;
        if at + needle_bytes <= row_end {
            found[row] = true;
            from = row_end;
        } else {
            // It begins in one text and ends in another.
            from = at + 1;
        }
    }
    found
}

/// The changed texts; `None` where the row way has to tell.
pub(crate) fn changed(
    by: TextChange,
    column: TypedColumn<'_>,
    rows: usize,
) -> Option<TypedColumn<'_>> {
    if column.has_nulls() {
        return None;
    }
    let Values::Texts(texts) = column.values else { return None };
    let is_cased = matches!(by, TextChange::Upper | TextChange::Lower);
    let changed = if !is_cased {
        trimmed(by, texts, rows)
    } else if texts.is_ascii && is_mostly_used(&texts) {
        let mut heap = texts.heap.into_owned();
        match by {
            TextChange::Upper => heap.make_ascii_uppercase(),
            _ => heap.make_ascii_lowercase(),
        }
        Texts { heap: Cow::Owned(heap), spans: texts.spans, is_ascii: true }
    } else {
        let mut changed = Texts::new(rows);
        for row in 0..rows {
            let text = texts.get(row);
            changed.push(&match by {
                TextChange::Upper => text.to_uppercase(),
                _ => text.to_lowercase(),
            })?;
        }
        changed
    };
    Some(TypedColumn::of(Values::Texts(changed)))
}

/// Whether most of the heap belongs to the texts.
fn is_mostly_used(texts: &Texts<'_>) -> bool {
    let used: usize = (0..texts.spans.len()).map(|row| texts.len(row)).sum();
    texts.heap.len() <= 2 * used
}

/// Parts of the texts, in the same heap.
fn trimmed(by: TextChange, texts: Texts<'_>, rows: usize) -> Texts<'_> {
    let span = |row: usize| {
        let (start, end) = texts.spans[row];
        let text = texts.get(row);
        let without_start = match by {
            TextChange::TrimEnd => text,
            _ => text.trim_start(),
        };
        let start = start + (text.len() - without_start.len()) as u32;
        let without_end = match by {
            TextChange::TrimStart => without_start,
            _ => without_start.trim_end(),
        };
        (start, end - (without_start.len() - without_end.len()) as u32)
    };
    let spans = (0..rows).map(span).collect();
    Texts { spans, ..texts }
}
