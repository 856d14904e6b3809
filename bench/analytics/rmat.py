"""A graph at the scale of Friendster: R-MAT of 2^SCALE vertices and 16 times as many edges, from import to components.

    python bench/analytics/rmat.py --scales 20 22 24 --folder /data/rmat

Each scale is a process of its own, so the peak is its own. The edges of `graphs.rmat` are imported as an Arrow stream;
the time for drawing them is measured alone, too. A line of JSON for each scale goes to standard output.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import quipu

from graphs import rmat

SCHEMA = pa.schema([("src", pa.uint64()), ("dst", pa.uint64())])
EDGES_A_VERTEX = 16
SEED = 1


def batches(scale: int) -> Iterator[pa.RecordBatch]:
    """Draw all edges."""
    for sources, targets in rmat(scale, EDGES_A_VERTEX << scale, SEED):
        yield pa.record_batch([pa.array(sources), pa.array(targets)], schema=SCHEMA)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call takes, and its result."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def peak_mb() -> int:
    """Return the largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def run(scale: int, folder: Path, memory: str) -> dict[str, Any]:
    """Measure one scale."""
    drawing, _ = timed(lambda: sum(len(batch) for batch in batches(scale)))
    stream = pa.RecordBatchReader.from_batches(SCHEMA, batches(scale))
    path = folder / f"rmat-{scale}.quipu"
    shutil.rmtree(path, ignore_errors=True)
    figures: dict[str, Any] = {"scale": scale, "memory_limit": memory, "drawing_s": drawing}
    with quipu.open(path, memory_limit=memory) as db:
        g = db.graph("g")
        both, report = timed(lambda: g.import_arrow(stream))
        figures |= {"import_and_drawing_s": both, "edges": report.edges, "import_peak_mb": peak_mb()}
        figures["bytes"] = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    with quipu.open(path, memory_limit=memory) as db:
        g = db.graph("g")
        figures["project_s"], p = timed(lambda: g.project())
        figures["vertices"] = len(p.ids)
        figures["pagerank_s"], ranks = timed(lambda: p.pagerank())
        figures["rank_sum"] = float(ranks.values.sum())
        figures["components_s"], components = timed(lambda: p.connected_components())
        figures["largest_component"] = int(np.bincount(np.asarray(components.values, dtype=np.int64)).max())
        figures["projection_mb"] = p.nbytes >> 20
        figures["peak_mb"] = peak_mb()
    shutil.rmtree(path)
    return figures


def main() -> None:
    """Run each scale in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", type=int, nargs="+", default=[16, 18, 20])
    parser.add_argument("--folder", type=Path, required=True, help="where the databases are made; each is removed")
    parser.add_argument("--memory", default="12GB", help="the memory limit of the database")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for scale in options.scales:
        if options.alone:
            print(json.dumps(run(scale, options.folder, options.memory)), flush=True)
            continue
        again = ["--scales", str(scale), "--folder", str(options.folder), "--memory", options.memory, "--alone"]
        subprocess.run([sys.executable, __file__, *again], check=True)


if __name__ == "__main__":
    main()
