"""DataFrames of an export, and rows of Spark back into a relation."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError

if TYPE_CHECKING:
    from .._quipu import Database


def frames(session: Any, folder: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Return an export as two DataFrames: vertices ``id, …`` and edges ``src, dst, …``.

    Args:
        session: A ``SparkSession``.
        folder: Folder of the export: a local path, or an address that all executors reach, such as ``hdfs://``.

    Raises:
        InvalidInputError: A local folder is no export, or is one of a newer format.
    """
    address = os.fspath(folder)
    if "://" not in address:
        statistics(address)
        address = os.path.abspath(address)
    return session.read.parquet(f"{address}/vertices"), session.read.parquet(f"{address}/edges")


def statistics(folder: str) -> dict[str, Any]:
    """Return the content of ``quipu.json`` of a local export."""
    try:
        with open(os.path.join(folder, "quipu.json"), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError) as error:
        raise InvalidInputError(f"{folder} is no export of a graph\nhint: quipu.spark.export writes one") from error
    if found.get("format") != 1:
        raise InvalidInputError(f"{folder} has format {found.get('format')}, and this version reads format 1")
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
