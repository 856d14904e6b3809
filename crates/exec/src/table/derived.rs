//! The tables of a query's derived relations, with their total size.
//!
//! # Why the size is updated with each change
//! The limits ask several times per rule how much a query holds. Adding up all tables each time
//! made scripts with many rules quadratic.
//!
//! # Invariants
//! 1. `bytes` is the total size of the tables. [`Tables::change`] is the only way to change one.

use crate::table::Table;
use plan::{PerPredicate, PredicateId};
use std::ops::Index;
use std::sync::Arc;

/// Row numbers that separate the versions of a derived relation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Number of rows before the last round.
    pub old: usize,
    /// Number of rows after it.
    pub total: usize,
}

/// The tables of all predicates, by number.
#[derive(Clone, Debug)]
pub struct Tables {
    all: PerPredicate<Arc<Table>>,
    bytes: u64,
}

impl Tables {
    /// Empty tables for this many predicates.
    pub(crate) fn new(predicates: usize) -> Self {
        let all: PerPredicate<Arc<Table>> = (0..predicates).map(|_| Arc::default()).collect();
        let bytes = all.iter().map(|table| table.bytes()).sum();
        Self { all, bytes }
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Changes a table.
    pub(crate) fn change<T>(
        &mut self,
        predicate: PredicateId,
        change: impl FnOnce(&mut Arc<Table>) -> T,
    ) -> T {
        let table = &mut self.all[predicate];
        let before = table.bytes();
        let done = change(table);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(table.bytes());
        done
    }
}

impl Index<PredicateId> for Tables {
    type Output = Arc<Table>;

    fn index(&self, predicate: PredicateId) -> &Arc<Table> {
        &self.all[predicate]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::cell::Cell;
    use plan::Id;

    #[test]
    fn what_tables_take_is_the_sum_of_them() {
        let mut tables = Tables::new(3);
        let is_sum = |tables: &Tables| {
            let sum: u64 = tables.all.iter().map(|table| table.bytes()).sum();
            assert_eq!(tables.bytes(), sum);
        };
        is_sum(&tables);
        let empty_bytes = tables.bytes();
        let rows = vec![vec![Cell::NULL, Cell::bool(true), Cell::bool(false)]];
        let table = Table::set(1).with_rows(&rows, 3, &|| Ok(())).unwrap();
        tables.change(PredicateId::new(1), |slot| *slot = Arc::new(table));
        is_sum(&tables);
        assert!(tables.bytes() > empty_bytes);
        tables.change(PredicateId::new(1), std::mem::take);
        is_sum(&tables);
    }
}
