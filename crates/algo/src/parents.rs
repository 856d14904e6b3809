//! Paths along parents: the one of a tree of shortest paths, or all shortest ones.
//!
//! The parent of a vertex comes before it on a path from the start.

use crate::csr::{Csr, NO_VERTEX};
use crate::error::Stopped;
use crate::limits::Ticker;

/// Writes the path to `goal`, which a search reached, to `path`. It begins at a vertex that has no
/// parent or is its own.
pub(crate) fn write_path(goal: u32, parent: impl Fn(u32) -> u32, path: &mut Vec<u32>) {
    path.clear();
    let before = |&v: &u32| Some(parent(v)).filter(|&from| from != NO_VERTEX && from != v);
    path.extend(std::iter::successors(Some(goal), before));
    path.reverse();
}

/// As [`write_path`], from a column of parents.
pub(crate) fn path_to(goal: u32, parents: &[u32]) -> Vec<u32> {
    let mut path = Vec::new();
    write_path(goal, |v| parents[v as usize], &mut path);
    path
}

/// All parents on shortest paths from `start`: row `v` has those among `vertices`, in ascending
/// order, each once. The start has none.
///
/// `distance` is the result of a search from `start`, infinite for unreached vertices. An edge is
/// on a shortest path if it is *tight*: its weight is the difference between its ends.
pub(crate) fn all_parents(
    graph: &Csr,
    start: u32,
    vertices: impl Iterator<Item = u32>,
    distance: impl Fn(u32) -> f64,
    ticker: &mut Ticker<'_>,
) -> Result<Csr, Stopped> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for v in vertices {
        ticker.tick(1)?;
        for (to, weight) in graph.weighted(v) {
            ticker.tick(1)?;
            let there = distance(to);
            // The same sum as in the search, so comparing for equality is exact.
            let is_tight = there.is_finite() && distance(v) + weight == there;
            let is_new = before.last() != Some(&v) || after.last() != Some(&to);
            if is_tight && is_new && v != to && to != start {
                before.push(v);
                after.push(to);
            }
        }
    }
    Csr::from_columns(graph.vertices() as usize, &after, &before, None, ticker)
}

/// All paths from a start to goals, one after another: a depth-first search from the goal along
/// parents.
///
/// Edges of weight zero can form cycles of parents, so no path has a vertex twice.
#[derive(Debug)]
pub(crate) struct AllPaths {
    start: u32,
    /// The vertices from the goal to the current one, each with the number of parents that were
    /// tried.
    stack: Vec<(u32, usize)>,
    is_on_path: Vec<bool>,
}

impl AllPaths {
    pub(crate) fn new(start: u32, vertices: u32) -> Self {
        Self { start, stack: Vec::new(), is_on_path: vec![false; vertices as usize] }
    }

    /// Adds a vertex to the path: the goal, before the first step or after the last.
    pub(crate) fn enter(&mut self, v: u32) {
        self.is_on_path[v as usize] = true;
        self.stack.push((v, 0));
    }

    /// Takes a step, which may be into a dead end. Returns whether a path is complete; `None` after
    /// the last one. `parents` is the result of [`all_parents`].
    pub(crate) fn step(&mut self, parents: &Csr) -> Option<bool> {
        let (v, tried) = self.stack.last_mut()?;
        let v = *v;
        let parent = parents.neighbors(v).get(*tried).copied();
        *tried += 1;
        if v == self.start && *tried == 1 {
            return Some(true);
        }
        match parent {
            Some(parent) if !self.is_on_path[parent as usize] => self.enter(parent),
            Some(_) => {}
            None => {
                self.is_on_path[v as usize] = false;
                self.stack.pop();
            }
        }
        Some(false)
    }

    /// The complete path, from the start to the goal.
    pub(crate) fn path(&self) -> impl Iterator<Item = u32> + '_ {
        self.stack.iter().rev().map(|entry| entry.0)
    }
}
