"""Imports of edges: accepted input, refused input, and that a refusal changes nothing."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import quipu

from model import Edges, check

Write = Callable[[str, str | bytes], Path]

THREE: Edges = {(1, 2): 0.5, (2, 3): 1.5, (3, 1): 2.0}

TEXTS = {
    "comma": "1,2,0.5\n2,3,1.5\n3,1,2\n",
    "tab": "1\t2\t0.5\n2\t3\t1.5\n3\t1\t2\n",
    "semicolon": "1;2;0.5\n2;3;1.5\n3;1;2\n",
    "blanks": "1 2   0.5\n2 3 1.5\n3\t1 2\n",
    "header": "source,target,weight\n1,2,0.5\n2,3,1.5\n3,1,2\n",
    "another order": "weight,to,from\n0.5,2,1\n1.5,3,2\n2,1,3\n",
    "CRLF": "1,2,0.5\r\n2,3,1.5\r\n3,1,2\r\n",
    "byte-order mark": "\ufeffsource,target,weight\n1,2,0.5\n2,3,1.5\n3,1,2\n",
    "comments": "# made by hand\n% more\n1,2,0.5\n# between\n2,3,1.5\n3,1,2\n",
    "quotes": '"1","2","0.5"\n"2",3,1.5\n3,1,"2"\n',
    "no newline at the end": "1,2,0.5\n2,3,1.5\n3,1,2",
    "blank lines": "\n1,2,0.5\n\n2,3,1.5\n3,1,2\n\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_text_is_understood_as_it_is(db: quipu.Database, write: Write, text: str) -> None:
    g = db.graph("g", weight="float64")
    report = g.import_csv(write("edges.csv", text))
    assert (report.edges, report.rows, report.duplicates, report.skipped) == (3, 3, 0, 0)
    check(g, THREE, [4])


def test_compressed_text_is_found_out(db: quipu.Database, write: Write) -> None:
    plain = TEXTS["comma"].encode()
    packed = [gzip.compress(plain), pa.compress(plain, codec="zstd", asbytes=True)]
    for i, content in enumerate(packed):
        g = db.graph(f"g{i}", weight="float64")
        g.import_csv(write(f"edges{i}", content))
        check(g, THREE)


def test_columns_and_delimiter_may_be_said(db: quipu.Database, write: Write) -> None:
    g = db.graph("g", weight="float64")
    g.import_csv(write("a.csv", "x|1|0.5|2\nx|2|1.5|3\nx|3|2|1\n"), columns=[1, 3, 2], delimiter="|", header=False)
    check(g, THREE)
    other = db.graph("other", weight="float64")
    other.import_csv(write("b.csv", "a,b,c\n2,1,0.5\n3,2,1.5\n1,3,2\n"), columns=["b", "a", "c"])
    check(other, THREE)


def test_text_vertices_keep_quotes_and_newlines(db: quipu.Database, write: Write) -> None:
    g = db.graph("g", vertex="str", weight="int64")
    text = 'source,target,weight\n"a ""b"", c","d\ne",3\n d ,ñ,4\n'
    g.import_csv(write("names.csv", text))
    assert g.edge('a "b", c', "d\ne") == 3
    assert len(g) == 2
    again = db.graph("again", vertex="str", weight="int64")
    path = write("out.csv", "")
    assert g.export_csv(path) == 2
    again.import_csv(path)
    assert sorted(again.to_table().rows()) == sorted(g.to_table().rows())


def test_signed_vertices_come_from_text(db: quipu.Database, write: Write) -> None:
    g = db.graph("g", vertex="i64")
    g.import_csv(write("edges.txt", f"-1 2\n{-(2**63)} {2**63 - 1}\n"))
    check(g, {(-1, 2): 1.0, (-(2**63), 2**63 - 1): 1.0})


def test_the_whole_range_of_vertices_comes_from_text(db: quipu.Database, write: Write) -> None:
    g = db.graph("g")
    g.import_csv(write("edges.csv", f"0,{2**64 - 1}\n{2**64 - 1},0\n"))
    check(g, {(0, 2**64 - 1): 1.0, (2**64 - 1, 0): 1.0})


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("1,2,0.5\n2,x,1.5\n", 2, 2),
        ("1,2,0.5\n2,3\n", 2, 0),
        ("1,2,0.5\n\n# note\n18446744073709551616,3,1\n", 4, 1),
        ("1,2,0.5\n2,3,heavy\n", 2, 3),
        ("1,2,0.5\n-2,3,1\n", 2, 1),
        ("1,2,0.5\n2,3,nan\n", 2, 3),
    ],
)
def test_a_bad_line_has_a_place_and_imports_nothing(
    db: quipu.Database, write: Write, text: str, line: int, column: int
) -> None:
    g = db.graph("g", weight="float64")
    g.upsert(1, 2, 9.0)
    path = write("bad.csv", text)
    with pytest.raises(quipu.InvalidInputError, match=f"line {line}") as caught:
        g.import_csv(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert caught.value.line == line
    if column:
        assert caught.value.column == column
    check(g, {(1, 2): 9.0}, [3])


def test_bad_lines_are_skipped_and_counted_on_request(db: quipu.Database, write: Write) -> None:
    g = db.graph("g", weight="float64")
    bad = "".join(f"{i},oops,1\n" for i in range(25))
    report = g.import_csv(write("bad.csv", "1,2,0.5\n" + bad + "2,3,1.5\n3,1,2\n"), on_error="skip")
    assert (report.edges, report.rows, report.skipped) == (3, 3, 25)
    assert len(report.skipped_lines) == 10
    assert "line 2" in report.skipped_lines[0]
    check(g, THREE)


def test_later_rows_win_and_duplicates_are_counted(db: quipu.Database, write: Write) -> None:
    g = db.graph("g", weight="float64")
    g.upsert(1, 2, 100.0)
    g.upsert(8, 9, 7.0)
    report = g.import_csv(write("edges.csv", "1,2,1\n2,3,1\n2,3,1.5\n1,2,0.5\n3,1,2\n"))
    assert report.edges == 3
    assert report.rows == 5
    assert report.duplicates == 3
    check(g, {**THREE, (8, 9): 7.0})


def test_an_empty_file_imports_nothing(db: quipu.Database, write: Write) -> None:
    g = db.graph("g")
    for text in ["", "# only a comment\n", "source,target\n"]:
        assert g.import_csv(write("empty.csv", text)).edges == 0
    check(g, {}, [1])


def test_a_file_that_is_not_there_is_an_error(db: quipu.Database, tmp_path: Path) -> None:
    g = db.graph("g")
    with pytest.raises(quipu.Error, match=r"nowhere\.csv"):
        g.import_csv(tmp_path / "nowhere.csv")
    with pytest.raises(quipu.Error):
        g.import_parquet(tmp_path / "nowhere.parquet")


def frame() -> dict[str, list[Any]]:
    return {"source": [1, 2, 3], "target": [2, 3, 1], "weight": [0.5, 1.5, 2.0]}


TABLES: dict[str, Callable[[], Any]] = {
    "pyarrow table": lambda: pa.table(frame()),
    "pyarrow batch": lambda: pa.record_batch(frame()),
    "pyarrow reader": lambda: pa.table(frame()).to_reader(max_chunksize=1),
    "polars": lambda: pl.DataFrame(frame()),
    "pandas": lambda: pd.DataFrame(frame()),
    "other order": lambda: pl.DataFrame(frame()).select("weight", "target", "source"),
    "unsigned": lambda: pa.table(frame()).cast(
        pa.schema([("source", pa.uint64()), ("target", pa.uint32()), ("weight", pa.float32())])
    ),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_any_arrow_table_is_taken(db: quipu.Database, table: Callable[[], Any]) -> None:
    g = db.graph("g", weight="float64")
    assert g.import_arrow(table()).edges == 3
    check(g, THREE, [4])


def test_an_arrow_table_with_a_bad_value_imports_nothing(db: quipu.Database) -> None:
    g = db.graph("g", weight="float64")
    for column in [[1, None, 3], [1, -2, 3], ["a", "b", "c"]]:
        with pytest.raises(quipu.InvalidInputError):
            g.import_arrow(pa.table({**frame(), "source": column}))
    with pytest.raises(quipu.InvalidInputError, match="Arrow"):
        g.import_arrow([1, 2, 3])  # pyright: ignore[reportArgumentType]
    check(g, {}, [1])


def test_an_edge_table_is_taken_back(db: quipu.Database) -> None:
    g = db.graph("g", weight="float64")
    g.import_arrow(pa.table(frame()))
    copy = db.graph("copy", weight="float64")
    assert copy.import_arrow(g.to_table()).edges == 3
    check(copy, THREE)


@pytest.mark.parametrize("vertex", ["u64", "i64", "str"])
@pytest.mark.parametrize("weight", [None, "float64", "int64"])
def test_parquet_and_csv_bring_everything_back(db: quipu.Database, tmp_path: Path, vertex: Any, weight: Any) -> None:
    g = db.graph("g", vertex=vertex, weight=weight)
    ends = {"u64": [0, 7, 2**64 - 1], "i64": [-(2**63), 0, 2**63 - 1], "str": ["", "a,b", "ñ\n"]}[vertex]
    us, vs = ends, ends[1:] + ends[:1]
    g.upsert_many(us, vs, None if weight is None else [1, 2, 3])
    for name in ["parquet", "csv"]:
        path = tmp_path / f"edges.{name}"
        assert getattr(g, f"export_{name}")(path) == 3
        copy = db.graph(f"copy_{name}", vertex=vertex, weight=weight)
        assert getattr(copy, f"import_{name}")(path).edges == 3
        assert sorted(copy.to_table().rows()) == sorted(g.to_table().rows())
    assert pq.read_table(tmp_path / "edges.parquet").num_rows == 3


def test_arrays_are_imported(db: quipu.Database) -> None:
    g = db.graph("g", weight="float64")
    rng = np.random.default_rng(3)
    us, vs = rng.integers(0, 300, (2, 5000)).astype(np.uint64)
    ws = rng.integers(0, 100, 5000) / 4
    report = g.import_arrays(us, vs, ws)
    model: Edges = {(int(u), int(v)): float(w) for u, v, w in zip(us, vs, ws, strict=True)}
    assert (report.edges, report.duplicates) == (len(model), 5000 - len(model))
    table = g.to_table().to_polars()
    assert {(u, v): w for u, v, w in table.iter_rows()} == model
    for v in range(0, 300, 50):
        assert g.successors(v).tolist() == sorted(b for a, b in model if a == v)
        assert g.predecessors(v).tolist() == sorted(a for a, b in model if b == v)


def test_progress_is_told_and_may_stop_the_import(db: quipu.Database, write: Write) -> None:
    path = write("edges.csv", "".join(f"{i},{i * 7},1\n" for i in range(300_000)))
    g = db.graph("g", weight="float64")
    told: list[dict[str, Any]] = []
    g.import_csv(path, progress=told.append)
    for step in told:
        assert step.keys() == {"phase", "rows", "bytes_read", "bytes_total", "fraction", "seconds"}
        assert 0 <= step["fraction"] <= 1
    other = db.graph("other", weight="float64")

    def stop(_: dict[str, Any]) -> None:
        raise RuntimeError("enough")

    try:
        other.import_csv(path, progress=stop)
    except RuntimeError as error:
        assert str(error) == "enough"
        assert len(other) == 0
    else:
        # The import ended before it reported progress.
        assert len(other) == 300_000


def test_a_failed_import_leaves_a_graph_that_another_writer_created_meanwhile(db: quipu.Database) -> None:
    class Source(io.BytesIO):
        """A file whose reader is interrupted by another writer, and then breaks off."""

        def __init__(self) -> None:
            super().__init__()
            self.reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            if self.reads > 1:
                raise OSError("it broke off")
            db.graph("g").add_edge(1, 2)
            return b"3 4\n" * 100_000

    with pytest.raises(OSError, match="broke off"):
        db.import_graph("g", Source())
    assert db.graph("g").has_edge(1, 2)
    assert len(db.graph("g")) == 1


def test_an_import_in_a_transaction_is_refused(db: quipu.Database, write: Write) -> None:
    db.graph("g")
    with db.transaction() as tx, pytest.raises(quipu.InvalidInputError):
        tx.graph("g").import_csv(write("edges.csv", "1,2\n"))
    assert len(db.graph("g")) == 0
