//! The table of algorithms: names, parameters, entry functions. Every binding reads it: Python
//! makes its methods and their stubs from it (`tools/algorithms.py`), the command line its
//! arguments. Names, parameters and defaults are those of NetworkX where it has the algorithm.

use crate::call::Call;
use crate::failure::invalid;
use crate::parameter::{Arguments, Default, Given, Parameter, ParameterType};
use crate::projection::Projection;
use crate::result::{AlgorithmResult, Found};
use crate::run::Run;
use crate::{centrality, flows, searches, structure, summaries};
use Default::{Bool, Choice, Float, Int, None, Required};
use std::sync::Arc;
use store::Result;

/// An algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Its name.
    pub name: &'static str,
    /// A sentence that describes the result.
    pub about: &'static str,
    /// Whether a projection that is made for it has weights.
    pub weights: WeightUse,
    /// Its parameters, in order.
    pub parameters: &'static [Parameter],
    run: fn(&Call<'_>) -> Result<Found>,
}

/// Whether a projection that is made for an algorithm has the weights of its graph, if the caller
/// does not say. The defaults are those of NetworkX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightUse {
    /// Weights have no effect.
    None,
    /// Only if the caller says so.
    IfAsked,
    /// If the graph has weights.
    IfThere,
}

/// The algorithm with this name.
///
/// # Errors
/// [`store::ErrorKind::InvalidInput`] if there is none.
pub fn algorithm(name: &str) -> Result<&'static Algorithm> {
    let found = ALGORITHMS.iter().find(|algorithm| algorithm.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
        invalid(&format!("no algorithm {name:?}"), &format!("there are {}", names.join(", ")))
    })
}

/// Runs the algorithm `name` on a projection.
///
/// # Errors
/// [`store::ErrorKind::InvalidInput`]: no such algorithm, an argument that is not one of its
/// parameters, or a graph that it does not accept ([`crate::reason_of`] says why);
/// [`store::ErrorKind::Limit`], [`store::ErrorKind::Cancelled`].
pub fn run_algorithm(
    projection: &Arc<Projection>,
    name: &str,
    arguments: &Arguments,
    run: &Run<'_>,
) -> Result<AlgorithmResult> {
    let algorithm = algorithm(name)?;
    let given = Given::new(algorithm.name, algorithm.parameters, arguments, projection.ids())?;
    let found = (algorithm.run)(&Call { projection, given, run })?;
    Ok(AlgorithmResult { algorithm: algorithm.name, projection: Arc::clone(projection), found })
}

const fn parameter(
    name: &'static str,
    of: ParameterType,
    default: Default,
    about: &'static str,
) -> Parameter {
    Parameter { name, of, default, about }
}

