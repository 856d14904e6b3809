"""Values of maximum flows and minimum cuts. Flows themselves are not unique, so NetworkX's own code finds them."""

from __future__ import annotations

from typing import Any

from .._native import Call, Refused, kernel

_FLOW: dict[str, Any] = {"graph": "flowG", "loops": True, "only": {"flow_func": None}}


def _value(call: Call) -> Any:
    source, target = call.position(call["_s"]), call.position(call["_t"])
    if source == target or call["kwargs"]:
        raise Refused("NetworkX has an error for these arguments")
    if not isinstance(call["capacity"], str):
        raise Refused("the kernel takes the name of a capacity")
    weights = call.weights(call["capacity"], default=None)
    if weights is None or not weights.is_exact() or (weights.values < 0).any():
        raise Refused("a capacity is no integer from 0")
    return int(call.projection(weights, loops=False).maximum_flow_value(source, target))


@kernel(**_FLOW)
def maximum_flow_value(call: Call) -> Any:
    return _value(call)


@kernel(**_FLOW)
def minimum_cut_value(call: Call) -> Any:
    return _value(call)
