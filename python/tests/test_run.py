"""Scripts: their results, their parameters, their errors, and how they stop."""

from __future__ import annotations

import datetime as dt
import gc
import math
import threading
import time
import types
import uuid
import weakref
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import quipu

from conftest import Alarm

# 27 * 10^9 rows: it does not end by itself during a test.
ENDLESS = "c[x] := x in int_range(3000)\n?[count(x)] := c[x], c[y], c[z], x + y + z >= 0"


@pytest.fixture
def cites(db: quipu.Database) -> quipu.Database:
    graph = db.graph("cites", weight="float64")
    graph.upsert_many([1, 2, 3, 7], [2, 3, 4, 3], [0.5, 1.0, 1.5, 3.5])
    return db


def one(db: quipu.Database, value: Any) -> Any:
    """The value that a query returns for a parameter."""
    ((back,),) = db.run("?[x] := x = $value", {"value": value}).rows()
    return back


def test_a_result_is_a_sequence_of_rows_with_names(db: quipu.Database) -> None:
    result = db.run("?[n, name] <- [[2, 'b'], [1, 'a'], [3, null]]")
    rows = [(1, "a"), (2, "b"), (3, None)]
    assert result.columns == ["n", "name"]
    assert result.rows() == list(result) == rows
    assert len(result) == 3
    assert result[0] == rows[0]
    assert result[-1] == rows[-1]
    assert result[::-2] == rows[::-2]
    with pytest.raises(IndexError, match="row 3 of 3"):
        result[3]
    with pytest.raises(IndexError):
        result[-4]


def test_names_in_backquotes(db: quipu.Database) -> None:
    db.graph("ci-tes").upsert_many([1, 2], [2, 3])
    db.counters("hits-a").add(7, 3)
    assert db.run("?[a, b] := *`ci-tes`{src: a, dst: b}").rows() == [(1, 2), (2, 3)]
    assert db.run("?[k, n] := *`hits-a`[k, n]").rows() == [(7, 3)]
    db.run("?[src, dst] <- [[3, 4]] :put `ci-tes` {src, dst}")
    assert len(db.graph("ci-tes")) == 3
    with pytest.raises(quipu.InvalidInputError, match="backquotes"):
        db.run("?[a] := *ci-tes{src: a}")


def test_scripts_ask_graphs_whose_vertices_are_text(db: quipu.Database) -> None:
    graph = db.graph("knows", vertex="str", weight="int64")
    graph.upsert_many(["ann", "bob", "cy"], ["bob", "cy", "ann"], [1, 2, 3])
    assert db.run("?[b, w] := *knows['ann', b, w]").rows() == [("bob", 1)]
    reached = "r[b] := *knows{src: $who, dst: b} r[c] := r[b], *knows{src: b, dst: c} ?[who] := r[who]"
    assert db.run(reached, {"who": "ann"}).rows() == [("ann",), ("bob",), ("cy",)]
    assert db.run(reached, {"who": "nobody"}).rows() == []
    ranks = db.run("?[who, rank] <~ PageRank(*knows{src, dst})").rows()
    assert [who for who, _ in ranks] == ["ann", "bob", "cy"]


def test_scripts_and_tables_change_graphs_whose_vertices_are_text(db: quipu.Database) -> None:
    g = db.graph("knows", vertex="str", weight="float64")
    rows = [["ada", "bob", 1.0], ["bob", "cyd", 2.0]]
    db.run("?[src, dst, weight] <- $rows :put knows {src, dst => weight}", {"rows": rows})
    assert list(g.successors("ada")) == ["bob"]
    db.run("?[src, dst] <- [['ada', 'bob']] :rm knows {src, dst}")
    assert list(g.successors("ada")) == []
    relation = db.relation("knows")
    relation.put({"src": ["cyd", "dan"], "dst": ["dan", "ada"], "weight": [3.0, 4.0]})
    assert relation.to_arrow().to_pydict() == {
        "src": ["bob", "cyd", "dan"],
        "dst": ["cyd", "dan", "ada"],
        "weight": [2.0, 3.0, 4.0],
    }
    assert g.edge("dan", "ada") == 4.0
    reached = db.run("r[b] := *knows['bob', b, _] r[c] := r[b], *knows[b, c, _] ?[b] := r[b]")
    assert reached.rows() == [("ada",), ("cyd",), ("dan",)]


