//! Strongly connected components in reverse topological order, and the graph between them.
//!
//! Pearce, "A space-efficient algorithm for finding strongly connected components" (2016), a form
//! of Tarjan's algorithm with one number per vertex, and an explicit stack.
//!
//! Components are numbered as they are completed, as in NetworkX. [`crate::strong_components`]
//! numbers them as CozoDB does: as the search enters them.

use crate::csr::Csr;
use crate::error::{Error, Stopped, refuse_length};
use crate::limits::{Limits, STRIDE, Ticker};

/// The strongly connected component of each vertex, numbered from 0 in reverse topological order:
/// an edge between components leads to a smaller number.
///
/// The numbers follow the order in which NetworkX returns components of a graph whose nodes and
/// neighbors are in the order of their numbers.
///
/// # Errors
/// [`Error::Stopped`].
pub fn strong_components_in_order(graph: &Csr, limits: &dyn Limits) -> Result<Vec<u32>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    let mut search = Search::new(graph);
    for root in 0..graph.vertices() {
        ticker.tick(1)?;
        if search.index[root as usize] == 0 {
            search.run(root, ticker)?;
        }
    }
    let n = graph.vertices();
    let mut components = search.index;
    for part in components.chunks_mut(STRIDE) {
        part.iter_mut().for_each(|index| *index = n - *index);
        ticker.tick(part.len())?;
    }
    Ok(components)
}

/// The graph whose vertices are the components of `graph`, with an edge where an edge leads from
/// one component to another. It has no parallel edges and no weights.
///
/// # Errors
/// [`Error::WrongLength`], [`Error::Stopped`].
pub fn condensation(graph: &Csr, components: &[u32], limits: &dyn Limits) -> Result<Csr, Error> {
    refuse_length(components.len(), graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for (v, &from) in (0..).zip(components) {
        for part in graph.neighbors(v).chunks(STRIDE) {
            let between = part.iter().map(|&to| components[to as usize]).filter(|&to| to != from);
            targets.extend(between);
            ticker.tick(part.len())?;
        }
        sources.resize(targets.len(), from);
        ticker.tick(1)?;
    }
    let count = components.iter().max().map_or(0, |&last| last + 1);
    Ok(Csr::from_columns(count as usize, &sources, &targets, None, ticker)?.simple(ticker)?)
}

/// A vertex of the current path.
struct Call {
    vertex: u32,
    /// The value of `index` when the search entered the vertex.
    entered: u32,
    /// Position of its next edge in the column of targets.
    next: usize,
}

/// The state of the search.
///
/// # Invariants
/// 1. `index[v]` is 0 before the search enters `v`.
/// 2. While `v` has no component, `index[v]` is the least time of entry that `v` is known to reach,
///    counted from 1 among the vertices without a component.
/// 3. After that it is the number of its component, counted downward from the number of vertices.
///    So it is larger than every time of entry, and is never taken for a smaller one.
struct Search<'a> {
    graph: &'a Csr,
    index: Vec<u32>,
    open: Vec<u32>,
    calls: Vec<Call>,
    time: u32,
    component: u32,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Csr) -> Self {
        let n = graph.vertices();
        Self {
            graph,
            index: vec![0; n as usize],
            open: Vec::new(),
            calls: Vec::new(),
            time: 1,
            component: n,
        }
    }

    fn enter(&mut self, vertex: u32) {
        self.index[vertex as usize] = self.time;
        let next = self.graph.row(vertex).start;
        self.calls.push(Call { vertex, entered: self.time, next });
        self.time += 1;
    }

    fn run(&mut self, root: u32, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        self.enter(root);
        while let Some(call) = self.calls.last_mut() {
            let Call { vertex, entered, next } = *call;
            let row = self.graph.row(vertex);
            let mut least = self.index[vertex as usize];
            let mut unseen = None;
            let part = &self.graph.targets()[next..row.end.min(next + STRIDE)];
            let mut read = 0;
            for &to in part {
                let index = self.index[to as usize];
                if index == 0 {
                    // The edge is read again after `to` is left.
                    unseen = Some(to);
                    break;
                }
                least = least.min(index);
                read += 1;
            }
            call.next = next + read;
            let ended = call.next == row.end;
            self.index[vertex as usize] = least;
            ticker.tick(read + 1)?;
            if let Some(to) = unseen {
                self.enter(to);
            } else if ended {
                self.calls.pop();
                self.leave(vertex, entered);
            }
        }
        Ok(())
    }

    fn leave(&mut self, vertex: u32, entered: u32) {
        if self.index[vertex as usize] < entered {
            self.open.push(vertex);
            return;
        }
        while let Some(&member) = self.open.last() {
            if self.index[member as usize] < entered {
                break;
            }
            self.open.pop();
            self.index[member as usize] = self.component;
            self.time -= 1;
        }
        self.index[vertex as usize] = self.component;
        self.time -= 1;
        self.component -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::strong_components::strong_components;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    #[test]
    fn a_component_comes_after_those_that_it_reaches() {
        let components = |n, text| strong_components_in_order(&graph(n, text), &go).unwrap();
        assert_eq!(components(4, "0-1 1-2 2-1 2-3"), [2, 1, 1, 0]);
        assert_eq!(components(3, "1-1"), [0, 1, 2]);
        assert_eq!(components(0, ""), []);
    }

    #[test]
    fn a_long_path_needs_no_long_call_stack() {
        let found = strong_components_in_order(&long_path(300_000), &go).unwrap();
        assert!((0..300_000).rev().eq(found));
    }

    #[test]
    fn the_search_can_be_stopped() {
        let found = strong_components_in_order(&long_path(300_000), &stop_after(2));
        assert_eq!(found, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn components_are_those_of_the_other_numbering(edges in edges()) {
            let graph = edges.unweighted();
            let found = strong_components_in_order(&graph, &go).unwrap();
            let known = strong_components(&graph, &go).unwrap();
            for a in 0..found.len() {
                for b in 0..found.len() {
                    prop_assert_eq!(found[a] == found[b], known[a] == known[b]);
                }
            }
            let count = found.iter().max().map_or(0, |&last| last + 1);
            prop_assert_eq!(count, known.iter().max().map_or(0, |&last| last + 1));
            let mut between = std::collections::BTreeSet::new();
            for &(from, to, _) in &edges.list {
                let (from, to) = (found[from as usize], found[to as usize]);
                prop_assert!(to <= from);
                if from != to {
                    between.insert((from, to));
                }
            }
            let condensed = condensation(&graph, &found, &go).unwrap();
            prop_assert_eq!(condensed.vertices(), count);
            let rows = (0..count)
                .flat_map(|v| condensed.neighbors(v).iter().map(move |&to| (v, to)));
            prop_assert!(rows.eq(between));
        }
    }
}
