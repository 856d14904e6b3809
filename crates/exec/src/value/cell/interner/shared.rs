//! Values that the cached tries of an engine and the queries that use them share.
//!
//! # Why
//! A cell of a long string is an entry of its query's interner, so a trie with such cells would
//! serve one query. With entries here it serves all: a query that uses cached tries finds their
//! strings here before it adds its own.
//!
//! # Layout
//! Segments, which never change. A version with more values shares the segments of the one before.
//! The last segments are merged while they are of similar size, so a lookup searches few (as in an
//! LSM tree: O'Neil et al., Acta Informatica 1996).
//!
//! # Invariants
//! 1. A value has one entry, which is the same in all later versions of a generation.
//! 2. A query has one version for all its time. A value that this version lacks has an entry in the
//!    query's own interner, and no entry here that the query meets.
//! 3. Cells say by a bit that they belong here, and by their brand to which generation.

use super::brand::Brand;
use super::hash_with;
use crate::value::cell::Cell;
use function::bytes_of;
use hashbrown::HashTable;
use model::Value;
use std::sync::Arc;

/// A version of the shared values of an engine.
#[derive(Clone, Debug)]
pub struct SharedValues {
    brand: Brand,
    segments: Vec<Arc<Segment>>,
    bytes: u64,
}

/// Which values a trie needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedVersion {
    brand: Brand,
    len: usize,
}

/// Values with consecutive entries.
#[derive(Clone, Debug)]
struct Segment {
    first: usize,
    values: Vec<Value>,
    places: HashTable<u32>,
}

impl Segment {
    fn new(first: usize, values: Vec<Value>) -> Self {
        let hasher = foldhash::fast::FixedState::default();
        let hash = |place: &u32| hash_with(&hasher, &values[*place as usize]);
        let mut places = HashTable::with_capacity(values.len());
        for place in 0..values.len() as u32 {
            places.insert_unique(hash(&place), place, hash);
        }
        Self { first, values, places }
    }
}

impl Default for SharedValues {
    /// The values of a new generation, none.
    fn default() -> Self {
        Self { brand: Brand::shared(), segments: Vec::new(), bytes: 0 }
    }
}

impl SharedValues {
    /// Approximate size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.segments.last().map_or(0, |last| last.first + last.values.len())
    }

    pub(crate) fn version(&self) -> SharedVersion {
        SharedVersion { brand: self.brand, len: self.len() }
    }

    /// Whether all values of a version are there.
    pub(crate) fn has(&self, version: SharedVersion) -> bool {
        self.brand == version.brand && self.len() >= version.len
    }

    /// This version with more values, which are new, in their order.
    pub(super) fn with_more(&self, values: Vec<Value>) -> Self {
        let mut more = self.clone();
        if values.is_empty() {
            return more;
        }
        more.bytes += values.iter().map(|value| bytes_of(value) + 16).sum::<u64>();
        let (mut first, mut values) = (self.len(), values);
        while let Some(before) = more.segments.pop_if(|it| it.values.len() < 2 * values.len()) {
            let mut all = before.values.clone();
            all.append(&mut values);
            (first, values) = (before.first, all);
        }
        more.segments.push(Arc::new(Segment::new(first, values)));
        more
    }

    /// The cell of the entry with this number.
    pub(super) fn cell(&self, number: usize) -> Cell {
        self.brand.cell(number as u32)
    }

    /// The cell of a value, by its hash.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(&Value) -> bool) -> Option<Cell> {
        // The largest segment first: most values are in it.
        self.segments.iter().find_map(|segment| {
            let is_it = |&place: &u32| is_it(&segment.values[place as usize]);
            let place = segment.places.find(hash, is_it)?;
            Some(self.brand.cell(segment.first as u32 + place))
        })
    }

    /// The value of a cell.
    ///
    /// # Panics
    /// If the cell is of another generation or a later version.
    #[inline]
    pub(super) fn value(&self, cell: Cell) -> &Value {
        let number = self.brand.place(cell).expect("the caller checked that it is shared");
        let after = self.segments.partition_point(|segment| segment.first <= number);
        let segment = &self.segments[after - 1];
        &segment.values[number - segment.first]
    }
}
