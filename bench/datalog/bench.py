"""Times the Pokec queries of Memgraph's benchmark, as Cozo measured them, on several engines.

A social network is generated from a seed: users with ages, friendships whose targets follow a power
law, and, as in the original, the reversed pairs as a second relation for scripts. Each engine is a
process of its own with its data in memory, loaded once. Then rounds go through all engines in turn,
query by query: calls by one thread (whose median is the latency, whose number per second is the
throughput) and by two. Before a query is timed, the engines' numbers of rows are compared. Queries
that change data come after all rounds of read-only queries. Last come queries between changes:
three calls in ten change something, and the latency of the others is reported.

    python bench/datalog/bench.py --out DIR --engine quipu=PYTHON --engine cozo=PYTHON --engine duckdb=PYTHON

PYTHON is an interpreter with the engine's package; this one needs NumPy and Polars. The other
engines are compared with the first one. A query that takes an engine longer than `--limit-s` is not
run again.
"""

import argparse
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pokec import MIXED, MIXES, READS, WRITES, Query, change, drawn

THREADS = (1, 2)

BATCH = 100_000
"""Rows of a call that loads."""

RELATIONS = {
    "user": (
        "users.csv",
        ["uid", "cmpl_pct", "gender", "age"],
        "{uid: Int => cmpl_pct: Int, gender: String?, age: Int?}",
    ),
    "friends": ("friends.csv", ["fr", "to"], "{fr: Int, to: Int}"),
    "friends.rev": ("friends.rev.csv", ["to", "fr"], "{to: Int, fr: Int}"),
}
"""Of each relation its file, its columns, and how it is made."""


def generate(folder: Path, users: int, friendships: int, seed: int) -> None:
    """Writes users.csv and friends.csv, and a file with the reversed pairs."""
    import numpy as np
    import polars as pl

    draw = np.random.default_rng(seed)
    uid = np.arange(1, users + 1)
    ages = np.where(draw.random(users) < 0.25, -1, draw.integers(0, 80, users))
    frame = pl.DataFrame(
        {
            "uid": uid,
            "cmpl_pct": draw.integers(0, 100, users),
            "gender": np.where(draw.random(users) < 0.5, "man", "woman"),
            "age": pl.Series(ages).replace(-1, None),
        }
    )
    frame.write_csv(folder / "users.csv", include_header=False)
    # The square of a uniform number: a tenth of the users have a third of the friendships.
    fr = draw.integers(1, users + 1, friendships)
    to = (draw.random(friendships) ** 2 * users).astype(np.int64) + 1
    pairs = np.unique((fr << 32) | to)
    fr, to = pairs >> 32, pairs & 0xFFFF_FFFF
    pl.DataFrame({"fr": fr, "to": to}).write_csv(folder / "friends.csv", include_header=False)
    order = np.lexsort((fr, to))
    pl.DataFrame({"to": to[order], "fr": fr[order]}).write_csv(folder / "friends.rev.csv", include_header=False)


def batches(path: Path) -> Iterator[list[list[Any]]]:
    """Batches of a file's rows; numbers as integers, empty fields as None."""

    def cell(text: str) -> Any:
        return None if text == "" else int(text) if text.isdigit() else text

    rows: list[list[Any]] = []
    with path.open() as file:
        for line in file:
            rows.append([cell(text) for text in line.rstrip("\n").split(",")])
            if len(rows) == BATCH:
                yield rows
                rows = []
    yield rows


def load(run: Callable[[str], Any], put: Callable[[dict[str, Any]], Any], folder: Path) -> None:
    """Loads an engine of scripts with its call for puts."""
    for name, (file, columns, schema) in RELATIONS.items():
        run(f":create {name} {schema}")
        for rows in batches(folder / file):
            put({name: {"headers": columns, "rows": rows}})


