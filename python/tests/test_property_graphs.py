"""Graphs with properties of edges and of vertices."""

from __future__ import annotations

import datetime as dt
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import quipu

NODES = {"kind": "str?", "year": "int?"}
EDGES = {"weight": "float", "since": "int?", "more": "json?"}


@pytest.fixture(params=["u64", "i64", "str"])
def vertex(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def g(db: quipu.Database) -> quipu.Graph:
    return db.graph("g", nodes=NODES, edges=EDGES)


def test_properties_of_each_type_come_back(db: quipu.Database) -> None:
    values: dict[str, Any] = {
        "str": "é",
        "int": -(2**63),
        "float": 0.5,
        "bool": True,
        "bytes": b"\0x",
        "json": {"a": [1, None]},
        "uuid": uuid.UUID(int=7),
        "date": dt.date(1998, 2, 3),
        "timestamp": dt.datetime(1998, 2, 3, 4, 5, 6, 7, tzinfo=dt.UTC),
        "duration": dt.timedelta(days=2, microseconds=1),
        "[Int]": [1, 2],
        "<F32; 2>": [0.5, 1.0],
    }
    kinds = {f"p{i}": of for i, of in enumerate(values)}
    nullable = {f"{name}_null": f"{of}?" for name, of in kinds.items()}
    g = db.graph("g", nodes={**kinds, **nullable}, edges={**kinds, **nullable})
    row = {f"p{i}": value for i, value in enumerate(values.values())}
    g.add_node(1, **row)
    g.add_edge(1, 2, **row)
    want = {**row, **dict.fromkeys(nullable)}
    assert g.node(1) == want
    assert g.edge_properties(1, 2) == want
    _, table = g.node_many([1])
    assert table.rows()[0][1:5] == ("é", -(2**63), 0.5, True)
    assert table["p5"] == [{"a": [1, None]}]
    assert table["p1_null"] == [None]


def test_a_call_says_what_it_refuses(db: quipu.Database, g: quipu.Graph) -> None:
    def refused(what: str, **kwargs: Any) -> None:
        with pytest.raises(quipu.InvalidInputError, match=what):
            db.graph("h", **kwargs)

    refused('a property of an edge cannot be named "src"', edges={"src": "int"})
    refused('a property of a vertex cannot be named "vertex"', nodes={"vertex": "int"})
    refused('"integer" is no type', nodes={"a": "integer"})
    refused('"int default 3" is no type', nodes={"a": "int default 3"})
    refused('"a b" cannot be the name of a property', nodes={"a b": "int"})
    refused('a weight is a "float" or an "int", not String', edges={"weight": "str"})
    refused("name different types of the weight", weight="int64", edges={"weight": "float"})
    with pytest.raises(TypeError, match="nodes is a dict"):
        db.graph("h", nodes=["a"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="both texts"):
        db.graph("h", nodes={"a": int})  # pyright: ignore[reportArgumentType]
    assert db.graphs() == ["g"]
    with pytest.raises(quipu.InvalidInputError, match='the edges of graph "g" have the properties'):
        db.graph("g", edges={"weight": "float"})
    with pytest.raises(quipu.InvalidInputError, match="has no column `colour`"):
        g.add_node(1, colour="red")
    with pytest.raises(quipu.InvalidInputError, match=r"column `year`: expected Int"):
        g.add_node(1, year="old")
    assert db.graph("g").edges_table.columns[3].name == "since"
    plain = db.graph("plain")
    with pytest.raises(quipu.InvalidInputError, match="have no rows of their own"):
        plain.add_node(1)
    with pytest.raises(quipu.InvalidInputError, match="have no rows of their own"):
        _ = plain.nodes


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_many_kinds_are_put(g: quipu.Graph, kind: Any) -> None:
    g.upsert_nodes(kind({"year": [1, 2, 3], "vertex": [7, 8, 9]}))
    g.upsert_edges(kind({"src": [7, 8], "dst": [8, 9], "weight": [0.5, 2.0], "since": [1998, 1999]}))
    assert g.nodes.rows() == [(7, None, 1), (8, None, 2), (9, None, 3)]
    assert g.edges_table.rows() == [(7, 8, 0.5, 1998, None), (8, 9, 2.0, 1999, None)]
    g.upsert_edges(kind({"src": [7], "dst": [8], "since": [3]}), merge=True)
    assert g.edge_properties(7, 8) == {"weight": 0.5, "since": 3, "more": None}
    g.upsert_edges(kind({"src": [7], "dst": [8], "since": [4]}))
    assert g.edge_properties(7, 8) == {"weight": 1.0, "since": 4, "more": None}


def test_vertices_of_each_type_have_properties(db: quipu.Database, vertex: str) -> None:
    kinds: dict[str, list[Any]] = {"u64": [0, 2**64 - 1, 5], "i64": [-(2**63), 0, 7], "str": ["", "é", "z"]}
    a, b, c = kinds[vertex]
    g = db.graph("g", vertex=vertex, nodes=NODES, edges=EDGES)  # pyright: ignore[reportArgumentType]
    g.add_edge(a, b, since=1)
    g.add_node(c, kind="x")
    g.add_node(a, year=3)
    assert g.successors(a).tolist() == [b]
    assert g.predecessors(b).tolist() == [a]
    assert set(g.vertices().tolist()) == {a, b, c}
    assert (a in g, b in g, c in g) == (True, True, True)
    present, rows = g.node_many([b, c, a])
    assert present.tolist() == [False, True, True]
    assert rows.rows() == [(c, "x", None), (a, None, 3)]
    present, rows = g.edge_properties_many([b, a], [a, b])
    assert present.tolist() == [False, True]
    assert rows.rows() == [(a, b, 1.0, 1, None)]
    assert g.remove_vertex(a) == 1
    assert g.vertices().tolist() == [c]
    g.clear()
    assert g.number_of_vertices() == 0


def test_many_rows_are_merged_as_one_by_one(db: quipu.Database) -> None:
    rng = np.random.default_rng(7)
    many = db.graph("many", nodes=NODES, edges=EDGES)
    single = db.graph("single", nodes=NODES, edges=EDGES)
    for _ in range(5):
        rows = {"src": rng.integers(0, 5, 40), "dst": rng.integers(0, 5, 40)}
        name = ["weight", "since"][rng.integers(0, 2)]
        rows[name] = rng.integers(0, 9, 40)
        many.upsert_edges(rows, merge=True)
        for row in zip(*(column.tolist() for column in rows.values()), strict=True):
            single.add_edge(row[0], row[1], **{name: row[2]})
    assert many.edges_table.rows() == single.edges_table.rows()


def test_a_transaction_sees_its_own_rows_and_a_rollback_leaves_none(db: quipu.Database, g: quipu.Graph) -> None:
    g.add_node(1, year=1)
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        mine = tx.graph("g")
        mine.add_edge(1, 2, since=5)
        mine.add_edge(1, 2, weight=0.5)
        mine.add_node(1, kind="x")
        assert mine.edge_properties(1, 2) == {"weight": 0.5, "since": 5, "more": None}
        assert mine.node(1) == {"kind": "x", "year": 1}
        assert mine.nodes.rows() == [(1, "x", 1)]
        assert g.edge_properties(1, 2) is None
        _ = 1 // 0
    assert g.node(1) == {"kind": None, "year": 1}
    assert len(g) == 0
    with db.transaction() as tx:
        tx.graph("g").upsert_nodes({"vertex": [4], "year": [9]})
    assert g.node(4) == {"kind": None, "year": 9}


def test_they_are_there_after_reopening_and_in_a_backup(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "db.quipu") as db:
        g = db.graph("g", vertex="str", nodes=NODES, edges=EDGES)
        g.add_edge("a", "b", since=1, more={"x": [1]})
        g.add_node("c", kind="lonely")
        db.flush()
        g.add_edge("a", "c", since=2)
        db.backup(tmp_path / "backup")
        db.check()
    quipu.restore(tmp_path / "backup", tmp_path / "restored.quipu")
    for name in ["db.quipu", "restored.quipu"]:
        with quipu.open(tmp_path / name, read_only=True) as db:
            g = db.graph("g")
            assert g.edge_properties("a", "b") == {"weight": 1.0, "since": 1, "more": {"x": [1]}}
            assert sorted(g.vertices().tolist()) == ["a", "b", "c"]
            assert db.check()


def test_whole_relations_are_exported_and_imported(db: quipu.Database, g: quipu.Graph) -> None:
    g.add_edge(1, 2, since=3)
    g.add_node(9, kind="x")
    out = db.export_relations(["g", "g:nodes"])
    with quipu.open() as other:
        h = other.graph("g", nodes=NODES, edges=EDGES)
        other.import_relations(out)
        assert h.edge_properties(1, 2) == {"weight": 1.0, "since": 3, "more": None}
        assert h.predecessors(2).tolist() == [1]
        assert h.vertices().tolist() == [1, 2, 9]
        other.check()


def test_scripts_list_read_and_write_them(db: quipu.Database, g: quipu.Graph) -> None:
    db.run("?[vertex, kind, year] <- [[1, 'a', 5], [2, 'b', null]] :put g:nodes {vertex => kind, year}")
    db.run("?[src, dst, weight, since, more] <- [[1, 2, 0.5, 7, null]] :put g {src, dst => weight, since, more}")
    assert g.nodes.rows() == [(1, "a", 5), (2, "b", None)]
    found = db.run("?[b, kind] := *g{src: 1, dst: b, since}, since > 3, *g:nodes{vertex: b, kind}")
    assert found.rows() == [(2, "b")]
    back = db.run("?[a, since] := *g:rev{dst: 2, src: a, since}")
    assert back.rows() == [(1, 7)]
    listed = {row[0]: row[1:5] for row in db.run("::relations").rows()}
    assert listed == {"g": (5, "normal", 2, 3), "g:nodes": (3, "normal", 1, 2)}
    db.run("?[vertex] <- [[1]] :rm g:nodes {vertex}")
    assert g.vertices().tolist() == [1, 2]
    with pytest.raises(quipu.InvalidInputError, match="found `:rev`"):
        db.run("?[dst, src] <- [[1, 2]] :rm g:rev {dst, src}")
    with pytest.raises(quipu.InvalidInputError):
        db.run("::remove g:nodes")
    db.run("::access_level read_only g")
    with pytest.raises(quipu.InvalidInputError, match="read_only"):
        g.add_node(1)
    db.run("::access_level normal g")
    db.run("::rename g -> h")
    assert db.graph("h").nodes.rows() == [(2, "b", None)]
    db.run("::remove h")
    assert db.run("::relations").rows() == []
