"""The native module of Quipu. Import from :mod:`quipu`; this file documents each call.

A vertex is an ``int`` in graphs of ``vertex="u64"`` and ``"i64"``, and a ``str`` in graphs of
``vertex="str"``. A column of vertices or weights may be a NumPy array, a list, a pandas, Polars or
pyarrow column, or any object with Arrow's PyCapsule interface; nulls are an error. Returned objects
are copies that later writes do not change.

Any call that reads the database may raise :class:`quipu.CorruptionError` if bytes on disk are not
those that were written, and :class:`quipu.Error` if the operating system fails a read. The sections
*Raises* list further exceptions.

A database and all objects made from it belong to the process that opened it. In a child that
inherited it by ``fork`` every call raises :class:`quipu.ForkedError` and changes nothing;
``close()``, the end of ``with`` and garbage collection do nothing there. Names, types and paths can
still be read, and rows that are in memory stay usable (:class:`Result`, :class:`Table`).
``docs/guides/processes.md`` describes how to work with several processes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, SupportsIndex, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

from ._sampling import Sample

__version__: str

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _ArrowSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class _Readable(Protocol):
    def read(self, size: int, /) -> bytes | str: ...

class _Lazy(Protocol):
    def collect(self) -> Any: ...

_Path: TypeAlias = str | PathLike[str]
_Vertex: TypeAlias = int | str
_Column: TypeAlias = npt.ArrayLike | _ArrowArray | _ArrowStream
_Vertices: TypeAlias = npt.NDArray[Any]
"""``uint64``, ``int64``, or an object array of ``str``, by the type of the graph's vertices."""
_Weights: TypeAlias = npt.NDArray[Any]
"""``float64`` or ``int64``, by the type of the graph's weights; ``float64`` ones if it has none."""
_Offsets: TypeAlias = npt.NDArray[np.int64]
_Rows: TypeAlias = _ArrowArray | _ArrowStream | Mapping[str, Any] | Iterable[Sequence[Any] | Mapping[str, Any]] | _Lazy
_File: TypeAlias = str | PathLike[str] | _Readable
_Files: TypeAlias = _File | Sequence[_File]
_Edges: TypeAlias = _ArrowArray | _ArrowStream | Mapping[str, Any] | Iterable[Any] | _Lazy
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
    on_slow_query: float | tuple[float, Callable[[str, float], object]] | None = None,
) -> Database:
    """Open the database in the folder ``path``, and create it if the folder is empty or missing.

    Args:
        path: Folder of the database. ``None`` or ``":memory:"``: a new in-memory database, lost when
            it is closed.
            Or the address of another engine, in builds with its feature: ``"sqlite:///data/a.db"``,
            ``"postgres://user@host/database"``, ``"tikv://pd1:2379,pd2:2379/name"``.
        durability: Which failures a commit survives after it has returned. ``"sync"``: a power cut.
            ``"os"``: a killed process; a power cut may lose the newest commits, each as a whole.
            ``"none"``: neither, before the next flush.
        cache: Memory for cached blocks, filters and indexes: bytes, or a string such as ``"512MB"``
            (the default). It is part of ``memory_limit``, and at most half of it.
        memory_limit: Memory for the whole database: cache, memtables, and the rest for imports,
            transactions and queries; default ``"1GB"``. An import that needs more spills to disk; a
            query that needs more raises ``LimitError``. Concurrent imports and queries each get a
            share. Limits below ``"64MB"`` are not enforced.
        threads: Worker threads, which also run parts of large queries; 0 is one per core.
        read_only: Open a snapshot for reading while another process may write;
            :meth:`Database.refresh` moves it to the newest commit.
        create: Whether to create a database if there is none.
        table_folders: Further folders for tables, for example on other disks. They are filled
            evenly by bytes. Each database creates its own folder in them.
        direct_io: Read and write tables without the page cache of the operating system.
        files: Which files scripts may read with ``CsvReader``, ``JsonReader`` and
            ``ParquetReader``. ``"any"`` (the default): all that this process may read. ``"none"``:
            no files, for untrusted scripts. The path of a folder: files below it, after links are
            resolved. Scripts never write files. Calls with a path, such as ``import_csv``, are not
            restricted.
        on_slow_query: Seconds from which on a script is logged as a warning to the logger
            ``quipu`` of :mod:`logging`. Or a pair of seconds and a callable, which gets the script
            and its seconds after it has ended; its exceptions go to ``sys.unraisablehook``. The
            time of a stream includes the time of its reader. Default: nothing is logged.

    Returns:
        The open database. :meth:`Database.close`, the end of ``with`` or its last reference closes
        it.

    Raises:
        LockedError: Another process writes this database; the message says which. The parent of
            this process counts as another: a database inherited by ``fork`` must be opened anew.
        InvalidInputError: The folder contains something else, or nothing and ``create`` is false,
            or an option is wrong.
        CorruptionError: The checksum of a file does not match. Nothing was changed.
    """

def restore(path: _Path, target: _Path, *, replace: bool = False, progress: _BytesProgress = None) -> RestoreReport:
    """Create a database from a backup.

    The backup is copied beside the target, every checksum is verified and every row read. Only then
    does it replace the target. After any failure the database at ``target`` is the old one or the
    new one, complete.

    Args:
        path: Folder or ``.qbak`` file that :meth:`Database.backup` wrote.
        target: Folder of the new database.
        replace: Whether to replace an existing database. The new one gets its mode and owner.
        progress: ``True`` shows a line on a terminal; a callable gets the bytes done and the total.
            Each byte counts twice, when it is copied and when it is read.

    Returns:
        Figures of the restored database.

    Raises:
        InvalidInputError: ``path`` is not a backup or is incomplete, or ``target`` is not empty.
        CorruptionError: The backup is damaged; the message names file and offset. Nothing was
            changed.
        LockedError: The database at ``target`` is open; the message says where.
        KeyboardInterrupt: Ctrl-C stopped it. Nothing was changed.
    """

def repair(path: _Path, target: _Path) -> dict[str, Any]:
    """Write the intact data of the database at ``path`` to a new one at ``target``, and check it.

    The damaged database is never changed; close it first. Every row with a valid checksum is saved.
    A damaged direction of a graph is rebuilt from the other one.

    Args:
        path: Folder of the damaged database.
        target: A new or empty folder.

    Returns:
        The saved and the lost data: ``complete`` (nothing is lost), ``keyspaces`` with ``rows_kept``,
        ``rows_lost``, ``stale_max`` and ``lost`` key ranges, ``graphs`` by name with ``edges``,
        ``rebuilt``, ``in_doubt`` and ``unnamed`` edges, rebuilt ``indexes``, ``not_unique``: by name,
        unique indexes that are ordinary ones now and the rows that are equal, ``blobs`` by name with
        ``rows`` and ``lost``, ``damages``, ``files_skipped``, ``commits_kept``, ``log_lost_bytes``,
        ``manifest_whole``.

    Raises:
        InvalidInputError: There is no database at ``path``, or ``target`` is not empty.
        CorruptionError: The manifest is lost, so the tables cannot be interpreted.
        KeyboardInterrupt: Ctrl-C stopped it; remove ``target``.
    """

def run_command(arguments: Sequence[str]) -> int:
    """Run the command line; not for programs, which have this package's functions instead.

    ``python -m quipu`` calls it. It writes to the standard streams of the process, not to
    ``sys.stdout``, and may replace the process's handler of Ctrl-C.

    Args:
        arguments: The name of the command, and its arguments.

    Returns:
        The exit status.
    """

def candidates(database: Database, parameters: Sequence[str], before: str) -> tuple[int, list[str]]:
    """Complete a script that ends at the cursor. The cell magic ``%%quipu`` calls it.

    Args:
        database: The database whose relations and columns it may name.
        parameters: Names of parameters that have a value.
        before: The script up to the cursor.

    Returns:
        The position at which the last word begins, and its completions, sorted.
    """

