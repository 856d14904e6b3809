"""Files and tables with properties of edges and of vertices, in and out."""

from __future__ import annotations

import datetime as dt
import gzip
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import quipu

TYPES = {
    "str": ("", 'a "b",\n\té', "\\N", "NA", " x "),
    "int": (0, -(2**63), 2**63 - 1, 5, 6),
    "float": (0.1, -0.0, float("inf"), 1e300, 3.0),
    "bool": (True, False, True, False, True),
    "bytes": (b"", b"\0\xff", b"abc", b"x", b"y"),
    "json": ({"a": [1, None]}, [1, "x"], "text", 5, True),
    "uuid": tuple(uuid.UUID(int=i) for i in range(5)),
    "date": tuple(dt.date(1998, 2, day) for day in range(1, 6)),
    "timestamp": tuple(dt.datetime(1998, 2, 3, 4, 5, 6, us, tzinfo=dt.UTC) for us in range(5)),
    "duration": tuple(dt.timedelta(days=day, microseconds=1) for day in range(-2, 3)),
    "[Int]": ([], [1, 2], [3], [4], [5]),
    "[String?]": (["a", None], [], ["NA"], [""], ["x,y"]),
    "<F32; 2>": ([0.5, 1.0], [2.0, 3.0], [4.0, 5.0], [0.1, 0.2], [0.0, 1.0]),
}
NAMES = {f"p{i}": of for i, of in enumerate(TYPES)}
NULLABLE = {name: f"{of}?" for name, of in NAMES.items()}
FORMATS = ["csv", "tsv", "txt", "csv.gz", "csv.zst", "parquet", "arrow"]


def full(db: quipu.Database, name: str, vertex: str) -> quipu.Graph:
    edges = {"weight": "float", **NULLABLE}
    return db.graph(name, vertex=vertex, nodes=NULLABLE, edges=edges)  # pyright: ignore[reportArgumentType]


