"""Files and frames that people have: each is one call, by Python and by the command."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import math
import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import quipu
from quipu._quipu import run_command

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "files"))

from cases import CASES, NUMBERS, Case

Write = Callable[[str, str | bytes], Path]


def same(a: float, b: float) -> bool:
    """Whether two weights are the same float: NaN is NaN, and -0.0 is not 0.0."""
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def edges_of(g: quipu.Graph) -> dict[tuple[Any, Any], float]:
    """All edges of a graph; those without a weight have 1."""
    return {(row[0], row[1]): float(row[2]) if len(row) > 2 else 1.0 for row in g.to_table().rows()}


def check(g: quipu.Graph, want: dict[tuple[Any, Any], float]) -> None:
    """Compare the edges of a graph with those that are wanted."""
    got = edges_of(g)
    assert got.keys() == want.keys()
    for pair, weight in want.items():
        assert same(got[pair], weight), (pair, got[pair], weight)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_each_is_one_call(db: quipu.Database, tmp_path: Path, case: Case) -> None:
    report = db.import_graph("g", case.make(tmp_path), **case.arguments)
    check(db.graph("g"), case.want)
    assert report.edges == len(case.want)
    assert report.detected["format"]
    assert not case.note or any(case.note in note for note in report.notes)


FILES = [case for case in CASES if " " not in case.name and case.name not in {"masked", "booleans", "decimals"}]


@pytest.mark.parametrize("case", FILES, ids=[case.name for case in FILES])
def test_each_file_is_one_command(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], case: Case) -> None:
    made = case.make(tmp_path)
    paths = [str(path) for path in (made if isinstance(made, list) else [made]) if isinstance(path, Path)]
    if not paths:
        return
    assert run_command(["quipu", "import", str(folder), "g", *paths, *case.flags, "--json"]) == 0
    printed = capfd.readouterr()
    reports = [json.loads(line) for line in printed.out.splitlines()]
    assert sum(report["edges"] for report in reports) == len(case.want)
    assert reports[0]["detected"]["format"]
    assert not case.note or case.note in printed.err
    with quipu.open(folder) as db:
        check(db.graph("g"), case.want)


def test_a_pipe_is_read_to_its_end(db: quipu.Database, folder: Path, tmp_path: Path) -> None:
    text = "".join(f"{i},{i + 1}\n" for i in range(50_000)).encode()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(gzip.compress(text),))
    writer.start()
    assert db.graph("g").import_csv(fifo).edges == 50_000
    writer.join()
    read, write = os.pipe()
    part = b"".join(text.splitlines(keepends=True)[:400])
    writer = threading.Thread(target=lambda: (os.write(write, part), os.close(write)))
    writer.start()
    assert run_command(["quipu", "import", str(folder), "g", f"/dev/fd/{read}"]) == 0
    writer.join()
    os.close(read)
    with quipu.open(folder) as stored:
        assert len(stored.graph("g")) == 400
    assert db.import_graph("limits", "/proc/self/limits", columns=[0, 1], delimiter=" ", header=False).edges > 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"1,2\n" * 9000)[:-9], "deflate"),
        (gzip.compress(gzip.compress(b"1,2\n")), "compressed twice"),
        (bz2.compress(b"1,2\n" * 9000)[:-9], "fill whole buffer|bzip2"),
        (b"\x00\x01\x02\x03" * 100, "binary data"),
        ("1,2\n".encode("utf-16"), "UTF-16"),
        ("%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n", "promises 3 entries, and 2 follow"),
        ("p sp 3 3\na 1 2 1\n", "3 edges"),
        ("<graphml><graph><node id='a'/>", "GraphML"),
        ("Id,Label\n1,Ann\n", "table of vertices"),
        ("p,q,r,s\n1,2,3,4\n", "name the columns"),
        ("1 2 {'weight': 1}\n2 3 {}\n", "1 edge without one: line 2"),
        ('[{"source": 1, "target": 2}]', "JSON"),
        ("[1, 2]\n[2, 3]\n", "JSON"),
        ('{"source": 1, "target": 2}\n', "JSON"),
        ("<?xml version='1.0'?><graph/>", "XML"),
        ("<!DOCTYPE html>\n<title>404,Not found</title>\n", "HTML"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "Git LFS"),
        ("1 2\r2 3\r", "carriage return"),
    ],
)
def test_what_is_no_whole_input_is_an_error_and_makes_no_graph(
    db: quipu.Database, write: Write, content: str | bytes, message: str
) -> None:
    with pytest.raises((quipu.InvalidInputError, quipu.Error), match=message):
        db.import_graph("g", write("input", content))
    assert db.graphs() == []


def test_a_matrix_without_its_first_line_is_not_a_list_of_edges(db: quipu.Database, write: Write) -> None:
    path = write("a.mtx", "3 3 2\n1 2 5\n2 3 5\n")
    with pytest.raises(quipu.InvalidInputError, match="%%MatrixMarket"):
        db.import_graph("g", path)
    assert db.import_graph("g", path, columns=[0, 1]).edges == 3


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_a_table_is_read_from_a_stream_and_compressed(
    db: quipu.Database, folder: Path, tmp_path: Path, form: str
) -> None:
    (bytes_,) = [case.make(tmp_path).read_bytes() for case in CASES if case.name == f"edges.{form}"]
    packed = tmp_path / f"packed.{form}.gz"
    packed.write_bytes(gzip.compress(bytes_))
    for i, source in enumerate([io.BytesIO(bytes_), io.BytesIO(gzip.compress(bytes_)), packed]):
        assert db.import_graph(f"g{i}", source).edges == 3
        check(db.graph(f"g{i}"), NUMBERS)
    report = db.import_graph("p", io.BytesIO(bytes_), edge_properties={"weight": "float"}, nodes={"vertex": [9]})
    assert (report.edges, report.nodes) == (3, 1)
    read, write = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(write, bytes_), os.close(write)))
    writer.start()
    assert run_command(["quipu", "import", str(folder), "g", f"/dev/fd/{read}"]) == 0
    writer.join()
    os.close(read)
    with quipu.open(folder) as stored:
        check(stored.graph("g"), NUMBERS)
    with pytest.raises(quipu.InvalidInputError, match=r"sound|damage|Parquet|Arrow"):
        db.import_graph("cut", io.BytesIO(bytes_[:-9]))


def test_an_address_is_refused_as_one(db: quipu.Database) -> None:
    for address in ["https://example.org/a.csv?x=1", "s3://bucket/part-*.csv"]:
        with pytest.raises(quipu.InvalidInputError, match="is an address"):
            db.import_graph("g", address)


def test_digits_with_a_leading_zero_are_names(db: quipu.Database, write: Write) -> None:
    db.import_graph("g", write("a.csv", "01234,1235\n1235,90210\n"))
    check(db.graph("g"), {("01234", "1235"): 1.0, ("1235", "90210"): 1.0})


def test_with_a_decimal_comma_the_comma_separates_nothing(db: quipu.Database, write: Write) -> None:
    text = "ann;bob;15,5\nbob;carl;2,0\n"
    given: list[dict[str, Any]] = [{}, {"decimal": ","}, {"delimiter": ";"}]
    for i, arguments in enumerate(given):
        report = db.import_graph(f"g{i}", write("a.csv", text), **arguments)
        check(db.graph(f"g{i}"), {("ann", "bob"): 15.5, ("bob", "carl"): 2.0})
        assert report.detected["delimiter"] == "semicolon"
    assert db.import_graph("h", write("a.csv", text)).detected["decimal"] == "comma"


def test_a_list_of_arrays_is_ambiguous_and_a_tuple_has_columns(db: quipu.Database) -> None:
    us, vs = np.array([1, 2, 3]), np.array([2, 3, 1])
    with pytest.raises(quipu.InvalidInputError, match="rows or columns"):
        db.import_graph("g", [us, vs])
    db.import_graph("g", (us, vs))
    check(db.graph("g"), {(1, 2): 1.0, (2, 3): 1.0, (3, 1): 1.0})
    big = 2**63 + 1
    db.import_graph("h", [(np.uint64(big), np.int64(2**60 + 1))])
    check(db.graph("h"), {(big, 2**60 + 1): 1.0})


def test_a_graph_of_networkx_says_what_is_left_out(db: quipu.Database) -> None:
    nx = pytest.importorskip("networkx")
    graph = nx.MultiGraph([("a", "b", {"weight": 2}), ("a", "b", {"weight": 3}), (1, "c", {"weight": 4})])
    graph.add_node("lonely", since=1999)
    notes = " ".join(db.import_graph("g", graph).notes)
    for said in ["without direction", "attributes", "parallel", "1 of the vertices", "by their text"]:
        assert said in notes, said
    assert db.import_graph("h", nx.DiGraph([(1, 2)])).notes == []
    path = nx.path_graph(3)
    for i, edges in enumerate([path.edges, path.edges(data=True), path.edges()]):
        assert db.import_graph(f"e{i}", edges).edges == 2


def test_a_damaged_arrow_file_is_an_error_or_edges(db: quipu.Database, tmp_path: Path) -> None:
    (whole,) = [case.make(tmp_path).read_bytes() for case in CASES if case.name == "edges.feather"]
    path = tmp_path / "damaged.feather"
    for at in range(8, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            db.import_graph(f"g{at}", path)
        except quipu.InternalError:
            raise
        except quipu.Error:
            continue


def test_a_missing_file_is_a_file_not_found_error(db: quipu.Database, tmp_path: Path) -> None:
    g = db.graph("g")
    for call in [g.import_csv, g.import_parquet, lambda path: db.import_graph("h", path)]:
        for path in [tmp_path / "none.csv", str(tmp_path / "none-*.csv")]:
            with pytest.raises(FileNotFoundError, match="none"):
                call(path)
    with pytest.raises(quipu.MissingFileError):
        g.import_csv(tmp_path / "none.csv")


MISSING: dict[str, Callable[[Write], tuple[str, Any]]] = {
    "text": lambda write: ("import_csv", write("a.csv", "1,2,0.5\n2,3,\n3,1,nan\n")),
    "parquet": lambda write: ("import_parquet", parquet_of(write, [0.5, None, None])),
    "arrow": lambda write: (
        "import_arrow",
        pa.table({"source": [1, 2, 3], "target": [2, 3, 1], "w": [0.5, None, None]}),
    ),
    "pandas": lambda write: (
        "import_arrow",
        pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 1], "w": [0.5, np.nan, np.nan]}),
    ),
    "pairs": lambda write: ("import_arrow", [(1, 2, 0.5), (2, 3, None), (3, 1, math.nan)]),
    "arrays": lambda write: ("import_arrays", ([1, 2, 3], [2, 3, 1], np.array([0.5, np.nan, np.nan]))),
    "masked": lambda write: (
        "import_arrays",
        ([1, 2, 3], [2, 3, 1], np.ma.MaskedArray([0.5, 7.0, 8.0], [False, True, True])),
    ),
}


def parquet_of(write: Write, weights: list[float | None]) -> Path:
    """A Parquet file with these weights."""
    path = write("a.parquet", "")
    pq.write_table(pa.table({"source": [1, 2, 3], "target": [2, 3, 1], "weight": weights}), path)
    return path


@pytest.mark.parametrize("make", MISSING.values(), ids=MISSING.keys())
def test_missing_weights_have_one_rule_everywhere(
    db: quipu.Database, write: Write, make: Callable[[Write], tuple[str, Any]]
) -> None:
    g = db.graph("g", weight="float64")
    method, given = make(write)
    arguments = given if isinstance(given, tuple) else (given,)
    with pytest.raises(quipu.InvalidInputError, match=r"2 edges without one: (line|row) 2, (line|row) 3"):
        getattr(g, method)(*arguments)
    assert len(g) == 0
    assert getattr(g, method)(*arguments, missing="skip").missing == 2
    check(g, {(1, 2): 0.5})
    report = getattr(g, method)(*arguments, missing=3)
    assert (report.missing, report.rows) == (2, 3)
    check(g, {(1, 2): 0.5, (2, 3): 3.0, (3, 1): 3.0})


def test_the_report_says_what_was_detected(db: quipu.Database, write: Write) -> None:
    path = write("a.csv", "id;source;target;weight\n9;1;2;0.5\n8;2;3;1\n")
    report = db.import_graph("g", path)
    assert report.detected == {
        "format": "text",
        "delimiter": "semicolon",
        "header": 'yes: "id, source, target, weight"',
        "quotes": '"',
        "source": '"source"',
        "target": '"target"',
        "weight": '"weight"',
        "ignored": '"id"',
        "types": "u64, u64, float64",
    }
    assert "delimiter: semicolon" in repr(report)


def test_columns_are_chosen_in_all_tables(db: quipu.Database, tmp_path: Path) -> None:
    table = pa.table({"p": [9, 8], "q": [1, 2], "r": [2, 3], "s": [0.5, 1.5]})
    pq.write_table(table, tmp_path / "a.parquet")
    want = {(1, 2): 0.5, (2, 3): 1.5}
    for i, columns in enumerate([["q", "r", "s"], [1, 2, 3]]):
        g = db.graph(f"g{i}", weight="float64")
        g.import_arrow(table, columns=columns)
        check(g, want)
        h = db.graph(f"h{i}", weight="float64")
        h.import_parquet(tmp_path / "a.parquet", columns=columns)
        check(h, want)
    for call in [lambda: db.import_graph("g", table), lambda: db.import_graph("g", tmp_path / "a.parquet")]:
        with pytest.raises(quipu.InvalidInputError, match="name the columns"):
            call()
    with pytest.raises(quipu.InvalidInputError, match="twice"):
        db.graph("g0").import_arrow(table, columns=[1, 1])


def test_lists_patterns_and_urls_of_files_are_one_import(db: quipu.Database, tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"part {i}.csv").write_text(f"{i},{i + 1}\n")
    (tmp_path / "bad.csv").write_text("1,2\nx,y,z\n")
    want = {(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0}
    paths = sorted(tmp_path.glob("part*"))
    url = (tmp_path / "part 0.csv").as_uri()
    with paths[2].open("rb") as last:
        for i, source in enumerate([paths, str(tmp_path / "part*.csv"), [url, paths[1], last]]):
            assert db.import_graph(f"g{i}", source).edges == 3
            check(db.graph(f"g{i}"), want)
    g = db.graph("all")
    with pytest.raises(quipu.InvalidInputError, match=r"bad\.csv line 2"):
        g.import_csv([*paths, tmp_path / "bad.csv"])
    assert len(g) == 0


def test_the_exception_of_a_file_object_is_raised(db: quipu.Database) -> None:
    class Broken:
        def __init__(self) -> None:
            self.reads = 0

        def read(self, size: int) -> bytes:
            self.reads += 1
            if self.reads > 3:
                raise RuntimeError("the network is down")
            return b"1,2\n" * 100_000

    with pytest.raises(RuntimeError, match="the network is down"):
        db.import_graph("g", Broken())
    assert db.graphs() == []


def test_types_of_a_new_graph_are_those_of_its_data(db: quipu.Database, write: Write) -> None:
    for i, (source, vertex, weight) in enumerate(
        [
            ([(1, 2)], "u64", None),
            ([(-1, 2)], "i64", None),
            ([("a", "b")], "str", None),
            ([(1, 2, 3)], "u64", "int64"),
            ([(1, 2, 0.5)], "u64", "float64"),
            (write("a.txt", "1 2\n"), "u64", None),
            (write("b.txt", "-1 2 3\n"), "i64", "float64"),
            (write("c.txt", "a b\n"), "str", None),
        ]
    ):
        db.import_graph(f"g{i}", source)
        g = db.graph(f"g{i}")
        assert (g.vertex, g.weight) == (vertex, weight)
    # An existing graph keeps its types.
    with pytest.raises(quipu.InvalidInputError):
        db.import_graph("g0", [("a", "b")])
    with pytest.raises(quipu.InvalidInputError):
        db.import_graph("g0", [(1, 2)], vertex="str")
    assert db.import_graph("g5", [(5, 6)]).edges == 1


def test_a_loose_quote_loses_one_line(db: quipu.Database, write: Write) -> None:
    text = 'a,b\n"c,d\n' + "".join(f"v{i},w{i}\n" for i in range(20_000))
    g = db.graph("g", vertex="str")
    with pytest.raises(quipu.InvalidInputError, match="closing quote") as caught:
        g.import_csv(write("a.csv", text))
    assert (caught.value.line, caught.value.column) == (2, 1)
    report = g.import_csv(write("a.csv", text), on_error="skip")
    assert (report.edges, report.skipped) == (20_001, 1)


def test_random_bytes_survive_bzip2(db: quipu.Database, write: Write) -> None:
    rng = random.Random(7)
    for size in [1, 7, 1000, 400_000]:
        lines = {(rng.randrange(10**12), rng.choice([1, 2, rng.randrange(10**6)])) for _ in range(size // 4 + 1)}
        text = "".join(f"{u},{v}\n" for u, v in lines).encode()
        half = len(text) // 2
        packed = bz2.compress(text[:half], 1) + bz2.compress(text[half:])
        db.import_graph(f"g{size}", write("a.bz2", packed))
        assert edges_of(db.graph(f"g{size}")).keys() == lines


def names(rng: random.Random) -> str:
    """A name that is hard to write."""
    return "".join(rng.choice('ab"#%,;\t \n\r|é\u2028') for _ in range(rng.randrange(6)))


@pytest.mark.parametrize("name", ["csv", "tsv", "txt", "csv.gz", "tsv.zst", "txt.gz", "parquet", "arrow"])
def test_an_export_comes_back_the_same(db: quipu.Database, folder: Path, tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    weights = [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308, 1e15, 0.1, -1 / 3]
    export = {"parquet": "export_parquet", "arrow": "export_arrow"}.get(name, "export_csv")
    for vertex, ends in {
        "u64": [0, 1, 2**53 + 1, 2**64 - 1],
        "i64": [-(2**63), -1, 0, 2**63 - 1],
        "str": ["", *sorted({names(rng) for _ in range(40)} - {""})],
    }.items():
        for weight in [None, "float64", "int64"]:
            g = db.graph(f"{vertex}_{weight}", vertex=vertex, weight=weight)  # pyright: ignore[reportArgumentType]
            us, vs = [rng.choice(ends) for _ in range(60)], [rng.choice(ends) for _ in range(60)]
            ints = [rng.choice([0, -1, 2**63 - 1, -(2**63), 7]) for _ in us]
            ws: Any = {None: None, "float64": [rng.choice(weights) for _ in us], "int64": ints}[weight]
            g.upsert_many(us, vs, ws)
            path = tmp_path / f"{vertex}-{weight}.{name}"
            assert getattr(g, export)(path) == len(g)
            copy = db.graph(f"copy_{vertex}_{weight}", vertex=vertex, weight=weight)  # pyright: ignore[reportArgumentType]
            assert copy.import_csv(path).missing == 0
            check(copy, edges_of(g))
            types = ["--vertex", vertex, "--weight", {"float64": "float64", "int64": "int64"}.get(weight or "", "none")]
            graph = f"c_{vertex}_{weight}"
            assert run_command(["quipu", "import", str(folder), graph, str(path), *types]) == 0
            again = tmp_path / f"again-{vertex}-{weight}.{name}"
            assert run_command(["quipu", "export", str(folder), graph, str(again)]) == 0
            second = db.graph(f"second_{vertex}_{weight}", vertex=vertex, weight=weight)  # pyright: ignore[reportArgumentType]
            second.import_csv(again)
            check(second, edges_of(g))


def test_a_file_is_not_written_in_a_compression_that_is_only_read(db: quipu.Database, tmp_path: Path) -> None:
    g = db.graph("g")
    g.upsert(1, 2)
    with pytest.raises(quipu.InvalidInputError, match=r"not written as \.bz2"):
        g.export_csv(tmp_path / "a.csv.bz2")
    assert list(tmp_path.iterdir()) == []


def test_the_numbers_are_those_of_the_cases() -> None:
    assert len(CASES) >= 60
    assert len(NUMBERS) == 3
