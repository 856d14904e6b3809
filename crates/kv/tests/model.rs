//! Compares the engine with a simple model: the same random operations, the same answers at every
//! step. Memtables, blocks and tables are tiny, so that rare branches run.
#![allow(clippy::unwrap_used)]

use base::{
    Batch, Column, ColumnShape, Key, KeyRange, KeyShape, Keys, KeyspaceId, Kind, Merge, Projection,
    Shape, int_to_word,
};
use env::MemoryEnv;
use lsm::context::TreeOptions;
use lsm::read::ReadThresholds;
use lsm::table::TableOptions;
use proptest::prelude::*;
use quipu_kv::{Kv, KvOptions};
use std::path::Path;
use std::sync::Arc;
use store::{
    Durability, ErrorKind, Isolation, Kinds, NewKeyspace, Read, SortedRows, Store, TableWrites,
    Transaction, WriteBatch,
};
use testkit::{ModelStore, OneBatch};

/// Few keys, so that operations often share them.
const KEYS: u64 = 24;

#[derive(Clone, Debug)]
struct Row {
    key: u64,
    kind: u8,
    word: Option<u64>,
    bytes: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Op {
    Write(Vec<Row>, bool),
    DeleteRange(u64, u64),
    Flush,
    Compact,
    Reopen,
    Hold,
    LetGo,
    Begin(bool),
    TxWrite(Vec<Row>),
    TxDeleteRange(u64, u64),
    TxSave,
    TxRollBackTo(u8),
    TxRead(u64),
    TxScan(u64, u64),
    Commit,
    Rollback,
    Load(Vec<Row>),
}

fn rows(max: usize) -> impl Strategy<Value = Vec<Row>> {
    let bytes = prop::option::of(prop::collection::vec(any::<u8>(), 0..12));
    // Mostly small numbers; sometimes large ones whose sum overflows a word, and a third may bring
    // it back into range.
    let much = prop_oneof![Just(i64::MAX - 1), Just(i64::MIN + 1), Just(1 << 62), Just(-1 << 62)];
    let word = prop_oneof![12 => -50_i64..50, 1 => much].prop_map(int_to_word);
    let row = (0..KEYS, 0..3_u8, prop::option::of(word), bytes)
        .prop_map(|(key, kind, word, bytes)| Row { key, kind, word, bytes });
    prop::collection::vec(row, 1..max)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (rows(6), any::<bool>()).prop_map(|(rows, tell)| Op::Write(rows, tell)),
        1 => (0..KEYS, 0..KEYS).prop_map(|(a, b)| Op::DeleteRange(a, b)),
        2 => Just(Op::Flush),
        1 => Just(Op::Compact),
        1 => Just(Op::Reopen),
        1 => Just(Op::Hold),
        1 => Just(Op::LetGo),
        2 => any::<bool>().prop_map(Op::Begin),
        4 => rows(4).prop_map(Op::TxWrite),
        1 => (0..KEYS, 0..KEYS).prop_map(|(a, b)| Op::TxDeleteRange(a, b)),
        1 => Just(Op::TxSave),
        1 => any::<u8>().prop_map(Op::TxRollBackTo),
        2 => (0..KEYS).prop_map(Op::TxRead),
        1 => (0..KEYS, 0..KEYS).prop_map(|(a, b)| Op::TxScan(a, b)),
        2 => Just(Op::Commit),
        1 => Just(Op::Rollback),
        1 => rows(30).prop_map(Op::Load),
    ]
}

fn shapes() -> [Shape; 2] {
    let values = vec![ColumnShape::Word { merge: Some(Merge::AddInt) }, ColumnShape::Bytes];
    [
        Shape { key: KeyShape::Words(2), values: values.clone() },
        Shape { key: KeyShape::Bytes, values },
    ]
}

