"""Graphs without directions: ``db.graph(directed=False)``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import quipu

Model = dict[frozenset[Any], float]


@pytest.fixture(params=["u64", "i64", "str"])
def vertex(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def spelled(vertex: str, v: int) -> Any:
    return {"u64": v, "i64": v - 4, "str": f"v{v}"}[vertex]


def ends_of(pair: frozenset[Any]) -> tuple[Any, Any]:
    """Both ends, which are one for a self-loop."""
    return (*pair, *pair)[:2]  # pyright: ignore[reportReturnType]


def check(g: quipu.Graph, model: Model, others: list[Any]) -> None:
    """Compare the reads with the model."""
    there = {end for pair in model for end in pair}
    assert g.number_of_edges() == len(g) == len(model)
    assert set(g.vertices().tolist()) == there
    for v in others:
        near = {(next(iter(pair - {v}), v)): w for pair, w in model.items() if v in pair}
        for edges, fixed, other in [(g.out_edges(v), 0, 1), (g.in_edges(v), 1, 0), (g.edges(v), 0, 1)]:
            assert set(edges[fixed].tolist()) <= {v}
            assert dict(zip(edges[other].tolist(), edges[2].tolist(), strict=True)) == near
            if g.vertex != "str":
                assert edges[other].tolist() == sorted(near)
        assert set(g.successors(v).tolist()) == set(g.predecessors(v).tolist()) == set(near)
        assert set(g.neighbors(v).tolist()) == set(near) - {v}
        assert g.degree(v) == g.out_degree(v) == g.in_degree(v) == (len(near), sum(near.values()))
        assert (v in g) == (v in there)
    us, vs = [u for u in others for _ in others], others * len(others)
    want = [model.get(frozenset((u, v))) for u, v in zip(us, vs, strict=True)]
    present, weights = g.edge_many(us, vs)
    assert present.tolist() == [w is not None for w in want] == g.has_edge_many(us, vs).tolist()
    assert weights[present].tolist() == [w for w in want if w is not None]
    assert [g.edge(u, v) for u, v in zip(us, vs, strict=True)] == want
    rows, table = g.edges_table.rows(), g.to_table()
    assert len(rows) == len(model)
    assert {frozenset(row[:2]): row[2] for row in rows} == model
    sources, targets, weights = (pa.table(table).column(i).to_pylist() for i in range(3))
    assert [row[:3] for row in rows] == list(zip(sources, targets, weights, strict=True))
    if g.vertex != "str":
        assert all(u <= v for u, v, *_ in rows)


@pytest.mark.parametrize("seed", range(3))
def test_an_undirected_graph_is_a_map_of_pairs(tmp_path: Path, vertex: str, seed: int) -> None:
    random_ = random.Random(seed)
    all_: list[Any] = [spelled(vertex, v) for v in range(7)]
    pair = lambda: (random_.choice(all_), random_.choice(all_))  # noqa: E731
    db = quipu.open(tmp_path / "db", durability="none")
    kwargs: Any = {"vertex": vertex, "edges": {"weight": "float", "note": "str?"}, "directed": False}
    db.graph("g", **kwargs)
    kept: Model = {}
    now: Model = {}
    tx: quipu.Transaction | None = None
    for _ in range(70):
        g = db.graph("g") if tx is None else tx.graph("g")
        w = float(random_.randrange(-5, 6))
        pairs = [pair() for _ in range(4)]
        us, vs = [u for u, _ in pairs], [v for _, v in pairs]
        match random_.randrange(10):
            case 0:
                g.upsert(*pairs[0], w)
                now[frozenset(pairs[0])] = w
            case 1:
                g.upsert_many(us, vs, [w] * 4)
                now.update({frozenset(p): w for p in pairs})
            case 2:
                g.add_edge(*pairs[0], weight=w, note="n")
                now[frozenset(pairs[0])] = w
                assert g.edge_properties(*pairs[0][::-1]) == {"weight": w, "note": "n"}
            case 3:
                g.upsert_edges({"src": us, "dst": vs, "weight": [w] * 4}, merge=True)
                now.update({frozenset(p): w for p in pairs})
            case 4:
                assert g.remove(*pairs[0]) == (now.pop(frozenset(pairs[0]), None) is not None)
            case 5:
                removed = g.remove_many(us, vs)
                assert removed.tolist() == [now.pop(frozenset(p), None) is not None for p in pairs]
            case 6:
                v = pairs[0][0]
                gone = [p for p in now if v in p]
                assert g.remove_vertex(v) == len(gone)
                for p in gone:
                    del now[p]
            case 7:
                rows = [[u, v, w] for u, v in pairs]
                (db if tx is None else tx).run(
                    "?[src, dst, weight, note] := r in $rows, src = get(r, 0), dst = get(r, 1), weight = get(r, 2), "
                    "note = null :put g {src, dst => weight, note}",
                    {"rows": rows},
                )
                now.update({frozenset(p): w for p in pairs})
            case 8 if tx is None:
                db.close()
                db = quipu.open(tmp_path / "db", durability="none")
                assert not db.graph("g").is_directed
            case _:
                if tx is None:
                    tx = db.transaction()
                elif random_.random() < 0.5:
                    tx.commit()
                    tx = None
                else:
                    tx.rollback()
                    tx, now = None, dict(kept)
        if tx is None:
            kept = dict(now)
        check(db.graph("g") if tx is None else tx.graph("g"), now, all_)
    if tx is not None:
        tx.rollback()
    assert db.check()["graphs"] == {"g": len(kept)}
    db.close()


def test_a_graph_keeps_its_direction(db: quipu.Database) -> None:
    assert db.graph("directed").is_directed
    assert not db.graph("g", directed=False).is_directed
    assert not db.graph("g").is_directed
    with pytest.raises(quipu.InvalidInputError, match='"g" is undirected, one that is directed was asked for'):
        db.graph("g", directed=True)
    with pytest.raises(quipu.InvalidInputError, match="is directed, one that is undirected"):
        db.graph("directed", directed=False)
    with pytest.raises(quipu.InvalidInputError, match="is undirected"):
        db.import_graph("g", {"source": [1], "target": [2]}, directed=True)


def test_rows_of_a_script_see_each_edge_once_and_find_it_by_either_end(db: quipu.Database) -> None:
    g = db.graph("g", vertex="str", weight="int64", directed=False)
    # The rows of a query are sorted, so `b, a` comes last.
    db.run("?[src, dst, weight] <- [['b', 'a', 1], ['a', 'b', 2], ['c', 'b', 3]] :put g {src, dst => weight}")
    assert g.edges_table.rows() == [("a", "b", 1), ("b", "c", 3)]
    assert db.run("?[a, b] := *g{src: a, dst: b}").rows() == [("a", "b"), ("b", "c")]
    db.run("?[src, dst, weight] <- [['b', 'a', 7]] :update g {src, dst => weight}")
    returned = db.run("?[src, dst] <- [['b', 'a'], ['x', 'y']] :rm g {src, dst} :returning").rows()
    assert ("deleted", "a", "b", 7) in returned
    assert g.edges_table.rows() == [("b", "c", 3)]
    with pytest.raises(quipu.InvalidInputError, match="exists"):
        db.run("?[src, dst, weight] <- [['c', 'b', 1]] :insert g {src, dst => weight}")
    db.run("?[src, dst, weight] <- [['z', 'y', 1], ['y', 'z', 2]] :put g {src, dst => weight}")
    assert (g.edge("y", "z"), g.edge("z", "y")) == (1, 1)
    assert g.edges_table.get_many({"src": ["b", "c", "x"], "dst": ["c", "b", "b"]})[0].tolist() == [True, True, False]


@pytest.mark.parametrize("properties", [False, True])
def test_an_import_of_both_directions_has_each_edge_once(
    db: quipu.Database, tmp_path: Path, vertex: str, *, properties: bool
) -> None:
    file = tmp_path / "edges.csv"
    rows = [(1, 2, 0.5), (2, 1, 1.5), (3, 3, 2.0), (2, 3, 3.0), (1, 2, 4.0)]
    lines = [f"{spelled(vertex, u)},{spelled(vertex, v)},{w},x" for u, v, w in rows]
    file.write_text("source,target,weight,note\n" + "\n".join(lines) + "\n")
    given: Any = {"vertex": vertex, "weight": "float64", "directed": False, "edge_properties": properties or None}
    report = db.import_graph("g", file, **given)
    assert (report.rows, report.edges, report.duplicates) == (5, 3, 2)
    g = db.graph("g")
    a, b, c = (spelled(vertex, v) for v in (1, 2, 3))
    assert (g.edge(a, b), g.edge(b, a), g.edge(c, c), g.edge(c, b)) == (4.0, 4.0, 2.0, 3.0)
    for name in ["out.csv", "out.parquet", "out.arrow"]:
        path = tmp_path / name
        export = {".csv": g.export_csv, ".parquet": g.export_parquet, ".arrow": g.export_arrow}[path.suffix]
        assert export(path) == 3
        db.import_graph(f"from_{path.suffix[1:]}", path, **given)
        again = db.graph(f"from_{path.suffix[1:]}")
        assert again.edges_table.rows() == g.edges_table.rows()
    report = g.import_arrow(pa.table({"source": [b, a], "target": [a, c], "weight": [9.0, 8.0]}))
    assert (report.edges, report.duplicates) == (2, 1)
    assert (g.edge(a, b), g.number_of_edges()) == (9.0, 4)
    assert db.check()["graphs"]["g"] == 4


def test_a_projection_is_undirected_and_algorithms_answer_as_those_of_networkx(db: quipu.Database) -> None:
    graph = nx.gnm_random_graph(40, 90, seed=3)
    for i, (u, v) in enumerate(graph.edges):
        graph.edges[u, v]["weight"] = 1.0 + i % 5
    g = db.graph("g", weight="float64", directed=False)
    pairs = np.array(graph.edges)
    weights = [graph.edges[u, v]["weight"] for u, v in graph.edges]
    g.upsert_many(np.maximum(*pairs.T), np.minimum(*pairs.T), weights)
    p = g.project(weight="weight")
    assert not p.is_directed
    assert p.number_of_edges() == graph.number_of_edges()
    back = p.to_networkx()
    assert type(back) is nx.Graph
    connected = graph.subgraph(n for n in graph if graph.degree[n])
    assert nx.utils.graphs_equal(back, nx.Graph(connected))
    ranks = g.pagerank().to_dict()
    want = nx.pagerank(nx.Graph(connected))
    assert ranks.keys() == want.keys()
    assert all(abs(ranks[v] - want[v]) < 1e-5 for v in want)
    assert g.core_number().to_dict() == nx.core_number(nx.Graph(connected))
    filtered = g.project(weight="weight", where="weight > 2.0")
    assert not filtered.is_directed
    assert filtered.number_of_edges() == sum(w > 2 for w in weights)


def test_graphs_of_networkx_keep_their_directions(db: quipu.Database) -> None:
    graph = nx.karate_club_graph()
    db.from_networkx("g", graph)
    g = db.graph("g")
    assert not g.is_directed
    assert {frozenset(row[:2]) for row in g.edges_table.rows()} == {frozenset(edge) for edge in graph.edges}
    back = g.project(weight="weight").to_networkx()
    assert type(back) is nx.Graph
    assert nx.utils.edges_equal(back.edges, graph.edges)
    db.from_networkx("h", nx.DiGraph([(1, 2)]))
    assert db.graph("h").is_directed
    with pytest.raises(quipu.InvalidInputError, match="is undirected"):
        db.from_networkx("g", nx.DiGraph([(1, 2)]))


def test_networkx_classes_show_it_as_an_undirected_graph(db: quipu.Database) -> None:
    import quipu.nx

    g = db.graph("g", weight="float64", directed=False)
    g.upsert_many([1, 3, 3], [2, 2, 3], [0.5, 1.5, 2.5])
    with quipu.nx.Graph(db=db, name="g") as shown:
        assert dict(shown.adj[3]) == {2: {"weight": 1.5}, 3: {"weight": 2.5}}
        assert dict(shown.adj[2]) == {1: {"weight": 0.5}, 3: {"weight": 1.5}}
        assert {n: list(others) for n, others in shown.adj.items()} == {1: [2], 2: [1, 3], 3: [2, 3]}
        assert shown.number_of_edges() == 3
        shown.add_edge(2, 1, weight=7.0)
        shown.remove_edge(2, 3)
    assert g.edges_table.rows() == [(1, 2, 7.0), (3, 3, 2.5)]
    with pytest.raises(quipu.InvalidInputError, match=r"is undirected\nhint: open it as quipu.nx.Graph"):
        quipu.nx.DiGraph(db=db, name="g")


def test_a_backup_and_a_repair_keep_it(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "db") as db:
        db.graph("g", vertex="str", directed=False).upsert_many(["b", "a"], ["a", "c"])
        db.backup(tmp_path / "copy")
    report = quipu.repair(tmp_path / "db", tmp_path / "repaired")
    assert report["graphs"]
    for folder in ["copy", "repaired"]:
        with quipu.open(tmp_path / folder) as db:
            g = db.graph("g")
            assert not g.is_directed
            assert g.edges_table.rows() == [("b", "a"), ("a", "c")]
            assert db.check()["graphs"] == {"g": 2}
