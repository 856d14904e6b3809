//! Latency of single reads while another thread commits and everything is flushed and compacted,
//! compared with the same reads on an idle database.
//!
//! ```text
//! cargo run --release -p quipu --example read_latency -- EDGES.csv [ROUNDS] [SECONDS]
//! ```
//!
//! Idle and busy phases alternate, so that noise of the machine affects both. An idle phase begins
//! when the flushes and compactions of the busy phase before it have ended.
#![allow(clippy::disallowed_methods)] // an example of the outside: clocks and threads are its own

use quipu::{Database, Durability, Graph, GraphOptions, Options, Weight, WeightType, WeightsRef};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Edges of a commit.
const COMMIT_EDGES: usize = 500;
/// Commits between two full compactions.
const COMMITS_A_COMPACTION: u64 = 600;

/// A small random number generator with a fixed seed, so that runs can be repeated: xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }
}

fn main() -> quipu::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a CSV of source,target,weight");
    let rounds: usize = arguments.next().map_or(5, |text| text.parse().expect("a number"));
    let seconds: f64 = arguments.next().map_or(3.0, |text| text.parse().expect("a number"));
    let folder = std::env::temp_dir().join(format!("quipu-latency-{}", std::process::id()));
    // Little memory for writes, for frequent flushes and compactions.
    let options =
        Options { durability: Durability::Os, memory_limit_bytes: 128 << 20, ..Options::default() };
    let db = Database::open(&folder, options)?;
    let graph =
        db.graph("g", GraphOptions { weight: WeightType::Float, ..GraphOptions::default() })?;
    let report = graph.import_csv(db.env(), file.as_ref(), &db.import_options(), &|_| true)?;
    let mut vertices = Vec::new();
    graph.vertices(&mut |some| vertices.extend_from_slice(some))?;
    println!("{} edges, {} vertices", report.edges, vertices.len());
    let mut ratios = Vec::new();
    for round in 0..rounds {
        db.compact()?;
        let quiet = read_for(&graph, &vertices, seconds, round as u64)?;
        let stop = Arc::new(AtomicBool::new(false));
        let writer = {
            let (db, graph, vertices) = (db.clone(), graph.clone(), vertices.clone());
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || write_until(&db, &graph, &vertices, &stop, round as u64))
        };
        let busy = read_for(&graph, &vertices, seconds, round as u64)?;
        stop.store(true, Ordering::Relaxed);
        let (commits, compactions) = writer.join().expect("the writer does not panic")?;
        println!(
            "round {round}: quiet {} | busy {} | {commits} commits, {compactions} compactions",
            told(&quiet),
            told(&busy)
        );
        ratios.push(percentile(&busy, 0.99) / percentile(&quiet, 0.99));
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "99th percentile, busy / quiet: median {:.2}, {:.2} to {:.2}",
        ratios[ratios.len() / 2],
        ratios[0],
        ratios[ratios.len() - 1]
    );
    db.close()?;
    std::fs::remove_dir_all(&folder).expect("the example's own folder can be removed");
    Ok(())
}

/// Reads successors of random vertices for `seconds`; returns the sorted times in nanoseconds.
fn read_for(graph: &Graph, vertices: &[u64], seconds: f64, seed: u64) -> quipu::Result<Vec<u64>> {
    let mut random = Random(seed + 1);
    let mut ids = Vec::new();
    let mut taken = Vec::new();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    loop {
        let vertex = vertices[random.below(vertices.len() as u64) as usize];
        let start = Instant::now();
        graph.successors(vertex, &mut ids)?;
        let stop = Instant::now();
        taken.push((stop - start).as_nanos() as u64);
        if stop > end {
            taken.sort_unstable();
            return Ok(taken);
        }
    }
}

/// Commits upserts and removals of random edges; returns the numbers of commits and compactions.
fn write_until(
    db: &Database,
    graph: &Graph,
    vertices: &[u64],
    stop: &AtomicBool,
    seed: u64,
) -> quipu::Result<(u64, u64)> {
    let mut random = Random(seed + 77);
    let (mut commits, mut compactions) = (0, 0);
    let (mut us, mut vs, mut ws) = (Vec::new(), Vec::new(), Vec::new());
    let mut removed = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        us.clear();
        vs.clear();
        ws.clear();
        for _ in 0..COMMIT_EDGES {
            us.push(vertices[random.below(vertices.len() as u64) as usize]);
            vs.push(vertices[random.below(vertices.len() as u64) as usize]);
            ws.push(random.below(10_000) as f64 / 100.0);
        }
        graph.upsert_many(&us, &vs, Some(WeightsRef::Float(&ws)))?;
        graph.remove_many(&us[..COMMIT_EDGES / 2], &vs[..COMMIT_EDGES / 2], &mut removed)?;
        graph.upsert(us[0], vs[0], Some(Weight::Float(1.0)))?;
        commits += 3;
        if commits % COMMITS_A_COMPACTION == 0 {
            db.compact()?;
            compactions += 1;
        }
    }
    Ok((commits, compactions))
}

fn percentile(ascending: &[u64], part: f64) -> f64 {
    ascending[((ascending.len() - 1) as f64 * part) as usize] as f64 / 1e3
}

fn told(taken: &[u64]) -> String {
    format!(
        "p50 {:.2} p99 {:.2} p99.9 {:.2} max {:.0} us of {}",
        percentile(taken, 0.5),
        percentile(taken, 0.99),
        percentile(taken, 0.999),
        percentile(taken, 1.0),
        taken.len()
    )
}
