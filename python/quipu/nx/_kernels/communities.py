"""Communities. NetworkX chooses at random here, so any answer of its kind is right unless a seed is given."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .._native import Call, Refused, kernel
from .components import groups


def _sets(call: Call, found: Any) -> list[set[Any]]:
    return list(groups(call, found.values))


@kernel(only={"max_level": None})
def louvain_communities(call: Call) -> Any:
    if call["seed"] is not random.random.__self__:  # pyright: ignore[reportFunctionMemberAccess]
        raise Refused("the seed chooses one of NetworkX's answers")
    if call["resolution"] != 1 or type(call["threshold"]) not in (int, float):
        raise Refused("the kernel has no other resolution than 1")
    if not len(call.rows.targets):
        return [{n} for n in call.rows.nodes]
    weights = call.weights(call["weight"])
    if weights is not None and not weights.is_positive():
        raise Refused("a weight is not positive")
    return _sets(call, call.projection(weights).louvain())


@kernel(directed=False, parallel=True, loops=True, is_alone=True)
def leiden_communities(call: Call) -> Any:
    levels = call["max_level"]
    if levels is not None and levels <= 0:
        raise ValueError("max_level argument must be a positive integer or None")
    if not len(call.rows.targets):
        return [{n} for n in call.rows.nodes]
    options: dict[str, Any] = {} if levels is None else {"max_level": levels}
    if call["seed"] is not random.random.__self__:  # pyright: ignore[reportFunctionMemberAccess]
        options["seed"] = call["seed"].getrandbits(32)
    projection = call.projection(call.weights(call["weight"]))
    return _sets(call, projection.leiden(resolution=float(call["resolution"]), **options))


@kernel(parallel=True, loops=True)
def modularity(call: Call) -> Any:
    rows = call.rows
    labels = _labels(call)
    weights = call.weights(call["weight"])
    values = np.ones(len(rows.targets)) if weights is None else weights.values
    ends = 1 if rows.directed else 1 + rows.loops  # an undirected loop has two ends at its vertex
    count = int(labels.max()) + 1 if len(labels) else 0
    groups = labels[rows.sources]
    out = np.bincount(groups, weights=values * ends, minlength=count)
    inward = np.bincount(labels[rows.targets], weights=values, minlength=count) if rows.directed else out
    inside = groups == labels[rows.targets]
    within = np.bincount(groups[inside], weights=(values * ends)[inside], minlength=count)
    total = float(out.sum())
    if not total:
        raise Refused("NetworkX has an error for a graph without weight")
    both = 1 if rows.directed else 2
    # The same operations as NetworkX's, so that the last bits are the same.
    terms = within / both / (total / both) - call["resolution"] * out * inward * (1 / total**2)
    return sum(terms.tolist())


def _labels(call: Call) -> Any:
    """The number of each vertex's community."""
    communities = call["communities"]
    if type(communities) not in (list, tuple):
        raise Refused("communities are no list")
    labels = np.full(len(call.rows), -1, "int64")
    total = 0
    for number, community in enumerate(communities):
        try:
            positions = [call.rows.at[n] for n in community]
        except (KeyError, TypeError) as error:
            raise Refused("communities have other members than vertices") from error
        labels[positions] = number
        total += len(positions)
    if total != len(labels) or (labels < 0).any():
        raise Refused("each vertex is in one community")
    return labels
