"""Triangles, cores, trusses, bridges, colors and spanning trees."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from .._native import Call, Refused, kernel
from .._projecting import projection_of


def _chosen(call: Call, found: dict[Any, Any]) -> dict[Any, Any]:
    """The values of the vertices that were asked for."""
    nodes = call["nodes"]
    if nodes is None:
        return found
    return {n: found[n] for n in call.G.nbunch_iter(nodes)}


def _refuse_one(call: Call) -> None:
    try:
        is_one = call["nodes"] in call.rows.at
    except TypeError:
        is_one = False
    if is_one:
        raise Refused("NetworkX looks at one vertex and its neighbors alone")


@kernel(directed=False, loops=True)
def triangles(call: Call) -> Any:
    _refuse_one(call)
    return _chosen(call, call.by_vertex(call.projection(loops=False).triangles().values))


def _coefficients(call: Call) -> dict[Any, Any]:
    weight = call["weight"]
    if weight is not None and call.rows.has_loops:
        raise Refused("there are self-loops with weights")
    weights = call.weights(weight)
    if weights is not None and not weights.is_positive():
        raise Refused("a weight is not positive")
    found = call.by_vertex(call.projection(weights, loops=False).clustering().values)
    # NetworkX has the integer 0 for vertices without a triangle.
    return _chosen(call, {n: value or 0 for n, value in found.items()})


@kernel(loops=True)
def clustering(call: Call) -> Any:
    _refuse_one(call)
    return _coefficients(call)


@kernel(loops=True)
def average_clustering(call: Call) -> Any:
    _refuse_one(call)
    values: Any = _coefficients(call).values()
    if not call["count_zeros"]:
        values = [value for value in values if abs(value) > 0]
    if not values:
        raise Refused("NetworkX has an error for no values")
    return sum(values) / len(values)


@kernel(directed=False, loops=True)
def transitivity(call: Call) -> Any:
    return call.projection(loops=False).transitivity() or 0


@kernel()
def core_number(call: Call) -> Any:
    return call.by_vertex(call.projection().core_number().values)


@kernel(directed=False)
def k_truss(call: Call) -> Any:
    k = call["k"]
    if type(k) is not int:
        raise Refused("k is no integer")
    found = call.projection().truss_number()
    dropped = found.values < k
    us, vs = (found[name][dropped].astype("int64") for name in ("source", "target"))
    H = call.G.copy()
    H.remove_edges_from(call.edges(us, vs))
    H.remove_nodes_from(list(nx.isolates(H)))
    return H


@kernel(directed=False, parallel=True, only={"root": None})
def bridges(call: Call) -> Any:
    rows = call.rows
    found = call.projection().bridges()
    edges = rows.find(found["source"], found["target"])
    other = rows.find(found["target"], found["source"])
    edges = np.sort(np.where(rows.once[edges], edges, other))  # as `G.edges` has them
    if rows.counts is not None:
        edges = edges[rows.counts[edges] == 1]
    return call.edges(rows.sources[edges], rows.targets[edges])


@kernel(directed=False)
def is_biconnected(call: Call) -> Any:
    if len(call.rows) < 2:
        return False
    projection = call.projection()
    return not projection.connected_components().values.any() and not len(projection.articulation_points())


@kernel(parallel=True, loops=True)
def is_bipartite(call: Call) -> Any:
    if call.rows.has_loops:
        return False
    return call.projection().is_bipartite()


@kernel(directed=False, only={"strategy": "largest_first", "interchange": False})
def greedy_color(call: Call) -> Any:
    if not len(call.rows):
        return {}
    colors = call.projection().greedy_color(strategy="largest_first").values
    order = np.argsort(-call.rows.degrees(), kind="stable")
    return dict(zip(call.named(order), colors[order].tolist(), strict=True))


@kernel(directed=False, only={"algorithm": "kruskal", "ignore_nan": False})
def minimum_spanning_edges(call: Call) -> Any:
    return _spanning_edges(call, 1)


@kernel(directed=False, only={"algorithm": "kruskal", "ignore_nan": False})
def maximum_spanning_edges(call: Call) -> Any:
    return _spanning_edges(call, -1)


def _spanning_edges(call: Call, sign: int) -> Any:
    rows, weights = call.rows, call.weights(call["weight"])
    if weights is not None and not weights.keeps_order():
        raise Refused("weights are too large to be exact")
    shown = np.flatnonzero(rows.once)
    values = np.ones(len(shown)) if weights is None else weights.values[shown]
    # NetworkX takes edges of equal weight in the order of `G.edges`. Their places differ.
    order = np.argsort(sign * values, kind="stable")
    places = np.zeros(len(rows.targets))
    places[shown[order]] = np.arange(1, len(order) + 1)
    found = projection_of(rows, places).minimum_spanning_tree()
    chosen = shown[order[np.sort(found.values.astype("int64")) - 1]]
    pairs = call.edges(rows.sources[chosen], rows.targets[chosen])
    adj = call.G._adj
    return ((u, v, adj[u][v]) for u, v in pairs) if call["data"] else pairs
