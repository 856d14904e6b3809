"""The family of Dijkstra's algorithm. Rust finds the distances; order and paths follow from them.

NetworkX takes vertices by their distance, and those of equal distance in the order in which an edge first led to them
at this distance. So the order, and which of several shortest paths is found, follow from the distances and from the
order of neighbors, if all weights are positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._native import Call, Refused, kernel
from .._rows import Floats, Ints
from .._weights import Weights
from .searches import paths

_BOTH: dict[str, Any] = {"parallel": True, "loops": True}
#: In older versions, the dict of paths has another order.
_PATHS: dict[str, Any] = {**_BOTH, "since": (3, 6)}


def positive_weights(call: Call, name: Any) -> Weights | None:
    """Return weights whose sums have one type.

    Raises:
        Refused: A weight is not positive, there are integers and floats, or integers whose sums may not be exact.
    """
    weights = call.weights(name, "min")
    if weights is not None and not weights.is_positive():
        raise Refused("a weight is not positive")
    if weights is not None and weights.kind is None:
        raise Refused("weights are not all integers or all floats")
    if weights is not None and weights.kind is int and not weights.is_exact():
        raise Refused("distances may be too large to be exact")
    return weights


def python_numbers(distances: Floats, weights: Weights | None) -> list[Any]:
    """Return distances as Python's numbers: integers if the weights are."""
    if weights is not None and weights.kind is float:
        return distances.tolist()
    return distances.astype("int64").tolist()


#: The sources as they were given, by their positions.
Sources = dict[int, Any]


class Distances:
    """Distances from some sources."""

    def __init__(
        self, call: Call, sources: Sources, weights: Weights | None, cutoff: float | None, target: int | None = None
    ):
        self.call = call
        self.given = list(sources.values())
        self.sources = list(sources)
        self.weights = weights
        options: dict[str, Any] = {} if cutoff is None else {"cutoff": cutoff}
        if target is not None:
            options["targets"] = [target]
        found = call.projection(weights).shortest_paths(self.sources, **options)
        #: Distance of each vertex; infinity for those that were not reached.
        self.all = np.full(len(call.rows), np.inf)
        self.all[found.ids.astype("int64")] = found.values

    def to(self, positions: Ints) -> list[Any]:
        """Return distances as NetworkX has them: that of a source is the integer 0."""
        numbers = python_numbers(self.all[positions], self.weights)
        numbers[: len(self.sources)] = [0] * len(self.sources)
        return numbers

    def order(self) -> tuple[Ints, Ints]:
        """Return the reached vertices in the order in which NetworkX takes them, and the vertex before each; or -1."""
        rows = self.call.rows
        us, vs, edges = self._tight()
        if (self.all[us] == self.all[vs]).any():
            raise Refused("a weight is lost in a sum")
        order, rank = _ranks(self.all, self.sources, us, vs, edges, len(rows.targets))
        parents = np.full(len(rows), -1, "int64")
        # The last assignment stays: that of the first vertex.
        by_rank = np.argsort(-rank[us], kind="stable")
        parents[vs[by_rank]] = us[by_rank]
        return order, parents[order]

    def _tight(self) -> tuple[Ints, Ints, Ints]:
        """Sources, targets and places of the edges on shortest paths, without those to sources."""
        rows = self.call.rows
        length = 1.0 if self.weights is None else self.weights.values
        is_source = np.zeros(len(rows), bool)
        is_source[self.sources] = True
        to = self.all[rows.targets]
        tight = (self.all[rows.sources] + length == to) & (to < np.inf) & ~is_source[rows.targets]
        edges = np.flatnonzero(tight)
        return rows.sources[edges].astype("int64"), rows.targets[edges].astype("int64"), edges


def _ranks(distances: Floats, sources: list[int], us: Ints, vs: Ints, edges: Ints, count: int) -> tuple[Ints, Ints]:
    """The reached vertices in NetworkX's order, and the place of each vertex in it."""
    order = np.argsort(distances, kind="stable")[: int((distances < np.inf).sum())]
    order[: len(sources)] = sources  # all others are farther away
    rank = np.full(len(distances), -1, "int64")
    rank[order] = np.arange(len(order))
    sorted_distances = distances[order]
    is_tied = np.r_[False, sorted_distances[1:] == sorted_distances[:-1]]
    is_tied[: len(sources)] = False
    starts = np.flatnonzero(np.r_[is_tied[1:], False] & ~is_tied)
    starts = starts[starts >= len(sources)]
    if not len(starts):
        return order, rank
    ends = np.searchsorted(sorted_distances, sorted_distances[starts], side="right")
    # The edges to each group of equal distance, one group after the other.
    by_group = np.argsort(rank[vs], kind="stable")
    us, vs, edges = us[by_group], vs[by_group], edges[by_group]
    targets = rank[vs]
    first, last = np.searchsorted(targets, starts), np.searchsorted(targets, ends)
    for start, end, i, j in zip(starts.tolist(), ends.tolist(), first.tolist(), last.tolist(), strict=True):
        keys = rank[us[i:j]] * (count + 1) + edges[i:j]
        found, at = np.unique(vs[i:j][np.argsort(keys)], return_index=True)
        group = found[np.argsort(at)]
        order[start:end] = group
        rank[group] = np.arange(start, end)
    return order, rank


