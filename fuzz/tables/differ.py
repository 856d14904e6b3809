"""Compares results and times with DuckDB and SQLite, on random questions to random tables.

    python fuzz/tables/differ.py --out tables.jsonl --seeds 0:100 --questions 50
    python fuzz/tables/differ.py --out tables.jsonl --report tables.md

A seed is a few tables (`draw.py`) of up to 100,000 rows, with indexes that all engines have, and
questions. A question is *slow* if its fastest call takes more than twice the fastest peer's and
2 ms, also when it is asked again. Seeds that are in `--out` are skipped, so a run can go on.

Results are compared with SQLite's, then with DuckDB's: a peer that rejects a question or takes
longer than `--limit-s` is left out. This interpreter needs Quipu and DuckDB
(`pip install -r fuzz/tables/requirements.txt`).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import quipu
from draw import KINDS, Question, Questions, Table, tables

CALLS = 3
FACTOR = 2.0
SLACK_MS = 2.0

Ask = Callable[[Question], Any]


class TimeIsUpError(Exception):
    """An engine took too long."""


def in_quipu(found: Sequence[Table], limit_s: float) -> Ask:
    """Quipu in memory."""
    database = quipu.open(cache="512MB", memory_limit="2GB")
    for table in found:
        columns = [f"{c.name}: {c.kind}{'?' if c.is_nullable else ''}" for c in table.columns]
        keys, values = ", ".join(columns[: table.keys]), ", ".join(columns[table.keys :])
        database.run(f":create {table.name} {{{keys}{' => ' + values if values else ''}}}")
        headers = [column.name for column in table.columns]
        database.import_relations({table.name: {"headers": headers, "rows": [list(row) for row in table.rows]}})
        for number, names in enumerate(table.indexes):
            database.run(f"::index create {table.name}:by_{number} {{{', '.join(names)}}}")

    def ask(question: Question) -> Any:
        try:
            return database.run(f"{question.script} :timeout {limit_s}").rows()
        except quipu.LimitError as error:
            raise TimeIsUpError from error

    return ask


def create(execute: Callable[[str], Any], insert: Callable[[Table], Any], found: Sequence[Table]) -> None:
    """Creates the tables in an engine of SQL."""
    for table in found:
        columns = ", ".join(f"{column.name} {KINDS[column.kind]}" for column in table.columns)
        keys = ", ".join(column.name for column in table.columns[: table.keys])
        execute(f"create table {table.name} ({columns}, primary key ({keys}))")
        insert(table)
        for number, names in enumerate(table.indexes):
            execute(f"create index {table.name}_{number} on {table.name} ({', '.join(names)})")


def in_sqlite(found: Sequence[Table], limit_s: float) -> Ask:
    """SQLite in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)

    def insert(table: Table) -> None:
        places = ", ".join("?" * len(table.columns))
        connection.execute("begin")
        connection.executemany(f"insert into {table.name} values ({places})", table.rows)
        connection.execute("commit")

    create(connection.execute, insert, found)
    connection.execute("analyze")
    end = [0.0]
    connection.set_progress_handler(lambda: time.perf_counter() > end[0], 100_000)

    def ask(question: Question) -> Any:
        end[0] = time.perf_counter() + limit_s
        try:
            return connection.execute(question.sql.replace("{same}", "is")).fetchall()
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise TimeIsUpError from error
            raise

    return ask


def in_duckdb(found: Sequence[Table], limit_s: float) -> Ask:
    """DuckDB in memory, with two threads."""
    import pyarrow as pa

    connection = duckdb.connect()
    connection.execute("set threads to 2")
    connection.execute("set memory_limit = '2GB'")
    arrow = {"Int": pa.int64(), "Float": pa.float64(), "String": pa.string(), "Bool": pa.bool_()}

    def insert(table: Table) -> None:
        columns = list(zip(*table.rows, strict=True)) or [() for _ in table.columns]
        batch = pa.table(
            {c.name: pa.array(values, arrow[c.kind]) for c, values in zip(table.columns, columns, strict=True)}
        )
        connection.register("batch", batch)
        connection.execute(f"insert into {table.name} select * from batch")

    create(connection.execute, insert, found)

    def ask(question: Question) -> Any:
        timer = threading.Timer(limit_s, connection.interrupt)
        timer.start()
        try:
            return connection.execute(question.sql.replace("{same}", "is not distinct from")).fetchall()
        except duckdb.InterruptException as error:
            raise TimeIsUpError from error
        finally:
            timer.cancel()

    return ask


def plain(cell: Any) -> Any:
    """A cell as it is compared: numbers are floats, but for large integers; NaN is null."""
    if isinstance(cell, bool):
        return int(cell)
    if isinstance(cell, float):
        return None if math.isnan(cell) else int(cell) if cell.is_integer() else cell
    return cell


def normal(question: Question, rows: Any) -> list[tuple[Any, ...]]:
    """Rows as they are compared."""
    found = [tuple(plain(cell) for cell in row) for row in rows]
    if not question.is_ordered:
        found.sort(key=lambda row: [(str(type(cell)), str(cell)) for cell in row])
    return found


def same(one: Any, other: Any) -> bool:
    """Whether results are equal, but for the last bits of means and sums."""
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9)
    return one == other


