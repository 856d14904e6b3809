"""The edges of a picture: of a whole small graph, of a neighbourhood, or of any table of edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from .._quipu import Graph, Projection
from ..errors import InvalidInputError, LimitError


@dataclass(frozen=True)
class Edges:
    """The vertices of a picture and the edges between them."""

    vertices: list[Any]
    pairs: list[tuple[int, int]]
    """Positions in ``vertices``: source and target."""
    weights: list[float | None]
    """One for each pair."""
    directed: bool = True


def collect(graph: Any, around: Any, hops: int, vertices_max: int) -> Edges:
    """Return the edges of ``graph``, or those between the vertices within ``hops`` of ``around``, both ways.

    Args:
        graph: A graph, a projection, a NetworkX graph, or pairs and triples: a list, or the result of a query.
        around: One vertex, a list of them, or ``None`` for everything.
        hops: How many edges away from ``around`` a vertex may be.
        vertices_max: More vertices are refused.

    Raises:
        LimitError: There are more vertices.
        InvalidInputError: A row is neither a pair nor a triple, or ``around`` is no vertex of the graph.
    """
    if isinstance(graph, Graph):
        triples = _all_edges(graph, vertices_max) if around is None else _within(graph, around, hops, vertices_max)
        # Vertices without edges are drawn too.
        first = graph.vertices().tolist() if around is None else _listed(around)
        return _numbered(triples, first, vertices_max)
    if isinstance(graph, Projection):
        edges = _numbered(_projected(graph), graph.ids.tolist(), None if around is not None else vertices_max)
        return edges if around is None else _near(edges, _listed(around), hops, vertices_max)
    if callable(getattr(graph, "is_directed", None)) and hasattr(graph, "edges"):
        rows = list(graph.edges(data="weight"))
        edges = _numbered(rows, [] if around is not None else list(graph.nodes), vertices_max)
        edges = Edges(edges.vertices, edges.pairs, edges.weights, bool(graph.is_directed()))
    else:
        rows = cast("Iterable[Any]", graph.rows() if hasattr(graph, "rows") else graph)
        edges = _numbered(rows, [], vertices_max if around is None else None)
    return edges if around is None else _near(edges, _listed(around), hops, vertices_max)


def _listed(around: Any) -> list[Any]:
    if isinstance(around, list | tuple | set | frozenset | np.ndarray):
        return [plain(vertex) for vertex in cast("Iterable[Any]", around)]
    return [plain(around)]


def plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's own."""
    return cast("Any", value.item()) if isinstance(value, np.generic) else value


def _too_many(count: str, vertices_max: int) -> LimitError:
    return LimitError(
        f"a picture of {count} vertices is too large to be read; at most {vertices_max} are drawn\n"
        "hint: draw a neighbourhood with around= and hops=, or raise vertices_max="
    )


def _all_edges(graph: Graph, vertices_max: int) -> Iterable[Any]:
    count = graph.number_of_vertices()
    if count > vertices_max:
        raise _too_many(str(count), vertices_max)
    return graph.to_table().rows()


def _projected(graph: Projection) -> Iterable[Any]:
    ids = graph.ids
    sources = np.repeat(np.arange(len(ids)), np.diff(graph.offsets))
    columns = [ids[sources].tolist(), ids[graph.targets].tolist()]
    if graph.weights is not None:
        columns.append(graph.weights.tolist())
    return zip(*columns, strict=True)


def _within(graph: Graph, around: Any, hops: int, vertices_max: int) -> Iterable[Any]:
    found: dict[Any, None] = dict.fromkeys(_listed(around))
    for vertex in found:
        if not graph.has_vertex(vertex):
            raise InvalidInputError(f"the graph {graph.name!r} has no vertex {vertex!r}")
    last = list(found)
    for _ in range(hops):
        _, neighbors = graph.neighbors_many(last)
        last = [v for v in dict.fromkeys(plain(v) for v in neighbors) if v not in found]
        found.update(dict.fromkeys(last))
        if len(found) > vertices_max:
            raise _too_many(f"{len(found)} or more", vertices_max)
        if not last:
            break
    _, sources, targets, weights = graph.out_edges_many(list(found))
    if graph.weight is None:
        pairs = zip(sources.tolist(), targets.tolist(), strict=True)
        return [row for row in pairs if row[1] in found]
    triples = zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True)
    return [row for row in triples if row[1] in found]


def _numbered(rows: Iterable[Any], first: list[Any], vertices_max: int | None) -> Edges:
    number: dict[Any, int] = {vertex: i for i, vertex in enumerate(first)}
    pairs: list[tuple[int, int]] = []
    weights: list[float | None] = []
    for row in rows:
        if len(row) not in (2, 3):
            raise InvalidInputError(f"an edge is a pair or a triple, and not {row!r}")
        source, target = (number.setdefault(plain(v), len(number)) for v in row[:2])
        pairs.append((source, target))
        weights.append(None if len(row) == 2 or row[2] is None else float(row[2]))
        if vertices_max is not None and len(number) > vertices_max:
            raise _too_many(f"{len(number)} or more", vertices_max)
    return Edges(list(number), pairs, weights)


def _near(edges: Edges, around: list[Any], hops: int, vertices_max: int) -> Edges:
    """Keep the vertices within ``hops`` of ``around``."""
    number = {vertex: i for i, vertex in enumerate(edges.vertices)}
    beside: dict[int, list[int]] = {}
    for source, target in edges.pairs:
        beside.setdefault(source, []).append(target)
        beside.setdefault(target, []).append(source)
    missing = [vertex for vertex in around if vertex not in number]
    if missing:
        raise InvalidInputError(f"no edge has the vertex {missing[0]!r}")
    found = dict.fromkeys(number[vertex] for vertex in around)
    last = list(found)
    for _ in range(hops):
        last = [v for v in dict.fromkeys(n for u in last for n in beside.get(u, [])) if v not in found]
        found.update(dict.fromkeys(last))
    if len(found) > vertices_max:
        raise _too_many(str(len(found)), vertices_max)
    moved = {old: new for new, old in enumerate(found)}
    kept = [
        (pair, weight)
        for pair, weight in zip(edges.pairs, edges.weights, strict=True)
        if pair[0] in moved and pair[1] in moved
    ]
    return Edges(
        [edges.vertices[old] for old in found],
        [(moved[source], moved[target]) for (source, target), _ in kept],
        [weight for _, weight in kept],
        edges.directed,
    )
