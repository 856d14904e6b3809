"""Compares Quipu's times, and its answers, with those of Cozo and DuckDB, on random queries over random graphs.

Needs the release module, and an interpreter with the peers (`pip install -r fuzz/datalog/requirements.txt`):

    python fuzz/datalog/times.py --out times.jsonl --seeds 0:125 --queries 40
    python fuzz/datalog/times.py --out times.jsonl --report times.md

Instead of the module, `--quipu target/release/examples/times` takes our example, which is sooner built:
`cargo build --release -p quipu-session --example times`.

A seed is a graph (`shapes.py`); each has so many queries (`patterns.py`). Every engine is a process of its own with the
graph in memory. A query is *slow* if its fastest call takes more than twice the fastest peer's and 2 ms, and if the
same holds of medians when all engines are asked again in turn. What was asked before is not asked again: `--out` is
continued. `--graph SEED --query NUMBER` asks one query and prints what the engines say.

Engines that take longer than `--limit-s` are stopped and count as that long. Answers of peers that were stopped, or
that refuse a query, are not compared.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import select
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from patterns import Patterns, Query
from shapes import Graph, graph

ENGINES = ("quipu", "cozo", "duckdb")
CALLS = 3
ROUNDS = 3
SLACK_MS = 2.0
FACTOR = 2.0

Ask = Callable[[dict[str, Any]], list[Any]]


# Engines.


def rows_of(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Names of columns and rows of a file."""
    with path.open() as file:
        rows = csv.reader(file)
        headers = next(rows)
        return headers, [[int(cell) if cell.isdigit() else cell for cell in row] for row in rows]


def load_scripts(run: Callable[[str], Any], put: Callable[[Any], Any], folder: Path, spec: dict[str, Any]) -> None:
    """Makes the relations of an engine of scripts."""
    key = "String" if spec["is_text"] else "Int"
    run(f":create e {{a: {key}, b: {key}}}")
    run(f":create n {{id: {key} => k: Int}}")
    for name, file in (("e", "edges.csv"), ("n", "vertices.csv")):
        headers, rows = rows_of(folder / file)
        for start in range(0, len(rows), 100_000):
            put({name: {"headers": headers, "rows": rows[start : start + 100_000]}})
    if spec["has_reverse"]:
        run("::index create e:rev {b, a}")


def quipu(folder: Path, spec: dict[str, Any], limit_s: float) -> Ask:
    """Ours."""
    import quipu as engine

    database = engine.open(cache="512MB", memory_limit="1GB")
    load_scripts(database.run, database.import_relations, folder, spec)
    return lambda query: database.run(f"{query['script']}\n:timeout {limit_s}", query["params"]).rows()


def cozo(folder: Path, spec: dict[str, Any], limit_s: float) -> Ask:
    """Cozo 0.7.6."""
    from cozo_embedded import CozoDbPy

    database = CozoDbPy("mem", "", "{}")
    load_scripts(lambda script: database.run_script(script, {}, False), database.import_relations, folder, spec)
    return lambda query: database.run_script(f"{query['script']}\n:timeout {limit_s}", query["params"], True)["rows"]


def duckdb(folder: Path, spec: dict[str, Any], limit_s: float) -> Ask:
    """DuckDB, with an index for each order that the scripts' relations have."""
    import duckdb as engine

    key = "varchar" if spec["is_text"] else "bigint"
    connection = engine.connect()
    connection.execute("set threads to 2")
    connection.execute(f"create table e (a {key}, b {key})")
    connection.execute(f"create table n (id {key} primary key, k bigint)")
    connection.execute(f"insert into e select * from read_csv('{folder}/edges.csv', header=true)")
    connection.execute(f"insert into n select * from read_csv('{folder}/vertices.csv', header=true)")
    connection.execute("create index by_a on e (a)")
    if spec["has_reverse"]:
        connection.execute("create index by_b on e (b)")

    def ask(query: dict[str, Any]) -> list[Any]:
        if query["sql"] is None:
            raise NotImplementedError
        timer = threading.Timer(limit_s, connection.interrupt)
        timer.start()
        try:
            return connection.execute(query["sql"]).fetchall()
        finally:
            timer.cancel()

    return ask


def serve(name: str) -> None:
    """Answers from standard input: the other end of `Engine`. The first line is what to load."""
    spec = json.loads(sys.stdin.readline())
    limit_s = spec["limit_s"]
    ask = {"quipu": quipu, "cozo": cozo, "duckdb": duckdb}[name](Path(spec["folder"]), spec, limit_s)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        query = json.loads(line)
        found: dict[str, Any] = {"ms": []}
        begin = time.perf_counter()
        while len(found["ms"]) < query["calls"] and time.perf_counter() - begin < limit_s / 4:
            start = time.perf_counter()
            try:
                rows = ask(query)
            except BaseException as error:  # noqa: BLE001 - a panic is no Exception
                found = {"ms": [(time.perf_counter() - start) * 1e3], "error": str(error)[:300] or repr(error)}
                break
            found["ms"].append((time.perf_counter() - start) * 1e3)
            found["rows"], found["digest"] = len(rows), digest(rows)
        print(json.dumps(found), flush=True)


