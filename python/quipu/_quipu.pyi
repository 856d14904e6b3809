"""The native module of Quipu. Import from :mod:`quipu`; this page says what each call does.

A vertex is an ``int`` in graphs of ``vertex="u64"`` and ``"i64"``, a ``str`` in graphs of ``vertex="str"``. A column of
vertices or weights may be a NumPy array, a list, a pandas, Polars or pyarrow column, or anything that speaks Arrow's
PyCapsule interface; a null in it is an error. What a call hands out is a copy that later writes do not touch.

Any call that touches the database may raise :class:`quipu.CorruptionError` when bytes on disk are not what was written,
and :class:`quipu.Error` when the machine fails a read; the sections *Raises* name what comes on top of that.

A database belongs to the process that opened it, with all that was made from it. In a child that inherited it by
``fork`` every call raises :class:`quipu.ForkedError` before it touches anything; ``close()``, the end of ``with`` and
garbage collection do nothing there. Names, types and paths are still told, and rows that are in memory stay usable
(:class:`Result`, :class:`Table`). ``docs/guides/processes.md`` says how to work with several processes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, SupportsIndex, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

__version__: str

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _ArrowSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

_Path: TypeAlias = str | PathLike[str]
_Vertex: TypeAlias = int | str
_Column: TypeAlias = npt.ArrayLike | _ArrowArray | _ArrowStream
_Vertices: TypeAlias = npt.NDArray[Any]
"""``uint64``, ``int64``, or an object array of ``str``, as the graph's vertices are."""
_Weights: TypeAlias = npt.NDArray[Any]
"""``float64`` or ``int64``, as the graph's weights are; ones of ``float64`` where it has none."""
_Offsets: TypeAlias = npt.NDArray[np.int64]
_Rows: TypeAlias = _ArrowArray | _ArrowStream | Mapping[str, Any] | Iterable[Sequence[Any] | Mapping[str, Any]]
_Progress: TypeAlias = bool | Callable[[dict[str, Any]], object] | None

_BytesProgress: TypeAlias = bool | Callable[[int, int], object] | None

def open(
    path: _Path | None = None,
    *,
    durability: Literal["sync", "os", "none"] = "sync",
    cache: int | str | None = None,
    memory_limit: int | str | None = None,
    threads: int = 0,
    read_only: bool = False,
    create: bool = True,
    table_folders: Sequence[_Path] | None = None,
    direct_io: bool = False,
    files: Literal["none", "any"] | _Path | None = None,
) -> Database:
    """Open the database in the folder ``path``, creating it if the folder is empty or not there.

    Args:
        path: Folder of the database; ``None`` is a new one in memory, gone when it is closed.
        durability: What a commit survives once it has returned. ``"sync"``: a power cut. ``"os"``: a killed process,
            while a power cut may lose the newest commits, whole ones. ``"none"``: nothing until the next flush.
        cache: Memory for cached blocks, filters and indexes: bytes, or a text such as ``"512MB"`` (the default). It is
            a part of ``memory_limit``, at most half of it.
        memory_limit: Memory that the database may use in all: cache, memtables, and what is left for an import, a
            transaction or a query; default ``"1GB"``. An import that needs more spills to disk, a query that needs more
            is a ``LimitError``. Of imports and queries that run at once each has its share. Limits below
            ``"64MB"`` are not held.
        threads: Worker threads, which also help queries that make many rows; 0 is one for each core.
        read_only: Open beside a writer in another process, as of now; :meth:`Database.refresh` moves on.
        create: Whether a database is created where there is none.
        table_folders: Further folders for tables, on other disks perhaps; filled evenly, by bytes. Each
            database makes a folder of its own in them.
        direct_io: Read and write tables around the page cache of the operating system.
        files: Which files of the machine scripts may read by ``CsvReader``, ``JsonReader`` and ``ParquetReader``:
            ``"any"`` (the default) that this process may read, as a program's own scripts need it; ``"none"``, for
            scripts of people who are not to see this machine's files; or the path of a folder: those below it, links
            resolved. Scripts write no files. Calls with a path, such as ``import_csv``, are the program's own.

    Returns:
        The open database. It is closed by :meth:`Database.close`, by ``with``, or with its last reference.

    Raises:
        LockedError: Another process writes this database; the message says which. A parent of this process is another
            one: a database that is inherited by ``fork`` is opened anew.
        InvalidInputError: The folder holds something else, or nothing and ``create`` is false, or an option is wrong.
        CorruptionError: A file failed its checksum. Nothing was changed.
    """

def restore(path: _Path, target: _Path, *, replace: bool = False, progress: _BytesProgress = None) -> RestoreReport:
    """Make a database out of a backup.

    The backup is copied beside the target, every checksum is compared and every row read; only then it takes the
    target's place. Whatever happens, a database at ``target`` is the old one or the new one, whole.

    Args:
        path: Folder or ``.qbak`` file that :meth:`Database.backup` made.
        target: Folder of the database to be made.
        replace: Whether a database that is there is replaced. The new one has its mode and owner.
        progress: ``True`` shows a line on a terminal; a callable is told bytes done and bytes in all: each is copied
            and then read.

    Returns:
        What was restored.

    Raises:
        InvalidInputError: ``path`` is no backup, or did not finish; or something is at ``target``.
        CorruptionError: The backup is damaged; the message names file and offset. Nothing was changed.
        LockedError: The database at ``target`` is open; the message says where.
        KeyboardInterrupt: Ctrl-C stopped it. Nothing was changed.
    """

def repair(path: _Path, target: _Path) -> dict[str, Any]:
    """Write a new database to ``target`` with all that is sound of the one at ``path``, and check it.

    The damaged database is never changed; close it first. Every row that a checksum vouches for is saved, and a damaged
    direction of a graph is rebuilt from the other one.

    Args:
        path: Folder of the damaged database.
        target: A new or an empty folder.

    Returns:
        What was saved and what not: ``complete`` (nothing is lost), ``keyspaces`` with ``rows_kept``, ``rows_lost``,
        ``stale_max`` and ``lost`` key ranges, ``graphs`` by name with ``edges``, ``rebuilt``, ``in_doubt`` and
        ``unnamed`` edges, ``indexes`` made anew, ``blobs`` by name with ``rows`` and ``lost``, ``damages``,
        ``files_skipped``,
        ``commits_kept``, ``log_lost_bytes``, ``manifest_whole``.

    Raises:
        InvalidInputError: There is no database at ``path``, or ``target`` is not empty.
        CorruptionError: The manifest is lost, so that nothing tells what the tables are.
        KeyboardInterrupt: Ctrl-C stopped it; ``target`` is to be removed.
    """

