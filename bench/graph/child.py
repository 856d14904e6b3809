"""One round of one database, in a process of its own: import, compare, measure, compare again.

Started by ``run.py`` with the path of a pickled `Task`; writes JSON lines to the task's output file. A line has
either ``operation`` and what was measured, or ``failed`` and why; nothing is measured after a failure.
"""

from __future__ import annotations

import json
import math
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import adapters
from adapters.base import Adapter, Batch, EdgeTuples, Settings, edge_list
from edges import EdgeFile, read_frame
from measure import Usage, folder_bytes, peak_memory_bytes, reset_peak_memory
from sample import Answers, Questions

BASELINES = ("parse-python", "parse-polars")
CHUNK_ITEMS_MAX = 1024


@dataclass(frozen=True)
class Task:
    """The task of one process."""

    peer: str
    file: EdgeFile
    questions: Path
    vertices: Path
    folder: Path
    output: Path
    settings: Settings
    batch: int
    many: int
    read_cap_s: float
    write_cap_s: float
    import_cap_s: int


class Mismatch(Exception):
    """The database gave a wrong answer."""


class Round:
    """The steps of a round; writes their results."""

    def __init__(self, task: Task) -> None:
        self.task = task
        questions: Questions = pickle.loads(task.questions.read_bytes())
        self.questions = questions

    def report(self, operation: str, **fields: Any) -> None:
        """Append one line to the output."""
        with self.task.output.open("a") as out:
            out.write(json.dumps({"operation": operation, **fields}) + "\n")

    def measure(self, operation: str, work: Callable[[], tuple[int, float | None]], **fields: Any) -> int:
        """Run `work` and report its rate.

        `work` returns the number of items that it completed and, optionally, its own wall time.
        """
        reset_peak_memory()
        start = Usage.now()
        items, wall_s = work()
        usage = Usage.now().since(start, wall_s)
        rate = items / usage["wall_s"]
        self.report(operation, items=items, rate=rate, peak_memory_bytes=peak_memory_bytes(), **usage, **fields)
        return items

    def run(self) -> None:
        """Run all steps of the round."""
        task = self.task
        if task.peer in BASELINES:
            parse = _parse_with_python if task.peer == "parse-python" else _parse_with_polars
            self.measure("import", lambda: (parse(task.file), None))
            return
        peer = adapters.load(task.peer)(task.folder, task.settings)
        # The kernel kills this process if the import takes longer; the parent recognizes the
        # signal.
        signal.alarm(task.import_cap_s)
        peer.open()
        self.measure("import", lambda: (peer.import_edges(task.file) or self.questions.rows, None))
        start = time.perf_counter()
        peer.close()
        signal.alarm(0)
        close_s = time.perf_counter() - start
        disk_bytes = folder_bytes(task.folder)
        edges = self.questions.answers.total[0]
        self.report("closed", wall_s=close_s, disk_bytes=disk_bytes, bytes_per_edge=disk_bytes / edges)
        peer.open()
        self.report("opened", version=peer.version())
        self.compare(peer)
        self.reads(peer)
        self.writes(peer)
        peer.close()

    def reads(self, peer: Adapter) -> None:
        """Measure operations 2 to 7."""
        pairs = self.questions.edges_to_query
        nodes = [(v,) for v in self.questions.nodes_to_query]
        cap_s = self.task.read_cap_s
        calls: list[tuple[str, Callable[..., object], Sequence[tuple[int, ...]]]] = [
            ("find_edge", peer.edge, pairs),
            ("find_ingoing", peer.in_edges, nodes),
            ("find_connected", peer.edges, nodes),
            ("find_friends", peer.neighbors, nodes),
            ("count_friends", peer.degree, nodes),
            ("count_followers", peer.in_degree, nodes),
        ]
        peer.begin_reads()
        for operation, call, items in calls:
            self.measure(operation, lambda call=call, items=items: timed(call, items, cap_s))
        names = {"edge": calls[0], "in_edges": calls[1], "edges": calls[2]}
        names |= {"neighbors": calls[3], "degree": calls[4], "in_degree": calls[5]}
        for name, call in peer.many().items():
            operation, _, items = names[name]
            columns = np.array(items, dtype=np.uint64).T.copy()
            chunks = [tuple(columns[:, i : i + self.task.many]) for i in range(0, len(items), self.task.many)]
            self.measure(f"{operation}_many", lambda call=call, chunks=chunks: timed_chunks(call, chunks, cap_s))
        peer.end_reads()

    def writes(self, peer: Adapter) -> None:
        """Measure operations 8 to 11, each followed by a comparison that is not timed."""
        changes = self.questions.edges_to_change
        pairs = [(u, v) for u, v, _ in changes]
        batches = [Batch.of(changes[i : i + self.task.batch]) for i in range(0, len(changes), self.task.batch)]

        def batched(call: Callable[[Batch], None]) -> tuple[int, float]:
            start = time.perf_counter()
            for batch in batches:
                call(batch)
            return len(changes), time.perf_counter() - start

        def absent(removed: int) -> None:
            peer.begin_reads()
            for u, v in pairs[: removed : max(1, removed // 200)]:
                expect("edge after its removal", (u, v), peer.edge(u, v), None)
            peer.end_reads()

        cap_s = self.task.write_cap_s or math.inf
        removed = self.measure("remove_edge", lambda: timed(peer.remove, pairs, cap_s))
        absent(removed)
        restored = self.measure("upsert_edge", lambda: timed(peer.upsert, changes, cap_s))
        if restored < len(changes):
            peer.upsert_batch(Batch.of(changes[restored:]))
        self.compare(peer)
        self.measure("remove_batch", lambda: batched(peer.remove_batch), batch=self.task.batch)
        absent(len(pairs))
        self.measure("upsert_batch", lambda: batched(peer.upsert_batch), batch=self.task.batch)
        self.compare(peer)
        count, total = self.questions.answers.total
        for found in peer.totals(np.load(self.task.vertices)):
            expect_sums("all edges after the writes", None, found, (count, total))
        self.report("finished", disk_bytes=folder_bytes(self.task.folder))

    def compare(self, peer: Adapter) -> None:
        """Compare every kind of answer with the reference."""
        answers = self.questions.answers
        peer.begin_reads()
        for u, v, weight in answers.edge:
            expect("edge", (u, v), peer.edge(u, v), weight)
        for v, rows in answers.in_edges:
            expect("in_edges", v, edge_list(peer.in_edges(v)), rows)
        for v, rows in answers.edges:
            expect("edges", v, edge_list(peer.edges(v)), rows)
        for v, ids in answers.neighbors:
            expect("neighbors", v, sorted(int(u) for u in peer.neighbors(v)), ids)
        for v, count, total in answers.degree:
            expect_sums("degree", v, peer.degree(v), (count, total))
        for v, count, total in answers.in_degree:
            expect_sums("in_degree", v, peer.in_degree(v), (count, total))
        compare_many(peer, answers)
        peer.end_reads()


def timed(call: Callable[..., object], items: Sequence[tuple[Any, ...]], cap_s: float) -> tuple[int, float]:
    """Call with each item until all are done or the time is up; return completed items and seconds.

    The clock is read once per chunk. Chunks grow while they take less than 10 ms, so that reading
    the clock costs a fast database nothing, and a slow one stops in time.
    """
    done, size = 0, 1
    start = before = time.perf_counter()
    while done < len(items):
        chunk = items[done : done + size]
        for item in chunk:
            call(*item)
        done += len(chunk)
        now = time.perf_counter()
        if now - start > cap_s:
            break
        if now - before < 0.010:
            size = min(2 * size, CHUNK_ITEMS_MAX)
        before = now
    return done, time.perf_counter() - start


def timed_chunks(call: Callable[..., object], chunks: Sequence[tuple[Any, ...]], cap_s: float) -> tuple[int, float]:
    """As `timed`, for calls that take arrays; items are the elements of the arrays."""
    done = 0
    start = time.perf_counter()
    for chunk in chunks:
        call(*chunk)
        done += len(chunk[0])
        if time.perf_counter() - start > cap_s:
            break
    return done, time.perf_counter() - start


def compare_many(peer: Adapter, answers: Answers) -> None:
    """Compare the calls that take many items at once with the reference."""
    many = peer.many()
    if "edge" in many:
        us, vs = (np.array([row[i] for row in answers.edge], np.uint64) for i in range(2))
        expect("edge_many", None, _floats(many["edge"](us, vs)), [weight for _, _, weight in answers.edge])
    nodes = np.array([v for v, _ in answers.edges], np.uint64)
    expected: EdgeTuples
    for name, rows in (("in_edges", answers.in_edges), ("edges", answers.edges)):
        if name in many:
            offsets, *columns = many[name](nodes)
            for i, (v, expected) in enumerate(rows):
                own = slice(int(offsets[i]), int(offsets[i + 1]))
                src, dst, weight = (np.asarray(column)[own] for column in columns)
                expect(f"{name}_many", v, edge_list((src, dst, weight)), expected)
    if "neighbors" in many:
        offsets, ids = many["neighbors"](nodes)
        for i, (v, expected_ids) in enumerate(answers.neighbors):
            expect("neighbors_many", v, sorted(np.asarray(ids)[offsets[i] : offsets[i + 1]].tolist()), expected_ids)
    for name, sums in (("degree", answers.degree), ("in_degree", answers.in_degree)):
        if name in many:
            counts, totals = many[name](nodes)
            for (v, count, total), *found in zip(sums, _floats(counts), _floats(totals), strict=True):
                expect_sums(f"{name}_many", v, (int(found[0]), found[1]), (count, total))


def _floats(values: Iterable[Any]) -> list[float]:
    return np.asarray(values, dtype=np.float64).tolist()


def expect(what: str, item: object, found: object, wanted: object) -> None:
    """Raise `Mismatch` unless both are equal."""
    if found != wanted:
        raise Mismatch(f"{what}({item}): found {_short(found)}, the reference has {_short(wanted)}")


def expect_sums(what: str, item: object, found: tuple[int, float], wanted: tuple[int, float]) -> None:
    """As `expect` for (count, sum); a sum of floats depends on the order, so it may differ in the last digits."""
    if int(found[0]) != wanted[0] or not math.isclose(float(found[1]), wanted[1], rel_tol=1e-9, abs_tol=1e-6):
        raise Mismatch(f"{what}({item}): found {found}, the reference has {wanted}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 200 else f"{text[:200]}..."


def _parse_with_python(file: EdgeFile) -> int:
    count, total = 0, 0.0
    separator = file.separator
    with file.path.open() as lines:
        if file.header:
            next(lines)
        for line in lines:
            if file.comment and line.startswith(file.comment):
                continue
            fields = line.split(separator)
            _src, _dst = int(fields[0]), int(fields[1])
            total += float(fields[2]) if len(fields) > 2 else 1.0
            count += 1
    return count


def _parse_with_polars(file: EdgeFile) -> int:
    return len(read_frame(file))


def main() -> int:
    """Run the task whose path is the only argument; return 0 unless it failed."""
    task: Task = pickle.loads(Path(sys.argv[1]).read_bytes())
    this_round = Round(task)
    try:
        this_round.run()
    except Exception as error:  # noqa: BLE001, whatever a client throws ends this peer's round, and the report says so
        traceback.print_exc()
        with task.output.open("a") as out:
            out.write(json.dumps({"failed": f"{type(error).__name__}: {error}"}) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    # A pickled Task names this module as its parent imported it.
    sys.modules["child"] = sys.modules["__main__"]
    sys.exit(main())
