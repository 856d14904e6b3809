"""Sources of imported edges: distinguishes files from tables, and converts Python objects to tables.

Nothing here imports pandas, Polars, NetworkX or SciPy: their objects are known by their methods.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence, Set
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
    if _is_mapping(data):
        columns = cast("Mapping[Any, Any]", data)
        return [str(name) for name in columns], list(columns.values())
    if _are_columns(data):
        return _arrays(cast("Sequence[Any]", data))
    if isinstance(data, np.ndarray):
        return _array(cast("np.ndarray[Any, Any]", data))
    if callable(getattr(data, "items", None)) and hasattr(data, "columns"):  # a frame without Arrow
        return [str(name) for name in data.columns], [column.to_numpy() for _, column in data.items()]
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InvalidInputError(f"edges are imported from {_TABLES}; not from {type(data).__name__}")
    return _rows(cast("Iterable[Any]", data))


def _is_mapping(data: Any) -> bool:
    return isinstance(data, Mapping) and not isinstance(data, Set)  # the edges of NetworkX are both


def _are_columns(data: Any) -> bool:
    if not isinstance(data, list | tuple):
        return False
    items = cast("Sequence[Any]", data)
    return 2 <= len(items) <= 3 and all(_is_column(item) for item in items)


def _is_column(data: Any) -> bool:
    return hasattr(data, "__array__") and getattr(data, "ndim", 1) == 1 and hasattr(data, "__len__")


def _arrays(arrays: Sequence[Any]) -> tuple[list[str], list[Any]]:
    """The columns of a tuple of arrays. In a list they may as well be rows, as of ``list(matrix)``."""
    if isinstance(arrays, list):
        raise InvalidInputError(
            f"a list of {len(arrays)} arrays may be rows or columns: "
            "import a tuple or a dict of columns, or numpy.stack of rows"
        )
    return ["source", "target", "weight"][: len(arrays)], list(arrays)


def _is_path(data: Any) -> bool:
    return isinstance(data, str | os.PathLike)


def _matches(path: str) -> list[str]:
    if "://" in path:
        return [path]
    expanded = os.path.expanduser(path)
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
    values = [list(column) for column in zip(*rows, strict=True)]
    if len(values) == 3 and all(isinstance(last, Mapping) for last in values[2]):
        # Attributes, as in NetworkX's graph.edges(data=True).
        values[2] = [last.get("weight") for last in values[2]]
        if all(weight is None for weight in values[2]):
            del values[2]
    columns = [_objects(column) for column in values]
    return ["source", "target", "weight"][: len(columns)], columns


def _networkx(graph: Any) -> tuple[list[str], list[Any], list[str]]:
    """The edges of a graph of NetworkX, and what they leave out of it."""
    edges = list(graph.edges(data="weight"))
    us, vs, ws = (list(column) for column in zip(*edges, strict=True)) if edges else ([], [], [])
    notes = _left_out(graph, us, vs)
    if not edges:
        return (*_rows([]), notes)
    if not all(isinstance(v, int | np.integer) for v in chain(us, vs)):
        us, vs = [str(u) for u in us], [str(v) for v in vs]
    if all(w is None for w in ws):
        return ["source", "target"], [_objects(us), _objects(vs)], notes
    return ["source", "target", "weight"], [_objects(us), _objects(vs), _objects(ws)], notes


def _left_out(graph: Any, us: list[Any], vs: list[Any]) -> list[str]:
    notes: list[str] = []
    if not graph.is_directed():
        notes.append(
            "the graph has edges without direction: a directed graph gets them as they are listed, "
            "from source to target"
        )
    if callable(getattr(graph, "is_multigraph", None)) and graph.is_multigraph():
        notes.append("of parallel edges the last one is imported: db.from_networkx keeps them")
    if _has_attributes(graph):
        notes.append("attributes other than the weight are left out: db.from_networkx keeps them")
    ends = set(us) | set(vs)
    lonely = len(graph) - len(ends) if hasattr(graph, "__len__") else 0
    if lonely:
        notes.append(f"{lonely} of the vertices have no edge and are left out: db.from_networkx keeps them")
    if any(not isinstance(v, str) for v in ends) and not all(isinstance(v, int | np.integer) for v in ends):
        notes.append("vertices that are no strings are called by their text")
    return notes


def _has_attributes(graph: Any) -> bool:
    if not hasattr(graph, "nodes"):
        return False
    edges = (attributes.keys() for *_, attributes in graph.edges(data=True))
    return any(attributes for _, attributes in graph.nodes(data=True)) or any(keys - {"weight"} for keys in edges)


def _objects(values: list[Any]) -> np.ndarray[Any, Any]:
    """An array of these objects, which NumPy does not look into. Its own scalars become those of Python."""
    array = np.empty(len(values), "object")
    if any(issubclass(kind, np.generic) for kind in set(map(type, values))):
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
    array[:] = values
    return array