def test_a_repr_shows_the_first_rows(db: quipu.Database) -> None:
    few = repr(db.run("?[n, name] <- [[1, 'a'], [20, \"b\\n\"]]"))
    assert few.splitlines() == [" n │ name", "───┼─────", " 1 │ a", "20 │ b\\n", "<quipu.Result: 2 rows>"]
    many = repr(db.run("?[n] := n in int_range(1000)"))
    assert len(many.splitlines()) == 14
    more = "1000 rows, 10 shown; see more: result[10:20], .to_pandas(), .to_polars(), .rows()"
    assert many.endswith(f"…\n<quipu.Result: {more}>")
    html = db.run("?[n] <- [['<b>']]")._repr_html_()
    assert html == "<table><tr><th>n</th></tr><tr><td>&lt;b&gt;</td></tr></table><p>1 row</p>"
    assert db.run("?[n] := n in int_range(1000)")._repr_html_().endswith(f"</table><p>{more}</p>")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -(2**63),
        2**63 - 1,
        2**63,
        2**64 - 1,
        2**50,
        1.5,
        -0.0,
        math.inf,
        "",
        "knöt",
        b"",
        b"\x00\xff",
        [],
        [1, [2.5, None], "x"],
        {"a": [1, None, {"b": "c"}]},
        uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    ],
)
def test_a_parameter_comes_back_as_it_was(db: quipu.Database, value: object) -> None:
    back = one(db, value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ((1, "a"), [1, "a"]),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        (np.int32(-4), -4),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("s"), "s"),
        (np.arange(3), [0, 1, 2]),
        (np.array([[0.5]]), [[0.5]]),
    ],
)
def test_what_python_has_more_types_for_becomes_the_nearest_value(
    db: quipu.Database, value: object, want: object
) -> None:
    back = one(db, value)
    assert back == want
    assert type(back) is type(want)


def test_a_time_is_what_the_language_reads_as_one(db: quipu.Database) -> None:
    when = dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert db.run("?[t] := t = parse_timestamp($when)", {"when": when}).rows() == [(when.timestamp(),)]


def test_any_mapping_gives_parameters(db: quipu.Database) -> None:
    params = types.MappingProxyType({"a": 1, "b": 2})
    assert db.run("?[x] := x = $a + $b", params).rows() == [(3,)]


def test_what_no_value_is_is_refused_by_name(db: quipu.Database) -> None:
    for value in (object(), {1, 2}, int, 1j):
        with pytest.raises(TypeError, match=r"parameter `\$value` cannot be"):
            one(db, value)
    for value in (2**64, -(2**63) - 1, {"a": b"x"}, {"a": math.nan}):
        with pytest.raises(quipu.InvalidInputError, match=r"parameter `\$value`"):
            one(db, value)
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(quipu.InvalidInputError, match="nested deeper"):
        one(db, endless)
    with pytest.raises(TypeError, match="names of parameters are texts"):
        db.run("?[x] := x = 1", {1: 2})  # pyright: ignore[reportArgumentType]


