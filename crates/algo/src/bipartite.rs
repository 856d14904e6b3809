//! Bipartite graphs: their two sides, a maximum matching, and a minimum vertex cover.
//!
//! Hopcroft and Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs" (1973): each
//! round finds the shortest augmenting paths by breadth-first search and takes a maximal set of
//! them by depth-first search. The cover is that of König's theorem. The size of both is that of
//! NetworkX's; which vertices are matched is arbitrary, but deterministic.

use std::collections::VecDeque;

use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, Stopped, refuse_length};
use crate::limits::{Limits, Ticker};

/// The side of each vertex of a bipartite graph. The smallest vertex of each connected component is
/// on the side `false`.
///
/// `both` is a symmetric graph.
///
/// # Errors
/// [`Error::NotBipartite`], [`Error::Stopped`].
pub fn bipartite_sides(both: &Csr, limits: &dyn Limits) -> Result<Vec<bool>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    let n = both.vertices() as usize;
    let (mut sides, mut is_known) = (vec![false; n], vec![false; n]);
    let mut stack = Vec::new();
    for root in 0..both.vertices() {
        ticker.tick(1)?;
        if std::mem::replace(&mut is_known[root as usize], true) {
            continue;
        }
        stack.push(root);
        while let Some(v) = stack.pop() {
            for &to in both.neighbors(v) {
                ticker.tick(1)?;
                if !std::mem::replace(&mut is_known[to as usize], true) {
                    sides[to as usize] = !sides[v as usize];
                    stack.push(to);
                }
            }
        }
    }
    refuse_edges_within(both, &sides, ticker)?;
    Ok(sides)
}

fn refuse_edges_within(both: &Csr, sides: &[bool], ticker: &mut Ticker<'_>) -> Result<(), Error> {
    for source in 0..both.vertices() {
        ticker.tick(1)?;
        for &target in both.neighbors(source) {
            ticker.tick(1)?;
            if sides[source as usize] == sides[target as usize] {
                return Err(Error::NotBipartite { source, target });
            }
        }
    }
    Ok(())
}

