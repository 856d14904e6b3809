//! Communities by synchronous label propagation, in the meaning of LDBC Graphalytics (CDLP).
//!
//! Iosup et al., "The LDBC Graphalytics benchmark" (2016): in each round every vertex takes the
//! most frequent label among its neighbors of the round before, and of several the smallest.
//! [`crate::label_propagation`] is CozoDB's kind: asynchronous and weighted.
//!
//! A vertex reads only labels of the round before. So the result depends neither on threads nor on
//! the order of the vertices.

use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::{Limits, STRIDE, Ticker};
use crate::reverse::balanced;
use crate::workers::{Workers, map_items, split};

/// The label of each vertex after `rounds` rounds. At first each vertex has its own number.
///
/// `both` is the [`Csr::symmetric`] of a directed graph, so that a neighbor with edges in both
/// directions counts twice, or the [`Csr::undirected`] of an undirected one. Weights have no
/// effect. A vertex without neighbors keeps its label. Ends early when no label changes.
///
/// Memory: eight bytes per vertex, and four per vertex and thread.
///
/// # Errors
/// [`Stopped`].
pub fn cdlp(
    both: &Csr,
    rounds: u32,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<u32>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let n = both.vertices() as usize;
    let ranges = balanced(both.offsets(), workers.threads().max(1));
    let mut counts: Vec<Vec<u32>> = ranges.iter().map(|_| vec![0; n]).collect();
    let mut labels: Vec<u32> = (0..both.vertices()).collect();
    let mut next = labels.clone();
    for _ in 0..rounds {
        let rows = split(&mut next, ranges.iter().map(ExactSizeIterator::len));
        let items: Vec<_> = ranges.iter().zip(rows).zip(&mut counts).collect();
        let changed = map_items(workers, items, &|_, ((range, next), counts)| {
            let ticker = &mut Ticker::new(limits)?;
            let mut has_changed = false;
            for (v, slot) in (range.start as u32..).zip(next) {
                let own = labels[v as usize];
                *slot = most_frequent(both.neighbors(v), &labels, counts, ticker)?.unwrap_or(own);
                has_changed |= *slot != own;
            }
            Ok(has_changed)
        });
        let changed = changed.into_iter().collect::<Result<Vec<bool>, Stopped>>()?;
        std::mem::swap(&mut labels, &mut next);
        if !changed.contains(&true) {
            break;
        }
        ticker.ask()?;
    }
    Ok(labels)
}

/// The most frequent label of `row`, and of several the smallest. `counts` is zero before and
/// after.
fn most_frequent(
    row: &[u32],
    labels: &[u32],
    counts: &mut [u32],
    ticker: &mut Ticker<'_>,
) -> Result<Option<u32>, Stopped> {
    ticker.tick(1)?;
    let mut best = None;
    let mut most = 0;
    for part in row.chunks(STRIDE) {
        for &to in part {
            let label = labels[to as usize];
            let count = &mut counts[label as usize];
            *count += 1;
            if *count > most || *count == most && best.is_none_or(|known| label < known) {
                (best, most) = (Some(label), *count);
            }
        }
        ticker.tick(part.len())?;
    }
    row.iter().for_each(|&to| counts[labels[to as usize] as usize] = 0);
    Ok(best)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, Threads, edges, go, graph, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    fn labels(both: &Csr, rounds: u32) -> Vec<u32> {
        cdlp(both, rounds, &OneThread, &go).unwrap()
    }

    #[test]
    fn all_vertices_change_at_the_same_time() {
        // Two vertices exchange their labels for ever.
        let pair = graph(3, "0-1").symmetric(&go).unwrap();
        assert_eq!(labels(&pair, 0), [0, 1, 2]);
        assert_eq!(labels(&pair, 1), [1, 0, 2]);
        assert_eq!(labels(&pair, 2), [0, 1, 2]);
        assert_eq!(labels(&Csr::default(), 3), []);
    }

    #[test]
    fn an_edge_in_both_directions_counts_twice() {
        let directed = graph(4, "0-1 0-2 2-0 1-3").symmetric(&go).unwrap();
        assert_eq!(labels(&directed, 1)[0], 2);
        let undirected = graph(4, "0-1 0-2 1-3").symmetric(&go).unwrap();
        assert_eq!(labels(&undirected, 1)[0], 1);
    }

    #[test]
    fn threads_do_not_change_a_label() {
        let both = random_graph(5000, 20_000, 3).symmetric(&go).unwrap();
        let want = labels(&both, 5);
        for threads in [2, 3, 7] {
            assert_eq!(cdlp(&both, 5, &Threads(threads), &go).unwrap(), want);
        }
    }

    #[test]
    fn the_rounds_can_be_stopped() {
        let path = long_path(300_000).symmetric(&go).unwrap();
        assert_eq!(cdlp(&path, 10, &OneThread, &stop_after(5)), Err(Stopped));
    }

    /// One round after the other, over the list of edges.
    fn model(edges: &Edges, rounds: u32) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..edges.vertices).collect();
        for _ in 0..rounds {
            let near = |v: u32| {
                let there = edges.list.iter().filter(move |e| e.0 == v).map(|e| e.1);
                there.chain(edges.list.iter().filter(move |e| e.1 == v).map(|e| e.0))
            };
            let count = |v, label| near(v).filter(|&to| labels[to as usize] == label).count();
            let best = |v: u32| {
                let all = near(v).map(|to| labels[to as usize]);
                let best = all.max_by_key(|&label| (count(v, label), std::cmp::Reverse(label)));
                best.unwrap_or(labels[v as usize])
            };
            labels = (0..edges.vertices).map(best).collect();
        }
        labels
    }

    proptest! {
        #[test]
        fn labels_are_the_most_frequent_and_of_these_the_smallest(
            edges in edges(),
            rounds in 0..6_u32,
        ) {
            let both = edges.unweighted().symmetric(&go).unwrap();
            prop_assert_eq!(labels(&both, rounds), model(&edges, rounds));
        }
    }
}
