//! Times kernels on a generated R-MAT graph.
//!
//! ```text
//! cargo run --release -p quipu-algo --example rmat -- SCALE EDGE_FACTOR THREADS
//! ```
//!
//! R-MAT with the parameters of Graph500: `2^SCALE` vertices, `EDGE_FACTOR` times as many edges.

#![expect(clippy::disallowed_methods, reason = "a measurement brings its own clock and threads")]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use quipu_algo::bfs::{BfsOptions, NO_LEVEL, bfs};
use quipu_algo::brandes::{BetweennessOptions, betweenness_centrality};
use quipu_algo::pagerank_power::{PagerankOptions, Rounds, pagerank_power};
use quipu_algo::sssp::{SsspOptions, sssp};
use quipu_algo::{Csr, Error, Workers};

/// Runs of each kernel. The least time is shown.
const RUNS: usize = 5;

struct Threads(usize);

impl Workers for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn each(&self, parts: usize, part: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            let left = || Some(next.fetch_add(1, Relaxed)).filter(|&i| i < parts);
            std::iter::from_fn(left).for_each(part);
        };
        if self.0 < 2 || parts < 2 {
            return work();
        }
        std::thread::scope(|scope| {
            (1..self.0).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map_while(|word| word.parse::<usize>().ok());
    let scale = arguments.next().unwrap_or(18) as u32;
    let factor = arguments.next().unwrap_or(16);
    let workers = &Threads(arguments.next().unwrap_or(1));
    let limits = &|| true;
    let (sources, targets, weights) = rmat(scale, factor << scale);
    let vertices = 1 << scale;
    let graph = Csr::from_edges(vertices, &sources, &targets, None, limits)?;
    let weighted = Csr::from_edges(vertices, &sources, &targets, Some(&weights), limits)?;
    println!("{} vertices, {} edges, {} threads", vertices, graph.edges(), workers.0);
    let reverse = timed("reverse", || graph.reversed(workers, limits))?;
    let start = (0..graph.vertices()).max_by_key(|&v| graph.degree(v)).unwrap_or(0);

    let rounds = PagerankOptions { rounds: Rounds::Fixed(10), ..Default::default() };
    let ranks = timed("PageRank, 10 rounds", || {
        pagerank_power(&graph, &reverse, &rounds, workers, limits)
    })?;
    println!("    sum {}", ranks.iter().sum::<f64>());

    let one_way = BfsOptions::default();
    let tree = timed("BFS, top-down", || bfs(&graph, &[start], &one_way, workers, limits))?;
    let both = BfsOptions { reverse: Some(&reverse), ..one_way };
    let same = timed("BFS, both directions", || bfs(&graph, &[start], &both, workers, limits))?;
    let reached = tree.levels.iter().filter(|&&level| level != NO_LEVEL).count();
    println!("    {reached} reached, equal: {}", same == tree);

    let options = SsspOptions::default();
    let found = timed("SSSP", || sssp(&weighted, &[start], &options, limits))?;
    let sum: f64 = found.distances.iter().filter(|distance| distance.is_finite()).sum();
    println!("    sum {sum}");

    let some: Vec<u32> = (0..64).map(|i| (i * 4099) % graph.vertices()).collect();
    let sample = BetweennessOptions { sources: Some(&some), ..Default::default() };
    timed("betweenness, 64 sources", || betweenness_centrality(&graph, &sample, workers, limits))?;
    Ok(())
}

/// Prints the least time of a few runs and returns the last result.
fn timed<R, E>(name: &str, mut run: impl FnMut() -> Result<R, E>) -> Result<R, E> {
    let mut least = f64::INFINITY;
    let mut once = || {
        let start = Instant::now();
        let result = run()?;
        least = least.min(start.elapsed().as_secs_f64());
        Ok(result)
    };
    for _ in 1..RUNS {
        once()?;
    }
    let result = once()?;
    println!("{name}: {:.1} ms", least * 1e3);
    Ok(result)
}

/// Sources, targets and weights from 1 to 256.
fn rmat(scale: u32, edges: usize) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..edges {
        let (mut source, mut target) = (0, 0);
        for _ in 0..scale {
            // A quarter of the matrix in hundredths: 57, 19, 19, 5.
            let (down, right) = match random() % 100 {
                0..57 => (0, 0),
                57..76 => (0, 1),
                76..95 => (1, 0),
                _ => (1, 1),
            };
            source = source << 1 | down;
            target = target << 1 | right;
        }
        sources.push(source);
        targets.push(target);
        weights.push((random() % 256 + 1) as f64);
    }
    (sources, targets, weights)
}
