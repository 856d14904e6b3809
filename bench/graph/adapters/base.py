"""The interface of every database under test, and the conversion of answers to a common form.

The measuring loop only knows this class. An answer may have the shape that is natural to its
client, see `Edges`; `edge_list` turns it into tuples for the comparison with the reference, outside
of timed code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from edges import EdgeFile, FloatArray, IdArray

EdgeTuples: TypeAlias = list[tuple[int, int, float]]
"""Edges as a list of rows ``(source, target, weight)``."""

EdgeArrays: TypeAlias = tuple[IdArray, IdArray, FloatArray]
"""Edges as three columns of one length."""

Edges: TypeAlias = EdgeTuples | EdgeArrays

Many: TypeAlias = dict[str, Any]
"""Calls that take many items at once: operation name to a function of arrays."""


@dataclass(frozen=True)
class Settings:
    """Limits for each database, as far as it has a setting for them."""

    cache_bytes: int
    memory_bytes: int
    threads: int


@dataclass(frozen=True)
class Batch:
    """Edges to change in one transaction, as lists and as arrays, for different clients."""

    us: list[int]
    vs: list[int]
    ws: list[float]
    us_array: IdArray
    vs_array: IdArray
    ws_array: FloatArray

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, float]]) -> Batch:
        """A batch of the given edges."""
        us, vs, ws = [u for u, _, _ in rows], [v for _, v, _ in rows], [w for _, _, w in rows]
        return cls(us, vs, ws, np.array(us, np.uint64), np.array(vs, np.uint64), np.array(ws, np.float64))


class Adapter(ABC):
    """A graph with weighted edges, stored by one database so that both directions are indexed.

    A self-loop is one edge: `edges` and `degree` count it once, `neighbors` omits the vertex
    itself. Every write is committed when its call returns, with a durability that survives a killed
    process (no sync to the device per commit).
    """

    name: ClassVar[str]

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings

    @abstractmethod
    def open(self) -> None:
        """Open the database in ``self.folder``, creating it when the folder is empty."""

    @abstractmethod
    def close(self) -> None:
        """Close the database; everything committed is in the folder afterwards."""

    @abstractmethod
    def version(self) -> str:
        """Versions of the client and of the engine behind it."""

    @abstractmethod
    def import_edges(self, file: EdgeFile) -> None:
        """Load the text file into the empty database, with all indexes.

        The last of equal pairs wins.
        """

    # Some clients read faster under one long snapshot. The runner brackets read operations by
    # these.
    def begin_reads(self) -> None:  # noqa: B027 (most databases need nothing here)
        """Called once before a series of reads; nothing is written until `end_reads`."""

    def end_reads(self) -> None:  # noqa: B027
        """Called once after a series of reads."""

    @abstractmethod
    def edge(self, u: int, v: int) -> float | None:
        """Weight of the edge from ``u`` to ``v``, or None."""

    @abstractmethod
    def in_edges(self, v: int) -> Edges:
        """All edges that end at ``v``."""

    @abstractmethod
    def edges(self, v: int) -> Edges:
        """All edges with ``v`` in either role."""

    @abstractmethod
    def neighbors(self, v: int) -> Iterable[int]:
        """Distinct other ends of the edges of ``v``, without ``v``."""

    @abstractmethod
    def degree(self, v: int) -> tuple[int, float]:
        """Count and weight sum of the edges with ``v`` in either role."""

    @abstractmethod
    def in_degree(self, v: int) -> tuple[int, float]:
        """Count and weight sum of the edges that end at ``v``."""

    @abstractmethod
    def remove(self, u: int, v: int) -> None:
        """Delete one edge, in a transaction of its own."""

    @abstractmethod
    def upsert(self, u: int, v: int, w: float) -> None:
        """Insert or replace one edge, in a transaction of its own."""

    @abstractmethod
    def remove_batch(self, batch: Batch) -> None:
        """Delete edges, all in one transaction."""

    @abstractmethod
    def upsert_batch(self, batch: Batch) -> None:
        """Insert or replace edges, all in one transaction."""

    @abstractmethod
    def totals(self, vertices: IdArray) -> list[tuple[int, float]]:
        """Count and weight sum of all edges, read in full: one pair for each stored copy.

        ``vertices`` are all ids of the graph, for a client that can only query by vertex.
        """

    def many(self) -> Many:
        """Calls that take many items at once, if the client has them; otherwise empty.

        Keys are ``edge`` (two arrays), ``in_edges``, ``edges``, ``neighbors``, ``degree``,
        ``in_degree`` (one array). Lists of edges or of ids are returned as ``(offsets,
        columns...)``: item ``i`` has the rows ``offsets[i]:offsets[i + 1]``. Other results are one
        array per column.
        """
        return {}


def edge_list(found: Edges) -> EdgeTuples:
    """The edges as sorted tuples of plain numbers."""
    if isinstance(found, tuple):
        src, dst, weight = (np.asarray(column).tolist() for column in found)
        return sorted(zip(src, dst, weight, strict=True))
    return sorted((int(u), int(v), float(w)) for u, v, w in found)
