"""CozoDB's Python interface on top of Quipu.

A program for ``pycozo`` or ``cozo_embedded`` changes one import:

>>> from quipu.compat.cozo import Client  # was: from pycozo.client import Client
>>> client = Client("rocksdb", "data.quipu", dataframe=False)
>>> client.run("?[a] <- [[1]]")
{'headers': ['a'], 'rows': [[1]], 'next': None}

The database is Quipu's: a folder at ``path``, whichever engine is named.
``docs/reference/coming-from-cozo.md`` lists the differences.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast
from uuid import UUID

import quipu

__all__ = ["Client", "CozoDbMulTx", "CozoDbPy", "MultiTransact", "QueryException"]

_Rows: TypeAlias = list[list[Any]]
_Callback: TypeAlias = Callable[[str, _Rows, _Rows], object]
_Rule: TypeAlias = Callable[[list[_Rows], dict[str, Any]], Iterable[Iterable[Any]]]

_ENGINES = ("mem", "sqlite", "rocksdb", "newrocksdb", "sled")
_CLOSED = '{"ok":false,"message":"database closed"}'


def _plain(value: Any) -> Any:
    """Convert a value to the types of Cozo's binding: UUIDs as strings, validities as lists."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return value


def _plain_rows(rows: Iterable[Iterable[Any]]) -> _Rows:
    return [[_plain(value) for value in row] for row in rows]


def _answer(result: quipu.Result) -> dict[str, Any]:
    return {"headers": result.columns, "rows": _plain_rows(result), "next": None}


def _offset(script: str, error: quipu.InvalidInputError) -> int | None:
    """Return the position of a mistake in bytes from the start of the script."""
    if error.line is None or error.column is None:
        return None
    # Not `splitlines`, which also splits at characters that do not end a line in the language.
    *before, line = script.split("\n")[: error.line]
    return len("".join(f"{one}\n" for one in before).encode()) + len(line[: error.column - 1].encode())


def _failure(error: Exception, script: str) -> Exception:
    """Return the exception that Cozo's binding raises: its argument is a dict with details."""
    text = str(error)
    if not isinstance(error, quipu.Error):
        return Exception(text)
    hints = [line.removeprefix("hint: ") for line in text.splitlines() if line.startswith("hint: ")]
    told: dict[str, Any] = {
        "ok": False,
        "severity": "error",
        "message": text.split("\n", 1)[0],
        "display": text,
        "code": f"quipu::{type(error).__name__}",
        "causes": [],
        "filename": "",
        "labels": [],
        "related": [],
    }
    if hints:
        told["help"] = hints[0]
    if isinstance(error, quipu.InvalidInputError) and (offset := _offset(script, error)) is not None:
        told["labels"] = [{"span": {"offset": offset, "length": 0}}]
    return Exception(told)


def _values(column: Any, of: str) -> list[Any]:
    """Return a frame's column as values.

    Missing values are NaN in columns that have NaN, else null.
    """
    keeps_nan = of in ("Float", "Any")
    there: list[bool] = column.notna().tolist()
    return [
        value if is_there or (keeps_nan and isinstance(value, float)) else None
        for value, is_there in zip(column.tolist(), there, strict=True)
    ]