/// The `key`th key of a keyspace: pairs share first words, strings share prefixes.
fn key_of(shape: &Shape, key: u64) -> Key {
    match shape.key {
        KeyShape::Words(_) => Key::words(&[key / 5, key % 5]),
        KeyShape::Bytes => {
            Key::bytes(format!("k{}", "x".repeat((key % 4) as usize) + &key.to_string()).as_bytes())
        }
    }
}

fn writes(id: KeyspaceId, shape: &Shape, rows: &[Row]) -> TableWrites {
    let mut batch = Batch::new(shape);
    let mut kinds = Vec::new();
    for row in rows {
        let kind = Kind::from_u8(row.kind).unwrap();
        kinds.push(kind);
        batch.keys.push(key_of(shape, row.key).as_ref());
        push_values(&mut batch, row, kind != Kind::Delete);
        batch.rows += 1;
    }
    TableWrites { keyspace: id, kinds: Kinds::PerRow(kinds), rows: batch, delete_ranges: vec![] }
}

fn push_values(batch: &mut Batch, row: &Row, there: bool) {
    for column in &mut batch.values {
        match column {
            Column::Words(column) => column.push(row.word.filter(|_| there)),
            Column::Bytes(column) => column.push(row.bytes.as_deref().filter(|_| there)),
        }
    }
}

fn range_of(shape: &Shape, a: u64, b: u64) -> KeyRange {
    let (a, b) = (key_of(shape, a), key_of(shape, b));
    let (lower, upper) = if a <= b { (a, b) } else { (b, a) };
    KeyRange { lower, upper: Some(upper) }
}

fn options(durability: Durability) -> KvOptions {
    KvOptions {
        durability,
        cache_bytes: 16 << 10,
        memtable_bytes: 3 << 10,
        wal_segment_bytes: 4 << 10,
        direct_reads: durability == Durability::Os,
        tree: TreeOptions {
            table: TableOptions {
                block_rows_max: 4,
                block_bytes_max: 64,
                apart_value_bytes_min: if durability == Durability::Os { 1 } else { u64::MAX },
                ..TableOptions::default()
            },
            table_bytes: 600,
            level0_runs: 2,
            level1_bytes: 1500,
            level_factor: 3,
            shared_bytes_max: 400,
            read: ReadThresholds::TINY,
        },
        ..KvOptions::default()
    }
}

fn load(store: &dyn Store, ids: &[KeyspaceId], rows: &[Row]) -> store::Result<()> {
    let mut bulk = store.begin_bulk()?;
    for (id, shape) in ids.iter().zip(shapes()) {
        let mut rows: Vec<_> = rows.iter().map(|row| (key_of(&shape, row.key), row)).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows.dedup_by(|a, b| a.0 == b.0);
        let cut = rows.len() / 2;
        let partitions = [&rows[..cut], &rows[cut..]].map(|rows| {
            let mut batch = Batch::new(&shape);
            for (key, row) in rows {
                batch.keys.push(key.as_ref());
                push_values(&mut batch, row, true);
                batch.rows += 1;
            }
            Box::new(OneBatch(Some(batch))) as Box<dyn SortedRows>
        });
        bulk.write(*id, partitions.into_iter().collect())?;
    }
    bulk.commit()?;
    Ok(())
}

