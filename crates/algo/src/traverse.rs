//! Breadth-first and depth-first search for vertices that meet a condition.
//!
//! The orders are those of CozoDB's `BreadthFirstSearch` and `DepthFirstSearch`, because a limit
//! makes them visible. Breadth-first search visits neighbors in ascending order and does not test
//! the start. Depth-first search visits them in descending order and tests it. A vertex that was
//! visited from one start is not visited again from a later one.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::Stopped;
use crate::limits::{Limits, Ticker};
use crate::parents::write_path;

/// Returns whether a vertex meets the condition. An error ends the search.
pub type Condition<'a> = dyn FnMut(u32) -> Result<bool, Stopped> + 'a;

/// Receives results: the start, the vertex, and the path between them including both. An error ends
/// the search.
pub type Output<'a> = dyn FnMut(u32, u32, &[u32]) -> Result<(), Stopped> + 'a;

/// Searches breadth-first from each of `starts`, until `limit` vertices were found.
///
/// # Errors
/// [`Stopped`].
pub fn breadth_first(
    graph: &Csr,
    starts: &[u32],
    limit: usize,
    condition: &mut Condition<'_>,
    limits: &dyn Limits,
    output: &mut Output<'_>,
) -> Result<(), Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut visits = Visits::new(graph, limit);
    let mut queue = Vec::new();
    for &start in starts {
        if visits.done() {
            break;
        }
        if !visits.enter(start, start) {
            continue;
        }
        queue.clear();
        queue.push(start);
        let mut taken = 0;
        while let Some(&v) = queue.get(taken) {
            taken += 1;
            for &to in graph.neighbors(v) {
                ticker.tick(1)?;
                if !visits.enter(to, v) {
                    continue;
                }
                if condition(to)? {
                    visits.found(start, to, ticker, output)?;
                    if visits.done() {
                        return Ok(());
                    }
                }
                queue.push(to);
            }
        }
    }
    Ok(())
}

/// Searches depth-first from each of `starts`, until `limit` vertices were found.
///
/// # Errors
/// [`Stopped`].
pub fn depth_first(
    graph: &Csr,
    starts: &[u32],
    limit: usize,
    condition: &mut Condition<'_>,
    limits: &dyn Limits,
    output: &mut Output<'_>,
) -> Result<(), Stopped> {
    let ticker = &mut Ticker::new(limits)?;
    let mut visits = Visits::new(graph, limit);
    // The vertices of the current path, each with the number of neighbors that are still to be
    // visited.
    let mut way: Vec<(u32, usize)> = Vec::new();
    for &start in starts {
        let mut entered = visits.enter(start, start).then_some(start);
        while !visits.done() {
            if let Some(v) = entered.take() {
                if condition(v)? {
                    visits.found(start, v, ticker, output)?;
                }
                way.push((v, graph.degree(v)));
            }
            ticker.tick(1)?;
            let Some((v, left)) = way.last_mut() else { break };
            match left.checked_sub(1) {
                Some(next) => {
                    *left = next;
                    let to = graph.neighbors(*v)[next];
                    entered = visits.enter(to, *v).then_some(to);
                }
                None => {
                    way.pop();
                }
            }
        }
    }
    Ok(())
}

/// The visited vertices and their parents.
struct Visits {
    parent: Vec<u32>,
    left: usize,
    path: Vec<u32>,
}

impl Visits {
    fn new(graph: &Csr, limit: usize) -> Self {
        let parent = vec![NO_VERTEX; graph.vertices() as usize];
        Self { parent, left: limit, path: Vec::new() }
    }

    fn done(&self) -> bool {
        self.left == 0
    }

    /// Visits `v`. Returns false if it was visited before or is not in the graph.
    fn enter(&mut self, v: u32, from: u32) -> bool {
        match self.parent.get_mut(v as usize) {
            Some(parent) if *parent == NO_VERTEX => {
                *parent = from;
                true
            }
            _ => false,
        }
    }

