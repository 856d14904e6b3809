//! The key-value workloads of UCSB, with 8-byte keys and values of 1 KiB. One process runs one
//! workload.
//!
//! # What is timed
//! Each call by itself: generating keys and batches happens between calls and is not counted. A
//! workload's time is the time in calls of its slowest thread and, if it writes, the final flush.

use crate::figures::{Account, Latencies, extend};
use crate::keys::{Random, VALUE_BYTES, Values, Zipf, fnv, is_value_of};
use crate::store::{self, Result, Rows, Session, Settings, Store, disk_bytes, open};
use serde_json::{Value, json};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The workloads, in the order in which they run.
pub const WORKLOADS: &[&str] = &[
    "init",
    "read",
    "batch-read",
    "range-select",
    "scan",
    "read-update-50-50",
    "read-upsert-95-5",
    "batch-upsert",
    "remove",
];

pub struct Run {
    pub engine: String,
    pub workload: String,
    pub records: u64,
    pub settings: Settings,
    /// A thread stops after this time in calls.
    pub cap: Duration,
    pub seed: u64,
    /// Operations of the point and batch workloads, as a multiple of the specification's.
    pub factor: f64,
}

/// Rows of a multi-get and of a range.
const MANY: usize = 256;

/// Rows of a batch of upserts.
const UPSERTS: usize = 1000;

pub fn run(run: &Run) -> Result<Value> {
    let store = open(&run.engine, &run.settings)?;
    let account = Account::begin();
    let (mut sum, threads_s) = threads(run, &*store)?;
    let closing = Instant::now();
    if run.writes() {
        store.flush()?;
    }
    let flush_s = closing.elapsed().as_secs_f64();
    let after = Instant::now();
    if run.workload == "init" {
        store.after_load()?;
    }
    let after_load_s = after.elapsed().as_secs_f64();
    // Includes the work that the engine's manual advises after a load, as the rate does.
    let mut line = json!({});
    extend(&mut line, account.since());
    let closing = Instant::now();
    store.close()?;
    sum.planned = run.planned();
    // The work that the engine's manual advises after a load is part of the load.
    let wall_s = threads_s + flush_s + after_load_s;
    extend(
        &mut line,
        json!({
            "family": "kv", "engine": run.engine, "workload": run.workload, "records": run.records,
            "threads": run.settings.threads, "cache_bytes": run.settings.cache_bytes,
            "direct": run.settings.direct, "logged": run.settings.logged,
            "entries": sum.entries, "operations": sum.operations, "planned": sum.planned,
            "failures": sum.failures, "wrong": sum.wrong,
            "wall_s": wall_s, "flush_s": flush_s, "after_load_s": after_load_s,
            "close_s": closing.elapsed().as_secs_f64(),
            "rate": sum.entries as f64 / wall_s, "disk_bytes": disk_bytes(&run.settings.folder),
        }),
    );
    extend(&mut line, sum.latencies.json());
    Ok(line)
}

impl Run {
    fn writes(&self) -> bool {
        !matches!(self.workload.as_str(), "read" | "batch-read" | "range-select" | "scan")
    }

    /// Number of operations of all threads together.
    fn planned(&self) -> u64 {
        let threads = self.settings.threads as u64;
        let n = self.records as f64;
        let of = |part: f64| ((n * part * self.factor) as u64).max(threads);
        let all = match self.workload.as_str() {
            "init" => self.records.div_ceil(self.load_rows() as u64).max(threads),
            "read" | "read-update-50-50" | "read-upsert-95-5" => of(0.1),
            "batch-read" => of(0.0008),
            "range-select" => of(0.0004),
            "scan" => threads,
            "batch-upsert" => ((n * 0.00005) as u64).max(threads),
            _ => of(0.055),
        };
        all / threads * threads
    }

    fn load_rows(&self) -> usize {
        if self.records < 10_000_000 { 10_000 } else { 100_000 }
    }
}

#[derive(Default)]
struct Sum {
    latencies: Latencies,
    entries: u64,
    operations: u64,
    planned: u64,
    /// Keys that were not found.
    failures: u64,
    /// Values that belong to another key; must stay 0.
    wrong: u64,
    active: Duration,
}

impl Sum {
    /// Times one call, which returns the number of entries that it touched.
    fn time<R>(&mut self, call: impl FnOnce() -> Result<(u64, R)>) -> Result<R> {
        let start = Instant::now();
        let (entries, result) = call()?;
        let time = start.elapsed();
        self.latencies.add(time);
        self.active += time;
        self.operations += 1;
        self.entries += entries;
        Ok(result)
    }
}

