"""``quipu.nx.DiGraph`` and ``quipu.nx.Graph`` over a graph of ``db.graph``."""

import datetime as dt
import uuid
from typing import Any

import networkx
import pytest
import quipu
import quipu.nx
from quipu.nx import _native

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
        (lambda G: G.add_edge(7, 8), "a weight of type Float"),
        (lambda G: G.add_edge(7, 8, weight=1, color="red"), "a weight of type Float"),
        (lambda G: G.add_edge(7, "x", weight=1), "does not fit"),
        (lambda G: G.add_edge(7, 8, weight="heavy"), "does not fit"),
        (lambda G: G.add_edge(7, 8, weight=None), "does not fit"),
        (lambda G: G.nodes[7].update(x=1), "cannot have attributes"),
        (lambda G: G.graph.update(x=1), "no attributes of its own"),
    ):
        G = quipu.nx.DiGraph(db=db, name="g")
        change(G)
        with pytest.raises(TypeError, match=reason):
            G.flush()
    assert g.number_of_edges() == 4


def test_parallel_edges_are_refused():
    db, _, _ = made()
    for kind in (quipu.nx.MultiGraph, quipu.nx.MultiDiGraph):
        with pytest.raises(quipu.InvalidInputError, match=r"no parallel edges.*\n.*quipu\.nx\.DiGraph"):
            kind(db=db, name="g")


def with_properties(vertex: Any = "u64") -> Any:
    db = quipu.open()
    g = db.graph("g", vertex=vertex, nodes={"kind": "str?", "year": "int?"}, edges={"since": "int?", "more": "json?"})
    a, b, c, d = (n if vertex == "str" else i for i, n in enumerate("dbca"))
    g.add_node(d, kind="alone", year=1999)
    g.add_node(a, kind="book")
    g.add_edge(a, b, since=2019, more={"x": [1]})
    g.add_edge(b, c)
    return db, g, (a, b, c, d)


@pytest.mark.parametrize("memory", [None, 0])
@pytest.mark.parametrize("vertex", ["u64", "i64", "str"])
def test_properties_are_attributes(vertex: Any, memory: Any):
    db, g, (a, b, c, d) = with_properties(vertex)
    G = quipu.nx.DiGraph(db=db, name="g", memory=memory)
    assert list(G) == g.vertices().tolist()
    assert dict(G.nodes(data=True)) == {a: {"kind": "book"}, b: {}, c: {}, d: {"kind": "alone", "year": 1999}}
    assert set(G.edges) == {(a, b), (b, c)}
    assert G[a][b] == {"since": 2019, "more": {"x": [1]}}
    assert G.pred[c][b] == {}
    G[a][b]["more"]["x"].append(2)
    G[b][c]["since"] = 5
    G.nodes[d].pop("year")
    G.add_node(9 if vertex != "str" else "e", kind="new")
    G.add_edge(d, c, since=7)
    assert G.flush()
    assert g.edge_properties(a, b) == {"since": 2019, "more": {"x": [1, 2]}}
    assert g.edge_properties(b, c) == {"since": 5, "more": None}
    assert g.edge_properties(d, c) == {"since": 7, "more": None}
    assert g.node(d) == {"kind": "alone", "year": None}
    assert g.node(9 if vertex != "str" else "e") == {"kind": "new", "year": None}
    again = quipu.nx.DiGraph(db=db, name="g", memory=memory)
    assert nx.utils.graphs_equal(again, G)
    G.remove_node(d)
    G.flush()
    assert not g.has_vertex(d)


