//! A TiKV cluster keeps the promises of a storage engine: for one writing process, and where
//! several may write. `QUIPU_TIKV` has the addresses of servers for tests; `tools/with-tikv.sh`
//! starts some.
#![allow(clippy::unwrap_used)]

mod server;

use ordered::{MapRead, Order, OrderedMap, Pair, Writers};
use quipu_engine_tikv::TikvMap;
use server::Database;
use std::sync::Arc;
use store::{ErrorKind, Store};
use testkit::conformance::Place;

impl Place for Database {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.try_open(false).unwrap())
    }
}

testkit::conformance!(|| Database::new(Writers::One));

mod many_writers {
    use super::*;

    testkit::conformance!(|| Database::new(Writers::Many));
}

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn pair(number: u32, bytes: usize) -> Pair {
    (key(number), vec![7; bytes])
}

fn all(read: &mut dyn MapRead) -> Vec<Pair> {
    let mut out = Vec::new();
    read.scan(&[0], &[255], Order::Forward, usize::MAX, &mut out).unwrap();
    out
}

fn put(map: &TikvMap, pairs: &[Pair]) {
    let mut writer = map.writer().unwrap();
    writer.put(pairs).unwrap();
    writer.commit().unwrap();
}

#[test]
fn a_second_writer_is_refused_until_the_first_closes() {
    let database = Database::new(Writers::One);
    let first = database.try_open(false).unwrap();
    let second = database.try_open(false).err().unwrap();
    assert_eq!(second.kind(), ErrorKind::Locked);
    database.try_open(true).unwrap();
    first.close().unwrap();
    database.try_open(false).unwrap();
}

#[test]
fn a_process_that_shares_the_database_is_refused_while_another_writes_alone() {
    let database = Database::new(Writers::One);
    let alone = database.map();
    alone.claim().unwrap();
    let shares = database.map();
    assert_eq!(shares.writer().err().unwrap().kind(), ErrorKind::Locked);
    alone.close().unwrap();
    put(&shares, &[pair(1, 1)]);
}

#[test]
fn a_missing_database_is_an_error_for_a_reader() {
    let error = Database::new(Writers::One).try_open(true).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}

#[test]
fn databases_of_one_cluster_are_apart_and_one_is_erased_alone() {
    let (first, second) = (Database::new(Writers::One), Database::new(Writers::One));
    put(&first.map(), &[pair(1, 10)]);
    put(&second.map(), &[pair(2, 20)]);
    TikvMap::erase(&first.address()).unwrap();
    assert_eq!(all(&mut *first.map().snapshot().unwrap()), []);
    assert_eq!(all(&mut *second.map().snapshot().unwrap()), [pair(2, 20)]);
}

#[test]
fn a_discarded_range_is_gone_but_for_older_snapshots() {
    let database = Database::new(Writers::One);
    let map = database.map();
    map.claim().unwrap();
    let pairs: Vec<_> = (0..5000).map(|i| pair(i, 20)).collect();
    map.load(&pairs).unwrap();
    let mut before = map.snapshot().unwrap();
    let mut writer = map.writer().unwrap();
    writer.put(&[pair(6000, 1)]).unwrap();
    writer.discard(&0_u32.to_be_bytes(), &4000_u32.to_be_bytes()).unwrap();
    writer.commit().unwrap();
    let mut kept = pairs[4000..].to_vec();
    kept.push(pair(6000, 1));
    assert_eq!(all(&mut *map.snapshot().unwrap()), kept);
    assert_eq!(all(&mut *before), pairs);
}

#[test]
fn scans_cross_regions_in_both_directions() {
    let database = Database::new(Writers::One);
    let map = database.map();
    let pairs: Vec<_> = (0..20_000).map(|i| pair(i, 100)).collect();
    pairs.chunks(5000).for_each(|pairs| map.load(pairs).unwrap());
    let mut snapshot = map.snapshot().unwrap();
    assert!(all(&mut *snapshot) == pairs);
    for limit in [1, 4097, 15_000, usize::MAX] {
        let mut back = Vec::new();
        snapshot.scan(&[0], &[255], Order::Backward, limit, &mut back).unwrap();
        assert!(back.iter().eq(pairs.iter().rev().take(limit)), "{limit}");
    }
    let ranges: Vec<_> =
        (0..100_u32).map(|i| (i * 150, i * 150 + 40)).map(|(a, b)| (key(a), key(b))).collect();
    let mut many = Vec::new();
    snapshot.scan_many(&ranges, 30, &mut many).unwrap();
    for (i, found) in many.iter().enumerate() {
        assert!(found == &pairs[i * 150..i * 150 + 30], "{i}");
    }
}

#[test]
fn a_commit_of_too_many_rows_is_refused_and_writes_nothing() {
    let database = Database::new(Writers::One);
    let map = database.map();
    let pairs: Vec<_> = (0..100_000).map(|i| pair(i, 100)).collect();
    let mut writer = map.writer().unwrap();
    assert_eq!(writer.put(&pairs).unwrap_err().kind(), ErrorKind::Limit);
    drop(writer);
    assert_eq!(all(&mut *map.snapshot().unwrap()), []);
}

#[test]
fn a_snapshot_that_is_too_old_is_not_read() {
    let database = Database::new(Writers::One);
    put(&database.map(), &[pair(1, 10)]);
    let map = TikvMap::open(&format!("{}?snapshot_seconds=1", database.address())).unwrap();
    let mut snapshot = map.snapshot().unwrap();
    let error = loop {
        let mut out = Vec::new();
        match snapshot.get(&[pair(1, 10).0], &mut out) {
            Ok(()) => assert_eq!(out, [Some(pair(1, 10).1)]),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("snapshot_seconds"), "{error}");
}
