"""The outer dicts of a stored graph that is not, or not yet, in memory as a whole.

The first access reads the graph if it fits into the memory that the user allows, and from then on these are plain
dicts. A larger graph is read vertex by vertex, or page by page where a program goes through all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._outer import AdjacencyMap, NodeMap, _Outer


class _Lazy(_Outer):
    """Reading methods that load missing vertices. Each checks first whether the graph has become complete."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def _has(self, n: Any) -> bool:
        raise NotImplementedError

    def _load(self, n: Any) -> Any:
        raise NotImplementedError

    def _count(self) -> int:
        raise NotImplementedError

    def _pages(self) -> Iterator[list[Any]]:
        raise NotImplementedError

    def __missing__(self, n: Any) -> Any:
        if self._complete():
            return dict.__getitem__(self, n)
        return self._load(n)

    def __contains__(self, n: Any) -> bool:
        if dict.__contains__(self, n):
            return True
        return dict.__contains__(self, n) if self._complete() else self._has(n)

    def __len__(self) -> int:
        return dict.__len__(self) if self._complete() else self._count()

    def __bool__(self) -> bool:
        return len(self) > 0

    def get(self, n: Any, default: Any = None) -> Any:
        try:
            return self[n]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[Any]:
        if self._complete():
            return dict.__iter__(self)
        return (n for page in self._pages() for n in page)

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self))

    def copy(self) -> dict[Any, Any]:
        return dict(self.items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return NotImplemented
        if self._complete():
            return dict.__eq__(self, other)
        return len(self) == len(other) and all(n in other and other[n] == value for n, value in self.items())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __repr__(self) -> str:
        return dict.__repr__(self) if self._complete() else repr(self.copy())


class LazyNodeMap(_Lazy, NodeMap):
    """The attributes of each vertex, read when they are needed."""

    __slots__ = ()

    def _complete(self) -> bool:
        return self.cache.complete()

    def _has(self, n: Any) -> bool:
        return self.cache.has_node(n)

    def _load(self, n: Any) -> Any:
        return self.cache.load_node(n)

    def _count(self) -> int:
        return self.cache.node_count

    def _pages(self) -> Iterator[list[Any]]:
        return self.cache.pages(None)


class LazyAdjacencyMap(_Lazy, AdjacencyMap):
    """The neighbors of each vertex on one side, read when they are needed."""

    __slots__ = ()

    def _complete(self) -> bool:
        return self.side.cache.complete()

    def _has(self, n: Any) -> bool:
        cache = self.side.cache
        return n not in self.side.dropped and (n in cache.gone or cache.has_node(n))

    def _load(self, n: Any) -> Any:
        return self.side.cache.load_row(self.side, n)

    def _count(self) -> int:
        return self.side.cache.node_count

    def _pages(self) -> Iterator[list[Any]]:
        return self.side.cache.pages(self.side)
