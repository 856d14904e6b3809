"""Calls that wait for the device, for a flush or for another thread release the GIL."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import quipu


class Watched:
    """Calls that another thread observes."""

    def __init__(self) -> None:
        self.inside = False
        self.seen = False

    def __call__(self, call: Callable[[], object]) -> object:
        self.inside = True
        try:
            return call()
        finally:
            self.inside = False


def is_given_up(calls: Callable[[Watched], Iterator[object]]) -> bool:
    """Whether another thread runs during one of these calls, though nothing preempts it."""
    watched = Watched()
    done = threading.Event()
    # Whether this thread is scheduled in time is up to the machine: calls are repeated until it is.
    patience = time.monotonic() + 120

    def work() -> None:
        try:
            for _ in calls(watched):
                if watched.seen or time.monotonic() > patience:
                    break
        finally:
            done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(10_000)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            watched.seen = watched.seen or watched.inside
            time.sleep(0)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    return watched.seen


@pytest.fixture
def small(tmp_path: Path) -> Iterator[quipu.Database]:
    """A database whose memtables fill up quickly."""
    with quipu.open(tmp_path / "small", durability="os", memory_limit="64MB", cache="8MB") as db:
        yield db


VALUE = bytes(range(250)) * 40


def test_a_put_gives_the_lock_up_where_memtables_are_full(small: quipu.Database) -> None:
    b = small.blobs("b")

    def puts(watched: Watched) -> Iterator[object]:
        for key in range(20_000):
            yield watched(lambda: b.put(key, VALUE))  # noqa: B023

    assert is_given_up(puts)


@pytest.mark.parametrize("kind", ["upsert", "add", "set", "discard"])
def test_other_writes_give_the_lock_up_where_memtables_are_full(small: quipu.Database, kind: str) -> None:
    b, g, c = small.blobs("b"), small.graph("g"), small.counters("c")
    writes: dict[str, Callable[[int], object]] = {
        "upsert": lambda key: g.upsert(key, key),
        "add": c.add,
        "set": lambda key: c.set(key, 7),
        "discard": b.discard,
    }

    def calls(watched: Watched) -> Iterator[object]:
        for key in range(4000):
            # Not observed: it only fills memtables.
            b.put_many(range(4 * key, 4 * key + 4), [VALUE] * 4)
            yield watched(lambda: writes[kind](key))  # noqa: B023

    assert is_given_up(calls)


LARGE = np.random.default_rng(1).bytes(20_000)


def fill(db: quipu.Database) -> None:
    """Write values in many blocks, which are read separately."""
    keys = np.arange(2000)
    db.blobs("b").put_many(keys, [LARGE[: 600 + key % 7] for key in range(2000)])
    # Long values may be replaced: writes look for the old value.
    db.blobs("b")[5000] = LARGE
    many, numbers = np.arange(100_000), np.random.default_rng(2).integers(-(2**62), 2**62, 100_000)
    db.graph("g", weight="int64").upsert_many(many, many[::-1].copy(), numbers)
    db.counters("c").add_many(many, numbers)


def calls_of(db: quipu.Database) -> dict[str, Callable[[int], object]]:
    """Calls with keys below 2000 that read existing rows; each returns true the first time."""
    b, g, c = db.blobs("b"), db.graph("g"), db.counters("c")
    return {
        "delete": b.delete,
        "discard": lambda key: b.discard(key) or key not in b,
        "put": lambda key: b.put(key, b"new") or b[key] == b"new",
        "reader": lambda key: len(b.reader(key)) == 600 + key % 7,
        "remove edge": lambda key: g.remove(50 * key, 99_999 - 50 * key),
        "remove counter": lambda key: c.remove(50 * key),
    }


@pytest.mark.parametrize("kind", ["delete", "discard", "put", "reader", "remove edge", "remove counter"])
def test_calls_that_look_at_what_is_there_give_the_lock_up_where_it_is_in_files(tmp_path: Path, kind: str) -> None:
    done: list[object] = []

    def calls(watched: Watched) -> Iterator[object]:
        for turn in range(50):
            with quipu.open(tmp_path / str(turn), durability="os") as db:
                fill(db)
            with quipu.open(tmp_path / str(turn), durability="os", cache="1MB") as db:
                call = calls_of(db)[kind]
                for key in range(0, 2000, 7):
                    done.append(watched(lambda: call(key)))  # noqa: B023
                    yield

    assert is_given_up(calls)
    assert done == [True] * len(done)


@pytest.mark.parametrize("kind", ["delete", "discard", "put", "reader", "remove edge", "remove counter"])
def test_what_is_tried_with_the_lock_is_done_once(folder: Path, kind: str) -> None:
    with quipu.open(folder, durability="os") as db:
        fill(db)
    with quipu.open(folder, durability="os", cache="1MB") as db:
        call = calls_of(db)[kind]
        assert all(call(key) is True for key in range(2000))
        assert db.check()["problems"] == []
        if kind in ("delete", "remove edge", "remove counter"):
            assert not any(call(key) for key in range(2000))


def test_to_begin_a_transaction_gives_the_lock_up_while_increments_are_written(db: quipu.Database) -> None:
    c = db.counters("c")
    keys = np.arange(50_000)

    def begins(watched: Watched) -> Iterator[object]:
        for _ in range(200):
            c.add_many(keys)
            transaction = watched(db.transaction)
            assert isinstance(transaction, quipu.Transaction)
            transaction.rollback()
            yield

    assert is_given_up(begins)


def test_a_rollback_waits_without_the_lock_for_what_is_at_work_in_the_transaction(db: quipu.Database) -> None:
    inside, called = threading.Event(), threading.Event()

    def rule(_inputs: object, _options: object) -> list[tuple[int]]:
        inside.set()
        called.wait()
        # More work that needs the GIL, while the other thread waits for its end.
        return [(i,) for i in range(1000)]

    db.register_fixed_rule("Slow", 1, rule)
    transaction = db.transaction()
    rows: list[object] = []
    script = threading.Thread(target=lambda: rows.extend(transaction.run("?[i] <~ Slow()")))
    script.start()
    inside.wait()
    called.set()
    transaction.rollback()
    script.join()
    assert len(rows) == 1000
    assert repr(transaction) == "<quipu.Transaction ended>"