    fn found(
        &mut self,
        start: u32,
        v: u32,
        ticker: &mut Ticker<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), Stopped> {
        self.left -= 1;
        write_path(v, |v| self.parent[v as usize], &mut self.path);
        ticker.tick(self.path.len())?;
        output(start, v, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    type Found = Vec<(u32, u32, Vec<u32>)>;
    type Walk = fn(
        &Csr,
        &[u32],
        usize,
        &mut Condition<'_>,
        &dyn Limits,
        &mut Output<'_>,
    ) -> Result<(), Stopped>;

    fn all(
        walk: Walk,
        graph: &Csr,
        starts: &[u32],
        limit: usize,
        wanted: impl Fn(u32) -> bool,
    ) -> Found {
        let mut found = Vec::new();
        walk(graph, starts, limit, &mut |v| Ok(wanted(v)), &go, &mut |start, v, path| {
            found.push((start, v, path.to_vec()));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn breadth_first_leaves_out_the_start_and_goes_up() {
        let found = all(breadth_first, &graph(4, "0-1 0-2 0-3 3-1 1-2"), &[0], 2, |_| true);
        assert_eq!(found, [(0, 1, vec![0, 1]), (0, 2, vec![0, 2])]);
    }

    #[test]
    fn depth_first_asks_about_the_start_and_goes_down() {
        // The order was measured with CozoDB.
        let found = all(depth_first, &graph(4, "0-1 0-2 0-3 3-1 1-2"), &[0], 10, |_| true);
        let want =
            [(0, 0, vec![0]), (0, 3, vec![0, 3]), (0, 1, vec![0, 3, 1]), (0, 2, vec![0, 3, 1, 2])];
        assert_eq!(found, want);
    }

    #[test]
    fn a_later_start_sees_only_what_is_left() {
        let graph = graph(4, "0-1 2-1 2-3");
        let found = all(breadth_first, &graph, &[0, 0, 2, 9], 10, |_| true);
        assert_eq!(found, [(0, 1, vec![0, 1]), (2, 3, vec![2, 3])]);
        let found = all(depth_first, &graph, &[1, 9, 0], 10, |v| v != 1);
        assert_eq!(found, [(0, 0, vec![0])]);
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        for walk in [breadth_first as Walk, depth_first] {
            assert_eq!(all(walk, &Csr::default(), &[0], 1, |_| true), []);
            assert_eq!(all(walk, &graph(2, "0-1"), &[0], 0, |_| true), []);
        }
    }

    #[test]
    fn a_long_path_is_walked_and_a_walk_can_be_stopped() {
        let path = long_path(300_000);
        for walk in [breadth_first as Walk, depth_first] {
            let found = all(walk, &path, &[0], 1, |v| v == 299_999);
            assert_eq!(found[0].2.len(), 300_000);
            let output = &mut |_: u32, _: u32, _: &[u32]| Ok(());
            let stopped = walk(&path, &[0], 1, &mut |_| Ok(false), &stop_after(2), output);
            assert_eq!(stopped, Err(Stopped));
            let refused = walk(&path, &[0], 1, &mut |_| Err(Stopped), &go, output);
            assert_eq!(refused, Err(Stopped));
        }
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_can_be_reached(edges in edges(), modulus in 1..4_u32) {
            let graph = edges.unweighted();
            let distances = edges.hops().distances();
            let wanted = |v: u32| v.is_multiple_of(modulus);
            for (walk, asks_start) in [(breadth_first as Walk, false), (depth_first, true)] {
                let mut found = all(walk, &graph, &[0], usize::MAX, wanted);
                for (start, v, path) in &found {
                    prop_assert_eq!((path[0], path[path.len() - 1]), (*start, *v));
                    prop_assert!(path.windows(2).all(|e| graph.neighbors(e[0]).contains(&e[1])));
                    if !asks_start {
                        prop_assert_eq!((path.len() - 1) as f64, distances[0][*v as usize]);
                    }
                }
                found.sort_unstable();
                let want = (0..edges.vertices)
                    .filter(|&v| distances[0][v as usize].is_finite() && wanted(v))
                    .filter(|&v| v != 0 || asks_start);
                prop_assert!(found.iter().map(|f| f.1).eq(want));
            }
        }
    }
}
