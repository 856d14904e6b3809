//! Connected components in parallel, ignoring the direction of edges.
//!
//! Afforest (Sutton, Ben-Nun and Barak, "Optimizing parallel graph connectivity computation via
//! subgraph sampling", 2018). The first two neighbors of every vertex join most of the graph into
//! one component. After that, the vertices of this component are skipped: edges that leave it are
//! found from their other ends.
//!
//! Components are numbered by their smallest vertices, as in NetworkX. [`crate::components`]
//! numbers them as CozoDB does, on one thread.
//!
//! # Why the result does not depend on threads
//! A tree of the forest is always linked below the root with the smaller number. So the root of a
//! complete component is its smallest vertex, in whatever order the edges were linked.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::components::numbered;
use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, Stopped};
use crate::limits::{Limits, STRIDE, Ticker};
use crate::workers::{PART_VERTICES, Workers, map_parts, part_of, parts_of};

/// Neighbors of each vertex that are linked before the largest component is estimated.
const SAMPLED_NEIGHBORS: usize = 2;

/// Size of the sample of vertices from which the largest component is estimated.
const SAMPLED_VERTICES: u32 = 1024;

/// Options of [`weak_components`].
#[derive(Clone, Copy, Debug, Default)]
pub struct WeakComponentsOptions<'a> {
    /// The graph with all edges reversed; the graph itself if it is symmetric. With it, most edges
    /// are not read. Without it, every edge is.
    pub reverse: Option<&'a Csr>,
}

/// The component of each vertex, numbered from 0 by the smallest vertices of the components.
///
/// This is the order in which NetworkX returns components of a graph whose nodes are in the order
/// of their numbers.
///
/// # Errors
/// [`Error::Stopped`].
pub fn weak_components(
    graph: &Csr,
    options: &WeakComponentsOptions<'_>,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<u32>, Error> {
    let forest = Forest::new(graph.vertices());
    forest.each(workers, limits, &|v, ticker| {
        let row = graph.neighbors(v);
        forest.link_all(v, &row[..row.len().min(SAMPLED_NEIGHBORS)], ticker)
    })?;
    forest.compress(workers, limits)?;
    let skipped = options.reverse.map_or(NO_VERTEX, |_| forest.frequent_root());
    forest.each(workers, limits, &|v, ticker| {
        if forest.parent(v) == skipped {
            return Ok(());
        }
        forest.link_all(v, graph.neighbors(v), ticker)?;
        options.reverse.map_or(Ok(()), |back| forest.link_all(v, back.neighbors(v), ticker))
    })?;
    forest.compress(workers, limits)?;
    let roots = forest.parents.into_iter().map(AtomicU32::into_inner).collect();
    Ok(numbered(roots, &mut Ticker::new(limits)?)?)
}

/// Trees of vertices. The parent of a vertex never has a larger number.
struct Forest {
    parents: Vec<AtomicU32>,
}

impl Forest {
    fn new(vertices: u32) -> Self {
        Self { parents: (0..vertices).map(AtomicU32::new).collect() }
    }

    fn parent(&self, v: u32) -> u32 {
        self.parents[v as usize].load(Relaxed)
    }

    /// Calls `visit` for each vertex, in parallel.
    fn each(
        &self,
        workers: &dyn Workers,
        limits: &dyn Limits,
        visit: &(dyn Fn(u32, &mut Ticker<'_>) -> Result<(), Stopped> + Sync),
    ) -> Result<(), Stopped> {
        let n = self.parents.len();
        let part = |i| {
            let ticker = &mut Ticker::new(limits)?;
            part_of(i, n, PART_VERTICES).try_for_each(|v| {
                ticker.tick(1)?;
                visit(v as u32, ticker)
            })
        };
        map_parts(workers, parts_of(n, PART_VERTICES), &part).into_iter().collect()
    }

    fn link_all(&self, v: u32, row: &[u32], ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        for part in row.chunks(STRIDE) {
            part.iter().for_each(|&to| self.link(v, to));
            ticker.tick(part.len())?;
        }
        Ok(())
    }

    /// Joins the trees of `a` and `b`. Another thread may change both at the same time.
    fn link(&self, a: u32, b: u32) {
        let (mut a, mut b) = (self.parent(a), self.parent(b));
        while a != b {
            let (low, high) = (a.min(b), a.max(b));
            let above = self.parent(high);
            if above == low {
                return;
            }
            let slot = &self.parents[high as usize];
            if above == high && slot.compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
                return;
            }
            (a, b) = (self.parent(self.parent(high)), self.parent(low));
        }
    }

    /// Makes every vertex a child of its root.
    fn compress(&self, workers: &dyn Workers, limits: &dyn Limits) -> Result<(), Stopped> {
        self.each(workers, limits, &|v, _| {
            let mut root = self.parent(v);
            while root != self.parent(root) {
                root = self.parent(root);
            }
            self.parents[v as usize].store(root, Relaxed);
            Ok(())
        })
    }

    /// The root of most vertices of a sample. The result of the algorithm does not depend on it.
    fn frequent_root(&self) -> u32 {
        let step = (self.parents.len() / SAMPLED_VERTICES as usize).max(1);
        let mut roots: Vec<u32> =
            self.parents.iter().step_by(step).map(|parent| parent.load(Relaxed)).collect();
        roots.sort_unstable();
        let runs = roots.chunk_by(|a, b| a == b);
        runs.max_by_key(|run| run.len()).map_or(NO_VERTEX, |run| run[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::components::connected_components;
    use crate::testing::{Threads, edges, go, long_path, random_graph, stop_after};
    use crate::workers::OneThread;

    /// The numbers of `labels` in the order of their first vertices.
    fn by_first_vertex(labels: &[u32]) -> Vec<u32> {
        let mut met = Vec::new();
        labels
            .iter()
            .map(|label| {
                met.iter().position(|known| known == label).unwrap_or_else(|| {
                    met.push(*label);
                    met.len() - 1
                }) as u32
            })
            .collect()
    }

    #[test]
    fn the_result_does_not_depend_on_threads() {
        let graph = random_graph(60_000, 50_000, 7);
        let back = graph.reverse(&go).unwrap();
        let read_all = WeakComponentsOptions::default();
        let one = weak_components(&graph, &read_all, &OneThread, &go).unwrap();
        for threads in [2, 3] {
            let options = WeakComponentsOptions { reverse: Some(&back) };
            let found = weak_components(&graph, &options, &Threads(threads), &go).unwrap();
            assert_eq!(found, one);
        }
        let components = one.iter().max().unwrap();
        let known = connected_components(&graph, &go).unwrap();
        assert_eq!(components, known.iter().max().unwrap());
    }

    #[test]
    fn components_can_be_stopped() {
        let graph = long_path(300_000);
        let options = WeakComponentsOptions::default();
        let found = weak_components(&graph, &options, &OneThread, &stop_after(2));
        assert_eq!(found, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn components_are_those_of_union_find(edges in edges()) {
            let graph = edges.unweighted();
            let back = graph.reverse(&go).unwrap();
            let want = by_first_vertex(&connected_components(&graph, &go).unwrap());
            for reverse in [None, Some(&back)] {
                let options = WeakComponentsOptions { reverse };
                let found = weak_components(&graph, &options, &Threads(2), &go).unwrap();
                prop_assert_eq!(&found, &want);
            }
        }
    }
}
