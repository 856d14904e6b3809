//! Finds the columns of an edge: those that the caller names, else those with well-known names,
//! else by position.
//!
//! # Invariants
//! 1. A position is used only where no name excludes it: an index, an id, a date or a label
//!    is neither a vertex nor a weight unless the caller says so.
//! 2. Nothing is guessed among several candidates. A wrong guess would silently import nonsense,
//!    so this is an error that lists the columns.

use crate::error::{InputError, show};
use crate::known_names::{self, Role};
use crate::options::{ColumnRef, EdgeOptions, Missing, WeightType};

/// Positions of an edge's columns, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Positions {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
    /// Whether a record must have exactly the number of columns of the first one.
    pub(crate) exact: bool,
}

/// The known properties of an input's column, before its values are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnInfo {
    /// Its name, if the input has names.
    pub(crate) name: Option<String>,
    /// Whether its values are numbers.
    pub(crate) is_numeric: bool,
    /// Whether its values look like times in seconds or milliseconds since 1970.
    pub(crate) is_time: bool,
    /// Whether the input marks it as an index of its rows, as pandas does.
    pub(crate) is_index: bool,
}

impl ColumnInfo {
    fn is_index(&self) -> bool {
        self.is_index || self.name.as_deref().is_some_and(known_names::is_index)
    }

    fn role(&self) -> Role {
        let unnamed = if self.is_time { Role::Time } else { Role::Unknown };
        self.name.as_deref().map_or(unnamed, known_names::role)
    }
}

/// Finds the columns of an edge among the columns of the input.
///
/// # Errors
/// A column that the caller names does not exist or is named twice, or the columns cannot be told
/// apart.
pub(crate) fn resolve(
    file: &str,
    columns: &[ColumnInfo],
    options: &EdgeOptions,
) -> Result<Positions, InputError> {
    check_default_weight(file, options)?;
    match &options.columns {
        Some(chosen) => {
            let find = |column: &ColumnRef| position(file, column, columns);
            let (source, target) = (find(&chosen.source)?, find(&chosen.target)?);
            let weight = chosen.weight.as_ref().map(find).transpose()?;
            if weight.is_some() && options.weight == WeightType::None {
                return Err(InputError::whole(file, "no weight column", "one in the options")
                    .hint(NO_WEIGHTS));
            }
            if source == target || weight.is_some_and(|w| w == source || w == target) {
                let expected = "different columns for source, target and weight";
                let found = format!("column {} twice", describe_one(source, columns));
                return Err(InputError::whole(file, expected, found));
            }
            Ok(Positions { source, target, weight, exact: false })
        }
        None => guessed(file, columns, options),
    }
}

pub(crate) const NO_WEIGHTS: &str =
    "the graph has no weights; create it with weights, or name the columns to use";

fn guessed(
    file: &str,
    columns: &[ColumnInfo],
    options: &EdgeOptions,
) -> Result<Positions, InputError> {
    let count = columns.len();
    let weighted = options.weight != WeightType::None;
    let names: Vec<_> = columns.iter().map(|c| c.name.as_deref().unwrap_or_default()).collect();
    let fail = |hint: &str| {
        let expected = if weighted { "two or three columns" } else { "two columns" };
        Err(InputError::whole(file, expected, describe(columns)).hint(hint))
    };
    let named = known_names::pair(&names);
    // Without known names the first two columns are taken that are not an index of the rows.
    let mut rest: Vec<_> = (0..count).filter(|&i| !columns[i].is_index()).collect();
    let is_nameless = columns.iter().all(|column| column.name.is_none());
    // Source, target, weight and time, as in files of SNAP and of Network Repository.
    if let [_, _, weight, time] = rest[..]
        && is_nameless
        && columns[weight].is_numeric
        && !columns[weight].is_time
        && columns[time].is_time
    {
        rest.truncate(3);
    }
    let (source, target) = match (named, &rest[..]) {
        (Some(pair), _) => pair,
        (None, [] | [_]) => {
            return fail("an edge needs a source and a target; check the delimiter");
        }
        (None, [source, target] | [source, target, _]) => (*source, *target),
        (None, _) => return fail("name the columns that hold source, target and weight"),
    };
    if named.is_none() && rest.len() == 3 {
        let against = |i: usize| matches!(columns[i].role(), Role::Id | Role::Time | Role::Label);
        if [source, target].into_iter().any(against) {
            return fail("name the columns that hold source, target and weight");
        }
    }
    let others: Vec<_> = rest.into_iter().filter(|&i| i != source && i != target).collect();
    let weight = weight_of(columns, &others);
    if weighted && is_nameless && others.iter().any(|&i| columns[i].is_time) {
        return fail(
            "the third column looks like times: columns=[0, 1, 2] takes it as weight, \
             columns=[0, 1] leaves it out",
        );
    }
    match weight {
        Some(_) if !weighted => fail(NO_WEIGHTS),
        Some(_) => Ok(Positions { source, target, weight, exact: true }),
        None => {
            // A third column without a name is a weight; if its values are none, the error is that
            // of its first value.
            let third = match others[..] {
                [third] if weighted && columns[third].role() == Role::Unknown => Some(third),
                _ => None,
            };
            Ok(Positions { source, target, weight: third, exact: true })
        }
    }
}

