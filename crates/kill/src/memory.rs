//! Tests the memory limit against the kernel's accounting: imports more edges than fit, scans them,
//! updates them, and scans again.
//!
//! Edges are generated, so that the page cache holds no input file. A permutation of a range yields
//! each edge exactly once, so a sum over a hash of the edges tells whether a scan found all. The
//! peak of resident memory is the kernel's (`VmHWM`), which is reset between phases by writing 5 to
//! `clear_refs`. A thread samples how much of it is anonymous memory and how much is pages of
//! mapped files.
//!
//! With `--data-limit` the process runs under `RLIMIT_DATA`, where an allocation beyond the limit
//! fails and ends the process.

use crate::arguments::Arguments;
use crate::files::base_folder;
use crate::ops::Random;
use crate::outcome::Outcome;
use quipu::{Database, Durability, Edges, GraphOptions, Options, WeightType, WeightsRef};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bits of an edge; source and target have half of them each.
const PAIR_BITS: u32 = 50;

/// Edges of an update batch, the number of batches, and the number of single updates.
const BATCH_EDGES: usize = 500;
const BATCHES: usize = 1_000;
const SINGLES: usize = 100_000;

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    if let Some(limit) = arguments.text("data-limit") {
        return run_limited(arguments, quipu::parse_bytes(limit).map_err(|e| e.to_string())?);
    }
    let edges = arguments.number("edges", 30_000_000)?;
    let limit = arguments.bytes("limit", 512 << 20)?;
    let options = Options {
        durability: Durability::Os,
        memory_limit_bytes: limit,
        cache_bytes: arguments.bytes("cache", limit / 4)?,
        threads: arguments.number("threads", 0)? as usize,
        ..Options::default()
    };
    if status_bytes("VmHWM").is_none() {
        println!("skipped: the kernel keeps no account of resident memory here (VmHWM)");
        return Ok(());
    }
    let base = base_folder(arguments)?;
    let mut phases = Phases::new();
    import_scan_update_scan(&base.path().join("database"), &options, edges, &mut phases)?;
    let peak = phases.done.iter().map(|phase| phase.peak_bytes).max().unwrap_or(0);
    println!("limit {} MiB, peak {} MiB, {edges} edges", limit >> 20, peak >> 20);
    if let Some(path) = arguments.path("json") {
        let phases: Vec<_> = phases.done.iter().map(Phase::json).collect();
        let json = serde_json::json!({ "edges": edges, "limit_bytes": limit, "phases": phases });
        std::fs::write(path, format!("{json:#}\n")).map_err(|error| error.to_string())?;
    }
    if peak > limit {
        return Err(format!("the limit is {limit} bytes, resident were {peak}"));
    }
    Ok(())
}

/// Runs this program again under a limit that the shell sets, in KiB.
fn run_limited(arguments: &Arguments, bytes: u64) -> Outcome<()> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut shell = Command::new("sh");
    // The limit also counts what glibc's arenas keep mapped, resident or not. With glibc's
    // defaults, the update after an import of 30 M edges failed under 544 MiB, though the peak of
    // resident memory was 453. A program under such a limit sets these variables; a library must
    // not, because they apply to the whole process.
    shell.env("MALLOC_ARENA_MAX", "2").env("MALLOC_MMAP_THRESHOLD_", "131072");
    let script = format!("ulimit -d {}; exec \"$0\" \"$@\"", bytes >> 10);
    shell.arg("-c").arg(script).arg(program).arg("memory");
    for name in ["edges", "limit", "cache", "threads", "folder", "json"] {
        if let Some(value) = arguments.text(name) {
            shell.arg(format!("--{name}")).arg(value);
        }
    }
    let status = shell.status().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("under a limit of {} MiB for data: {status}", bytes >> 20));
    }
    println!("the same under RLIMIT_DATA of {} MiB", bytes >> 20);
    Ok(())
}

