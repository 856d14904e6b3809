"""Kernels give NetworkX's answers: values, types, order and errors; NetworkX's own code answers refused calls."""

import random
from collections.abc import Callable
from typing import Any

import networkx
import numpy as np
import pytest
import quipu
import quipu.nx
from quipu.nx import _native, _projecting
from quipu.nx._kernels import KERNELS
from quipu.nx._native import Refused
from quipu.nx._rows import Rows
from quipu_networkx import networkx_version

from nx_shapes import KINDS, difference, graphs, outcome

# The stubs say less than the module has.
nx: Any = networkx

#: Makes the arguments after the graph from the graph and a source of random choices.
Arguments = Callable[[Any, random.Random], list[dict[str, Any]]]


def _vertex(G: Any, rng: random.Random) -> Any:
    return rng.choice([*G, "no such vertex"])


def _nothing(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    return [{}]


def _each(**options: list[Any]) -> Arguments:
    return lambda G, rng: [{}, *({name: value} for name, values in options.items() for value in values)]


def _from(name: str = "source", **options: list[Any]) -> Arguments:
    def arguments(G: Any, rng: random.Random) -> list[dict[str, Any]]:
        more = [{}, *({key: value} for key, values in options.items() for value in values)]
        return [{name: _vertex(G, rng), **one} for one in more]

    return arguments


def _pair(names: tuple[str, str] = ("source", "target"), **options: list[Any]) -> Arguments:
    def arguments(G: Any, rng: random.Random) -> list[dict[str, Any]]:
        more = [{}, *({key: value} for key, values in options.items() for value in values)]
        return [{names[0]: _vertex(G, rng), names[1]: _vertex(G, rng), **one} for one in more]

    return arguments


def _several(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    some = rng.sample(list(G), min(len(G), 3))
    return [{"sources": some}, {"sources": some, "weight": None}, {"sources": some, "cutoff": 3}]


def _nodes(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    return [{}, {"nodes": rng.sample(list(G), len(G) // 2)}, {"nodes": _vertex(G, rng)}]


def _weighted_nodes(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    return [*_nodes(G, rng), {"weight": "weight"}, {"weight": "color"}]


def _ranks(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    some = {n: rng.randint(0, 3) for n in rng.sample(list(G), len(G) // 2)}
    names = ("personalization", "dangling", "nstart")
    options = [{"alpha": 0.5, "tol": 1e-10}, {"weight": None}, {"max_iter": 1}, {"max_iter": 0}]
    return [{}, *options, *({name: some} for name in names), {"personalization": {"no such vertex": 1}}]


def _powers(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    start = {n: rng.randint(0, 3) for n in G}
    return [{}, {"weight": "weight"}, {"max_iter": 1000, "tol": 1e-10}, {"max_iter": 1}, {"nstart": start}]


def _katz(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    options = [{"alpha": 0.01}, {"alpha": 0.02, "beta": 2, "normalized": False}, {"beta": dict.fromkeys(G, 0.5)}]
    return [{}, *options, {"alpha": 0.01, "weight": "weight"}, {"max_iter": 1}]


def _communities(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    parts: list[set[Any]] = [set(), set(), set()]
    for n in G:
        rng.choice(parts).add(n)
    whole = [part for part in parts if part]
    options = [{}, {"resolution": 0.5}, {"weight": None}]
    return [*({"communities": whole, **one} for one in options), {"communities": whole[1:]}]


def _pairs(G: Any, rng: random.Random) -> list[dict[str, Any]]:
    some = [(rng.choice(list(G)), rng.choice(list(G))) for _ in range(20 if len(G) else 0)]
    return [{}, {"ebunch": some}, {"ebunch": [("no such vertex", 1)]}]


CASES: dict[str, Arguments] = {
    "adamic_adar_index": _pairs,
    "all_pairs_dijkstra": _each(cutoff=[2], weight=[None]),
    "all_pairs_dijkstra_path": _each(cutoff=[2]),
    "all_pairs_dijkstra_path_length": _each(cutoff=[2]),
    "all_pairs_shortest_path_length": _each(cutoff=[1, 3]),
    "ancestors": _from(),
    "average_clustering": lambda G, rng: [*_weighted_nodes(G, rng), {"count_zeros": False}],
    "average_shortest_path_length": _each(method=["unweighted", "dijkstra"], weight=["weight"]),
    "bellman_ford_path_length": _pair(weight=[None, "color"]),
    "betweenness_centrality": lambda G, rng: [
        *_each(normalized=[False], endpoints=[True], weight=["weight"])(G, rng),
        *({"k": len(G) // 2, "seed": 3, **one} for one in ({}, {"normalized": False}, {"endpoints": True})),
    ],
    "bfs_edges": _from(depth_limit=[1, 3], reverse=[True]),
    "bfs_layers": _from("sources"),
    "bridges": _nothing,
    "closeness_centrality": lambda G, rng: [
        *_each(wf_improved=[False], distance=["weight"])(G, rng),
        *_from("u", wf_improved=[False], distance=["weight"])(G, rng),
    ],
    "clustering": _weighted_nodes,
    "connected_components": _nothing,
    "core_number": _nothing,
    "degree_assortativity_coefficient": _each(x=["in"]),
    "degree_centrality": _nothing,
    "degree_pearson_correlation_coefficient": _each(x=["in"]),
    "descendants": _from(),
    "dijkstra_path": _pair(weight=[None, "color"]),
    "dijkstra_path_length": _pair(weight=[None, "color"]),
    "eccentricity": _each(weight=["weight"]),
    "edge_betweenness_centrality": lambda G, rng: [
        *_each(normalized=[False], weight=["weight"])(G, rng),
        {"k": len(G) // 2, "seed": 3},
    ],
    "eigenvector_centrality": _powers,
    "greedy_color": _each(strategy=["smallest_last", "connected_sequential_bfs"]),
    "harmonic_centrality": _each(distance=["weight"]),
    "in_degree_centrality": _nothing,
    "is_biconnected": _nothing,
    "is_bipartite": _nothing,
    "is_connected": _nothing,
    "is_directed_acyclic_graph": _nothing,
    "is_strongly_connected": _nothing,
    "is_weakly_connected": _nothing,
    "jaccard_coefficient": _pairs,
    "k_truss": lambda G, rng: [{"k": k} for k in (2, 3, 4)],
    "katz_centrality": _katz,
    "maximum_flow_value": _pair(("_s", "_t"), capacity=["weight"]),
    "maximum_spanning_edges": _each(data=[False], weight=["color"], algorithm=["prim"]),
    "minimum_cut": _pair(("_s", "_t"), capacity=["weight"]),
    "minimum_cut_value": _pair(("_s", "_t"), capacity=["weight"]),
    "minimum_spanning_edges": _each(data=[False], weight=["color"], algorithm=["prim"]),
    "modularity": _communities,
    "multi_source_dijkstra": _several,
    "multi_source_dijkstra_path": _several,
    "multi_source_dijkstra_path_length": _several,
    "node_connected_component": _from("n"),
    "number_connected_components": _nothing,
    "number_strongly_connected_components": _nothing,
    "number_weakly_connected_components": _nothing,
    "out_degree_centrality": _nothing,
    "overall_reciprocity": _nothing,
    "pagerank": _ranks,
    "preferential_attachment": _pairs,
    "resource_allocation_index": _pairs,
    "single_source_dijkstra": lambda G, rng: [
        *_from(weight=[None], cutoff=[2, 2.5])(G, rng),
        *_pair(cutoff=[2])(G, rng),
    ],
    "single_source_dijkstra_path": _from(weight=[None], cutoff=[2, 2.5]),
    "single_source_dijkstra_path_length": _from(weight=[None], cutoff=[2, 2.5]),
    "single_source_shortest_path": _from(cutoff=[1, 3]),
    "single_source_shortest_path_length": _from(cutoff=[1, 3, 3.5]),
    "transitivity": _nothing,
    "triangles": _nodes,
    "weakly_connected_components": _nothing,
}

#: Functions of NetworkX that call kernels.
THROUGH: dict[str, Arguments] = {
    "all_pairs_shortest_path": _each(cutoff=[1, 3]),
    "bfs_tree": _from(depth_limit=[1, 3]),
    "center": _each(weight=["weight"]),
    "descendants_at_distance": _from(distance=[0, 2]),
    "diameter": _each(weight=["weight"], usebounds=[True]),
    "ego_graph": _from("n", radius=[3], distance=["weight"], undirected=[True]),
    "has_bridges": _nothing,
    "k_core": _each(k=[2]),
    "k_crust": _nothing,
    "k_shell": _nothing,
    "maximum_spanning_tree": _nothing,
    "minimum_spanning_tree": _each(weight=["color"]),
    "periphery": _nothing,
    "radius": _nothing,
    "reciprocity": _each(nodes=[["no such vertex"]]),
    "shortest_path": lambda G, rng: [*_each(weight=["weight"])(G, rng), *_from(weight=["weight"])(G, rng)],
    "shortest_path_length": lambda G, rng: [*_pair(weight=["weight"])(G, rng), *_from("target")(G, rng)],
    "wiener_index": _each(weight=["weight"]),
}

#: Kernels whose answers NetworkX draws at random; they have tests of their own.
RANDOM = {"leiden_communities", "louvain_communities"}


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels for small graphs, and at the first question."""
    monkeypatch.setattr(_native, "VERTICES_MIN", 0)
    monkeypatch.setattr(_native, "is_known", lambda G: True)


def public(name: str) -> Any:
    """The function that a program calls."""
    modules = (nx, nx.community, nx.bipartite)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def in_memory(G: Any) -> Any:
    """The graph as one of ours, with the same orders."""
    return quipu.nx.backend.convert_from_nx(G, preserve_edge_attrs=True, preserve_node_attrs=True, name="f")


def stored(G: Any) -> Any:
    """The graph in a database, opened again, so that nothing of it is in memory."""
    db = quipu.open()
    kind = getattr(quipu.nx, type(G).__name__)
    kind(G, db=db, name="g").flush()
    return kind(db=db, name="g")


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that gave an answer."""
    names: list[str] = []
    run = _native.Kernel.run

    def counted(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        answer = run(kernel, *args, **kwargs)
        names.append(kernel.name)
        return answer

    monkeypatch.setattr(_native.Kernel, "run", counted)
    return names


@pytest.mark.parametrize(("place", "rounds", "least"), [(in_memory, 24, 3), (stored, 8, 1)])
@pytest.mark.parametrize("name", sorted({*CASES, *THROUGH}))
def test_answers_are_those_of_networkx(name: str, place: Any, rounds: int, least: int, answered: list[str]):
    function, arguments_of = public(name), {**THROUGH, **CASES}[name]
    for kind in KINDS:
        for about, plain in graphs(kind, range(rounds)):
            rng = random.Random(about)
            G = place(plain)
            for arguments in arguments_of(plain, rng):
                expected = outcome(lambda plain=plain, arguments=arguments: function(plain, **arguments))
                found = outcome(lambda G=G, arguments=arguments: function(G, **arguments))
                differs = difference(expected, found)
                assert differs is None, f"{about}, {arguments}: {differs}"
    is_refused = name in KERNELS and networkx_version() < KERNELS[name].since
    assert is_refused or len(answered) >= least, "the kernel answered too few calls for this test to mean something"


def test_each_kernel_has_cases():
    assert set(CASES) | RANDOM == set(KERNELS)


def _cliques(kind: Any, count: int) -> Any:
    G = kind()
    for i in range(count):
        G.add_edges_from((5 * i + u, 5 * i + v) for u in range(5) for v in range(5) if u != v)
        G.add_edge(5 * i, 5 * ((i + 1) % count) + 1)
    return G


@pytest.mark.parametrize("kind", ["Graph", "DiGraph"])
def test_louvain_finds_communities_as_good_as_those_of_networkx(kind: str, answered: list[str]):
    plain = _cliques(KINDS[kind], 8)
    found = nx.community.louvain_communities(in_memory(plain))
    assert answered == ["louvain_communities"]
    assert type(found) is list
    assert sorted(map(sorted, found)) == [list(range(i, i + 5)) for i in range(0, 40, 5)]
    seeded = nx.community.louvain_communities(in_memory(plain), seed=7)
    assert seeded == nx.community.louvain_communities(plain, seed=7)


def test_leiden_which_networkx_lacks_finds_communities(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_native, "VERTICES_MIN", 10**9)
    plain = _cliques(nx.Graph, 8)
    plain.add_node("alone")
    with pytest.raises(NotImplementedError):
        nx.community.leiden_communities(plain)
    for options in ({}, {"seed": 3}, {"max_level": 2}):
        found = nx.community.leiden_communities(in_memory(plain), **options)
        assert nx.community.is_partition(plain, found)
        assert nx.community.modularity(plain, found) > 0.7
    with pytest.raises(ValueError, match="positive"):
        nx.community.leiden_communities(in_memory(plain), max_level=0)
    assert nx.community.leiden_communities(quipu.nx.Graph()) == []


def test_leiden_takes_every_undirected_graph_and_says_which_weights_it_refuses():
    cliques = _cliques(nx.MultiGraph, 8)
    cliques.add_edges_from((n, n) for n in range(0, 40, 3))
    nx.set_edge_attributes(cliques, 1, "weight")
    cliques.add_edge(0, 21, weight=0)
    parts = [list(range(i, i + 5)) for i in range(0, 40, 5)]

    class Own(quipu.nx.Graph): ...

    for G in (quipu.nx.MultiGraph(cliques), quipu.nx.Graph(cliques), Own(cliques), Own(cliques).subgraph(range(40))):
        assert sorted(map(sorted, nx.community.leiden_communities(G, seed=1))) == parts
    for weight, error, reason in (
        ("heavy", ValueError, "a weight is not a number"),
        (float("inf"), ValueError, "a weight is not finite"),
        (-1, quipu.InvalidInputError, "negative"),
    ):
        with pytest.raises(error, match=reason):
            nx.community.leiden_communities(quipu.nx.Graph([(1, 2, {"weight": weight})]))


def test_answers_keep_the_spelling_of_the_source():
    for function in (nx.single_source_shortest_path_length, nx.single_source_dijkstra_path_length):
        found = function(quipu.nx.Graph([(1, 2), (2, 3)]), 1.0)
        assert list(map(repr, found)) == ["1.0", "2", "3"]


def test_what_a_kernel_refuses_is_answered_by_networkx():
    G = quipu.nx.Graph([(1, 2), (2, 3), (3, 1)])

    class Own(quipu.nx.Graph): ...

    cases = [
        ("clustering", quipu.nx.MultiGraph(G), {}, "parallel"),
        ("pagerank", G.subgraph([1, 2]), {}, "view"),
        ("pagerank", Own(G), {}, "subclass"),
        ("core_number", quipu.nx.Graph([(1, 1), (1, 2)]), {}, "self-loops"),
        ("pagerank", quipu.nx.Graph([(1, 2, {"weight": "heavy"})]), {}, "not a number"),
        ("pagerank", quipu.nx.Graph([(1, 2, {"weight": float("inf")})]), {}, "not finite"),
        ("dijkstra_path", quipu.nx.Graph([(1, 2, {"weight": -1})]), {"source": 1, "target": 2}, "positive"),
        ("eccentricity", G, {"weight": lambda u, v, d: 2}, "function"),
        ("triangles", quipu.nx.DiGraph(G), {}, "directed"),
        ("greedy_color", G, {"strategy": "smallest_last"}, "strategy"),
        ("single_source_shortest_path_length", G, {"source": 1, "cutoff": 1}, "neighborhood"),
        ("pagerank", G, {"wrong": 1}, "wrong"),
    ]
    for name, graph, options, reason in cases:
        with pytest.raises(Refused, match=reason):
            KERNELS[name].run(graph, **options)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.pagerank(G, max_iter=0)
    with pytest.raises(ZeroDivisionError):
        nx.pagerank(G, personalization={1: 0})
    with pytest.raises(TypeError):
        nx.pagerank(G, wrong=1)


@pytest.mark.parametrize("big", [2**53, 2**60])
def test_integers_that_floats_round_give_the_answers_of_networkx(big: int):
    for weights in ([big + 1, big + 3, 1], [big, 1, 1], [-big, -big - 1, -big - 2]):
        plain = nx.Graph()
        plain.add_weighted_edges_from(zip([0, 1, 2], [1, 2, 0], weights, strict=True))
        G = in_memory(plain)
        for name, options in (
            ("minimum_spanning_edges", {}),
            ("maximum_spanning_edges", {}),
            ("single_source_dijkstra", {"source": 0}),
            ("dijkstra_path_length", {"source": 0, "target": 1}),
            ("eccentricity", {"weight": "weight"}),
            ("betweenness_centrality", {"weight": "weight"}),
            ("edge_betweenness_centrality", {"weight": "weight"}),
            ("closeness_centrality", {"distance": "weight"}),
            ("maximum_flow_value", {"_s": 0, "_t": 1, "capacity": "weight"}),
        ):
            expected = outcome(lambda name=name, options=options, plain=plain: public(name)(plain, **options))
            found = outcome(lambda name=name, options=options, G=G: public(name)(G, **options))
            assert difference(expected, found, name) is None


def test_pairs_are_anything_with_two_items():
    G = quipu.nx.Graph(nx.path_graph(4))
    assert list(nx.jaccard_coefficient(G, [{0, 2}, [1, 3]])) == [(0, 2, 0.5), (1, 3, 0.5)]


def test_small_graphs_are_not_converted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_native, "VERTICES_MIN", 10)
    assert "less than 10" in str(quipu.nx.backend.should_run("pagerank", (nx.path_graph(5),), {}))
    assert "one pass" in str(quipu.nx.backend.should_run("connected_components", (nx.path_graph(50),), {}))
    assert quipu.nx.backend.should_run("pagerank", (nx.path_graph(50),), {}) is True
    with quipu.nx.enable():
        assert nx.pagerank(nx.path_graph(50)) == pytest.approx(nx.pagerank(nx.path_graph(50), backend="networkx"))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_a_projection_gets_memory_for_its_edges(is_weighted: bool, directed: bool, monkeypatch: pytest.MonkeyPatch):
    # A database of this limit refuses the projections.
    monkeypatch.setattr(_projecting, "LIMIT_BYTES_MIN", 64_000_000)
    count, each = 60_000, 20
    ring = np.arange(count, dtype="int32")
    # Each vertex has edges to the next ones, and an undirected one to those before it.
    steps = [*range(1, each + 1), *([] if directed else range(-each, 0))]
    targets = np.sort((ring[:, None] + np.asarray(steps, "int32")) % count).ravel()
    rows = Rows(list(range(count)), np.arange(count + 1) * len(steps), targets, None, directed=directed)
    weights = np.ones(len(targets)) if is_weighted else None
    projection = _projecting.projection_of(rows, weights)
    assert len(projection.targets) == len(targets)


def test_networkx_answers_where_a_kernel_has_not_the_memory(monkeypatch: pytest.MonkeyPatch):
    def refused(*_: Any, **__: Any) -> Any:
        raise quipu.LimitError("too much")

    G = quipu.nx.Graph(nx.path_graph(2000))
    monkeypatch.setattr(_projecting, "_made", refused)
    assert nx.core_number(G) == dict.fromkeys(range(2000), 1)
