//! Small graphs for the tests, and simple models to compare with.

#![expect(clippy::disallowed_methods, reason = "tests bring threads of their own")]

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use crate::csr::Csr;
use crate::limits::Limits;
use crate::workers::Workers;

/// This many threads of the operating system. Each takes the next part when it is free, so parts
/// end in a different order at each call.
pub(crate) struct Threads(pub(crate) usize);

impl Workers for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn each(&self, parts: usize, part: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            let parts_left = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < parts);
            std::iter::from_fn(parts_left).for_each(part);
        };
        std::thread::scope(|scope| (0..self.0).for_each(|_| drop(scope.spawn(work))));
    }
}

/// A random graph, the same for the same seed. Half of its edges start at a few hubs.
pub(crate) fn random_graph(vertices: u32, edges: usize, seed: u64) -> Csr {
    let mut state = seed;
    let mut random = |below: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    };
    let sources: Vec<u32> = (0..edges)
        .map(|i| if i % 2 == 0 { random(vertices) } else { random(vertices.div_ceil(50)) })
        .collect();
    let targets: Vec<u32> = (0..edges).map(|_| random(vertices)).collect();
    Csr::from_edges(vertices as usize, &sources, &targets, None, &go).unwrap()
}

/// Limits that never stop an algorithm.
pub(crate) fn go() -> bool {
    true
}

/// A graph as a list of edges.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    pub(crate) vertices: u32,
    pub(crate) list: Vec<(u32, u32, f64)>,
}

impl Edges {
    pub(crate) fn graph(&self) -> Csr {
        let (sources, targets, weights) = self.columns();
        Csr::from_edges(self.vertices as usize, &sources, &targets, Some(&weights), &go).unwrap()
    }

    pub(crate) fn unweighted(&self) -> Csr {
        let (sources, targets, _) = self.columns();
        Csr::from_edges(self.vertices as usize, &sources, &targets, None, &go).unwrap()
    }

    fn columns(&self) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
        let sources = self.list.iter().map(|e| e.0).collect();
        let targets = self.list.iter().map(|e| e.1).collect();
        (sources, targets, self.list.iter().map(|e| e.2).collect())
    }

    /// The shortest distances between all pairs (Floyd-Warshall).
    pub(crate) fn distances(&self) -> Vec<Vec<f64>> {
        let n = self.vertices as usize;
        let mut dist = vec![vec![f64::INFINITY; n]; n];
        for (v, row) in dist.iter_mut().enumerate() {
            row[v] = 0.0;
        }
        for &(from, to, weight) in &self.list {
            let cell = &mut dist[from as usize][to as usize];
            *cell = cell.min(weight);
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    dist[i][j] = dist[i][j].min(dist[i][k] + dist[k][j]);
                }
            }
        }
        dist
    }

    /// The same edges with weight 1.
    pub(crate) fn hops(&self) -> Self {
        let list = self.list.iter().map(|&(from, to, _)| (from, to, 1.0)).collect();
        Self { vertices: self.vertices, list }
    }

    /// The edges and their reverses.
    pub(crate) fn both_ways(&self) -> Self {
        let back = self.list.iter().map(|&(from, to, weight)| (to, from, weight));
        Self { vertices: self.vertices, list: self.list.iter().copied().chain(back).collect() }
    }
}

/// Graphs with up to 12 vertices, including self-loops, parallel edges and isolated vertices.
/// Weights are small integers, so that sums are exact and ties are frequent.
pub(crate) fn edges() -> impl Strategy<Value = Edges> {
    (1..12_u32).prop_flat_map(|vertices| {
        let edge = (0..vertices, 0..vertices, (0..5_u32).prop_map(f64::from));
        prop::collection::vec(edge, 0..30).prop_map(move |list| Edges { vertices, list })
    })
}

/// As [`edges`], with each edge in both directions and each self-loop once.
pub(crate) fn undirected() -> impl Strategy<Value = Edges> {
    edges().prop_map(|edges| {
        let both = edges.both_ways().list;
        let (there, back) = both.split_at(edges.list.len());
        let back = back.iter().filter(|e| e.0 != e.1);
        Edges { list: there.iter().chain(back).copied().collect(), ..edges }
    })
}

/// A path from 0 through all `vertices`, which would overflow the stack of a recursive algorithm.
pub(crate) fn long_path(vertices: u32) -> Csr {
    let sources: Vec<u32> = (0..vertices - 1).collect();
    let targets: Vec<u32> = (1..vertices).collect();
    Csr::from_edges(vertices as usize, &sources, &targets, None, &go).unwrap()
}

/// A chain of diamonds, each with one vertex between it and the next: `2^count` shortest paths from
/// 0 to the last of `3 * count + 1` vertices.
pub(crate) fn diamonds(count: u32) -> Csr {
    let diamond = |v| [(v, v + 1), (v, v + 2), (v + 1, v + 3), (v + 2, v + 3)];
    let list = (0..count).flat_map(|i| diamond(3 * i)).map(|(from, to)| (from, to, 1.0)).collect();
    Edges { vertices: 3 * count + 1, list }.graph()
}

/// Parses a graph such as "0-1 1-2:2.5": edges with optional weights.
pub(crate) fn graph(vertices: u32, text: &str) -> Csr {
    let number = |text: &str| text.parse::<u32>().unwrap();
    let list = text
        .split_whitespace()
        .map(|edge| {
            let (ends, weight) = edge.split_once(':').unwrap_or((edge, "1"));
            let (from, to) = ends.split_once('-').unwrap();
            (number(from), number(to), weight.parse().unwrap())
        })
        .collect();
    Edges { vertices, list }.graph()
}

/// Limits that stop an algorithm after a number of checks.
pub(crate) fn stop_after(questions: u32) -> impl Limits {
    let left = std::sync::atomic::AtomicU32::new(questions);
    move || {
        use std::sync::atomic::Ordering::Relaxed;
        left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok()
    }
}
