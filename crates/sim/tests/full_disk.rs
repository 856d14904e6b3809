//! A disk with no byte free: the database opens for writing, rows are deleted, and there is room
//! again.

use base::{
    Batch, Column, ColumnShape, Key, KeyRange, KeyShape, KeyspaceId, Kind, Projection, Shape,
};
use env::Env;
use kv::{Kv, KvOptions};
use quipu_sim::{Crash, Settings, Sim, SimEnv};
use std::path::Path;
use std::sync::Arc;
use store::{
    Durability, ErrorKind, Kinds, NewKeyspace, Read, Result, Store, TableWrites, WriteBatch,
};

const DB: &str = "/db";
const DISK_BYTES: u64 = 1 << 40;
/// Rows that are in tables, and rows that are in the log alone.
const FLUSHED: u64 = 3000;
const LOGGED: u64 = 100;

fn shape() -> Shape {
    Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] }
}

fn options(durability: Durability) -> KvOptions {
    KvOptions {
        durability,
        cache_bytes: 1 << 20,
        memtable_bytes: 4 << 20,
        wal_segment_bytes: 1 << 20,
        auto_compaction: false,
        ..KvOptions::default()
    }
}

/// Incompressible values.
fn value(key: u64) -> Vec<u8> {
    (0..32_u64)
        .flat_map(|i| base::checksum(&[key.to_le_bytes(), i.to_le_bytes()].concat()).to_le_bytes())
        .collect()
}

fn batch(keyspace: KeyspaceId, keys: std::ops::Range<u64>, kind: Kind) -> WriteBatch {
    let mut rows = Batch::new(&shape());
    for key in keys {
        rows.keys.push(Key::words(&[key]).as_ref());
        if let Column::Bytes(column) = &mut rows.values[0] {
            column.push((kind == Kind::Put).then(|| value(key)).as_deref());
        }
        rows.rows += 1;
    }
    let kinds = Kinds::Uniform(kind);
    WriteBatch { tables: vec![TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() }] }
}

fn keys(kv: &Kv, keyspace: KeyspaceId) -> Vec<u64> {
    let mut out = Batch::new(&shape());
    kv.scan_into(keyspace, &KeyRange::all_words(), Projection::ALL, usize::MAX, &mut out).unwrap();
    out.key_words(0).to_vec()
}

fn open(env: &Arc<SimEnv>, durability: Durability) -> Result<Kv> {
    Kv::open(Arc::<SimEnv>::clone(env), Path::new(DB), options(durability))
}

/// Runs `work` as the only task of a process, which is killed afterwards.
fn life(machine: Sim, work: impl FnOnce(&Arc<SimEnv>) + 'static) -> Sim {
    let env = machine.env();
    machine.spawn("work", move || work(&env));
    machine.run().unwrap();
    machine.crash(Crash::Kill);
    machine.restart()
}

/// A database whose process was killed, on a disk with no byte free.
fn full_disk(seed: u64, durability: Durability) -> Sim {
    let machine = life(Sim::new(seed, Settings::default()), move |env| {
        let kv = open(env, durability).unwrap();
        let new =
            |name: &str| NewKeyspace { name: name.into(), shape: shape(), definition: Vec::new() };
        let ids = kv.create_keyspaces(&[new("large"), new("small")]).unwrap();
        kv.write(&batch(ids[0], 0..FLUSHED, Kind::Put), None).unwrap();
        kv.flush().unwrap();
        kv.write(&batch(ids[1], 0..LOGGED, Kind::Put), None).unwrap();
        std::mem::forget(kv);
    });
    fill_up(&machine);
    machine
}

/// Fills the disk: its size becomes the bytes that are used.
fn fill_up(machine: &Sim) {
    let free = || machine.env().free_bytes(Path::new(DB)).unwrap();
    machine.set_disk_bytes(DISK_BYTES);
    machine.set_disk_bytes(DISK_BYTES - free());
    assert_eq!(free(), 0);
}

fn ids(kv: &Kv) -> [KeyspaceId; 2] {
    let id = |name: &str| kv.keyspaces().iter().find(|k| k.name == name).unwrap().id;
    [id("large"), id("small")]
}

