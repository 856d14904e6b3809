"""``quipu.nx.DiGraph`` over a graph of ``db.graph``."""

from typing import Any

import networkx
import pytest
import quipu
import quipu.nx

# The stubs say less than the module has.
nx: Any = networkx


def made(vertex: Any = "i64", weight: Any = "float64") -> Any:
    db = quipu.open()
    g = db.graph("g", vertex=vertex, weight=weight)
    names = ["b", "a", "d", "c"] if vertex == "str" else [7, -3 if vertex == "i64" else 3, 2**40, 9]
    for i, (u, v) in enumerate([(0, 1), (1, 2), (2, 0), (0, 3)]):
        g.upsert(names[u], names[v], *([i + 1] if weight else []))
    return db, g, names


@pytest.mark.parametrize("memory", [None, 0])
@pytest.mark.parametrize("vertex", ["u64", "i64", "str"])
@pytest.mark.parametrize("weight", ["float64", "int64", None])
def test_a_graph_of_the_database_is_read_in_the_order_of_its_keys(vertex: Any, weight: Any, memory: Any):
    db, g, names = made(vertex, weight)
    G = quipu.nx.DiGraph(db=db, name="g", memory=memory)
    assert list(G) == g.vertices().tolist() == (names if vertex == "str" else sorted(names))
    assert set(G.edges) == {(names[u], names[v]) for u, v in [(0, 1), (1, 2), (2, 0), (0, 3)]}
    assert list(G[names[0]]) == g.successors(names[0]).tolist()
    assert list(G.pred[names[0]]) == [names[2]]
    assert G[names[2]][names[0]] == ({"weight": 3} if weight else {})
    assert (names[0] in G, 12345 in G, "zz" in G, (1,) in G) == (True, False, False, False)
    assert G.number_of_edges() == g.number_of_edges() == 4
    assert nx.shortest_path(G, names[1], names[3]) == [names[i] for i in (1, 2, 0, 3)]


@pytest.mark.parametrize("memory", [None, 0])
def test_changes_are_written_to_the_graph(memory: Any):
    db, g, _ = made()
    G = quipu.nx.DiGraph(db=db, name="g", memory=memory)
    G[7][9]["weight"] = 0.5
    G.add_edge(100, 7, weight=2)
    G.remove_edge(-3, 2**40)
    assert G.flush()
    assert not G.flush()
    assert (g.edge(7, 9), g.edge(100, 7), g.edge(-3, 2**40)) == (0.5, 2.0, None)
    G.remove_node(7)
    G.flush()
    assert g.number_of_edges() == 0
    assert len(quipu.nx.DiGraph(db=db, name="g")) == 0


def test_what_such_a_graph_cannot_hold_is_refused_and_nothing_is_written():
    db, g, _ = made()
    for change, reason in (
        (lambda G: G.add_node(5), "has no edge"),
        (lambda G: G.add_edge(7, 8), "a weight of float64"),
        (lambda G: G.add_edge(7, 8, weight=1, color="red"), "a weight of float64"),
        (lambda G: G.add_edge(7, "x", weight=1), "does not fit"),
        (lambda G: G.nodes[7].update(x=1), "cannot have attributes"),
        (lambda G: G.graph.update(x=1), "no attributes of its own"),
    ):
        G = quipu.nx.DiGraph(db=db, name="g")
        change(G)
        with pytest.raises(TypeError, match=reason):
            G.flush()
    assert g.number_of_edges() == 4


def test_another_kind_is_refused():
    db, _, _ = made()
    for kind in (quipu.nx.Graph, quipu.nx.MultiDiGraph):
        with pytest.raises(quipu.InvalidInputError, match=r"quipu\.nx\.DiGraph"):
            kind(db=db, name="g")
