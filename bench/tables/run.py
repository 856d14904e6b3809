"""Everyday questions to tables: Quipu beside DuckDB and SQLite, with the same indexes.

    python bench/tables/run.py --posts 200000 --rounds 5 --out bench/data/tables
    python bench/tables/run.py --posts 2000000 --on disk

Each engine is a process of its own. All engines answer a question before the next one comes, each
round in another order; a figure is the median of the rounds. Before a figure counts, the results
are compared with Quipu's: floats by a relative error of 1e-9. A question of less than a
millisecond is asked twenty times more by itself, and the median counts. On disk, all databases are
opened again at the end, and the first call of each question is timed, too (the page cache of the
system stays warm).

The peak is what the process of the engine took in addition while it answered, by the kernel.

This interpreter needs Quipu and its peers (`pip install -r bench/tables/requirements.txt`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import data
from engines import ENGINES, Engine
from questions import TARGETS, Question, all_questions

HERE = Path(__file__).parent

REPEATS = 20
"""Further calls of a question that takes less than a millisecond."""


# In the process of an engine.


def memory_kib(field: str) -> int:
    """A figure of this process, such as VmHWM."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    return 0


def digest(question: Question, found: Any) -> list[Any]:
    """The compared values: the rows, or of an Arrow table their number and sums of columns."""
    if question.group == "change":
        return []
    if question.as_arrow:
        import pyarrow as pa
        import pyarrow.compute as pc

        sums: list[Any] = [found.num_rows]
        for column in found.columns:
            is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
            sums.append(pc.sum(pc.binary_length(column) if is_text else column).as_py())
        return sums
    rows = [list(row) for row in found]
    return rows if question.is_ordered else sorted(rows, key=lambda row: [str(cell) for cell in row])


def answer(engine: Engine, question: Question, repeats: bool) -> dict[str, Any]:
    """Asks once, and takes a change back; `repeats`: a short question is asked more often."""
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_kib("VmRSS")
    start = time.perf_counter()
    found = engine.ask(question)
    spent = time.perf_counter() - start
    peak = memory_kib("VmHWM") - before
    rows = digest(question, found)
    if question.undo:
        engine.undo(question.undo)
    elif repeats and spent < 1e-3:
        # Otherwise the figure is that of caches which the other engines have filled.
        times = [spent]
        for _ in range(REPEATS):
            start = time.perf_counter()
            engine.ask(question)
            times.append(time.perf_counter() - start)
        spent = statistics.median(times)
    return {"ms": spent * 1e3, "peak_kib": peak, "rows": rows}


def serve(name: str) -> None:
    """Answers lines of standard input: the counterpart of `Child`."""
    spec = json.loads(sys.stdin.readline())
    folder = Path(spec["folder"]) if spec["folder"] else None
    questions = {question.name: question for question in all_questions(spec["posts"])}
    engine = ENGINES[name](folder, spec["memory"])
    start = time.perf_counter()
    engine.load(Path(spec["data"]))
    print(json.dumps({"load_s": time.perf_counter() - start}), flush=True)
    has_answered = True
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked == "reopen":
                has_answered = False
                engine.close()
                start = time.perf_counter()
                engine = ENGINES[name](folder, spec["memory"])
                reply: dict[str, Any] = {"ms": (time.perf_counter() - start) * 1e3}
            else:
                reply = answer(engine, questions[asked], has_answered)
        except Exception as error:  # noqa: BLE001 - the other process reports it
            reply = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        print(json.dumps(reply), flush=True)
    engine.close()


# In the process that compares.


class Child:
    """An engine in a process of its own."""

    def __init__(self, name: str, spec: dict[str, Any]) -> None:
        """Starts to load."""
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "run.py"), "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.send(spec)

    def send(self, message: Any) -> None:
        """Sends a line."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def reply(self) -> dict[str, Any]:
        """Waits for a line."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with {self.process.wait()}")
        return json.loads(line)

    def call(self, message: Any) -> dict[str, Any]:
        """Sends a line and waits for its reply."""
        self.send(message)
        return self.reply()

    def end(self) -> None:
        """Ends the process."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, but for the last bits of floats."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) or isinstance(other, float):
        return (one is None) == (other is None) and (one is None or math.isclose(one, other, rel_tol=1e-9))
    return one == other


def rounds(children: Sequence[Child], question: Question, count: int, limit_ms: float) -> dict[str, Any]:
    """Asks all engines in turn. An engine that takes longer than the limit is asked once."""
    found: dict[str, list[dict[str, Any]]] = {child.name: [] for child in children}
    for number in range(count + 1):
        shift = number % len(children)
        for child in [*children[shift:], *children[:shift]]:
            answers = found[child.name]
            if answers and ("error" in answers[-1] or answers[-1]["ms"] > limit_ms):
                continue
            answers.append(child.call(question.name))
    return {name: summary(answers) for name, answers in found.items()}


def summary(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Median and extremes; the first answer warms up, if there are others."""
    if "error" in answers[-1]:
        return answers[-1]
    timed = answers[1:] or answers
    times = sorted(answer["ms"] for answer in timed)
    return {
        "ms": statistics.median(times),
        "least_ms": times[0],
        "most_ms": times[-1],
        "peak_kib": max(answer["peak_kib"] for answer in timed),
        "rows": answers[0]["rows"],
    }


