"""The vertices and edges of one stored graph in memory, and their changes since the last flush.

# Invariants
1. The vertices and edges in memory are those of the snapshot, with the recorded changes applied.
2. Both ends of an edge have one object of attributes, as in NetworkX.
3. A changed vertex, edge or row of neighbors stays in memory until it is flushed.
4. ``complete`` means that the whole graph is in memory; then reads are those of plain dicts.
"""

from __future__ import annotations

from typing import Any, Literal
from weakref import WeakValueDictionary

from ._encoding import UnsupportedError, decode, decode_attributes, encode, encode_attributes, is_mutable_inside, key_of
from ._lazy import LazyAdjacencyMap, LazyNodeMap
from ._maps import Attributes, Keys, Row, attach
from ._outer import AdjacencyMap, NodeMap
from ._paging import Paged
from ._store import Meta, Store

#: Estimated bytes of memory of an edge at one of its ends, and of a vertex.
EDGE_BYTES = 350
NODE_BYTES = 500

Pair = tuple[Any, Any]


class Side:
    """One direction of the edges: its rows of neighbors, and their changes."""

    def __init__(self, cache: Cache, name: str, *, reverse: bool):
        self.cache = cache
        self.name = name
        self.reverse = reverse
        self.rows = LazyAdjacencyMap()
        self.rows.side = self
        #: Edges that are new, in the order in which they were added.
        self.added: dict[Pair, None] = {}
        #: Edges that were removed, or have another object of attributes.
        self.changed: dict[Pair, None] = {}
        #: Removed vertices whose rows were removed too.
        self.dropped: set[Any] = set()
        #: New edges of rows that are not in memory; see :mod:`quipu.nx._bulk`.
        self.waiting: dict[Any, dict[Any, Any]] = {}
        #: Rows that were forgotten, while the program holds them.
        self.live: WeakValueDictionary[Any, Row] = WeakValueDictionary()
        #: The id whose row is read next if all are read in order.
        self.next_expected = -1

    def put(self, row: Row, v: Any, value: Any, *, new: bool) -> None:
        """Record that ``v`` is a neighbor in this row."""
        u = row.of
        pair = u, v
        if dict.get(self.rows, u) is not row:  # it was forgotten, but the program holds it
            dict.__setitem__(self.rows, u, row)
        if new:
            self._add(pair)
        else:
            self.changed[pair] = None
        self._attach(pair, value)

    def wait(self, u: Any, v: Any, value: Any) -> None:
        """Record a new neighbor ``v`` of ``u``, whose row is not in memory."""
        self.waiting.setdefault(u, {})[v] = value
        self._add((u, v))
        self._attach((u, v), value)

    def _add(self, pair: Pair) -> None:
        self.added.pop(pair, None)
        self.added[pair] = None
        self.cache.loaded += 1

    def _attach(self, pair: Pair, value: Any) -> None:
        u, v = pair
        at = (v, u) if self.reverse else pair
        cache = self.cache
        if not attach(value, cache.touched_edges, at):
            if not self.reverse and not cache.directed and attach(value, cache.touched_edges, (v, u)):
                return
            cache.watched_edges[at] = None

    def remove(self, u: Any, v: Any) -> None:
        """Record that ``v`` is no neighbor of ``u`` any more."""
        pair = u, v
        self.added.pop(pair, None)
        self.changed[pair] = None

    def forget(self) -> None:
        """Forget rows and changes."""
        dict.clear(self.rows)
        self.live.clear()
        self.flushed()

    def flushed(self) -> None:
        """Forget which rows have changed."""
        self.added.clear()
        self.changed.clear()
        self.dropped.clear()
        self.waiting.clear()
        self.next_expected = -1


