"""Times aggregates over a changing relation: at rest, after many puts, and with a put before each.

    python bench/datalog/between.py --users 1632803 --puts 300000

Quipu on disk with durability ``os``, in turn with DuckDB (two threads, in memory) if its package is
installed; DuckDB's table is not changed. Figures are the median and the minimum of nine calls;
those right after the puts are single calls.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import quipu

QUERIES = {
    "group": ("?[age, count(uid)] := *user{uid, age}", "select age, count(uid) from users group by age"),
    "filter": (
        "?[age, count(uid)] := *user{uid, age}, (age ~ 0) >= 18",
        "select age, count(uid) from users where coalesce(age, 0) >= 18 group by age",
    ),
    "count": ("?[count(uid), count(age)] := *user{uid, age}", "select count(uid), count(*) from users"),
    "min_max": ("?[min(uid), max(uid), mean(uid)] := *user{uid}", "select min(uid), max(uid), avg(uid) from users"),
}


def timed(call: Callable[[], object], calls: int, before: Callable[[], object] = lambda: None) -> str:
    """Median and minimum time of calls, in milliseconds."""
    times: list[float] = []
    for _ in range(calls):
        before()
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return f"{statistics.median(times):8.2f} ms (least {min(times):.2f})"


def fetch(connection: Any, query: str) -> object:
    """All rows of a DuckDB query."""
    return connection.execute(query).fetchall()


def main() -> None:
    """Runs the measurement and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1_632_803)
    parser.add_argument("--puts", type=int, default=300_000)
    args = parser.parse_args()
    draw = np.random.default_rng(3)
    ages = pa.array(draw.integers(0, 81, args.users), mask=draw.random(args.users) < 0.2)
    users: Any = pa.table({"uid": np.arange(args.users), "age": ages})
    connection: Any = None
    try:
        import duckdb

        connection = duckdb.connect()
        connection.execute("set threads = 2")
        connection.execute("create table users as select * from users")
    except ImportError:
        print("DuckDB is not installed")
    with tempfile.TemporaryDirectory() as folder, quipu.open(Path(folder) / "db", durability="os") as db:
        user = db.relation("user", create="{uid: Int => age: Int?}")
        user.put(users)
        db.compact()
        picked = draw.permutation(args.users)[: args.puts]

        def put_many() -> None:
            user.put(users.take(pa.array(picked)))

        def put_one() -> None:
            db.run("?[uid, age] <- [[$u, 5]] :put user {uid => age}", {"u": int(picked[0])})

        for when, calls, before in (
            ("at rest", 9, lambda: None),
            ("after many puts", 1, put_many),
            ("after one put", 9, put_one),
        ):
            for name, (ours, theirs) in QUERIES.items():
                line = f"{when:16} {name:8} quipu {timed(partial(db.run, ours), calls, before)}"
                if connection is not None:
                    line += f"  duckdb {timed(partial(fetch, connection, theirs), 9)}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
