"""The four classes of graphs."""

from __future__ import annotations

from typing import Any

import networkx as nx


class Graph(nx.Graph):
    __networkx_backend__ = "quipu"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def to_directed_class(self) -> type[nx.Graph]:
        return DiGraph

    def to_undirected_class(self) -> type[nx.Graph]:
        return Graph


class DiGraph(nx.DiGraph):
    __networkx_backend__ = "quipu"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def to_directed_class(self) -> type[nx.Graph]:
        return DiGraph

    def to_undirected_class(self) -> type[nx.Graph]:
        return Graph


class MultiGraph(nx.MultiGraph):
    __networkx_backend__ = "quipu"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def to_directed_class(self) -> type[nx.Graph]:
        return MultiDiGraph

    def to_undirected_class(self) -> type[nx.Graph]:
        return MultiGraph


class MultiDiGraph(nx.MultiDiGraph):
    __networkx_backend__ = "quipu"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def to_directed_class(self) -> type[nx.Graph]:
        return MultiDiGraph

    def to_undirected_class(self) -> type[nx.Graph]:
        return MultiGraph


#: Our class for each of NetworkX, and the other way round.
CLASS_OF: dict[type[Any], type[Any]] = {
    nx.Graph: Graph,
    nx.DiGraph: DiGraph,
    nx.MultiGraph: MultiGraph,
    nx.MultiDiGraph: MultiDiGraph,
}
NETWORKX_OF: dict[type[Any], type[Any]] = {ours: theirs for theirs, ours in CLASS_OF.items()}


def is_ours(graph: Any) -> bool:
    """Return whether this is a graph of this package, or a view of one."""
    return getattr(graph, "__networkx_backend__", None) == "quipu"