def open_engine(name: str, folder: Path) -> Callable[[], Callable[[Query, int, int], int]]:
    """Loads an engine; returns a function that opens sessions.

    A session runs a query for a user and another one, and returns the number of rows.
    """
    if name == "quipu":
        import quipu

        # Enough for PageRank of the full set; a query gets a part of it.
        database = quipu.open(cache="1GB", memory_limit="4GB")
        load(database.run, database.import_relations, folder)
        return lambda: lambda query, user, other: len(database.run(query.script, {"id": user, "other": other}).rows())
    if name in ("cozo", "mnestic"):
        module = __import__({"cozo": "cozo_embedded", "mnestic": "mnestic"}[name])
        store = module.CozoDbPy("mem", "", "{}")
        load(lambda script: store.run_script(script, {}, False), store.import_relations, folder)

        def ask(query: Query, user: int, other: int) -> int:
            reads = ":put" not in query.script
            return len(store.run_script(query.script, {"id": user, "other": other}, reads)["rows"])

        return lambda: ask
    if name == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.execute("create table users (uid bigint primary key, cmpl_pct bigint, gender varchar, age bigint)")
        connection.execute('create table friends (fr bigint, "to" bigint)')
        connection.execute(f"insert into users select * from read_csv('{folder}/users.csv', header=false)")
        connection.execute(f"insert into friends select * from read_csv('{folder}/friends.csv', header=false)")
        connection.execute("create index by_fr on friends (fr)")
        connection.execute('create index by_to on friends ("to")')

        def duckdb_session() -> Callable[[Query, int, int], int]:
            cursor = connection.cursor()

            def ask(query: Query, user: int, other: int) -> int:
                assert query.sql
                return len(cursor.execute(query.sql, named(query.sql, user, other) or None).fetchall())

            return ask

        return duckdb_session
    if name == "ladybug":
        import ladybug

        # About prepared statements, which are the fastest way.
        warnings.simplefilter("ignore", DeprecationWarning)
        # The default of four fifths of the memory would leave too little for the others.
        database = ladybug.Database(buffer_pool_size=8 << 30)
        connection = ladybug.Connection(database)
        connection.execute(
            "CREATE NODE TABLE users(uid INT64, cmpl_pct INT64, gender STRING, age INT64, PRIMARY KEY(uid))"
        )
        connection.execute("CREATE REL TABLE friends(FROM users TO users)")
        connection.execute(f"COPY users FROM '{folder}/users.csv' (header=false)")
        connection.execute(f"COPY friends FROM '{folder}/friends.csv' (header=false)")

        def ladybug_session() -> Callable[[Query, int, int], int]:
            own = ladybug.Connection(database)
            prepared: dict[str, Any] = {}

            def ask(query: Query, user: int, other: int) -> int:
                assert query.cypher
                if query.cypher not in prepared:
                    prepared[query.cypher] = own.prepare(query.cypher)
                result = own.execute(prepared[query.cypher], named(query.cypher, user, other))
                return len(result.get_all())

            return ask

        return ladybug_session
    raise SystemExit(f"no engine {name}")


def named(text: str, user: int, other: int) -> dict[str, int]:
    """The parameters that the query uses."""
    return {name: value for name, value in (("id", user), ("other", other)) if f"${name}" in text}