/// All algorithms, ordered by name.
#[rustfmt::skip] // a line for each parameter
pub const ALGORITHMS: &[Algorithm] = &[
    Algorithm {
        name: "all_pairs_shortest_path_length", weights: WeightUse::IfAsked, run: searches::all_pairs,
        about: "The distance of each two vertices with a path, sources in order.",
        parameters: &[
            parameter("cutoff", ParameterType::Float, None, "Vertices that are farther away are left out."),
            parameter("sources", ParameterType::Vertices, None, "Where paths start; without it at all vertices."),
        ],
    },
    Algorithm {
        name: "all_shortest_paths", weights: WeightUse::IfAsked, run: searches::all_shortest_paths,
        about: "All shortest paths between two vertices.",
        parameters: &[
            parameter("source", ParameterType::Vertex, Required, "The first vertex."),
            parameter("target", ParameterType::Vertex, Required, "The last vertex."),
            parameter("limit", ParameterType::Int, None, "Maximum number of paths."),
        ],
    },
    Algorithm {
        name: "approximate_betweenness", weights: WeightUse::None, run: summaries::approximate,
        about: "Betweenness by sampled paths (KADABRA): with probability `failure` some error is larger than `error`.",
        parameters: &[
            parameter("error", ParameterType::Float, Float(0.01), "The largest error of a value."),
            parameter("failure", ParameterType::Float, Float(0.1), "Probability that some error is larger."),
            parameter("seed", ParameterType::Int, Int(0), "The same seed gives the same paths."),
        ],
    },
    Algorithm {
        name: "articulation_points", weights: WeightUse::None, run: structure::articulation_points,
        about: "Vertices without which there are more components. Directions have no effect.",
        parameters: &[],
    },
    Algorithm {
        name: "astar_path", weights: WeightUse::IfAsked, run: searches::astar_path,
        about: "A shortest path between two vertices, found with estimates of the rest (A*).",
        parameters: &[
            parameter("source", ParameterType::Vertex, Required, "The first vertex."),
            parameter("target", ParameterType::Vertex, Required, "The last vertex."),
            parameter("heuristic", ParameterType::VertexValues, None, "Estimated distances to the target, never too large; 0 for other vertices."),
        ],
    },
    Algorithm {
        name: "average_clustering", weights: WeightUse::IfAsked, run: structure::average_clustering,
        about: "The mean of the clustering of all vertices.",
        parameters: &[
            parameter("variant", ParameterType::Choice(&["networkx", "ldbc"]), Choice("networkx"), "As for `clustering`."),
        ],
    },
    Algorithm {
        name: "bellman_ford", weights: WeightUse::IfThere, run: searches::bellman_ford,
        about: "As `shortest_paths`, with negative weights.",
        parameters: &[
            parameter("source", ParameterType::Vertices, Required, "The vertex or vertices from which the search starts."),
        ],
    },
    Algorithm {
        name: "betweenness_centrality", weights: WeightUse::IfAsked, run: centrality::betweenness,
        about: "The fraction of shortest paths that lead through each vertex.",
        parameters: &[
            parameter("k", ParameterType::Int, None, "Number of sampled sources; without it all vertices."),
            parameter("normalized", ParameterType::Bool, Bool(true), "Whether values are divided by the largest possible."),
            parameter("endpoints", ParameterType::Bool, Bool(false), "Whether a path also counts for its two ends."),
            parameter("seed", ParameterType::Int, Int(0), "The same seed gives the same sample."),
            parameter("sources", ParameterType::Vertices, None, "The sources of paths, in place of a sample."),
        ],
    },
    Algorithm {
        name: "bfs", weights: WeightUse::None, run: searches::bfs,
        about: "The number of edges from the nearest source, and the vertex before.",
        parameters: &[
            parameter("source", ParameterType::Vertices, Required, "The vertex or vertices from which the search starts."),
            parameter("depth_limit", ParameterType::Int, None, "Vertices that are more edges away are left out."),
            parameter("variant", ParameterType::Choice(&["networkx", "ldbc"]), Choice("networkx"), "`\"ldbc\"` has 2^63 - 1 for vertices that are not reached."),
        ],
    },
    Algorithm {
        name: "biconnected_components", weights: WeightUse::None, run: structure::biconnected_components,
        about: "Each edge with its component, which stays connected without any one vertex. Directions have no effect.",
        parameters: &[],
    },
    Algorithm {
        name: "bridges", weights: WeightUse::None, run: structure::bridges,
        about: "Edges without which there are more components. Directions have no effect.",
        parameters: &[],
    },
    Algorithm {
        name: "cdlp", weights: WeightUse::None, run: structure::cdlp,
        about: "Communities by synchronous label propagation, as in LDBC Graphalytics.",
        parameters: &[
            parameter("max_iter", ParameterType::Int, Int(10), "Number of rounds."),
        ],
    },
    Algorithm {
        name: "center", weights: WeightUse::IfAsked, run: searches::center,
        about: "The vertices whose eccentricity is the radius.",
        parameters: &[],
    },
    Algorithm {
        name: "closeness_centrality", weights: WeightUse::IfAsked, run: centrality::closeness,
        about: "The inverse of the average distance from the vertices that reach a vertex.",
        parameters: &[
            parameter("wf_improved", ParameterType::Bool, Bool(true), "Whether it is multiplied by the share of vertices that reach the vertex."),
        ],
    },
    Algorithm {
        name: "clustering", weights: WeightUse::IfAsked, run: structure::clustering,
        about: "The share of pairs of neighbors that are neighbors; with weights their geometric mean.",
        parameters: &[
            parameter("variant", ParameterType::Choice(&["networkx", "ldbc"]), Choice("networkx"), "`\"ldbc\"` counts the directed edges between all neighbors."),
        ],
    },
    Algorithm {
        name: "conductance", weights: WeightUse::IfThere, run: structure::conductance,
        about: "The weight of edges that leave some vertices, by the smaller sum of degrees. Directions have no effect.",
        parameters: &[
            parameter("group", ParameterType::Vertices, Required, "The vertices on one side."),
        ],
    },
    Algorithm {
        name: "connected_components", weights: WeightUse::None, run: structure::connected_components,
        about: "The weakly connected component of each vertex, numbered by their smallest vertices.",
        parameters: &[],
    },
    Algorithm {
        name: "core_number", weights: WeightUse::None, run: structure::core_number,
        about: "The largest k such that a vertex is in the k-core. Edges in both directions count twice.",
        parameters: &[],
    },
    Algorithm {
        name: "degree_assortativity_coefficient", weights: WeightUse::None, run: summaries::degree_assortativity,
        about: "The correlation of the degrees at both ends of the edges.",
        parameters: &[],
    },
    Algorithm {
        name: "degree_centrality", weights: WeightUse::None, run: centrality::degree,
        about: "The number of edges of each vertex divided by the number of other vertices.",
        parameters: &[],
    },
    Algorithm {
        name: "diameter", weights: WeightUse::IfAsked, run: searches::diameter,
        about: "The greatest distance between two vertices.",
        parameters: &[],
    },
    Algorithm {
        name: "eccentricity", weights: WeightUse::IfAsked, run: searches::eccentricity,
        about: "The greatest distance from each vertex.",
        parameters: &[],
    },
    Algorithm {
        name: "edge_betweenness_centrality", weights: WeightUse::IfAsked, run: centrality::edge_betweenness,
        about: "The fraction of shortest paths that lead along each edge.",
        parameters: &[
            parameter("k", ParameterType::Int, None, "Number of sampled sources; without it all vertices."),
            parameter("normalized", ParameterType::Bool, Bool(true), "Whether values are divided by the largest possible."),
            parameter("seed", ParameterType::Int, Int(0), "The same seed gives the same sample."),
            parameter("sources", ParameterType::Vertices, None, "The sources of paths, in place of a sample."),
        ],
    },
    Algorithm {
        name: "eigenvector_centrality", weights: WeightUse::IfAsked, run: centrality::eigenvector,
        about: "The eigenvector of the largest eigenvalue over incoming edges.",
        parameters: &[
            parameter("max_iter", ParameterType::Int, Int(100), "Maximum number of rounds."),
            parameter("tol", ParameterType::Float, Float(1e-6), "Ends when the average change of a vertex is less than this."),
            parameter("nstart", ParameterType::VertexValues, None, "The values before the first round; without them all are equal."),
        ],
    },
    Algorithm {
        name: "greedy_color", weights: WeightUse::None, run: summaries::greedy_color,
        about: "Colors such that neighbors differ. Directions have no effect.",
        parameters: &[
            parameter("strategy", ParameterType::Choice(&["largest_first", "smallest_last", "saturation_largest_first"]), Choice("largest_first"), "The order in which vertices are colored."),
        ],
    },
    Algorithm {
        name: "harmonic_centrality", weights: WeightUse::IfAsked, run: centrality::harmonic,
        about: "The sum of the inverse distances from all vertices that reach a vertex.",
        parameters: &[],
    },
    Algorithm {
        name: "hits", weights: WeightUse::IfThere, run: centrality::hubs_and_authorities,
        about: "Kleinberg's hubs and authorities.",
        parameters: &[
            parameter("max_iter", ParameterType::Int, Int(100), "Maximum number of rounds."),
            parameter("tol", ParameterType::Float, Float(1e-8), "Ends when the average change of a vertex is less than this."),
            parameter("nstart", ParameterType::VertexValues, None, "The values before the first round; without them all are equal."),
            parameter("normalized", ParameterType::Bool, Bool(true), "Whether both columns sum to 1."),
        ],
    },
    Algorithm {
        name: "in_degree_centrality", weights: WeightUse::None, run: centrality::in_degree,
        about: "The number of incoming edges divided by the number of other vertices.",
        parameters: &[],
    },
    Algorithm {
        name: "is_bipartite", weights: WeightUse::None, run: summaries::is_bipartite,
        about: "Whether two colors are enough for the vertices. Directions have no effect.",
        parameters: &[],
    },
    Algorithm {
        name: "is_directed_acyclic_graph", weights: WeightUse::None, run: structure::is_directed_acyclic,
        about: "Whether the graph is directed and has no cycle.",
        parameters: &[],
    },
    Algorithm {
        name: "k_shortest_paths", weights: WeightUse::IfAsked, run: searches::k_shortest_paths,
        about: "The shortest paths between two vertices that visit no vertex twice, by length.",
        parameters: &[
            parameter("source", ParameterType::Vertex, Required, "The first vertex."),
            parameter("target", ParameterType::Vertex, Required, "The last vertex."),
            parameter("k", ParameterType::Int, Int(10), "Number of paths."),
        ],
    },
    Algorithm {
        name: "katz_centrality", weights: WeightUse::IfAsked, run: centrality::katz,
        about: "For each vertex `beta` plus `alpha` times the sum of its predecessors' values.",
        parameters: &[
            parameter("alpha", ParameterType::Float, Float(0.1), "Factor of each further edge."),
            parameter("beta", ParameterType::Float, Float(1.0), "The value that each vertex has by itself."),
            parameter("max_iter", ParameterType::Int, Int(1000), "Maximum number of rounds."),
            parameter("tol", ParameterType::Float, Float(1e-6), "Ends when the average change of a vertex is less than this."),
            parameter("nstart", ParameterType::VertexValues, None, "The values before the first round; without them all are equal."),
            parameter("normalized", ParameterType::Bool, Bool(true), "Whether the result has Euclidean length 1."),
        ],
    },
    Algorithm {
        name: "label_propagation", weights: WeightUse::IfThere, run: structure::label_propagation,
        about: "Communities by the labels of neighbors. Directions have no effect.",
        parameters: &[
            parameter("max_iter", ParameterType::Int, Int(100), "Maximum number of rounds."),
        ],
    },
    Algorithm {
        name: "leiden", weights: WeightUse::IfThere, run: structure::leiden,
        about: "Connected communities of large modularity. Directions have no effect.",
        parameters: &[
            parameter("resolution", ParameterType::Float, Float(1.0), "Larger values give smaller communities."),
            parameter("seed", ParameterType::Int, None, "Seed of random choices; without it the best choices are taken."),
            parameter("max_level", ParameterType::Int, Int(32), "Maximum number of levels."),
        ],
    },
    Algorithm {
        name: "louvain", weights: WeightUse::IfThere, run: structure::louvain,
        about: "Communities of large modularity.",
        parameters: &[
            parameter("max_iter", ParameterType::Int, Int(100), "Maximum number of rounds in a level."),
            parameter("threshold", ParameterType::Float, Float(1e-7), "A level ends when a round gains no more modularity."),
        ],
    },
    Algorithm {
        name: "maximal_independent_set", weights: WeightUse::None, run: summaries::maximal_independent_set,
        about: "Vertices without edges between them, to which none can be added. Directions have no effect.",
        parameters: &[
            parameter("required", ParameterType::Vertices, None, "Vertices that must be in it."),
            parameter("seed", ParameterType::Int, Int(0), "The same seed gives the same vertices."),
        ],
    },
    Algorithm {
        name: "maximal_matching", weights: WeightUse::None, run: summaries::maximal_matching,
        about: "Edges without common ends, to which none can be added. Directions have no effect.",
        parameters: &[],
    },
    Algorithm {
        name: "maximum_flow", weights: WeightUse::IfThere, run: flows::maximum_flow,
        about: "The edges of a largest flow, each with its flow.",
        parameters: &[
            parameter("source", ParameterType::Vertex, Required, "Where the flow begins."),
            parameter("target", ParameterType::Vertex, Required, "Where the flow ends."),
        ],
    },
    Algorithm {
        name: "maximum_flow_value", weights: WeightUse::IfThere, run: flows::maximum_flow_value,
        about: "The largest flow between two vertices, where weights are capacities.",
        parameters: &[
            parameter("source", ParameterType::Vertex, Required, "Where the flow begins."),
            parameter("target", ParameterType::Vertex, Required, "Where the flow ends."),
        ],
    },
    Algorithm {
        name: "minimum_cut", weights: WeightUse::IfThere, run: flows::minimum_cut,
        about: "Group 0 of the source and group 1 of the target, with the least capacity between them.",
        parameters: &[
            parameter("source", ParameterType::Vertex, Required, "Where the flow begins."),
            parameter("target", ParameterType::Vertex, Required, "Where the flow ends."),
        ],
    },
    Algorithm {
        name: "minimum_spanning_tree", weights: WeightUse::IfThere, run: structure::minimum_spanning_forest,
        about: "A spanning forest of least weight. Directions have no effect.",
        parameters: &[],
    },
    Algorithm {
        name: "modularity", weights: WeightUse::IfThere, run: structure::modularity,
        about: "The share of edges inside communities, minus the share expected by chance. Directions have no effect.",
        parameters: &[
            parameter("communities", ParameterType::Communities, Required, "Lists of vertices; each vertex is in one."),
            parameter("resolution", ParameterType::Float, Float(1.0), "Factor of the expected share; larger values favor smaller communities."),
        ],
    },
    Algorithm {
        name: "most_similar", weights: WeightUse::None, run: structure::most_similar,
        about: "The vertices with the most similar neighbors. Directions have no effect.",
        parameters: &[
            parameter("vertices", ParameterType::Vertices, None, "The vertices to compare with others; without them all."),
            parameter("k", ParameterType::Int, Int(10), "Number of others for each vertex."),
            parameter("measure", ParameterType::Choice(&["jaccard", "overlap", "common_neighbors", "adamic_adar", "resource_allocation"]), Choice("jaccard"), "How similarity is measured."),
        ],
    },
    Algorithm {
        name: "onion_layers", weights: WeightUse::None, run: summaries::onion_layers,
        about: "The round in which a vertex leaves its core. Directions have no effect.",
        parameters: &[],
    },
    Algorithm {
        name: "out_degree_centrality", weights: WeightUse::None, run: centrality::out_degree,
        about: "The number of outgoing edges divided by the number of other vertices.",
        parameters: &[],
    },
    Algorithm {
        name: "overall_reciprocity", weights: WeightUse::None, run: summaries::overall_reciprocity,
        about: "The share of edges whose reverse edge exists.",
        parameters: &[],
    },
    Algorithm {
        name: "pagerank", weights: WeightUse::IfThere, run: centrality::pagerank,
        about: "The share of time that a random surfer spends at each vertex.",
        parameters: &[
            parameter("alpha", ParameterType::Float, Float(0.85), "Probability of following an edge."),
            parameter("personalization", ParameterType::VertexValues, None, "Probabilities of a restart; vertices that are left out have 0."),
            parameter("max_iter", ParameterType::Int, Int(100), "Maximum number of rounds."),
            parameter("tol", ParameterType::Float, Float(1e-6), "Ends when the average change of a vertex is less than this."),
            parameter("nstart", ParameterType::VertexValues, None, "The values before the first round; without them all are equal."),
            parameter("dangling", ParameterType::VertexValues, None, "Where vertices without outgoing edges lead; without it, as personalization."),
            parameter("variant", ParameterType::Choice(&["networkx", "ldbc"]), Choice("networkx"), "`\"ldbc\"` runs `max_iter` rounds and ignores `tol`."),
        ],
    },
    Algorithm {
        name: "periphery", weights: WeightUse::IfAsked, run: searches::periphery,
        about: "The vertices whose eccentricity is the diameter.",
        parameters: &[],
    },
    Algorithm {
        name: "radius", weights: WeightUse::IfAsked, run: searches::radius,
        about: "The least eccentricity.",
        parameters: &[],
    },
    Algorithm {
        name: "random_walks", weights: WeightUse::IfThere, run: searches::random_walks,
        about: "Random walks; with `p` and `q` those of node2vec.",
        parameters: &[
            parameter("starts", ParameterType::Vertices, None, "Where walks start; without it at all vertices."),
            parameter("length", ParameterType::Int, Int(80), "Vertices of a walk, the start included."),
            parameter("walks", ParameterType::Int, Int(10), "Walks from each start."),
            parameter("p", ParameterType::Float, Float(1.0), "The larger, the less often a walk goes back."),
            parameter("q", ParameterType::Float, Float(1.0), "The larger, the closer a walk stays to the vertex before."),
            parameter("seed", ParameterType::Int, Int(0), "The same seed gives the same walks."),
        ],
    },
    Algorithm {
        name: "shortest_path", weights: WeightUse::IfAsked, run: searches::shortest_path,
        about: "A shortest path between two vertices, by a search from both.",
        parameters: &[
            parameter("source", ParameterType::Vertex, Required, "The first vertex."),
            parameter("target", ParameterType::Vertex, Required, "The last vertex."),
        ],
    },
    Algorithm {
        name: "shortest_paths", weights: WeightUse::IfAsked, run: searches::shortest_paths,
        about: "The least sum of weights from the nearest source, and the vertex before.",
        parameters: &[
            parameter("source", ParameterType::Vertices, Required, "The vertex or vertices from which the search starts."),
            parameter("targets", ParameterType::Vertices, None, "The search may end when these are reached."),
            parameter("cutoff", ParameterType::Float, None, "Vertices that are farther are left out."),
            parameter("variant", ParameterType::Choice(&["networkx", "ldbc"]), Choice("networkx"), "`\"ldbc\"` has infinity for vertices that are not reached."),
        ],
    },
    Algorithm {
        name: "strongly_connected_components", weights: WeightUse::None, run: structure::strong_components,
        about: "The strongly connected component of each vertex, in reverse topological order.",
        parameters: &[],
    },
    Algorithm {
        name: "topological_sort", weights: WeightUse::None, run: structure::topological_sort,
        about: "All vertices, each after the sources of its incoming edges.",
        parameters: &[],
    },
    Algorithm {
        name: "transitivity", weights: WeightUse::None, run: structure::transitivity,
        about: "The share of paths of two edges that are part of a triangle.",
        parameters: &[],
    },
    Algorithm {
        name: "triangles", weights: WeightUse::None, run: structure::triangles,
        about: "The number of triangles of each vertex. Directions have no effect.",
        parameters: &[],
    },
    Algorithm {
        name: "truss_number", weights: WeightUse::None, run: structure::truss_number,
        about: "The largest k such that an edge is in the k-truss. Directions have no effect.",
        parameters: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_descriptions_are_sentences() {
        assert!(ALGORITHMS.is_sorted_by(|a, b| a.name < b.name));
        let parameters = || ALGORITHMS.iter().flat_map(|algorithm| algorithm.parameters);
        let about = ALGORITHMS.iter().map(|algorithm| algorithm.about);
        for sentence in about.chain(parameters().map(|parameter| parameter.about)) {
            assert!(sentence.ends_with('.'), "{sentence}");
        }
    }
}
