//! Shortest distances with negative weights.
//!
//! Bellman, "On a routing problem" (1958), and Moore. Each round relaxes the edges of the vertices
//! whose distances the last round changed.
//!
//! # How a negative cycle is found
//! Parents form a cycle only if its weights sum to less than zero. So the parents are searched for
//! cycles after 1, 2, 4, 8… rounds, long before the last possible round.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, Stopped, refuse_unknown};
use crate::limits::{Limits, Ticker};
use crate::sssp::ShortestTree;

/// Distances and parents from all `sources` together, along outgoing edges.
///
/// Memory: seventeen bytes per vertex, twelve of them the result.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeCycle`] if a source reaches one, [`Error::Stopped`].
pub fn bellman_ford(
    graph: &Csr,
    sources: &[u32],
    limits: &dyn Limits,
) -> Result<ShortestTree, Error> {
    refuse_unknown(sources, graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    let mut tree = ShortestTree::new(graph.vertices());
    let mut active = Vec::new();
    for &source in sources {
        if tree.distances[source as usize] > 0.0 {
            tree.distances[source as usize] = 0.0;
            active.push(source);
        }
    }
    let mut is_next = vec![false; tree.distances.len()];
    let mut rounds = 0_u64;
    while !active.is_empty() {
        let mut next = Vec::new();
        for v in active {
            ticker.tick(1)?;
            let distance = tree.distances[v as usize];
            for (to, weight) in graph.weighted(v) {
                ticker.tick(1)?;
                let to_place = to as usize;
                if distance + weight < tree.distances[to_place] {
                    tree.distances[to_place] = distance + weight;
                    tree.parents[to_place] = v;
                    if !std::mem::replace(&mut is_next[to_place], true) {
                        next.push(to);
                    }
                }
            }
        }
        next.iter().for_each(|&v| is_next[v as usize] = false);
        active = next;
        rounds += 1;
        let is_last = rounds >= u64::from(graph.vertices()) && !active.is_empty();
        let is_looked_for = rounds.is_power_of_two() || is_last;
        let cycle = if is_looked_for { cycle_of(&tree.parents, ticker)? } else { None };
        if let Some(vertex) = cycle {
            return Err(Error::NegativeCycle { vertex });
        }
        // A cycle so slight that rounding hides it from the parents.
        if let Some(&vertex) = active.first().filter(|_| is_last) {
            return Err(Error::NegativeCycle { vertex });
        }
    }
    Ok(tree)
}

/// A vertex on a cycle of parents.
fn cycle_of(parents: &[u32], ticker: &mut Ticker<'_>) -> Result<Option<u32>, Stopped> {
    // The walk that met each vertex, from 1.
    let mut walks = vec![0_u32; parents.len()];
    for start in 0..parents.len() {
        let (mut v, walk) = (start as u32, start as u32 + 1);
        while v != NO_VERTEX && walks[v as usize] == 0 {
            ticker.tick(1)?;
            walks[v as usize] = walk;
            v = parents[v as usize];
        }
        if v != NO_VERTEX && walks[v as usize] == walk {
            return Ok(Some(v));
        }
        ticker.tick(1)?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, edges, go, graph, long_path, stop_after};

    #[test]
    fn a_negative_cycle_is_an_error_only_if_it_is_reached() {
        let graph = graph(5, "0-1:1 1-2:-3 2-1:2 3-0:-5");
        assert_eq!(bellman_ford(&graph, &[4], &go).unwrap().distances[0], f64::INFINITY);
        for source in [0, 1, 3] {
            let found = bellman_ford(&graph, &[source], &go);
            assert!(
                matches!(found, Err(Error::NegativeCycle { vertex: 1 | 2 })),
                "{source}: {found:?}"
            );
        }
    }

    #[test]
    fn a_negative_self_loop_is_a_cycle() {
        let found = bellman_ford(&graph(1, "0-0:-1"), &[0], &go);
        assert_eq!(found, Err(Error::NegativeCycle { vertex: 0 }));
        assert_eq!(bellman_ford(&graph(1, "0-0:0"), &[0], &go).unwrap().distances, [0.0]);
    }

    #[test]
    fn a_long_path_takes_as_many_rounds_as_it_has_edges() {
        let tree = bellman_ford(&long_path(50_000), &[0], &go).unwrap();
        assert_eq!(tree.distances[49_999], 49_999.0);
        let stopped = bellman_ford(&long_path(200_000), &[0], &stop_after(3));
        assert_eq!(stopped, Err(Error::Stopped));
    }

    /// Distances by as many rounds over all edges as there are vertices; `None` if one more round
    /// changes something.
    fn model(edges: &Edges, source: u32) -> Option<Vec<f64>> {
        let mut distances = vec![f64::INFINITY; edges.vertices as usize];
        distances[source as usize] = 0.0;
        for _ in 0..=edges.vertices {
            let before = distances.clone();
            for &(from, to, weight) in &edges.list {
                let there = distances[from as usize] + weight;
                distances[to as usize] = distances[to as usize].min(there);
            }
            if before == distances {
                return Some(distances);
            }
        }
        None
    }

    proptest! {
        #[test]
        fn distances_are_those_of_plain_rounds(edges in edges(), shift in 0..4_u32) {
            let list = edges.list.iter().map(|e| (e.0, e.1, e.2 - f64::from(shift) / 2.0));
            let edges = Edges { list: list.collect(), ..edges };
            for source in 0..edges.vertices {
                let found = bellman_ford(&edges.graph(), &[source], &go);
                match model(&edges, source) {
                    Some(want) => prop_assert_eq!(found.unwrap().distances, want),
                    None => {
                        let is_cycle = matches!(found, Err(Error::NegativeCycle { .. }));
                        prop_assert!(is_cycle);
                    }
                }
            }
        }
    }
}
