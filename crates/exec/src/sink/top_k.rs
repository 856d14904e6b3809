//! The bound of a top-k query, shared by all threads.

use crate::value::cell::{Cell, Interner};
use crate::vector::column::{TypedColumn, Values};
use env::sync::Mutex;
use std::cmp::Ordering;

/// The first rows in an order, and the bound that threads have found for them.
#[derive(Debug)]
pub struct TopK {
    /// Columns of the order, at least one, and whether each is descending. Other columns follow,
    /// ascending.
    pub order: Vec<(usize, bool)>,
    /// Number of rows wanted.
    pub rows: usize,
    /// The bound: the last wanted row's value in the first column of the order, once some thread
    /// has found enough rows. Rows after it can be dropped.
    pub last: Mutex<Option<Cell>>,
}

impl TopK {
    /// Indexes of the rows that may be wanted, by their values in the first column of the order;
    /// `None` without a bound.
    pub(crate) fn kept(&self, values: &[Cell], interner: &Interner) -> Option<Vec<u32>> {
        let last = (*self.last.lock())?;
        let kept = values.iter().zip(0_u32..);
        let kept = kept.filter(|(value, _)| !self.is_late(last, **value, interner));
        Some(kept.map(|(_, row)| row).collect())
    }

    /// As [`TopK::kept`] for typed values, which do not become cells; `None` also for kinds that
    /// are compared as cells.
    pub(crate) fn kept_typed(
        &self,
        column: &TypedColumn<'_>,
        rows: usize,
        interner: &Interner,
    ) -> Option<Vec<u32>> {
        let last = (*self.last.lock())?;
        let behind = if self.order[0].1 { Ordering::Less } else { Ordering::Greater };
        let is_null_late = self.is_late(last, Cell::NULL, interner);
        let kept = |is_late: &dyn Fn(usize) -> bool| {
            let is_kept = |&row: &u32| match column.is_null(row as usize) {
                true => !is_null_late,
                false => !is_late(row as usize),
            };
            (0..rows as u32).filter(is_kept).collect()
        };
        match &column.values {
            Values::Texts(texts) => {
                let last = interner.with_text(last, str::to_owned)?;
                Some(kept(&|row| texts.get(row).cmp(&last) == behind))
            }
            Values::Ints(ints) => {
                let last = last.as_small_int()?;
                Some(kept(&|row| ints[row].cmp(&last) == behind))
            }
            Values::Floats(floats) => {
                let last = last.as_plain_float()?;
                Some(kept(&|row| floats[row].total_cmp(&last) == behind))
            }
            Values::Known(_) | Values::Bools(_) | Values::Mixed(_) => None,
        }
    }

    /// Whether a value in the first column of the order is after the bound.
    fn is_late(&self, last: Cell, value: Cell, interner: &Interner) -> bool {
        let by_value = match (value.as_small_int(), last.as_small_int()) {
            (Some(value), Some(last)) => value.cmp(&last),
            _ => interner.cmp(value, last),
        };
        let behind = if self.order[0].1 { Ordering::Less } else { Ordering::Greater };
        by_value == behind
    }

    pub(crate) fn note(&self, found: Cell, interner: &Interner) {
        let mut last = self.last.lock();
        if last.is_none_or(|last| !self.is_late(last, found, interner)) {
            *last = Some(found);
        }
    }
}
