//! Connected components, ignoring the direction of edges.
//!
//! Union-find by smaller number with path halving (Tarjan and van Leeuwen, "Worst-case analysis of
//! set union algorithms", 1984). It takes one pass over the rows and needs neither a reverse graph
//! nor a queue.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::Stopped;
use crate::limits::{Limits, STRIDE, Ticker};

/// The component of each vertex, numbered from 0.
///
/// Components are numbered in the order in which a scan of the edges by source reaches them. After
/// them, each vertex without edges is a component of its own. This is CozoDB's numbering.
///
/// # Errors
/// [`Stopped`].
pub fn connected_components(graph: &Csr, limits: &dyn Limits) -> Result<Vec<u32>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut sets = Sets::new(graph.vertices());
    for v in 0..graph.vertices() {
        for part in graph.neighbors(v).chunks(STRIDE) {
            for &to in part {
                sets.unite(v, to);
            }
            ticker.tick(part.len())?;
        }
        ticker.tick(1)?;
    }
    let mut label = vec![NO_VERTEX; graph.vertices() as usize];
    let mut labels = 0;
    let sources = (0..graph.vertices()).filter(|&v| graph.degree(v) > 0);
    for v in sources.chain(0..graph.vertices()) {
        let root = sets.root(v) as usize;
        if label[root] == NO_VERTEX {
            label[root] = labels;
            labels += 1;
        }
        label[v as usize] = label[root];
        ticker.tick(1)?;
    }
    Ok(label)
}

/// Numbers sets from 0 by their smallest vertices. `roots` has the smallest vertex of the set of
/// each vertex.
pub(crate) fn numbered(roots: Vec<u32>, ticker: &mut Ticker<'_>) -> Result<Vec<u32>, Stopped> {
    let mut numbers = roots;
    let mut next = 0;
    for v in 0..numbers.len() {
        ticker.tick(1)?;
        // A root comes before the other vertices of its set, so it has its number already.
        let root = numbers[v] as usize;
        numbers[v] = if root == v { next } else { numbers[root] };
        next += u32::from(root == v);
    }
    Ok(numbers)
}

/// Disjoint sets of vertices. One member represents each set.
pub(crate) struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    pub(crate) fn new(vertices: u32) -> Self {
        Self { parent: (0..vertices).collect() }
    }

    /// The representative of the set of `v`.
    #[inline]
    pub(crate) fn root(&mut self, mut v: u32) -> u32 {
        loop {
            let parent = self.parent[v as usize];
            if parent == v {
                return v;
            }
            // Path halving: every other vertex on the path skips its parent.
            let above = self.parent[parent as usize];
            self.parent[v as usize] = above;
            v = above;
        }
    }

    /// Merges two sets. Returns false if `a` and `b` were already in the same one.
    #[inline]
    pub(crate) fn unite(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        // The smaller number becomes the representative: it needs no ranks and is deterministic.
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high as usize] = low;
        low != high
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[track_caller]
    fn check(vertices: u32, edges: &str, want: &[u32]) {
        assert_eq!(connected_components(&graph(vertices, edges), &go).unwrap(), want);
    }

    #[test]
    fn components_are_numbered_by_their_first_source() {
        check(4, "3-0 1-2", &[1, 0, 0, 1]);
        check(4, "0-1 2-3", &[0, 0, 1, 1]);
    }

    #[test]
    fn a_lone_vertex_comes_after_all_edges() {
        check(4, "2-3", &[1, 2, 0, 0]);
        check(1, "", &[0]);
        check(1, "0-0", &[0]);
        check(0, "", &[]);
    }

    #[test]
    fn a_long_path_is_one_component() {
        let labels = connected_components(&long_path(300_000), &go).unwrap();
        assert!(labels.iter().all(|&label| label == 0));
    }

    #[test]
    fn components_can_be_stopped() {
        assert_eq!(connected_components(&long_path(300_000), &stop_after(2)), Err(Stopped));
    }

    proptest! {
        #[test]
        fn vertices_share_a_component_if_one_reaches_the_other(edges in edges()) {
            let labels = connected_components(&edges.graph(), &go).unwrap();
            let distances = edges.both_ways().distances();
            for a in 0..labels.len() {
                for b in 0..labels.len() {
                    prop_assert_eq!(labels[a] == labels[b], distances[a][b].is_finite());
                }
            }
            let mut used = labels.clone();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(used.clone(), (0..used.len() as u32).collect::<Vec<_>>());
        }
    }
}
