//! Adds rows in typed columns to groups, for `aggregate.rs`.
//!
//! # Why
//! A scan usually has many rows and few groups. Values are counted, summed and compared without
//! becoming cells. Only the columns that rows are grouped by become cells, and each of their
//! strings is interned once instead of once per row (`vector/text_cells.rs`).
//!
//! # Invariants
//! 1. The states are those of the same rows as cells, bit for bit: rows are added in their order,
//!    and what has no loop here (nulls in sums, other kinds of values) is added as cells.

use crate::error::Result;
use crate::sink::groups::{GroupedCells, Groups, States};
use crate::sink::sum::Sum;
use crate::value::cell::{Cell, Interner};
use crate::vector::column::{Texts, TypedColumn, Values};
use crate::vector::evaluate::TypedRows;
use crate::vector::selection::Selection;
use plan::VarId;
use std::cmp::Ordering;
use syntax::Span;

impl Groups {
    /// Adds some rows, each once, whose head has these variables. Returns whether it did: it does
    /// not if a column can be read only as cells.
    ///
    /// # Errors
    /// As [`Groups::add`].
    pub(crate) fn add_columns(
        &mut self,
        head: &[VarId],
        columns: &dyn TypedRows,
        rows: &Selection<'_>,
        interner: &Interner,
        check: &dyn Fn(u64) -> Result<()>,
    ) -> Result<bool> {
        let mut typed: Vec<Option<TypedColumn<'_>>> = head.iter().map(|_| None).collect();
        let is_counted = |(place, states): &(usize, States)| {
            matches!(states, States::Count(_)).then_some(*place)
        };
        let counted: Vec<usize> = self.aggregates.iter().filter_map(is_counted).collect();
        for (place, &var) in head.iter().enumerate().filter(|(place, _)| !counted.contains(place)) {
            let Some(column) = columns.column(var, rows) else { return Ok(false) };
            typed[place] = Some(column);
        }
        let mut cells = vec![Vec::new(); self.arity];
        for (texts, &place) in self.texts.iter_mut().zip(&self.plain) {
            let Some(column) = typed[place].take() else { continue };
            cells[place] = match &column.values {
                Values::Texts(values) => texts.cells(values, column.nulls.as_deref(), interner),
                _ => column.into_cells(rows.len(), true, interner),
            };
        }
        let keys: Vec<&[Cell]> = cells.iter().map(Vec::as_slice).collect();
        self.find(&keys, rows.len());
        self.begin()?;
        let groups = &self.numbers[..rows.len()];
        let keys = &self.keys;
        let check_grown = |grown_bytes: usize| check(keys.bytes() + grown_bytes as u64);
        for ((place, states), &span) in self.aggregates.iter_mut().zip(&self.spans) {
            let cells = match typed[*place].take() {
                Some(column) if states.add_column(&column, groups, interner, span)? => continue,
                Some(column) => match states {
                    States::Unique(unique) => unique.cells_of(&column, interner),
                    _ => None,
                }
                .unwrap_or_else(|| column.into_cells(rows.len(), true, interner)),
                // Only counted.
                None => Vec::new(),
            };
            let batch = GroupedCells { cells: &cells, groups, weights: &[] };
            states.add_each(&batch, interner, span, &check_grown)?;
        }
        Ok(true)
    }
}

impl States {
    /// Adds each row to the state of its group, if there is a loop for the column.
    fn add_column(
        &mut self,
        column: &TypedColumn<'_>,
        groups: &[u32],
        interner: &Interner,
        span: Span,
    ) -> Result<bool> {
        match self {
            Self::Sum(sums) => add_numbers(sums, column, groups, "sum", span),
            Self::Mean(sums) => add_numbers(sums, column, groups, "mean", span),
            Self::Least(best) => Ok(keep_all(best, column, groups, interner, Ordering::Less)),
            Self::Greatest(best) => Ok(keep_all(best, column, groups, interner, Ordering::Greater)),
            Self::Count(_) | Self::Unique(_) | Self::Other { .. } => Ok(false),
        }
    }
}

