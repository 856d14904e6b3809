"""Graphs of parallel edges: ``db.graph(key="int")``."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import quipu

#: Weights by ends and key. Without directions, the smaller end comes first.
Model = dict[tuple[Any, Any, int], float]


@pytest.fixture(params=["u64", "i64", "str"])
def vertex(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def spelled(vertex: str, v: int) -> Any:
    return {"u64": v, "i64": v - 4, "str": f"v{v}"}[vertex]


def check(g: quipu.Graph, model: Model, others: list[Any]) -> None:
    """Compare the reads with the model."""
    directed = g.is_directed
    assert g.number_of_edges() == len(model)
    for v in others:
        out = [(b, k, w) for (a, b, k), w in model.items() if a == v]
        into = [(a, k, w) for (a, b, k), w in model.items() if b == v]
        loops = [edge for edge in into if edge[0] == v]
        every = out + [edge for edge in into if edge[0] != v]
        if not directed:
            out = into = every
        assert sorted(g.out_edges(v)[1].tolist()) == sorted(edge[0] for edge in out)
        assert sorted(g.in_edges(v)[0].tolist()) == sorted(edge[0] for edge in into)
        assert sorted(g.edges(v)[2].tolist()) == sorted(edge[2] for edge in every)
        assert sorted(g.successors(v).tolist()) == sorted({edge[0] for edge in out})
        assert sorted(g.predecessors(v).tolist()) == sorted({edge[0] for edge in into})
        assert sorted(g.neighbors(v).tolist()) == sorted({edge[0] for edge in every} - {v})
        assert g.degree(v) == (len(every), sum(edge[2] for edge in every))
        assert g.out_degree(v)[0] == len(out)
        assert len(loops) <= len(every)
    pairs = [(u, v) for u in others for v in others]

    def name(u: Any, v: Any, k: int) -> tuple[Any, Any, int]:
        return (u, v, k) if directed else (*sorted((u, v)), k)

    for u, v in pairs:
        keys = sorted(k for k in range(4) if name(u, v, k) in model)
        assert g.edge_keys(u, v).tolist() == keys
        assert g.has_edge(u, v) == bool(keys)
    us, vs, ks = ([p[i] for p in pairs for _ in range(4)] for i in (0, 1, 0))
    ks = [0, 1, 2, 3] * len(pairs)
    want = [model.get(name(u, v, k)) for u, v, k in zip(us, vs, ks, strict=True)]
    present, weights = g.edge_many(us, vs, ks)
    assert present.tolist() == g.has_edge_many(us, vs, ks).tolist() == [w is not None for w in want]
    assert weights[present].tolist() == [w for w in want if w is not None]
    assert g.has_edge_many(us[::4], vs[::4]).tolist() == [
        any(w is not None for w in want[i : i + 4]) for i in range(0, len(want), 4)
    ]
    assert g.edge(us[5], vs[5], ks[5]) == want[5]
    rows = g.edges_table.rows()
    assert {name(*row[:3]): row[3] for row in rows} == model
    table = pa.table(g.to_table())
    assert table.column_names == ["src", "dst", "key", "weight"]
    assert [tuple(row.values()) for row in table.to_pylist()] == [row[:4] for row in rows]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_a_graph_of_parallel_edges_is_a_map_of_ends_and_keys(
    tmp_path: Path, vertex: str, seed: int, *, directed: bool
) -> None:
    random_ = random.Random(seed)
    all_: list[Any] = [spelled(vertex, v) for v in range(5)]

    def edge() -> tuple[Any, Any, int]:
        return random_.choice(all_), random_.choice(all_), random_.randrange(4)

    def name(u: Any, v: Any, k: int) -> tuple[Any, Any, int]:
        return (u, v, k) if directed else (*sorted((u, v)), k)

    db = quipu.open(tmp_path / "db", durability="none")
    kwargs: Any = {"vertex": vertex, "edges": {"weight": "float", "note": "str?"}, "directed": directed, "key": "int"}
    db.graph("g", **kwargs)
    kept: Model = {}
    now: Model = {}
    tx: quipu.Transaction | None = None
    for _ in range(60):
        g = db.graph("g") if tx is None else tx.graph("g")
        w = float(random_.randrange(-5, 6))
        edges = [edge() for _ in range(4)]
        us, vs, ks = (list(column) for column in zip(*edges, strict=True))
        match random_.randrange(10):
            case 0:
                g.upsert(us[0], vs[0], w, key=ks[0])
                now[name(*edges[0])] = w
            case 1:
                g.upsert_many(us, vs, [w] * 4, keys=ks)
                now.update({name(*e): w for e in edges})
            case 2:
                g.add_edge(us[0], vs[0], key=ks[0], weight=w, note="n")
                now[name(*edges[0])] = w
                assert g.edge_properties(us[0], vs[0], ks[0]) == {"weight": w, "note": "n"}
            case 3:
                g.upsert_edges({"src": us, "dst": vs, "key": ks, "weight": [w] * 4}, merge=True)
                now.update({name(*e): w for e in edges})
            case 4:
                assert g.remove(*edges[0]) == (now.pop(name(*edges[0]), None) is not None)
            case 5:
                removed = g.remove_many(us, vs, ks)
                assert removed.tolist() == [now.pop(name(*e), None) is not None for e in edges]
            case 6:
                gone = [e for e in now if us[0] in e[:2]]
                assert g.remove_vertex(us[0]) == len(gone)
                for e in gone:
                    del now[e]
            case 7:
                (db if tx is None else tx).run(
                    "?[src, dst, key, weight, note] := r in $rows, src = get(r, 0), dst = get(r, 1), key = get(r, 2), "
                    "weight = get(r, 3), note = null :put g {src, dst, key => weight, note}",
                    {"rows": [[*e, w] for e in edges]},
                )
                now.update({name(*e): w for e in edges})
            case 8 if tx is None:
                db.close()
                db = quipu.open(tmp_path / "db", durability="none")
                assert (db.graph("g").key, db.graph("g").is_directed) == ("int", directed)
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
        here = db.graph("g") if tx is None else tx.graph("g")
        if vertex == "str" and not directed:
            # The stored order of strings is that of their ids; names sort them.
            now = {name(*e): w for e, w in now.items()}
        check(here, now, all_)
    if tx is not None:
        tx.rollback()
    assert db.check()["graphs"] == {"g": len(kept)}
    db.close()


def test_calls_without_a_key_choose_none(db: quipu.Database) -> None:
    g = db.graph("g", weight="int64", key="int")
    g.upsert(1, 2, 5, key=7)
    for call in [
        lambda: g.edge(1, 2),
        lambda: g.edge_many([1], [2]),
        lambda: g.remove(1, 2),
        lambda: g.upsert(1, 2, 3),
    ]:
        with pytest.raises(quipu.InvalidInputError, match='edges of graph "g" have keys, and none was given'):
            call()
    with pytest.raises(quipu.InvalidInputError, match="no column `key`"):
        g.edge_properties(1, 2)
    with pytest.raises(quipu.InvalidInputError, match="no column `key`"):
        g.upsert_edges({"src": [1], "dst": [2]})
    plain = db.graph("plain")
    for call in [
        lambda: plain.edge(1, 2, 3),
        lambda: plain.remove(1, 2, 3),
        lambda: plain.upsert(1, 2, key=3),
        lambda: plain.edge_keys(1, 2),
        lambda: plain.edge_properties(1, 2, 3),
    ]:
        with pytest.raises(quipu.InvalidInputError, match='edges of graph "plain" have no keys'):
            call()
    with pytest.raises(quipu.InvalidInputError, match="have keys, no keys were asked for"):
        db.graph("g", key="none")
    with pytest.raises(quipu.InvalidInputError, match='key is "int" or "none"'):
        db.graph("h", key="str")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_files_have_the_keys(db: quipu.Database, tmp_path: Path, vertex: str, suffix: str) -> None:
    rows = {
        "source": [spelled(vertex, v) for v in (1, 1, 1, 2)],
        "target": [spelled(vertex, v) for v in (2, 2, 2, 3)],
        "key": [0, -1, 0, 5],
        "weight": [0.5, 1.5, 2.5, 3.5],
        "note": ["a", "b", "c", None],
    }
    given: Any = {"vertex": vertex, "weight": "float64", "key": "int", "edge_properties": True}
    report = db.import_graph("g", rows, **given)
    assert (report.rows, report.edges, report.duplicates) == (4, 3, 1)
    g = db.graph("g")
    assert g.edge_properties(spelled(vertex, 1), spelled(vertex, 2), 0) == {"weight": 2.5, "note": "c"}
    path = tmp_path / f"edges{suffix}"
    export = {".csv": g.export_csv, ".parquet": g.export_parquet, ".arrow": g.export_arrow}[suffix]
    assert export(path) == 3
    db.import_graph("again", path, **given)
    assert db.graph("again").edges_table.rows() == g.edges_table.rows()
    with pytest.raises(quipu.InvalidInputError, match="no column is called key"):
        db.import_graph("g", {"source": rows["source"], "target": rows["target"]})


@pytest.mark.parametrize("of", ["int64", "uint64", "float64"])
def test_a_report_counts_edges_by_keys_of_any_type_of_numbers(db: quipu.Database, of: str) -> None:
    rows = {"source": [1, 1, 1], "target": [2, 2, 2], "key": np.array([0, 1, 1], of)}
    report = db.import_graph("g", rows, key="int")
    assert (report.rows, report.edges, report.duplicates) == (3, 2, 1)
    report = db.import_graph("g", {**rows, "key": np.array([1, 2, 3], of)})
    assert (report.rows, report.edges, report.duplicates) == (3, 3, 1)
    assert db.graph("g").edge_keys(1, 2).tolist() == [0, 1, 2, 3]


def test_a_column_of_keys_may_name_its_type(db: quipu.Database, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("source,target,key:int,since:int\n1,2,0,1999\n1,2,7,2001\n")
    db.import_graph("g", path, key="int", edge_properties=True)
    g = db.graph("g")
    assert g.edges_table.rows() == [(1, 2, 0, 1999), (1, 2, 7, 2001)]
    assert [column.name for column in g.edges_table.columns] == ["src", "dst", "key", "since"]


def test_a_projection_keeps_parallel_edges_or_combines_them(db: quipu.Database) -> None:
    g = db.graph("g", weight="float64", key="int")
    g.upsert_many([1, 1, 2], [2, 2, 1], [3.0, 4.0, 5.0], keys=[0, 1, 0])
    assert g.project().number_of_edges() == 3
    sums: Any = g.project(weight="weight", parallel="sum").weights
    assert sums.tolist() == [7.0, 5.0]
    least: Any = g.project(weight="weight", parallel="min").weights
    assert least.tolist() == [3.0, 5.0]
    assert g.project(where="weight > 0.0").number_of_edges() == 3
    assert g.project(where="key = 1").number_of_edges() == 1
    assert type(g.project().to_networkx()) is nx.MultiDiGraph
    undirected = db.graph("u", key="int", directed=False)
    undirected.upsert_many([1, 2], [2, 1], keys=[0, 1])
    found = undirected.project().to_networkx()
    assert type(found) is nx.MultiGraph
    assert found.number_of_edges(1, 2) == 2


@pytest.mark.parametrize("kind", [nx.MultiDiGraph, nx.MultiGraph])
def test_multigraphs_of_networkx_keep_their_edges(db: quipu.Database, kind: Any) -> None:
    graph = kind([(1, 2, 0, {"w": 1}), (1, 2, 1, {"w": 2}), (2, 3, 0, {"w": 3}), (3, 3, 4, {"w": 4})])
    assert db.from_networkx("g", graph).edges == 4
    g = db.graph("g")
    assert (g.key, g.is_directed) == ("int", graph.is_directed())
    assert g.edges_table.rows() == [(1, 2, 0, 1), (1, 2, 1, 2), (2, 3, 0, 3), (3, 3, 4, 4)]
    back = g.project().to_networkx()
    assert type(back) is kind
    assert sorted(back.edges()) == sorted(graph.edges())
    import quipu.nx

    with pytest.raises(quipu.InvalidInputError, match="edges with keys"):
        quipu.nx.DiGraph(db=db, name="g")
