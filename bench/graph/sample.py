"""Draws the queries of a run, and computes the right answers.

The queries are drawn once for a data set and used for every database: edges by reservoir sampling,
vertices by choosing an end of further sampled edges at random. The answers to a few of them are
computed with NumPy from the same file, by sorted arrays and binary search, in both directions.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
import polars as pl

from adapters.base import EdgeTuples
from edges import EdgeFile, FloatArray, IdArray, read_frame, sorted_columns


@dataclass(frozen=True)
class Counts:
    """The number of items of each group of operations."""

    finds: int
    analytics: int
    changes: int
    checks: int


@dataclass(frozen=True)
class Answers:
    """The right answers for a few items of every operation."""

    edge: list[tuple[int, int, float]]
    in_edges: list[tuple[int, EdgeTuples]]
    edges: list[tuple[int, EdgeTuples]]
    neighbors: list[tuple[int, list[int]]]
    degree: list[tuple[int, int, float]]
    in_degree: list[tuple[int, int, float]]
    total: tuple[int, float]


@dataclass(frozen=True)
class Questions:
    """The queries and changes of one round."""

    rows: int
    """Lines in the file, parallel edges included."""
    edges_to_query: list[tuple[int, int]]
    nodes_to_query: list[int]
    edges_to_change: list[tuple[int, int, float]]
    answers: Answers


def reservoir(rng: random.Random, items: int, size: int) -> list[int]:
    """Positions of a uniform sample without replacement from a stream, in the order of the slots.

    Algorithm L (Li, 1994): the same distribution as drawing for each item, but it skips to the next item that
    enters, so a stream of ``n`` costs about ``size * (1 + ln(n / size))`` steps.
    """
    chosen = list(range(min(size, items)))
    if items <= size:
        return chosen
    position = size - 1
    largest = math.exp(math.log(1 - rng.random()) / size)
    while True:
        position += int(math.log(1 - rng.random()) / math.log1p(-largest)) + 1
        if position >= items:
            return chosen
        chosen[rng.randrange(size)] = position
        largest *= math.exp(math.log(1 - rng.random()) / size)


class Reference:
    """The graph as two sorted edge lists."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.out_first, self.out_second, self.out_weight = sorted_columns(frame, "src", "dst")
        self.in_first, self.in_second, self.in_weight = sorted_columns(frame, "dst", "src")

    def _range(self, first: IdArray, v: int) -> slice:
        key = np.uint64(v)
        return slice(int(np.searchsorted(first, key, "left")), int(np.searchsorted(first, key, "right")))

    def weight(self, u: int, v: int) -> float:
        """Weight of an edge that exists."""
        row = self._range(self.out_first, u)
        position = row.start + int(np.searchsorted(self.out_second[row], np.uint64(v)))
        if self.out_second[position] != v:
            raise KeyError((u, v))
        return float(self.out_weight[position])

    def in_edges(self, v: int) -> EdgeTuples:
        """Edges that end at ``v``, sorted."""
        row = self._range(self.in_first, v)
        return [(u, v, w) for u, w in zip(self.in_second[row].tolist(), self.in_weight[row].tolist(), strict=True)]

    def edges(self, v: int) -> EdgeTuples:
        """Edges with ``v`` in either role, a self-loop once, sorted."""
        row = self._range(self.out_first, v)
        out = [(v, u, w) for u, w in zip(self.out_second[row].tolist(), self.out_weight[row].tolist(), strict=True)]
        return sorted(out + [edge for edge in self.in_edges(v) if edge[0] != v])

    def total(self) -> tuple[int, float]:
        """Count and weight sum of all edges."""
        return len(self.out_first), float(self.out_weight.sum())


def _sums(edges: EdgeTuples) -> tuple[int, float]:
    return len(edges), sum(w for _, _, w in edges)


def draw(file: EdgeFile, counts: Counts, seed: int) -> Questions:
    """Draw the questions for a file, and answer ``counts.checks`` of every kind."""
    frame = read_frame(file)
    reference = Reference(frame)
    rng = random.Random(seed)
    size = max(counts.finds, counts.analytics, counts.changes)
    src: IdArray = frame["src"].to_numpy()
    dst: IdArray = frame["dst"].to_numpy()

    def sampled() -> list[tuple[int, int]]:
        rows = np.array(reservoir(rng, len(frame), size))
        return list(zip(src[rows].tolist(), dst[rows].tolist(), strict=True))

    pool = sampled()
    edges_to_query = rng.sample(pool, len(pool))[: counts.finds]
    tossed = {edge[rng.randrange(2)] for edge in sampled()[: counts.finds]}
    nodes_to_query = sorted(tossed)
    rng.shuffle(nodes_to_query)
    edges_to_change = [(u, v, reference.weight(u, v)) for u, v in pool[: counts.changes]]

    some_edges = rng.sample(edges_to_query, min(counts.checks, len(edges_to_query)))
    some_nodes = rng.sample(nodes_to_query, min(counts.checks, len(nodes_to_query)))
    answers = Answers(
        edge=[(u, v, reference.weight(u, v)) for u, v in some_edges],
        in_edges=[(v, reference.in_edges(v)) for v in some_nodes],
        edges=[(v, reference.edges(v)) for v in some_nodes],
        neighbors=[(v, sorted({u for edge in reference.edges(v) for u in edge[:2]} - {v})) for v in some_nodes],
        degree=[(v, *_sums(reference.edges(v))) for v in some_nodes],
        in_degree=[(v, *_sums(reference.in_edges(v))) for v in some_nodes],
        total=reference.total(),
    )
    return Questions(len(frame), edges_to_query, nodes_to_query, edges_to_change, answers)


__all__ = ["Answers", "Counts", "FloatArray", "Questions", "Reference", "draw", "reservoir"]