def serve(name: str, folder: Path) -> None:
    """Answers requests from standard input, a line of JSON each: query, users, threads."""
    start = time.perf_counter()
    session = open_engine(name, folder)
    print(json.dumps({"loaded_s": time.perf_counter() - start}), flush=True)
    sessions = [session() for _ in THREADS]
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = answer_to(request, sessions)
        except Exception as error:  # noqa: BLE001  (an engine that fails is reported, whatever it raises)
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answer["peak_kb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps(answer), flush=True)


def answer_to(request: dict[str, Any], sessions: list[Callable[[Query, int, int], int]]) -> dict[str, Any]:
    """Runs the request's query for all its users, by its number of threads."""
    name, users, threads, most = request["query"], request["users"], request["threads"], request["most"]
    queries = READS | WRITES
    times: list[float] = []
    counts: list[int] = []
    failures: list[int] = []
    errors: list[str] = []

    def work(number: int) -> None:
        try:
            ask_all(number)
        except Exception as error:  # noqa: BLE001  (as above)
            errors.append(f"{type(error).__name__}: {error}")

    def ask_all(number: int) -> None:
        ask = sessions[number]
        for call, user in enumerate(users[number::threads]):
            changes = change(call) if name in MIXED else None
            query = queries[changes or (drawn(name, user) if name in MIXES else MIXED.get(name, name))]
            # A user that is written may be a new one.
            other = user * 7_919 % most + 1
            begun = time.perf_counter()
            for attempt in range(11):
                try:
                    counts.append(ask(query, user, other))
                    break
                except Exception:
                    # Two writers may conflict. An error that is not a conflict also occurs with one
                    # thread.
                    if threads == 1 or attempt == 10:
                        raise
                    failures.append(user)
            if not changes:
                times.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    if threads == 1:
        work(0)
    else:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    wall = time.perf_counter() - begun
    if errors:
        raise RuntimeError(f"by {threads} thread{'s' if threads > 1 else ''}: {errors[0]}")
    return {"times": times, "rows": sum(counts), "wall_s": wall, "again": len(failures)}


Figures = dict[str, dict[str, list[float]]]


def main() -> None:
    """Runs all queries on all engines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="folder for data and results")
    parser.add_argument(
        "--engine", action="append", default=[], help="NAME=PYTHON; quipu, cozo, mnestic, duckdb, ladybug"
    )
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--friendships", type=int, default=1_768_515)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="about how long a query is asked in a round")
    parser.add_argument("--limit-s", type=float, default=60.0, help="a call that takes longer is made once only")
    args = parser.parse_args()
    if args.serve:
        serve(args.serve, args.data)
        return
    args.out.mkdir(parents=True, exist_ok=True)
    generate(args.out, args.users, args.friendships, 1)
    engines: dict[str, subprocess.Popen[str]] = {}
    loaded: dict[str, float] = {}
    for one in args.engine:
        name, python = one.split("=", 1)
        command = [python, __file__, "--serve", name, "--data", str(args.out)]
        pipe = subprocess.PIPE
        engines[name] = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ)
        loaded[name] = ask(engines[name], None)["loaded_s"]
        print(f"{name}: loaded in {loaded[name]:.1f} s", file=sys.stderr)
    bench = Bench(args, engines)
    for round_ in range(args.rounds):
        for query in READS:
            bench.round(query, first=round_ == 0, largest=args.users)
    bench.note_peaks("reads")
    for round_ in range(args.rounds):
        for query in [*WRITES, *MIXES]:
            # Ten times the existing users: nine of ten writes create a new one.
            bench.round(query, first=round_ == 0, largest=args.users * (10 if query == "single_vertex_write" else 1))
    for round_ in range(args.rounds):
        for query in MIXED:
            bench.round(query, first=round_ == 0, largest=args.users)
    for process in engines.values():
        process.terminate()
    report(args, bench, loaded)


class Bench:
    """The engines and their results."""

    def __init__(self, args: argparse.Namespace, engines: dict[str, "subprocess.Popen[str]"]) -> None:
        """Starts without results."""
        self.args, self.engines = args, engines
        self.draw = random.Random(2)
        names = [*READS, *WRITES, *MIXES]
        self.medians: Figures = {query: {name: [] for name in engines} for query in [*names, *MIXED]}
        self.rates: dict[int, Figures] = {
            threads: {query: {name: [] for name in engines} for query in names} for threads in THREADS
        }
        self.calls: dict[tuple[str, str], int] = {}
        self.slow: set[tuple[str, str]] = set()
        self.errors: dict[tuple[str, str, int], str] = {}
        """Of a query, an engine, and how many threads asked."""
        self.peaks: dict[str, dict[str, int]] = {}
        self.again: dict[str, int] = dict.fromkeys(engines, 0)

    def request(self, name: str, query: str, users: list[int], threads: int) -> dict[str, Any] | None:
        """An engine's answer; None if it failed, which is recorded."""
        wanted = {"query": query, "users": users, "threads": threads, "most": self.args.users}
        answer = ask(self.engines[name], wanted)
        self.peaks.setdefault("all", {})[name] = answer["peak_kb"]
        if "error" in answer:
            self.errors[query, name, threads] = answer["error"]
            print(f"{query}: {name}: {answer['error']}", file=sys.stderr)
            return None
        self.again[name] += answer["again"]
        return answer

    def round(self, query: str, first: bool, largest: int) -> None:
        """Runs a query on all engines."""
        users = [self.draw.randrange(largest) + 1 for _ in range(20_000)]
        counts: dict[str, int] = {}
        for name in self.engines:
            if not can(name, query) or (query, name, 1) in self.errors or (query, name) in self.slow:
                continue
            if first:
                few = 2 if query in MIXED else 3
                if MIXED.get(query, query) in UNBOUND:
                    few = 1
                probe = self.request(name, query, users[:few], 1)
                if probe is None:
                    continue
                counts[name] = probe["rows"]
                once = min(probe["times"])
                self.calls[query, name] = max(1, min(len(users), int(self.args.seconds / once)))
                if once > self.args.limit_s:
                    self.slow.add((query, name))
                    self.medians[query][name].append(once)
                    continue
            calls = self.calls[query, name]
            if query in MIXED:
                # Enough calls that some of them change something.
                calls = max(calls, 10)
            for threads in THREADS if query not in MIXED else THREADS[:1]:
                if (query, name, threads) in self.errors:
                    break
                answer = self.request(name, query, users[: max(calls, threads)], threads)
                if answer is None:
                    break
                if threads == 1:
                    self.medians[query][name].append(statistics.median(answer["times"]))
                if query not in MIXED:
                    self.rates[threads][query][name].append(max(calls, threads) / answer["wall_s"])
        if len(set(counts.values())) > 1 and query in READS:
            print(f"{query}: the engines disagree: {counts}", file=sys.stderr)
            self.errors[query, "rows", 1] = str(counts)

    def note_peaks(self, phase: str) -> None:
        """Stores the peaks of memory so far under the phase's name."""
        self.peaks[phase] = dict(self.peaks["all"])


UNBOUND = {name for name, query in READS.items() if "$id" not in query.script}
"""Queries that are about no user."""


def can(engine: str, query: str) -> bool:
    """Whether an engine can express a query."""
    if query in MIXES:
        return True
    texts = (READS | WRITES)[MIXED.get(query, query)]
    text = {"duckdb": texts.sql, "ladybug": texts.cypher}.get(engine, texts.script)
    return text is not None


def ask(process: "subprocess.Popen[str]", request: dict[str, Any] | None) -> dict[str, Any]:
    """Sends a request, if there is one, and waits for the answer."""
    assert process.stdin
    assert process.stdout
    if request is not None:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SystemExit("an engine ended")
    return json.loads(line)


def table(figures: Figures, names: list[str], unit: Callable[[float], str], inverse: bool) -> list[str]:
    """A table of medians and ratios.

    A ratio tells how many times faster the first engine is; `inverse` is for times.
    """
    first, *others = names
    lines = [
        "| query | " + " | ".join(names + [f"{first} : {name}" for name in others]) + " |",
        "| --- |" + " ---: |" * (2 * len(names) - 1),
    ]
    for query, by_engine in figures.items():
        if not by_engine[first]:
            continue
        cells = [unit(statistics.median(by_engine[name])) if by_engine[name] else "-" for name in names]
        for name in others:
            pairs = list(zip(by_engine[first], by_engine[name], strict=False))
            ratios = [(theirs / own if inverse else own / theirs) for own, theirs in pairs]
            cells.append(f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})" if ratios else "-")
        lines.append(f"| {query} | " + " | ".join(cells) + " |")
    return lines