def test_an_error_has_line_column_caret_and_hint(cites: quipu.Database) -> None:
    with pytest.raises(quipu.InvalidInputError) as caught:
        cites.run("?[a] :=\n  *cite{src: a}")
    assert (caught.value.line, caught.value.column) == (2, 4)
    shown = "no relation `cite`\n--> line 2, column 4\n    *cite{src: a}\n     ^^^^\nhint: did you mean `cites`?"
    assert str(caught.value) == shown
    with pytest.raises(quipu.InvalidInputError) as caught:
        cites.run("?[a, b] := a = 1 +")
    assert caught.value.line == 1
    with pytest.raises(quipu.InvalidInputError, match="expected numbers") as caught:
        cites.run("?[a] := a = 1 + 'x'")
    assert (caught.value.line, caught.value.column) == (1, 13)
    with pytest.raises(
        quipu.InvalidInputError, match=r"`\$start` has no value\n--> line 1, (.|\n)*\nhint: did you mean `\$starts`"
    ):
        cites.run("?[a] := a = $start", {"starts": 1})


def test_a_graph_is_found_from_both_ends(cites: quipu.Database) -> None:
    out = cites.run("?[to, w] := *cites{src: $v, dst: to, weight: w}", {"v": 2})
    assert out.rows() == [(3, 1.0)]
    back = cites.run("?[from, w] := *cites{src: from, dst: $v, weight: w}", {"v": 3})
    assert back.rows() == [(2, 1.0), (7, 3.5)]
    reached = """
        reached[to] := *cites{src: $v, dst: to}
        reached[to] := reached[via], *cites{src: via, dst: to}
        ?[to] := reached[to]
    """
    assert cites.run(reached, {"v": 1}).rows() == [(2,), (3,), (4,)]


def test_a_script_writes_what_a_graph_reads(cites: quipu.Database) -> None:
    cites.run("?[src, dst, weight] <- [[9, 1, 2.0]] :put cites {src, dst => weight}")
    graph = cites.graph("cites")
    assert graph.edge(9, 1) == 2.0
    assert list(graph.predecessors(1)) == [9]


@pytest.mark.parametrize("durability", ["sync", "none"])
def test_counters_are_seen_as_soon_as_they_are_counted(tmp_path: Path, durability: Any) -> None:
    with quipu.open(tmp_path / "db", durability=durability) as db:
        counters = db.counters("seen", key="str")
        counters.add_many(["a", "b"], [3, 4])
        for n in range(1, 50):
            counters.add("a")
            assert db.run("?[n] := *seen['a', n]").rows() == [(3 + n,)]
        counters.add("b")
        assert db.run("{?[k, n] := *seen[k, n]}").rows() == [("a", 52), ("b", 5)]
        counters.add("b")
        with db.transaction() as tx:
            assert tx.run("?[n] := *seen['b', n]").rows() == [(6,)]
        counters.add("b")
        db.run("::remove seen")
        assert db.counters("seen", key="str")["b"] == 0


def test_blobs_are_asked_by_key(db: quipu.Database) -> None:
    pages = db.blobs("pages")
    pages.put_many([1, 2, 3], [b"one", b"two", b""])
    assert db.run("?[k, v] := *pages{key: k, value: v}, k > 1").rows() == [(2, b"two"), (3, b"")]


def test_a_result_becomes_arrow_with_one_type_a_column(db: quipu.Database) -> None:
    pa = pytest.importorskip("pyarrow")
    script = """?[i, f, b, s, y, n, m, l, big] <- [
        [1, 0.5, true, 'x', $y, null, 1, [1, 'a'], 1],
        [2, 7, null, null, null, null, 'a', [], $big],
        [null, null, false, '', $e, null, null, [2.0], 3]]
        :order i"""
    result = db.run(script, {"y": b"\x00", "e": b"", "big": 2**63})
    table = result.to_arrow()
    types = [str(field.type) for field in table.schema]
    assert types == ["int64", "double", "bool", "string", "binary", "null", "string", "string", "uint64"]
    assert table.column_names == result.columns
    assert table.column("i").to_pylist() == [None, 1, 2]
    assert table.column("f").to_pylist() == [None, 0.5, 7.0]
    assert table.column("b").to_pylist() == [False, True, None]
    assert table.column("s").to_pylist() == ["", "x", None]
    assert table.column("y").to_pylist() == [b"", b"\x00", None]
    assert table.column("n").to_pylist() == [None, None, None]
    assert table.column("m").to_pylist() == [None, "1", '"a"']
    assert table.column("l").to_pylist() == ["[2.0]", '[1, "a"]', "[]"]
    assert table.column("big").to_pylist() == [3, 1, 2**63]
    assert pa.schema(result).equals(table.schema)