@final
class Database:
    """An open database, in a folder or in memory. Threads may share it.

    As a context manager it is closed at the end of the block.
    """

    @property
    def path(self) -> Path | None:
        """Folder of the database; ``None`` if it is in memory."""
    def graph(
        self,
        name: str,
        *,
        weight: Literal["float64", "int64", "float", "int"] | None = None,
        vertex: Literal["u64", "i64", "str"] | None = None,
        nodes: Mapping[str, str] | None = None,
        edges: Mapping[str, str] | None = None,
        directed: bool | None = None,
        key: Literal["int", "int64", "none"] | None = None,
    ) -> Graph:
        """Open or create the graph with this name.

        >>> g = db.graph("cites", nodes={"kind": "str?", "year": "int?"}, edges={"since": "int?"})
        >>> g.add_node(7, kind="book")
        >>> g.add_edge(7, 8, since=1998)
        >>> g.edge_properties(7, 8)
        {'since': 1998}

        Args:
            name: A letter or ``_``, then letters, digits, ``_``, ``.`` and ``-``, of any script; at
                most 255 bytes of UTF-8. Names are not normalized.
            weight: Type of the weights. ``None``: that of the existing graph; a new graph has no
                weights, and every edge counts as 1.
            vertex: Type of the vertices: an unsigned integer, a signed one, or a string. ``None``:
                that of the existing graph; ``"u64"`` in a new one.
            nodes: Types of the vertices' properties by name: ``"str"``, ``"int"``, ``"float"``,
                ``"bool"``, ``"bytes"``, ``"json"``, ``"date"``, ``"timestamp"`` or any type of a
                relation's column; with ``?`` where they may be null. With ``{}`` vertices without
                edges can be stored. ``None``: those of the existing graph; none in a new one.
            edges: Types of the edges' properties, likewise. ``"weight"`` must be a ``"float"`` or
                an ``"int"``, and means the same as the argument ``weight``.
            directed: ``False``: edges have no direction. ``(u, v)`` and ``(v, u)`` are one edge,
                which is stored once and found from both ends. ``None``: as the existing graph; a
                new one is directed.
            key: ``"int"``: several edges may lead from one vertex to another, and each has an
                integer as its key. ``None``: as the existing graph; a new one has at most one edge.

        Returns:
            The graph. It reads the newest commits.

        Raises:
            InvalidInputError: The graph exists with other types or properties, a name is not valid
                or reserved (``src``, ``dst``, ``key``, ``vertex``), a type is unknown, or the
                database was opened read-only and has no such graph.
        """
    def import_graph(
        self,
        name: str,
        source: _Files | _Edges,
        *,
        vertex: Literal["u64", "i64", "str"] | None = None,
        weight: Literal["float64", "int64", "none"] | None = None,
        directed: bool | None = None,
        key: Literal["int", "int64", "none"] | None = None,
        nodes: _Files | _Edges | None = None,
        node_column: int | str | None = None,
        edge_properties: Mapping[str, str] | bool | None = None,
        node_properties: Mapping[str, str] | bool | None = None,
        columns: Sequence[int | str] | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        on_error: Literal["fail", "skip"] = "fail",
        missing: float | Literal["fail", "skip"] | None = None,
        quote: Literal['"'] | None = '"',
        skip_rows: int = 0,
        comment: str | None = None,
        decimal: Literal[".", ","] = ".",
        null_values: Sequence[str] | None = None,
        progress: _Progress = None,
    ) -> ImportReport:
        """Import edges from anything into a graph, which is created with the types that fit.

        >>> db.import_graph("friends", {"source": ["Ann"], "target": ["Bob"]}).edges
        1
        >>> roads = {"from": [1], "to": [2], "lanes": [2]}
        >>> towns = {"id": [1, 2], "name": ["Ulm", "Bonn"]}
        >>> db.import_graph("roads", roads, nodes=towns, edge_properties=True).nodes
        2

        Args:
            name: Name of the graph. An existing one keeps its types, and its properties get the
                values of the columns with their names.
            source: Files as in :meth:`Graph.import_csv`, or a table as in :meth:`Graph.import_arrow`.
            vertex: Type of the vertices of a new graph. ``None``: unsigned integers if all that are
                looked at are, else signed ones, else text.
            weight: Type of the weights of a new graph. ``None``: those of the weight's column if
                there is one; floats for text. Among properties only a name, such as ``weight``, makes
                a column the weight.
            directed: ``False``: edges of a new graph have no direction, so rows ``(u, v)`` and
                ``(v, u)`` are one edge. The last one counts.
            key: ``"int"``: edges of a new graph have keys, from the column ``key``.
            nodes: A table of vertices with their properties: files with a header, or a table. It
                becomes visible together with the edges if these have properties, else before them.
            node_column: The column of ``nodes`` that is the vertex. ``None``: ``vertex``, ``id``,
                ``:ID``, ``node``, or the first.
            edge_properties: Properties of a new graph's edges: ``True`` for all further columns,
                with the types that fit, or a mapping of names to types as in :meth:`graph`.
            node_properties: Properties of a new graph's vertices. ``None``: all further columns of
                ``nodes``.
            columns: As in :meth:`Graph.import_csv`, as are the other arguments.
            delimiter: Delimiter of text.
            header: Whether text has a header.
            on_error: Whether bad lines are skipped.
            missing: Meaning of a missing weight, as for :meth:`Graph.import_csv`.
            quote: ``None`` for text without quotes.
            skip_rows: Lines of text to skip.
            comment: The mark of comments.
            decimal: The decimal mark.
            null_values: Spellings of a missing weight.
            progress: Whether and where progress is shown.

        Returns:
            Figures of the import.

        Raises:
            InvalidInputError: The input is not valid, or the types are not those of the graph.
                Nothing was imported, and no graph was created.
            MissingFileError: There is no such file.
            LimitError: As in :meth:`Graph.import_csv`.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def from_networkx(self, name: str, graph: Any) -> ImportReport:
        """Import a graph of NetworkX with the attributes of its nodes and edges as properties.

        Nodes that are not all integers become strings. Types are found from the values, and
        attributes that some nodes or edges lack are null there. An undirected graph becomes one of
        ``directed=False``, and a multigraph with integer keys one of ``key="int"``. A missing
        ``weight`` is 1.

        >>> db.from_networkx("karate", nx.karate_club_graph()).nodes
        34

        Args:
            name: Name of the graph. An existing one keeps its types and properties.
            graph: The graph.

        Raises:
            InvalidInputError: There are parallel edges with keys that are no integers, two nodes have
                the same text, or only one of the graphs is directed or has keys.
            TypeError: A value has no type, such as a set.
        """
    def blobs(self, name: str, *, key: Literal["u64", "i64", "str"] | None = None) -> Blobs:
        """Open or create the blobs with this name: byte strings by key.

        Args:
            name: As for graphs; a graph, blobs, counters or a relation each need a name of their
                own.
            key: Type of the keys. ``None``: that of the existing blobs; ``"u64"`` in new ones.

        Returns:
            The blobs. They read the newest commits.

        Raises:
            InvalidInputError: They exist with other keys, the name is not valid or in use, or the
                database was opened read-only and has no such blobs.
        """
    def documents(self, name: str, *, key: Literal["u64", "i64", "str"] | None = None) -> Documents:
        """Open or create the documents with this name: JSON by key.

        Args:
            name: As for graphs. Documents are the relation ``{key => doc: Json}``; one that a script
                created can be opened.
            key: Type of the keys. ``None``: that of the existing documents; ``"u64"`` in new ones.

        Returns:
            The documents. They read the newest commits.

        Raises:
            InvalidInputError: They exist with other keys, the name is not valid or in use, or the
                database was opened read-only and has no such documents.
        """
    def counters(
        self,
        name: str,
        *,
        key: Literal["u64", "i64", "str"] | None = None,
        number: Literal["int64", "float64", "int", "float"] | None = None,
        combine: Literal["sum", "min", "max"] | None = None,
    ) -> Counters:
        """Open or create the counters with this name: numbers by key.

        Args:
            name: As for graphs; a graph, blobs, counters or a relation each need a name of their
                own.
            key: Type of the keys. ``None``, here and below: that of the existing counters;
                ``"u64"`` in new ones.
            number: Type of the numbers; ``"int64"`` in new ones.
            combine: Whether a counter is the sum, the minimum or the maximum of the added numbers;
                ``"sum"`` in new ones.

        Returns:
            The counters. Under durability ``"none"`` added numbers wait in a write buffer for up to
            about a second.

        Raises:
            InvalidInputError: They exist with other types, the name is not valid or in use, or the
                database was opened read-only and has no such counters.
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
        """Run a script of the query language (Datalog as in CozoScript) in its own transaction.

        Scripts read graphs, counters, blobs and relations by name with ``*``. Graphs are indexed
        from both ends.

        >>> db.run("?[to] := *cites{src: $v, dst: via}, *cites{src: via, dst: to}", {"v": 42})

        Args:
            script: One query, one system op that begins with ``::``, or a script of several in
                braces.
            params: Values of the parameters, by their names after ``$``. ``None``, ``bool``,
                ``int``, ``float``, ``str``, ``bytes``, ``list``, ``tuple``, ``UUID``, ``Decimal``,
                ``date``, ``datetime`` and ``timedelta`` keep their types; a ``datetime`` without a
                time zone is in UTC; a ``dict`` becomes Json; NumPy scalars become numbers, dates, times or
                durations, NumPy arrays lists.
            timeout: Timeout in seconds, which overrides that of the script; 0 is none. ``None``:
                the ``:timeout`` of the script, else 300.
            memory_limit: Memory limit in bytes, or a string such as ``"64MB"``. The default and the
                maximum are the share of a query in the database's ``memory_limit``.
            read_only: Whether to refuse a script that would change something.
            files: Which files it may read, as for :func:`open`. It can only narrow the setting of
                the database.

        Returns:
            The rows, sorted unless ``:order`` says otherwise. A script that changes something
            returns ``OK`` as its ``status``.

        Raises:
            InvalidInputError: The script or a value is wrong. The message shows the line with a
                caret, and may end with a hint; ``line`` and ``column`` are set if the error has a
                position in the text.
            CancelledError: It reached its timeout, or ``::kill`` stopped it.
            LimitError: It needs more memory than its limit.
            ConflictError: Another commit won. Run it again.
            TypeError: A parameter has an unsupported type.
            KeyboardInterrupt: Ctrl-C stopped it. After any exception nothing was changed.
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
        """Run a script as :meth:`run` does, and return its rows in batches.

        So a result may be larger than memory. If rows are provably distinct and there is no
        ``:order``, batches arrive while the query runs, in no particular order, and memory holds
        little more than two of them. Rows are provably distinct if the query has one rule and its
        head contains all keys of the relations in its body. Otherwise the whole result is computed
        first.

        >>> for part in db.stream("?[src, dst, year] := *cites{src, dst}, *patents{id: src, year}"):
        ...     print(len(part))
        >>> pyarrow.RecordBatchReader.from_stream(db.stream("?[src, dst] := *cites{src, dst}"))

        Args:
            script: As for :meth:`run`.
            params: As for :meth:`run`.
            timeout: As for :meth:`run`. Time between two requests for a batch does not count.
            memory_limit: As for :meth:`run`.
            read_only: As for :meth:`run`.
            files: As for :meth:`run`.

        Returns:
            The rows of the snapshot at which the script began. If you do not read to the end, close
            the stream or use it as a context manager.

        Raises:
            Exception: As for :meth:`run`, here and while batches are read.
        """
    def relation(
        self,
        name: str,
        *,
        create: str | _ArrowSchema | _ArrowStream | None = None,
        keys: Sequence[str] | None = None,
    ) -> Relation:
        """Open or create a relation.

        >>> db.relation("city", create="{name: String => people: Int, height: Float? default 0}")
        >>> db.relation("town", create=frame, keys=["name"])

        Args:
            name: Its name. Graphs and counters are relations too.
            create: The columns, with which a missing relation is created: as scripts write them
                after ``:create``, or an Arrow schema or table. ``None``: the relation must exist.
            keys: The key columns, if ``create`` is an Arrow schema or table.

        Raises:
            InvalidInputError: There is no such relation; or, with ``create``, it has other columns,
                or the name or the columns are not valid.
        """
    def export_relations(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return all rows of relations at one snapshot, in the form for :meth:`import_relations`.

        >>> db.export_relations(["city"])
        {'city': {'headers': ['name', 'people'], 'rows': [['Cusco', 428450], ['Lima', 10092000]]}}

        Args:
            names: Names of relations; graphs and counters are relations too.

        Raises:
            InvalidInputError: A relation does not exist, or its access level is ``hidden``.
        """
    def import_relations(self, data: Mapping[str, _Rows]) -> None:
        """Put rows into relations, atomically.

        The rows of a relation are ``{"headers": […], "rows": […]}``, a dict of columns, a list of
        rows (tuples in the order of the relation's columns, or dicts), a :class:`Result`, or any
        object with Arrow's PyCapsule interface: a pyarrow table, a pandas or Polars frame. Columns
        are matched by name. Columns with a default may be missing; unknown columns are ignored.
        Values are converted to the columns' types. Indexes are updated; triggers do not run.

        >>> db.import_relations({"city": frame, "-visited": {"headers": ["name"], "rows": [["Cusco"]]}})

        Args:
            data: Rows by relation. With a leading ``-`` in the name, the rows with these keys are
                deleted if they exist.

        Raises:
            InvalidInputError: There is no such relation, its access level forbids it, a column is
                missing, or a value does not fit its column; the message names relation, row and
                column.
            LimitError: The rows exceed the memory of a transaction, a quarter of ``memory_limit``.
                From 100,000 rows on there is no such limit, unless there is a callback, an index of
                value columns, or something to delete.
            ConflictError: Another commit won. Run it again.
            TypeError: A value has an unsupported type.
            KeyboardInterrupt: Ctrl-C stopped it. After any exception nothing was changed.
        """
    def project(
        self,
        query: str,
        params: Mapping[str, Any] | None = None,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        parallel: Literal["keep", "sum", "min", "first"] | None = None,
        timeout: float | None = None,
    ) -> Projection:
        """Return the graph whose edges are the rows of a query: source, target and perhaps weight.

        Vertices are all integers or all strings. The projection is not cached.

        >>> db.project("?[a, b] := *cites{src: a, dst: m}, *cites{src: m, dst: b}, a != b")

        Args:
            query: A script that returns 2 or 3 columns and changes nothing.
            params: Values of the script's parameters.
            undirected: Whether each edge leads in both directions.
            nodes: Vertices of a subgraph; ids that are not vertices are ignored.
            parallel: Treatment of several edges between the same vertices: ``"keep"`` all,
                ``"sum"``, ``"min"`` or ``"first"``. In an undirected projection, edges in both
                directions are parallel too. ``None`` is ``"first"`` there, and otherwise
                ``"keep"``. A sum without weights counts the edges.
            timeout: Seconds for the query; 0 is no limit. ``None``: as for :meth:`run`.

        Raises:
            InvalidInputError: The query is wrong, or its columns are not those of edges.
            LimitError: Projections in use would take too much memory.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
    def register_callback(
        self, relation: str, callback: Callable[[Literal["Put", "Rm"], list[list[Any]], list[list[Any]]], object]
    ) -> int:
        """Call a function with the changes of a relation, after each commit that changed it.

        >>> db.register_callback("city", lambda op, new, old: print(op, new, old))

        It gets the changes of scripts, imports and :class:`Relation`, statement by statement in
        their order. It runs on the committing thread after the commit, so it may run scripts;
        callbacks for its own changes run after it has returned. The change stays committed whatever
        the function raises. An ``Exception`` goes to ``sys.unraisablehook``; any other exception
        (``KeyboardInterrupt``, ``SystemExit``) is raised by the committing call after all callbacks
        have run. The old rows are read only if there is a callback. Calls for graphs, blobs and
        counters run no callbacks. So a callback for one of them is refused, and none of them can be
        created under a name that has a callback.

        Args:
            relation: Name of the relation, which need not exist yet.
            callback: Called with ``"Put"`` or ``"Rm"``; the rows that were put, or the keys that
                were to be removed; and the previous rows.

        Returns:
            An id for :meth:`unregister_callback`.

        Raises:
            InvalidInputError: The name is that of a graph, of blobs or of counters.
            TypeError: The callback is not callable.
        """
    def unregister_callback(self, id: int) -> bool:
        """Unregister a callback; :meth:`close` unregisters all.

        Args:
            id: The result of :meth:`register_callback`.

        Returns:
            Whether there was a callback with this id.
        """
    def register_fixed_rule(
        self,
        name: str,
        arity: int,
        function: Callable[[list[list[list[Any]]], dict[str, Any]], Iterable[Iterable[Any]]],
    ) -> None:
        """Let scripts apply a function with ``<~``. It is not stored in the database.

        >>> db.register_fixed_rule("Rotate", 2, lambda inputs, options: [(b, a) for a, b in inputs[0]])
        >>> db.run("?[a, b] <~ Rotate(*edge[a, b])")

        The function may query the database but not change it, because the calling script may be
        changing it. An ``Exception`` fails the script with an error that has the rule's name and
        position, and the exception as its ``__cause__``. Any other exception
        (``KeyboardInterrupt``, ``SystemExit``) rolls back the script and is raised unchanged. The
        rows of a generator are taken until it ends or the script is stopped.

        Args:
            name: Name in scripts.
            arity: Number of columns that it returns.
            function: Called with the rows of each input relation, and with the options; returns its
                rows.

        Raises:
            InvalidInputError: The name is that of a built-in or registered rule, or is not a valid
                name.
            TypeError: The function is not callable.
        """
    def unregister_fixed_rule(self, name: str) -> bool:
        """Unregister a rule; :meth:`close` unregisters all.

        Args:
            name: Its name.

        Returns:
            Whether there was a rule with this name.

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
        """Let scripts use a user-defined aggregate, except in recursion. It is not stored.

        >>> db.register_aggregate("total", lambda: 0, lambda total, value: total + value)
        >>> db.run("?[k, total(v)] := *sales[k, v]")

        Args:
            name: Name in scripts.
            init: Called for each group with the arguments after the variable; returns the initial
                state.
            step: Called with the state and a value; returns the next state.
            finish: Called with the last state; returns the value. ``None``: the last state is the
                value.
            args: Maximum number of arguments after the variable.

        Raises:
            InvalidInputError: The name is that of a built-in or registered aggregate, or is not a
                valid name.
            TypeError: One of the functions is not callable.
        """
    def unregister_aggregate(self, name: str) -> bool:
        """Unregister an aggregate; :meth:`close` unregisters all.

        Args:
            name: Its name.

        Returns:
            Whether there was an aggregate with this name.

        Raises:
            InvalidInputError: It is built in.
        """
    def drop(self, name: str) -> bool:
        """Drop the graph, blobs, counters or relation with this name; return whether it existed.

        The change is immediate and durable.

        Args:
            name: Name of a graph, of blobs, of counters or of a relation.

        Raises:
            InvalidInputError: The name is not valid, its access level is ``protected`` or above, or
                the database was opened read-only.
        """
    def graphs(self) -> list[str]:
        """Return the names of all graphs, sorted."""
    def drop_graph(self, name: str) -> None:
        """Drop a graph with all its edges. The change is immediate and durable.

        Args:
            name: Its name.

        Raises:
            InvalidInputError: There is no such graph, its access level is ``protected`` or above,
                or the database was opened read-only.
        """
    def transaction(self, isolation: Literal["snapshot", "serializable"] = "snapshot") -> Transaction:
        """Begin a transaction, which sees the current snapshot and its own writes.

        Args:
            isolation: ``"snapshot"``: if two transactions write one edge, the first to commit wins.
                ``"serializable"``: a transaction also fails if something that it read has changed.

        Returns:
            The transaction. As a context manager it commits at the end of the block, and rolls back
            after an exception.

        Raises:
            InvalidInputError: ``isolation`` is neither.
        """
    def flush(self) -> None:
        """Write the memtables to tables, so the log is no longer needed; durable when it returns.

        Raises:
            PoisonedError: This or an earlier write failed; close the database and open it again.
        """
    def compact(self) -> None:
        """Compact everything into one sorted run per direction: smallest, and fastest to read.

        Raises:
            PoisonedError: An earlier write failed; close the database and open it again.
            KeyboardInterrupt: Ctrl-C stopped it. Finished compactions stay.
        """
    def refresh(self) -> None:
        """Move a read-only database to the writer's newest commit; do nothing in others."""
    def stats(self) -> dict[str, Any]:
        """Return figures of the database and of each graph, relation, index, blobs and counters.

        Returns:
            ``disk_bytes``, ``log_bytes``, ``cache_bytes``, ``commits``, and ``graphs``: for each a
            dict of ``name``, ``edges``, ``vertices``, ``disk_bytes``, ``memory_bytes`` and
            ``tables``. ``relations``, ``indexes`` (by ``relation:index``), ``blobs`` and
            ``counters``: for each a dict of ``name``, ``rows``, ``disk_bytes``, ``memory_bytes`` and
            ``tables``. ``activity`` since opening: ``flushes``, ``compactions``, ``stalls``
            (commits that waited for a flush) and ``stalled_s``, how many seconds they waited,
            ``cache_misses`` (blocks that were read) and ``compaction_error``, which is ``None``
            unless compaction stopped. ``written``: bytes written since
            opening: to the ``log``, and to tables by flushes (``flushed``), bulk loads (``loaded``)
            and compactions (``merged``). The write amplification is the sum of all four divided by
            ``flushed`` plus ``loaded``.
        """
    def check(self) -> dict[str, Any]:
        """Read every file; verify checksums, key orders, both directions of graphs, and indexes.

        Returns:
            Counts of the verified parts: ``files``, ``blocks``, ``bytes``, ``rows``, ``log_commits``,
            ``seconds``, and ``graphs``: edges by name, ``blobs``: blobs by name, ``indexes``: rows
            by ``relation:index``. ``notes`` are remarks that are not damage; ``problems`` is empty.

        Raises:
            CorruptionError: Damage was found; raised after everything was read. Its message and its
                ``problems``, each with ``file``, ``offset`` and ``what``, list up to a hundred
                problems. :func:`quipu.repair` saves the intact data.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
    def backup(self, path: _Path, *, earlier: _Path | None = None, progress: _BytesProgress = None) -> BackupReport:
        """Write everything that is committed to ``path``. Reads and writes continue meanwhile.

        Args:
            path: A new or empty folder, which becomes a database itself, with hard links to the
                tables if the file system supports them; or one compressed file if the name ends in
                ``.qbak``.
            earlier: Folder of an earlier backup of this database, to share its tables.
            progress: ``True`` shows a line on a terminal; a callable gets the bytes done and the
                total.

        Returns:
            The contents and the cost of the backup.

        Raises:
            InvalidInputError: ``path`` is not empty, or ``earlier`` is not a backup of this
                database.
            KeyboardInterrupt: Ctrl-C stopped it; ``path`` does not contain a backup.
        """
    def close(self) -> None:
        """Flush, and release the folder. Later calls raise; a second ``close`` does nothing.

        In a child that inherited the database by ``fork`` it does nothing: folder and flush belong
        to the parent.

        Raises:
            PoisonedError: The flush failed. The folder is released all the same.
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
        """Return a graph as the transaction sees it: its snapshot and its own writes.

        Args:
            name: Name of an existing graph; transactions cannot create graphs.

        Raises:
            InvalidInputError: There is no such graph.
        """
    def blobs(self, name: str) -> Blobs:
        """Return blobs as the transaction sees them.

        Args:
            name: Name of existing blobs.

        Raises:
            InvalidInputError: There are no such blobs.
        """
    def documents(self, name: str) -> Documents:
        """Return documents as the transaction sees them.

        Args:
            name: Name of existing documents, also of a relation that the transaction has created.

        Raises:
            InvalidInputError: There are no such documents.
        """
    def counters(self, name: str) -> Counters:
        """Return counters as the transaction sees them. Concurrent additions do not conflict.

        Args:
            name: Name of existing counters.

        Raises:
            InvalidInputError: There are no such counters.
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
        """Run a script in the transaction: it sees the transaction's writes and commits with it.

        Args:
            script: As for :meth:`Database.run`, but transactions cannot create or drop indexes.
            params: As for :meth:`Database.run`.
            timeout: As for :meth:`Database.run`.
            memory_limit: As for :meth:`Database.run`.
            read_only: As for :meth:`Database.run`.
            files: As for :meth:`Database.run`.

        Returns:
            The rows.

        Raises:
            InvalidInputError: As for :meth:`Database.run`, or the transaction has ended. Here and
                in the cases below the script's changes are undone, and the transaction continues.
                If another thread wrote in the transaction meanwhile, it also continues, but its
                commit raises :class:`ConflictError`.
            CancelledError: As for :meth:`Database.run`.
            LimitError: As for :meth:`Database.run`, or the transaction exceeds its memory.
            TypeError: A parameter has an unsupported type.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
    def relation(self, name: str) -> Relation:
        """Open a relation as the transaction sees it.

        Args:
            name: Name of a relation that exists, or that a script of the transaction created.

        Raises:
            InvalidInputError: There is no such relation.
        """
    def export_relations(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return all rows of relations, in the form of :meth:`Database.export_relations`.

        Args:
            names: Names of relations.

        Raises:
            InvalidInputError: As for :meth:`Database.export_relations`, or the transaction has
                ended.
        """
    def import_relations(self, data: Mapping[str, _Rows]) -> None:
        """Put rows into relations in the transaction; see :meth:`Database.import_relations`.

        Args:
            data: Rows by relation, as there.

        Raises:
            InvalidInputError: As there, or the transaction has ended. Here and in the cases below
                none of the rows stay in the transaction.
            LimitError: The transaction exceeds its memory.
            TypeError: A value has an unsupported type.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
    def commit(self) -> None:
        """Make all writes visible and end the transaction. The end of a ``with`` block commits too.

        Raises:
            ConflictError: Another commit won. Nothing was written; run the transaction again.
            InvalidInputError: It has already ended.
            PoisonedError: This or an earlier write failed; close the database and open it again.
        """
    def rollback(self) -> None:
        """Discard all writes and end the transaction. Does nothing if it has ended."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: type[BaseException] | BaseException | TracebackType | None) -> bool: ...

@final
class Blobs:
    """Byte strings by key, in key order. Each has from 0 bytes to 1 GiB.

    >>> b = db.blobs("pages")
    >>> b[7] = b"seven"
    >>> b[7]
    b'seven'

    A key is an ``int``, or a ``str`` in blobs of ``key="str"``; a value is ``bytes``, ``bytearray``
    or ``memoryview``.

    Any call raises :class:`quipu.InvalidInputError` if the blobs were dropped, their database is
    closed, their transaction has ended, or a key is out of range, and :class:`TypeError` if a key
    or a value has another type. Any write raises :class:`quipu.PoisonedError` after a failed write,
    and :class:`quipu.LimitError` for a value of more than 1 GiB. The writes of a transaction, or of
    one ``put_many``, may take up to a quarter of the memory limit.

    After the first value of 16 KiB or more was written, ``put``, ``delete`` and ``discard`` read
    the old value, in their own transaction. They raise :class:`quipu.ConflictError` if other
    writers keep changing the same key.

    ``scan``, ``get_many`` and ``sample`` hold their whole result in memory; ``items`` and ``range``
    read value by value.
    """

    @property
    def name(self) -> str:
        """Name of the blobs."""
    @property
    def key(self) -> Literal["u64", "i64", "str"]:
        """Type of the keys."""
    def __getitem__(self, key: _Vertex) -> bytes:
        """Return the value of a key. :class:`KeyError` if there is none."""
    def get(self, key: _Vertex, default: Any = None) -> Any:
        """Return the value of a key, or ``default`` if there is none.

        Args:
            key: Key.
            default: Returned if there is no value.
        """
    def __contains__(self, key: _Vertex) -> bool: ...
    def contains_many(self, keys: _Column) -> npt.NDArray[np.bool_]:
        """Return whether each key has a value.

        Args:
            keys: Keys.
        """
    def get_many(self, keys: _Column) -> list[bytes | None]:
        """Return the values of keys; ``None`` for keys without one.

        Args:
            keys: Keys.
        """
    def get_many_arrow(self, keys: _Column) -> Table:
        """Return the values of keys as an Arrow column ``value``; null for keys without one.

        Args:
            keys: Keys.
        """
    def __setitem__(self, key: _Vertex, value: bytes | bytearray | memoryview) -> None: ...
    def put(self, key: _Vertex, value: bytes | bytearray | memoryview) -> None:
        """Set the value of a key; the same as ``blobs[key] = value``.

        Args:
            key: Key.
            value: The value, which is copied.
        """
    def put_many(self, keys: _Column, values: Iterable[bytes] | _ArrowArray | _ArrowStream) -> None:
        """Set the values of keys, atomically. If a key occurs twice, the last value wins.

        Args:
            keys: Keys.
            values: Values, one per key: any iterable of bytes, or an Arrow column of binary or
                text, or an Arrow table with one such column.

        Raises:
            InvalidInputError: The columns differ in length, or a value is null.
            TypeError: A value is not bytes, or a column is neither binary nor text.
            LimitError: The values take more than a quarter of the memory limit.
        """
    def load(self, batches: Iterable[tuple[_Column, Iterable[bytes] | _ArrowArray | _ArrowStream]]) -> int:
        """Write many blobs in ascending order of their keys; return their number.

        They bypass the log and are written to tables directly. They become visible together, and
        are durable when this returns. Use it for megabytes and more: a call costs a few syncs.

        Args:
            batches: Pairs of keys and values, as for ``put_many``; keys ascend within and across
                batches.

        Raises:
            InvalidInputError: Keys do not ascend, a value has 16 KiB or more or would replace such
                a value, or the blobs belong to a transaction. Nothing is written then, or if the
                iterable raises.
        """
    def __delitem__(self, key: _Vertex) -> None: ...
    def delete(self, key: _Vertex) -> bool:
        """Delete the value of a key; return whether there was one.

        Args:
            key: Key.
        """
    def delete_many(self, keys: _Column) -> npt.NDArray[np.bool_]:
        """Delete the values of keys, atomically; return for each whether there was one.

        Args:
            keys: Keys.
        """
    def discard(self, key: _Vertex) -> None:
        """Delete the value of a key if there is one.

        Faster than ``delete``: it reads nothing as long as no value of 16 KiB or more was written.

        Args:
            key: Key.
        """
    def discard_many(self, keys: _Column) -> None:
        """Delete the values of keys, atomically. Keys without a value are ignored.

        Args:
            keys: Keys.
        """
    def clear(self) -> None:
        """Delete all values, atomically.

        A value that a :class:`BlobWriter` is writing is not deleted: it becomes visible when its
        writer is closed.
        """
    def scan(self, start: _Vertex | None = None, count: int = 100, *, backward: bool = False) -> Table:
        """Return up to ``count`` blobs in key order, with columns ``key`` and ``value``.

        Args:
            start: First key of the range, inclusive; ``None``: no bound.
            count: Maximum number of blobs.
            backward: Scan in descending order from ``start``, or from the last key.
        """
    def items(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> Iterator[tuple[Any, bytes]]:
        """Return an iterator over pairs of key and value from ``start`` up to ``stop``, exclusive.

        It reads a snapshot. This is the fastest way to read many values one by one; use ``range``
        for Arrow.

        Args:
            start: First key of the range, inclusive; ``None``: no bound.
            stop: End of the range, exclusive; ``None``: no bound.
        """
    def range(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> TableStream:
        """Return a stream of all blobs from ``start`` up to ``stop``, exclusive, at a snapshot.

        A table has some thousand rows, or fewer if their values take more than about 4 MiB, but at
        least one.

        Args:
            start: First key of the range, inclusive; ``None``: no bound.
            stop: End of the range, exclusive; ``None``: no bound.
        """
    def sample(self, count: int, *, seed: int | None = None) -> Table:
        """Return ``count`` random blobs, uniformly, with replacement; none if there are no blobs.

        Args:
            count: Number of blobs.
            seed: The same seed returns the same blobs as long as nothing is written. ``None``:
                different blobs each time.
        """
    def measure(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> dict[str, int]:
        """Return estimates of the ``rows`` and ``bytes`` of a range, without reading it.

        Values of 16 KiB and more count with their own bytes; in a long range their sizes are read
        for some rows only. The estimate for rows written since the last flush may be three times
        too large or too small.

        Args:
            start: First key of the range, inclusive; ``None``: no bound.
            stop: End of the range, exclusive; ``None``: no bound.
        """
    def keys(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> Iterator[Any]:
        """Return an iterator over the keys from ``start`` up to ``stop``, exclusive, in key order.

        It reads a snapshot, and no values.

        Args:
            start: First key of the range, inclusive; ``None``: no bound.
            stop: End of the range, exclusive; ``None``: no bound.
        """
    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys of a snapshot, in order. No value is read."""
    def __len__(self) -> int:
        """Return the exact number of blobs."""
    def __bool__(self) -> bool:
        """Always true, even without blobs: counting takes time."""
    def reader(self, key: _Vertex) -> BlobReader:
        """Open a value to read it in pieces. :class:`KeyError` if there is none.

        Args:
            key: Key.
        """
    def writer(self, key: _Vertex) -> BlobWriter:
        """Start writing a value in pieces. In a ``with`` block it becomes visible at the end.

        Args:
            key: Key.
        """

@final
class BlobReader:
    """A value read in pieces, at the snapshot of its opening; similar to a binary file."""

    def read(self, size: int = -1) -> bytes:
        """Return the next ``size`` bytes, or fewer at the end; all remaining bytes for -1.

        Args:
            size: Number of bytes; -1 for all.
        """
    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a position and return it.

        Args:
            offset: Number of bytes.
            whence: Origin of ``offset``: the start (0), the position (1), or the end (2).
        """
    def tell(self) -> int:
        """Return the position."""
    def __len__(self) -> int:
        """Return the size of the value in bytes."""
    def close(self) -> None:
        """Release the snapshot that this reader holds."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: type[BaseException] | BaseException | TracebackType | None) -> None: ...

@final
class BlobWriter:
    """A value written in pieces; similar to a binary file."""

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes; return their number.

        Args:
            data: The bytes.

        Raises:
            LimitError: The value exceeds 1 GiB.
        """
    def close(self) -> None:
        """Make the value visible, replacing the previous one.

        The end of a ``with`` block does the same.
        """
    def abort(self) -> None:
        """Discard the value; the key is unchanged.

        An exception in a ``with`` block does the same.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: type[BaseException] | BaseException | TracebackType | None) -> bool: ...