@pytest.mark.parametrize("memory", [None, 0])
@pytest.mark.parametrize("kind", [quipu.nx.Graph, quipu.nx.DiGraph])
def test_properties_of_every_type_are_attributes_and_written_back(kind: Any, memory: Any):
    values = {
        "str": "text",
        "int": 7,
        "float": 0.5,
        "bool": True,
        "bytes": b"raw",
        "json": {"x": [1, None]},
        "uuid": uuid.UUID(int=7),
        "date": dt.date(1998, 2, 3),
        "timestamp": dt.datetime(1998, 2, 3, 4, 5, tzinfo=dt.UTC),
        "duration": dt.timedelta(days=-2, microseconds=1),
        "[Int]": [1, 2],
        "<F32; 2>": [0.5, 1.0],
    }
    db = quipu.open()
    types = {f"p{i}": f"{type}?" for i, type in enumerate(values)}
    properties = {f"p{i}": value for i, value in enumerate(values.values())}
    g = db.graph("g", nodes=types, edges=types)
    g.add_node(1, **properties)
    g.add_edge(1, 2, **properties)
    G = kind(db=db, name="g", memory=memory)
    assert G.nodes[1] == G[1][2] == properties
    assert {*map(type, G[1][2].values())} == {*map(type, properties.values())}
    G.nodes[2].update(properties)
    G.add_edge(2, 3, **G[1][2])
    G.flush()
    assert g.node(2) == g.edge_properties(2, 3) == properties


def test_what_is_no_property_is_refused():
    db, g, (a, b, c, _) = with_properties()
    for change, reason in (
        (lambda G: G.nodes[a].update(color="red"), "can have a kind of type String, a year of type Int"),
        (lambda G: G[a][b].update(since="then"), "'since' does not fit a since of type Int"),
        (lambda G: G.add_edge(c, a, since=None), "does not fit"),
        (lambda G: G.add_edge(c, a, weight=1), "can have a since"),
    ):
        G = quipu.nx.DiGraph(db=db, name="g")
        change(G)
        with pytest.raises(TypeError, match=reason):
            G.flush()
    assert g.number_of_edges() == 2
    needy = db.graph("needy", nodes={"kind": "str"}, edges={"since": "int"})
    other = quipu.nx.DiGraph(db=db, name="needy")
    other.add_edge(1, 2, since=3)
    other.flush()
    assert (needy.number_of_edges(), len(needy.nodes)) == (1, 0)
    other.add_node(3)
    with pytest.raises(TypeError, match="needs a kind of type String"):
        other.flush()


@pytest.mark.parametrize("memory", [None, 0])
@pytest.mark.parametrize("vertex", ["u64", "str"])
def test_an_undirected_graph_shows_each_edge_at_both_ends(vertex: Any, memory: Any):
    db = quipu.open()
    g = db.graph("g", vertex=vertex, weight="float64")
    a, b, c, d = (n if vertex == "str" else i for i, n in enumerate("dbca"))
    for u, v in ((a, b), (c, b), (b, c), (d, d)):
        g.upsert(u, v, 2.5)
    G = quipu.nx.Graph(db=db, name="g", memory=memory)
    assert nx.utils.graphs_equal(nx.Graph(G), nx.Graph([(u, v, {"weight": 2.5}) for u, v in ((a, b), (b, c), (d, d))]))
    assert [list(G[n]) for n in (a, b, c, d)] == [[b], [a, c], [b], [d]]
    assert G[a][b] is G[b][a]
    assert nx.shortest_path(G, a, c) == [a, b, c]
    G[b][a]["weight"] = 1.0
    G[c][b]["weight"] = 3.0
    G.add_edge(d, a, weight=4.0)
    G.flush()
    assert (g.edge(a, b), g.edge(b, a)) == (1.0, None)
    assert (g.edge(b, c), g.edge(c, b)) == (3.0, 3.0)
    assert (g.edge(d, a), g.edge(a, d)) == (4.0, None)
    assert g.number_of_edges() == 5
    G.remove_edge(b, c)
    G.remove_edge(b, a)
    G.flush()
    assert set(quipu.nx.Graph(db=db, name="g").edges) <= {(d, d), (a, d), (d, a)}
    assert g.number_of_edges() == 2


