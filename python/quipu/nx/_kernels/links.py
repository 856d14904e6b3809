"""Scores of pairs of vertices by their neighbors, reciprocity and assortativity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np

from .._native import Call, Refused, kernel
from .._rows import Ints, Rows

#: Pairs whose scores are found together.
_BATCH = 4096

#: Takes the arrays, the two ends of pairs, and for each common neighbor its pair and the neighbor.
_Score = Callable[[Rows, Ints, Ints, Ints, Ints], Any]


def _common(rows: Rows, us: Ints, vs: Ints) -> tuple[Ints, Ints]:
    """The common neighbors of pairs, without the two themselves: for each the number of its pair, and its position."""
    degrees = np.diff(rows.offsets)
    swap = degrees[us] > degrees[vs]
    few, many = np.where(swap, vs, us), np.where(swap, us, vs)
    counts = degrees[few]
    ends = np.cumsum(counts)
    places = np.repeat(rows.offsets[few] - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)
    pairs, found = np.repeat(np.arange(len(us)), counts), rows.targets[places].astype("int64")
    is_common = (rows.find(many[pairs], found) >= 0) & (found != us[pairs]) & (found != vs[pairs])
    return pairs[is_common], found[is_common]


def _scores(call: Call, score: _Score) -> Iterator[tuple[Any, Any, Any]]:
    rows, ebunch = call.rows, call["ebunch"]
    if ebunch is None:
        ebunch = nx.non_edges(call.G)
    elif type(ebunch) not in (list, tuple):
        raise Refused("the pairs are no list")
    else:
        try:
            known = all(u in rows.at and v in rows.at and u != v for u, v in ebunch)
        except (TypeError, ValueError) as error:
            raise Refused("the pairs are no pairs") from error
        if not known:
            raise Refused("a pair has other members than two vertices")
    return _in_batches(rows, iter(ebunch), score)


def _in_batches(rows: Rows, ebunch: Iterator[Any], score: _Score) -> Iterator[tuple[Any, Any, Any]]:
    while batch := [(u, v) for u, v in islice(ebunch, _BATCH)]:
        us, vs = (np.fromiter((rows.at[pair[i]] for pair in batch), "int64", len(batch)) for i in (0, 1))
        values = score(rows, us, vs, *_common(rows, us, vs))
        yield from ((u, v, value) for (u, v), value in zip(batch, values, strict=True))


@kernel(directed=False, is_one_pass=True, loops=True)
def jaccard_coefficient(call: Call) -> Any:
    def score(rows: Rows, us: Ints, vs: Ints, pairs: Ints, found: Ints) -> Any:
        common = np.bincount(pairs, minlength=len(us))
        # The union has the two themselves, if they are neighbors of each other or of themselves.
        shared = _is_edge(rows, us, us) * _is_edge(rows, vs, us) + _is_edge(rows, us, vs) * _is_edge(rows, vs, vs)
        degrees = np.diff(rows.offsets)
        union = degrees[us] + degrees[vs] - common - shared
        return [c / total if total else 0 for c, total in zip(common.tolist(), union.tolist(), strict=True)]

    return _scores(call, score)


def _is_edge(rows: Rows, us: Ints, vs: Ints) -> Any:
    return (rows.find(us, vs) >= 0).astype("int64")


def _sum_of(value_of: Callable[[Any], Any]) -> _Score:
    def score(rows: Rows, us: Ints, vs: Ints, pairs: Ints, found: Ints) -> Any:
        sums = np.bincount(pairs, weights=value_of(rows.degrees()[found]), minlength=len(us)).tolist()
        counts = np.bincount(pairs, minlength=len(us)).tolist()
        return [total if count else 0 for total, count in zip(sums, counts, strict=True)]

    return score


@kernel(directed=False, is_one_pass=True, loops=True)
def adamic_adar_index(call: Call) -> Any:
    return _scores(call, _sum_of(lambda degrees: 1 / np.log(degrees)))


@kernel(directed=False, is_one_pass=True, loops=True)
def resource_allocation_index(call: Call) -> Any:
    return _scores(call, _sum_of(lambda degrees: 1 / degrees))


@kernel(directed=False, is_one_pass=True, loops=True)
def preferential_attachment(call: Call) -> Any:
    def score(rows: Rows, us: Ints, vs: Ints, pairs: Ints, found: Ints) -> Any:
        degrees = rows.degrees()
        return (degrees[us] * degrees[vs]).tolist()

    return _scores(call, score)


@kernel(directed=True, is_one_pass=True)
def overall_reciprocity(call: Call) -> Any:
    if not len(call.rows.targets):
        raise Refused("NetworkX has an error for a graph without edges")
    return call.projection().overall_reciprocity()


_MIXING: dict[str, Any] = {"only": {"weight": None, "nodes": None}}


@kernel("degree_assortativity_coefficient", **_MIXING)
@kernel("degree_pearson_correlation_coefficient", **_MIXING)
def _assortativity(call: Call) -> float:
    if (call["x"], call["y"]) != ("out", "in"):
        raise Refused("the kernel takes the outgoing degree of sources and the incoming one of targets")
    found = call.projection().degree_assortativity_coefficient()
    if not np.isfinite(found):
        raise Refused("NetworkX warns of equal degrees")
    return found
