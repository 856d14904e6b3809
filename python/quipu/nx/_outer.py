"""The two outer dicts of a stored graph: vertices with their attributes, and vertices with their neighbors."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, Any

from ._maps import FreeAttributes, FreeRow, ItemWrites, Row, attach

if TYPE_CHECKING:
    from ._cache import Cache, Side

_MISSING: Any = object()


class _Outer(ItemWrites):
    """Methods that both outer dicts share.

    NetworkX's views keep the bound methods ``keys``, ``values`` and ``items``, so these ask at each call whether the
    graph is in memory as a whole.
    """

    __slots__ = ()

    def _complete(self) -> bool:
        return True

    def keys(self) -> Any:
        return dict.keys(self) if self._complete() else KeysView(self)

    def values(self) -> Any:
        return dict.values(self) if self._complete() else _Values(self)

    def items(self) -> Any:
        return dict.items(self) if self._complete() else _Items(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self.items()),)

    def popitem(self) -> tuple[Any, Any]:
        if not len(self):
            raise KeyError("popitem(): dictionary is empty")
        n = next(reversed(list(self)))
        return n, self.pop(n)


class NodeMap(_Outer):
    """The attributes of each vertex, all in memory."""

    __slots__ = ("cache",)
    cache: Cache

    def __setitem__(self, n: Any, value: Any) -> None:
        cache = self.cache
        if n not in self:
            cache.add_node(n)
        cache.touched_nodes[n] = value
        if type(value) is FreeAttributes:
            attach(value, cache.touched_nodes, n)
        else:
            cache.watched_nodes[n] = None
        dict.__setitem__(self, n, value)

    def __delitem__(self, n: Any) -> None:
        self.cache.remove_node(n)
        dict.pop(self, n, None)

    def clear(self) -> None:
        self.cache.clear()


class AdjacencyMap(_Outer):
    """The neighbors of each vertex on one side, all in memory."""

    __slots__ = ("side",)
    side: Side

    def __setitem__(self, u: Any, value: Any) -> None:
        row: Any = value
        self.side.cache.check_vertex(u)
        old = self.get(u, _MISSING)
        if old is row:
            return
        if old is not _MISSING:
            old.clear()
        row = self._free(row)
        row.__class__ = Row
        row.side, row.of = self.side, u
        self.side.dropped.discard(u)
        dict.__setitem__(self, u, row)
        for v, value in row.items():
            self.side.put(row, v, value, new=True)

    @staticmethod
    def _free(row: Any) -> Any:
        return row if type(row) is FreeRow else FreeRow(row)

    def __delitem__(self, u: Any) -> None:
        # The edges go with the vertex, which is removed from the vertices too.
        if u not in self:
            raise KeyError(u)
        dict.pop(self, u, None)
        self.side.dropped.add(u)

    def clear(self) -> None:
        if self.side.cache.complete():
            for row in self.values():
                row.clear()
            dict.clear(self)
        else:
            self.side.cache.clear()


class _Items(ItemsView[Any, Any]):
    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        mapping: Any = self._mapping
        for page in mapping._pages():
            for n in page:
                yield n, mapping[n]


class _Values(ValuesView[Any]):
    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in _Items(self._mapping))
