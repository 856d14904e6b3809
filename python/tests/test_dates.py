"""Dates, timestamps and durations between Python, its libraries and relations."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import quipu

DAY = dt.date(2026, 1, 31)
AT = dt.datetime(2026, 1, 31, 12, 30, 0, 500_000, tzinfo=dt.UTC)
TOOK = dt.timedelta(hours=-1, microseconds=1)


@pytest.fixture
def log() -> Iterator[quipu.Database]:
    with quipu.open() as db:
        db.run(":create log {n: Int => day: Date?, at: Timestamp?, took: Duration?}")
        yield db


def rows(db: quipu.Database) -> list[tuple[Any, ...]]:
    return db.run("?[n, day, at, took] := *log[n, day, at, took]").rows()


@pytest.mark.parametrize("value", [DAY, AT, TOOK, dt.date(1, 1, 1), dt.datetime(9999, 12, 31, tzinfo=dt.UTC)])
def test_a_parameter_keeps_its_type(log: quipu.Database, value: object) -> None:
    found = log.run("?[a, b] := a = $a, b = [$a]", {"a": value})[0]
    assert found == (value, [value])
    assert type(found[0]) is type(value)


def test_a_time_with_an_offset_becomes_utc_and_one_without_is_utc(log: quipu.Database) -> None:
    east = dt.timezone(dt.timedelta(hours=2))
    naive = dt.datetime(2026, 1, 31, 12)
    found = log.run("?[a, b] := a = $a, b = $b", {"a": naive.replace(tzinfo=east), "b": naive})[0]
    assert found == (naive.replace(hour=10, tzinfo=dt.UTC), naive.replace(tzinfo=dt.UTC))


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (np.datetime64("2026-01-31"), DAY),
        (np.datetime64("2026-01-31T12:30:00.500"), AT),
        (np.timedelta64(-3, "s"), dt.timedelta(seconds=-3)),
        (np.datetime64("NaT", "us"), None),
        (pd.Timestamp("2026-01-31T12:30:00.5Z"), AT),
        (pd.Timedelta(TOOK), TOOK),
        (pd.NaT, None),
    ],
)
def test_scalars_of_libraries_are_values(log: quipu.Database, value: object, want: object) -> None:
    assert log.run("?[a] := a = $a", {"a": value}).rows() == [(want,)]


def frames() -> list[Any]:
    at = AT.replace(tzinfo=None)
    columns = {"n": [1, 2], "day": [DAY, None], "at": [AT, None], "took": [TOOK, None]}
    numpy = {
        "n": np.array([1, 2]),
        "day": np.array([DAY, None], dtype="datetime64[D]"),
        "at": np.array([at, None], dtype="datetime64[ns]"),
        "took": np.array([TOOK, None], dtype="timedelta64[us]"),
    }
    return [
        columns,
        [(1, DAY, AT, TOOK), (2, None, None, None)],
        pa.table(columns),
        pa.table({**columns, "at": pa.array([at, None], pa.timestamp("ms"))}),
        pl.DataFrame(columns),
        pd.DataFrame({**columns, "at": pd.Series([at, None], dtype="datetime64[ns]")}),
        numpy,
    ]


@pytest.mark.parametrize("frame", frames(), ids=["columns", "rows", "arrow", "naive", "polars", "pandas", "numpy"])
def test_frames_are_stored_with_their_types(log: quipu.Database, frame: Any) -> None:
    log.import_relations({"log": frame})
    assert rows(log) == [(1, DAY, AT, TOOK), (2, None, None, None)]


def test_a_frame_finds_its_columns(log: quipu.Database) -> None:
    frame = pl.DataFrame({"n": [1], "day": [DAY], "at": [AT], "took": [TOOK]})
    relation = log.relation("made", create=frame, keys=["n"])
    relation.put(frame)
    found = {row[0]: row[3] for row in log.run("::columns made").rows()}
    assert found == {"n": "Int", "day": "Date?", "at": "Timestamp?", "took": "Duration?"}
    assert pl.DataFrame(relation).rows() == frame.rows()


def test_results_have_the_types_of_libraries(log: quipu.Database) -> None:
    log.import_relations({"log": [(1, DAY, AT, TOOK)]})
    result = log.run("?[day, at, took] := *log{day, at, took}")
    assert result.to_arrow().schema.types == [pa.date32(), pa.timestamp("us", "UTC"), pa.duration("us")]
    assert result.to_polars().dtypes == [pl.Date, pl.Datetime("us", "UTC"), pl.Duration("us")]
    assert result.to_polars().rows() == [(DAY, AT, TOOK)]
    assert result.to_pandas()["at"][0] == AT
    arrays = result.to_numpy()
    assert [array.dtype for array in arrays.values()] == ["datetime64[D]", "datetime64[us]", "timedelta64[us]"]
    assert [array[0].item() for array in arrays.values()] == [DAY, AT.replace(tzinfo=None), TOOK]


def test_lists_have_the_types_of_libraries(log: quipu.Database) -> None:
    kinds = {"day": "Date", "at": "Timestamp", "took": "Duration"}
    types = {"day": pa.date32(), "at": pa.timestamp("us", "UTC"), "took": pa.duration("us")}
    spec = ", ".join(f"{name}: [{of}?], more_{name}: [[{of}]]" for name, of in kinds.items())
    relation = log.relation("lists", create=f"{{n: Int => {spec}}}")
    values: dict[str, object] = {"day": DAY, "at": AT, "took": TOOK}
    columns: dict[str, list[Any]] = {name: [[value, None], []] for name, value in values.items()}
    columns |= {f"more_{name}": [[[value], []], [[]]] for name, value in values.items()}
    relation.put({"n": [1, 2], **columns})
    table = pa.table(relation)
    result = log.run("?[n, day, at, took, more_day] := *lists{n, day, at, took, more_day} :order n")
    frame = result.to_polars()
    for name, of in types.items():
        assert table.schema.field(name).type == result.to_arrow().schema.field(name).type == pa.list_(of)
        assert table.schema.field(f"more_{name}").type == pa.list_(pa.list_(of))
        assert table.column(name).to_pylist() == frame[name].to_list() == columns[name]
        assert table.column(f"more_{name}").to_pylist() == columns[f"more_{name}"]
    assert frame["more_day"].to_list() == columns["more_day"]
    before = relation.rows()
    for rows in (table, pl.DataFrame(relation)):
        relation.rm({"n": [1, 2]})
        relation.put(rows)
        assert relation.rows() == before
    assert log.run("?[n] := *lists{n}, n > 9").to_arrow().num_rows == 0
    assert log.run("?[day] := *lists{n, day}, n > 9").to_arrow().schema.types == [pa.list_(pa.date32())]


def test_what_does_not_fit_is_refused(log: quipu.Database) -> None:
    with pytest.raises(quipu.InvalidInputError, match="longer than a Duration"):
        log.run("?[a] := a = $a", {"a": dt.timedelta.max})
    for wrong in (np.datetime64(2**62, "s"), np.timedelta64(2**62, "ms")):
        with pytest.raises(quipu.InvalidInputError, match="does not fit 64 bits of microseconds"):
            log.run("?[a] := a = $a", {"a": wrong})
    # Python has no year 10000.
    with pytest.raises((OverflowError, ValueError)):
        log.run("?[a] := a = to_date('9999-12-31') + 1").rows()
