"""The backend as NetworkX sees it: entry points, conversions, and an answer for each dispatched name."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

import networkx
import pytest
import quipu.nx
import quipu_networkx
from quipu.nx import _private
from quipu.nx._native import KERNELS

# The stubs say less than the module has.
nx: Any = networkx
#: NetworkX 3.6 and later lets a backend create the graph classes.
BACKEND_CREATES_CLASSES = quipu_networkx.networkx_version() >= (3, 6)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    quipu.nx.disable()


def run(code: str, **environment: str) -> str:
    """Return the output of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def some_graph(kind: Any = nx.Graph) -> Any:
    G = kind([("b", "a"), ("a", "c"), ("c", "b")], title="three")
    G.add_node("d", year=1999)
    for i, (_, _, attrs) in enumerate(G.edges(data=True)):
        attrs["weight"] = i
    return G


def in_order(rows: Any) -> list[Any]:
    return [(u, list(row.items())) for u, row in rows.items()]


def test_networkx_finds_both_entry_points():
    for group, value in (
        ("networkx.backends", "quipu.nx._backend:backend"),
        ("networkx.backend_info", "quipu_networkx:info"),
    ):
        assert [found.value for found in entry_points(group=group, name="quipu")] == [value]
    assert "quipu" in nx.config.backends


def test_importing_networkx_loads_neither_numpy_nor_the_native_module():
    loaded = run("import sys, networkx; print([m for m in ('numpy', 'quipu', 'quipu._quipu') if m in sys.modules])")
    assert loaded == "[]"


def test_the_functions_that_info_lists_are_those_with_kernels():
    assert sorted(quipu_networkx.NATIVE) == sorted(KERNELS)
    assert set(quipu_networkx.info()["functions"]) == set(KERNELS)
    assert set(KERNELS) <= set(_private.dispatched_names())


def test_each_dispatched_name_has_an_answer():
    for name in _private.dispatched_names():
        assert callable(getattr(quipu.nx.backend, name)), name
        assert quipu.nx.backend.can_run(name, (), {}) is True


def test_a_name_that_networkx_does_not_dispatch_is_an_attribute_error():
    assert not hasattr(quipu.nx.backend, "on_start_tests")
    assert isinstance(quipu.nx.backend.can_run("no_such_function", (), {}), str)


def test_a_function_without_a_kernel_runs_over_our_classes_without_configuration():
    G = quipu.nx.Graph([(1, 2), (2, 3)])
    assert not nx.config.fallback_to_nx
    assert nx.shortest_path(G, 1, 3) == [1, 2, 3]
    assert nx.wiener_index(G) == 4
    assert type(nx.complement(G)) is quipu.nx.Graph


def test_a_graph_of_networkx_is_not_converted_where_networkx_would_run_anyway():
    reason = quipu.nx.backend.should_run("wiener_index", (nx.path_graph(3),), {})
    assert isinstance(reason, str)
    assert "no kernel" in reason


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_conversions_keep_orders_and_attributes_both_ways(kind: Any):
    G = some_graph(kind)
    G.remove_edge(*next(iter(G.edges())))
    G.add_edge("b", "a", weight=9)
    H = quipu.nx.backend.convert_from_nx(
        G, preserve_edge_attrs=True, preserve_node_attrs=True, preserve_graph_attrs=True, name="f"
    )
    assert type(H).__name__ == kind.__name__
    assert type(H).__module__.startswith("quipu.nx")
    back = quipu.nx.backend.convert_to_nx(H)
    assert type(back) is kind
    for other in (H, back):
        assert other.graph == G.graph
        assert list(other._node.items()) == list(G._node.items())
        for name in ("_adj", "_pred") if G.is_directed() else ("_adj",):
            theirs, ours = getattr(G, name), getattr(other, name)
            assert in_order(ours) == in_order(theirs)
        u, v = next(iter(G.edges()))[:2]
        opposite = other._pred if G.is_directed() else other._adj
        assert other._adj[u][v] is opposite[v][u]
        assert other._adj[u][v] is not G._adj[u][v]


def test_only_the_attributes_that_are_asked_for_are_converted():
    H = quipu.nx.backend.convert_from_nx(some_graph(), edge_attrs={"weight": 1}, node_attrs={"year": None}, name="f")
    assert H.nodes["a"] == {}
    assert H.nodes["d"] == {"year": 1999}
    assert all(set(attrs) == {"weight"} for _, _, attrs in H.edges(data=True))
    assert H.graph == {}
    assert all(not attrs for _, _, attrs in quipu.nx.backend.convert_from_nx(some_graph(), name="f").edges(data=True))


def test_subclasses_and_functions_that_watch_their_graph_are_not_converted():
    class Own(nx.Graph): ...

    for graph, name in ((Own(), "pagerank"), (nx.DiGraph(), "topological_sort")):
        with pytest.raises(NotImplementedError):
            quipu.nx.backend.convert_from_nx(graph, name=name)


def test_generators_return_our_graphs_with_the_keyword():
    G = nx.path_graph(4, backend="quipu")
    assert type(G) is quipu.nx.Graph
    assert list(G.edges) == [(0, 1), (1, 2), (2, 3)]
    assert type(nx.path_graph(4, create_using=nx.DiGraph, backend="quipu")) is quipu.nx.DiGraph
    mine = nx.Graph()
    assert nx.path_graph(4, create_using=mine, backend="quipu") is mine
    assert type(mine) is nx.Graph


@pytest.mark.skipif(not BACKEND_CREATES_CLASSES, reason="NetworkX before 3.6 does not dispatch its graph classes")
@pytest.mark.parametrize("name", ["Graph", "DiGraph", "MultiGraph", "MultiDiGraph"])
def test_the_classes_of_networkx_make_ours_with_the_keyword(name: str):
    G = getattr(nx, name)([(1, 2)], backend="quipu", title="t")
    assert type(G) is getattr(quipu.nx, name)
    assert G.graph == {"title": "t"}
    assert G.has_edge(1, 2)


def test_enable_sets_priorities_and_disable_restores_them():
    nx.config.backend_priority.algos = ["networkx"]
    try:
        with quipu.nx.enable():
            assert nx.config.backend_priority.algos == ["quipu", "networkx"]
            assert nx.config.fallback_to_nx
            if BACKEND_CREATES_CLASSES:
                assert type(nx.Graph()) is quipu.nx.Graph
            assert type(nx.path_graph(3)) is quipu.nx.Graph
            mixed = nx.compose(quipu.nx.Graph([(1, 2)]), nx.Graph([(2, 3)]))
            assert sorted(mixed) == [1, 2, 3]
        assert nx.config.backend_priority.algos == ["networkx"]
        assert not nx.config.fallback_to_nx
        assert type(nx.Graph()) is nx.Graph
    finally:
        nx.config.backend_priority.algos = []


def test_an_environment_variable_enables_the_backend():
    code = "import networkx as nx; print(type(nx.path_graph(3)).__module__, nx.config.fallback_to_nx)"
    assert run(code, QUIPU_NX_AUTOCONFIG="1") == "quipu.nx._graph True"
    assert run(code, QUIPU_NX_AUTOCONFIG="0") == "networkx.classes.graph False"
    if BACKEND_CREATES_CLASSES:
        code = "import networkx as nx; print(type(nx.Graph()).__module__)"
        assert run(code, QUIPU_NX_AUTOCONFIG="1") == "quipu.nx._graph"


def test_without_networkx_the_import_says_what_to_install():
    code = "import sys; sys.modules['networkx'] = None\ntry: import quipu.nx\nexcept ImportError as e: print(e)"
    assert "quipudb[networkx]" in run(code)
