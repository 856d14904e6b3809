//! Graphs as compressed sparse rows, and algorithms on them.
//!
//! # What is deliberately absent
//! Values, relations and storage. Callers number their vertices densely from zero, in ascending
//! order of their values, and translate the results back. So an algorithm is a function of numbers,
//! is tested against simple models, and could run on another machine.
//!
//! # Common promises
//! 1. They check their [`Limits`] at least every hundred thousand steps or so.
//! 2. They do not recurse over the graph, so a path of a hundred million edges is not a problem.
//! 3. Results are deterministic, bit for bit. Nothing depends on hashing or the clock, and random
//!    numbers come from the caller.
//! 4. An empty graph gives an empty result, and so does a vertex that is not in the graph, unless
//!    an algorithm returns [`Error::UnknownVertex`].
//! 5. Unless an algorithm says otherwise, parallel edges count separately, and a self-loop is an
//!    ordinary edge.
//!
//! ```
//! use quipu_algo::{Csr, components::connected_components, paths::shortest_paths};
//!
//! let limits = || true;
//! let graph = Csr::from_edges(5, &[0, 1, 3], &[1, 2, 4], None, &limits)?;
//! assert_eq!(connected_components(&graph, &limits)?, [0, 0, 0, 1, 1]);
//!
//! shortest_paths(&graph, &[0], &[2, 4], &limits, &mut |_start, goal, path| {
//!     let want: Option<&[u32]> = if goal == 2 { Some(&[0, 1, 2]) } else { None };
//!     assert_eq!(path, want);
//!     Ok(())
//! })?;
//! # Ok::<(), quipu_algo::Error>(())
//! ```
//!
//! Where an algorithm leaves a choice open (the numbers of components, the order of ties), it
//! follows CozoDB if CozoDB is deterministic, so that existing scripts return the same rows.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `error`: why an algorithm stops.
//! 2. `limits`, `workers`: how a caller stops it; the threads that the caller lends.
//! 3. `csr`: the graph.
//! 4. `parents`: paths along parents.
//! 5. `dijkstra_search`, `intersection`, `path_counts`, `peel`, `radix_heap`, `random`, `reverse`,
//!    `testing`: parts of several algorithms; all edges reversed; graphs for tests.
//! 6. `bfs`, `biconnected`, `bipartite`, `cdlp`, `coloring`, `component_order`, `components`,
//!    `cores`, `dag`, `degree`, `label_propagation`, `matching`, `max_flow`, `max_weight_matching`,
//!    `mixing`, `neighborhood`, `node2vec`, `pagerank`, `partition`, `random_walk`, `similarity`,
//!    `strong_components`, `top_sort`, `traverse`, `triangles`: algorithms of their own.
//! 7. `betweenness`, `bidirectional`, `clustering`, `delta_stepping`, `dijkstra`, `distances`,
//!    `leiden`, `louvain`, `onion`, `path_sample`, `paths`, `pull`, `spanning_forest`, `sssp`,
//!    `truss`, `weak_components`, `weighted_clustering`: those above a search, a reverse,
//!    components, cores or triangles.
//! 8. `all_distances`, `astar`, `bellman_ford`, `brandes`, `distance_counts`, `k_shortest_paths`,
//!    `kadabra`, `pagerank_power`, `path_dag`, `spanning_tree`, `spectral`, `subgraph`: those above
//!    another algorithm.
//! 9. `closeness`, `distance_centrality`, `eccentricity`: those above distances of all vertices.

pub mod all_distances;
pub mod astar;
pub mod bellman_ford;
pub mod betweenness;
pub mod bfs;
pub mod biconnected;
pub mod bidirectional;
pub mod bipartite;
pub mod brandes;
pub mod cdlp;
pub mod closeness;
pub mod clustering;
pub mod coloring;
pub mod component_order;
pub mod components;
pub mod cores;
pub mod csr;
pub mod dag;
pub mod degree;
pub mod delta_stepping;
pub mod dijkstra;
pub mod distance_centrality;
pub mod distances;
pub mod eccentricity;
pub mod k_shortest_paths;
pub mod kadabra;
pub mod label_propagation;
pub mod leiden;
pub mod limits;
pub mod louvain;
pub mod matching;
pub mod max_flow;
pub mod max_weight_matching;
pub mod mixing;
pub mod neighborhood;
pub mod node2vec;
pub mod onion;
pub mod pagerank;
pub mod pagerank_power;
pub mod partition;
pub mod path_dag;
pub mod paths;
pub mod random_walk;
pub mod similarity;
pub mod spanning_forest;
pub mod spanning_tree;
pub mod spectral;
pub mod sssp;
pub mod strong_components;
pub mod subgraph;
pub mod top_sort;
pub mod traverse;
pub mod triangles;
pub mod truss;
pub mod weak_components;
pub mod weighted_clustering;
pub mod workers;

mod dijkstra_search;
mod distance_counts;
mod error;
mod intersection;
mod parents;
mod path_counts;
mod path_sample;
mod peel;
mod pull;
mod radix_heap;
mod random;
mod reverse;

#[cfg(test)]
mod testing;

pub use csr::{Csr, NO_VERTEX};
pub use error::{Error, Stopped};
pub use limits::Limits;
pub use workers::{OneThread, Workers};
