//! Betweenness centrality by adaptive sampling, to a given error with a given confidence.
//!
//! Borassi and Natale, "KADABRA is an ADaptive Algorithm for Betweenness via Random Approximation"
//! (2016): random shortest paths of random pairs are drawn until the error of every vertex is small
//! enough; vertices with little betweenness need few samples. Paths are found by breadth-first
//! search from both ends. Values are those of [`crate::brandes`] without endpoints, normalized: the
//! meaning of NetworkX's `betweenness_centrality`, in expectation.
//!
//! # Why the result does not depend on threads
//! Sample `i` is drawn with stream `i` of the seed. Counts are whole numbers, and whether to go on
//! is decided after fixed numbers of samples.

use crate::csr::Csr;
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};
use crate::path_sample::PathSampler;
use crate::random::Random;
use crate::workers::{Workers, map_items, part_of};

/// The share of the failure probability that is spread evenly over all vertices.
const BALANCE: f64 = 0.001;

/// The first decision is made after the largest possible number of samples divided by this.
const START_FRACTION: f64 = 100.0;

/// Samples between two decisions: at least this many.
const STEP_MIN: u64 = 1000;

/// Samples between two decisions: at least the number so far divided by this.
const STEP_FRACTION: u64 = 10;

/// Options of [`approximate_betweenness`].
#[derive(Clone, Copy, Debug)]
pub struct KadabraOptions<'a> {
    /// The greatest error of a value.
    pub error: f64,
    /// The probability that some value has a greater error.
    pub failure: f64,
    /// Which pairs and paths are drawn.
    pub seed: u64,
    /// The graph with all edges reversed. `None` if the graph is symmetric.
    pub reverse: Option<&'a Csr>,
}

impl Default for KadabraOptions<'_> {
    fn default() -> Self {
        Self { error: 0.01, failure: 0.1, seed: 0, reverse: None }
    }
}

/// Approximate betweenness of all vertices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApproximateBetweenness {
    /// For each vertex, about the fraction of the shortest paths between all pairs of other
    /// vertices that lead through it.
    pub values: Vec<f64>,
    /// Number of paths that were drawn.
    pub samples: u64,
}

/// Draws shortest paths, by number of edges, until the errors are small enough. Parallel edges
/// count as one.
///
/// Memory: a copy of the graph, and its reverse if there is one; about twenty-five bytes per vertex
/// and thread.
///
/// # Errors
/// [`Error::NotPositive`] for the error or the failure probability, [`Error::Stopped`].
pub fn approximate_betweenness(
    graph: &Csr,
    options: &KadabraOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<ApproximateBetweenness, Error> {
    for value in [options.error, options.failure] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Error::NotPositive { value });
        }
    }
    let ticker = &mut Ticker::new(limits)?;
    let n = graph.vertices() as usize;
    if n < 3 {
        return Ok(ApproximateBetweenness { values: vec![0.0; n], samples: 0 });
    }
    let there = graph.simple(ticker)?;
    let back = options.reverse.map(|reverse| reverse.simple(ticker)).transpose()?;
    let back = back.as_ref().unwrap_or(&there);
    // A path has two ends that do not count: samples are of all pairs, values of other pairs.
    let scale = n as f64 / (n - 2) as f64;
    let mut bounds = Bounds {
        error: options.error / scale,
        failure: options.failure.min(1.0),
        samples_max: samples_max(&there, options, scale, ticker)?,
        failures: Vec::new(),
    };
    let samplers = (0..workers.threads().max(1)).map(|_| PathSampler::new(&there, back));
    let mut sampling = Sampling {
        seed: options.seed,
        samplers: samplers.map(|sampler| (sampler, vec![0; n])).collect(),
        samples: 0,
    };
    sampling.draw((bounds.samples_max / START_FRACTION).ceil() as u64, workers, limits)?;
    bounds.divide_failure(&sampling.counts(), sampling.samples, ticker)?;
    loop {
        let counts = sampling.counts();
        if bounds.are_kept(&counts, sampling.samples, ticker)? {
            let drawn = sampling.samples.max(1) as f64;
            let values = counts.iter().map(|&count| count as f64 / drawn * scale).collect();
            return Ok(ApproximateBetweenness { values, samples: sampling.samples });
        }
        let step = (sampling.samples / STEP_FRACTION).max(STEP_MIN);
        sampling.draw(step, workers, limits)?;
    }
}