def digest(rows: list[Any]) -> str:
    """The same for the same rows in whatever order."""
    texts = sorted(json.dumps([plain(value) for value in row]) for row in rows)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def plain(value: Any) -> Any:
    """Whole floats and decimals as integers: kinds of numbers are not what is compared here."""
    if isinstance(value, str) or value is None:
        return value
    return int(value) if float(value).is_integer() else float(value)


class Engine:
    """A process that answers; it is started and loaded again after it hung or died."""

    def __init__(self, name: str, python: str, limit_s: float) -> None:
        """Starts nothing yet."""
        self.name, self.python, self.limit_s = name, python, limit_s
        self.process: subprocess.Popen[bytes] | None = None
        self.spec: dict[str, Any] = {}

    def load(self, folder: Path, of: Graph) -> None:
        """Prepares for a graph."""
        self.stop()
        self.spec = {
            "folder": str(folder),
            "is_text": of.is_text,
            "has_reverse": of.has_reverse,
            "limit_s": self.limit_s,
        }

    def ask(self, query: Query, calls: int) -> dict[str, Any]:
        """Times of some calls and the answer, or an error."""
        if self.process is None:
            # The example answers by itself; an interpreter does so with this file.
            is_example = Path(self.python).name == "times"
            command = [self.python] if is_example else [self.python, __file__, "--serve", self.name]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            if self.exchange(self.spec, 600) is None:
                sys.exit(f"{self.name} does not load the graph: is it installed in {self.python}?")
        asked = {"script": query.script, "params": query.params, "sql": query.sql, "calls": calls}
        found = self.exchange(asked, 2 * self.limit_s + 1)
        if found is None:
            return {"ms": [self.limit_s * 1e3], "error": "hang or crash"}
        if "answer" in found:
            rows = found.pop("answer")
            found |= {"rows": len(rows), "digest": digest(rows)}
        return found

    def exchange(self, message: dict[str, Any], limit_s: float) -> dict[str, Any] | None:
        """The answer to a message; nothing if there is none in time."""
        assert self.process
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            return None
        if select.select([self.process.stdout], [], [], limit_s)[0] and (line := self.process.stdout.readline()):
            return json.loads(line)
        self.stop()
        return None

    def stop(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


# Judging.


def is_answer(found: dict[str, Any]) -> bool:
    """Whether there are rows."""
    return "error" not in found


def is_slow(ours: float, found: dict[str, dict[str, Any]], of: Callable[[list[float]], float]) -> bool:
    """Whether a time of ours is over twice the best peer's and the slack."""
    peers = [of(found[name]["ms"]) for name in ENGINES[1:] if name in found and is_answer(found[name])]
    return bool(peers) and ours > FACTOR * min(peers) + SLACK_MS


def judge(engines: dict[str, Engine], query: Query) -> dict[str, Any]:
    """Asks all engines, and again in turn where ours seems slow."""
    found = {name: engine.ask(query, CALLS) for name, engine in engines.items() if name != "duckdb" or query.sql}
    ours = found["quipu"]
    verdict = "fine"
    if not is_answer(ours) and not any(is_answer(found[name]) for name in found if name != "quipu"):
        verdict = "nobody answers"
    elif not is_answer(ours) and "timeout" not in str(ours["error"]) and "hang" not in str(ours["error"]):
        verdict = "error"
    elif is_answer(ours) and any(
        is_answer(found[name]) and found[name]["digest"] != ours["digest"] for name in found if name != "quipu"
    ):
        verdict = "answers differ"
    elif is_slow(min(ours["ms"]), found, min):
        again: dict[str, list[float]] = {name: [] for name in found}
        for _ in range(ROUNDS):
            for name in found:
                again[name] += engines[name].ask(query, CALLS)["ms"]
        for name, ms in again.items():
            found[name]["ms"] = ms
        if is_slow(statistics.median(ours["ms"]), found, statistics.median):
            verdict = "slow"
    first = found["quipu"]["ms"][0]
    if verdict == "fine" and is_slow(first, {name: {**one, "ms": one["ms"][:1]} for name, one in found.items()}, min):
        verdict = "slow at first"
    return {"verdict": verdict, "found": found}


# Running.


def records_of(path: Path) -> list[dict[str, Any]]:
    """What was asked before. A last line that was cut off is taken away."""
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [json.loads(line) for line in whole.splitlines()]


def run(args: argparse.Namespace) -> None:
    """Asks what was not asked yet."""
    done = set()
    if args.out.exists():
        done = {(record["seed"], record["number"]) for record in records_of(args.out)}
    first, last = (int(seed) for seed in args.seeds.split(":"))
    until = time.monotonic() + args.seconds
    engines = {name: Engine(name, getattr(args, name), args.limit_s) for name in ENGINES}
    counts: Counter[str] = Counter()
    try:
        for seed in range(first, last):
            if time.monotonic() >= until:
                break
            wanted = [number for number in range(args.queries) if (seed, number) not in done]
            if wanted:
                ask_graph(engines, seed, wanted, until, counts, args)
    finally:
        for engine in engines.values():
            engine.stop()
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))


