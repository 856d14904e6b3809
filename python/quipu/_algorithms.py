"""Methods of `Graph` and `Projection` that run algorithms, written by tools/algorithms.py.

The table is `crates/analytics/src/table.rs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ._quipu import Graph, Projection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._quipu import AlgorithmResult

    _Vertex: TypeAlias = int | str


def projection_all_shortest_paths(
    self: Projection, source: _Vertex, target: _Vertex, *, limit: int | None = None
) -> AlgorithmResult:
    """All shortest paths between two vertices.

    Args:
        source: The first vertex.
        target: The last vertex.
        limit: Maximum number of paths.
    """
    return self._run("all_shortest_paths", {"source": source, "target": target, "limit": limit})


def projection_approximate_betweenness(
    self: Projection, *, error: float = 0.01, failure: float = 0.1, seed: int = 0
) -> AlgorithmResult:
    """Betweenness by sampled paths (KADABRA): with probability ``failure`` some error is larger than ``error``.

    Args:
        error: The largest error of a value.
        failure: Probability that some error is larger.
        seed: The same seed gives the same paths.
    """
    return self._run("approximate_betweenness", {"error": error, "failure": failure, "seed": seed})


def projection_articulation_points(self: Projection) -> AlgorithmResult:
    """Vertices without which there are more components. Directions have no effect."""
    return self._run("articulation_points", {})


def projection_average_clustering(self: Projection, *, variant: Literal["networkx", "ldbc"] = "networkx") -> float:
    """The mean of the clustering of all vertices.

    Args:
        variant: As for ``clustering``.
    """
    return self._run("average_clustering", {"variant": variant})


def projection_bellman_ford(self: Projection, source: _Vertex | Iterable[_Vertex]) -> AlgorithmResult:
    """As ``shortest_paths``, with negative weights.

    Args:
        source: The vertex or vertices from which the search starts.
    """
    return self._run("bellman_ford", {"source": source})


def projection_betweenness_centrality(
    self: Projection,
    *,
    k: int | None = None,
    normalized: bool = True,
    endpoints: bool = False,
    seed: int = 0,
    sources: _Vertex | Iterable[_Vertex] | None = None,
) -> AlgorithmResult:
    """The fraction of shortest paths that lead through each vertex.

    Args:
        k: Number of sampled sources; without it all vertices.
        normalized: Whether values are divided by the largest possible.
        endpoints: Whether a path also counts for its two ends.
        seed: The same seed gives the same sample.
        sources: The sources of paths, in place of a sample.
    """
    return self._run(
        "betweenness_centrality",
        {"k": k, "normalized": normalized, "endpoints": endpoints, "seed": seed, "sources": sources},
    )


def projection_bfs(
    self: Projection,
    source: _Vertex | Iterable[_Vertex],
    *,
    depth_limit: int | None = None,
    variant: Literal["networkx", "ldbc"] = "networkx",
) -> AlgorithmResult:
    """The number of edges from the nearest source, and the vertex before.

    Args:
        source: The vertex or vertices from which the search starts.
        depth_limit: Vertices that are more edges away are left out.
        variant: ``"ldbc"`` has 2^63 - 1 for vertices that are not reached.
    """
    return self._run("bfs", {"source": source, "depth_limit": depth_limit, "variant": variant})


def projection_bridges(self: Projection) -> AlgorithmResult:
    """Edges without which there are more components. Directions have no effect."""
    return self._run("bridges", {})


def projection_cdlp(self: Projection, *, max_iter: int = 10) -> AlgorithmResult:
    """Communities by synchronous label propagation, as in LDBC Graphalytics.

    Args:
        max_iter: Number of rounds.
    """
    return self._run("cdlp", {"max_iter": max_iter})


def projection_center(self: Projection) -> AlgorithmResult:
    """The vertices whose eccentricity is the radius."""
    return self._run("center", {})


def projection_closeness_centrality(self: Projection, *, wf_improved: bool = True) -> AlgorithmResult:
    """The inverse of the average distance from the vertices that reach a vertex.

    Args:
        wf_improved: Whether it is multiplied by the share of vertices that reach the
            vertex.
    """
    return self._run("closeness_centrality", {"wf_improved": wf_improved})


def projection_clustering(self: Projection, *, variant: Literal["networkx", "ldbc"] = "networkx") -> AlgorithmResult:
    """The share of pairs of neighbors that are neighbors; with weights their geometric mean.

    Args:
        variant: ``"ldbc"`` counts the directed edges between all neighbors.
    """
    return self._run("clustering", {"variant": variant})


def projection_connected_components(self: Projection) -> AlgorithmResult:
    """The weakly connected component of each vertex, numbered by their smallest vertices."""
    return self._run("connected_components", {})


def projection_core_number(self: Projection) -> AlgorithmResult:
    """The largest k such that a vertex is in the k-core. Edges in both directions count twice."""
    return self._run("core_number", {})


def projection_degree_assortativity_coefficient(self: Projection) -> float:
    """The correlation of the degrees at both ends of the edges."""
    return self._run("degree_assortativity_coefficient", {})


def projection_degree_centrality(self: Projection) -> AlgorithmResult:
    """The number of edges of each vertex divided by the number of other vertices."""
    return self._run("degree_centrality", {})


def projection_diameter(self: Projection) -> float:
    """The greatest distance between two vertices."""
    return self._run("diameter", {})


def projection_eccentricity(self: Projection) -> AlgorithmResult:
    """The greatest distance from each vertex."""
    return self._run("eccentricity", {})


def projection_edge_betweenness_centrality(
    self: Projection,
    *,
    k: int | None = None,
    normalized: bool = True,
    seed: int = 0,
    sources: _Vertex | Iterable[_Vertex] | None = None,
) -> AlgorithmResult:
    """The fraction of shortest paths that lead along each edge.

    Args:
        k: Number of sampled sources; without it all vertices.
        normalized: Whether values are divided by the largest possible.
        seed: The same seed gives the same sample.
        sources: The sources of paths, in place of a sample.
    """
    return self._run(
        "edge_betweenness_centrality", {"k": k, "normalized": normalized, "seed": seed, "sources": sources}
    )


def projection_eigenvector_centrality(
    self: Projection,
    *,
    max_iter: int = 100,
    tol: float = 1e-06,
    nstart: Mapping[Any, float] | AlgorithmResult | None = None,
) -> AlgorithmResult:
    """The eigenvector of the largest eigenvalue over incoming edges.

    Args:
        max_iter: Maximum number of rounds.
        tol: Ends when the average change of a vertex is less than this.
        nstart: The values before the first round; without them all are equal.
    """
    return self._run("eigenvector_centrality", {"max_iter": max_iter, "tol": tol, "nstart": nstart})


def projection_greedy_color(
    self: Projection,
    *,
    strategy: Literal["largest_first", "smallest_last", "saturation_largest_first"] = "largest_first",
) -> AlgorithmResult:
    """Colors such that neighbors differ. Directions have no effect.

    Args:
        strategy: The order in which vertices are colored.
    """
    return self._run("greedy_color", {"strategy": strategy})


def projection_harmonic_centrality(self: Projection) -> AlgorithmResult:
    """The sum of the inverse distances from all vertices that reach a vertex."""
    return self._run("harmonic_centrality", {})


def projection_hits(
    self: Projection,
    *,
    max_iter: int = 100,
    tol: float = 1e-08,
    nstart: Mapping[Any, float] | AlgorithmResult | None = None,
    normalized: bool = True,
) -> AlgorithmResult:
    """Kleinberg's hubs and authorities.

    Args:
        max_iter: Maximum number of rounds.
        tol: Ends when the average change of a vertex is less than this.
        nstart: The values before the first round; without them all are equal.
        normalized: Whether both columns sum to 1.
    """
    return self._run("hits", {"max_iter": max_iter, "tol": tol, "nstart": nstart, "normalized": normalized})


def projection_in_degree_centrality(self: Projection) -> AlgorithmResult:
    """The number of incoming edges divided by the number of other vertices."""
    return self._run("in_degree_centrality", {})


def projection_is_bipartite(self: Projection) -> bool:
    """Whether two colors are enough for the vertices. Directions have no effect."""
    return self._run("is_bipartite", {})


def projection_is_directed_acyclic_graph(self: Projection) -> bool:
    """Whether the graph is directed and has no cycle."""
    return self._run("is_directed_acyclic_graph", {})


def projection_k_shortest_paths(self: Projection, source: _Vertex, target: _Vertex, *, k: int = 10) -> AlgorithmResult:
    """The shortest paths between two vertices that visit no vertex twice, by length.

    Args:
        source: The first vertex.
        target: The last vertex.
        k: Number of paths.
    """
    return self._run("k_shortest_paths", {"source": source, "target": target, "k": k})


def projection_katz_centrality(
    self: Projection,
    *,
    alpha: float = 0.1,
    beta: float = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-06,
    nstart: Mapping[Any, float] | AlgorithmResult | None = None,
    normalized: bool = True,
) -> AlgorithmResult:
    """For each vertex ``beta`` plus ``alpha`` times the values that lead to it.

    Args:
        alpha: Factor of each further edge.
        beta: The value that each vertex has by itself.
        max_iter: Maximum number of rounds.
        tol: Ends when the average change of a vertex is less than this.
        nstart: The values before the first round; without them all are equal.
        normalized: Whether the result has Euclidean length 1.
    """
    return self._run(
        "katz_centrality",
        {"alpha": alpha, "beta": beta, "max_iter": max_iter, "tol": tol, "nstart": nstart, "normalized": normalized},
    )


def projection_label_propagation(self: Projection, *, max_iter: int = 100) -> AlgorithmResult:
    """Communities by the labels of neighbors. Directions have no effect.

    Args:
        max_iter: Maximum number of rounds.
    """
    return self._run("label_propagation", {"max_iter": max_iter})


def projection_leiden(
    self: Projection, *, resolution: float = 1.0, seed: int | None = None, max_level: int = 32
) -> AlgorithmResult:
    """Connected communities of large modularity. Directions have no effect.

    Args:
        resolution: Larger values give smaller communities.
        seed: Seed of random choices; without it the best choices are taken.
        max_level: Maximum number of levels.
    """
    return self._run("leiden", {"resolution": resolution, "seed": seed, "max_level": max_level})


def projection_louvain(self: Projection, *, max_iter: int = 10, threshold: float = 0.0001) -> AlgorithmResult:
    """Communities of large modularity.

    Args:
        max_iter: Maximum number of rounds in a level.
        threshold: A level ends when a round gains no more modularity.
    """
    return self._run("louvain", {"max_iter": max_iter, "threshold": threshold})


def projection_maximal_independent_set(
    self: Projection, *, required: _Vertex | Iterable[_Vertex] | None = None, seed: int = 0
) -> AlgorithmResult:
    """Vertices without edges between them, to which none can be added. Directions have no effect.

    Args:
        required: Vertices that must be in it.
        seed: The same seed gives the same vertices.
    """
    return self._run("maximal_independent_set", {"required": required, "seed": seed})


def projection_maximal_matching(self: Projection) -> AlgorithmResult:
    """Edges without common ends, to which none can be added. Directions have no effect."""
    return self._run("maximal_matching", {})


def projection_maximum_flow(self: Projection, source: _Vertex, target: _Vertex) -> AlgorithmResult:
    """The edges of a largest flow with what flows along them.

    Args:
        source: Where the flow begins.
        target: Where the flow ends.
    """
    return self._run("maximum_flow", {"source": source, "target": target})


def projection_maximum_flow_value(self: Projection, source: _Vertex, target: _Vertex) -> float:
    """The largest flow between two vertices, where weights are capacities.

    Args:
        source: Where the flow begins.
        target: Where the flow ends.
    """
    return self._run("maximum_flow_value", {"source": source, "target": target})


def projection_minimum_cut(self: Projection, source: _Vertex, target: _Vertex) -> AlgorithmResult:
    """Group 0 of the source and group 1 of the target, with the least capacity between them.

    Args:
        source: Where the flow begins.
        target: Where the flow ends.
    """
    return self._run("minimum_cut", {"source": source, "target": target})


def projection_minimum_spanning_tree(self: Projection) -> AlgorithmResult:
    """Edges of least weight that connect what is connected. Directions have no effect."""
    return self._run("minimum_spanning_tree", {})


def projection_modularity(
    self: Projection, communities: Iterable[Iterable[_Vertex]] | AlgorithmResult, *, resolution: float = 1.0
) -> float:
    """The share of edges inside of communities, less what is expected. Directions have no effect.

    Args:
        communities: Lists of vertices; each vertex is in one.
        resolution: Weight of what is expected.
    """
    return self._run("modularity", {"communities": communities, "resolution": resolution})


def projection_most_similar(
    self: Projection,
    *,
    vertices: _Vertex | Iterable[_Vertex] | None = None,
    k: int = 10,
    measure: Literal["jaccard", "overlap", "common_neighbors", "adamic_adar", "resource_allocation"] = "jaccard",
) -> AlgorithmResult:
    """The vertices with the most similar neighbors. Directions have no effect.

    Args:
        vertices: The vertices to compare with others; without them all.
        k: Number of others for each vertex.
        measure: How similarity is measured.
    """
    return self._run("most_similar", {"vertices": vertices, "k": k, "measure": measure})


def projection_onion_layers(self: Projection) -> AlgorithmResult:
    """The round in which a vertex leaves its core. Directions have no effect."""
    return self._run("onion_layers", {})


def projection_out_degree_centrality(self: Projection) -> AlgorithmResult:
    """The number of outgoing edges divided by the number of other vertices."""
    return self._run("out_degree_centrality", {})


def projection_overall_reciprocity(self: Projection) -> float:
    """The share of edges that are returned."""
    return self._run("overall_reciprocity", {})


def projection_pagerank(
    self: Projection,
    *,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | AlgorithmResult | None = None,
    max_iter: int = 100,
    tol: float = 1e-06,
    nstart: Mapping[Any, float] | AlgorithmResult | None = None,
    dangling: Mapping[Any, float] | AlgorithmResult | None = None,
    variant: Literal["networkx", "ldbc"] = "networkx",
) -> AlgorithmResult:
    """The share of time that a random surfer spends at each vertex.

    Args:
        alpha: Probability of following an edge.
        personalization: Probabilities of a restart; vertices that are left out have 0.
        max_iter: Maximum number of rounds.
        tol: Ends when the average change of a vertex is less than this.
        nstart: The values before the first round; without them all are equal.
        dangling: Where vertices without outgoing edges lead; without it, as
            personalization.
        variant: ``"ldbc"`` runs ``max_iter`` rounds and ignores ``tol``.
    """
    return self._run(
        "pagerank",
        {
            "alpha": alpha,
            "personalization": personalization,
            "max_iter": max_iter,
            "tol": tol,
            "nstart": nstart,
            "dangling": dangling,
            "variant": variant,
        },
    )


def projection_periphery(self: Projection) -> AlgorithmResult:
    """The vertices whose eccentricity is the diameter."""
    return self._run("periphery", {})


def projection_radius(self: Projection) -> float:
    """The least eccentricity."""
    return self._run("radius", {})


def projection_random_walks(
    self: Projection,
    *,
    starts: _Vertex | Iterable[_Vertex] | None = None,
    length: int = 80,
    walks: int = 10,
    p: float = 1.0,
    q: float = 1.0,
    seed: int = 0,
) -> AlgorithmResult:
    """Random walks; with ``p`` and ``q`` those of node2vec.

    Args:
        starts: Where walks start; without it at all vertices.
        length: Vertices of a walk, the start included.
        walks: Walks from each start.
        p: The larger, the less often a walk goes back.
        q: The larger, the closer a walk stays to the vertex before.
        seed: The same seed gives the same walks.
    """
    return self._run("random_walks", {"starts": starts, "length": length, "walks": walks, "p": p, "q": q, "seed": seed})


def projection_shortest_path(self: Projection, source: _Vertex, target: _Vertex) -> AlgorithmResult:
    """A shortest path between two vertices, by a search from both.

    Args:
        source: The first vertex.
        target: The last vertex.
    """
    return self._run("shortest_path", {"source": source, "target": target})


def projection_shortest_paths(
    self: Projection,
    source: _Vertex | Iterable[_Vertex],
    *,
    targets: _Vertex | Iterable[_Vertex] | None = None,
    cutoff: float | None = None,
    variant: Literal["networkx", "ldbc"] = "networkx",
) -> AlgorithmResult:
    """The least sum of weights from the nearest source, and the vertex before.

    Args:
        source: The vertex or vertices from which the search starts.
        targets: The search may end when these are reached.
        cutoff: Vertices that are farther are left out.
        variant: ``"ldbc"`` has infinity for vertices that are not reached.
    """
    return self._run("shortest_paths", {"source": source, "targets": targets, "cutoff": cutoff, "variant": variant})


def projection_strongly_connected_components(self: Projection) -> AlgorithmResult:
    """The strongly connected component of each vertex, in reverse topological order."""
    return self._run("strongly_connected_components", {})


def projection_topological_sort(self: Projection) -> AlgorithmResult:
    """All vertices, each after the sources of its incoming edges."""
    return self._run("topological_sort", {})


def projection_transitivity(self: Projection) -> float:
    """The share of paths of two edges that are part of a triangle."""
    return self._run("transitivity", {})


def projection_triangles(self: Projection) -> AlgorithmResult:
    """The number of triangles of each vertex. Directions have no effect."""
    return self._run("triangles", {})


def projection_truss_number(self: Projection) -> AlgorithmResult:
    """The largest k such that an edge is in the k-truss. Directions have no effect."""
    return self._run("truss_number", {})


def graph_all_shortest_paths(
    self: Graph,
    source: _Vertex,
    target: _Vertex,
    *,
    limit: int | None = None,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """All shortest paths between two vertices.

    Args:
        source: The first vertex.
        target: The last vertex.
        limit: Maximum number of paths.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("all_shortest_paths", weight, undirected, nodes, where, params)._run(
        "all_shortest_paths", {"source": source, "target": target, "limit": limit}
    )


