"""Conversions between graphs of NetworkX and of this package.

Both orders are kept: that of the vertices, and for each vertex that of its neighbors, in both directions. Results of
NetworkX's functions depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._graph import CLASS_OF, NETWORKX_OF, is_ours

#: They notice a change of their graph while they run, which a copy would hide.
_NOT_CONVERTED = frozenset({"topological_sort", "topological_generations", "lexicographical_topological_sort"})


def from_networkx(
    graph: Any,
    *,
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    graph_attrs: bool = True,
    called: str | None = None,
) -> Any:
    """Return a graph of this package, in memory.

    Args:
        graph: A graph of NetworkX.
        edge_attrs: Attributes of edges to copy, with their defaults. ``None``: all.
        node_attrs: Attributes of vertices to copy, with their defaults. ``None``: all.
        graph_attrs: Whether to copy the graph's attributes.
        called: Name of the function that asks for it.

    Raises:
        NotImplementedError: The graph is of a subclass, whose methods may mean something else; or the function has to
            see the graph itself. NetworkX then tries its own code.
    """
    if called in _NOT_CONVERTED:
        raise NotImplementedError(f"{called} has to see changes of its graph")
    kind = CLASS_OF.get(type(graph))
    if kind is None:
        raise NotImplementedError(f"a {type(graph).__name__} is not converted: its methods may differ")
    return copied(graph, kind, edge_attrs, node_attrs, graph_attrs)


def to_networkx(graph: Any) -> Any:
    """Return a copy of a graph of this package as a graph of NetworkX, with all attributes."""
    for kind, other in NETWORKX_OF.items():
        if type(graph) is kind:
            return copied(graph, other)
    return graph


def adopt(result: Any) -> Any:
    """Turn a new graph of NetworkX into one of this package, without a copy; return anything else as it is."""
    kind = None if is_ours(result) else CLASS_OF.get(type(result))
    if kind is not None:
        result.__class__ = kind
    return result


def copied(
    graph: Any,
    kind: type[Any],
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    graph_attrs: bool = True,
) -> Any:
    """Return a copy of a graph, in memory, as an object of another class."""
    new = object.__new__(kind)  # NetworkX's own `__new__` would ask the backends
    new.__init__()
    if graph_attrs:
        new.graph.update(graph.graph)
    of_edge, of_node = _chosen(edge_attrs), _chosen(node_attrs)
    new._node.update((n, of_node(attrs)) for n, attrs in graph._node.items())
    if graph.is_multigraph():
        of_edge = _of_each_key(of_edge)
    if graph.is_directed():
        adj = {u: {v: of_edge(attrs) for v, attrs in row.items()} for u, row in graph._succ.items()}
        new._pred.update((v, {u: adj[u][v] for u in row}) for v, row in graph._pred.items())
    else:
        adj: dict[Any, dict[Any, Any]] = {}
        for u, row in graph._adj.items():
            # Both ends share one object, as NetworkX has it.
            adj[u] = {v: adj[v][u] if v in adj else of_edge(attrs) for v, attrs in row.items()}
    new._adj.update(adj)
    return new


def _of_each_key(of_edge: Callable[[Mapping[Any, Any]], dict[Any, Any]]) -> Callable[[Mapping[Any, Any]], Any]:
    """A function that copies the edges between two vertices."""
    return lambda keys: {key: of_edge(attrs) for key, attrs in keys.items()}


def _chosen(attributes: Mapping[str, Any] | None) -> Callable[[Mapping[Any, Any]], dict[Any, Any]]:
    """A function that copies these attributes, with their defaults."""
    if attributes is None:
        return dict
    if not attributes:
        return lambda attrs: {}
    wanted = list(attributes.items())

    def chosen(attrs: Mapping[Any, Any]) -> dict[Any, Any]:
        return {name: attrs.get(name, default) for name, default in wanted if default is not None or name in attrs}

    return chosen
