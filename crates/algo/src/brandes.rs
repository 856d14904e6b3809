//! Betweenness centrality of vertices and edges, from all or some sources, in the meaning of
//! NetworkX.
//!
//! Brandes, "On variants of shortest-path betweenness centrality" (2008). Sources are searched in
//! parallel. [`crate::betweenness`] has the meaning of CozoDB, which is not normalized and counts
//! parallel edges as separate paths. It has a search of its own: it adds source by source, and ties
//! over edges of weight zero follow the order of its heap, so these sums differ in their last bits.
//!
//! # Why the result does not depend on threads
//! Sources are divided into parts of sixteen. Each part sums over its sources in order, and the
//! sums of the parts are added in order.

use std::borrow::Cow;

use crate::bfs::NO_LEVEL;
use crate::csr::Csr;
use crate::dijkstra_search::refuse_negative;
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker};
use crate::path_counts::{Count, Paths, ShortestPaths};
use crate::radix_heap::RadixHeap;
use crate::sssp::search;
use crate::workers::{Workers, map_parts, part_of, parts_of};

/// Sources of a part.
const PART_SOURCES: usize = 16;

/// Options of [`betweenness_centrality`] and [`edge_betweenness_centrality`]. The defaults are
/// those of NetworkX for directed graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BetweennessOptions<'a> {
    /// The sources of the paths, each once; values are scaled up to all vertices. `None`: all.
    pub sources: Option<&'a [u32]>,
    /// Whether values are divided by the number of pairs, so that 1 is the largest possible.
    pub normalized: bool,
    /// Whether a path also counts for its two ends. Ignored for edges.
    pub endpoints: bool,
    /// Whether the graph is undirected: its [`Csr::undirected`] or [`Csr::symmetric`] is passed,
    /// and each pair counts once.
    pub undirected: bool,
}

impl Default for BetweennessOptions<'_> {
    fn default() -> Self {
        Self { sources: None, normalized: true, endpoints: false, undirected: false }
    }
}

/// The fraction of shortest paths that lead through each vertex. Shortest by weight if the graph
/// has weights. Parallel edges count as one, the lightest.
///
/// With `sources` and without `endpoints`, a source has one pair fewer than others. So if there is
/// only one source, its own value is NaN, as in NetworkX.
///
/// Memory: about forty bytes per vertex and thread; a copy of a graph that has parallel edges or
/// self-loops.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn betweenness_centrality(
    graph: &Csr,
    options: &BetweennessOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    refuse_unknown(options.sources.unwrap_or_default(), graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let simple = Simple::new(graph, ticker)?;
    let n = graph.vertices() as usize;
    let add = |search: &mut Search<'_>, source, sums: &mut [f64], ticker: &mut Ticker<'_>| {
        search.run(source, |_, _| {}, ticker)?;
        search.add_vertices(options.endpoints, sums);
        Ok(())
    };
    let mut sums = sum(&simple.graph, n, options, &add, workers, limits)?;
    let scales = Scales::new(n, options, options.endpoints);
    sums.iter_mut().for_each(|value| *value *= scales.other);
    for &source in options.sources.unwrap_or_default() {
        sums[source as usize] *= scales.source / scales.other;
    }
    Ok(sums)
}

/// The fraction of shortest paths that lead along each edge, in the order of [`Csr::targets`]. The
/// first of parallel edges has the value of all of them, the others have zero.
///
/// In an undirected graph, both directions of an edge have the value of the edge.
///
/// Memory: about forty bytes per vertex and eight per edge for each thread; a copy of a graph that
/// has parallel edges or self-loops.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn edge_betweenness_centrality(
    graph: &Csr,
    options: &BetweennessOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    refuse_unknown(options.sources.unwrap_or_default(), graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    refuse_negative(graph, ticker)?;
    let simple = Simple::new(graph, ticker)?;
    let edges = simple.graph.targets().len();
    let add = |search: &mut Search<'_>, source, sums: &mut [f64], ticker: &mut Ticker<'_>| {
        search.run(source, |edge, dependency| sums[edge] += dependency, ticker)
    };
    let sums = sum(&simple.graph, edges, options, &add, workers, limits)?;
    let scale = Scales::new(graph.vertices() as usize, options, true).other;
    let mut found = vec![0.0; graph.targets().len()];
    for v in 0..graph.vertices() {
        for i in simple.graph.row(v) {
            ticker.tick(1)?;
            let back =
                if options.undirected { simple.edge(simple.graph.targets()[i], v) } else { None };
            let both = sums[i] + back.map_or(0.0, |back| sums[back]);
            found[simple.places.as_ref().map_or(i, |places| places[i])] = both * scale;
        }
    }
    Ok(found)
}

