//! Membership in long lists, by a hash table of the list's items.
//!
//! # Why
//! `is_in(k, $list)` and `not k in $list` compared each of 100,000 items for each row. A list that
//! many rows use is a constant or a parameter, so it is interned, and its table is built once for
//! all rules, rounds and threads of a query.
//!
//! # Invariants
//! 1. The answer is that of `items.contains(value)`, with the interner's equality.
//! 2. A table is removed with its list: another value may reuse the slot.
//! 3. Memory for a table is requested before it is built, and counted with the values while it
//!    exists.

use super::{Cell, Inner, Interner, hash_with, plain};
use base::STEPS;
use function::{Failure, FunctionContext};
use hashbrown::{HashMap, HashTable};
use model::Value;
use std::sync::atomic::Ordering::Relaxed;

/// Items that are compared one by one: finding a table takes as long.
const FEW: usize = 16;

/// Bytes of an item in a table: its index, a control byte, and the empty slots of a table that has
/// just grown.
const ITEM_BYTES: u64 = 12;

/// Tables of lists, by the slots of the lists.
#[derive(Debug, Default)]
pub(super) struct ListTables(HashMap<u32, HashTable<u32>, foldhash::fast::FixedState>);

impl ListTables {
    /// Removes the tables of removed lists; returns how many bytes they had.
    pub(super) fn retain(&mut self, is_there: impl Fn(usize) -> bool) -> u64 {
        let mut freed_bytes = 0;
        self.0.retain(|&place, table| {
            let is_there = is_there(place as usize);
            freed_bytes += if is_there { 0 } else { table_bytes(table.len()) };
            is_there
        });
        freed_bytes
    }
}

fn table_bytes(items: usize) -> u64 {
    ITEM_BYTES * items as u64
}

/// A value to look up in a list.
#[derive(Clone, Copy)]
pub(crate) enum Sought<'v> {
    /// A cell of the same interner.
    Cell(Cell),
    /// A value that is not interned.
    Value(&'v Value),
}

impl Interner {
    /// Whether an interned list contains this value; `None` where it is not a list. Memory is
    /// requested from `ambient`.
    ///
    /// # Errors
    /// Those of `ambient`.
    pub(crate) fn has_item(
        &self,
        list: Cell,
        sought: Sought<'_>,
        ambient: &dyn FunctionContext,
    ) -> Result<Option<bool>, Failure> {
        if !list.is_interned() {
            return Ok(None);
        }
        if let Some(found) = self.inner.read().find_item(list, sought) {
            return Ok(found);
        }
        self.add_table(list, ambient)?;
        let inner = self.inner.read();
        // If the table was removed meanwhile, the list was, too.
        Ok(inner.find_item(list, sought).flatten())
    }

    /// Builds the table of a list.
    fn add_table(&self, list: Cell, ambient: &dyn FunctionContext) -> Result<(), Failure> {
        let table = {
            let inner = self.inner.read();
            let Value::List(items) = inner.value(list) else { return Ok(()) };
            ambient.request_memory(table_bytes(items.len()))?;
            let hash = |place: u32| inner.hash(&items[place as usize]);
            let mut table = HashTable::new();
            for (place, item) in (0..).zip(items) {
                if (place as usize).is_multiple_of(STEPS) {
                    ambient.check_cancelled()?;
                }
                let is_it = |&other: &u32| items[other as usize] == *item;
                // Duplicates are skipped: equal items would form one long probe chain.
                if table.find(hash(place), is_it).is_none() {
                    table.insert_unique(hash(place), place, |&other| hash(other));
                }
            }
            table
        };
        let mut inner = self.inner.write();
        let Some(place) = inner.own_place(list) else { return Ok(()) };
        let bytes = table_bytes(table.len());
        if inner.lists.0.insert(place as u32, table).is_none() {
            self.list_bytes.fetch_add(bytes, Relaxed);
        }
        Ok(())
    }
}