@final
class Database:
    """An open database: a folder, or memory. Threads may share it.

    Used with ``with``, it is closed at the end of the block.
    """

    @property
    def path(self) -> Path | None:
        """Folder of the database; ``None`` in memory."""
    def graph(
        self,
        name: str,
        *,
        weight: Literal["float64", "int64", "float", "int"] | None = None,
        vertex: Literal["u64", "i64", "str"] | None = None,
    ) -> Graph:
        """Open the graph of this name, or create it.

        Args:
            name: A letter or ``_``, then letters, digits, ``_``, ``.`` and ``-``, of any script; at most 255 bytes of
                UTF-8. It is taken as it is written, without normalisation.
            weight: What an edge weighs. ``None``: as in the graph that is there; nothing in a new one, where every edge
                counts as 1.
            vertex: What names a vertex: an unsigned integer, a signed one, or text. ``None``: as in the graph that is
                there; ``"u64"`` in a new one.

        Returns:
            The graph, which sees every commit as it happens.

        Raises:
            InvalidInputError: It is there with other types, the name cannot be one, or the database was opened
                read-only and has no such graph.
        """
    def blobs(self, name: str, *, key: Literal["u64", "i64", "str"] | None = None) -> Blobs:
        """Open the blobs of this name, byte strings by key, or create them.

        Args:
            name: As for graphs; a name belongs to one thing.
            key: What names a blob. ``None``: as in the blobs that are there; ``"u64"`` in new ones.

        Returns:
            The blobs, which see every commit as it happens.

        Raises:
            InvalidInputError: They are there with other keys, the name cannot be one or is taken by something else, or
                the database was opened read-only and has none of this name.
        """
    def counters(
        self,
        name: str,
        *,
        key: Literal["u64", "i64", "str"] | None = None,
        number: Literal["int64", "float64", "int", "float"] | None = None,
        combine: Literal["sum", "min", "max"] | None = None,
    ) -> Counters:
        """Open the counters of this name, numbers by key, or create them.

        Args:
            name: As for graphs; a name belongs to one thing.
            key: What names a counter. ``None``, as for the others: as in the counters that are there; ``"u64"`` in new
                ones.
            number: What a counter holds; ``"int64"`` in new ones.
            combine: Whether a counter is the sum of what it is given, the least or the greatest; ``"sum"`` in new ones.

        Returns:
            The counters. Under durability ``"none"`` what is counted is written within about a second.

        Raises:
            InvalidInputError: They are there with other types, the name cannot be one or is taken by something else, or
                the database was opened read-only and has none of this name.
        """
    def run(
        self,
        script: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        memory_limit: int | str | None = None,
        read_only: bool = False,
        files: Literal["none", "any"] | _Path | None = None,
    ) -> Result:
        """Run a script of the query language, Datalog as CozoScript writes it, in a transaction of its own.

        Graphs, counters, blobs and relations of scripts are asked by name with ``*``. A graph is found from both ends.

        >>> db.run("?[to] := *cites{src: $v, dst: via}, *cites{src: via, dst: to}", {"v": 42})

        Args:
            script: One query, one operation that begins with ``::``, or a script of several in braces.
            params: Values by the names that the script has after ``$``. ``None``, ``bool``, ``int``, ``float``,
                ``str``, ``bytes``, ``list``, ``tuple`` and ``UUID`` are what they are; a ``dict`` is Json; a
                ``datetime`` with a time zone is text as RFC 3339 writes it; NumPy's scalars are plain numbers, its
                arrays lists.
            timeout: Seconds it may take, whatever it says itself; 0 is no limit. ``None``: as its ``:timeout`` says,
                else 300.
            memory_limit: Bytes of memory it may hold, or a text such as ``"64MB"``; never more than the database's
                ``memory_limit`` lets every query hold, which is the default.
            read_only: Whether a script that would change something is refused.
            files: Which files of the machine it may read, as for :func:`open`: of those that the database lets scripts
                read, and never more.

        Returns:
            The rows, sorted unless ``:order`` says otherwise. A script that changes something answers ``OK`` as its
            ``status``.

        Raises:
            InvalidInputError: The script or a value is wrong. The message shows the line with a caret, and may end in a
                hint; ``line`` and ``column`` say where, if it is somewhere in the text.
            CancelledError: It ran into its timeout, or was killed by ``::kill``.
            LimitError: It needs more memory than it may hold.
            ConflictError: Another commit won. Run it again.
            TypeError: A parameter is of a type that no value is.
            KeyboardInterrupt: Ctrl-C stopped it. Whatever is raised, nothing was changed.
        """
    def stream(
        self,
        script: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        memory_limit: int | str | None = None,
        read_only: bool = False,
        files: Literal["none", "any"] | _Path | None = None,
    ) -> ResultStream:
        """Run a script as :meth:`run` does, and take its rows in parts, so that a result may be larger than the memory.

        Where no two rows can be equal and no ``:order`` is asked for, parts come while the query runs, in no order, and
        little more than two of them are held. No two rows are equal where the head of the query's one rule holds all
        keys of what its body reads. Otherwise the whole result is found first.

        >>> for part in db.stream("?[src, dst, year] := *cites{src, dst}, *patents{id: src, year}"):
        ...     print(len(part))
        >>> pyarrow.RecordBatchReader.from_stream(db.stream("?[src, dst] := *cites{src, dst}"))

        Args:
            script: As for :meth:`run`.
            params: As for :meth:`run`.
            timeout: As for :meth:`run`. The time in which no part is taken does not count.
            memory_limit: As for :meth:`run`.
            read_only: As for :meth:`run`.
            files: As for :meth:`run`.

        Returns:
            The rows as of the moment the script began. Close it, or use it in a ``with``, where it is not read to its
            end.

        Raises:
            Exception: As for :meth:`run`, here and while parts are taken.
        """
    def relation(
        self,
        name: str,
        *,
        create: str | _ArrowSchema | _ArrowStream | None = None,
        keys: Sequence[str] | None = None,
    ) -> Relation:
        """Open a relation, or create it.

        >>> db.relation("city", create="{name: String => people: Int, height: Float? default 0}")
        >>> db.relation("town", create=frame, keys=["name"])

        Args:
            name: Its name. Graphs and counters are relations too.
            create: The columns it has, and gets where it is not there: as scripts write them after ``:create``, or an
                Arrow schema or table. ``None``: it must be there.
            keys: With an Arrow schema, the columns that rows are found by.

        Raises:
            InvalidInputError: There is none of this name; or, with ``create``, it has other columns, or the name or the
                columns cannot be.
        """
    def export_relations(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return all rows of some relations as of one moment, in the form that :meth:`import_relations` takes.

        >>> db.export_relations(["city"])
        {'city': {'headers': ['name', 'people'], 'rows': [['Cusco', 428450], ['Lima', 10092000]]}}

        Args:
            names: Names of relations; graphs and counters are relations too.

        Raises:
            InvalidInputError: There is none of a name, or its access level hides it.
        """
    def import_relations(self, data: Mapping[str, _Rows]) -> None:
        """Put rows into relations: all of them, or none.

        A relation's rows are ``{"headers": […], "rows": […]}``, a dict of columns, a list of rows (tuples in the order
        of the relation's columns, or dicts), a :class:`Result`, or anything that speaks Arrow's PyCapsule interface: a
        pyarrow table, a pandas or Polars frame. Columns are found by name. A column that has a default may be missing;
        one that the relation does not have is passed over. Values are coerced to the columns' types. Indexes are kept;
        triggers are not fired.

        >>> db.import_relations({"city": frame, "-visited": {"headers": ["name"], "rows": [["Cusco"]]}})

        Args:
            data: Rows by relation. Those of a name with a leading ``-`` are deleted by their keys, present or not.

        Raises:
            InvalidInputError: No such relation, its access level, a missing column, or a value that its column does not
                take; the message names relation, row and column.
            LimitError: The rows outgrow a transaction's memory, a quarter of ``memory_limit``. From 100,000 on they do
                not, unless there is a callback, an index of value columns, or something to delete.
            ConflictError: Another commit won. Run it again.
            TypeError: A value is of a type that no value is.
            KeyboardInterrupt: Ctrl-C stopped it. Whatever is raised, nothing was changed.
        """
    def register_callback(
        self, relation: str, callback: Callable[[Literal["Put", "Rm"], list[list[Any]], list[list[Any]]], object]
    ) -> int:
        """Have what is changed of a relation told to a function, after each commit that changed it.

        >>> db.register_callback("city", lambda op, new, old: print(op, new, old))

        Scripts, imports and :class:`Relation` are told of, statement after statement and in their order. The function
        is called on the thread that commits, after the commit, so it may run scripts; what it changes itself is told
        when it has returned. The change is committed whatever the function raises: an exception goes to
        ``sys.unraisablehook``, and what is no ``Exception`` (``KeyboardInterrupt``, ``SystemExit``) is raised by the
        call that committed, once all are told. The old rows are read only while somebody is to be told. Calls of
        graphs, blobs and counters tell nobody, so a callback for one is refused, and none is created under a name
        that a callback waits for.

        Args:
            relation: Name of the relation, which need not be there yet.
            callback: Called with ``"Put"`` or ``"Rm"``; the rows that were put, or the keys that were to be removed;
                and the rows that were there before.

        Returns:
            A number for :meth:`unregister_callback`.

        Raises:
            InvalidInputError: The name is that of a graph, of blobs or of counters.
            TypeError: The callback is no function.
        """
    def unregister_callback(self, id: int) -> bool:
        """Forget a function; :meth:`close` forgets all.

        Args:
            id: What :meth:`register_callback` returned.

        Returns:
            Whether there was one of this number.
        """
    def register_fixed_rule(
        self,
        name: str,
        arity: int,
        function: Callable[[list[list[list[Any]]], dict[str, Any]], Iterable[Iterable[Any]]],
    ) -> None:
        """Let scripts apply a function with ``<~``. It is not stored.

        >>> db.register_fixed_rule("Rotate", 2, lambda inputs, options: [(b, a) for a, b in inputs[0]])
        >>> db.run("?[a, b] <~ Rotate(*edge[a, b])")

        The function may ask the database, but not change it: the script that applies it may be changing it. An
        exception fails the script, with the rule's name and place, and is the ``__cause__`` of the error; what is no
        ``Exception`` (``KeyboardInterrupt``, ``SystemExit``) ends the script, whose changes are rolled back, and is
        raised as it is. Of a generator rows are taken until the script is stopped.

        Args:
            name: As scripts write it.
            arity: How many columns it gives.
            function: Called with the rows of each relation that it is given, and with its options; returns its rows.

        Raises:
            InvalidInputError: The name is one that is built in or registered, or that scripts could not write.
            TypeError: The function is none.
        """
    def unregister_fixed_rule(self, name: str) -> bool:
        """Forget a rule; :meth:`close` forgets all.

        Args:
            name: Its name.

        Returns:
            Whether there was one of this name.

        Raises:
            InvalidInputError: It is built in.
        """
    def register_aggregate(
        self,
        name: str,
        init: Callable[..., Any],
        step: Callable[[Any, Any], Any],
        finish: Callable[[Any], Any] | None = None,
        *,
        args: int = 0,
    ) -> None:
        """Let scripts use an aggregate of one's own, which may not stand in recursion. It is not stored.

        >>> db.register_aggregate("total", lambda: 0, lambda total, value: total + value)
        >>> db.run("?[k, total(v)] := *sales[k, v]")

        Args:
            name: As scripts write it.
            init: Called for each group with the arguments after the variable; returns its state.
            step: Called with the state and a value; returns the next state.
            finish: Called with the last state; returns the value. ``None``: the state is the value.
            args: Most arguments after the variable.

        Raises:
            InvalidInputError: The name is one that is built in or registered, or that scripts could not write.
            TypeError: One of the functions is none.
        """
    def unregister_aggregate(self, name: str) -> bool:
        """Forget an aggregate; :meth:`close` forgets all.

        Args:
            name: Its name.

        Returns:
            Whether there was one of this name.

        Raises:
            InvalidInputError: It is built in.
        """
    def drop(self, name: str) -> bool:
        """Drop whatever has this name, at once and durably; return whether it was there.

        Args:
            name: Name of a graph, of blobs, of counters or of a relation.

        Raises:
            InvalidInputError: The name cannot be one, its access level is ``protected`` or above, or the database was
                opened read-only.
        """
    def graphs(self) -> list[str]:
        """Return the names of all graphs, sorted."""
    def drop_graph(self, name: str) -> None:
        """Drop a graph with all its edges, at once and durably.

        Args:
            name: Its name.

        Raises:
            InvalidInputError: There is none of this name, its access level is ``protected`` or above, or the database
                was opened read-only.
        """
    def transaction(self, isolation: Literal["snapshot", "serializable"] = "snapshot") -> Transaction:
        """Begin a transaction, which sees the database as of now and its own writes.

        Args:
            isolation: ``"snapshot"``: of two transactions that write one edge, the first to commit wins.
                ``"serializable"``: a transaction also fails when something that it read has changed.

        Returns:
            The transaction, to be used with ``with``: it commits at the end, and rolls back on an exception.

        Raises:
            InvalidInputError: The isolation is neither.
        """
    def flush(self) -> None:
        """Move what is in memory and in the log into tables; durable when it returns.

        Raises:
            PoisonedError: This or an earlier write failed; close the database and open it again.
        """
    def compact(self) -> None:
        """Merge everything into one sorted run for each direction: smallest, and fastest to read.

        Raises:
            PoisonedError: An earlier write failed; close the database and open it again.
            KeyboardInterrupt: Ctrl-C stopped it. What was merged by then is.
        """
    def refresh(self) -> None:
        """Move a database that was opened read-only on to what the writer has committed since; elsewhere do nothing."""
    def stats(self) -> dict[str, Any]:
        """Return figures of the database and of each graph.

        Returns:
            ``disk_bytes``, ``log_bytes``, ``cache_bytes``, ``commits``, and ``graphs``: for each a dict of ``name``,
            ``edges``, ``vertices``, ``disk_bytes``, ``memory_bytes`` and ``tables``. ``blobs`` and ``counters``: for
            each a dict of ``name``, ``rows``, ``disk_bytes``, ``memory_bytes`` and ``tables``. ``written``: bytes
            written since the opening to the ``log``, and of tables ``flushed``, ``loaded`` in bulk and ``merged``; all
            of them by the two in the middle are the write amplification.
        """
    def check(self) -> dict[str, Any]:
        """Read every file; verify all checksums and orders, and that graphs' directions and indexes agree.

        Returns:
            What was found sound: ``files``, ``blocks``, ``bytes``, ``rows``, ``log_commits``, ``seconds``, and
            ``graphs``: edges by name, ``blobs``: blobs by name, ``indexes``: rows by
            ``relation:index``. ``notes`` are worth knowing and no damage; ``problems`` is empty.

        Raises:
            CorruptionError: After everything was read. Its message and its ``problems``, each with ``file``, ``offset``
                and ``what``, list all that was found, up to a hundred. :func:`quipu.repair` saves what is sound.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
    def backup(self, path: _Path, *, earlier: _Path | None = None, progress: _BytesProgress = None) -> BackupReport:
        """Write everything that is committed now to ``path``. Reads and writes go on meanwhile.

        Args:
            path: A new or empty folder, which is then itself a database, its tables hard links where the file system
                has them; or one compressed file where the name ends in ``.qbak``.
            earlier: Folder of an earlier backup of this database, to share its tables.
            progress: ``True`` shows a line on a terminal; a callable is told bytes done and bytes in all.

        Returns:
            What the backup consists of, and what it cost.

        Raises:
            InvalidInputError: Something is at ``path``, or ``earlier`` is no backup of this database.
            KeyboardInterrupt: Ctrl-C stopped it; what is at ``path`` is no backup.
        """
    def close(self) -> None:
        """Flush, and give the folder free for others. Later calls raise; closing twice does nothing.

        In a child that inherited the database by ``fork`` it does nothing: folder and flush are the parent's.

        Raises:
            PoisonedError: The flush failed. The folder is free all the same.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...

@final
class Transaction:
    """Writes that become visible to others together, or not at all.

    >>> with db.transaction() as tx:
    ...     tx.graph("cites").upsert(1, 2)
    """

    def graph(self, name: str) -> Graph:
        """Return a graph seen through the transaction: its snapshot, and its own writes.

        Args:
            name: The name of a graph that is there; graphs are created outside of transactions.

        Raises:
            InvalidInputError: There is none of this name.
        """
    def blobs(self, name: str) -> Blobs:
        """Return blobs seen through the transaction.

        Args:
            name: The name of blobs that are there.

        Raises:
            InvalidInputError: There are none of this name.
        """
    def counters(self, name: str) -> Counters:
        """Return counters seen through the transaction. To add in two transactions at once is no conflict.

        Args:
            name: The name of counters that are there.

        Raises:
            InvalidInputError: There are none of this name.
        """
    def run(
        self,
        script: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        memory_limit: int | str | None = None,
        read_only: bool = False,
        files: Literal["none", "any"] | _Path | None = None,
    ) -> Result:
        """Run a script inside of the transaction: it sees what was written here, and ends as the transaction does.

        Args:
            script: As for :meth:`Database.run`, but that indexes are made and dropped outside of transactions.
            params: As for :meth:`Database.run`.
            timeout: As for :meth:`Database.run`.
            memory_limit: As for :meth:`Database.run`.
            read_only: As for :meth:`Database.run`.
            files: As for :meth:`Database.run`.

        Returns:
            The rows.

        Raises:
            InvalidInputError: As for :meth:`Database.run`, or the transaction has ended. Here and in the cases below
                nothing of the script is left in the transaction, which goes on. Where another thread wrote in it
                meanwhile, it goes on, too, but does not commit any more: that is a :class:`ConflictError`.
            CancelledError: As for :meth:`Database.run`.
            LimitError: As for :meth:`Database.run`, or the transaction has outgrown its memory.
            TypeError: A parameter is of a type that no value is.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
    def relation(self, name: str) -> Relation:
        """Open a relation, seen through the transaction.

        Args:
            name: Its name: of one that is there, or that a script of the transaction made.

        Raises:
            InvalidInputError: There is none of this name.
        """
    def export_relations(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return all rows of some relations as the transaction sees them; see :meth:`Database.export_relations`.

        Args:
            names: Names of relations.

        Raises:
            InvalidInputError: As for :meth:`Database.export_relations`, or the transaction has ended.
        """
    def import_relations(self, data: Mapping[str, _Rows]) -> None:
        """Put rows into relations inside of the transaction; see :meth:`Database.import_relations`.

        Args:
            data: Rows by relation, as there.

        Raises:
            InvalidInputError: As there, or the transaction has ended. Nothing of the rows is left in the transaction
                then, nor in the cases below.
            LimitError: The transaction has outgrown its memory.
            TypeError: A value is of a type that no value is.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
    def commit(self) -> None:
        """Make all writes visible at once, and end the transaction. The end of a ``with`` block does the same.

        Raises:
            ConflictError: Another commit won. Nothing was written; run the transaction again.
            InvalidInputError: It has ended already.
            PoisonedError: This or an earlier write failed; close the database and open it again.
        """
    def rollback(self) -> None:
        """Forget all writes, and end the transaction; after its end do nothing."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: type[BaseException] | BaseException | TracebackType | None) -> bool: ...

@final
class Blobs:
    """Byte strings by key, in the order of their keys: from nothing to 1 GiB each.

    >>> b = db.blobs("pages")
    >>> b[7] = b"seven"
    >>> b[7]
    b'seven'

    A key is an ``int``, or a ``str`` in blobs of ``key="str"``; a value is ``bytes``, ``bytearray`` or ``memoryview``.

    Any call raises :class:`quipu.InvalidInputError` after the blobs were dropped, their database closed or their
    transaction ended, and where a key is out of range; :class:`TypeError` where a key or a value is of another type.
    Any write raises :class:`quipu.PoisonedError` after a failed write, and :class:`quipu.LimitError` for a value past
    1 GiB. What becomes visible together, in a transaction or by ``put_many``, may take a quarter of the memory limit.

    Once a value of 16 KiB or more was written, ``put``, ``delete`` and ``discard`` look at what they replace, in a
    transaction of their own, and raise :class:`quipu.ConflictError` where other writers keep changing the same key.

    What ``scan``, ``get_many`` and ``sample`` return is in memory at once, however long the values; ``items`` and
    ``range`` go on value by value.
    """

    @property
    def name(self) -> str:
        """Their name."""
    @property
    def key(self) -> Literal["u64", "i64", "str"]:
        """What names a blob."""
    def __getitem__(self, key: _Vertex) -> bytes:
        """Return a key's value; :class:`KeyError` where there is none."""
    def get(self, key: _Vertex, default: Any = None) -> Any:
        """Return a key's value, or ``default`` where there is none.

        Args:
            key: Key.
            default: What is returned where there is none.
        """
    def __contains__(self, key: _Vertex) -> bool: ...
    def contains_many(self, keys: _Column) -> npt.NDArray[np.bool_]:
        """Return whether each key has a value.

        Args:
            keys: Keys.
        """
    def get_many(self, keys: _Column) -> list[bytes | None]:
        """Return the values of keys, ``None`` where there is none.

        Args:
            keys: Keys.
        """
    def get_many_arrow(self, keys: _Column) -> Table:
        """Return the values of keys as a column ``value`` of Arrow, null where there is none.

        Args:
            keys: Keys.
        """
    def __setitem__(self, key: _Vertex, value: bytes | bytearray | memoryview) -> None: ...
    def put(self, key: _Vertex, value: bytes | bytearray | memoryview) -> None:
        """Give a key a value; the same as ``blobs[key] = value``.

        Args:
            key: Key.
            value: Its value, which is copied.
        """
    def put_many(self, keys: _Column, values: Iterable[bytes] | _ArrowArray | _ArrowStream) -> None:
        """Give keys values; all become visible at once. Of a key named twice the last value stays.

        Args:
            keys: Keys.
            values: As many: any iterable of bytes, or a column of binary or text, or a table of one, that speaks Arrow.

        Raises:
            InvalidInputError: The columns differ in length, or a value is null.
            TypeError: A value is not bytes, or a column is neither of binary nor of text.
            LimitError: The values take more than a quarter of the memory limit.
        """
    def load(self, batches: Iterable[tuple[_Column, Iterable[bytes] | _ArrowArray | _ArrowStream]]) -> int:
        """Write many blobs in ascending order of their keys; return how many.

        They go past the log straight into tables, become visible at once and are durable when this returns. For
        megabytes and more: a call costs a few syncs.

        Args:
            batches: Pairs of keys and values, as ``put_many`` takes them; keys ascend, also from batch to batch.

        Raises:
            InvalidInputError: Keys do not ascend, a value has 16 KiB or more or would replace such a one, or this is a
                transaction's. Nothing is written then, nor where the iterable raises.
        """
    def __delitem__(self, key: _Vertex) -> None: ...
    def delete(self, key: _Vertex) -> bool:
        """Delete a key's value; return whether there was one.

        Args:
            key: Key.
        """
    def delete_many(self, keys: _Column) -> npt.NDArray[np.bool_]:
        """Delete the values of keys at once; return whether each was there.

        Args:
            keys: Keys.
        """
    def discard(self, key: _Vertex) -> None:
        """Delete a key's value if there is one.

        Faster than ``delete``: nothing is looked up, as long as no value of 16 KiB or more was written.

        Args:
            key: Key.
        """
    def discard_many(self, keys: _Column) -> None:
        """Delete the values of keys at once, where they have some.

        Args:
            keys: Keys.
        """
    def clear(self) -> None:
        """Delete all values at once.

        One that is being written in pieces is spared: it is there once its writer is closed.
        """
    def scan(self, start: _Vertex | None = None, count: int = 100, *, backward: bool = False) -> Table:
        """Return up to ``count`` blobs in key order, with columns ``key`` and ``value``.

        Args:
            start: The first key, or the one after which the first comes; ``None``: the first there is.
            count: How many.
            backward: From ``start`` down, or from the last.
        """
    def items(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> Iterator[tuple[Any, bytes]]:
        """Return an iterator over pairs of keys and values from ``start`` on and below ``stop``, as of now.

        ``None`` is no bound. The quickest way to look at many values one by one; ``range`` is the one to Arrow.

        Args:
            start: The first key, or the one after which the first comes.
            stop: The key before which it ends.
        """
    def range(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> TableStream:
        """Return a stream of all blobs from ``start`` on and below ``stop``, as of now; ``None`` is no bound.

        A table has some thousand rows, and fewer where their values take more than about 4 MiB; one at least.

        Args:
            start: The first key, or the one after which the first comes; ``None`` is no bound.
            stop: The key before which it ends; ``None`` is no bound.
        """
    def sample(self, count: int, *, seed: int | None = None) -> Table:
        """Return ``count`` blobs drawn uniformly, with replacement; none only where there are none.

        Args:
            count: How many.
            seed: One seed draws the same again while nothing is written. ``None`` draws others each time.
        """
    def measure(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> dict[str, int]:
        """Return about how many ``rows`` a range holds and the ``bytes`` they take, without reading them.

        Values of 16 KiB and more count with their bytes, which are read of some of a long range's rows. Of what was
        written since the last flush the number may be three times too large or too small.

        Args:
            start: The first key, or the one after which the first comes; ``None`` is no bound.
            stop: The key before which it ends; ``None`` is no bound.
        """
    def keys(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> Iterator[Any]:
        """Return an iterator over the keys from ``start`` on and below ``stop``, in their order, as of now.

        No value is read.

        Args:
            start: The first key, or the one after which the first comes; ``None`` is no bound.
            stop: The key before which it ends; ``None`` is no bound.
        """
    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys in their order, as of now; no value is read."""
    def __len__(self) -> int:
        """Exact number of blobs."""
    def __bool__(self) -> bool:
        """True, also where there are none: to count them takes time."""
    def reader(self, key: _Vertex) -> BlobReader:
        """Open a value to read it in pieces; :class:`KeyError` where there is none.

        Args:
            key: Key.
        """
    def writer(self, key: _Vertex) -> BlobWriter:
        """Begin to write a value in pieces, to be used with ``with``: it is there after the end of the block.

        Args:
            key: Key.
        """

@final
class BlobReader:
    """A value read in pieces, as of the moment it was opened; a part of the methods of a binary file."""

    def read(self, size: int = -1) -> bytes:
        """Return the next ``size`` bytes, fewer at the end; all that is left for -1.

        Args:
            size: How many; -1 for all.
        """
    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place: from the begin (0), from here (1), from the end (2); return it.

        Args:
            offset: How far.
            whence: From where.
        """
    def tell(self) -> int:
        """Return the present place."""
    def __len__(self) -> int:
        """Bytes of the value."""
    def close(self) -> None:
        """Give the moment free that the value is read at."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: type[BaseException] | BaseException | TracebackType | None) -> None: ...

@final
class BlobWriter:
    """A value written in pieces; a part of the methods of a binary file."""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes; return how many.

        Raises:
            LimitError: The value grows past 1 GiB.

        Args:
            data: What is appended.
        """
    def close(self) -> None:
        """Make the value visible, in place of what the key had. The end of a ``with`` block does the same."""
    def abort(self) -> None:
        """Forget what was written; the key stays as it was. An exception in a ``with`` block does the same."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: type[BaseException] | BaseException | TracebackType | None) -> bool: ...

@final
class Counters:
    """Numbers by key that grow without being read.

    >>> c = db.counters("bigrams")
    >>> c.add(7)
    >>> c.add(7, 3)
    >>> c[7]
    4

    Only the number at the moment of reading is judged: a sum of integers may leave the range of ``int64`` and come
    back. While it is past it, reading that counter alone raises :class:`quipu.LimitError`; in arrays it is the end of
    the range, ``2**63 - 1`` or ``-2**63``, which is no number of a counter. One call or transaction that adds more than
    ``int64`` to a key raises :class:`quipu.LimitError` and adds nothing. Sums of floats depend on the order of
    additions in their last digits. Any call raises
    :class:`quipu.InvalidInputError` after the counters were dropped, their database closed or their transaction ended,
    and where a key is out of range; :class:`TypeError` where a key or a number is of another type. Any write raises
    :class:`quipu.PoisonedError` after a failed write.
    """

    @property
    def name(self) -> str:
        """Their name."""
    @property
    def key(self) -> Literal["u64", "i64", "str"]:
        """What names a counter."""
    @property
    def number_type(self) -> Literal["int64", "float64"]:
        """What a counter holds."""
    @property
    def combine(self) -> Literal["sum", "min", "max"]:
        """What becomes of the numbers that a counter is given."""
    def add(self, key: _Vertex, number: float | None = None) -> None:
        """Add to a counter (or take the least or greatest).

        Args:
            key: Its key.
            number: What is added; ``None`` is 1.
        """
    def add_many(self, keys: _Column, numbers: _Column | None = None) -> None:
        """Add ``numbers[i]``, or 1, to the counter of ``keys[i]``. A key may be named more than once.

        Args:
            keys: Keys.
            numbers: As many numbers; ``None``: 1 each.

        Raises:
            InvalidInputError: The columns differ in length, or floats were given to counters of integers.
        """
    def __getitem__(self, key: _Vertex) -> float:
        """Return a counter's number; 0 where nothing was counted."""
    def get(self, key: _Vertex, default: Any = None) -> Any:
        """Return a counter's number, or ``default`` where nothing was counted.

        Args:
            key: Key.
            default: What is returned where there is none.
        """
    def get_many(self, keys: _Column) -> npt.NDArray[Any]:
        """Return the numbers of counters; 0 where nothing was counted.

        Args:
            keys: Keys.
        """
    def __contains__(self, key: _Vertex) -> bool: ...
    def __setitem__(self, key: _Vertex, number: float) -> None: ...
    def set(self, key: _Vertex, number: float) -> None:
        """Give a counter a number, whatever it had; the same as ``counters[key] = number``.

        Args:
            key: Key.
            number: The number.
        """
    def __delitem__(self, key: _Vertex) -> None: ...
    def remove(self, key: _Vertex) -> bool:
        """Forget a counter; return whether it was there.

        Args:
            key: Key.
        """
    def reset(self) -> None:
        """Forget all counters at once."""
    def flush(self) -> None:
        """Put what waits beside the database, under durability ``"none"``, into it, as happens once a second by itself.

        That durability has no log: what a killed process shall not lose needs :meth:`Database.flush`.
        """
    def top(self, count: int = 10) -> Table:
        """Return the greatest counters, the greatest first; of equal ones that with the smaller key.

        Args:
            count: How many.

        Returns:
            Columns ``key`` and ``count``.
        """
    def scan(self, start: _Vertex | None = None, count: int = 100, *, backward: bool = False) -> Table:
        """Return up to ``count`` counters in key order, with columns ``key`` and ``count``.

        Args:
            start: The first key, or the one after which the first comes; ``None``: the first there is.
            count: How many.
            backward: From ``start`` down, or from the last.
        """
    def range(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> TableStream:
        """Return a stream of all counters from ``start`` on and below ``stop``, as of now; ``None`` is no bound.

        Args:
            start: The first key, or the one after which the first comes; ``None`` is no bound.
            stop: The key before which it ends; ``None`` is no bound.
        """
    def keys(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> Iterator[Any]:
        """Return an iterator over the keys from ``start`` on and below ``stop``, in their order, as of now.

        Args:
            start: The first key, or the one after which the first comes; ``None`` is no bound.
            stop: The key before which it ends; ``None`` is no bound.
        """
    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys in their order, as of now."""
    def __len__(self) -> int:
        """Exact number of counters."""
    def __bool__(self) -> bool:
        """True, also where there are none: to count them takes time."""

@final
class TableStream:
    """Tables one after another, as of the moment the stream began; or, once, a stream of Arrow.

    ``rows``, ``to_arrow``, ``to_pandas`` and ``to_polars`` take all that is left, too: what is asked of the stream
    after one of them raises :class:`quipu.InvalidInputError`, and a loop over it has no tables left.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> Table: ...
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left as tuples of plain Python values."""
    def to_arrow(self) -> Any:
        """Return what is left as a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed.
        """
    def to_pandas(self) -> Any:
        """Return what is left as a ``pandas.DataFrame``.

        Raises:
            ImportError: pandas is not installed.
        """
    def to_polars(self) -> Any:
        """Return what is left as a ``polars.DataFrame``.

        Raises:
            ImportError: Polars is not installed.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Graph:
    """A directed graph with at most one edge from one vertex to another, found from both ends.

    Vertices need no creating: a vertex is there while an edge has it. To read one that is not there is no error.
    The ``_many`` calls answer for a whole column in one go, and release the interpreter lock. Where they return
    offsets, the answer for ``vs[i]`` is ``column[offsets[i] : offsets[i + 1]]``.

    Any call raises :class:`quipu.InvalidInputError` after the graph was dropped, its database closed or its transaction
    ended, and where a vertex is out of the range of the graph's vertices; :class:`TypeError` where it is of another
    type. Any write raises :class:`quipu.PoisonedError` after a failed write, and :class:`quipu.InvalidInputError` where
    the database was opened read-only.
    """

    @property
    def name(self) -> str:
        """Name of the graph."""
    @property
    def vertex(self) -> Literal["u64", "i64", "str"]:
        """What names a vertex."""
    @property
    def weight(self) -> Literal["float64", "int64"] | None:
        """What an edge weighs; ``None`` where edges have no weights."""
    def edge(self, u: _Vertex, v: _Vertex) -> float | None:
        """Return the weight of the edge from ``u`` to ``v``, or ``None`` where there is no such edge.

        Args:
            u: Source.
            v: Target.

        Returns:
            A ``float``, an ``int`` in a graph of ``weight="int64"``, and 1.0 in a graph without weights.
        """
    def has_edge(self, u: _Vertex, v: _Vertex) -> bool:
        """Return whether there is an edge from ``u`` to ``v``.

        Args:
            u: Source.
            v: Target.
        """
    def edge_many(self, us: _Column, vs: _Column) -> tuple[npt.NDArray[np.bool_], _Weights]:
        """Look up the edges from ``us[i]`` to ``vs[i]``.

        Args:
            us: Sources.
            vs: Targets, as many.

        Returns:
            Whether each is there, and its weight: NaN, or 0 for integers, where it is not.

        Raises:
            InvalidInputError: The columns differ in length.
        """
    def has_edge_many(self, us: _Column, vs: _Column) -> npt.NDArray[np.bool_]:
        """Return whether there are edges from ``us[i]`` to ``vs[i]``.

        Args:
            us: Sources.
            vs: Targets, as many.

        Raises:
            InvalidInputError: The columns differ in length.
        """
    def out_edges(self, v: _Vertex) -> tuple[_Vertices, _Vertices, _Weights]:
        """Return the edges that leave ``v``, ascending by target.

        Args:
            v: The vertex.

        Returns:
            Sources (all ``v``), targets and weights.
        """
    def in_edges(self, v: _Vertex) -> tuple[_Vertices, _Vertices, _Weights]:
        """Return the edges that arrive at ``v``, ascending by source.

        Args:
            v: The vertex.

        Returns:
            Sources, targets (all ``v``) and weights.
        """
    def edges(self, v: _Vertex) -> tuple[_Vertices, _Vertices, _Weights]:
        """Return the edges that ``v`` is an end of: those that leave, then those that arrive; a self-loop once.

        Args:
            v: The vertex.

        Returns:
            Sources, targets and weights.
        """
    def out_edges_many(self, vs: _Column) -> tuple[_Offsets, _Vertices, _Vertices, _Weights]:
        """Return the edges that leave each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Offsets, sources, targets and weights.
        """
    def in_edges_many(self, vs: _Column) -> tuple[_Offsets, _Vertices, _Vertices, _Weights]:
        """Return the edges that arrive at each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Offsets, sources, targets and weights.
        """
    def edges_many(self, vs: _Column) -> tuple[_Offsets, _Vertices, _Vertices, _Weights]:
        """Return the edges that each of ``vs`` is an end of, as :meth:`edges` gives them.

        Args:
            vs: Vertices.

        Returns:
            Offsets, sources, targets and weights.
        """
    def successors(self, v: _Vertex) -> _Vertices:
        """Return where the edges of ``v`` lead to, ascending.

        Args:
            v: The vertex; it is among its own successors where it has a self-loop.
        """
    def predecessors(self, v: _Vertex) -> _Vertices:
        """Return where the edges to ``v`` come from, ascending.

        Args:
            v: The vertex; it is among its own predecessors where it has a self-loop.
        """
    def neighbors(self, v: _Vertex) -> _Vertices:
        """Return the vertices that an edge joins with ``v``, either way, ascending and each once.

        Args:
            v: The vertex; it is never its own neighbour.
        """
    def successors_many(self, vs: _Column) -> tuple[_Offsets, _Vertices]:
        """Return the successors of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Offsets and vertices.
        """
    def predecessors_many(self, vs: _Column) -> tuple[_Offsets, _Vertices]:
        """Return the predecessors of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Offsets and vertices.
        """
    def neighbors_many(self, vs: _Column) -> tuple[_Offsets, _Vertices]:
        """Return the neighbours of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Offsets and vertices.
        """
    def degree(self, v: _Vertex) -> tuple[int, float]:
        """Return how many edges ``v`` is an end of, and the sum of their weights; a self-loop counts once.

        Args:
            v: The vertex.
        """
    def out_degree(self, v: _Vertex) -> tuple[int, float]:
        """Return how many edges leave ``v``, and the sum of their weights.

        Args:
            v: The vertex.
        """
    def in_degree(self, v: _Vertex) -> tuple[int, float]:
        """Return how many edges arrive at ``v``, and the sum of their weights.

        Args:
            v: The vertex.
        """
    def degree_many(self, vs: _Column) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
        """Return :meth:`degree` of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Counts and sums.
        """
    def out_degree_many(self, vs: _Column) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
        """Return :meth:`out_degree` of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Counts and sums.
        """
    def in_degree_many(self, vs: _Column) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
        """Return :meth:`in_degree` of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Counts and sums.
        """
    def upsert(self, u: _Vertex, v: _Vertex, w: float | None = None) -> None:
        """Insert the edge from ``u`` to ``v``, or give it a new weight.

        Args:
            u: Source.
            v: Target.
            w: Weight; ``None`` weighs 1.

        Raises:
            InvalidInputError: A weight was given, and the graph has none.
            TypeError: The weight is not of the graph's type.
        """
    def upsert_many(self, us: _Column, vs: _Column, ws: _Column | None = None) -> None:
        """Insert the edges from ``us[i]`` to ``vs[i]``, or give them new weights; all become visible at once.

        Args:
            us: Sources.
            vs: Targets, as many.
            ws: Weights, as many; without them each edge weighs 1. Where a pair comes twice, the last weight wins.

        Raises:
            InvalidInputError: The columns differ in length, or weights were given and the graph has none.
        """
    def remove(self, u: _Vertex, v: _Vertex) -> bool:
        """Remove the edge from ``u`` to ``v``, and return whether it was there.

        Args:
            u: Source.
            v: Target.
        """
    def remove_many(self, us: _Column, vs: _Column) -> npt.NDArray[np.bool_]:
        """Remove the edges from ``us[i]`` to ``vs[i]``, all at once.

        Args:
            us: Sources.
            vs: Targets, as many.

        Returns:
            Whether each was there; false for a pair that comes again.

        Raises:
            InvalidInputError: The columns differ in length.
        """
    def remove_vertex(self, v: _Vertex) -> int:
        """Remove every edge that ``v`` is an end of, and return how many there were.

        Args:
            v: The vertex.

        Raises:
            ConflictError: Other writers kept changing the same edges.
        """
    def clear(self) -> None:
        """Remove every edge, at once."""
    def number_of_edges(self) -> int:
        """Return how many edges there are."""
    def number_of_vertices(self) -> int:
        """Return how many vertices are an end of an edge. Reads the ends of all edges."""
    def has_vertex(self, v: _Vertex) -> bool:
        """Return whether ``v`` is an end of an edge.

        Args:
            v: The vertex.
        """
    def vertices(self) -> _Vertices:
        """Return all vertices that are an end of an edge; integers ascending, texts in the order of their ids."""
    def to_table(self) -> Table:
        """Return all edges, ascending by source and target, as of now."""
    def import_csv(
        self,
        path: _Path,
        *,
        columns: Sequence[int | str] | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        on_error: Literal["fail", "skip"] = "fail",
        progress: _Progress = None,
    ) -> ImportReport:
        """Import a text of edges: commas, tabs, other delimiters or white space; plain, gzip or Zstandard.

        Edges that are there already get the new weights. The import becomes visible at once and is durable when it
        returns, whatever the durability of commits.

        Args:
            path: The file.
            columns: Source, target and perhaps weight: names in the header, or positions from 0. ``None``: by
                well-known names, else the first two or three in this order.
            delimiter: One character; a space stands for any white space. ``None``: found out.
            header: Whether the first record names the columns. ``None``: found out.
            on_error: What a bad line does: end the import, or be left out and reported.
            progress: True draws a line on the terminal. A callable is called some times a second with a dict of
                ``phase``, ``rows``, ``bytes_read``, ``bytes_total`` (or ``None``), ``fraction`` and ``seconds``; what
                it raises ends the import.

        Returns:
            What was read and written.

        Raises:
            InvalidInputError: The text is wrong; ``line`` and ``column`` say where. Nothing was imported.
            LimitError: The memory limit is too small and there is no disk to spill to. Nothing was imported.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def import_parquet(self, path: _Path, *, progress: _Progress = None) -> ImportReport:
        """Import a Parquet file with two or three columns, or some that are named as edges' are.

        Args:
            path: The file.
            progress: As in :meth:`import_csv`.

        Returns:
            What was read and written.

        Raises:
            InvalidInputError: Columns are missing or of other types. Nothing was imported.
            LimitError: As in :meth:`import_csv`.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def import_arrow(self, table: _ArrowStream | _ArrowArray, *, progress: _Progress = None) -> ImportReport:
        """Import a table or stream that speaks Arrow: pyarrow, Polars, pandas, DuckDB and others.

        Args:
            table: Two or three columns, or some that are named as edges' are.
            progress: As in :meth:`import_csv`.

        Returns:
            What was read and written.

        Raises:
            InvalidInputError: It does not speak Arrow, or columns are missing or of other types. Nothing was imported.
            LimitError: As in :meth:`import_csv`.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def import_arrays(
        self, us: _Column, vs: _Column, ws: _Column | None = None, *, progress: _Progress = None
    ) -> ImportReport:
        """Import columns in memory: the fast way for very many edges. :meth:`upsert_many` is for some thousand.

        Args:
            us: Sources.
            vs: Targets, as many.
            ws: Weights, as many; without them each edge weighs 1.
            progress: As in :meth:`import_csv`.

        Returns:
            What was read and written.

        Raises:
            InvalidInputError: The columns differ in length, or weights were given and the graph has none.
            LimitError: As in :meth:`import_csv`.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def export_parquet(self, path: _Path) -> int:
        """Write all edges to a Parquet file, as of now, and return how many.

        Args:
            path: The file. One that is there is replaced once all is written, and keeps its mode and owner; links are
                followed; a named pipe or a device is written into.

        Raises:
            InvalidInputError: ``path`` is a folder, or lies in the folder of a database or a backup.
        """
    def export_csv(self, path: _Path) -> int:
        """Write all edges to a CSV file with a header, as of now, and return how many.

        Args:
            path: The file. One that is there is replaced once all is written, and keeps its mode and owner; links are
                followed; a named pipe or a device is written into.

        Raises:
            InvalidInputError: ``path`` is a folder, or lies in the folder of a database or a backup.
        """
    def __len__(self) -> int:
        """Return how many edges there are."""
    def __contains__(self, v: _Vertex, /) -> bool:
        """Return whether ``v`` is an end of an edge."""
    def _repr_html_(self) -> str: ...

@final
class Table:
    """Rows with named columns, as of the moment they were read.

    Speaks Arrow's PyCapsule interface, so that pyarrow, Polars, pandas, DuckDB and others take it as it is.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns: of edges ``src``, ``dst``, and ``weight`` where the graph has weights."""
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of plain Python values."""
    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed.
        """
    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``.

        Raises:
            ImportError: pandas is not installed.
        """
    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``.

        Raises:
            ImportError: Polars is not installed.
        """
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class Column:
    """A column of a relation."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def type(self) -> str:
        """What it holds, as scripts write it: ``Int``, ``String?``, ``[Float; 3]``."""
    @property
    def is_key(self) -> bool:
        """Whether rows are found by it."""
    @property
    def default(self) -> str | None:
        """The expression that gives its value where a row says nothing."""

@final
class Relation:
    """A relation by its name: its columns, its rows as Arrow, and changes of it by whole tables of rows.

    >>> city = db.relation("city", create="{name: String => people: Int}")
    >>> city.put({"name": ["Lima", "Cusco"], "people": [10092000, 428450]})
    >>> city.to_polars()

    Rows to write are anything that speaks Arrow's PyCapsule interface (a pyarrow table, a pandas or Polars frame), a
    dict of columns, a list of rows (tuples in the order of the columns, or dicts) or a :class:`Result`. Columns are
    found by name; one that has a default may be missing. Each change is all or nothing, in a transaction of its own
    unless the relation is a transaction's. Indexes are kept, triggers are fired.

    Any call raises :class:`quipu.InvalidInputError` when the relation is gone, its access level forbids the call, its
    database is closed or its transaction has ended. Any change does so for a column that is missing or that the
    relation does not have, and for a value that its column does not take, named with relation, row and column; it
    raises :class:`quipu.LimitError` where the rows outgrow a transaction's memory, :class:`quipu.ConflictError` where
    another commit won, :class:`TypeError` where a value is of a type that no value is, :class:`KeyboardInterrupt` on
    Ctrl-C.
    """

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def columns(self) -> list[Column]:
        """Its columns when it was opened, keys first."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def rows(self) -> list[tuple[Any, ...]]:
        """Return all rows in the order of their keys; the values are as in :meth:`Result.rows`."""
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def put(self, data: _Rows) -> None:
        """Put rows, whatever their keys held before.

        Args:
            data: The rows.
        """
    def insert(self, data: _Rows) -> None:
        """Put rows whose keys are not there.

        Args:
            data: The rows.

        Raises:
            InvalidInputError: A key is there already.
        """
    def update(self, data: _Rows) -> None:
        """Put some value columns of rows that are there; the other columns stay as they are.

        Args:
            data: The key columns, and the value columns that change.

        Raises:
            InvalidInputError: A key is not there.
        """
    def rm(self, data: _Rows) -> None:
        """Remove rows by their keys, whether they are there or not.

        Args:
            data: The key columns; value columns are passed over.
        """
    def delete(self, data: _Rows) -> None:
        """Remove rows that are there by their keys.

        Args:
            data: The key columns; value columns are passed over.

        Raises:
            InvalidInputError: A key is not there.
        """
    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``.

        ``Int`` is int64, ``Float`` float64, ``Bool`` bool, ``String`` string, ``Bytes`` binary, a vector a fixed-size
        list, a list of booleans, numbers or texts a list, ``Json`` Arrow's extension type ``arrow.json`` (text, which
        Polars has under ``.ext.storage()``), anything else text as the language writes it. A column of ``Any`` is what
        its values are, as in :meth:`Result.to_arrow`.

        Raises:
            ImportError: pyarrow is not installed.
        """
    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``: through pyarrow where it is there, else row by row.

        Raises:
            ImportError: pandas is not installed.
        """
    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``.

        Raises:
            ImportError: polars is not installed.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Result:
    """Rows with named columns that a script answered, as of the moment it ran; it behaves as a sequence of tuples.

    Rows hold plain Python values: ``None``, ``bool``, ``int``, ``float``, ``str``, ``bytes``, ``list`` (vectors too),
    ``UUID``, what :func:`json.loads` makes of Json, and ``(microseconds, asserted)`` for a Validity.

    Speaks Arrow's PyCapsule interface, so that pyarrow, Polars, pandas, DuckDB and others take it as it is. There a
    column of integers is ``int64`` (``uint64`` with some past 2**63), of floats, or of integers and floats,
    ``float64``, of booleans ``bool``, of texts ``utf8``, of bytes ``binary``, of vectors of one length a
    ``fixed_size_list`` of floats, of lists a ``list`` where all items are booleans, numbers, texts, bytes or lists,
    of Json the extension type ``arrow.json``, of Validity a ``struct`` of ``microseconds`` and ``asserted``; each may
    hold nulls, and a column of nothing else is ``null``. What is so is taken back by ``put``. Any other column, and
    one of several types, is ``utf8`` with each value as a script would write it.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of plain Python values."""
    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed.
        """
    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``.

        Raises:
            ImportError: pandas is not installed.
        """
    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``.

        Raises:
            ImportError: Polars is not installed.
        """
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def __reversed__(self) -> Iterator[tuple[Any, ...]]: ...
    def index(self, value: Any, start: int = 0, stop: int = ...) -> int:
        """Return the number of the first row that is equal.

        Args:
            value: A tuple.
            start: The first row looked at.
            stop: The first row that is not.

        Raises:
            ValueError: There is none.
        """
    def count(self, value: Any) -> int:
        """Return how many rows are equal.

        Args:
            value: A tuple.
        """
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[tuple[Any, ...]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class ResultStream:
    """Parts of what a script answers, as of the moment it began: one result after another, or, once, a stream of Arrow.

    The columns of all parts have the same types in Arrow: those of the stored columns that they are taken of, and else
    those that the values of the first part show. Where a later part holds something else,
    :class:`InvalidInputError` is raised; ``to_int``, ``to_float``, ``to_string`` and ``to_bool`` in the script say what
    a column is.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def close(self) -> None:
        """Stop the script. There are no further parts.

        Any thread may call it; one that waits for a part meanwhile gets a :class:`CancelledError`.
        """
    def __iter__(self) -> Self: ...
    def __next__(self) -> Result: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class ImportReport:
    """What an import did."""

    @property
    def edges(self) -> int:
        """Distinct edges written."""
    @property
    def rows(self) -> int:
        """Rows read, without skipped ones."""
    @property
    def duplicates(self) -> int:
        """Rows whose pair came again later, and edges that were there already."""
    @property
    def skipped(self) -> int:
        """Bad rows left out, with ``on_error="skip"``."""
    @property
    def skipped_lines(self) -> list[str]:
        """The first ten of them: where they are and what is wrong with them."""
    @property
    def seconds(self) -> float:
        """How long it took."""
    @property
    def bytes_read(self) -> int:
        """Bytes of input; of a compressed file its compressed bytes."""
    @property
    def bytes_written(self) -> int:
        """Bytes written: finished tables, and what was spilled."""

@final
class BackupReport:
    """What a backup consists of, and what it cost."""

    @property
    def files(self) -> int:
        """Files in it, without the list."""
    @property
    def linked(self) -> int:
        """Tables that are hard links to the database's."""
    @property
    def copied(self) -> int:
        """Tables whose bytes were copied."""
    @property
    def reused(self) -> int:
        """Tables that are hard links to an earlier backup's."""
    @property
    def bytes_written(self) -> int:
        """Bytes written for it."""
    @property
    def bytes_total(self) -> int:
        """Bytes of all its files, unpacked."""
    @property
    def sequence(self) -> int:
        """Number of the newest commit in it."""
    @property
    def seconds(self) -> float:
        """How long it took."""

@final
class RestoreReport:
    """What was restored."""

    @property
    def files(self) -> int:
        """Files of the database."""
    @property
    def bytes(self) -> int:
        """Bytes of these files."""
    @property
    def rows(self) -> int:
        """Row versions that were read and found in order; an edge is one in each direction."""
    @property
    def sequence(self) -> int:
        """Number of the newest commit in it."""
    @property
    def moment(self) -> float:
        """When the backup was taken, in seconds since 1970, as of :func:`time.time`."""
    @property
    def seconds(self) -> float:
        """How long it took."""
