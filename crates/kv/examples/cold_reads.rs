//! Measures reads, past the page cache, of a tree far larger than the cache: batches of random
//! keys, and a full scan.
//!
//! `cargo run --release -p quipu-kv --example cold_reads -- FOLDER [GIGABYTES]`
#![allow(clippy::disallowed_methods, reason = "a measuring program reads the clock itself")]

use base::{Batch, Column, ColumnShape, KeyRange, KeyRef, KeyShape, Keys, Projection, Shape};
use env::{Env, RealEnv, RealOptions};
use quipu_kv::{Kv, KvOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use store::{NewKeyspace, Read, SortedRows, Store};

const VALUE_BYTES: usize = 1024;
const BATCH_KEYS: u64 = 256;
const ROUNDS: usize = 40;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

fn shape() -> Shape {
    Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] }
}

/// Rows `at` to `end`, each with an incompressible value.
struct Values {
    at: u64,
    end: u64,
}

impl SortedRows for Values {
    fn next_rows(&mut self, out: &mut Batch) -> store::Result<bool> {
        let before = self.at;
        let mut value = vec![0; VALUE_BYTES];
        while self.at < self.end.min(before + 1000) {
            let mut state = self.at + 1;
            value.chunks_exact_mut(8).for_each(|word| {
                word.copy_from_slice(&random(&mut state).to_le_bytes());
            });
            out.keys.push(KeyRef::Words(&[self.at]));
            if let Column::Bytes(column) = &mut out.values[0] {
                column.push(Some(&value));
            }
            out.rows += 1;
            self.at += 1;
        }
        Ok(self.at > before)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("a folder is missing")?);
    let gigabytes: u64 = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let rows = gigabytes * (1 << 30) / VALUE_BYTES as u64;
    let env: Arc<dyn Env> = Arc::new(RealEnv::new(RealOptions::default()));
    let options = KvOptions { cache_bytes: 64 << 20, direct_reads: true, ..KvOptions::default() };
    let is_new = !env.exists(&folder);
    let store = Kv::open(Arc::clone(&env), &folder, options)?;
    let id = if is_new {
        let new = NewKeyspace { name: "blobs".into(), shape: shape(), definition: Vec::new() };
        let id = store.create_keyspaces(&[new])?[0];
        let mut bulk = store.begin_bulk()?;
        bulk.write(id, vec![Box::new(Values { at: 0, end: rows })])?;
        bulk.commit()?;
        id
    } else {
        store.keyspaces()[0].id
    };
    let state = &mut 0x9e37_79b9_7f4a_7c15;
    let mut out = Batch::new(&shape());
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..ROUNDS {
        let keys: Vec<u64> = (0..BATCH_KEYS).map(|_| random(state) % rows).collect();
        let keys = Keys::Words(vec![keys]);
        let mut present = Vec::new();
        out.clear();
        let start = Instant::now();
        store.get_many(id, &keys, Projection { keys: 0, values: 1 }, &mut present, &mut out)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        assert!(present.iter().all(|there| *there), "every key is there");
    }
    times.sort_by(f64::total_cmp);
    let (median, worst) = (times[ROUNDS / 2], times[ROUNDS - 1]);
    println!("{BATCH_KEYS} random keys: median {median:.2} ms, worst {worst:.2} ms");

    for round in 0..3 {
        let start = Instant::now();
        let mut scan = store.scan(id, KeyRange::all_words(), Projection::ALL)?;
        let mut bytes = 0;
        out.clear();
        while scan.next_batch(1024, &mut out)? {
            bytes += out.rows * (VALUE_BYTES + 8);
            out.clear();
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("scan {round}: {:.0} MB/s", bytes as f64 / 1e6 / seconds);
    }
    let start = Instant::now();
    let mut scanned = 0;
    for _ in 0..200 {
        let lower = base::Key::words(&[random(state) % rows]);
        out.clear();
        let range = KeyRange { lower, upper: None };
        store.scan_into(id, &range, Projection::ALL, 256, &mut out)?;
        scanned += out.rows;
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / 200.0;
    println!("scan of 256 rows from a random key: {each:.0} us ({scanned} rows)");
    store.close()?;
    Ok(())
}
