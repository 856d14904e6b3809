"""Projections and algorithms, compared with NetworkX on graphs of every shape."""

from __future__ import annotations

import inspect
import itertools
import math
import pydoc
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import quipu

nx: Any = pytest.importorskip("networkx", reason="networkx is not installed: nothing to compare with")


def graphs() -> list[Any]:
    """Directed graphs: empty shapes, loops, parts, cycles, and random ones."""
    found = [
        nx.DiGraph([(7, 7)]),
        nx.DiGraph([(1, 2)]),
        nx.DiGraph([(1, 2), (2, 1), (2, 2)]),
        nx.DiGraph([(1, 2), (3, 4), (5, 5)]),
        nx.DiGraph([(1, 2), (1, 3), (2, 4), (3, 4)]),
        nx.cycle_graph(6, create_using=nx.DiGraph),
        nx.DiGraph([(2**63, 5), (5, 2**64 - 1), (2**64 - 1, 2**63)]),
        nx.DiGraph([("b", "a"), ("a", "c"), ("c", "b"), ("ü", "a")]),
    ]
    for seed in range(8):
        rng = random.Random(seed)
        n = rng.choice([4, 9, 30])
        edges = [(rng.randrange(n) * 10, rng.randrange(n) * 10) for _ in range(rng.randrange(1, 4 * n))]
        found.append(nx.DiGraph(edges))
    for number, graph in enumerate(found):
        rng = random.Random(number)
        for _, _, data in graph.edges(data=True):
            data["weight"] = rng.choice([0.5, 1.0, 2.0, 3.5])
    return found


def stored(graph: Any) -> quipu.Graph:
    """The same graph in a database."""
    is_text = any(isinstance(v, str) for v in graph)
    g = quipu.open().graph("g", vertex="str" if is_text else "u64", weight="float64")
    us, vs, ws = zip(*graph.edges(data="weight"), strict=True)
    column = list if is_text else lambda ids: np.array(ids, dtype="uint64")
    g.upsert_many(column(us), column(vs), list(ws))
    return g


def simple(graph: Any) -> Any:
    """The undirected graph without self-loops."""
    found = nx.Graph(graph)
    found.remove_edges_from(list(nx.selfloop_edges(found)))
    return found


def acyclic(graph: Any) -> Any:
    """The edges that go on in the order of the vertices."""
    place = {v: at for at, v in enumerate(graph)}
    found = nx.DiGraph([(u, v) for u, v in graph.edges if place[u] < place[v]] or [(1, 2)])
    nx.set_edge_attributes(found, 1.0, "weight")
    return found


def close(found: dict[Any, float], wanted: dict[Any, float], tolerance: float = 1e-9) -> bool:
    return found.keys() == wanted.keys() and all(
        math.isclose(found[v], wanted[v], rel_tol=tolerance, abs_tol=tolerance) for v in wanted
    )


def parts(groups: Any) -> set[frozenset[Any]]:
    return {frozenset(group.tolist() if isinstance(group, np.ndarray) else group) for group in groups}


@pytest.fixture(params=range(len(graphs())))
def pair(request: pytest.FixtureRequest) -> tuple[Any, quipu.Graph]:
    graph = graphs()[request.param]
    return graph, stored(graph)


