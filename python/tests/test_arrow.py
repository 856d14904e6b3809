"""Columns that implement only Arrow's PyCapsule interface."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import quipu

THREE = [0, 1, 2]


def kind(column: Any) -> str:
    """Class and type of a column."""
    return f"{type(column).__name__} {getattr(column, 'type', getattr(column, 'dtype', ''))}"


class ArrayOnly:
    """A column with only `__arrow_c_array__`."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self.column.__arrow_c_array__(requested_schema)


class StreamOnly:
    """Chunks of a column, or a table, with only `__arrow_c_stream__`."""

    def __init__(self, chunks: Any) -> None:
        self.chunks = chunks

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.chunks.__arrow_c_stream__(requested_schema)


def keys_of(key: Any) -> Callable[[Any], object]:
    """Store a column as keys of blobs, and read it back."""

    def keys(column: Any) -> object:
        with quipu.open() as db:
            b = db.blobs("b", key=key)
            b.put_many(column, [b""] * 3)
            return list(b)

    return keys


def numbers_of(number: Any) -> Callable[[Any], object]:
    """Store a column as numbers of counters, and read it back."""

    def numbers(column: Any) -> object:
        with quipu.open() as db:
            c = db.counters("c", number=number)
            c.add_many(THREE, column)
            return [c.get(key) for key in THREE]

    return numbers


def weights(column: Any) -> object:
    """Store a column as weights of edges, and read it back."""
    with quipu.open() as db:
        g = db.graph("g", weight="float64")
        g.upsert_many(THREE, THREE, column)
        return [g.edge(v, v) for v in THREE]


def outcome(of: Callable[[Any], object], column: Any) -> object:
    """The result, or the class of the error."""
    try:
        return of(column)
    except (TypeError, quipu.InvalidInputError):
        return "refused"


USES = [keys_of("u64"), keys_of("i64"), keys_of("str"), numbers_of("int64"), numbers_of("float64"), weights]


@pytest.mark.parametrize("use", USES, ids=["u64", "i64", "str", "int64", "float64", "weight"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 3], pa.uint64()),
        pa.array([1, 2, 2**64 - 1], pa.uint64()),
        pa.array([-1, 2, 3], pa.int64()),
        pa.array([-(2**63), 2**53 + 1, 2**63 - 3], pa.int64()),
        pa.array([-1, 0, 1], pa.int8()),
        pa.array([1, 2, 3], pa.uint32()),
        pa.array([0.5, -2.5, 1e300]),
        pa.array([1.0, 2.0, 3.0]),
        pa.array([1.0, 2.5, float("nan")], pa.float32()),
        pa.array(np.array([1, 0.5, 2], np.float16)),
        pa.array([True, False, True]),
        pa.array([1, None, 3]),
        pa.array([0.5, None, 3.0]),
        pa.array(["b", "a", "c"]),
        pa.array(["b", "a", "7"], pa.large_string()),
        pa.array(["1", "2", "3"], pa.string_view()),
        pa.array(["b", None, "c"]),
        pa.array(["b", "a", "c"]).dictionary_encode(),
        pa.array([7, -8, 9]).dictionary_encode(),
        pa.array([b"b", b"a", b"c"]),
        pa.array([datetime(2024, 1, day) for day in (1, 2, 3)]),
        pa.array([[1], [2], [3]]),
        pa.nulls(3),
        pa.array([9, 1, 2, 3, 9])[1:4],
    ],
    ids=kind,
)
def test_a_column_that_only_speaks_arrow_is_what_it_is(use: Callable[[Any], object], column: Any) -> None:
    # pyarrow's own arrays are read through NumPy.
    assert repr(outcome(use, ArrayOnly(column))) == repr(outcome(use, column))


