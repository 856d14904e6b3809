"""Times short scripts by several threads of Python: what the GIL leaves of their parallelism.

Each module runs in a process of its own per round, and the modules take turns; an earlier build of
the package shows what has changed. A figure is the median of its rounds, in calls per second of all
threads together, with minimum and maximum; and the same for processor seconds per hundred thousand
calls.

    python bench/python/threads.py --module before=PYTHON --module now=PYTHON

PYTHON is an interpreter with NumPy and ``quipu``.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import threading
import time

import numpy as np

USERS = 100_000
FRIENDSHIPS = 1_700_000

SCRIPTS = {
    "a row by its key": "?[p] := *user{uid: $id, p}",
    "all neighbours": "?[to] := *friends{src: $id, dst: to}",
    "one neighbour": "?[to] := *friends{src: $id, dst: to} :limit 1",
    "a path of three": "?[d] := *friends{src: $id, dst: b}, *friends[b, c], *friends[c, d] :limit 1",
    "put": "?[uid, p] <- [[$id, 0]] :put user {uid => p}",
    "update": "?[uid, p] := uid = $id, *user{uid, p: q}, p = mod(q + 1, 100) :put user {uid => p}",
    "two puts": """{ ?[uid, p] <- [[$id, 5]] :put user {uid => p} }
                   { ?[uid, p] <- [[$id, 6]] :put user {uid => p} }""",
    "two hops": "?[c] := *friends{src: $id, dst: b}, *friends{src: b, dst: c}",
}


def measure(threads: list[int], seconds: float) -> dict[str, list[float]]:
    """Calls per second and processor seconds by script and number of threads, in this process."""
    import quipu

    db = quipu.open(durability="none")
    db.run(f"?[uid, p] := uid in int_range({USERS}), p = mod(uid, 100) :create user {{uid: Int => p: Int}}")
    ends = [np.random.default_rng(seed).integers(0, USERS, FRIENDSHIPS) for seed in (1, 2)]
    db.graph("friends").import_arrays(*ends)
    found: dict[str, list[float]] = {}
    for name, script in SCRIPTS.items():
        for count in threads:
            stop = threading.Event()
            calls = [0] * count

            def work(number: int, script: str = script, calls: list[int] = calls, stop: threading.Event = stop) -> None:
                ids = random.Random(number)
                while not stop.is_set():
                    try:
                        list(db.run(script, {"id": ids.randrange(USERS)}))
                    except quipu.ConflictError:
                        continue
                    calls[number] += 1

            workers = [threading.Thread(target=work, args=(number,)) for number in range(count)]
            began, used = time.perf_counter(), time.process_time()
            for worker in workers:
                worker.start()
            time.sleep(seconds)
            stop.set()
            for worker in workers:
                worker.join()
            took = time.perf_counter() - began
            used = time.process_time() - used
            found[f"{name}|{count}"] = [sum(calls) / took, used / max(sum(calls), 1) * 1e5]
    return found


def main() -> None:
    """Runs the modules in turn and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", action="append", default=[], help="NAME=PYTHON")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.threads, options.seconds)))
        return
    modules = dict(module.split("=", 1) for module in options.module)
    if not modules:
        parser.error("name at least one --module NAME=PYTHON")
    found: dict[str, dict[str, list[list[float]]]] = {name: {} for name in modules}
    same = ["--measure", "--seconds", str(options.seconds), "--threads", *map(str, options.threads)]
    for _ in range(options.rounds):
        for name, python in modules.items():
            done = subprocess.run([python, __file__, *same], check=True, capture_output=True, text=True)
            for key, figures in json.loads(done.stdout).items():
                found[name].setdefault(key, []).append(figures)
    print("| script | threads |" + "".join(f" {name}, K calls/s | s of processor for 100 K |" for name in modules))
    print("| --- | ---: |" + " ---: | ---: |" * len(modules))
    for script in SCRIPTS:
        for count in options.threads:
            cells: list[str] = []
            for name in modules:
                rates, seconds = zip(*found[name][f"{script}|{count}"], strict=True)
                spread = f"{min(rates) / 1e3:.0f} to {max(rates) / 1e3:.0f}"
                cells += [f"{statistics.median(rates) / 1e3:.0f} ({spread})", f"{statistics.median(seconds):.2f}"]
            print(f"| {script} | {count} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    sys.exit(main())
