"""The engines: each loads the tables with the same indexes, and answers a question."""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from questions import QUARTER, Question

COLUMNS = {
    "posts": ("id", "author, ts, lang, score, body"),
    "users": ("id", "name, city"),
    "tags": ("post, tag", ""),
    "follows": ("src, dst", ""),
    "spare": ("id", "author, ts, lang, score, body"),
}
"""Key and value columns of each table."""

INDEXES = [("posts", "author, ts"), ("posts", "ts"), ("users", "city"), ("tags", "tag"), ("posts", "author")]
"""The last is for SQL only: `author, ts` covers it in Datalog."""

KINDS = {"name": "text", "city": "text", "lang": "text", "body": "text", "tag": "text", "score": "double"}


def kind(column: str) -> str:
    """The SQL type of a column."""
    return KINDS.get(column, "bigint")


def batches(folder: Path, name: str) -> Iterator[pa.Table]:
    """The rows of a table, at most a million at a time."""
    if name == "spare":
        rows = pq.ParquetFile(folder / "posts.parquet").metadata.num_rows // QUARTER
        left = rows
        for part in batches(folder, "posts"):
            if left > 0:
                yield part.slice(0, left)
            left -= part.num_rows
        return
    file = pq.ParquetFile(folder / f"{name}.parquet")
    for batch in file.iter_batches(1_000_000):
        yield pa.Table.from_batches([batch])


class Engine(ABC):
    """An engine with the tables in memory, or in a folder."""

    @abstractmethod
    def __init__(self, folder: Path | None, memory: str) -> None:
        """Opens or creates the database. `memory` is such as "1GB"."""

    @abstractmethod
    def load(self, data: Path) -> None:
        """Creates all tables and indexes."""

    @abstractmethod
    def ask(self, question: Question) -> Any:
        """Rows, or an Arrow table."""

    @abstractmethod
    def undo(self, undo: tuple[str, str]) -> None:
        """Takes back a change, by `Question.undo`."""

    @abstractmethod
    def close(self) -> None:
        """Closes the database."""


class Quipu(Engine):
    """Quipu."""

    def __init__(self, folder: Path | None, memory: str) -> None:
        import quipu

        settings = {"cache": memory, "memory_limit": memory}
        self.database = quipu.open(folder, **settings) if folder else quipu.open(**settings)

    def load(self, data: Path) -> None:
        kinds = {"text": "String", "double": "Float", "bigint": "Int"}
        for name, (key, values) in COLUMNS.items():
            typed = [
                ", ".join(f"{column}: {kinds[kind(column)]}" for column in part.split(", ") if column)
                for part in (key, values)
            ]
            self.database.run(f":create {name} {{{typed[0]}{' => ' if values else ''}{typed[1]}}}")
            for batch in batches(data, name):
                self.database.import_relations({name: batch})
        for name, columns in INDEXES[:-1]:
            self.database.run(f"::index create {name}:by_{columns.split(',')[0]} {{{columns}}}")

    def ask(self, question: Question) -> Any:
        result = self.database.run(question.script, question.params)
        return pa.table(result) if question.as_arrow else result.rows()

    def undo(self, undo: tuple[str, str]) -> None:
        self.database.run(undo[0])

    def close(self) -> None:
        self.database.close()


class SqlEngine(Engine):
    """The common part of the peers."""

    connection: Any

    def load(self, data: Path) -> None:
        for name, (key, values) in COLUMNS.items():
            columns = ", ".join(f"{column} {kind(column)}" for column in f"{key}, {values}".split(", ") if column)
            self.connection.execute(self.definition(name, key, columns))
            for batch in batches(data, name):
                self.insert(name, batch)
        for number, (name, columns) in enumerate(INDEXES):
            self.connection.execute(f"create index index_{number} on {name} ({columns})")

    def definition(self, name: str, key: str, columns: str) -> str:
        """The statement that creates a table."""
        return f"create table {name} ({columns}, primary key ({key}))"

    @abstractmethod
    def insert(self, name: str, batch: pa.Table) -> None:
        """Inserts rows."""

    def undo(self, undo: tuple[str, str]) -> None:
        self.connection.execute(undo[1])

    def close(self) -> None:
        self.connection.close()


def used_params(question: Question) -> dict[str, Any]:
    """The parameters that the SQL of a question uses."""
    return {name: value for name, value in question.params.items() if f":{name}" in question.sql}


class DuckDB(SqlEngine):
    """DuckDB, with two threads."""

    def __init__(self, folder: Path | None, memory: str) -> None:
        import duckdb

        self.connection = duckdb.connect(str(folder / "tables.duckdb") if folder else ":memory:")
        self.connection.execute("set threads to 2")
        self.connection.execute(f"set memory_limit = '{memory}'")

    def insert(self, name: str, batch: pa.Table) -> None:
        self.connection.register("batch", batch)
        self.connection.execute(f"insert into {name} select * from batch")

    def ask(self, question: Question) -> Any:
        if question.as_arrow:
            return self.connection.sql(question.sql).to_arrow_table()
        sql = re.sub(r":(\w+)", r"$\1", question.sql).replace("matches(", "regexp_matches(")
        return self.connection.execute(sql, used_params(question) or None).fetchall()


class SQLite(SqlEngine):
    """SQLite of Python's standard library, with a log and without syncing each commit."""

    def __init__(self, folder: Path | None, memory: str) -> None:
        self.connection = sqlite3.connect(folder / "tables.sqlite" if folder else ":memory:", isolation_level=None)
        self.connection.execute("pragma journal_mode = wal")
        self.connection.execute("pragma synchronous = normal")
        size, unit = re.fullmatch(r"(\d+)([MG])B", memory).groups()  # type: ignore[union-attr]
        kib = int(size) * (1 << 10 if unit == "M" else 1 << 20)
        self.connection.execute(f"pragma cache_size = -{kib}")
        patterns: dict[str, re.Pattern[str]] = {}

        def matches(text: str, pattern: str) -> bool:
            found = patterns.get(pattern) or patterns.setdefault(pattern, re.compile(pattern))
            return found.search(text) is not None

        self.connection.create_function("matches", 2, matches, deterministic=True)

    def load(self, data: Path) -> None:
        super().load(data)
        self.connection.execute("analyze")

    def definition(self, name: str, key: str, columns: str) -> str:
        if key == "id":
            return f"create table {name} ({columns.replace('id bigint', 'id integer primary key')})"
        return super().definition(name, key, columns) + " without rowid"

    def insert(self, name: str, batch: pa.Table) -> None:
        self.connection.execute("begin")
        places = ", ".join("?" * batch.num_columns)
        for part in batch.to_batches(100_000):
            rows = zip(*(column.to_pylist() for column in part.columns), strict=True)
            self.connection.executemany(f"insert into {name} values ({places})", rows)
        self.connection.execute("commit")

    def ask(self, question: Question) -> Any:
        found = self.connection.execute(question.sql, used_params(question))
        rows = found.fetchall()
        if not question.as_arrow:
            return rows
        names = [column[0] for column in found.description]
        return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


ENGINES: dict[str, Callable[[Path | None, str], Engine]] = {"quipu": Quipu, "duckdb": DuckDB, "sqlite": SQLite}
