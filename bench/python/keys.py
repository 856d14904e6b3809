"""Times keys with values of 1 KiB and counters from Python, on Quipu, RocksDB, LMDB, LevelDB and a dictionary.

The workloads are those of ``bench/native`` (UCSB's and count-db's), called from Python by one
thread. An engine's round is a process of its own, which loads its data and then runs the workloads
in order; the engines take turns in each round. Keys follow Zipf's law with constant 1, scrambled.
Each value is checked to belong to its key.

    python bench/python/keys.py --engine quipu=PYTHON --engine rocksdb=PYTHON --engine lmdb=PYTHON

PYTHON is an interpreter with NumPy and the engine's package (rocksdict, lmdb, plyvel). The other
engines are compared with the first one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engines import ENGINES, KEY, NAMES, Engine, Ids, Store

VALUE = 1024
LOADED = 10_000
MANY = 256
UPSERTED = 1000
COUNTED = 10_000


# Random printable bytes, more than the window of any engine's compression.
POOL = np.random.default_rng(7).integers(32, 127, 1 << 24, dtype=np.uint8).tobytes()


def value_of(key: int, version: int) -> bytes:
    """A value that begins with its key, of random printable bytes that hardly compress."""
    head = KEY.pack(key) + version.to_bytes(2, "little")
    tail = VALUE - len(head)
    at = (key * 0x9E37_79B9_7F4A_7C15 + version * 7919) % (len(POOL) - tail)
    return head + POOL[at : at + tail]


def zipf(draw: np.random.Generator, below: int, count: int) -> Ids:
    """Keys that follow Zipf's law: the logarithm of a rank is uniform."""
    ranks = np.exp(draw.random(count) * np.log(below)).astype(np.uint64)
    return (ranks * np.uint64(0x9E37_79B9_7F4A_7C15)) % np.uint64(below)


