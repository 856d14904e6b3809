"""DuckDB: one table with a unique index on (src, dst) and one index for each end.

The table is loaded in the order of ``src`` by DuckDB's own CSV reader. ``fsync_mode = NONE``
disables the sync of each commit, so a commit survives a killed process but not a power cut.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import duckdb
import numpy as np

from adapters.base import Adapter, Batch, EdgeTuples, Many
from edges import EdgeFile, IdArray

EDGE = "SELECT weight FROM edges WHERE src = ? AND dst = ?"
IN_EDGES = "SELECT src, dst, weight FROM edges WHERE dst = ?"
# A second condition on a constant would turn the index scan by `dst` into a scan of the table.
EDGES = (
    "SELECT src, dst, weight FROM edges WHERE src = $1 "
    "UNION ALL FROM (SELECT src, dst, weight FROM edges WHERE dst = $1) WHERE src <> dst"
)
NEIGHBORS = "SELECT dst FROM edges WHERE src = $1 UNION SELECT src FROM edges WHERE dst = $1"
DEGREE = f"SELECT count(*), coalesce(sum(weight), 0) FROM ({EDGES})"
IN_EDGES_MANY = "SELECT i, v, src, dst, weight FROM asked JOIN edges ON dst = v"
EDGES_MANY = (
    f"SELECT i, v, src, dst, weight FROM asked JOIN edges ON src = v UNION ALL ({IN_EDGES_MANY} WHERE src <> v)"
)
IN_DEGREE = "SELECT count(*), coalesce(sum(weight), 0) FROM edges WHERE dst = ?"
REMOVE = "DELETE FROM edges WHERE src = ? AND dst = ?"
UPSERT = "INSERT INTO edges VALUES (?, ?, ?) ON CONFLICT (src, dst) DO UPDATE SET weight = excluded.weight"


class DuckDb(Adapter):
    """Adapter of DuckDB."""

    name: ClassVar[str] = "duckdb"

    def open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.db: Any = duckdb.connect(
            str(self.folder / "edges.duckdb"),
            config={
                "threads": self.settings.threads,
                "memory_limit": f"{self.settings.memory_bytes >> 20}MiB",
                "fsync_mode": "NONE",
                "preserve_insertion_order": True,
            },
        )

    def close(self) -> None:
        self.db.close()

    def version(self) -> str:
        return f"duckdb {duckdb.__version__}"

    def _run(self, query: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        # Rows are always fetched to the end: DuckDB 2 finishes a statement no sooner.
        return self.db.execute(query, parameters).fetchall()

    def _one(self, query: str, parameters: tuple[Any, ...] = ()) -> Any:
        rows = self._run(query, parameters)
        return rows[0] if rows else None

    def import_edges(self, file: EdgeFile) -> None:
        self._run("CREATE TABLE edges (src UBIGINT, dst UBIGINT, weight DOUBLE)")
        weight = "weight" if file.weighted else "1.0 AS weight"
        self._run(f"CREATE TEMP TABLE staged AS SELECT src, dst, {weight} FROM {_csv(file)}")
        if self._one("SELECT count(*) = count(DISTINCT (src, dst)) FROM staged")[0]:
            self._run("INSERT INTO edges FROM staged ORDER BY src, dst")
        else:
            latest = "SELECT src, dst, arg_max(weight, rowid) FROM staged GROUP BY src, dst"
            self._run(f"INSERT INTO edges {latest} ORDER BY src, dst")
        self._run("DROP TABLE staged")
        self._run("CREATE UNIQUE INDEX edges_by_pair ON edges (src, dst)")
        self._run("CREATE INDEX edges_by_src ON edges (src)")
        self._run("CREATE INDEX edges_by_dst ON edges (dst)")

    def begin_reads(self) -> None:
        # A second thread only slows down lookups of one vertex; batches may use it.
        self._run("SET threads = 1")

    def end_reads(self) -> None:
        self._run(f"SET threads = {self.settings.threads}")

    def edge(self, u: int, v: int) -> float | None:
        row = self._one(EDGE, (u, v))
        return None if row is None else row[0]

    def in_edges(self, v: int) -> EdgeTuples:
        return self._run(IN_EDGES, (v,))

    def edges(self, v: int) -> EdgeTuples:
        return self._run(EDGES, (v,))

    def neighbors(self, v: int) -> list[int]:
        return [row[0] for row in self._run(NEIGHBORS, (v,)) if row[0] != v]

    def degree(self, v: int) -> tuple[int, float]:
        return self._one(DEGREE, (v,))

    def in_degree(self, v: int) -> tuple[int, float]:
        return self._one(IN_DEGREE, (v,))

    def remove(self, u: int, v: int) -> None:
        self._run(REMOVE, (u, v))

    def upsert(self, u: int, v: int, w: float) -> None:
        self._run(UPSERT, (u, v, w))

    def remove_batch(self, batch: Batch) -> None:
        self.db.register("batch", {"src": batch.us_array, "dst": batch.vs_array})
        self._run("DELETE FROM edges USING batch WHERE edges.src = batch.src AND edges.dst = batch.dst")

    def upsert_batch(self, batch: Batch) -> None:
        columns = {"src": batch.us_array, "dst": batch.vs_array, "weight": batch.ws_array}
        self.db.register("batch", columns)
        self._run(
            "INSERT INTO edges SELECT src, dst, last(weight) FROM batch GROUP BY ALL "
            "ON CONFLICT (src, dst) DO UPDATE SET weight = excluded.weight"
        )

    def totals(self, vertices: IdArray) -> list[tuple[int, float]]:
        return [self._one("SELECT count(*), sum(weight) FROM edges")]

    def many(self) -> Many:
        return {
            "edge": self._edge_many,
            "in_edges": partial(self._edges_many, IN_EDGES_MANY),
            "edges": partial(self._edges_many, EDGES_MANY),
            "neighbors": self._neighbors_many,
            "degree": partial(self._sums_many, EDGES_MANY),
            "in_degree": partial(self._sums_many, IN_EDGES_MANY),
        }

    def _columns(self, query: str, **asked: IdArray) -> Any:
        """Join with the table ``asked`` of items and their positions ``i``; return the columns."""
        columns = {**asked, "i": np.arange(len(next(iter(asked.values()))))}
        self.db.register("asked", columns)
        return self.db.execute(query).fetchnumpy()

    def _edge_many(self, us: IdArray, vs: IdArray) -> Any:
        query = "SELECT weight FROM asked LEFT JOIN edges ON src = u AND dst = v ORDER BY i"
        return np.ma.filled(self._columns(query, u=us, v=vs)["weight"], np.nan)

    def _edges_many(self, rows: str, vs: IdArray) -> Any:
        found = self._columns(f"SELECT i, src, dst, weight FROM ({rows}) ORDER BY i", v=vs)
        return _offsets(found["i"], len(vs)), found["src"], found["dst"], found["weight"]

    def _neighbors_many(self, vs: IdArray) -> Any:
        other = "SELECT DISTINCT i, CASE WHEN src = v THEN dst ELSE src END AS other"
        found = self._columns(f"{other} FROM ({EDGES_MANY}) WHERE src <> dst ORDER BY i, other", v=vs)
        return _offsets(found["i"], len(vs)), found["other"]

    def _sums_many(self, rows: str, vs: IdArray) -> Any:
        sums = f"SELECT i, count(*) AS n, sum(weight) AS total FROM ({rows}) GROUP BY i"
        joined = f"asked LEFT JOIN ({sums}) USING (i) ORDER BY i"
        found = self._columns(f"SELECT coalesce(n, 0) AS n, coalesce(total, 0) AS total FROM {joined}", v=vs)
        return found["n"], found["total"]


def _offsets(items: IdArray, count: int) -> Any:
    return np.searchsorted(items, np.arange(count + 1))


def _csv(file: EdgeFile) -> str:
    columns = {"src": "UBIGINT", "dst": "UBIGINT"} | ({"weight": "DOUBLE"} if file.weighted else {})
    comment = f", comment = '{file.comment}'" if file.comment else ""
    return (
        f"read_csv('{file.path}', delim = '{file.separator}', header = {file.header}, columns = {columns}, "
        f"auto_detect = false{comment})"
    )
