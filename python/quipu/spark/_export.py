"""An export: a folder of Parquet files of vertices and of edges, and a page of statistics.

```text
cites.spark/
  quipu.json                  format, counts, columns, rows of each file
  vertices/part-00000.parquet …   id and properties, ascending ids within a file
  edges/part-00000.parquet …      src, dst, weight and properties, by src and dst within a file
```

All files are written beside their folder, which gets its name when everything is there: a folder with that name is
complete.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInputError

if TYPE_CHECKING:
    from .._quipu import Database

FORMAT = 1
"""Number of the format that ``quipu.json`` names."""

FILE_ROWS = 4_000_000
"""Rows of a file by default: some 30 to 60 MB, a few tasks of Spark for each."""

GROUP_ROWS = 500_000
"""Rows of a row group, the smallest part that one task reads."""


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

    Memory holds the ids of the vertices and a few batches of edges. Edges are those of one snapshot; vertices are
    their ends, and those with properties.

    Args:
        database: The open database.
        graph: Name of the graph, or of any relation whose first two columns are source and target.
        folder: A folder to create.
        vertices: Name of a relation with one key, the vertex: its rows become properties of vertices, and vertices
            that have no edge. By default the properties of the graph's vertices, if it has some.
        file_rows: Rows of a file at most, from 1.
        replace: Replace an earlier export. Any other folder is never replaced.

    Raises:
        InvalidInputError: There is no such graph, the folder exists, or ``vertices`` has another key.
        ImportError: pyarrow is not installed.
    """
    if file_rows < 1:
        raise InvalidInputError(f"file_rows= is a number from 1, and not {file_rows}")
    target = Path(folder)
    _check_target(target, replace)
    partial = target.parent / f".{target.name}.{uuid.uuid4().hex[:8]}.partial"
    try:
        report = _write(database, graph, vertices, partial, file_rows)
        if target.exists():
            old = partial.with_suffix(".old")
            target.rename(old)
            partial.rename(target)
            shutil.rmtree(old)
        else:
            partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return report


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


def _check_target(target: Path, replace: bool) -> None:
    if not target.exists() and not target.is_symlink():
        return
    if not (target / "quipu.json").is_file() or target.is_symlink():
        raise InvalidInputError(f"{target} exists and is no export\nhint: name a folder that does not exist")
    if not replace:
        raise InvalidInputError(f"{target} exists\nhint: replace=True writes it anew")


def _write(database: Database, graph: str, vertices: str | None, partial: Path, file_rows: int) -> ExportReport:
    arrow: Any = import_module("pyarrow")
    edge_names = [column.name for column in database.relation(graph).columns]
    if len(edge_names) < 2:
        raise InvalidInputError(f"{graph!r} has no source and target: its only column is {edge_names[0]!r}")
    (partial / "edges").mkdir(parents=True)
    (partial / "vertices").mkdir()
    files: dict[str, int] = {}
    ends = _Ends()
    with database.stream(_all_columns(graph, len(edge_names))) as stream:
        batches = arrow.RecordBatchReader.from_stream(stream)
        edge_schema = _renamed(batches.schema, ["src", "dst", *edge_names[2:]])
        renamed = (arrow.RecordBatch.from_arrays(batch.columns, schema=edge_schema) for batch in batches)
        edges = _write_parts(partial, "edges", edge_schema, ends.seen_in(renamed), file_rows, files)
    table = ends.table(arrow)
    if vertices is None:
        vertices = _own_properties(database, graph)
    if vertices is not None:
        table = _with_properties(database, vertices, table, arrow)
    count = _write_parts(partial, "vertices", table.schema, iter(table.to_batches(GROUP_ROWS)), file_rows, files)
    report = ExportReport(
        format=FORMAT,
        graph=graph,
        directed=graph not in database.graphs() or database.graph(graph).is_directed,
        vertices=count,
        edges=edges,
        vertex_columns={field.name: str(field.type) for field in table.schema},
        edge_columns={field.name: str(field.type) for field in edge_schema},
        files=files,
    )
    (partial / "quipu.json").write_text(json.dumps(asdict(report), indent=2) + "\n", encoding="utf-8")
    return report


def _all_columns(relation: str, count: int) -> str:
    """Return a query of all rows, whose columns have names that a script can always write."""
    columns = ", ".join(f"c{number}" for number in range(count))
    return f"?[{columns}] := *`{relation}`[{columns}]"


