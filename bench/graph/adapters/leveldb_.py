"""LevelDB through plyvel: one database with a tag byte for the direction of an edge.

A write batch changes both directions. A scan's keys and values are joined into one byte string and
decoded by NumPy at once. The log is written without a sync, LevelDB's default, so a commit survives
a killed process.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from adapters.base import Adapter, Batch, EdgeArrays
from adapters.keys import PAIR, VERTEX, WEIGHT, both_directions, distinct, incoming, packed, sums
from edges import EdgeFile, IdArray, read_frame, sorted_columns

plyvel: Any = import_module("plyvel")  # has no types

OUT, INTO = b"\x00", b"\x01"
LOAD_BATCH_ROWS = 100_000


class LevelDb(Adapter):
    """Adapter of LevelDB."""

    name: ClassVar[str] = "leveldb"

    def open(self) -> None:
        self.db: Any = plyvel.DB(
            str(self.folder),
            create_if_missing=True,
            lru_cache_size=self.settings.cache_bytes,
            bloom_filter_bits=10,
            write_buffer_size=64 << 20,
            max_file_size=64 << 20,
        )
        # A view of the database under a prefix strips the tag from every key: rows stay 24 bytes.
        self.out: Any = self.db.prefixed_db(OUT)
        self.into: Any = self.db.prefixed_db(INTO)

    def close(self) -> None:
        self.db.close()

    def version(self) -> str:
        return f"plyvel {plyvel.__version__}, LevelDB {plyvel.__leveldb_version__}"

    def import_edges(self, file: EdgeFile) -> None:
        frame = read_frame(file)
        for tag, first, second in ((OUT, "src", "dst"), (INTO, "dst", "src")):
            keys, values = packed(*sorted_columns(frame, first, second))
            for start in range(0, len(keys), LOAD_BATCH_ROWS):
                batch = self.db.write_batch()
                put, stop = batch.put, start + LOAD_BATCH_ROWS
                for key, value in zip(keys[start:stop], values[start:stop], strict=True):
                    put(tag + key, value)
                batch.write()

    def edge(self, u: int, v: int) -> float | None:
        value = self.db.get(OUT + PAIR.pack(u, v))
        return None if value is None else WEIGHT.unpack(value)[0]

    def _rows(self, direction: Any, v: int) -> bytes:
        return b"".join(chain.from_iterable(direction.iterator(start=VERTEX.pack(v), stop=VERTEX.pack(v + 1))))

    def in_edges(self, v: int) -> EdgeArrays:
        return incoming(self._rows(self.into, v))

    def edges(self, v: int) -> EdgeArrays:
        return both_directions(self._rows(self.out, v), self._rows(self.into, v))

    def neighbors(self, v: int) -> IdArray:
        return distinct(v, self._rows(self.out, v), self._rows(self.into, v))

    def degree(self, v: int) -> tuple[int, float]:
        return sums(v, self._rows(self.out, v), self._rows(self.into, v))

    def in_degree(self, v: int) -> tuple[int, float]:
        rows = self.into.iterator(start=VERTEX.pack(v), stop=VERTEX.pack(v + 1), include_key=False)
        weights = np.frombuffer(b"".join(rows), "<f8")
        return len(weights), float(weights.sum())

    def remove(self, u: int, v: int) -> None:
        self._remove((u,), (v,))

    def upsert(self, u: int, v: int, w: float) -> None:
        self._upsert((u,), (v,), (w,))

    def remove_batch(self, batch: Batch) -> None:
        self._remove(batch.us, batch.vs)

    def _remove(self, us: Sequence[int], vs: Sequence[int]) -> None:
        batch = self.db.write_batch()
        for u, v in zip(us, vs, strict=True):
            batch.delete(OUT + PAIR.pack(u, v))
            batch.delete(INTO + PAIR.pack(v, u))
        batch.write()

    def upsert_batch(self, batch: Batch) -> None:
        self._upsert(batch.us, batch.vs, batch.ws)

    def _upsert(self, us: Sequence[int], vs: Sequence[int], ws: Sequence[float]) -> None:
        batch = self.db.write_batch()
        for u, v, w in zip(us, vs, ws, strict=True):
            weight = WEIGHT.pack(w)
            batch.put(OUT + PAIR.pack(u, v), weight)
            batch.put(INTO + PAIR.pack(v, u), weight)
        batch.write()

    def totals(self, vertices: IdArray) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        for direction in (self.out, self.into):
            weights = np.frombuffer(b"".join(direction.iterator(include_key=False)), "<f8")
            found.append((len(weights), float(weights.sum())))
        return found
