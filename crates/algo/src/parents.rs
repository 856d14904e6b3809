//! Paths along parents: the one of a tree of shortest paths, or all of a graph.
//!
//! The parent of a vertex comes before it on a path from the start.

use crate::csr::NO_VERTEX;

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
