//! Reusable batches per thread, so that a single read or write allocates nothing.

use base::{Batch, Column, ColumnShape, Keys, KeyspaceId, Kind};
use std::cell::Cell;
use store::{Kinds, TableWrites, WriteBatch};

/// Batches with more rows than this are freed instead of kept.
const ROWS_KEPT_MAX: usize = 1 << 16;

/// The working memory of one call.
pub(crate) struct Scratch {
    /// Rows of edge keyspaces, in the layout of the graph's edges.
    pub(crate) rows: [Batch; 2],
    /// Offsets of the rows above.
    pub(crate) offsets: [Vec<u64>; 2],
    /// Keys to look up.
    pub(crate) keys: Keys,
    /// Whether each key was found.
    pub(crate) flags: Vec<bool>,
    /// Writes to both directions.
    pub(crate) writes: WriteBatch,
}

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// The columns of a graph's edges.
pub(crate) struct Layout {
    /// Number of key words.
    pub(crate) keys: usize,
    /// Shapes of the value columns.
    pub(crate) values: Box<[ColumnShape]>,
}

/// Calls `f` with a scratch whose rows have this layout. Calls may nest.
#[inline]
pub(crate) fn with<R>(layout: &Layout, f: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = KEPT.take().unwrap_or_default();
    set_keys(&mut scratch.keys, layout.keys);
    for rows in &mut scratch.rows {
        set_layout(rows, layout);
    }
    let result = f(&mut scratch);
    if !scratch.is_large() {
        scratch.clear();
        KEPT.set(Some(scratch));
    }
    result
}

/// Gives empty rows this layout, unless they have it.
#[inline]
fn set_layout(rows: &mut Batch, layout: &Layout) {
    set_keys(&mut rows.keys, layout.keys);
    set_values(rows, &layout.values);
}

#[inline]
fn set_keys(keys: &mut Keys, words: usize) {
    if let Keys::Words(columns) = keys
        && columns.len() != words
    {
        columns.resize_with(words, Vec::new);
    }
}

/// Gives empty rows these value columns, unless they have them.
#[inline]
fn set_values(rows: &mut Batch, values: &[ColumnShape]) {
    // Graphs without properties do not pay for the loop on each lookup.
    match (rows.values.as_slice(), values) {
        ([], []) | ([Column::Words(_)], [ColumnShape::Word { .. }]) => {}
        _ => set_other_values(rows, values),
    }
}

#[cold]
#[inline(never)]
fn set_other_values(rows: &mut Batch, values: &[ColumnShape]) {
    let fits = |(column, shape): (&Column, &ColumnShape)| {
        matches!(column, Column::Words(_)) == matches!(shape, ColumnShape::Word { .. })
    };
    if rows.values.len() != values.len() || !rows.values.iter().zip(values).all(fits) {
        rows.values.clear();
        rows.values.extend(values.iter().map(|&shape| Column::new(shape)));
    }
}

impl Scratch {
    fn is_large(&self) -> bool {
        let [a, b] = &self.rows;
        let writes = self.writes.tables.first().map_or(0, |table| table.rows.rows);
        a.rows.max(b.rows).max(self.flags.len()).max(self.keys.len()).max(writes) > ROWS_KEPT_MAX
    }

    fn clear(&mut self) {
        self.rows.iter_mut().for_each(Batch::clear);
        self.offsets.iter_mut().for_each(Vec::clear);
        self.keys.clear();
        self.flags.clear();
    }

    /// Resets `writes` to an empty table of rows of one kind for each direction.
    pub(crate) fn edge_writes(
        &mut self,
        kind: Kind,
        directions: [KeyspaceId; 2],
        layout: &Layout,
    ) -> &mut WriteBatch {
        let tables = &mut self.writes.tables;
        tables.truncate(2);
        while tables.len() < 2 {
            tables.push(TableWrites {
                keyspace: directions[0],
                kinds: Kinds::Uniform(kind),
                rows: edge_rows(),
                delete_ranges: Vec::new(),
            });
        }
        for (table, keyspace) in tables.iter_mut().zip(directions) {
            table.keyspace = keyspace;
            table.kinds = Kinds::Uniform(kind);
            table.delete_ranges.clear();
            set_layout(&mut table.rows, layout);
            table.rows.clear();
        }
        &mut self.writes
    }
}

/// An empty batch with keys of two words and no values.
fn edge_rows() -> Batch {
    Batch { rows: 0, keys: Keys::Words(vec![Vec::new(), Vec::new()]), values: Vec::new() }
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            rows: [edge_rows(), edge_rows()],
            offsets: [Vec::new(), Vec::new()],
            keys: Keys::Words(vec![Vec::new(), Vec::new()]),
            flags: Vec::new(),
            writes: WriteBatch::default(),
        }
    }
}

/// The vector of key word `i`, to swap a caller's vector in and out.
pub(crate) fn key_vec(rows: &mut Batch, i: usize) -> &mut Vec<u64> {
    match &mut rows.keys {
        Keys::Words(columns) => &mut columns[i],
        Keys::Bytes(_) => unreachable!("edges have keys of words"),
    }
}

/// The vector of value column 0.
pub(crate) fn value_vec(rows: &mut Batch) -> Option<&mut Vec<u64>> {
    match rows.values.first_mut() {
        Some(Column::Words(column)) => Some(&mut column.words),
        _ => None,
    }
}
