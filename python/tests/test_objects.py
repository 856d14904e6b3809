"""How objects are shown, their conversion to tables, and threads."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import quipu


@pytest.fixture
def g(db: quipu.Database) -> quipu.Graph:
    """A small graph."""
    graph = db.graph("g", weight="float64")
    graph.upsert_many([1, 1, 3], [2, 3, 2**64 - 1], [0.5, 1.0, 2.0])
    return graph


ROWS = [(1, 2, 0.5), (1, 3, 1.0), (3, 2**64 - 1, 2.0)]


def test_a_table_has_rows_and_columns(g: quipu.Graph) -> None:
    table = g.to_table()
    assert len(table.columns) == 3
    assert len(table) == 3
    assert table.rows() == list(table) == ROWS
    g.upsert(9, 9)
    assert len(table) == 3


def test_a_table_becomes_what_others_use(g: quipu.Graph) -> None:
    table = g.to_table()
    arrow = table.to_arrow()
    assert isinstance(arrow, pa.Table)
    assert [column.to_pylist() for column in arrow.columns] == [list(column) for column in zip(*ROWS, strict=True)]
    assert pa.table(table).equals(arrow)
    assert pa.schema(table) == arrow.schema
    polars = table.to_polars()
    assert isinstance(polars, pl.DataFrame)
    assert polars.rows() == ROWS
    pandas = table.to_pandas()
    assert isinstance(pandas, pd.DataFrame)
    assert list(pandas.itertuples(index=False, name=None)) == ROWS
    assert list(polars.columns) == list(pandas.columns) == table.columns


@pytest.mark.parametrize("kind", ["blobs", "counters"])
def test_a_stream_becomes_what_others_use(db: quipu.Database, kind: str) -> None:
    b, c = db.blobs("b"), db.counters("c")
    b.put_many(range(10_000), [b"%d" % key for key in range(10_000)])
    c.add_many(range(10_000), range(10_000))
    stream = b.range if kind == "blobs" else c.range
    rows = [row for table in stream() for row in table]
    assert len(rows) == 10_000
    assert stream().rows() == rows
    assert stream(9_990).rows() == rows[9_990:]
    arrow = stream().to_arrow()
    assert isinstance(arrow, pa.Table)
    assert [column.to_pylist() for column in arrow.columns] == [list(column) for column in zip(*rows, strict=True)]
    polars = stream().to_polars()
    assert isinstance(polars, pl.DataFrame)
    assert polars.rows() == rows
    pandas = stream().to_pandas()
    assert isinstance(pandas, pd.DataFrame)
    assert list(pandas.itertuples(index=False, name=None)) == rows
    assert list(polars.columns) == list(pandas.columns) == arrow.column_names == stream().columns
    assert (stream(10_000).rows(), stream(10_000).to_arrow().schema) == ([], arrow.schema)


def test_a_stream_is_handed_out_once(db: quipu.Database) -> None:
    c = db.counters("c")
    c.add_many(range(100_000))
    uses = [
        quipu.TableStream.rows,
        quipu.TableStream.to_arrow,
        quipu.TableStream.to_pandas,
        quipu.TableStream.to_polars,
    ]
    for use in uses:
        stream = c.range()
        begun = next(stream)
        # The rest after a loop.
        assert len(use(stream)) == 100_000 - len(begun)
        for again in uses:
            with pytest.raises(quipu.InvalidInputError, match="handed out already"):
                again(stream)
        assert list(stream) == []


def test_tables_of_text_and_without_weights(db: quipu.Database) -> None:
    names = db.graph("names", vertex="str")
    names.upsert_many(["a", "b"], ["b", "<c>"])
    table = names.to_table()
    assert len(table.columns) == 2
    assert sorted(table.rows()) == [("a", "b"), ("b", "<c>")]
    assert "&lt;c&gt;" in table._repr_html_()
    assert table.to_polars().height == 2
    signed = db.graph("signed", vertex="i64", weight="int64")
    signed.upsert(-1, -2, -3)
    assert signed.to_table().rows() == [(-1, -2, -3)]


def test_objects_say_what_they_are(db: quipu.Database, g: quipu.Graph, folder: Path) -> None:
    assert repr(db) == "<quipu.Database in memory>"
    assert repr(g) == '<quipu.Graph "g": 3 edges, vertex=u64, weight=float64>'
    assert repr(g.to_table()).startswith("<quipu.Table: 3 rows")
    for html in [g._repr_html_(), g.to_table()._repr_html_()]:
        assert html.startswith("<table>")
        assert "3" in html
    tx = db.transaction()
    assert "open" in repr(tx)
    tx.rollback()
    assert "ended" in repr(tx)
    report = g.import_arrays([1], [1])
    assert repr(report).startswith("ImportReport(edges=1,")
    with quipu.open(folder) as kept:
        assert str(folder) in repr(kept)


def test_results_are_copies(g: quipu.Graph) -> None:
    before = g.successors(1)
    g.upsert(1, 100)
    assert before.tolist() == [2, 3]
    before[0] = 77
    assert g.successors(1).tolist() == [2, 3, 100]


def test_stats_and_check_count(db: quipu.Database, g: quipu.Graph) -> None:
    stats = db.stats()
    assert stats.keys() == {
        "disk_bytes",
        "log_bytes",
        "written",
        "cache_bytes",
        "commits",
        "activity",
        "graphs",
        "relations",
        "indexes",
        "blobs",
        "counters",
    }
    assert stats["written"].keys() == {"log", "flushed", "loaded", "merged"}
    (row,) = stats["graphs"]
    assert (row["name"], row["edges"], row["vertices"]) == ("g", 3, 4)
    assert db.check()["graphs"] == {"g": 3}
    db.flush()
    assert db.stats()["disk_bytes"] > 0
    assert db.stats()["written"]["flushed"] > 0
    assert db.check()["rows"] == 6


def test_errors_are_of_the_kinds_that_people_catch() -> None:
    kinds = [
        quipu.CancelledError,
        quipu.ConflictError,
        quipu.CorruptionError,
        quipu.InternalError,
        quipu.InvalidInputError,
        quipu.LimitError,
        quipu.LockedError,
        quipu.PoisonedError,
    ]
    assert all(issubclass(kind, quipu.Error) for kind in kinds)
    assert issubclass(quipu.InvalidInputError, ValueError)
    assert issubclass(quipu.LockedError, BlockingIOError)


def test_threads_share_a_database(db: quipu.Database) -> None:
    g = db.graph("g", weight="int64")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(300):
                g.upsert(number, i, i)
                assert g.edge(number, i) == i
                if i % 50 == 0:
                    g.neighbors_many(np.arange(4, dtype=np.uint64))
        except BaseException as failure:  # noqa: BLE001 a thread's failure would go unseen
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(g) == 1200


def test_the_interpreter_lock_is_released_by_long_calls(db: quipu.Database) -> None:
    g = db.graph("g", weight="int64")
    vertices = np.arange(100_000, dtype=np.uint64)
    g.import_arrays(vertices, vertices[::-1].copy())
    inside = False
    seen = False
    done = threading.Event()
    # Whether this thread is scheduled during a call is up to the machine: calls are repeated until
    # it is.
    patience = time.monotonic() + 120

    def ask() -> None:
        nonlocal inside
        while not seen and time.monotonic() < patience:
            inside = True
            g.neighbors_many(vertices)
            inside = False
        done.set()

    # Nothing preempts a thread: a thread that observes a running call got the GIL from that call.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10_000)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        while not done.is_set():
            seen = seen or inside
            time.sleep(0)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen


def test_look_ups_find_the_same_in_files_and_in_memory(tmp_path: Path) -> None:
    # The first lookups read files without the GIL; later ones find values in memory while holding
    # it.
    values = {k: bytes([k % 256]) * (k % 7 * 5000) for k in range(200)}
    with quipu.open(tmp_path / "db") as db:
        g = db.graph("of", vertex="str", weight="int")
        us = [f"u{k % 20}" for k in range(200)]
        g.upsert_many(us, [f"v{k}" for k in range(200)], list(range(200)))
        db.blobs("pages").put_many(list(values), list(values.values()))
        db.counters("hits").add_many(list(range(200)), list(range(200)))
        db.flush()
    for _ in range(2):
        with quipu.open(tmp_path / "db", read_only=True) as db:
            g, blobs, counters = db.graph("of"), db.blobs("pages"), db.counters("hits")
            for _ in range(2):
                for k in (3, 77, 199, 4, 78, 198, 0):
                    assert (blobs[k], blobs.get(k), k in blobs) == (values[k], values[k], True)
                    assert (counters[k], counters.get(k), k in counters) == (k, k, True)
                    assert (g.has_edge(us[k], f"v{k}"), g.edge(us[k], f"v{k}")) == (True, k)
                    assert list(g.predecessors(f"v{k}")) == [us[k]]
                    assert len(g.successors(us[k])) == 10
                    assert g.in_degree(f"v{k}") == (1, k)
                assert 300 not in blobs
                assert 300 not in counters
                assert not g.has_edge("u1", "v2")
                assert not g.has_vertex("nobody")


def test_a_result_is_a_sequence(db: quipu.Database) -> None:
    result = db.run("?[a, b] <- [[1, 'x'], [2, 'y'], [3, 'x']]")
    rows = [(1, "x"), (2, "y"), (3, "x")]
    # If it were registered as one, Polars would read rows and guess types instead of reading
    # columns.
    assert not isinstance(result, Sequence)
    assert list(reversed(result)) == rows[::-1]
    assert result.index((2, "y")) == 1
    assert result.index((3, "x"), 1) == result.index((3, "x"), -1) == 2
    with pytest.raises(ValueError, match="not in list"):
        result.index((2, "y"), 2)
    with pytest.raises(ValueError, match="not in list"):
        result.index((3, "x"), 0, 2)
    assert (result.count((1, "x")), result.count(7)) == (1, 0)
    assert (2, "y") in result
    assert (2, "z") not in result
    assert (result[1], result[-1], result[::2]) == (rows[1], rows[-1], rows[::2])


def test_objects_can_be_referred_to_weakly(db: quipu.Database) -> None:
    db.run(":create r {k: Int => v: Int}")
    objects = [db, db.graph("g"), db.blobs("b"), db.counters("c"), db.relation("r"), db.run("?[a] <- [[1]]")]
    objects += [db.transaction(), db.counters("c").scan(), db.counters("c").range(), db.stream("?[a] <- [[1]]")]
    kept = weakref.WeakValueDictionary(enumerate(objects))
    assert len(kept) == len(objects)
    caches: weakref.WeakKeyDictionary[quipu.Graph, int] = weakref.WeakKeyDictionary()
    graph = db.graph("g")
    caches[graph] = 1
    del graph
    gc.collect()
    assert len(caches) == 0


def test_stats_list_relations_and_indexes(db: quipu.Database) -> None:
    db.run("?[a, b] <- [[1, 'x'], [2, 'y'], [3, 'y']] :create t {a: Int => b: String}")
    db.run("::index create t:by_b {b}")
    stats = db.stats()
    assert [(row["name"], row["rows"]) for row in stats["relations"]] == [("t", 3)]
    assert [(row["name"], row["rows"]) for row in stats["indexes"]] == [("t:by_b", 3)]
    assert stats["relations"][0]["memory_bytes"] > 0
    shown = db.run("::relations").to_dicts()[0]
    assert (shown["name"], shown["estimated_rows"]) == ("t", 3)
    assert shown["estimated_bytes"] > 0


def test_stats_count_background_jobs(folder: Path) -> None:
    with quipu.open(folder) as db:
        db.run("?[a] := a in int_range(1000) :create t {a: Int}")
        before = db.stats()["activity"]
        assert before.keys() == {
            "flushes",
            "compactions",
            "stalls",
            "stalled_s",
            "cache_misses",
            "compaction_error",
        }
        db.flush()
        db.run("?[a] := a in int_range(500) :rm t {a}")
        db.flush()
        db.compact()
        after = db.stats()["activity"]
        assert after["flushes"] == before["flushes"] + 2
        assert after["compactions"] > before["compactions"]
        assert after["compaction_error"] is None
    with quipu.open(folder) as db:
        assert len(db.run("?[a] := *t{a}")) == 500
        assert db.stats()["activity"]["cache_misses"] > 0


def test_slow_queries_are_reported() -> None:
    told: list[tuple[str, float]] = []
    with quipu.open(on_slow_query=(0.0, lambda script, seconds: told.append((script, seconds)))) as db:
        script = "?[count(a)] := a in int_range(100000)"
        assert db.run(script).rows() == [(100_000,)]
        assert [one[0] for one in told] == [script]
        assert 0.0 < told[0][1] < 60.0
        with pytest.raises(quipu.InvalidInputError):
            db.run("?[a] := b")
        assert told[1][0] == "?[a] := b", "also one that fails"
        with db.transaction() as tx:
            tx.run(script)
        assert len(told) == 3
        assert sum(len(part) for part in db.stream(script)) == 1
        assert len(told) == 4
    with quipu.open(on_slow_query=(3600.0, lambda script, seconds: told.append((script, seconds)))) as db:
        db.run("?[a] := a in int_range(1000)")
    assert len(told) == 4, "not slow"


def test_the_report_of_a_slow_query_may_use_the_database() -> None:
    told: list[int] = []

    def report(script: str, seconds: float) -> None:
        if "nested" not in script:
            told.append(len(db.run("?[nested] <- [[1], [2]]")))

    with quipu.open(on_slow_query=(0, report)) as db:
        db.run("?[a] <- [[1]] :create t {a: Int}")
    assert told == [2]


def test_slow_queries_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with quipu.open(on_slow_query=0.0) as db:
        db.run("?[a] := a in int_range(3) :sort a")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("quipu", "WARNING")
    assert record.message.startswith("slow query: 0.")
    assert record.message.endswith(" s: ?[a] := a in int_range(3) :sort a")


@pytest.mark.parametrize("wrong", ["soon", -1.0, float("nan"), (1.0,), (1.0, 2.0), (print, 1.0)])
def test_wrong_on_slow_query_is_refused(wrong: object) -> None:
    with pytest.raises(quipu.InvalidInputError, match="on_slow_query is a number of seconds"):
        quipu.open(on_slow_query=wrong)  # type: ignore[arg-type]
