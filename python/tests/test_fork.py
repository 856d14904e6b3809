"""A database belongs to the process that opened it: children are refused, and do no harm."""

from __future__ import annotations

import contextlib
import copy
import gc
import inspect
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import quipu
from quipu import _quipu

# Python warns of a fork in a process with threads, which is what is tested.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

SILENCE_S = 60
"""A child that has said nothing for so long hangs."""


class Child:
    """A forked child that does some work and reports the outcome through a pipe."""

    report = -1
    """In a child: where it tells. A child of its own has to close it, or its end is not seen."""

    def __init__(self, work: Callable[[], object], end: Callable[[], object] = lambda: os._exit(0)) -> None:
        self._reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._reader)
                Child.report = writer
                try:
                    told = {"done": work()}
                except BaseException:  # noqa: BLE001 whatever it was, the parent is told
                    told = {"raised": traceback.format_exc()}
                os.write(writer, json.dumps(told).encode())
                os.close(writer)
                if "raised" not in told:
                    end()
            finally:
                os._exit(7)
        os.close(writer)

    def result(self, status: int = 0) -> Any:
        """Wait for its end with this status, and return what its work returned."""
        told = b""
        deadline = time.monotonic() + SILENCE_S
        while True:
            ready, _, _ = select.select([self._reader], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                pytest.fail(f"the child hangs; it said {told!r}")
            some = os.read(self._reader, 1 << 16)
            if not some:
                break
            told += some
        os.close(self._reader)
        # It has closed its pipe, but may hang while it ends.
        while (ended := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                pytest.fail(f"the child does not end; it said {told!r}")
            time.sleep(0.001)
        outcome: dict[str, Any] = json.loads(told)
        assert "raised" not in outcome, outcome["raised"]
        assert ended[1] == status
        return outcome["done"]


def in_child(work: Callable[[], object]) -> Any:
    """Do the work in a child, and return its result."""
    return Child(work).result()


# --- every method, by reflection ---------------------------------------------------------------


# Calls that are allowed in a child: names, types, and calls that end something.
PURE = {
    "Database": {"path", "close", "__enter__", "__exit__"},
    "Graph": {"name", "vertex", "weight", "key", "is_directed"},
    "Blobs": {"name", "key", "__bool__"},
    "Counters": {"name", "key", "number_type", "combine", "__bool__"},
    "DocumentItems": {"__iter__"},
    "Documents": {"name", "key", "__bool__"},
    "Relation": {"name", "columns", "__bool__", "__arrow_c_schema__"},
    "Transaction": {"__enter__", "__exit__"},
    "ResultStream": {"columns", "close", "__iter__", "__enter__", "__exit__", "__arrow_c_schema__"},
    "TableStream": {"columns", "__iter__", "__arrow_c_schema__"},
    "BlobReader": {"close", "__enter__", "__exit__"},
    "BlobWriter": {"__enter__", "__exit__"},
    "BlobItems": {"__iter__"},
    "KeyIterator": {"__iter__"},
}

# Classes whose data is in memory: their calls do not use the database.
IN_MEMORY = {
    *("AlgorithmResult", "BackupReport", "Column", "ImportReport", "Projection", "RestoreReport", "Result"),
    "Table",
}

ARGUMENTS: dict[str, Any] = {
    "algorithm": "pagerank",
    "arity": 1,
    "batches": [],
    "callback": print,
    "changes": {"a": 2},
    "communities": [[1], [2]],
    "count": 1,
    "data": {"k": [1], "v": [1]},
    "document": {"a": 1},
    "documents": [{"a": 1}],
    "field": "a",
    "fields": {"a": "int64"},
    "function": print,
    "graph": nx.path_graph(2),
    "group": [1],
    "id": 1,
    "init": print,
    "key": 1,
    "key_field": "a",
    "keys": [1],
    "name": "x",
    "names": ["r"],
    "nodes": None,
    "number": 1,
    "offset": 0,
    "operations": [],
    "params": {},
    "patches": [[]],
    "path": "/nowhere/at/all",
    "query": "?[a, b] := *g{src: a, dst: b}",
    "relation": "r",
    "script": "?[a] <- [[1]]",
    "source": [],
    "step": print,
    "table": [],
    "target": 2,
    "u": 1,
    "undirected": False,
    "us": [1],
    "v": 2,
    "value": b"new",
    "values": [b"new"],
    "vs": [2],
    "weight": None,
    "where": None,
}

# Arguments that one class takes in another form.
ARGUMENTS_OF: dict[str, dict[str, Any]] = {
    "Documents": {"*fields": ["/a"], "*value": [1]},
    "Graph": {"source": 1},
    "Relation": {"keys": {"k": [1]}},
}

INHERITED = set(dir(object))


def arguments(function: Any, kind: str) -> list[Any]:
    """Arguments of a method, by the names of its parameters; a new name has to be added above."""
    found: list[Any] = []
    own = ARGUMENTS_OF.get(kind, {})
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            found += own.get(f"*{parameter.name}", [None, None, None])
        elif parameter.default is inspect.Parameter.empty and parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            found.append(own[parameter.name] if parameter.name in own else ARGUMENTS[parameter.name])
    # Values of blobs and of blob writers are bytes, those of counters are numbers.
    if kind == "BlobWriter":
        return [b"more" if argument == ARGUMENTS["data"] else argument for argument in found]
    if kind == "Counters":
        return [2 if argument == ARGUMENTS["value"] else argument for argument in found]
    return found


def call(value: Any, member: str) -> object:
    """Read a property, or call a method."""
    kind = type(value)
    static = inspect.getattr_static(kind, member)
    if inspect.isdatadescriptor(static):
        return getattr(value, member)
    function = getattr(kind, member)
    return function(value, *arguments(function, kind.__name__))


def members(value: Any) -> list[str]:
    """The members of a class, without those of every object."""
    return sorted(set(dir(type(value))) - INHERITED - {"__module__"})


def fill(db: quipu.Database) -> None:
    """Create an entry of every kind in the database."""
    db.graph("g", weight="float64").upsert_many([1, 2, 3], [2, 3, 1])
    blobs = db.blobs("b")
    blobs.put_many([1, 2, 3], [b"one", b"two", b"x" * 500_000])
    db.counters("c").add_many([1, 2, 2])
    db.relation("r", create="{k: Int => v: Int}").put({"k": [1, 2], "v": [1, 2]})
    db.documents("d").put_many([1, 2, 3], [{"a": 1}, {"a": 2}, {"a": 3}])


def live_objects(db: quipu.Database, *, writable: bool = True) -> list[Any]:
    """At least one object of every class that uses the database."""
    tx = db.transaction()
    found: list[Any] = [db, tx, db.stream("?[k, v] := *r{k, v}")]
    for through in (db, tx):
        graph, blobs, counters = through.graph("g"), through.blobs("b"), through.counters("c")
        found += [graph, blobs, counters, through.relation("r")]
        found += [through.documents("d"), through.documents("d").items(), through.documents("d").keys()]
        found += [blobs.range(), blobs.items(), blobs.keys(), counters.range(), counters.keys()]
        found.append(blobs.reader(3))
        if writable:
            writer = blobs.writer(4)
            writer.write(b"begun")
            found.append(writer)
    # Some iterators that have started.
    begun = [db.blobs("b").items(), db.blobs("b").keys(), db.counters("c").range()]
    for iterator in begun:
        next(iterator)
    return found + begun


@contextlib.contextmanager
def opened(kind: str, folder: Path) -> Generator[tuple[quipu.Database, bool]]:
    """A filled database of some kind, and whether it may be written."""
    if kind == "memory":
        with quipu.open() as db:
            fill(db)
            yield db, True
    elif kind == "read_only":
        with quipu.open(folder) as writer:
            fill(writer)
            with quipu.open(folder, read_only=True) as db:
                yield db, False
    else:
        with quipu.open(folder, durability=kind) as db:  # type: ignore[arg-type]
            fill(db)
            yield db, True


@pytest.mark.parametrize("kind", ["sync", "os", "none", "memory", "read_only"])
def test_every_method_and_property_of_every_class_is_refused_in_a_child(kind: str, folder: Path) -> None:
    with opened(kind, folder) as (db, writable):
        objects = live_objects(db, writable=writable)
        missing = {name for name, _ in inspect.getmembers(_quipu, inspect.isclass)} - IN_MEMORY
        assert missing - {type(value).__name__ for value in objects} <= (set() if writable else {"BlobWriter"})

        def ask() -> dict[str, Any]:
            wrong: list[str] = []
            asked = 0
            for value in objects:
                pure = PURE[type(value).__name__]
                for member in members(value):
                    asked += 1
                    try:
                        call(value, member)
                    except quipu.ForkedError:
                        outcome = "refused"
                    except BaseException as error:  # noqa: BLE001 any other is reported
                        outcome = repr(error)
                    else:
                        outcome = "answered"
                    if outcome != ("answered" if member in pure else "refused"):
                        wrong.append(f"{type(value).__name__}.{member}: {outcome}")
                repr(value)
                str(value)
                hash(value)
            return {"wrong": wrong, "asked": asked}

        told = in_child(ask)
        assert told["wrong"] == []
        assert told["asked"] > 300
        # And none of the calls had an effect.
        assert db.graph("g").number_of_edges() == 3
        assert [db.blobs("b").get(key) for key in (1, 2)] == [b"one", b"two"]
        assert db.counters("c").get_many([1, 2]).tolist() == [1, 2]
        assert len(db.relation("r")) == 2
        if kind != "read_only":
            assert db.check()["graphs"] == {"g": 3}


def test_the_error_names_both_processes_and_says_what_to_do(folder: Path) -> None:
    with quipu.open(folder) as db:

        def ask() -> str:
            try:
                db.flush()
            except quipu.ForkedError as error:
                return str(error)
            return "no error"

        child = Child(ask)
        assert child.result() == (
            f"this database was opened in process {os.getpid()}; this is process {child.pid}, which inherited it by "
            f"fork\nhint: open it again here, read-only or after process {os.getpid()} has closed it"
        )
    assert issubclass(quipu.ForkedError, quipu.Error)
    assert issubclass(quipu.ForkedError, RuntimeError)


def test_rows_in_memory_are_usable_in_a_child(folder: Path) -> None:
    with quipu.open(folder) as db:
        fill(db)
        result, table = db.run("?[k, v] := *r{k, v}"), db.graph("g").to_table()
        assert in_child(lambda: [list(result), result[0], len(table), table.rows()]) == [
            [[1, 1], [2, 2]],
            [1, 1],
            3,
            [[1, 2, 1.0], [2, 3, 1.0], [3, 1, 1.0]],
        ]


# --- a child costs its parent nothing ----------------------------------------------------------


def leave_with(db: quipu.Database) -> None:
    with db:
        pass


def leave_with_transaction(db: quipu.Database, tx: quipu.Transaction) -> None:
    with tx:
        pass


def collect(held: list[Any]) -> None:
    held.clear()
    gc.collect()


@pytest.mark.parametrize("durability", ["sync", "os"])
def test_whatever_children_do_the_parent_loses_no_commit(durability: Any, folder: Path, tmp_path: Path) -> None:
    db = quipu.open(folder, durability=durability)
    fill(db)
    graph, blobs, tx = db.graph("g"), db.blobs("b"), db.transaction()
    tx.blobs("b")[10**6] = b"the transaction's"
    edges = tmp_path / "edges.csv"
    edges.write_text("1,2\n3,4\n")
    refused: dict[str, Callable[[], object]] = {
        "flush": db.flush,
        "compact": db.compact,
        "put": lambda: blobs.put(1, b"the child's"),
        "put_many": lambda: blobs.put_many([1] * 50_000, [b"the child's"] * 50_000),
        "import": lambda: graph.import_csv(edges),
        "import_arrays": lambda: graph.import_arrays(list(range(50_000)), [1] * 50_000),
        "export": lambda: graph.export_csv(tmp_path / "out.csv"),
        "backup": lambda: db.backup(tmp_path / "backup"),
        "check": db.check,
        "script": lambda: db.run("?[k] <- [[1]] :create child {k}"),
        "commit": tx.commit,
        "clear": graph.clear,
        "drop": lambda: db.drop("g"),
    }
    quiet: dict[str, Callable[[], object]] = {
        "close": db.close,
        "with": lambda: leave_with(db),
        "with a transaction": lambda: leave_with_transaction(db, tx),
        "nothing": lambda: None,
    }

    def is_refused(attempt: Callable[[], object]) -> Callable[[], object]:
        def work() -> None:
            with pytest.raises(quipu.ForkedError):
                attempt()

        return work

    attempts = list(quiet.values()) + [is_refused(attempt) for attempt in refused.values()]
    ends: list[tuple[Callable[[], object], int]] = [
        (lambda: os._exit(0), 0),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), signal.SIGKILL),
    ]
    key = 1000
    for attempt in attempts:
        for end, status in ends:
            child = Child(attempt, end)
            blobs[key] = b"%d" % key
            child.result(status)
            for more in range(key + 1, key + 4):
                blobs[more] = b"%d" % more
                graph.upsert(more, more)
            key += 4
    tx.commit()
    assert db.check()["graphs"] == {"g": 3 + 3 * (key - 1000) // 4}
    # A copy without a close, as after a killed process.
    image = tmp_path / "image"
    subprocess.run(["cp", "-r", folder, image], check=True)
    for path in (image, folder):
        if path == folder:
            db.close()
        with quipu.open(path) as again:
            found = again.blobs("b")
            assert [found.get(k) for k in range(1000, key)] == [b"%d" % k for k in range(1000, key)]
            assert (found[1], found[10**6]) == (b"one", b"the transaction's")
            assert again.graph("g").number_of_edges() == 3 + 3 * (key - 1000) // 4
            again.check()
    assert not (tmp_path / "backup").exists()
    assert not (tmp_path / "out.csv").exists()


PROGRAM = """
import gc, os, sys, threading, quipu
path, how = sys.argv[1:]
db = quipu.open(path)
blobs = db.blobs("b")
blobs[0] = b"0"
stream = db.stream("?[a] := a in int_range(1000000)")
next(iter(stream))
tx = db.transaction()
tx.blobs("b")[99] = b"99"
child = os.fork()
if child == 0:
    if how == "exit":
        sys.exit(0)          # finalizers run, objects are collected
    if how == "raise":
        raise SystemExit(0)
    if how == "del":
        del db, blobs, stream, tx
        gc.collect()
        sys.exit(0)
    if how == "global":
        import atexit
        atexit.register(db.close)
        sys.exit(0)
    if how == "thread":
        thread = threading.Thread(target=db.close)
        thread.start()
        thread.join()
        sys.exit(0)
assert os.waitpid(child, 0)[1] == 0, "how the child ended"
for key in (1, 2, 3):
    blobs[key] = b"%d" % key
tx.commit()
os._exit(0)
"""


@pytest.mark.parametrize("how", ["exit", "raise", "del", "global", "thread"])
def test_a_child_that_ends_as_programs_do_costs_no_commit(how: str, folder: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder), how]
    ended = subprocess.run(command, check=False, timeout=4 * SILENCE_S, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    with quipu.open(folder) as db:
        assert sorted(db.blobs("b").keys()) == [0, 1, 2, 3, 99]
        db.check()


def test_children_of_a_process_with_busy_threads_end(folder: Path) -> None:
    stop = threading.Event()
    written: list[int] = []
    with quipu.open(folder, durability="os", threads=2) as db:
        counters = db.counters("c")

        def work() -> None:
            count = 0
            while not stop.is_set():
                counters.add_many([count % 50] * 20)
                count += 20
                if count % 1000 == 0:
                    db.flush()
            written.append(count)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(30):

                def everything() -> None:
                    for attempt in (lambda: counters.add(1), db.flush, db.stats, lambda: counters[1]):
                        with pytest.raises(quipu.ForkedError):
                            attempt()
                    db.close()

                in_child(everything)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    with quipu.open(folder) as db:
        assert sum(number for _, number in db.counters("c").scan(count=1000).rows()) == sum(written)


# --- children that open for themselves ---------------------------------------------------------


def open_and_count(path: Path, *, read_only: bool) -> str:
    """The number of blobs, or why it is not known."""
    try:
        with quipu.open(path, read_only=read_only) as db:
            return str(len(db.blobs("b")))
    except quipu.Error as error:
        return f"{type(error).__name__} {error}"


def test_a_child_opens_what_its_parent_has_closed_and_reads_beside_it(folder: Path) -> None:
    db = quipu.open(folder)
    fill(db)
    locked, beside = in_child(lambda: [open_and_count(folder, read_only=False), open_and_count(folder, read_only=True)])
    assert locked.startswith("LockedError ")
    assert f"process {os.getpid()} " in locked
    assert beside == "3"
    db.close()
    assert in_child(lambda: open_and_count(folder, read_only=False)) == "3"
    with quipu.open(folder) as db:
        db.check()


def test_a_child_that_outlives_its_killed_parent_does_not_hold_the_folder(folder: Path) -> None:
    reader, writer = os.pipe()
    held: list[quipu.Database] = []

    def parent() -> int:
        db = quipu.open(folder)
        held.append(db)  # stays open until the kill
        fill(db)
        child = os.fork()
        if child == 0:
            # Runs until the test closes its end.
            os.close(writer)
            os.close(Child.report)
            os.read(reader, 1)
            db.close()
            os._exit(0)
        return child

    orphan = Child(parent, lambda: os.kill(os.getpid(), signal.SIGKILL)).result(signal.SIGKILL)
    os.kill(orphan, 0)  # it is there
    with quipu.open(folder) as db:
        db.blobs("b")[4] = b"four"
        os.close(writer)
        os.close(reader)
        db.blobs("b")[5] = b"five"
    with quipu.open(folder) as db:
        assert len(db.blobs("b")) == 5
        db.check()


def test_a_daemon_opens_after_its_last_fork(folder: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"

    def daemonise() -> None:
        with quipu.open(folder) as db:
            fill(db)
            inherited = db.blobs("b")
        os.setsid()
        if os.fork() > 0:
            return
        os.chdir("/")
        for descriptor in range(3, 256):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        seen = "no error"
        try:
            inherited.put(1, b"no")
        except quipu.Error as error:
            seen = type(error).__name__
        with quipu.open(folder) as db:
            gc.collect()
            db.blobs("b")[4] = b"four"
            db.flush()
            db.check()
        told.with_suffix(".tmp").write_text(seen)
        told.with_suffix(".tmp").rename(told)
        os._exit(0)

    in_child(daemonise)
    deadline = time.monotonic() + SILENCE_S
    while not told.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert told.read_text() == "ForkedError"
    with quipu.open(folder) as db:
        assert len(db.blobs("b")) == 4


def test_a_program_that_a_child_runs_inherits_no_file(folder: Path) -> None:
    look = """
import os, sys, quipu
try:
    quipu.open(sys.argv[1])
except quipu.LockedError:
    pass
else:
    sys.exit("not locked")
if os.path.isdir("/proc/self/fd"):
    names = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    links = [os.readlink(name) for name in names if os.path.lexists(name)]
    sys.exit(", ".join(link for link in links if sys.argv[1] in link) or 0)
"""
    command = [sys.executable, "-c", look, str(folder)]
    with quipu.open(folder, durability="os") as db:
        fill(db)
        db.flush()
        pid = os.fork()
        if pid == 0:
            os.execv(sys.executable, command)
        assert os.waitpid(pid, 0)[1] == 0
        assert subprocess.run(command, check=False).returncode == 0
        db.blobs("b")[4] = b"four"


def test_preloading_masters_and_their_workers(folder: Path) -> None:
    with quipu.open(folder) as db:
        fill(db)

    class App:
        def __init__(self) -> None:
            self.db = quipu.open(folder)

        def request(self) -> int:
            return self.db.graph("g").number_of_edges()

    # The application opened it in the master: each worker gets the error at its first request.
    app = App()

    def refused() -> str:
        try:
            return str(app.request())
        except quipu.ForkedError as error:
            return str(error).splitlines()[0]

    workers = [Child(refused) for _ in range(3)]
    assert all(f"opened in process {os.getpid()}" in worker.result() for worker in workers)
    assert app.request() == 3
    app.db.close()

    # Each worker opens it itself, after the fork.
    def post_fork() -> int:
        app.db = quipu.open(folder, read_only=True)
        return app.request()

    workers = [Child(post_fork) for _ in range(3)]
    assert [worker.result() for worker in workers] == [3, 3, 3]


# --- pickling, copying and callbacks ------------------------------------------------------------


def test_what_belongs_to_a_process_says_so_where_it_is_pickled_or_copied(folder: Path) -> None:
    with quipu.open(folder) as db:
        fill(db)
        iterators = {"BlobItems", "DocumentItems", "KeyIterator"}
        for value in live_objects(db):
            kind = type(value).__name__
            match = "cannot pickle" if kind in iterators else rf"a {kind} belongs to the process.*\nhint: send the path"
            for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match=match):
                    attempt(value)
    error = pickle.loads(pickle.dumps(quipu.ForkedError("as it was")))
    assert isinstance(error, quipu.ForkedError)
    assert str(error) == "as it was"


def test_a_callback_may_fork_a_child_that_ends_there(folder: Path) -> None:
    with quipu.open(folder) as db:
        fill(db)
        statuses: list[int] = []

        def rule(_inputs: Any, _options: Any) -> list[list[int]]:
            pid = os.fork()
            if pid == 0:
                try:
                    db.run("?[a] <- [[1]]")
                except quipu.ForkedError:
                    os._exit(0)
                os._exit(1)
            statuses.append(os.waitpid(pid, 0)[1])
            return [[1]]

        db.register_fixed_rule("Forks", 1, rule)
        assert list(db.run("x[a] <~ Forks() ?[a] := x[a]")) == [(1,)]
        db.run("x[a] <~ Forks() ?[k, v] := x[k], v = 9 :put r {k => v}")
        assert statuses == [0, 0]
    with quipu.open(folder) as db:
        assert (1, 9) in list(db.relation("r"))
