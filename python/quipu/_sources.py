"""Sources of imported edges: distinguishes files from tables, and converts Python objects to tables.

Nothing here imports pandas, Polars, NetworkX or SciPy: their objects are known by their methods.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np

from .errors import InvalidInputError, MissingFileError

_GLOB = frozenset("*?[")

_TABLES = (
    "a table with the Arrow interface (pyarrow, pandas, Polars, DuckDB), a dict of columns, a list of pairs, "
    "an array of two or three columns, a NetworkX graph or a sparse matrix"
)


def source(data: Any) -> tuple[str, Any]:
    """Return ``("files", …)`` or ``("table", …)``."""
    if _is_path(data) or hasattr(data, "read"):
        return "files", files(data)
    if isinstance(data, list | tuple):
        items = cast("Sequence[Any]", data)
        if items and all(_is_path(item) or hasattr(item, "read") for item in items):
            return "files", files(items)
    return "table", table(data)


def files(data: Any) -> list[Any]:
    """Paths and file objects, in order. Patterns become the files that match them, by name."""
    if hasattr(data, "read"):
        return [data]
    if _is_path(data):
        return _matches(os.fspath(cast("str", data)))
    if isinstance(data, Iterable):
        found = list(chain.from_iterable(files(item) for item in cast("Iterable[Any]", data)))
        if found:
            return found
        raise InvalidInputError("there is no file to import in an empty list")
    raise TypeError(f"a path, a file object or a list of them is needed, not {type(data).__name__}")


def table(data: Any) -> Any:
    """Return an object with the Arrow interface, or names and columns."""
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return data
    if callable(getattr(data, "collect", None)):  # a LazyFrame of Polars
        return table(data.collect())
    if callable(getattr(data, "is_directed", None)) and hasattr(data, "edges"):
        return _networkx(data)
    if callable(getattr(data, "tocoo", None)):  # a sparse matrix of SciPy
        entries = data.tocoo()
        return ["source", "target", "weight"], [entries.row, entries.col, entries.data]
    if isinstance(data, Mapping):
        columns = cast("Mapping[Any, Any]", data)
        return [str(name) for name in columns], list(columns.values())
    if isinstance(data, np.ndarray):
        return _array(cast("np.ndarray[Any, Any]", data))
    if callable(getattr(data, "items", None)) and hasattr(data, "columns"):  # a frame without Arrow
        return [str(name) for name in data.columns], [column.to_numpy() for _, column in data.items()]
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InvalidInputError(f"edges are imported from {_TABLES}; not from {type(data).__name__}")
    return _rows(cast("Iterable[Any]", data))


def _is_path(data: Any) -> bool:
    return isinstance(data, str | os.PathLike)


def _matches(path: str) -> list[str]:
    expanded = path if path.startswith("file://") else os.path.expanduser(path)
    if _GLOB.isdisjoint(expanded) or os.path.exists(expanded):
        return [expanded]
    found = sorted(glob.glob(expanded, recursive=True))
    if not found:
        raise MissingFileError(f"no file matches {path}")
    return found


def _array(array: np.ndarray[Any, Any]) -> tuple[list[str], list[Any]]:
    if array.dtype.names:  # a structured array
        return list(array.dtype.names), [array[name] for name in array.dtype.names]
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise InvalidInputError(f"an array of edges has two or three columns, not the shape {array.shape}")
    names = ["source", "target", "weight"][: array.shape[1]]
    return names, [array[:, i] for i in range(array.shape[1])]


def _rows(rows: Iterable[Any]) -> tuple[list[str], list[Any]]:
    rows = list(rows)
    if not rows:
        return ["source", "target"], [np.empty(0, "int64"), np.empty(0, "int64")]
    if all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(chain.from_iterable(rows)))
        return [str(name) for name in names], [_objects([row.get(name) for row in rows]) for name in names]
    lengths = {len(row) if hasattr(row, "__len__") and not isinstance(row, str | bytes) else 0 for row in rows}
    if len(lengths) != 1 or not lengths <= {2, 3}:
        raise InvalidInputError(f"edges are pairs, or triples with a weight; or import {_TABLES}")
    columns = [_objects(list(column)) for column in zip(*rows, strict=True)]
    return ["source", "target", "weight"][: len(columns)], columns


def _networkx(graph: Any) -> tuple[list[str], list[Any]]:
    edges = list(graph.edges(data="weight"))
    if not edges:
        return _rows([])
    us, vs, ws = (list(column) for column in zip(*edges, strict=True))
    if not all(isinstance(v, int | np.integer) for v in chain(us, vs)):
        us, vs = [str(u) for u in us], [str(v) for v in vs]
    if all(w is None for w in ws):
        return ["source", "target"], [_objects(us), _objects(vs)]
    return ["source", "target", "weight"], [_objects(us), _objects(vs), _objects(ws)]


def _objects(values: list[Any]) -> np.ndarray[Any, Any]:
    """An array of these objects, which NumPy does not look into."""
    array = np.empty(len(values), "object")
    array[:] = values
    return array