/// The weight among the columns that are neither source nor target: by its name, or the only one
/// that is numeric and has no name against it.
fn weight_of(columns: &[ColumnInfo], others: &[usize]) -> Option<usize> {
    let by_name = others.iter().copied().filter(|&i| columns[i].role() == Role::Weight);
    let best = by_name.min_by_key(|&i| {
        columns[i].name.as_deref().and_then(known_names::weight_rank).unwrap_or(usize::MAX)
    });
    let unknown = || match *others {
        [only] if columns[only].is_numeric && columns[only].role() == Role::Unknown => Some(only),
        _ => None,
    };
    best.or_else(unknown)
}

pub(crate) fn position(
    file: &str,
    column: &ColumnRef,
    columns: &[ColumnInfo],
) -> Result<usize, InputError> {
    match column {
        ColumnRef::Index(index) if *index < columns.len() => Ok(*index),
        ColumnRef::Index(index) => {
            Err(InputError::whole(file, format!("a column {}", index + 1), describe(columns)))
        }
        ColumnRef::Name(name) => {
            let find = |same: &dyn Fn(&str) -> bool| {
                columns.iter().position(|c| c.name.as_deref().is_some_and(same))
            };
            let exact = find(&|n: &str| n == name);
            let close = || find(&|n: &str| n.trim().eq_ignore_ascii_case(name.trim()));
            exact.or_else(close).ok_or_else(|| {
                let expected = format!("a column named {name:?}");
                InputError::whole(file, expected, describe(columns))
            })
        }
    }
}

/// Columns that a message lists at most.
const DESCRIBED_MAX: usize = 12;

pub(crate) fn describe(columns: &[ColumnInfo]) -> String {
    let count = columns.len();
    let counted = if count == 1 { "1 column".to_owned() } else { format!("{count} columns") };
    if columns.iter().all(|column| column.name.is_none()) {
        return counted;
    }
    let shown: Vec<_> = columns
        .iter()
        .take(DESCRIBED_MAX)
        .map(|c| show(c.name.as_deref().unwrap_or_default().as_bytes()))
        .collect();
    let more = if count > DESCRIBED_MAX { ", …" } else { "" };
    format!("{counted}: {}{more}", shown.join(", "))
}

/// A column for a message: its name, or its position from 1.
pub(crate) fn describe_one(index: usize, columns: &[ColumnInfo]) -> String {
    match columns.get(index).and_then(|column| column.name.as_deref()) {
        Some("") => "\"\"".to_owned(),
        Some(name) => show(name.as_bytes()),
        None => (index + 1).to_string(),
    }
}

/// The columns of an edge and the ignored ones, for the report.
pub(crate) fn describe_choice(
    at: Positions,
    columns: &[ColumnInfo],
) -> Vec<(&'static str, String)> {
    let one = |index: usize| describe_one(index, columns);
    let mut said = vec![("source", one(at.source)), ("target", one(at.target))];
    said.push(("weight", at.weight.map_or_else(|| "none".to_owned(), one)));
    let used = |i: &usize| *i == at.source || *i == at.target || Some(*i) == at.weight;
    let ignored: Vec<_> = (0..columns.len()).filter(|i| !used(i)).take(DESCRIBED_MAX).collect();
    if !ignored.is_empty() {
        said.push(("ignored", ignored.into_iter().map(one).collect::<Vec<_>>().join(", ")));
    }
    said
}

pub(crate) fn check_default_weight(file: &str, options: &EdgeOptions) -> Result<(), InputError> {
    let missing = match options.missing {
        Missing::Weight(weight) => weight,
        Missing::Fail | Missing::Skip => options.default_weight,
    };
    let is_whole = |weight: f64| weight.fract() == 0.0 && weight.abs() < 9.2e18;
    match options.weight {
        WeightType::Int if !is_whole(options.default_weight) => {
            let found = options.default_weight.to_string();
            Err(InputError::whole(file, "a whole number as default weight", found))
        }
        WeightType::Int if !is_whole(missing) => {
            let expected = "a whole number for missing weights";
            Err(InputError::whole(file, expected, missing.to_string()))
        }
        _ => Ok(()),
    }
}
