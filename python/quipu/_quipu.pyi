"""The native module of Quipu. Import from :mod:`quipu`; this page says what each call does.

A vertex is an ``int`` in graphs of ``vertex="u64"`` and ``"i64"``, a ``str`` in graphs of ``vertex="str"``. A column of
vertices or weights may be a NumPy array, a list, a pandas, Polars or pyarrow column, or anything that speaks Arrow's
PyCapsule interface. What a call hands out is a copy that later writes do not touch.

Any call that touches the database may raise :class:`quipu.CorruptionError` when bytes on disk are not what was written,
and :class:`quipu.Error` when the machine fails a read; the sections *Raises* name what comes on top of that.
"""

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt

__version__: str

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

_Path: TypeAlias = str | PathLike[str]
_Vertex: TypeAlias = int | str
_Column: TypeAlias = npt.ArrayLike | _ArrowArray
_Vertices: TypeAlias = npt.NDArray[Any]
"""``uint64``, ``int64``, or an object array of ``str``, as the graph's vertices are."""
_Weights: TypeAlias = npt.NDArray[Any]
"""``float64`` or ``int64``, as the graph's weights are; ones of ``float64`` where it has none."""
_Offsets: TypeAlias = npt.NDArray[np.int64]
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
) -> Database:
    """Open the database in the folder ``path``, creating it if the folder is empty or not there.

    Args:
        path: Folder of the database; ``None`` is a new one in memory, gone when it is closed.
        durability: What a commit survives once it has returned. ``"sync"``: a power cut. ``"os"``: a killed process,
            while a power cut may lose the newest commits, whole ones. ``"none"``: nothing until the next flush.
        cache: Memory for cached blocks, filters and indexes: bytes, or a text such as ``"512MB"`` (the default).
        memory_limit: Memory for an import beside the cache, of which memtables take a part; default ``"1GB"``. An
            import that needs more spills to disk.
        threads: Worker threads; 0 is one for each core.
        read_only: Open beside a writer in another process, as of now; :meth:`Database.refresh` moves on.
        create: Whether a database is created where there is none.
        table_folders: Further folders for tables, on other disks perhaps; filled evenly. Each database makes a
            folder of its own in them.
        direct_io: Read and write tables around the page cache of the operating system.

    Returns:
        The open database. It is closed by :meth:`Database.close`, by ``with``, or with its last reference.

    Raises:
        LockedError: Another process writes this database; the message says which.
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
        replace: Whether a database that is there is replaced.
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
        ``unnamed`` edges, ``damages``, ``files_skipped``, ``commits_kept``, ``log_lost_bytes``, ``manifest_whole``.

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
            name: A letter or ``_``, then letters, digits, ``_``, ``.`` and ``-``; at most 255 characters.
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
    def graphs(self) -> list[str]:
        """Return the names of all graphs, sorted."""
    def drop_graph(self, name: str) -> None:
        """Drop a graph with all its edges, at once and durably.

        Args:
            name: Its name.

        Raises:
            InvalidInputError: There is none of this name, or the database was opened read-only.
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
        """
    def refresh(self) -> None:
        """Move a database that was opened read-only on to what the writer has committed since; elsewhere do nothing."""
    def stats(self) -> dict[str, Any]:
        """Return figures of the database and of each graph.

        Returns:
            ``disk_bytes``, ``log_bytes``, ``cache_bytes``, ``commits``, and ``graphs``: for each a dict of ``name``,
            ``edges``, ``vertices``, ``disk_bytes``, ``memory_bytes`` and ``tables``.
        """
    def check(self) -> dict[str, Any]:
        """Read every file; verify all checksums, the order of all rows, and that both directions of each graph agree.

        Returns:
            What was found sound: ``files``, ``blocks``, ``bytes``, ``rows``, ``log_commits``, ``seconds``, and
            ``graphs``: edges by name. ``notes`` are worth knowing and no damage; ``problems`` is empty.

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
    def to_table(self) -> EdgeTable:
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
            path: The file; replaced if it is there.
        """
    def export_csv(self, path: _Path) -> int:
        """Write all edges to a CSV file with a header, as of now, and return how many.

        Args:
            path: The file; replaced if it is there.
        """
    def __len__(self) -> int:
        """Return how many edges there are."""
    def __contains__(self, v: _Vertex, /) -> bool:
        """Return whether ``v`` is an end of an edge."""
    def _repr_html_(self) -> str: ...

@final
class EdgeTable:
    """Edges of a graph as of the moment they were read.

    Speaks Arrow's PyCapsule interface, so that pyarrow, Polars, pandas, DuckDB and others take it as it is.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns: ``src``, ``dst``, and ``weight`` where the graph has weights."""
    def rows(self) -> list[tuple[Any, ...]]:
        """Return the edges as tuples of plain Python values."""
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
