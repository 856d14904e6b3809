"""The four classes of graphs."""

from __future__ import annotations

from types import TracebackType
from typing import Any, NoReturn, Self

import networkx as nx

from ..errors import InvalidInputError
from . import _private
from ._bulk import add_edges, cache_of_pages, chunks, look_up_vertices
from ._cache import Cache
from ._maps import FreeAttributes, FreeKeys, FreeRow
from ._stored import Stored


class _Quipu:
    """Methods that the four classes add to those of NetworkX."""

    __networkx_backend__ = "quipu"

    _stored: Stored | None = None

    def to_directed_class(self: Any) -> type[Any]:
        return MultiDiGraph if self.is_multigraph() else DiGraph

    def to_undirected_class(self: Any) -> type[Any]:
        return MultiGraph if self.is_multigraph() else Graph

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return object.__new__(cls)

    def __init__(self, incoming_graph_data: Any = None, *args: Any, db: Any = None, **attr: Any) -> None:
        if db is None:
            super().__init__(incoming_graph_data, *args, **attr)  # pyright: ignore[reportCallIssue]
            return
        self._open(db, attr.pop("name", None), attr.pop("memory", None))
        attr.pop("backend", None)
        if "multigraph_input" in attr:
            args = (attr.pop("multigraph_input"),)
        if incoming_graph_data is not None:
            self._fill(incoming_graph_data, *args)
        self.graph.update(attr)

    def _open(self: Any, db: Any, name: Any, memory: Any) -> None:
        if not isinstance(name, str):
            raise TypeError('a graph in a database has a name\nhint: quipu.nx.Graph(db=path, name="friends")')
        self._stored = stored = Stored(db, name, kind=class_of(self).__name__, memory=memory)
        # The factories of this object alone: copies of it are in memory.
        self.node_attr_dict_factory = self.edge_attr_dict_factory = FreeAttributes
        self.adjlist_inner_dict_factory = FreeRow
        self.edge_key_dict_factory = FreeKeys
        self._use(stored.cache)
        self.__networkx_cache__ = {}

    def _use(self: Any, cache: Cache) -> None:
        """Show the dicts of the cache."""
        self.graph = cache.graph
        self._node = cache.nodes
        self._adj = cache.sides[0].rows
        if self.is_directed():
            self._pred = cache.sides[1].rows

    def _fill(self: Any, data: Any, *args: Any) -> None:
        if len(self):
            raise InvalidInputError(
                f"the graph {self._stored.name!r} is not empty, so it cannot be made of other data\n"
                "hint: open it without data; then G.update(data) adds, and G.clear() removes"
            )
        kind = NETWORKX_OF[class_of(self)]
        # A graph of the same kind keeps the order of its neighbors; NetworkX does not.
        other = data if _is_kind(data, kind) else kind(data, *args)
        self.graph.update(other.graph)
        self.add_nodes_from(other.nodes(data=True))
        for side, rows in zip(self._stored.cache.sides, (other._adj, getattr(other, "_pred", None)), strict=False):
            _copy_rows(self, side.rows, rows)

    def add_nodes_from(self, nodes_for_adding: Any, **attr: Any) -> None:
        cache = cache_of_pages(self)
        if cache is None:
            super().add_nodes_from(nodes_for_adding, **attr)  # pyright: ignore[reportAttributeAccessIssue]
            return
        for chunk in chunks(nodes_for_adding):
            look_up_vertices(cache, chunk)
            try:
                super().add_nodes_from(chunk, **attr)  # pyright: ignore[reportAttributeAccessIssue]
            finally:
                cache.absent.clear()

    def add_edges_from(self: Any, ebunch_to_add: Any, *args: Any, **attr: Any) -> Any:
        cache = None if self.is_multigraph() else cache_of_pages(self)
        if cache is None:
            return super().add_edges_from(ebunch_to_add, *args, **attr)
        for chunk in chunks(ebunch_to_add):
            try:
                if not add_edges(self, cache, chunk, attr):
                    super().add_edges_from(chunk, **attr)
            finally:
                cache.absent.clear()
                _private.clear_cache(self)
        return None

    def size(self: Any, weight: Any = None) -> Any:
        stored = self._stored
        if weight is None and stored is not None and stored.cache.shows(self) and not stored.cache.complete():
            found = None if stored.cache.has_new_edges() else stored.store.edge_count()
            if found is not None:
                return found
        return super().size(weight)

    def flush(self: Any) -> bool:
        """Commit the changes since the last flush; return whether there were any.

        A commit is as durable as the database: with the default durability it survives a power cut. For a graph in a
        transaction, the changes are written to the transaction, which commits them. For a graph in memory nothing
        happens.

        Raises:
            TypeError: A vertex or an attribute cannot be stored; the message names it. Nothing was written.
            ConflictError: Another commit has changed the graph since this object's snapshot was taken.
        """
        stored = self._stored
        if stored is None:
            return False
        cache = stored.cache
        pred = cache.sides[-1].rows if self.is_directed() else None
        if (
            self._node is not cache.nodes
            or self._adj is not cache.sides[0].rows
            or (pred is not None and self._pred is not pred)
        ):
            _rewrite(self, cache)
        if self.graph is not cache.graph:
            cache.graph = self.graph
        has_changed = stored.flush()
        if has_changed and stored.is_existing:
            _private.clear_cache(self)  # the snapshot has moved
        return has_changed

    def refresh(self: Any) -> None:
        """Show the newest commit, and discard unflushed changes."""
        stored = self._stored
        if stored is not None:
            stored.refresh()
            self._use(stored.cache)
            _private.clear_cache(self)

    def close(self) -> None:
        """Flush, and end the snapshot. The graph cannot be used afterwards."""
        if self._stored is not None:
            self.flush()
            self._stored.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stored is None:
            return
        try:
            if kind is None:
                self.flush()
            elif not self._stored.is_in_transaction:
                self.refresh()
        finally:
            if self._stored.opened_for_it:
                self._stored.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._stored is not None:
            _refuse_to_pickle(self)
        return super().__reduce_ex__(protocol)

    def __copy__(self: Any) -> Any:
        if self._stored is None:
            new = object.__new__(type(self))
            new.__dict__.update(self.__dict__)
            return new
        return self.copy()

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        from copy import deepcopy

        new = object.__new__(type(self))
        memo[id(self)] = new
        if self._stored is None:
            new.__dict__.update(deepcopy(self.__dict__, memo))
            return new
        from ._convert import copied

        new.__dict__.update(deepcopy(copied(self, type(self)).__dict__, memo))
        return new


