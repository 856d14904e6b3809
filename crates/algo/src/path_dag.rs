//! All shortest paths of one pair, as the graph that they form.
//!
//! There can be exponentially many paths, so they are not stored: [`PathDag::paths`] follows the
//! parents back from the goal and yields one path at a time. [`crate::dijkstra`] passes the same
//! paths to a callback, from several starts to several goals.

use crate::csr::Csr;
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker};
use crate::parents::{AllPaths, all_parents};
use crate::sssp::{SsspOptions, sssp};

/// The vertices and edges of all shortest paths of one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct PathDag {
    source: u32,
    goal: u32,
    /// Weight of the paths; infinite if there are none. The number of edges in an unweighted graph.
    pub distance: f64,
    /// Row `v` has the vertices that come before `v` on a shortest path from the source to the
    /// goal, in ascending order, each once.
    ///
    /// Edges of weight zero may form cycles. The iterator leaves out paths that go around one.
    pub parents: Csr,
}

/// All shortest paths from `source` to `goal`. Shortest by weight if the graph has weights.
///
/// Memory: about thirty bytes per vertex, and twelve per edge on a shortest path from the source.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn path_dag(
    graph: &Csr,
    source: u32,
    goal: u32,
    limits: &dyn Limits,
) -> Result<PathDag, Error> {
    let options = SsspOptions { goals: Some(&[goal]), ..SsspOptions::default() };
    let distances = sssp(graph, &[source], &options, limits)?.distances;
    let distance = distances[goal as usize];
    let ticker = &mut Ticker::new(limits)?;
    let near = (0..graph.vertices()).filter(|&v| distances[v as usize] <= distance);
    let all = all_parents(graph, source, near, |v| distances[v as usize], ticker)?;
    let leads_to_goal = ancestors(&all, goal, ticker)?;
    let parents = all.filtered(|v, _| leads_to_goal[v as usize], ticker)?;
    Ok(PathDag { source, goal, distance, parents })
}

/// Which vertices have a path of parents from `goal`, itself included.
fn ancestors(parents: &Csr, goal: u32, ticker: &mut Ticker<'_>) -> Result<Vec<bool>, Stopped> {
    let mut is_met = vec![false; parents.vertices() as usize];
    is_met[goal as usize] = true;
    let mut left = vec![goal];
    while let Some(v) = left.pop() {
        for &parent in parents.neighbors(v) {
            ticker.tick(1)?;
            if !std::mem::replace(&mut is_met[parent as usize], true) {
                left.push(parent);
            }
        }
    }
    Ok(is_met)
}

impl PathDag {
    /// The paths one by one, each from the source to the goal.
    pub fn paths(&self) -> DagPaths<'_> {
        let mut all_paths = AllPaths::new(self.source, self.parents.vertices());
        if self.distance.is_finite() {
            all_paths.enter(self.goal);
        }
        DagPaths { parents: &self.parents, all_paths }
    }
}

/// The iterator of [`PathDag::paths`]. Takes one byte per vertex of the graph.
#[derive(Debug)]
pub struct DagPaths<'a> {
    parents: &'a Csr,
    all_paths: AllPaths,
}

impl Iterator for DagPaths<'_> {
    type Item = Vec<u32>;

    fn next(&mut self) -> Option<Vec<u32>> {
        while let Some(is_path) = self.all_paths.step(self.parents) {
            if is_path {
                return Some(self.all_paths.path().collect());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, diamonds, edges, go, graph, long_path, stop_after};

    fn paths(graph: &Csr, source: u32, goal: u32) -> Vec<Vec<u32>> {
        path_dag(graph, source, goal, &go).unwrap().paths().collect()
    }

    #[test]
    fn a_vertex_has_one_path_to_itself() {
        assert_eq!(paths(&graph(2, "0-0 0-1 1-0:0"), 0, 0), [[0]]);
        assert_eq!(paths(&graph(2, "0-1"), 1, 0), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn a_cycle_of_weight_zero_is_not_gone_around() {
        let graph = graph(4, "0-1 1-2:0 2-1:0 2-3 1-3");
        assert_eq!(paths(&graph, 0, 3), [vec![0, 1, 3], vec![0, 1, 2, 3]]);
    }

    #[test]
    fn very_many_paths_are_not_stored() {
        let dag = path_dag(&diamonds(64), 0, 192, &go).unwrap();
        assert_eq!((dag.distance, dag.parents.edges()), (128.0, 256));
        assert_eq!(dag.paths().take(1000).collect::<BTreeSet<_>>().len(), 1000);
    }

    #[test]
    fn the_search_can_be_stopped() {
        let found = path_dag(&long_path(200_000), 0, 199_999, &stop_after(5));
        assert_eq!(found, Err(Error::Stopped));
    }

    /// All simple paths of least weight, by trying every one.
    fn model(edges: &Edges, source: u32, goal: u32) -> BTreeSet<Vec<u32>> {
        let mut best = (f64::INFINITY, BTreeSet::new());
        let mut left = vec![(0.0, vec![source])];
        while let Some((weight, path)) = left.pop() {
            let last = path[path.len() - 1];
            if last == goal {
                if weight < best.0 {
                    best = (weight, BTreeSet::new());
                }
                if weight == best.0 {
                    best.1.insert(path);
                }
                continue;
            }
            for edge in edges.list.iter().filter(|e| e.0 == last && !path.contains(&e.1)) {
                let longer = path.iter().copied().chain([edge.1]).collect();
                left.push((weight + edge.2, longer));
            }
        }
        best.1
    }

    proptest! {
        #[test]
        fn the_paths_are_all_shortest_ones(edges in edges()) {
            let list: Vec<_> = edges.list.iter().copied().take(14).collect();
            let edges = Edges { list, ..edges };
            for (edges, graph) in [(edges.clone(), edges.graph()), (edges.hops(), edges.unweighted())] {
                for goal in 0..edges.vertices {
                    let found = paths(&graph, 0, goal);
                    let distinct: BTreeSet<_> = found.iter().cloned().collect();
                    prop_assert_eq!(distinct.len(), found.len());
                    prop_assert_eq!(distinct, model(&edges, 0, goal));
                }
            }
        }
    }
}
