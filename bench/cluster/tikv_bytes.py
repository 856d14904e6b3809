"""Measures the bytes of an edge in a table of RocksDB, with keys and values as TiKV would write them.

TiKV itself is not run. Its write column family is a RocksDB whose rows are built here
(`layouts.tikv_row_bytes` has their parts), with the block size and filter of TiKV's defaults. Needs
`rocksdict`.

    python bench/cluster/tikv_bytes.py --scale 18
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rocksdict import BlockBasedOptions, DBCompressionType, Options, SstFileWriter

from graphs import Ids, rmat
from layouts import LAYOUTS, mix, tikv_row_bytes, value_bytes

Bytes = npt.NDArray[np.uint8]

BLOCK_BYTES = 32 << 10
BLOOM_BITS = 10
# A timestamp is milliseconds since 1970 and 18 bits of a counter.
TIMESTAMP = 1_795_000_000_000 << 18


def keys(prefix: int, near: Ids, far: Ids, commits: Ids) -> Bytes:
    """Keys in the write column family, a row of the array each."""
    plain = np.concatenate([_words(np.full_like(near, prefix))[:, 4:], _words(near), _words(far)], axis=1)
    out = np.full((len(near), 1 + 27 + 8), 0xFF, np.uint8)
    out[:, 0] = ord("z")
    out[:, 1:9], out[:, 10:18], out[:, 19:23] = plain[:, :8], plain[:, 8:16], plain[:, 16:]
    # The last group is padded, and its marker tells by how much.
    out[:, 23:27], out[:, 27] = 0, 0xFF - 4
    out[:, 28:] = ~_words(commits)
    return out


def values(starts: Ids, rng: np.random.Generator) -> Bytes:
    """Records of the write column family with a short value: flags, two zeros, a checksum."""
    size = value_bytes()
    out = np.zeros((len(starts), 12 + size), np.uint8)
    out[:, 0] = ord("P")
    for i in range(9):
        out[:, 1 + i] = (starts >> (7 * i) & 0x7F) | (0x80 if i < 8 else 0)
    out[:, 10], out[:, 11] = ord("v"), size
    out[:, -4:] = rng.integers(0, 256, (len(starts), 4), np.uint8)
    return out


def _words(numbers: Ids) -> Bytes:
    return numbers.astype(">u8").view(np.uint8).reshape(-1, 8)


def table_bytes(rows: tuple[Bytes, Bytes], compression: Any, folder: Path) -> int:
    """Bytes of a table with these keys and values, which are in order."""
    options = Options(raw_mode=True)
    options.set_compression_type(compression)
    blocks = BlockBasedOptions()
    blocks.set_block_size(BLOCK_BYTES)
    blocks.set_bloom_filter(BLOOM_BITS, False)
    options.set_block_based_table_factory(blocks)
    writer = SstFileWriter(options)
    path = folder / "rows.sst"
    writer.open(str(path))
    for key, value in zip(*(map(bytes, part) for part in rows), strict=True):
        writer[key] = value
    writer.finish()
    size = path.stat().st_size
    path.unlink()
    return size


def main() -> None:
    """Prints a table of bytes an edge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=18, help="2^scale vertices of an R-MAT graph")
    parser.add_argument("--edges-a-vertex", type=int, default=16)
    parser.add_argument("--id-bits", type=int, default=34, help="bits of an id: 34 are 17 billion vertices")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    graph = rmat(given.scale, given.edges_a_vertex << given.scale, rng)
    raw = 2 * float(tikv_row_bytes(20, np.array(value_bytes())))
    print(
        f"R-MAT, {graph.vertices:,} vertices with ids of {given.id_bits} bits, {graph.edges:,} edges, "
        f"seed {given.seed}; {raw:.0f} bytes an edge before compression\n"
    )
    # The ids of a larger graph: as far apart as if this were a sample of its vertices.
    spread = given.id_bits - given.scale
    low = (mix(np.arange(graph.vertices, dtype=np.uint64)) & np.uint64((1 << spread) - 1)).view(np.int64)
    sources, targets = (ends << spread | low[ends] for ends in (graph.sources, graph.targets))
    print("| layout | timestamps | LZ4 | Zstandard |\n| --- | --- | ---: | ---: |")
    compressions = (DBCompressionType.lz4(), DBCompressionType.zstd())
    for layout in LAYOUTS:
        if layout.name not in ("as is", "hashed"):
            continue
        for timestamps in ("of one load", "of a commit an edge"):
            sizes = [0, 0]
            for prefix, near, far in ((1, sources, targets), (2, targets, sources)):
                first, second = layout.words(near.view(np.uint64), far.view(np.uint64), np.zeros(1, np.bool_))
                order = np.lexsort((second, first))
                age = np.arange(graph.edges) if timestamps == "of a commit an edge" else np.zeros(graph.edges, np.int64)
                # A commit a millisecond, and its start ten before it.
                commits = TIMESTAMP + (age[order] << 18)
                near_words, far_words = first[order].view(np.int64), second[order].view(np.int64)
                rows = keys(prefix, near_words, far_words, commits), values(commits - (10 << 18), rng)
                with tempfile.TemporaryDirectory() as folder:
                    for i, compression in enumerate(compressions):
                        sizes[i] += table_bytes(rows, compression, Path(folder))
            print(
                f"| {layout.name} | {timestamps} | {' | '.join(f'{s / graph.edges:.1f}' for s in sizes)} |", flush=True
            )


if __name__ == "__main__":
    main()