/// Runs all threads; returns their sums, and the time in calls of the slowest one.
fn threads(run: &Run, store: &dyn Store) -> Result<(Sum, f64)> {
    let count = run.settings.threads;
    let fence = Barrier::new(count);
    let newest = AtomicU64::new(run.records);
    let mut sum = Sum::default();
    let mut slowest = Duration::ZERO;
    std::thread::scope(|scope| -> Result<()> {
        let start = |number| {
            let (fence, newest) = (&fence, &newest);
            scope.spawn(move || {
                let session = store.session();
                let values = Values::new(run.seed ^ number, VALUE_BYTES);
                let random = Random::new(run.seed.wrapping_mul(31) + number);
                let mut thread = Thread {
                    run,
                    session: session?,
                    values,
                    random,
                    newest,
                    number,
                    sum: Sum::default(),
                };
                // Sums of weights and the like are computed before the start.
                let zipf = thread.zipf();
                fence.wait();
                thread.work(&zipf)?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(thread.sum)
            })
        };
        let handles: Vec<_> = (0..count as u64).map(start).collect();
        for handle in handles {
            let part = handle.join().map_err(|_| "a thread panicked")??;
            sum.latencies.merge(&part.latencies);
            sum.entries += part.entries;
            sum.operations += part.operations;
            sum.failures += part.failures;
            sum.wrong += part.wrong;
            slowest = slowest.max(part.active);
        }
        Ok(())
    })?;
    Ok((sum, slowest.as_secs_f64()))
}

struct Thread<'a> {
    run: &'a Run,
    session: Box<dyn Session + 'a>,
    values: Values,
    random: Random,
    /// Keys below this are stored, or will be soon.
    newest: &'a AtomicU64,
    number: u64,
    sum: Sum,
}

