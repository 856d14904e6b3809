"""Kills real processes with SIGKILL at random times, reopens, and verifies every row.

A writer process commits numbered batches of edges and reports each on a pipe after its commit; an
importer imports a file repeatedly; a compactor compacts everything repeatedly. Each is killed after
a random time. Then the database must open, contain exactly the acknowledged batches (and possibly
the one in flight, as a whole), and both directions must agree.

    python tests/kill/run.py --count 200 --seed 1

Prints a line per kill and a summary; exits with 1 at the first lost or wrong row.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import quipu

VERTICES = 3000
EDGES_A_BATCH = 400
Edges = dict[tuple[int, int], float]


def batch(number: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], bool]:
    """Batch ``number``: sources, targets, and whether it removes them."""
    rng = np.random.default_rng(number)
    us = rng.integers(0, VERTICES, EDGES_A_BATCH, dtype=np.uint64)
    vs = rng.integers(0, VERTICES, EDGES_A_BATCH, dtype=np.uint64)
    return us, vs, number % 4 == 3


def apply(edges: Edges, number: int) -> None:
    """Applies batch ``number`` to a plain dictionary."""
    us, vs, removes = batch(number)
    for u, v in zip(us.tolist(), vs.tolist(), strict=True):
        if removes:
            edges.pop((u, v), None)
        else:
            edges[u, v] = float(number)


def child_write(path: str, durability: str, first: int, compact: bool) -> None:
    """Commits batches from ``first`` on, forever, and reports each number after its commit."""
    db = quipu.open(path, durability=durability, memory_limit="64MB")
    g = db.graph("g", weight="float64")
    number = first
    while True:
        us, vs, removes = batch(number)
        if removes:
            g.remove_many(us, vs)
        else:
            g.upsert_many(us, vs, np.full(len(us), float(number)))
        os.write(1, f"{number}\n".encode())
        number += 1
        if compact and number % 16 == 0:
            db.compact()


def child_import(path: str, file: str) -> None:
    """Imports the file into new graphs, forever, and reports each import."""
    db = quipu.open(path, durability="os", memory_limit="64MB")
    number = 0
    while True:
        db.graph(f"import{os.getpid()}_{number}").import_csv(file)
        os.write(1, f"{number}\n".encode())
        number += 1


def run_and_kill(arguments: list[str], seconds: float) -> list[int]:
    """Starts a child, kills it after ``seconds``, and returns the numbers that it reported."""
    child = subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE)
    assert child.stdout is not None
    head = child.stdout.readline()  # the time starts after the first commit
    time.sleep(seconds)  # the random time itself, not a wait for an event
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read()
    child.wait()
    if not head:
        raise SystemExit(f"the child {arguments} ended by itself")
    return [int(line) for line in (head + rest).split(b"\n")[:-1] if line]


def read_all(db: quipu.Database, name: str) -> Edges:
    """All edges of a graph as a dictionary."""
    return {(u, v): w for u, v, w in db.graph(name).to_table().rows()}


def verify(path: Path, state: Edges, acknowledged: int) -> tuple[Edges, int]:
    """Checks that the state is as acknowledged, or also with the batch in flight.

    Returns the state and the number of its last batch.
    """
    with quipu.open(path, durability="os") as db:
        db.check()
        found = read_all(db, "g")
    if found == state:
        return state, acknowledged
    with_next = dict(state)
    apply(with_next, acknowledged + 1)
    if found == with_next:
        return with_next, acknowledged + 1
    missing = len(state.items() - found.items())
    extra = len(found.items() - state.items())
    raise SystemExit(f"WRONG: after batch {acknowledged}: {missing} rows lost, {extra} rows too many")


def verify_imports(path: Path, edges: int) -> int:
    """Checks that every graph is empty (created, not yet imported) or complete."""
    with quipu.open(path, durability="os") as db:
        db.check()
        whole = 0
        for name in db.graphs():
            if name.startswith("import"):
                count = db.graph(name).number_of_edges()
                if count not in (0, edges):
                    raise SystemExit(f"WRONG: {name} holds {count} of {edges} edges")
                whole += count == edges
                db.drop_graph(name)
        return whole


def main() -> None:
    """Runs the kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="kills in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--edges", type=int, default=400_000, help="edges of the imported file")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="quipu-kill-"))
    try:
        generator = np.random.default_rng(options.seed)
        pairs = np.unique(generator.integers(0, 50_000, (options.edges, 2)), axis=0)
        generator.shuffle(pairs)
        file = folder / "edges.csv"
        np.savetxt(file, pairs, fmt="%d", delimiter=",")
        states: dict[str, tuple[Edges, int]] = {}
        commits = imports = kills = 0
        started = time.monotonic()
        for kill in range(options.count):
            mode = ["os", "sync", "compact", "import"][kill % 4]
            path = folder / mode
            if mode == "import":
                said = run_and_kill(["import", str(path), str(file)], rng.uniform(0, 0.4))
                imports += verify_imports(path, len(pairs))
            else:
                durability = "sync" if mode == "sync" else "os"
                state, done = states.get(mode, ({}, -1))
                arguments = ["write", str(path), durability, str(done + 1), mode]
                said = run_and_kill(arguments, rng.uniform(0, 0.4))
                if said != list(range(done + 1, done + 1 + len(said))):
                    raise SystemExit(f"WRONG: batches said out of order: {said}")
                for number in said:
                    apply(state, number)
                states[mode] = verify(path, state, said[-1])
                commits += len(said)
            kills += 1
            print(f"kill {kill + 1}: {mode}, {len(said)} acknowledged", flush=True)
        seconds = time.monotonic() - started
        print(
            f"{kills} kills, {commits} acknowledged commits and {imports} whole imports verified, "
            f"0 rows lost or wrong, {seconds:.0f} s, seed {options.seed}"
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        child_write(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "compact")
    elif sys.argv[1:2] == ["import"]:
        child_import(sys.argv[2], sys.argv[3])
    else:
        main()
