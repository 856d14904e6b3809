"""Ends real interpreters at random times, while threads run Python code that the database called.

Each process (`ending.py`) has a daemon thread for every kind of work, or for one of them: rules,
aggregates, callbacks, iterables, imports, streams, async calls, transactions. It must end with
status 0 within a minute, and its database must be intact and contain what was acknowledged.

    python tests/kill/exits.py --count 200 --seed 1

Prints a summary; exits with 1 at the first process that fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import quipu

PROGRAM = Path(__file__).with_name("ending.py")

WORKS = (
    "in_a_rule",
    "in_an_aggregate",
    "in_a_callback",
    "in_an_iterable",
    "in_an_import",
    "in_a_stream",
    "in_async_calls",
    "in_a_transaction",
)

#: Seconds after which a process counts as hanging.
PATIENCE_S = 60


def end(folder: Path, seed: int, works: tuple[str, ...]) -> int:
    """Run a process that ends at a time that the seed selects; return how many it acknowledged.

    Raises:
        AssertionError: It did not end as expected, or lost what it had acknowledged.
    """
    command = [sys.executable, str(PROGRAM), str(folder), str(seed), *works]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    what = f"seed {seed}, {works or 'all'}: status {ended.returncode}\n{ended.stderr}"
    if ended.returncode != 0 or "Fatal" in ended.stderr:
        raise AssertionError(what)
    acknowledged = {int(line) for line in ended.stdout.split()}
    with quipu.open(folder) as db:
        db.check()
        found = {row[0] for row in db.run("?[a] := *told[a]")}
    # One more may be there: it was committed, but its acknowledgment was not written.
    if not acknowledged <= found:
        raise AssertionError(f"lost: {sorted(acknowledged - found)}\n{what}")
    return len(acknowledged)


def main() -> int:
    """End as many processes as requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ends: Counter[str] = Counter()
    acknowledged = 0
    for number in range(args.count):
        # Every second process runs all kinds of work.
        works = () if number % 2 else (WORKS[number // 2 % len(WORKS)],)
        with tempfile.TemporaryDirectory() as folder:
            try:
                acknowledged += end(Path(folder) / "db", args.seed + number, works)
            except (AssertionError, subprocess.TimeoutExpired, quipu.Error) as error:
                print(f"FAILED after {number} ends: {error}", file=sys.stderr)
                return 1
        ends[works[0] if works else "all"] += 1
    print(f"{args.count} ends, {acknowledged} acknowledged commits, nothing lost, nothing aborted, nothing hung")
    print(", ".join(f"{name}: {count}" for name, count in sorted(ends.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