def test_many_rows_pass_to_arrow_polars_and_pandas(db: quipu.Database) -> None:
    result = db.run("?[i, f, s] := i in int_range(100_000), f = i / 4, s = to_string(i % 7)")
    pa = pytest.importorskip("pyarrow")
    table = pa.table(result)
    assert table.num_rows == 100_000
    assert table.column("i").to_pylist() == list(range(100_000))
    assert table.to_pylist()[:9] == [dict(zip(result.columns, row, strict=True)) for row in result[:9]]
    pl = pytest.importorskip("polars")
    assert result.to_polars().equals(pl.from_arrow(table))
    pytest.importorskip("pandas")
    assert result.to_pandas().equals(table.to_pandas())


def test_the_collector_walks_over_rows_of_lists_and_not_of_numbers(db: quipu.Database) -> None:
    many = "i in int_range(2000), f = i / 2, t = concat('text ', to_string(i)), n = null, b = i > 5"
    plain = db.run(f"?[i, f, t, n, b] := {many}").rows()
    assert plain[7] == (7, 3.5, "text 7", None, True)
    assert not any(gc.is_tracked(row) for row in plain)
    lists = db.run(f"?[i, l] := {many}, l = [i]").rows()
    assert all(gc.is_tracked(row) for row in lists)
    # A row that is part of a cycle is collected.
    row, lists = lists[7], []
    row[1].append(row)
    held = weakref.ref(one := type("Held", (), {})())
    row[1].append(one)
    del row, one, lists
    gc.collect()
    assert held() is None


