"""Reads of a stored graph that is larger than the memory for it: vertex by vertex, or page by page.

When more is loaded than the limit allows, the oldest vertices and rows are evicted. A row of neighbors or a dict of
attributes that the program still holds is kept by a weak reference, and found again: it never has a second object.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ._encoding import UnsupportedError, decode, key_of

if TYPE_CHECKING:
    from ._cache import Side

#: Largest number of vertices of a page.
PAGE_NODES = 1000
#: A page has up to a quarter of the edges that fit into the memory. Then reading the next page
#: evicts no row that is still to be visited. This many edges are read whatever the limit.
PAGE_EDGES_MIN = 1000


def _references(row: dict[Any, Any]) -> list[int]:
    """The number of references to each value. Its own are among them, and differ between versions of Python."""
    return [sys.getrefcount(value) for value in row.values()]


def _references_of_local() -> int:
    row: dict[Any, Any] = {}
    return sys.getrefcount(row)


#: Numbers of references to a value of one dict, and to an object that one variable has.
_OF_ONE_DICT = _references({0: object()})[0]
_OF_ONE_VARIABLE = _references_of_local()


class Paged:
    """The part of :class:`quipu.nx._cache.Cache` that reads single vertices and pages of them."""

    store: Any
    meta: Any
    nodes: Any
    sides: list[Side]
    multigraph: bool
    ids: dict[Any, int]
    known: dict[Any, int]
    absent: set[Any]
    gone: dict[Any, int]
    touched_nodes: dict[Any, Any]
    watched_nodes: dict[Any, bytes | None]
    watched_edges: dict[Any, Any]
    touched_edges: dict[Any, Any]
    node_count: int
    changes: int
    edges_max: int
    cleared: bool

    def __init__(self) -> None:
        self.live_nodes: WeakValueDictionary[Any, Any] = WeakValueDictionary()
        self.live_attributes: WeakValueDictionary[Any, Any] = WeakValueDictionary()
        self.loaded = 0
        self._held = False
        self._room_until = self.edges_max
        #: Average number of edges of a vertex on each side; ``None`` if it is not known.
        self._degree: float | None = None

    @contextmanager
    def nothing_forgotten(self) -> Generator[None]:
        """Evict nothing during a ``with`` block."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def forget_pages(self) -> None:
        """Start with nothing in memory."""
        self.live_nodes.clear()
        self.live_attributes.clear()
        self.loaded = 0
        self._room_until = self.edges_max
        self._degree = None

    def page_nodes(self, side: Side | None) -> int:
        """Return how many vertices a page has, which are read with their neighbors on a side."""
        if side is None:
            return PAGE_NODES
        degree = self._degree
        if degree is None:
            stored = sum(self.store.count(one.name) for one in self.sides)
            degree = self._degree = stored / len(self.sides) / max(self.meta.nodes, 1)
        edges = max(self.edges_max // 4, PAGE_EDGES_MIN)
        return max(1, min(PAGE_NODES, int(edges / max(degree, 1.0))))

    # --- one vertex ---

    def number_of(self, n: Any) -> int | None:
        """Return the id of a vertex if it is known without reading."""
        id = self.ids.get(n)
        return self.known.get(n) if id is None else id

    def id_of(self, n: Any) -> int | None:
        """Return the id of a vertex; ``None`` if it is none."""
        id = self.number_of(n)
        # After a clear the store still has the vertices that are gone.
        if id is not None or n in self.gone or self.cleared or n in self.absent:
            return id
        try:
            return self.store.id_of(key_of(n))
        except UnsupportedError:
            return None

    def load_node(self, n: Any) -> Any:
        """Read a vertex; return its attributes.

        Raises:
            KeyError: There is no such vertex.
        """
        id = self.id_of(n)
        if id is None:
            raise KeyError(n)
        node, data = self.store.node(id)
        return self.keep_node(decode(node), id, data)

    def load_row(self, side: Side, n: Any) -> Any:
        """Read the neighbors of a vertex; if vertices are read in order, those of a page of the next ones too.

        Raises:
            KeyError: There is no such vertex.
        """
        id = None if n in side.dropped else self.gone.get(n, self.id_of(n))
        if id is None:
            raise KeyError(n)
        row = side.live.get(n)
        if row is not None:
            dict.__setitem__(side.rows, n, row)
            return row
        count = self.page_nodes(side) if id == side.next_expected else 1
        last = id + count - 1
        side.next_expected = last + 1
        self.make_room()
        names = {id: n}
        if last > id:
            for other, node, data in zip(*self.store.nodes(id, count - 1), strict=True):
                if other <= last:
                    self.keep_page_node(names, other, node, data)
        self.load_edges(side, names)
        return dict.__getitem__(side.rows, n)

    def keep_page_node(self, names: dict[int, Any], id: int, node: bytes, data: bytes) -> None:
        """Put a vertex of a page into memory, unless it is there, or is gone."""
        n = decode(node)
        if n not in self.gone:
            names[id] = n
            if not dict.__contains__(self.nodes, n):
                self.keep_node(n, id, data)

    def load_edges(self, side: Side, names: dict[int, Any]) -> None:
        """Read the neighbors of these vertices that are not in memory."""
        empty = {id: n for id, n in names.items() if not self.has_row(side, n)}
        if not empty:
            return
        for n in empty.values():
            self.new_row(side, n)
        rows = self.store.rows(side.name, min(empty), max(empty))
        for src, edges in groupby(rows, key=lambda row: row[0]):
            if src not in empty:
                continue
            n = empty[src]
            row = dict.__getitem__(side.rows, n)
            for _, _, key, data, node in edges:
                self.keep_edge(side, row, n, decode(node), key, data)
                self.loaded += 1
        if side.waiting:
            for n in empty.values():
                dict.update(dict.__getitem__(side.rows, n), side.waiting.pop(n, {}))
        self.watch_loaded(side)

    @staticmethod
    def has_row(side: Side, n: Any) -> bool:
        """Return whether the neighbors of a vertex are in memory, or held by the program."""
        if dict.__contains__(side.rows, n):
            return True
        row = side.live.get(n)
        if row is not None:
            dict.__setitem__(side.rows, n, row)
        return row is not None

    # --- all vertices ---

    def pages(self, side: Side | None) -> Iterator[list[Any]]:
        """Yield all vertices in their order, page by page, after reading their neighbors on a side.

        Raises:
            RuntimeError: A vertex was added or removed meanwhile.
        """
        changes, after, count = self.changes, -1, self.page_nodes(side)
        while True:
            self.make_room()
            ids, nodes, data = self.store.nodes(after, count)
            names: dict[int, Any] = {}
            for id, node, attributes in zip(ids, nodes, data, strict=True):
                self.keep_page_node(names, id, node, attributes)
            if side is not None and names:
                self.load_edges(side, names)
            if names:
                yield list(names.values())
            if changes != self.changes:
                raise RuntimeError("dictionary changed size during iteration")
            if len(ids) < count:
                break
            after = ids[-1]
        new = [n for n, id in self.ids.items() if id >= self.meta.next_id]
        if new:
            yield new

    # --- forgetting ---

    def make_room(self) -> None:
        """Evict half of the loaded vertices and rows when they exceed the limit; changed ones stay."""
        if self._held or self.loaded + len(self.ids) <= self._room_until:
            return
        for side in self.sides:
            pinned = self.pinned(side)
            count = dict.__len__(side.rows) // 2
            for u in list(dict.__iter__(side.rows))[:count]:
                if u not in pinned and self.ids.get(u, -1) < self.meta.next_id:
                    self.forget_row(side, u)
        kept = (rows for side in self.sides for rows in (dict.values(side.rows), side.waiting.values()))
        self.loaded = sum(len(row) for rows in kept for row in rows)
        self.forget_nodes()
        # Where much has changed, little can be forgotten: the next look is worth it later.
        self._room_until = max(self.edges_max, (self.loaded + len(self.ids)) * 3 // 2)

    def pinned(self, side: Side) -> set[Any]:
        """Return the vertices whose rows have changed, after comparing values that cannot record changes."""
        for at, stored in list(self.watched_edges.items()):
            u, v = at
            row = dict.get(self.sides[0].rows, u)
            if row is None:
                u, v = v, u
                row = dict.get(self.sides[-1].rows, u)
            value = None if row is None else row.get(v)
            if value is None or self.encoded(value) != stored:
                self.touched_edges.setdefault(at, value)
        pinned = {u for u, _ in side.added} | {u for u, _ in side.changed}
        for u, v in self.touched_edges:
            pinned.add(u)
            pinned.add(v)
        return pinned

    def forget_row(self, side: Side, u: Any) -> None:
        """Forget the neighbors of a vertex, except objects that the program still holds."""
        row = dict.pop(side.rows, u)
        if sys.getrefcount(row) > _OF_ONE_VARIABLE:
            side.live[u] = row
            return
        other = self.sides[-1] if side is self.sides[0] else self.sides[0]
        for count, v, value in zip(_references(row), row, row.values(), strict=True):
            pair = (v, u) if side.reverse else (u, v)
            there = dict.get(other.rows, v)
            if there is None:
                self.watched_edges.pop(pair, None)
                self.watched_edges.pop((v, u) if pair == (u, v) and side is other else pair, None)
            if self.multigraph:
                for of_one, key, one in zip(_references(value), value, value.values(), strict=True):
                    if of_one > _OF_ONE_DICT:
                        self.live_attributes[pair, key] = one
            is_there = there is not None and dict.get(there, u) is value
            if count > _OF_ONE_DICT + is_there:
                self.live_attributes[pair] = value

    def forget_nodes(self) -> None:
        """Forget half of the vertices, but not the attributes that the program still holds."""
        count = dict.__len__(self.nodes) // 2
        for n in list(dict.__iter__(self.nodes))[:count]:
            if n in self.touched_nodes or n in self.watched_nodes or self.ids[n] >= self.meta.next_id:
                continue
            if any(dict.__contains__(side.rows, n) for side in self.sides):
                continue
            value = dict.pop(self.nodes, n)
            del self.ids[n]
            if sys.getrefcount(value) > _OF_ONE_VARIABLE:
                self.live_nodes[n] = value

    def keep_node(self, n: Any, id: int, data: bytes) -> Any:
        raise NotImplementedError

    def new_row(self, side: Side, n: Any) -> Any:
        raise NotImplementedError

    def keep_edge(self, side: Side, row: Any, u: Any, v: Any, key: bytes | None, data: bytes) -> None:
        raise NotImplementedError

    def watch_loaded(self, side: Side) -> None:
        raise NotImplementedError

    def encoded(self, value: Any) -> Any:
        raise NotImplementedError
