//! Promises about keyspaces.

use super::Place;
use super::data::{WORD, counters, create};
use base::{Batch, KeyRange, KeyShape, KeyspaceId, Kind, Projection, Shape};
use store::{ErrorKind, Isolation, KeyspaceChange, NewKeyspace, Store};

fn new(name: &str) -> NewKeyspace {
    let shape = Shape { key: KeyShape::Words(1), values: vec![WORD] };
    NewKeyspace { name: name.into(), shape, definition: name.as_bytes().to_vec() }
}

fn names(store: &dyn Store) -> Vec<String> {
    store.keyspaces().into_iter().map(|info| info.name).collect()
}

/// Ids ascend and are never reused.
pub fn keyspaces_are_listed_by_id_and_found_by_name(place: &dyn Place) {
    let store = place.open();
    let ids = store.create_keyspaces(&[new("b"), new("a:1"), new("a")]).unwrap();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    assert_eq!(names(&*store), ["b", "a:1", "a"]);
    let found = store.keyspace_named("a:1").unwrap();
    assert_eq!((found.id, found.definition.as_slice()), (ids[1], b"a:1".as_slice()));
    assert_eq!(found.shape, new("a:1").shape);
    assert!(store.keyspace_named("c").is_none());
    let mut starting: Vec<_> = store.keyspaces_starting("a").into_iter().map(|i| i.id).collect();
    starting.sort();
    assert_eq!(starting, ids[1..]);
    store.drop_keyspaces(&[ids[2]]).unwrap();
    let more = store.create_keyspaces(&[new("a")]).unwrap();
    assert!(more[0] > ids[2], "an id was used twice");
    store.close().unwrap();
}

/// A refused change changes nothing.
pub fn names_are_unique_among_live_keyspaces(place: &dyn Place) {
    let store = place.open();
    let ids = store.create_keyspaces(&[new("a"), new("b")]).unwrap();
    let taken = store.create_keyspaces(&[new("c"), new("a")]).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::InvalidInput);
    let twice = store.create_keyspaces(&[new("c"), new("c")]).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::InvalidInput);
    let change = KeyspaceChange { id: ids[0], name: "b".into(), definition: vec![] };
    let taken = store.change_keyspaces(&[change], &[]).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::InvalidInput);
    assert_eq!(names(&*store), ["a", "b"]);
    store.close().unwrap();
}

/// Rename and drop are one step; a snapshot from before keeps both sets of rows.
pub fn a_keyspace_replaces_another_under_its_name(place: &dyn Place) {
    let store = place.open();
    let (old, fresh) = (counters(&*store, "rows"), counters(&*store, "rows:new"));
    store.write(&old.count(Kind::Put, 1, 1), None).unwrap();
    store.write(&fresh.count(Kind::Put, 2, 2), None).unwrap();
    let before = store.snapshot();
    let change = KeyspaceChange { id: fresh.id, name: "rows".into(), definition: vec![9] };
    store.change_keyspaces(&[change], &[old.id]).unwrap();
    let found = store.keyspace_named("rows").unwrap();
    assert_eq!((found.id, found.definition), (fresh.id, vec![9]));
    assert_eq!(names(&*store), ["rows"]);
    assert_eq!(fresh.counts(&*store), [(2, 2)]);
    assert_eq!(old.counts(&*before), [(1, 1)]);
    let replaced = store.replace_keyspaces(&[new("other")], &[fresh.id]).unwrap();
    assert_eq!(replaced.len(), 1);
    assert_eq!(names(&*store), ["other"]);
    drop(before);
    store.close().unwrap();
}

/// Reads, writes, drops and changes of an unknown or dropped keyspace are errors of the input.
pub fn a_keyspace_that_is_not_there_is_refused(place: &dyn Place) {
    let store = place.open();
    let gone = create(&*store, "gone", KeyShape::Words(1), &[WORD]);
    let writing = store.begin(store::Isolation::Snapshot);
    writing.write(&gone.count(Kind::Put, 1, 1)).unwrap();
    store.drop_keyspaces(&[gone.id]).unwrap();
    for id in [gone.id, KeyspaceId(4_000_000)] {
        let mut out = Batch::new(&gone.shape);
        let range = KeyRange::all_words();
        let scanned = store.scan_into(id, &range, Projection::ALL, 1, &mut out);
        assert_eq!(scanned.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(store.count(id).unwrap_err().kind(), ErrorKind::InvalidInput);
        let mut batch = gone.count(Kind::Put, 1, 1);
        batch.tables[0].keyspace = id;
        assert_eq!(store.write(&batch, None).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(store.drop_keyspaces(&[id]).unwrap_err().kind(), ErrorKind::InvalidInput);
        let change = KeyspaceChange { id, name: "x".into(), definition: vec![] };
        let changed = store.change_keyspaces(&[change], &[]);
        assert_eq!(changed.unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert!(writing.commit().is_err(), "a transaction wrote to a keyspace that was dropped");
    store.close().unwrap();
}

/// A script creates a relation and fills it in the transaction that it runs in. A snapshot that is
/// older than a keyspace has no rows of it, or does not know it.
pub fn an_older_transaction_uses_a_newer_keyspace(place: &dyn Place) {
    let store = place.open();
    let old = counters(&*store, "old");
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let snapshot = store.snapshot();
        let transaction = store.begin(isolation);
        transaction.write(&old.count(Kind::Put, 1, 1)).unwrap();
        let new = counters(&*store, &format!("new {isolation:?}"));
        assert_eq!(new.counts(&*transaction), []);
        transaction.write(&new.count(Kind::Put, 2, 2)).unwrap();
        assert_eq!(new.counts(&*transaction), [(2, 2)]);
        transaction.commit().unwrap();
        assert_eq!((old.counts(&*store), new.counts(&*store)), (vec![(1, 1)], vec![(2, 2)]));
        match snapshot.count(new.id) {
            Ok(rows) => assert_eq!(rows, 0),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput),
        }
    }
    store.close().unwrap();
}
