"""Components. NetworkX yields them by their first vertices, which is how the projection numbers them.

The members of a component are put into its set in NetworkX's order, so that programs that take any member take the same
one. Weak components are an exception, because their order needs the order of the incoming edges too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._native import Call, Refused, kernel
from .searches import reached, search

_UNDIRECTED: dict[str, Any] = {"is_one_pass": True, "directed": False, "parallel": True, "loops": True}
_DIRECTED: dict[str, Any] = {**_UNDIRECTED, "directed": True}


def groups(call: Call, labels: Any) -> Iterator[set[Any]]:
    """Yield the groups of vertices with one label, by their labels."""
    return _groups_in(call, labels, np.arange(len(labels)))


def _groups_in(call: Call, labels: Any, order: Any) -> Iterator[set[Any]]:
    """The groups of vertices, whose members are put into their set in an order."""
    names = call.rows.names[order[np.argsort(labels[order], kind="stable")]]
    ends = np.cumsum(np.bincount(labels)).tolist() if len(labels) else []
    return (set(names[start:end].tolist()) for start, end in zip([0, *ends], ends, strict=False))


@kernel(**_UNDIRECTED)
def connected_components(call: Call) -> Any:
    labels = _labels(call)
    _, first = np.unique(labels, return_index=True)
    # Searches in different components do not meet, so one search has the order of each.
    return _groups_in(call, labels, search(call.rows, first.tolist()).order)


@kernel(**_UNDIRECTED)
def node_connected_component(call: Call) -> Any:
    return set(call.named(reached(call.rows, call.position(call["n"])), [call["n"]]))


@kernel(**_DIRECTED)
def weakly_connected_components(call: Call) -> Any:
    return groups(call, _labels(call))


@kernel("number_connected_components", **_UNDIRECTED)
@kernel("number_weakly_connected_components", **_DIRECTED)
def _number(call: Call) -> int:
    return _count(_labels(call))


@kernel("is_connected", **_UNDIRECTED)
@kernel("is_weakly_connected", **_DIRECTED)
def _is_connected(call: Call) -> bool:
    return _is_one(_labels(call))


@kernel(**_DIRECTED)
def number_strongly_connected_components(call: Call) -> Any:
    return _count(_strong_labels(call))


@kernel(**_DIRECTED)
def is_strongly_connected(call: Call) -> Any:
    return _is_one(_strong_labels(call))


def _labels(call: Call) -> Any:
    if not len(call.rows):
        return np.empty(0, "uint32")
    return call.projection().connected_components().values


def _strong_labels(call: Call) -> Any:
    if not len(call.rows):
        return np.empty(0, "uint32")
    return call.projection().strongly_connected_components().values


def _count(labels: Any) -> int:
    return int(labels.max()) + 1 if len(labels) else 0


def _is_one(labels: Any) -> bool:
    if not len(labels):
        raise Refused("NetworkX has an error for a graph without vertices")
    return not labels.any()
