"""Positions of vertices: springs along edges, repulsion between all vertices, and a weak pull to the centre.

The method is Fruchterman and Reingold's (1991), with their linear cooling. Every vertex repels every other one, so a
round takes time and memory by the square of the vertices: pictures have two thousand at most.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ROUNDS_MAX, ROUNDS_MIN = 200, 60
"""Rounds for small graphs and for large ones. More rounds move vertices by less than a radius."""

PULL = 0.6
"""How strongly vertices are pulled to the centre, as a share of a spring: it holds parts together."""


def positions(
    count: int, sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64], seed: int
) -> npt.NDArray[np.float64]:
    """Return an array of ``count`` positions, each coordinate from 0 to 1. The same seed gives the same positions."""
    place = np.random.default_rng(seed).uniform(-0.5, 0.5, (count, 2)).astype(np.float32)
    if count < 2:
        return np.full((count, 2), 0.5)
    apart = sources != targets
    ends = np.concatenate([sources[apart], targets[apart]]), np.concatenate([targets[apart], sources[apart]])
    length = np.float32(1 / np.sqrt(count))
    rounds = max(ROUNDS_MIN, ROUNDS_MAX - count // 8)
    for step in range(rounds):
        move = _repulsion(place, length) - PULL * place
        way = place[ends[1]] - place[ends[0]]
        way *= np.linalg.norm(way, axis=1, keepdims=True) / length
        for axis in (0, 1):
            move[:, axis] += np.bincount(ends[0], way[:, axis], count).astype(np.float32)
        far = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        place += move / far * np.minimum(far, 0.1 * (1 - step / rounds))
    low, high = place.min(axis=0), place.max(axis=0)
    return ((place - low) / np.maximum(high - low, 1e-9)).astype(np.float64)


def _repulsion(place: npt.NDArray[np.float32], length: np.float32) -> npt.NDArray[np.float32]:
    """Return the repulsion of each vertex: the sum of ``length² / distance`` over all others."""
    squares = np.square(place).sum(axis=1)
    weight = place @ place.T
    weight *= -2
    weight += squares[:, None]
    weight += squares
    np.maximum(weight, 1e-6, out=weight)
    np.divide(length**2, weight, out=weight)
    np.fill_diagonal(weight, 0)
    # The sum of weight · (own place - other place).
    return place * weight.sum(axis=1, keepdims=True) - weight @ place