fn add_numbers(
    sums: &mut [Sum],
    column: &TypedColumn<'_>,
    groups: &[u32],
    of: &str,
    span: Span,
) -> Result<bool> {
    if column.has_nulls() {
        return Ok(false);
    }
    match (&column.values, sums) {
        (Values::Ints(ints), [sum]) => {
            sum.rows = sum.rows.saturating_add(ints.len() as u64);
            sum.add_ints(sum_of(ints), 1, of, span)?;
        }
        (Values::Ints(ints), sums) => {
            for (&int, &group) in ints.iter().zip(groups) {
                let sum = &mut sums[group as usize];
                sum.rows = sum.rows.saturating_add(1);
                sum.add_ints(i128::from(int), 1, of, span)?;
            }
        }
        // Floats are added in the order of rows: another order would give another sum.
        (Values::Floats(floats), [sum]) => {
            sum.rows = sum.rows.saturating_add(floats.len() as u64);
            sum.has_floats |= !floats.is_empty();
            sum.floats = floats.iter().fold(sum.floats, |sum, float| sum + float);
        }
        (Values::Floats(floats), sums) => {
            for (&float, &group) in floats.iter().zip(groups) {
                let sum = &mut sums[group as usize];
                sum.rows = sum.rows.saturating_add(1);
                sum.has_floats = true;
                sum.floats += float;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The exact sum.
fn sum_of(ints: &[i64]) -> i128 {
    // The halves are summed in 64 bits, because a sum in 128 bits needs a carry for each row.
    let (mut high, mut low) = (0_i128, 0_i128);
    for piece in ints.chunks(1 << 16) {
        high += i128::from(piece.iter().map(|int| int >> 32).sum::<i64>());
        low += i128::from(piece.iter().map(|int| int & 0xFFFF_FFFF).sum::<i64>());
    }
    (high << 32) + low
}

/// Keeps the best value of each group, if the column has numbers or strings.
fn keep_all(
    best: &mut [Cell],
    column: &TypedColumn<'_>,
    groups: &[u32],
    interner: &Interner,
    better: Ordering,
) -> bool {
    let is_null = |row: usize| column.nulls.as_ref().is_some_and(|nulls| nulls[row]);
    let rows = (0..groups.len()).filter(|&row| !is_null(row));
    match (&column.values, best) {
        (Values::Ints(ints), [best]) => {
            let ints = rows.map(|row| ints[row]);
            let found = if better == Ordering::Less { ints.min() } else { ints.max() };
            found.into_iter().for_each(|int| keep_int(best, int, interner, better));
        }
        (Values::Ints(ints), best) => rows.for_each(|row| {
            keep_int(&mut best[groups[row] as usize], ints[row], interner, better);
        }),
        (Values::Floats(floats), best) => rows.for_each(|row| {
            keep_float(&mut best[groups[row] as usize], floats[row], interner, better);
        }),
        (Values::Texts(texts), [best]) => {
            if let Some(text) = best_text(texts, rows, better) {
                keep_text(best, text, interner, better);
            }
        }
        (Values::Texts(texts), best) => rows.for_each(|row| {
            keep_text(&mut best[groups[row] as usize], texts.get(row), interner, better);
        }),
        _ => return false,
    }
    true
}

#[inline]
fn keep_int(best: &mut Cell, int: i64, interner: &Interner, better: Ordering) {
    let is_better = match (best.as_small_int(), Cell::small_int(int)) {
        (Some(best), _) => int.cmp(&best) == better,
        _ if *best == Cell::NULL => true,
        (None, Some(cell)) => interner.cmp(cell, *best) == better,
        (None, None) => interner.with(*best, |best| model::Value::Int(int).cmp(best)) == better,
    };
    if is_better {
        *best = interner.int(int);
    }
}

#[inline]
fn keep_float(best: &mut Cell, float: f64, interner: &Interner, better: Ordering) {
    let is_better = match best.as_plain_float() {
        Some(best) => float.total_cmp(&best) == better,
        None => *best == Cell::NULL || interner.cmp(interner.float(float), *best) == better,
    };
    if is_better {
        *best = interner.float(float);
    }
}

fn keep_text(best: &mut Cell, text: &str, interner: &Interner, better: Ordering) {
    let is_better = *best == Cell::NULL
        || interner
            .with_text(*best, |best| text.cmp(best))
            .unwrap_or_else(|| interner.cmp(interner.text(text), *best))
            == better;
    if is_better {
        *best = interner.text(text);
    }
}

fn best_text<'t>(
    texts: &'t Texts<'_>,
    rows: impl Iterator<Item = usize>,
    better: Ordering,
) -> Option<&'t str> {
    rows.map(|row| texts.get(row)).reduce(
        |best, text| {
            if text.cmp(best) == better { text } else { best }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_in_halves_are_exact(
            mut ints in prop::collection::vec(any::<i64>(), 0..100),
            extremes in 0_usize..100,
        ) {
            ints.extend(std::iter::repeat_n(i64::MIN, extremes));
            ints.extend(std::iter::repeat_n(i64::MAX, extremes / 2));
            let want: i128 = ints.iter().copied().map(i128::from).sum();
            prop_assert_eq!(sum_of(&ints), want);
        }
    }
}
