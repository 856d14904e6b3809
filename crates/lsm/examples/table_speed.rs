//! Measures a table of edges: building, lookups in cached blocks, scanning, bytes per row.
//!
//! `cargo run --release -p quipu-lsm --example table_speed -- [edges] [sources]`
#![allow(clippy::disallowed_methods, reason = "a measuring program reads the clock itself")]

use base::{
    Batch, Column, ColumnShape, KeyRange, KeyRef, KeyShape, Keys, Projection, SeqNo, Shape, TableId,
};
use env::{Env, MemoryEnv};
use quipu_lsm::context::{Context, TreeOptions};
use quipu_lsm::rows::Rows;
use quipu_lsm::table::{BlockCache, Fill, Table, TableBuilder, TableMeta, TableOptions};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Best of several rounds, in nanoseconds for one of `items`.
fn nanoseconds(items: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    best / items as f64
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

/// Edges in order, with weights of two digits after the point.
fn generated(edges: usize, sources: u64, shape: &Shape) -> Rows {
    let mut state = 1;
    let mut pairs: Vec<(u64, u64)> =
        (0..edges).map(|_| (random(&mut state) % sources, random(&mut state) % sources)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut rows = Rows::new(shape);
    rows.keys = Keys::Words(vec![
        pairs.iter().map(|pair| pair.0).collect(),
        pairs.iter().map(|pair| pair.1).collect(),
    ]);
    if let [Column::Words(column)] = &mut rows.values[..] {
        column.words = pairs
            .iter()
            .map(|_| ((random(&mut state) % 10_000) as f64 / 100.0).to_bits() | 1 << 63)
            .collect();
    }
    rows
}

/// A context in memory, with a cache that holds every block.
fn context() -> Context {
    let env = Arc::new(MemoryEnv::new(1));
    env.create_folder(Path::new("t")).expect("a folder");
    let cache = Arc::new(BlockCache::new(1 << 30));
    Context::new(env, cache, vec!["t".into()], TreeOptions::default(), false, TableId(1))
}

fn build(context: &Context, shape: &Shape, rows: &Rows, bottom: bool) -> TableMeta {
    let (id, folder, path) = context.new_table();
    let file = context.env.create(&path).expect("a new file");
    let mut builder = TableBuilder::new(file, shape.clone(), TableOptions::default(), bottom);
    builder.add(rows, 0..rows.len()).expect("rows in order");
    let summary = builder.finish().expect("a finished table");
    TableMeta { id, folder, global_seq: SeqNo::ZERO, shared: None, summary: summary.into() }
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let edges = numbers.next().unwrap_or(2_000_000);
    let sources = numbers.next().unwrap_or(100_000);
    for weighted in [true, false] {
        let values = if weighted { vec![ColumnShape::Word { merge: None }] } else { vec![] };
        let shape = Shape { key: KeyShape::Words(2), values };
        let rows = generated(edges, sources as u64, &shape);
        println!("{} edges of {sources} sources, weighted: {weighted}", rows.len());
        measure(&shape, &rows, sources as u64, weighted);
    }
    measure_flat(edges);
}

/// Keys of one word: numbers in a row and random ones with a small count, then values of 1 KiB.
fn measure_flat(rows: usize) {
    let word = ColumnShape::Word { merge: None };
    for (what, value, gap) in
        [("dense", word, 3), ("hashed", word, 1 << 44), ("1 KiB", ColumnShape::Bytes, 3)]
    {
        let shape = Shape { key: KeyShape::Words(1), values: vec![value] };
        let rows = if value == word { rows } else { rows / 20 };
        let mut input = Rows::new(&shape);
        let (mut state, mut key) = (3, 0);
        let mut noise = [0; 1024];
        for _ in 0..rows {
            key += random(&mut state) % gap + 1;
            input.keys.push(KeyRef::Words(&[key]));
            match &mut input.values[0] {
                Column::Words(column) => column.push(Some(random(&mut state) % 1000 + (1 << 63))),
                Column::Bytes(column) => {
                    for word in noise.as_chunks_mut::<8>().0 {
                        *word =
                            random(&mut state).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
                    }
                    column.push(Some(&noise));
                }
            }
        }
        let context = context();
        let ns = nanoseconds(rows, || {
            let meta = build(&context, &shape, &input, true);
            context.env.remove(&context.table_path(meta.id, meta.folder)).expect("its own file");
        });
        let meta = build(&context, &shape, &input, true);
        let bytes = meta.summary.bytes as f64 / rows as f64;
        println!("{rows} {what} keys: build {:.1} M rows/s, {bytes:.2} bytes a row", 1e3 / ns);
        let table = Table::open(&context, &meta, &shape).expect("a sound table");
        table.prefetch(&(0..table.blocks()).collect::<Vec<_>>()).expect("sound blocks");
        let Keys::Words(columns) = &input.keys else { return };
        let rounds = 300_000;
        let queries: Vec<u64> =
            (0..rounds).map(|_| columns[0][random(&mut state) as usize % rows]).collect();
        let mut scratch = Vec::new();
        let ns = nanoseconds(rounds, || {
            for key in &queries {
                let key = KeyRef::Words(std::slice::from_ref(key));
                if !table.may_contain_key(key) {
                    continue;
                }
                let block = table.block_for(key).expect("a key that is there");
                let block = table.block(block, Fill::Keep).expect("a cached block");
                let row = block.find(key).expect("a key that is there");
                if value == word {
                    black_box(block.word(0, row));
                } else {
                    black_box(block.bytes(0, row, &mut scratch));
                }
            }
        });
        println!("find a key and its value: {ns:.0} ns");
    }
}

fn measure(shape: &Shape, rows: &Rows, sources: u64, weighted: bool) {
    let context = context();
    let mut metas = Vec::new();
    for bottom in [true, false] {
        let ns = nanoseconds(rows.len(), || {
            let meta = build(&context, shape, rows, bottom);
            context.env.remove(&context.table_path(meta.id, meta.folder)).expect("its own file");
        });
        let meta = build(&context, shape, rows, bottom);
        let bytes = meta.summary.bytes as f64 / rows.len() as f64;
        println!("build, bottom {bottom}: {:.1} M rows/s, {bytes:.2} bytes a row", 1e3 / ns);
        metas.push(meta);
    }

    let table = Table::open(&context, &metas[0], shape).expect("a sound table");
    let all: Vec<usize> = (0..table.blocks()).collect();
    let ns = nanoseconds(rows.len(), || {
        let table = Table::open(&context, &metas[0], shape).expect("a sound table");
        all.iter().for_each(|&i| drop(table.block(i, Fill::Keep).expect("a sound block")));
    });
    let memory = context.cache.used_bytes() as f64 / rows.len() as f64;
    println!("open, read and check all blocks: {:.0} M rows/s", 1e3 / ns);
    table.prefetch(&all).expect("sound blocks");
    println!("{} blocks, memory before and after: {memory:.2} and {:.2} bytes a row", all.len(), {
        context.cache.used_bytes() as f64 / rows.len() as f64
    });

    let Keys::Words(columns) = &rows.keys else { return };
    let mut state = 7;
    let rounds = 300_000;
    let queries: Vec<[u64; 2]> = (0..rounds)
        .map(|_| {
            let row = random(&mut state) as usize % rows.len();
            [columns[0][row], columns[1][row]]
        })
        .collect();
    let ns = nanoseconds(rounds, || {
        for key in &queries {
            black_box(table.block_for(KeyRef::Words(key)));
        }
    });
    println!("fences alone: {ns:.0} ns");
    let ns = nanoseconds(rounds, || {
        for key in &queries {
            let block = table.block_for(KeyRef::Words(key)).expect("a key that is there");
            black_box(table.block(block, Fill::Keep).expect("a cached block"));
        }
    });
    println!("fences and cached block: {ns:.0} ns");
    let ns = nanoseconds(rounds, || {
        for key in &queries {
            let key = KeyRef::Words(key);
            let block = table.block_for(key).expect("a key that is there");
            let block = table.block(block, Fill::Keep).expect("a cached block");
            let row = block.find(key).expect("a key that is there");
            if weighted {
                black_box(block.word(0, row));
            }
        }
    });
    println!("find an edge{}: {ns:.0} ns", if weighted { " and its weight" } else { "" });
    let ns = nanoseconds(rounds, || {
        for key in &queries {
            black_box(table.may_contain_first_word(key[0]));
        }
    });
    println!("first-word filter: {ns:.0} ns");

    let wanted = Projection { keys: 0b10, values: u64::MAX };
    let vertices: Vec<u64> = (0..rounds).map(|_| random(&mut state) % sources).collect();
    let mut found = 0;
    let mut batch = Batch::new(shape);
    let ns = nanoseconds(rounds, || {
        found = 0;
        for &vertex in &vertices {
            batch.clear();
            let range = KeyRange::prefix_words(&[vertex]);
            let blocks = table.blocks_overlapping(&range);
            for block in blocks {
                let block = table.block(block, Fill::Keep).expect("a cached block");
                block.append_range(&range, wanted, &mut batch);
            }
            found += batch.rows;
        }
    });
    println!("an adjacency of {:.1} edges: {ns:.0} ns", found as f64 / rounds as f64);
    let ns = nanoseconds(rounds, || {
        for &vertex in &vertices {
            batch.clear();
            let Some(block) = table.block_for(KeyRef::Words(&[vertex])) else { continue };
            let block = table.block(block, Fill::Keep).expect("a cached block");
            black_box(block.rows_in(&KeyRange::prefix_words(&[vertex])));
        }
    });
    println!("of this, finding the rows: {ns:.0} ns");

    for (what, projection) in [
        ("last key word", Projection { keys: 0b10, values: 0 }),
        ("first key word", Projection { keys: 0b01, values: 0 }),
        ("all", Projection::ALL),
    ] {
        let ns = nanoseconds(rows.len(), || {
            for i in 0..table.blocks() {
                batch.clear();
                let block = table.block(i, Fill::Once).expect("a cached block");
                block.append_to(0..block.rows(), projection, &mut batch);
                black_box(&batch);
            }
        });
        println!("scan, {what}: {:.0} M rows/s", 1e3 / ns);
    }
    println!();
}