def test_what_is_wrong_with_a_column_is_told_with_its_place(db: quipu.Database) -> None:
    b, c = db.blobs("b"), db.counters("c")
    three: Iterable[bytes] = [b"", b"", b""]
    for column in [np.array([1, 2, -3]), ArrayOnly(pa.array([1, 2, -3]))]:
        with pytest.raises(quipu.InvalidInputError, match=r"from 0 to 2\*\*64 - 1, not -3 at position 2"):
            b.put_many(column, three)
    for column in [np.array([1, 2**63, 2**64 - 1], np.uint64), ArrayOnly(pa.array([1, 2**63, 2**64 - 1], pa.uint64()))]:
        with pytest.raises(quipu.InvalidInputError, match=r"2\*\*63 - 1, not 9223372036854775808 at position 1"):
            c.add_many([1, 2, 3], column)
    for column in [pa.array([1, None, 3]), pa.array([0.5, None, None]), pa.array(["a", None, "c"])]:
        with pytest.raises(quipu.InvalidInputError, match="nulls, the first at position 1"):
            b.put_many(ArrayOnly(column), three)
    with pytest.raises(quipu.InvalidInputError, match="nulls, the first at position 2"):
        c.add_many([1, 2, 3], ArrayOnly(pa.array([1, 2, 3, None])[1:]))
    assert (len(b), len(c)) == (0, 0)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2]),
        pa.array([0.5, 2.0]),
        pa.array([True, False]),
        pa.array([datetime(2024, 1, 1), datetime(2024, 1, 2)]),
        pa.array([[b"a"], [b"b"]]),
        pa.array([1, 2]).dictionary_encode(),
        pa.chunked_array([[1], [2]]),
        pl.Series([1, 2]),
        pd.Series([0.5, 1.5]),
    ],
    ids=kind,
)
def test_what_is_neither_bytes_nor_text_is_no_column_of_values(db: quipu.Database, values: Any) -> None:
    b = db.blobs("b")
    with pytest.raises(TypeError, match="a value is bytes, not"):
        b.put_many([1, 2], [1, 2])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="values are bytes or texts, not"):
        b.put_many([1, 2], values)
    assert len(b) == 0


TWO = [b"a", b"bcd"]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(TWO),
        pa.array(TWO, pa.large_binary()),
        pa.array(TWO, pa.binary_view()),
        pa.array([b"_", *TWO])[1:],
        pa.array(["a", "bcd"]),
        pa.array(["a", "bcd"], pa.large_string()),
        pa.array(["a", "bcd"], pa.string_view()),
        pa.array(TWO).dictionary_encode(),
        pa.array(["a", "bcd"]).dictionary_encode(),
        pa.chunked_array([[b"a"], [], [b"bcd"]]),
        pa.table({"any": TWO}),
        pa.record_batch({"any": TWO}),
        ArrayOnly(pa.array(TWO)),
        StreamOnly(pa.chunked_array([[b"a"], [b"bcd"]])),
        StreamOnly(pa.Table.from_batches([pa.record_batch({"any": [one]}) for one in TWO])),
        pl.Series(TWO),
        pl.Series(["a", "bcd"]),
        pl.Series([b"a"]).append(pl.Series([b"bcd"])),
        pl.DataFrame({"any": TWO}),
        pd.Series(TWO),
        pd.Series(["a", "bcd"]),
    ],
    ids=kind,
)
def test_values_are_taken_of_all_that_speaks_arrow(db: quipu.Database, values: Any) -> None:
    b = db.blobs("b")
    b.put_many([1, 2], values)
    assert b.get_many([1, 2]) == TWO
    assert b.load([([3, 4], values)]) == 2


def test_values_that_were_read_are_written_elsewhere(db: quipu.Database) -> None:
    b, other = db.blobs("b"), db.blobs("other")
    b.put_many([1, 2], TWO)
    other.put_many([1, 2], b.get_many_arrow([1, 2]))
    assert other.get_many([1, 2]) == TWO
    with pytest.raises(quipu.InvalidInputError, match="nulls, the first at position 1"):
        other.put_many([1, 2], b.get_many_arrow([1, 7]))
    with pytest.raises(quipu.InvalidInputError, match="one column, not a table of 2"):
        other.put_many([1, 2], b.scan())
    assert other.get_many([1, 2]) == TWO


def test_keys_and_numbers_are_taken_of_streams(db: quipu.Database) -> None:
    b, c = db.blobs("b"), db.counters("c", key="str")
    b.put_many(StreamOnly(pa.chunked_array([[3], [], [1, 2]])), [b"3", b"1", b"2"])
    assert b.get_many([1, 2, 3]) == [b"1", b"2", b"3"]
    c.add_many(StreamOnly(pa.chunked_array([["a"], ["b"]])), StreamOnly(pa.chunked_array([[7], [-8]])))
    assert c.scan().rows() == [("a", 7), ("b", -8)]
    with pytest.raises(quipu.InvalidInputError, match="-2 at position 2"):
        b.put_many(StreamOnly(pa.chunked_array([[3], [], [1, -2]])), [b"3", b"1", b"2"])
    with pytest.raises(quipu.InvalidInputError, match="nulls, the first at position 1"):
        b.put_many(StreamOnly(pa.chunked_array([[3], [None, 2]])), [b"3", b"1", b"2"])


def test_a_column_of_pandas_is_taken_also_without_pyarrow(db: quipu.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    values = pd.Series(TWO)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    db.blobs("b").put_many([1, 2], values)
    assert db.blobs("b").get_many([1, 2]) == TWO
