//! PageRank by power iteration, in the meanings of NetworkX and LDBC Graphalytics.
//!
//! A vertex without outgoing edges (dangling) passes its rank to all vertices, so ranks sum to 1.
//! Each round computes all ranks from those of the round before; [`crate::pagerank`] has the
//! meaning of CozoDB, which differs in both.
//!
//! # How a round is computed
//! Contributions, the rank divided by the weight of the outgoing edges, are computed once per
//! vertex. Then each vertex pulls those of its incoming edges, so that nothing is written from two
//! threads.

use crate::csr::Csr;
use crate::error::{Error, Stopped, refuse_length};
use crate::limits::{Limits, STRIDE, Ticker};
use crate::pull::{Pull, change, distribution};
use crate::workers::{PART_VERTICES, Workers, fill};

/// When the rounds of [`pagerank_power`] end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounds {
    /// When the ranks of all vertices together change by less than `tolerance` times the number of
    /// vertices, as in NetworkX. An error if `rounds_max` rounds are not enough.
    Until {
        /// Average change of a vertex in a round.
        tolerance: f64,
        /// Maximum number of rounds.
        rounds_max: u32,
    },
    /// After this many rounds, as in LDBC Graphalytics.
    Fixed(u32),
}

/// Options of [`pagerank_power`]. The defaults are those of NetworkX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PagerankOptions<'a> {
    /// Damping factor: the probability of following an edge, from 0 to 1.
    pub alpha: f64,
    /// The probabilities of a restart at each vertex. They need not sum to 1. `None`: uniform.
    pub personalization: Option<&'a [f64]>,
    /// How dangling vertices distribute their rank. The values need not sum to 1. `None`:
    /// as `personalization`.
    pub dangling: Option<&'a [f64]>,
    /// The ranks before the first round. They need not sum to 1. `None`: uniform.
    pub start: Option<&'a [f64]>,
    /// When to end.
    pub rounds: Rounds,
}

impl Default for PagerankOptions<'_> {
    fn default() -> Self {
        Self {
            alpha: 0.85,
            personalization: None,
            dangling: None,
            start: None,
            rounds: Rounds::Until { tolerance: 1e-6, rounds_max: 100 },
        }
    }
}

/// The rank of each vertex. Ranks sum to 1. Weights of parallel edges add up.
///
/// `reverse` is the [`Csr::reverse`] of `graph`, with its weights; the graph itself if it is
/// symmetric.
///
/// Memory: thirty-two bytes per vertex.
///
/// # Errors
/// [`Error::WrongLength`] and [`Error::ZeroSum`] for a column of the options,
/// [`Error::NoConvergence`], [`Error::Stopped`].
pub fn pagerank_power(
    graph: &Csr,
    reverse: &Csr,
    options: &PagerankOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    refuse_length(reverse.vertices() as usize, graph.vertices())?;
    let mut ranks = distribution(options.start, graph)?;
    let restart = options.personalization.map(|p| distribution(Some(p), graph)).transpose()?;
    let dangling = options.dangling.map(|d| distribution(Some(d), graph)).transpose()?;
    let n = ranks.len();
    if n == 0 {
        return Ok(ranks);
    }
    let uniform = 1.0 / n as f64;
    let restart_at = |v: usize| restart.as_ref().map_or(uniform, |restart| restart[v]);
    let dangling_at = |v: usize| dangling.as_ref().map_or_else(|| restart_at(v), |d| d[v]);
    let strengths = strengths(graph, &mut Ticker::new(limits)?)?;
    let pull = Pull::new(reverse, workers, limits);
    let mut contributions = vec![0.0; n];
    let mut next = vec![0.0; n];
    let is_dangling = |v: usize| strengths[v] == 0.0;
    let mut dangling_rank: f64 = (0..n).filter(|&v| is_dangling(v)).map(|v| ranks[v]).sum();
    let (rounds_max, tolerance) = match options.rounds {
        Rounds::Until { tolerance, rounds_max } => (rounds_max, Some(tolerance)),
        Rounds::Fixed(rounds) => (rounds, None),
    };
    for _ in 0..rounds_max {
        fill(workers, &mut contributions, PART_VERTICES, &|rows, part| {
            for ((out, rank), strength) in
                part.iter_mut().zip(&ranks[rows.clone()]).zip(&strengths[rows])
            {
                *out = if *strength == 0.0 { *rank } else { rank / strength };
            }
        });
        let sums = pull.round(&contributions, &mut next, &|first, part| {
            let mut dangling_here = 0.0;
            for (v, rank) in (first..).zip(part.iter_mut()) {
                *rank = options.alpha * (*rank + dangling_rank * dangling_at(v))
                    + (1.0 - options.alpha) * restart_at(v);
                dangling_here += if is_dangling(v) { *rank } else { 0.0 };
            }
            (change(part, &ranks[first..]), dangling_here)
        })?;
        std::mem::swap(&mut ranks, &mut next);
        let (changes, dangling_sums): (Vec<f64>, Vec<f64>) = sums.into_iter().unzip();
        dangling_rank = dangling_sums.iter().sum();
        let changed: f64 = changes.iter().sum();
        if tolerance.is_some_and(|tolerance| changed < n as f64 * tolerance) {
            return Ok(ranks);
        }
    }
    match options.rounds {
        Rounds::Until { rounds_max, .. } => Err(Error::NoConvergence { rounds: rounds_max }),
        Rounds::Fixed(_) => Ok(ranks),
    }
}

