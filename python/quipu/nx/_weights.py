"""The weights of the edges of a graph as an array, in the order of :class:`quipu.nx._rows.Rows`.

Attributes are dicts that the program changes without a notice, so weights are read at each call. Those of a stored
graph record changes: without changes weights are kept, and of a graph that is not in memory they are read from the
column of its relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from ._encoding import decode_attributes, encode
from ._rows import Floats, Rows, clean_store

#: Combines the weights of parallel edges.
Combine = Literal["sum", "min"]
#: Larger integers are not exact as floats.
EXACT_MAX = 2**53


class NotNumbersError(Exception):
    """A weight is no finite number. The argument says which."""


class Weights:
    """A number for each of ``rows.targets``."""

    def __init__(self, values: Floats, kinds: set[type[Any]]):
        self.values = values
        #: The types of the numbers; ``int`` alone if there are none.
        self.kinds = kinds or {int}

    @property
    def kind(self) -> type[int] | type[float] | None:
        """``int`` or ``float`` if sums of weights have this type in Python; ``None`` for a mixture or others."""
        for kind in (int, float):
            if self.kinds == {kind}:
                return kind
        return None

    def is_positive(self) -> bool:
        """Return whether all are larger than 0."""
        return bool((self.values > 0).all())

    def is_exact(self) -> bool:
        """Return whether all are integers whose sum is exact."""
        return self.kind is int and float(np.abs(self.values).sum()) < EXACT_MAX

    def keeps_order(self) -> bool:
        """Return whether different numbers are different as floats."""
        return self.kind is float or not len(self.values) or float(np.abs(self.values).max()) < EXACT_MAX


def read_weights(G: Any, rows: Rows, name: Any, combine: Combine | None, default: Any = 1) -> Weights:
    """Read the attribute ``name`` of all edges; ``default`` where it is missing.

    Args:
        G: The graph.
        rows: Its arrays.
        name: Name of the attribute.
        combine: What becomes of parallel edges. ``None`` if there are none.
        default: The number of an edge without the attribute.

    Raises:
        NotNumbersError: A weight is not a number, or not finite, or too large.
    """
    store = clean_store(G)
    is_clean = store is not None and not G._stored.cache.has_new_attributes()
    key = name, combine, default
    found = rows.weights.get(key) if is_clean else None
    if found is None:
        if store is not None and is_clean and not G._stored.cache.is_complete():
            if store.lacks(name):
                found = _numbers([default])
                found.values = np.full(len(rows.targets), found.values[0])
            else:
                found = _from_bytes(store.attributes(), name, default)
            if combine is not None:
                found = _combined(found, rows, combine)
        else:
            found = _from_dicts(G, name, combine, default)
        if not np.isfinite(found.values).all():
            raise NotNumbersError("a weight is not finite")
    if is_clean:
        rows.weights[key] = found
    return found


def _from_dicts(G: Any, name: Any, combine: Combine | None, default: Any) -> Weights:
    rows = G._adj.values()
    if not G.is_multigraph():
        return _numbers([attributes.get(name, default) for row in rows for attributes in row.values()])
    together: Callable[[Iterator[Any]], Any] = min if combine == "min" else sum
    pairs = (keys.values() for row in rows for keys in row.values())
    try:
        return _numbers([together(one.get(name, default) for one in pair) for pair in pairs])
    except TypeError as error:
        raise NotNumbersError("a weight is not a number") from error


def _numbers(found: list[Any]) -> Weights:
    kinds: set[type[Any]] = set(map(type, found))
    try:
        values = np.fromiter(found, "float64", len(found))
    except (TypeError, ValueError, OverflowError) as error:
        raise NotNumbersError("a weight is not a number") from error
    if not kinds <= {int, float} and not all(
        issubclass(kind, bool | int | float | np.integer | np.floating) for kind in kinds
    ):
        raise NotNumbersError("a weight is not a number")
    return Weights(values, kinds)


def _from_bytes(found: list[bytes], name: Any, default: Any) -> Weights:
    fast = _uniform(found, name)
    if fast is not None:
        return fast
    known: dict[bytes, Any] = {}
    numbers = []
    for data in found:
        number = known.get(data)
        if number is None:
            number = known[data] = decode_attributes(data).get(name, default)
        numbers.append(number)
    return _numbers(numbers)


def _uniform(found: list[bytes], name: Any) -> Weights | None:
    """The weights if each is a float and the only attribute: then the bytes are a matrix."""
    head = encode(name) + b"f"
    width = len(head) + 8
    together = b"".join(found)
    if not found or len(together) != width * len(found) or any(len(data) != width for data in found):
        return None
    matrix = np.frombuffer(together, "uint8").reshape(len(found), width)
    if not (matrix[:, : len(head)] == np.frombuffer(head, "uint8")).all():
        return None
    return Weights(np.ascontiguousarray(matrix[:, len(head) :]).view("<f8").ravel(), {float})


def _combined(weights: Weights, rows: Rows, combine: Combine) -> Weights:
    if rows.counts is None:
        return weights
    starts = np.cumsum(rows.counts) - rows.counts
    add = np.minimum if combine == "min" else np.add
    return Weights(add.reduceat(weights.values, starts) if len(starts) else weights.values, weights.kinds)
