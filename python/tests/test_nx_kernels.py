"""Kernels give NetworkX's answers: values, types and order; NetworkX's own code answers refused calls."""

from collections.abc import Iterator
from typing import Any

import networkx
import pytest
import quipu
import quipu.nx
from quipu.nx import _native
from quipu.nx._native import KERNELS, Refused

# The stubs say less than the module has.
nx: Any = networkx

UNDIRECTED_ONLY = {"triangles"}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "VERTICES_MIN", 0)


def graphs() -> Iterator[tuple[Any, Any]]:
    """Graphs of NetworkX without vertices of degree 0, and the same ones of ours, in memory and stored."""
    for seed in range(4):
        for kind, ours in ((nx.Graph, quipu.nx.Graph), (nx.DiGraph, quipu.nx.DiGraph)):
            random = nx.gnm_random_graph(40, [30, 60, 120, 300][seed], seed=seed, directed=kind is nx.DiGraph)
            random.remove_nodes_from([n for n in list(random) if not nx.degree(random, n)])
            G = nx.relabel_nodes(random, {n: str(n * 7 % 41) for n in random})
            for i, (_, _, attributes) in enumerate(G.edges(data=True)):
                if i % 3:
                    attributes["weight"] = i % 5 + 0.5
            yield G, ours(G)
            yield G, ours(G, db=quipu.open(), name="g", memory=0)


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_a_kernel_gives_the_answers_of_networkx(name: str):
    ran = 0
    for plain, G in graphs():
        if plain.is_directed() and name in UNDIRECTED_ONLY:
            continue
        expected, found = getattr(nx, name)(plain), KERNELS[name].run(G)
        assert list(found) == list(expected)
        assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
        ran += 1
    assert ran >= 8


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pagerank", {"alpha": 0.5, "tol": 1e-10}),
        ("pagerank", {"weight": None}),
        ("closeness_centrality", {"wf_improved": False}),
        ("betweenness_centrality", {"normalized": False}),
        ("betweenness_centrality", {"endpoints": True}),
    ],
)
def test_options_mean_what_they_mean_in_networkx(name: str, options: Any):
    for plain, G in graphs():
        expected = getattr(nx, name)(plain, **options)
        assert KERNELS[name].run(G, **options) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_what_a_kernel_refuses_is_answered_by_networkx():
    G = quipu.nx.Graph([(1, 2), (2, 3), (3, 1)])
    cases = [
        (quipu.nx.MultiGraph(G), {}, "parallel"),
        (G.subgraph([1, 2]), {}, "view"),
        (quipu.nx.Graph([(1, 1), (1, 2)]), {}, "self-loops"),
        (quipu.nx.Graph([(1, 2, {"weight": "heavy"})]), {"weight": "weight"}, "not a number"),
        (G, {"personalization": {1: 1}}, "personalization"),
        (G, {"max_iter": 0}, None),
    ]
    lonely = quipu.nx.Graph(G)
    lonely.add_node(9)
    cases.append((lonely, {}, "without edges"))
    for graph, options, reason in cases:
        with pytest.raises(Refused, match=reason):
            KERNELS["pagerank"].run(graph, **options)
    assert nx.pagerank(lonely) == pytest.approx(nx.pagerank(nx.Graph(lonely)))
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.pagerank(G, max_iter=0)
    with pytest.raises(ZeroDivisionError):
        nx.pagerank(G, personalization={1: 0})


def test_small_graphs_are_not_converted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_native, "VERTICES_MIN", 10)
    assert "less than 10" in str(quipu.nx.backend.should_run("pagerank", (nx.path_graph(5),), {}))
    assert quipu.nx.backend.should_run("pagerank", (nx.path_graph(50),), {}) is True
    with quipu.nx.enable():
        assert nx.pagerank(nx.path_graph(50)) == pytest.approx(nx.pagerank(nx.path_graph(50), backend="networkx"))