/// The number of samples that is enough for any graph with as long shortest paths (Riondato and
/// Kornaropoulos, 2016).
fn samples_max(
    graph: &Csr,
    options: &KadabraOptions<'_>,
    scale: f64,
    ticker: &mut Ticker<'_>,
) -> Result<f64, Stopped> {
    let error = options.error / scale;
    // A directed graph can have shortest paths through all vertices.
    let inner = if options.reverse.is_some() {
        graph.vertices() as usize
    } else {
        longest_path(graph, ticker)?
    };
    let dimension = (inner.saturating_sub(2).max(1) as f64).log2().floor() + 1.0;
    Ok(0.5 / (error * error) * (dimension + (1.0 / (0.5 * options.failure.min(1.0))).ln()))
}

/// An upper bound of the number of vertices on a shortest path of a symmetric graph: twice the
/// greatest distance from one vertex of each connected component, and that vertex.
fn longest_path(both: &Csr, ticker: &mut Ticker<'_>) -> Result<usize, Stopped> {
    let mut is_reached = vec![false; both.vertices() as usize];
    let mut longest = 1;
    let (mut frontier, mut next) = (Vec::new(), Vec::new());
    for root in 0..both.vertices() {
        ticker.tick(1)?;
        if std::mem::replace(&mut is_reached[root as usize], true) {
            continue;
        }
        let mut levels = 0;
        frontier.push(root);
        while !frontier.is_empty() {
            levels += 1;
            for v in frontier.drain(..) {
                for &to in both.neighbors(v) {
                    ticker.tick(1)?;
                    if !std::mem::replace(&mut is_reached[to as usize], true) {
                        next.push(to);
                    }
                }
            }
            std::mem::swap(&mut frontier, &mut next);
        }
        longest = longest.max(2 * levels - 1);
    }
    Ok(longest)
}

/// The samples so far, with the counts of each thread.
struct Sampling<'a> {
    seed: u64,
    samplers: Vec<(PathSampler<'a>, Vec<u64>)>,
    samples: u64,
}

impl Sampling<'_> {
    fn draw(
        &mut self,
        count: u64,
        workers: &dyn Workers,
        limits: &dyn Limits,
    ) -> Result<(), Stopped> {
        let (first, seed) = (self.samples, self.seed);
        let per_part = (count as usize).div_ceil(self.samplers.len()).max(1);
        let drawn = map_items(workers, self.samplers.iter_mut().collect(), &|i, sampler| {
            let ticker = &mut Ticker::new(limits)?;
            let (sampler, counts) = sampler;
            for sample in part_of(i, count as usize, per_part) {
                let random = &mut Random::new(seed, first + sample as u64);
                for &v in sampler.draw(random, ticker)? {
                    counts[v as usize] += 1;
                }
            }
            Ok(())
        });
        self.samples += count;
        drawn.into_iter().collect()
    }

    /// Number of paths through each vertex.
    fn counts(&self) -> Vec<u64> {
        let mut sums = vec![0; self.samplers.first().map_or(0, |first| first.1.len())];
        for (_, counts) in &self.samplers {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sums
    }
}

/// Decides when errors are small enough.
struct Bounds {
    error: f64,
    failure: f64,
    samples_max: f64,
    /// The probability that each vertex may fail with, in one direction.
    failures: Vec<f64>,
}

impl Bounds {
    /// Gives vertices with greater betweenness a greater share of the failure probability, so that
    /// all become good enough at about the same time (section 4 of the paper).
    fn divide_failure(
        &mut self,
        counts: &[u64],
        samples: u64,
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        let n = counts.len() as f64;
        let squared = self.error * self.error;
        let value = |count: u64| count as f64 / samples as f64;
        let share = |exponent: f64, count: u64| {
            if count == 0 { 0.0 } else { (-exponent * squared / value(count)).exp() }
        };
        let (mut low, mut high) = (0.0, (4.0 * n * (1.0 - BALANCE) / self.failure).ln() / squared);
        while high - low > self.error / 10.0 * (1.0 + high * 1e-12) {
            ticker.tick(counts.len())?;
            let middle = f64::midpoint(low, high);
            let sum: f64 = counts.iter().map(|&count| 2.0 * share(middle, count)).sum();
            if middle <= low || middle >= high {
                break;
            }
            if sum >= self.failure / 2.0 * (1.0 - BALANCE) { low = middle } else { high = middle }
        }
        let even = self.failure * BALANCE / 4.0 / n;
        self.failures = counts.iter().map(|&count| share(high, count) + even).collect();
        Ok(())
    }

