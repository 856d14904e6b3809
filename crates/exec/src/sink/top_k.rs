//! The first rows in an order, where only those are wanted: the bound that all threads share.

use crate::value::cell::{Cell, Interner};
use env::sync::Mutex;
use std::cmp::Ordering;

/// The first rows in an order, for all threads that look for them.
#[derive(Debug)]
pub struct TopK {
    /// Columns of the head and whether each descends, one at least; those that are not named
    /// follow, ascending.
    pub order: Vec<(usize, bool)>,
    /// So many rows are wanted.
    pub rows: usize,
    /// The value of the first column of the order in the last of the rows that are wanted, once
    /// some thread has found as many: what comes after it need not be kept.
    pub last: Mutex<Option<Cell>>,
}

impl TopK {
    /// The rows that may be wanted, by their values of the first column of the order; `None` where
    /// any may be.
    pub(crate) fn kept(&self, values: &[Cell], interner: &Interner) -> Option<Vec<u32>> {
        let last = (*self.last.lock())?;
        let kept = values.iter().zip(0_u32..);
        let kept = kept.filter(|(value, _)| !self.is_late(last, **value, interner));
        Some(kept.map(|(_, row)| row).collect())
    }

    /// Whether a value of the first column of the order comes behind that of the last row that is
    /// wanted.
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
