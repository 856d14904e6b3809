//! Measures reads of a tree with one bottom run of a graph's edges: alone, with edges in the
//! memtable, and under further runs and memtables.
//!
//! `cargo run --release -p quipu-lsm --example read_speed`
#![allow(clippy::disallowed_methods, reason = "a measuring program reads the clock itself")]

use base::{
    Batch, Column, ColumnShape, KeyRange, KeyRef, KeyShape, Keys, Kind, Projection, SeqNo, Shape,
};
use env::{Env, MemoryEnv};
use quipu_lsm::context::{Context, TreeOptions};
use quipu_lsm::memtable::{Kinds, Memtable};
use quipu_lsm::read::{ReadAt, ReadThresholds, SuperVersion};
use quipu_lsm::rows::Rows;
use quipu_lsm::table::{BlockCache, Table, TableBuilder, TableMeta};
use quipu_lsm::version::{Run, Version};
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

const VERTICES: u64 = 100_000;
const EDGES: usize = 1_770_000;
const WORDS: usize = 5_000;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
}

fn shape() -> Shape {
    Shape { key: KeyShape::Words(2), values: vec![ColumnShape::Word { merge: None }] }
}

fn weight(state: &mut u64) -> u64 {
    base::shape::float_to_word((random(state) % 1000) as f64 / 10.0)
}

fn ns(what: &str, count: usize, mut work: impl FnMut()) {
    let mut best = f64::MAX;
    // The shortest round is the one that other programs disturbed least.
    for _ in 0..25 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / count as f64);
    }
    println!("  {what:<44} {best:>8.1} ns  {:>8.2} M/s", 1e3 / best);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let state = &mut 0x9e37_79b9_7f4a_7c15;
    let mut edges: Vec<(u64, u64)> =
        (0..EDGES).map(|_| (random(state) % VERTICES, random(state) % VERTICES)).collect();
    edges.sort_unstable();
    edges.dedup();

    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    env.create_folder(&PathBuf::from("tables"))?;
    let cache = Arc::new(BlockCache::new(512 << 20));
    let folders = vec![PathBuf::from("tables")];
    let context =
        Context::new(env, cache, folders, TreeOptions::default(), false, base::TableId(1));
    let base = table(&context, &edges, 0, state)?;
    println!("{} edges in {:.1} MB", edges.len(), base.meta().summary.bytes as f64 / 1e6);
    let mut levels = vec![Run::default(); 6];
    levels[5].tables.push(base);
    let version = Arc::new(Version { level0: Vec::new(), levels: levels.clone() });

    for above in [0, 10_000] {
        let active = memtable(1..above + 1, state);
        let view = Arc::new(SuperVersion::new(
            active,
            Vec::new(),
            Arc::clone(&version),
            SeqNo::ZERO,
            ReadThresholds::default(),
        ));
        println!("{above} edges in the active memtable");
        measure(&view, &context, &edges, SeqNo(above))?;
    }

    // A graph that was changed: its last fifth lies in two memtables and two runs of level 0. One
    // of the runs holds deletes.
    let mut fresh: Vec<(u64, u64)> =
        (0..200_000).map(|_| (random(state) % VERTICES, random(state) % VERTICES)).collect();
    fresh.sort_unstable();
    fresh.dedup();
    let (even, odd): (Vec<_>, Vec<_>) =
        fresh.into_iter().partition(|(src, dst)| (src ^ dst) & 1 == 0);
    let runs = [(2, table(&context, &even, 0, state)?), (1, table(&context, &odd, 10, state)?)];
    let run = |(id, table)| (id, Run { tables: vec![table] });
    let version = Arc::new(Version { level0: runs.map(run).into(), levels });
    let (active, sealed) = (memtable(100_001..200_001, state), memtable(1..100_001, state));
    println!("two memtables of 100 K edges over two runs of 100 K");
    let view = Arc::new(SuperVersion::new(
        active,
        vec![sealed],
        version,
        SeqNo::ZERO,
        ReadThresholds::default(),
    ));
    measure(&view, &context, &edges, SeqNo(200_000))?;
    Ok(())
}