def class_of(graph: Any) -> type[Any]:
    """The class of this package that a graph belongs to."""
    return next(base for base in type(graph).__mro__ if base in NETWORKX_OF)


def _is_kind(data: Any, kind: type[Any]) -> bool:
    alike = isinstance(data, nx.Graph) and data.is_directed() == issubclass(kind, nx.DiGraph)
    return alike and data.is_multigraph() == issubclass(kind, nx.MultiGraph)


def _refuse_to_pickle(graph: Any) -> NoReturn:
    raise TypeError(
        f"the graph {graph._stored.name!r} belongs to the process that opened its database, and cannot be pickled\n"
        "hint: pickle a copy in memory, G.copy(); or send path and name, and open it there: quipu.nx.Graph(db=path, …)"
    )


def _copy_rows(graph: Any, target: Any, rows: Any) -> None:
    """Copy neighbors in their order; both ends get one object."""
    other = graph._pred if graph.is_directed() and target is graph._adj else graph._adj
    multigraph = graph.is_multigraph()
    for u, row in rows.items():
        if u not in target:
            continue
        mine = target[u]
        for v, attributes in row.items():
            there = other[v].get(u) if v in other else None
            if there is None:
                if multigraph:
                    there = FreeKeys((key, FreeAttributes(one)) for key, one in attributes.items())
                else:
                    there = FreeAttributes(attributes)
            mine[v] = there


def _rewrite(graph: Any, cache: Any) -> None:
    """Replace the stored graph by the dicts that the program has put into the graph object."""
    nodes = {n: {} for n in graph._adj}
    nodes.update((n, dict(attributes)) for n, attributes in graph._node.items())
    rows = [_plain(graph._adj)] + ([_plain(graph._pred)] if graph.is_directed() else [])
    view = object.__new__(type(graph))
    view.__dict__.update(_node=cache.nodes, _adj=cache.sides[0].rows)
    if graph.is_directed():
        view.__dict__.update(_succ=cache.sides[0].rows, _pred=cache.sides[1].rows)
    cache.clear()
    for n, attributes in nodes.items():
        for side in cache.sides:
            side.rows[n] = FreeRow()
        cache.nodes[n] = FreeAttributes(attributes)
    for side, own in zip(cache.sides, rows, strict=True):
        _copy_rows(view, side.rows, own)


def _plain(rows: Any) -> dict[Any, Any]:
    return {u: dict(row) for u, row in rows.items()}


class Graph(_Quipu, nx.Graph):
    """An undirected graph: :class:`networkx.Graph`, in memory or in a database.

    >>> G = quipu.nx.Graph(db="friends.quipu", name="friends")
    >>> G.add_edge("Ann", "Bob", since=2019)
    >>> G.flush()

    Args:
        incoming_graph_data: As for :class:`networkx.Graph`. A graph in a database takes data only while it is empty.
        db: A path, a :class:`quipu.Database` or a :class:`quipu.Transaction`. Without it the graph is in memory.
        name: Its name in the database. In memory, as in NetworkX, an attribute of the graph.
        memory: How much memory the graph may take, in bytes or as a string such as ``"256MB"``. A larger one is
            read vertex by vertex, or page by page.
        attr: Attributes of the graph.
    """


class DiGraph(_Quipu, nx.DiGraph):
    """A directed graph: :class:`networkx.DiGraph`, in memory or in a database. See :class:`Graph`."""


class MultiGraph(_Quipu, nx.MultiGraph):
    """An undirected graph with parallel edges: :class:`networkx.MultiGraph`, in memory or in a database.

    See :class:`Graph`.
    """


class MultiDiGraph(_Quipu, nx.MultiDiGraph):
    """A directed graph with parallel edges: :class:`networkx.MultiDiGraph`, in memory or in a database.

    See :class:`Graph`.
    """


#: Our class for each of NetworkX, and the other way round.
CLASS_OF: dict[type[Any], type[Any]] = {
    nx.Graph: Graph,
    nx.DiGraph: DiGraph,
    nx.MultiGraph: MultiGraph,
    nx.MultiDiGraph: MultiDiGraph,
}
NETWORKX_OF: dict[type[Any], type[Any]] = {ours: theirs for theirs, ours in CLASS_OF.items()}


def is_ours(graph: Any) -> bool:
    """Return whether this is a graph of this package, or a view of one."""
    return getattr(graph, "__networkx_backend__", None) == "quipu"
