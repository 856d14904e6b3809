//! The counting tests of count-db: many threads count a stream of keys, a few of them frequent and
//! many rare.
//!
//! # What is timed
//! Test 1: threads take 10 000 consecutive keys of the stream at a time and count them, until
//! `items` keys are counted; the flush counts as part of the writes. A compaction that speeds up
//! reads is not timed. Then threads read the counts of the next `items` keys. Test 2: after a fill,
//! half of the threads write while the other half read. Test 3: as test 1, but objects are
//! combined, each of two words and a count (`object.rs`). Test 4: as test 1 with keys drawn
//! uniformly from a million. Extra: each of `items` keys is counted once and then read once in the
//! same order: consecutive keys, and as many scattered ones.

use crate::figures::{Account, Latencies, extend};
use crate::keys::{Random, Zipf, fnv, fnv_of};
use crate::object;
use crate::store::{Result, Rows, Session, Settings, Store, disk_bytes, open};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub struct Run {
    pub engine: String,
    pub test: Test,
    pub items: usize,
    pub fill: usize,
    pub settings: Settings,
    pub cap: Duration,
    pub seed: u64,
    pub text: Option<PathBuf>,
    /// Whether each key is counted by a call of its own.
    pub single: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Test {
    /// Test 1: bigrams of a text, or generated keys.
    Bigrams,
    /// Test 2: writes and reads at the same time.
    Parallel,
    /// Test 3: objects that are combined.
    Objects,
    /// Test 4: keys drawn uniformly.
    Uniform,
    /// Extra: consecutive keys from 0.
    Consecutive,
    /// Extra: the same number of keys, scattered over 64 bits.
    Scattered,
}

/// Consecutive keys that a thread takes at a time.
const TAKEN: usize = 10_000;

/// Distinct keys of the uniform test.
const UNIFORM: u64 = 1_000_000;

/// Every `CHECKED`th key is compared with a count of our own at the end.
const CHECKED: u64 = 997;

pub fn run(run: &Run) -> Result<Vec<Value>> {
    let stream = stream(run)?;
    let store = open(&run.engine, &run.settings)?;
    let threads = run.settings.threads;
    let mut lines = Vec::new();
    let (written, read) = match run.test {
        Test::Parallel => stream.split_at(run.fill),
        _ => stream.split_at(run.items),
    };
    let account = Account::begin();
    let writes = work(run, &*store, written, &[], threads, 0)?;
    if run.test == Test::Parallel {
        let (new, read) = read.split_at(run.items);
        let half = (threads / 2).max(1);
        let account = Account::begin();
        let both = work(run, &*store, new, read, half, half)?;
        lines.push(both.write_line(run, "parallel-write", &account));
        lines.push(both.read_line(run, "parallel-read", &account));
    } else {
        let (write, reads) = match run.test {
            Test::Uniform => ("uniform-write", "uniform-read"),
            Test::Objects => ("object-write", "object-read"),
            Test::Consecutive => ("consecutive-write", "consecutive-read"),
            Test::Scattered => ("scattered-write", "scattered-read"),
            _ => ("bigram-write", "bigram-read"),
        };
        lines.push(writes.write_line(run, write, &account));
        check(run, &*store, written, &writes)?;
        store.optimise()?;
        let account = Account::begin();
        let read = work(run, &*store, &[], read, 0, threads)?;
        lines.push(read.read_line(run, reads, &account));
    }
    store.close()?;
    for line in &mut lines {
        extend(line, json!({ "disk_bytes": disk_bytes(&run.settings.folder) }));
    }
    Ok(lines)
}

/// All keys of the test, generated before anything is timed.
fn stream(run: &Run) -> Result<Vec<u64>> {
    let needed = match run.test {
        Test::Parallel => run.fill + 2 * run.items,
        _ => 2 * run.items,
    };
    let mut random = Random::new(run.seed);
    if run.test == Test::Uniform {
        return Ok((0..needed).map(|_| random.below(UNIFORM)).collect());
    }
    let numbers = || (0..needed as u64).map(|i| i % run.items.max(1) as u64);
    match run.test {
        Test::Consecutive => return Ok(numbers().collect()),
        Test::Scattered => return Ok(numbers().map(fnv).collect()),
        _ => {}
    }
    if let Some(path) = &run.text {
        let keys = bigrams(&std::fs::read(path)?, needed);
        if keys.len() < needed {
            return Err(format!("{path:?} has {} bigrams, {needed} are needed", keys.len()).into());
        }
        return Ok(keys);
    }
    let zipf = Zipf::huge();
    Ok((0..needed).map(|_| fnv(zipf.rank(&mut random))).collect())
}

/// Hashes of each pair of adjacent words, in lower case, in the order of the text.
fn bigrams(text: &[u8], count: usize) -> Vec<u64> {
    let mut keys = Vec::with_capacity(count);
    let mut previous = Vec::new();
    let words = text.split(|byte| !byte.is_ascii_alphanumeric() && *byte < 128 && *byte != b'\'');
    for word in words.filter(|word| !word.is_empty()) {
        let word = word.to_ascii_lowercase();
        if !previous.is_empty() {
            keys.push(fnv_of(fnv_of(fnv_of(0xcbf2_9ce4_8422_2325, &previous), b" "), &word));
        }
        previous = word;
        if keys.len() == count {
            break;
        }
    }
    keys
}

#[derive(Default)]
struct Done {
    written: u64,
    read: u64,
    /// Sum of the counts that were read.
    sum: u64,
    write_s: f64,
    flush_s: f64,
    read_s: f64,
    write_latencies: Latencies,
    read_latencies: Latencies,
}

/// Writers count the keys of `to_write` while readers read the counts of `to_read`.
fn work(
    run: &Run,
    store: &dyn Store,
    to_write: &[u64],
    to_read: &[u64],
    writers: usize,
    readers: usize,
) -> Result<Done> {
    let done = Mutex::new(Done::default());
    let (next_write, next_read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (sum, one) = (AtomicU64::new(0), Mutex::new(()));
    let start = Instant::now();
    let (mut write_s, mut read_s) = (0.0, 0.0);
    // The specification takes keys under a lock; an atomic addition does the same without
    // contention.
    let worker = |keys: &[u64], next: &AtomicUsize, write: bool| -> Result<f64> {
        let mut session = store.session()?;
        let (mut counts, mut count, mut latencies) = (Vec::new(), 0, Latencies::default());
        let (mut objects, mut object) = (Rows::default(), Vec::new());
        while start.elapsed() < run.cap {
            let at = next.fetch_add(TAKEN, Ordering::Relaxed);
            if at >= keys.len() {
                break;
            }
            let keys = &keys[at..keys.len().min(at + TAKEN)];
            for keys in keys.chunks(if run.single { 1 } else { TAKEN }) {
                if run.test == Test::Objects && write {
                    objects.clear();
                    for &key in keys {
                        object::of(key, &mut object);
                        objects.push(key, &object);
                    }
                }
                let call = Instant::now();
                if run.test == Test::Objects && write {
                    session.combine(&mut objects, &one)?;
                } else if write {
                    session.add(keys)?;
                } else {
                    read_counts(run, &mut *session, keys, &mut counts)?;
                    sum.fetch_add(counts.iter().sum::<u64>(), Ordering::Relaxed);
                }
                latencies.add(call.elapsed());
            }
            count += keys.len() as u64;
        }
        let mut done = done.lock().unwrap();
        if write {
            done.written += count;
            done.write_latencies.merge(&latencies);
        } else {
            done.read += count;
            done.read_latencies.merge(&latencies);
        }
        Ok(start.elapsed().as_secs_f64())
    };
    std::thread::scope(|scope| -> Result<()> {
        let (worker, next_write, next_read) = (&worker, &next_write, &next_read);
        let write = |_| scope.spawn(move || worker(to_write, next_write, true));
        let writes: Vec<_> = (0..writers).map(write).collect();
        let read = |_| scope.spawn(move || worker(to_read, next_read, false));
        let reads: Vec<_> = (0..readers).map(read).collect();
        for handle in writes {
            write_s = f64::max(write_s, handle.join().map_err(|_| "a thread panicked")??);
        }
        let flush = Instant::now();
        if writers > 0 {
            store.flush()?;
        }
        done.lock().unwrap().flush_s = flush.elapsed().as_secs_f64();
        for handle in reads {
            read_s = f64::max(read_s, handle.join().map_err(|_| "a thread panicked")??);
        }
        Ok(())
    })?;
    let mut done = done.into_inner().unwrap();
    done.write_s = write_s + done.flush_s;
    done.read_s = read_s;
    done.sum = sum.into_inner();
    Ok(done)
}

fn read_counts(
    run: &Run,
    session: &mut dyn Session,
    keys: &[u64],
    out: &mut Vec<u64>,
) -> Result<()> {
    match run.test {
        Test::Objects => session.object_counts(keys, out),
        _ => session.counts(keys, out),
    }
}

/// Compares some counts with our own, if the whole stream was counted.
fn check(run: &Run, store: &dyn Store, written: &[u64], done: &Done) -> Result<()> {
    if (done.written as usize) < written.len() {
        return Ok(());
    }
    let mut right = hashbrown::HashMap::new();
    for &key in written.iter().filter(|&key| key % CHECKED == 0) {
        *right.entry(key).or_insert(0_u64) += 1;
    }
    let keys: Vec<u64> = right.keys().copied().collect();
    let mut counts = Vec::new();
    read_counts(run, &mut *store.session()?, &keys, &mut counts)?;
    match keys.iter().zip(&counts).find(|(key, count)| right[*key] != **count) {
        Some((key, count)) => {
            Err(format!("key {key} was counted {} times, not {count}", right[key]).into())
        }
        None => Ok(()),
    }
}

impl Done {
    fn write_line(&self, run: &Run, workload: &str, account: &Account) -> Value {
        let mut line = line(run, workload, self.written, run.planned(), self.write_s, account);
        extend(&mut line, json!({ "flush_s": self.flush_s }));
        extend(&mut line, self.write_latencies.json());
        line
    }

    fn read_line(&self, run: &Run, workload: &str, account: &Account) -> Value {
        let mut line = line(run, workload, self.read, run.items, self.read_s, account);
        extend(&mut line, json!({ "sum": self.sum }));
        extend(&mut line, self.read_latencies.json());
        line
    }
}

impl Run {
    fn planned(&self) -> usize {
        self.items
    }
}

fn line(
    run: &Run,
    workload: &str,
    entries: u64,
    planned: usize,
    s: f64,
    account: &Account,
) -> Value {
    let mut line = json!({
        "family": "counts", "engine": run.engine, "workload": workload, "records": run.items,
        "threads": run.settings.threads, "cache_bytes": run.settings.cache_bytes,
        "direct": run.settings.direct, "logged": run.settings.logged, "single": run.single,
        "text": run.text.is_some(), "entries": entries, "planned": planned, "wall_s": s,
        "rate": entries as f64 / s,
    });
    extend(&mut line, account.since());
    line
}
