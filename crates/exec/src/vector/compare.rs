//! Comparisons of columns.
//!
//! # Floats
//! In a condition all NaN are one and above every number, and `-0.0` equals `0.0`. Floats are
//! compared by integers that have this order, without a branch.

use super::column::{Known, Texts, TypedColumn, Values};
use crate::expr::{Comparison, Computer};
use std::borrow::Cow;
use std::cmp::Ordering;

/// One side of a kernel.
pub(crate) enum Side<'s, T: Copy> {
    /// A value for each row.
    Each(Cow<'s, [T]>),
    /// The same value for all rows.
    Same(T),
}

impl<T: Copy> Side<'_, T> {
    /// The value of a row.
    #[inline]
    pub(crate) fn at(&self, row: usize) -> T {
        match self {
            Self::Each(values) => values[row],
            Self::Same(value) => *value,
        }
    }

    /// A side of other values.
    pub(crate) fn map<R: Copy>(&self, of: impl Fn(T) -> R) -> Side<'static, R> {
        match self {
            Self::Each(values) => Side::Each(values.iter().map(|&value| of(value)).collect()),
            Self::Same(value) => Side::Same(of(*value)),
        }
    }
}

/// Applies a function to each row of two sides.
#[inline]
pub(crate) fn zip<T: Copy, R>(
    a: &Side<'_, T>,
    b: &Side<'_, T>,
    rows: usize,
    apply: impl Fn(T, T) -> R,
) -> Vec<R> {
    match (a, b) {
        (Side::Each(a), Side::Each(b)) => {
            a.iter().zip(b.iter()).map(|(&a, &b)| apply(a, b)).collect()
        }
        (Side::Each(a), &Side::Same(b)) => a.iter().map(|&a| apply(a, b)).collect(),
        (&Side::Same(a), Side::Each(b)) => b.iter().map(|&b| apply(a, b)).collect(),
        (&Side::Same(a), &Side::Same(b)) => (0..rows).map(|_| apply(a, b)).collect(),
    }
}

/// Whether a comparison holds, by row. `None` where it fails for a row, or is left to the row way.
pub(crate) fn compare(
    by: Comparison,
    a: &TypedColumn<'_>,
    b: &TypedColumn<'_>,
    rows: usize,
    computer: &Computer<'_>,
) -> Option<Vec<bool>> {
    let has_nulls = a.has_nulls() || b.has_nulls();
    let is_equality = matches!(by, Comparison::Eq | Comparison::Neq);
    let mut holds = match values_hold(by, a, b, rows) {
        Some(holds) => holds,
        None if is_mixed(a) || is_mixed(b) => each_holds(by, a, b, rows, computer)?,
        // Values of different kinds are unequal, and have no order.
        None if is_equality => vec![by == Comparison::Neq; rows],
        None => {
            let both_null = |row| a.is_null(row) && b.is_null(row);
            (0..rows).all(both_null).then(|| vec![true; rows])?
        }
    };
    if has_nulls {
        for (row, holds) in holds.iter_mut().enumerate() {
            match (a.is_null(row), b.is_null(row)) {
                (false, false) => {}
                (true, true) => *holds = by.of(Ordering::Equal),
                _ if is_equality => *holds = by == Comparison::Neq,
                _ => return None,
            }
        }
    }
    Some(holds)
}

fn is_mixed(column: &TypedColumn<'_>) -> bool {
    matches!(column.values, Values::Mixed(_))
}

/// The comparison of values that are not null; `None` if they have different kinds.
fn values_hold(
    by: Comparison,
    a: &TypedColumn<'_>,
    b: &TypedColumn<'_>,
    rows: usize,
) -> Option<Vec<bool>> {
    if let (Some(a), Some(b)) = (ints(a), ints(b)) {
        return Some(hold(by, &a, &b, rows));
    }
    if let (Some(a), Some(b)) = (floats(a), floats(b)) {
        return Some(hold(by, &a.map(order_key), &b.map(order_key), rows));
    }
    if let Some(holds) = ints_and_floats(by, a, b, rows) {
        return Some(holds);
    }
    if let (Some(a), Some(b)) = (bools(a), bools(b)) {
        return Some(hold(by, &a, &b, rows));
    }
    texts_hold(by, a, b, rows)
}

/// Matches on the comparison once, outside of the loop over rows.
fn hold<T: Copy + PartialOrd>(
    by: Comparison,
    a: &Side<'_, T>,
    b: &Side<'_, T>,
    rows: usize,
) -> Vec<bool> {
    match by {
        Comparison::Eq => zip(a, b, rows, |a, b| a == b),
        Comparison::Neq => zip(a, b, rows, |a, b| a != b),
        Comparison::Lt => zip(a, b, rows, |a, b| a < b),
        Comparison::Le => zip(a, b, rows, |a, b| a <= b),
        Comparison::Gt => zip(a, b, rows, |a, b| a > b),
        Comparison::Ge => zip(a, b, rows, |a, b| a >= b),
    }
}

pub(crate) fn ints<'s>(column: &'s TypedColumn<'_>) -> Option<Side<'s, i64>> {
    match &column.values {
        Values::Ints(ints) => Some(Side::Each(Cow::Borrowed(ints))),
        Values::Known(Known::Int(int)) => Some(Side::Same(*int)),
        _ => None,
    }
}

pub(crate) fn floats<'s>(column: &'s TypedColumn<'_>) -> Option<Side<'s, f64>> {
    match &column.values {
        Values::Floats(floats) => Some(Side::Each(Cow::Borrowed(floats))),
        Values::Known(Known::Float(float)) => Some(Side::Same(*float)),
        _ => None,
    }
}

