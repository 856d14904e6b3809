"""Latency of single reads while another thread commits and compaction runs, against the same reads in quiet.

One process: the main thread reads `successors` of degree-biased vertices and notes each call's time; a
second thread commits batches (every one durable as asked) and now and then merges everything. The quiet
and the busy phase alternate, so that the machine's noise falls on both.

    python bench/latency.py --edges bench/data/graph.csv --rounds 5

The interpreter lock is part of what is measured: both threads are Python's.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import quipu


def percentiles(nanoseconds: list[int]) -> dict[str, float]:
    """Median, 99th and 99.9th percentile and maximum, in microseconds."""
    values: npt.NDArray[np.int64] = np.array(nanoseconds, dtype=np.int64)
    p50, p99, p999 = (float(value) / 1e3 for value in np.percentile(values, [50, 99, 99.9]))
    return {"p50": p50, "p99": p99, "p99.9": p999, "max": float(values.max()) / 1e3}


def read_for(graph: quipu.Graph, vertices: list[int], seconds: float) -> list[int]:
    """Reads one vertex after the other for some seconds; returns each call's nanoseconds."""
    taken: list[int] = []
    clock = time.perf_counter_ns
    end = clock() + int(seconds * 1e9)
    at = 0
    while True:
        start = clock()
        graph.successors(vertices[at])
        stop = clock()
        taken.append(stop - start)
        at = (at + 1) % len(vertices)
        if stop > end:
            return taken


class Writer(threading.Thread):
    """Commits upserts and removals of random edges, and compacts now and then."""

    def __init__(self, db: quipu.Database, graph: quipu.Graph, highest: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.db, self.graph, self.highest = db, graph, highest
        self.rng = np.random.default_rng(seed)
        self.stop = threading.Event()
        self.commits = 0
        self.compactions = 0

    def run(self) -> None:
        """Until told to stop."""
        while not self.stop.is_set():
            us, vs = self.rng.integers(0, self.highest, (2, 500), dtype=np.uint64)
            self.graph.upsert_many(us, vs, self.rng.random(500).round(2))
            self.graph.remove_many(us[:250], vs[:250])
            self.commits += 2
            if self.commits % 1000 == 0:
                self.db.compact()
                self.compactions += 1


def main() -> None:
    """Prints a JSON line a round and a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=Path, required=True, help="CSV of source,target,weight")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each phase")
    parser.add_argument("--durability", default="os")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="quipu-latency-", dir="."))
    try:
        with quipu.open(folder / "db", durability=options.durability) as db:
            graph = db.graph("g", weight="float64")
            report = graph.import_csv(options.edges)
            present = graph.vertices()
            rng = np.random.default_rng(1)
            vertices = [int(v) for v in rng.choice(present, 20_000)]
            highest = int(present.max()) + 1
            ratios: list[float] = []
            for round_number in range(options.rounds):
                quiet = percentiles(read_for(graph, vertices, options.seconds))
                writer = Writer(db, graph, highest, round_number)
                writer.start()
                busy = percentiles(read_for(graph, vertices, options.seconds))
                writer.stop.set()
                writer.join()
                ratios.append(busy["p99"] / quiet["p99"])
                line = {
                    "round": round_number,
                    "edges": report.edges,
                    "quiet_us": quiet,
                    "busy_us": busy,
                    "commits": writer.commits,
                    "compactions": writer.compactions,
                }
                print(json.dumps(line), flush=True)
            print(
                f"99th percentile, busy / quiet: median {statistics.median(ratios):.2f}, "
                f"{min(ratios):.2f} to {max(ratios):.2f} in {options.rounds} rounds"
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
