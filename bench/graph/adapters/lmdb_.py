"""LMDB through py-lmdb: two DUPSORT|DUPFIXED databases, by source and by target.

They map a vertex to pairs of the other vertex and the weight. With duplicates of fixed width, a
vertex's edges are stored in pages of their own, without the key, and `getmulti` returns all of them
as one buffer: much faster from Python than one key per edge and a cursor. Commits do not sync
(``sync=False``), so they survive a killed process but not a power cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import lmdb
import numpy as np

from adapters.base import Adapter, Batch, EdgeArrays, Many
from adapters.keys import ROW, VERTEX, WEIGHT, both_directions, cut, distinct, incoming, sums
from edges import EdgeFile, IdArray, read_frame, sorted_columns

MAP_BYTES = 64 << 30
"""Address space, not disk: the file is sparse and grows as needed."""

VALUE = np.dtype([("second", ">u8"), ("weight", "<f8")])


class Lmdb(Adapter):
    """Adapter of LMDB."""

    name: ClassVar[str] = "lmdb"

    def open(self) -> None:
        self.env: Any = lmdb.open(
            str(self.folder), map_size=MAP_BYTES, max_dbs=2, sync=False, metasync=False, writemap=True, max_spare_txns=4
        )
        self.out: Any = self.env.open_db(b"out", dupsort=True, dupfixed=True)
        self.into: Any = self.env.open_db(b"into", dupsort=True, dupfixed=True)
        self.txn: Any = None

    def close(self) -> None:
        self.env.close()

    def version(self) -> str:
        return f"py-lmdb {lmdb.__version__}, LMDB {'.'.join(map(str, lmdb.version()))}"

    def import_edges(self, file: EdgeFile) -> None:
        frame = read_frame(file)
        with self.env.begin(write=True) as txn:
            for db, first, second in ((self.out, "src", "dst"), (self.into, "dst", "src")):
                a, b, w = sorted_columns(frame, first, second)
                values = np.empty(len(a), dtype=VALUE)
                values["second"], values["weight"] = b, w
                pairs = zip(cut(a.astype(">u8").tobytes(), 8), cut(values.tobytes(), VALUE.itemsize), strict=True)
                with txn.cursor(db) as cursor:
                    cursor.putmulti(pairs, append=True)

    def begin_reads(self) -> None:
        self.txn = self.env.begin(buffers=True)
        self.out_cursor: Any = self.txn.cursor(self.out)
        self.into_cursor: Any = self.txn.cursor(self.into)

    def end_reads(self) -> None:
        self.out_cursor.close()
        self.into_cursor.close()
        self.txn.abort()

    def edge(self, u: int, v: int) -> float | None:
        target = VERTEX.pack(v)
        if self.out_cursor.set_range_dup(VERTEX.pack(u), target):
            value = self.out_cursor.value()
            if value[:8] == target:
                return WEIGHT.unpack_from(value, 8)[0]
        return None

    def _rows(self, cursor: Any, v: int) -> Any:
        return cursor.getmulti((VERTEX.pack(v),), dupdata=True, dupfixed_bytes=VALUE.itemsize, keyfixed=True)

    def in_edges(self, v: int) -> EdgeArrays:
        return incoming(self._rows(self.into_cursor, v))

    def edges(self, v: int) -> EdgeArrays:
        return both_directions(self._rows(self.out_cursor, v), self._rows(self.into_cursor, v))

    def neighbors(self, v: int) -> IdArray:
        return distinct(v, self._rows(self.out_cursor, v), self._rows(self.into_cursor, v))

    def degree(self, v: int) -> tuple[int, float]:
        return sums(v, self._rows(self.out_cursor, v), self._rows(self.into_cursor, v))

    def in_degree(self, v: int) -> tuple[int, float]:
        weights = np.frombuffer(self._rows(self.into_cursor, v), ROW)["weight"]
        return len(weights), float(weights.sum())

    @staticmethod
    def _remove(cursor: Any, first: bytes, second: bytes) -> None:
        if cursor.set_range_dup(first, second) and cursor.value()[:8] == second:
            cursor.delete()

    def _change(self, us: Sequence[int], vs: Sequence[int], ws: Sequence[float] | None) -> None:
        with self.env.begin(write=True) as txn, txn.cursor(self.out) as out, txn.cursor(self.into) as into:
            for i, (u, v) in enumerate(zip(us, vs, strict=True)):
                first, second = VERTEX.pack(u), VERTEX.pack(v)
                # The weight is part of the duplicate, so replacing an edge means removing it first.
                self._remove(out, first, second)
                self._remove(into, second, first)
                if ws is not None:
                    weight = WEIGHT.pack(ws[i])
                    out.put(first, second + weight)
                    into.put(second, first + weight)

    def remove(self, u: int, v: int) -> None:
        self._change((u,), (v,), None)

    def upsert(self, u: int, v: int, w: float) -> None:
        self._change((u,), (v,), (w,))

    def remove_batch(self, batch: Batch) -> None:
        self._change(batch.us, batch.vs, None)

    def upsert_batch(self, batch: Batch) -> None:
        self._change(batch.us, batch.vs, batch.ws)

    def totals(self, vertices: IdArray) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        with self.env.begin(buffers=True) as txn:
            for db in (self.out, self.into):
                with txn.cursor(db) as cursor:
                    values = b"".join(cursor.iternext(keys=False, values=True))
                weights = np.frombuffer(values, VALUE)["weight"]
                found.append((len(weights), float(weights.sum())))
        return found

    def many(self) -> Many:
        return {
            "in_edges": self._in_edges_many,
            "edges": self._edges_many,
            "neighbors": self._neighbors_many,
            "degree": self._degree_many,
            "in_degree": self._in_degree_many,
        }

    def _rows_many(self, cursor: Any, keys: list[bytes]) -> Any:
        """Rows of all keys, in their order, as one array; an absent key has no rows."""
        found = cursor.getmulti(keys, dupdata=True, dupfixed_bytes=VALUE.itemsize, keyfixed=True)
        return np.frombuffer(found, ROW)

    def _both_many(self, vs: IdArray) -> tuple[Any, Any, Any, Any]:
        """All edges of all vertices, self-loops once.

        The columns are the position of the vertex in ``vs``, source, target and weight.
        """
        keys = cut(vs.astype(">u8").tobytes(), 8)
        a, b = self._rows_many(self.out_cursor, keys), self._rows_many(self.into_cursor, keys)
        b = b[b["first"] != b["second"]]
        of = np.concatenate([a["first"], b["first"]]).astype(np.uint64)
        src = np.concatenate([a["first"], b["second"]]).astype(np.uint64)
        dst = np.concatenate([a["second"], b["first"]]).astype(np.uint64)
        return _positions(vs, of), src, dst, np.concatenate([a["weight"], b["weight"]])

    def _in_edges_many(self, vs: IdArray) -> Any:
        rows = self._rows_many(self.into_cursor, cut(vs.astype(">u8").tobytes(), 8))
        dst = rows["first"].astype(np.uint64)
        return _offsets(_positions(vs, dst), len(vs)), rows["second"].astype(np.uint64), dst, rows["weight"]

    def _edges_many(self, vs: IdArray) -> Any:
        position, *columns = self._both_many(vs)
        order = np.argsort(position, kind="stable")
        return _offsets(position[order], len(vs)), *(column[order] for column in columns)

    def _neighbors_many(self, vs: IdArray) -> Any:
        position, src, dst, _ = self._both_many(vs)
        other = src ^ dst ^ vs[position]
        position, other = position[src != dst], other[src != dst]
        order = np.lexsort((other, position))
        position, other = position[order], other[order]
        first = np.ones(len(other), dtype=np.bool_)
        first[1:] = (other[1:] != other[:-1]) | (position[1:] != position[:-1])
        return _offsets(position[first], len(vs)), other[first]

    def _degree_many(self, vs: IdArray) -> Any:
        position, _, _, weight = self._both_many(vs)
        return np.bincount(position, minlength=len(vs)), np.bincount(position, weight, minlength=len(vs))

    def _in_degree_many(self, vs: IdArray) -> Any:
        rows = self._rows_many(self.into_cursor, cut(vs.astype(">u8").tobytes(), 8))
        position = _positions(vs, rows["first"].astype(np.uint64))
        return np.bincount(position, minlength=len(vs)), np.bincount(position, rows["weight"], minlength=len(vs))


def _positions(vs: IdArray, of: IdArray) -> Any:
    """The position of each id in ``vs``, whose ids are distinct."""
    order = np.argsort(vs)
    return order[np.searchsorted(vs, of, sorter=order)]


def _offsets(positions: Any, count: int) -> Any:
    return np.searchsorted(positions, np.arange(count + 1))