pub(crate) fn bools<'s>(column: &'s TypedColumn<'_>) -> Option<Side<'s, bool>> {
    match &column.values {
        Values::Bools(bools) => Some(Side::Each(Cow::Borrowed(bools))),
        Values::Known(Known::Bool(bool)) => Some(Side::Same(*bool)),
        _ => None,
    }
}

/// An integer with the order that a float has in conditions.
#[inline]
fn order_key(float: f64) -> i64 {
    // -0.0 + 0.0 is 0.0.
    let float = if float.is_nan() { f64::NAN } else { float + 0.0 };
    let bits = float.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// A column of integers beside floats, or the reverse. The comparison is exact.
fn ints_and_floats(
    by: Comparison,
    a: &TypedColumn<'_>,
    b: &TypedColumn<'_>,
    rows: usize,
) -> Option<Vec<bool>> {
    let (ints_of, floats_of, by) = match (ints(a), floats(b)) {
        (Some(ints), Some(floats)) => (ints, floats, by),
        _ => (ints(b)?, floats(a)?, by.turned()),
    };
    if let Side::Same(float) = floats_of
        && let Some(int) = whole(float)
    {
        return Some(hold(by, &ints_of, &Side::Same(int), rows));
    }
    let holds = |row| {
        let (int, float) =
            (model::Value::Int(ints_of.at(row)), model::Value::Float(floats_of.at(row)));
        // Numbers always have an order.
        function::compare(&int, &float).is_some_and(|order| by.of(order))
    };
    Some((0..rows).map(holds).collect())
}

/// The integer that a float equals.
fn whole(float: f64) -> Option<i64> {
    let fits = (-(2_f64.powi(63))..2_f64.powi(63)).contains(&float);
    (fits && float.fract() == 0.0).then_some(float as i64)
}

fn texts_hold(
    by: Comparison,
    a: &TypedColumn<'_>,
    b: &TypedColumn<'_>,
    rows: usize,
) -> Option<Vec<bool>> {
    let each = |texts: &Texts<'_>, other: &str, by: Comparison| -> Vec<bool> {
        if matches!(by, Comparison::Eq | Comparison::Neq) {
            // Most strings differ in their lengths, which are beside each other in memory.
            let is_equal = |row| texts.len(row) == other.len() && texts.get(row) == other;
            return (0..rows).map(|row| is_equal(row) == (by == Comparison::Eq)).collect();
        }
        (0..rows).map(|row| by.of(texts.get(row).cmp(other))).collect()
    };
    Some(match (&a.values, &b.values) {
        (Values::Texts(a), Values::Texts(b)) => {
            (0..rows).map(|row| by.of(a.get(row).cmp(b.get(row)))).collect()
        }
        (Values::Texts(a), Values::Known(Known::Text(b))) => each(a, b, by),
        (Values::Known(Known::Text(a)), Values::Texts(b)) => each(b, a, by.turned()),
        (Values::Known(Known::Text(a)), Values::Known(Known::Text(b))) => {
            vec![by.of(a.cmp(b)); rows]
        }
        _ => return None,
    })
}

/// As the row way, one row after another.
fn each_holds(
    by: Comparison,
    a: &TypedColumn<'_>,
    b: &TypedColumn<'_>,
    rows: usize,
    computer: &Computer<'_>,
) -> Option<Vec<bool>> {
    let holds = |row: usize| {
        let (a, b) = (a.value(row, computer), b.value(row, computer));
        match by {
            Comparison::Eq => Some(function::equal(&a, &b)),
            Comparison::Neq => Some(!function::equal(&a, &b)),
            _ => function::compare(&a, &b).map(|order| by.of(order)),
        }
    };
    (0..rows).map(holds).collect()
}

/// Whether two columns have the same value, by row: as joins compare, `1` and `1.0` are two values.
pub(crate) fn same(
    a: &TypedColumn<'_>,
    b: &TypedColumn<'_>,
    rows: usize,
    computer: &Computer<'_>,
) -> Vec<bool> {
    let bits = |float: f64| float.to_bits().cast_signed();
    let found = if let (Some(a), Some(b)) = (ints(a), ints(b)) {
        Some(hold(Comparison::Eq, &a, &b, rows))
    } else if let (Some(a), Some(b)) = (floats(a), floats(b)) {
        Some(hold(Comparison::Eq, &a.map(bits), &b.map(bits), rows))
    } else if let (Some(a), Some(b)) = (bools(a), bools(b)) {
        Some(hold(Comparison::Eq, &a, &b, rows))
    } else {
        texts_hold(Comparison::Eq, a, b, rows)
    };
    match found {
        Some(mut found) => {
            if a.has_nulls() || b.has_nulls() {
                for (row, found) in found.iter_mut().enumerate() {
                    let nulls = (a.is_null(row), b.is_null(row));
                    *found = nulls == (true, true) || nulls == (false, false) && *found;
                }
            }
            found
        }
        None => (0..rows).map(|row| a.value(row, computer) == b.value(row, computer)).collect(),
    }
}

impl Comparison {
    /// Whether the comparison holds for two values in this order.
    #[inline]
    pub(crate) fn of(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Neq => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }

    /// The comparison with its sides exchanged.
    fn turned(self) -> Self {
        match self {
            Self::Eq | Self::Neq => self,
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
        }
    }
}
