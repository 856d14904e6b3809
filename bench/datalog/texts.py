"""Times queries over relations with string keys, on Quipu and Cozo.

    python bench/datalog/texts.py --rounds 3 --seconds 0.3

Needs the module of this repository and the wheel `cozo-embedded`. There are 100,000 users, whose
ids are strings of eleven bytes, and a million random friendships, stored in both directions.
Engines take turns; prints microseconds per call, medians of the rounds.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import quipu
from cozo_embedded import CozoDbPy

VERTICES, EDGES = 100_000, 1_000_000
QUERIES = {
    "point": "?[age, kind] := *user{uid: $id, age, kind}",
    "hop1": "?[to] := *friends{fr: $id, to}",
    "hop2": "?[to] := *friends{fr: $id, to: a}, *friends{fr: a, to}",
    "hop3": "l1[to] := *friends{fr: $id, to} l2[to] := l1[fr], *friends{fr, to} ?[to] := l2[fr], *friends{fr, to}",
    "hop2_filter": "?[to] := *friends{fr: $id, to: a}, *friends{fr: a, to}, *user{uid: to, age}, (age ~ 0) >= 18",
    "hop2_data": "?[to, age, kind] := *friends{fr: $id, to: a}, *friends{fr: a, to}, *user{uid: to, age, kind}",
    "reverse": "?[fr] := *reverse{to: $id, fr}",
    "group_text": "?[kind, count(uid)] := *user{uid, kind}",
    "group_age": "?[age, count(uid)] := *user{uid, age}",
    "filter_text": "?[uid] := *user{uid, kind}, kind == 'unknown kind'",
    "sort": "?[age, uid] := *user{uid, age} :order age, uid :limit 10",
    "all": "?[fr, to] := *friends{fr, to}",
    "write": "?[uid, age, kind] <- [[$id, 3, 'x']] :put user {uid => age, kind}",
}
SCHEMAS = {
    "user": ":create user {uid: String => age: Int?, kind: String}",
    "friends": ":create friends {fr: String, to: String}",
    "reverse": ":create reverse {to: String, fr: String}",
}
Run = Callable[[str, dict[str, Any]], Any]


def name(number: int) -> str:
    """The id of a user; consecutive numbers are far apart in key order."""
    return f"user-{number * 7919 % VERTICES:06d}"


def tables() -> dict[str, dict[str, Any]]:
    """All rows, the same in each run."""
    draw = random.Random(5)
    kinds = ["male", "female", "unknown kind"]
    users = [[name(i), draw.choice([None, *range(12, 80)]), draw.choice(kinds)] for i in range(VERTICES)]
    edges = [[name(draw.randrange(VERTICES)), name(draw.randrange(VERTICES))] for _ in range(EDGES)]
    return {
        "user": {"headers": ["uid", "age", "kind"], "rows": users},
        "friends": {"headers": ["fr", "to"], "rows": edges},
        "reverse": {"headers": ["fr", "to"], "rows": edges},
    }


def engines() -> dict[str, Run]:
    """Both engines with their data."""
    ours, theirs = quipu.open(memory_limit="4GB"), CozoDbPy("mem", "", "{}")
    runs: dict[str, Run] = {
        "quipu": lambda script, params: ours.run(script, params).rows(),
        "cozo": lambda script, params: theirs.run_script(script, params, False)["rows"],
    }
    rows = tables()
    for run in runs.values():
        for schema in SCHEMAS.values():
            run(schema, {})
    ours.import_relations(rows)
    for relation, table in rows.items():
        for start in range(0, len(table["rows"]), 50_000):
            theirs.import_relations({relation: {**table, "rows": table["rows"][start : start + 50_000]}})
    return runs


def main() -> None:
    """Runs the queries and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a query in a round")
    options = parser.parse_args()
    runs = engines()
    print("| query | quipu | cozo | quipu : cozo |\n| --- | ---: | ---: | ---: |")
    for query, text in QUERIES.items():
        took: dict[str, list[float]] = {engine: [] for engine in runs}
        for _ in range(options.rounds):
            for engine, run in runs.items():
                draw, calls, start = random.Random(1), 0, time.perf_counter()
                while (spent := time.perf_counter() - start) < options.seconds or calls == 0:
                    run(text, {"id": name(draw.randrange(VERTICES))})
                    calls += 1
                took[engine].append(spent / calls * 1e6)
        ratios = [theirs / ours for ours, theirs in zip(took["quipu"], took["cozo"], strict=True)]
        ours, theirs = (statistics.median(took[engine]) for engine in ("quipu", "cozo"))
        spread = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
        print(f"| {query} | {ours:,.1f} | {theirs:,.1f} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
