"""The arrays of a graph are kept while it does not change, and read from columns where nothing is in memory."""

import copy
import pickle
from typing import Any

import networkx
import pytest
import quipu
import quipu.nx
from quipu.nx import _native
from quipu.nx._rows import is_known, kept, rows_of
from quipu.nx._weights import read_weights

# The stubs say less than the module has.
nx: Any = networkx


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "VERTICES_MIN", 0)


def stored(kind: Any, edges: Any) -> Any:
    db = quipu.open()
    kind(edges, db=db, name="g").flush()
    return kind(db=db, name="g")


def as_dicts(G: Any) -> dict[Any, list[Any]]:
    rows = rows_of(G)
    ends = rows.offsets.tolist()
    targets = [rows.nodes[v] for v in rows.targets.tolist()]
    return {n: targets[ends[i] : ends[i + 1]] for i, n in enumerate(rows.nodes)}


def test_arrays_have_the_order_of_the_dicts_and_read_none_of_a_stored_graph():
    edges = [("c", "a"), ("a", "b"), ("c", "b"), ("d", "c"), ("a", "a")]
    for name in ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph"):
        G = stored(getattr(quipu.nx, name), [*edges, ("c", "a")])
        G.add_node("alone")
        G.remove_node("d")
        G.flush()
        opened = type(G)(db=G._stored.database, name="g")
        found = as_dicts(opened)
        assert not opened._stored.cache.is_complete()
        assert found == {n: list(row) for n, row in G.adj.items()} == as_dicts(G)
        counts = rows_of(opened).counts
        assert (counts is None) == (not G.is_multigraph())
        assert rows_of(opened).degrees().tolist() == [d for _, d in (G.out_degree if G.is_directed() else G.degree)()]


@pytest.mark.parametrize("is_stored", [False, True])
def test_arrays_are_kept_until_the_graph_changes(is_stored: bool):
    edges = [(1, 2), (2, 3)]
    G = stored(quipu.nx.Graph, edges) if is_stored else quipu.nx.Graph(edges)
    rows = rows_of(G)
    assert rows_of(G) is rows is kept(G)
    G.nodes[1]["color"] = "red"
    G[1][2]["weight"] = 5
    assert kept(G) is rows
    for change in (
        lambda: G.add_edge(3, 4),
        lambda: G.remove_edge(1, 2),
        lambda: G.add_node(9),
        lambda: G.remove_node(9),
        lambda: G._adj[1].update({3: {}}) or G._adj[3].update({1: {}}),
    ):
        rows = rows_of(G)
        change()
        assert kept(G) is None
        assert as_dicts(G) == {n: list(row) for n, row in G.adj.items()}
        assert rows_of(G) is not rows


def test_a_refreshed_graph_is_read_again():
    G = stored(quipu.nx.Graph, [(1, 2)])
    rows_of(G)
    other = quipu.nx.Graph(db=G._stored.database, name="g")
    other.add_edge(2, 3)
    other.flush()
    assert len(rows_of(G)) == 2
    G.refresh()
    assert len(rows_of(G)) == 3
    db = quipu.open()
    g = db.graph("g")
    g.upsert(1, 2)
    D = quipu.nx.DiGraph(db=db, name="g")
    assert len(rows_of(D)) == 2
    g.upsert(2, 3)
    assert len(rows_of(D)) == 2
    D.refresh()
    assert as_dicts(D) == {1: [2], 2: [3], 3: []}
    D.add_edge(3, 1)
    D.flush()
    assert as_dicts(D) == {1: [2], 2: [3], 3: [1]}


def test_weights_are_read_at_each_call_from_dicts_or_columns():
    for weights in ([1.5, 2.5], [2, 3], [None, 0.5], [2**70, 1.0]):
        edges = [(i, i + 1, {} if w is None else {"weight": w}) for i, w in enumerate(weights)]
        for G in (quipu.nx.DiGraph(edges), stored(quipu.nx.DiGraph, edges)):
            found = read_weights(G, rows_of(G), "weight", None)
            assert found.values.tolist() == [1 if w is None else w for w in weights]
            assert found.kinds == {type(1 if w is None else w) for w in weights}
            before = nx.pagerank(G)
            G[0][1]["weight"] = 100
            G[1][2]["weight"] = 1
            G.add_edge(0, 2, weight=1)
            assert nx.pagerank(G) == pytest.approx(nx.pagerank(nx.DiGraph(G)))
            assert nx.pagerank(G) != before


def test_parallel_edges_are_added_or_the_least_of_them_is_taken():
    edges = [(0, 1, {"weight": 3}), (0, 1, {"weight": 2}), (1, 2, {})]
    for G in (quipu.nx.MultiDiGraph(edges), stored(quipu.nx.MultiDiGraph, edges)):
        rows = rows_of(G)
        assert read_weights(G, rows, "weight", "sum").values.tolist() == [5, 1]
        assert read_weights(G, rows, "weight", "min").values.tolist() == [2, 1]


def test_a_question_of_one_pass_is_answered_by_networkx_the_first_time():
    G = quipu.nx.Graph(nx.path_graph(20))
    assert nx.number_connected_components(G) == 1
    assert kept(G) is None
    assert is_known(G)
    assert nx.number_connected_components(G) == 1
    assert kept(G) is not None
    S = stored(quipu.nx.Graph, nx.path_graph(20))
    assert nx.number_connected_components(S) == 1
    assert kept(S) is not None
    assert not S._stored.cache.is_complete()


def test_graphs_with_arrays_are_pickled_and_copied():
    G = quipu.nx.Graph(nx.path_graph(5))
    nx.pagerank(G)
    assert kept(G) is not None
    for other in (pickle.loads(pickle.dumps(G)), copy.deepcopy(G), copy.copy(G), G.copy()):
        assert nx.utils.graphs_equal(other, G)
        assert nx.pagerank(other) == nx.pagerank(G)


def test_nothing_is_kept_where_the_program_turns_caching_off():
    G: Any = quipu.nx.Graph(nx.path_graph(20))
    setattr(G, "__networkx_cache__", None)  # noqa: B010  (the stubs forbid it)
    for _ in range(2):
        assert nx.number_connected_components(G) == 1
        assert nx.pagerank(G) == pytest.approx(nx.pagerank(nx.path_graph(20)))
    assert kept(G) is None