impl Thread<'_> {
    fn zipf(&self) -> Zipf {
        match self.run.workload.as_str() {
            "read-upsert-95-5" => Zipf::new(self.run.records),
            _ => Zipf::huge(),
        }
    }

    /// The thread's part of `all` keys or operations: its first, and its end (exclusive).
    fn part(&self, all: u64) -> (u64, u64) {
        let threads = self.run.settings.threads as u64;
        (all * self.number / threads, all * (self.number + 1) / threads)
    }

    /// A scrambled key of the thread's part of `all`.
    fn scrambled(&mut self, zipf: &Zipf, all: u64) -> u64 {
        let (first, end) = self.part(all);
        first + fnv(zipf.rank(&mut self.random)) % (end - first).max(1)
    }

    fn work(&mut self, zipf: &Zipf) -> Result<()> {
        let run = self.run;
        let count = run.planned() / run.settings.threads as u64;
        match run.workload.as_str() {
            "init" => self.init(),
            "scan" => self.scan(),
            "batch-upsert" => self.batch_upsert(count),
            workload => {
                let (mut value, mut keys, mut column) =
                    (Vec::new(), Vec::new(), store::Values::default());
                for _ in 0..count {
                    if self.sum.active > run.cap {
                        break;
                    }
                    match workload {
                        "read" => {
                            let key = self.scrambled(zipf, run.records);
                            self.get(key, &mut value)?;
                        }
                        "batch-read" => self.batch_read(zipf, &mut keys, &mut column)?,
                        "range-select" => {
                            let start = self.scrambled(zipf, run.records);
                            let Self { sum, session, .. } = self;
                            let call =
                                || session.scan(start, MANY).map(|(rows, b)| (rows as u64, b));
                            let entries = sum.entries;
                            let bytes = sum.time(call)?;
                            sum.wrong +=
                                u64::from(bytes != (sum.entries - entries) * VALUE_BYTES as u64);
                        }
                        "read-update-50-50" => {
                            let key = self.scrambled(zipf, run.records);
                            if self.random.below(2) == 0 {
                                self.get(key, &mut value)?;
                            } else {
                                self.update(key, &mut value)?;
                            }
                        }
                        "read-upsert-95-5" => self.read_upsert(zipf, &mut value)?,
                        "remove" => {
                            let key = self.scrambled(zipf, run.records * 1055 / 1000);
                            let Self { sum, session, .. } = self;
                            sum.time(|| session.delete(key).map(|()| (1, ())))?;
                        }
                        other => return Err(format!("no workload {other:?}: {WORKLOADS:?}").into()),
                    }
                }
                Ok(())
            }
        }
    }

    fn init(&mut self) -> Result<()> {
        let (first, end) = self.part(self.run.records);
        let mut rows = Rows::default();
        let mut at = first;
        while at < end && self.sum.active <= self.run.cap {
            let to = end.min(at + self.run.load_rows() as u64);
            self.fill(at..to, &mut rows);
            at = to;
            let Self { sum, session, .. } = self;
            sum.time(|| session.load(&mut rows).map(|()| (rows.len() as u64, ())))?;
        }
        Ok(())
    }

    fn fill(&mut self, keys: std::ops::Range<u64>, rows: &mut Rows) {
        rows.clear();
        let mut value = Vec::new();
        for key in keys {
            self.values.of(key, &mut value);
            rows.push(key, &value);
        }
    }

    fn get(&mut self, key: u64, value: &mut Vec<u8>) -> Result<bool> {
        let Self { sum, session, .. } = self;
        let there = sum.time(|| Ok((1, session.get(key, value)?)))?;
        sum.failures += u64::from(!there);
        sum.wrong += u64::from(there && !is_value_of(key, value, VALUE_BYTES));
        Ok(there)
    }

    /// Reads, then writes; a key that is not found is a failure.
    fn update(&mut self, key: u64, value: &mut Vec<u8>) -> Result<()> {
        let mut new = Vec::new();
        self.values.of(key, &mut new);
        let Self { sum, session, .. } = self;
        let there = sum.time(|| {
            let there = session.get(key, value)?;
            if there {
                session.put(key, &new)?;
            }
            Ok((1, there))
        })?;
        sum.failures += u64::from(!there);
        Ok(())
    }

    fn read_upsert(&mut self, zipf: &Zipf, value: &mut Vec<u8>) -> Result<()> {
        if self.random.below(20) == 0 {
            let key = self.newest.fetch_add(1, Ordering::Relaxed);
            self.values.of(key, value);
            let Self { sum, session, .. } = self;
            return sum.time(|| session.put(key, value).map(|()| (1, ())));
        }
        let newest = self.newest.load(Ordering::Relaxed) - 1;
        let key = newest - zipf.rank(&mut self.random).min(newest);
        self.get(key, value)?;
        Ok(())
    }

    fn batch_read(
        &mut self,
        zipf: &Zipf,
        keys: &mut Vec<u64>,
        values: &mut store::Values,
    ) -> Result<()> {
        keys.clear();
        let mut seen = hashbrown::HashSet::new();
        // The thread's part may have fewer than 256 keys.
        let (first, end) = self.part(self.run.records);
        let wanted = MANY.min((end - first) as usize);
        while keys.len() < wanted {
            let key = self.scrambled(zipf, self.run.records);
            if seen.insert(key) {
                keys.push(key);
            }
        }
        let Self { sum, session, .. } = self;
        let found = sum.time(|| Ok((keys.len() as u64, session.multi_get(keys, values)?)))?;
        sum.failures += (keys.len() - found) as u64;
        let right = |(i, &key): (usize, &u64)| is_value_of(key, values.get(i), VALUE_BYTES);
        let wrong = keys.len() - keys.iter().enumerate().filter(|&row| right(row)).count();
        sum.wrong += (wrong - (keys.len() - found)) as u64;
        Ok(())
    }

    fn scan(&mut self) -> Result<()> {
        let (first, end) = self.part(self.run.records);
        let Self { sum, session, .. } = self;
        let mut buffer = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        sum.time(|| {
            session.stream(first, end, &mut |value| {
                buffer.clear();
                buffer.extend_from_slice(value);
                rows += 1;
                bytes += std::hint::black_box(&buffer).len() as u64;
            })?;
            Ok((rows, ()))
        })?;
        sum.failures += (end - first).saturating_sub(rows);
        sum.wrong += u64::from(bytes != rows * VALUE_BYTES as u64);
        Ok(())
    }

    /// Puts new keys in order, starting at 1.005 times the number of records.
    fn batch_upsert(&mut self, count: u64) -> Result<()> {
        let all = self.run.planned() * UPSERTS as u64;
        let (first, _) = self.part(all);
        // Above the keys that `read-upsert-95-5` has put, which depend on the factor.
        let put = (self.run.records as f64 * 0.005 * self.run.factor.max(1.0)) as u64;
        let base = self.run.records + put + first;
        let mut rows = Rows::default();
        for batch in 0..count {
            if self.sum.active > self.run.cap {
                break;
            }
            let at = base + batch * UPSERTS as u64;
            self.fill(at..at + UPSERTS as u64, &mut rows);
            let Self { sum, session, .. } = self;
            sum.time(|| session.put_batch(&mut rows).map(|()| (UPSERTS as u64, ())))?;
        }
        Ok(())
    }
}