def test_queries_of_several_threads_that_sleep_between_them_all_answer(db: quipu.Database) -> None:
    db.run("?[a, b] := a in int_range(300), b = mod(a * 7, 300) :create edge {a: Int, b: Int}")
    script = "?[c] := *edge[a, b], *edge[b, c], a <= $id"
    stop = time.monotonic() + 0.5
    failed: list[int] = []

    def ask(number: int) -> None:
        while time.monotonic() < stop:
            tops = range(number, 300, 31)
            failed.extend(top for top in tops if len(db.run(script, {"id": top}).rows()) != top + 1)
            # Releases the GIL outside of a query.
            time.sleep(0.001 * number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_an_empty_result_has_its_columns(db: quipu.Database) -> None:
    result = db.run("?[a, b] := a = 1, b = 2, a > b")
    assert result.rows() == []
    assert result.columns == ["a", "b"]
    pytest.importorskip("pyarrow")
    assert result.to_arrow().num_rows == 0


@pytest.mark.parametrize(
    "query",
    [
        "?[k, s, f, v, l] := *r{k, s, f, v, l}, k > 5",
        "?[k, s, f, v, l] := *r{k, s, f, v, l}, k > 5 :order -k :limit 3",
        "?[k, s, f, v, l] := *r{k: 7, s, f, v, l}, k = 7",
        "?[k, s, f, v, l] := *r{k, s, f, v, l}, k > 5; ?[k, s, f, v, l] := *r{k, s, f, v, l}, k < 0",
    ],
)
def test_an_empty_result_has_the_types_that_a_full_one_has(db: quipu.Database, query: str) -> None:
    pa = pytest.importorskip("pyarrow")
    db.run(":create r {k: Int => s: String?, f: Float, v: <F32; 2>, l: [Int]}")
    empty = db.run(query.replace("; ?", "\n?")).to_arrow()
    assert empty.num_rows == 0
    db.run("?[k, s, f, v, l] <- [[7, 'a', 0.5, vec([1.0, 2.0]), [1]]] :put r {k => s, f, v, l}")
    full = db.run(query.replace("; ?", "\n?")).to_arrow()
    assert full.num_rows == 1
    assert empty.schema == full.schema
    streamed = pa.table(db.stream("?[k, s, f, v, l] := *r{k, s, f, v, l}, k > 50"))
    assert streamed.schema == full.schema


def test_an_empty_result_of_aggregates_has_types(db: quipu.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    db.run(":create r {k: Int => s: String}")
    types = db.run("?[s, count(k), sum(k), max(k)] := *r{k, s}").to_arrow().schema.types
    assert types == [pyarrow.string(), pyarrow.int64(), pyarrow.float64(), pyarrow.int64()]


def test_a_runaway_query_ends_at_its_timeout(db: quipu.Database) -> None:
    with pytest.raises(quipu.CancelledError, match="timeout"):
        db.run(ENDLESS, timeout=0.05)
    with pytest.raises(quipu.CancelledError, match="timeout"):
        db.run(ENDLESS + "\n:timeout 0.05")
    # The script cannot raise the caller's limit.
    with pytest.raises(quipu.CancelledError, match="timeout"):
        db.run(ENDLESS + "\n:timeout 1000", timeout=0.05)
    for timeout in (-1, math.nan):
        with pytest.raises(quipu.InvalidInputError, match="timeout"):
            db.run("?[x] := x = 1", timeout=timeout)
    assert db.run("?[x] := x = 1", timeout=0).rows() == [(1,)]


def test_another_thread_runs_while_a_query_does_and_can_kill_it(db: quipu.Database) -> None:
    stopped: list[BaseException] = []

    def run() -> None:
        try:
            db.run(ENDLESS, timeout=60)
        except quipu.Error as error:
            stopped.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    # That this loop runs shows that the GIL was released.
    while not (ids := [row[0] for row in db.run("::running") if "c[x]" in row[2]]):
        pass
    assert db.run(f"::kill {ids[0]}").rows() == [("KILLING",)]
    thread.join()
    assert isinstance(stopped[0], quipu.CancelledError)


@pytest.mark.parametrize("durability", ["none", "os", "sync"])
def test_threads_run_short_scripts_beside_an_index_that_comes_and_goes(
    tmp_path: Path, durability: Literal["none", "os", "sync"]
) -> None:
    db = quipu.open(tmp_path / "db", durability=durability)
    db.run("?[k, v] := k in int_range(5000), v = k % 7 :create r {k: Int => v: Int}")
    wrong: list[object] = []
    done = threading.Event()

    def change(first: int) -> None:
        for k in range(first, first + 300):
            db.run("?[k, v] <- [[$k, 1]] :put r {k => v}", {"k": k})
            rows = db.run("?[v] := *r{k: $k, v}", {"k": k}).rows()
            if rows != [(1,)]:
                wrong.append((k, rows))

    def make() -> None:
        while not done.is_set():
            db.run("::index create r:by_v {v}")
            db.run("::index drop r:by_v")

    threads = [threading.Thread(target=change, args=(first,)) for first in (10_000, 20_000)]
    maker = threading.Thread(target=make)
    for thread in (maker, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    maker.join()
    assert wrong == []
    assert db.run("?[count(k)] := *r{k}, k >= 10000").rows() == [(600,)]
    db.check()
    db.close()


def test_a_signal_stops_a_query(db: quipu.Database, alarm: Alarm) -> None:
    alarm(0.05)
    with pytest.raises(KeyboardInterrupt):
        db.run(ENDLESS, timeout=60)
    assert db.run("?[x] := x = 1").rows() == [(1,)]


def test_a_query_that_holds_too_much_ends_at_the_limit() -> None:
    with quipu.open(memory_limit="64MB", cache="8MB") as db:
        with pytest.raises(quipu.LimitError, match="hint: a larger memory_limit"):
            db.run("c[x] := x in int_range(5000)\n?[x, y] := c[x], c[y]", timeout=60)
        assert db.run("?[x] := x = 1").rows() == [(1,)]


def test_a_query_holds_no_more_than_its_own_limit(db: quipu.Database) -> None:
    small, large = (f"c[x] := x in int_range({n})\n?[x, y] := c[x], c[y]" for n in (30, 1000))
    with db.transaction() as tx:
        for run in (db.run, tx.run):
            for limit in (1 << 20, "1MB"):
                with pytest.raises(quipu.LimitError, match="more than its limit of 10"):
                    run(large, memory_limit=limit)
            assert len(run(small, memory_limit="1MB")) == 900
    with pytest.raises(quipu.LimitError), db.stream(large + " :order -x", memory_limit="1MB") as stream:
        list(stream)
    with quipu.open(memory_limit="64MB", cache="8MB") as tight, pytest.raises(quipu.LimitError):
        tight.run("c[x] := x in int_range(5000)\n?[x, y] := c[x], c[y]", timeout=60, memory_limit="8GB")
    with pytest.raises(quipu.InvalidInputError, match="size"):
        db.run("?[x] := x = 1", memory_limit="much")


def test_a_script_that_fails_changes_nothing(db: quipu.Database) -> None:
    assert db.run("?[k, v] <- [[1, 'a']] :create t {k: Int => v: String}").rows() == [("OK",)]
    with pytest.raises(quipu.InvalidInputError):
        db.run("{?[k, v] <- [[2, 'b']] :put t {k => v}} {?[k, v] <- [['x', 'c']] :put t {k => v}}")
    assert db.run("?[k, v] := *t[k, v]").rows() == [(1, "a")]
    with pytest.raises(quipu.InvalidInputError):
        db.run("{?[k] <- [[1]] :create u {k}} {?[x] := *nope[x]}")
    assert db.run("::relations").rows()[0][0] == "t"
    assert len(db.run("::relations")) == 1


def test_a_transaction_runs_scripts_and_takes_them_back(db: quipu.Database) -> None:
    graph = db.graph("cites")
    db.run("?[k] <- [[1]] :create t {k}")
    everything = "?[k] := *t[k]"
    with db.transaction() as tx:
        tx.run("?[k] <- [[2]] :put t {k}")
        tx.graph("cites").upsert(1, 2)
        assert tx.run(everything).rows() == [(1,), (2,)]
        assert tx.run("?[to] := *cites{src: $v, dst: to}", {"v": 1}).rows() == [(2,)]
        assert db.run(everything).rows() == [(1,)]
    assert db.run(everything).rows() == [(1,), (2,)]
    assert graph.has_edge(1, 2)

    class Regret(Exception):
        pass

    with pytest.raises(Regret), db.transaction() as tx:
        tx.run("?[k] <- [[3]] :put t {k}")
        raise Regret
    assert db.run(everything).rows() == [(1,), (2,)]
    with pytest.raises(quipu.InvalidInputError, match="ended"):
        tx.run(everything)


def test_of_two_transactions_that_put_one_row_the_first_wins(db: quipu.Database) -> None:
    db.run("?[k, v] <- [[1, 0]] :create t {k => v}")
    first, second = db.transaction(), db.transaction()
    for tx in (first, second):
        tx.run("?[k, v] := *t[k, w], v = w + 1 :put t {k => v}")
    first.commit()
    with pytest.raises(quipu.ConflictError):
        second.commit()
    assert db.run("?[v] := *t[1, v]").rows() == [(1,)]


def test_a_transaction_makes_replaces_renames_and_removes_relations(db: quipu.Database) -> None:
    db.run("?[k, v] <- [[1, 2]] :create t {k => v}")
    db.run("?[k] <- [[1]] :create gone {k}")
    with db.transaction() as tx:
        tx.run("?[k] <- [[1]] :create u {k}")
        tx.run("?[k] := *u[k] :replace t {k}")
        tx.run("::rename u -> w")
        tx.run("::remove gone")
        assert tx.run("?[k] := *t[k], *w[k]").rows() == [(1,)]
        assert tx.relation("w").to_arrow().num_rows == 1
        tx.import_relations({"w": [(2,), (3,)]})
        assert tx.run("?[count(k)] := *w[k]").rows() == [(3,)]
        with pytest.raises(quipu.InvalidInputError, match="no relation `w`"):
            db.run("?[k] := *w[k]")
        with pytest.raises(quipu.InvalidInputError, match="outside of transactions"):
            tx.run("::index create t:i {k}")
    assert [row[0] for row in db.run("::relations").rows()] == ["t", "w"]
    assert db.run("?[k] := *t[k]").rows() == [(1,)]


def test_what_a_transaction_that_fails_made_is_gone(db: quipu.Database) -> None:
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.run("?[k] <- [[1]] :create u {k}")
        raise ZeroDivisionError
    assert db.run("::relations").rows() == []
    first, second = db.transaction(), db.transaction()
    for tx in (first, second):
        tx.run("?[k] <- [[1]] :create u {k}")
    first.commit()
    with pytest.raises(quipu.ConflictError, match="meanwhile"):
        second.commit()


def test_an_index_made_meanwhile_is_a_conflict_and_misses_nothing(db: quipu.Database) -> None:
    db.run("?[k, v] <- [[1, 2]] :create t {k => v}")
    tx = db.transaction()
    tx.run("?[k, v] <- [[3, 4]] :put t {k => v}")
    db.run("::index create t:by_v {v}")
    with pytest.raises(quipu.ConflictError, match="index"):
        tx.commit()
    with db.transaction() as tx:
        tx.run("?[k, v] <- [[3, 4]] :put t {k => v}")
    assert db.run("?[k] := *t{k, v: 4}").rows() == [(3,)]
    assert db.run("?[v, k] := *t:by_v[v, k]").rows() == [(2, 1), (4, 3)]


def test_a_reader_beside_the_writer_asks_and_changes_nothing(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "db") as writer:
        writer.run("?[k] <- [[1]] :create t {k}")
        with quipu.open(tmp_path / "db", read_only=True) as reader:
            assert reader.run("?[k] := *t[k]").rows() == [(1,)]
            assert reader.run("::relations").rows()[0][0] == "t"
            with pytest.raises(quipu.InvalidInputError, match=r"reading only|read-only"):
                reader.run("?[k] <- [[2]] :put t {k}")
            with pytest.raises(quipu.InvalidInputError, match=r"reading only|read-only"):
                reader.run("?[k] <- [[2]] :create u {k}")
            writer.run("?[k] <- [[2]] :put t {k}")
            reader.refresh()
            assert reader.run("?[k] := *t[k]").rows() == [(1,), (2,)]


def test_a_script_for_reading_changes_nothing(db: quipu.Database) -> None:
    db.run("?[k] <- [[1]] :create r {k}")
    for script in [
        "?[k] <- [[2]] :put r {k}",
        "{?[k] := *r[k]} {?[k] <- [[2]] :rm r {k}}",
        ":create s {k}",
        "::remove r",
        "::index create r:i {k}",
        "{::compact}",
    ]:
        with pytest.raises(quipu.InvalidInputError, match="for reading only"):
            db.run(script, read_only=True)
    assert db.run("{?[k] := *r[k] :create _t {k}} {?[k] := *_t[k]}", read_only=True).rows() == [(1,)]
    assert db.run("::relations", read_only=True).rows()[0][0] == "r"
    with db.transaction() as tx, pytest.raises(quipu.InvalidInputError, match="for reading only"):
        tx.run("?[k] <- [[2]] :put r {k}", read_only=True)
    assert db.run("?[k] := *r[k]", read_only=True).rows() == [(1,)]