/// Everything that can be read, as a string that differs where the answers do.
fn everything(read: &dyn Read, ids: &[KeyspaceId]) -> String {
    let mut said = String::new();
    for (id, shape) in ids.iter().zip(shapes()) {
        let all = KeyRange::all(&shape.key);
        let mut scanned = Batch::new(&shape);
        read.scan_into(*id, &all, Projection::ALL, usize::MAX, &mut scanned).unwrap();
        said += &format!("scan {:?}\n", rows_of(&scanned, true));
        let mut streamed = Batch::new(&shape);
        let mut scan = read.scan(*id, all, Projection::ALL).unwrap();
        while scan.next_batch(3, &mut streamed).unwrap() {}
        assert_eq!(rows_of(&scanned, true), rows_of(&streamed, true), "a stream is a scan");
        assert_eq!(read.count(*id).unwrap(), scanned.rows as u64, "count counts the scan's rows");
        let mut keys = Keys::new(shape.key);
        let mut one_by_one = Batch::new(&shape);
        let mut there = Vec::new();
        for key in (0..KEYS).rev() {
            let key = key_of(&shape, key);
            keys.push(key.as_ref());
            there.push(
                read.get(*id, key.as_ref(), Projection { keys: 0, values: 3 }, &mut one_by_one)
                    .unwrap(),
            );
        }
        said += &format!("get {there:?} {:?}\n", rows_of(&one_by_one, false));
        let (mut present, mut many) = (Vec::new(), Batch::new(&shape));
        read.get_many(*id, &keys, Projection { keys: 0, values: 3 }, &mut present, &mut many)
            .unwrap();
        assert_eq!(present, there, "get_many finds what get finds");
        let found: Vec<_> = rows_of(&many, false)
            .into_iter()
            .zip(&present)
            .filter_map(|(row, there)| there.then_some(row))
            .collect();
        assert_eq!(found, rows_of(&one_by_one, false), "get_many reads what get reads");
        let part = range_of(&shape, 3, 17);
        let mut some = Batch::new(&shape);
        read.scan_into(*id, &part, Projection::KEYS, 4, &mut some).unwrap();
        said +=
            &format!("part {:?}\n", (0..some.rows).map(|i| some.keys.get(i)).collect::<Vec<_>>());
        check_back(read, *id, &shape);
        let mut drawn = Batch::new(&shape);
        let mut word = 0_u64;
        let mut random = || {
            word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
            word ^ (word >> 29)
        };
        read.sample_into(*id, 3, &mut random, Projection::ALL, &mut drawn).unwrap();
        assert_eq!(drawn.rows, if scanned.rows == 0 { 0 } else { 3 }, "rows drawn");
        let rows = rows_of(&scanned, true);
        assert!(rows_of(&drawn, true).iter().all(|row| rows.contains(row)), "only rows are drawn");
        let most = read.estimate(*id, &range_of(&shape, 0, KEYS)).unwrap();
        assert!(most.rows <= 2000 && (most.rows == 0 || most.bytes > 0));
        if matches!(shape.key, KeyShape::Words(_)) {
            let firsts = [4, 0, 9, 2, 2];
            let (mut offsets, mut out) = (Vec::new(), Batch::new(&shape));
            read.prefix_many(*id, &firsts, Projection::ALL, &mut offsets, &mut out).unwrap();
            said += &format!("prefix {offsets:?} {:?}\n", rows_of(&out, true));
            let mut words = Vec::new();
            read.first_words(*id, &mut |some| words.extend_from_slice(some)).unwrap();
            said += &format!("first words {words:?}\n");
        }
    }
    said
}

/// A scan from the end is the scan from the front reversed, whatever the range and the limit.
fn check_back(read: &dyn Read, id: KeyspaceId, shape: &Shape) {
    let all = KeyRange::all(&shape.key);
    let open = KeyRange { lower: key_of(shape, 9), upper: None };
    let ranges = [all, range_of(shape, 3, 17), open];
    for (range, projection) in ranges.into_iter().zip([3, 1, 0]) {
        let projection = Projection { keys: 15, values: projection };
        let mut forward = Batch::new(shape);
        read.scan_into(id, &range, projection, usize::MAX, &mut forward).unwrap();
        for limit in [1, 4, usize::MAX] {
            let mut back = Batch::new(shape);
            read.scan_back_into(id, &range, projection, limit, &mut back).unwrap();
            let rows = |batch: &Batch, i: usize| {
                let words = batch.values[0].as_words().unwrap();
                let bytes = batch.values[1].as_bytes().unwrap();
                let word = (!words.words.is_empty()).then(|| words.get(i));
                let bytes = (!bytes.is_empty())
                    .then(|| bytes.validity.is_valid(i).then(|| bytes.get(i).to_vec()));
                (batch.keys.get(i), word, bytes)
            };
            let found: Vec<_> = (0..back.rows).map(|i| rows(&back, i)).collect();
            let want = (0..forward.rows).rev().take(limit).map(|i| rows(&forward, i));
            assert!(found.iter().cloned().eq(want), "{range:?} back, limit {limit}: {found:?}");
        }
    }
}

