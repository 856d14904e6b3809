"""An export: a folder of Parquet files of vertices and of edges, and a page of statistics.

```text
cites.spark/
  vertices/part-00000.parquet …   id and properties
  edges/part-00000.parquet …      src, dst, weight and properties
  quipu.json                      format, counts, columns, rows and bytes of each file
  _SUCCESS                        empty: the export is complete
```

The command ``quipu export --spark`` writes the same.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError

if TYPE_CHECKING:
    from .._quipu import Database

FORMAT = 1
"""Number of the format that ``quipu.json`` names."""

FILE_ROWS = 4_000_000
"""Rows of a file by default: some 30 to 60 MB of plain edges, a few tasks of Spark for each."""


@dataclass(frozen=True)
class ExportReport:
    """The contents of an export."""

    format: int
    graph: str
    directed: bool
    """Whether edges have a direction. Those of an undirected graph are there once, the smaller end as ``src``."""
    vertices: int
    edges: int
    vertex_columns: dict[str, str]
    """Arrow types by column."""
    edge_columns: dict[str, str]
    files: dict[str, int]
    """Rows by file, whose names are relative to the folder."""
    file_bytes: dict[str, int]
    """Bytes by file."""


def export(
    database: Database,
    graph: str,
    folder: str | os.PathLike[str],
    *,
    vertices: str | None = None,
    file_rows: int = FILE_ROWS,
    replace: bool = False,
) -> ExportReport:
    """Write a graph as partitioned Parquet, which Spark, DuckDB, Polars and pandas read.

    Edges and vertices are those of one snapshot. The vertices are the ends of edges, and those with properties; numbers
    ascend, strings come in the order of the graph. The memory needed does not grow with a graph; of a relation that is
    no graph, it holds the vertices.

    Numbers, strings, lists, dates and timestamps keep their types. Json, UUIDs and decimals become strings, durations
    integers of microseconds. A column of any type gets the type that all its values have, or else becomes strings.

    Args:
        database: The open database.
        graph: Name of the graph, or of any relation whose first two columns are source and target.
        folder: A folder to create.
        vertices: Name of a relation with one key, the vertex: its rows become properties of vertices, and vertices
            that have no edge. By default the properties of the graph's vertices, if it has some.
        file_rows: Rows of a file at most, from 1.
        replace: Replace an earlier export. Any other folder is never replaced.

    Raises:
        InvalidInputError: There is no such graph, the folder exists or lies in a database, ``vertices`` has another
            key, or two columns differ in case alone, which Spark cannot tell apart.
        LimitError: The vertices of a relation that is no graph exceed the memory limit.
    """
    if file_rows < 1:
        raise InvalidInputError(f"file_rows= is a number from 1, and not {file_rows}")
    write: Any = import_module("quipu._quipu")._export_spark  # it has no stub
    write(database, graph, os.fspath(folder), vertices, file_rows, replace)
    page = statistics(os.fspath(folder))
    return ExportReport(**{name: page[name] for name in ExportReport.__dataclass_fields__})


def statistics(folder: str) -> dict[str, Any]:
    """Return the content of ``quipu.json`` of a local export."""
    try:
        with open(os.path.join(folder, "quipu.json"), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError) as error:
        raise InvalidInputError(f"{folder} is no export of a graph\nhint: quipu.spark.export writes one") from error
    if found.get("format") != FORMAT:
        raise InvalidInputError(f"{folder} has format {found.get('format')}, and this version reads format {FORMAT}")
    return found
