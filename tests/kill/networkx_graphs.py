"""Kills real processes while they change NetworkX graphs on disk, reopens, and compares with NetworkX.

A process applies numbered batches of changes to a stored graph, flushes each, and reports it after `flush` returned.
Half of the processes kill themselves at a random call of their Python code, between two calls of the database as well
as in the middle of a batch. The others are killed after a random time, which can be in the middle of a commit. Then the
graph must be as after the last batch reported, or the one in flight as a whole: vertices, neighbors, attributes, and
their order. Every fourth process flushes inside transactions that also write a row of a relation.

    python tests/kill/networkx_graphs.py --count 200 --seed 1 [--counted]

Prints a line per kill and a summary; exits with 1 at the first difference.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

import networkx
import quipu
import quipu.nx

# The stubs say less than the module has.
nx: Any = networkx

KINDS = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")
#: Number of vertices to draw from.
VERTICES = 60
CHANGES_A_BATCH = 40
#: Upper bound of the calls and returns after which a process kills itself. A batch makes some
#: thousands of them.
EVENTS_MAX = 20_000


def apply(G: Any, number: int) -> None:
    """Make the changes of batch ``number``; equal graphs stay equal."""
    rng = random.Random(number)
    for _ in range(CHANGES_A_BATCH):
        change(G, rng)


def change(G: Any, rng: random.Random) -> None:
    """Make one change, which depends on the random numbers and on the graph alone."""
    what, u, v, x = rng.randrange(14), rng.randrange(VERTICES), (rng.randrange(VERTICES), "v"), rng.random()
    if what < 6:
        G.add_edge(u, v, x=x)
    elif what == 6:
        G.add_node(u, when=[x])
    elif what == 7 and u in G:
        G.remove_node(u)
    elif what == 8:
        nx.add_path(G, range(u, u + 5), x=(x, u))
    elif what == 9 and u in G:
        G.nodes[u].setdefault("when", []).append(x)
    elif what == 10 and rng.random() < 0.05:
        G.clear()
    elif what == 11:
        G.graph["last"] = {"u": u}
    elif G.has_edge(u, v):
        inner = next(iter(G[u][v].values())) if G.is_multigraph() else G[u][v]
        if what == 12:
            inner.setdefault("deep", []).append(x)
        else:
            G.remove_edge(u, v)


def everything(G: Any) -> Any:
    """All of a graph, in its order."""
    sides = [G._adj, G._pred] if G.is_directed() else [G._adj]
    rows = [
        [(u, [(v, repr(attributes)) for v, attributes in row.items()]) for u, row in side.items()] for side in sides
    ]
    return dict(G.graph), [(n, dict(attributes)) for n, attributes in G._node.items()], [dict(side) for side in rows]


def count_events(limit: int) -> None:
    """Kill this process at the call or return number ``limit`` from now on."""
    count = 0

    def event(_frame: FrameType, _event: str, _argument: Any) -> None:
        nonlocal count
        count += 1
        if count == limit:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(event)


def child_write(path: str, kind: str, first: int, memory: str, *, in_transactions: bool) -> None:
    """Apply and flush batches from ``first`` on, forever, and report each after its flush."""
    db = quipu.open(path, durability="os")
    bytes_max = int(memory) if memory else None
    number = first
    G: Any = None if in_transactions else getattr(quipu.nx, kind)(db=db, name="g", memory=bytes_max)
    while True:
        if in_transactions:
            with db.transaction() as tx:
                tx.run("?[n] <- [[$n]] :put flushed {n}", {"n": number})
                T = getattr(quipu.nx, kind)(db=tx, name="g", memory=bytes_max)
                apply(T, number)
                T.flush()
        else:
            apply(G, number)
            G.flush()
        os.write(1, f"{number}\n".encode())
        number += 1


def run_and_kill(arguments: list[str], events: int | None, seconds: float) -> list[int]:
    """Start a process, let it kill itself or kill it after ``seconds``; return the batches that it reported."""
    command = [sys.executable, __file__, "write", str(events or 0), *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    head = b""
    if events is None:
        head = child.stdout.readline()  # the time starts after the first flush
        time.sleep(seconds)  # the random time itself, not a wait for an event
        child.send_signal(signal.SIGKILL)
    rest = child.stdout.read()
    if child.wait() != -signal.SIGKILL:
        raise SystemExit(f"the process {arguments} ended by itself, with {child.returncode}")
    return [int(line) for line in (head + rest).split()]


def rows_of(db: quipu.Database, part: str, column: str) -> int:
    """The number of rows of a relation of the graph."""
    return db.run(f"?[count({column})] := *`g.{part}`{{{column}}}")[0][0]


def verify(path: Path, plain: Any, last: int, *, in_transactions: bool) -> int:
    """Compare the stored graph with ``plain``, which is as after batch ``last``; return the number of its last batch.

    If the batch in flight is there, it is applied to ``plain``.
    """
    with quipu.open(path, durability="os") as db:
        if problems := db.check()["problems"]:
            raise SystemExit(f"WRONG: {problems}")
        found = everything(getattr(quipu.nx, type(plain).__name__)(db=db, name="g"))
        if found != everything(plain):
            apply(plain, last + 1)
            last += 1
            if found != everything(plain):
                raise SystemExit(f"WRONG: the graph is neither as after batch {last - 1} nor as after {last}")
        if found[1]:
            # Nothing is left of vertices and edges that are gone.
            entries = sum(
                len(keys) if plain.is_multigraph() else 1 for row in plain._adj.values() for keys in row.values()
            )
            stored = [rows_of(db, "nodes", "id"), rows_of(db, "ids", "id"), rows_of(db, "edges", "position")]
            if stored != [len(plain), len(plain), entries]:
                raise SystemExit(f"WRONG: {stored} rows of {len(plain)} vertices and {entries} neighbors")
        if in_transactions and (flushed := db.run("?[max(n)] := *flushed{n}")[0][0]) != last:
            raise SystemExit(f"WRONG: the relation has batch {flushed}, the graph {last}")
    return last


def main() -> None:
    """Run the kills."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="kills in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--counted", action="store_true", help="processes kill themselves, none is killed after a time")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    flushes = in_flight = 0
    with tempfile.TemporaryDirectory(prefix="quipu-kill-") as folder:
        states: dict[tuple[str, bool], tuple[Any, int]] = {}
        for kill in range(options.count):
            kind, in_transactions = KINDS[kill % 4], kill // 4 % 4 == 3
            path = Path(folder) / f"{kind}-{in_transactions}"
            if (kind, in_transactions) not in states:
                states[kind, in_transactions] = getattr(nx, kind)(), options.seed * 1_000_000
                with quipu.open(path) as db:
                    db.run(":create flushed {n: Int}")
                    db.run("?[n] <- [[$n]] :put flushed {n}", {"n": options.seed * 1_000_000})
            plain, last = states[kind, in_transactions]
            events = rng.randrange(1, EVENTS_MAX) if options.counted or rng.random() < 0.5 else None
            arguments = [str(path), kind, str(last + 1), rng.choice(["", "0"]), str(in_transactions)]
            reported = run_and_kill(arguments, events, rng.uniform(0, 0.4))
            if reported != list(range(last + 1, last + 1 + len(reported))):
                raise SystemExit(f"WRONG: batches reported out of order: {reported}")
            for number in reported:
                apply(plain, number)
            after = verify(path, plain, last + len(reported), in_transactions=in_transactions)
            states[kind, in_transactions] = plain, after
            flushes += len(reported)
            in_flight += after - last - len(reported)
            how = "after a time" if events is None else f"at call {events}"
            print(f"kill {kill + 1}: {kind}, {how}, {len(reported)} flushes", flush=True)
    print(
        f"{options.count} kills, {flushes} flushes that returned are there, {in_flight} in flight are there as a "
        f"whole, nothing else, seed {options.seed}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        if int(sys.argv[2]):
            count_events(int(sys.argv[2]))
        child_write(sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6], in_transactions=sys.argv[7] == "True")
    else:
        main()