class CozoDbMulTx:
    """A transaction of several scripts."""

    def __init__(self, transaction: quipu.Transaction, *, write: bool) -> None:
        """Wrap a transaction; :meth:`CozoDbPy.multi_transact` makes it."""
        self._transaction = transaction
        self._write = write

    def run_script(self, script: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run a script in the transaction. A failed script does not end the transaction."""
        try:
            return _answer(self._transaction.run(script, params, read_only=not self._write))
        except (quipu.Error, TypeError) as error:
            raise _failure(error, script) from error

    def commit(self) -> None:
        """Commit all changes atomically."""
        try:
            self._transaction.commit()
        except quipu.Error as error:
            raise _failure(error, "") from error

    def abort(self) -> None:
        """Roll all changes back."""
        self._transaction.rollback()


class CozoDbPy:
    """The class of ``cozo_embedded``."""

    def __init__(self, engine: str, path: str, options: str = "{}") -> None:
        """Open or create a database.

        Args:
            engine: ``"mem"`` for a database in memory; all others for one in the folder ``path``.
            path: The folder.
            options: JSON: ``{"files": "none"}`` lets scripts read no file, ``{"files": "/folder"}``
                only files below it; see :func:`quipu.open`. Other options are ignored.
        """
        if engine not in _ENGINES:
            what = f"database engine '{engine}' not supported"
            raise Exception(what)  # as Cozo does
        try:
            said: Any = json.loads(options or "{}")
        except ValueError as error:
            what = f"the options are no JSON: {error}"
            raise Exception(what) from error
        self._files: str | None = cast("dict[str, Any]", said).get("files") if isinstance(said, dict) else None
        self._path = None if engine == "mem" else path
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._next_id = 0
        self._callbacks: dict[int, tuple[str, _Callback, int]] = {}
        self._rules: dict[str, tuple[int, _Rule]] = {}
        if self._path is not None and Path(self._path).is_file():
            what = f"{self._path} is a file, perhaps Cozo's; a database of Quipu's is a folder"
            raise Exception(f"{what}\nhint: export its relations with Cozo, and import them here")
        try:
            self._database: quipu.Database | None = quipu.open(self._path, files=self._files)
        except quipu.Error as error:
            raise _failure(error, "") from error

    @property
    def _db(self) -> quipu.Database:
        if self._database is None:
            raise Exception(_CLOSED)
        return self._database

    def run_script(
        self, script: str, params: Mapping[str, Any] | None = None, immutable: bool = False
    ) -> dict[str, Any]:
        """Run a script.

        Args:
            script: The script.
            params: Values by name.
            immutable: Whether to refuse a script that would change something.

        Returns:
            ``headers``, ``rows``, and ``next``, which is ``None``.
        """
        try:
            return _answer(self._db.run(script, params, read_only=immutable))
        except (quipu.Error, TypeError) as error:
            raise _failure(error, script) from error

    def export_relations(self, relations: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return all rows of these relations."""
        try:
            found = self._db.export_relations(list(relations))
        except quipu.Error as error:
            raise Exception(str(error)) from error
        return {
            name: {"headers": one["headers"], "rows": _plain_rows(one["rows"]), "next": None}
            for name, one in found.items()
        }

    def import_relations(self, data: Mapping[str, Any]) -> None:
        """Put rows into relations, or delete them if the name begins with ``-``; all or none."""
        try:
            self._db.import_relations(data)
        except (quipu.Error, TypeError) as error:
            raise Exception(str(error)) from error

    def backup(self, path: str) -> None:
        """Write a backup in Quipu's format: a folder, or one file if ``path`` ends in ``.qbak``."""
        try:
            self._db.backup(path)
        except quipu.Error as error:
            raise Exception(str(error)) from error

    def restore(self, path: str) -> None:
        """Restore a backup into this database, which must be empty."""
        if self._db.run("::relations"):
            what = "Cannot restore backup: data exists in the current database."
            raise Exception(what)
        try:
            if self._path is None:
                folder = tempfile.TemporaryDirectory(prefix="quipu-")
                target = str(Path(folder.name) / "restored")
                try:
                    quipu.restore(path, target)
                except BaseException:
                    folder.cleanup()
                    raise
                self._db.close()
                self._temporary = folder
                self._reopen(target)
            else:
                self._db.close()
                try:
                    quipu.restore(path, self._path, replace=True)
                finally:
                    self._reopen(self._path)
        except quipu.Error as error:
            raise Exception(str(error)) from error

    def _reopen(self, folder: str) -> None:
        """Open the restored database and register callbacks and rules again."""
        self._database = quipu.open(folder, files=self._files)
        for name, (arity, rule) in self._rules.items():
            self._register_rule(name, arity, rule)
        for number, (relation, callback, _) in list(self._callbacks.items()):
            self._register(number, relation, callback)

    def import_from_backup(self, path: str, relations: Sequence[str]) -> None:
        """Put the rows of relations in a backup into existing relations of this database."""
        try:
            with tempfile.TemporaryDirectory(prefix="quipu-") as folder:
                source = path
                if not Path(path).is_dir():
                    source = str(Path(folder) / "restored")
                    quipu.restore(path, source)
                with quipu.open(source, read_only=True) as other:
                    data = other.export_relations(list(relations))
                self._db.import_relations(data)
        except quipu.Error as error:
            raise Exception(str(error)) from error

    def multi_transact(self, write: bool = False) -> CozoDbMulTx:
        """Begin a transaction of several scripts."""
        return CozoDbMulTx(self._db.transaction(), write=write)

    def register_callback(self, relation: str, callback: _Callback) -> int:
        """Call a function after each change of a relation.

        It is called as ``callback(op, new_rows, old_rows)``, where ``op`` is ``"Put"`` or ``"Rm"``.
        """
        number = self._next_id
        self._register(number, relation, callback)
        self._next_id += 1
        return number

    def _register(self, number: int, relation: str, callback: _Callback) -> None:
        def told(op: str, new: _Rows, old: _Rows) -> None:
            callback(op, _plain_rows(new), _plain_rows(old))

        self._callbacks[number] = (relation, callback, self._db.register_callback(relation, told))

    def unregister_callback(self, number: int) -> bool:
        """Remove a callback; return whether it existed."""
        found = self._callbacks.pop(number, None)
        return found is not None and self._db.unregister_callback(found[2])

    def register_fixed_rule(self, name: str, arity: int, callback: _Rule) -> None:
        """Register a fixed rule: ``callback(inputs, options)`` returns rows."""
        try:
            self._register_rule(name, arity, callback)
        except quipu.Error as error:
            raise Exception(str(error)) from error
        self._rules[name] = (arity, callback)

    def _register_rule(self, name: str, arity: int, callback: _Rule) -> None:
        def rule(inputs: list[_Rows], options: dict[str, Any]) -> Iterable[Iterable[Any]]:
            plain = {name: _plain(value) for name, value in options.items()}
            return callback([_plain_rows(rows) for rows in inputs], plain)

        self._db.register_fixed_rule(name, arity, rule)

    def unregister_fixed_rule(self, name: str) -> bool:
        """Remove a rule; return whether it existed."""
        self._rules.pop(name, None)
        try:
            return self._db.unregister_fixed_rule(name)
        except quipu.Error as error:
            raise Exception(str(error)) from error

    def close(self) -> bool:
        """Close the database; return whether it was open."""
        if self._database is None:
            return False
        self._database.close()
        self._database = None
        if self._temporary is not None:
            self._temporary.cleanup()
        return True


class QueryException(Exception):
    """The exception of :meth:`Client.run`."""

    def __init__(self, resp: Any) -> None:
        """Store the details of the error."""
        super().__init__(resp)
        self.resp = resp

    def _get(self, key: str) -> Any:
        return cast("dict[str, Any]", self.resp).get(key) if isinstance(self.resp, dict) else None

    def __repr__(self) -> str:
        """Show the mistake with its line."""
        return str(self._get("display") or self)

    def __str__(self) -> str:
        """Return the message in one line."""
        return str(self._get("message") or self.resp)

    @property
    def code(self) -> str | None:
        """The code of the error."""
        return self._get("code")


class MultiTransact:
    """A transaction of several scripts, of a :class:`Client`."""

    def __init__(self, multi_tx: CozoDbMulTx) -> None:
        """Wrap a transaction; :meth:`Client.multi_transact` makes it."""
        self.multi_tx = multi_tx

    def run(self, script: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run a script in the transaction."""
        return self.multi_tx.run_script(script, params)

    def commit(self) -> None:
        """Commit all changes atomically."""
        self.multi_tx.commit()

    def abort(self) -> None:
        """Roll all changes back."""
        self.multi_tx.abort()


class Client:
    """The class of ``pycozo``, for embedded databases."""

    def __init__(
        self, engine: str = "mem", path: str = "", options: Mapping[str, Any] | None = None, *, dataframe: bool = True
    ) -> None:
        """Open or create a database.

        Args:
            engine: As for :class:`CozoDbPy`; there is no ``"http"`` yet.
            path: The folder.
            options: As for :class:`CozoDbPy`, as a dict.
            dataframe: Whether results are pandas frames, if pandas is installed.
        """
        if engine == "http":
            what = "there are no clients of servers yet"
            raise RuntimeError(what)
        self.embedded = CozoDbPy(engine, path, json.dumps(dict(options or {})))
        self.pandas: Any = None
        if dataframe:
            # Without pandas the results are dicts, as in pycozo.
            with contextlib.suppress(ImportError):
                self.pandas = importlib.import_module("pandas")

    def close(self) -> None:
        """Close the database."""
        self.embedded.close()

    def _format(self, answer: dict[str, Any]) -> Any:
        if self.pandas is None:
            return answer
        return self.pandas.DataFrame(columns=answer["headers"], data=answer["rows"])

    def run(self, script: str, params: Mapping[str, Any] | None = None, immutable: bool = False) -> Any:
        """Run a script; return a pandas frame, or the dict of :meth:`CozoDbPy.run_script`.

        Raises:
            QueryException: The script failed.
        """
        try:
            answer = self.embedded.run_script(script, params, immutable)
        except Exception as error:  # noqa: BLE001 - CozoDbPy raises no other, as Cozo does
            raise QueryException(error.args[0] if error.args else str(error)) from (error.__cause__ or error)
        return self._format(answer)

    def query(self, query_str: str) -> Any:
        """Run a query without its head ``?[]``, such as ``"<- [[1, 2]]"``."""
        return self.run(f"?[] {query_str}")

    def create(self, name: str, *args: str, **kwargs: Any) -> Any:
        """Create a relation whose columns are all keys, with values of any type.

        Args:
            name: The relation.
            *args: Its columns, each as in a script: ``"id: Int"``.
            **kwargs: Not used.
        """
        del kwargs
        return self.run(f":create {name} {{{', '.join(args)}}}")

    def remove(self, name: str) -> Any:
        """Remove a relation."""
        return self.run(f"::remove {name}")

    def relations(self, name: str | Iterable[str] | None = None) -> Any:
        """List all relations, or those with these names."""
        if name is None:
            return self.run("::relations")
        wanted = {name} if isinstance(name, str) else set(name)
        answer = self.embedded.run_script("::relations")
        answer["rows"] = [row for row in answer["rows"] if row[0] in wanted]
        return self._format(answer)

    def columns(self, name: str | None = None) -> Any:
        """List the columns of a relation, or those of all relations by name."""
        if name is not None:
            return self.run(f"::columns {name}")
        return {str(row[0]): self.columns(str(row[0])) for row in self.embedded.run_script("::relations")["rows"]}

    def _mutate(self, relation: str, data: Any, op: str) -> Any:
        if not isinstance(data, (dict, list)) and not hasattr(data, "columns"):
            what = "Invalid data type for mutation"
            raise RuntimeError(what)
        try:
            opened = self.embedded._db.relation(relation)  # pyright: ignore[reportPrivateUsage]
            if isinstance(data, dict):
                data = [data]
            elif not isinstance(data, list):
                types = {column.name: column.type.rstrip("?") for column in opened.columns}
                data = {str(name): _values(data[name], types.get(str(name), "")) for name in data.columns}
            getattr(opened, op)(data)
        except (quipu.Error, TypeError) as error:
            raise QueryException(_failure(error, "").args[0]) from error
        return self._format({"headers": ["status"], "rows": [["OK"]], "next": None})

    def put(self, relation: str, data: Any) -> Any:
        """Put one row as a dict, several as a list of dicts, or a pandas frame."""
        return self._mutate(relation, data, "put")

    def insert(self, relation: str, data: Any) -> Any:
        """Put rows whose keys do not exist."""
        return self._mutate(relation, data, "insert")

    def update(self, relation: str, data: Any) -> Any:
        """Change some columns of existing rows."""
        return self._mutate(relation, data, "update")

    def rm(self, relation: str, data: Any) -> Any:
        """Remove rows by their keys."""
        return self._mutate(relation, data, "rm")

    def export_relations(self, relations: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return all rows of these relations; see :meth:`CozoDbPy.export_relations`."""
        return self.embedded.export_relations(relations)

    def import_relations(self, data: Mapping[str, Any]) -> None:
        """Put rows into relations; see :meth:`CozoDbPy.import_relations`."""
        self.embedded.import_relations(data)

    def backup(self, path: str) -> None:
        """Write a backup; see :meth:`CozoDbPy.backup`."""
        self.embedded.backup(path)

    def restore(self, path: str) -> None:
        """Restore a backup into this empty database."""
        self.embedded.restore(path)

    def import_from_backup(self, path: str, relations: Sequence[str]) -> None:
        """Put rows of a backup into existing relations."""
        self.embedded.import_from_backup(path, relations)

    def multi_transact(self, write: bool = False) -> MultiTransact:
        """Begin a transaction of several scripts."""
        return MultiTransact(self.embedded.multi_transact(write))

    def register_callback(self, relation: str, callback: _Callback) -> int:
        """Register a callback for changes of a relation; see :meth:`CozoDbPy.register_callback`."""
        return self.embedded.register_callback(relation, callback)

    def unregister_callback(self, cb_id: int) -> bool:
        """Remove a callback; return whether it existed."""
        return self.embedded.unregister_callback(cb_id)

    def register_fixed_rule(self, name: str, arity: int, impl: _Rule) -> None:
        """Register a fixed rule; see :meth:`CozoDbPy.register_fixed_rule`."""
        self.embedded.register_fixed_rule(name, arity, impl)

    def unregister_fixed_rule(self, name: str) -> bool:
        """Remove a rule; return whether it existed."""
        return self.embedded.unregister_fixed_rule(name)