@final
class Documents:
    """JSON documents by key, in key order: the relation ``{key => doc: Json}``.

    >>> d = db.documents("users")
    >>> d[7] = {"name": "Ada", "langs": ["fr"]}
    >>> d.patch(7, [{"op": "add", "path": "/langs/-", "value": "en"}])
    >>> d.get(7, field="/langs/1")
    'en'

    A key is an ``int``, or a ``str`` in documents of ``key="str"``. A document is anything that
    :mod:`json` writes, or ``bytes`` of JSON text; at most 127 lists and objects are nested. A field
    is the name of a field at the top, or a JSON Pointer (RFC 6901) such as ``"/langs/0"``.

    Documents are rows of a relation: scripts, indexes, triggers and callbacks see them. A change of
    several documents is one commit, or a part of its transaction; if it fails, nothing is changed.

    Any call raises :class:`quipu.InvalidInputError` if the documents were dropped, their database is
    closed, their transaction has ended, or a key is out of range, and :class:`TypeError` if a key
    has another type. Any write raises :class:`quipu.InvalidInputError` for something that is no
    JSON, :class:`quipu.ConflictError` if other writers keep changing the same documents, and
    :class:`quipu.LimitError` for more than a transaction holds, a quarter of the memory limit.
    """

    @property
    def name(self) -> str:
        """Name of the documents."""
    @property
    def key(self) -> Literal["u64", "i64", "str"]:
        """Type of the keys."""
    def __getitem__(self, key: _Vertex) -> Any:
        """Return the document of a key. :class:`KeyError` if there is none."""
    def get(
        self,
        key: _Vertex,
        default: Any = None,
        *,
        field: str | None = None,
        format: Literal["json", "bson", "msgpack"] | None = None,
    ) -> Any:
        """Return a document or one of its fields, or ``default`` if there is none.

        Args:
            key: Key.
            default: Returned if there is no document, or no such field.
            field: Field to return. ``None``: the whole document.
            format: Return ``bytes`` of this format. ``None``: a Python object.

        Raises:
            InvalidInputError: The document has no form in the format, such as a list in BSON.
        """
    def __contains__(self, key: _Vertex) -> bool: ...
    def get_many(self, keys: _Column, *, field: str | None = None) -> list[Any]:
        """Return the documents of keys, or one field of each; ``None`` where there is none.

        Args:
            keys: Keys.
            field: Field to return. ``None``: whole documents.
        """
    def __setitem__(self, key: _Vertex, document: Any) -> None: ...
    def put(self, key: _Vertex, document: Any, *, format: Literal["json", "bson", "msgpack"] | None = None) -> None:
        """Put a document; one with the same key is replaced.

        Args:
            key: Key.
            document: Document.
            format: Format of the document, which is ``bytes`` then. ``None``: a Python object, or
                ``bytes`` of JSON.

        Raises:
            InvalidInputError: It is no document of the format, or has a value that JSON does not.
        """
    def put_many(self, keys: _Column, documents: Iterable[Any]) -> None:
        """Put documents in one commit; of several with one key the last stays.

        Args:
            keys: Keys.
            documents: A document for each key.

        Raises:
            InvalidInputError: Something is no JSON. Then nothing is written.
        """
    def insert(self, key: _Vertex, document: Any, *, field: str | None = None) -> None:
        """Put a document whose key has none, or a field that a document does not have.

        Args:
            key: Key.
            document: Document, or the value of the field.
            field: Field to add. An item of a list is inserted before the one at its place; ``-`` is
                the place after the last.

        Raises:
            InvalidInputError: There is one already; or there is no document to add a field to.
        """
    def insert_many(self, keys: _Column, documents: Iterable[Any], *, field: str | None = None) -> None:
        """Insert several documents, or a field in each, in one commit.

        Args:
            keys: Keys.
            documents: A document for each key, or a value of the field.
            field: As for :meth:`insert`.

        Raises:
            InvalidInputError: As for :meth:`insert`. Then nothing is written.
        """
    def update(self, key: _Vertex, document: Any, *, field: str | None = None) -> None:
        """Replace a document, or a field, which must be there.

        Args:
            key: Key.
            document: Document, or the value of the field.
            field: Field to replace.

        Raises:
            InvalidInputError: There is no such document or field.
        """
    def update_many(self, keys: _Column, documents: Iterable[Any], *, field: str | None = None) -> None:
        """Replace several documents, or a field of each, in one commit.

        Args:
            keys: Keys.
            documents: A document for each key, or a value of the field.
            field: Field to replace.

        Raises:
            InvalidInputError: As for :meth:`update`. Then nothing is written.
        """
    def upsert(self, key: _Vertex, document: Any, *, field: str | None = None) -> None:
        """Put a document, or set a field of one, whether it is there or not.

        Args:
            key: Key.
            document: Document, or the value of the field.
            field: Field to set. Objects above it that are missing are made.

        Raises:
            InvalidInputError: There is no document to set a field of, or it cannot have the field.
        """
    def upsert_many(self, keys: _Column, documents: Iterable[Any], *, field: str | None = None) -> None:
        """Put several documents, or set a field of each, in one commit.

        Args:
            keys: Keys.
            documents: A document for each key, or a value of the field.
            field: Field to set.

        Raises:
            InvalidInputError: As for :meth:`upsert`. Then nothing is written.
        """
    def patch(self, key: _Vertex, operations: Any) -> None:
        """Change a document by a JSON Patch (RFC 6902).

        Args:
            key: Key.
            operations: List of operations, each a ``dict`` with ``op``, ``path`` and ``value`` or
                ``from``.

        Raises:
            InvalidInputError: There is no document, an operation cannot be applied, or a ``test``
                fails. Then nothing is changed.
        """
    def patch_many(self, keys: _Column, patches: Iterable[Any]) -> None:
        """Change several documents, each by its patch, in one commit.

        Args:
            keys: Keys. One that occurs again is patched again.
            patches: A patch for each key.

        Raises:
            InvalidInputError: As for :meth:`patch`. Then no document is changed.
        """
    def merge(self, key: _Vertex, changes: Any) -> None:
        """Change a document by a JSON Merge Patch (RFC 7396); make it if there is none.

        Args:
            key: Key.
            changes: Fields to set; ``None`` removes a field, and objects are merged.
        """
    def merge_many(self, keys: _Column, changes: Iterable[Any]) -> None:
        """Change several documents, each by its merge patch, in one commit.

        Args:
            keys: Keys. One that occurs again is merged again.
            changes: Changes for each key.
        """
    def __delitem__(self, key: _Vertex) -> None: ...
    def delete(self, key: _Vertex) -> bool:
        """Delete a document; return whether there was one.

        Args:
            key: Key.
        """
    def delete_many(self, keys: _Column) -> npt.NDArray[np.bool_]:
        """Delete documents in one commit; return for each key whether it had one.

        Args:
            keys: Keys.
        """
    def delete_field(self, key: _Vertex, field: str) -> None:
        """Remove a field of a document.

        Args:
            key: Key.
            field: Field to remove.

        Raises:
            InvalidInputError: There is no such document or field.
        """
    def scan(self, start: _Vertex | None = None, count: int = 100) -> Table:
        """Return documents in key order as Arrow columns ``key`` and ``doc``, of JSON text.

        Args:
            start: First key, or the next one after it. ``None``: from the beginning.
            count: Maximum number of documents.
        """
    def items(self) -> Iterator[tuple[Any, Any]]:
        """Iterate over pairs of keys and documents in key order, from one snapshot."""
    def keys(self) -> Iterator[Any]:
        """Iterate over the keys in order, from one snapshot."""
    def __iter__(self) -> Iterator[Any]: ...
    def create_index(self, name: str, *fields: str, unique: bool = False) -> None:
        """Create an index on fields, which :meth:`find` and scripts use. It follows every change.

        >>> d.create_index("by_city", "/addr/city")

        The index orders documents by the first field, then by the next. It is the relation
        ``name_of_documents:name``; scripts write the field as ``doc->'addr'->'city'``.

        With ``unique``, no two documents have the same values of all fields. A change that would
        leave two raises :class:`InvalidInputError`. Documents in which one of the fields is missing
        or null are not compared.

        Args:
            name: Name of the index.
            fields: Fields.
            unique: Whether documents must differ in the fields.

        Raises:
            InvalidInputError: The name is invalid or taken, there are no fields, one of them is the
                whole document, the documents are those of a transaction, or two documents are equal
                in the fields of a unique index.
        """
    def drop_index(self, name: str) -> None:
        """Drop an index.

        Args:
            name: Name of the index.

        Raises:
            InvalidInputError: There is no such index, or the documents are those of a transaction.
        """
    def find(self, field: str, *value: Any, minimum: Any = None, maximum: Any = None) -> Iterator[tuple[Any, Any]]:
        """Iterate over pairs of keys and documents whose field has a value, in key order.

        >>> dict(d.find("/addr/city", "Oslo"))
        >>> dict(d.find("/age", minimum=18, maximum=21))

        An index on the field finds them; without one, all documents are read. The documents that
        are found are held as text until the iteration ends.

        Args:
            field: Field.
            value: The value that the field equals: 1 and 1.0 are equal, and ``None`` is also the
                value of a field that is missing.
            minimum: Least value, a number or a string. Values of other types are not found.
            maximum: Greatest value, of the same type.

        Raises:
            InvalidInputError: Several values are given, or a value and bounds, or neither; the field
                is the whole document; or the bounds are not numbers or strings of one kind.
        """
    def gist(self) -> Table:
        """Return which fields the documents have.

        Returns:
            Columns ``field``, a JSON Pointer; ``type``, one of ``null``, ``bool``, ``int``,
            ``float``, ``string``, ``list`` and ``object``; and ``documents``, their number. Fields
            of objects are listed, items of lists are not. The empty pointer is the document.
        """
    def gather(self, keys: _Column | None, fields: dict[str, str]) -> tuple[Table, Table, Table]:
        """Return fields of documents as Arrow columns, a row for each key.

        Args:
            keys: Keys. ``None``: all, in key order.
            fields: Type of each field: ``"bool"``, ``"int8"`` to ``"int64"``, ``"uint8"`` to
                ``"uint64"``, ``"float32"``, ``"float64"``, ``"str"``, or ``"json"``, the text of any
                value. A number is converted to a string, and a string that is written as a number
                to one.

        Returns:
            Three tables with a column for each field. The values: null where the document or the
            field is missing or null, or has a value that cannot be converted. Whether a value was
            converted from another type, or rounded. Whether it could not be converted.

        Raises:
            InvalidInputError: A type is unknown, or a field is no pointer.
        """
    def import_ndjson(
        self,
        source: _Path | Iterable[bytes | str],
        key_field: str,
        *,
        commit_every: int | None = None,
    ) -> int:
        """Put a document for each line of JSON; return their number.

        Args:
            source: Path of a file, or an iterable of lines. Empty lines are skipped.
            key_field: Field that has the key of each document; it stays in the document.
            commit_every: Documents after which they are committed, for a file with more than a
                transaction holds. What was committed stays if a later line fails. ``None``: all
                lines are one commit. Without effect in a transaction.

        Raises:
            InvalidInputError: A line is no JSON, or its key is missing or has another type; the
                message has its number. Without ``commit_every`` nothing is imported then. In a
                transaction some lines before may be in it: let it roll back.
            LimitError: The documents are more than a transaction holds.
        """
    def export_ndjson(self, target: _Path | Any, *, key_field: str | None = None) -> int:
        """Write each document as a line of JSON, in key order; return their number.

        Reads one snapshot, or the transaction with its own changes.

        Args:
            target: Path of a file, which is replaced once everything is written, or an object whose
                method ``write`` takes bytes.
            key_field: Field that each document gets with its key. ``None``: none.

        Raises:
            InvalidInputError: A document cannot have the field; or the path lies in the folder of a
                database. Then an existing file is unchanged.
        """
    def import_bson(
        self,
        source: _Path | _Readable | Iterable[bytes],
        key_field: str = "_id",
        *,
        commit_every: int | None = None,
    ) -> int:
        """Put the documents of a BSON file, as ``mongodump`` writes it; return their number.

        BSON's types that JSON lacks become MongoDB's relaxed Extended JSON, such as
        ``{"$oid": "5f43726f6964000102030405"}`` or ``{"$date": "2020-01-01T00:00:00Z"}``;
        :meth:`export_bson` makes the same types of them again.

        Args:
            source: Path of a file of documents one after another, an open file, or an iterable of
                documents.
            key_field: Field that has the key of each document; it stays in the document. An object
                id is a key of ``key="str"``: its 24 hexadecimal digits.
            commit_every: As for :meth:`import_ndjson`.

        Raises:
            InvalidInputError: As for :meth:`import_ndjson`, with the number of the document.
            LimitError: The documents are more than a transaction holds.
        """
    def export_bson(self, target: _Path | Any, *, key_field: str | None = None) -> int:
        """Write each document as BSON, one after another in key order; return their number.

        Args:
            target: As for :meth:`export_ndjson`.
            key_field: Field that each document gets with its key. ``None``: none.

        Raises:
            InvalidInputError: As for :meth:`export_ndjson`; or a document is no object, or has an
                integer beyond 64 signed bits, which BSON does not have.
        """
    def import_msgpack(
        self,
        source: _Path | _Readable | Iterable[bytes],
        key_field: str,
        *,
        commit_every: int | None = None,
    ) -> int:
        """Put the documents of a MessagePack file; return their number.

        Args:
            source: Path of a file of documents one after another, an open file, or an iterable of
                documents.
            key_field: Field that has the key of each document; it stays in the document.
            commit_every: As for :meth:`import_ndjson`.

        Raises:
            InvalidInputError: As for :meth:`import_ndjson`, with the number of the document; or a
                value has no form in JSON: binary data, an extension, a field whose name is not
                text, NaN or an infinity.
            LimitError: The documents are more than a transaction holds.
        """
    def export_msgpack(self, target: _Path | Any, *, key_field: str | None = None) -> int:
        """Write each document as MessagePack, one after another in key order; return their number.

        Args:
            target: As for :meth:`export_ndjson`.
            key_field: Field that each document gets with its key. ``None``: none.

        Raises:
            InvalidInputError: As for :meth:`export_ndjson`.
        """
    def __len__(self) -> int:
        """Return the exact number of documents."""
    def __bool__(self) -> bool:
        """Always true, even without documents: counting takes time."""

