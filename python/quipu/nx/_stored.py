"""A stored graph's database, its snapshot, and its commits."""

from __future__ import annotations

import os
from typing import Any

import quipu

from ..errors import ConflictError, InvalidInputError
from ._cache import Cache
from ._existing import ExistingStore
from ._flush import Changes
from ._store import Meta, Store
from ._undirected import UndirectedStore

#: Memory of a graph that is read as a whole, in bytes; a larger one is read in pages.
MEMORY_BYTES = 512 << 20

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "B": 1}

#: Databases that were opened for a path, and how many graphs use each.
_opened: dict[str, tuple[quipu.Database, int]] = {}


class Stored:
    """One graph in a database: it reads a snapshot, and writes by commits."""

    def __init__(self, db: Any, name: str, *, kind: str, memory: int | str | None):
        self._path: str | None = None
        self.database = self._open(db)
        self.name = name
        self._transaction: Any = None
        directed, multigraph = "Di" in kind, "Multi" in kind
        self.is_existing = self._is_graph_of_db(name)
        try:
            if self.is_existing:
                self.store: Store = _of_existing(name, kind)
                self._begin()
            else:
                self.store = Store(name, directed=directed, multigraph=multigraph)
                self._begin_or_create(kind)
            meta = self.store.read_meta()
            if meta.kind != kind:
                raise InvalidInputError(
                    f"the graph {name!r} is a {meta.kind}, not a {kind}\nhint: open it as quipu.nx.{meta.kind}"
                )
            bytes_max = MEMORY_BYTES if memory is None else _bytes(memory)
            self.cache = Cache(self.store, meta, directed=directed, memory_bytes=bytes_max)
        except BaseException:
            self._release()
            raise

    def _open(self, db: Any) -> Any:
        if isinstance(db, quipu.Database | quipu.Transaction):
            return db
        path = self._path = os.path.realpath(os.fspath(db))
        database, users = _opened.get(path, (None, 0))
        if database is None:
            database = quipu.open(path)
        _opened[path] = database, users + 1
        return database

    def _is_graph_of_db(self, name: str) -> bool:
        if not self.is_in_transaction:
            return name in self.database.graphs()
        try:
            self.database.graph(name)
        except InvalidInputError:
            return False
        return True

    @property
    def is_in_transaction(self) -> bool:
        """Whether it belongs to a transaction of the program, which commits its changes."""
        return isinstance(self.database, quipu.Transaction)

    @property
    def opened_for_it(self) -> bool:
        """Whether the database was opened for this graph, by its path."""
        return self._path is not None

    def _begin(self) -> None:
        self._transaction = self.database if self.is_in_transaction else self.database.transaction()
        self.store.use(self._transaction)

    def _begin_or_create(self, kind: str) -> None:
        self._begin()
        if not self.store.has_relations():
            try:
                self.store.create()
            except InvalidInputError as error:
                reason = str(error).splitlines()[0]
                raise InvalidInputError(
                    f"there is no graph {self.name!r}, and it cannot be created: {reason}"
                ) from error
            # Two commits: a row in the commit that creates its relation costs 40 to 100 ms.
            self._commit()
            self._begin()
        if not self.store.is_filled():
            self.store.write_meta(Meta(kind))
            self._commit()
            self._begin()

    def _commit(self) -> None:
        if not self.is_in_transaction:
            self._transaction.commit()

    def flush(self) -> bool:
        """Write and commit the changes; return whether there were any.

        Raises:
            TypeError: A vertex or an attribute cannot be stored. Nothing was written.
            ConflictError: Another commit changed the graph since the snapshot was taken.
        """
        changes = Changes(self.cache)
        if not changes:
            return False
        self.store.check(changes)
        try:
            meta = changes.write()
            self._commit()
        except ConflictError as error:
            self.store.use(None)
            raise ConflictError(
                f"another commit changed the graph {self.name!r} since its snapshot was taken\n"
                "hint: G.refresh() takes a new snapshot, and discards unflushed changes"
            ) from error
        self._begin()
        if self.is_existing:
            # Ids are positions in the snapshot, which has moved.
            self.cache.begin(self.store.read_meta())
        else:
            self.cache.flushed(meta)
        return True

    def refresh(self) -> None:
        """Take a new snapshot, and discard unflushed changes."""
        if not self.is_in_transaction:
            self._end()
            self.database.refresh()
        self._begin()
        self.cache.begin(self.store.read_meta())

    def _end(self) -> None:
        if self._transaction is not None and not self.is_in_transaction:
            self._transaction.rollback()
        self._transaction = None
        self.store.use(None)

    def close(self) -> None:
        """End the snapshot, and close the database if it was opened for this graph."""
        self._end()
        self._release()

    def _release(self) -> None:
        path, self._path = self._path, None
        if path is None:
            return
        database, users = _opened[path]
        if users > 1:
            _opened[path] = database, users - 1
            return
        del _opened[path]
        database.close()


def _of_existing(name: str, kind: str) -> Store:
    if kind == "DiGraph":
        return ExistingStore(name)
    if kind == "Graph":
        return UndirectedStore(name)
    raise InvalidInputError(
        f"the graph {name!r} of db.graph has no parallel edges, so it is no {kind}\n"
        "hint: open it as quipu.nx.DiGraph or quipu.nx.Graph"
    )


def _bytes(memory: int | str) -> int:
    if isinstance(memory, int):
        return memory
    text = memory.strip().upper()
    for unit in sorted(_UNITS, key=len, reverse=True):
        number = text.removesuffix(unit).strip()
        if text.endswith(unit) and number.isdecimal():
            return int(number) * _UNITS[unit]
    raise InvalidInputError(f'memory is a number of bytes, or a string such as "256MB", not {memory!r}')
