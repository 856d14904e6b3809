"""Graphs of NetworkX as graphs with properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import InvalidInputError

if TYPE_CHECKING:
    from ._quipu import Database, ImportReport


#: Columns of stored edges and vertices that are no properties.
_ENDS = frozenset({"src", "dst", "vertex"})


def from_networkx(self: Database, name: str, graph: Any) -> ImportReport:
    """Import a graph of NetworkX with the attributes of its nodes and edges as properties.

    Nodes that are not all integers become strings. Types are found from the values, and
    attributes that some nodes or edges lack are null there. An undirected graph becomes one of
    ``directed=False``, and a multigraph with integer keys one of ``key="int"``. A missing
    ``weight`` is 1.

    >>> db.from_networkx("karate", nx.karate_club_graph()).nodes
    34

    Args:
        name: Name of the graph. An existing one keeps its types and properties.
        graph: The graph.

    Raises:
        InvalidInputError: There are parallel edges with keys that are no integers, two nodes have
            the same text, or only one of the graphs is directed or has keys.
        TypeError: A value has no type, such as a set.
    """
    is_keyed = graph.is_multigraph() and all(type(key) is int for _, _, key in graph.edges(keys=True))
    if graph.is_multigraph() and not is_keyed and _has_parallel(graph):
        what = "the graph has parallel edges with keys that are not integers"
        raise InvalidInputError(
            f"{what}\nhint: quipu.nx stores them; or number them, as by nx.MultiDiGraph(graph.edges)"
        )
    nodes = [(vertex, dict(attributes)) for vertex, attributes in graph.nodes(data=True)]
    edges = [(u, v, dict(attributes)) for u, v, attributes in graph.edges(data=True)]
    ids = _ids([vertex for vertex, _ in nodes])
    sources, targets = [ids[u] for u, _, _ in edges], [ids[v] for _, v, _ in edges]
    known = {"source": sources, "target": targets}
    if is_keyed:
        known["key"] = [key for _, _, key in graph.edges(keys=True)]
    edge_columns = _columns(list(known), list(known.values()), [attributes for *_, attributes in edges])
    node_columns = _columns(["vertex"], [list(ids.values())], [attributes for _, attributes in nodes])
    # As everywhere in NetworkX, a missing weight is 1.
    return self.import_graph(
        name,
        edge_columns,
        directed=graph.is_directed(),
        key="int" if is_keyed else "none",
        nodes=node_columns,
        edge_properties=True,
        missing=1.0,
    )


def _has_parallel(graph: Any) -> bool:
    return any(len(keys) > 1 for _, row in graph.adjacency() for keys in row.values())


def _ids(vertices: list[Any]) -> dict[Any, int | str]:
    """Vertices as ids: integers if all are, else strings."""
    from numbers import Integral

    # `bool` is one of these, too, and no id.
    if all(isinstance(vertex, Integral) and vertex is not True and vertex is not False for vertex in vertices):
        return {vertex: int(vertex) for vertex in vertices}
    ids = {vertex: str(vertex) for vertex in vertices}
    if len(set(ids.values())) != len(ids):
        raise InvalidInputError("two nodes have the same text\nhint: relabel them, as by nx.relabel_nodes")
    return ids  # pyright: ignore[reportReturnType]


def _columns(names: list[str], columns: list[list[Any]], rows: list[dict[Any, Any]]) -> dict[str, list[Any]]:
    """Columns by name: those given, and one for each attribute, ``None`` where a row lacks it."""
    found = dict(zip(names, columns, strict=True))
    for key in dict.fromkeys(key for row in rows for key in row):
        # An attribute with the name of a column of the ends is another one.
        name = str(key) or "c_"
        while name in found or name in _ENDS:
            name += "_"
        found[name] = [_plain(row.get(key)) for row in rows]
    return found


def _plain(value: Any) -> Any:
    """NumPy's scalars as those of Python, which columns of mixed values take."""
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value
