"""Centralities that iterate over the edges."""

from __future__ import annotations

from typing import Any

from .._native import Call, Refused, kernel
from .._weights import Weights


def _numbers(call: Call, name: str) -> dict[int, float] | None:
    """A dict of numbers by vertices as one by positions; other keys are ignored, as NetworkX does."""
    given = call[name]
    if given is None:
        return None
    if type(given) is not dict or not all(type(value) in (int, float) and value >= 0 for value in given.values()):
        raise Refused(f"{name} is no dict of numbers from 0")
    at = call.rows.at
    return {at[n]: float(value) for n, value in given.items() if n in at}


def _rounds(call: Call) -> dict[str, Any]:
    max_iter, tol = call["max_iter"], call["tol"]
    if type(max_iter) is not int or max_iter < 1 or type(tol) not in (int, float) or not tol > 0:
        raise Refused("the kernel needs a number of rounds and a tolerance")
    return {"max_iter": max_iter, "tol": tol}


def _from_zero(weights: Weights | None) -> Weights | None:
    if weights is not None and (weights.values < 0).any():
        raise Refused("a weight is negative")
    return weights


@kernel(parallel=True, loops=True)
def pagerank(call: Call) -> Any:
    rounds = _rounds(call)
    if type(call["alpha"]) not in (int, float) or not 0 <= call["alpha"] <= 1:
        raise Refused("alpha is no probability")
    given = {name: _numbers(call, name) for name in ("personalization", "nstart", "dangling")}
    if any(numbers is not None and not sum(numbers.values()) for numbers in given.values()):
        raise Refused("NetworkX has an error for numbers without a sum")
    if not len(call.rows):
        return {}
    projection = call.projection(_from_zero(call.weights(call["weight"])))
    return call.by_vertex(projection.pagerank(alpha=call["alpha"], **rounds, **given).values)


@kernel(loops=True)
def eigenvector_centrality(call: Call) -> Any:
    rounds, start = _rounds(call), _start(call)
    weights = _from_zero(call.weights(call["weight"] or None))
    return call.by_vertex(call.projection(weights).eigenvector_centrality(nstart=start, **rounds).values)


@kernel(loops=True)
def katz_centrality(call: Call) -> Any:
    rounds, start = _rounds(call), _start(call)
    if any(type(call[name]) not in (int, float) for name in ("alpha", "beta")):
        raise Refused("the kernel takes one beta for all vertices")
    if not len(call.rows):
        return {}
    options = {"alpha": call["alpha"], "beta": float(call["beta"]), "normalized": bool(call["normalized"])}
    projection = call.projection(_from_zero(call.weights(call["weight"])))
    return call.by_vertex(projection.katz_centrality(nstart=start, **options, **rounds).values)


def _start(call: Call) -> dict[int, float] | None:
    given = _numbers(call, "nstart")
    if given is not None and (len(given) != len(call.rows) or list(call["nstart"]) != call.rows.nodes):
        raise Refused("nstart is not in the order of the vertices")
    return given