impl Inner {
    /// Whether the list has the value: `None` where a table must be built first, `Some(None)` where
    /// it is not a list.
    fn find_item(&self, list: Cell, sought: Sought<'_>) -> Option<Option<bool>> {
        let Value::List(items) = self.value(list) else { return Some(None) };
        let short;
        let value = match sought {
            Sought::Value(value) => value,
            Sought::Cell(cell) if cell.is_interned() => self.value(cell),
            Sought::Cell(cell) => {
                short = plain(cell);
                &short
            }
        };
        if items.len() <= FEW {
            return Some(Some(items.contains(value)));
        }
        let place = self.own_place(list)? as u32;
        let table = self.lists.0.get(&place)?;
        let is_it = |&place: &u32| items[place as usize] == *value;
        Some(Some(table.find(hash_with(&self.hasher, value), is_it).is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;
    use proptest::prelude::*;

    /// Grants this much memory to each request.
    struct Purse(u64);

    impl FunctionContext for Purse {
        fn now_us(&self) -> i64 {
            0
        }

        fn random(&self) -> u64 {
            0
        }

        fn request_memory(&self, bytes: u64) -> Result<(), Failure> {
            if bytes <= self.0 { Ok(()) } else { Err(Failure::limit("too much")) }
        }
    }

    const ANY: Purse = Purse(u64::MAX);

    proptest! {
        /// Compares with a linear search.
        #[test]
        fn a_table_knows_what_is_in_a_list(
            mut items in prop::collection::vec(value(), 0..60),
            doubled in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
            others in prop::collection::vec(value(), 0..20),
        ) {
            if !items.is_empty() {
                let again: Vec<Value> = doubled.iter().map(|at| at.get(&items).clone()).collect();
                items.extend(again);
            }
            let interner = Interner::default();
            let list = interner.cell(&Value::List(items.clone()));
            for sought in items.iter().chain(&others) {
                let want = Some(items.contains(sought));
                let cell = interner.cell(sought);
                for sought in [Sought::Value(sought), Sought::Cell(cell)] {
                    prop_assert_eq!(interner.has_item(list, sought, &ANY).unwrap(), want);
                }
            }
        }
    }

    fn ints(count: i64) -> Value {
        Value::List((0..count).map(Value::Int).collect())
    }

    #[test]
    fn a_table_is_counted_once_and_goes_with_its_list() {
        let interner = Interner::default();
        let mark = interner.mark();
        let list = interner.cell(&ints(1000));
        let without_bytes = interner.bytes();
        let has = |int: i64| interner.has_item(list, Sought::Value(&Value::Int(int)), &ANY);
        assert_eq!(has(999), Ok(Some(true)));
        assert_eq!(has(1000), Ok(Some(false)));
        assert_eq!(interner.bytes(), without_bytes + table_bytes(1000));
        interner.sweep(&mark, &mut |keep| keep(list));
        assert_eq!(interner.bytes(), without_bytes + table_bytes(1000));
        interner.sweep(&mark, &mut |_| {});
        assert_eq!(interner.bytes(), mark.bytes());
        // Another list in the same slot.
        let other = interner.cell(&Value::List(vec![Value::Int(-1); 1000]));
        let found = interner.has_item(other, Sought::Value(&Value::Int(1)), &ANY);
        assert_eq!(found, Ok(Some(false)));
    }

    #[test]
    fn what_is_no_list_has_no_items() {
        let interner = Interner::default();
        let sought = Sought::Cell(Cell::NULL);
        for cell in [Cell::NULL, interner.cell(&Value::Str("a long text".to_owned()))] {
            assert_eq!(interner.has_item(cell, sought, &ANY), Ok(None));
        }
    }

    #[test]
    fn a_table_is_asked_for_before_it_is_made() {
        let interner = Interner::default();
        let list = interner.cell(&ints(1000));
        let has = |purse: Purse| interner.has_item(list, Sought::Cell(Cell::NULL), &purse);
        assert!(
            has(Purse(table_bytes(1000) - 1))
                .is_err_and(|failure| failure.kind == function::FailureKind::Limit)
        );
        assert_eq!(has(Purse(table_bytes(1000))), Ok(Some(false)));
    }
}