def graph_approximate_betweenness(
    self: Graph,
    *,
    error: float = 0.01,
    failure: float = 0.1,
    seed: int = 0,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Betweenness by sampled paths (KADABRA): with probability ``failure`` some error is larger than ``error``.

    Args:
        error: The largest error of a value.
        failure: Probability that some error is larger.
        seed: The same seed gives the same paths.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("approximate_betweenness", None, undirected, nodes, where, params)._run(
        "approximate_betweenness", {"error": error, "failure": failure, "seed": seed}
    )


def graph_articulation_points(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Vertices without which there are more components. Directions have no effect.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("articulation_points", None, undirected, nodes, where, params)._run("articulation_points", {})


def graph_average_clustering(
    self: Graph,
    *,
    variant: Literal["networkx", "ldbc"] = "networkx",
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> float:
    """The mean of the clustering of all vertices.

    Args:
        variant: As for ``clustering``.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("average_clustering", weight, undirected, nodes, where, params)._run(
        "average_clustering", {"variant": variant}
    )


def graph_bellman_ford(
    self: Graph,
    source: _Vertex | Iterable[_Vertex],
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """As ``shortest_paths``, with negative weights.

    Args:
        source: The vertex or vertices from which the search starts.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("bellman_ford", weight, undirected, nodes, where, params)._run(
        "bellman_ford", {"source": source}
    )


def graph_betweenness_centrality(
    self: Graph,
    *,
    k: int | None = None,
    normalized: bool = True,
    endpoints: bool = False,
    seed: int = 0,
    sources: _Vertex | Iterable[_Vertex] | None = None,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The fraction of shortest paths that lead through each vertex.

    Args:
        k: Number of sampled sources; without it all vertices.
        normalized: Whether values are divided by the largest possible.
        endpoints: Whether a path also counts for its two ends.
        seed: The same seed gives the same sample.
        sources: The sources of paths, in place of a sample.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("betweenness_centrality", weight, undirected, nodes, where, params)._run(
        "betweenness_centrality",
        {"k": k, "normalized": normalized, "endpoints": endpoints, "seed": seed, "sources": sources},
    )


def graph_bfs(
    self: Graph,
    source: _Vertex | Iterable[_Vertex],
    *,
    depth_limit: int | None = None,
    variant: Literal["networkx", "ldbc"] = "networkx",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The number of edges from the nearest source, and the vertex before.

    Args:
        source: The vertex or vertices from which the search starts.
        depth_limit: Vertices that are more edges away are left out.
        variant: ``"ldbc"`` has 2^63 - 1 for vertices that are not reached.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("bfs", None, undirected, nodes, where, params)._run(
        "bfs", {"source": source, "depth_limit": depth_limit, "variant": variant}
    )


def graph_bridges(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Edges without which there are more components. Directions have no effect.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("bridges", None, undirected, nodes, where, params)._run("bridges", {})


def graph_cdlp(
    self: Graph,
    *,
    max_iter: int = 10,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Communities by synchronous label propagation, as in LDBC Graphalytics.

    Args:
        max_iter: Number of rounds.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("cdlp", None, undirected, nodes, where, params)._run("cdlp", {"max_iter": max_iter})


def graph_center(
    self: Graph,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The vertices whose eccentricity is the radius.

    Args:
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("center", weight, undirected, nodes, where, params)._run("center", {})


def graph_closeness_centrality(
    self: Graph,
    *,
    wf_improved: bool = True,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The inverse of the average distance from the vertices that reach a vertex.

    Args:
        wf_improved: Whether it is multiplied by the share of vertices that reach the
            vertex.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("closeness_centrality", weight, undirected, nodes, where, params)._run(
        "closeness_centrality", {"wf_improved": wf_improved}
    )


def graph_clustering(
    self: Graph,
    *,
    variant: Literal["networkx", "ldbc"] = "networkx",
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The share of pairs of neighbors that are neighbors; with weights their geometric mean.

    Args:
        variant: ``"ldbc"`` counts the directed edges between all neighbors.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("clustering", weight, undirected, nodes, where, params)._run(
        "clustering", {"variant": variant}
    )


def graph_connected_components(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The weakly connected component of each vertex, numbered by their smallest vertices.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("connected_components", None, undirected, nodes, where, params)._run(
        "connected_components", {}
    )


def graph_core_number(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The largest k such that a vertex is in the k-core. Edges in both directions count twice.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("core_number", None, undirected, nodes, where, params)._run("core_number", {})


def graph_degree_assortativity_coefficient(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> float:
    """The correlation of the degrees at both ends of the edges.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("degree_assortativity_coefficient", None, undirected, nodes, where, params)._run(
        "degree_assortativity_coefficient", {}
    )


def graph_degree_centrality(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The number of edges of each vertex divided by the number of other vertices.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("degree_centrality", None, undirected, nodes, where, params)._run("degree_centrality", {})


def graph_diameter(
    self: Graph,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> float:
    """The greatest distance between two vertices.

    Args:
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("diameter", weight, undirected, nodes, where, params)._run("diameter", {})


def graph_eccentricity(
    self: Graph,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The greatest distance from each vertex.

    Args:
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("eccentricity", weight, undirected, nodes, where, params)._run("eccentricity", {})


def graph_edge_betweenness_centrality(
    self: Graph,
    *,
    k: int | None = None,
    normalized: bool = True,
    seed: int = 0,
    sources: _Vertex | Iterable[_Vertex] | None = None,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The fraction of shortest paths that lead along each edge.

    Args:
        k: Number of sampled sources; without it all vertices.
        normalized: Whether values are divided by the largest possible.
        seed: The same seed gives the same sample.
        sources: The sources of paths, in place of a sample.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("edge_betweenness_centrality", weight, undirected, nodes, where, params)._run(
        "edge_betweenness_centrality", {"k": k, "normalized": normalized, "seed": seed, "sources": sources}
    )


def graph_eigenvector_centrality(
    self: Graph,
    *,
    max_iter: int = 100,
    tol: float = 1e-06,
    nstart: Mapping[Any, float] | AlgorithmResult | None = None,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The eigenvector of the largest eigenvalue over incoming edges.

    Args:
        max_iter: Maximum number of rounds.
        tol: Ends when the average change of a vertex is less than this.
        nstart: The values before the first round; without them all are equal.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("eigenvector_centrality", weight, undirected, nodes, where, params)._run(
        "eigenvector_centrality", {"max_iter": max_iter, "tol": tol, "nstart": nstart}
    )


def graph_greedy_color(
    self: Graph,
    *,
    strategy: Literal["largest_first", "smallest_last", "saturation_largest_first"] = "largest_first",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Colors such that neighbors differ. Directions have no effect.

    Args:
        strategy: The order in which vertices are colored.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("greedy_color", None, undirected, nodes, where, params)._run(
        "greedy_color", {"strategy": strategy}
    )


def graph_harmonic_centrality(
    self: Graph,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The sum of the inverse distances from all vertices that reach a vertex.

    Args:
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("harmonic_centrality", weight, undirected, nodes, where, params)._run(
        "harmonic_centrality", {}
    )


def graph_hits(
    self: Graph,
    *,
    max_iter: int = 100,
    tol: float = 1e-08,
    nstart: Mapping[Any, float] | AlgorithmResult | None = None,
    normalized: bool = True,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Kleinberg's hubs and authorities.

    Args:
        max_iter: Maximum number of rounds.
        tol: Ends when the average change of a vertex is less than this.
        nstart: The values before the first round; without them all are equal.
        normalized: Whether both columns sum to 1.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("hits", weight, undirected, nodes, where, params)._run(
        "hits", {"max_iter": max_iter, "tol": tol, "nstart": nstart, "normalized": normalized}
    )


def graph_in_degree_centrality(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The number of incoming edges divided by the number of other vertices.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("in_degree_centrality", None, undirected, nodes, where, params)._run(
        "in_degree_centrality", {}
    )


def graph_is_bipartite(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> bool:
    """Whether two colors are enough for the vertices. Directions have no effect.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("is_bipartite", None, undirected, nodes, where, params)._run("is_bipartite", {})


def graph_is_directed_acyclic_graph(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> bool:
    """Whether the graph is directed and has no cycle.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("is_directed_acyclic_graph", None, undirected, nodes, where, params)._run(
        "is_directed_acyclic_graph", {}
    )


def graph_k_shortest_paths(
    self: Graph,
    source: _Vertex,
    target: _Vertex,
    *,
    k: int = 10,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The shortest paths between two vertices that visit no vertex twice, by length.

    Args:
        source: The first vertex.
        target: The last vertex.
        k: Number of paths.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("k_shortest_paths", weight, undirected, nodes, where, params)._run(
        "k_shortest_paths", {"source": source, "target": target, "k": k}
    )


def graph_katz_centrality(
    self: Graph,
    *,
    alpha: float = 0.1,
    beta: float = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-06,
    nstart: Mapping[Any, float] | AlgorithmResult | None = None,
    normalized: bool = True,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """For each vertex ``beta`` plus ``alpha`` times the values that lead to it.

    Args:
        alpha: Factor of each further edge.
        beta: The value that each vertex has by itself.
        max_iter: Maximum number of rounds.
        tol: Ends when the average change of a vertex is less than this.
        nstart: The values before the first round; without them all are equal.
        normalized: Whether the result has Euclidean length 1.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("katz_centrality", weight, undirected, nodes, where, params)._run(
        "katz_centrality",
        {"alpha": alpha, "beta": beta, "max_iter": max_iter, "tol": tol, "nstart": nstart, "normalized": normalized},
    )


def graph_label_propagation(
    self: Graph,
    *,
    max_iter: int = 100,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Communities by the labels of neighbors. Directions have no effect.

    Args:
        max_iter: Maximum number of rounds.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("label_propagation", weight, undirected, nodes, where, params)._run(
        "label_propagation", {"max_iter": max_iter}
    )


def graph_leiden(
    self: Graph,
    *,
    resolution: float = 1.0,
    seed: int | None = None,
    max_level: int = 32,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Connected communities of large modularity. Directions have no effect.

    Args:
        resolution: Larger values give smaller communities.
        seed: Seed of random choices; without it the best choices are taken.
        max_level: Maximum number of levels.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("leiden", weight, undirected, nodes, where, params)._run(
        "leiden", {"resolution": resolution, "seed": seed, "max_level": max_level}
    )


def graph_louvain(
    self: Graph,
    *,
    max_iter: int = 10,
    threshold: float = 0.0001,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Communities of large modularity.

    Args:
        max_iter: Maximum number of rounds in a level.
        threshold: A level ends when a round gains no more modularity.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("louvain", weight, undirected, nodes, where, params)._run(
        "louvain", {"max_iter": max_iter, "threshold": threshold}
    )


def graph_maximal_independent_set(
    self: Graph,
    *,
    required: _Vertex | Iterable[_Vertex] | None = None,
    seed: int = 0,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Vertices without edges between them, to which none can be added. Directions have no effect.

    Args:
        required: Vertices that must be in it.
        seed: The same seed gives the same vertices.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("maximal_independent_set", None, undirected, nodes, where, params)._run(
        "maximal_independent_set", {"required": required, "seed": seed}
    )


def graph_maximal_matching(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Edges without common ends, to which none can be added. Directions have no effect.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("maximal_matching", None, undirected, nodes, where, params)._run("maximal_matching", {})


def graph_maximum_flow(
    self: Graph,
    source: _Vertex,
    target: _Vertex,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The edges of a largest flow with what flows along them.

    Args:
        source: Where the flow begins.
        target: Where the flow ends.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("maximum_flow", weight, undirected, nodes, where, params)._run(
        "maximum_flow", {"source": source, "target": target}
    )


def graph_maximum_flow_value(
    self: Graph,
    source: _Vertex,
    target: _Vertex,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> float:
    """The largest flow between two vertices, where weights are capacities.

    Args:
        source: Where the flow begins.
        target: Where the flow ends.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("maximum_flow_value", weight, undirected, nodes, where, params)._run(
        "maximum_flow_value", {"source": source, "target": target}
    )


def graph_minimum_cut(
    self: Graph,
    source: _Vertex,
    target: _Vertex,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Group 0 of the source and group 1 of the target, with the least capacity between them.

    Args:
        source: Where the flow begins.
        target: Where the flow ends.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("minimum_cut", weight, undirected, nodes, where, params)._run(
        "minimum_cut", {"source": source, "target": target}
    )


def graph_minimum_spanning_tree(
    self: Graph,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Edges of least weight that connect what is connected. Directions have no effect.

    Args:
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("minimum_spanning_tree", weight, undirected, nodes, where, params)._run(
        "minimum_spanning_tree", {}
    )


def graph_modularity(
    self: Graph,
    communities: Iterable[Iterable[_Vertex]] | AlgorithmResult,
    *,
    resolution: float = 1.0,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> float:
    """The share of edges inside of communities, less what is expected. Directions have no effect.

    Args:
        communities: Lists of vertices; each vertex is in one.
        resolution: Weight of what is expected.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("modularity", weight, undirected, nodes, where, params)._run(
        "modularity", {"communities": communities, "resolution": resolution}
    )


def graph_most_similar(
    self: Graph,
    *,
    vertices: _Vertex | Iterable[_Vertex] | None = None,
    k: int = 10,
    measure: Literal["jaccard", "overlap", "common_neighbors", "adamic_adar", "resource_allocation"] = "jaccard",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The vertices with the most similar neighbors. Directions have no effect.

    Args:
        vertices: The vertices to compare with others; without them all.
        k: Number of others for each vertex.
        measure: How similarity is measured.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("most_similar", None, undirected, nodes, where, params)._run(
        "most_similar", {"vertices": vertices, "k": k, "measure": measure}
    )


def graph_onion_layers(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The round in which a vertex leaves its core. Directions have no effect.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("onion_layers", None, undirected, nodes, where, params)._run("onion_layers", {})


def graph_out_degree_centrality(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The number of outgoing edges divided by the number of other vertices.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("out_degree_centrality", None, undirected, nodes, where, params)._run(
        "out_degree_centrality", {}
    )


def graph_overall_reciprocity(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> float:
    """The share of edges that are returned.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("overall_reciprocity", None, undirected, nodes, where, params)._run("overall_reciprocity", {})


def graph_pagerank(
    self: Graph,
    *,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | AlgorithmResult | None = None,
    max_iter: int = 100,
    tol: float = 1e-06,
    nstart: Mapping[Any, float] | AlgorithmResult | None = None,
    dangling: Mapping[Any, float] | AlgorithmResult | None = None,
    variant: Literal["networkx", "ldbc"] = "networkx",
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The share of time that a random surfer spends at each vertex.

    Args:
        alpha: Probability of following an edge.
        personalization: Probabilities of a restart; vertices that are left out have 0.
        max_iter: Maximum number of rounds.
        tol: Ends when the average change of a vertex is less than this.
        nstart: The values before the first round; without them all are equal.
        dangling: Where vertices without outgoing edges lead; without it, as
            personalization.
        variant: ``"ldbc"`` runs ``max_iter`` rounds and ignores ``tol``.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("pagerank", weight, undirected, nodes, where, params)._run(
        "pagerank",
        {
            "alpha": alpha,
            "personalization": personalization,
            "max_iter": max_iter,
            "tol": tol,
            "nstart": nstart,
            "dangling": dangling,
            "variant": variant,
        },
    )


def graph_periphery(
    self: Graph,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The vertices whose eccentricity is the diameter.

    Args:
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("periphery", weight, undirected, nodes, where, params)._run("periphery", {})


def graph_radius(
    self: Graph,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> float:
    """The least eccentricity.

    Args:
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("radius", weight, undirected, nodes, where, params)._run("radius", {})


def graph_random_walks(
    self: Graph,
    *,
    starts: _Vertex | Iterable[_Vertex] | None = None,
    length: int = 80,
    walks: int = 10,
    p: float = 1.0,
    q: float = 1.0,
    seed: int = 0,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """Random walks; with ``p`` and ``q`` those of node2vec.

    Args:
        starts: Where walks start; without it at all vertices.
        length: Vertices of a walk, the start included.
        walks: Walks from each start.
        p: The larger, the less often a walk goes back.
        q: The larger, the closer a walk stays to the vertex before.
        seed: The same seed gives the same walks.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("random_walks", weight, undirected, nodes, where, params)._run(
        "random_walks", {"starts": starts, "length": length, "walks": walks, "p": p, "q": q, "seed": seed}
    )


def graph_shortest_path(
    self: Graph,
    source: _Vertex,
    target: _Vertex,
    *,
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """A shortest path between two vertices, by a search from both.

    Args:
        source: The first vertex.
        target: The last vertex.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("shortest_path", weight, undirected, nodes, where, params)._run(
        "shortest_path", {"source": source, "target": target}
    )


def graph_shortest_paths(
    self: Graph,
    source: _Vertex | Iterable[_Vertex],
    *,
    targets: _Vertex | Iterable[_Vertex] | None = None,
    cutoff: float | None = None,
    variant: Literal["networkx", "ldbc"] = "networkx",
    weight: str | None = "auto",
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The least sum of weights from the nearest source, and the vertex before.

    Args:
        source: The vertex or vertices from which the search starts.
        targets: The search may end when these are reached.
        cutoff: Vertices that are farther are left out.
        variant: ``"ldbc"`` has infinity for vertices that are not reached.
        weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("shortest_paths", weight, undirected, nodes, where, params)._run(
        "shortest_paths", {"source": source, "targets": targets, "cutoff": cutoff, "variant": variant}
    )


def graph_strongly_connected_components(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The strongly connected component of each vertex, in reverse topological order.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("strongly_connected_components", None, undirected, nodes, where, params)._run(
        "strongly_connected_components", {}
    )


def graph_topological_sort(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """All vertices, each after the sources of its incoming edges.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("topological_sort", None, undirected, nodes, where, params)._run("topological_sort", {})


def graph_transitivity(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> float:
    """The share of paths of two edges that are part of a triangle.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("transitivity", None, undirected, nodes, where, params)._run("transitivity", {})


def graph_triangles(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The number of triangles of each vertex. Directions have no effect.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("triangles", None, undirected, nodes, where, params)._run("triangles", {})


def graph_truss_number(
    self: Graph,
    *,
    undirected: bool = False,
    nodes: Iterable[_Vertex] | None = None,
    where: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> AlgorithmResult:
    """The largest k such that an edge is in the k-truss. Directions have no effect.

    Args:
        undirected: Whether directions are ignored.
        nodes: The vertices of a subgraph; without it all.
        where: Condition for edges, see :meth:`project`.
        params: Values of the condition's parameters.
    """
    return self._project("truss_number", None, undirected, nodes, where, params)._run("truss_number", {})


def attach() -> None:
    """Make the functions methods."""
    for prefix, owner in (("projection_", Projection), ("graph_", Graph)):
        for name, function in [*globals().items()]:
            if name.startswith(prefix):
                function.__name__ = name.removeprefix(prefix)
                function.__qualname__ = f"{owner.__name__}.{function.__name__}"
                setattr(owner, function.__name__, function)