def report(args: argparse.Namespace, bench: Bench, loaded: dict[str, float]) -> None:
    """Prints the tables, and writes them with all results to files."""
    names = list(loaded)
    mixed = {query: bench.medians[query] for query in MIXED}
    alone = {query: medians for query, medians in bench.medians.items() if query not in MIXED}

    def micros(seconds: float) -> str:
        return f"{seconds * 1e6:,.1f}"

    lines = [
        f"{args.users:,} users, {args.friendships:,} friendships drawn, from Python; medians of {args.rounds} rounds; "
        f"{os.cpu_count()} cores, {platform.release()}, load {os.getloadavg()[0]:.1f}. Ratios: how many times as fast "
        f"as the other {names[0]} is, median and range of the rounds.",
        "",
        "Microseconds a call, one thread:",
        "",
        *table(alone, names, micros, inverse=True),
        "",
        "Microseconds a call, one thread, where three calls in ten change something:",
        "",
        *table(mixed, names, micros, inverse=True),
    ]
    for threads, rates in bench.rates.items():
        lines += ["", f"Calls a second by {threads} thread{'s' if threads > 1 else ''}:", ""]
        lines += table(rates, names, lambda rate: f"{rate:,.1f}" if rate < 100 else f"{rate:,.0f}", inverse=False)
    lines += ["", "Loaded in: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in loaded.items()) + "."]
    for phase, peaks in sorted(bench.peaks.items(), reverse=True):
        text = ", ".join(f"{name} {peak // 1024:,} MB" for name, peak in peaks.items())
        lines.append(f"Peak memory after {'the reads' if phase == 'reads' else 'all'}: {text}.")
    lines.append("Made again after a conflict: " + ", ".join(f"{name} {n}" for name, n in bench.again.items()) + ".")
    lines += [f"{query}, {name}: {error}" for (query, name, _), error in bench.errors.items()]
    text = "\n".join(lines) + "\n"
    print(text)
    (args.out / "datalog.md").write_text(text)
    figures = {"medians": bench.medians, "rates": bench.rates, "loaded": loaded, "peaks": bench.peaks}
    (args.out / "datalog.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
