"""Graphs with a power law, from a seed, and the order in which their edges arrive.

# Why two generators
R-MAT is the usual model of web and social graphs, but its degrees have no simple closed form. In
Chung and Lu's model a vertex has a weight, and the expected number of its edges follows from it, so
tests can compare.

Both number vertices so that hubs have low ids. Ids in order of creation look the same: the oldest
vertices of a growing network have most edges. The dictionary of string vertices numbers so, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

# Probabilities of the four quarters of the adjacency matrix, as in Graph500.
RMAT = (0.57, 0.19, 0.19, 0.05)
EDGES_AT_ONCE = 1 << 21


@dataclass(frozen=True)
class Graph:
    """Distinct edges without self-loops, in the order in which they arrive."""

    vertices: int
    sources: Ids
    targets: Ids

    @property
    def edges(self) -> int:
        return len(self.sources)

    def degrees(self) -> Ids:
        """Edges of each vertex, both directions."""
        ends = np.bincount(self.sources, minlength=self.vertices)
        return (ends + np.bincount(self.targets, minlength=self.vertices)).astype(np.int64)


def rmat(scale: int, edges: int, rng: np.random.Generator) -> Graph:
    """Draws ``edges`` edges between 2^scale vertices; duplicates and self-loops are dropped."""
    a, b, c, _ = RMAT
    parts: list[Ids] = []
    for first in range(0, edges, EDGES_AT_ONCE):
        count = min(EDGES_AT_ONCE, edges - first)
        source, target = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for _ in range(scale):
            drawn = rng.random(count)
            lower = drawn >= a + b
            right = ((drawn >= a) & ~lower) | (drawn >= a + b + c)
            source = source << 1 | lower
            target = target << 1 | right
        parts.append(source << 32 | target)
    return _distinct(1 << scale, np.concatenate(parts), rng)


def chung_lu(vertices: int, edges: int, exponent: float, rng: np.random.Generator) -> Graph:
    """Draws both ends of each edge by `shares`; duplicates and self-loops are dropped."""
    bounds = np.cumsum(shares(vertices, exponent))
    bounds /= bounds[-1]
    parts: list[Ids] = []
    for first in range(0, edges, EDGES_AT_ONCE):
        count = min(EDGES_AT_ONCE, edges - first)
        source, target = (np.searchsorted(bounds, rng.random(count), side="right") for _ in range(2))
        parts.append(source.astype(np.int64) << 32 | target)
    return _distinct(vertices, np.concatenate(parts), rng)


def shares(vertices: int, exponent: float) -> npt.NDArray[np.float64]:
    """The probability of each vertex to be an end of an edge: degrees follow ``d^-exponent``."""
    weights = np.arange(1, vertices + 1, dtype=np.float64) ** (-1 / (exponent - 1))
    return weights / weights.sum()


def hub_share(vertices: float, exponent: float) -> float:
    """The first of `shares`, in closed form, for more vertices than memory holds."""
    power = 1 / (exponent - 1)
    # The sum of k^-power from 1 to n by Euler and Maclaurin, to three terms.
    terms = (vertices ** (1 - power) - 1) / (1 - power) + (1 + vertices**-power) / 2
    return 1 / (terms + power / 12)


def grown(graph: Graph) -> Graph:
    """The same edges as a network grows: each arrives with its younger end, which is its source."""
    younger = np.maximum(graph.sources, graph.targets)
    older = np.minimum(graph.sources, graph.targets)
    packed = np.unique(younger << 32 | older)
    return Graph(graph.vertices, packed >> 32, packed & 0xFFFF_FFFF)


def _distinct(vertices: int, packed: Ids, rng: np.random.Generator) -> Graph:
    packed = np.unique(packed)
    packed = packed[packed >> 32 != packed & 0xFFFF_FFFF]
    rng.shuffle(packed)
    return Graph(vertices, packed >> 32, packed & 0xFFFF_FFFF)
