//! Parts of a graph as graphs: the edges between some vertices, and the surroundings of a vertex.
//!
//! The meaning is that of NetworkX's `subgraph` and `ego_graph`. [`crate::neighborhood`] has
//! searches whose memory depends on what they find alone.

use crate::bfs::{BfsOptions, NO_LEVEL, bfs};
use crate::csr::{Csr, NO_VERTEX};
use crate::error::{Error, refuse_unknown};
use crate::limits::{Limits, Ticker};
use crate::sssp::{SsspOptions, sssp};
use crate::workers::Workers;

/// A part of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subgraph {
    /// The edges between the vertices, with their weights. Vertex `i` is `vertices[i]` of the whole
    /// graph.
    pub graph: Csr,
    /// The vertices in the whole graph, ascending.
    pub vertices: Vec<u32>,
    /// For each edge, its place in [`Csr::targets`] of the whole graph, for example to look up
    /// properties.
    pub edges: Vec<u64>,
}

/// The vertices of `vertices` with all edges between them. Repeated vertices count once.
///
/// Memory: four bytes per vertex of the whole graph during the call.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::Stopped`].
pub fn induced_subgraph(
    graph: &Csr,
    vertices: &[u32],
    limits: &dyn Limits,
) -> Result<Subgraph, Error> {
    refuse_unknown(vertices, graph.vertices())?;
    let ticker = &mut Ticker::new(limits)?;
    let mut vertices = vertices.to_vec();
    vertices.sort_unstable();
    vertices.dedup();
    let mut numbers = vec![NO_VERTEX; graph.vertices() as usize];
    for (number, &v) in (0..).zip(&vertices) {
        numbers[v as usize] = number;
    }
    let (mut offsets, mut targets, mut edges) = (vec![0], Vec::new(), Vec::new());
    for &v in &vertices {
        ticker.tick(1)?;
        for i in graph.row(v) {
            ticker.tick(1)?;
            let number = numbers[graph.targets()[i] as usize];
            if number != NO_VERTEX {
                targets.push(number);
                edges.push(i as u64);
            }
        }
        offsets.push(targets.len() as u64);
    }
    let weights = graph.weights().map(|all| edges.iter().map(|&i| all[i as usize]).collect());
    Ok(Subgraph { graph: Csr::from_parts(offsets, targets, weights), vertices, edges })
}

/// Options of [`ego_graph`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EgoOptions {
    /// Vertices that are farther away are left out.
    pub radius: f64,
    /// Whether distances are sums of weights; otherwise they are numbers of edges.
    pub weighted: bool,
    /// Whether the center is part of the result.
    pub with_center: bool,
}

impl Default for EgoOptions {
    fn default() -> Self {
        Self { radius: 1.0, weighted: false, with_center: true }
    }
}

/// The vertices that `center` reaches within a distance along outgoing edges, with all edges
/// between them.
///
/// # Errors
/// [`Error::UnknownVertex`], [`Error::NegativeWeight`] if distances are weighted,
/// [`Error::Stopped`].
pub fn ego_graph(
    graph: &Csr,
    center: u32,
    options: &EgoOptions,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Subgraph, Error> {
    let near: Vec<u32> = if options.weighted {
        let reach = SsspOptions { distance_max: options.radius, goals: None };
        let tree = sssp(graph, &[center], &reach, limits)?;
        let distances = (0..).zip(tree.distances);
        distances.filter(|(_, distance)| distance.is_finite()).map(|(v, _)| v).collect()
    } else {
        let depth_max = Some(options.radius as u32);
        let reach = BfsOptions { reverse: None, depth_max };
        let tree = bfs(graph, &[center], &reach, workers, limits)?;
        (0..).zip(tree.levels).filter(|&(_, level)| level != NO_LEVEL).map(|(v, _)| v).collect()
    };
    let is_kept = |&v: &u32| options.with_center || v != center;
    induced_subgraph(graph, &near.into_iter().filter(is_kept).collect::<Vec<u32>>(), limits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};
    use crate::workers::OneThread;

    fn ego(graph: &Csr, center: u32, options: &EgoOptions) -> Vec<u32> {
        ego_graph(graph, center, options, &OneThread, &go).unwrap().vertices
    }

    #[test]
    fn surroundings_are_within_the_radius() {
        let graph = graph(5, "0-1:2 1-2:1 2-0:1 0-3:9 3-1:1");
        let near = EgoOptions::default();
        assert_eq!(ego(&graph, 0, &near), [0, 1, 3]);
        assert_eq!(ego(&graph, 0, &EgoOptions { radius: 2.0, ..near }), [0, 1, 2, 3]);
        assert_eq!(ego(&graph, 0, &EgoOptions { radius: 1.9, ..near }), [0, 1, 3]);
        let weighted = EgoOptions { radius: 3.0, weighted: true, with_center: false };
        assert_eq!(ego(&graph, 0, &weighted), [1, 2]);
        assert_eq!(ego(&graph, 4, &near), [4]);
        let found = ego_graph(&graph, 0, &near, &OneThread, &go).unwrap();
        assert_eq!(found.edges, [0, 1, 4]);
        assert_eq!(found.graph.weights(), Some(&[2.0, 9.0, 1.0][..]));
    }

    #[test]
    fn an_unknown_vertex_is_refused_and_the_copy_can_be_stopped() {
        let unknown = Error::UnknownVertex { vertex: 7, vertices: 2 };
        assert_eq!(induced_subgraph(&graph(2, "0-1"), &[7], &go), Err(unknown));
        let near = EgoOptions::default();
        assert_eq!(ego_graph(&graph(2, "0-1"), 7, &near, &OneThread, &go), Err(unknown));
        let path = long_path(300_000);
        let all: Vec<u32> = (0..300_000).collect();
        assert_eq!(induced_subgraph(&path, &all, &stop_after(3)), Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn a_subgraph_has_the_edges_between_its_vertices(
            edges in edges(),
            marks in prop::collection::vec(any::<bool>(), 12),
        ) {
            let graph = edges.graph();
            let kept: Vec<u32> = (0..edges.vertices).filter(|&v| marks[v as usize]).collect();
            let repeated = [&kept[..], &kept[..]].concat();
            let found = induced_subgraph(&graph, &repeated, &go).unwrap();
            prop_assert_eq!(&found.vertices, &kept);
            let mut got = Vec::new();
            for v in 0..found.graph.vertices() {
                for (i, (to, weight)) in found.graph.row(v).zip(found.graph.weighted(v)) {
                    let (from, to) = (kept[v as usize], kept[to as usize]);
                    let place = found.edges[i] as usize;
                    prop_assert!(graph.row(from).contains(&place));
                    prop_assert_eq!(graph.targets()[place], to);
                    got.push((from, to, weight));
                }
            }
            let mut want = edges.list;
            want.retain(|e| marks[e.0 as usize] && marks[e.1 as usize]);
            want.sort_by_key(|e| (e.0, e.1));
            prop_assert_eq!(got, want);
        }
    }
}
