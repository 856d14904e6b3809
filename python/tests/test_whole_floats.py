"""Vertices in columns of floats: pandas makes floats of integers where some are missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import quipu

from model import Edges, check

US, VS, WS = [1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [0.5, 1.5, 2.0]
THREE: Edges = {(1, 2): 0.5, (2, 3): 1.5, (3, 1): 2.0}


def columns(dtype: str = "float64") -> dict[str, Any]:
    return {"source": np.array(US, dtype), "target": np.array(VS, dtype), "weight": WS}


SOURCES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(columns()),
    "pandas float32": lambda: pd.DataFrame(columns("float32")),
    "pandas nullable": lambda: pd.DataFrame(columns()).astype({"source": "Float64", "target": "Int64"}),
    "polars": lambda: pl.DataFrame(columns()),
    "polars lazy": lambda: pl.DataFrame(columns()).lazy(),
    "pyarrow": lambda: pa.table(columns()),
    "pyarrow float32": lambda: pa.table(columns("float32")),
    "dict of lists": lambda: {"source": US, "target": VS, "weight": WS},
    "dict of arrays": columns,
    "dict of series": lambda: {name: pd.Series(column) for name, column in columns("float32").items()},
    "triples": lambda: list(zip(US, VS, WS, strict=True)),
    "array": lambda: np.array([US, VS, WS]).T,
    "array of float32": lambda: np.array([US, VS, WS], "float32").T,
    "structured array": lambda: np.rec.fromarrays([US, VS, WS], names=["source", "target", "weight"]),  # pyright: ignore[reportArgumentType],
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
@pytest.mark.parametrize("vertex", ["u64", "i64"])
def test_a_source_with_whole_floats_is_imported(db: quipu.Database, source: Callable[[], Any], vertex: Any) -> None:
    g = db.graph("g", vertex=vertex, weight="float64")
    assert g.import_arrow(source()).edges == 3
    check(g, THREE, [4])
    report = db.import_graph("new", source())
    assert report.edges == 3
    assert db.graph("new").vertex == "u64"
    check(db.graph("new"), THREE, [4])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("make", [np.asarray, pd.Series, pl.Series, pa.array, list], ids=lambda make: make.__name__)
def test_columns_of_whole_floats_are_vertices(db: quipu.Database, dtype: Any, make: Any) -> None:
    us, vs = make(np.array(US, dtype)), make(np.array(VS, dtype))
    for vertex in ("u64", "i64"):
        g = db.graph(vertex, vertex=vertex, weight="float64")
        g.import_arrays(us, vs, WS)
        check(g, THREE, [4])
        g.upsert_many(us, vs, [9.0, 9.0, 9.0])
        assert g.edge_many(us, vs)[1].tolist() == [9.0, 9.0, 9.0]


def test_two_columns_of_floats_are_edges(db: quipu.Database) -> None:
    g = db.graph("g")
    g.import_arrow(np.array([US, VS], "float32").T)
    check(g, dict.fromkeys(THREE, 1.0))


@pytest.mark.parametrize("name", ["edges.parquet", "edges.arrow"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_files_with_whole_floats_are_imported(db: quipu.Database, tmp_path: Path, name: str, dtype: str) -> None:
    path, table = tmp_path / name, pa.table(columns(dtype))
    (pq.write_table if name.endswith("parquet") else feather.write_feather)(table, str(path))
    db.import_graph("new", path)
    assert db.graph("new").vertex == "u64"
    check(db.graph("new"), THREE, [4])
    database = tmp_path / "a.quipu"
    command = [sys.executable, "-m", "quipu", "import", str(database), "g", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    with quipu.open(database) as other:
        check(other.graph("g"), THREE, [4])


def test_negative_whole_floats_are_signed_vertices(db: quipu.Database, tmp_path: Path) -> None:
    frame = pd.DataFrame({"source": [-1.0, 2.0], "target": [3.0, -4.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    for i, source in enumerate([frame, tmp_path / "a.parquet"]):
        db.import_graph(f"g{i}", source)
        assert db.graph(f"g{i}").vertex == "i64"
        check(db.graph(f"g{i}"), {(-1, 3): 1.0, (2, -4): 1.0})


BAD: dict[str, tuple[float, str]] = {
    "fraction": (2.5, "2.5"),
    "infinite": (np.inf, "inf"),
    "negative": (-7.0, "-7"),
    "large": (2.0**53 + 2, "9007199254740994"),
}


@pytest.mark.parametrize(("bad", "shown"), BAD.values(), ids=BAD.keys())
def test_what_is_no_whole_number_is_refused_and_named(db: quipu.Database, bad: float, shown: str) -> None:
    g = db.graph("g")
    frame = pd.DataFrame({"source": [1.0, 2.0], "target": [2.0, bad]})
    with pytest.raises(quipu.InvalidInputError, match=rf"row 2, column 2: .* from 0 to 2\^53, found {shown}"):
        g.import_arrow(frame)
    with pytest.raises(quipu.InvalidInputError, match=rf"from 0 to 2\*\*53, and 1 is not: {shown} at position 1"):
        g.import_arrays(frame["source"].to_numpy(), frame["target"].to_numpy())
    with pytest.raises(quipu.InvalidInputError, match=rf"from 0 to 2\*\*53, and 1 is not: {shown} at position 1"):
        g.upsert_many([1, 2], [2.0, bad])
    assert len(g) == 0


def test_values_that_are_no_vertices_are_counted_over_all_parts(db: quipu.Database, tmp_path: Path) -> None:
    us = np.arange(300_000, dtype="float64")
    us[[5, 290_000]] = np.nan
    vs = np.arange(300_000, dtype="float64")
    vs[299_999] = 0.5
    frame = pd.DataFrame({"source": us, "target": vs})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=50_000)
    table = pa.Table.from_pandas(frame)
    found = r"found 3 values that are none: \w+ \(row 6\), \w+ \(row 290001\), 0.5 \(row 300000\)"
    g = db.graph("g")
    sources: list[Any] = [frame, {"source": us, "target": vs}, pl.from_pandas(frame), tmp_path / "a.parquet"]
    for source in [*sources, pa.table(table, schema=table.schema).to_reader(1000)]:
        with pytest.raises(quipu.InvalidInputError, match=found):
            db.import_graph("g", source)
        assert len(g) == 0
    with pytest.raises(quipu.InvalidInputError, match="and 2 are not: NaN at position 5, NaN at position 290000"):
        g.import_arrays(us, vs)
    with pytest.raises(quipu.InvalidInputError, match=found):
        db.import_graph("new", frame)
    assert "new" not in db.graphs()


def test_missing_vertices_of_integers_are_counted(db: quipu.Database) -> None:
    g = db.graph("g", weight="float64")
    with pytest.raises(quipu.InvalidInputError, match=r"2 values that are none: null \(row 1\), null \(row 3\)"):
        g.import_arrow({"source": pa.array([None, 1, None]), "target": [1, 2, 3]})
    with pytest.raises(quipu.InvalidInputError, match="and 1 is not: NaN at position 1"):
        g.import_arrays(pa.array([1, None]), [1, 2])
    assert len(g) == 0


def test_a_float32_stands_for_whole_numbers_up_to_its_24_bits(db: quipu.Database, tmp_path: Path) -> None:
    g = db.graph("g")
    large = np.array([1.0, 2.0**24 + 2], "float32")
    refused = "from 0 to 2.*24.* 16777218"
    for source in (
        {"source": large, "target": [1, 2]},
        np.array([large, large]).T,
        pa.table([large, large], ["u", "v"]),
    ):
        with pytest.raises(quipu.InvalidInputError, match=refused):
            g.import_arrow(source)
    with pytest.raises(quipu.InvalidInputError, match=refused):
        g.import_arrays(large, [1, 2])
    pq.write_table(pa.table({"vertex": large, "year": [1, 2]}), tmp_path / "nodes.parquet")
    with pytest.raises(quipu.InvalidInputError, match=refused):
        db.import_graph("new", [(1, 2)], nodes=tmp_path / "nodes.parquet")
    g.import_arrays(np.array([2.0**24], "float32"), np.array([0.0], "float32"))
    check(g, {(2**24, 0): 1.0})


def test_weights_keys_and_numbers_are_still_no_floats(db: quipu.Database) -> None:
    g = db.graph("g", weight="int64")
    with pytest.raises(TypeError, match="weights must be integers, not float64"):
        g.upsert_many([1], [2], np.array([1.0]))
    with pytest.raises(TypeError, match="keys must be integers, not float64"):
        db.blobs("b").put_many(np.array([1.0]), [b"x"])
    with pytest.raises(TypeError, match="vertices must be integers"):
        g.upsert_many([1, None], [2, 3], [1, 1])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("dtype", ["float64", "Float64", "float32"])
def test_tables_with_properties_take_whole_floats(db: quipu.Database, tmp_path: Path, dtype: Any) -> None:
    edges = pd.DataFrame({"source": US, "target": VS, "since": [1998, 2001, 2005]})
    nodes = pd.DataFrame({"vertex": [1.0, 4.0], "kind": ["a", "b"]})
    edges = edges.astype({"source": dtype, "target": dtype})
    nodes = nodes.astype({"vertex": dtype})
    for name, frame in (("edges", edges), ("nodes", nodes)):
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / f"{name}.parquet")
    files = (tmp_path / "edges.parquet", tmp_path / "nodes.parquet")
    for i, (of_edges, of_nodes) in enumerate([(edges, nodes), files, (edges.to_dict("list"), nodes.to_dict("list"))]):
        report = db.import_graph(f"g{i}", of_edges, nodes=of_nodes, edge_properties=True)
        assert (report.edges, report.nodes) == (3, 2)
        g = db.graph(f"g{i}")
        assert g.vertex == "u64"
        assert sorted(g.vertices().tolist()) == [1, 2, 3, 4]
        assert g.edge_properties(1, 2) == {"since": 1998}
        assert g.node(4) == {"kind": "b"}


def test_rows_with_properties_take_whole_floats(db: quipu.Database) -> None:
    g = db.graph("g", nodes={"kind": "str?"}, edges={"since": "int?"})
    g.upsert_edges(pd.DataFrame({"src": US, "dst": VS, "since": [1, 2, 3]}))
    g.upsert_nodes({"vertex": [7.0], "kind": ["a"]})
    assert g.edge_properties(3, 1) == {"since": 3}
    assert g.node(7) == {"kind": "a"}
    with pytest.raises(quipu.InvalidInputError):
        g.upsert_edges({"src": [0.5], "dst": [1.0]})


def test_bad_vertices_of_tables_with_properties_are_counted(db: quipu.Database) -> None:
    edges = pd.DataFrame({"source": [1.0, 2.5, np.nan, 4.0], "target": [1, 2, 3, -4], "since": [1, 2, 3, 4]})
    g = db.graph("g", edges={"since": "int?"})
    found = r"found 3 values that are none: 2.5 \(row 2\), nothing \(row 3\), -4 \(row 4\)"
    with pytest.raises(quipu.InvalidInputError, match=found):
        g.import_arrow(edges)
    assert len(g) == 0
