//! Measures flush and compaction of edges in memory: rows a second, without a disk.
//!
//! `cargo run --release -p quipu-lsm --example compaction_speed [million rows]`

use base::{Batch, Column, ColumnShape, KeyShape, Keys, KeyspaceId, Kind, SeqNo, Shape};
use env::{Env, MemoryEnv};
use quipu_lsm::compaction::Choice;
use quipu_lsm::context::{Context, TreeOptions};
use quipu_lsm::memtable::Kinds;
use quipu_lsm::rows::Rows;
use quipu_lsm::run_writer::RunWriter;
use quipu_lsm::table::BlockCache;
use quipu_lsm::tree::Tree;
use quipu_lsm::version::{AddedTable, LEVEL_MAX, TreeEdit};
use std::path::PathBuf;
use std::sync::Arc;

/// `rows` edges in key order, some ten a source, numbers mixed from `salt`.
fn edges(shape: &Shape, rows: u64, salt: u64) -> Batch {
    let mut pairs: Vec<(u64, u64)> = (0..rows)
        .map(|i| {
            let mixed = base::checksum(&(i ^ salt << 40).to_le_bytes());
            (mixed % (rows / 10), (mixed >> 32) % rows)
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut batch = Batch::new(shape);
    batch.rows = pairs.len();
    batch.keys = Keys::Words(vec![
        pairs.iter().map(|pair| pair.0).collect(),
        pairs.iter().map(|pair| pair.1).collect(),
    ]);
    if let Some(Column::Words(words)) = batch.values.first_mut() {
        words.words = pairs.iter().map(|pair| pair.1 % 1000).collect();
    }
    batch
}

fn main() -> quipu_lsm::Result<()> {
    let millions: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4);
    let rows = millions * 1_000_000;
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let folder = PathBuf::from("/t");
    env.create_folder(&folder)?;
    let cache = Arc::new(BlockCache::new(256 << 20));
    let options = TreeOptions::default();
    let context =
        Arc::new(Context::new(env.clone(), cache, vec![folder], options, false, base::TableId(1)));
    let values = vec![ColumnShape::Word { merge: None }];
    let shape = Shape { key: KeyShape::Words(2), values };
    let tree = Tree::open(context.clone(), KeyspaceId(1), shape.clone(), &[])?;
    let measure = |what: &str, rows: u64, start: u64| {
        let us = env.monotonic_us() - start;
        println!(
            "{what}: {rows} rows in {} ms, {:.1} M rows/s",
            us / 1000,
            rows as f64 / us as f64
        );
    };

    let large = edges(&shape, rows, 1);
    let mut loaded = Rows::new(&shape);
    (loaded.keys, loaded.values) = (large.keys, large.values);
    let start = env.monotonic_us();
    let mut writer = RunWriter::new(&context, &shape, true, SeqNo(1));
    writer.add(&loaded, 0..loaded.len())?;
    let metas = writer.finish()?;
    measure("bulk run, one thread", loaded.len() as u64, start);
    let place = |meta| AddedTable { level: LEVEL_MAX as u8, run: 0, meta };
    let edit = TreeEdit { added: metas.into_iter().map(place).collect(), removed: Vec::new() };
    tree.install(&edit, &[], SeqNo::ZERO)?;

    for round in 0..2 {
        let small = edges(&shape, rows / 8, 2 + round);
        tree.insert(&small, Kinds::Uniform(Kind::Put), SeqNo(2 + round));
        tree.seal();
        let start = env.monotonic_us();
        if let Some(flushed) = tree.flush_sealed(&[], None)? {
            measure("flush", small.rows as u64, start);
            tree.install(&flushed.edit, &flushed.memtables, SeqNo::ZERO)?;
        }
    }
    for what in ["merge of level 0 and the bottom", "rewrite of the bottom alone"] {
        let levels = tree.stats().levels;
        let rows = levels.iter().map(|level| level.rows).sum();
        let all: Vec<_> =
            tree.view().version.tables().map(|(_, _, table)| table.meta().id).collect();
        let choice = Choice::Merge { tables: all, into: LEVEL_MAX };
        let start = env.monotonic_us();
        let edit = tree.compact(&choice, &[], None, &|| true)?;
        measure(what, rows, start);
        tree.install(&edit, &[], SeqNo::ZERO)?;
    }
    let bottom = tree.stats().levels[LEVEL_MAX];
    println!("{} rows, {:.2} bytes a row", bottom.rows, bottom.bytes as f64 / bottom.rows as f64);
    Ok(())
}
