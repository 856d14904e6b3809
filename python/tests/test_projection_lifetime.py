"""Projections and results hold data of the caller: what they have stays readable without the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import quipu

from test_fork import Child

CASES = ["u64", "i64", "str"]


def made(db: quipu.Database, vertex: str) -> tuple[quipu.Graph, quipu.Projection, quipu.AlgorithmResult]:
    g = db.graph("g", vertex=vertex, weight="float64")  # pyright: ignore[reportArgumentType]
    a, b, c = ("a", "b", "c") if vertex == "str" else (1, 2, 3)
    g.upsert_many([a, a, b], [b, c, c], [1.0, 5.0, 1.0])
    p = g.project(weight="weight")
    found = p.shortest_paths(a)
    # The names of vertices are read when they are first asked for.
    _ = p.ids
    return g, p, found


def read(p: quipu.Projection, found: quipu.AlgorithmResult) -> list[Any]:
    offsets, sources, weights = p.reverse
    assert p.weights is not None
    assert weights is not None
    found_ids = [] if p.ids.dtype == object else [found.ids.tolist(), found.columns, repr(found)]
    return [
        *(array.tolist() for array in (p.ids, p.offsets, p.targets, p.weights, offsets, sources, weights)),
        *(p.number_of_vertices(), p.number_of_edges(), p.is_directed, repr(p)),
        *(found.values.tolist(), len(found), found_ids),
    ]


def outcome(call: Callable[[], object]) -> str:
    try:
        return f"answers {call()!r}"
    except quipu.Error as error:
        return type(error).__name__


@pytest.mark.parametrize("vertex", CASES)
def test_arrays_and_results_stay_after_close(vertex: str) -> None:
    db = quipu.open()
    _, p, found = made(db, vertex)
    before = read(p, found)
    batches = [batch.ids.tolist() for batch in p.samples(fan_outs=[2])]
    db.close()
    assert read(p, found) == before
    assert [batch.ids.tolist() for batch in p.samples(fan_outs=[2])] == batches
    assert p.to_scipy().nnz == 3
    # A new computation, a write, and names that nobody has read need the open database.
    assert outcome(lambda: found.ids.tolist()).startswith("answers") == (vertex != "str")
    assert outcome(p.pagerank) == "InvalidInputError"
    assert outcome(lambda: found.write("r")) == "InvalidInputError"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("vertex", CASES)
def test_arrays_and_results_stay_in_a_forked_child(vertex: str) -> None:
    with quipu.open() as db:
        _, p, found = made(db, vertex)
        before = read(p, found)

        def work() -> list[Any]:
            return [read(p, found), outcome(p.pagerank), outcome(lambda: found.write("r"))]

        told = Child(work).result()
        assert told[0] == [list(part) if isinstance(part, tuple) else part for part in before]
        assert told[1:] == ["ForkedError", "ForkedError"]
        assert outcome(p.pagerank).startswith("answers")
