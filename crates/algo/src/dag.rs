//! Directed acyclic graphs: whether a graph is one, and its topological order by generations.
//!
//! Kahn, "Topological sorting of large networks" (1962). [`crate::top_sort`] has CozoDB's order and
//! leaves out vertices behind a cycle; here a cycle is an error, as in NetworkX.

use crate::csr::Csr;
use crate::error::{Error, Stopped};
use crate::limits::{Limits, STRIDE, Ticker};

/// Vertices of a graph, generation by generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generations {
    /// All vertices. Every edge leads from an earlier to a later one.
    pub order: Vec<u32>,
    /// Generation `i` is `order[starts[i]..starts[i + 1]]`. No edge joins vertices of the same
    /// generation. The last entry is the number of vertices.
    pub starts: Vec<usize>,
}

/// The topological generations of a graph: first the vertices without incoming edges, then those
/// whose sources are all in earlier generations, and so on.
///
/// The order is that of NetworkX's `topological_generations` and `topological_sort`, if nodes and
/// neighbors are in the order of their numbers.
///
/// # Errors
/// [`Error::HasCycle`], also for a self-loop; [`Error::Stopped`].
pub fn topological_generations(graph: &Csr, limits: &dyn Limits) -> Result<Generations, Error> {
    let found = peel(graph, &mut Ticker::new(limits)?)?;
    if found.order.len() == graph.vertices() as usize { Ok(found) } else { Err(Error::HasCycle) }
}

/// Whether a graph has no cycle. A self-loop is a cycle.
///
/// # Errors
/// [`Error::Stopped`].
pub fn is_dag(graph: &Csr, limits: &dyn Limits) -> Result<bool, Error> {
    let found = peel(graph, &mut Ticker::new(limits)?)?;
    Ok(found.order.len() == graph.vertices() as usize)
}

/// The generations of the vertices that are not behind a cycle.
fn peel(graph: &Csr, ticker: &mut Ticker<'_>) -> Result<Generations, Stopped> {
    let mut missing = graph.in_degrees(ticker)?;
    let mut order: Vec<u32> = (0..).zip(&missing).filter(|v| *v.1 == 0).map(|v| v.0).collect();
    let mut starts = vec![0];
    let mut next = 0;
    while next < order.len() {
        let end = order.len();
        for i in next..end {
            for part in graph.neighbors(order[i]).chunks(STRIDE) {
                for &to in part {
                    let left = &mut missing[to as usize];
                    *left -= 1;
                    if *left == 0 {
                        order.push(to);
                    }
                }
                ticker.tick(part.len())?;
            }
            ticker.tick(1)?;
        }
        starts.push(end);
        next = end;
    }
    Ok(Generations { order, starts })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[test]
    fn a_generation_depends_on_earlier_ones_only() {
        let found = topological_generations(&graph(4, "3-1 1-0 3-0"), &go).unwrap();
        assert_eq!(found, Generations { order: vec![2, 3, 1, 0], starts: vec![0, 2, 3, 4] });
        let none = topological_generations(&Csr::default(), &go).unwrap();
        assert_eq!(none, Generations { order: vec![], starts: vec![0] });
    }

    #[test]
    fn a_self_loop_is_a_cycle() {
        assert_eq!(topological_generations(&graph(2, "1-1"), &go), Err(Error::HasCycle));
        assert_eq!(is_dag(&graph(2, "1-1"), &go), Ok(false));
    }

    #[test]
    fn the_order_can_be_stopped() {
        assert_eq!(is_dag(&long_path(300_000), &stop_after(2)), Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn a_graph_without_a_cycle_has_an_order(edges in edges()) {
            let graph = edges.unweighted();
            let distances = edges.distances();
            let on_cycle = |&(a, b, _): &(u32, u32, f64)| {
                distances[b as usize][a as usize].is_finite()
            };
            let acyclic = !edges.list.iter().any(on_cycle);
            prop_assert_eq!(is_dag(&graph, &go), Ok(acyclic));
            let Ok(found) = topological_generations(&graph, &go) else {
                prop_assert!(!acyclic);
                return Ok(());
            };
            let generation = |v| {
                let place = found.order.iter().position(|&at| at == v).unwrap();
                found.starts.iter().position(|&start| start > place).unwrap()
            };
            prop_assert_eq!(found.order.len(), edges.vertices as usize);
            for v in 0..edges.vertices {
                let sources = edges.list.iter().filter(|e| e.1 == v).map(|e| generation(e.0));
                prop_assert_eq!(generation(v), sources.max().map_or(1, |last| last + 1));
            }
        }
    }
}
