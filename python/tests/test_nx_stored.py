"""Graphs in a database: values come back, snapshots are stable, commits are durable."""

import copy
import datetime
import math
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import quipu
import quipu.nx

# The stubs say less than the module has.
nx: Any = networkx

KINDS: list[Any] = [quipu.nx.Graph, quipu.nx.DiGraph, quipu.nx.MultiGraph, quipu.nx.MultiDiGraph]


def everything(G: Any) -> Any:
    """All of a graph, in its order, with copies of the attributes."""
    rows = [G._adj, G._pred] if G.is_directed() else [G._adj]
    nodes = [(n, dict(attributes)) for n, attributes in G._node.items()]
    return (
        dict(G.graph),
        nodes,
        [{u: [(v, repr(a)) for v, a in row.items()] for u, row in side.items()} for side in rows],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_vertices_and_attributes_come_back_as_they_were(kind: Any, tmp_path: Path):
    when = datetime.datetime(2026, 11, 27, 6, 30)
    vertices = [3, "three", 2.5, b"raw", True, (1, ("a", 2.0)), -(10**30), "", np.int64(9)]
    attributes = {"t": (1, [2, {"k": None}]), "nan": math.nan, "when": when, "np": np.float32(1.5), 7: b"x"}
    with kind(db=tmp_path / "db", name="g", title="all", since=when) as G:
        for n in vertices:
            G.add_node(n, **{"t": (n,)})
        G.add_edge(3, "three")
        (G[3]["three"][0] if G.is_multigraph() else G[3]["three"]).update(attributes)
    with kind(db=tmp_path / "db", name="g") as H:
        assert [(n, type(n)) for n in H] == [(n, type(n)) for n in vertices]
        assert H.graph == {"title": "all", "since": when}
        found = H[3]["three"][0] if H.is_multigraph() else H[3]["three"]
        assert list(found) == list(attributes)
        assert math.isnan(found["nan"])
        assert found["t"] == attributes["t"]
        assert type(found["t"]) is tuple
        assert type(found["np"]) is np.float32
        assert found["when"] == when


def test_equal_vertices_are_one_and_the_first_spelling_stays():
    db = quipu.open()
    G = quipu.nx.Graph(db=db, name="g")
    G.add_node(1.0)
    G.add_edge(True, 2)
    G.flush()
    H = quipu.nx.Graph(db=db, name="g")
    H.add_edge(1, 3)
    assert [repr(n) for n in H] == ["1.0", "2", "3"]
    assert len(H) == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", [None, 0])
def test_random_changes_of_a_stored_graph_are_those_of_networkx(kind: Any, memory: int | None):
    db = quipu.open()
    for seed in range(8):
        random.seed(seed)
        plain = getattr(nx, kind.__name__)()
        G = kind(db=db, name=f"g{seed}", memory=memory)
        for step in range(120):
            change(random.randrange(15), G, plain)
            if step % 10 == 9:
                assert everything(G) == everything(plain), (seed, step)
                G.flush()
            if step % 30 == 29:
                G.refresh()
                assert everything(G) == everything(plain), (seed, step)
        again = kind(db=db, name=f"g{seed}", memory=memory)
        assert everything(again) == everything(plain)
        assert len(again) == len(plain)
        assert again.number_of_edges() == plain.number_of_edges()


def change(what: int, G: Any, plain: Any) -> None:
    """Make one random change to both graphs."""
    u, v, w = random.randrange(9), random.randrange(9), random.random()
    # Some of them are there, some are twice among them, and one is a loop.
    edges = [(random.randrange(11), random.randrange(11)) for _ in range(4)]
    edges = [*edges, (edges[0][1], edges[0][0]), (v, v), (u, v, {"x": [w]})]
    for graph in (G, plain):
        edge = graph.has_edge(u, v)
        if what < 5:
            graph.add_edge(u, v, w=w)
        elif what == 5 and edge:
            graph.remove_edge(u, v)
        elif what == 6 and u in graph:
            graph.remove_node(u)
        elif what == 7:
            graph.add_node(u, x=[w])
        elif what == 8 and edge:
            inner = next(iter(graph[u][v].values())) if graph.is_multigraph() else graph[u][v]
            inner["deep"] = [v]
        elif what == 9 and edge:
            inner = next(iter(graph[u][v].values())) if graph.is_multigraph() else graph[u][v]
            inner.get("deep", []).append(w)
        elif what == 10 and u in graph:
            graph.nodes[u].get("x", []).append(v)
            graph.graph["last"] = u
        elif what == 11 and v == 0 and u == 0:
            graph.clear()
        elif what == 12:
            graph.add_edges_from(edges, w=w)
        elif what == 13:
            graph.add_nodes_from([u, (v, {"x": [w]}), u + 9], y=w)
        elif what == 14 and edge:
            graph.remove_edge(u, v)
            graph.add_edges_from([(u, v), *edges])


def test_attributes_are_one_object_from_both_ends_and_are_written_back():
    db = quipu.open()
    for memory in (None, 0):
        name = f"g{memory}"
        quipu.nx.Graph([("a", "b", {"w": 1})], db=db, name=name).flush()
        G = quipu.nx.Graph(db=db, name=name, memory=memory)
        held = G["a"]["b"]
        assert held is G["b"]["a"] is G.edges["b", "a"]
        held["w"] = 2
        assert G["b"]["a"]["w"] == 2
        assert G.flush()
        assert not G.flush()
        assert quipu.nx.Graph(db=db, name=name)["b"]["a"] == {"w": 2}


def test_what_the_program_holds_is_found_again_after_it_was_forgotten():
    db = quipu.open()
    G = quipu.nx.Graph(db=db, name="g", memory=200 * 350)
    G.add_edges_from((i, i + 1) for i in range(3000))
    G.flush()
    node, edge = G.nodes[5], G[7][8]
    for _ in range(3):
        assert sum(len(row) for row in G._adj.values()) == 6000
    assert dict.__len__(G._adj) < 3000
    node["seen"] = True
    edge["seen"] = [1]
    assert G.nodes[5] is node
    assert G[8][7] is edge
    G.flush()
    G.refresh()
    assert G.nodes[5] == {"seen": True}
    assert G[8][7] == {"seen": [1]}


def test_only_what_the_program_holds_has_weak_references_after_it_was_forgotten():
    G: Any = quipu.nx.Graph(db=quipu.open(), name="g", memory=1000 * 350)
    G.add_edges_from((i, j) for i in range(60) for j in range(i))
    held = G[40][30]
    G.flush()
    live = [attributes for attributes in G._stored.cache.live_attributes.values() if attributes is not held]
    assert live == []
    assert G[30][40] is held


def test_a_vertex_that_cannot_be_stored_is_refused_at_once():
    G = quipu.nx.Graph(db=quipu.open(), name="g")
    with pytest.raises(TypeError, match="frozenset"):
        G.add_node(frozenset({1}))
    assert len(G) == 0
    assert len(G._adj) == 0


def test_an_attribute_that_cannot_be_stored_is_named_and_nothing_is_written():
    db = quipu.open()
    G = quipu.nx.Graph(db=db, name="g")
    G.add_edge(1, 2, ok=1)
    G.nodes[1]["bad"] = object()
    with pytest.raises(TypeError, match="the vertex 1 cannot be stored: attribute 'bad'"):
        G.flush()
    del G.nodes[1]["bad"]
    G[1][2]["worse"] = {1, 2}
    with pytest.raises(TypeError, match=r"the edge \(1, 2\) cannot be stored: attribute 'worse'"):
        G.flush()
    assert len(quipu.nx.Graph(db=db, name="g")) == 0
    del G[1][2]["worse"]
    assert G.flush()


def test_a_graph_shows_its_snapshot_until_it_is_refreshed():
    db = quipu.open()
    G = quipu.nx.Graph(db=db, name="g")
    G.add_edge(1, 2)
    G.flush()
    for memory in (None, 0):
        reader = quipu.nx.Graph(db=db, name="g", memory=memory)
        before = len(reader)
        G.add_edge(2, 100 + before)
        G.flush()
        assert len(reader) == before
        assert 100 + before not in reader
        reader.refresh()
        assert reader.has_edge(2, 100 + before)


def test_two_writers_of_one_graph_conflict():
    db = quipu.open()
    G, H = quipu.nx.Graph(db=db, name="g"), quipu.nx.Graph(db=db, name="g")
    G.add_edge(1, 2)
    H.add_edge(3, 4)
    G.flush()
    with pytest.raises(quipu.ConflictError, match=r"G\.refresh\(\)"):
        H.flush()
    H.refresh()
    assert list(H.edges) == [(1, 2)]
    H.add_edge(3, 4)
    H.flush()


def test_a_with_block_commits_and_an_exception_forgets():
    db = quipu.open()
    with quipu.nx.Graph(db=db, name="g") as G:
        G.add_edge(1, 2)
    with pytest.raises(ZeroDivisionError), G:
        G.add_edge(3, 4)
        raise ZeroDivisionError
    assert list(G.edges) == [(1, 2)]
    assert list(quipu.nx.Graph(db=db, name="g").edges) == [(1, 2)]


def test_a_graph_in_a_transaction_is_committed_or_rolled_back_with_it():
    db = quipu.open()
    quipu.nx.Graph(db=db, name="g")
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        quipu.nx.Graph([(1, 2)], db=tx, name="g").flush()
        raise ZeroDivisionError
    assert len(quipu.nx.Graph(db=db, name="g")) == 0
    with db.transaction() as tx:
        quipu.nx.Graph([(1, 2)], db=tx, name="g").flush()
        tx.run(":create done {id: Int}")
    assert len(quipu.nx.Graph(db=db, name="g")) == 2


def test_two_graphs_of_one_path_share_its_database(tmp_path: Path):
    G = quipu.nx.Graph([(1, 2)], db=tmp_path / "db", name="one")
    H = quipu.nx.DiGraph([(3, 4)], db=str(tmp_path / "db"), name="two")
    G.close()
    H.add_edge(4, 5)
    H.close()
    with quipu.open(tmp_path / "db") as db:
        assert len(quipu.nx.Graph(db=db, name="one")) == 2
        assert len(quipu.nx.DiGraph(db=db, name="two")) == 3


def test_a_graph_of_another_kind_is_refused_with_the_right_one():
    db = quipu.open()
    quipu.nx.MultiGraph(db=db, name="g")
    with pytest.raises(quipu.InvalidInputError, match=r"quipu\.nx\.MultiGraph"):
        quipu.nx.Graph(db=db, name="g")


def test_a_graph_without_a_name_is_refused():
    with pytest.raises(TypeError, match="name"):
        quipu.nx.Graph(db=quipu.open())


def test_a_graph_with_vertices_is_not_made_of_other_data():
    db = quipu.open()
    quipu.nx.Graph([(1, 2)], db=db, name="g").flush()
    with pytest.raises(quipu.InvalidInputError, match=r"G\.update"):
        quipu.nx.Graph([(3, 4)], db=db, name="g")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", [None, 0])
def test_a_stored_vertex_that_is_added_and_removed_after_a_clear_is_gone(kind: Any, memory: int | None):
    db = quipu.open()
    kind([("a", "b")], db=db, name="g").flush()
    G = kind(db=db, name="g", memory=memory)
    G.clear()
    G.add_edge("a", "c")
    G.remove_node("a")
    assert G.flush()
    again = kind(db=db, name="g", memory=memory)
    assert list(again) == ["c"]
    assert again.number_of_edges() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_pickling_is_refused_and_copies_are_in_memory(kind: Any):
    G = kind([("a", "b")], db=quipu.open(), name="g", title="t")
    G.nodes["a"]["deep"] = [1]
    with pytest.raises(TypeError, match=r"G\.copy\(\)"):
        pickle.dumps(G)
    for H in (G.copy(), copy.copy(G), copy.deepcopy(G), G.to_undirected(), G.__class__(G)):
        assert H._stored is None
        assert type(H._node["a"]) is dict
        assert pickle.loads(pickle.dumps(H)).nodes["a"] == {"deep": [1]}
    assert copy.deepcopy(G).nodes["a"]["deep"] is not G.nodes["a"]["deep"]
    assert pickle.loads(pickle.dumps(G.nodes["a"])) == {"deep": [1]}


def test_views_show_changes():
    G = quipu.nx.DiGraph([(1, 2), (2, 3)], db=quipu.open(), name="g", memory=0)
    G.flush()
    G.refresh()
    view, backwards = G.subgraph([1, 2, 3]), G.reverse(copy=False)
    G.add_edge(3, 1)
    assert view.has_edge(3, 1)
    assert list(backwards[1]) == [3]
    assert nx.shortest_path(backwards, 3, 1) == [3, 2, 1]


@pytest.mark.parametrize("memory", [None, 0])
def test_functions_of_networkx_give_the_same_answers_over_a_stored_graph(memory: int | None):
    plain = nx.gnp_random_graph(60, 0.1, seed=3)
    nx.set_edge_attributes(plain, {e: i % 7 + 1 for i, e in enumerate(plain.edges)}, "weight")
    db = quipu.open()
    quipu.nx.Graph(plain, db=db, name="g").flush()
    G = quipu.nx.Graph(db=db, name="g", memory=memory)
    for function in (
        nx.pagerank,
        nx.betweenness_centrality,
        nx.clustering,
        nx.core_number,
        nx.degree_assortativity_coefficient,
    ):
        assert function(G) == function(plain)
    assert list(nx.connected_components(G)) == list(nx.connected_components(plain))
    assert nx.dijkstra_path(G, 0, 59) == nx.dijkstra_path(plain, 0, 59)
    assert list(nx.bfs_edges(G, 0)) == list(nx.bfs_edges(plain, 0))
    assert (nx.to_numpy_array(G) == nx.to_numpy_array(plain)).all()
    assert nx.utils.graphs_equal(nx.compose(G, G), plain)


def test_a_graph_that_grows_beyond_its_memory_goes_on_in_pages():
    G = quipu.nx.Graph(db=quipu.open(), name="g", memory="100KB")
    for start in range(0, 2000, 200):
        nx.add_path(G, range(start, start + 201))
        G.flush()
    assert dict.__len__(G._adj) < 1000
    assert len(G) == 2001
    assert G.number_of_edges() == 2000
    assert nx.shortest_path_length(G, 0, 2000) == 2000
    G.remove_node(1000)
    assert nx.number_connected_components(G) == 2
    G.flush()
    assert nx.number_connected_components(G) == 2


def test_a_pass_over_both_directions_reads_each_edge_once_within_the_memory(monkeypatch: pytest.MonkeyPatch):
    db, count, degree = quipu.open(), 400, 40
    edges = [(u, (u + d * d) % count) for u in range(count) for d in range(1, degree + 1)]
    quipu.nx.DiGraph(edges, db=db, name="g").flush()
    edges_max = 8000
    G: Any = quipu.nx.DiGraph(db=db, name="g", memory=edges_max * 350)
    stored = G.number_of_edges()
    store = G._stored.store
    read: list[int] = []
    rows = store.rows

    def counted(side: str, first: int, last: int) -> Any:
        found = rows(side, first, last)
        read.append(len(found))
        return found

    monkeypatch.setattr(store, "rows", counted)
    found = 0
    for n in G:
        found += len(list(G.successors(n))) + len(list(G.predecessors(n)))
    assert found == 2 * stored
    assert sum(read) == 2 * stored
    assert max(read) <= edges_max // 4


def counted(own: Any, name: str, calls: list[str]) -> Any:
    """A method that lists its calls."""

    def call(*args: Any) -> Any:
        calls.append(name)
        return own(*args)

    return call


@pytest.mark.parametrize("kind", [quipu.nx.Graph, quipu.nx.DiGraph])
def test_adding_edges_to_a_graph_larger_than_its_memory_reads_no_rows(kind: Any, monkeypatch: pytest.MonkeyPatch):
    db, count = quipu.open(), 3000
    plain: Any = getattr(nx, kind.__name__)((i, (i + 1) % count) for i in range(count))
    kind(plain, db=db, name="g").flush()
    G = kind(db=db, name="g", memory=0)
    store = G._stored.store
    calls: list[str] = []
    for name in ("rows", "id_of", "ids_of", "stored_edges", "node", "nodes"):
        monkeypatch.setattr(store, name, counted(getattr(store, name), name, calls))
    edges = [(i, 7 * i % count, {"w": [i]}) for i in range(2, count, 2)] + [(i, count + i) for i in range(count)]
    G.add_nodes_from(range(count, count + 10), new=True)
    G.add_edges_from(edges)
    G.flush()
    monkeypatch.undo()
    assert calls == ["ids_of", "ids_of", "stored_edges"]
    plain.add_nodes_from(range(count, count + 10), new=True)
    plain.add_edges_from(edges)
    assert everything(G) == everything(plain)
    assert everything(kind(db=db, name="g")) == everything(plain)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loops", [[], [(3, 3), (3, 3)]])
def test_the_number_of_edges_of_a_graph_larger_than_its_memory_is_counted_by_the_store(
    kind: Any, loops: Any, monkeypatch: pytest.MonkeyPatch
):
    db = quipu.open()
    plain: Any = getattr(nx, kind.__name__)([(1, 2), (2, 1), (1, 2), (2, 3), *loops])
    kind(plain, db=db, name="g").flush()
    G = kind(db=db, name="g", memory=0)
    assert not G._stored.cache.complete()
    calls: list[str] = []
    for name in ("rows", "nodes"):
        monkeypatch.setattr(G._stored.store, name, counted(getattr(G._stored.store, name), name, calls))
    assert G.number_of_edges() == G.size() == plain.number_of_edges()
    assert nx.density(G) == nx.density(plain)
    assert calls == []
    for graph in (G, plain):
        graph.add_edge(3, 4, w=2.0)
        graph.remove_edge(1, 2)
    assert G.number_of_edges() == plain.number_of_edges()
    assert G.number_of_edges(1, 2) == plain.number_of_edges(1, 2)
    assert G.size("w") == plain.size("w")


def test_the_edges_before_a_wrong_one_are_added():
    db = quipu.open()
    quipu.nx.Graph([(1, 2)], db=db, name="g").flush()
    G = quipu.nx.Graph(db=db, name="g", memory=0)
    wrong: list[tuple[Any, type[Exception], str]] = [
        ((1, 2, 3, 4), nx.NetworkXError, "must be a 2-tuple or 3-tuple"),
        ((3, None), ValueError, "None cannot be a node"),
        ((3, []), TypeError, "unhashable"),
        ((3, {1}), TypeError, "unhashable"),
        ((3, frozenset()), TypeError, "cannot be stored"),
    ]
    for i, (edge, error, message) in enumerate(wrong):
        with pytest.raises(error, match=message):
            G.add_edges_from([(2, 10 + i), edge, (2, 20 + i)])
        assert G.has_edge(2, 10 + i)
        assert not G.has_edge(2, 20 + i)

    def failing() -> Any:
        yield 2, 30
        raise LookupError

    with pytest.raises(LookupError):
        G.add_edges_from(failing())
    assert G.has_edge(2, 30)


def test_a_set_of_vertices_that_changes_meanwhile_is_noticed():
    db = quipu.open()
    quipu.nx.Graph(nx.path_graph(5), db=db, name="g").flush()
    for memory in (None, 0):
        H = quipu.nx.Graph(db=db, name="g", memory=memory)
        with pytest.raises(RuntimeError, match="changed size"):
            for n in H:
                H.add_node((n, str(memory)))


def test_readers_in_other_processes_see_what_was_flushed(tmp_path: Path):
    code = (
        "import sys, quipu, quipu.nx\n"
        "db = quipu.open(sys.argv[1], read_only=True)\n"
        "G = quipu.nx.Graph(db=db, name='g')\n"
        "print(len(G), G.number_of_edges(), flush=True)\n"
        "sys.stdin.readline()\n"
        "print(len(G), flush=True)\n"
        "G.refresh()\n"
        "print(len(G), G[1][2], flush=True)\n"
    )
    with quipu.nx.Graph(db=tmp_path / "db", name="g") as G:
        nx.add_path(G, range(10), w=1)
        G.flush()
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", code, tmp_path / "db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "10 9\n"
        G.add_edge(1, 2, w=2)
        G.add_node("new")
        G.flush()
        for reader in readers:
            assert reader.communicate("go\n")[0] == "10\n11 {'w': 2}\n"
            assert reader.returncode == 0


def test_a_reader_is_told_that_a_graph_is_not_there(tmp_path: Path):
    quipu.nx.Graph([(1, 2)], db=tmp_path / "db", name="g").close()
    with quipu.open(tmp_path / "db", read_only=True) as db:
        with pytest.raises(quipu.InvalidInputError) as caught:
            quipu.nx.Graph(db=db, name="other")
        assert len(quipu.nx.Graph(db=db, name="g")) == 2
    assert str(caught.value).splitlines()[0] == (
        "there is no graph 'other', and it cannot be created: the database was opened read-only"
    )


def test_a_killed_process_loses_only_what_was_not_flushed(tmp_path: Path):
    code = (
        "import sys, os, signal, quipu.nx\n"
        "G = quipu.nx.MultiDiGraph(db=sys.argv[1], name='g')\n"
        "for i in range(30):\n"
        "    G.add_edge(i, i + 1, w=[i])\n"
        "    G.nodes[i]['n'] = i\n"
        "    if i: G[i - 1][i][0]['w'].append('later')\n"
        "    if i == 29: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    G.flush()\n"
        "    print(i, flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "db"], capture_output=True, text=True, check=False)
    assert done.returncode == -9
    assert done.stdout.split()[-1] == "28"
    with quipu.nx.MultiDiGraph(db=tmp_path / "db", name="g") as opened:
        G: Any = opened
        assert list(G) == list(range(30))
        assert [G[i][i + 1][0]["w"] for i in range(29)] == [[i, "later"] if i < 28 else [i] for i in range(29)]
        assert [G.nodes[i].get("n") for i in range(30)] == [*range(29), None]
    with quipu.open(tmp_path / "db") as db:
        assert db.check()["problems"] == []


def test_a_child_of_fork_cannot_write(tmp_path: Path):
    with quipu.nx.Graph([(1, 2)], db=tmp_path / "db", name="g") as G:
        G.flush()
        child = os.fork()
        if not child:
            try:
                G.add_edge(3, 4)
                G.flush()
            except quipu.ForkedError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
