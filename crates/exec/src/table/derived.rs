//! The tables of a query's derived relations.
//!
//! # Why their bytes are summed as they change
//! It is asked several times a rule how much a query holds. To add up all tables each time made
//! scripts of many rules take time that grows with their square.
//!
//! # Invariants
//! 1. `bytes` is the total size of the tables. [`Tables::change`] is the only way to change one.

use crate::table::Table;
use std::ops::Index;
use std::sync::Arc;

/// Row numbers of a derived relation that its versions are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Rows before the last round.
    pub old: usize,
    /// Rows after it.
    pub total: usize,
}

/// One for each predicate, by its number.
#[derive(Clone, Debug)]
pub struct Tables {
    all: Vec<Arc<Table>>,
    bytes: u64,
}

impl Tables {
    /// So many that are empty.
    pub(crate) fn new(predicates: usize) -> Self {
        let all: Vec<Arc<Table>> = (0..predicates).map(|_| Arc::default()).collect();
        let bytes = all.first().map_or(0, |table| table.bytes()) * all.len() as u64;
        Self { all, bytes }
    }

    /// About how many bytes they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Changes one of them.
    pub(crate) fn change<T>(
        &mut self,
        predicate: usize,
        change: impl FnOnce(&mut Arc<Table>) -> T,
    ) -> T {
        let table = &mut self.all[predicate];
        let before = table.bytes();
        let done = change(table);
        self.bytes = self.bytes.saturating_sub(before).saturating_add(table.bytes());
        done
    }
}

impl Index<usize> for Tables {
    type Output = Arc<Table>;

    fn index(&self, predicate: usize) -> &Arc<Table> {
        &self.all[predicate]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::cell::Cell;

    #[test]
    fn what_tables_take_is_the_sum_of_them() {
        let mut tables = Tables::new(3);
        let is_sum = |tables: &Tables| {
            let sum: u64 = (0..3).map(|predicate| tables[predicate].bytes()).sum();
            assert_eq!(tables.bytes(), sum);
        };
        is_sum(&tables);
        let empty_bytes = tables.bytes();
        let rows = vec![vec![Cell::NULL, Cell::bool(true), Cell::bool(false)]];
        let table = Table::set(1).with_rows(&rows, 3, &|| Ok(())).unwrap();
        tables.change(1, |slot| *slot = Arc::new(table));
        is_sum(&tables);
        assert!(tables.bytes() > empty_bytes);
        tables.change(1, std::mem::take);
        is_sum(&tables);
    }
}
