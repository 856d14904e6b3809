//! Measures full scans of a relation that was changed. Its rows are users with a number, a string
//! and an age; the string and the age may be null. One run holds all rows, and a memtable holds new
//! versions of a quarter of them.
//!
//! `cargo run --release -p quipu-lsm --example changed_speed [users] [rounds]`
#![allow(clippy::disallowed_methods, reason = "a measuring program reads the clock itself")]

use base::{
    Batch, Column, ColumnShape, KeyRange, KeyRef, KeyShape, Kind, Projection, SeqNo, Shape,
};
use env::{Env, MemoryEnv};
use quipu_lsm::context::{Context, TreeOptions};
use quipu_lsm::memtable::{Kinds, Memtable};
use quipu_lsm::read::{ReadThresholds, SuperVersion};
use quipu_lsm::rows::Rows;
use quipu_lsm::table::{BlockCache, Table, TableBuilder, TableMeta};
use quipu_lsm::version::{Run, Version};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
}

fn shape() -> Shape {
    let word = ColumnShape::Word { merge: None };
    Shape { key: KeyShape::Words(1), values: vec![word, ColumnShape::Bytes, word] }
}

fn push_values(values: &mut [Column], state: &mut u64) {
    let drawn = random(state);
    for (i, column) in values.iter_mut().enumerate() {
        let is_there = i == 0 || (drawn >> i) & 3 != 0;
        match column {
            Column::Words(column) => column.push(is_there.then_some((drawn >> 8) % 80)),
            Column::Bytes(column) => column.push(is_there.then_some(&b"woman"[..])),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let users = arguments.next().transpose()?.unwrap_or(100_000);
    let rounds = arguments.next().transpose()?.unwrap_or(40);
    let state = &mut 0x9e37_79b9_7f4a_7c15;
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    env.create_folder(&PathBuf::from("tables"))?;
    let cache = Arc::new(BlockCache::new(512 << 20));
    let folders = vec![PathBuf::from("tables")];
    let context =
        Context::new(env, cache, folders, TreeOptions::default(), false, base::TableId(1));
    let mut rows = Rows::new(&shape());
    for user in 0..users {
        rows.keys.push(KeyRef::Words(&[user]));
        push_values(&mut rows.values, state);
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
    let mut levels = vec![Run::default(); 6];
    levels[5].tables.push(Table::open(&context, &meta, &shape())?);
    let version = Arc::new(Version { level0: Vec::new(), levels });
    for changed in [0, users / 10_000, users / 1000, users / 100, users / 4] {
        let memtable = Arc::new(Memtable::new(&shape()));
        for seq in 1..=changed {
            let mut batch = Batch::new(&shape());
            batch.rows = 1;
            batch.keys.push(KeyRef::Words(&[random(state) % users]));
            push_values(&mut batch.values, state);
            memtable.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(seq));
        }
        let view = SuperVersion::new(
            memtable,
            Vec::new(),
            Arc::clone(&version),
            SeqNo::ZERO,
            ReadThresholds::default(),
        );
        let view = Arc::new(view);
        println!("{changed} of {users} users changed");
        for (what, keys, values) in
            [("no column", 0, 0), ("keys", 1, 0), ("keys and ages", 1, 4), ("all", 1, 7)]
        {
            let projection = Projection { keys, values };
            let mut out = Batch::new(&shape());
            let mut best = f64::MAX;
            for _ in 0..rounds {
                let start = Instant::now();
                let mut cursor = view.cursor(
                    &context,
                    KeyRange::all_words(),
                    SeqNo(changed),
                    None,
                    projection,
                    None,
                );
                let mut rows = 0;
                loop {
                    out.clear();
                    if !cursor.next_batch(8192, &mut out)? {
                        break;
                    }
                    rows += out.rows;
                }
                assert_eq!(rows as u64, users, "changes bring no users");
                best = best.min(start.elapsed().as_secs_f64() * 1e9 / users as f64);
            }
            println!("  {what:<20} {best:>6.1} ns a row");
        }
    }
    Ok(())
}