/// The sum of the weights of the outgoing edges of each vertex.
fn strengths(graph: &Csr, ticker: &mut Ticker<'_>) -> Result<Vec<f64>, Stopped> {
    let Some(weights) = graph.weights() else {
        return Ok((0..graph.vertices()).map(|v| graph.degree(v) as f64).collect());
    };
    let mut strengths = Vec::with_capacity(graph.vertices() as usize);
    for v in 0..graph.vertices() {
        let mut sum = 0.0;
        for part in weights[graph.row(v)].chunks(STRIDE) {
            sum += part.iter().sum::<f64>();
            ticker.tick(part.len())?;
        }
        ticker.tick(1)?;
        strengths.push(sum);
    }
    Ok(strengths)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, Threads, edges, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    fn ranks(graph: &Csr, options: &PagerankOptions<'_>) -> Result<Vec<f64>, Error> {
        pagerank_power(graph, &graph.reverse(&go).unwrap(), options, &OneThread, &go)
    }

    fn close(found: &[f64], want: &[f64]) {
        assert_eq!(found.len(), want.len());
        for (a, b) in found.iter().zip(want) {
            assert!((a - b).abs() < 1e-9, "{found:?} {want:?}");
        }
    }

    /// NetworkX 3.6.1, `nx.pagerank` of a `MultiDiGraph`.
    #[test]
    fn values_are_those_of_networkx() {
        let graph = graph(6, "0-1:2 1-2:1 2-0:3 2-3:1 3-1:2 3-4:5 1-2:2 5-0:1");
        let found = ranks(&graph, &PagerankOptions::default()).unwrap();
        let want = [
            0.24008597484338667,
            0.2657336370049019,
            0.2645051530950261,
            0.09483670380216944,
            0.09620888010519438,
            0.038629651149321445,
        ];
        close(&found, &want);
        let personal = PagerankOptions {
            personalization: Some(&[1.0, 0.0, 0.0, 2.0, 0.0, 0.0]),
            dangling: Some(&[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
            ..PagerankOptions::default()
        };
        let want = [
            0.22904427713679998,
            0.2334683123454977,
            0.280856351686849,
            0.15968142571226665,
            0.09694963311858645,
            0.0,
        ];
        close(&ranks(&graph, &personal).unwrap(), &want);
    }

    #[test]
    fn a_personalization_without_weight_is_an_error() {
        let graph = graph(3, "0-1 1-2");
        let zero = PagerankOptions { personalization: Some(&[0.0; 3]), ..Default::default() };
        assert_eq!(ranks(&graph, &zero), Err(Error::ZeroSum));
        let short = PagerankOptions { start: Some(&[1.0]), ..Default::default() };
        assert_eq!(ranks(&graph, &short), Err(Error::WrongLength { len: 1, vertices: 3 }));
    }

    #[test]
    fn too_few_rounds_are_an_error_unless_they_are_fixed() {
        let graph = graph(3, "0-1 1-2 0-2");
        let rounds = Rounds::Until { tolerance: 1e-6, rounds_max: 2 };
        let few = PagerankOptions { rounds, ..Default::default() };
        assert_eq!(ranks(&graph, &few), Err(Error::NoConvergence { rounds: 2 }));
        let fixed = PagerankOptions { rounds: Rounds::Fixed(2), ..few };
        assert!((ranks(&graph, &fixed).unwrap().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_empty_graph_has_no_ranks_and_rounds_can_be_stopped() {
        assert_eq!(ranks(&Csr::default(), &PagerankOptions::default()), Ok(vec![]));
        let path = long_path(200_000);
        let reverse = path.reverse(&go).unwrap();
        let options = PagerankOptions::default();
        let found = pagerank_power(&path, &reverse, &options, &OneThread, &stop_after(6));
        assert_eq!(found, Err(Error::Stopped));
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let graph = random_graph(50_000, 400_000, 11);
        let reverse = graph.reverse(&go).unwrap();
        let options = PagerankOptions::default();
        let want = ranks(&graph, &options).unwrap();
        for threads in [2, 3] {
            let found = pagerank_power(&graph, &reverse, &options, &Threads(threads), &go).unwrap();
            assert_eq!(found, want);
        }
    }

    /// Rounds over a dense matrix.
    fn dense(edges: &Edges, options: &PagerankOptions<'_>, rounds: u32) -> Vec<f64> {
        let n = edges.vertices as usize;
        let share = |column: Option<&[f64]>| -> Vec<f64> {
            let column = column.map_or(vec![1.0; n], <[f64]>::to_vec);
            column.iter().map(|value| value / column.iter().sum::<f64>()).collect()
        };
        let restart = share(options.personalization);
        let dangling = options.dangling.map_or(restart.clone(), |d| share(Some(d)));
        let mut ranks = share(options.start);
        for _ in 0..rounds {
            let mut next = vec![0.0; n];
            for (v, rank) in ranks.iter().enumerate() {
                let row = edges.list.iter().filter(|e| e.0 as usize == v);
                let strength: f64 = row.clone().map(|e| e.2).sum();
                row.for_each(|e| next[e.1 as usize] += rank * e.2 / strength.max(1e-300));
                if strength == 0.0 {
                    next.iter_mut().zip(&dangling).for_each(|(next, share)| *next += rank * share);
                }
            }
            let step = |(next, restart): (f64, &f64)| {
                options.alpha * next + (1.0 - options.alpha) * restart
            };
            ranks = next.into_iter().zip(&restart).map(step).collect();
        }
        ranks
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_a_dense_matrix(
            edges in edges(),
            columns in prop::collection::vec(1..5_u32, 36),
            with in prop::collection::vec(any::<bool>(), 3),
            rounds in 0..12_u32,
            alpha in prop::sample::select(vec![0.0, 0.5, 0.85, 1.0]),
        ) {
            let n = edges.vertices as usize;
            let columns: Vec<f64> = columns.into_iter().map(f64::from).collect();
            let column = |i: usize| Some(&columns[12 * i..][..n]).filter(|_| with[i]);
            let options = PagerankOptions {
                alpha,
                personalization: column(0),
                dangling: column(1),
                start: column(2),
                rounds: Rounds::Fixed(rounds),
            };
            close(&ranks(&edges.graph(), &options).unwrap(), &dense(&edges, &options, rounds));
            let hops = edges.hops();
            close(&ranks(&hops.unweighted(), &options).unwrap(), &dense(&hops, &options, rounds));
        }

        #[test]
        fn rounds_end_near_the_fixed_point(edges in edges()) {
            let graph = edges.unweighted();
            let until = ranks(&graph, &PagerankOptions::default()).unwrap();
            let long = PagerankOptions { rounds: Rounds::Fixed(300), ..Default::default() };
            let limit = ranks(&graph, &long).unwrap();
            let far = change(&until, &limit);
            prop_assert!(far < 1e-6 * f64::from(edges.vertices) * 0.85 / 0.15, "{}", far);
        }
    }
}
