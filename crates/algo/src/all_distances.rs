//! Distances from many sources, a row for each, without holding all rows.
//!
//! [`crate::sssp::all_pairs`] returns one matrix, which has no room for large graphs. Here sources
//! are searched in batches, in parallel, and each batch is passed on before the next one begins:
//! NetworkX's `all_pairs_shortest_path_length` and `all_pairs_dijkstra_path_length`.

use std::collections::VecDeque;

use crate::csr::Csr;
use crate::dijkstra_search::refuse_negative;
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker, refuse_large};
use crate::radix_heap::RadixHeap;
use crate::sssp::search;
use crate::workers::{Workers, map_items};

/// Sources of a batch for each thread.
const BATCH_SOURCES: usize = 4;

/// Receives a source and the distance to each vertex, infinite where there is no path.
pub type Output<'a> = dyn FnMut(u32, &[f64]) -> Result<(), Stopped> + 'a;

/// Passes the distances from each of `sources` to `output`, in the order of `sources`: sums of
/// weights, or numbers of edges if the graph has no weights.
///
/// Memory: thirty-two bytes per vertex and thread, and those of a search for each thread.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`], [`Error::TooLarge`] if a batch has no room,
/// [`Error::Stopped`], also by `output`.
pub fn all_distances(
    graph: &Csr,
    sources: &[u32],
    workers: &dyn Workers,
    limits: &dyn Limits,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    refuse_unknown(sources, graph.vertices())?;
    refuse_negative(graph, &mut Ticker::new(limits)?)?;
    let n = graph.vertices() as usize;
    let batch = (workers.threads().max(1) * BATCH_SOURCES).min(sources.len());
    refuse_large((n as u64).saturating_mul(batch as u64).saturating_mul(8), limits)?;
    let mut rows = vec![f64::INFINITY; n * batch];
    for sources in sources.chunks(batch.max(1)) {
        let items = sources.chunks(BATCH_SOURCES).zip(rows.chunks_mut(n * BATCH_SOURCES));
        let searched = map_items(workers, items.collect(), &|_, (sources, rows)| {
            let ticker = &mut Ticker::new(limits)?;
            let mut heap = RadixHeap::new();
            let mut queue = VecDeque::new();
            for (&source, row) in sources.iter().zip(rows.chunks_mut(n)) {
                row.fill(f64::INFINITY);
                if graph.weights().is_some() {
                    let all = &mut |_, _| f64::INFINITY;
                    search(graph, &[source], row, None, &mut heap, all, ticker)?;
                } else {
                    levels(graph, source, row, &mut queue, ticker)?;
                }
            }
            Ok(())
        });
        searched.into_iter().collect::<Result<(), Stopped>>()?;
        for (&source, row) in sources.iter().zip(rows.chunks(n)) {
            output(source, row)?;
        }
    }
    Ok(())
}

/// Numbers of edges from a source, in a row that is infinite before.
fn levels(
    graph: &Csr,
    source: u32,
    row: &mut [f64],
    queue: &mut VecDeque<u32>,
    ticker: &mut Ticker<'_>,
) -> Result<(), Stopped> {
    row[source as usize] = 0.0;
    queue.push_back(source);
    while let Some(v) = queue.pop_front() {
        ticker.tick(1)?;
        let level = row[v as usize] + 1.0;
        for &to in graph.neighbors(v) {
            ticker.tick(1)?;
            let known = &mut row[to as usize];
            if *known == f64::INFINITY {
                *known = level;
                queue.push_back(to);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, edges, go, graph, long_path, stop_after};
    use crate::workers::OneThread;

    #[test]
    fn what_is_no_search_is_refused_and_the_output_can_stop_it() {
        let run = |graph: &Csr, sources: &[u32], limits: &dyn Limits| {
            all_distances(graph, sources, &OneThread, limits, &mut |_, _| Ok(()))
        };
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        assert_eq!(run(&graph(2, "0-1:-1"), &[0], &go), Err(negative));
        let unknown = Error::UnknownVertex { vertex: 2, vertices: 2 };
        assert_eq!(run(&graph(2, "0-1"), &[2], &go), Err(unknown));
        assert_eq!(run(&Csr::default(), &[], &go), Ok(()));
        assert_eq!(run(&long_path(200_000), &[0], &stop_after(4)), Err(Error::Stopped));
        let path = long_path(100);
        let all: Vec<u32> = (0..100).collect();
        let mut seen = Vec::new();
        let found = all_distances(&path, &all, &OneThread, &go, &mut |source, _| {
            seen.push(source);
            if source < 9 { Ok(()) } else { Err(Stopped) }
        });
        assert_eq!(found, Err(Error::Stopped));
        assert!(seen.into_iter().eq(0..10));
    }

    proptest! {
        #[test]
        fn rows_are_those_of_all_pairs(edges in edges(), threads in 1..4_usize) {
            let sources: Vec<u32> = (0..edges.vertices).rev().chain([0]).collect();
            for (graph, edges) in [(edges.graph(), edges.clone()), (edges.unweighted(), edges.hops())] {
                let want = edges.distances();
                let mut seen = Vec::new();
                all_distances(&graph, &sources, &Threads(threads), &go, &mut |source, row| {
                    assert_eq!(row, want[source as usize]);
                    seen.push(source);
                    Ok(())
                })
                .unwrap();
                prop_assert_eq!(&seen, &sources);
            }
        }
    }
}
