"""Quipu through its Python package, at ``durability="os"``."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from adapters.base import Adapter, Batch, EdgeArrays, Many
from edges import EdgeFile, IdArray

quipu: Any = import_module("quipu")  # the package need not be there for the types to be checked


class Quipu(Adapter):
    """Adapter of Quipu."""

    name: ClassVar[str] = "quipu"

    def open(self) -> None:
        self.db: Any = quipu.open(
            str(self.folder),
            durability="os",
            cache=self.settings.cache_bytes,
            memory_limit=self.settings.memory_bytes,
            threads=self.settings.threads,
        )
        self.graph: Any = self.db.graph("g", weight="float64")

    def close(self) -> None:
        del self.graph
        self.db.close()

    def version(self) -> str:
        return f"quipu {quipu.__version__}"

    def import_edges(self, file: EdgeFile) -> None:
        self.graph.import_csv(str(file.path))

    def edge(self, u: int, v: int) -> float | None:
        return self.graph.edge(u, v)

    def in_edges(self, v: int) -> EdgeArrays:
        return self.graph.in_edges(v)

    def edges(self, v: int) -> EdgeArrays:
        return self.graph.edges(v)

    def neighbors(self, v: int) -> IdArray:
        return self.graph.neighbors(v)

    def degree(self, v: int) -> tuple[int, float]:
        return self.graph.degree(v)

    def in_degree(self, v: int) -> tuple[int, float]:
        return self.graph.in_degree(v)

    def remove(self, u: int, v: int) -> None:
        self.graph.remove(u, v)

    def upsert(self, u: int, v: int, w: float) -> None:
        self.graph.upsert(u, v, w)

    def remove_batch(self, batch: Batch) -> None:
        self.graph.remove_many(batch.us_array, batch.vs_array)

    def upsert_batch(self, batch: Batch) -> None:
        self.graph.upsert_many(batch.us_array, batch.vs_array, batch.ws_array)

    def totals(self, vertices: IdArray) -> list[tuple[int, float]]:
        totals: list[tuple[int, float]] = []
        for call in (self.graph.out_degree_many, self.graph.in_degree_many):
            counts, sums = call(vertices)
            totals.append((int(np.sum(counts)), float(np.sum(sums))))
        return totals

    def many(self) -> Many:
        return {
            "edge": lambda us, vs: self.graph.edge_many(us, vs)[1],
            "in_edges": self.graph.in_edges_many,
            "edges": self.graph.edges_many,
            "neighbors": self.graph.neighbors_many,
            "degree": self.graph.degree_many,
            "in_degree": self.graph.in_degree_many,
        }