/// The factors of NetworkX's `_rescale`.
struct Scales {
    /// For vertices that are among the sources.
    source: f64,
    other: f64,
}

impl Scales {
    fn new(vertices: usize, options: &BetweennessOptions<'_>, endpoints: bool) -> Self {
        let n = vertices as f64;
        let ends = if endpoints { n } else { n - 1.0 };
        if ends < 2.0 {
            return Self { source: 1.0, other: 1.0 };
        }
        let is_sample = options.sources.is_some_and(|sources| sources.len() != vertices);
        let count = options.sources.filter(|_| is_sample).map_or(ends, |s| s.len() as f64);
        let scale = |count: f64| match (options.normalized, options.undirected) {
            (true, _) => 1.0 / (count * (ends - 1.0)),
            (false, true) => ends / (count * 2.0),
            (false, false) => ends / count,
        };
        if !is_sample || endpoints {
            return Self { source: scale(count), other: scale(count) };
        }
        let source = if count > 1.0 { scale(count - 1.0) } else { f64::NAN };
        Self { source, other: scale(count) }
    }
}

/// The lightest of parallel edges, without self-loops.
struct Simple<'a> {
    graph: Cow<'a, Csr>,
    /// For each edge, the first of its parallel edges in the original graph. `None` if it is the
    /// original graph.
    places: Option<Vec<usize>>,
}

impl<'a> Simple<'a> {
    fn new(graph: &'a Csr, ticker: &mut Ticker<'_>) -> Result<Self, Stopped> {
        let mut is_simple = true;
        for v in 0..graph.vertices() {
            let row = graph.neighbors(v);
            is_simple &= row.is_sorted_by(|a, b| a < b) && row.binary_search(&v).is_err();
            ticker.tick(row.len() + 1)?;
        }
        if is_simple {
            return Ok(Self { graph: Cow::Borrowed(graph), places: None });
        }
        let (mut offsets, mut targets) = (vec![0], Vec::new());
        let mut places: Vec<usize> = Vec::new();
        let mut weights = graph.weights().map(|_| Vec::new());
        for v in 0..graph.vertices() {
            let start = targets.len();
            for (place, (to, weight)) in graph.row(v).zip(graph.weighted(v)) {
                ticker.tick(1)?;
                let is_parallel = targets.len() > start && targets.last() == Some(&to);
                if let Some(last) = weights.as_mut().and_then(|all| all.last_mut()) {
                    *last = if is_parallel { weight.min(*last) } else { *last };
                }
                if to != v && !is_parallel {
                    targets.push(to);
                    places.push(place);
                    weights.iter_mut().for_each(|all| all.push(weight));
                }
            }
            ticker.tick(1)?;
            offsets.push(targets.len() as u64);
        }
        let graph = Cow::Owned(Csr::from_parts(offsets, targets, weights));
        Ok(Self { graph, places: Some(places) })
    }

    /// The place of an edge in the simple graph.
    fn edge(&self, source: u32, target: u32) -> Option<usize> {
        let row = self.graph.row(source);
        let place = self.graph.neighbors(source).binary_search(&target).ok()?;
        Some(row.start + place)
    }
}

/// Searches from a source and adds its dependencies to the sums.
type Add<'a> =
    dyn Fn(&mut Search<'_>, u32, &mut [f64], &mut Ticker<'_>) -> Result<(), Stopped> + Sync + 'a;

