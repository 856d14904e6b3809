//! Promises about snapshots and transactions.

use super::Place;
use super::data::{Rows, Space, counters, int};
use base::{Batch, Key, Kind, Projection};
use store::{ErrorKind, Isolation, Store, Transaction, WriteBatch};

fn key(word: u64) -> Key {
    Key::words(&[word])
}

/// A store with counters 1 to 9.
fn nine(place: &dyn Place) -> (std::sync::Arc<dyn Store>, Space) {
    let store = place.open();
    let space = counters(&*store, "counts");
    let rows: Rows = (1..10).map(|k| (key(k), vec![int(k as i64)])).collect();
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    (store, space)
}

#[track_caller]
fn refused(committed: store::Result<base::SeqNo>) {
    assert_eq!(committed.map_err(|error| error.kind()), Err(ErrorKind::Conflict));
}

/// Through writes, range deletes, drops, flushes and compactions.
pub fn a_snapshot_keeps_its_moment(place: &dyn Place) {
    let (store, space) = nine(place);
    let before = store.snapshot();
    let want = space.counts(&*before);
    store.write(&space.count(Kind::Merge, 1, 100), None).unwrap();
    store.write(&space.delete_range(3, 8), None).unwrap();
    let between = store.snapshot();
    assert!(between.seq() > before.seq());
    store.flush().unwrap();
    store.compact().unwrap();
    store.drop_keyspaces(&[space.id]).unwrap();
    assert_eq!(space.counts(&*before), want);
    assert_eq!(before.count(space.id).unwrap(), 9);
    assert_eq!(space.counts(&*between), [(1, 101), (2, 2), (8, 8), (9, 9)]);
    drop((before, between));
    store.close().unwrap();
}

/// Even if the snapshot that made it is gone.
pub fn a_stream_holds_its_snapshot(place: &dyn Place) {
    let (store, space) = nine(place);
    let mut stream = store.snapshot().scan(space.id, space.all(), Projection::ALL).unwrap();
    let mut direct = store.scan(space.id, space.all(), Projection::ALL).unwrap();
    let (mut out, mut newest) = (Batch::new(&space.shape), Batch::new(&space.shape));
    assert!(stream.next_batch(2, &mut out).unwrap());
    assert!(direct.next_batch(2, &mut newest).unwrap());
    store.write(&space.delete_range(0, 100), None).unwrap();
    store.compact().unwrap();
    while stream.next_batch(2, &mut out).unwrap() {}
    while direct.next_batch(2, &mut newest).unwrap() {}
    assert_eq!((out.rows, newest.rows), (9, 9));
    drop((stream, direct));
    store.close().unwrap();
}