def ask_graph(
    engines: dict[str, Engine],
    seed: int,
    numbers: list[int],
    until: float,
    counts: Counter[str],
    args: argparse.Namespace,
) -> None:
    """Asks queries of one graph."""
    of = graph(seed, args.edges_max)
    print(of.name, flush=True)
    with tempfile.TemporaryDirectory() as name, args.out.open("a") as out:
        folder = Path(name)
        of.write(folder)
        for engine in engines.values():
            engine.load(folder, of)
        for number in numbers:
            if time.monotonic() > until:
                break
            query = Patterns(f"query {seed} {number}", of).query()
            judged = judge(engines, query)
            counts[judged["verdict"]] += 1
            record = {"seed": seed, "number": number, "graph": of.name, "shape": of.shape, "kind": query.kind}
            record |= {"script": query.script, "params": query.params, "sql": query.sql, **judged}
            out.write(json.dumps(record) + "\n")
            out.flush()
            if judged["verdict"] not in ("fine", "nobody answers", "slow at first"):
                print(f"  {number}: {judged['verdict']}: {times_of(judged['found'])}\n{indented(query)}", flush=True)


def times_of(found: dict[str, dict[str, Any]]) -> str:
    """Medians in milliseconds."""
    return ", ".join(
        f"{name} {statistics.median(one['ms']):.2f}{'' if is_answer(one) else ' (' + one['error'][:60] + ')'}"
        for name, one in found.items()
    )


def indented(query: Query) -> str:
    """A query to be read."""
    return "".join(f"      {line}\n" for line in [*query.script.splitlines(), str(query.params)])


def one(args: argparse.Namespace) -> None:
    """Asks one query and prints what is found."""
    of = graph(args.graph, args.edges_max)
    query = Patterns(f"query {args.graph} {args.query}", of).query()
    print(of.name, query.kind, query.script, query.params, query.sql, sep="\n")
    with tempfile.TemporaryDirectory() as name:
        of.write(Path(name))
        engines = {name: Engine(name, getattr(args, name), args.limit_s) for name in ENGINES}
        for engine in engines.values():
            engine.load(Path(name), of)
        judged = judge(engines, query)
        for name, found in judged["found"].items():
            print(name, found)
        print(judged["verdict"])
        for engine in engines.values():
            engine.stop()


def report(args: argparse.Namespace) -> None:
    """Writes a table of what was asked, and of every query that is not fine."""
    records = records_of(args.out)
    verdicts = Counter(record["verdict"] for record in records)
    lines = [f"{len(records)} queries: " + ", ".join(f"{count} {name}" for name, count in verdicts.most_common()), ""]
    shapes = sorted({record["shape"] for record in records})
    lines += ["| shape | queries | slow | slow at first | differ |", "| --- | ---: | ---: | ---: | ---: |"]
    for shape in shapes:
        of = Counter(record["verdict"] for record in records if record["shape"] == shape)
        numbers = [of.total(), of["slow"], of["slow at first"], of["answers differ"]]
        lines.append(f"| {shape} | {' | '.join(map(str, numbers))} |")
    lines += ["", "| verdict | graph | kind | query | ms |", "| --- | --- | --- | --- | --- |"]
    for record in records:
        if record["verdict"] in ("slow", "answers differ", "error"):
            script = record["script"].replace("\n", " ").replace("|", "\\|")
            where = f"{record['graph']} (query {record['number']})"
            times = times_of(record["found"]).replace("|", "\\|").replace("\n", " ")
            lines.append(
                f"| {record['verdict']} | {where} | {record['kind']} | `{script}` {record['params']} | {times} |"
            )
    args.report.write_text("\n".join(lines) + "\n")


def main() -> None:
    """Runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("times.jsonl"), help="where records go; it is continued")
    parser.add_argument("--report", type=Path, help="writes a table of the records, and asks nothing")
    parser.add_argument("--seeds", default="0:125", help="graphs, FROM:TO")
    parser.add_argument("--queries", type=int, default=40, help="of each graph")
    parser.add_argument("--seconds", type=float, default=1e9, help="stops after so many")
    parser.add_argument("--limit-s", type=float, default=3.0, help="seconds for a call")
    parser.add_argument("--edges-max", type=int, default=1_000_000)
    parser.add_argument("--graph", type=int, help="asks one query of this seed")
    parser.add_argument("--query", type=int, help="its number")
    parser.add_argument("--serve", choices=ENGINES, help=argparse.SUPPRESS)
    for name in ENGINES:
        parser.add_argument(f"--{name}", default=sys.executable, help=f"an interpreter that has {name}")
    args = parser.parse_args()
    if args.serve:
        serve(args.serve)
    elif args.report:
        report(args)
    elif args.graph is not None:
        one(args)
    else:
        run(args)


if __name__ == "__main__":
    main()
