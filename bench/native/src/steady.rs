//! Upserts and reads of existing keys for a long time: the rate that an engine sustains, and its
//! cost.
//!
//! # What is timed
//! Each call by itself; the rate is by wall time. Each thread starts a call when the previous one
//! has ended (a closed loop), so a stall shows as one long latency and lost throughput, not as many
//! long latencies. A call belongs to the window in which it ends.
//!
//! # What is written
//! Bytes that the kernel charged to the process as writes to the device, from the first call on.
//! For a memory map, a page counts each time it becomes dirty, even if it is written again before
//! it reaches the device.

use crate::figures::{Account, Latencies, extend, resident_bytes, rest};
use crate::keys::{Random, Values, Zipf, fnv, is_value_of};
use crate::store::{Result, Rows, Settings, Store, disk_bytes, open};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub struct Run {
    pub engine: String,
    pub settings: Settings,
    /// Number of keys, which all exist from the start.
    pub records: u64,
    pub value_bytes: usize,
    /// Fraction of the calls that read.
    pub reads: f64,
    pub time: Duration,
    /// Length of the window of one line.
    pub window: Duration,
    /// Time limit of the wait for an engine to come to rest.
    pub rest: Duration,
    pub seed: u64,
}

/// A call that takes longer counts as a stall.
const LONG: Duration = Duration::from_millis(100);

/// Calls of a thread since its last window line.
#[derive(Default)]
struct Done {
    reads: Latencies,
    writes: Latencies,
    /// Keys that were not found; must stay 0.
    failures: u64,
    /// Values that belong to another key; must stay 0.
    wrong: u64,
}

impl Done {
    fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.failures += other.failures;
        self.wrong += other.wrong;
    }

    fn json(&self) -> Value {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        let mut line = json!({
            "reads": self.reads.total(), "writes": self.writes.total(),
            "over_100ms": all.longer_than(LONG), "failures": self.failures, "wrong": self.wrong,
        });
        extend(&mut line, all.json());
        extend(&mut line, named("read", &self.reads));
        extend(&mut line, named("write", &self.writes));
        line
    }
}

/// The percentiles as fields whose names begin with `name`.
fn named(name: &str, latencies: &Latencies) -> Value {
    match latencies.json() {
        Value::Object(fields) => {
            fields.into_iter().map(|(field, value)| (format!("{name}_{field}"), value)).collect()
        }
        other => other,
    }
}

/// Calls `each` with a line after the load, one for each window, and one at the end.
pub fn run(run: &Run, each: &mut dyn FnMut(Value)) -> Result<()> {
    each(load(run)?);
    let store = open(&run.engine, &run.settings)?;
    let threads = run.settings.threads;
    let slots: Vec<Mutex<Done>> = (0..threads).map(|_| Mutex::default()).collect();
    let stop = AtomicBool::new(false);
    let account = Account::begin();
    let mut sum = Done::default();
    let start = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let work = |(number, slot)| {
            let (store, stop) = (&*store, &stop);
            scope.spawn(move || {
                let worked = work(run, store, number, slot, stop);
                // A thread that fails stops the other threads and the run.
                stop.store(true, Ordering::Relaxed);
                worked
            })
        };
        let handles: Vec<_> = (0..).zip(&slots).map(work).collect();
        let mut from = start;
        for window in 1.. {
            let end = start + run.window * window;
            std::thread::sleep(end.min(start + run.time).saturating_duration_since(Instant::now()));
            let mut done = Done::default();
            for slot in &slots {
                done.merge(&std::mem::take(&mut *slot.lock().unwrap()));
            }
            let now = Instant::now();
            each(window_line(run, &done, now - start, now - from, &account));
            sum.merge(&done);
            from = now;
            if now >= start + run.time || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        for handle in handles {
            handle.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    })?;
    let wall_s = start.elapsed().as_secs_f64();
    // The calls that ended after the last window.
    slots.iter().for_each(|slot| sum.merge(&slot.lock().unwrap()));
    each(end(run, store, &sum, wall_s, &account)?);
    Ok(())
}