class Cache(Paged):
    """The vertices and edges of a stored graph in memory, read when they are needed."""

    def __init__(self, store: Store, meta: Meta, *, directed: bool, memory_bytes: int):
        self.edges_max = memory_bytes // EDGE_BYTES
        super().__init__()
        self.store = store
        self.meta = meta
        self.directed = directed
        self.multigraph = store.multigraph
        self.memory_bytes = memory_bytes
        self.nodes = LazyNodeMap()
        self.nodes.cache = self
        self.sides = [Side(self, name, reverse=i == 1) for i, name in enumerate(store.sides)]
        self.graph: dict[Any, Any] = {}
        self.touched_nodes: dict[Any, Any] = {}
        self.touched_edges: dict[Pair, Any] = {}
        #: Values that cannot record their changes, with their stored bytes.
        self.watched_nodes: dict[Any, bytes | None] = {}
        self.watched_edges: dict[Pair, Any] = {}
        #: Ids of the vertices in memory; those from ``meta.next_id`` on are new.
        self.ids: dict[Any, int] = {}
        #: Ids of stored vertices that were looked up together, until the next flush.
        self.known: dict[Any, int] = {}
        #: Vertices that were looked up together, and are not stored.
        self.absent: set[Any] = set()
        #: Ids of stored vertices that were removed.
        self.gone: dict[Any, int] = {}
        self._to_watch: dict[Pair, None] = {}
        #: Pairs of vertices whose parallel edges are being read.
        self._filled: set[Pair] = set()
        self.cleared = False
        self.next_id = meta.next_id
        self.node_count = meta.nodes
        #: Counts changes of the set of vertices, for iterators.
        self.changes = 0
        self.begin(meta)

    def _enter(self, state: Literal["unread", "paged", "complete"]) -> None:
        """Change the state, and with it the classes of the outer dicts."""
        self._state = state
        is_complete = state == "complete"
        self.nodes.__class__ = NodeMap if is_complete else LazyNodeMap
        for side in self.sides:
            side.rows.__class__ = AdjacencyMap if is_complete else LazyAdjacencyMap

    def _forget_all(self) -> None:
        """Forget all vertices and edges in memory, and their changes."""
        for kept in (self.touched_nodes, self.touched_edges, self.watched_nodes, self.watched_edges):
            kept.clear()
        self.ids.clear()
        self.known.clear()
        self.gone.clear()
        dict.clear(self.nodes)
        for side in self.sides:
            side.forget()
        self.forget_pages()
        self.changes += 1

    def begin(self, meta: Meta) -> None:
        """Forget everything in memory, and start from a snapshot with these properties."""
        self.meta = meta
        self.next_id = meta.next_id
        self.node_count = meta.nodes
        self.graph.clear()
        self.graph.update(decode_attributes(meta.graph))
        self._forget_all()
        self._to_watch.clear()
        self._filled.clear()
        self.cleared = False
        self._enter("unread")

    # --- what has changed ---

    def shows(self, graph: Any) -> bool:
        """Return whether these are the dicts of a graph object, which the program may have replaced."""
        return graph._node is self.nodes and graph._adj is self.sides[0].rows

    def has_new_edges(self) -> bool:
        """Return whether vertices or edges were added or removed since the last flush."""
        sides = any(side.added or side.changed or side.dropped for side in self.sides)
        return sides or bool(self.gone) or self.cleared or self.next_id != self.meta.next_id

    def has_new_attributes(self) -> bool:
        """Return whether attributes of edges may have changed since the last flush."""
        return bool(self.touched_edges or self.watched_edges)

    def signature(self) -> Any:
        """Return a value that changes with the vertices and edges."""
        sides = tuple((len(side.added), len(side.changed), len(side.dropped)) for side in self.sides)
        return self.meta.version, self.meta.next_position, self.changes, sides

    def is_complete(self) -> bool:
        """Return whether the whole graph is in memory, without reading it."""
        return self._state == "complete"

    # --- reading everything ---

    def complete(self) -> bool:
        """Return whether the whole graph is in memory, after reading it if it is small enough."""
        if self._state == "unread":
            self._enter("paged")
            if self.estimated_bytes() <= self.memory_bytes:
                self._read_all()
        return self._state == "complete"

    def estimated_bytes(self) -> int:
        """Return about how much memory the whole stored graph takes."""
        if not self.meta.nodes:
            return 0
        edges = sum(self.store.count(side.name) for side in self.sides)
        return self.meta.nodes * NODE_BYTES + edges * EDGE_BYTES

    def _read_all(self) -> None:
        names: dict[int, Any] = {}
        if self.meta.nodes:
            for id, node, data in zip(*self.store.nodes(-1, None), strict=True):
                n = names[id] = decode(node)
                self.keep_node(n, id, data)
        for side in self.sides:
            for n in names.values():
                self.new_row(side, n)
        if self.meta.nodes:
            self._read_edges(names)
        self._enter("complete")

    def _read_edges(self, names: dict[int, Any]) -> None:
        for side in self.sides:
            src, dst, keys, attributes = self.store.all_rows(side.name)
            self.loaded += len(src)
            row: Any = {}
            u = before = None
            for i, (s, d) in enumerate(zip(src, dst, strict=True)):
                if s != before:
                    before, u = s, names[s]
                    row = dict.__getitem__(side.rows, u)
                self.keep_edge(side, row, u, names[d], None if keys is None else keys[i], attributes[i])
            self.watch_loaded(side)

    # --- loaded vertices and edges ---

    def keep_node(self, n: Any, id: int, data: bytes) -> Any:
        """Put a vertex that was read into memory; return its attributes."""
        self.ids[n] = id
        attributes = self.live_nodes.pop(n, None)
        if attributes is None:
            attributes = self._attributes(data, self.touched_nodes, n)
        if data and is_mutable_inside(attributes):
            self.watched_nodes[n] = data
        dict.__setitem__(self.nodes, n, attributes)
        return attributes

    def new_row(self, side: Side, n: Any) -> Any:
        """Put an empty row of neighbors into memory, and return it."""
        row = Row()
        row.side, row.of = side, n
        dict.__setitem__(side.rows, n, row)
        return row

    def keep_edge(self, side: Side, row: Any, u: Any, v: Any, key: bytes | None, data: bytes) -> None:
        """Put an edge that was read into a row of neighbors, with the object that its other end has."""
        pair = (v, u) if side.reverse else (u, v)
        if key is None:
            found = self._in_memory(side, u, v, pair)
            if found is None:
                found = self.touched_edges.get(pair)
            if found is None and not self.directed:
                found = self.touched_edges.get((v, u))
            dict.__setitem__(row, v, self._edge_attributes(data, pair) if found is None else found)
            return
        if v not in row:
            found = self._in_memory(side, u, v, pair)
            if found is None:
                found = Keys()
                found.touched, found.at = self.touched_edges, pair
                self._filled.add(pair)
            dict.__setitem__(row, v, found)
        # The object of the other end may have lost a key that is still stored.
        if pair in self._filled:
            name = decode(key)
            one = self.live_attributes.pop((pair, name), None)
            if one is None and not self.directed:
                one = self.live_attributes.pop(((v, u), name), None)
            keys: Any = dict.__getitem__(row, v)
            dict.__setitem__(keys, name, self._edge_attributes(data, pair) if one is None else one)

    def _in_memory(self, side: Side, u: Any, v: Any, pair: Pair) -> Any:
        """The object of an edge at its other end, or one that the program holds; ``None`` without one."""
        found = self._of_other_end(side, u, v)
        if found is None:
            found = self.live_attributes.pop(pair, None)
        if found is None and not self.directed:
            found = self.live_attributes.pop((v, u), None)
        return found

    def _of_other_end(self, side: Side, u: Any, v: Any) -> Any:
        other = self.sides[-1] if side is self.sides[0] else self.sides[0]
        row = dict.get(other.rows, v)
        return None if row is None else dict.get(row, u)

    def _edge_attributes(self, data: bytes, pair: Pair) -> Any:
        attributes = self._attributes(data, self.touched_edges, pair)
        if data and is_mutable_inside(attributes):
            self._to_watch[pair] = None
        return attributes

    def watch_loaded(self, side: Side) -> None:
        """Record the stored bytes of loaded values that cannot record changes; a flush compares them."""
        for at in self._to_watch:
            u, v = reversed(at) if side.reverse else at
            if at not in self.watched_edges:
                self.watched_edges[at] = self.encoded(dict.__getitem__(dict.__getitem__(side.rows, u), v))
        self._to_watch.clear()
        self._filled.clear()

    def encoded(self, value: Any) -> Any:
        """Return the bytes of the attributes of an edge, or those of each of parallel edges."""
        if self.multigraph:
            return tuple((encode(key), encode_attributes(one)) for key, one in value.items())
        return encode_attributes(value)

    @staticmethod
    def _attributes(data: bytes, touched: dict[Any, Any], at: Any) -> Any:
        attributes = Attributes(decode_attributes(data)) if data else Attributes()
        attributes.touched, attributes.at = touched, at
        return attributes

    # --- recording ---

    @staticmethod
    def check_vertex(n: Any) -> None:
        """Raise a `TypeError` for a value that cannot be stored as a vertex."""
        kind = type(n)
        if kind is not int and kind is not str and n is not None:
            try:
                key_of(n)
            except UnsupportedError as error:
                raise TypeError(f"the vertex {n!r} cannot be stored: {error}") from None

    def add_node(self, n: Any) -> None:
        """Give a new vertex its id."""
        self.check_vertex(n)
        self.ids[n] = self.next_id
        self.next_id += 1
        self.node_count += 1
        self.changes += 1

    def remove_node(self, n: Any) -> None:
        """Record that a vertex is gone."""
        id = self.id_of(n)
        if id is None:
            raise KeyError(n)
        self.ids.pop(n, None)
        self.known.pop(n, None)
        if id < self.meta.next_id and not self.cleared:
            self.gone[n] = id
        self.touched_nodes.pop(n, None)
        self.watched_nodes.pop(n, None)
        self.node_count -= 1
        self.changes += 1

    def has_node(self, n: Any) -> bool:
        """Return whether this is a vertex."""
        return self.id_of(n) is not None

    def clear(self) -> None:
        """Record that all vertices and edges are removed."""
        self._forget_all()
        self.cleared = True
        self.node_count = 0
        self._enter("complete")

    def flushed(self, meta: Meta) -> None:
        """Record that everything in memory is stored, with these properties."""
        self.meta = meta
        self.touched_nodes.clear()
        self.touched_edges.clear()
        self.gone.clear()
        self.known.clear()
        self.cleared = False
        for side in self.sides:
            side.flushed()
        if self._state != "unread" and self.loaded + len(self.ids) > self.edges_max:
            self._to_pages()

    def _to_pages(self) -> None:
        """Go on in pages, because the graph has become too large to be in memory as a whole."""
        self._enter("paged")
        before = -1
        while before != self.loaded:
            before = self.loaded
            self.make_room()
