"""Exports for Spark, read by pyarrow here, and by Spark itself where pyspark and Java are installed."""

import json
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import quipu
from quipu import spark as qs


def numbers() -> quipu.Database:
    db = quipu.open()
    graph = db.graph("g", weight="float64")
    graph.upsert_many([1, 2, 3, 3, 7], [2, 3, 1, 4, 7], [0.5, 1.5, 2.5, 3.5, 4.5])
    return db


def test_an_export_has_all_edges_vertices_and_statistics(tmp_path: Path) -> None:
    report = qs.export(numbers(), "g", tmp_path / "out", file_rows=2)
    assert (report.vertices, report.edges) == (5, 5)
    edges = pq.read_table(tmp_path / "out" / "edges").to_pylist()
    assert [tuple(row.values()) for row in edges] == [
        (1, 2, 0.5),
        (2, 3, 1.5),
        (3, 1, 2.5),
        (3, 4, 3.5),
        (7, 7, 4.5),
    ]
    assert list(edges[0]) == ["src", "dst", "weight"]
    assert pq.read_table(tmp_path / "out" / "vertices").column("id").to_pylist() == [1, 2, 3, 4, 7]
    page = json.loads((tmp_path / "out" / "quipu.json").read_text(encoding="utf-8"))
    assert page["files"] == {
        "edges/part-00000.parquet": 2,
        "edges/part-00001.parquet": 2,
        "edges/part-00002.parquet": 1,
        "vertices/part-00000.parquet": 2,
        "vertices/part-00001.parquet": 2,
        "vertices/part-00002.parquet": 1,
    }
    assert page["files"] == {
        str(file.relative_to(tmp_path / "out")): pq.read_metadata(file).num_rows
        for file in sorted((tmp_path / "out").rglob("*.parquet"))
    }
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out"]


def test_properties_of_vertices_come_from_a_relation(tmp_path: Path) -> None:
    db = quipu.open()
    db.graph("g", vertex="str").upsert_many(["b", "a"], ["a", "c"])
    people = db.relation("people", create="{name: String => born: Date?, tags: [String]}")
    people.put([("a", date(1815, 12, 10), ["x", "y"]), ("z", None, [])])
    report = qs.export(db, "g", tmp_path / "out", vertices="people")
    rows = pq.read_table(tmp_path / "out" / "vertices").to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == [
        {"id": "a", "born": date(1815, 12, 10), "tags": ["x", "y"]},
        {"id": "b", "born": None, "tags": None},
        {"id": "c", "born": None, "tags": None},
        {"id": "z", "born": None, "tags": []},
    ]
    assert report.vertices == 4


def test_the_properties_of_a_graph_are_exported_with_it(tmp_path: Path) -> None:
    db = quipu.open()
    graph = db.graph("g", nodes={"kind": "str"}, edges={"since": "int"})
    graph.add_edge(1, 2, since=7)
    graph.add_node(9, kind="alone")
    qs.export(db, "g", tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "edges").to_pylist() == [{"src": 1, "dst": 2, "since": 7}]
    rows = pq.read_table(tmp_path / "out" / "vertices").to_pylist()
    assert rows == [{"id": 1, "kind": None}, {"id": 2, "kind": None}, {"id": 9, "kind": "alone"}]


def test_any_relation_of_two_columns_is_a_graph(tmp_path: Path) -> None:
    db = quipu.open()
    db.relation("links", create="{from: Int, to: Int, kind: String}").put([(-1, 2, "a"), (-1, 2, "b")])
    qs.export(db, "links", tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "edges").to_pylist()
    assert rows == [{"src": -1, "dst": 2, "kind": "a"}, {"src": -1, "dst": 2, "kind": "b"}]


def test_a_graph_whose_name_has_a_hyphen_is_exported(tmp_path: Path) -> None:
    db = quipu.open()
    graph = db.graph("re-cites", nodes={"year": "int"})
    graph.upsert(1, 2)
    graph.add_node(3, year=1999)
    report = qs.export(db, "re-cites", tmp_path / "out")
    assert (report.vertices, report.edges) == (3, 1)


def test_an_empty_graph_has_files_with_columns(tmp_path: Path) -> None:
    db = quipu.open()
    db.graph("g")
    report = qs.export(db, "g", tmp_path / "out")
    assert (report.vertices, report.edges) == (0, 0)
    assert pq.read_table(tmp_path / "out" / "edges").column_names == ["src", "dst"]
    assert pq.read_table(tmp_path / "out" / "vertices").column_names == ["id"]