def timed(ask: Ask, question: Question, calls: int, limit_s: float) -> tuple[list[float], Any]:
    """The times of a few calls in ms, and the rows, or the exception."""
    times: list[float] = []
    rows: Any = None
    begin = time.perf_counter()
    while len(times) < calls and time.perf_counter() - begin < limit_s / 4:
        start = time.perf_counter()
        try:
            rows = ask(question)
        except TimeIsUpError as error:
            return [limit_s * 1e3], error
        except Exception as error:  # noqa: BLE001 - reported
            return [(time.perf_counter() - start) * 1e3], error
        times.append((time.perf_counter() - start) * 1e3)
    return times, rows


def is_slow(best: dict[str, float]) -> bool:
    """Whether Quipu takes over twice the best peer's time and 2 ms."""
    peers = [ms for name, ms in best.items() if name != "quipu"]
    return bool(peers) and best["quipu"] > FACTOR * min(peers) and best["quipu"] > min(peers) + SLACK_MS


def compare(engines: dict[str, Ask], question: Question, limit_s: float) -> dict[str, Any]:
    """Asks all engines, and says what differs."""
    best: dict[str, float] = {}
    rows: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, ask in engines.items():
        times, found = timed(ask, question, CALLS, limit_s)
        if isinstance(found, Exception):
            errors[name] = f"{type(found).__name__}: {found}"[:300]
            if isinstance(found, TimeIsUpError):
                best[name] = times[0]
            continue
        best[name] = min(times)
        rows[name] = normal(question, found)
    kind = "ok"
    peers = [name for name in rows if name != "quipu"]
    if "quipu" not in rows:
        # A question that peers reject, too, such as one that overflows, is none.
        kind = ("stopped" if "quipu" in best else "error") if peers else "nobody"
    elif not peers:
        kind = "alone"
    elif not all(same(rows["quipu"], rows[name]) for name in peers):
        # Peers that differ from each other have another meaning; the sum of floats, say.
        kind = "differs" if not any(same(rows["quipu"], rows[name]) for name in peers) else "peers differ"
    elif is_slow(best):
        again: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(5):
            for name in again:
                again[name].append(timed(engines[name], question, 1, limit_s)[0][0])
        if is_slow({name: statistics.median(times) for name, times in again.items()}):
            kind = "slow"
    report = {"kind": kind, "ms": {name: round(ms, 3) for name, ms in best.items()}}
    if errors:
        report["errors"] = errors
    if kind not in ("ok", "alone", "nobody"):
        report |= {"script": question.script, "sql": question.sql}
    if kind in ("differs", "peers differ"):
        report["rows"] = {name: str(found[:3])[:300] for name, found in rows.items()}
    return report


def run_seed(seed: int, questions: int, limit_s: float, only: int | None) -> list[dict[str, Any]]:
    """All questions of a seed."""
    draw = random.Random(seed)
    found = tables(draw)
    engines = {
        "quipu": in_quipu(found, limit_s),
        "sqlite": in_sqlite(found, limit_s),
        "duckdb": in_duckdb(found, limit_s),
    }
    reports: list[dict[str, Any]] = []
    drawn = Questions(draw, found)
    for number in range(questions):
        question = drawn.question()
        if only is not None and number != only:
            continue
        report = {"seed": seed, "question": number, **compare(engines, question, limit_s)}
        if only is not None:
            print(question.script, question.sql, sep="\n")
            print(json.dumps(report, indent=1))
        reports.append(report)
    return reports


def summary(reports: Sequence[dict[str, Any]]) -> str:
    """A report in Markdown: counts, then all that is not as it should be."""
    kinds: dict[str, int] = {}
    for report in reports:
        kinds[report["kind"]] = kinds.get(report["kind"], 0) + 1
    lines = [f"{len(reports)} questions: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))]
    slow = [report for report in reports if report["kind"] == "slow"]
    slow.sort(key=lambda report: -report["ms"]["quipu"] / min(ms for n, ms in report["ms"].items() if n != "quipu"))
    for report in [r for r in reports if r["kind"] not in ("ok", "slow", "alone", "nobody")] + slow:
        times = ", ".join(f"{name} {ms:.1f}" for name, ms in report["ms"].items())
        lines += ["", f"{report['kind']}: seed {report['seed']}, question {report['question']}: {times} ms"]
        lines += [f"    {report['script']}"]
        lines += [f"    {name}: {text}" for name, text in report.get("errors", {}).items()]
        lines += [f"    {name}: {text}" for name, text in report.get("rows", {}).items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs seeds, or reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a file of JSON lines, continued")
    parser.add_argument("--seeds", default="0:10", help="first seed, and the one after the last")
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--only", type=int, help="one question of the first seed, printed")
    parser.add_argument("--limit-s", type=float, default=10)
    parser.add_argument("--seconds-max", type=float, default=math.inf)
    parser.add_argument("--report", type=Path, help="write a report of --out, and run nothing")
    args = parser.parse_args()
    lines = args.out.read_text().splitlines() if args.out.exists() else []
    reports = [json.loads(line) for line in lines]
    if args.report:
        args.report.write_text(summary(reports))
        return
    first, end = map(int, args.seeds.split(":"))
    if args.only is not None:
        run_seed(first, args.questions, args.limit_s, args.only)
        return
    done = {report["seed"] for report in reports}
    until = time.monotonic() + args.seconds_max
    for seed in range(first, end):
        if seed in done or time.monotonic() > until:
            continue
        found = run_seed(seed, args.questions, args.limit_s, None)
        reports += found
        with args.out.open("a") as file:
            file.writelines(json.dumps(report) + "\n" for report in found)
        print(f"seed {seed}: " + summary(found).splitlines()[0], flush=True)
    print(summary(reports))
    if any(report["kind"] in ("differs", "error") for report in reports):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