/// Existing edges get another weight, in random order, each at most once.
fn update(
    graph: &quipu::Graph,
    edges: u64,
    random: &mut Random,
    expected: &mut Sum,
) -> Outcome<()> {
    let text = |error: quipu::Error| error.to_string();
    let changed = (BATCHES * BATCH_EDGES + SINGLES).min((edges / 4) as usize) as u64;
    let step = edges / changed.max(1);
    let mut order: Vec<u64> = (0..changed).map(|i| i * step).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    let (singles, batched) = order.split_at(SINGLES.min(order.len() / 4));
    for &i in singles {
        let (u, v) = edge(i);
        graph.upsert(u, v, Some(quipu::Weight::Float(-weight(i)))).map_err(text)?;
    }
    for batch in batched.chunks(BATCH_EDGES) {
        let (us, vs): (Vec<_>, Vec<_>) = batch.iter().map(|&i| edge(i)).unzip();
        let weights: Vec<_> = batch.iter().map(|&i| -weight(i)).collect();
        graph.upsert_many(&us, &vs, Some(WeightsRef::Float(&weights))).map_err(text)?;
    }
    for &i in &order {
        expected.remove(edge(i), weight(i));
        expected.add(edge(i), -weight(i));
    }
    Ok(())
}

fn import_scan_update_scan(
    folder: &Path,
    options: &Options,
    edges: u64,
    phases: &mut Phases,
) -> Outcome<()> {
    let text = |error: quipu::Error| error.to_string();
    let db = Database::open(folder, options.clone()).map_err(text)?;
    let graph_options = GraphOptions { weight: WeightType::Float, ..GraphOptions::default() };
    let graph = db.graph("g", graph_options).map_err(text)?;
    phases.end("open");

    let bytes = Arc::new(AtomicU64::new(0));
    let source = Source { next: 0, end: edges, text: Vec::new(), at: 0, bytes: Arc::clone(&bytes) };
    let report = graph
        .import_reader(db.env(), Box::new(source), "generated", &db.import_options(), &|_| true)
        .map_err(text)?;
    phases.end("import");
    println!("{} MB of text in {:.1} s", bytes.load(Ordering::Relaxed) / 1_000_000, report.seconds);
    if report.edges != edges {
        return Err(format!("{edges} edges were given, {} came in", report.edges));
    }
    let mut expected = Sum::default();
    (0..edges).for_each(|i| expected.add(edge(i), weight(i)));
    check_scan(&graph, expected)?;
    phases.end("scan");

    let mut random = Random::new(7);
    update(&graph, edges, &mut random, &mut expected)?;
    phases.end("update");
    check_scan(&graph, expected)?;
    phases.end("scan again");
    db.compact().map_err(text)?;
    phases.end("compact");
    // Point lookups fill the cache.
    let mut found = Edges::default();
    for i in 0..(edges / 50).min(1_000_000) {
        let (u, _) = edge(random.below(edges).max(i % 2));
        graph.out_edges(u, &mut found).map_err(text)?;
    }
    phases.end("look up");
    db.check(&|_, _| true).map_err(text)?;
    phases.end("check");
    db.close().map_err(text)
}

/// Edge number `i`; all edges are distinct.
fn edge(i: u64) -> (u64, u64) {
    let mask = (1 << PAIR_BITS) - 1;
    let mut x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
    x ^= x >> (PAIR_BITS / 2 + 3);
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9) & mask;
    x ^= x >> (PAIR_BITS / 2);
    (x >> (PAIR_BITS / 2), x & ((1 << (PAIR_BITS / 2)) - 1))
}

fn weight(i: u64) -> f64 {
    (i % 1000) as f64
}

/// Count of edges and sum of their hashes, independent of their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    sum: u64,
}

impl Sum {
    fn add(&mut self, (u, v): (u64, u64), weight: f64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(mix(u, v, weight));
    }

    fn remove(&mut self, (u, v): (u64, u64), weight: f64) {
        self.count -= 1;
        self.sum = self.sum.wrapping_sub(mix(u, v, weight));
    }
}