def _renamed(schema: Any, names: list[str]) -> Any:
    """Give the first fields these names, which are the same in every export."""
    for number, name in enumerate(names):
        schema = schema.set(number, schema.field(number).with_name(name))
    return schema


def _write_parts(
    partial: Path, kind: str, schema: Any, batches: Iterator[Any], file_rows: int, files: dict[str, int]
) -> int:
    """Write batches to files of ``file_rows`` rows, and return the number of rows."""
    parquet: Any = import_module("pyarrow.parquet")
    writer: Any = None
    rows = part = part_rows = 0
    try:
        for batch in batches:
            while batch.num_rows:
                if writer is None:
                    name = f"{kind}/part-{part:05}.parquet"
                    writer = parquet.ParquetWriter(partial / name, schema, compression="zstd")
                    part_rows = 0
                piece = batch.slice(0, file_rows - part_rows)
                writer.write_batch(piece, row_group_size=GROUP_ROWS)
                part_rows += piece.num_rows
                rows += piece.num_rows
                files[f"{kind}/part-{part:05}.parquet"] = part_rows
                batch = batch.slice(piece.num_rows)
                if part_rows == file_rows:
                    writer.close()
                    writer, part = None, part + 1
        if not any(name.startswith(kind + "/") for name in files):
            # Readers find the columns of an empty graph in a file without rows.
            name = f"{kind}/part-00000.parquet"
            writer = parquet.ParquetWriter(partial / name, schema, compression="zstd")
            files[name] = 0
    finally:
        if writer is not None:
            writer.close()
    return rows


class _Ends:
    """Collects the distinct vertices of edges."""

    def __init__(self) -> None:
        self._numbers: list[Any] = []
        self._pending = 0
        self._names: set[str] = set()
        self._type: Any = None

    def seen_in(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the batches, after adding their ends."""
        for batch in batches:
            self._type = batch.schema.field(0).type
            for column in batch.columns[:2]:
                if _is_text(self._type):
                    self._names.update(column.to_pylist())
                else:
                    self._numbers.append(np.unique(column.to_numpy()))
                    self._pending += len(self._numbers[-1])
            # Ids are merged when the new ones are as many as those known.
            if self._numbers and self._pending > 2 * len(self._numbers[0]) + (1 << 20):
                self._merge()
            yield batch

    def _merge(self) -> None:
        self._numbers = [np.unique(np.concatenate(self._numbers))]
        self._pending = len(self._numbers[0])

    def table(self, arrow: Any) -> Any:
        """Return a table with the column ``id``, ascending."""
        if self._names:
            return arrow.table({"id": arrow.array(sorted(self._names), self._type)})
        if not self._numbers:
            return arrow.table({"id": arrow.array([], self._type or arrow.int64())})
        self._merge()
        return arrow.table({"id": arrow.array(self._numbers[0], self._type)})


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _own_properties(database: Database, graph: str) -> str | None:
    """Return the name of the relation of a graph's vertices, if there is one."""
    name = f"{graph}:nodes"
    try:
        database.relation(name)
    except InvalidInputError:
        return None
    return name


def _with_properties(database: Database, relation: str, ids: Any, arrow: Any) -> Any:
    """Join the rows of ``relation`` to the ids, and add vertices that only it has."""
    columns = database.relation(relation).columns
    if sum(column.is_key for column in columns) != 1:
        raise InvalidInputError(f"{relation!r} needs one key, the vertex, to be properties of vertices")
    # The key comes first, as in the relation.
    names = [column.name for column in columns]
    if "id" in names[1:]:
        raise InvalidInputError(f"{relation!r} has a column 'id' beside its key, and exports name the key 'id'")
    table = arrow.table(database.run(_all_columns(relation, len(names)))).rename_columns(["id", *names[1:]])
    # A join of Arrow's refuses columns of lists: rows are found by their positions.
    compute: Any = import_module("pyarrow.compute")
    kind = ids.schema.field("id").type
    if len(ids) == 0:
        kind = table.schema.field("id").type
    known = table.column("id").cast(kind)
    all_ids = arrow.chunked_array([*ids.column("id").cast(kind).chunks, *known.chunks], kind).unique().sort()
    found = compute.index_in(all_ids, value_set=known)
    columns_of = {name: table.column(name).take(found) for name in names[1:]}
    return arrow.table({"id": all_ids, **columns_of})
