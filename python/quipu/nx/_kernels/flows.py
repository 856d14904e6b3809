"""Maximum flows by their value, and minimum cuts.

Flows themselves are not unique, so NetworkX's own code finds them. Of all minimum cuts, NetworkX's and this one have
the fewest vertices on the side of the target: those that reach it in the residual network of any largest flow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._native import Call, Refused, kernel

_FLOW: dict[str, Any] = {"graph": "flowG", "loops": True, "only": {"flow_func": None}}


def _problem(call: Call) -> tuple[Any, int, int]:
    """The projection with capacities, the source and the target."""
    source, target = call.position(call["_s"]), call.position(call["_t"])
    if source == target or call["kwargs"]:
        raise Refused("NetworkX has an error for these arguments")
    if not isinstance(call["capacity"], str):
        raise Refused("the kernel takes the name of a capacity")
    weights = call.weights(call["capacity"], default=None)
    if weights is None or not weights.is_exact() or (weights.values < 0).any():
        raise Refused("a capacity is no integer from 0")
    return call.projection(weights, loops=False), source, target


@kernel("maximum_flow_value", **_FLOW)
@kernel("minimum_cut_value", **_FLOW)
def _value(call: Call) -> int:
    projection, source, target = _problem(call)
    return int(projection.maximum_flow_value(source, target))


@kernel(**_FLOW)
def minimum_cut(call: Call) -> Any:
    projection, source, target = _problem(call)
    value = int(projection.maximum_flow_value(source, target))
    is_at_target = projection.minimum_cut(source, target).values == 1
    sides = (set(call.named(np.flatnonzero(side))) for side in (~is_at_target, is_at_target))
    return value, tuple(sides)
