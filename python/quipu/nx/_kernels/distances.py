"""Eccentricities and the average distance, by edges or by weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import Call, Refused, kernel
from .dijkstra import positive_weights, python_numbers


@kernel(parallel=True, loops=True, only={"v": None, "sp": None})
def eccentricity(call: Call) -> Any:
    weights = positive_weights(call, call["weight"])
    found = call.projection(weights).eccentricity().values
    if len(found) == 1:
        return {call.rows.nodes[0]: 0}
    return dict(zip(call.rows.nodes, python_numbers(found, weights), strict=True))


@kernel(parallel=True, loops=True, only={"weight": None})
def average_shortest_path_length(call: Call) -> Any:
    if call["method"] not in (None, "unweighted"):
        raise Refused("the kernel counts edges")
    n = len(call.rows)
    if n < 2:
        raise Refused("NetworkX has a rule of its own for less than two vertices")
    projection = call.projection()
    connected = projection.strongly_connected_components if call.rows.directed else projection.connected_components
    if connected().values.any():
        raise Refused("NetworkX has an error for a graph in parts")
    # The sum of the distances to a vertex is an integer, which closeness is the inverse of.
    sums = np.rint((n - 1) / projection.closeness_centrality(wf_improved=False).values)
    return int(sums.sum()) / (n * (n - 1))
