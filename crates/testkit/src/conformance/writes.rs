//! Promises about writes outside of transactions, and about bulk loads.

use super::Place;
use super::data::{Rows, WORD, bytes, counters, create, int, merged};
use crate::one_batch::OneBatch;
use crate::rows::Cell;
use base::{ColumnShape, Key, KeyShape, Kind, Merge, float_to_word, word_to_int};
use store::{ErrorKind, Kinds, SortedRows, Store, TableWrites, WriteBatch};

fn key(word: u64) -> Key {
    Key::words(&[word])
}

/// Within one batch, and across batches.
pub fn the_later_write_of_a_key_wins(place: &dyn Place) {
    let store = place.open();
    let space = counters(&*store, "counts");
    let rows: Rows = vec![(key(1), vec![int(1)]), (key(2), vec![int(2)]), (key(1), vec![int(3)])];
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    assert_eq!(space.counts(&*store), [(1, 3), (2, 2)]);
    let kinds = vec![Kind::Put, Kind::Delete, Kind::Merge, Kind::Merge, Kind::Delete, Kind::Merge];
    let values = [(1, 10), (1, 0), (1, 5), (1, 1), (2, 0), (2, 9)];
    let rows: Rows = values.into_iter().map(|(k, v)| (key(k), vec![int(v)])).collect();
    let writes = TableWrites { kinds: Kinds::PerRow(kinds), ..space.writes(Kind::Put, &rows) };
    store.write(&WriteBatch { tables: vec![writes] }, None).unwrap();
    assert_eq!(space.counts(&*store), [(1, 6), (2, 9)]);
    store.close().unwrap();
}

/// Columns without an operator are replaced; a merge with null changes nothing where there is one;
/// a merge of an absent row puts it.
pub fn merges_apply_their_operators(place: &dyn Place) {
    let store = place.open();
    let columns = [
        merged(Merge::AddInt),
        merged(Merge::AddFloat),
        merged(Merge::Min),
        merged(Merge::Max),
        WORD,
        ColumnShape::Bytes,
    ];
    let space = create(&*store, "merged", KeyShape::Words(1), &columns);
    let float = |float| Cell::Word(float_to_word(float));
    let row = |add: i64, sum: f64, word: u64, text: &[u8]| {
        let word = || Cell::Word(word);
        vec![int(add), float(sum), word(), word(), word(), bytes(text)]
    };
    let merge = |row: Vec<Cell>| store.write(&space.one(Kind::Merge, &[(key(1), row)]), None);
    merge(row(-5, 0.5, 20, b"one")).unwrap();
    assert_eq!(space.rows(&*store), [(key(1), row(-5, 0.5, 20, b"one"))]);
    merge(row(7, 0.25, 10, b"two")).unwrap();
    let mut want = row(2, 0.75, 10, b"two");
    want[3] = Cell::Word(20);
    assert_eq!(space.rows(&*store), [(key(1), want.clone())]);
    merge(vec![Cell::Null; 6]).unwrap();
    want[4..].fill(Cell::Null);
    assert_eq!(space.rows(&*store), [(key(1), want)]);
    store.write(&space.one(Kind::Put, &[(key(2), vec![Cell::Null; 6])]), None).unwrap();
    let merged = row(1, 1.0, 1, b"");
    store.write(&space.one(Kind::Merge, &[(key(2), merged.clone())]), None).unwrap();
    assert_eq!(space.rows(&*store)[1], (key(2), merged), "a null takes the operand");
    store.close().unwrap();
}

/// Readers of a sum out of range see an end of the range; later operands bring it back.
pub fn a_sum_out_of_range_can_come_back(place: &dyn Place) {
    let store = place.open();
    let space = counters(&*store, "sums");
    let add = |value| store.write(&space.count(Kind::Merge, 1, value), None);
    add(i64::MAX - 1).unwrap();
    add(i64::MAX - 1).unwrap();
    add(10).unwrap();
    assert_eq!(space.counter(&*store, 1), Some(word_to_int(u64::MAX)));
    add(-(i64::MAX - 1)).unwrap();
    add(-20).unwrap();
    assert_eq!(space.counter(&*store, 1), Some(i64::MAX - 11));
    let rows: Rows = vec![(key(2), vec![int(i64::MAX - 1)]); 2];
    let error = store.write(&space.one(Kind::Merge, &rows), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "one commit's increments do not fit");
    assert_eq!(space.counter(&*store, 2), None);
    store.close().unwrap();
}

