//! The cost of operations as the data grows: keys are loaded step by step, and every operation is
//! measured at each size.
//!
//! # What is timed
//! Each call by itself, as in `kv`. An operation is called in batches of equal time, so that a slow
//! engine takes no longer than a fast one; the first batch is a warm-up and is not measured. Before
//! each operation, the benchmark waits until the engine is at rest, so that one operation does not
//! pay for merges of the one before.
//!
//! # Why writes have two figures
//! An engine that only buffers a write has work left. `us` is the time that the caller waits;
//! `us_flushed` includes the operation's part of the final flush. The line's accounting covers
//! merges until the engine was at rest.

use crate::figures::{Account, Latencies, extend, rest};
use crate::keys::{Random, Values, is_value_of, shuffled};
use crate::store::{self, Result, Rows, Session, Settings, Store, disk_bytes, open};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub struct Run {
    pub engine: String,
    pub settings: Settings,
    /// Numbers of keys at which operations are measured, ascending.
    pub steps: Vec<u64>,
    pub order: Order,
    pub value_bytes: usize,
    /// Batches of an operation that are measured.
    pub batches: usize,
    /// Time in calls per batch.
    pub batch: Duration,
    /// Time limit of the load of a step; the run ends there.
    pub cap: Duration,
    /// Time limit of the wait for an engine to come to rest.
    pub rest: Duration,
    pub seed: u64,
}

/// The order in which keys are loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Order {
    /// From 0 on, by the engine's fastest way to load.
    Ascending,
    /// Random 64-bit keys, in batches that are sorted by key.
    Shuffled,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Read,
    BatchRead,
    Range,
    Upsert,
    BatchUpsert,
    Delete,
}

const OPERATIONS: &[(Operation, &str)] = &[
    (Operation::Read, "read"),
    (Operation::BatchRead, "batch-read"),
    (Operation::Range, "range"),
    (Operation::Upsert, "upsert"),
    (Operation::BatchUpsert, "batch-upsert"),
    (Operation::Delete, "delete"),
];

/// Rows of a multi-get and of a range.
const MANY: usize = 256;

/// Rows of a batch of upserts.
const UPSERTS: usize = 1000;

/// A batch deletes at most this fraction of the keys; they are put back after it.
const DELETED_PART: u64 = 10;

/// Calls `each` with a line for each size and operation as soon as it is measured.
pub fn run(run: &Run, each: &mut dyn FnMut(Value)) -> Result<()> {
    let store = open(&run.engine, &run.settings)?;
    let mut grow = Grow {
        run,
        store: &*store,
        session: store.session()?,
        values: Values::new(run.seed, run.value_bytes),
        random: Random::new(run.seed.wrapping_mul(31)),
        keys: 0,
        room: Room::default(),
        failures: 0,
        wrong: 0,
    };
    for &keys in &run.steps {
        let (line, whole) = grow.load(keys)?;
        each(line);
        if !whole {
            break;
        }
        for &(operation, name) in OPERATIONS {
            each(grow.measure(operation, name)?);
        }
    }
    drop(grow);
    store.close()
}

struct Grow<'a> {
    run: &'a Run,
    store: &'a dyn Store,
    session: Box<dyn Session + 'a>,
    values: Values,
    random: Random,
    /// Number of keys that are loaded.
    keys: u64,
    room: Room,
    /// Keys that were not found.
    failures: u64,
    /// Values that belong to another key; must stay 0.
    wrong: u64,
}

/// Buffers that calls reuse.
#[derive(Default)]
struct Room {
    keys: Vec<u64>,
    rows: Rows,
    value: Vec<u8>,
    values: store::Values,
    /// Keys that the batch has deleted.
    deleted: Vec<u64>,
}