def rows_of(vertices: list[Any]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Rows with a value and with a null of each type."""
    properties = {f"p{i}": [*values, None] for i, values in enumerate(TYPES.values())}
    src, dst = vertices[:6], vertices[1:7]
    edges = {"src": src, "dst": dst, "weight": [0.5, 1.0, -2.0, 3.0, 4.0, 5.0], **properties}
    return edges, {"vertex": src, **properties}


def export(g: quipu.Graph, path: Path) -> int:
    if path.suffix == ".parquet":
        return g.export_parquet(path)
    return g.export_arrow(path) if path.suffix == ".arrow" else g.export_csv(path)


@pytest.mark.parametrize("vertex", ["u64", "i64", "str"])
@pytest.mark.parametrize("end", FORMATS)
def test_an_export_comes_back_equal(tmp_path: Path, db: quipu.Database, vertex: str, end: str) -> None:
    kinds: dict[str, list[Any]] = {
        "u64": [2**64 - 1, *range(6)],
        "i64": [-(2**63), *range(-3, 3)],
        "str": ["é", "NA", "a b", "\\N", "7", " ", '"'],
    }
    g = full(db, "g", vertex)
    edges, nodes = rows_of(kinds[vertex])
    g.upsert_edges(edges)
    g.upsert_nodes(nodes)
    edge_file, node_file = tmp_path / f"edges.{end}", tmp_path / f"nodes.{end}"
    assert export(g, edge_file) == 6
    assert g.export_nodes(node_file) == 6
    h = full(db, "h", vertex)
    report = h.import_csv(edge_file)
    assert (report.edges, report.rows, report.duplicates) == (6, 6, 0)
    assert h.import_nodes(node_file).nodes == 6
    assert h.edges_table.rows() == g.edges_table.rows()
    assert h.nodes.rows() == g.nodes.rows()
    assert h.predecessors(kinds[vertex][1]).tolist() == [kinds[vertex][0]]
    again = db.import_graph("h", edge_file, nodes=node_file)
    assert (again.edges, again.duplicates, again.nodes) == (6, 6, 6)
    assert h.edges_table.rows() == g.edges_table.rows()
    db.check()


def test_types_are_found_in_text(db: quipu.Database, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(
        "from,to,since,name,when,day,yes,rate,code,weight\n"
        "1,2,1998,a,1998-02-03T04:05:06Z,1998-02-03,true,0.5,007,2\n"
        "2,3,,,,,,,,1\n"
        '3,4,NA,"",1999-01-01,1999-01-01,False,1,12,0.5\n'
    )
    (tmp_path / "nodes.csv").write_text("id:ID,first name,:LABEL\n1,Ann,person\n9,,\n")
    report = db.import_graph("g", tmp_path / "edges.csv", nodes=tmp_path / "nodes.csv", edge_properties=True)
    assert (report.edges, report.nodes) == (3, 2)
    assert report.detected["properties"] == "since, name, when, day, yes, rate, code"
    g = db.graph("g")
    assert (g.vertex, g.weight) == ("u64", "float64")
    assert [(c.name, c.type) for c in g.edges_table.columns[3:]] == [
        ("since", "Int?"),
        ("name", "String?"),
        ("when", "Timestamp?"),
        ("day", "Date?"),
        ("yes", "Bool?"),
        ("rate", "Float?"),
        ("code", "String?"),
    ]
    rows = g.edges_table.rows()
    assert rows[0][2:5] == (2.0, 1998, "a")
    assert rows[1] == (2, 3, 1.0, *[None] * 7)
    assert rows[2][3:5] == (None, "")
    assert g.nodes.rows() == [(1, "Ann", "person"), (9, None, None)]
    assert [c.name for c in g.nodes.columns] == ["vertex", "first_name", "LABEL"]
    assert g.vertices().tolist() == [1, 2, 3, 4, 9]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_many_kinds_are_imported(db: quipu.Database, make: Any) -> None:
    days = [dt.date(1998, 2, 3), None]
    edges = make({"src": ["a", "b"], "dst": ["b", "c"], "since": [1998, 1999], "day": days})
    nodes = make({"name": ["a", "z"], "year": [1.5, None]})
    report = db.import_graph("g", edges, nodes=nodes, edge_properties=True)
    assert (report.edges, report.nodes) == (2, 2)
    g = db.graph("g")
    assert g.edges_table.rows() == [("a", "b", 1998, days[0]), ("b", "c", 1999, None)]
    assert g.nodes.rows() == [("a", 1.5), ("z", None)]
    assert g.import_arrow(make({"src": ["a"], "dst": ["b"], "since": [7]})).duplicates == 1
    assert g.edge_properties("a", "b") == {"since": 7, "day": None}
    assert g.import_nodes(make({"vertex": ["z"], "year": [3.0]})).nodes == 1
    assert g.node("z") == {"year": 3.0}


def test_values_of_python_are_imported(db: quipu.Database) -> None:
    rows = [
        {"source": 1, "target": 2, "more": {"a": 1}, "rate": float("nan")},
        {"source": 2, "target": 3, "more": [1, 2]},
    ]
    db.import_graph("g", rows, edge_properties={"more": "json?", "rate": "float?"})
    g = db.graph("g")
    assert g.edge_properties(1, 2) == {"more": {"a": 1}, "rate": None}
    assert g.edge_properties(2, 3) == {"more": [1, 2], "rate": None}
    masked = np.ma.masked_array([1, 2], mask=[False, True])
    db.import_graph("h", {"u": [1, 2], "v": [2, 3], "n": masked}, edge_properties=True)
    assert db.graph("h").edges_table.rows() == [(1, 2, 1), (2, 3, None)]


def test_a_column_of_a_reserved_name_keeps_its_values(db: quipu.Database) -> None:
    edges = {"source": [1, 2], "target": [2, 3], "src": ["a", "b"], "key": [5, 6]}
    db.import_graph("g", edges, edge_properties=True)
    found = db.graph("g").edges_table.to_arrow().to_pydict()
    assert found == {"src": [1, 2], "dst": [2, 3], "src_": ["a", "b"], "key_": [5, 6]}


def test_given_types_are_those_of_the_graph(db: quipu.Database, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("u,v,cost,code,weight\n1,2,3,007,5\n")
    db.import_graph("g", tmp_path / "e.csv", edge_properties={"code": "str", "weight": "int"})
    g = db.graph("g")
    assert (g.weight, g.edge_properties(1, 2)) == ("int64", {"weight": 5, "code": "007"})
    with pytest.raises(quipu.InvalidInputError, match="the edges of graph"):
        db.import_graph("g", tmp_path / "e.csv", edge_properties={"code": "int"})


def test_a_column_without_a_weights_name_stays_a_property(db: quipu.Database, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("u,v,cost\n1,2,3\n")
    db.import_graph("g", path, edge_properties=True)
    assert db.graph("g").weight is None
    assert db.graph("g").edge_properties(1, 2) == {"cost": 3}
    h = db.graph("h", edges={"weight": "float", "cost": "int?"})
    h.import_csv(path)
    assert h.edge_properties(1, 2) == {"weight": 1.0, "cost": 3}
    k = db.graph("k", edges={"weight": "float", "other": "int?"})
    k.import_csv(path)
    assert k.edge_properties(1, 2) == {"weight": 3.0, "other": None}


def test_a_bad_value_is_told_with_its_line_and_nothing_is_imported(db: quipu.Database, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("src,dst,since\n1,2,1998\n2,3,soon\n\n3,,5\n")
    g = db.graph("g", edges={"since": "int?"})
    with pytest.raises(quipu.InvalidInputError, match="line 3, column 3: expected an integer") as failed:
        g.import_csv(path)
    assert (failed.value.line, failed.value.column) == (3, 3)
    assert len(g) == 0
    report = g.import_csv(path, on_error="skip")
    assert (report.edges, report.skipped) == (1, 2)
    assert "line 5, column 2: expected a vertex" in report.skipped_lines[1]
    with pytest.raises(quipu.InvalidInputError, match="line 3"):
        db.import_graph("new", path, edge_properties={"since": "int?"})
    (tmp_path / "n.csv").write_text("vertex,year\n1,x\n")
    with pytest.raises(quipu.InvalidInputError, match="line 2, column 2"):
        db.import_graph("new", path, nodes=tmp_path / "n.csv", node_properties={"year": "int"}, on_error="fail")
    assert db.graphs() == ["g"]
    with pytest.raises(quipu.InvalidInputError, match="have no rows of their own"):
        g.import_nodes(tmp_path / "n.csv")


def test_missing_weights_follow_the_rule_of_imports(db: quipu.Database, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("src,dst,weight,since\n1,2,,5\n2,3,7,6\n")
    g = db.graph("g", edges={"weight": "int", "since": "int?"})
    with pytest.raises(quipu.InvalidInputError, match="1 edge without one: line 2"):
        g.import_csv(path)
    assert g.import_csv(path, missing="skip").missing == 1
    assert g.edges_table.rows() == [(2, 3, 7, 6)]
    g.import_csv(path, missing=4)
    assert g.edges_table.rows() == [(1, 2, 4, 5), (2, 3, 7, 6)]


def test_the_last_row_of_an_edge_wins_and_duplicates_are_counted(db: quipu.Database, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("src,dst,n\na,b,1\nb,c,2\na,b,3\n")
    report = db.import_graph("g", path, edge_properties=True)
    assert (report.rows, report.edges, report.duplicates) == (3, 2, 1)
    assert db.graph("g").edges_table.rows() == [("a", "b", 3), ("b", "c", 2)]


def test_edges_without_properties_keep_their_import(db: quipu.Database, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,since\n1,2,3\n")
    (tmp_path / "n.csv").write_text("id,kind\nx,a\n")
    report = db.import_graph("g", tmp_path / "e.csv", nodes=tmp_path / "n.csv")
    g = db.graph("g")
    assert (report.edges, report.nodes, g.vertex) == (1, 1, "str")
    assert sorted(g.vertices().tolist()) == ["1", "2", "x"]
    (tmp_path / "e.csv").write_text("src,dst\n1,2\n")
    h = db.graph("h", edges={"other": "int?"})
    h.import_csv(tmp_path / "e.csv")
    assert h.edge_properties(1, 2) == {"other": None}
    with pytest.raises(quipu.InvalidInputError, match="edges of graph"):
        db.graph("k", edges={"other": "int"}).import_csv(tmp_path / "e.csv")


def test_many_files_are_one_import(db: quipu.Database, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "1.csv.gz", "wt") as file:
        file.write("src,dst,n\n1,2,1\n")
    pq.write_table(pa.table({"src": [2], "dst": [3], "n": [2.5]}), tmp_path / "2.parquet")
    report = db.import_graph("g", [tmp_path / "1.csv.gz", tmp_path / "2.parquet"], edge_properties=True)
    assert report.edges == 2
    assert db.graph("g").edges_table.rows() == [(1, 2, 1.0), (2, 3, 2.5)]


@pytest.mark.parametrize("vertex", ["u64", "str"])
def test_very_many_rows_are_loaded(tmp_path: Path, vertex: str) -> None:
    count = 120_000
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 5_000, (2, count))
    name = str if vertex == "str" else int
    us, vs = ([name(v) for v in side] for side in ends.tolist())
    edges = pl.DataFrame({"source": us, "target": vs, "n": range(count), "text": [f"t{i}" for i in range(count)]})
    edges.write_csv(tmp_path / "e.csv")
    nodes = pl.DataFrame({"vertex": [name(i) for i in range(6_000)], "year": range(6_000)})
    nodes.write_parquet(tmp_path / "n.parquet")
    with quipu.open(tmp_path / "db.quipu") as db:
        g = db.graph("g", vertex=vertex, edges={"n": "int", "text": "str"}, nodes={"year": "int"})  # pyright: ignore[reportArgumentType]
        g.add_edge(us[0], name(5_500), n=-1, text="old")
        report = db.import_graph("g", tmp_path / "e.csv", nodes=tmp_path / "n.parquet")
        want = {(u, v): (n, f"t{n}") for n, (u, v) in enumerate(zip(us, vs, strict=True))}
        assert (report.edges, report.duplicates) == (len(want), count - len(want))
        want[us[0], name(5_500)] = (-1, "old")
        assert {(row[0], row[1]): row[2:] for row in g.edges_table.rows()} == want
        assert dict(g.nodes.rows()) == {name(i): i for i in range(6_000)}
        assert g.number_of_vertices() == 6_000
        db.check()
    with quipu.open(tmp_path / "db.quipu", read_only=True) as db:
        g = db.graph("g")
        assert g.edge_properties(us[7], vs[7]) is not None
        assert set(g.predecessors(vs[7]).tolist()) == {u for u, v in want if v == vs[7]}


def test_rows_beyond_the_memory_are_refused(tmp_path: Path) -> None:
    text = "x" * 1000
    with open(tmp_path / "e.csv", "w") as file:
        file.write("src,dst,text\n")
        file.writelines(f"{i},{i + 1},{text}\n" for i in range(30_000))
    with quipu.open(tmp_path / "db.quipu", memory_limit=64 << 20) as db:
        with pytest.raises(quipu.LimitError, match="rows with properties exceed"):
            db.import_graph("g", tmp_path / "e.csv", edge_properties=True)
        assert db.graphs() == []


def test_an_import_into_a_transaction_is_refused(db: quipu.Database, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,n\n1,2,3\n")
    db.graph("g", edges={"n": "int?"}, nodes={})
    with db.transaction() as tx:
        g = tx.graph("g")
        for call in [g.import_csv, g.import_nodes]:
            with pytest.raises(quipu.InvalidInputError, match="outside of transactions"):
                call(tmp_path / "e.csv")


def test_progress_is_told_and_an_exception_in_it_ends_the_import(db: quipu.Database, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,n\n" + "1,2,3\n" * 400_000)
    g = db.graph("g", edges={"n": "int?"})

    def tell(progress: dict[str, Any]) -> None:
        raise ZeroDivisionError(progress["phase"])

    with pytest.raises(ZeroDivisionError):
        g.import_csv(tmp_path / "e.csv", progress=tell)
    assert len(g) == 0
