//! Finds the columns of an edge: those that the caller names, else those with well-known names,
//! else by position.
//!
//! With more columns than an edge has, nothing is guessed. A wrong guess would silently import
//! nonsense, so this is an error that lists the columns.

use crate::{
    InputError,
    options::{ColumnRef, EdgeOptions, WeightType},
};

/// Pairs of well-known names for source and target, in order of preference.
const PAIRS: [(&str, &str); 8] = [
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("first", "second"),
    ("u", "v"),
    ("source", "destination"),
    ("from_id", "to_id"),
    ("source_id", "target_id"),
];

/// Positions of an edge's columns, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Positions {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
    /// Whether a record must have exactly the number of columns of the first one.
    pub(crate) exact: bool,
}

/// Finds the columns of an edge among `count` columns, with or without names.
///
/// # Errors
/// A column that the caller names does not exist, or there are too many columns to guess.
pub(crate) fn resolve(
    file: &str,
    names: Option<&[String]>,
    count: usize,
    options: &EdgeOptions,
) -> Result<Positions, InputError> {
    check_default_weight(file, options)?;
    if let Some(columns) = &options.columns {
        let find = |column: &ColumnRef| position(file, column, names, count);
        let weight = match (&columns.weight, options.weight) {
            (None, _) => None,
            (Some(column), WeightType::Float | WeightType::Int) => Some(find(column)?),
            (Some(_), WeightType::None) => {
                return Err(InputError::whole(file, "no weight column", "one in the options")
                    .hint(
                        "the graph has no weights; create it with weights or leave the column out",
                    ));
            }
        };
        let (source, target) = (find(&columns.source)?, find(&columns.target)?);
        return Ok(Positions { source, target, weight, exact: false });
    }
    let most = if options.weight == WeightType::None { 2 } else { 3 };
    if count < 2 || count > most {
        let expected = if most == 2 { "two columns" } else { "two or three columns" };
        let error = InputError::whole(file, expected, describe(names, count));
        return Err(match count {
            0 | 1 => error.hint("an edge needs a source and a target; check the delimiter"),
            3 => error.hint(
                "the graph has no weights; create it with weights, or name the columns to use",
            ),
            _ => error.hint("name the columns that hold source, target and weight"),
        });
    }
    let (source, target) = names.and_then(known_pair).unwrap_or((0, 1));
    let weight = (0..count).find(|&i| i != source && i != target);
    Ok(Positions { source, target, weight, exact: true })
}

/// Positions of source and target, when both have well-known names of one pair.
pub(crate) fn known_pair(names: &[String]) -> Option<(usize, usize)> {
    let find = |name: &str| names.iter().position(|n| n.trim().eq_ignore_ascii_case(name));
    PAIRS.iter().find_map(|(source, target)| Some((find(source)?, find(target)?)))
}

fn position(
    file: &str,
    column: &ColumnRef,
    names: Option<&[String]>,
    count: usize,
) -> Result<usize, InputError> {
    match column {
        ColumnRef::Index(index) if *index < count => Ok(*index),
        ColumnRef::Index(index) => {
            Err(InputError::whole(file, format!("a column {}", index + 1), describe(names, count)))
        }
        ColumnRef::Name(name) => {
            let names = names.unwrap_or_default();
            let exact = names.iter().position(|n| n == name);
            let close = || names.iter().position(|n| n.trim().eq_ignore_ascii_case(name.trim()));
            exact.or_else(close).ok_or_else(|| {
                let found = describe(Some(names), count);
                InputError::whole(file, format!("a column named {name:?}"), found)
            })
        }
    }
}

/// Columns that a message lists at most.
const DESCRIBED_MAX: usize = 12;

fn describe(names: Option<&[String]>, count: usize) -> String {
    let columns = if count == 1 { "1 column".to_owned() } else { format!("{count} columns") };
    match names {
        Some(names) if !names.is_empty() => {
            let shown: Vec<_> = names
                .iter()
                .take(DESCRIBED_MAX)
                .map(|n| crate::error::show(n.as_bytes()))
                .collect();
            let more = if names.len() > DESCRIBED_MAX { ", …" } else { "" };
            format!("{columns}: {}{more}", shown.join(", "))
        }
        _ => columns,
    }
}

fn check_default_weight(file: &str, options: &EdgeOptions) -> Result<(), InputError> {
    let weight = options.default_weight;
    let whole = weight.fract() == 0.0 && weight.abs() < 9.2e18;
    let expected = match options.weight {
        WeightType::Float if !weight.is_finite() => "a finite default weight",
        WeightType::Int if !whole => "a whole number as default weight",
        _ => return Ok(()),
    };
    Err(InputError::whole(file, expected, weight.to_string()))
}
