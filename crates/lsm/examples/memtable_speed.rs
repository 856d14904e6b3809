//! Measures the memtable against two alternatives: nanoseconds for each random insert and find.
//!
//! `cargo run --release -p quipu-lsm --example memtable_speed`
#![allow(clippy::disallowed_methods, reason = "a measuring program reads the clock itself")]

use base::{Batch, Column, ColumnShape, KeyRef, KeyShape, Kind, SeqNo, Shape};
use env::sync::RwLock;
use quipu_lsm::memtable::{Kinds, Memtable};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

type Versioned = ((u64, u64), Reverse<u64>);

/// Random two-word keys: sources among `entries / 16`, so that sources repeat as in a graph.
fn keys(entries: usize) -> Vec<[u64; 2]> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..entries).map(|_| [random() % (entries as u64 / 16), random() % 1_000_000]).collect()
}

fn shape() -> Shape {
    Shape { key: KeyShape::Words(2), values: vec![ColumnShape::Word { merge: None }] }
}

/// Fills a batch that is used again and again, as a writer's is warm in the cache.
fn fill(batch: &mut Batch, keys: &[[u64; 2]]) {
    batch.clear();
    batch.rows = keys.len();
    keys.iter().for_each(|key| batch.keys.push(KeyRef::Words(key)));
    if let Column::Words(column) = &mut batch.values[0] {
        column.words.extend(keys.iter().map(|key| key[1]));
    }
}

fn ns_each(count: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e9 / count as f64
}

/// Fills a structure and finds every key in it, several rounds. Prints the shortest round, the one
/// that other programs disturbed least.
fn report<S>(
    what: &str,
    keys: &[[u64; 2]],
    new: impl Fn() -> S,
    insert: impl Fn(&S),
    find: impl Fn(&S, &[u64; 2]) -> u64,
) {
    let probes: Vec<_> = (0..keys.len()).map(|i| keys[i * 7919 % keys.len()]).collect();
    let absent: Vec<_> = probes.iter().map(|key| [key[0], key[1] + 1_000_000]).collect();
    let rounds = (1_000_000 / keys.len()).clamp(3, 30);
    let mut best = [f64::MAX; 3];
    for _ in 0..rounds {
        let structure = new();
        let find_all = |probes: &[[u64; 2]]| {
            probes.iter().for_each(|key| {
                black_box(find(&structure, key));
            });
        };
        best[0] = best[0].min(ns_each(keys.len(), || insert(&structure)));
        best[1] = best[1].min(ns_each(keys.len(), || find_all(&probes)));
        best[2] = best[2].min(ns_each(keys.len(), || find_all(&absent)));
    }
    let [insert, present, absent] = best;
    println!(
        "{what:<34} {:>8} entries: insert {insert:>5.0} ns, find {present:>5.0} ns, absent {absent:>5.0} ns",
        keys.len()
    );
}

fn main() {
    for entries in [10_000, 1_000_000] {
        let keys = keys(entries);
        for batch_rows in [1, 500] {
            report(
                &format!("arena B+-tree, batches of {batch_rows}"),
                &keys,
                || Memtable::new(&shape()),
                |memtable| {
                    let mut batch = Batch::new(&shape());
                    for (seq, keys) in keys.chunks(batch_rows).enumerate() {
                        fill(&mut batch, keys);
                        memtable.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(seq as u64 + 1));
                    }
                },
                |memtable, key| {
                    let entry = memtable.find(KeyRef::Words(key), SeqNo::MAX);
                    entry.and_then(|entry| entry.word(0)).unwrap_or_default()
                },
            );
        }
        report(
            "crossbeam-skiplist",
            &keys,
            crossbeam_skiplist::SkipMap::<Versioned, u64>::new,
            |list| {
                for (seq, key) in keys.iter().enumerate() {
                    list.insert(((key[0], key[1]), Reverse(seq as u64)), key[1]);
                }
            },
            |list, key| {
                let from = ((key[0], key[1]), Reverse(u64::MAX));
                list.lower_bound(std::ops::Bound::Included(&from)).map_or(0, |e| *e.value())
            },
        );
        report(
            "RwLock<BTreeMap>",
            &keys,
            || RwLock::new(BTreeMap::<Versioned, u64>::new()),
            |map| {
                for (seq, key) in keys.iter().enumerate() {
                    let mut map = map.write();
                    map.insert(((key[0], key[1]), Reverse(seq as u64)), key[1]);
                }
            },
            |map, key| {
                let from = ((key[0], key[1]), Reverse(u64::MAX));
                let map = map.read();
                map.range(from..).next().map_or(0, |(_, value)| *value)
            },
        );
    }
}
