"""Searches by the number of edges, in the order in which NetworkX finds vertices.

Rust's search is faster, but it goes through neighbors in the order of their positions. The order of the results, and
which of several shortest paths is found, depend on the order of neighbors; so these searches go through the arrays
level by level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import Call, Refused, kernel
from .._rows import Ints, Rows

#: Levels with fewer vertices are gone through one by one.
_FEW = 16
#: A search that ends after so few edges reads less than the arrays.
_NEAR = 2

_BOTH: dict[str, Any] = {"is_one_pass": True, "parallel": True, "loops": True}


class Search:
    """Vertices in the order in which a search finds them."""

    def __init__(self, order: Ints, parents: Ints, ends: list[int]):
        #: Positions of the vertices.
        self.order = order
        #: The vertex from which each was found; -1 for the sources.
        self.parents = parents
        #: For each level how many vertices were found up to its end.
        self.ends = ends

    def levels(self) -> list[int]:
        """Return the number of edges from the sources to each vertex."""
        widths = np.diff(np.asarray([0, *self.ends]))
        return np.repeat(np.arange(len(widths)), widths).tolist()


def search(rows: Rows, sources: list[int], cutoff: float = np.inf) -> Search:
    """Search from some vertices, up to a number of edges."""
    seen = np.zeros(len(rows), bool)
    seen[sources] = True
    place = np.empty(len(rows), "int64")
    frontier = np.asarray(sources, "int64")
    order, parents, ends = [frontier], [np.full(len(frontier), -1, "int64")], [len(frontier)]
    while cutoff > len(ends) - 1:
        if len(frontier) < _FEW:
            frontier, found_from = _next_of_few(rows, frontier.tolist(), seen)
        else:
            frontier, found_from = _next(rows, frontier, seen, place)
        if not len(frontier):
            break
        order.append(frontier)
        parents.append(found_from)
        ends.append(ends[-1] + len(frontier))
    return Search(np.concatenate(order), np.concatenate(parents), ends)


def _next(rows: Rows, frontier: Ints, seen: Any, place: Ints) -> tuple[Ints, Ints]:
    """The next level of a search: vertices by their first edge from the level."""
    starts = rows.offsets[frontier]
    counts = rows.offsets[frontier + 1] - starts
    ends = np.cumsum(counts)
    found = rows.targets[np.repeat(starts - ends + counts, counts) + np.arange(ends[-1])].astype("int64")
    is_new = ~seen[found]
    found, found_from = found[is_new], np.repeat(frontier, counts)[is_new]
    # Of several assignments to one place the last one stays.
    numbers = np.arange(len(found))
    place[found[::-1]] = numbers[::-1]
    is_first = place[found] == numbers
    found = found[is_first]
    seen[found] = True
    return found, found_from[is_first]


def _next_of_few(rows: Rows, frontier: list[int], seen: Any) -> tuple[Ints, Ints]:
    found: list[int] = []
    found_from: list[int] = []
    for u in frontier:
        for v in rows.targets[rows.offsets[u] : rows.offsets[u + 1]].tolist():
            if not seen[v]:
                seen[v] = True
                found.append(v)
                found_from.append(u)
    return np.asarray(found, "int64"), np.asarray(found_from, "int64")


def reached(rows: Rows, source: int) -> Ints:
    """Return the vertices to which a path leads, in the order in which a search finds them."""
    return search(rows, [source]).order


def _cutoff(call: Call, name: str = "cutoff") -> float:
    cutoff = call[name]
    if cutoff is None:
        return np.inf
    if type(cutoff) not in (int, float) or cutoff <= _NEAR:
        raise Refused("a search of a small neighborhood reads less than all edges")
    return cutoff


@kernel(**_BOTH)
def single_source_shortest_path_length(call: Call) -> Any:
    cutoff = _cutoff(call)
    found = search(call.rows, [call.position(call["source"])], cutoff)
    return dict(zip(call.named(found.order, [call["source"]]), found.levels(), strict=True))


@kernel(**_BOTH)
def single_source_shortest_path(call: Call) -> Any:
    cutoff = _cutoff(call)
    found = search(call.rows, [call.position(call["source"])], cutoff)
    return paths(call.named(found.order, [call["source"]]), found.order, found.parents)


def paths(names: list[Any], order: Any, parents: Any) -> dict[Any, list[Any]]:
    """Return the path to each vertex by its name; -1 is the parent of sources.

    Args:
        names: The vertices, each after its parent.
        order: Their positions.
        parents: Positions of the parents.
    """
    known: dict[int, list[Any]] = {}
    for n, v, u in zip(names, order.tolist(), parents.tolist(), strict=True):
        known[v] = [n] if u < 0 else [*known[u], n]
    return dict(zip(names, known.values(), strict=True))


@kernel(parallel=True, loops=True)
def all_pairs_shortest_path_length(call: Call) -> Any:
    cutoff, rows = _cutoff(call), call.rows

    def from_each() -> Any:
        for source, n in enumerate(rows.nodes):
            found = search(rows, [source], cutoff)
            yield n, dict(zip(call.named(found.order), found.levels(), strict=True))

    return from_each()


@kernel(**_BOTH)
def descendants(call: Call) -> Any:
    source = call.position(call["source"])
    return set(call.named(reached(call.rows, source)[1:]))


@kernel(**_BOTH)
def ancestors(call: Call) -> Any:
    source = call.position(call["source"])
    return set(call.named(reached(call.rows.reversed, source)[1:]))


@kernel(**_BOTH, only={"reverse": False, "sort_neighbors": None})
def bfs_edges(call: Call) -> Any:
    cutoff = _cutoff(call, "depth_limit")
    found = search(call.rows, [call.position(call["source"])], cutoff)
    parents = call.named(found.parents[1:])
    width = found.ends[min(1, len(found.ends) - 1)] - 1  # of the first level
    parents[:width] = [call["source"]] * width
    return (pair for pair in zip(parents, call.named(found.order[1:]), strict=True))


@kernel(**_BOTH)
def bfs_layers(call: Call) -> Any:
    source = call["sources"]
    try:
        found = search(call.rows, [call.rows.at[source]])
    except (KeyError, TypeError) as error:
        raise Refused("the kernel takes one source") from error
    names = call.named(found.order, [source])
    return (names[start:end] for start, end in zip([0, *found.ends], found.ends, strict=False))


@kernel(is_one_pass=True, directed=True, parallel=True, loops=True)
def is_directed_acyclic_graph(call: Call) -> Any:
    return call.projection().is_directed_acyclic_graph() if len(call.rows) else True
