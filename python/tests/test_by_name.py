"""Columns of results and tables by name: lists, dicts and NumPy arrays."""

from __future__ import annotations

import numpy as np
import pytest
import quipu


def test_a_column_by_its_name_is_a_list_of_its_values(db: quipu.Database) -> None:
    result = db.run("?[n, name, any] <- [[1, 'a', null], [2, 'bb', [1, 2]], [3, 'a', 1.5]]")
    assert result["n"] == [1, 2, 3]
    assert result["name"] == ["a", "bb", "a"]
    assert result["any"] == [None, [1, 2], 1.5]
    for i, name in enumerate(result.columns):
        assert result[name] == [row[i] for row in result]


def test_a_column_that_is_not_there_is_a_key_error_with_the_names(db: quipu.Database) -> None:
    g = db.graph("g")
    g.upsert(1, 2)
    with pytest.raises(KeyError, match="there are: a, b"):
        db.run("?[a, b] <- [[1, 2]]")["c"]
    with pytest.raises(KeyError, match="there are: src, dst"):
        g.to_table()["weight"]


def test_a_name_of_two_columns_is_refused_rather_than_guessed(db: quipu.Database) -> None:
    result = db.run("?[a, b, a] <- [[1, 2, 3]]")
    assert result["b"] == [2]
    for refused in [lambda: result["a"], result.to_dicts, result.to_numpy]:
        with pytest.raises(quipu.InvalidInputError, match='several columns have the name "a"'):
            refused()
    assert result.rows() == [(1, 2, 3)]


def test_dicts_are_the_rows_by_name(db: quipu.Database) -> None:
    result = db.run("?[n, name] <- [[1, 'a'], [2, null]]")
    assert result.to_dicts() == [{"n": 1, "name": "a"}, {"n": 2, "name": None}]
    assert db.run("?[n] := n in []").to_dicts() == []
    g = db.graph("g", vertex="str", weight="int64")
    g.upsert("a", "b", 5)
    assert g.to_table().to_dicts() == [{"src": "a", "dst": "b", "weight": 5}]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ("1, -2", "int64"),
        ("1, 9223372036854775808", "uint64"),
        ("1.5, 2", "float64"),
        ("true, false", "bool"),
        ("vec([1, 2]), vec([3, 4])", "float32"),
        ("1, null", "object"),
        ("1.5, null", "object"),
        ("'a', 'b'", "object"),
        ("[1, 2], [3, 4]", "object"),
        ("1, 'a'", "object"),
        ("null", "object"),
    ],
)
def test_arrays_have_the_type_of_their_values(db: quipu.Database, values: str, dtype: str) -> None:
    result = db.run(f"?[v] := v in [{values}]")
    array = result.to_numpy()["v"]
    assert array.dtype == dtype
    assert array.tolist() == result["v"]


def test_arrays_of_no_rows_have_no_items(db: quipu.Database) -> None:
    arrays = db.run("?[a, b] := a in [], b = 1").to_numpy()
    assert {name: len(array) for name, array in arrays.items()} == {"a": 0, "b": 0}


def test_a_table_gives_its_columns_by_name(db: quipu.Database) -> None:
    n = 70_000  # more than one batch
    us, vs = np.arange(n, dtype="uint64"), np.arange(n, dtype="uint64")[::-1].copy()
    g = db.graph("g", weight="float64")
    g.import_arrays(us, vs, us / 2)
    table = g.to_table()
    arrays = table.to_numpy()
    assert [array.dtype for array in arrays.values()] == ["uint64", "uint64", "float64"]
    assert np.array_equal(arrays["src"], us)
    assert np.array_equal(arrays["dst"], vs)
    assert np.array_equal(arrays["weight"], us / 2)
    for name, array in arrays.items():
        assert table[name] == array.tolist()


def test_a_table_of_text_has_arrays_of_objects(db: quipu.Database) -> None:
    g = db.graph("g", vertex="str")
    g.upsert("a", "b")
    array = g.to_table().to_numpy()["src"]
    assert array.dtype == object
    assert array.tolist() == ["a"]
    assert [len(array) for array in db.graph("e").to_table().to_numpy().values()] == [0, 0]
