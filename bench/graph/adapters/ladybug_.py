"""Ladybug (the successor of Kuzu): a node table by id and a relationship table, queried in Cypher.

Nodes and relationships are loaded with COPY; the engine itself stores relationships in both
directions.
"""

from __future__ import annotations

from typing import Any, ClassVar

import ladybug
import polars as pl

from adapters.base import Adapter, Batch, EdgeTuples
from edges import EdgeFile, IdArray, read_frame

EDGE = "MATCH (a:V {id: $u})-[e:E]->(b:V {id: $v}) RETURN e.weight"
IN_EDGES = "MATCH (a:V)-[e:E]->(b:V {id: $v}) RETURN a.id, b.id, e.weight"
EDGES = (
    "MATCH (a:V {id: $v})-[e:E]->(b:V) RETURN a.id AS src, b.id AS dst, e.weight AS weight "
    "UNION ALL MATCH (a:V)-[e:E]->(b:V {id: $v}) WHERE a.id <> $v RETURN a.id AS src, b.id AS dst, e.weight AS weight"
)
NEIGHBORS = "MATCH (a:V {id: $v})-[:E]-(b:V) WHERE b.id <> $v RETURN DISTINCT b.id"
OUT_DEGREE = "MATCH (a:V {id: $v})-[e:E]->(b:V) RETURN count(*), sum(e.weight)"
IN_DEGREE = "MATCH (a:V)-[e:E]->(b:V {id: $v}) RETURN count(*), sum(e.weight)"
IN_DEGREE_NO_LOOP = "MATCH (a:V)-[e:E]->(b:V {id: $v}) WHERE a.id <> $v RETURN count(*), sum(e.weight)"
REMOVE = "MATCH (a:V {id: $u})-[e:E]->(b:V {id: $v}) DELETE e"
# Updating existing edges and creating the others is faster than one MERGE.
UPDATE = "MATCH (a:V {id: $u})-[e:E]->(b:V {id: $v}) SET e.weight = $w RETURN e.weight"
CREATE = "MATCH (a:V {id: $u}), (b:V {id: $v}) CREATE (a)-[e:E {weight: $w}]->(b)"
REMOVE_BATCH = "UNWIND $rows AS row MATCH (a:V {id: row.u})-[e:E]->(b:V {id: row.v}) DELETE e"
UPDATE_BATCH = (
    "UNWIND $rows AS row MATCH (a:V {id: row.u})-[e:E]->(b:V {id: row.v}) SET e.weight = row.w RETURN a.id, b.id"
)


class Ladybug(Adapter):
    """Adapter of Ladybug."""

    name: ClassVar[str] = "ladybug"

    def open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.database: Any = ladybug.Database(
            str(self.folder / "edges.lbug"),
            buffer_pool_size=self.settings.memory_bytes,
            max_num_threads=self.settings.threads,
        )
        self.db: Any = ladybug.Connection(self.database)
        self.prepared: dict[str, Any] = {}

    def close(self) -> None:
        self.prepared.clear()
        self.db.close()
        self.database.close()

    def version(self) -> str:
        return f"ladybug {ladybug.__version__}"

    def import_edges(self, file: EdgeFile) -> None:
        self.db.execute("CREATE NODE TABLE V (id INT64 PRIMARY KEY)")
        self.db.execute("CREATE REL TABLE E (FROM V TO V, weight DOUBLE)")
        frame = read_frame(file).with_columns(pl.col("src", "dst").cast(pl.Int64))
        edges = frame.unique(["src", "dst"], keep="last")
        vertices = pl.concat([frame["src"], frame["dst"]]).unique().to_frame("id")
        self.db.execute("COPY V FROM $vertices", {"vertices": vertices})
        self.db.execute("COPY E FROM $edges", {"edges": edges})

    def _rows(self, query: str, **parameters: Any) -> list[list[Any]]:
        statement = self.prepared.get(query)
        if statement is None:
            statement = self.prepared[query] = self.db.prepare(query, parameters)
        result = self.db.execute(statement, parameters)
        rows = result.get_all()
        result.close()
        return rows

    def edge(self, u: int, v: int) -> float | None:
        rows = self._rows(EDGE, u=u, v=v)
        return rows[0][0] if rows else None

    def in_edges(self, v: int) -> EdgeTuples:
        return [(src, dst, weight) for src, dst, weight in self._rows(IN_EDGES, v=v)]

    def edges(self, v: int) -> EdgeTuples:
        return [(src, dst, weight) for src, dst, weight in self._rows(EDGES, v=v)]

    def neighbors(self, v: int) -> list[int]:
        return [row[0] for row in self._rows(NEIGHBORS, v=v)]

    def _sums(self, query: str, v: int) -> tuple[int, float]:
        count, total = self._rows(query, v=v)[0]
        return count, total or 0.0

    def degree(self, v: int) -> tuple[int, float]:
        out_count, out_total = self._sums(OUT_DEGREE, v)
        in_count, in_total = self._sums(IN_DEGREE_NO_LOOP, v)
        return out_count + in_count, out_total + in_total

    def in_degree(self, v: int) -> tuple[int, float]:
        return self._sums(IN_DEGREE, v)

    def remove(self, u: int, v: int) -> None:
        self._rows(REMOVE, u=u, v=v)

    def upsert(self, u: int, v: int, w: float) -> None:
        if not self._rows(UPDATE, u=u, v=v, w=w):
            self._rows(CREATE, u=u, v=v, w=w)

    def remove_batch(self, batch: Batch) -> None:
        self._rows(REMOVE_BATCH, rows=[{"u": u, "v": v} for u, v in zip(batch.us, batch.vs, strict=True)])

    def upsert_batch(self, batch: Batch) -> None:
        rows = [{"u": u, "v": v, "w": w} for u, v, w in zip(batch.us, batch.vs, batch.ws, strict=True)]
        self.db.execute("BEGIN TRANSACTION")
        present = {(u, v) for u, v in self._rows(UPDATE_BATCH, rows=rows)}
        # The last of equal pairs wins. COPY creates edges ten times faster than CREATE after
        # UNWIND.
        absent = {(row["u"], row["v"]): row["w"] for row in rows if (row["u"], row["v"]) not in present}
        if absent:
            columns = {"src": [u for u, _ in absent], "dst": [v for _, v in absent], "weight": list(absent.values())}
            self.db.execute("COPY E FROM $edges", {"edges": pl.DataFrame(columns)})
        self.db.execute("COMMIT")

    def totals(self, vertices: IdArray) -> list[tuple[int, float]]:
        directions = ("MATCH (a:V)-[e:E]->(b:V)", "MATCH (b:V)<-[e:E]-(a:V)")
        return [tuple(self._rows(f"{direction} RETURN count(*), sum(e.weight)")[0]) for direction in directions]
