"""An error keeps its class in every kind of call; scripts ignore only their own mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import quipu
from quipu.compat.cozo import Client, CozoDbPy, QueryException

QUERIES = [
    "?[count(k)] := *bad{k}",
    "?[v] := *bad{k: 17, v}",
    "?[k, u] := *good{k}, *bad{k, v: u}",
    "?[node, group] <~ ConnectedComponents(*bad[])",
]

SCRIPTS = [
    "{query}",
    "{{ {query} }}",
    "%ignore_error {{ {query} }}",
    "%if {{ {query} }} %then %return {{ ?[a] <- [[1]] }} %end",
]

KINDS = [
    quipu.ConflictError,
    quipu.CorruptionError,
    quipu.PoisonedError,
    quipu.CancelledError,
    quipu.LimitError,
    quipu.LockedError,
    quipu.Error,
]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A closed database with an intact relation, and one whose blocks are damaged."""
    folder = tmp_path / "db"
    with quipu.open(folder, durability="os") as db:
        db.run("?[k, v] := k in int_range(100), v = k :create good {k: Int => v: Int}")
        db.flush()
        before = set((folder / "tables").iterdir())
        db.run("?[k, v] := k in int_range(20000), v = (k * 7919) % 20000 :create bad {k: Int => v: Int}")
    new = set((folder / "tables").iterdir()) - before
    # Small tables are not the relation's, and have other sections where large ones have blocks.
    new = {path for path in new if path.stat().st_size > 20_000}
    assert new
    for path in new:
        content = bytearray(path.read_bytes())
        # Blocks come first; the end is read when the table is opened.
        for at in range(0, len(content) * 6 // 10, 64):
            content[at] ^= 0x40
        path.write_bytes(content)
    return folder


def ways(db: quipu.Database, query: str) -> Iterable[tuple[str, Callable[[], Any]]]:
    """Yield every way to run a query, with its name."""
    for form in SCRIPTS:
        script = form.format(query=query)
        yield f"run {script}", lambda script=script: db.run(script)
        yield f"again {script}", lambda script=script: db.run(script)
        yield f"stream {script}", lambda script=script: list(db.stream(script))

        def in_transaction(script: str = script) -> None:
            with db.transaction() as tx:
                tx.run(script)

        yield f"transaction {script}", in_transaction


def raised(call: Callable[[], Any]) -> type[BaseException] | None:
    """Return the class of the exception that a call raises."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - its class is the answer
        return type(error)
    return None


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("query", QUERIES)
def test_damage_is_corruption_whichever_way_a_script_meets_it(damaged: Path, query: str, read_only: bool) -> None:
    with quipu.open(damaged, read_only=read_only) as db:
        found = {name: raised(call) for name, call in ways(db, query)}
    assert {name: kind for name, kind in found.items() if kind is not quipu.CorruptionError} == {}


def test_damage_is_corruption_for_calls_and_what_a_program_brings_along(damaged: Path) -> None:
    db = quipu.open(damaged)
    db.register_fixed_rule("Inner", 1, lambda _inputs, _options: db.run(QUERIES[0]).rows())
    db.register_aggregate("inner", int, lambda _state, _value: len(db.run(QUERIES[0])))
    told: list[type[BaseException] | None] = []
    db.register_callback("good", lambda _op, _new, _old: told.append(raised(lambda: db.run(QUERIES[0]))))
    db.run("?[k, v] <- [[1, 1]] :put good {k => v}")
    assert told == [quipu.CorruptionError]
    bad = db.relation("bad")
    found = {
        "rows": raised(bad.rows),
        "export": raised(lambda: db.export_relations(["bad"])),
        "insert": raised(lambda: bad.insert([[17, 1]])),
        "rule": raised(lambda: db.run("?[a] <~ Inner()")),
        "rule, ignored": raised(lambda: db.run("%ignore_error { ?[a] <~ Inner() }")),
        "aggregate": raised(lambda: db.run("r[a] <- [[1]] ?[inner(a)] := r[a]")),
        "aggregate, ignored": raised(lambda: db.run("%ignore_error { r[a] <- [[1]] ?[inner(a)] := r[a] }")),
    }
    db.close()
    assert set(found.values()) == {quipu.CorruptionError}, found


def test_a_reader_of_arrow_gets_no_value_error_for_damage(damaged: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    # The first part is intact: Arrow meets the damage while it reads.
    with quipu.open(damaged) as db, pytest.raises((quipu.CorruptionError, OSError)):
        pyarrow.RecordBatchReader.from_stream(db.stream("?[k, v] := *bad{k, v}")).read_all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_rule_raises_of_the_database_keeps_its_class(db: quipu.Database, kind: type[quipu.Error]) -> None:
    def rule(_inputs: Any, _options: Any) -> Any:
        raise kind("told to")

    db.register_fixed_rule("Fails", 1, rule)
    found = {name: raised(call) for name, call in ways(db, "?[a] <~ Fails()")}
    assert set(found.values()) == {kind}, found


@pytest.mark.parametrize("mistake", [ValueError, quipu.InvalidInputError, KeyError])
def test_a_mistake_of_a_rule_may_be_ignored(db: quipu.Database, mistake: type[Exception]) -> None:
    def rule(_inputs: Any, _options: Any) -> Any:
        raise mistake("told to")

    db.register_fixed_rule("Fails", 1, rule)
    with pytest.raises(quipu.InvalidInputError, match="told to"):
        db.run("?[a] <~ Fails()")
    assert db.run("%ignore_error { ?[a] <~ Fails() }").rows() == [("FAILED",)]


def test_what_is_for_reading_only_cannot_be_ignored(db: quipu.Database) -> None:
    db.run(":create r {k}")
    with pytest.raises(quipu.InvalidInputError, match="for reading only"):
        db.run("%ignore_error { ?[k] <- [[1]] :put r {k} }", read_only=True)


def test_damage_keeps_its_class_through_cozos_interface(damaged: Path) -> None:
    for client in [Client("rocksdb", str(damaged), dataframe=False)]:
        for query in QUERIES:
            for form in SCRIPTS:
                with pytest.raises(QueryException) as failed:
                    client.run(form.format(query=query))
                assert failed.value.code == "quipu::CorruptionError"
                assert isinstance(failed.value.__cause__, quipu.CorruptionError)
        client.close()
    db = CozoDbPy("rocksdb", str(damaged))
    tx = db.multi_transact(write=True)
    for call in [
        lambda: db.run_script(QUERIES[0]),
        lambda: db.export_relations(["bad"]),
        lambda: tx.run_script(QUERIES[0]),
    ]:
        with pytest.raises(Exception, match=r".") as failed:
            call()
        assert isinstance(failed.value.__cause__, quipu.CorruptionError)
    tx.abort()
    db.close()


FULL = """
import resource, sys
import quipu

db = quipu.open(sys.argv[1], durability="os", memory_limit="64MB")
db.run("?[k, v] <- [[1, 'a']] :create r {k: Int => v: String}")
# From here on no file grows: the kernel refuses writes.
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
def raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return None
put = "?[k, v] := k in int_range(2000), v = to_string(rand_float()) :put r {k => v}"
first = None
for _ in range(2000):
    first = first or raised(lambda: db.run(put))
    if first:
        break
def transaction():
    with db.transaction() as tx:
        tx.run(put)
print(first)
print(raised(lambda: db.run(put)))
print(raised(lambda: db.run("%ignore_error { " + put + " }")))
print(raised(lambda: db.run("::index create r:by_v {v}")))
print(raised(transaction))
print(raised(lambda: db.relation("r").put([[1, "b"]])))
print(db.run("?[k] := *r{k: 1}, k = 1").rows() == [(1,)])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's limit on the length of files")
def test_a_poisoned_database_says_so_to_every_writer_and_answers_readers(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    ran = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "db")], capture_output=True, text=True, env=env, check=False
    )
    first, *others, answers = ran.stdout.split()
    assert first in {"Error", "PoisonedError"}, ran
    assert set(others) == {"PoisonedError"}, ran
    assert answers == "True", ran
