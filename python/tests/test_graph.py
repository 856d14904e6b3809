"""Every call on graphs of every type, outside and inside transactions, in memory and in tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import quipu

from model import Edges, check

LAST = 2**64 - 1


def build(g: quipu.Graph, edges: Edges, *, weighted: bool = True) -> None:
    """Write the edges in one call."""
    us, vs = [u for u, _ in edges], [v for _, v in edges]
    g.upsert_many(us, vs, list(edges.values()) if weighted else None)


NUMBERS: Edges = {
    (1, 2): 0.5,
    (2, 1): 1.5,
    (2, 3): 2.0,
    (3, 3): -4.25,
    (0, LAST): 1e300,
    (LAST, 0): 3.0,
    (LAST, LAST): 4.0,
    (7, 1): 0.0,
}


@pytest.mark.parametrize("place", ["memtable", "tables", "both", "transaction"])
def test_a_graph_answers_as_its_edges_say(db: quipu.Database, place: str) -> None:
    g = db.graph("g", weight="float64")
    model = dict(NUMBERS)
    build(g, model)
    if place == "tables":
        db.flush()
    elif place == "both":
        db.flush()
        g.upsert(1, 2, 9.0)
        g.upsert(50, 1, 8.0)
        g.remove(2, 3)
        model |= {(1, 2): 9.0, (50, 1): 8.0}
        del model[2, 3]
    elif place == "transaction":
        db.flush()
        with db.transaction() as tx:
            inside = tx.graph("g")
            inside.upsert(1, 2, 9.0)
            inside.upsert(50, 1, 8.0)
            assert inside.remove(2, 3)
            check(g, model, [50])
            model |= {(1, 2): 9.0, (50, 1): 8.0}
            del model[2, 3]
            check(inside, model, [4])
    check(g, model, [4, 99])
    db.compact()
    check(g, model, [4, 99])


def test_integer_weights_stay_integers(db: quipu.Database) -> None:
    g = db.graph("g", weight="int64")
    model: Edges = {(1, 2): 2**52, (2, 1): -(2**52), (1, 1): 5}
    build(g, model)
    check(g, model, [3])
    assert isinstance(g.edge(1, 1), int)
    assert g.out_edges(1)[2].dtype == np.int64
    g.upsert(8, 9)
    assert g.edge(8, 9) == 1


def test_a_graph_without_weights_counts_edges_as_one(db: quipu.Database) -> None:
    g = db.graph("g")
    model: Edges = {(1, 2): 1.0, (2, 2): 1.0, (3, 2): 1.0}
    build(g, model, weighted=False)
    check(g, model, [4])
    assert g.weight is None
    assert g.degree(2) == (3, 3.0)
    with pytest.raises(quipu.InvalidInputError, match="no weights"):
        g.upsert(1, 2, 2.0)


def test_signed_vertices_sort_by_value(db: quipu.Database) -> None:
    g = db.graph("g", vertex="i64", weight="float64")
    low, high = -(2**63), 2**63 - 1
    model: Edges = {(low, high): 1.0, (-1, 0): 2.0, (0, -1): 3.0, (0, 5): 4.0, (-1, -1): 5.0}
    build(g, model)
    check(g, model, [17])
    assert g.vertices().tolist() == [low, -1, 0, 5, high]
    assert g.successors(0).dtype == np.int64


def test_text_vertices_are_any_text(db: quipu.Database) -> None:
    g = db.graph("g", vertex="str", weight="float64")
    model: Edges = {("Cusco", "Quito"): 1.0, ("Quito", "Quito"): 2.0, ("", "ñandú 🦙"): 3.0, ("Quito", "Cusco"): 4.0}
    build(g, model)
    check(g, model, ["Lima"])
    g.upsert("Lima", "Cusco", 5.0)
    model["Lima", "Cusco"] = 5.0
    db.flush()
    check(g, model, ["nobody"])
    with db.transaction() as tx:
        tx.graph("g").upsert("Lima", "new in a transaction")
        assert g.has_vertex("new in a transaction") is False
    assert g.edge("Lima", "new in a transaction") == 1.0


@pytest.mark.parametrize("vertex", ["u64", "i64", "str"])
def test_an_empty_graph_answers_with_nothing(db: quipu.Database, vertex: Literal["u64", "i64", "str"]) -> None:
    g = db.graph("g", vertex=vertex, weight="float64")
    check(g, {}, ["x"] if vertex == "str" else [0, 1])
    empty: list[Any] = []
    offsets, ids = g.neighbors_many(empty)
    assert (offsets.tolist(), ids.tolist()) == ([0], [])
    g.upsert_many(empty, empty, empty)
    assert g.remove_many(empty, empty).tolist() == []
    assert g.to_table().rows() == []


def test_one_vertex_may_have_very_many_edges(db: quipu.Database) -> None:
    g = db.graph("g", weight="int64")
    others = np.arange(1_000_000, dtype=np.uint64) * 3
    g.import_arrays(np.full(len(others), 7, np.uint64), others, np.ones(len(others), np.int64))
    assert g.out_degree(7) == (1_000_000, 1_000_000.0)
    np.testing.assert_array_equal(g.successors(7), others)
    # 7 is not a multiple of 3: every neighbor has one edge.
    assert g.neighbors(999_999).tolist() == [7]
    assert g.number_of_vertices() == 1_000_001


def test_upsert_replaces_and_remove_tells(db: quipu.Database) -> None:
    g = db.graph("g", weight="float64")
    g.upsert(1, 2, 1.0)
    g.upsert(1, 2, 2.0)
    assert g.edge(1, 2) == 2.0
    assert g.number_of_edges() == 1
    assert g.remove(1, 2) is True
    assert g.remove(1, 2) is False
    g.upsert_many([1, 1, 3], [2, 2, 4], [5.0, 6.0, 7.0])
    assert g.edge(1, 2) == 6.0
    assert g.remove_many([1, 1, 9], [2, 2, 9]).tolist() == [True, False, False]
    check(g, {(3, 4): 7.0}, [1, 2])


@pytest.mark.parametrize("inside", [False, True])
def test_a_vertex_goes_with_all_its_edges(db: quipu.Database, inside: bool) -> None:
    g = db.graph("g", weight="float64")
    build(g, NUMBERS)
    rest = {pair: w for pair, w in NUMBERS.items() if 2 not in pair}
    if inside:
        with db.transaction() as tx:
            assert tx.graph("g").remove_vertex(2) == 3
            check(tx.graph("g"), rest, [2])
    else:
        assert g.remove_vertex(2) == 3
    check(g, rest, [2])
    assert g.remove_vertex(2) == 0


def test_clear_leaves_an_empty_graph(db: quipu.Database) -> None:
    g = db.graph("g", weight="float64")
    build(g, NUMBERS)
    db.flush()
    g.upsert(70, 71)
    g.clear()
    check(g, {}, [1, 70])
    g.upsert(1, 2, 3.0)
    check(g, {(1, 2): 3.0}, [70])


def test_many_random_changes_end_as_a_dictionary_does(db: quipu.Database) -> None:
    g = db.graph("g", weight="int64")
    rng = np.random.default_rng(5)
    model: Edges = {}
    for step in range(300):
        u, v, w = (int(x) for x in rng.integers(0, 12, 3))
        if w < 4:
            assert g.remove(u, v) == (model.pop((u, v), None) is not None)
        else:
            g.upsert(u, v, w)
            model[u, v] = w
        if step % 90 == 50:
            db.flush()
    check(g, model, [99])


COLUMNS = [
    [1, 2, 3],
    (1, 2, 3),
    np.array([1, 2, 3]),
    np.array([1, 2, 3], np.uint64),
    np.array([1, 2, 3], np.int32),
    np.array([9, 1, 9, 2, 9, 3], np.uint64)[1::2],
    pd.Series([1, 2, 3]),
    pl.Series([1, 2, 3]),
    pa.array([1, 2, 3]),
    pa.chunked_array([[1], [2, 3]]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{type(column).__module__}.{type(column).__name__}")
def test_columns_come_from_anywhere(db: quipu.Database, column: Any) -> None:
    g = db.graph("g", weight="float64")
    g.upsert_many(column, column, column)
    check(g, {(i, i): float(i) for i in (1, 2, 3)})
    assert g.has_edge_many(column, column).all()
    assert g.degree_many(column)[0].tolist() == [1, 1, 1]


TEXTS = [["a", "b"], np.array(["a", "b"]), pd.Series(["a", "b"]), pl.Series(["a", "b"]), pa.array(["a", "b"])]


@pytest.mark.parametrize("column", TEXTS, ids=lambda column: f"{type(column).__module__}.{type(column).__name__}")
def test_columns_of_text_come_from_anywhere(db: quipu.Database, column: Any) -> None:
    g = db.graph("g", vertex="str")
    g.upsert_many(column, column)
    assert g.has_edge_many(column, column).all()


@pytest.mark.parametrize("bad", [-1, 2**64])
def test_a_number_that_is_no_vertex_is_refused(db: quipu.Database, bad: int) -> None:
    g = db.graph("g")
    with pytest.raises(quipu.InvalidInputError, match=r"from 0 to 2\*\*64 - 1"):
        g.upsert(1, bad)
    with pytest.raises(ValueError, match=r"from 0 to 2\*\*64 - 1"):
        g.edge(bad, 1)
    assert len(g) == 0


def test_what_is_no_vertex_at_all_is_a_type_error(db: quipu.Database) -> None:
    g = db.graph("g")
    names = db.graph("names", vertex="str")
    for call in [
        lambda: g.upsert("a", 1),
        lambda: g.edge(1.5, 1),  # pyright: ignore[reportArgumentType]
        lambda: g.degree_many(["a"]),
        lambda: names.upsert(1, "a"),
        lambda: names.neighbors_many("a"),
    ]:
        with pytest.raises(TypeError):
            call()
    assert len(g) == len(names) == 0


def test_columns_of_different_lengths_are_refused(db: quipu.Database) -> None:
    g = db.graph("g", weight="float64")
    for call in [
        lambda: g.upsert_many([1, 2], [1]),
        lambda: g.upsert_many([1, 2], [1, 2], [1.0]),
        lambda: g.remove_many([1, 2], [1]),
        lambda: g.edge_many([1, 2], [1]),
        lambda: g.import_arrays([1, 2], [1]),
    ]:
        with pytest.raises(quipu.InvalidInputError):
            call()
    assert len(g) == 0


def test_graphs_are_kept_by_name_and_type(db: quipu.Database) -> None:
    db.graph("b", weight="float64")
    db.graph("a", vertex="str")
    assert db.graphs() == ["a", "b"]
    again = db.graph("b")
    assert (again.name, again.vertex, again.weight) == ("b", "u64", "float64")
    with pytest.raises(quipu.InvalidInputError):
        db.graph("b", weight="int64")
    with pytest.raises(quipu.InvalidInputError):
        db.graph("not:a name")
    g = db.graph("b")
    db.drop_graph("b")
    assert db.graphs() == ["a"]
    with pytest.raises(quipu.InvalidInputError):
        g.upsert(1, 2)
    with pytest.raises(quipu.InvalidInputError, match="b"):
        db.drop_graph("b")
    assert len(db.graph("b")) == 0


def test_options_that_are_wrong_are_named(tmp_path: Path) -> None:
    for options in [{"durability": "fsync"}, {"cache": "lots"}, {"memory_limit": 1.5}]:
        with pytest.raises(quipu.InvalidInputError):
            quipu.open(tmp_path / "db", **options)  # pyright: ignore[reportArgumentType]
    with quipu.open(cache="64MB", memory_limit="64MB", threads=1) as db:
        assert db.path is None
        with pytest.raises(quipu.InvalidInputError):
            db.transaction("none")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "weights", [[0.5], np.array([2**63 + 5], dtype="uint64"), ["7"], pa.array([None], pa.int64()), [None]]
)
def test_no_column_becomes_weights_that_are_other_ones(db: quipu.Database, weights: Any) -> None:
    g = db.graph("g", weight="int64")
    with pytest.raises((TypeError, quipu.InvalidInputError)):
        g.upsert_many([1], [2], weights)
    assert len(g) == 0


def test_memory_between_colons_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with quipu.open(":memory:") as db:
        db.graph("g").upsert(1, 2)
        assert db.graph("g").number_of_edges() == 1
    with quipu.open(":memory:") as db:
        assert db.graphs() == []
    assert list(tmp_path.iterdir()) == []
