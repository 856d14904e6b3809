"""Times the Pokec queries of Memgraph's benchmark, as Cozo measured them, on engines of the same language and on SQL.

A social network is generated from a seed: users with ages, friendships whose targets follow a power law, the reversed
pairs as a second relation, as the original has them. Each engine is a process of its own, loaded once; then rounds go
through all engines in turn. Before a query is timed, the engines' numbers of rows are compared.

    python bench/datalog/bench.py --out DIR --engine quipu=PYTHON --engine cozo=PYTHON --engine duckdb=PYTHON

PYTHON is an interpreter that has the engine's package.
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
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUERIES: dict[str, tuple[str, str]] = {
    "single_vertex_read": (
        "?[cmpl_pct, gender, age] := *user{uid: $id, cmpl_pct, gender, age}",
        "select cmpl_pct, gender, age from users where uid = $id",
    ),
    "expansion_1": (
        "?[to] := *friends{fr: $id, to}",
        'select distinct "to" from friends where fr = $id',
    ),
    "expansion_2": (
        "?[to] := *friends{fr: $id, to: a}, *friends{fr: a, to}",
        'select distinct b."to" from friends a join friends b on a."to" = b.fr where a.fr = $id',
    ),
    "expansion_3": (
        "l1[to] := *friends{fr: $id, to}\nl2[to] := l1[fr], *friends{fr, to}\n?[to] := l2[fr], *friends{fr, to}",
        'with l1 as (select distinct "to" from friends where fr = $id), '
        'l2 as (select distinct f."to" from l1 join friends f on l1."to" = f.fr) '
        'select distinct f."to" from l2 join friends f on l2."to" = f.fr',
    ),
    "expansion_4": (
        "l1[to] := *friends{fr: $id, to}\nl2[to] := l1[fr], *friends{fr, to}\n"
        "l3[to] := l2[fr], *friends{fr, to}\n?[to] := l3[fr], *friends{fr, to}",
        'with l1 as (select distinct "to" from friends where fr = $id), '
        'l2 as (select distinct f."to" from l1 join friends f on l1."to" = f.fr), '
        'l3 as (select distinct f."to" from l2 join friends f on l2."to" = f.fr) '
        'select distinct f."to" from l3 join friends f on l3."to" = f.fr',
    ),
    "expansion_2_filter": (
        "?[to] := *friends{fr: $id, to: a}, *friends{fr: a, to}, *user{uid: to, age}, (age ~ 0) >= 18",
        'select distinct b."to" from friends a join friends b on a."to" = b.fr join users u on u.uid = b."to" '
        "where a.fr = $id and coalesce(u.age, 0) >= 18",
    ),
    "neighbours_2": (
        "?[to] := *friends{fr: $id, to}\n?[to] := *friends{fr: $id, to: a}, *friends{fr: a, to}",
        'select "to" from friends where fr = $id union '
        'select b."to" from friends a join friends b on a."to" = b.fr where a.fr = $id',
    ),
    "pattern_cycle": (
        "?[n, m] := n = $id, *friends{fr: n, to: m}, *friends{fr: m, to: n}",
        'select a.fr, a."to" from friends a join friends b on a."to" = b.fr and b."to" = a.fr where a.fr = $id',
    ),
    "aggregation_group": (
        "?[age, count(uid)] := *user{uid, age}",
        "select age, count(uid) from users group by age",
    ),
    "aggregation_count": (
        "?[count(uid), count(age)] := *user{uid, age}",
        "select count(uid), count(*) from users",
    ),
    "aggregation_filter": (
        "?[age, count(age)] := *user{age}, (age ~ 0) >= 18",
        "select age, count(age) from users where coalesce(age, 0) >= 18 group by age",
    ),
    "aggregation_min_max": (
        "?[min(uid), max(uid), mean(uid)] := *user{uid}",
        "select min(uid), max(uid), avg(uid) from users",
    ),
}
"""Of each, the script and the SQL. ``$id`` is a user."""


def generate(folder: Path, users: int, friendships: int, seed: int) -> None:
    """Writes users.csv and friends.csv."""
    draw = random.Random(seed)
    with (folder / "users.csv").open("w") as file:
        for uid in range(1, users + 1):
            age = "" if draw.random() < 0.25 else draw.randrange(80)
            file.write(f"{uid},{draw.randrange(100)},{draw.choice(['man', 'woman'])},{age}\n")
    # The square of a uniform number: a tenth of the users has a third of the friendships.
    pairs = {(draw.randrange(users) + 1, int(draw.random() ** 2 * users) + 1) for _ in range(friendships)}
    with (folder / "friends.csv").open("w") as file:
        for fr, to in sorted(pairs):
            file.write(f"{fr},{to}\n")


def rows_of(path: Path) -> list[list[Any]]:
    """Rows of a file, numbers as integers, nothing as None."""

    def cell(text: str) -> Any:
        return None if text == "" else int(text) if text.lstrip("-").isdigit() else text

    return [[cell(text) for text in line.rstrip("\n").split(",")] for line in path.open()]


def load_scripts(run: Callable[[str, dict[str, Any]], Any], folder: Path) -> None:
    """Loads through scripts, 10,000 rows each."""
    run(":create user {uid: Int => cmpl_pct: Int, gender: String?, age: Int?}", {})
    run(":create friends {fr: Int, to: Int}", {})
    run(":create friends.rev {to: Int, fr: Int}", {})
    users, friends = rows_of(folder / "users.csv"), rows_of(folder / "friends.csv")
    for start in range(0, len(users), 10_000):
        rows = {"rows": users[start : start + 10_000]}
        run("?[uid, cmpl_pct, gender, age] <- $rows :put user {uid => cmpl_pct, gender, age}", rows)
    for start in range(0, len(friends), 10_000):
        rows = {"rows": friends[start : start + 10_000]}
        run("?[fr, to] <- $rows :put friends {fr, to}", rows)
        run("?[fr, to] <- $rows :put friends.rev {to, fr}", rows)


def open_engine(name: str, folder: Path) -> Callable[[str, int], list[Any]]:
    """Loads an engine; what runs a query by name for a user, and gives its rows."""
    if name == "quipu":
        import quipu

        database = quipu.open(cache="1GB")
        load_scripts(lambda script, parameters: database.run(script, parameters), folder)
        return lambda query, user: database.run(QUERIES[query][0], {"id": user}).rows()
    if name in ("cozo", "mnestic"):
        module = __import__({"cozo": "cozo_embedded", "mnestic": "mnestic"}[name])
        store = module.CozoDbPy("mem", "", "{}")
        load_scripts(lambda script, parameters: store.run_script(script, parameters, False), folder)
        return lambda query, user: store.run_script(QUERIES[query][0], {"id": user}, True)["rows"]
    if name == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.execute("create table users (uid bigint primary key, cmpl_pct bigint, gender varchar, age bigint)")
        connection.execute('create table friends (fr bigint, "to" bigint)')
        connection.execute(f"insert into users select * from read_csv('{folder}/users.csv', header=false)")
        connection.execute(f"insert into friends select * from read_csv('{folder}/friends.csv', header=false)")
        connection.execute("create index by_fr on friends (fr)")

        def ask(query: str, user: int) -> list[Any]:
            sql = QUERIES[query][1]
            return connection.execute(sql, {"id": user} if "$id" in sql else None).fetchall()

        return ask
    raise SystemExit(f"no engine {name}")


def serve(name: str, folder: Path) -> None:
    """Answers requests from standard input, a line of JSON each: query, users, whether only the rows are counted."""
    start = time.perf_counter()
    ask = open_engine(name, folder)
    print(json.dumps({"loaded_s": time.perf_counter() - start}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        times: list[float] = []
        rows = 0
        for user in request["users"]:
            start = time.perf_counter()
            found = ask(request["query"], user)
            times.append(time.perf_counter() - start)
            rows += len(found)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"times": times, "rows": rows, "peak_kb": peak}), flush=True)


def main() -> None:
    """Runs what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="folder for data and results")
    parser.add_argument("--engine", action="append", default=[], help="NAME=PYTHON; quipu, cozo, mnestic, duckdb")
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--friendships", type=int, default=1_768_515)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="about how long a query is asked in a round, at most"
    )
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
    draw = random.Random(2)
    medians: dict[str, dict[str, list[float]]] = {query: {name: [] for name in engines} for query in QUERIES}
    calls: dict[tuple[str, str], int] = {}
    peaks: dict[str, int] = {}
    for round_ in range(args.rounds):
        for query in QUERIES:
            users = [draw.randrange(args.users) + 1 for _ in range(20_000)]
            counts: dict[str, int] = {}
            for name, process in engines.items():
                probe = ask(process, {"query": query, "users": users[:3]})
                counts[name] = probe["rows"]
                if round_ == 0:
                    once = min(probe["times"])
                    calls[query, name] = max(1, min(len(users), int(args.seconds / once)))
                answer = ask(process, {"query": query, "users": users[: calls[query, name]]})
                medians[query][name].append(statistics.median(answer["times"]))
                peaks[name] = answer["peak_kb"]
            if len(set(counts.values())) > 1:
                print(f"{query}: the engines disagree: {counts}", file=sys.stderr)
    for process in engines.values():
        process.terminate()
    report(args, medians, loaded, peaks)


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