#[test]
fn with_no_byte_free_rows_are_removed_and_make_room() {
    for durability in [Durability::Sync, Durability::Os] {
        for seed in 0..10 {
            let machine = life(full_disk(seed, durability), move |env| {
                let free = || env.free_bytes(Path::new(DB)).unwrap();
                let kv = open(env, durability).unwrap();
                let [large, small] = ids(&kv);
                assert_eq!(keys(&kv, large), (0..FLUSHED).collect::<Vec<_>>());
                assert_eq!(keys(&kv, small), (0..LOGGED).collect::<Vec<_>>());
                let before = free();
                kv.write(&batch(large, 10..FLUSHED, Kind::Delete), None).unwrap();
                kv.flush().unwrap();
                kv.compact_while(&|| true).unwrap();
                let rows = FLUSHED * value(0).len() as u64;
                assert!(free() > before + rows / 2, "{before} and now {}", free());
                // The database is an ordinary one again.
                kv.write(&batch(small, LOGGED..2 * LOGGED, Kind::Put), None).unwrap();
                kv.close().unwrap();
            });
            life(machine, move |env| {
                let kv = open(env, durability).unwrap();
                let [large, small] = ids(&kv);
                assert_eq!(keys(&kv, large), (0..10).collect::<Vec<_>>());
                assert_eq!(keys(&kv, small), (0..2 * LOGGED).collect::<Vec<_>>());
                assert!(kv.check(&|_, _| true).is_ok());
            });
        }
    }
}

#[test]
fn with_no_byte_free_relations_are_removed_and_make_room() {
    life(full_disk(1, Durability::Sync), |env| {
        let kv = open(env, Durability::Sync).unwrap();
        let [large, small] = ids(&kv);
        kv.drop_keyspaces(&[large]).unwrap();
        let rows = FLUSHED * value(0).len() as u64;
        assert!(env.free_bytes(Path::new(DB)).unwrap() > rows / 2);
        kv.write(&batch(small, LOGGED..2 * LOGGED, Kind::Put), None).unwrap();
        kv.close().unwrap();
    });
}

/// Openings that are interrupted, with commits in each, do not use up the reserve.
#[test]
fn with_no_byte_free_it_opens_again_and_again() {
    for durability in [Durability::Sync, Durability::Os] {
        for closes in [true, false] {
            let mut machine = full_disk(2, durability);
            for round in 0..20 {
                machine = life(machine, move |env| {
                    let kv = open(env, durability).unwrap();
                    let [large, small] = ids(&kv);
                    assert_eq!(keys(&kv, large), (round..FLUSHED).collect::<Vec<_>>());
                    assert_eq!(keys(&kv, small), (0..LOGGED).collect::<Vec<_>>());
                    kv.write(&batch(large, round..round + 1, Kind::Delete), None).unwrap();
                    if closes {
                        kv.close().unwrap();
                    }
                    std::mem::forget(kv);
                });
            }
        }
    }
}

#[test]
fn without_a_reserve_a_full_disk_refuses_and_loses_nothing() {
    let machine = full_disk(3, Durability::Sync);
    machine.set_disk_bytes(DISK_BYTES);
    let machine = life(machine, |env| {
        // Closed, so that no segment is kept for reuse.
        open(env, Durability::Sync).unwrap().close().unwrap();
        // As a database of an earlier version, which has no reserve; other files take its space.
        env.open_append(Path::new("/db/RESERVE"), 0).unwrap();
        env.remove(Path::new("/db/RESERVE")).unwrap();
    });
    fill_up(&machine);
    let machine = life(machine, |env| {
        let error = open(env, Durability::Sync).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("/db/"), "{error}");
    });
    machine.set_disk_bytes(DISK_BYTES);
    life(machine, |env| {
        let kv = open(env, Durability::Sync).unwrap();
        assert_eq!(keys(&kv, ids(&kv)[1]), (0..LOGGED).collect::<Vec<_>>());
        let reserve = env.read_file(Path::new("/db/RESERVE")).unwrap();
        assert_eq!(reserve.len(), 1 << 20, "it is made where there is room");
    });
}
