"""Projections of graphs, whose vertices are positions in :attr:`quipu.nx._rows.Rows.nodes`.

They are made from arrays, and kept with the arrays, so an unchanged graph is projected once. Weights are compared with
those of the kept projection, since attributes change without a notice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import quipu

from ._rows import Floats, Rows

#: Memory limit of a database of small projections: the default of databases.
LIMIT_BYTES_MIN = 1_000_000_000


def projection_of(rows: Rows, weights: Floats | None, *, loops: bool = True) -> Any:
    """Return the projection of a graph without parallel edges.

    Args:
        rows: The arrays of the graph.
        weights: A number for each of ``rows.targets``; without them all edges are alike.
        loops: Whether self-loops are in it.

    Returns:
        A :class:`quipu.Projection` with all vertices, also those without edges.
    """
    key = loops or not rows.has_loops, weights is not None
    found = rows.projections.get(key)
    if found is None or (weights is not None and not np.array_equal(found[0], weights)):
        rows.projections.pop(key, None)  # its memory is free before another is made
        found = rows.projections[key] = weights, _made(rows, weights, loops=key[0])
    return found[1]


def _limit_bytes(edges: int, vertices: int, is_weighted: bool) -> int:
    """Memory limit of a database whose projections may take what this graph needs.

    Making an undirected projection takes five times the edges in one direction, and 16 bytes an edge. Projections may
    hold a fifth to a third of the limit.
    """
    one_direction = edges * (12 if is_weighted else 4) + vertices * 16
    return max(LIMIT_BYTES_MIN, 6 * (5 * one_direction + 16 * edges))


def _made(rows: Rows, weights: Floats | None, *, loops: bool) -> Any:
    chosen = rows.once if loops else rows.once & ~rows.loops
    us, vs = rows.sources[chosen].astype("uint64"), rows.targets[chosen].astype("uint64")
    ws = None if weights is None else weights[chosen]
    count = len(rows)
    seen = np.zeros(count, bool)
    seen[us] = seen[vs] = True
    # A graph of edges has only their ends, so the others get an edge to an extra vertex.
    alone = np.flatnonzero(~seen).astype("uint64")
    if len(alone):
        us, vs = np.r_[us, np.full(len(alone), count, "uint64")], np.r_[vs, alone]
        ws = None if ws is None else np.r_[ws, np.ones(len(alone))]
    # The projection keeps its database, which must be open while kernels run.
    graph = quipu.open(memory_limit=_limit_bytes(len(us), count, ws is not None)).graph(
        "g", weight=None if ws is None else "float64"
    )
    graph.import_arrays(us, vs, ws)
    made = graph.project(weight=None if ws is None else "weight", undirected=not rows.directed)
    if len(alone):
        made = made.subgraph(np.arange(count, dtype="uint64"))
    graph.clear()
    return made
