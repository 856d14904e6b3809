"""DataFrames of an export or of a database, and rows of Spark back into a relation."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._quipu import Database
from ..errors import InvalidInputError
from ._export import export, statistics

if TYPE_CHECKING:
    Source = str | os.PathLike[str] | Database


def frames(
    session: Any,
    source: Source,
    graph: str | None = None,
    *,
    vertices: str | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> tuple[Any, Any]:
    """Return a graph as two DataFrames: vertices ``id, …`` and edges ``src, dst, …``.

    A database is exported to a temporary folder first, which is removed with the session object or at the end of the
    process: the frames stay as they are, whatever is written later.

    Args:
        session: A ``SparkSession``.
        source: Folder of an export: a local path, or an address that all executors reach, such as ``hdfs://``. Or an
            open database.
        graph: Name of the graph in a database, as for :func:`export`.
        vertices: Properties of the vertices in a database, as for :func:`export`.
        scratch: Folder for the temporary export of a database, which all executors must see. By default the system's
            folder for temporary files, which suits a local session.

    Raises:
        InvalidInputError: A local folder is no export, or is one of a newer format; the database has no such graph, or
            ``graph`` is missing or superfluous.
    """
    address = export_address(session, source, graph, vertices, scratch)
    return session.read.parquet(f"{address}/vertices"), session.read.parquet(f"{address}/edges")


def export_address(
    session: Any,
    source: Source,
    graph: str | None,
    vertices: str | None,
    scratch: str | os.PathLike[str] | None,
) -> str:
    """Return the address of an export, which is made for a database."""
    if isinstance(source, Database):
        if graph is None:
            raise InvalidInputError("a database has several graphs\nhint: name one: graph=")
        folder = tempfile.mkdtemp(prefix="quipu-spark-", dir=scratch)
        try:
            export(source, graph, os.path.join(folder, "export"), vertices=vertices)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(session, shutil.rmtree, folder, ignore_errors=True)
        return os.path.join(os.path.abspath(folder), "export")
    if graph is not None or vertices is not None:
        raise InvalidInputError("an export has one graph\nhint: graph= and vertices= are for a database")
    address = os.fspath(source)
    if "://" in address:
        return address
    statistics(address)
    return os.path.abspath(address)


def page(session: Any, address: str) -> dict[str, Any]:
    """Return the content of ``quipu.json`` of an export, also where Spark alone reaches it."""
    if "://" not in address:
        return statistics(address)
    found: dict[str, Any] = json.loads(session.read.text(f"{address}/quipu.json", wholetext=True).first()[0])
    return found


def store(database: Database, relation: str, frame: Any, *, keys: Sequence[str]) -> int:
    """Write a DataFrame into a relation in one commit, and return the number of rows.

    A missing relation is created. They replace rows with the same keys; others stay. The rows pass through the
    memory of this process.

    Args:
        database: The open database.
        relation: Name of the relation.
        frame: A Spark DataFrame.
        keys: The key columns, if the relation is created.

    Raises:
        InvalidInputError: The relation has other columns, or a value does not fit.
    """
    table = frame.toArrow()
    database.relation(relation, create=table, keys=list(keys)).put(table)
    return len(table)
