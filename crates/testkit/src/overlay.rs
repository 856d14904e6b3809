//! Uncommitted writes, as one change per key.

use crate::rows::{Change, row_at};
use base::{Key, KeyRange, KeyRef, KeyspaceId, Shape};
use std::collections::BTreeMap;
use store::TableWrites;

/// Uncommitted writes of one keyspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    /// Deleted ranges; `changes` apply on top of them.
    pub(crate) deleted: Vec<KeyRange>,
    pub(crate) changes: BTreeMap<Key, Change>,
}

/// Uncommitted writes by keyspace.
pub(crate) type Overlays = BTreeMap<KeyspaceId, Overlay>;

impl Overlay {
    /// Adds writes: the ranges first, then the rows in order.
    pub(crate) fn add(&mut self, shape: &Shape, writes: &TableWrites) {
        for range in &writes.delete_ranges {
            self.changes.retain(|key, _| !range.contains(key.as_ref()));
            self.deleted.push(range.clone());
        }
        for i in 0..writes.rows.rows {
            let key = writes.rows.keys.get(i);
            let newer = Change::new(writes.kinds.get(i), row_at(&writes.rows, i));
            let change = match self.changes.remove(&key) {
                Some(older) => older.then(shape, newer),
                None if self.is_deleted(key.as_ref()) => Change::Delete.then(shape, newer),
                None => newer,
            };
            self.changes.insert(key, change);
        }
    }

    /// Whether a deleted range contains the key. It may have been written again since.
    pub(crate) fn is_deleted(&self, key: KeyRef<'_>) -> bool {
        self.deleted.iter().any(|range| range.contains(key))
    }
}