def test_arrays_of_a_projection_are_the_graph(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    p = g.project(weight="weight")
    ids = p.ids.tolist()
    assert set(ids) == set(graph)
    weights = p.weights
    assert weights is not None
    found = {
        (ids[i], ids[p.targets[k]]): weights[k] for i in range(len(ids)) for k in range(p.offsets[i], p.offsets[i + 1])
    }
    assert found == {(u, v): w for u, v, w in graph.edges(data="weight")}
    offsets, sources, _ = p.reverse
    for i, v in enumerate(ids):
        assert {ids[k] for k in sources[offsets[i] : offsets[i + 1]]} == set(graph.predecessors(v))
    assert p.positions(ids).tolist() == list(range(len(ids)))
    for array in (p.offsets, p.targets, weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


FLOATS: dict[str, tuple[Callable[[quipu.Graph], Any], Callable[[Any], Any]]] = {
    "pagerank": (lambda g: g.pagerank(), lambda graph: nx.pagerank(graph)),
    "pagerank without weights": (
        lambda g: g.pagerank(weight=None, alpha=0.5),
        lambda graph: nx.pagerank(graph, alpha=0.5, weight=None),
    ),
    "closeness": (lambda g: g.closeness_centrality(), nx.closeness_centrality),
    "weighted closeness": (
        lambda g: g.closeness_centrality(weight="weight", wf_improved=False),
        lambda graph: nx.closeness_centrality(graph, distance="weight", wf_improved=False),
    ),
    "harmonic": (lambda g: g.harmonic_centrality(), nx.harmonic_centrality),
    "betweenness": (lambda g: g.betweenness_centrality(), nx.betweenness_centrality),
    "weighted betweenness": (
        lambda g: g.betweenness_centrality(weight="weight", endpoints=True),
        lambda graph: nx.betweenness_centrality(graph, weight="weight", endpoints=True),
    ),
    "undirected betweenness": (
        lambda g: g.betweenness_centrality(undirected=True, normalized=False),
        lambda graph: nx.betweenness_centrality(nx.Graph(graph), normalized=False),
    ),
    "edge betweenness": (lambda g: g.edge_betweenness_centrality(), nx.edge_betweenness_centrality),
    "degree": (lambda g: g.degree_centrality(), nx.degree_centrality),
    "undirected degree": (
        lambda g: g.degree_centrality(undirected=True),
        lambda graph: nx.degree_centrality(nx.Graph(graph)),
    ),
    "in-degree": (lambda g: g.in_degree_centrality(), nx.in_degree_centrality),
    "out-degree": (lambda g: g.out_degree_centrality(), nx.out_degree_centrality),
    "clustering": (lambda g: g.clustering(), nx.clustering),
    "undirected clustering": (
        lambda g: g.clustering(undirected=True),
        lambda graph: nx.clustering(nx.Graph(graph)),
    ),
    "triangles": (lambda g: g.triangles(undirected=True), lambda graph: nx.triangles(nx.Graph(graph))),
    "katz": (
        lambda g: g.katz_centrality(alpha=0.01),
        lambda graph: nx.katz_centrality(graph, alpha=0.01),
    ),
}


@pytest.mark.parametrize("name", FLOATS)
def test_values_are_those_of_networkx(name: str, pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    ours, theirs = FLOATS[name]
    assert close(ours(g).to_dict(), theirs(graph), 1e-6)


def test_components_are_those_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    assert parts(g.connected_components().groups()) == parts(nx.weakly_connected_components(graph))
    strong = g.strongly_connected_components().groups()
    assert parts(strong) == parts(nx.strongly_connected_components(graph))
    assert g.is_directed_acyclic_graph() == nx.is_directed_acyclic_graph(graph)
    undirected = nx.Graph(graph)
    found = g.project(undirected=True).bridges()
    ends = {frozenset(edge) for edge in zip(found["source"].tolist(), found["target"].tolist(), strict=True)}
    assert ends == {frozenset(edge) for edge in nx.bridges(undirected)}
    assert set(g.articulation_points(undirected=True).ids.tolist()) == set(nx.articulation_points(undirected))


def test_cores_and_trusses_are_those_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    if nx.number_of_selfloops(graph):
        with pytest.raises(quipu.InvalidInputError) as refused:
            g.core_number()
        assert refused.value.reason == "self_loop"
    else:
        assert g.core_number().to_dict() == nx.core_number(graph)
        assert g.core_number(undirected=True).to_dict() == nx.core_number(nx.Graph(graph))
    assert g.transitivity(undirected=True) == pytest.approx(nx.transitivity(nx.Graph(graph)))
    assert g.average_clustering() == pytest.approx(nx.average_clustering(graph))


def test_searches_are_those_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    for source in list(graph)[:4]:
        levels = g.bfs(source).to_dict()
        assert levels == dict(nx.single_source_shortest_path_length(graph, source))
        near = g.bfs(source, depth_limit=1).to_dict()
        assert near == dict(nx.single_source_shortest_path_length(graph, source, cutoff=1))
        wanted = dict(nx.single_source_dijkstra_path_length(graph, source))
        found = g.shortest_paths(source, weight="weight")
        assert close(found.to_dict(), wanted)
        assert close(g.bellman_ford(source).to_dict(), wanted)
        for goal in graph:
            if goal not in wanted:
                with pytest.raises(quipu.InvalidInputError, match="no path") as refused:
                    g.shortest_path(source, goal)
                assert refused.value.reason == "no_path"
                with pytest.raises(quipu.InvalidInputError, match="no path"):
                    found.path(goal)
                continue
            path = found.path(goal)
            assert (path[0], path[-1]) == (source, goal)
            assert nx.path_weight(graph, path, "weight") == pytest.approx(wanted[goal])
            [one] = g.shortest_path(source, goal, weight="weight").paths()
            assert nx.path_weight(graph, one, "weight") == pytest.approx(wanted[goal])
            paths = g.all_shortest_paths(source, goal).paths()
            assert sorted(paths) == sorted(nx.all_shortest_paths(graph, source, goal))


def test_communities_and_their_modularity(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    undirected = nx.Graph(graph)
    p = g.project(weight="weight", undirected=True)
    for found in (p.louvain(), p.leiden(seed=1), p.label_propagation(), p.cdlp()):
        groups = [group.tolist() for group in found.groups()]
        assert sorted(v for group in groups for v in group) == sorted(graph)
        # Both directions may differ in weight, so the graph is made of the projection's own edges.
        same = nx.Graph()
        same.add_nodes_from(undirected)
        ids, weights = p.ids.tolist(), p.weights
        assert weights is not None
        for i, v in enumerate(ids):
            for k in range(p.offsets[i], p.offsets[i + 1]):
                same.add_edge(v, ids[p.targets[k]], weight=weights[k])
        wanted = nx.community.modularity(same, groups)
        # A self-loop counts once in our sums and twice in NetworkX's.
        if not nx.number_of_selfloops(graph):
            assert p.modularity(found) == pytest.approx(wanted)
            assert p.modularity(groups) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(3))
def test_louvain_is_about_as_good_as_that_of_networkx(seed: int) -> None:
    """Developers and repositories of twenty fields; a few repositories have most of the edges."""
    rng = random.Random(seed)
    graph = nx.Graph()
    for developer in range(2000):
        field = rng.randrange(20)
        for _ in range(4):
            own = field * 40 + int(40 * rng.random() ** 3)
            any_field = int(800 * rng.random() ** 3)
            graph.add_edge(developer, 2000 + (own if rng.random() < 0.8 else any_field))
    g = quipu.open().graph("g", directed=False)
    g.import_arrow(list(graph.edges))
    p = g.project()
    wanted = nx.community.modularity(graph, nx.community.louvain_communities(graph, seed=seed))
    assert p.modularity(p.louvain()) > wanted - 0.01


def test_spanning_trees_and_flows_are_those_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    p = g.project(weight="weight", undirected=True, parallel="min")
    tree = p.minimum_spanning_tree()
    undirected = nx.Graph()
    for u, v, w in graph.edges(data="weight"):
        least = min(w, undirected.get_edge_data(u, v, {"weight": w})["weight"])
        undirected.add_edge(u, v, weight=least)
    wanted = nx.minimum_spanning_tree(undirected)
    assert float(tree.values.sum()) == pytest.approx(wanted.size("weight"))
    assert len(tree) == wanted.number_of_edges()
    source, *_, target = [*graph, *graph]
    if source != target:
        flow = nx.maximum_flow_value(graph, source, target, capacity="weight")
        assert g.maximum_flow_value(source, target) == pytest.approx(flow)
        cut = g.minimum_cut(source, target).groups()
        assert parts(cut) == parts(nx.minimum_cut(graph, source, target, capacity="weight")[1])


def test_choices_and_mixing_are_those_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    undirected = simple(graph)
    colors = g.greedy_color(undirected=True).to_dict()
    assert all(colors[u] != colors[v] for u, v in undirected.edges)
    assert g.is_bipartite() == nx.is_bipartite(nx.Graph(graph))
    chosen = set(g.maximal_independent_set(seed=3).ids.tolist())
    assert undirected.subgraph(chosen).number_of_edges() == 0
    assert all(chosen & {v, *undirected[v]} for v in undirected)
    matching = g.maximal_matching()
    pairs = set(zip(matching["source"].tolist(), matching["target"].tolist(), strict=True))
    assert nx.is_maximal_matching(undirected, pairs)
    assert g.overall_reciprocity() == pytest.approx(nx.overall_reciprocity(graph))
    if not nx.number_of_selfloops(graph):
        assert g.onion_layers().to_dict() == nx.onion_layers(undirected)
        ours = g.degree_assortativity_coefficient()
        # Where degrees do not vary there is no correlation, and SciPy only warns.
        if not math.isnan(ours):
            assert ours == pytest.approx(nx.degree_pearson_correlation_coefficient(graph, x="out", y="in"))


def test_eigenvector_centrality_is_that_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    for ours, theirs in ((g.project(weight="weight"), graph), (g.project(undirected=True), nx.Graph(graph))):
        weight = "weight" if theirs is graph else None
        try:
            wanted = nx.eigenvector_centrality(theirs, max_iter=300, weight=weight)
        except nx.PowerIterationFailedConvergence:
            with pytest.raises(quipu.InvalidInputError) as refused:
                ours.eigenvector_centrality(max_iter=300)
            assert refused.value.reason == "no_convergence"
        else:
            assert close(ours.eigenvector_centrality(max_iter=300).to_dict(), wanted, 1e-6)


def test_hubs_point_to_authorities_and_authorities_are_pointed_to_by_hubs(pair: tuple[Any, quipu.Graph]) -> None:
    # NetworkX takes the vector of SciPy's SVD, which is one of many where values are equal.
    graph, g = pair
    try:
        found = g.hits(max_iter=5000, tol=1e-12)
    except quipu.InvalidInputError as error:
        assert error.reason == "no_convergence"
        return
    ids = found["vertex"].tolist()
    hubs, authorities = np.array(found["hub"]), np.array(found["authority"])
    matrix = nx.to_numpy_array(graph, ids)
    for vector, other in ((matrix @ authorities, hubs), (matrix.T @ hubs, authorities)):
        assert other.sum() == pytest.approx(1.0)
        assert vector / vector.sum() == pytest.approx(other, abs=1e-6)


def test_the_k_shortest_paths_are_the_first_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    source, *rest = graph
    for target in rest[:6]:
        for weight in (None, "weight"):
            if not nx.has_path(graph, source, target):
                with pytest.raises(quipu.InvalidInputError) as refused:
                    g.k_shortest_paths(source, target, k=4, weight=weight)
                assert refused.value.reason == "no_path"
                continue
            wanted = itertools.islice(nx.shortest_simple_paths(graph, source, target, weight), 4)
            length = len if weight is None else lambda path: nx.path_weight(graph, path, "weight")
            found = g.k_shortest_paths(source, target, k=4, weight=weight).paths()
            assert [length(path) for path in found] == pytest.approx([length(path) for path in wanted])
            assert len({tuple(path) for path in found}) == len(found)
            assert all(nx.is_simple_path(graph, path) for path in found)
            assert all((path[0], path[-1]) == (source, target) for path in found)


def test_edges_of_a_truss_number_are_those_of_the_trusses(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    if nx.number_of_selfloops(graph):
        with pytest.raises(quipu.InvalidInputError) as refused:
            g.truss_number()
        assert refused.value.reason == "self_loop"
        graph = simple(graph)
        if not graph.edges:
            return
        g = stored(graph)
    undirected = nx.Graph(graph)
    found = g.truss_number()
    rows = zip(*(found[name].tolist() for name in ("source", "target", "truss")), strict=True)
    numbers = {frozenset((u, v)): k for u, v, k in rows}
    assert numbers.keys() == {frozenset(edge) for edge in undirected.edges}
    for k in range(2, max(numbers.values(), default=2) + 2):
        wanted = {frozenset(edge) for edge in nx.k_truss(undirected, k).edges}
        assert {edge for edge, number in numbers.items() if number >= k} == wanted


def test_an_order_is_topological_or_there_is_a_cycle(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    for both, ours in ((graph, g), (acyclic(graph), stored(acyclic(graph)))):
        if not nx.is_directed_acyclic_graph(both):
            with pytest.raises(quipu.InvalidInputError) as refused:
                ours.topological_sort()
            assert refused.value.reason == "has_cycle"
            continue
        place = {v: at for at, v in enumerate(ours.topological_sort()["vertex"].tolist())}
        assert place.keys() == set(both)
        assert all(place[u] < place[v] for u, v in both.edges)


@pytest.mark.parametrize(
    ("measure", "theirs"),
    [
        ("jaccard", "jaccard_coefficient"),
        ("adamic_adar", "adamic_adar_index"),
        ("resource_allocation", "resource_allocation_index"),
        ("common_neighbors", None),
        ("overlap", None),
    ],
)
def test_the_most_similar_are_those_of_networkx(
    measure: Any, theirs: str | None, pair: tuple[Any, quipu.Graph]
) -> None:
    graph, g = pair
    undirected = nx.Graph(graph)

    def score(u: Any, v: Any) -> float:
        if theirs is not None:
            return next(iter(getattr(nx, theirs)(undirected, [(u, v)])))[2]
        common = len(list(nx.common_neighbors(undirected, u, v)))
        return common if measure == "common_neighbors" else common / min(len(undirected[u]), len(undirected[v]))

    found = g.most_similar(measure=measure, k=3)
    rows = zip(*(found[name].tolist() for name in ("source", "target", "score")), strict=True)
    best: dict[Any, list[float]] = {}
    for u, v, one in rows:
        assert one == pytest.approx(score(u, v))
        best.setdefault(u, []).append(one)
    for u in undirected:
        others = [v for v in undirected if v != u and list(nx.common_neighbors(undirected, u, v))]
        wanted = sorted((score(u, v) for v in others), reverse=True)[:3]
        assert best.get(u, []) == pytest.approx(wanted)


def test_all_pairs_have_the_distances_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    some = list(graph)[:2]
    for weight, cutoff, wanted in (
        (None, None, dict(nx.all_pairs_shortest_path_length(graph))),
        ("weight", None, dict(nx.all_pairs_dijkstra_path_length(graph))),
        (None, 2, dict(nx.all_pairs_shortest_path_length(graph, 2))),
        ("weight", 2.5, dict(nx.all_pairs_dijkstra_path_length(graph, 2.5))),
    ):
        for sources in (None, some):
            found = g.all_pairs_shortest_path_length(weight=weight, cutoff=cutoff, sources=sources)
            rows = zip(*(found[name].tolist() for name in ("source", "target", "distance")), strict=True)
            of = graph if sources is None else sources
            assert {(u, v): d for u, v, d in rows} == {(u, v): d for u in of for v, d in wanted[u].items()}


def test_a_star_finds_a_shortest_path(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    source, *rest = [*graph, *graph]
    for target in rest[:6]:
        # A half of the true distance is never too much.
        true = nx.shortest_path_length(graph, target=target, weight="weight")
        if source not in true:
            with pytest.raises(quipu.InvalidInputError) as refused:
                g.astar_path(source, target)
            assert refused.value.reason == "no_path"
            continue
        for heuristic in (None, {v: d / 2 for v, d in true.items()}, true):
            [path] = g.astar_path(source, target, heuristic=heuristic, weight="weight").paths()
            assert (path[0], path[-1]) == (source, target)
            assert nx.path_weight(graph, path, "weight") == pytest.approx(true[source])


def test_biconnected_components_are_those_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    found = g.biconnected_components()
    components: dict[int, set[frozenset[Any]]] = {}
    for u, v, number in zip(*(found[name].tolist() for name in ("source", "target", "component")), strict=True):
        components.setdefault(number, set()).add(frozenset((u, v)))
    wanted = [{frozenset(edge) for edge in edges} for edges in nx.biconnected_component_edges(simple(graph))]
    assert sorted(map(len, components.values())) == sorted(map(len, wanted))
    assert all(component in wanted for component in components.values())


def test_conductance_is_that_of_networkx(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    undirected = nx.Graph(graph)
    p = g.project(undirected=True)
    for count in range(1, len(graph)):
        nodes = list(graph)[:count]
        degrees = [undirected.degree(v) for v in undirected]
        if not sum(degrees[:count]) or not sum(degrees[count:]):
            continue
        assert p.conductance(nodes) == pytest.approx(nx.conductance(undirected, nodes))


def test_random_walks_follow_edges(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    for p, q in ((1.0, 1.0), (0.25, 4.0)):
        walks = g.random_walks(length=6, walks=2, p=p, q=q, seed=5).paths()
        starts = sorted(walk[0] for walk in walks)
        assert starts == sorted([*graph] * 2)
        for walk in walks:
            assert all(graph.has_edge(u, v) for u, v in itertools.pairwise(walk))
            assert len(walk) == 6 or not list(graph.successors(walk[-1]))
        assert g.random_walks(length=6, walks=2, p=p, q=q, seed=5).paths() == walks


def test_approximate_betweenness_is_within_its_error() -> None:
    graph = nx.gnp_random_graph(40, 0.1, seed=4, directed=True)
    g = quipu.open().graph("g")
    g.upsert_many([u for u, _ in graph.edges], [v for _, v in graph.edges])
    found = g.approximate_betweenness(error=0.05, failure=0.01, seed=1).to_dict()
    wanted = nx.betweenness_centrality(graph)
    assert all(abs(found[v] - wanted[v]) < 0.05 for v in found)


def test_eccentricities_need_one_component() -> None:
    graph = nx.cycle_graph(7)
    g = quipu.open().graph("g")
    g.upsert_many([u for u, _ in graph.edges], [v for _, v in graph.edges])
    assert g.eccentricity(undirected=True).to_dict() == nx.eccentricity(graph)
    assert (g.diameter(undirected=True), g.radius(undirected=True)) == (3, 3)
    assert sorted(g.center(undirected=True).ids.tolist()) == sorted(nx.center(graph))
    with pytest.raises(quipu.InvalidInputError) as refused:
        quipu.open().project("?[a, b] <- [[1, 2], [3, 4]]").diameter()
    assert refused.value.reason == "disconnected"


def test_personalization_is_a_mapping_an_array_or_a_result() -> None:
    graph = nx.DiGraph([(1, 2), (2, 3), (3, 1), (3, 4)])
    g = quipu.open().graph("g")
    g.upsert_many([1, 2, 3, 3], [2, 3, 1, 4])
    wanted = nx.pagerank(graph, personalization={1: 2, 4: 1})
    assert close(g.pagerank(personalization={1: 2, 4: 1, 99: 5}).to_dict(), wanted, 1e-6)
    p = g.project()
    first = p.pagerank()
    wanted = nx.pagerank(graph, nstart=nx.pagerank(graph))
    assert close(p.pagerank(nstart=first).to_dict(), wanted, 1e-6)
    with pytest.raises(quipu.InvalidInputError) as refused:
        g.pagerank(personalization={1: 0})
    assert refused.value.reason == "zero_sum"
    with pytest.raises(quipu.InvalidInputError) as refused:
        g.pagerank(max_iter=1)
    assert refused.value.reason == "no_convergence"


def test_negative_weights_are_for_bellman_ford() -> None:
    db = quipu.open()
    p = db.project("?[a, b, w] <- [[1, 2, 4.0], [1, 3, 1.0], [3, 2, -2.0]]")
    assert p.bellman_ford(1).to_dict() == {1: 0.0, 2: -1.0, 3: 1.0}
    with pytest.raises(quipu.InvalidInputError, match="edge from 3 to 2") as refused:
        p.shortest_paths(1)
    assert refused.value.reason == "negative_weight"
    cycle = db.project("?[a, b, w] <- [[1, 2, 1.0], [2, 1, -2.0]]")
    with pytest.raises(quipu.InvalidInputError) as refused:
        cycle.bellman_ford(1)
    assert refused.value.reason == "negative_cycle"


def test_projections_are_shared_until_the_graph_changes() -> None:
    g = quipu.open().graph("g")
    g.upsert_many([1, 2], [2, 3])
    before = g.project()
    pointer = before.targets.ctypes.data
    assert g.project().targets.ctypes.data == pointer
    g.upsert(3, 4)
    after = g.project()
    assert (before.number_of_edges(), after.number_of_edges()) == (2, 3)
    targets = after.targets
    del after, before
    assert targets.tolist() == [1, 2, 3]


def test_nodes_conditions_and_queries_choose_edges() -> None:
    db = quipu.open()
    g = db.graph("g", weight="float64")
    g.upsert_many([1, 2, 3, 4], [2, 3, 1, 1], [1.0, 2.0, 3.0, 4.0])
    assert g.project(nodes=[1, 2, 99]).number_of_edges() == 1
    assert g.project(where="weight > $least", params={"least": 2.5}).ids.tolist() == [1, 3, 4]
    assert g.pagerank(nodes={1, 2, 3}).ids.tolist() == [1, 2, 3]
    hops = db.project("?[a, b] := *g{src: a, dst: m}, *g{src: m, dst: b}", undirected=True)
    assert not hops.is_directed
    assert g.project().subgraph([2, 3]).ids.tolist() == [2, 3]
    parallel = db.project("?[a, b, w] <- [[1, 2, 2.0], [1, 2, 5.0]]", parallel="sum")
    assert parallel.weights is not None
    assert parallel.weights.tolist() == [7.0]
    project: Any = g.project
    for wrong in ({"weight": "km"}, {"parallel": "max"}, {"params": {"a": 1}}):
        with pytest.raises(quipu.InvalidInputError):
            project(**wrong)


def test_results_become_frames_and_relations() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    db = quipu.open()
    g = db.graph("g", vertex="str")
    g.upsert_many(["a", "b", "c"], ["b", "c", "a"])
    ranks = g.pagerank()
    assert ranks.columns == ["vertex", "rank"]
    frame = ranks.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["vertex"].tolist() == ["a", "b", "c"]
    assert ranks.top(1) == [("a", pytest.approx(1 / 3))]
    ranks.write("ranks")
    assert db.run("?[count(vertex)] := *ranks{vertex, rank}").rows() == [(3,)]
    search = g.bfs("a")
    assert search["parent"].tolist() == [None, "a", "b"]
    assert search.path("c") == ["a", "b", "c"]
    walks = g.random_walks(starts="a", length=4, walks=2, seed=3)
    assert walks.paths() == [["a", "b", "c", "a"]] * 2
    assert "pagerank" in repr(ranks)
    for wrong in (ranks.groups, ranks.paths, lambda: ranks.path("a")):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(KeyError, match="vertex, rank"):
        ranks["score"]


def test_networkx_gets_the_same_graph(pair: tuple[Any, quipu.Graph]) -> None:
    graph, g = pair
    found = g.project(weight="weight").to_networkx()
    assert nx.utils.graphs_equal(found, graph) or found.adj == graph.adj
    undirected = g.project(undirected=True).to_networkx()
    assert {frozenset(edge) for edge in undirected.edges} == {frozenset(edge) for edge in graph.edges}
    assert not undirected.is_directed()


def test_scipy_gets_the_matrix() -> None:
    pytest.importorskip("scipy", reason="scipy is not installed")
    db = quipu.open()
    matrix = db.project("?[a, b, w] <- [[5, 6, 2.0], [6, 5, 3.0], [6, 7, 0.5]]").to_scipy()
    assert matrix.toarray().tolist() == [[0, 2, 0], [3, 0, 0.5], [0, 0, 0]]
    assert db.project("?[a, b] <- []").to_scipy().shape == (0, 0)


def test_a_multigraph_keeps_parallel_edges_and_an_ego_graph_its_neighbors() -> None:
    db = quipu.open()
    p = db.project("?[a, b, w] <- [[1, 2, 2.0], [1, 2, 3.0], [2, 3, 1.0], [3, 4, 1.0]]")
    multi = p.to_networkx()
    assert multi.is_multigraph()
    assert multi.number_of_edges() == 4
    assert p.ego(1, radius=2).ids.tolist() == [1, 2, 3]


@pytest.mark.parametrize("name", ["to_igraph", "to_networkit", "to_pyg"])
def test_a_library_that_is_not_installed_is_named_with_a_hint(name: str) -> None:
    package = {"to_igraph": "igraph", "to_networkit": "networkit", "to_pyg": "torch_geometric"}[name]
    p = quipu.open().project("?[a, b] <- [[1, 2]]", undirected=True)
    try:
        __import__(package)
    except ImportError:
        with pytest.raises(ImportError, match=f"hint: pip install {package}"):
            getattr(p, name)()
    else:
        assert getattr(p, name)() is not None


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing .*'source'"),
        ((), {"depth_limit": 1}, "missing .*'source'"),
        ((1, 2), {}, "positional arguments?"),
        ((1,), {"source": 2}, "multiple values for argument 'source'"),
        ((1,), {"depth": 2}, "unexpected keyword argument 'depth'"),
        ((1,), {"weight": None}, "unexpected keyword argument 'weight'"),
    ],
)
def test_wrong_arguments_of_a_method_are_type_errors(args: Any, kwargs: Any, message: str) -> None:
    g = quipu.open().graph("g")
    g.upsert(1, 2)
    for owner in (g, g.project()):
        with pytest.raises(TypeError, match=message):
            owner.bfs(*args, **kwargs)


def test_an_argument_of_project_is_named_where_a_projection_does_not_take_it() -> None:
    g = quipu.open().graph("g", weight="float64")
    g.upsert(1, 2, 3.0)
    louvain: Any = g.project().louvain
    for argument in ("weight", "undirected", "where"):
        with pytest.raises(TypeError, match=rf"project\({argument}=\.\.\.\)"):
            louvain(**{argument: None})


def test_a_method_can_be_inspected_and_called_through_its_class() -> None:
    g = quipu.open().graph("g")
    g.upsert(1, 2)
    found = inspect.signature(quipu.Graph.bfs).parameters
    assert list(found)[:3] == ["self", "source", "depth_limit"]
    assert (found["depth_limit"].default, found["undirected"].default) == (None, False)
    assert list(inspect.signature(g.bfs).parameters) == list(found)[1:]
    assert "source" in pydoc.plain(pydoc.render_doc(quipu.Projection.bfs))
    assert quipu.Graph.bfs(g, source=1).to_dict() == g.bfs(1).to_dict() == {1: 0, 2: 1}


def test_methods_and_stubs_are_those_of_the_table() -> None:
    tool = Path(__file__).parents[2] / "tools/algorithms.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