/// The sums of `add` over all sources, `len` numbers.
fn sum(
    graph: &Csr,
    len: usize,
    options: &BetweennessOptions<'_>,
    add: &Add<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Stopped> {
    let count = options.sources.map_or(graph.vertices() as usize, <[u32]>::len);
    let parts = parts_of(count, PART_SOURCES);
    let mut sums = vec![0.0; len];
    // One part for each thread at a time, so that the memory does not grow with the sources.
    let threads = workers.threads().max(1);
    for first in (0..parts).step_by(threads) {
        let found = map_parts(workers, threads.min(parts - first), &|i| {
            let ticker = &mut Ticker::new(limits)?;
            let mut sums = vec![0.0; len];
            let mut search = Search::new(graph);
            for place in part_of(first + i, count, PART_SOURCES) {
                let source = options.sources.map_or(place as u32, |all| all[place]);
                add(&mut search, source, &mut sums, ticker)?;
                ticker.ask()?;
            }
            Ok::<_, Stopped>(sums)
        });
        for part in found {
            sums.iter_mut().zip(part?).for_each(|(sum, part)| *sum += part);
        }
    }
    Ok(sums)
}

/// A search from one source, with the dependency of the source on each vertex. Buffers are reused.
struct Search<'a> {
    graph: &'a Csr,
    /// The reached vertices, nearest first.
    order: Vec<u32>,
    /// Number of edges from the source; in weighted graphs the place in `order`.
    levels: Vec<u32>,
    /// Weight from the source; empty in unweighted graphs.
    distances: Vec<f64>,
    heap: RadixHeap,
    counts: Vec<f64>,
    /// Numbers of paths beyond the range of floats. Empty until they are needed.
    large_counts: Vec<Paths>,
    dependencies: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Csr) -> Self {
        let n = graph.vertices() as usize;
        Self {
            graph,
            order: Vec::new(),
            levels: vec![NO_LEVEL; n],
            distances: vec![f64::INFINITY; if graph.weights().is_some() { n } else { 0 }],
            heap: RadixHeap::new(),
            counts: vec![0.0; n],
            large_counts: Vec::new(),
            dependencies: vec![0.0; n],
        }
    }

    /// Passes the dependency on each edge to `output`, with its index in the columns of the graph.
    #[inline]
    fn run(
        &mut self,
        source: u32,
        output: impl FnMut(usize, f64),
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        for &v in &self.order {
            self.levels[v as usize] = NO_LEVEL;
            if let Some(distance) = self.distances.get_mut(v as usize) {
                *distance = f64::INFINITY;
            }
        }
        self.order.clear();
        if self.graph.weights().is_some() {
            self.settle(source, ticker)?;
        } else {
            self.reach(source, ticker)?;
        }
        let Self { graph, order, levels, distances, counts, large_counts, dependencies, .. } = self;
        let (levels, distances) = (&levels[..], &distances[..]);
        let leads = move |v: u32, to: u32, weight: f64| {
            let (here, there) = (levels[v as usize], levels[to as usize]);
            if distances.is_empty() {
                return there == here + 1;
            }
            here < there && distances[v as usize] + weight == distances[to as usize]
        };
        let shortest = ShortestPaths { graph, order, leads };
        shortest.count(counts, ticker)?;
        if order.iter().all(|&v| counts[v as usize].is_finite()) {
            return shortest.depend(counts, dependencies, output, ticker);
        }
        large_counts.resize(counts.len(), Paths::NONE);
        shortest.count(large_counts, ticker)?;
        shortest.depend(large_counts, dependencies, output, ticker)
    }

    /// The breadth-first order of an unweighted graph.
    fn reach(&mut self, source: u32, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        self.levels[source as usize] = 0;
        self.order.push(source);
        let mut next = 0;
        while let Some(&v) = self.order.get(next) {
            next += 1;
            let level = self.levels[v as usize] + 1;
            for &to in self.graph.neighbors(v) {
                ticker.tick(1)?;
                if self.levels[to as usize] == NO_LEVEL {
                    self.levels[to as usize] = level;
                    self.order.push(to);
                }
            }
            ticker.tick(1)?;
        }
        Ok(())
    }

    /// The order in which a weighted graph is settled.
    fn settle(&mut self, source: u32, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let order = &mut self.order;
        let mut settle = |v: u32, _: f64| {
            order.push(v);
            f64::INFINITY
        };
        let distances = &mut self.distances;
        search(self.graph, &[source], distances, None, &mut self.heap, &mut settle, ticker)?;
        for (place, &v) in (0..).zip(&self.order) {
            self.levels[v as usize] = place;
        }
        Ok(())
    }

    fn add_vertices(&self, endpoints: bool, sums: &mut [f64]) {
        let Some((&source, others)) = self.order.split_first() else { return };
        let end = f64::from(u8::from(endpoints));
        sums[source as usize] += end * others.len() as f64;
        for &v in others {
            sums[v as usize] += self.dependencies[v as usize] + end;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{
        Edges, Threads, diamonds, edges, go, graph, long_path, random_graph, stop_after,
    };
    use crate::workers::OneThread;

    fn of_vertices(graph: &Csr, options: &BetweennessOptions<'_>) -> Vec<f64> {
        betweenness_centrality(graph, options, &OneThread, &go).unwrap()
    }

    fn of_edges(graph: &Csr, options: &BetweennessOptions<'_>) -> Vec<f64> {
        edge_betweenness_centrality(graph, options, &OneThread, &go).unwrap()
    }

    /// Values of NetworkX 3.6.1 for the path of four vertices with a chord and a tail.
    #[test]
    fn values_are_those_of_networkx() {
        let both = graph(5, "0-1 1-2 2-3 3-0 3-4").undirected(&go).unwrap();
        let both = Csr::from_parts(both.offsets().to_vec(), both.targets().to_vec(), None);
        let undirected = BetweennessOptions { undirected: true, ..Default::default() };
        close(&of_vertices(&both, &undirected), &NX_VERTICES);
        let raw = BetweennessOptions { normalized: false, ..undirected };
        close(&of_vertices(&both, &raw), &NX_RAW);
        let ends = BetweennessOptions { endpoints: true, ..undirected };
        close(&of_vertices(&both, &ends), &NX_ENDPOINTS);
        let sample = BetweennessOptions { sources: Some(&[0, 4]), ..undirected };
        close(&of_vertices(&both, &sample), &NX_SAMPLE);
        close(&of_edges(&both, &undirected), &NX_EDGES);
        close(&of_edges(&both, &sample), &NX_EDGES_SAMPLE);
    }

    const NX_VERTICES: [f64; 5] =
        [0.16666666666666666, 0.08333333333333333, 0.16666666666666666, 0.5833333333333333, 0.0];
    const NX_RAW: [f64; 5] = [1.0, 0.5, 1.0, 3.5, 0.0];
    const NX_ENDPOINTS: [f64; 5] = [0.5, 0.45, 0.5, 0.75, 0.4];
    const NX_SAMPLE: [f64; 5] =
        [0.16666666666666666, 0.08333333333333333, 0.08333333333333333, 0.75, 0.0];
    const NX_EDGES: [f64; 10] = [
        0.25,
        0.35000000000000003,
        0.25,
        0.25,
        0.25,
        0.35000000000000003,
        0.35000000000000003,
        0.35000000000000003,
        0.4,
        0.4,
    ];
    const NX_EDGES_SAMPLE: [f64; 10] =
        [0.25, 0.5, 0.25, 0.125, 0.125, 0.25, 0.5, 0.25, 0.625, 0.625];

    fn close(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        for (a, b) in found.iter().zip(want) {
            assert!((a - b).abs() < 1e-9, "{found:?} {want:?}");
        }
    }

    #[test]
    fn more_paths_than_a_float_can_count_are_still_shared() {
        let graph = diamonds(1100);
        let options =
            BetweennessOptions { sources: Some(&[0]), normalized: false, ..Default::default() };
        let ticker = &mut Ticker::new(&go).unwrap();
        let mut search = Search::new(&graph);
        search.run(0, |_, _| {}, ticker).unwrap();
        assert!(!search.large_counts.is_empty());
        // Of the first diamond: it is on half of the paths to every later vertex.
        assert_eq!(search.dependencies[1], (graph.vertices() - 3) as f64 / 2.0);
        assert!(of_edges(&graph, &options).iter().all(|value| value.is_finite()));
    }

    #[test]
    fn one_source_knows_nothing_of_itself() {
        let options = BetweennessOptions { sources: Some(&[0]), ..Default::default() };
        let found = of_vertices(&graph(4, "0-1 1-2 2-3"), &options);
        assert!(found[0].is_nan());
        assert!(found[1..].iter().all(|value| value.is_finite()));
    }

    #[test]
    fn searches_can_be_stopped_and_unknown_sources_are_refused() {
        let options = BetweennessOptions::default();
        let found = betweenness_centrality(&long_path(5000), &options, &OneThread, &stop_after(9));
        assert_eq!(found, Err(Error::Stopped));
        let unknown = BetweennessOptions { sources: Some(&[9]), ..options };
        let found = edge_betweenness_centrality(&graph(2, "0-1"), &unknown, &OneThread, &go);
        assert_eq!(found, Err(Error::UnknownVertex { vertex: 9, vertices: 2 }));
        assert_eq!(of_vertices(&Csr::default(), &options), []);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = random_graph(300, 1500, 9);
        let options = BetweennessOptions::default();
        let (vertices, edges) = (of_vertices(&graph, &options), of_edges(&graph, &options));
        for threads in [2, 5] {
            let workers = Threads(threads);
            assert_eq!(betweenness_centrality(&graph, &options, &workers, &go).unwrap(), vertices);
            assert_eq!(
                edge_betweenness_centrality(&graph, &options, &workers, &go).unwrap(),
                edges
            );
        }
    }

    /// Through vertices and along pairs, by counting paths between all pairs. Weights are at least
    /// 1, so a shortest path has no cycle.
    fn model(edges: &Edges) -> (Vec<f64>, Vec<Vec<f64>>) {
        let n = edges.vertices as usize;
        let distances = edges.distances();
        let mut lightest = vec![vec![f64::INFINITY; n]; n];
        for &(from, to, weight) in edges.list.iter().filter(|e| e.0 != e.1) {
            let cell = &mut lightest[from as usize][to as usize];
            *cell = cell.min(weight);
        }
        let mut counts = vec![vec![0.0; n]; n];
        for source in 0..n {
            let mut order: Vec<usize> =
                (0..n).filter(|&v| distances[source][v].is_finite()).collect();
            order.sort_by(|&a, &b| distances[source][a].total_cmp(&distances[source][b]));
            counts[source][source] = 1.0;
            for v in order {
                for to in 0..n {
                    let there = distances[source][v] + lightest[v][to];
                    if there.is_finite() && there == distances[source][to] {
                        counts[source][to] += counts[source][v];
                    }
                }
            }
        }
        let (mut through, mut along) = (vec![0.0; n], vec![vec![0.0; n]; n]);
        for s in 0..n {
            for t in (0..n).filter(|&t| t != s && distances[s][t].is_finite()) {
                for v in 0..n {
                    let is_on = distances[s][v] + distances[v][t] == distances[s][t];
                    if is_on && v != s && v != t {
                        through[v] += counts[s][v] * counts[v][t] / counts[s][t];
                    }
                    for w in 0..n {
                        let length = distances[s][v] + lightest[v][w] + distances[w][t];
                        if length == distances[s][t] {
                            along[v][w] += counts[s][v] * counts[w][t] / counts[s][t];
                        }
                    }
                }
            }
        }
        (through, along)
    }

    fn check(graph: &Csr, edges: &Edges) -> Result<(), TestCaseError> {
        let (through, along) = model(edges);
        let raw = BetweennessOptions { normalized: false, ..Default::default() };
        for (found, want) in of_vertices(graph, &raw).iter().zip(through) {
            prop_assert!((found - want).abs() < 1e-9, "{} {}", found, want);
        }
        let found = of_edges(graph, &raw);
        for v in 0..graph.vertices() {
            let mut last = None;
            for (i, &to) in graph.row(v).zip(graph.neighbors(v)) {
                let is_first = last.replace(to) != Some(to) && to != v;
                let want = if is_first { along[v as usize][to as usize] } else { 0.0 };
                prop_assert!((found[i] - want).abs() < 1e-9, "{} {}", found[i], want);
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn values_count_the_paths_of_all_pairs(edges in edges()) {
            let list = edges.list.iter().map(|e| (e.0, e.1, e.2 + 1.0)).collect();
            let edges = Edges { list, ..edges };
            check(&edges.graph(), &edges)?;
            check(&edges.unweighted(), &edges.hops())?;
        }
    }
}