class Rows:
    """Results of an engine's round."""

    def __init__(self, cap_s: float) -> None:
        """Starts without results."""
        self.cap_s = cap_s
        self.lines: dict[str, dict[str, float]] = {}

    def time(self, name: str, calls: int, call: Callable[[int], int], end: Callable[[], None] | None = None) -> None:
        """Times `calls` calls, fewer if the time is up.

        ``call`` returns the number of entries that it touched; ``end`` is timed, too.
        """
        times: list[float] = []
        entries, spent = 0, 0.0
        for i in range(calls):
            start = time.perf_counter()
            entries += call(i)
            times.append(time.perf_counter() - start)
            spent += times[-1]
            if spent > self.cap_s:
                break
        if end is not None:
            start = time.perf_counter()
            end()
            spent += time.perf_counter() - start
        p99 = sorted(times)[min(len(times) - 1, len(times) * 99 // 100)]
        self.lines[name] = {"rate": entries / spent, "p99_us": p99 * 1e6, "max_us": max(times) * 1e6}


def blobs(engine: Store, rows: Rows, records: int, seed: int) -> None:
    """Runs the workloads with values."""
    draw = np.random.default_rng(seed)
    loads = [np.arange(at, min(at + LOADED, records), dtype=np.uint64) for at in range(0, records, LOADED)]
    # Values are generated outside of the timed part, in pieces, because all of them would fill
    # memory.
    times: list[dict[str, float]] = []
    for i, keys in enumerate(loads):
        made = [value_of(key, 0) for key in keys.tolist()]

        def load(_: int, keys: Ids = keys, made: list[bytes] = made) -> int:
            engine.put_many(keys, made)
            return len(keys)

        rows.time("init", 1, load, engine.flush if i + 1 == len(loads) else None)
        times.append(rows.lines["init"])
    spent = sum(len(keys) / line["rate"] for keys, line in zip(loads, times, strict=True))
    longest = [line["max_us"] for line in times]
    rows.lines["init"] = {
        "rate": records / spent,
        "p99_us": sorted(longest)[len(longest) * 99 // 100],
        "max_us": max(longest),
    }

    def check(key: int, value: bytes | None) -> None:
        if value is None or value[:8] != KEY.pack(key):
            raise RuntimeError(f"key {key} has {value and value[:16]!r}")

    one = zipf(draw, records, records // 10).tolist()

    def read(i: int) -> int:
        check(one[i], engine.get(one[i]))
        return 1

    rows.time("read", len(one), read)
    many = [np.unique(zipf(draw, records, MANY)) for _ in range(max(1, records // 1250))]

    def read_many(i: int) -> int:
        found = engine.get_many(many[i])
        check(int(many[i][-1]), found[-1])
        return len(found)

    rows.time("batch-read", len(many), read_many)
    starts = zipf(draw, records - MANY, max(1, records // 2500)).tolist()
    rows.time("range-select", len(starts), lambda i: engine.scan(starts[i], MANY) // VALUE)
    rows.time("scan", 1, lambda _: engine.scan(0, records) // VALUE)

    def mix(i: int) -> int:
        if i % 2 == 0:
            return read(i)
        check(one[i], engine.get(one[i]))
        engine.put(one[i], value_of(one[i], i & 0xFFFF))
        return 1

    rows.time("read-update-50-50", len(one), mix, engine.flush)
    upserts = [
        (keys, [value_of(key, 1) for key in keys.tolist()])
        for keys in (
            np.arange(records + at, records + at + UPSERTED, dtype=np.uint64)
            for at in range(0, max(UPSERTED, records // 20), UPSERTED)
        )
    ]

    def upsert(i: int) -> int:
        engine.put_many(*upserts[i])
        return UPSERTED

    rows.time("batch-upsert", len(upserts), upsert, engine.flush)
    gone = zipf(draw, records, records // 20).tolist()

    def remove(i: int) -> int:
        engine.remove(gone[i])
        return 1

    rows.time("remove", len(gone), remove, engine.flush)


def counters(engine: Engine, rows: Rows, items: int, seed: int) -> None:
    """Runs the workloads with counters: as many keys as items."""
    draw = np.random.default_rng(seed)
    batches = [zipf(draw, items, COUNTED) for _ in range(items // COUNTED)]

    def add(i: int) -> int:
        engine.add_many(batches[i])
        return COUNTED

    rows.time("count", len(batches), add, engine.flush)
    total = 0

    def read(i: int) -> int:
        nonlocal total
        total += len(engine.counts(batches[i]))
        return COUNTED

    rows.time("read counts", len(batches), read)


def serve(args: argparse.Namespace) -> None:
    """Runs one engine's round in this process."""
    rows = Rows(args.cap_s)
    engine = ENGINES[args.serve](args.scratch, args.cache_mib << 20, args.direct)
    if isinstance(engine, Store):
        blobs(engine, rows, args.records, args.seed)
    counters(engine, rows, args.items, args.seed)
    engine.close()
    print(json.dumps(rows.lines))


def main() -> None:
    """Runs the engines in turn and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", default=[], help=f"NAME=PYTHON; {', '.join(NAMES)}")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--items", type=int, default=4_000_000)
    parser.add_argument("--cache-mib", type=int, default=512)
    parser.add_argument("--direct", action="store_true", help="around the kernel's cache, where the engine can")
    parser.add_argument("--cap-s", type=float, default=10.0, help="a workload ends after so much time in calls")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scratch", type=Path, default=Path("keys-scratch"))
    parser.add_argument("--out", type=Path, help="file for the table; beside it the figures, as JSON")
    parser.add_argument("--serve", choices=NAMES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args)
        return
    pythons = dict(one.split("=", 1) for one in args.engine)
    figures: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
    for round_ in range(args.rounds):
        turn = round_ % len(pythons)
        for name in [*list(pythons)[turn:], *list(pythons)[:turn]]:
            shutil.rmtree(args.scratch, ignore_errors=True)
            args.scratch.mkdir(parents=True)
            command = [pythons[name], __file__, "--serve", name, "--scratch", str(args.scratch)]
            for option in ("records", "items", "cache_mib", "cap_s", "seed"):
                command += [f"--{option.replace('_', '-')}", str(getattr(args, option))]
            command += ["--direct"] if args.direct else []
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                print(f"{name} failed", file=sys.stderr)
                continue
            figures[name].append(json.loads(done.stdout))
            print(f"round {round_}: {name}", file=sys.stderr)
    shutil.rmtree(args.scratch, ignore_errors=True)
    text = "\n".join(report(args, figures)) + "\n"
    print(text)
    if args.out:
        args.out.write_text(text)
        args.out.with_suffix(".json").write_text(json.dumps(figures))


def report(args: argparse.Namespace, figures: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The table: medians, and how many times faster the first engine is than each other one."""
    first, *others = figures
    columns = [*figures, *(f"{first} : {name}" for name in others), "p99 µs", "longest ms"]
    lines = [
        f"{args.records:,} values of {VALUE} bytes, {args.items:,} increments, cache {args.cache_mib} MiB, one thread, "
        f"nothing synced{', direct I/O' if args.direct else ''}; medians of {args.rounds} rounds; "
        f"{os.cpu_count()} cores, {platform.release()}, load {os.getloadavg()[0]:.1f}. Entries a second; of the first "
        "engine also the 99th percentile and the longest of its calls.",
        "",
        f"| workload | {' | '.join(columns)} |",
        "| --- |" + " ---: |" * (len(figures) + len(others) + 2),
    ]
    rows = dict.fromkeys(row for rounds in figures.values() for line in rounds for row in line)
    for row in rows:
        rates = {name: [line[row]["rate"] for line in rounds if row in line] for name, rounds in figures.items()}
        cells = [f"{statistics.median(rates[name]):,.0f}" if rates[name] else "-" for name in figures]
        for name in others:
            ratios = [a / b for a, b in zip(rates[first], rates[name], strict=False)]
            cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "-")
        if own := [line[row] for line in figures[first] if row in line]:
            cells.append(f"{statistics.median(line['p99_us'] for line in own):,.1f}")
            cells.append(f"{max(line['max_us'] for line in own) / 1e3:,.1f}")
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
