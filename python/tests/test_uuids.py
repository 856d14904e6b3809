"""UUIDs between Python, its libraries, files and relations."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import quipu

ONE = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
TWO = uuid.UUID(int=2**128 - 1)
ROWS = [(1, ONE), (2, None), (3, TWO)]


@pytest.fixture
def db() -> Iterator[quipu.Database]:
    with quipu.open() as db:
        db.run(":create item {n: Int => tag: Uuid?}")
        yield db


@pytest.fixture
def items(db: quipu.Database) -> quipu.Database:
    db.import_relations({"item": ROWS})
    return db


def stored(db: quipu.Database) -> list[tuple[Any, ...]]:
    return db.run("?[n, tag] := *item[n, tag] :order n").rows()


def arrow(value: uuid.UUID | None) -> bytes | None:
    return None if value is None else value.bytes


def test_results_have_arrows_type_of_uuids(items: quipu.Database) -> None:
    result = items.run("?[n, tag] := *item[n, tag] :order n")
    for table in (result.to_arrow(), pa.table(items.relation("item"))):
        assert table.schema.field("tag").type == pa.uuid()
        assert table.column("tag").to_pylist() == [ONE, None, TWO]
    assert result.rows() == ROWS
    assert result["tag"] == [ONE, None, TWO]


def test_columns_without_values_have_the_type_too(items: quipu.Database) -> None:
    assert items.run("?[tag] := *item[n, tag], n > 9").to_arrow().schema.field("tag").type == pa.uuid()
    relation = items.relation("item")
    for key, left in (([(1,), (3,)], [(2, None)]), ([(2,)], [])):
        relation.rm(key)
        assert relation.rows() == left
        assert pa.table(relation).schema.field("tag").type == pa.uuid()


def test_streams_have_the_type_in_each_batch(items: quipu.Database) -> None:
    with items.stream("?[n, tag] := *item[n, tag], n != 2") as stream:
        table = pa.table(stream)
    assert table.schema.field("tag").type == pa.uuid()
    assert sorted(table.column("tag").to_pylist()) == [ONE, TWO]


def test_pandas_has_uuids_and_polars_their_text(items: quipu.Database) -> None:
    result = items.run("?[n, tag] := *item[n, tag] :order n")
    assert result.to_pandas()["tag"].tolist() == [ONE, None, TWO]
    frame = result.to_polars()
    assert frame["tag"].to_list() == [str(ONE), None, str(TWO)]
    # Polars knows no extension type, and sees how it is stored.
    assert pl.DataFrame(result)["tag"].to_list() == [ONE.bytes, None, TWO.bytes]
    assert items.relation("item").to_polars()["tag"].dtype == pl.String
    assert items.run("?[n, b] := n = 1, b = decode_base64('AAE=')").to_polars()["b"].to_list() == [b"\x00\x01"]


def frames() -> list[Any]:
    values = [row[1] for row in ROWS]
    storage = pa.array([arrow(value) for value in values], pa.uuid())
    plain = pa.array([arrow(value) for value in values], pa.binary(16))
    columns = {"n": [1, 2, 3]}
    texts = [value and str(value) for value in values]
    return [
        ROWS,
        {**columns, "tag": values},
        pa.table({**columns, "tag": storage}),
        pa.table({**columns, "tag": plain}),
        {**columns, "tag": storage},
        pd.DataFrame({**columns, "tag": values}),
        pl.DataFrame({**columns, "tag": texts}),
        pl.DataFrame({**columns, "tag": [arrow(value) for value in values]}),
    ]


NAMES = ["rows", "columns", "arrow", "bytes", "array", "pandas", "texts", "polars"]


@pytest.mark.parametrize("frame", frames(), ids=NAMES)
def test_frames_are_stored_as_uuids(db: quipu.Database, frame: Any) -> None:
    db.relation("item").put(frame)
    assert stored(db) == ROWS


def test_a_frame_finds_its_column(db: quipu.Database) -> None:
    table = pa.table({"n": [1], "tag": pa.array([ONE.bytes], pa.uuid())})
    relation = db.relation("made", create=table, keys=["tag"])
    relation.put(table)
    assert {row[0]: row[3] for row in db.run("::columns made").rows()} == {"tag": "Uuid", "n": "Int?"}
    assert relation.get_many({"tag": [ONE]})[1].rows() == [(ONE, 1)]


def test_a_column_of_bytes_or_text_takes_uuids(db: quipu.Database) -> None:
    relation = db.relation("plain", create="{n: Int => b: Bytes, t: String}")
    tag = pa.array([ONE.bytes], pa.uuid())
    relation.put({"n": [1], "b": tag, "t": tag})
    assert db.run("?[b, t] := *plain{b, t}").rows() == [(ONE.bytes, str(ONE))]
    with pytest.raises(quipu.InvalidInputError, match="expected Uuid, found Bytes"):
        db.relation("item").put([(1, b"short")])


def test_parameters_and_results_of_python_functions_are_uuids(db: quipu.Database) -> None:
    assert db.run("?[a, b] := a = $a, b = [$a]", {"a": ONE}).rows() == [(ONE, [ONE])]


def test_lists_of_uuids_are_lists_of_strings(db: quipu.Database) -> None:
    db.relation("lists", create="{n: Int => tags: [Uuid]}").put([(1, [ONE, TWO]), (2, [])])
    result = db.run("?[n, tags] := *lists[n, tags] :order n")
    assert result.to_arrow().schema.field("tags").type == pa.list_(pa.string())
    assert result.to_polars()["tags"].to_list() == [[str(ONE), str(TWO)], []]
    assert [list(tags) for tags in result.to_pandas()["tags"]] == [[str(ONE), str(TWO)], []]
    db.relation("lists").put(pa.table(db.relation("lists")))
    assert db.relation("lists").rows() == [(1, [ONE, TWO]), (2, [])]
    assert db.run("?[n, tags] := *lists[n, tags] :order n").rows() == [(1, [ONE, TWO]), (2, [])]


def test_properties_of_graphs_are_uuids(db: quipu.Database, tmp_path: Path) -> None:
    graph = db.graph("g", vertex="i64", nodes={"tag": "uuid?"}, edges={"by": "uuid?"})
    graph.upsert_nodes({"vertex": [1, 2], "tag": [ONE, None]})
    graph.upsert_edges({"src": [1], "dst": [2], "by": [TWO]})
    assert sorted(graph.nodes.rows()) == [(1, ONE), (2, None)]
    assert graph.node_many([1])[1]["tag"] == [ONE]
    assert graph.edges_table.rows()[0][-1] == TWO
    for name in ("nodes.parquet", "nodes.arrow", "nodes.csv"):
        path = tmp_path / name
        graph.export_nodes(path)
        other = db.graph(name.replace(".", "_"), vertex="i64", nodes={"tag": "uuid?"})
        other.import_nodes(path)
        assert sorted(other.nodes.rows()) == [(1, ONE), (2, None)]
    file = pq.ParquetFile(tmp_path / "nodes.parquet")
    assert "UUID" in str(file.schema.column(1).logical_type)
    assert file.read().column("tag").to_pylist() in ([ONE, None], [None, ONE])
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "edges.parquet")
    found = db.import_graph("found", tmp_path / "edges.parquet", nodes=tmp_path / "nodes.parquet") and db.graph("found")
    assert sorted(found.nodes.rows()) == [(1, ONE), (2, None)]
