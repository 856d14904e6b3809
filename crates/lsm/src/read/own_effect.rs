//! The net effect of a transaction's own writes.

use super::columns::push_absent;
use super::fold::{Fold, Outcome};
use super::source::is_own_hidden;
use crate::memtable::Memtable;
use base::{Batch, KeyRange, Kind, Projection};

impl Memtable {
    /// Each key once, in key order, with all its versions combined: its kind as a number
    /// and, unless it is a delete, its values. What the memtable's own range tombstones delete is
    /// left out, so the ranges come first when this is replayed.
    #[must_use]
    pub fn fold(&self) -> (Batch, Vec<u8>) {
        let tombstones = self.range_tombstones();
        let mut rows = Batch::new(self.shape());
        let mut kinds = Vec::new();
        let mut fold = Fold::new();
        let mut cursor = self.cursor_at_start();
        while let Some(newest) = cursor.entry() {
            let key = newest.key();
            fold.reset();
            let mut kind = None;
            let mut version = Some(newest);
            while let Some(entry) = version {
                if !fold.is_decided() && !is_own_hidden(&tombstones, entry) {
                    fold.add(self.shape(), Projection::ALL, entry.kind(), &entry);
                    // A merge over a delete is a put.
                    kind = Some(match fold.outcome {
                        Outcome::Present => Kind::Put,
                        Outcome::Absent => Kind::Delete,
                        Outcome::Merging | Outcome::Unknown => Kind::Merge,
                    });
                }
                version = entry.next_older();
                cursor.advance();
            }
            match kind {
                None => continue,
                Some(Kind::Delete) => {
                    push_absent(&mut rows, key.as_ref(), Projection::ALL);
                }
                Some(_) => fold.push(key.as_ref(), Projection::ALL, &mut rows),
            }
            kinds.extend(kind.map(|kind| kind as u8));
        }
        (rows, kinds)
    }

    /// The ranges deleted, oldest first.
    #[must_use]
    pub fn deleted_ranges(&self) -> Vec<KeyRange> {
        self.range_tombstones().iter().map(|tombstone| tombstone.range.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtable::Kinds;
    use base::{
        Column, ColumnShape, KeyRef, KeyShape, Merge, SeqNo, Shape, int_to_word, word_to_int,
    };

    #[test]
    fn a_fold_says_what_all_versions_together_say() {
        let shape = Shape {
            key: KeyShape::Words(1),
            values: vec![ColumnShape::Word { merge: Some(Merge::AddInt) }],
        };
        let memtable = Memtable::new(&shape);
        let mut seq = 0;
        let mut write = |key: u64, kind: Kind, value: i64| {
            seq += 1;
            let mut batch = Batch::new(&shape);
            batch.rows = 1;
            batch.keys.push(KeyRef::Words(&[key]));
            let Column::Words(column) = &mut batch.values[0] else { unreachable!("a word") };
            column.push(Some(int_to_word(value)));
            memtable.insert(&batch, Kinds::Uniform(kind), SeqNo(seq));
            seq
        };
        write(1, Kind::Merge, 2);
        write(1, Kind::Merge, 3);
        write(2, Kind::Put, 10);
        write(2, Kind::Merge, 1);
        write(3, Kind::Put, 10);
        write(3, Kind::Delete, 0);
        write(4, Kind::Delete, 0);
        write(4, Kind::Merge, 7);
        let last = write(5, Kind::Put, 1);
        memtable.delete_range(KeyRange::prefix_words(&[5]), SeqNo(last + 1));
        let (rows, kinds) = memtable.fold();
        assert_eq!(rows.key_words(0), [1, 2, 3, 4]);
        assert_eq!(kinds, [Kind::Merge as u8, Kind::Put as u8, 0, Kind::Put as u8]);
        let Column::Words(column) = &rows.values[0] else { unreachable!("a word") };
        let values: Vec<_> = (0..4).map(|i| column.get(i).map(word_to_int)).collect();
        assert_eq!(values, [Some(5), Some(11), None, Some(7)]);
    }
}
