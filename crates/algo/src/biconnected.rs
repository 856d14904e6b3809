//! Bridges, articulation points and biconnected components of an undirected graph.
//!
//! Hopcroft and Tarjan, "Efficient algorithms for graph manipulation" (1973), as one depth-first
//! search with a stack of vertices: when the search leaves a child from which no vertex above its
//! parent can be reached, the vertices found since then form a component with the parent. The
//! meaning is that of NetworkX: a vertex without neighbors is in no component, and an edge that has
//! a parallel edge is not a bridge. Self-loops have no effect.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};

/// The biconnected components of a graph, with the vertices and edges that hold them together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Biconnected {
    /// Component `i` has the vertices `offsets[i]..offsets[i + 1]` of `vertices`.
    pub offsets: Vec<usize>,
    /// The vertices of all components, ascending within each. A vertex is in several components
    /// if it is an articulation point, and in none if it has no neighbors.
    pub vertices: Vec<u32>,
    /// Vertices without which the graph has more connected components, ascending.
    pub articulation_points: Vec<u32>,
    /// Edges without which the graph has more connected components, the smaller end first,
    /// ascending.
    pub bridges: Vec<(u32, u32)>,
    /// Position in the search.
    places: Vec<u32>,
    /// The component of the edge from each vertex to its parent in the search.
    above: Vec<u32>,
}

impl Biconnected {
    /// Number of components.
    pub fn components(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The vertices of a component.
    pub fn component(&self, i: usize) -> &[u32] {
        match (self.offsets.get(i), self.offsets.get(i + 1)) {
            (Some(&from), Some(&to)) => &self.vertices[from..to],
            _ => &[],
        }
    }

    /// The component of an edge of the graph. `None` for self-loops and unknown vertices.
    pub fn component_of_edge(&self, a: u32, b: u32) -> Option<u32> {
        let (place, other) = (self.places.get(a as usize)?, self.places.get(b as usize)?);
        // The end that was found later has the other one above it.
        let deeper = if place > other { a } else { b };
        (a != b).then(|| self.above[deeper as usize])
    }
}

/// Finds the biconnected components. They are numbered in the order in which the search leaves
/// them.
///
/// `both` is a symmetric graph. In the [`Csr::symmetric`] of a directed graph, edges in both
/// directions are parallel edges.
///
/// Memory: about thirty bytes per vertex.
///
/// # Errors
/// [`Stopped`].
pub fn biconnected(both: &Csr, limits: &dyn Limits) -> Result<Biconnected, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let n = both.vertices() as usize;
    let mut search = Search {
        both,
        places: vec![NO_VERTEX; n],
        low: vec![NO_VERTEX; n],
        above: vec![NO_VERTEX; n],
        next: vec![0; n],
        found: Vec::new(),
        stack: Vec::new(),
        is_articulation: vec![false; n],
        result: Biconnected { offsets: vec![0], ..Biconnected::default() },
        count: 0,
    };
    for root in 0..both.vertices() {
        ticker.tick(1)?;
        if search.places[root as usize] == NO_VERTEX {
            search.run(root, ticker)?;
        }
    }
    let Search { mut result, is_articulation, places, above, .. } = search;
    let points = (0..both.vertices()).filter(|&v| is_articulation[v as usize]);
    result.articulation_points = points.collect();
    ticker.ask()?;
    result.bridges.sort_unstable();
    Ok(Biconnected { places, above, ..result })
}

struct Search<'a> {
    both: &'a Csr,
    /// Position in the search; [`NO_VERTEX`] before.
    places: Vec<u32>,
    /// The first position that is reached from a vertex and those below it.
    low: Vec<u32>,
    above: Vec<u32>,
    /// Place of the next neighbor in a vertex's row.
    next: Vec<usize>,
    /// Vertices that are in no component with their parent yet, in the order of the search.
    found: Vec<u32>,
    /// The path from the root.
    stack: Vec<u32>,
    is_articulation: Vec<bool>,
    result: Biconnected,
    count: u32,
}

