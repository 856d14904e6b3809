"""The kernels of the bench: what is computed, on which form of the graph, and how answers are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDS = 10
"""Rounds of PageRank, in every engine."""

SOURCES = 16
"""Vertices from which the sampled betweenness searches."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Kernel:
    """A row of the report."""

    name: str
    form: str
    """``directed``, ``weighted``, ``undirected`` or ``undirected weighted``: the structure that is ready."""
    differs: Callable[[Array, Array], str | None]
    """A difference between an answer and Quipu's, in words. ``None``: they agree."""
    aim: float = 1.0
    """Most time that Quipu should take, as a multiple of the best peer's."""
    scales: bool = False
    """Whether two threads should be 1.6 times as fast as one."""
    kind: str = "values"


def same(found: Array, own: Array) -> str | None:
    """Equal whole numbers."""
    wrong = int((found != own).sum())
    return f"{wrong} of {len(own)} values differ" if wrong else None


def near(tolerance: float) -> Callable[[Array, Array], str | None]:
    """Equal numbers, up to a relative difference, and an absolute one for the smallest."""

    def differs(found: Array, own: Array) -> str | None:
        scale = float(np.abs(own[np.isfinite(own)]).max(initial=0.0))
        with np.errstate(invalid="ignore"):
            close = np.abs(found - own) <= tolerance * np.maximum(np.abs(own), scale * 1e-6)
        far = ~(close | (found == own))
        return f"{int(far.sum())} of {len(own)} values differ" if far.any() else None

    return differs


def same_parts(found: Array, own: Array) -> str | None:
    """Equal partitions, whatever the labels."""
    pairs = len(np.unique(found.astype(np.int64) * (int(own.max(initial=0)) + 1) + own.astype(np.int64)))
    sizes = len(np.unique(found)), len(np.unique(own))
    return None if sizes == (pairs, pairs) else f"{sizes[0]} parts, and {sizes[1]} in Quipu"


def as_good(found: Array, own: Array) -> str | None:
    """Communities differ between libraries; their modularity is in the report."""
    return None


KERNELS = [
    Kernel("pagerank", "directed", near(1e-6), scales=True),
    Kernel("bfs", "directed", same),
    Kernel("weak components", "directed", same_parts, scales=True),
    Kernel("strong components", "directed", same_parts),
    Kernel("sssp", "weighted", near(1e-12)),
    Kernel("lcc", "undirected", near(1e-9), scales=True),
    Kernel("k-core", "undirected", same),
    Kernel("label propagation", "undirected", as_good, kind="communities"),
    Kernel("spanning forest", "undirected weighted", near(1e-12)),
    Kernel("betweenness", "directed", near(1e-6), scales=True),
    Kernel("louvain", "undirected", as_good, scales=True, kind="communities"),
    Kernel("leiden", "undirected", as_good, aim=0.5, kind="communities"),
]


def modularity(labels: Array, low: Array, high: Array) -> float:
    """Of communities of an undirected graph without loops, by its definition."""
    edges = len(low)
    if not edges:
        return 0.0
    count = int(labels.max()) + 1
    degrees = np.bincount(labels[low], minlength=count) + np.bincount(labels[high], minlength=count)
    inside = int((labels[low] == labels[high]).sum())
    return inside / edges - float(((degrees / (2 * edges)) ** 2).sum())