fn mix(u: u64, v: u64, weight: f64) -> u64 {
    // Without the sign of zero, because negating a weight of zero changes it.
    Random::new((u << 25 | v) ^ (weight + 0.0).to_bits().rotate_left(7)).next()
}

fn check_scan(graph: &quipu::Graph, expected: Sum) -> Outcome<()> {
    let text = |error: quipu::Error| error.to_string();
    let mut scan = graph.scan_edges().map_err(text)?;
    let (mut rows, mut found) = (Edges::default(), Sum::default());
    while scan.next_edges(1 << 16, &mut rows).map_err(text)? || !rows.is_empty() {
        for (row, (&u, &v)) in rows.src.iter().zip(&rows.dst).enumerate() {
            found.add((u, v), rows.weight.get(row).as_f64());
        }
    }
    if found != expected {
        return Err(format!("WRONG: a scan found {found:?}, written were {expected:?}"));
    }
    Ok(())
}

/// A reader of the edges as CSV, which is generated on the fly.
struct Source {
    next: u64,
    end: u64,
    text: Vec<u8>,
    at: usize,
    bytes: Arc<AtomicU64>,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            while self.next < self.end && self.text.len() < 64 << 10 {
                let (u, v) = edge(self.next);
                use std::io::Write;
                writeln!(self.text, "{u},{v},{}", weight(self.next))?;
                self.next += 1;
            }
        }
        let part = &self.text[self.at..];
        let count = part.len().min(buffer.len());
        buffer[..count].copy_from_slice(&part[..count]);
        self.at += count;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Time and memory of a phase.
#[derive(Clone, Debug)]
struct Phase {
    name: &'static str,
    seconds: f64,
    /// Peak of resident memory (`VmHWM`).
    peak_bytes: u64,
    /// Highest samples of `RssAnon` and `RssFile`.
    anonymous_bytes: u64,
    file_bytes: u64,
}

impl Phase {
    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "phase": self.name, "seconds": self.seconds, "peak_bytes": self.peak_bytes,
            "anonymous_bytes": self.anonymous_bytes, "file_bytes": self.file_bytes,
        })
    }
}

/// Peaks since the start of the phase, sampled by a thread.
#[derive(Debug, Default)]
struct Samples {
    anonymous: AtomicU64,
    file: AtomicU64,
    stop: AtomicBool,
}

struct Phases {
    done: Vec<Phase>,
    began: Instant,
    samples: Arc<Samples>,
}

impl Phases {
    fn new() -> Self {
        let samples = Arc::<Samples>::default();
        let shared = Arc::clone(&samples);
        std::thread::spawn(move || {
            while !shared.stop.load(Ordering::Relaxed) {
                shared.anonymous.fetch_max(status_bytes("RssAnon").unwrap_or(0), Ordering::Relaxed);
                shared.file.fetch_max(status_bytes("RssFile").unwrap_or(0), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Self { done: Vec::new(), began: Instant::now(), samples }
    }

    /// Ends a phase: prints its line and resets the peaks.
    fn end(&mut self, name: &'static str) {
        let phase = Phase {
            name,
            seconds: self.began.elapsed().as_secs_f64(),
            peak_bytes: status_bytes("VmHWM").unwrap_or(0),
            anonymous_bytes: self.samples.anonymous.swap(0, Ordering::Relaxed),
            file_bytes: self.samples.file.swap(0, Ordering::Relaxed),
        };
        println!(
            "{name:<11} {:7.1} s  peak {:5} MiB  (anonymous {:5}, files {:4})",
            phase.seconds,
            phase.peak_bytes >> 20,
            phase.anonymous_bytes >> 20,
            phase.file_bytes >> 20
        );
        self.done.push(phase);
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        self.began = Instant::now();
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        self.samples.stop.store(true, Ordering::Relaxed);
    }
}

/// A line of `/proc/self/status`, in bytes.
fn status_bytes(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}