@final
class Counters:
    """Numbers by key that grow without being read.

    >>> c = db.counters("bigrams")
    >>> c.add(7)
    >>> c.add(7, 3)
    >>> c[7]
    4

    A sum of integers may leave the range of ``int64`` and return to it; only its value at the time
    of reading matters. If it is out of range, reading this counter alone raises
    :class:`quipu.LimitError`; in arrays it is the end of the range, ``2**63 - 1`` or ``-2**63``,
    which no counter has as its number. A call or transaction that adds more than ``int64`` to a key
    raises :class:`quipu.LimitError` and adds nothing. The last digits of a sum of floats depend on
    the order of additions.

    Any call raises :class:`quipu.InvalidInputError` if the counters were dropped, their database is
    closed, their transaction has ended, or a key is out of range, and :class:`TypeError` if a key
    or a number has another type. Any write raises :class:`quipu.PoisonedError` after a failed
    write.
    """

    @property
    def name(self) -> str:
        """Name of the counters."""
    @property
    def key(self) -> Literal["u64", "i64", "str"]:
        """Type of the keys."""
    @property
    def number_type(self) -> Literal["int64", "float64"]:
        """Type of the numbers."""
    @property
    def combine(self) -> Literal["sum", "min", "max"]:
        """How numbers are combined."""
    def add(self, key: _Vertex, number: float | None = None) -> None:
        """Add a number to a counter, or combine it by minimum or maximum.

        Args:
            key: Key.
            number: The number; ``None`` is 1.
        """
    def add_many(self, keys: _Column, numbers: _Column | None = None) -> None:
        """Add ``numbers[i]``, or 1, to the counter of ``keys[i]``. Keys may repeat.

        Args:
            keys: Keys.
            numbers: Numbers, one per key; ``None``: 1 each.

        Raises:
            InvalidInputError: The columns differ in length, or the numbers are floats and the
                counters integers.
        """
    def __getitem__(self, key: _Vertex) -> float:
        """Return the number of a counter; 0 if nothing was added."""
    def get(self, key: _Vertex, default: Any = None) -> Any:
        """Return the number of a counter, or ``default`` if nothing was added.

        Args:
            key: Key.
            default: Returned if nothing was added.
        """
    def get_many(self, keys: _Column) -> npt.NDArray[Any]:
        """Return the numbers of counters; 0 if nothing was added.

        Args:
            keys: Keys.
        """
    def __contains__(self, key: _Vertex) -> bool: ...
    def __setitem__(self, key: _Vertex, number: float) -> None: ...
    def set(self, key: _Vertex, number: float) -> None:
        """Set the number of a counter; the same as ``counters[key] = number``.

        Args:
            key: Key.
            number: The number.
        """
    def __delitem__(self, key: _Vertex) -> None: ...
    def remove(self, key: _Vertex) -> bool:
        """Delete a counter; return whether it existed.

        Args:
            key: Key.
        """
    def reset(self) -> None:
        """Delete all counters, atomically."""
    def flush(self) -> None:
        """Write the write buffer of durability ``"none"`` to the database.

        This also happens every second. That durability has no log: :meth:`Database.flush` makes
        data survive a killed process.
        """
    def top(self, count: int = 10) -> Table:
        """Return the greatest counters in descending order; of equal ones the smaller key first.

        Args:
            count: Maximum number of counters.

        Returns:
            Columns ``key`` and ``count``.
        """
    def scan(self, start: _Vertex | None = None, count: int = 100, *, backward: bool = False) -> Table:
        """Return up to ``count`` counters in key order, with columns ``key`` and ``count``.

        Args:
            start: First key of the range, inclusive; ``None``: no bound.
            count: Maximum number of counters.
            backward: Scan in descending order from ``start``, or from the last key.
        """
    def range(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> TableStream:
        """Return a stream of all counters from ``start`` up to ``stop``, exclusive, at a snapshot.

        Args:
            start: First key of the range, inclusive; ``None``: no bound.
            stop: End of the range, exclusive; ``None``: no bound.
        """
    def keys(self, start: _Vertex | None = None, stop: _Vertex | None = None) -> Iterator[Any]:
        """Return an iterator over the keys from ``start`` up to ``stop``, exclusive, in key order.

        It reads a snapshot.

        Args:
            start: First key of the range, inclusive; ``None``: no bound.
            stop: End of the range, exclusive; ``None``: no bound.
        """
    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys of a snapshot, in order."""
    def __len__(self) -> int:
        """Return the exact number of counters."""
    def __bool__(self) -> bool:
        """Always true, even without counters: counting takes time."""

@final
class TableStream:
    """Tables of one snapshot, one after another; or, once, an Arrow stream.

    ``rows``, ``to_arrow``, ``to_pandas`` and ``to_polars`` consume the rest of the stream. After
    one of them a further call raises :class:`quipu.InvalidInputError`, and iteration returns no
    more tables.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> Table: ...
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the remaining rows as tuples of plain Python values."""
    def to_arrow(self) -> Any:
        """Return the remaining rows as a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed.
        """
    def to_pandas(self) -> Any:
        """Return the remaining rows as a ``pandas.DataFrame``.

        Raises:
            ImportError: pandas is not installed.
        """
    def to_polars(self) -> Any:
        """Return the remaining rows as a ``polars.DataFrame``.

        Raises:
            ImportError: Polars is not installed.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Graph:
    """A graph with at most one edge per source and target, indexed from both ends.

    A graph of ``key="int"`` may have several, each with a key. Calls that name edges by their ends
    take the key too, and refuse to choose one. Reads of a vertex return all its edges, and other
    ends once.

    A graph of ``directed=False`` takes the ends of an edge in any order. Each vertex of an edge is
    its source and its target there: :meth:`out_edges`, :meth:`in_edges` and :meth:`edges` return
    all edges of a vertex, sorted by the other end. :attr:`edges_table`, :meth:`to_table` and
    exports have each edge once, with its smaller end as the source; of strings that is the one that
    the graph saw first.

    Vertices need not be created: a vertex exists while it has an edge or, in a graph with
    properties of vertices, a row in :attr:`nodes`. Reading a missing vertex is not an error. The
    ``_many`` calls handle a whole column at once and release the GIL. If they return offsets, the
    result for ``vs[i]`` is ``column[offsets[i] : offsets[i + 1]]``.

    Any call raises :class:`quipu.InvalidInputError` if the graph was dropped, its database is
    closed, its transaction has ended, or a vertex is out of the range of the graph's vertices, and
    :class:`TypeError` if a vertex has another type. Any write raises :class:`quipu.PoisonedError`
    after a failed write, and :class:`quipu.InvalidInputError` if the database was opened read-only.
    """

    @property
    def name(self) -> str:
        """Name of the graph."""
    @property
    def vertex(self) -> Literal["u64", "i64", "str"]:
        """Type of the vertices."""
    @property
    def weight(self) -> Literal["float64", "int64"] | None:
        """Type of the weights; ``None`` if edges have no weights."""
    @property
    def key(self) -> Literal["int"] | None:
        """Type of the edges' keys; ``None`` if there is at most one edge per source and target."""
    @property
    def is_directed(self) -> bool:
        """Whether an edge leads from its source to its target alone."""
    def edge(self, u: _Vertex, v: _Vertex, key: int | None = None) -> float | None:
        """Return the weight of the edge from ``u`` to ``v``, or ``None`` if it does not exist.

        Args:
            u: Source.
            v: Target.
            key: Its key, in a graph of parallel edges.

        Returns:
            A ``float``; an ``int`` in a graph of ``weight="int64"``; 1.0 in a graph without
            weights.
        """
    def has_edge(self, u: _Vertex, v: _Vertex, key: int | None = None) -> bool:
        """Return whether there is an edge from ``u`` to ``v``.

        Args:
            u: Source.
            v: Target.
            key: Its key; ``None``: any.
        """
    def edge_keys(self, u: _Vertex, v: _Vertex) -> npt.NDArray[np.int64]:
        """Return the keys of the edges from ``u`` to ``v``, sorted.

        Args:
            u: Source.
            v: Target.

        Raises:
            InvalidInputError: Edges have no keys.
        """
    def edge_many(
        self, us: _Column, vs: _Column, keys: _Column | None = None
    ) -> tuple[npt.NDArray[np.bool_], _Weights]:
        """Look up the edges from ``us[i]`` to ``vs[i]``.

        Args:
            us: Sources.
            vs: Targets, one per source.
            keys: Keys, one per edge, in a graph of parallel edges.

        Returns:
            Whether each edge exists, and its weight. The weight of a missing edge is NaN, or 0 for
            integers.

        Raises:
            InvalidInputError: The columns differ in length.
        """
    def has_edge_many(self, us: _Column, vs: _Column, keys: _Column | None = None) -> npt.NDArray[np.bool_]:
        """Return for each ``i`` whether there is an edge from ``us[i]`` to ``vs[i]``.

        Args:
            us: Sources.
            vs: Targets, one per source.
            keys: Keys, one per edge; ``None``: any.

        Raises:
            InvalidInputError: The columns differ in length.
        """
    @property
    def nodes(self) -> Relation:
        """The relation ``name:nodes`` of the vertices' properties, keyed by ``vertex``.

        Raises:
            InvalidInputError: The graph was created without ``nodes``.
        """
    @property
    def edges_table(self) -> Relation:
        """The relation of the edges: ``src``, ``dst``, perhaps ``key``, ``weight``, properties."""
    def add_node(self, v: _Vertex, /, **properties: Any) -> None:
        """Insert the vertex ``v``, or change some of its properties.

        As in NetworkX, properties that are not given stay as they are; those of a new vertex are
        null.

        Args:
            v: The vertex.
            properties: Values by name.

        Raises:
            InvalidInputError: There is no such property, a value does not fit it, or a new vertex
                lacks one that cannot be null.
            ConflictError: Other writers kept changing the same vertex.
        """
    def add_edge(self, u: _Vertex, v: _Vertex, /, **properties: Any) -> None:
        """Insert the edge from ``u`` to ``v``, or change some of its properties.

        As in NetworkX, properties that are not given stay as they are, the weight included. Those
        of a new edge are null, and its weight is 1.

        Args:
            u: Source.
            v: Target.
            properties: Values by name, ``weight`` among them, and the ``key`` of the edge.

        Raises:
            InvalidInputError: There is no such property, a value does not fit it, or a new edge
                lacks one that cannot be null.
            ConflictError: Other writers kept changing the same edge.
        """
    def upsert_nodes(self, data: _Rows, *, merge: bool = False) -> None:
        """Insert or replace vertices with their properties, atomically.

        Args:
            data: Rows with a column ``vertex``, as for :meth:`Relation.put`. Missing properties
                are null.
            merge: Whether missing properties of existing vertices stay as they are.

        Raises:
            InvalidInputError: A property that cannot be null is missing, a column is unknown, or a
                value does not fit its column.
            ConflictError: Other writers changed the same vertices.
        """
    def upsert_edges(self, data: _Rows, *, merge: bool = False) -> None:
        """Insert or replace edges with their properties, atomically.

        Args:
            data: Rows with columns ``src``, ``dst`` and, where edges have one, ``key``, as for
                :meth:`Relation.put`. A missing weight is 1, and other missing properties are null.
            merge: Whether missing properties of existing edges stay as they are.

        Raises:
            InvalidInputError: A property that cannot be null is missing, a column is unknown, or a
                value does not fit its column.
            ConflictError: Other writers changed the same edges.
        """
    def node(self, v: _Vertex) -> dict[str, Any] | None:
        """Return the properties of ``v``, or ``None`` if it has no row in :attr:`nodes`.

        Args:
            v: The vertex.
        """
    def edge_properties(self, u: _Vertex, v: _Vertex, key: int | None = None) -> dict[str, Any] | None:
        """Return the properties of the edge from ``u`` to ``v``, or ``None`` if it does not exist.

        Args:
            u: Source.
            v: Target.
            key: Its key, in a graph of parallel edges.
        """
    def node_many(self, vs: _Column) -> tuple[npt.NDArray[np.bool_], Table]:
        """Return whether each vertex has a row in :attr:`nodes`, and a table of these rows.

        Args:
            vs: The vertices. The table has their order.
        """
    def edge_properties_many(
        self, us: _Column, vs: _Column, keys: _Column | None = None
    ) -> tuple[npt.NDArray[np.bool_], Table]:
        """Return whether each edge exists, and a table of those that do, with their properties.

        Args:
            us: Sources.
            vs: Targets, one per source. The table has the order of the pairs.
            keys: Keys, one per edge, in a graph of parallel edges.

        Raises:
            InvalidInputError: The columns differ in length.
        """
    def out_edges(self, v: _Vertex) -> tuple[_Vertices, _Vertices, _Weights]:
        """Return the outgoing edges of ``v``, sorted by target.

        Args:
            v: The vertex.

        Returns:
            Sources (all ``v``), targets and weights.
        """
    def in_edges(self, v: _Vertex) -> tuple[_Vertices, _Vertices, _Weights]:
        """Return the incoming edges of ``v``, sorted by source.

        Args:
            v: The vertex.

        Returns:
            Sources, targets (all ``v``) and weights.
        """
    def edges(self, v: _Vertex) -> tuple[_Vertices, _Vertices, _Weights]:
        """Return the edges of ``v``: outgoing, then incoming; a self-loop occurs once.

        Args:
            v: The vertex.

        Returns:
            Sources, targets and weights. In an undirected graph all sources are ``v``.
        """
    def out_edges_many(self, vs: _Column) -> tuple[_Offsets, _Vertices, _Vertices, _Weights]:
        """Return the outgoing edges of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Offsets, sources, targets and weights.
        """
    def in_edges_many(self, vs: _Column) -> tuple[_Offsets, _Vertices, _Vertices, _Weights]:
        """Return the incoming edges of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Offsets, sources, targets and weights.
        """
    def edges_many(self, vs: _Column) -> tuple[_Offsets, _Vertices, _Vertices, _Weights]:
        """Return the edges of each of ``vs``, as :meth:`edges` does.

        Args:
            vs: Vertices.

        Returns:
            Offsets, sources, targets and weights.
        """
    def successors(self, v: _Vertex) -> _Vertices:
        """Return the targets of the outgoing edges of ``v``, sorted.

        Args:
            v: The vertex; with a self-loop it is its own successor.
        """
    def predecessors(self, v: _Vertex) -> _Vertices:
        """Return the sources of the incoming edges of ``v``, sorted.

        Args:
            v: The vertex; with a self-loop it is its own predecessor.
        """
    def neighbors(self, v: _Vertex) -> _Vertices:
        """Return the successors and predecessors of ``v``, sorted and without duplicates.

        Args:
            v: The vertex; it is never its own neighbor.
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
        """Return the neighbors of each of ``vs``.

        Args:
            vs: Vertices.

        Returns:
            Offsets and vertices.
        """
    def degree(self, v: _Vertex) -> tuple[int, float]:
        """Return the number of edges of ``v`` and the sum of their weights.

        A self-loop counts once.

        Args:
            v: The vertex.
        """
    def out_degree(self, v: _Vertex) -> tuple[int, float]:
        """Return the number of outgoing edges of ``v`` and the sum of their weights.

        Args:
            v: The vertex.
        """
    def in_degree(self, v: _Vertex) -> tuple[int, float]:
        """Return the number of incoming edges of ``v`` and the sum of their weights.

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
    def upsert(self, u: _Vertex, v: _Vertex, w: float | None = None, *, key: int | None = None) -> None:
        """Insert the edge from ``u`` to ``v``, or set its weight.

        The whole edge is replaced: other properties become null. :meth:`add_edge` keeps them.

        Args:
            u: Source.
            v: Target.
            w: Weight; ``None`` is 1.
            key: Its key, in a graph of parallel edges.

        Raises:
            InvalidInputError: There is a weight, but the graph has none; or edges have a property
                that cannot be null.
            TypeError: The weight does not have the graph's type.
        """
    def upsert_many(self, us: _Column, vs: _Column, ws: _Column | None = None, *, keys: _Column | None = None) -> None:
        """Insert the edges from ``us[i]`` to ``vs[i]``, or set their weights, atomically.

        Whole edges are replaced, as by :meth:`upsert`.

        Args:
            us: Sources.
            vs: Targets, one per source.
            ws: Weights, one per edge; ``None``: 1 each. If a pair occurs twice, the last weight
                wins.
            keys: Keys, one per edge, in a graph of parallel edges.

        Raises:
            InvalidInputError: The columns differ in length; there are weights, but the graph has
                none; or edges have a property that cannot be null.
        """
    def remove(self, u: _Vertex, v: _Vertex, key: int | None = None) -> bool:
        """Remove the edge from ``u`` to ``v``; return whether it existed.

        Args:
            u: Source.
            v: Target.
            key: Its key, in a graph of parallel edges.
        """
    def remove_many(self, us: _Column, vs: _Column, keys: _Column | None = None) -> npt.NDArray[np.bool_]:
        """Remove the edges from ``us[i]`` to ``vs[i]``, atomically.

        Args:
            us: Sources.
            vs: Targets, one per source.
            keys: Keys, one per edge, in a graph of parallel edges.

        Returns:
            Whether each existed; false for the repetition of a pair.

        Raises:
            InvalidInputError: The columns differ in length.
        """
    def remove_vertex(self, v: _Vertex) -> int:
        """Remove ``v``, that is its edges and properties; return the number of edges.

        Args:
            v: The vertex.

        Raises:
            ConflictError: Other writers kept changing the same edges.
        """
    def clear(self) -> None:
        """Remove all edges, and all properties of vertices, atomically."""
    def number_of_edges(self) -> int:
        """Return the number of edges."""
    def number_of_vertices(self) -> int:
        """Return the number of vertices that have an edge. Reads the ends of all edges."""
    def has_vertex(self, v: _Vertex) -> bool:
        """Return whether ``v`` has an edge.

        Args:
            v: The vertex.
        """
    def vertices(self) -> _Vertices:
        """Return all vertices that have an edge.

        Integers are sorted; strings are in the order of their ids.
        """
    def to_table(self) -> Table:
        """Return all edges of the current snapshot, sorted by source and target."""
    def import_csv(
        self,
        path: _Files,
        *,
        columns: Sequence[int | str] | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        on_error: Literal["fail", "skip"] = "fail",
        missing: float | Literal["fail", "skip"] | None = None,
        quote: Literal['"'] | None = '"',
        skip_rows: int = 0,
        comment: str | None = None,
        decimal: Literal[".", ","] = ".",
        null_values: Sequence[str] | None = None,
        progress: _Progress = None,
    ) -> ImportReport:
        """Import edges from files of text, or of a format that is detected.

        Fields are separated by commas, tabs, other delimiters or white space. Matrix Market, KONECT,
        GraphML, GEXF, GML, Pajek, DIMACS, METIS and NetworkX's edge lists are detected, as are
        Parquet and Arrow files. Files are plain, or compressed with gzip, Zstandard, bzip2, xz, LZ4
        or zip. :attr:`ImportReport.detected` says what was found.

        Existing edges get the new weights. The import becomes visible atomically and is durable
        when it returns, whatever the durability of commits.

        In a graph with properties, columns with their names become the properties, here and in
        :meth:`import_parquet` and :meth:`import_arrow`. Such rows must fit in the memory of an
        import. Text then needs a header; an empty field without quotes is null.

        Args:
            path: A path, a pattern such as ``"part-*.csv"``, a folder, a ``file://`` URL, a pipe, an
                open file, or a list of these. Several files are one import.
            columns: Source, target and optionally weight: names in the header, or positions from 0.
                ``None``: well-known names, else the first two or three in this order, unless a name
                excludes that.
            delimiter: One character; a space is any white space. ``None``: detected.
            header: Whether the first record has the column names. ``None``: detected.
            on_error: Whether a bad line fails the import, or is skipped and reported.
            missing: Treatment of an edge without a weight (an empty field, a null, ``NA``, ``nan``):
                it gets this weight, is left out with ``"skip"``, or fails the import with a count and
                the first places. ``NaN`` in this spelling is a value.
            quote: ``None``: a quote is an ordinary character. A quoted field reaches over at most
                100 lines.
            skip_rows: Lines at the start to skip, before anything is detected.
            comment: The character that starts a comment. ``None``: ``#`` and ``%``; in graphs of
                ``vertex="str"`` only before the first record.
            decimal: The decimal mark of weights.
            null_values: Further spellings of a missing weight.
            progress: ``True`` draws a line on the terminal. A callable is called a few times per
                second with a dict of ``phase``, ``rows``, ``bytes_read``, ``bytes_total`` (or
                ``None``), ``fraction`` and ``seconds``; an exception in it ends the import.

        Returns:
            Figures of the import.

        Raises:
            InvalidInputError: The text is not valid; ``line`` and ``column`` say where. Nothing was
                imported.
            MissingFileError: There is no such file. It is a :class:`FileNotFoundError`, too.
            LimitError: The memory limit is too small and there is no disk to spill to. Nothing was
                imported.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def import_nodes(
        self,
        source: _Files | _Edges,
        *,
        column: int | str | None = None,
        delimiter: str | None = None,
        on_error: Literal["fail", "skip"] = "fail",
        quote: Literal['"'] | None = '"',
        skip_rows: int = 0,
        comment: str | None = None,
        decimal: Literal[".", ","] = ".",
        null_values: Sequence[str] | None = None,
        progress: _Progress = None,
    ) -> ImportReport:
        """Import vertices with their properties.

        Columns become the properties with their names; other columns are ignored. Rows of existing
        vertices are replaced, and properties without a column become null. All rows become visible
        in one step, and must fit in the memory of an import.

        >>> g.import_nodes({"vertex": [1, 2], "kind": ["book", None]}).nodes
        2

        Args:
            source: Files of text with a header, Parquet or Arrow as in :meth:`import_csv`, or a table
                as in :meth:`import_arrow`.
            column: The column of the vertex, by name or from 0. ``None``: ``vertex``, ``id``,
                ``:ID``, ``node``, or the first.
            delimiter: As in :meth:`import_csv`, as are the other arguments.
            on_error: What a bad row does.
            quote: ``None`` for text without quotes.
            skip_rows: Lines of text to skip.
            comment: The mark of comments.
            decimal: The decimal mark.
            null_values: Further spellings of a missing value.
            progress: Whether and where progress is shown.

        Returns:
            Figures of the import.

        Raises:
            InvalidInputError: The graph has no rows of vertices, or a value does not fit; the message
                has the line. Nothing was imported.
            MissingFileError: There is no such file.
            LimitError: The rows exceed the memory of an import. Nothing was imported.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def import_parquet(
        self,
        path: _Files,
        *,
        columns: Sequence[int | str] | None = None,
        missing: float | Literal["fail", "skip"] | None = None,
        progress: _Progress = None,
    ) -> ImportReport:
        """Import Parquet files.

        Args:
            path: As in :meth:`import_csv`.
            columns: As in :meth:`import_csv`. The index of a pandas frame is no column.
            missing: As in :meth:`import_csv`, for nulls. NaN is a value.
            progress: As in :meth:`import_csv`.

        Returns:
            Figures of the import.

        Raises:
            InvalidInputError: Columns are missing or have other types, or values are no vertices; see
                :meth:`import_arrow`. Nothing was imported.
            MissingFileError: There is no such file.
            LimitError: As in :meth:`import_csv`.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def import_arrow(
        self,
        table: _Edges,
        *,
        columns: Sequence[int | str] | None = None,
        missing: float | Literal["fail", "skip"] | None = None,
        progress: _Progress = None,
    ) -> ImportReport:
        """Import a table or stream: pyarrow, Polars, pandas, DuckDB, and other collections of edges.

        Vertices of numbers may be floats that are whole numbers, as pandas has them in columns where
        some are missing. A fraction, NaN, null, or a float above 2**53 is an error.

        Args:
            table: An object with Arrow's PyCapsule interface, a LazyFrame, a dict of columns, a list
                of pairs or triples, an array of two or three columns, a NetworkX graph, or a sparse
                matrix of SciPy.
            columns: As in :meth:`import_csv`.
            missing: As in :meth:`import_csv`, for nulls, ``None``, and NaN in columns of NumPy and
                pandas. NaN in Arrow is a value.
            progress: As in :meth:`import_csv`.

        Returns:
            Figures of the import.

        Raises:
            InvalidInputError: The object is none of these, columns are missing or have other types,
                or values are no vertices. Nothing was imported.
            LimitError: As in :meth:`import_csv`.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def import_arrays(
        self,
        us: _Column,
        vs: _Column,
        ws: _Column | None = None,
        *,
        missing: float | Literal["fail", "skip"] | None = None,
        progress: _Progress = None,
    ) -> ImportReport:
        """Import edges from columns in memory.

        This is the fastest way for very many edges. For a few thousand use :meth:`upsert_many`.

        Args:
            us: Sources. Floats that are whole numbers are integers; see :meth:`import_arrow`.
            vs: Targets, one per source.
            ws: Weights, one per edge; ``None``: 1 each.
            missing: As in :meth:`import_csv`, for weights that are NaN or masked.
            progress: As in :meth:`import_csv`.

        Returns:
            Figures of the import.

        Raises:
            InvalidInputError: The columns differ in length, or there are weights, but the graph has
                none, or values are no vertices. Nothing was imported.
            LimitError: As in :meth:`import_csv`.
            KeyboardInterrupt: Ctrl-C stopped it. Nothing was imported.
        """
    def export_parquet(self, path: _Path) -> int:
        """Write all edges of the current snapshot to a Parquet file; return their number.

        Properties are further columns, here and in the other formats.

        Args:
            path: The file. An existing file is replaced after everything is written, and keeps its
                mode and owner. Links are followed. Named pipes and devices are written to directly.

        Raises:
            InvalidInputError: ``path`` is a folder, or lies in the folder of a database or a
                backup.
        """
    def export_csv(self, path: _Path) -> int:
        """Write all edges of the current snapshot as text with a header; return their number.

        Fields are separated by commas; in files whose names end in ``.tsv`` by tabs, in ``.txt`` by
        spaces. With ``.gz`` or ``.zst`` after it the text is compressed. :meth:`import_csv` reads back
        the same edges.

        Args:
            path: The file. An existing file is replaced after everything is written, and keeps its
                mode and owner. Links are followed. Named pipes and devices are written to directly.

        Raises:
            InvalidInputError: ``path`` is a folder, or lies in the folder of a database or a
                backup.
        """
    def export_nodes(self, path: _Path) -> int:
        """Write all rows of vertices with their properties to a file; return their number.

        The end of the name says the format: ``.csv``, ``.tsv``, ``.txt`` (also with ``.gz`` or
        ``.zst``), ``.parquet`` or ``.arrow``. :meth:`import_nodes` reads back the same rows. Vertices
        that have edges and no row are not among them.

        Args:
            path: The file, as in :meth:`export_csv`.

        Raises:
            InvalidInputError: The graph has no rows of vertices, the name says no format, or
                ``path`` is a folder or lies in the folder of a database or a backup.
        """
    def export_arrow(self, path: _Path) -> int:
        """Write all edges of the current snapshot to an Arrow file (Feather); return their number.

        Args:
            path: The file, as in :meth:`export_csv`.

        Raises:
            InvalidInputError: ``path`` is a folder, or lies in the folder of a database or a
                backup.
        """
    def __len__(self) -> int:
        """Return the number of edges."""
    def __contains__(self, v: _Vertex, /) -> bool:
        """Return whether ``v`` has an edge."""
    def _repr_html_(self) -> str: ...
    def project(
        self,
        *,
        weight: str | None = None,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
        parallel: Literal["keep", "sum", "min", "first"] | None = None,
    ) -> Projection:
        """Return a frozen copy of the graph in memory, for algorithms.

        It is read at the newest snapshot, or in the transaction. Until the graph changes, the same
        arguments share one copy, unless there is a condition or ``nodes``. All projections of a
        database together take at most a query's share of ``memory_limit``.

        >>> g.project(weight="weight", where="weight > $least", params={"least": 0.5})

        Args:
            weight: ``"weight"`` if edges keep their weights, or the name of a property of edges, an
                ``int`` or a ``float``, that is their weight; null is 1.
            undirected: Whether each edge leads in both directions.
            nodes: Vertices of a subgraph; ids that are not vertices are ignored.
            parallel: Treatment of several edges between the same vertices: ``"keep"`` all,
                ``"sum"``, ``"min"`` or ``"first"``. In an undirected projection, edges in both
                directions are parallel too. ``None`` is ``"first"`` there, and otherwise
                ``"keep"``. A sum without weights counts the edges.
            where: Condition of the query language over ``src``, ``dst``, ``weight`` and the
                properties of edges. It reads committed edges. Vertices without such an edge are not
                part of the projection.
            params: Values of the condition's parameters.

        Raises:
            LimitError: Projections in use would take too much memory.
            InvalidInputError: The graph has no weights, a weight is not finite, or the condition
                is wrong.
            KeyboardInterrupt: Ctrl-C stopped it.
        """
    def _project(
        self,
        algorithm: str,
        weight: str | None,
        undirected: bool,
        nodes: Iterable[_Vertex] | None,
        where: str | None,
        params: Mapping[str, Any] | None,
    ) -> Projection: ...
    # --- algorithms of Graph, written by tools/algorithms.py
    def all_pairs_shortest_path_length(
        self,
        *,
        cutoff: float | None = None,
        sources: _Vertex | Iterable[_Vertex] | None = None,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The distance of each two vertices with a path, sources in order.

        Args:
            cutoff: Vertices that are farther away are left out.
            sources: Where paths start; without it at all vertices.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def all_shortest_paths(
        self,
        source: _Vertex,
        target: _Vertex,
        *,
        limit: int | None = None,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """All shortest paths between two vertices.

        Args:
            source: The first vertex.
            target: The last vertex.
            limit: Maximum number of paths.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def approximate_betweenness(
        self,
        *,
        error: float = 0.01,
        failure: float = 0.1,
        seed: int = 0,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Betweenness by sampled paths (KADABRA): with probability ``failure`` some error is larger than ``error``.

        Args:
            error: The largest error of a value.
            failure: Probability that some error is larger.
            seed: The same seed gives the same paths.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def articulation_points(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Vertices without which there are more components. Directions have no effect.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def astar_path(
        self,
        source: _Vertex,
        target: _Vertex,
        *,
        heuristic: Mapping[Any, float] | AlgorithmResult | None = None,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """A shortest path between two vertices, found with estimates of the rest (A*).

        Args:
            source: The first vertex.
            target: The last vertex.
            heuristic: Estimated distances to the target, never too large; 0 for other vertices.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def average_clustering(
        self,
        *,
        variant: Literal["networkx", "ldbc"] = "networkx",
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> float:
        """The mean of the clustering of all vertices.

        Args:
            variant: As for ``clustering``.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def bellman_ford(
        self,
        source: _Vertex | Iterable[_Vertex],
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """As ``shortest_paths``, with negative weights.

        Args:
            source: The vertex or vertices from which the search starts.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def betweenness_centrality(
        self,
        *,
        k: int | None = None,
        normalized: bool = True,
        endpoints: bool = False,
        seed: int = 0,
        sources: _Vertex | Iterable[_Vertex] | None = None,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The fraction of shortest paths that lead through each vertex.

        Args:
            k: Number of sampled sources; without it all vertices.
            normalized: Whether values are divided by the largest possible.
            endpoints: Whether a path also counts for its two ends.
            seed: The same seed gives the same sample.
            sources: The sources of paths, in place of a sample.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def bfs(
        self,
        source: _Vertex | Iterable[_Vertex],
        *,
        depth_limit: int | None = None,
        variant: Literal["networkx", "ldbc"] = "networkx",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The number of edges from the nearest source, and the vertex before.

        Args:
            source: The vertex or vertices from which the search starts.
            depth_limit: Vertices that are more edges away are left out.
            variant: ``"ldbc"`` has 2^63 - 1 for vertices that are not reached.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def biconnected_components(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Each edge with its component, which stays connected without any one vertex. Directions have no effect.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def bridges(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Edges without which there are more components. Directions have no effect.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def cdlp(
        self,
        *,
        max_iter: int = 10,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Communities by synchronous label propagation, as in LDBC Graphalytics.

        Args:
            max_iter: Number of rounds.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def center(
        self,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The vertices whose eccentricity is the radius.

        Args:
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def closeness_centrality(
        self,
        *,
        wf_improved: bool = True,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The inverse of the average distance from the vertices that reach a vertex.

        Args:
            wf_improved: Whether it is multiplied by the share of vertices that reach the
                vertex.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def clustering(
        self,
        *,
        variant: Literal["networkx", "ldbc"] = "networkx",
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The share of pairs of neighbors that are neighbors; with weights their geometric mean.

        Args:
            variant: ``"ldbc"`` counts the directed edges between all neighbors.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def conductance(
        self,
        group: _Vertex | Iterable[_Vertex],
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The weight of edges that leave some vertices, by the smaller sum of degrees. Directions have no effect.

        Args:
            group: The vertices on one side.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def connected_components(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The weakly connected component of each vertex, numbered by their smallest vertices.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def core_number(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The largest k such that a vertex is in the k-core. Edges in both directions count twice.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def degree_assortativity_coefficient(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> float:
        """The correlation of the degrees at both ends of the edges.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def degree_centrality(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The number of edges of each vertex divided by the number of other vertices.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def diameter(
        self,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> float:
        """The greatest distance between two vertices.

        Args:
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def eccentricity(
        self,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The greatest distance from each vertex.

        Args:
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def edge_betweenness_centrality(
        self,
        *,
        k: int | None = None,
        normalized: bool = True,
        seed: int = 0,
        sources: _Vertex | Iterable[_Vertex] | None = None,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The fraction of shortest paths that lead along each edge.

        Args:
            k: Number of sampled sources; without it all vertices.
            normalized: Whether values are divided by the largest possible.
            seed: The same seed gives the same sample.
            sources: The sources of paths, in place of a sample.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def eigenvector_centrality(
        self,
        *,
        max_iter: int = 100,
        tol: float = 1e-06,
        nstart: Mapping[Any, float] | AlgorithmResult | None = None,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The eigenvector of the largest eigenvalue over incoming edges.

        Args:
            max_iter: Maximum number of rounds.
            tol: Ends when the average change of a vertex is less than this.
            nstart: The values before the first round; without them all are equal.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def greedy_color(
        self,
        *,
        strategy: Literal["largest_first", "smallest_last", "saturation_largest_first"] = "largest_first",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Colors such that neighbors differ. Directions have no effect.

        Args:
            strategy: The order in which vertices are colored.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def harmonic_centrality(
        self,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The sum of the inverse distances from all vertices that reach a vertex.

        Args:
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def hits(
        self,
        *,
        max_iter: int = 100,
        tol: float = 1e-08,
        nstart: Mapping[Any, float] | AlgorithmResult | None = None,
        normalized: bool = True,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Kleinberg's hubs and authorities.

        Args:
            max_iter: Maximum number of rounds.
            tol: Ends when the average change of a vertex is less than this.
            nstart: The values before the first round; without them all are equal.
            normalized: Whether both columns sum to 1.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def in_degree_centrality(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The number of incoming edges divided by the number of other vertices.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def is_bipartite(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> bool:
        """Whether two colors are enough for the vertices. Directions have no effect.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def is_directed_acyclic_graph(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> bool:
        """Whether the graph is directed and has no cycle.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def k_shortest_paths(
        self,
        source: _Vertex,
        target: _Vertex,
        *,
        k: int = 10,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The shortest paths between two vertices that visit no vertex twice, by length.

        Args:
            source: The first vertex.
            target: The last vertex.
            k: Number of paths.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def katz_centrality(
        self,
        *,
        alpha: float = 0.1,
        beta: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-06,
        nstart: Mapping[Any, float] | AlgorithmResult | None = None,
        normalized: bool = True,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """For each vertex ``beta`` plus ``alpha`` times the sum of its predecessors' values.

        Args:
            alpha: Factor of each further edge.
            beta: The value that each vertex has by itself.
            max_iter: Maximum number of rounds.
            tol: Ends when the average change of a vertex is less than this.
            nstart: The values before the first round; without them all are equal.
            normalized: Whether the result has Euclidean length 1.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def label_propagation(
        self,
        *,
        max_iter: int = 100,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Communities by the labels of neighbors. Directions have no effect.

        Args:
            max_iter: Maximum number of rounds.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def leiden(
        self,
        *,
        resolution: float = 1.0,
        seed: int | None = None,
        max_level: int = 32,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Connected communities of large modularity. Directions have no effect.

        Args:
            resolution: Larger values give smaller communities.
            seed: Seed of random choices; without it the best choices are taken.
            max_level: Maximum number of levels.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def louvain(
        self,
        *,
        max_iter: int = 100,
        threshold: float = 1e-07,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Communities of large modularity.

        Args:
            max_iter: Maximum number of rounds in a level.
            threshold: A level ends when a round gains no more modularity.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def maximal_independent_set(
        self,
        *,
        required: _Vertex | Iterable[_Vertex] | None = None,
        seed: int = 0,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Vertices without edges between them, to which none can be added. Directions have no effect.

        Args:
            required: Vertices that must be in it.
            seed: The same seed gives the same vertices.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def maximal_matching(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Edges without common ends, to which none can be added. Directions have no effect.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def maximum_flow(
        self,
        source: _Vertex,
        target: _Vertex,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The edges of a largest flow, each with its flow.

        Args:
            source: Where the flow begins.
            target: Where the flow ends.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def maximum_flow_value(
        self,
        source: _Vertex,
        target: _Vertex,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> float:
        """The largest flow between two vertices, where weights are capacities.

        Args:
            source: Where the flow begins.
            target: Where the flow ends.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def minimum_cut(
        self,
        source: _Vertex,
        target: _Vertex,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Group 0 of the source and group 1 of the target, with the least capacity between them.

        Args:
            source: Where the flow begins.
            target: Where the flow ends.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def minimum_spanning_tree(
        self,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """A spanning forest of least weight. Directions have no effect.

        Args:
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def modularity(
        self,
        communities: Iterable[Iterable[_Vertex]] | AlgorithmResult,
        *,
        resolution: float = 1.0,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> float:
        """The share of edges inside communities, minus the share expected by chance. Directions have no effect.

        Args:
            communities: Lists of vertices; each vertex is in one.
            resolution: Factor of the expected share; larger values favor smaller communities.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def most_similar(
        self,
        *,
        vertices: _Vertex | Iterable[_Vertex] | None = None,
        k: int = 10,
        measure: Literal["jaccard", "overlap", "common_neighbors", "adamic_adar", "resource_allocation"] = "jaccard",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The vertices with the most similar neighbors. Directions have no effect.

        Args:
            vertices: The vertices to compare with others; without them all.
            k: Number of others for each vertex.
            measure: How similarity is measured.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def onion_layers(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The round in which a vertex leaves its core. Directions have no effect.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def out_degree_centrality(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The number of outgoing edges divided by the number of other vertices.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def overall_reciprocity(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> float:
        """The share of edges whose reverse edge exists.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def pagerank(
        self,
        *,
        alpha: float = 0.85,
        personalization: Mapping[Any, float] | AlgorithmResult | None = None,
        max_iter: int = 100,
        tol: float = 1e-06,
        nstart: Mapping[Any, float] | AlgorithmResult | None = None,
        dangling: Mapping[Any, float] | AlgorithmResult | None = None,
        variant: Literal["networkx", "ldbc"] = "networkx",
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The share of time that a random surfer spends at each vertex.

        Args:
            alpha: Probability of following an edge.
            personalization: Probabilities of a restart; vertices that are left out have 0.
            max_iter: Maximum number of rounds.
            tol: Ends when the average change of a vertex is less than this.
            nstart: The values before the first round; without them all are equal.
            dangling: Where vertices without outgoing edges lead; without it, as
                personalization.
            variant: ``"ldbc"`` runs ``max_iter`` rounds and ignores ``tol``.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def periphery(
        self,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The vertices whose eccentricity is the diameter.

        Args:
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def radius(
        self,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> float:
        """The least eccentricity.

        Args:
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def random_walks(
        self,
        *,
        starts: _Vertex | Iterable[_Vertex] | None = None,
        length: int = 80,
        walks: int = 10,
        p: float = 1.0,
        q: float = 1.0,
        seed: int = 0,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """Random walks; with ``p`` and ``q`` those of node2vec.

        Args:
            starts: Where walks start; without it at all vertices.
            length: Vertices of a walk, the start included.
            walks: Walks from each start.
            p: The larger, the less often a walk goes back.
            q: The larger, the closer a walk stays to the vertex before.
            seed: The same seed gives the same walks.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def shortest_path(
        self,
        source: _Vertex,
        target: _Vertex,
        *,
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """A shortest path between two vertices, by a search from both.

        Args:
            source: The first vertex.
            target: The last vertex.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def shortest_paths(
        self,
        source: _Vertex | Iterable[_Vertex],
        *,
        targets: _Vertex | Iterable[_Vertex] | None = None,
        cutoff: float | None = None,
        variant: Literal["networkx", "ldbc"] = "networkx",
        weight: str | None = "auto",
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The least sum of weights from the nearest source, and the vertex before.

        Args:
            source: The vertex or vertices from which the search starts.
            targets: The search may end when these are reached.
            cutoff: Vertices that are farther are left out.
            variant: ``"ldbc"`` has infinity for vertices that are not reached.
            weight: Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def strongly_connected_components(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The strongly connected component of each vertex, in reverse topological order.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def topological_sort(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """All vertices, each after the sources of its incoming edges.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def transitivity(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> float:
        """The share of paths of two edges that are part of a triangle.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def triangles(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The number of triangles of each vertex. Directions have no effect.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    def truss_number(
        self,
        *,
        undirected: bool = False,
        nodes: Iterable[_Vertex] | None = None,
        where: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AlgorithmResult:
        """The largest k such that an edge is in the k-truss. Directions have no effect.

        Args:
            undirected: Whether directions are ignored.
            nodes: The vertices of a subgraph; without it all.
            where: Condition for edges, see :meth:`project`.
            params: Values of the condition's parameters.
        """
    # --- end of algorithms

@final
class Projection:
    """A frozen graph in memory: the edges of all vertices, one vertex after the other.

    Vertices have positions from 0, in the order of their ids; strings of a stored graph in the order
    in which the graph met them. The edges of the vertex at position ``i`` lead to the positions
    ``targets[offsets[i] : offsets[i + 1]]``, in ascending order. An undirected projection has each
    edge at both ends, a self-loop once.

    The arrays are views without a copy: they cannot be written, and keep the projection in memory.
    Threads may share it. There is a method for each algorithm; names, defaults and meanings are
    those of NetworkX. ``docs/guides/algorithms.md`` describes them.

    Algorithms raise :class:`quipu.InvalidInputError` for a graph that they do not accept, with the
    attribute ``reason``, and :class:`quipu.LimitError` for a result beyond the memory limit. Ctrl-C
    stops them.
    """

    @property
    def ids(self) -> _Vertices:
        """Ids of the vertices."""
    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the edges of each vertex begin, and the number of all."""
    @property
    def targets(self) -> npt.NDArray[np.uint32]:
        """Positions of the targets."""
    @property
    def weights(self) -> npt.NDArray[np.float64] | None:
        """Weights of the edges; ``None`` if each is 1."""
    @property
    def reverse(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.float64] | None]:
        """Offsets, sources and weights of the incoming edges of each vertex, made at first use."""
    @property
    def is_directed(self) -> bool:
        """Whether edges have a direction."""
    @property
    def nbytes(self) -> int:
        """Bytes of ids, offsets, targets and weights."""
    def number_of_vertices(self) -> int:
        """Return the number of vertices."""
    def number_of_edges(self) -> int:
        """Return the number of edges. An undirected edge counts once, parallel edges separately."""
    def positions(self, ids: _Vertex | Iterable[_Vertex]) -> npt.NDArray[np.int64]:
        """Return the positions of vertices, -1 for ids that are not vertices.

        Args:
            ids: Ids of vertices.
        """
    def subgraph(self, nodes: Iterable[_Vertex]) -> Projection:
        """Return some vertices and the edges between them.

        Args:
            nodes: Ids; those that are not vertices are ignored.
        """
    def _run(self, algorithm: str, arguments: dict[str, Any]) -> Any: ...
    def __repr__(self) -> str: ...
    def to_scipy(self) -> Any:
        """Return the adjacency matrix as a ``scipy.sparse.csr_array``, in the order of ``ids``.

        Its indices are the arrays of the projection. Without weights, entries are 1.0. Parallel edges
        are separate entries, which SciPy adds up.
        """
    def to_networkx(self) -> Any:
        """Return a graph of NetworkX with the ids as nodes.

        It is a ``DiGraph`` or a ``Graph``, or a ``MultiDiGraph`` or ``MultiGraph`` if there are
        parallel edges. Weights become the attribute ``weight``.
        """
    def to_igraph(self) -> Any:
        """Return an ``igraph.Graph``. Vertices have the attribute ``name``, edges ``weight``."""
    def to_networkit(self) -> Any:
        """Return a ``networkit.Graph`` whose nodes are the positions in ``ids``."""
    def to_pyg(self) -> Any:
        """Return a ``torch_geometric.data.Data``: ``edge_index``, ``edge_weight`` and ``num_nodes``.

        ``edge_index`` has positions in ``ids``. An undirected edge is there in both directions.
        """
    def ego(self, center: _Vertex, radius: int = 1) -> Projection:
        """Return the vertices within a number of outgoing edges of a vertex, and the edges between them.

        Args:
            center: The vertex.
            radius: Number of edges.
        """
    def sample(
        self,
        nodes: _Vertex | Iterable[_Vertex],
        fan_outs: Sequence[int],
        *,
        seed: int = 0,
        incoming: bool = False,
    ) -> Sample:
        """Return a sample of the neighborhood of some vertices, for training on graphs.

        Each vertex of a hop keeps at most that hop's number of edges, chosen at random without
        replacement. The same seed gives the same sample.

        >>> g.project().sample([1, 2], [10, 5], seed=7).ids

        Args:
            nodes: The vertices; each counts once.
            fan_outs: For each hop the largest number of edges of a vertex.
            seed: Seed of the random numbers.
            incoming: Whether edges are followed from target to source.

        Raises:
            InvalidInputError: A vertex is not part of the projection, or a fan-out is negative.
        """
    def samples(
        self,
        nodes: Iterable[_Vertex] | None = None,
        fan_outs: Sequence[int] = (10, 10),
        *,
        batch_size: int = 512,
        shuffle: bool = True,
        seed: int = 0,
        incoming: bool = False,
    ) -> Iterator[Sample]:
        """Return an iterator over samples of the neighborhoods of batches of vertices.

        >>> for batch in g.project().samples(fan_outs=[10, 5], batch_size=256): ...

        Args:
            nodes: The vertices; ``None``: all.
            fan_outs: As in :meth:`sample`.
            batch_size: Number of vertices in a batch; the last may have fewer.
            shuffle: Whether vertices are put in a random order.
            seed: Seed of the order and of the samples.
            incoming: As in :meth:`sample`.

        Raises:
            InvalidInputError: As in :meth:`sample`, or a batch has no vertex.
        """
    # --- algorithms of Projection, written by tools/algorithms.py
    def all_pairs_shortest_path_length(
        self, *, cutoff: float | None = None, sources: _Vertex | Iterable[_Vertex] | None = None
    ) -> AlgorithmResult:
        """The distance of each two vertices with a path, sources in order.

        Args:
            cutoff: Vertices that are farther away are left out.
            sources: Where paths start; without it at all vertices.
        """
    def all_shortest_paths(self, source: _Vertex, target: _Vertex, *, limit: int | None = None) -> AlgorithmResult:
        """All shortest paths between two vertices.

        Args:
            source: The first vertex.
            target: The last vertex.
            limit: Maximum number of paths.
        """
    def approximate_betweenness(self, *, error: float = 0.01, failure: float = 0.1, seed: int = 0) -> AlgorithmResult:
        """Betweenness by sampled paths (KADABRA): with probability ``failure`` some error is larger than ``error``.

        Args:
            error: The largest error of a value.
            failure: Probability that some error is larger.
            seed: The same seed gives the same paths.
        """
    def articulation_points(self) -> AlgorithmResult:
        """Vertices without which there are more components. Directions have no effect."""
    def astar_path(
        self, source: _Vertex, target: _Vertex, *, heuristic: Mapping[Any, float] | AlgorithmResult | None = None
    ) -> AlgorithmResult:
        """A shortest path between two vertices, found with estimates of the rest (A*).

        Args:
            source: The first vertex.
            target: The last vertex.
            heuristic: Estimated distances to the target, never too large; 0 for other vertices.
        """
    def average_clustering(self, *, variant: Literal["networkx", "ldbc"] = "networkx") -> float:
        """The mean of the clustering of all vertices.

        Args:
            variant: As for ``clustering``.
        """
    def bellman_ford(self, source: _Vertex | Iterable[_Vertex]) -> AlgorithmResult:
        """As ``shortest_paths``, with negative weights.

        Args:
            source: The vertex or vertices from which the search starts.
        """
    def betweenness_centrality(
        self,
        *,
        k: int | None = None,
        normalized: bool = True,
        endpoints: bool = False,
        seed: int = 0,
        sources: _Vertex | Iterable[_Vertex] | None = None,
    ) -> AlgorithmResult:
        """The fraction of shortest paths that lead through each vertex.

        Args:
            k: Number of sampled sources; without it all vertices.
            normalized: Whether values are divided by the largest possible.
            endpoints: Whether a path also counts for its two ends.
            seed: The same seed gives the same sample.
            sources: The sources of paths, in place of a sample.
        """
    def bfs(
        self,
        source: _Vertex | Iterable[_Vertex],
        *,
        depth_limit: int | None = None,
        variant: Literal["networkx", "ldbc"] = "networkx",
    ) -> AlgorithmResult:
        """The number of edges from the nearest source, and the vertex before.

        Args:
            source: The vertex or vertices from which the search starts.
            depth_limit: Vertices that are more edges away are left out.
            variant: ``"ldbc"`` has 2^63 - 1 for vertices that are not reached.
        """
    def biconnected_components(self) -> AlgorithmResult:
        """Each edge with its component, which stays connected without any one vertex. Directions have no effect."""
    def bridges(self) -> AlgorithmResult:
        """Edges without which there are more components. Directions have no effect."""
    def cdlp(self, *, max_iter: int = 10) -> AlgorithmResult:
        """Communities by synchronous label propagation, as in LDBC Graphalytics.

        Args:
            max_iter: Number of rounds.
        """
    def center(self) -> AlgorithmResult:
        """The vertices whose eccentricity is the radius."""
    def closeness_centrality(self, *, wf_improved: bool = True) -> AlgorithmResult:
        """The inverse of the average distance from the vertices that reach a vertex.

        Args:
            wf_improved: Whether it is multiplied by the share of vertices that reach the
                vertex.
        """
    def clustering(self, *, variant: Literal["networkx", "ldbc"] = "networkx") -> AlgorithmResult:
        """The share of pairs of neighbors that are neighbors; with weights their geometric mean.

        Args:
            variant: ``"ldbc"`` counts the directed edges between all neighbors.
        """
    def conductance(self, group: _Vertex | Iterable[_Vertex]) -> AlgorithmResult:
        """The weight of edges that leave some vertices, by the smaller sum of degrees. Directions have no effect.

        Args:
            group: The vertices on one side.
        """
    def connected_components(self) -> AlgorithmResult:
        """The weakly connected component of each vertex, numbered by their smallest vertices."""
    def core_number(self) -> AlgorithmResult:
        """The largest k such that a vertex is in the k-core. Edges in both directions count twice."""
    def degree_assortativity_coefficient(self) -> float:
        """The correlation of the degrees at both ends of the edges."""
    def degree_centrality(self) -> AlgorithmResult:
        """The number of edges of each vertex divided by the number of other vertices."""
    def diameter(self) -> float:
        """The greatest distance between two vertices."""
    def eccentricity(self) -> AlgorithmResult:
        """The greatest distance from each vertex."""
    def edge_betweenness_centrality(
        self,
        *,
        k: int | None = None,
        normalized: bool = True,
        seed: int = 0,
        sources: _Vertex | Iterable[_Vertex] | None = None,
    ) -> AlgorithmResult:
        """The fraction of shortest paths that lead along each edge.

        Args:
            k: Number of sampled sources; without it all vertices.
            normalized: Whether values are divided by the largest possible.
            seed: The same seed gives the same sample.
            sources: The sources of paths, in place of a sample.
        """
    def eigenvector_centrality(
        self, *, max_iter: int = 100, tol: float = 1e-06, nstart: Mapping[Any, float] | AlgorithmResult | None = None
    ) -> AlgorithmResult:
        """The eigenvector of the largest eigenvalue over incoming edges.

        Args:
            max_iter: Maximum number of rounds.
            tol: Ends when the average change of a vertex is less than this.
            nstart: The values before the first round; without them all are equal.
        """
    def greedy_color(
        self, *, strategy: Literal["largest_first", "smallest_last", "saturation_largest_first"] = "largest_first"
    ) -> AlgorithmResult:
        """Colors such that neighbors differ. Directions have no effect.

        Args:
            strategy: The order in which vertices are colored.
        """
    def harmonic_centrality(self) -> AlgorithmResult:
        """The sum of the inverse distances from all vertices that reach a vertex."""
    def hits(
        self,
        *,
        max_iter: int = 100,
        tol: float = 1e-08,
        nstart: Mapping[Any, float] | AlgorithmResult | None = None,
        normalized: bool = True,
    ) -> AlgorithmResult:
        """Kleinberg's hubs and authorities.

        Args:
            max_iter: Maximum number of rounds.
            tol: Ends when the average change of a vertex is less than this.
            nstart: The values before the first round; without them all are equal.
            normalized: Whether both columns sum to 1.
        """
    def in_degree_centrality(self) -> AlgorithmResult:
        """The number of incoming edges divided by the number of other vertices."""
    def is_bipartite(self) -> bool:
        """Whether two colors are enough for the vertices. Directions have no effect."""
    def is_directed_acyclic_graph(self) -> bool:
        """Whether the graph is directed and has no cycle."""
    def k_shortest_paths(self, source: _Vertex, target: _Vertex, *, k: int = 10) -> AlgorithmResult:
        """The shortest paths between two vertices that visit no vertex twice, by length.

        Args:
            source: The first vertex.
            target: The last vertex.
            k: Number of paths.
        """
    def katz_centrality(
        self,
        *,
        alpha: float = 0.1,
        beta: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-06,
        nstart: Mapping[Any, float] | AlgorithmResult | None = None,
        normalized: bool = True,
    ) -> AlgorithmResult:
        """For each vertex ``beta`` plus ``alpha`` times the sum of its predecessors' values.

        Args:
            alpha: Factor of each further edge.
            beta: The value that each vertex has by itself.
            max_iter: Maximum number of rounds.
            tol: Ends when the average change of a vertex is less than this.
            nstart: The values before the first round; without them all are equal.
            normalized: Whether the result has Euclidean length 1.
        """
    def label_propagation(self, *, max_iter: int = 100) -> AlgorithmResult:
        """Communities by the labels of neighbors. Directions have no effect.

        Args:
            max_iter: Maximum number of rounds.
        """
    def leiden(self, *, resolution: float = 1.0, seed: int | None = None, max_level: int = 32) -> AlgorithmResult:
        """Connected communities of large modularity. Directions have no effect.

        Args:
            resolution: Larger values give smaller communities.
            seed: Seed of random choices; without it the best choices are taken.
            max_level: Maximum number of levels.
        """
    def louvain(self, *, max_iter: int = 100, threshold: float = 1e-07) -> AlgorithmResult:
        """Communities of large modularity.

        Args:
            max_iter: Maximum number of rounds in a level.
            threshold: A level ends when a round gains no more modularity.
        """
    def maximal_independent_set(
        self, *, required: _Vertex | Iterable[_Vertex] | None = None, seed: int = 0
    ) -> AlgorithmResult:
        """Vertices without edges between them, to which none can be added. Directions have no effect.

        Args:
            required: Vertices that must be in it.
            seed: The same seed gives the same vertices.
        """
    def maximal_matching(self) -> AlgorithmResult:
        """Edges without common ends, to which none can be added. Directions have no effect."""
    def maximum_flow(self, source: _Vertex, target: _Vertex) -> AlgorithmResult:
        """The edges of a largest flow, each with its flow.

        Args:
            source: Where the flow begins.
            target: Where the flow ends.
        """
    def maximum_flow_value(self, source: _Vertex, target: _Vertex) -> float:
        """The largest flow between two vertices, where weights are capacities.

        Args:
            source: Where the flow begins.
            target: Where the flow ends.
        """
    def minimum_cut(self, source: _Vertex, target: _Vertex) -> AlgorithmResult:
        """Group 0 of the source and group 1 of the target, with the least capacity between them.

        Args:
            source: Where the flow begins.
            target: Where the flow ends.
        """
    def minimum_spanning_tree(self) -> AlgorithmResult:
        """A spanning forest of least weight. Directions have no effect."""
    def modularity(
        self, communities: Iterable[Iterable[_Vertex]] | AlgorithmResult, *, resolution: float = 1.0
    ) -> float:
        """The share of edges inside communities, minus the share expected by chance. Directions have no effect.

        Args:
            communities: Lists of vertices; each vertex is in one.
            resolution: Factor of the expected share; larger values favor smaller communities.
        """
    def most_similar(
        self,
        *,
        vertices: _Vertex | Iterable[_Vertex] | None = None,
        k: int = 10,
        measure: Literal["jaccard", "overlap", "common_neighbors", "adamic_adar", "resource_allocation"] = "jaccard",
    ) -> AlgorithmResult:
        """The vertices with the most similar neighbors. Directions have no effect.

        Args:
            vertices: The vertices to compare with others; without them all.
            k: Number of others for each vertex.
            measure: How similarity is measured.
        """
    def onion_layers(self) -> AlgorithmResult:
        """The round in which a vertex leaves its core. Directions have no effect."""
    def out_degree_centrality(self) -> AlgorithmResult:
        """The number of outgoing edges divided by the number of other vertices."""
    def overall_reciprocity(self) -> float:
        """The share of edges whose reverse edge exists."""
    def pagerank(
        self,
        *,
        alpha: float = 0.85,
        personalization: Mapping[Any, float] | AlgorithmResult | None = None,
        max_iter: int = 100,
        tol: float = 1e-06,
        nstart: Mapping[Any, float] | AlgorithmResult | None = None,
        dangling: Mapping[Any, float] | AlgorithmResult | None = None,
        variant: Literal["networkx", "ldbc"] = "networkx",
    ) -> AlgorithmResult:
        """The share of time that a random surfer spends at each vertex.

        Args:
            alpha: Probability of following an edge.
            personalization: Probabilities of a restart; vertices that are left out have 0.
            max_iter: Maximum number of rounds.
            tol: Ends when the average change of a vertex is less than this.
            nstart: The values before the first round; without them all are equal.
            dangling: Where vertices without outgoing edges lead; without it, as
                personalization.
            variant: ``"ldbc"`` runs ``max_iter`` rounds and ignores ``tol``.
        """
    def periphery(self) -> AlgorithmResult:
        """The vertices whose eccentricity is the diameter."""
    def radius(self) -> float:
        """The least eccentricity."""
    def random_walks(
        self,
        *,
        starts: _Vertex | Iterable[_Vertex] | None = None,
        length: int = 80,
        walks: int = 10,
        p: float = 1.0,
        q: float = 1.0,
        seed: int = 0,
    ) -> AlgorithmResult:
        """Random walks; with ``p`` and ``q`` those of node2vec.

        Args:
            starts: Where walks start; without it at all vertices.
            length: Vertices of a walk, the start included.
            walks: Walks from each start.
            p: The larger, the less often a walk goes back.
            q: The larger, the closer a walk stays to the vertex before.
            seed: The same seed gives the same walks.
        """
    def shortest_path(self, source: _Vertex, target: _Vertex) -> AlgorithmResult:
        """A shortest path between two vertices, by a search from both.

        Args:
            source: The first vertex.
            target: The last vertex.
        """
    def shortest_paths(
        self,
        source: _Vertex | Iterable[_Vertex],
        *,
        targets: _Vertex | Iterable[_Vertex] | None = None,
        cutoff: float | None = None,
        variant: Literal["networkx", "ldbc"] = "networkx",
    ) -> AlgorithmResult:
        """The least sum of weights from the nearest source, and the vertex before.

        Args:
            source: The vertex or vertices from which the search starts.
            targets: The search may end when these are reached.
            cutoff: Vertices that are farther are left out.
            variant: ``"ldbc"`` has infinity for vertices that are not reached.
        """
    def strongly_connected_components(self) -> AlgorithmResult:
        """The strongly connected component of each vertex, in reverse topological order."""
    def topological_sort(self) -> AlgorithmResult:
        """All vertices, each after the sources of its incoming edges."""
    def transitivity(self) -> float:
        """The share of paths of two edges that are part of a triangle."""
    def triangles(self) -> AlgorithmResult:
        """The number of triangles of each vertex. Directions have no effect."""
    def truss_number(self) -> AlgorithmResult:
        """The largest k such that an edge is in the k-truss. Directions have no effect."""
    # --- end of algorithms

@final
class AlgorithmResult:
    """The result of an algorithm, as named columns.

    Most results have a row for each vertex: ``ids`` and ``values``. Searches leave out vertices
    that are not reached. Others have edges, paths or walks; ``columns`` has the names of the columns,
    and ``result[name]`` is a column. It has Arrow's PyCapsule interface.
    """

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
    @property
    def projection(self) -> Projection:
        """The projection on which it ran."""
    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    @property
    def ids(self) -> _Vertices:
        """Ids of the vertices, one for each row."""
    @property
    def values(self) -> npt.NDArray[Any]:
        """The first column of numbers: ranks, distances, groups."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Any: ...
    def to_dict(self) -> dict[Any, Any]:
        """Return the values by vertex, or by pairs of vertices for edges."""
    def top(self, n: int = 10) -> list[tuple[Any, Any]]:
        """Return the vertices with the largest values as pairs, the largest first.

        Args:
            n: Number of vertices.
        """
    def path(self, goal: _Vertex) -> list[Any]:
        """Return the vertices on a shortest path from a source of a search.

        Args:
            goal: The last vertex.

        Raises:
            InvalidInputError: It was not reached (``reason`` is ``"no_path"``).
            TypeError: The algorithm is not a search.
        """
    def paths(self) -> list[list[Any]]:
        """Return the vertices of each path or walk.

        Raises:
            TypeError: The algorithm finds no paths.
        """
    def groups(self) -> list[_Vertices]:
        """Return the ids of each component or community.

        Raises:
            TypeError: The algorithm finds no groups.
        """
    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``."""
    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``."""
    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``."""
    def write(self, relation: str) -> None:
        """Write the columns to a relation, which is created, or replaced if it exists.

        Its keys are the vertex, the two ends of an edge, or a path and a step.

        Args:
            relation: Name of the relation.

        Raises:
            InvalidInputError: The name belongs to a graph or something else.
        """
    def write_property(self, graph: Graph, name: str) -> None:
        """Write the values of vertices as a property of a graph's vertices.

        The graph was created with this property of vertices; other properties are kept. Outside of
        a transaction each 50,000 vertices are a commit.

        >>> g.pagerank().write_property(g, "rank")

        Args:
            graph: The graph, or the graph in a transaction.
            name: The property.

        Raises:
            InvalidInputError: The graph has no such property, its type does not fit, or the result
                has no value for each vertex.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __repr__(self) -> str: ...

@final
class Table:
    """Rows with named columns, of the snapshot at which they were read.

    ``table["src"]`` is a list of the values of a column. It has Arrow's PyCapsule interface, which
    pyarrow, Polars, pandas, DuckDB and others accept.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns: ``src``, ``dst`` and, with weights, ``weight`` for edges."""
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
        """Return a ``polars.DataFrame``. UUIDs become strings.

        Raises:
            ImportError: Polars is not installed.
        """
    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dict for each row, with the values of :meth:`rows` by column."""
    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """Return a NumPy array for each column.

        Integers become ``uint64`` or ``int64``, floats ``float64``; any other column becomes an
        object array of the values of :meth:`rows`.
        """
    def __getitem__(self, column: str, /) -> list[Any]: ...
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
        """Its type in the notation of scripts: ``Int``, ``String?``, ``[Float; 3]``."""
    @property
    def is_key(self) -> bool:
        """Whether it is a key column."""
    @property
    def default(self) -> str | None:
        """The expression for its value if a row has none; ``None`` without a default."""

@final
class Relation:
    """A relation by name: its columns, its rows as Arrow, and changes by whole tables of rows.

    >>> city = db.relation("city", create="{name: String => people: Int}")
    >>> city.put({"name": ["Lima", "Cusco"], "people": [10092000, 428450]})
    >>> city.to_polars()

    Rows to write are any object with Arrow's PyCapsule interface (a pyarrow table, a pandas or
    Polars frame), a dict of columns, a list of rows (tuples in the order of the columns, or dicts)
    or a :class:`Result`. Columns are matched by name; columns with a default may be missing. Each
    change is atomic, in a transaction of its own unless the relation belongs to a transaction.
    Indexes are updated, and triggers run.

    Any call raises :class:`quipu.InvalidInputError` if the relation was dropped, its access level
    forbids the call, its database is closed or its transaction has ended. A change also raises it
    for missing and unknown columns, and for a value that does not fit its column; the message names
    relation, row and column. A change raises :class:`quipu.LimitError` if the rows exceed the
    memory of a transaction, :class:`quipu.ConflictError` if another commit won, :class:`TypeError`
    if a value has an unsupported type, and :class:`KeyboardInterrupt` on Ctrl-C.
    """

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def columns(self) -> list[Column]:
        """Its columns at the time of opening, keys first."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def rows(self) -> list[tuple[Any, ...]]:
        """Return all rows in key order, with values as in :meth:`Result.rows`."""
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def get_many(self, keys: _Rows) -> tuple[npt.NDArray[np.bool_], Table]:
        """Look up rows by their keys.

        Args:
            keys: Rows of the key columns.

        Returns:
            Whether each key exists, and a table of the rows that do, in the order of the keys.

        Raises:
            InvalidInputError: A key column is missing, or a value does not fit it.
        """
    def put(self, data: _Rows) -> None:
        """Insert rows, and overwrite those with the same keys.

        Args:
            data: The rows.
        """
    def insert(self, data: _Rows) -> None:
        """Insert rows with new keys.

        Args:
            data: The rows.

        Raises:
            InvalidInputError: A key already exists.
        """
    def update(self, data: _Rows) -> None:
        """Change some value columns of existing rows; the others are unchanged.

        Args:
            data: The key columns, and the value columns to change.

        Raises:
            InvalidInputError: A key does not exist.
        """
    def rm(self, data: _Rows) -> None:
        """Remove rows by key; missing keys are ignored.

        Args:
            data: The key columns; value columns are ignored.
        """
    def delete(self, data: _Rows) -> None:
        """Remove existing rows by key.

        Args:
            data: The key columns; value columns are ignored.

        Raises:
            InvalidInputError: A key does not exist.
        """
    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``.

        ``Int`` becomes int64, ``Float`` float64, ``Bool`` bool, ``String`` string, ``Bytes``
        binary, and a vector a fixed-size list. ``Uuid`` becomes Arrow's extension type
        ``arrow.uuid``, which Polars reads as bytes. ``Decimal`` becomes a decimal with the digits
        of its values, as in :meth:`Result.to_arrow`. A list of booleans, numbers, strings, bytes,
        dates, timestamps or durations becomes a list, one of UUIDs or decimals a list of
        strings. ``Json`` becomes Arrow's extension type ``arrow.json`` (text, in Polars under
        ``.ext.storage()``). Other types become text in the notation of scripts. A column of ``Any`` gets its type from
        its values, as in :meth:`Result.to_arrow`.

        Raises:
            ImportError: pyarrow is not installed.
        """
    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``: with pyarrow if it is installed, otherwise row by row.

        Raises:
            ImportError: pandas is not installed.
        """
    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``. UUIDs become strings.

        Raises:
            ImportError: Polars is not installed.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Result:
    """The rows of a script's result with named columns; a sequence of tuples.

    >>> result = db.run("?[to, year] := *cites{src: 42, dst: to}, *patents{id: to, year}")
    >>> result[0]            # a row
    >>> result[10:20]        # a list of rows
    >>> result["year"]       # a list of the values of a column

    Rows contain plain Python values: ``None``, ``bool``, ``int``, ``float``, ``str``, ``bytes``,
    ``list`` (for vectors too), ``UUID``, ``date``, ``datetime`` in UTC, ``timedelta``, the output of
    :func:`json.loads` for Json, and ``(microseconds, asserted)`` for a Validity. They are those of
    the snapshot at which the script ran.

    It has Arrow's PyCapsule interface, which pyarrow, Polars, pandas, DuckDB and others accept. The
    type of a column follows from its values, or from the script if there are none:

    - vertices of a graph of ``vertex="u64"``: ``uint64``, as in its tables and arrays. Rules and
      algorithms keep the type, arithmetic and ``to_int`` do not
    - other integers: ``int64``, or ``uint64`` if some are 2**63 or more
    - floats, or integers and floats: ``float64``
    - booleans: ``bool``; strings: ``utf8``; bytes: ``binary``
    - vectors of one length: a ``fixed_size_list`` of floats
    - UUIDs: the extension type ``arrow.uuid``, which Polars reads as bytes
    - lists whose items are all booleans, numbers, strings, bytes, dates, timestamps, durations or
      lists: a ``list``; UUIDs and decimals in lists are ``utf8``
    - Json: the extension type ``arrow.json``
    - Validity: a ``struct`` of ``microseconds`` and ``asserted``
    - Date: ``date32``; Timestamp: ``timestamp[us, UTC]``; Duration: ``duration[us]``
    - Decimal: ``decimal128(38, s)``, where ``s`` is the largest number of digits behind the point;
      ``decimal256(76, s)`` if they need it; in lists ``utf8``
    - only nulls: ``null``; any other column may contain nulls too

    ``put`` takes columns of these types back. Any other column, and one of several types, is
    ``utf8`` with each value in the notation of scripts.
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
        """Return a ``polars.DataFrame``. UUIDs become strings.

        Raises:
            ImportError: Polars is not installed.
        """
    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dict for each row, with the values of :meth:`rows` by column.

        Raises:
            InvalidInputError: Two columns have one name.
        """
    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """Return a NumPy array for each column.

        The type of an array follows from the values of its column, if none is null:

        - integers, floats, booleans: as in Arrow
        - dates: ``datetime64[D]``; timestamps: ``datetime64[us]``, in UTC; durations:
          ``timedelta64[us]``
        - vectors of one length: a two-dimensional array

        Any other column becomes an object array of the values of :meth:`rows`.

        Raises:
            InvalidInputError: Two columns have one name.
        """
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...
    def __reversed__(self) -> Iterator[tuple[Any, ...]]: ...
    def index(self, value: Any, start: int = 0, stop: int = ...) -> int:
        """Return the position of the first equal row.

        Args:
            value: A tuple.
            start: First position of the search.
            stop: End of the search, exclusive.

        Raises:
            ValueError: There is none.
        """
    def count(self, value: Any) -> int:
        """Return the number of equal rows.

        Args:
            value: A tuple.
        """
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[tuple[Any, ...]]: ...
    @overload
    def __getitem__(self, index: str, /) -> list[Any]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...

@final
class ResultStream:
    """A result in batches: one :class:`Result` after another, or, once, an Arrow stream.

    Rows are those of the snapshot at which the script began. The columns of all batches have the
    same Arrow types: those of the stored columns from which they come, otherwise those of the
    values in the first batch. If a later batch contains other values, :class:`InvalidInputError` is
    raised; use ``to_int``, ``to_float``, ``to_string`` and ``to_bool`` in the script to fix the
    type of a column.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def close(self) -> None:
        """Stop the script. There are no further batches.

        Any thread may call it; a thread that waits for a batch meanwhile gets a
        :class:`CancelledError`.
        """
    def __iter__(self) -> Self: ...
    def __next__(self) -> Result: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_args: object) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class ImportReport:
    """Figures of an import."""

    @property
    def edges(self) -> int:
        """Distinct edges written."""
    @property
    def nodes(self) -> int:
        """Distinct vertices written with their properties."""
    @property
    def rows(self) -> int:
        """Rows of edges read, without skipped rows."""
    @property
    def duplicates(self) -> int:
        """Rows whose pair occurs again later, and edges that already existed."""
    @property
    def skipped(self) -> int:
        """Bad rows skipped with ``on_error="skip"``."""
    @property
    def skipped_lines(self) -> list[str]:
        """The positions and errors of the first ten skipped rows."""
    @property
    def missing(self) -> int:
        """Edges whose weight is missing: they got that of ``missing``, or were left out."""
    @property
    def detected(self) -> dict[str, str]:
        """The detected properties of the input; for several files, of the first.

        ``format``, and as it applies ``compression``, ``delimiter``, ``header``, ``quotes``,
        ``source``, ``target``, ``weight``, ``ignored`` columns and ``types``; for rows with
        properties ``properties`` and ``vertex properties``.
        """
    @property
    def notes(self) -> list[str]:
        """Data of the input that the graph cannot hold, such as labels or missing directions."""
    @property
    def seconds(self) -> float:
        """Duration."""
    @property
    def bytes_read(self) -> int:
        """Bytes of input; compressed bytes if it is compressed."""
    @property
    def bytes_written(self) -> int:
        """Bytes written: finished tables and spilled runs."""

@final
class BackupReport:
    """The contents and the cost of a backup."""

    @property
    def files(self) -> int:
        """Number of its files, without the list."""
    @property
    def linked(self) -> int:
        """Tables that are hard links to those of the database."""
    @property
    def copied(self) -> int:
        """Tables that were copied."""
    @property
    def reused(self) -> int:
        """Tables that are hard links to those of an earlier backup."""
    @property
    def bytes_written(self) -> int:
        """Bytes that it wrote."""
    @property
    def bytes_total(self) -> int:
        """Bytes of all its files, uncompressed."""
    @property
    def sequence(self) -> int:
        """Sequence number of its newest commit."""
    @property
    def seconds(self) -> float:
        """Duration."""

@final
class RestoreReport:
    """Figures of a restored database."""

    @property
    def files(self) -> int:
        """Number of its files."""
    @property
    def bytes(self) -> int:
        """Bytes of these files."""
    @property
    def rows(self) -> int:
        """Row versions that were read and are in order; an edge counts once per direction."""
    @property
    def sequence(self) -> int:
        """Sequence number of its newest commit."""
    @property
    def moment(self) -> float:
        """When the backup was taken, in seconds since 1970, as in :func:`time.time`."""
    @property
    def seconds(self) -> float:
        """Duration."""
