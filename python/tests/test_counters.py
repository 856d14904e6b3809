"""Counters: numbers by key that are incremented without a read."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import quipu


@pytest.fixture(params=["sync", "os", "none"])
def c(request: pytest.FixtureRequest, folder: Path) -> quipu.Counters:
    """Empty counters."""
    return quipu.open(folder, durability=request.param).counters("bigrams")


def test_counters_count(c: quipu.Counters) -> None:
    c.add(7)
    c.add(7, 3)
    c.add_many([7, 8, 7])
    c.add_many([8], [10])
    assert (c[7], c[8], c[9]) == (6, 11, 0)
    assert (c.get(9), c.get(9, -1), c.get(8)) == (None, -1, 11)
    assert (7 in c, 9 in c) == (True, False)
    assert c.get_many([9, 8, 7]).tolist() == [0, 11, 6]
    assert len(c) == 2
    c[7] = 100
    c.add(7, -1)
    assert c[7] == 99
    del c[8]
    with pytest.raises(KeyError):
        del c[8]
    assert c.remove(8) is False
    c.reset()
    assert (len(c), c[7]) == (0, 0)


def test_the_greatest_and_the_rows_in_order(c: quipu.Counters) -> None:
    c.add_many(np.array([5, 1, 3, 4, 2], np.uint64), np.array([2, 9, 2, 2, -1]))
    assert c.top(3).rows() == [(1, 9), (3, 2), (4, 2)]
    assert c.scan(3).rows() == [(3, 2), (4, 2), (5, 2)]
    assert c.scan(3, 2, backward=True).rows() == [(3, 2), (2, -1)]
    assert [row for table in c.range(2, 4) for row in table] == [(2, -1), (3, 2)]
    assert c.top(1).columns == ["key", "count"]


def test_they_agree_with_a_counter_of_the_standard_library(c: quipu.Counters) -> None:
    keys = np.random.default_rng(1).zipf(1.3, 20_000) % 1000
    model = Counter(keys.tolist())
    for part in np.array_split(keys, 7):
        c.add_many(part)
    assert len(c) == len(model)
    assert c.get_many(np.arange(1000)).tolist() == [model[i] for i in range(1000)]
    assert [count for _, count in c.top(5)] == [count for _, count in model.most_common(5)]


def test_what_was_counted_is_there_after_reopening(folder: Path) -> None:
    for durability in ("sync", "os", "none"):
        with quipu.open(folder, durability=durability) as db:
            db.counters("hits").add(1)
    with quipu.open(folder) as db:
        assert db.counters("hits")[1] == 3


def test_threads_lose_nothing(db: quipu.Database) -> None:
    c = db.counters("hits")
    keys = np.arange(500) % 50

    def count(_: int) -> None:
        for _ in range(10):
            c.add_many(keys)
            c.add(1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(8)))
    assert c[1000] == 80
    assert c.get_many(np.arange(50)).tolist() == [800] * 50


def test_text_keys(db: quipu.Database) -> None:
    c = db.counters("words", key="str")
    c.add_many(["to", "be", "or", "not", "to", "be"])
    c.add("be", 5)
    assert c.top(2).rows() == [("be", 7), ("to", 2)]
    assert c.get_many(["or", "absent"]).tolist() == [1, 0]


def test_floats_least_and_greatest(db: quipu.Database) -> None:
    sums = db.counters("sums", number="float64")
    sums.add(1, 0.5)
    sums.add(1)
    assert sums[1] == 1.5
    least, greatest = db.counters("least", combine="min"), db.counters("greatest", combine="max")
    for number in (3, -2, 8):
        least.add(1, number)
        greatest.add(1, number)
    assert (least[1], greatest[1]) == (-2, 8)
    assert (least.combine, sums.number_type, least.key) == ("min", "float64", "u64")


def test_a_sum_past_the_range_is_an_error(db: quipu.Database) -> None:
    c = db.counters("hits")
    c.add(1, 2**63 - 2)
    c.add(1, 2**62)
    with pytest.raises(quipu.LimitError, match="past the range"):
        c[1]
    c.add(2, 7)
    assert 1 in c
    assert c.get_many([1, 2]).tolist() == [2**63 - 1, 7]
    assert c.top(2).rows() == c.scan().rows() == [(1, 2**63 - 1), (2, 7)]
    assert list(c) == [1, 2]
    with pytest.raises(quipu.LimitError, match="past the range"):
        db.run("?[n] := *hits{key: 1, count: n}")
    assert len(db.run("?[k] := *hits{key: k}")) == 2
    c.add(1, -(2**62))
    assert c[1] == 2**63 - 2
    c[1] = 0
    assert c[1] == 0
    with pytest.raises(quipu.InvalidInputError):
        c.add(1, 2**63 - 1)
    with pytest.raises(quipu.InvalidInputError):
        c.add(1, 2**70)


def test_what_does_not_fit_is_refused(db: quipu.Database) -> None:
    c = db.counters("hits")
    with pytest.raises(TypeError):
        c.add(1, 0.5)
    with pytest.raises(TypeError, match="numbers must be integers, not floats"):
        c.add_many([1], [0.5])
    with pytest.raises(quipu.InvalidInputError, match="2 keys, but 1 numbers"):
        c.add_many([1, 2], [1])
    with pytest.raises(quipu.InvalidInputError, match="asked for"):
        db.counters("hits", number="float64")
    with pytest.raises(TypeError):
        c.add("text")


@pytest.mark.parametrize(
    "numbers",
    [
        np.array([2**63 + 5], dtype="uint64"),
        [2**63 + 5],
        [2**64],
        [-(2**63) - 1],
        np.array([0.5]),
        np.array(["7"]),
        np.array(["2024-01-01"], dtype="datetime64[us]"),
        np.array([1j]),
        np.array([0.5], dtype=object),
        np.array([None], dtype=object),
        np.array([[1]]),
        pa.array([1, None]),
        pl.Series([1, None]),
    ],
)
def test_no_column_becomes_integers_that_are_other_ones(db: quipu.Database, numbers: Any) -> None:
    c = db.counters("hits")
    with pytest.raises((TypeError, quipu.InvalidInputError)):
        c.add_many([1, 2] if len(numbers) == 2 else [1], numbers)
    assert len(c) == 0


@pytest.mark.parametrize(
    "numbers",
    [
        np.array(["7"]),
        np.array(["2024-01-01"], dtype="datetime64[us]"),
        np.array([1j]),
        np.array([None], dtype=object),
        np.array([[1.0]]),
        pa.array([1.5, None]),
        pl.Series([1.5, None]),
    ],
)
def test_no_column_becomes_floats_that_holds_none(db: quipu.Database, numbers: Any) -> None:
    c = db.counters("sums", number="float64")
    with pytest.raises((TypeError, quipu.InvalidInputError)):
        c.add_many([1, 2] if len(numbers) == 2 else [1], numbers)
    assert len(c) == 0


def test_columns_of_numbers_come_as_they_are(db: quipu.Database) -> None:
    ints, floats = db.counters("ints"), db.counters("floats", number="float64")
    for numbers in [[1, 2], (1, 2), np.array([1, 2], dtype="int8"), pa.array([1, 2]), pl.Series([1, 2])]:
        ints.add_many([1, 2], numbers)
        floats.add_many([1, 2], numbers)
    floats.add_many([1, 2], [0.5, 2**70])
    for numbers in [np.array([True, False]), np.array([1, 0], dtype="uint8")]:
        ints.add_many([1, 2], numbers)
        floats.add_many([1, 2], numbers)
    assert list(ints.get_many([1, 2])) == [7, 10]
    assert list(floats.get_many([1, 2])) == [7.5, 10.0 + 2**70]


@pytest.mark.parametrize("key", ["u64", "i64", "str"])
def test_a_loop_is_over_the_keys(db: quipu.Database, key: Literal["u64", "i64", "str"]) -> None:
    c = db.counters("hits", key=key)
    assert list(c) == []
    keys: list[Any] = sorted(map(str, range(10_000))) if key == "str" else list(range(10_000))
    c.add_many(keys)
    assert list(c) == keys
    assert dict.fromkeys(c, 1) == dict.fromkeys(keys, 1)
    first = next(iter(c))
    c.remove(first)
    assert next(iter(c)) == keys[1]


def test_adding_in_two_transactions_is_no_conflict(db: quipu.Database) -> None:
    c = db.counters("hits")
    c.add(1)
    first, second = db.transaction(), db.transaction()
    first.counters("hits").add(1, 10)
    second.counters("hits").add(1, 100)
    assert first.counters("hits")[1] == 11
    first.commit()
    second.commit()
    assert c[1] == 111


def test_a_reader_process_sees_what_was_flushed(folder: Path) -> None:
    with quipu.open(folder, durability="none") as db:
        c = db.counters("hits")
        c.add(1, 5)
        c.flush()
        db.flush()
        with quipu.open(folder, read_only=True) as follower:
            assert follower.counters("hits")[1] == 5
            with pytest.raises(quipu.InvalidInputError):
                follower.counters("hits").add(1)


def test_nothing_is_counted_after_the_end(folder: Path) -> None:
    db = quipu.open(folder, durability="none")
    c = db.counters("hits")
    c.add(1)
    db.close()
    with pytest.raises(quipu.InvalidInputError):
        c.add(1)