/// One flag for each row, in the order of the batch.
pub fn deletes_tell_what_existed(place: &dyn Place) {
    let store = place.open();
    let (a, b) = (counters(&*store, "a"), counters(&*store, "b"));
    store.write(&a.count(Kind::Put, 1, 1), None).unwrap();
    store.write(&b.count(Kind::Put, 5, 1), None).unwrap();
    let rows = |keys: &[u64]| -> Rows { keys.iter().map(|&k| (key(k), vec![int(2)])).collect() };
    let tables =
        vec![a.writes(Kind::Delete, &rows(&[3, 1, 1])), b.writes(Kind::Put, &rows(&[5, 6]))];
    let mut existed = vec![true];
    store.write(&WriteBatch { tables }, Some(&mut existed)).unwrap();
    assert_eq!(existed, [true, false, true, true, true, false], "flags are appended");
    assert_eq!((a.counts(&*store), b.counts(&*store)), (vec![], vec![(5, 2), (6, 2)]));
    store.close().unwrap();
}

/// So a merge after it starts from nothing, and the flags tell what was there before.
pub fn a_range_is_deleted_before_the_rows_of_its_batch(place: &dyn Place) {
    let store = place.open();
    let space = counters(&*store, "counts");
    let rows: Rows = (1..6).map(|k| (key(k), vec![int(1)])).collect();
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    let mut batch = space.delete_range(2, 5);
    let merge = space.writes(Kind::Merge, &[(key(3), vec![int(7)])]);
    batch.tables[0] = TableWrites { delete_ranges: batch.tables[0].delete_ranges.clone(), ..merge };
    let mut existed = Vec::new();
    store.write(&batch, Some(&mut existed)).unwrap();
    assert_eq!(existed, [true]);
    assert_eq!(space.counts(&*store), [(1, 1), (3, 7), (5, 1)]);
    store.close().unwrap();
}

/// A batch that is refused for one keyspace writes nothing to the others.
pub fn a_batch_is_atomic_across_keyspaces(place: &dyn Place) {
    let store = place.open();
    let (a, b) = (counters(&*store, "a"), counters(&*store, "b"));
    let both = |kind, value| {
        let rows = [(key(1), vec![int(value)])];
        WriteBatch { tables: vec![a.writes(kind, &rows), b.writes(kind, &rows)] }
    };
    let before = Store::write(&*store, &both(Kind::Put, 1), None).unwrap();
    let after = store.write(&both(Kind::Merge, 1), None).unwrap();
    assert!(after > before, "sequence numbers ascend");
    assert_eq!((a.counter(&*store, 1), b.counter(&*store, 1)), (Some(2), Some(2)));
    store.drop_keyspaces(&[b.id]).unwrap();
    assert!(store.write(&both(Kind::Put, 9), None).is_err());
    assert_eq!(a.counter(&*store, 1), Some(2));
    store.close().unwrap();
}

/// In several keyspaces, from several partitions, into rows that were there. Dropped before its
/// commit it leaves nothing.
pub fn a_bulk_load_is_visible_at_its_commit(place: &dyn Place) {
    let store = place.open();
    let (a, b) = (counters(&*store, "a"), counters(&*store, "b"));
    store.write(&a.count(Kind::Put, 5, -5), None).unwrap();
    let rows: Rows = (0..2000).map(|k| (key(k), vec![int(k as i64)])).collect();
    let sorted = |space: &super::data::Space, rows: &[(Key, Vec<Cell>)]| {
        Box::new(OneBatch(Some(space.batch(rows)))) as Box<dyn SortedRows>
    };
    let mut dropped = store.begin_bulk().unwrap();
    dropped.write(a.id, vec![sorted(&a, &rows)]).unwrap();
    drop(dropped);
    assert_eq!(a.counts(&*store), [(5, -5)]);
    let mut bulk = store.begin_bulk().unwrap();
    let written = bulk.write(a.id, vec![sorted(&a, &rows[..700]), sorted(&a, &rows[700..])]);
    assert_eq!(written.unwrap().rows, 2000);
    bulk.write(b.id, vec![sorted(&b, &rows[..3]), sorted(&b, &[])]).unwrap();
    let before = store.snapshot();
    assert_eq!((a.counts(&*store).len(), b.counts(&*store).len()), (1, 0));
    bulk.commit().unwrap();
    assert_eq!((a.rows(&*store), b.rows(&*store)), (rows.clone(), rows[..3].to_vec()));
    assert_eq!(a.counts(&*before), [(5, -5)]);
    assert_eq!((store.count(a.id).unwrap(), store.count(b.id).unwrap()), (2000, 3));
    drop(before);
    store.close().unwrap();
}