/// A table of these edges. Every `deletes`-th edge is a delete; none is if `deletes` is 0.
fn table(
    context: &Context,
    edges: &[(u64, u64)],
    deletes: usize,
    state: &mut u64,
) -> Result<Arc<Table>, Box<dyn std::error::Error>> {
    let mut rows = Rows::new(&shape());
    for (i, &(src, dst)) in edges.iter().enumerate() {
        let deleted = deletes > 0 && i % deletes == 0;
        rows.keys.push(KeyRef::Words(&[src, dst]));
        if deletes > 0 {
            rows.kinds.push(if deleted { Kind::Delete } else { Kind::Put } as u8);
        }
        if let Column::Words(column) = &mut rows.values[0] {
            column.push((!deleted).then(|| weight(state)));
        }
    }
    let (id, folder, path) = context.new_table();
    let options = context.options.table.clone();
    let mut builder = TableBuilder::new(context.env.create(&path)?, shape(), options, true);
    builder.add(&rows, 0..rows.len())?;
    let meta = TableMeta {
        id,
        folder,
        global_seq: SeqNo::ZERO,
        shared: None,
        summary: builder.finish()?.into(),
    };
    Ok(Table::open(context, &meta, &shape())?)
}

/// A memtable with an edge for each of these numbers.
fn memtable(seqs: std::ops::Range<u64>, state: &mut u64) -> Arc<Memtable> {
    let memtable = Arc::new(Memtable::new(&shape()));
    for seq in seqs {
        let mut batch = Batch::new(&shape());
        batch.rows = 1;
        batch.keys.push(KeyRef::Words(&[random(state) % VERTICES, random(state) % VERTICES]));
        if let Column::Words(column) = &mut batch.values[0] {
            column.push(Some(weight(state)));
        }
        memtable.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(seq));
    }
    memtable
}

fn measure(
    view: &Arc<SuperVersion>,
    context: &Context,
    edges: &[(u64, u64)],
    snapshot: SeqNo,
) -> Result<(), Box<dyn std::error::Error>> {
    let state = &mut 0x1234_5678_9abc_def1;
    let at = ReadAt::snapshot(snapshot);
    let values = Projection { keys: 0, values: 1 };
    let neighbors = Projection { keys: 2, values: 1 };
    let probes: Vec<(u64, u64)> =
        (0..10_000).map(|_| edges[random(state) as usize % edges.len()]).collect();
    let mut out = Batch::new(&shape());

    ns("get, present, random", probes.len(), || {
        for &(src, dst) in &probes {
            out.clear();
            let found = view.get(KeyRef::Words(&[src, dst]), at, values, &mut out);
            assert!(found.is_ok_and(|found| found));
        }
    });
    ns("get, absent, random", probes.len(), || {
        for &(src, dst) in &probes {
            out.clear();
            black_box(
                view.get(KeyRef::Words(&[src, dst + VERTICES]), at, values, &mut out).is_ok(),
            );
        }
    });
    ns("scan_into of one vertex, random", probes.len(), || {
        for &(src, _) in &probes {
            out.clear();
            let range = KeyRange::prefix_words(&[src]);
            let found = view.scan_into(&range, at, neighbors, usize::MAX, &mut out);
            assert!(found.is_ok() && out.rows > 0);
        }
    });
    let mut keys = Keys::new(KeyShape::Words(2));
    probes.iter().for_each(|(src, dst)| keys.push(KeyRef::Words(&[*src, *dst])));
    let mut present = Vec::new();
    ns("get_many of 10 K, random", probes.len(), || {
        out.clear();
        present.clear();
        let found = view.get_many(&keys, at, values, &mut present, &mut out);
        assert!(found.is_ok() && present.iter().all(|present| *present));
    });
    let mut words: Vec<u64> = (0..WORDS).map(|_| random(state) % VERTICES).collect();
    let mut offsets = Vec::new();
    for sorted in [false, true] {
        if sorted {
            words.sort_unstable();
        }
        out.clear();
        view.prefix_many(&words, at, neighbors, &mut offsets, &mut out)?;
        let rows = out.rows;
        let order = if sorted { "sorted" } else { "random" };
        ns(&format!("prefix_many of 5 K, {order}, a row"), rows, || {
            out.clear();
            let found = view.prefix_many(&words, at, neighbors, &mut offsets, &mut out);
            assert!(found.is_ok());
        });
    }
    ns("cursor over all, a row", edges.len(), || {
        let mut cursor =
            view.cursor(context, KeyRange::all_words(), snapshot, None, Projection::ALL, None);
        let mut rows = 0;
        loop {
            out.clear();
            if !cursor.next_batch(8192, &mut out).unwrap_or(false) {
                break;
            }
            rows += out.rows;
        }
        assert!(rows >= edges.len());
    });
    ns("count", 1, || assert!(view.count(at).is_ok()));
    ns("first_words, a row", edges.len(), || {
        let mut words = 0;
        let found = view.first_words(at, &mut |some| words += some.len());
        assert!(found.is_ok() && words > 0);
    });
    Ok(())
}