type Values = Vec<(Option<u64>, Option<Vec<u8>>)>;

fn rows_of(batch: &Batch, keys: bool) -> Vec<(Option<Key>, Values)> {
    (0..batch.rows)
        .map(|i| {
            let values = batch.values.iter().map(|column| match column {
                Column::Words(column) => (column.get(i), None),
                Column::Bytes(column) => {
                    (None, column.validity.is_valid(i).then(|| column.get(i).to_vec()))
                }
            });
            (keys.then(|| batch.keys.get(i)), values.collect())
        })
        .collect()
}

/// Whether both succeeded. Otherwise checks that both failed for the same reason: a conflict, or an
/// overflow of a word.
fn same<T>(engine: store::Result<T>, model: store::Result<T>) -> bool {
    let kind = |result: store::Result<T>| result.map(drop).map_err(|error| error.kind());
    let (engine, model) = (kind(engine), kind(model));
    assert_eq!(engine, model, "engine and model end differently");
    assert!(matches!(engine, Ok(()) | Err(ErrorKind::Conflict | ErrorKind::Limit)), "{engine:?}");
    engine.is_ok()
}

fn run(durability: Durability, ops: &[Op]) {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(1));
    let open = || Kv::open(Arc::clone(&env), Path::new("/db"), options(durability)).unwrap();
    let mut kv = open();
    let model = ModelStore::new();
    let new: Vec<_> = shapes()
        .into_iter()
        .zip(["words", "bytes"])
        .map(|(shape, name)| NewKeyspace { name: name.into(), shape, definition: vec![7] })
        .collect();
    let ids = kv.create_keyspaces(&new).unwrap();
    assert_eq!(ids, model.create_keyspaces(&new).unwrap());
    let mut held = Vec::new();
    let mut open_tx: Option<(Box<dyn Transaction>, Box<dyn Transaction>)> = None;
    let mut saved = Vec::new();
    for op in ops {
        match op {
            Op::Write(rows, tell) => {
                let batch = WriteBatch {
                    tables: ids
                        .iter()
                        .zip(&shapes())
                        .map(|(id, shape)| writes(*id, shape, rows))
                        .collect(),
                };
                if *tell {
                    let (mut a, mut b) = (Vec::new(), Vec::new());
                    if same(kv.write(&batch, Some(&mut a)), model.write(&batch, Some(&mut b))) {
                        assert_eq!(a, b, "whether the keys were there");
                    }
                } else {
                    same(kv.write(&batch, None), model.write(&batch, None));
                }
            }
            Op::DeleteRange(a, b) => {
                let batch = WriteBatch {
                    tables: ids
                        .iter()
                        .zip(&shapes())
                        .map(|(id, shape)| TableWrites {
                            delete_ranges: vec![range_of(shape, *a, *b)],
                            ..writes(*id, shape, &[])
                        })
                        .collect(),
                };
                kv.write(&batch, None).unwrap();
                model.write(&batch, None).unwrap();
            }
            Op::Flush => kv.flush().unwrap(),
            Op::Compact => kv.compact().unwrap(),
            Op::Reopen => {
                held.clear();
                open_tx = None;
                kv.close().unwrap();
                drop(kv);
                kv = open();
            }
            Op::Hold => held.push((kv.snapshot(), model.snapshot())),
            Op::LetGo => {
                if !held.is_empty() {
                    held.remove(0);
                }
            }
            Op::Begin(serializable) => {
                let isolation =
                    if *serializable { Isolation::Serializable } else { Isolation::Snapshot };
                open_tx = Some((kv.begin(isolation), model.begin(isolation)));
                saved.clear();
            }
            Op::TxWrite(rows) => {
                if let Some((a, b)) = &open_tx {
                    let batch = WriteBatch { tables: vec![writes(ids[0], &shapes()[0], rows)] };
                    same(a.write(&batch), b.write(&batch));
                }
            }
            Op::TxDeleteRange(from, to) => {
                if let Some((a, b)) = &open_tx {
                    let table = TableWrites {
                        delete_ranges: vec![range_of(&shapes()[0], *from, *to)],
                        ..writes(ids[0], &shapes()[0], &[])
                    };
                    let batch = WriteBatch { tables: vec![table] };
                    a.write(&batch).unwrap();
                    b.write(&batch).unwrap();
                }
            }
            Op::TxSave => {
                saved.extend(open_tx.as_ref().map(|(a, b)| (a.savepoint(), b.savepoint())));
            }
            Op::TxRollBackTo(which) => {
                if let (Some((a, b)), false) = (&open_tx, saved.is_empty()) {
                    saved.truncate(usize::from(*which) % saved.len() + 1);
                    let (one, other) = saved[saved.len() - 1];
                    a.roll_back_to(one);
                    b.roll_back_to(other);
                    let seen = |tx: &dyn Transaction| everything(tx, &ids[..1]);
                    assert_eq!(seen(&**a), seen(&**b), "a transaction after a rollback");
                }
            }
            Op::TxRead(key) => {
                if let Some((a, b)) = &open_tx {
                    let key = key_of(&shapes()[0], *key);
                    let read = |tx: &dyn Transaction| {
                        let mut out = Batch::new(&shapes()[0]);
                        let found = tx.get(ids[0], key.as_ref(), Projection::ALL, &mut out);
                        (found.unwrap(), rows_of(&out, false))
                    };
                    assert_eq!(read(&**a), read(&**b), "a transaction's own view of a key");
                }
            }
            Op::TxScan(from, to) => {
                if let Some((a, b)) = &open_tx {
                    let range = range_of(&shapes()[0], *from, *to);
                    let read = |tx: &dyn Transaction| {
                        let mut out = Batch::new(&shapes()[0]);
                        tx.scan_into(ids[0], &range, Projection::ALL, 100, &mut out).unwrap();
                        rows_of(&out, true)
                    };
                    assert_eq!(read(&**a), read(&**b), "a transaction's own view of a range");
                    check_back(&**a, ids[0], &shapes()[0]);
                    check_back(&**b, ids[0], &shapes()[0]);
                }
            }
            Op::Commit => {
                if let Some((a, b)) = open_tx.take() {
                    same(a.commit(), b.commit());
                }
            }
            Op::Rollback => open_tx = None,
            Op::Load(rows) => {
                load(&kv, &ids, rows).unwrap();
                load(&model, &ids, rows).unwrap();
            }
        }
        assert_eq!(everything(&kv, &ids), everything(&model, &ids), "after {op:?}");
        for (a, b) in &held {
            assert_eq!(everything(&**a, &ids), everything(&**b, &ids), "a snapshot after {op:?}");
        }
    }
    kv.check(&|_, _| true).unwrap();
    assert_eq!(kv.keyspaces(), model.keyspaces());
    kv.close().unwrap();
    let closed = kv.get(
        ids[0],
        Key::words(&[1, 1]).as_ref(),
        Projection::ALL,
        &mut Batch::new(&shapes()[0]),
    );
    assert_eq!(closed.map_err(|error| error.kind()), Err(ErrorKind::InvalidInput));
    assert!(kv.write(&WriteBatch { tables: vec![] }, None).is_err(), "closed is closed");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_answers_as_the_model_does(ops in prop::collection::vec(op(), 1..60)) {
        run(Durability::Os, &ops);
    }

    #[test]
    fn so_it_does_without_a_log(ops in prop::collection::vec(op(), 1..40)) {
        run(Durability::None, &ops);
    }
}