def compare(question: Question, found: dict[str, Any]) -> None:
    """Withdraws the figures of engines with other results than the first one."""
    first = next(iter(found.values()))
    for name, one in found.items():
        if "error" not in one and "error" not in first and not same(first["rows"], one["rows"]):
            print(f"{question.name}: {name} has {str(one['rows'])[:200]}, not {str(first['rows'])[:200]}")
            one["error"] = "other result"
    for one in found.values():
        one.pop("rows", None)


def shown(ms: float | None) -> str:
    """A time in three digits."""
    if ms is None:
        return "-"
    return f"{ms:.3f}" if ms < 1 else f"{ms:.1f}" if ms < 100 else f"{ms:,.0f}"


def table(report: dict[str, Any]) -> str:
    """The report in Markdown."""
    names = list(report["load_s"])
    state = "on disk" if report["on"] == "disk" else "in memory"
    lines = [
        f"## {report['posts']:,} posts, {state}",
        "",
        "Loaded and indexed in " + ", ".join(f"{name} {report['load_s'][name]:.1f} s" for name in names) + ".",
        "",
        "| question | "
        + " | ".join(f"{name}, ms" for name in names)
        + " | ratio to the best peer | aim | "
        + ("first call after opening, ms | " if report["on"] == "disk" else "")
        + "peak, MiB |",
        "| --- | "
        + " | ".join("---:" for _ in names)
        + " | ---: | ---: | "
        + ("---: | " if report["on"] == "disk" else "")
        + "---: |",
    ]
    for row in report["questions"]:
        ms = {name: row["found"][name].get("ms") if "error" not in row["found"][name] else None for name in names}
        peers = [value for name, value in ms.items() if name != "quipu" and value is not None]
        ratio = f"{ms['quipu'] / min(peers):.2f}" if ms["quipu"] is not None and peers else "-"
        cells = [row["question"], *(shown(ms[name]) for name in names), ratio, f"{TARGETS[row['group']]:.1f}"]
        if report["on"] == "disk":
            cells.append(" / ".join(shown(row.get("reopened", {}).get(name)) for name in names))
        cells.append(" / ".join(f"{row['found'][name].get('peak_kib', 0) / 1024:,.0f}" for name in names))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Loads, asks, and asks again after opening again."""
    source = args.data / f"{args.posts}-{args.seed}"
    data.write(source, args.posts, args.seed)
    children: list[Child] = []
    load_s: dict[str, float] = {}
    for name in args.engine:
        folder = args.data / f"{name}-{args.posts}"
        shutil.rmtree(folder, ignore_errors=True)
        if args.on == "disk" and name != "quipu":
            folder.mkdir(parents=True)
        spec = {
            "folder": str(folder) if args.on == "disk" else None,
            "posts": args.posts,
            "memory": args.memory,
            "data": str(source),
        }
        children.append(Child(name, spec))
        load_s[name] = children[-1].reply()["load_s"]
        print(f"{name} loaded in {load_s[name]:.1f} s", flush=True)
    questions = [q for q in all_questions(args.posts) if not args.only or args.only in q.name]
    report: dict[str, Any] = {"posts": args.posts, "on": args.on, "load_s": load_s, "questions": []}
    for question in questions:
        found = rounds(children, question, args.rounds, args.limit_ms)
        compare(question, found)
        report["questions"].append({"question": question.name, "group": question.group, "found": found})
        print(question.name, {name: one.get("error") or shown(one["ms"]) for name, one in found.items()}, flush=True)
    if args.on == "disk":
        for child in children:
            child.call("reopen")
        for row, question in zip(report["questions"], questions, strict=True):
            row["reopened"] = {child.name: child.call(question.name).get("ms") for child in children}
    for child in children:
        child.end()
        shutil.rmtree(args.data / f"{child.name}-{args.posts}", ignore_errors=True)
    return report


def main() -> None:
    """Measures, or serves an engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posts", type=int, default=200_000)
    parser.add_argument("--on", choices=["memory", "disk"], default="memory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", default="4GB", help="memory of each engine, such as 512MB or 4GB")
    parser.add_argument("--limit-ms", type=float, default=5_000, help="an engine that takes longer is asked once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--only", help="questions whose name contains this")
    parser.add_argument("--data", type=Path, default=HERE.parent / "data" / "tables")
    parser.add_argument("--out", type=Path, help="a folder for the report, as JSON and Markdown")
    parser.add_argument("--serve", choices=list(ENGINES), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve)
        return
    report = measure(args)
    report["machine"] = f"{platform.system()}, {os.cpu_count()} cores"
    text = table(report)
    print(text)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        stem = f"tables-{args.posts}-{args.on}"
        (args.out / f"{stem}.json").write_text(json.dumps(report, indent=1))
        (args.out / f"{stem}.md").write_text(text)


if __name__ == "__main__":
    main()
