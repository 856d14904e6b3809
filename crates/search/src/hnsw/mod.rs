//! Vector search: hierarchical navigable small world (HNSW) graphs.
//!
//! Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
//! hierarchical navigable small world graphs" (IEEE TPAMI, 2018). The numbers of algorithms in
//! comments are those of the paper.
//!
//! # What is deliberately absent
//! Relations and storage. An [`Editor`] asks a [`Source`] for parts of the graph that are not in
//! memory, and records what it changes, so that a caller can store a graph as it likes and change
//! it without reading all of it.
//!
//! # What holds everywhere
//! 1. The same calls in the same order make the same graph: the layers of a vertex follow from its
//!    id, and nothing else is random.
//! 2. Links are known at both ends ([`Graph`] says how), so that a removed vertex leaves nothing
//!    behind: its neighbors are linked to each other at once.
//! 3. In a layer each vertex but the first by id has a link to a vertex before it and a link from
//!    a vertex before it. So links lead from each vertex to the first, and from that one to each:
//!    whatever vectors there are, a search with enough candidates finds all of them.

mod edit;
mod graph;
mod lanes;
mod metric;
mod remove;
mod search;
mod select;
#[cfg(test)]
mod tests;
mod vertex_id;

pub use edit::{Editor, Source, WholeGraph, WholeSource};
pub use graph::{Changes, Graph, GraphSettings, Link, LinkRow};
pub use metric::{Metric, Query};
pub use search::{GraphView, Near, exhaustive, nearest};
pub use vertex_id::{LAYER_MAX, VertexId};
