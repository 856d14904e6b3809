//! Shared by the tests: two keyspaces that must always agree, and disks that fail.
#![allow(dead_code, clippy::unwrap_used, unreachable_pub)]

pub mod disk;

use base::shape::int_to_word;
use base::{
    Batch, Column, ColumnShape, Key, KeyRange, KeyShape, KeyspaceId, Kind, Merge, Projection, Shape,
};
use lsm::context::TreeOptions;
use lsm::read::ReadThresholds;
use lsm::table::TableOptions;
use quipu_kv::KvOptions;
use store::{Durability, Kinds, NewKeyspace, Read, Result, Store, TableWrites, WriteBatch};

/// A keyspace of edges with weights that merge by addition.
pub fn shape() -> Shape {
    let values = vec![ColumnShape::Word { merge: Some(Merge::AddInt) }];
    Shape { key: KeyShape::Words(2), values }
}

/// Tiny blocks, tables and segments, and memtables of `memtable_bytes`.
pub fn options(durability: Durability, memtable_bytes: u64) -> KvOptions {
    let table = TableOptions { block_rows_max: 4, block_bytes_max: 64, ..TableOptions::default() };
    KvOptions {
        durability,
        cache_bytes: 16 << 10,
        memtable_bytes,
        wal_segment_bytes: 4 << 10,
        tree: TreeOptions {
            table,
            table_bytes: 600,
            level0_runs: 2,
            level1_bytes: 1500,
            level_factor: 3,
            shared_bytes_max: 64 << 10,
            read: ReadThresholds::TINY,
        },
        ..KvOptions::default()
    }
}

pub fn create(store: &dyn Store, names: &[&str]) -> Result<Vec<KeyspaceId>> {
    let new = |name: &&str| NewKeyspace {
        name: (*name).to_owned(),
        shape: shape(),
        definition: Vec::new(),
    };
    store.create_keyspaces(&names.iter().map(new).collect::<Vec<_>>())
}

pub fn rows(rows: &[(u64, u64, i64)]) -> Batch {
    let mut batch = Batch::new(&shape());
    for &(a, b, weight) in rows {
        batch.keys.push(Key::words(&[a, b]).as_ref());
        if let Column::Words(column) = &mut batch.values[0] {
            column.push(Some(int_to_word(weight)));
        }
        batch.rows += 1;
    }
    batch
}

pub fn table(keyspace: KeyspaceId, kind: Kind, edges: &[(u64, u64, i64)]) -> TableWrites {
    TableWrites {
        keyspace,
        kinds: Kinds::Uniform(kind),
        rows: rows(edges),
        delete_ranges: Vec::new(),
    }
}

pub fn reversed(edges: &[(u64, u64, i64)]) -> Vec<(u64, u64, i64)> {
    let mut reversed: Vec<_> = edges.iter().map(|&(a, b, weight)| (b, a, weight)).collect();
    reversed.sort_unstable();
    reversed
}

/// The edges in the first keyspace, and reversed in the second.
pub fn both(ids: &[KeyspaceId], kind: Kind, edges: &[(u64, u64, i64)]) -> WriteBatch {
    WriteBatch { tables: vec![table(ids[0], kind, edges), table(ids[1], kind, &reversed(edges))] }
}

/// Deletes all edges whose words are both in `from..to`.
pub fn delete_square(ids: &[KeyspaceId], from: u64, to: u64) -> WriteBatch {
    let keys = |a| (from..to).map(move |b| (a, b, 0));
    let edges: Vec<_> = (from..to).flat_map(keys).collect();
    both(ids, Kind::Delete, &edges)
}

pub fn delete_range(keyspace: KeyspaceId, from: u64, to: u64) -> WriteBatch {
    let range = KeyRange { lower: Key::words(&[from]), upper: Some(Key::words(&[to])) };
    let delete = TableWrites { delete_ranges: vec![range], ..table(keyspace, Kind::Put, &[]) };
    WriteBatch { tables: vec![delete] }
}

/// All rows of a keyspace, with weights as words.
pub fn scan(read: &dyn Read, keyspace: KeyspaceId) -> Result<Vec<(u64, u64, u64)>> {
    let mut out = Batch::new(&shape());
    read.scan_into(keyspace, &KeyRange::all_words(), Projection::ALL, usize::MAX, &mut out)?;
    let (a, b, weights) = (out.key_words(0), out.key_words(1), out.value_words(0));
    Ok((0..out.rows).map(|i| (a[i], b[i], weights[i])).collect())
}

pub fn weight(read: &dyn Read, keyspace: KeyspaceId, a: u64, b: u64) -> Option<i64> {
    let mut out = Batch::new(&shape());
    let key = Key::words(&[a, b]);
    let found = read.get(keyspace, key.as_ref(), Projection::ALL, &mut out).unwrap();
    found.then(|| base::shape::word_to_int(out.value_words(0)[0]))
}

/// Names of keyspaces and their rows, with weights as words.
pub type State = Vec<(String, Vec<(u64, u64, u64)>)>;

/// All keyspaces with all rows: equal where two stores hold the same.
pub fn dump(store: &dyn Store) -> Result<State> {
    let keyspaces = store.keyspaces().into_iter();
    keyspaces.map(|keyspace| Ok((keyspace.name, scan(store, keyspace.id)?))).collect()
}

/// Loads the edges in bulk, in both directions.
pub fn load(store: &dyn Store, ids: &[KeyspaceId], edges: &[(u64, u64, i64)]) -> Result<()> {
    let mut bulk = store.begin_bulk()?;
    for (id, edges) in ids.iter().zip([edges.to_vec(), reversed(edges)]) {
        bulk.write(*id, vec![Box::new(testkit::OneBatch(Some(rows(&edges))))])?;
    }
    bulk.commit().map(drop)
}

/// A pseudo-random sequence that is the same each time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}