def test_only_an_export_is_replaced_and_only_on_request(tmp_path: Path) -> None:
    db = numbers()
    target = tmp_path / "out"
    qs.export(db, "g", target)
    with pytest.raises(quipu.InvalidInputError, match="replace=True"):
        qs.export(db, "g", target)
    db.graph("g").upsert(8, 9, 1.0)
    assert qs.export(db, "g", target, replace=True).edges == 6
    assert pq.read_table(target / "edges").num_rows == 6
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work.txt").write_text("years of it", encoding="utf-8")
    with pytest.raises(quipu.InvalidInputError, match="is no export"):
        qs.export(db, "g", tmp_path / "mine", replace=True)
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(quipu.InvalidInputError, match="is no export"):
        qs.export(db, "g", tmp_path / "link", replace=True)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "mine", "out"]


def test_a_failed_export_leaves_nothing(tmp_path: Path) -> None:
    db = numbers()
    db.relation("pairs", create="{a: Int, b: Int => c: Int}")
    for arguments in ({"vertices": "pairs"}, {"vertices": "nothing"}, {"file_rows": 0}):
        with pytest.raises(quipu.InvalidInputError):
            qs.export(db, "g", tmp_path / "out", **arguments)  # pyright: ignore[reportArgumentType]
    with pytest.raises(quipu.InvalidInputError):
        qs.export(db, "none", tmp_path / "out")
    db.counters("c").add(1)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_export_is_named(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(quipu.InvalidInputError, match="is no export of a graph"):
            qs.frames(None, folder)
    (tmp_path / "quipu.json").write_text('{"format": 2}', encoding="utf-8")
    with pytest.raises(quipu.InvalidInputError, match="has format 2"):
        qs.frames(None, tmp_path)


def test_a_database_needs_the_name_of_a_graph_and_an_export_takes_none(tmp_path: Path) -> None:
    db = numbers()
    with pytest.raises(quipu.InvalidInputError, match="graph="):
        qs.frames(None, db)
    qs.export(db, "g", tmp_path / "out")
    with pytest.raises(quipu.InvalidInputError, match="an export has one graph"):
        qs.frames(None, tmp_path / "out", "g")
    with pytest.raises(quipu.InvalidInputError):
        qs.frames(None, db, "none", scratch=tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_frame_is_stored_in_one_commit() -> None:
    class Frame:
        """The methods of a DataFrame that ``store`` calls."""

        def toArrow(self) -> Any:
            return pa.table({"id": [1, 2], "rank": [0.5, 0.25]})

    db = quipu.open()
    assert qs.store(db, "rank", Frame(), keys=["id"]) == 2
    assert qs.store(db, "rank", Frame(), keys=["id"]) == 2
    assert db.relation("rank").rows() == [(1, 0.5), (2, 0.25)]


@pytest.fixture(scope="module")
def session() -> Any:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: Spark itself is not run")
    if shutil.which("java") is None:
        pytest.skip("there is no Java: Spark itself is not run")
    builder = sql.SparkSession.builder.master("local[2]").appName("quipu").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    yield session
    session.stop()


def test_spark_reads_an_export_and_agrees_on_algorithms(session: Any, tmp_path: Path) -> None:
    db = quipu.open()
    graph = db.graph("g")
    sources = [i for i in range(60) for _ in range(3)]
    graph.upsert_many(sources, [(i * i * 7 + k * 13) % 61 for k, i in enumerate(sources)])
    report = qs.export(db, "g", tmp_path / "out", file_rows=50)
    vertices, edges = qs.frames(session, tmp_path / "out")
    assert (vertices.count(), edges.count()) == (report.vertices, report.edges)
    graphx = qs.graphx(session, tmp_path / "out")
    assert qs.store(db, "rank", graphx.pagerank(1e-10), keys=["id"]) == report.vertices
    differences = db.run("""
        e[a, b] := *g{src: a, dst: b}
        ours[v, r] <~ PageRank(e[], epsilon: 1e-14, iterations: 1000)
        ?[max(d)] := ours[v, r], *rank{id: v, value}, d = abs(r - value)
    """).rows()
    assert differences[0][0] < 1e-9
    components = {row["id"]: row["value"] for row in graphx.connected_components().collect()}
    ours = dict(db.run("e[a, b] := *g{src: a, dst: b} ?[v, c] <~ ConnectedComponents(e[])").rows())
    groups = {frozenset(v for v in ours if ours[v] == group) for group in set(ours.values())}
    assert {frozenset(v for v in components if components[v] == low) for low in set(components.values())} == groups
    beside: dict[int, set[int]] = {}
    for source, target, _ in zip(*graph.out_edges_many(list(ours))[1:], strict=True):
        if source != target:
            beside.setdefault(int(source), set()).add(int(target))
            beside.setdefault(int(target), set()).add(int(source))
    triangles = {v: sum(len(beside[u] & near) for u in near) // 2 for v, near in beside.items()}
    found = {row["id"]: row["value"] for row in graphx.triangles().collect()}
    assert {v: n for v, n in found.items() if n} == {v: n for v, n in triangles.items() if n}


def test_spark_reads_a_database_with_its_vertices_without_edges(session: Any, tmp_path: Path) -> None:
    db = quipu.open()
    graph = db.graph("g", nodes={"kind": "str"}, edges={"since": "int"})
    for source, target, since in ((1, 2, 7), (2, 3, 8), (3, 1, 9)):
        graph.add_edge(source, target, since=since)
    graph.add_node(9, kind="alone")
    vertices, edges = qs.frames(session, db, "g", scratch=tmp_path)
    graphx = qs.graphx(session, db, "g", scratch=tmp_path)
    graph.upsert_edges({"src": [3], "dst": [4], "since": [0]})
    assert sorted((int(row.id), row.kind) for row in vertices.collect()) == [
        (1, None),
        (2, None),
        (3, None),
        (9, "alone"),
    ]
    assert sorted((int(row.src), int(row.dst), row.since) for row in edges.collect()) == [
        (1, 2, 7),
        (2, 3, 8),
        (3, 1, 9),
    ]
    triangles = {row["id"]: row["value"] for row in graphx.triangles().collect()}
    assert triangles == {1: 1, 2: 1, 3: 1, 9: 0}
    components = {row["id"]: row["value"] for row in graphx.connected_components().collect()}
    assert components == {1: 1, 2: 1, 3: 1, 9: 9}


def exported(db: Path, graph: str, out: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Edges, vertices and the page of statistics that `quipu export --spark` writes."""
    command = [sys.executable, "-m", "quipu", "export", db, graph, "--spark", out, "--file-rows", "2"]
    subprocess.run(command, check=True, capture_output=True)
    assert (out / "_SUCCESS").exists()
    page = json.loads((out / "quipu.json").read_text(encoding="utf-8"))
    return pq.read_table(out / "edges").to_pylist(), pq.read_table(out / "vertices").to_pylist(), page


def test_the_command_exports_graphs_with_properties_keys_and_without_directions(folder: Path, tmp_path: Path) -> None:
    with quipu.open(folder) as db:
        roads = db.graph("roads", nodes={"name": "str?"}, edges={"since": "date?"}, directed=False)
        roads.add_edge(2, 1, since=date(2001, 2, 3))
        roads.add_edge(2, 3)
        roads.nodes.put([(1, "Ulm"), (9, "Bonn")])
        flights = db.graph("flights", vertex="str", key="int", edges={"km": "float"})
        flights.add_edge("a", "b", key=1, km=10.0)
        flights.add_edge("a", "b", key=2, km=20.0)
    edges, vertices, page = exported(folder, "roads", tmp_path / "roads")
    assert edges == [
        {"src": 1, "dst": 2, "since": date(2001, 2, 3)},
        {"src": 2, "dst": 3, "since": None},
    ]
    assert vertices == [
        {"id": 1, "name": "Ulm"},
        {"id": 2, "name": None},
        {"id": 3, "name": None},
        {"id": 9, "name": "Bonn"},
    ]
    assert (page["vertices"], page["edges"], page["directed"]) == (4, 2, False)
    with quipu.open(folder, read_only=True) as db:
        assert not qs.export(db, "roads", tmp_path / "by_python").directed
    edges, vertices, page = exported(folder, "flights", tmp_path / "flights")
    assert page["directed"]
    assert edges == [{"src": "a", "dst": "b", "key": 1, "km": 10.0}, {"src": "a", "dst": "b", "key": 2, "km": 20.0}]
    assert sorted(vertex["id"] for vertex in vertices) == ["a", "b"]
    # It is not replaced unasked, and nothing is left beside it.
    again = [sys.executable, "-m", "quipu", "export", folder, "roads", "--spark", tmp_path / "roads"]
    refused = subprocess.run(again, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "roads" in refused.stderr
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".quipu")]