def _checked_cutoff(call: Call) -> float | None:
    cutoff = call["cutoff"]
    if cutoff is not None and (type(cutoff) not in (int, float) or not cutoff >= 0):
        raise Refused("the cutoff is no positive number")
    return cutoff


def _source(call: Call) -> Sources:
    return {call.position(call["source"]): call["source"]}


def _sources(call: Call) -> Sources:
    try:
        found = {call.position(n): n for n in dict.fromkeys(call["sources"])}
    except TypeError as error:
        raise Refused("there are no sources") from error
    if not found:
        raise Refused("there are no sources")
    return found


def _found(call: Call, sources: Sources) -> Distances:
    return Distances(call, sources, positive_weights(call, call["weight"]), _checked_cutoff(call))


def _lengths(distances: Distances) -> dict[Any, Any]:
    order, _ = distances.order()
    return dict(zip(distances.call.named(order, distances.given), distances.to(order), strict=True))


def _lengths_and_paths(distances: Distances) -> tuple[dict[Any, Any], dict[Any, list[Any]]]:
    order, parents = distances.order()
    lengths = dict(zip(distances.call.named(order, distances.given), distances.to(order), strict=True))
    return lengths, paths(list(lengths), order, parents)


def _length_and_path(call: Call, sources: Sources, target: Any) -> tuple[Any, list[Any]]:
    goal = call.position(target)
    if goal in sources:
        return 0, [target]
    cutoff = _checked_cutoff(call) if "cutoff" in call else None
    weights = positive_weights(call, call["weight"])
    length = Distances(call, sources, weights, cutoff, goal).all[goal]
    if length == np.inf:
        raise Refused("there is no path")
    distances = Distances(call, sources, weights, float(length))
    order, parents = distances.order()
    before = dict(zip(order.tolist(), parents.tolist(), strict=True))
    path = [goal]
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    found = python_numbers(distances.all[[goal]], distances.weights)[0]
    return found, [sources[path[-1]], *call.named(path[-2:0:-1]), target]


@kernel(**_BOTH)
def single_source_dijkstra_path_length(call: Call) -> Any:
    return _lengths(_found(call, _source(call)))


@kernel(**_BOTH)
def multi_source_dijkstra_path_length(call: Call) -> Any:
    return _lengths(_found(call, _sources(call)))


@kernel(**_PATHS)
def single_source_dijkstra_path(call: Call) -> Any:
    return _lengths_and_paths(_found(call, _source(call)))[1]


@kernel(**_PATHS)
def multi_source_dijkstra_path(call: Call) -> Any:
    return _lengths_and_paths(_found(call, _sources(call)))[1]


@kernel(**_PATHS)
def single_source_dijkstra(call: Call) -> Any:
    return _dijkstra(call, _source(call))


@kernel(**_PATHS)
def multi_source_dijkstra(call: Call) -> Any:
    return _dijkstra(call, _sources(call))


def _dijkstra(call: Call, sources: Sources) -> Any:
    if call["target"] is None:
        return _lengths_and_paths(_found(call, sources))
    return _length_and_path(call, sources, call["target"])


@kernel(**_BOTH)
def dijkstra_path(call: Call) -> Any:
    return _length_and_path(call, _source(call), call["target"])[1]


@kernel(**_BOTH)
def dijkstra_path_length(call: Call) -> Any:
    source, goal = call.position(call["source"]), call.position(call["target"])
    if source == goal:
        return 0
    distances = Distances(call, {source: call["source"]}, positive_weights(call, call["weight"]), None, goal)
    length = distances.all[[goal]]
    if length[0] == np.inf:
        raise Refused("there is no path")
    return python_numbers(length, distances.weights)[0]


@kernel(**_BOTH)
def bellman_ford_path_length(call: Call) -> Any:
    source, goal = call.position(call["source"]), call.position(call["target"])
    if source == goal:
        return 0
    weights = call.weights(call["weight"], "min")
    if weights is not None and not weights.is_exact():
        raise Refused("a weight is not an integer")
    found = call.projection(weights).bellman_ford(source)
    reached = np.flatnonzero(found.ids == goal)
    if not len(reached):
        raise Refused("there is no path")
    return int(found.values[reached[0]])


def _from_each(call: Call, answer: Callable[[Distances], Any]) -> Iterator[tuple[Any, Any]]:
    """The answers for all sources. Weights are read once."""
    weights, cutoff = positive_weights(call, call["weight"]), _checked_cutoff(call)
    if weights is not None and len(weights.values) and _is_lost(weights.values):
        raise Refused("a weight is lost in a sum")
    return ((n, answer(Distances(call, {at: n}, weights, cutoff))) for at, n in enumerate(call.rows.nodes))


def _is_lost(values: Floats) -> bool:
    """Whether the least weight may not change the sum of all."""
    return bool(values.sum() + values.min() / 2 == values.sum())


@kernel(**_PATHS)
def all_pairs_dijkstra(call: Call) -> Any:
    return _from_each(call, _lengths_and_paths)


@kernel(**_PATHS)
def all_pairs_dijkstra_path(call: Call) -> Any:
    return _from_each(call, lambda distances: _lengths_and_paths(distances)[1])


@kernel(**_BOTH)
def all_pairs_dijkstra_path_length(call: Call) -> Any:
    return _from_each(call, _lengths)