/// Loads all keys by one thread, which is fastest, and closes the engine.
fn load(run: &Run) -> Result<Value> {
    let store = open(&run.engine, &Settings { threads: 1, ..run.settings.clone() })?;
    let account = Account::begin();
    let mut values = Values::new(run.seed, run.value_bytes);
    let (mut rows, mut value) = (Rows::default(), Vec::new());
    // About 10 MiB per batch.
    let step = ((10 << 20) / run.value_bytes as u64).clamp(1, 100_000);
    let mut session = store.session()?;
    let mut key = 0;
    while key < run.records {
        let end = run.records.min(key + step);
        rows.clear();
        while key < end {
            values.of(key, &mut value);
            rows.push(key, &value);
            key += 1;
        }
        session.load(&mut rows)?;
    }
    drop(session);
    store.flush()?;
    store.after_load()?;
    let rest_s = rest(run.rest).as_secs_f64();
    let mut line = line(run, "load");
    extend(&mut line, json!({ "entries": run.records, "rest_s": rest_s }));
    extend(&mut line, account.since());
    store.close()?;
    extend(&mut line, sizes(run));
    Ok(line)
}

fn work(
    run: &Run,
    store: &dyn Store,
    number: u64,
    slot: &Mutex<Done>,
    stop: &AtomicBool,
) -> Result<()> {
    let mut session = store.session()?;
    let mut values = Values::new(run.seed ^ number, run.value_bytes);
    let mut random = Random::new(run.seed.wrapping_mul(31) + number);
    let zipf = Zipf::huge();
    let mut value = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let key = fnv(zipf.rank(&mut random)) % run.records;
        let read = random.unit() < run.reads;
        if !read {
            values.of(key, &mut value);
        }
        let start = Instant::now();
        let there = if read {
            session.get(key, &mut value)?
        } else {
            session.put(key, &value).map(|()| true)?
        };
        let time = start.elapsed();
        let wrong = read && there && !is_value_of(key, &value, run.value_bytes);
        // The lock is contended only once per window.
        let mut done = slot.lock().unwrap();
        if read {
            done.reads.add(time);
        } else {
            done.writes.add(time);
        }
        done.failures += u64::from(!there);
        done.wrong += u64::from(wrong);
    }
    Ok(())
}

/// A short line, because there are many: common fields are in the first line and the last.
fn window_line(run: &Run, done: &Done, at: Duration, length: Duration, account: &Account) -> Value {
    let operations = done.reads.total() + done.writes.total();
    let mut line = json!({
        "family": "steady", "engine": run.engine, "workload": "window",
        "at_s": at.as_secs_f64(), "window_s": length.as_secs_f64(),
        "rate": operations as f64 / length.as_secs_f64(), "resident_bytes": resident_bytes(),
        "disk_bytes": disk_bytes(&run.settings.folder),
    });
    extend(&mut line, done.json());
    extend(&mut line, account.since());
    line
}

/// Flushes, waits until the engine is at rest, closes it, and makes the last line.
fn end(
    run: &Run,
    store: Box<dyn Store>,
    sum: &Done,
    wall_s: f64,
    account: &Account,
) -> Result<Value> {
    let operations = sum.reads.total() + sum.writes.total();
    let put_bytes = sum.writes.total() * (8 + run.value_bytes as u64);
    let mut line = line(run, "end");
    extend(
        &mut line,
        json!({ "wall_s": wall_s, "rate": operations as f64 / wall_s, "put_bytes": put_bytes }),
    );
    extend(&mut line, sum.json());
    let flush = Instant::now();
    store.flush()?;
    let flushed = state(run, account, put_bytes);
    extend(&mut line, json!({ "flush_s": flush.elapsed().as_secs_f64(), "flushed": flushed }));
    let rest_s = rest(run.rest).as_secs_f64();
    extend(&mut line, json!({ "rest_s": rest_s, "rested": state(run, account, put_bytes) }));
    store.close()?;
    extend(&mut line, json!({ "closed": state(run, account, put_bytes) }));
    extend(&mut line, account.since());
    Ok(line)
}

/// Bytes on disk and bytes written, absolute and relative to the data.
fn state(run: &Run, account: &Account, put_bytes: u64) -> Value {
    let mut state = sizes(run);
    let written = account.written_bytes();
    extend(
        &mut state,
        json!({
            "written_bytes": written, "write_amplification": written as f64 / put_bytes as f64,
        }),
    );
    state
}

fn sizes(run: &Run) -> Value {
    let disk = disk_bytes(&run.settings.folder);
    let live = run.records * (8 + run.value_bytes as u64);
    json!({ "disk_bytes": disk, "live_bytes": live, "space_amplification": disk as f64 / live as f64 })
}

fn line(run: &Run, workload: &str) -> Value {
    json!({
        "family": "steady", "engine": run.engine, "workload": workload, "records": run.records,
        "value_bytes": run.value_bytes, "read_part": run.reads, "threads": run.settings.threads,
        "cache_bytes": run.settings.cache_bytes, "direct": run.settings.direct,
        "logged": run.settings.logged,
    })
}
