"""Centralities that count degrees and shortest paths."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import Call, Refused, kernel
from .dijkstra import positive_weights
from .searches import search

_DEGREE: dict[str, Any] = {"is_one_pass": True, "parallel": True, "loops": True}


def _shares(call: Call, degrees: Any) -> Any:
    n = len(call.rows)
    if n <= 1:
        return dict.fromkeys(call.rows.nodes, 1)
    return call.by_vertex(degrees * (1.0 / (n - 1.0)))


@kernel(**_DEGREE)
def degree_centrality(call: Call) -> Any:
    degrees = call.rows.degrees()
    return _shares(call, degrees + call.rows.in_degrees() if call.rows.directed else degrees)


@kernel(**_DEGREE, directed=True)
def in_degree_centrality(call: Call) -> Any:
    return _shares(call, call.rows.in_degrees())


@kernel(**_DEGREE, directed=True)
def out_degree_centrality(call: Call) -> Any:
    return _shares(call, call.rows.degrees())


def _sample(call: Call) -> dict[str, Any]:
    """The sources that NetworkX's random choice gives."""
    k, n = call["k"], len(call.rows)
    if k is None or k == n:
        return {}
    if type(k) is not int or not 1 < k < n:
        raise Refused("k is not between 1 and the number of vertices")
    return {"sources": call["seed"].sample(range(n), k)}


@kernel(loops=True, parallel=True, since=(3, 6))
def betweenness_centrality(call: Call) -> Any:
    projection = call.projection(positive_weights(call, call["weight"]))
    options = {"normalized": bool(call["normalized"]), "endpoints": bool(call["endpoints"])}
    return call.by_vertex(projection.betweenness_centrality(**_sample(call), **options).values)


@kernel(since=(3, 6))
def edge_betweenness_centrality(call: Call) -> Any:
    rows = call.rows
    projection = call.projection(positive_weights(call, call["weight"]))
    found = projection.edge_betweenness_centrality(**_sample(call), normalized=bool(call["normalized"]))
    edges = rows.find(found["source"], found["target"])
    values = np.zeros(len(rows.targets))
    values[edges] = found.values
    shown = np.flatnonzero(rows.once)
    ends = zip(call.named(rows.sources[shown]), call.named(rows.targets[shown]), strict=True)
    return dict(zip(ends, values[shown].tolist(), strict=True))


@kernel(loops=True, parallel=True)
def closeness_centrality(call: Call) -> Any:
    if call["u"] is not None:
        return _closeness_of(call)
    projection = call.projection(positive_weights(call, call["distance"]))
    return call.by_vertex(projection.closeness_centrality(wf_improved=bool(call["wf_improved"])).values)


def _closeness_of(call: Call) -> float:
    if call["distance"] is not None:
        raise Refused("the kernel counts edges to a single vertex")
    found = search(call.rows.reversed, [call.position(call["u"])])
    total, reached, n = sum(found.levels()), len(found.order), len(call.rows)
    if not total:
        return 0.0
    return (reached - 1.0) / total * ((reached - 1.0) / (n - 1) if call["wf_improved"] else 1.0)


@kernel(only={"nbunch": None, "sources": None}, loops=True, parallel=True)
def harmonic_centrality(call: Call) -> Any:
    projection = call.projection(positive_weights(call, call["distance"]))
    found = call.by_vertex(projection.harmonic_centrality().values)
    # NetworkX goes through a set, and has the integer 0 for vertices that nothing reaches.
    return {n: found[n] or 0 for n in set(call.rows.nodes)}
