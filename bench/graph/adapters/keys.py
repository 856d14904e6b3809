"""Keys and rows that the ordered key-value stores share.

A key is the pair of vertices, big-endian so that the order of bytes is that of numbers; the value
is the weight. The rows of one vertex are adjacent, so reading them is one range scan.
"""

from __future__ import annotations

import struct

import numpy as np

from edges import FloatArray, IdArray

PAIR = struct.Struct(">QQ")
VERTEX = struct.Struct(">Q")
WEIGHT = struct.Struct("<d")

PAIR_BYTES = 16
ROW = np.dtype([("first", ">u8"), ("second", ">u8"), ("weight", "<f8")])
"""A key followed by its value: what a scan returns when keys and values are joined into one byte string."""


def packed(first: IdArray, second: IdArray, weight: FloatArray) -> tuple[list[bytes], list[bytes]]:
    """Keys and values of many rows; sorted rows give sorted keys."""
    pairs = np.empty((len(first), 2), dtype=">u8")
    pairs[:, 0] = first
    pairs[:, 1] = second
    return cut(pairs.tobytes(), PAIR_BYTES), cut(weight.astype("<f8").tobytes(), 8)


def cut(data: bytes, width: int) -> list[bytes]:
    """Split the byte string into pieces of equal width."""
    return np.frombuffer(data, f"V{width}").tolist()  # twice as fast as slicing


def native_ids(column: np.ndarray) -> IdArray:
    """Convert big-endian ids to a new array of native ones."""
    return column.astype(np.uint64)


def both_directions(out: bytes, into: bytes) -> tuple[IdArray, IdArray, FloatArray]:
    """Edges of a vertex from its rows by source (``out``) and by target (``into``), a self-loop once."""
    a, b = np.frombuffer(out, ROW), np.frombuffer(into, ROW)
    b = b[b["first"] != b["second"]]
    src = np.concatenate([a["first"], b["second"]]).astype(np.uint64)
    dst = np.concatenate([a["second"], b["first"]]).astype(np.uint64)
    return src, dst, np.concatenate([a["weight"], b["weight"]])


def incoming(into: bytes) -> tuple[IdArray, IdArray, FloatArray]:
    """Edges that end at a vertex from its rows by target."""
    rows = np.frombuffer(into, ROW)
    return native_ids(rows["second"]), native_ids(rows["first"]), rows["weight"]


def distinct(v: int, out: bytes, into: bytes) -> IdArray:
    """Distinct other ends from rows ``first, second, weight`` of both directions."""
    ids = np.concatenate([np.frombuffer(out, ROW)["second"], np.frombuffer(into, ROW)["second"]])
    ids = np.unique(native_ids(ids))
    return ids[ids != np.uint64(v)]


def sums(v: int, out: bytes, into: bytes) -> tuple[int, float]:
    """Count and weight sum over rows of both directions, a self-loop once."""
    a, b = np.frombuffer(out, ROW), np.frombuffer(into, ROW)
    count, total = len(a) + len(b), float(a["weight"].sum() + b["weight"].sum())
    loop = a["weight"][a["second"] == v]
    return (count - 1, total - float(loop[0])) if len(loop) else (count, total)
