"""Graphs of the bench of whole-graph work: real ones where their files are at hand, and random ones from a seed.

All engines get the same simple directed graph: positions from 0, without loops and parallel edges, sorted. A loop or a
parallel edge means something else in each library, and would make the answers differ. Each edge has a weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BENCH = Path(__file__).resolve().parent.parent
DATA = BENCH / "data" / "analytics"
SHARED = BENCH.parent.parent / "shared" / "data"
"""Where real graphs lie beside the repository, if at all; ``--data-dir`` names another place."""

REAL = {
    "cnr-2000": "cnr-2000.edges.zst",
    "github-map": "github-map.edges.zst",
    "road-ny": "road-ny-dimacs9.edges.zst",
    "git-git-dag": "git-git-dag.adj.zst",
}


@dataclass(frozen=True)
class Edges:
    """A directed graph as columns, sorted by source and target."""

    name: str
    vertices: int
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    weight: NDArray[np.float64]
    """Whole numbers from 1: distances are exact in every library."""

    @cached_property
    def source(self) -> int:
        """The vertex that searches start from: the first of those with the most outgoing edges."""
        return int(np.bincount(self.src, minlength=self.vertices).argmax())

    def undirected(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]:
        """Each pair once, the smaller position first, with the smaller weight."""
        low, high = np.minimum(self.src, self.dst), np.maximum(self.src, self.dst)
        order = np.lexsort((self.weight, high, low))
        low, high = low[order], high[order]
        first = np.ones(len(low), dtype=np.bool_)
        first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        return low[first], high[first], self.weight[order][first]


def simple(name: str, src: NDArray[np.uint64], dst: NDArray[np.uint64], weight: NDArray[np.float64] | None) -> Edges:
    """Edges with positions for ids, without loops and repeated pairs, and with weights from 1 to 255."""
    kept = src != dst
    src, dst = src[kept], dst[kept]
    ids = np.unique(np.concatenate([src, dst]))
    pairs = np.searchsorted(ids, src).astype(np.uint64) << np.uint64(32)
    pairs |= np.searchsorted(ids, dst).astype(np.uint64)
    pairs, first = np.unique(pairs, return_index=True)
    if weight is None:
        weight = (((pairs * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(56)) + np.uint64(1)).astype(np.float64)
    else:
        weight = weight[kept][first]
    low = np.uint64((1 << 32) - 1)
    return Edges(name, len(ids), (pairs >> np.uint64(32)).astype(np.uint32), (pairs & low).astype(np.uint32), weight)


def rmat(scale: int, edges: int, seed: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.uint64]]]:
    """Blocks of edges of an R-MAT graph with Graph500's probabilities (.57, .19, .19, .05), vertices shuffled.

    Loops and repeated pairs are part of it.
    """
    rng = np.random.default_rng(seed)
    names = rng.permutation(1 << scale).astype(np.uint64)
    for begin in range(0, edges, 1 << 22):
        count = min(1 << 22, edges - begin)
        src, dst = np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.uint64)
        for _ in range(scale):
            drawn = rng.random(count)
            down = drawn >= 0.76
            right = ((drawn >= 0.57) & (drawn < 0.76)) | (drawn >= 0.95)
            src = (src << np.uint64(1)) | down
            dst = (dst << np.uint64(1)) | right
        yield names[src], names[dst]


def generated(scale: int, degree: int, seed: int) -> Edges:
    """An R-MAT graph in memory."""
    blocks = list(rmat(scale, degree << scale, seed))
    src, dst = (np.concatenate([block[side] for block in blocks]) for side in (0, 1))
    return simple(f"rmat-{scale}", src, dst, None)


def load(name: str, folder: Path) -> Edges | None:
    """A real graph, or ``None`` where its file does not exist. It is parsed once, and kept in ``bench/data``."""
    kept = DATA / f"{name}.npz"
    if not kept.exists():
        path = folder / REAL[name]
        if not path.exists():
            return None
        DATA.mkdir(parents=True, exist_ok=True)
        columns = _adjacency(path) if path.name.endswith(".adj.zst") else _rows(path)
        edges = simple(name, *columns)
        np.savez(kept, n=edges.vertices, src=edges.src, dst=edges.dst, weight=edges.weight)
    with np.load(kept) as found:
        return Edges(name, int(found["n"]), found["src"], found["dst"], found["weight"])


def _text(path: Path) -> bytes:
    import pyarrow as pa

    with pa.input_stream(str(path), compression="zstd") as stream:
        return stream.read()


def _rows(path: Path) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.float64] | None]:
    """Columns of ``src dst`` or ``src dst weight`` a line."""
    import pyarrow as pa
    from pyarrow import csv

    table = csv.read_csv(
        pa.BufferReader(_text(path)),
        read_options=csv.ReadOptions(autogenerate_column_names=True),
        parse_options=csv.ParseOptions(delimiter=" "),
    )
    src, dst = (table.column(i).to_numpy().astype(np.uint64) for i in (0, 1))
    return src, dst, table.column(2).to_numpy().astype(np.float64) if table.num_columns > 2 else None


def _adjacency(path: Path) -> tuple[NDArray[np.uint64], NDArray[np.uint64], None]:
    """Columns of ``src dst:label dst:label ...`` a line."""
    sources: list[int] = []
    counts: list[int] = []
    targets: list[NDArray[np.uint64]] = []
    for line in _text(path).splitlines():
        src, *rest = line.replace(b":", b" ").split()
        sources.append(int(src))
        counts.append(len(rest) // 2)
        targets.append(np.array(rest[::2], dtype=np.uint64) if rest else np.empty(0, dtype=np.uint64))
    return np.repeat(np.array(sources, dtype=np.uint64), counts), np.concatenate(targets), None