/// The vertex that each vertex is matched with in a matching of as many pairs as possible, or
/// [`NO_VERTEX`].
///
/// `both` is a symmetric graph, and `sides` has the side of each vertex, for example from
/// [`bipartite_sides`].
///
/// # Errors
/// [`Error::WrongLength`], [`Error::NotBipartite`], [`Error::Stopped`].
pub fn maximum_bipartite_matching(
    both: &Csr,
    sides: &[bool],
    limits: &dyn Limits,
) -> Result<Vec<u32>, Error> {
    refuse_length(sides.len(), both.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    refuse_edges_within(both, sides, ticker)?;
    let n = both.vertices() as usize;
    let mut matching = Matching {
        both,
        mates: vec![NO_VERTEX; n],
        levels: vec![NO_VERTEX; n],
        next: vec![0; n],
        queue: VecDeque::new(),
        path: Vec::new(),
    };
    matching.start(sides, ticker)?;
    while matching.find_levels(sides, ticker)? {
        for v in 0..both.vertices() {
            ticker.tick(1)?;
            if !sides[v as usize] && matching.mates[v as usize] == NO_VERTEX {
                matching.augment(v, ticker)?;
            }
        }
    }
    Ok(matching.mates)
}

/// The vertices of a smallest set that has an end of every edge, ascending. `mates` is a maximum
/// matching from [`maximum_bipartite_matching`] with the same graph and sides.
///
/// # Errors
/// [`Error::WrongLength`], [`Error::Stopped`].
pub fn minimum_vertex_cover(
    both: &Csr,
    sides: &[bool],
    mates: &[u32],
    limits: &dyn Limits,
) -> Result<Vec<u32>, Error> {
    refuse_length(sides.len(), both.vertices())?;
    refuse_length(mates.len(), both.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    // Reached from an unmatched vertex of the first side, along other edges than those of the
    // matching there and along those of the matching back.
    let mut is_reached = vec![false; sides.len()];
    let is_free = |&v: &u32| !sides[v as usize] && mates[v as usize] == NO_VERTEX;
    let mut stack: Vec<u32> = (0..both.vertices()).filter(is_free).collect();
    stack.iter().for_each(|&v| is_reached[v as usize] = true);
    while let Some(v) = stack.pop() {
        for &to in both.neighbors(v) {
            ticker.tick(1)?;
            let mate = mates[to as usize];
            if mate == v || std::mem::replace(&mut is_reached[to as usize], true) {
                continue;
            }
            if let Some(is_reached) = is_reached.get_mut(mate as usize)
                && !std::mem::replace(is_reached, true)
            {
                stack.push(mate);
            }
        }
    }
    let is_in_cover = |&v: &u32| {
        let is_matched = mates[v as usize] != NO_VERTEX;
        is_matched && sides[v as usize] == is_reached[v as usize]
    };
    Ok((0..both.vertices()).filter(is_in_cover).collect())
}

struct Matching<'a> {
    both: &'a Csr,
    mates: Vec<u32>,
    /// Number of unmatched edges on the shortest alternating path from an unmatched vertex of the
    /// first side, for vertices of that side.
    levels: Vec<u32>,
    /// Place of the next neighbor in a vertex's row.
    next: Vec<usize>,
    queue: VecDeque<u32>,
    path: Vec<u32>,
}

impl Matching<'_> {
    /// Matches each vertex of the first side with its first free neighbor. This leaves little to
    /// the rounds.
    fn start(&mut self, sides: &[bool], ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        for v in (0..self.both.vertices()).filter(|&v| !sides[v as usize]) {
            ticker.tick(1)?;
            for &to in self.both.neighbors(v) {
                ticker.tick(1)?;
                if self.mates[to as usize] == NO_VERTEX {
                    self.mates[to as usize] = v;
                    self.mates[v as usize] = to;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns whether there is an augmenting path.
    fn find_levels(&mut self, sides: &[bool], ticker: &mut Ticker<'_>) -> Result<bool, Stopped> {
        self.levels.fill(NO_VERTEX);
        self.next.fill(0);
        self.queue.clear();
        for v in 0..self.both.vertices() {
            ticker.tick(1)?;
            if !sides[v as usize] && self.mates[v as usize] == NO_VERTEX {
                self.levels[v as usize] = 0;
                self.queue.push_back(v);
            }
        }
        let mut last = NO_VERTEX;
        while let Some(v) = self.queue.pop_front() {
            let level = self.levels[v as usize];
            if level >= last {
                break;
            }
            for &to in self.both.neighbors(v) {
                ticker.tick(1)?;
                let mate = self.mates[to as usize];
                if mate == NO_VERTEX {
                    last = level + 1;
                } else if self.levels[mate as usize] == NO_VERTEX {
                    self.levels[mate as usize] = level + 1;
                    self.queue.push_back(mate);
                }
            }
        }
        Ok(last != NO_VERTEX)
    }

    /// Follows the levels from a free vertex to another free vertex, and exchanges the edges of the
    /// path.
    fn augment(&mut self, root: u32, ticker: &mut Ticker<'_>) -> Result<(), Stopped> {
        self.path.clear();
        self.path.push(root);
        while let Some(&v) = self.path.last() {
            ticker.tick(1)?;
            let Some(&to) = self.both.neighbors(v).get(self.next[v as usize]) else {
                // No path leads on from here in this round.
                self.levels[v as usize] = NO_VERTEX;
                self.path.pop();
                continue;
            };
            self.next[v as usize] += 1;
            let mate = self.mates[to as usize];
            if mate == NO_VERTEX {
                let mut free = to;
                while let Some(v) = self.path.pop() {
                    self.mates[free as usize] = v;
                    self.levels[v as usize] = NO_VERTEX;
                    free = std::mem::replace(&mut self.mates[v as usize], free);
                }
                return Ok(());
            }
            let level = self.levels[mate as usize];
            if level != NO_VERTEX && level == self.levels[v as usize] + 1 {
                self.path.push(mate);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Edges, edges, go, graph, long_path, stop_after};

    #[test]
    fn a_path_of_four_has_two_pairs_and_a_cover_of_two() {
        let both = graph(5, "0-1 1-2 2-3").symmetric(&go).unwrap();
        let sides = bipartite_sides(&both, &go).unwrap();
        assert_eq!(sides, [false, true, false, true, false]);
        let mates = maximum_bipartite_matching(&both, &sides, &go).unwrap();
        assert_eq!(mates, [1, 0, 3, 2, NO_VERTEX]);
        assert_eq!(minimum_vertex_cover(&both, &sides, &mates, &go).unwrap(), [0, 2]);
    }

    #[test]
    fn a_triangle_and_a_self_loop_are_not_bipartite() {
        let both = graph(3, "0-1 1-2 2-0").symmetric(&go).unwrap();
        let found = bipartite_sides(&both, &go);
        assert_eq!(found, Err(Error::NotBipartite { source: 1, target: 2 }));
        let both = graph(2, "1-1").symmetric(&go).unwrap();
        let refused = Error::NotBipartite { source: 1, target: 1 };
        assert_eq!(bipartite_sides(&both, &go), Err(refused));
        let found = maximum_bipartite_matching(&both, &[false, true], &go);
        assert_eq!(found, Err(refused));
        let wrong = Error::WrongLength { len: 1, vertices: 2 };
        assert_eq!(maximum_bipartite_matching(&both, &[true], &go), Err(wrong));
        assert_eq!(minimum_vertex_cover(&both, &[true; 2], &[0], &go), Err(wrong));
    }

    #[test]
    fn long_paths_are_augmented_and_can_be_stopped() {
        // The greedy start matches 1 with 2, 3 with 4 and so on; the only augmenting path has all
        // edges.
        let n = 100_000;
        let mut order: Vec<u32> = (0..n).collect();
        order.rotate_left(1);
        let list = order.windows(2).map(|ends| (ends[0], ends[1], 1.0)).collect();
        let both = Edges { vertices: n, list }.unweighted().symmetric(&go).unwrap();
        let sides = bipartite_sides(&both, &go).unwrap();
        let mates = maximum_bipartite_matching(&both, &sides, &go).unwrap();
        assert!(mates.iter().all(|&mate| mate != NO_VERTEX));
        let found = maximum_bipartite_matching(&both, &sides, &stop_after(4));
        assert_eq!(found, Err(Error::Stopped));
        let path = long_path(300_000).symmetric(&go).unwrap();
        assert_eq!(bipartite_sides(&path, &stop_after(3)), Err(Error::Stopped));
    }

    /// The size of a maximum matching, by augmenting paths one after the other (Kuhn).
    fn model(edges: &Edges) -> usize {
        fn place(v: u32, edges: &Edges, seen: &mut [bool], mates: &mut [Option<u32>]) -> bool {
            for &(_, to, _) in edges.list.iter().filter(|e| e.0 == v) {
                if std::mem::replace(&mut seen[to as usize], true) {
                    continue;
                }
                if mates[to as usize].is_none_or(|mate| place(mate, edges, seen, mates)) {
                    mates[to as usize] = Some(v);
                    return true;
                }
            }
            false
        }
        let n = edges.vertices as usize;
        let mut mates = vec![None; n];
        (0..edges.vertices).filter(|&v| place(v, edges, &mut vec![false; n], &mut mates)).count()
    }

    proptest! {
        #[test]
        fn matchings_are_as_large_as_covers_are_small(
            mut edges in edges(),
            marks in prop::collection::vec(any::<bool>(), 12),
        ) {
            edges.list.retain(|e| !marks[e.0 as usize] && marks[e.1 as usize]);
            let both = edges.unweighted().symmetric(&go).unwrap();
            let own = bipartite_sides(&both, &go).unwrap();
            for sides in [&own[..], &marks[..edges.vertices as usize]] {
                let mates = maximum_bipartite_matching(&both, sides, &go).unwrap();
                let mut count = 0;
                for (v, &mate) in (0..).zip(&mates).filter(|pair| *pair.1 != NO_VERTEX) {
                    prop_assert!(both.neighbors(v).contains(&mate));
                    prop_assert_eq!(mates[mate as usize], v);
                    count += 1;
                }
                prop_assert_eq!(count, 2 * model(&edges));
                let cover = minimum_vertex_cover(&both, sides, &mates, &go).unwrap();
                prop_assert_eq!(2 * cover.len(), count);
                let is_covered = |e: &(u32, u32, f64)| cover.contains(&e.0) || cover.contains(&e.1);
                prop_assert!(edges.list.iter().all(is_covered));
            }
        }
    }
}
