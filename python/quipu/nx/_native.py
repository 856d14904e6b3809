"""The kernels: functions of NetworkX that run in Rust over a projection of the graph.

A kernel has the arguments, the values, the order and the types of NetworkX's function. It refuses all other cases, and
NetworkX's own code runs: views, parallel edges, self-loops, vertices without edges, graphs below
:data:`VERTICES_MIN`, rare arguments, and everything that ends in an error, which then is NetworkX's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import quipu

from . import _private

#: Smaller graphs are answered by NetworkX's code before a projection is made.
VERTICES_MIN = 1000


class Refused(Exception):
    """NetworkX's own code has to run. The argument says why."""


@dataclass(frozen=True)
class Kernel:
    """One function of NetworkX in Rust."""

    name: str
    #: Required values of arguments; a call with another value is refused.
    only: dict[str, Any]
    #: Name of the argument that names the weight, if the kernel reads weights.
    weight: str | None
    #: Takes the projection, the vertices in their order and the arguments.
    compute: Callable[[Any, list[Any], dict[str, Any]], Any]

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run it.

        Raises:
            Refused: NetworkX's own code has to run.
        """
        arguments = self._bound(args, kwargs)
        reason = self._refusal(arguments)
        if reason is not None:
            raise Refused(reason)
        G = arguments["G"]
        nodes = list(G)
        try:
            return self.compute(projected(G, nodes, arguments[self.weight] if self.weight else None), nodes, arguments)
        except quipu.Error as error:
            raise Refused(str(error)) from error

    def refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return why NetworkX's own code has to run; ``None`` if the graph looks fit."""
        return self._refusal(self._bound(args, kwargs))

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        own = _private.original(self.name)
        assert own is not None
        bound = inspect.signature(own).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.arguments

    def _refusal(self, arguments: dict[str, Any]) -> str | None:
        G = arguments["G"]
        for name, value in self.only.items():
            if arguments[name] is not value:
                return f"the kernel has no argument {name!r}"
        if self.weight and not isinstance(arguments[self.weight], str | None):
            return "the kernel takes the name of a weight, not a function"
        if hasattr(G, "_graph") or not isinstance(G._adj, dict):
            return "a view is not projected"
        if G.is_multigraph():
            return "parallel edges are not projected"
        if len(G) < VERTICES_MIN:
            return f"the graph has less than {VERTICES_MIN} vertices"
        return None


def projected(G: Any, nodes: list[Any], weight: str | None) -> Any:
    """Return the projection of a graph whose vertices are the positions in ``nodes``.

    Raises:
        Refused: There are self-loops, vertices without edges, or weights that are not finite numbers.
    """
    at = {n: i for i, n in enumerate(nodes)}
    count = np.fromiter((len(row) for row in G._adj.values()), "int64", len(nodes))
    us = np.repeat(np.arange(len(nodes)), count)
    vs = np.fromiter((at[v] for row in G._adj.values() for v in row), "int64", len(us))
    ws = None if weight is None else _weights(G, weight, len(us))
    if (us == vs).any():
        raise Refused("there are self-loops")
    seen = np.zeros(len(nodes), bool)
    seen[us] = seen[vs] = True
    if not seen.all():
        raise Refused("there are vertices without edges")
    if not G.is_directed():
        once = us < vs
        us, vs, ws = us[once], vs[once], None if ws is None else ws[once]
    # The projection keeps its database, which must be open while kernels run.
    graph = quipu.open().graph("g", weight=None if ws is None else "float64")
    graph.upsert_many(us, vs, ws)
    return graph.project(weight=None if ws is None else "weight", undirected=not G.is_directed())


def _weights(G: Any, weight: str, count: int) -> Any:
    try:
        found = (attributes.get(weight, 1) for row in G._adj.values() for attributes in row.values())
        weights = np.fromiter(found, "float64", count)
    except (TypeError, ValueError) as error:
        raise Refused("a weight is not a number") from error
    if not np.isfinite(weights).all():
        raise Refused("a weight is not finite")
    return weights


def _by_node(result: Any, nodes: list[Any]) -> dict[Any, Any]:
    return dict(zip(nodes, result.values.tolist(), strict=True))


def _pagerank(projection: Any, nodes: list[Any], arguments: dict[str, Any]) -> Any:
    result = projection.pagerank(alpha=arguments["alpha"], max_iter=arguments["max_iter"], tol=arguments["tol"])
    return _by_node(result, nodes)


def _triangles(projection: Any, nodes: list[Any], arguments: dict[str, Any]) -> Any:
    return _by_node(projection.triangles(), nodes)


def _clustering(projection: Any, nodes: list[Any], arguments: dict[str, Any]) -> Any:
    # NetworkX has the integer 0 for vertices without a triangle.
    return {n: value or 0 for n, value in _by_node(projection.clustering(), nodes).items()}


def _closeness(projection: Any, nodes: list[Any], arguments: dict[str, Any]) -> Any:
    return _by_node(projection.closeness_centrality(wf_improved=arguments["wf_improved"]), nodes)


def _betweenness(projection: Any, nodes: list[Any], arguments: dict[str, Any]) -> Any:
    result = projection.betweenness_centrality(normalized=arguments["normalized"], endpoints=arguments["endpoints"])
    return _by_node(result, nodes)


# Components and cores are not here: NetworkX needs less time for them than a projection takes.
#: Kernels by the name under which NetworkX dispatches them.
KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel("pagerank", {"personalization": None, "nstart": None, "dangling": None}, "weight", _pagerank),
        Kernel("triangles", {"nodes": None}, None, _triangles),
        Kernel("clustering", {"nodes": None, "weight": None}, None, _clustering),
        Kernel("closeness_centrality", {"u": None, "distance": None}, None, _closeness),
        Kernel("betweenness_centrality", {"k": None, "weight": None}, None, _betweenness),
    )
}
