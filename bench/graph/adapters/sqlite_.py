"""SQLite through the standard library: a table by (src, dst) and an index by (dst, src).

The table is WITHOUT ROWID, the index is covering. Rows are inserted in key order, the index is
built afterwards. The write-ahead log is not synced (``synchronous=OFF``), so a commit survives a
killed process but not a power cut.
"""

from __future__ import annotations

import sqlite3
from typing import Any, ClassVar

from adapters.base import Adapter, Batch, EdgeTuples
from edges import EdgeFile, IdArray, read_frame, sorted_columns

EDGE = "SELECT weight FROM edges WHERE src = ? AND dst = ?"
IN_EDGES = "SELECT src, dst, weight FROM edges WHERE dst = ?"
EDGES = (
    "SELECT src, dst, weight FROM edges WHERE src = ?1 "
    "UNION ALL SELECT src, dst, weight FROM edges WHERE dst = ?1 AND src <> ?1"
)
NEIGHBORS = (
    "SELECT dst FROM edges WHERE src = ?1 AND dst <> ?1 UNION SELECT src FROM edges WHERE dst = ?1 AND src <> ?1"
)
DEGREE = (
    "SELECT count(*), coalesce(sum(weight), 0) FROM ("
    "SELECT weight FROM edges WHERE src = ?1 UNION ALL SELECT weight FROM edges WHERE dst = ?1 AND src <> ?1)"
)
IN_DEGREE = "SELECT count(*), coalesce(sum(weight), 0) FROM edges WHERE dst = ?"
REMOVE = "DELETE FROM edges WHERE src = ? AND dst = ?"
UPSERT = "INSERT INTO edges VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET weight = excluded.weight"


class Sqlite(Adapter):
    """Adapter of SQLite."""

    name: ClassVar[str] = "sqlite"

    def open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.db: Any = sqlite3.connect(self.folder / "edges.db", isolation_level=None)
        for pragma in (
            "page_size = 8192",
            "journal_mode = WAL",
            "synchronous = OFF",
            "locking_mode = EXCLUSIVE",
            "wal_autocheckpoint = 10000",
            f"cache_size = -{self.settings.cache_bytes >> 10}",
            f"mmap_size = {self.settings.memory_bytes}",
            "temp_store = MEMORY",
            f"threads = {self.settings.threads}",
        ):
            self.db.execute(f"PRAGMA {pragma}")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS edges (src INTEGER, dst INTEGER, weight REAL NOT NULL, "
            "PRIMARY KEY (src, dst)) WITHOUT ROWID"
        )

    def close(self) -> None:
        self.db.execute("PRAGMA optimize")
        self.db.close()

    def version(self) -> str:
        return f"sqlite3 of the standard library, SQLite {sqlite3.sqlite_version}"

    def import_edges(self, file: EdgeFile) -> None:
        columns = sorted_columns(read_frame(file), "src", "dst")
        self.db.execute("BEGIN")
        self.db.executemany(
            "INSERT INTO edges VALUES (?, ?, ?)", zip(*(column.tolist() for column in columns), strict=True)
        )
        self.db.execute("CREATE INDEX edges_by_dst ON edges (dst, src, weight)")
        self.db.execute("COMMIT")

    def edge(self, u: int, v: int) -> float | None:
        row = self.db.execute(EDGE, (u, v)).fetchone()
        return None if row is None else row[0]

    def in_edges(self, v: int) -> EdgeTuples:
        return self.db.execute(IN_EDGES, (v,)).fetchall()

    def edges(self, v: int) -> EdgeTuples:
        return self.db.execute(EDGES, (v,)).fetchall()

    def neighbors(self, v: int) -> list[int]:
        return [row[0] for row in self.db.execute(NEIGHBORS, (v,))]

    def degree(self, v: int) -> tuple[int, float]:
        return self.db.execute(DEGREE, (v,)).fetchone()

    def in_degree(self, v: int) -> tuple[int, float]:
        return self.db.execute(IN_DEGREE, (v,)).fetchone()

    def remove(self, u: int, v: int) -> None:
        self.db.execute(REMOVE, (u, v))

    def upsert(self, u: int, v: int, w: float) -> None:
        self.db.execute(UPSERT, (u, v, w))

    def remove_batch(self, batch: Batch) -> None:
        self.db.execute("BEGIN")
        self.db.executemany(REMOVE, zip(batch.us, batch.vs, strict=True))
        self.db.execute("COMMIT")

    def upsert_batch(self, batch: Batch) -> None:
        self.db.execute("BEGIN")
        self.db.executemany(UPSERT, zip(batch.us, batch.vs, batch.ws, strict=True))
        self.db.execute("COMMIT")

    def totals(self, vertices: IdArray) -> list[tuple[int, float]]:
        by_src = "SELECT count(*), sum(weight) FROM edges NOT INDEXED"
        by_dst = "SELECT count(*), sum(weight) FROM edges INDEXED BY edges_by_dst"
        return [self.db.execute(query).fetchone() for query in (by_src, by_dst)]