def report(
    args: argparse.Namespace,
    medians: dict[str, dict[str, list[float]]],
    loaded: dict[str, float],
    peaks: dict[str, int],
) -> None:
    """Prints a table, and writes it with the figures."""
    names = list(loaded)
    lines = [
        f"{args.users:,} users, {args.friendships:,} friendships drawn; medians of {args.rounds} rounds, us a "
        f"call from Python; {os.cpu_count()} cores, {platform.release()}, load {os.getloadavg()[0]:.1f}. Ratio: the "
        "other's time by Quipu's, median and range of the rounds.",
        "",
        "| query | "
        + " | ".join(names)
        + " | "
        + " | ".join(f"{name} / quipu" for name in names if name != "quipu")
        + " |",
        "| --- |" + " ---: |" * (2 * len(names) - 1),
    ]
    for query, by_engine in medians.items():
        cells = [f"{statistics.median(by_engine[name]) * 1e6:,.1f}" for name in names]
        for name in names:
            if name != "quipu":
                ratios = [b / a for a, b in zip(by_engine["quipu"], by_engine[name], strict=True)]
                cells.append(f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")
        lines.append(f"| {query} | " + " | ".join(cells) + " |")
    lines.append("")
    lines.append("Loaded in: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in loaded.items()) + ".")
    lines.append("Peak memory: " + ", ".join(f"{name} {peak // 1024:,} MB" for name, peak in peaks.items()) + ".")
    text = "\n".join(lines) + "\n"
    print(text)
    (args.out / "datalog.md").write_text(text)
    (args.out / "datalog.json").write_text(json.dumps({"medians": medians, "loaded": loaded, "peaks": peaks}))


if __name__ == "__main__":
    main()
