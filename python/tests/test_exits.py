"""Exceptions in Python code that the database calls.

Anything but an `Exception` ends the script and reaches the caller unchanged; an `Exception` is the
cause of the error.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import quipu


class OwnExit(BaseException):
    """An exception of the program that is not an `Exception`."""


EXITS = [KeyboardInterrupt, SystemExit, GeneratorExit, OwnExit]


class Raiser:
    """Raises an exception in every callback."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def broken(self, *_: object) -> NoReturn:
        raise self.error

    def rows(self, *_: object) -> Iterator[list[int]]:
        yield [1]
        self.broken()


Act = Callable[[quipu.Database, Raiser, Path], Any]


def in_the_call(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_fixed_rule("Broken", 1, raiser.broken)
    return db.run("?[a] <~ Broken()")


def between_rows(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_fixed_rule("Broken", 1, raiser.rows)
    return db.run("?[a] <~ Broken() :put t {a}")


def in_a_later_step(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_fixed_rule("Broken", 1, raiser.rows)
    return db.run("{?[a] <- [[1]] :put t {a}} {?[a] <~ Broken() :put t {a}}")


def in_an_aggregate_at_first(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_aggregate("broken", raiser.broken, lambda state, _: state)
    return db.run("?[broken(x)] := x in [1, 2]")


def in_an_aggregate(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_aggregate("broken", int, raiser.broken)
    return db.run("?[broken(x)] := x in [1, 2]")


def in_an_aggregate_at_last(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_aggregate("broken", int, lambda state, _: state, raiser.broken)
    return db.run("?[broken(x)] := x in [1, 2]")


def in_a_transaction(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_fixed_rule("Broken", 1, raiser.rows)
    with db.transaction() as tx:
        tx.run("?[a] <- [[1]] :put t {a}")
        tx.run("?[a] <~ Broken() :put t {a}")


def in_a_stream(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_fixed_rule("Broken", 1, raiser.rows)
    with db.stream("?[a] <~ Broken()") as parts:
        return list(parts)


def in_an_inner_script(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_fixed_rule("Inner", 1, raiser.rows)
    db.register_fixed_rule("Outer", 1, lambda *_: db.run("?[a] <~ Inner()"))
    return db.run("?[a] <~ Outer() :put t {a}")


def in_another_thread(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.register_fixed_rule("Broken", 1, raiser.rows)

    async def call() -> None:
        # Some of them end asyncio's loop, so they are passed through it as values.
        def run() -> BaseException | None:
            try:
                db.run("?[a] <~ Broken()")
            except BaseException as error:  # noqa: BLE001 - it is raised below
                return error
            return None

        raised = await asyncio.to_thread(run)
        results.append(raised)

    results: list[BaseException | None] = []
    asyncio.run(call())
    if results[0] is not None:
        raise results[0]


OF_A_SCRIPT: list[Act] = [
    in_the_call,
    between_rows,
    in_a_later_step,
    in_an_aggregate_at_first,
    in_an_aggregate,
    in_an_aggregate_at_last,
    in_a_transaction,
    in_a_stream,
    in_an_inner_script,
    in_another_thread,
]


def in_rows_that_are_put(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.relation("t").put(raiser.rows())


def in_rows_that_are_imported(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    db.import_relations({"t": raiser.rows()})


def in_rows_of_a_transaction(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    with db.transaction() as tx:
        tx.relation("t").put(raiser.rows())


def in_blobs_that_are_loaded(db: quipu.Database, raiser: Raiser, _: Path) -> Any:
    def batches() -> Iterator[tuple[list[int], list[bytes]]]:
        yield [1], [b"one"]
        raiser.broken()

    db.blobs("b").load(batches())


def in_progress_of_a_backup(db: quipu.Database, raiser: Raiser, folder: Path) -> Any:
    with quipu.open(folder / "db") as stored:
        stored.run("?[a] <- [[1]] :create t {a}")
        stored.backup(folder / "backup", progress=raiser.broken)


OF_A_CALL: list[Act] = [
    in_rows_that_are_put,
    in_rows_that_are_imported,
    in_rows_of_a_transaction,
    in_blobs_that_are_loaded,
    in_progress_of_a_backup,
]


@pytest.fixture
def t(db: quipu.Database) -> quipu.Database:
    db.run(":create t {a: Int}")
    return db


def count(db: quipu.Database) -> int:
    return len(db.run("?[a] := *t[a]"))


@pytest.mark.parametrize("kind", EXITS)
@pytest.mark.parametrize("act", OF_A_SCRIPT + OF_A_CALL)
def test_an_exit_reaches_the_caller_as_it_was(
    t: quipu.Database, tmp_path: Path, act: Act, kind: type[BaseException]
) -> None:
    error = kind("stop")
    with pytest.raises(kind) as raised:
        act(t, Raiser(error), tmp_path)
    assert raised.value is error
    assert traceback.extract_tb(error.__traceback__)[-1].name == "broken"
    assert count(t) == 0


@pytest.mark.parametrize("act", OF_A_SCRIPT)
def test_another_exception_is_the_cause_of_ours(t: quipu.Database, tmp_path: Path, act: Act) -> None:
    error = ValueError("wrong")
    with pytest.raises(quipu.InvalidInputError, match="ValueError: wrong") as raised:
        act(t, Raiser(error), tmp_path)
    cause = raised.value.__cause__
    while isinstance(cause, quipu.InvalidInputError):
        cause = cause.__cause__
    assert cause is error
    assert traceback.extract_tb(error.__traceback__)[-1].name == "broken"
    assert count(t) == 0


@pytest.mark.parametrize("act", OF_A_CALL)
def test_another_exception_of_an_iterable_is_raised_as_it_was(t: quipu.Database, tmp_path: Path, act: Act) -> None:
    error = ValueError("wrong")
    with pytest.raises(ValueError, match="wrong") as raised:
        act(t, Raiser(error), tmp_path)
    assert raised.value is error
    assert count(t) == 0


IGNORING = """
    {?[a] <- [[1]] :put t {a}}
    %ignore_error {?[a] <~ Broken() :put t {a}}
    {?[a] <- [[2]] :put t {a}}
"""


@pytest.mark.parametrize("kind", EXITS)
def test_an_exit_cannot_be_ignored(t: quipu.Database, kind: type[BaseException]) -> None:
    error = kind("stop")
    t.register_fixed_rule("Broken", 1, Raiser(error).rows)
    with pytest.raises(kind) as raised:
        t.run(IGNORING)
    assert raised.value is error
    assert count(t) == 0


def test_another_exception_can_be_ignored(t: quipu.Database) -> None:
    t.register_fixed_rule("Broken", 1, Raiser(ValueError("wrong")).rows)
    t.run(IGNORING)
    assert count(t) == 2


def test_an_error_of_the_databases_keeps_its_class_and_its_cause(t: quipu.Database) -> None:
    error = quipu.ConflictError("another one won")
    t.register_fixed_rule("Broken", 1, Raiser(error).rows)
    with pytest.raises(quipu.ConflictError) as raised:
        t.run(IGNORING)
    assert raised.value is not error
    assert raised.value.__cause__ is error
    assert count(t) == 0


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Install the handler of SIGINT, which a process in the background may ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_in_a_rule_ends_the_script(t: quipu.Database) -> None:
    def rule(*_: object) -> Iterator[list[int]]:
        yield [1]
        signal.raise_signal(signal.SIGINT)
        yield [2]

    t.register_fixed_rule("Broken", 1, rule)
    with pytest.raises(KeyboardInterrupt):
        t.run(IGNORING)
    assert count(t) == 0


@pytest.mark.parametrize("kind", EXITS)
@pytest.mark.parametrize("how", ["run", "put", "transaction", "import", "inner"])
def test_an_exit_in_a_callback_reaches_who_made_the_change(
    t: quipu.Database, how: str, kind: type[BaseException]
) -> None:
    error = kind("stop")
    told: list[str] = []
    t.register_callback("t", Raiser(error).broken)
    t.register_callback("t", lambda op, *_: (told.append(op), t.run("?[a] := *t[a]")))
    t.register_fixed_rule("Inner", 1, lambda *_: t.run("?[a] <- [[1]] :put t {a}") and [])
    with pytest.raises(kind) as raised:
        if how == "run":
            t.run("?[a] <- [[1]] :put t {a}")
        elif how == "put":
            t.relation("t").put([(1,)])
        elif how == "import":
            t.import_relations({"t": [[1]]})
        elif how == "inner":
            t.run("?[a] <~ Inner()")
        else:
            with t.transaction() as tx:
                tx.run("?[a] <- [[1]] :put t {a}")
    assert raised.value is error
    # It was committed before any callback was called, and the other callbacks are called, too.
    assert (count(t), told) == (1, ["Put"])
    assert count(t) == 1


def test_another_exception_in_a_callback_stops_nobody(t: quipu.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: seen.append(told.exc_value))
    error = ValueError("wrong")
    t.register_callback("t", Raiser(error).broken)
    t.run("?[a] <- [[1]] :put t {a}")
    assert seen == [error]
    assert count(t) == 1
