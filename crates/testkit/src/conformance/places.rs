//! Promises about reopened stores: every commit, keyspace and id is there.

use super::Place;
use super::data::{Rows, counters, int};
use base::{Key, Kind};
use store::Isolation;

/// Rows, keyspaces and their ids, after writes, transactions, drops and deletes.
pub fn a_reopened_store_has_every_commit(place: &dyn Place) {
    let store = place.open();
    let (space, gone) = (counters(&*store, "kept"), counters(&*store, "gone"));
    let rows: Rows = (0..500).map(|k| (Key::words(&[k]), vec![int(k as i64)])).collect();
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    store.write(&gone.one(Kind::Put, &rows), None).unwrap();
    let transaction = store.begin(Isolation::Serializable);
    transaction.write(&space.delete_range(10, 490)).unwrap();
    transaction.write(&space.count(Kind::Merge, 5, 100)).unwrap();
    let seq = transaction.commit().unwrap();
    drop(store.begin(Isolation::Snapshot).write(&space.count(Kind::Put, 5, 1)));
    store.drop_keyspaces(&[gone.id]).unwrap();
    let (keyspaces, counts) = (store.keyspaces(), space.counts(&*store));
    assert_eq!(counts.len(), 20);
    store.close().unwrap();
    drop(store);
    let store = place.open();
    assert_eq!(store.keyspaces(), keyspaces);
    assert_eq!(space.counts(&*store), counts);
    assert_eq!(store.count(space.id).unwrap(), 20);
    assert!(store.snapshot().seq() >= seq, "sequence numbers went back");
    let new = counters(&*store, "new");
    assert!(new.id > gone.id, "an id was used twice");
    assert_eq!(new.counts(&*store), []);
    store.check(&|_, _| true).unwrap();
    store.close().unwrap();
}
