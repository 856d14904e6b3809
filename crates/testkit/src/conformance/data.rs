//! Rows of tests, and calls of a store in terms of them.

use crate::rows::{Cell, append, row_at};
use base::{
    Batch, ColumnShape, Key, KeyRange, KeyShape, KeyspaceId, Kind, Merge, Projection, Shape,
    int_to_word, word_to_int,
};
use store::{Kinds, NewKeyspace, Read, Store, TableWrites, WriteBatch};

/// The value columns of a row.
pub(crate) type Row = Vec<Cell>;

/// Rows with their keys.
pub(crate) type Rows = Vec<(Key, Row)>;

/// A keyspace with its shape.
#[derive(Clone)]
pub(crate) struct Space {
    pub(crate) id: KeyspaceId,
    pub(crate) shape: Shape,
}

pub(crate) const WORD: ColumnShape = ColumnShape::Word { merge: None };

/// A column with a merge operator.
pub(crate) fn merged(merge: Merge) -> ColumnShape {
    ColumnShape::Word { merge: Some(merge) }
}

pub(crate) fn int(value: i64) -> Cell {
    Cell::Word(int_to_word(value))
}

pub(crate) fn bytes(value: &[u8]) -> Cell {
    Cell::Bytes(value.to_vec())
}

/// Creates a keyspace.
#[track_caller]
pub(crate) fn create(
    store: &dyn Store,
    name: &str,
    key: KeyShape,
    values: &[ColumnShape],
) -> Space {
    let shape = Shape { key, values: values.to_vec() };
    let new = NewKeyspace { name: name.into(), shape: shape.clone(), definition: vec![7] };
    Space { id: store.create_keyspaces(&[new]).unwrap()[0], shape }
}

/// A keyspace of one-word keys with a counter, the simplest that all kinds of writes apply to.
#[track_caller]
pub(crate) fn counters(store: &dyn Store, name: &str) -> Space {
    create(store, name, KeyShape::Words(1), &[merged(Merge::AddInt)])
}

impl Space {
    pub(crate) fn all(&self) -> KeyRange {
        KeyRange::all(&self.shape.key)
    }

    /// A batch of these rows. For deletes the values are nulls.
    pub(crate) fn batch(&self, rows: &[(Key, Row)]) -> Batch {
        let mut batch = Batch::new(&self.shape);
        for (key, row) in rows {
            append(&mut batch, Some(key.as_ref()), Some(row), Projection::ALL);
        }
        batch
    }

    /// Writes of one kind.
    pub(crate) fn writes(&self, kind: Kind, rows: &[(Key, Row)]) -> TableWrites {
        let rows = self.batch(rows);
        let kinds = Kinds::Uniform(kind);
        TableWrites { keyspace: self.id, kinds, rows, delete_ranges: Vec::new() }
    }

    /// A batch with writes of one kind.
    pub(crate) fn one(&self, kind: Kind, rows: &[(Key, Row)]) -> WriteBatch {
        WriteBatch { tables: vec![self.writes(kind, rows)] }
    }

    /// A write of one counter.
    pub(crate) fn count(&self, kind: Kind, key: u64, value: i64) -> WriteBatch {
        self.one(kind, &[(Key::words(&[key]), vec![int(value)])])
    }

    /// A batch that deletes a range of words.
    pub(crate) fn delete_range(&self, from: u64, to: u64) -> WriteBatch {
        let range = KeyRange { lower: Key::words(&[from]), upper: Some(Key::words(&[to])) };
        let writes = TableWrites { delete_ranges: vec![range], ..self.writes(Kind::Put, &[]) };
        WriteBatch { tables: vec![writes] }
    }

    /// All rows of a range.
    #[track_caller]
    pub(crate) fn scan(&self, read: &dyn Read, range: &KeyRange) -> Rows {
        let mut out = Batch::new(&self.shape);
        read.scan_into(self.id, range, Projection::ALL, usize::MAX, &mut out).unwrap();
        rows_of(&out)
    }

    /// All rows.
    #[track_caller]
    pub(crate) fn rows(&self, read: &dyn Read) -> Rows {
        self.scan(read, &self.all())
    }

    /// All counters of a keyspace from [`counters`].
    #[track_caller]
    pub(crate) fn counts(&self, read: &dyn Read) -> Vec<(u64, i64)> {
        let mut out = Batch::new(&self.shape);
        read.scan_into(self.id, &self.all(), Projection::ALL, usize::MAX, &mut out).unwrap();
        let counts = out.value_words(0).iter().map(|&word| word_to_int(word));
        out.key_words(0).iter().copied().zip(counts).collect()
    }

    /// One counter, through a lookup.
    #[track_caller]
    pub(crate) fn counter(&self, read: &dyn Read, key: u64) -> Option<i64> {
        let mut out = Batch::new(&self.shape);
        let key = Key::words(&[key]);
        let found = read.get(self.id, key.as_ref(), Projection::ALL, &mut out).unwrap();
        found.then(|| word_to_int(out.value_words(0)[0]))
    }
}

/// The rows of a batch with all columns.
pub(crate) fn rows_of(batch: &Batch) -> Rows {
    (0..batch.rows).map(|i| (batch.keys.get(i), row_at(batch, i))).collect()
}

/// A pseudo-random sequence that is the same each time (SplitMix64, Steele et al. 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }
}
