"""Workers of ``multiprocessing`` and of ``concurrent.futures`` open the database by its path."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import warnings
from pathlib import Path
from typing import Any

import pytest
import quipu

# Python warns of a fork in a process with threads, which is what is tested.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

METHODS = ["fork", "spawn", "forkserver"]

opened_here: dict[str, Any] = {}
"""Objects of this process: those that a worker's initializer opened, and those that it inherited."""


def begin(path: str) -> None:
    """Open the database in a worker."""
    opened_here["db"] = quipu.open(path, read_only=True)


def degree(vertex: int) -> int:
    """Look up a degree in a worker."""
    return int(opened_here["db"].graph("g").out_degree(vertex)[0])


def use_inherited(_: int) -> int:
    """Use the parent's graph in a worker."""
    return int(opened_here["inherited"].number_of_edges())


def count_edges(graph: Any) -> int:
    """Use a graph that was sent to a worker."""
    return int(graph.number_of_edges())


@pytest.mark.parametrize("method", METHODS)
def test_workers_of_multiprocessing_open_by_path(method: str, folder: Path) -> None:
    context = multiprocessing.get_context(method)
    with quipu.open(folder) as db:
        db.graph("g", weight="float64").upsert_many([1, 2, 3], [2, 3, 1])
        opened_here["inherited"] = db.graph("g")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with context.Pool(2, initializer=begin, initargs=(str(folder),)) as pool:
                assert pool.map(degree, [1, 2, 3, 4]) == [1, 1, 1, 0]
                with pytest.raises(TypeError, match="send the path"):
                    pool.apply(count_edges, (db.graph("g"),))
                # With `fork` the parent's objects exist without being sent.
                wrong = quipu.ForkedError if method == "fork" else KeyError
                with pytest.raises(wrong):
                    pool.map(use_inherited, [1])
                pool.close()
                pool.join()
        db.graph("g").upsert(9, 9)
    opened_here.clear()
    with quipu.open(folder) as db:
        assert db.check()["graphs"] == {"g": 4}


@pytest.mark.parametrize("method", METHODS)
def test_workers_of_concurrent_futures_open_by_path(method: str, folder: Path) -> None:
    context = multiprocessing.get_context(method)
    with quipu.open(folder) as db:
        db.graph("g", weight="float64").upsert_many([1, 2, 3], [2, 3, 1])
        opened_here["inherited"] = db.graph("g")
        with (
            warnings.catch_warnings(),
            concurrent.futures.ProcessPoolExecutor(
                2, mp_context=context, initializer=begin, initargs=(str(folder),)
            ) as pool,
        ):
            warnings.simplefilter("ignore", DeprecationWarning)
            assert list(pool.map(degree, [1, 2, 3, 4])) == [1, 1, 1, 0]
            with pytest.raises(TypeError, match="send the path"):
                pool.submit(count_edges, db.graph("g")).result()
            wrong = quipu.ForkedError if method == "fork" else KeyError
            with pytest.raises(wrong):
                pool.submit(use_inherited, 1).result()
        db.graph("g").upsert(9, 9)
    opened_here.clear()
    with quipu.open(folder) as db:
        assert db.check()["graphs"] == {"g": 4}