/// And what is said to have changed includes what did.
pub fn equal_change_numbers_mean_equal_rows(place: &dyn Place) {
    let (store, space) = nine(place);
    let other = counters(&*store, "others");
    let first = store.snapshot();
    let since = first.changed_at(space.id).unwrap();
    assert!(since <= first.seq());
    let _ = first.changed_since(space.id, since).unwrap();
    for step in 0..6_u64 {
        let before = store.snapshot();
        let to = if step % 2 == 0 { &other } else { &space };
        store.write(&to.count(Kind::Merge, step, 1), None).unwrap();
        let after = store.snapshot();
        for space in [&space, &other] {
            let numbers =
                (before.changed_at(space.id).unwrap(), after.changed_at(space.id).unwrap());
            let equal = space.rows(&*before) == space.rows(&*after);
            assert!(numbers.0 <= numbers.1 && (numbers.0 != numbers.1 || equal), "{numbers:?}");
        }
        if let Some(words) = after.changed_since(space.id, since).unwrap() {
            assert!(words.is_sorted_by(|a, b| a < b));
            let changed: Vec<u64> = (1..=step).filter(|step| step % 2 == 1).collect();
            assert!(changed.iter().all(|word| words.contains(word)), "{words:?}");
        }
    }
    assert_eq!(
        first.changed_at(base::KeyspaceId(4_000_000)).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    store.close().unwrap();
}

/// In every read, and nothing of it is left without a commit.
pub fn a_transaction_sees_its_writes_and_others_do_not(place: &dyn Place) {
    let (store, space) = nine(place);
    let before = space.counts(&*store);
    let transaction = store.begin(Isolation::Snapshot);
    store.write(&space.count(Kind::Put, 9, 99), None).unwrap();
    let rows: Rows = [1, 1, 20].into_iter().map(|k| (key(k), vec![int(10)])).collect();
    transaction.write(&space.one(Kind::Merge, &rows)).unwrap();
    transaction.write(&space.delete_range(3, 9)).unwrap();
    transaction.write(&space.count(Kind::Put, 5, 50)).unwrap();
    transaction.write(&space.count(Kind::Delete, 2, 0)).unwrap();
    let want = [(1, 21), (5, 50), (9, 9), (20, 10)];
    assert_eq!(space.counts(&*transaction), want);
    let got: Vec<_> = (0..30).filter_map(|k| Some((k, space.counter(&*transaction, k)?))).collect();
    assert_eq!(got, want);
    let mut back = Batch::new(&space.shape);
    transaction.scan_back_into(space.id, &space.all(), Projection::ALL, 3, &mut back).unwrap();
    assert_eq!(back.key_words(0), [20, 9, 5]);
    let mut first = Batch::new(&space.shape);
    transaction.scan_into(space.id, &space.all(), Projection::ALL, 2, &mut first).unwrap();
    assert_eq!(first.key_words(0), [1, 5]);
    let mut stream = transaction.scan(space.id, space.all(), Projection::ALL).unwrap();
    let mut streamed = Batch::new(&space.shape);
    while stream.next_batch(2, &mut streamed).unwrap() {}
    assert_eq!(streamed.key_words(0), [1, 5, 9, 20]);
    let (mut offsets, mut out) = (Vec::new(), Batch::new(&space.shape));
    transaction
        .prefix_many(space.id, &[20, 3, 1], Projection::ALL, &mut offsets, &mut out)
        .unwrap();
    assert_eq!((offsets, out.key_words(0)), (vec![0, 1, 1, 2], [20, 1].as_slice()));
    let mut words = Vec::new();
    transaction.first_words(space.id, &mut |some| words.extend_from_slice(some)).unwrap();
    assert_eq!(
        (words.as_slice(), transaction.count(space.id).unwrap()),
        ([1, 5, 9, 20].as_slice(), 4)
    );
    drop(stream);
    drop(transaction);
    let mut want = before;
    want[8].1 = 99;
    assert_eq!(space.counts(&*store), want);
    store.close().unwrap();
}

/// On rows that both write: put or delete, in one keyspace. Rows that differ do not conflict.
pub fn the_first_committer_wins(place: &dyn Place) {
    let (store, space) = nine(place);
    for (first, second) in [
        (Kind::Put, Kind::Put),
        (Kind::Put, Kind::Delete),
        (Kind::Delete, Kind::Put),
        (Kind::Delete, Kind::Delete),
    ] {
        store.write(&space.count(Kind::Put, 1, 1), None).unwrap();
        let (a, b) = (store.begin(Isolation::Snapshot), store.begin(Isolation::Snapshot));
        a.write(&space.count(second, 1, 2)).unwrap();
        a.write(&space.count(Kind::Put, 2, 2)).unwrap();
        b.write(&space.count(first, 1, 3)).unwrap();
        b.commit().unwrap();
        let before = space.counts(&*store);
        refused(a.commit());
        assert_eq!(space.counts(&*store), before, "a refused commit wrote");
    }
    // A key that was never there, and one that was deleted and written again.
    let a = store.begin(Isolation::Snapshot);
    a.write(&space.count(Kind::Put, 77, 1)).unwrap();
    store.write(&space.count(Kind::Put, 77, 2), None).unwrap();
    refused(a.commit());
    let a = store.begin(Isolation::Snapshot);
    a.write(&space.count(Kind::Put, 77, 1)).unwrap();
    store.write(&space.count(Kind::Delete, 77, 0), None).unwrap();
    refused(a.commit());
    // Unique indexes rely on it.
    for second in [Kind::Delete, Kind::Put] {
        let (a, b) = (store.begin(Isolation::Snapshot), store.begin(Isolation::Snapshot));
        a.write(&space.count(second, 78, 0)).unwrap();
        b.write(&space.count(Kind::Delete, 78, 0)).unwrap();
        b.commit().unwrap();
        refused(a.commit());
    }
    let (a, b) = (store.begin(Isolation::Snapshot), store.begin(Isolation::Snapshot));
    a.write(&space.count(Kind::Put, 3, 1)).unwrap();
    b.write(&space.count(Kind::Put, 4, 1)).unwrap();
    a.commit().unwrap();
    b.commit().unwrap();
    assert_eq!((space.counter(&*store, 3), space.counter(&*store, 4)), (Some(1), Some(1)));
    store.close().unwrap();
}

/// Two merges of one key both take effect; a merge and a put conflict, whichever is first.
pub fn merges_never_conflict(place: &dyn Place) {
    let (store, space) = nine(place);
    let begin = || store.begin(Isolation::Snapshot);
    let (a, b) = (begin(), begin());
    a.write(&space.count(Kind::Merge, 1, 10)).unwrap();
    b.write(&space.count(Kind::Merge, 1, 100)).unwrap();
    a.commit().unwrap();
    store.write(&space.count(Kind::Merge, 1, 1000), None).unwrap();
    b.commit().unwrap();
    assert_eq!(space.counter(&*store, 1), Some(1111));
    for (first, second) in
        [(Kind::Merge, Kind::Put), (Kind::Put, Kind::Merge), (Kind::Delete, Kind::Merge)]
    {
        let a = begin();
        a.write(&space.count(second, 2, 1)).unwrap();
        store.write(&space.count(first, 2, 2), None).unwrap();
        refused(a.commit());
    }
    // A merge after a put in one transaction is a put.
    let a = begin();
    a.write(&space.count(Kind::Put, 3, 1)).unwrap();
    a.write(&space.count(Kind::Merge, 3, 1)).unwrap();
    store.write(&space.count(Kind::Merge, 3, 5), None).unwrap();
    refused(a.commit());
    store.close().unwrap();
}

/// Also with a write of a key that was not there, on either side.
pub fn a_deleted_range_conflicts_with_writes_in_it(place: &dyn Place) {
    let (store, space) = nine(place);
    let begin = || store.begin(Isolation::Snapshot);
    for inside in [4, 50] {
        let a = begin();
        a.write(&space.delete_range(3, 60)).unwrap();
        store.write(&space.count(Kind::Put, inside, 1), None).unwrap();
        refused(a.commit());
        let a = begin();
        a.write(&space.count(Kind::Put, inside, 2)).unwrap();
        store.write(&space.delete_range(3, 60), None).unwrap();
        refused(a.commit());
    }
    let (a, b) = (begin(), begin());
    a.write(&space.delete_range(3, 60)).unwrap();
    b.write(&space.count(Kind::Put, 60, 60)).unwrap();
    a.commit().unwrap();
    b.commit().unwrap();
    assert_eq!(space.counts(&*store), [(1, 1), (2, 2), (60, 60)]);
    store.close().unwrap();
}

/// Nested, repeated, and after range deletes.
pub fn savepoints_undo_later_writes(place: &dyn Place) {
    let (store, space) = nine(place);
    let transaction = store.begin(Isolation::Snapshot);
    let write = |batch: &WriteBatch| transaction.write(batch).unwrap();
    let start = transaction.savepoint();
    write(&space.count(Kind::Merge, 1, 10));
    let one = transaction.savepoint();
    let want = space.counts(&*transaction);
    write(&space.count(Kind::Merge, 1, 100));
    let two = transaction.savepoint();
    write(&space.delete_range(0, 100));
    write(&space.count(Kind::Put, 5, 55));
    assert_eq!(space.counts(&*transaction), [(5, 55)]);
    transaction.roll_back_to(two);
    assert_eq!(space.counter(&*transaction, 1), Some(111));
    transaction.roll_back_to(one);
    assert_eq!(space.counts(&*transaction), want);
    write(&space.count(Kind::Put, 6, 66));
    transaction.roll_back_to(one);
    assert_eq!(space.counts(&*transaction), want);
    transaction.roll_back_to(start);
    store.write(&space.count(Kind::Put, 1, 7), None).unwrap();
    write(&space.count(Kind::Put, 2, 22));
    transaction.commit().unwrap();
    assert_eq!((space.counter(&*store, 1), space.counter(&*store, 2)), (Some(7), Some(22)));
    store.close().unwrap();
}

/// Two transactions that each read both counters and write another one.
fn skewed(place: &dyn Place, isolation: Isolation) -> (bool, bool) {
    let (store, space) = nine(place);
    let (a, b) = (store.begin(isolation), store.begin(isolation));
    for transaction in [&a, &b] {
        assert_eq!(space.counter(&**transaction, 1), Some(1));
        assert_eq!(space.counter(&**transaction, 2), Some(2));
    }
    a.write(&space.count(Kind::Put, 1, 0)).unwrap();
    b.write(&space.count(Kind::Put, 2, 0)).unwrap();
    let committed = (a.commit().is_ok(), b.commit().is_ok());
    store.close().unwrap();
    committed
}

/// It is what snapshot isolation means.
pub fn snapshot_isolation_allows_write_skew(place: &dyn Place) {
    assert_eq!(skewed(place, Isolation::Snapshot), (true, true));
}

/// The second committer fails.
pub fn serializable_transactions_refuse_write_skew(place: &dyn Place) {
    assert_eq!(skewed(place, Isolation::Serializable), (true, false));
}

/// A key that appears in, or vanishes from, a range or lookup that was read.
pub fn serializable_transactions_refuse_phantoms(place: &dyn Place) {
    let (store, space) = nine(place);
    type Change = fn(&Space) -> WriteBatch;
    let changes: [Change; 4] = [
        |space| space.count(Kind::Put, 40, 1),
        |space| space.count(Kind::Delete, 40, 1),
        |space| space.count(Kind::Merge, 40, 1),
        |space| space.delete_range(30, 50),
    ];
    type Look = fn(&Space, &dyn Transaction);
    let looks: [Look; 4] = [
        |space, transaction| drop(space.counts(transaction)),
        |space, transaction| assert!(space.counter(transaction, 40).is_none_or(|count| count > 0)),
        |space, transaction| {
            let mut out = Batch::new(&space.shape);
            let mut offsets = Vec::new();
            let all = Projection::ALL;
            transaction.prefix_many(space.id, &[40], all, &mut offsets, &mut out).unwrap();
        },
        |space, transaction| {
            let mut stream = transaction.scan(space.id, space.all(), Projection::ALL).unwrap();
            while stream.next_batch(5, &mut Batch::new(&space.shape)).unwrap() {}
        },
    ];
    for change in changes {
        for look in looks {
            let transaction = store.begin(Isolation::Serializable);
            look(&space, &*transaction);
            transaction.write(&space.count(Kind::Put, 1, 1)).unwrap();
            store.write(&change(&space), None).unwrap();
            refused(transaction.commit());
        }
    }
    let transaction = store.begin(Isolation::Serializable);
    assert_eq!(space.counter(&*transaction, 1), Some(1));
    transaction.write(&space.count(Kind::Put, 1, 2)).unwrap();
    store.write(&space.count(Kind::Put, 60, 2), None).unwrap();
    transaction.commit().unwrap();
    store.close().unwrap();
}

/// Whatever it read, and whatever others wrote.
pub fn a_transaction_without_writes_commits(place: &dyn Place) {
    let (store, space) = nine(place);
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let transaction = store.begin(isolation);
        let seq = transaction.seq();
        assert_eq!(space.counter(&*transaction, 1), Some(1));
        store.write(&space.count(Kind::Put, 2, 2), None).unwrap();
        assert!(transaction.commit().unwrap() >= seq);
    }
    store.close().unwrap();
}
