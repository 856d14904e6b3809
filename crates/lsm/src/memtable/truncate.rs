//! Copies a memtable in its state before its last writes: a transaction rolls back to it.

use super::{EntryRef, Kinds, Memtable};
use base::{Batch, SeqNo};

impl Memtable {
    /// Copies the versions and range tombstones whose number is at most `seq` into a memtable.
    #[must_use]
    pub fn up_to(&self, seq: SeqNo) -> Self {
        let older = Self::new(&self.shape);
        for tombstone in self.range_tombstones().iter().filter(|one| one.seq <= seq) {
            older.delete_range(tombstone.range.clone(), tombstone.seq);
        }
        let mut versions: Vec<EntryRef<'_>> = Vec::new();
        let mut cursor = self.cursor_at_start();
        while let Some(entry) = cursor.entry() {
            if entry.seq() <= seq {
                versions.push(entry);
            }
            cursor.advance();
        }
        // As they came: stable, so that those of one number stay in key order.
        versions.sort_by_key(EntryRef::seq);
        let (mut rows, mut kinds) = (Batch::new(&self.shape), Vec::new());
        for written in versions.chunk_by(|one, next| one.seq() == next.seq()) {
            rows.clear();
            kinds.clear();
            for version in written {
                rows.rows += 1;
                rows.keys.push(version.key().as_ref());
                let columns = rows.values.iter_mut().enumerate();
                columns.for_each(|(i, column)| version.append_value(i, column));
                kinds.push(version.kind());
            }
            older.insert(&rows, Kinds::Each(&kinds), written[0].seq());
        }
        older
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Rows;
    use base::{Column, ColumnShape, KeyRange, KeyRef, KeyShape, Kind, Shape};

    fn all(memtable: &Memtable) -> String {
        let mut rows = Rows::new(memtable.shape());
        memtable.append_all(&mut rows);
        format!("{rows:?} {:?}", memtable.range_tombstones())
    }

    #[test]
    fn a_memtable_of_older_versions_is_what_it_was_then() {
        for key in [KeyShape::Words(2), KeyShape::Bytes] {
            let values = vec![ColumnShape::Word { merge: None }, ColumnShape::Bytes];
            let shape = Shape { key, values };
            let (memtable, mut then) = (Memtable::new(&shape), Vec::new());
            for seq in 1..200_u64 {
                if seq % 40 == 0 && key != KeyShape::Bytes {
                    memtable.delete_range(KeyRange::prefix_words(&[seq % 7]), SeqNo(seq));
                } else {
                    let mut batch = Batch::new(&shape);
                    for row in 0..seq % 5 + 1 {
                        let word = (seq * 31 + row * 17) % 60;
                        batch.rows += 1;
                        match key {
                            KeyShape::Words(_) => batch.keys.push(KeyRef::Words(&[word % 7, word])),
                            KeyShape::Bytes => batch.keys.push(KeyRef::Bytes(&[word as u8; 9])),
                        }
                        let is_there = seq % 3 > 0;
                        match &mut batch.values[0] {
                            Column::Words(column) => {
                                column.push((is_there && row > 0).then_some(seq))
                            }
                            Column::Bytes(_) => unreachable!("words"),
                        }
                        match &mut batch.values[1] {
                            Column::Bytes(column) => column.push(is_there.then_some(b"a text")),
                            Column::Words(_) => unreachable!("texts"),
                        }
                    }
                    let kind = if seq % 3 == 0 { Kind::Delete } else { Kind::Put };
                    memtable.insert(&batch, Kinds::Uniform(kind), SeqNo(seq));
                }
                then.push(all(&memtable));
            }
            for (i, then) in then.iter().enumerate() {
                let older = memtable.up_to(SeqNo(i as u64 + 1));
                assert_eq!(all(&older), *then, "up to {}", i + 1);
                assert!(older.seq_max() <= SeqNo(i as u64 + 1));
            }
            assert!(memtable.up_to(SeqNo::ZERO).is_empty());
        }
    }
}
