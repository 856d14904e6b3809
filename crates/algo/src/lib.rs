//! Graphs as compressed sparse rows, and algorithms on them.
//!
//! # What is deliberately absent
//! Values, relations and storage. Whoever calls numbers its vertices densely from zero, ascending
//! in the order of their values, and turns numbers back into values afterwards. So an algorithm
//! here is a function of numbers alone, is tested against a matrix, and can run on another machine.
//!
//! # What all algorithms share
//! 1. They ask a [`Watch`] whether to go on, at least every hundred thousand steps or so.
//! 2. They never recurse on the graph: a path of a hundred million edges is a graph like any other.
//! 3. The same graph gives the same answer, bit for bit: nothing depends on a hash or on a clock,
//!    and random words come from the caller.
//! 4. An empty graph gives an empty answer, and so does a vertex that is not in the graph.
//! 5. Parallel edges count as often as they are there and a self loop is an edge like any other,
//!    where the page of an algorithm does not say otherwise.
//!
//! ```
//! use quipu_algo::{Csr, components::connected_components, paths::shortest_paths};
//!
//! let watch = || true;
//! let graph = Csr::from_edges(5, &[0, 1, 3], &[1, 2, 4], None, &watch)?;
//! assert_eq!(connected_components(&graph, &watch)?, [0, 0, 0, 1, 1]);
//!
//! shortest_paths(&graph, &[0], &[2, 4], &watch, &mut |_start, goal, path| {
//!     let want: Option<&[u32]> = if goal == 2 { Some(&[0, 1, 2]) } else { None };
//!     assert_eq!(path, want);
//!     Ok(())
//! })?;
//! # Ok::<(), quipu_algo::Error>(())
//! ```
//!
//! Where a choice is free (the number of a component, the order among ties) it is the choice of
//! CozoDB where that is determined, since scripts that were written for it are to give the same
//! rows.

pub mod astar;
pub mod betweenness;
pub mod closeness;
pub mod clustering;
pub mod components;
pub mod csr;
pub mod degree;
pub mod dijkstra;
pub mod label_propagation;
pub mod louvain;
pub mod pagerank;
pub mod paths;
pub mod random_walk;
pub mod spanning_forest;
pub mod spanning_tree;
pub mod strong_components;
pub mod top_sort;
pub mod traverse;
pub mod watch;
pub mod yen;

mod error;
mod nearest;

#[cfg(test)]
mod testing;

pub use csr::Csr;
pub use error::{Error, Stopped};
pub use watch::Watch;

/// No vertex has this number. It marks "none" in columns of vertices.
pub const NO_VERTEX: u32 = u32::MAX;
