"""Whole relations: exports and imports."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import quipu


@pytest.fixture
def city(db: quipu.Database) -> quipu.Database:
    db.run(":create city {name: String => people: Int, height: Float? default 0, more: Any?}")
    return db


ROWS = [["Cusco", 428450, 3399.0, None], ["Lima", 10092000, 0.0, [1, "x"]]]


def rows(db: quipu.Database) -> list[list[Any]]:
    return db.export_relations(["city"])["city"]["rows"]


def test_what_is_exported_is_imported(city: quipu.Database) -> None:
    headers = ["name", "people", "height", "more"]
    city.import_relations({"city": {"headers": headers, "rows": ROWS, "next": None}})
    out = city.export_relations(["city"])
    assert out == {"city": {"headers": headers, "rows": ROWS}}
    city.run("?[name, people, height, more] <- [['Tacna', 1, 1, 1]] :put city {name => people, height, more}")
    city.import_relations({"-city": {"headers": ["name"], "rows": [["Tacna"], ["nobody"]]}})
    city.import_relations(out)
    assert rows(city) == ROWS


FRAME = {"people": [428450, 10092000], "name": ["Cusco", "Lima"], "height": [3399.0, None]}


@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        {**FRAME, "people": np.array(FRAME["people"]), "height": np.array([3399.0, 0.0])},
        {**FRAME, "people": pa.array(FRAME["people"]), "name": pl.Series(FRAME["name"])},
        pd.DataFrame(FRAME),
        pl.DataFrame(FRAME),
        pa.table(FRAME),
        pa.table({**FRAME, "name": pa.array(FRAME["name"]).dictionary_encode()}).to_reader(max_chunksize=1),
        [dict(zip(FRAME, row, strict=True)) for row in zip(*FRAME.values(), strict=True)],
    ],
    ids=["columns", "numpy", "arrays", "pandas", "polars", "arrow", "batches", "dicts"],
)
def test_rows_come_in_many_shapes(city: quipu.Database, data: Any) -> None:
    city.run(":replace city {name: String => people: Int, height: Float?}")
    city.import_relations({"city": data})
    assert [row[:2] for row in rows(city)] == [["Cusco", 428450], ["Lima", 10092000]]
    assert rows(city)[0][2] == 3399.0
    assert not rows(city)[1][2]


def test_a_list_of_rows_is_in_the_order_of_the_columns(city: quipu.Database) -> None:
    city.import_relations({"city": [("Lima", 1, 2, "x"), ["Cusco", 2, None, None]]})
    city.import_relations({"-city": [("Lima",)]})
    assert rows(city) == [["Cusco", 2, None, None]]
    with pytest.raises(quipu.InvalidInputError, match="row 1 has 1 values for 2 columns"):
        city.import_relations({"city": [("a", 1), ("b",)]})


def test_a_result_is_imported_with_its_values(city: quipu.Database) -> None:
    result = city.run("?[name, people, more] <- [['a', 1, {'x': [1]}], ['b', 2.0, ['y']]]")
    city.import_relations({"city": result})
    assert rows(city) == [["a", 1, 0.0, {"x": [1]}], ["b", 2, 0.0, ["y"]]]


def test_arrow_types_find_their_columns(db: quipu.Database) -> None:
    db.run(":create r {k: Int => l: [Int], j: Json?, b: Bytes, t: String, d: String, v: <F32; 2>, n: Any?}")
    utc = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    table = pa.table(
        {
            "k": pa.array([1, 2], pa.uint8()),
            "l": [[1, 2], []],
            "j": [{"a": 1, "b": ["x"]}, None],
            "b": pa.array([b"x", b""], pa.binary_view()),
            "t": pa.array([utc, utc]),
            "d": [dt.date(2026, 1, 2), dt.date(1, 1, 1)],
            "v": pa.array([[1.0, 0.5], [0.0, 2.0]], pa.list_(pa.float32(), 2)),
            "n": pa.nulls(2),
        }
    )
    db.import_relations({"r": table})
    first, second = db.export_relations(["r"])["r"]["rows"]
    assert first == [1, [1, 2], {"a": 1, "b": ["x"]}, b"x", "2026-01-02T03:04:05Z", "2026-01-02", [1.0, 0.5], None]
    assert second == [2, [], None, b"", "2026-01-02T03:04:05Z", "0001-01-01", [0.0, 2.0], None]
    assert db.run("?[x] := *r{t}, x = parse_timestamp(t)").rows() == [(utc.timestamp(),)]


def test_all_or_nothing_with_the_place_of_what_is_wrong(city: quipu.Database) -> None:
    city.run(":create other {k: Int}")
    wrong = {"other": {"headers": ["k"], "rows": [[1], [2.5]]}, "city": [("Lima", 1, 2, 3)]}
    with pytest.raises(quipu.InvalidInputError, match="relation `other`, row 1, column `k`: expected Int") as error:
        city.import_relations(wrong)
    assert error.value.line is None
    assert rows(city) == []
    with pytest.raises(quipu.InvalidInputError, match="no relation `cit`\nhint: did you mean `city`"):
        city.import_relations({"cit": [(1,)]})
    with pytest.raises(quipu.InvalidInputError, match="no relation `no`"):
        city.export_relations(["city", "no"])
    with pytest.raises(quipu.InvalidInputError, match="have no column `people`\nhint: they have `name`"):
        city.import_relations({"city": {"name": ["x"]}})


@pytest.mark.parametrize(
    ("data", "kind", "why"),
    [
        ({"name": "Lima"}, TypeError, "not one text"),
        ({"name": [object()]}, TypeError, "a value of column `name` cannot be a object"),
        ({1: ["x"]}, TypeError, "names of columns are texts"),
        ("rows", TypeError, "rows cannot be a str"),
        (7, TypeError, "rows cannot be a int"),
        (["Lima"], TypeError, "row 0 is a str"),
        ({"headers": ["name", "people"], "rows": [["x"]]}, ValueError, "row 0 has 1 values for 2 headers"),
        ({"name": ["a"], "people": [1, 2]}, ValueError, "column `people` has 2 rows, the first has 1"),
        ({"headers": ["name", "name"], "rows": [["x", "y"]]}, ValueError, "two columns are named `name`"),
        ([{"name": "x"}, {"nam": "y"}], ValueError, "row 1 has no `name`"),
        (pa.table({"name": [dt.datetime(2026, 1, 1)]}), ValueError, "without a time zone"),
        (pa.table({"name": [dt.timedelta(1)]}), ValueError, "cast it to numbers or text"),
    ],
)
def test_what_is_no_rows_is_refused(city: quipu.Database, data: Any, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        city.import_relations({"city": data})
    assert rows(city) == []


def test_an_import_in_a_transaction_ends_with_it(city: quipu.Database) -> None:
    with city.transaction() as tx:
        tx.import_relations({"city": ROWS})
        assert len(tx.export_relations(["city"])["city"]["rows"]) == 2
        assert rows(city) == []
        tx.rollback()
    assert rows(city) == []
    with city.transaction() as tx:
        tx.import_relations({"city": ROWS})
    assert rows(city) == ROWS


def test_without_pyarrow_a_pandas_frame_goes_column_by_column(city: quipu.Database, monkeypatch: Any) -> None:
    height, more = [0.5, float("nan")], [None, "x"]
    frame = pd.DataFrame({"name": ["a", "b"], "people": pd.array([1, 2]), "height": height, "more": more})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    city.import_relations({"city": frame})
    assert rows(city) == [["a", 1, 0.5, None], ["b", 2, None, "x"]]