@pytest.mark.parametrize("vertex", ["u64", "str"])
@pytest.mark.parametrize(
    ("kind", "directed"), [(quipu.nx.Graph, True), (quipu.nx.Graph, False), (quipu.nx.DiGraph, True)]
)
def test_many_edges_are_added_as_networkx_adds_them(vertex: Any, kind: Any, directed: bool):
    db = quipu.open()
    names = [f"v{i:02}" if vertex == "str" else i for i in range(30)]
    db.graph("g", vertex=vertex, weight="float64", directed=directed).upsert_many(names[:20], names[1:21], [1.0] * 20)
    G: Any = kind(db=db, name="g", memory=0)
    plain = getattr(nx, kind.__name__)(G)
    # Edges that are stored, in both directions, and new ones, twice each; with new vertices.
    pairs = [(3, 4), (5, 4), (2, 9), (9, 2), (2, 9), (7, 7), (8, 25), (25, 26), (26, 8), (0, 29)]
    assert G.number_of_edges() == plain.number_of_edges() == 20
    for graph in (G, plain):
        graph.remove_edge(names[6], names[7])
        graph.add_edges_from([(names[i], names[j], {"weight": 2.0}) for i, j in [*pairs, (6, 7)]])
        graph.add_edges_from([(names[3], names[4]), (names[10], names[11])])  # they keep their weights
    assert nx.utils.graphs_equal(nx.Graph(G) if kind is quipu.nx.Graph else nx.DiGraph(G), plain)
    G.flush()
    again = kind(db=db, name="g")
    assert nx.utils.graphs_equal(nx.Graph(again) if kind is quipu.nx.Graph else nx.DiGraph(again), plain)


@pytest.mark.parametrize("kind", [quipu.nx.Graph, quipu.nx.DiGraph])
def test_weights_that_are_no_property_are_not_read(kind: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_native, "VERTICES_MIN", 0)
    db = quipu.open()
    db.graph("g", edges={"since": "int?"}).upsert_many([1, 2, 3], [2, 3, 4])
    G: Any = kind(db=db, name="g")
    monkeypatch.setattr(G._stored.store, "attributes", lambda: pytest.fail("attributes were read"))
    plain = getattr(nx, kind.__name__)([(1, 2), (2, 3), (3, 4)])
    assert nx.pagerank(G) == pytest.approx(nx.pagerank(plain))
    assert nx.single_source_dijkstra(G, 1) == nx.single_source_dijkstra(plain, 1)
    assert not G._stored.cache.is_complete()


@pytest.mark.parametrize("memory", [None, 0])
def test_directions_that_differ_are_not_one_edge(memory: Any):
    db = quipu.open()
    g = db.graph("g", weight="float64")
    g.upsert_many([1, 2], [2, 1], [0.5, 0.75])
    G = quipu.nx.Graph(db=db, name="g", memory=memory)
    with pytest.raises(quipu.InvalidInputError, match=r"different properties.*\n.*DiGraph"):
        list(G.edges)


@pytest.mark.parametrize("kind", [quipu.nx.Graph, quipu.nx.DiGraph])
@pytest.mark.parametrize("has_rows", [True, False])
def test_kernels_read_such_a_graph_from_its_columns(kind: Any, has_rows: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_native, "VERTICES_MIN", 0)
    db = quipu.open()
    g = db.graph("g", weight="float64", nodes={} if has_rows else None)
    plain = nx.gnm_random_graph(40, 90, seed=1, directed=True)
    for i, (u, v) in enumerate(plain.edges):
        if kind is quipu.nx.DiGraph or not g.has_edge(v, u):
            g.upsert(u, v, i + 0.5)
    if has_rows:
        g.upsert_nodes({"vertex": [50, 51]})
    expected = nx.DiGraph() if kind is quipu.nx.DiGraph else nx.Graph()
    loaded = kind(db=db, name="g")
    expected.add_nodes_from(loaded)
    expected.add_edges_from(loaded.edges(data=True))
    for name, options in (
        ("pagerank", {}),
        ("clustering", {}),
        ("single_source_dijkstra_path_length", {"source": 0}),
        ("single_source_shortest_path_length", {"source": 0}),
    ):
        G: Any = kind(db=db, name="g")
        found = getattr(nx, name)(G, **options)
        assert found == pytest.approx(getattr(nx, name)(expected, **options))
        assert not G._stored.cache.is_complete()
