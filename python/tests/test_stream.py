"""Results as streams of batches."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import quipu

from conftest import Alarm

ROWS = 300_000


# Many rows at first, and then none for longer than a test waits.
SLOW = "?[a, b, c] := *facts{a}, *facts{a: b}, *facts{a: c}, a == 0 && b < 4 || a + b + c < 0"


def long(a: Any) -> Any:
    return [f"a text that no cell holds: {one}" for one in a]


@pytest.fixture
def facts(db: quipu.Database) -> quipu.Database:
    fill(db)
    return db


def fill(db: quipu.Database) -> None:
    a = list(range(ROWS))
    columns = {"a": a, "s": long(a), "b": [one % 7 for one in a]}
    db.relation("facts", create="{a: Int => s: String, b: Int}").put(columns)


def test_parts_together_are_the_result(facts: quipu.Database) -> None:
    for script in [
        "?[a, s] := *facts{a, s}",
        "?[a, s] := *facts{a, s, b}, b == $b",
        "?[b, n] := b = $b, n = 1",
        "?[b, count(a)] := *facts{a, b}",
        "?[a] := *facts{a} :order -a :limit 100000",
        "?[a, b] := *facts{a, b}, a < 0",
        "::columns facts",
    ]:
        with facts.stream(script, {"b": 3}) as stream:
            columns, parts = stream.columns, list(stream)
        whole = facts.run(script, {"b": 3})
        assert columns == whole.columns
        assert sorted(row for part in parts for row in part) == sorted(whole.rows())
        assert len(parts) >= 1
        assert all(len(part) < ROWS for part in parts)


def test_a_result_larger_than_the_memory_is_read_in_parts(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "db", durability="none") as db:
        fill(db)
    with quipu.open(tmp_path / "db", memory_limit="32MB", cache="8MB") as db:
        script = "?[a, s, t] := *facts{a, s}, t = concat(s, '!')"
        with pytest.raises(quipu.LimitError):
            db.run(script)
        seen = 0
        for part in db.stream(script):
            seen += len(part)
            a, s, t = part[-1]
            assert (s, t) == (long([a])[0], long([a])[0] + "!")
        assert seen == ROWS


def test_long_texts_are_read_few_at_once(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "db", memory_limit="64MB", cache="8MB", durability="none") as db:
        db.run(":create pages {a: Int => s: String}")
        for a in range(0, 2000, 100):
            texts = [f"{one}" + "x" * 30_000 for one in range(a, a + 100)]
            db.relation("pages").put({"a": list(range(a, a + 100)), "s": texts})
        with pytest.raises(quipu.LimitError):
            db.run("?[a, s] := *pages{a, s}")
        rows = [row for part in db.stream("?[a, s] := *pages{a, s}") for row in part]
        assert sorted(a for a, _ in rows) == list(range(2000))
        assert all(s.startswith(str(a)) for a, s in rows)


def test_arrow_takes_the_parts_once(facts: quipu.Database) -> None:
    pa = pytest.importorskip("pyarrow")
    stream = facts.stream("?[a, s, half] := *facts{a, s}, half = a / 2")
    reader = pa.RecordBatchReader.from_stream(stream)
    assert reader.schema.names == ["a", "s", "half"]
    assert [str(one) for one in reader.schema.types] == ["int64", "string", "double"]
    assert sum(batch.num_rows for batch in reader) == ROWS
    with pytest.raises(quipu.InvalidInputError, match="handed out already"):
        pa.RecordBatchReader.from_stream(stream)
    assert list(stream) == []
    # There are no rows, but the columns still have types.
    stream = facts.stream("?[a, s] := *facts{a, s}, a < 0")
    assert pa.RecordBatchReader.from_stream(stream).read_all().schema.types == [
        pa.int64(),
        pa.string(),
    ]


def test_a_column_that_changes_its_type_is_told_and_a_conversion_helps(
    facts: quipu.Database,
) -> None:
    mixed = "?[a, x] := *facts{a}, x = if(a < 290000, a, 'late')"
    with pytest.raises(quipu.InvalidInputError, match="column `x` holds several types here, and was to hold Int"):
        list(facts.stream(mixed))
    assert len(facts.run(mixed)) == ROWS
    parts = list(facts.stream(mixed.replace("x = if", "x = to_string(if") + ")"))
    assert sum(len(part) for part in parts) == ROWS
    # A null says nothing about the type of other rows.
    nulls = "?[a, x] := *facts{a}, x = if(a < 290000, null, 'late')"
    assert sum(len(part) for part in facts.stream(nulls)) == ROWS


def test_mistakes_are_told_when_it_begins(facts: quipu.Database) -> None:
    with pytest.raises(quipu.InvalidInputError, match="did you mean `facts`") as caught:
        facts.stream("?[a] := *fact{a}")
    assert caught.value.line == 1
    with pytest.raises(quipu.InvalidInputError, match=r"\$b"):
        facts.stream("?[a] := *facts{a, b: $b}")
    with pytest.raises(quipu.InvalidInputError, match="String"):
        list(facts.stream("?[a, x] := *facts{a, s}, x = s + 1"))


def test_a_stream_sees_one_moment_while_rows_change(facts: quipu.Database) -> None:
    seen = 0
    for part in facts.stream("?[a, b] := *facts{a, b}"):
        if seen == 0:
            facts.run("?[a] := *facts{a}, a > 1000 :rm facts {a}")
        seen += len(part)
    assert seen == ROWS
    assert len(facts.run("?[a] := *facts{a}")) == 1001


def running(db: quipu.Database) -> int:
    return len(db.run("::running"))


def test_a_stream_that_is_left_ends_its_query(facts: quipu.Database) -> None:
    with facts.stream("?[a, b] := *facts{a, b}") as stream:
        next(stream)
        assert running(facts) == 2
    assert running(facts) == 1
    assert list(stream) == []
    del stream
    stream = facts.stream("?[a, b] := *facts{a, b}")
    del stream
    assert running(facts) == 1


def test_a_slow_reader_does_not_run_into_the_timeout() -> None:
    # Little memory makes small batches, and at most one is buffered: the query waits for the
    # consumer.
    with quipu.open(memory_limit="32MB", cache="8MB") as db:
        fill(db)
        began, timeout, seen = time.monotonic(), 1.0, 0
        for part in db.stream("?[a, b] := *facts{a, b}", timeout=timeout):
            time.sleep(0.02)
            seen += len(part)
        assert seen == ROWS
        assert time.monotonic() - began > timeout


def test_a_signal_ends_the_wait_for_a_part(facts: quipu.Database, alarm: Alarm) -> None:
    endless = "?[a, b, c] := *facts{a}, *facts{a: b}, *facts{a: c}, a + b + c < 0"
    alarm(0.3)
    with pytest.raises(KeyboardInterrupt):
        facts.stream(endless, timeout=60)
    assert running(facts) == 1


def test_a_handler_of_a_signal_may_close_the_stream(facts: quipu.Database, alarm: Alarm) -> None:
    stream = facts.stream(SLOW, timeout=60)
    alarm(0.3, stream.close)
    with pytest.raises(quipu.CancelledError):
        for _ in stream:
            pass
    assert running(facts) == 1
    assert list(stream) == []


def test_another_thread_closes_a_stream_that_waits(facts: quipu.Database) -> None:
    stream = facts.stream(SLOW, timeout=60)
    next(stream)
    timer = threading.Timer(0.3, stream.close)
    timer.start()
    with pytest.raises(quipu.CancelledError):
        for _ in stream:
            pass
    timer.join()
    assert running(facts) == 1
