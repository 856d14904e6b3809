"""A graph at the scale of Friendster: R-MAT of 2^SCALE vertices and 16 times as many edges, from import to components.

    python bench/analytics/rmat.py --scales 20 22 24 --folder /data/rmat

Each scale is a process of its own, so the peak is its own. Edges are drawn in batches of 2^22 by the rule of Graph500
(Chakrabarti, Zhan, Faloutsos: *R-MAT: a recursive model for graph mining*, SDM 2004; a = .57, b = c = .19) and imported
as an Arrow stream; the time for drawing them is measured alone, and taken off. A line of JSON for each scale goes to
standard output.
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
import numpy.typing as npt
import pyarrow as pa
import quipu

BATCH = 1 << 22
EDGES_A_VERTEX = 16
# Thresholds of a random byte pair: source bit 1 with c + d, target bit 1 with b or d.
A, B, C = 0.57, 0.19, 0.19

Ids = npt.NDArray[np.uint32]


def batch(scale: int, number: int) -> tuple[Ids, Ids]:
    """Draw one batch of edges."""
    rng = np.random.default_rng([scale, number])
    count = min(BATCH, EDGES_A_VERTEX << scale)
    sources, targets = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
    for bit in range(scale):
        drawn = rng.random(count, dtype=np.float32)
        down = drawn >= A + B
        right = ((drawn >= A) & ~down) | (drawn >= A + B + C)
        sources |= down.astype(np.uint32) << np.uint32(bit)
        targets |= right.astype(np.uint32) << np.uint32(bit)
    return sources, targets


def batches(scale: int) -> Iterator[tuple[Ids, Ids]]:
    """Draw all edges."""
    edges = EDGES_A_VERTEX << scale
    return (batch(scale, number) for number in range((edges + BATCH - 1) // BATCH))


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
    drawing, _ = timed(lambda: sum(len(sources) for sources, _ in batches(scale)))
    schema = pa.schema([("src", pa.uint32()), ("dst", pa.uint32())])
    stream = pa.RecordBatchReader.from_batches(
        schema, (pa.record_batch([pa.array(u), pa.array(v)], schema=schema) for u, v in batches(scale))
    )
    path = folder / f"rmat-{scale}.quipu"
    shutil.rmtree(path, ignore_errors=True)
    figures: dict[str, Any] = {"scale": scale, "memory_limit": memory, "drawing_s": drawing}
    with quipu.open(path, memory_limit=memory) as db:
        g = db.graph("g")
        both, report = timed(lambda: g.import_arrow(stream))
        figures |= {"import_s": both - drawing, "edges": report.edges, "import_peak_mb": peak_mb()}
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