impl Grow<'_> {
    /// Key `number` in the order of the load.
    fn key(&self, number: u64) -> u64 {
        match self.run.order {
            Order::Ascending => number,
            Order::Shuffled => shuffled(number),
        }
    }

    /// A random loaded key.
    fn any(&mut self) -> u64 {
        let number = self.random.below(self.keys);
        self.key(number)
    }

    /// Loads keys until there are `keys`. Returns a line, and whether the load finished in time.
    fn load(&mut self, keys: u64) -> Result<(Value, bool)> {
        let first = self.keys;
        let step = if keys - first < 10_000_000 { 10_000 } else { 100_000 };
        let account = Account::begin();
        let (mut latencies, mut active) = (Latencies::default(), Duration::ZERO);
        while self.keys < keys && active < self.run.cap {
            let to = keys.min(self.keys + step);
            let mut batch = std::mem::take(&mut self.room.keys);
            batch.clear();
            batch.extend((self.keys..to).map(|number| self.key(number)));
            self.fill(&mut batch);
            let start = Instant::now();
            match self.run.order {
                Order::Ascending => self.session.load(&mut self.room.rows)?,
                Order::Shuffled => self.session.put_batch(&mut self.room.rows)?,
            }
            let time = start.elapsed();
            latencies.add(time / batch.len() as u32);
            active += time;
            self.keys = to;
            self.room.keys = batch;
        }
        let closing = Instant::now();
        self.store.flush()?;
        // Work that the engine's manual advises after a bulk load belongs to the load. Batches in
        // random order are daily work instead.
        if self.run.order == Order::Ascending {
            self.store.after_load()?;
        }
        let flush_s = closing.elapsed().as_secs_f64();
        let rest_s = rest(self.run.rest).as_secs_f64();
        let loaded = (self.keys - first) as f64;
        let mut line = self.line("load");
        extend(
            &mut line,
            json!({
                "entries": self.keys - first, "planned": keys - first, "flush_s": flush_s,
                "us": active.as_secs_f64() * 1e6 / loaded,
                "us_flushed": (active.as_secs_f64() + flush_s) * 1e6 / loaded, "rest_s": rest_s,
            }),
        );
        extend(&mut line, latencies.json());
        extend(&mut line, account.since());
        Ok((line, self.keys == keys))
    }

    fn measure(&mut self, operation: Operation, name: &str) -> Result<Value> {
        (self.failures, self.wrong) = (0, 0);
        let account = Account::begin();
        let (mut latencies, mut batches) = (Latencies::default(), Vec::new());
        let (mut calls, mut entries, mut active) = (0, 0, Duration::ZERO);
        for batch in 0..=self.run.batches {
            let (mut batch_entries, mut batch_active) = (0, Duration::ZERO);
            while batch_active < self.run.batch
                && self.room.deleted.len() as u64 * DELETED_PART < self.keys
            {
                let (time, count) = self.once(operation)?;
                if batch > 0 {
                    latencies.add(time);
                }
                calls += 1;
                batch_entries += count;
                batch_active += time;
            }
            if batch > 0 {
                batches.push(batch_active.as_secs_f64() * 1e6 / batch_entries as f64);
            }
            entries += batch_entries;
            active += batch_active;
            self.put_back()?;
        }
        let closing = Instant::now();
        if operation.writes() {
            self.store.flush()?;
        }
        let flush_s = closing.elapsed().as_secs_f64();
        let rest_s = rest(self.run.rest).as_secs_f64();
        batches.sort_unstable_by(f64::total_cmp);
        let mut line = self.line(name);
        extend(
            &mut line,
            json!({
                "calls": calls, "entries": entries, "entries_a_call": entries / calls,
                "us": batches[batches.len() / 2], "us_min": batches[0],
                "us_max": batches[batches.len() - 1], "flush_s": flush_s,
                "us_flushed": (active.as_secs_f64() + flush_s) * 1e6 / entries as f64,
                "rest_s": rest_s, "failures": self.failures, "wrong": self.wrong,
            }),
        );
        extend(&mut line, latencies.json());
        extend(&mut line, account.since());
        Ok(line)
    }

    /// Makes one call: its time, and the number of entries that it touched.
    fn once(&mut self, operation: Operation) -> Result<(Duration, u64)> {
        let key = self.any();
        let bytes = self.run.value_bytes;
        match operation {
            Operation::Read => {
                let start = Instant::now();
                let there = self.session.get(key, &mut self.room.value)?;
                let time = start.elapsed();
                self.failures += u64::from(!there);
                self.wrong += u64::from(there && !is_value_of(key, &self.room.value, bytes));
                Ok((time, 1))
            }
            Operation::BatchRead => {
                let keys = self.distinct(MANY);
                let start = Instant::now();
                let found = self.session.multi_get(&keys, &mut self.room.values)?;
                let time = start.elapsed();
                let right = |i: &usize| is_value_of(keys[*i], self.room.values.get(*i), bytes);
                let right = (0..keys.len()).filter(right).count();
                self.failures += (keys.len() - found) as u64;
                self.wrong += (found - right) as u64;
                let entries = keys.len() as u64;
                self.room.keys = keys;
                Ok((time, entries))
            }
            Operation::Range => {
                let start = Instant::now();
                let (rows, value_bytes) = self.session.scan(key, MANY)?;
                let time = start.elapsed();
                self.failures += u64::from(rows == 0);
                self.wrong += u64::from(value_bytes != (rows * bytes) as u64);
                Ok((time, rows as u64))
            }
            Operation::Upsert => {
                self.values.of(key, &mut self.room.value);
                let start = Instant::now();
                self.session.put(key, &self.room.value)?;
                Ok((start.elapsed(), 1))
            }
            Operation::BatchUpsert => {
                let mut keys = self.distinct(UPSERTS);
                self.fill(&mut keys);
                let start = Instant::now();
                self.session.put_batch(&mut self.room.rows)?;
                let time = start.elapsed();
                let entries = keys.len() as u64;
                self.room.keys = keys;
                Ok((time, entries))
            }
            Operation::Delete => {
                let start = Instant::now();
                self.session.delete(key)?;
                let time = start.elapsed();
                self.room.deleted.push(key);
                Ok((time, 1))
            }
        }
    }

    /// `count` distinct loaded keys, in a buffer that the caller must give back.
    fn distinct(&mut self, count: usize) -> Vec<u64> {
        let mut keys = std::mem::take(&mut self.room.keys);
        keys.clear();
        let mut seen = hashbrown::HashSet::new();
        while keys.len() < count.min(self.keys as usize) {
            let key = self.any();
            if seen.insert(key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Fills the buffer with rows for the keys, sorted by key as any caller with a batch would do.
    fn fill(&mut self, keys: &mut [u64]) {
        keys.sort_unstable();
        self.room.rows.clear();
        for &key in &*keys {
            self.values.of(key, &mut self.room.value);
            self.room.rows.push(key, &self.room.value);
        }
    }

    /// Puts the deleted keys back.
    fn put_back(&mut self) -> Result<()> {
        let mut keys = std::mem::take(&mut self.room.deleted);
        keys.sort_unstable();
        keys.dedup();
        for keys in keys.chunks_mut(UPSERTS) {
            self.fill(keys);
            self.session.put_batch(&mut self.room.rows)?;
        }
        keys.clear();
        self.room.deleted = keys;
        Ok(())
    }

    fn line(&self, operation: &str) -> Value {
        let run = self.run;
        json!({
            "family": "grow", "engine": run.engine, "workload": operation, "keys": self.keys,
            "order": format!("{:?}", run.order).to_lowercase(), "value_bytes": run.value_bytes,
            "cache_bytes": run.settings.cache_bytes, "direct": run.settings.direct,
            "logged": run.settings.logged, "disk_bytes": disk_bytes(&run.settings.folder),
        })
    }
}

impl Operation {
    fn writes(self) -> bool {
        matches!(self, Self::Upsert | Self::BatchUpsert | Self::Delete)
    }
}
