"""Edge lists as text files: detects their format, decompresses, generates and parses them.

All databases of a run import the same plain text file. Compressed or unusual inputs are rewritten
into ``bench/data`` first, so that decompression is not part of any measurement.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
import zstandard
from numpy.typing import NDArray

IdArray: TypeAlias = NDArray[np.uint64]
FloatArray: TypeAlias = NDArray[np.float64]

COMMENTS = (b"#", b"%")


@dataclass(frozen=True)
class EdgeFile:
    """A text file with one edge per line: source, target and optionally a weight."""

    path: Path
    separator: str
    header: bool
    weighted: bool
    comment: str | None

    @property
    def plain(self) -> bool:
        """Whether a CSV reader without options for comments can read the file."""
        return self.comment is None


def sniff(path: Path) -> EdgeFile:
    """Detect separator, header, weight column and comments from the first lines of the file.

    Raises:
        ValueError: The first data line is not two or three numbers.
    """
    comment: str | None = None
    lines: list[str] = []
    with path.open("rb") as file:
        for raw in file:
            if raw.startswith(COMMENTS):
                comment = raw[:1].decode()
            elif raw.strip():
                lines.append(raw.decode().strip())
            if len(lines) == 2:
                break
    if not lines:
        raise ValueError(f"{path}: no edges")
    separator = next((s for s in (",", "\t", " ") if s in lines[-1]), "")
    fields = lines[-1].split(separator) if separator else []
    if len(fields) not in (2, 3) or not all(_is_number(field) for field in fields):
        raise ValueError(f"{path}: expected two or three numbers a line, found {lines[-1]!r}")
    header = not all(_is_number(field) for field in lines[0].split(separator))
    return EdgeFile(path, separator, header, len(fields) == 3, comment)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_frame(file: EdgeFile) -> pl.DataFrame:
    """Parse the file with Polars, on all cores.

    The columns are ``src``, ``dst`` and ``weight`` (1 where the file has none).
    """
    columns: dict[str, pl.DataType] = {"src": pl.UInt64(), "dst": pl.UInt64()}
    if file.weighted:
        columns["weight"] = pl.Float64()
    frame = pl.read_csv(
        file.path, separator=file.separator, has_header=file.header, comment_prefix=file.comment, schema=columns
    )
    return frame if file.weighted else frame.with_columns(pl.lit(1.0).alias("weight"))


def sorted_columns(frame: pl.DataFrame, first: str, second: str) -> tuple[IdArray, IdArray, FloatArray]:
    """Sort the edges by ``(first, second)``; keep only the last one of equal pairs."""
    a: IdArray
    b: IdArray
    w: FloatArray
    a, b, w = (frame[name].to_numpy() for name in (first, second, "weight"))
    half = np.uint64(32)
    if len(a) and max(a.max(), b.max()) < 1 << 32:
        # One stable sort of a packed word: four times faster than a sort by two columns, here or in
        # Polars.
        pairs = (a << half) | b
        order = np.argsort(pairs, kind="stable")
        pairs = pairs[order]
        a, b = pairs >> half, pairs & np.uint64((1 << 32) - 1)
    else:
        order = np.lexsort((b, a))
        a, b = a[order], b[order]
    w = w[order]
    last = np.ones(len(a), dtype=np.bool_)
    last[:-1] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    return (a, b, w) if last.all() else (a[last], b[last], w[last])


def unpack(path: Path, folder: Path) -> Path:
    """Decompress a ``.zst`` file into ``folder``, once; return the path of other files unchanged.

    An adjacency list (``.adj.zst``: ``src dst:label dst:label ...``) becomes a CSV ``src,dst``.
    """
    if path.suffix != ".zst":
        return path
    folder.mkdir(parents=True, exist_ok=True)
    adjacency = path.name.endswith(".adj.zst")
    target = folder / (path.name.removesuffix(".adj.zst") + ".csv" if adjacency else path.name.removesuffix(".zst"))
    if target.exists():
        return target
    partial = target.with_suffix(".partial")
    with path.open("rb") as packed, partial.open("wb") as plain:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed)
        if adjacency:
            _adjacency_to_csv(io.BufferedReader(reader, 1 << 20), plain)
        else:
            while block := reader.read(1 << 20):
                plain.write(block)
    return partial.rename(target)


def _adjacency_to_csv(lines: io.BufferedReader, out: io.BufferedWriter) -> None:
    # Two passes of C code per line, instead of Python code per edge: 30 M edges take seconds.
    labels = re.compile(rb":\d+")
    for line in lines:
        src, _, targets = line.rstrip().partition(b" ")
        if targets:
            row = b"\n" + src + b","
            out.write(src + b"," + labels.sub(b"", targets).replace(b" ", row) + b"\n")


def generate(vertices: int, edges: int, seed: int, folder: Path) -> Path:
    """Write a directed graph with power-law degrees and weights of two decimals, as CSV.

    In- and out-degrees are drawn independently from Zipf-like weights (exponent 0.5) over differently
    shuffled vertices; pairs are distinct; lines are in random order.

    Raises:
        ValueError: More edges than half of the possible pairs.
    """
    if edges > vertices * vertices // 2:
        raise ValueError(f"{vertices} vertices cannot hold {edges} distinct random edges")
    target = folder / f"generated-{vertices}-{edges}-{seed}.csv"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(np.arange(1, vertices + 1, dtype=np.float64) ** -0.5)
    cumulative /= cumulative[-1]
    names = [rng.permutation(vertices).astype(np.uint64) for _ in range(2)]
    pairs = np.empty(0, dtype=np.uint64)
    while len(pairs) < edges:
        drawn = int((edges - len(pairs)) * 1.1) + 1000
        src, dst = (name[np.searchsorted(cumulative, rng.random(drawn))] for name in names)
        pairs = np.unique(np.concatenate([pairs, src * np.uint64(vertices) + dst]))
    pairs = rng.permutation(pairs)[:edges]
    weights = rng.integers(1, 10_000, edges) / 100
    frame = pl.DataFrame({"src": pairs // np.uint64(vertices), "dst": pairs % np.uint64(vertices), "weight": weights})
    partial = target.with_suffix(".partial")
    frame.write_csv(partial, float_precision=2)
    return partial.rename(target)
