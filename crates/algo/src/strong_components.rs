//! Strongly connected components: vertices that reach each other.
//!
//! Tarjan, "Depth-first search and linear graph algorithms" (1972), with an explicit stack.
//! Components are numbered by when the search first entered them, as in CozoDB; Tarjan's algorithm
//! numbers them by when they were completed.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};

/// The strongly connected component of each vertex, numbered from 0.
///
/// The search visits vertices in the order of [`Csr::scan_order`] and numbers components as it
/// enters them. Vertices without edges come last.
///
/// # Errors
/// [`Stopped`].
pub fn strong_components(graph: &Csr, limits: &dyn Limits) -> Result<Vec<u32>, Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let order = graph.scan_order(limits)?;
    let renumbered = graph.renumbered(&order, ticker)?;
    let mut search = Search::new(&renumbered);
    for root in 0..renumbered.vertices() {
        if search.entered[root as usize] == NO_VERTEX {
            search.enter(root);
            search.run(ticker)?;
        }
    }
    // A component is identified by the time at which its first vertex was entered.
    let mut first = vec![false; order.len()];
    search.low.iter().for_each(|&moment| first[moment as usize] = true);
    let mut labels = 0;
    let number: Vec<u32> = first
        .into_iter()
        .map(|is_first| {
            labels += u32::from(is_first);
            labels.saturating_sub(1)
        })
        .collect();
    let mut found = vec![0; order.len()];
    for (&v, &low) in order.iter().zip(&search.low) {
        found[v as usize] = number[low as usize];
    }
    Ok(found)
}

/// The state of the search.
///
/// # Invariants
/// 1. `calls` is the path from the root to the current vertex. Each entry has the index of the
///    vertex's next edge.
/// 2. `open` contains the vertices that were entered but have no component yet, in order of entry.
/// 3. For a vertex in `open`, `low[v]` is the earliest time of entry that it is known to reach. For
///    a vertex that has left `open`, it is the time at which its component was entered.
struct Search<'a> {
    graph: &'a Csr,
    entered: Vec<u32>,
    low: Vec<u32>,
    is_open: Vec<bool>,
    open: Vec<u32>,
    calls: Vec<(u32, usize)>,
    moment: u32,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Csr) -> Self {
        let n = graph.vertices() as usize;
        Self {
            graph,
            entered: vec![NO_VERTEX; n],
            low: vec![0; n],
            is_open: vec![false; n],
            open: Vec::new(),
            calls: Vec::new(),
            moment: 0,
        }
    }

    fn enter(&mut self, v: u32) {
        self.entered[v as usize] = self.moment;
        self.low[v as usize] = self.moment;
        self.moment += 1;
        self.is_open[v as usize] = true;
        self.open.push(v);
        self.calls.push((v, 0));
    }

    fn run(&mut self, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        while let Some((v, next)) = self.calls.last_mut() {
            ticker.tick(1)?;
            let v = *v;
            match self.graph.neighbors(v).get(*next) {
                Some(&to) => {
                    *next += 1;
                    if self.entered[to as usize] == NO_VERTEX {
                        self.enter(to);
                    } else if self.is_open[to as usize] {
                        self.lower(v, self.low[to as usize]);
                    }
                }
                None => {
                    self.calls.pop();
                    self.leave(v);
                }
            }
        }
        Ok(())
    }

    /// Propagates the result of `v` to the vertex it was entered from, and completes the component
    /// if `v` is its first vertex.
    fn leave(&mut self, v: u32) {
        let low = self.low[v as usize];
        if low == self.entered[v as usize] {
            while let Some(member) = self.open.pop() {
                self.is_open[member as usize] = false;
                self.low[member as usize] = low;
                if member == v {
                    break;
                }
            }
        } else if let Some(&(caller, _)) = self.calls.last() {
            self.lower(caller, low);
        }
    }

    fn lower(&mut self, v: u32, moment: u32) {
        let low = &mut self.low[v as usize];
        *low = moment.min(*low);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[track_caller]
    fn check(vertices: u32, edges: &str, want: &[u32]) {
        assert_eq!(strong_components(&graph(vertices, edges), &go).unwrap(), want);
    }

    #[test]
    fn a_component_is_numbered_when_it_is_entered() {
        check(4, "0-1 1-2 2-1 2-3", &[0, 1, 1, 2]);
        check(4, "3-2 2-3 2-0 1-3", &[2, 0, 1, 1]);
    }

    #[test]
    fn a_vertex_alone_is_a_component() {
        check(3, "1-1", &[1, 0, 2]);
        check(1, "", &[0]);
        check(0, "", &[]);
    }

    #[test]
    fn a_long_path_needs_no_long_call_stack() {
        let labels = strong_components(&long_path(300_000), &go).unwrap();
        assert!(labels.iter().zip(0..).all(|(&label, v)| label == v));
    }

    #[test]
    fn the_search_can_be_stopped() {
        assert_eq!(strong_components(&long_path(300_000), &stop_after(12)), Err(Stopped));
    }

    proptest! {
        #[test]
        fn vertices_share_a_component_if_each_reaches_the_other(edges in edges()) {
            let labels = strong_components(&edges.graph(), &go).unwrap();
            let distances = edges.distances();
            for a in 0..labels.len() {
                for b in 0..labels.len() {
                    let both = distances[a][b].is_finite() && distances[b][a].is_finite();
                    prop_assert_eq!(labels[a] == labels[b], both);
                }
            }
            let mut used = labels.clone();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(used.clone(), (0..used.len() as u32).collect::<Vec<_>>());
        }
    }
}
