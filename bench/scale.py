"""Imports 1 M to 30 M edges of the same kind of graph, to see whether the cost per edge is flat.

The graph grows in vertices as in edges (mean degree 18), so that only its size changes. For each
size, in alternating rounds: seconds, nanoseconds per edge, bytes per edge on disk, bytes written,
peak memory.

    python bench/scale.py --sizes 1 3 10 30 --rounds 3 --memory-limit 1GB
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parent / "data"
CHILD = """
import json, os, sys, time
import quipu
db = quipu.open(sys.argv[2], durability="os", memory_limit=sys.argv[3])
start = time.perf_counter()
report = db.graph("g").import_csv(sys.argv[1])
seconds = time.perf_counter() - start
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
print(json.dumps({"edges": report.edges, "seconds": seconds, "written": report.bytes_written, "peak": peak,
                  "disk": db.stats()["disk_bytes"], "cpu": sum(os.times()[:2])}))
db.close()
"""


def edges_file(millions: int) -> Path:
    """The path of a CSV file with random edges, generated once."""
    path = DATA / f"scale-{millions}m.csv"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(millions)
        count = millions * 1_000_000
        vertices = count // 18
        with path.open("w") as out:
            for _ in range(0, count, 1_000_000):
                # Squares of uniform numbers: some vertices have many edges, most have few.
                pairs = (rng.random((1_000_000, 2)) ** 2 * vertices).astype(np.int64)
                out.write("\n".join(f"{u},{v}" for u, v in pairs.tolist()) + "\n")
    return path


def main() -> None:
    """Prints a JSON line per run, and a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 3, 10, 30], help="millions of edges")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-limit", default="1GB")
    options = parser.parse_args()
    files = {size: edges_file(size) for size in options.sizes}
    runs: dict[int, list[dict[str, float]]] = {size: [] for size in files}
    for _ in range(options.rounds):
        for size, file in files.items():
            folder = DATA / "scale.quipu"
            shutil.rmtree(folder, ignore_errors=True)
            arguments = [sys.executable, "-c", CHILD, str(file), str(folder), options.memory_limit]
            child = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True)
            run: dict[str, float] = json.loads(child.stdout)
            runs[size].append(run)
            print(json.dumps({"size": size, **run}), flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    print("| edges | ns an edge (wall) | ns an edge (cpu) | M edges/s | bytes an edge | written / final | peak MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for size, measured in runs.items():

        def median(figure: str, measured: list[dict[str, float]] = measured) -> float:
            return statistics.median(run[figure] for run in measured)

        edges = median("edges")
        print(
            f"| {size} M | {median('seconds') / edges * 1e9:.0f} | {median('cpu') / edges * 1e9:.0f} "
            f"| {edges / median('seconds') / 1e6:.1f} | {median('disk') / edges:.2f} "
            f"| {median('written') / median('disk'):.2f} | {median('peak') / 1e6:.0f} |"
        )


if __name__ == "__main__":
    main()