    fn are_kept(
        &self,
        counts: &[u64],
        samples: u64,
        ticker: &mut Ticker<'_>,
    ) -> Result<bool, Stopped> {
        let drawn = samples as f64;
        if drawn >= self.samples_max {
            return Ok(true);
        }
        ticker.tick(counts.len())?;
        let is_kept = |(&count, &failure): (&u64, &f64)| {
            let value = count as f64 / drawn;
            // The functions f and g of the paper.
            let log = (1.0 / failure).ln();
            let ratio = self.samples_max / drawn;
            let bound = |third: f64| {
                log / drawn
                    * (third + (third * third + 2.0 * value * self.samples_max / log).sqrt())
            };
            bound(1.0 / 3.0 - ratio) <= self.error && bound(1.0 / 3.0 + ratio) <= self.error
        };
        Ok(counts.iter().zip(&self.failures).all(is_kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brandes::{BetweennessOptions, betweenness_centrality};
    use crate::testing::{Threads, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    fn greatest_error(graph: &Csr, options: &KadabraOptions<'_>) -> f64 {
        let found = approximate_betweenness(graph, options, &OneThread, &go).unwrap();
        let undirected = options.reverse.is_none();
        let exact = BetweennessOptions { undirected, ..Default::default() };
        let exact = betweenness_centrality(graph, &exact, &OneThread, &go).unwrap();
        let errors = found.values.iter().zip(exact).map(|(a, b)| (a - b).abs());
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn errors_are_as_small_as_asked_for() {
        let directed = random_graph(300, 1500, 3);
        let both = directed.simple_undirected(&go).unwrap();
        let reverse = directed.reverse(&go).unwrap();
        for seed in 0..3 {
            let options = KadabraOptions { error: 0.02, seed, ..Default::default() };
            assert!(greatest_error(&both, &options) <= 0.02);
            let options = KadabraOptions { reverse: Some(&reverse), ..options };
            assert!(greatest_error(&directed, &options) <= 0.02);
        }
        let path = long_path(50).symmetric(&go).unwrap();
        let options = KadabraOptions { error: 0.03, ..Default::default() };
        assert!(greatest_error(&path, &options) <= 0.03);
    }

    #[test]
    fn few_samples_are_enough_where_no_vertex_is_central() {
        let both = random_graph(2000, 40_000, 5).simple_undirected(&go).unwrap();
        let options = KadabraOptions { error: 0.01, ..Default::default() };
        let found = approximate_betweenness(&both, &options, &OneThread, &go).unwrap();
        let bounds = samples_max(&both, &options, 1.0, &mut Ticker::new(&go).unwrap()).unwrap();
        assert!((found.samples as f64) < 0.9 * bounds, "{} {bounds}", found.samples);
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let both = random_graph(500, 2000, 3).simple_undirected(&go).unwrap();
        let options = KadabraOptions { error: 0.03, seed: 5, ..Default::default() };
        let one = approximate_betweenness(&both, &options, &OneThread, &go).unwrap();
        for threads in [2, 5] {
            let found = approximate_betweenness(&both, &options, &Threads(threads), &go);
            assert_eq!(found.unwrap(), one);
        }
        let other = KadabraOptions { seed: 6, ..options };
        assert_ne!(approximate_betweenness(&both, &other, &OneThread, &go).unwrap(), one);
    }

    #[test]
    fn what_is_no_error_is_refused_and_the_samples_can_be_stopped() {
        let both = random_graph(500, 2000, 3).simple_undirected(&go).unwrap();
        let run = |graph: &Csr, options: &KadabraOptions<'_>, limits: &dyn Limits| {
            approximate_betweenness(graph, options, &OneThread, limits)
        };
        let options = KadabraOptions::default();
        let none = KadabraOptions { error: 0.0, ..options };
        assert_eq!(run(&both, &none, &go), Err(Error::NotPositive { value: 0.0 }));
        let none = KadabraOptions { failure: -1.0, ..options };
        assert_eq!(run(&both, &none, &go), Err(Error::NotPositive { value: -1.0 }));
        assert_eq!(run(&both, &options, &stop_after(20)), Err(Error::Stopped));
        assert_eq!(run(&graph(2, "0-1"), &options, &go).unwrap().values, [0.0; 2]);
        assert_eq!(run(&Csr::default(), &options, &go).unwrap().values, []);
        let apart = run(&graph(4, ""), &options, &go).unwrap();
        assert_eq!(apart.values, [0.0; 4]);
    }
}