impl Search<'_> {
    fn run(&mut self, root: u32, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let mut root_children = 0;
        self.find(root);
        while let Some(&v) = self.stack.last() {
            ticker.tick(1)?;
            let row = self.both.neighbors(v);
            let Some(&to) = row.get(self.next[v as usize]) else {
                self.stack.pop();
                let Some(&parent) = self.stack.last() else { break };
                root_children += u32::from(parent == root);
                self.leave(v, parent, ticker)?;
                continue;
            };
            self.next[v as usize] += 1;
            if self.places[to as usize] == NO_VERTEX {
                self.find(to);
            } else if self.parent() != Some(to) {
                let low = &mut self.low[v as usize];
                *low = self.places[to as usize].min(*low);
            }
        }
        self.is_articulation[root as usize] = root_children > 1;
        self.found.clear();
        Ok(())
    }

    /// The vertex before the last one of the path.
    fn parent(&self) -> Option<u32> {
        self.stack.len().checked_sub(2).map(|i| self.stack[i])
    }

    fn find(&mut self, v: u32) {
        self.places[v as usize] = self.count;
        self.low[v as usize] = self.count;
        self.count += 1;
        self.stack.push(v);
        self.found.push(v);
    }

    /// Goes back from `v` to its parent. They form a component if nothing above the parent is
    /// reached.
    fn leave(&mut self, v: u32, parent: u32, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        let low = self.low[v as usize];
        if low < self.places[parent as usize] {
            let low_of_parent = &mut self.low[parent as usize];
            *low_of_parent = low.min(*low_of_parent);
            return Ok(());
        }
        self.is_articulation[parent as usize] = true;
        let number = self.result.components() as u32;
        let start = self.result.vertices.len();
        self.result.vertices.push(parent);
        while let Some(below) = self.found.pop() {
            ticker.tick(1)?;
            self.above[below as usize] = number;
            self.result.vertices.push(below);
            if below == v {
                break;
            }
        }
        self.result.vertices[start..].sort_unstable();
        let end = self.result.vertices.len();
        self.result.offsets.push(end);
        let row = self.both.neighbors(v);
        let edges =
            row.partition_point(|&to| to <= parent) - row.partition_point(|&to| to < parent);
        if end - start == 2 && edges == 1 {
            self.result.bridges.push((v.min(parent), v.max(parent)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, edges, go, graph, long_path, stop_after};

    fn run(vertices: u32, text: &str) -> Biconnected {
        biconnected(&graph(vertices, text).symmetric(&go).unwrap(), &go).unwrap()
    }

    #[test]
    fn two_triangles_with_a_bridge_are_three_components() {
        let found = run(7, "0-1 1-2 2-0 2-3 3-4 4-5 5-3");
        let components: Vec<_> = (0..found.components()).map(|i| found.component(i)).collect();
        assert_eq!(components, [&[3, 4, 5][..], &[2, 3], &[0, 1, 2]]);
        assert_eq!(found.articulation_points, [2, 3]);
        assert_eq!(found.bridges, [(2, 3)]);
        assert_eq!(found.component_of_edge(3, 2), Some(1));
        assert_eq!(found.component_of_edge(0, 1), Some(2));
        assert_eq!(found.component_of_edge(1, 1), None);
        assert_eq!(found.component_of_edge(0, 9), None);
        assert_eq!(found.component(3), []);
    }

    #[test]
    fn an_edge_with_a_parallel_edge_is_not_a_bridge() {
        let found = run(3, "0-1 0-1 1-2 2-2");
        assert_eq!(found.bridges, [(1, 2)]);
        assert_eq!(found.articulation_points, [1]);
        assert_eq!(found.components(), 2);
        assert_eq!(run(0, "").components(), 0);
    }

    #[test]
    fn a_long_path_is_all_bridges() {
        let both = long_path(300_000).symmetric(&go).unwrap();
        let found = biconnected(&both, &go).unwrap();
        assert_eq!((found.bridges.len(), found.articulation_points.len()), (299_999, 299_998));
        assert_eq!(biconnected(&both, &stop_after(3)), Err(Stopped));
    }

    /// Number of connected components among the vertices for which `keep` is true.
    fn parts(edges: &Edges, keep: impl Fn(u32) -> bool) -> usize {
        let list = edges.list.iter().copied().filter(|e| keep(e.0) && keep(e.1)).collect();
        let reach = Edges { vertices: edges.vertices, list }.both_ways().distances();
        let is_first = |v: &u32| (0..*v).all(|u| reach[*v as usize][u as usize].is_infinite());
        (0..edges.vertices).filter(|&v| keep(v)).filter(is_first).count()
    }

    proptest! {
        #[test]
        fn what_separates_the_graph_is_found(edges in edges()) {
            let both = edges.unweighted().symmetric(&go).unwrap();
            let found = biconnected(&both, &go).unwrap();
            let all = parts(&edges, |_| true);
            for v in 0..edges.vertices {
                let is_lone = both.neighbors(v).iter().all(|&to| to == v);
                let left = parts(&edges, |other| other != v) + usize::from(is_lone);
                prop_assert_eq!(found.articulation_points.contains(&v), left > all);
            }
            for (i, edge) in edges.list.iter().enumerate() {
                let mut less = edges.clone();
                less.list.remove(i);
                let is_bridge = parts(&less, |_| true) > all;
                let ends = (edge.0.min(edge.1), edge.0.max(edge.1));
                prop_assert_eq!(found.bridges.contains(&ends), is_bridge);
            }
            // Two edges at a vertex are in one component if their other ends are still connected
            // without the vertex.
            for &(a, b, _) in both_edges(&edges).iter().filter(|e| e.0 != e.1) {
                let one = found.component_of_edge(a, b).unwrap();
                prop_assert!(found.component(one as usize).contains(&a));
                prop_assert!(found.component(one as usize).contains(&b));
                let mut less = edges.both_ways();
                less.list.retain(|e| e.0 != a && e.1 != a);
                let reach = less.distances();
                for &(_, c, _) in both_edges(&edges).iter().filter(|e| e.0 == a && e.1 != a) {
                    let is_same = reach[b as usize][c as usize].is_finite();
                    prop_assert_eq!(found.component_of_edge(a, c) == Some(one), is_same);
                }
            }
            let sizes: usize = (0..found.components()).map(|i| found.component(i).len()).sum();
            prop_assert_eq!(sizes, found.vertices.len());
        }
    }

    fn both_edges(edges: &Edges) -> Vec<(u32, u32, f64)> {
        edges.both_ways().list
    }
}
