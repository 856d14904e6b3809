"""A :class:`quipu.nx._existing.ExistingStore` for ``quipu.nx.Graph``: directions have no effect.

A directed graph of the database stores each edge in the direction in which it was written. Here it leads both ways. An
edge that is stored in both directions is one edge, and must have the same properties in both. An undirected graph has
each edge once, which its reads return at both ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ._existing import ExistingStore
from ._store import Ints


class UndirectedStore(ExistingStore):
    """Reads and writes a graph of ``db.graph`` as an undirected one."""

    kind = "Graph"

    def count(self, part: str) -> int:
        """Return the number of vertices, or of edges at both their ends."""
        return super().count(part) * (1 if part == "nodes" else 2)

    def edge_count(self) -> int | None:
        """Return the number of edges; ``None`` if some may be stored in both directions."""
        return None if self._graph.is_directed else self._graph.number_of_edges()

    def rows(self, side: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Return the neighbors of the vertices with ids from ``first`` to ``last``, ascending."""
        if not self._graph.is_directed:
            return super().rows("edges", first, last)
        found: dict[tuple[int, Any], tuple[Any, ...]] = {}
        for direction in ("edges", "pred"):
            for row in super().rows(direction, first, last):
                pair = row[0], self.id_of(row[4])
                known = found.setdefault(pair, row)
                if known[3] != row[3]:
                    self._refuse(*pair)
        return [found[pair] for pair in sorted(found)]

    def _has_edges(self, pairs: Sequence[tuple[int, int]]) -> Any:
        found = super()._has_edges(pairs)
        return found | super()._has_edges([(v, u) for u, v in pairs]) if self._graph.is_directed else found

    def all_rows(self, side: str) -> tuple[list[int], list[int], list[bytes] | None, list[bytes]]:
        """Return both ends and attributes of all edges, in the order of each vertex's neighbors."""
        src, dst, data = self._all_edges()
        us, vs = np.r_[src, dst], np.r_[dst, src]
        order = np.lexsort((vs, us))
        again = self._again(us[order], vs[order])
        count = len(data)
        for here, before in zip(order[again].tolist(), order[np.flatnonzero(again) - 1].tolist(), strict=True):
            if data[here % count] != data[before % count]:
                self._refuse(int(us[here]), int(vs[here]))
        kept = order[~again]
        return us[kept].tolist(), vs[kept].tolist(), None, [data[i % count] for i in kept.tolist()]

    def neighbors(self) -> tuple[Ints, Ints]:
        """Return both ends of all edges as ids, in the order of each vertex's neighbors."""
        src, dst = super().neighbors()
        us, vs = np.r_[src, dst], np.r_[dst, src]
        order = np.lexsort((vs, us))
        us, vs = us[order], vs[order]
        again = self._again(us, vs)
        return us[~again], vs[~again]

    @staticmethod
    def _again(us: Ints, vs: Ints) -> Any:
        """Whether a pair is the one before it."""
        if not len(us):
            return np.zeros(0, bool)
        return np.r_[False, (us[1:] == us[:-1]) & (vs[1:] == vs[:-1])]

    def _refuse(self, u: int, v: Any) -> None:
        raise InvalidInputError(
            f"the edges ({self._value(u)!r}, {self._value(v)!r}) and ({self._value(v)!r}, {self._value(u)!r}) of "
            f"{self.name!r} have different properties, so they are not one undirected edge\n"
            "hint: open the graph as quipu.nx.DiGraph"
        )

    def _upsert(self, side: str, src: Sequence[int], dst: Sequence[int], attributes: Sequence[bytes]) -> None:
        """Write each edge in the directions in which it is stored; a new one in the direction that was added."""
        once: dict[frozenset[int], tuple[int, int, bytes]] = {}
        for u, v, one in zip(src, dst, attributes, strict=True):
            once.setdefault(frozenset((u, v)), (u, v, one))
        rows = list(once.values())
        if self._graph.is_directed:
            rows = [(a, b, one) for u, v, one in rows for a, b in self._directions(u, v)]
        super()._upsert(side, [u for u, _, _ in rows], [v for _, v, _ in rows], [one for _, _, one in rows])

    def _directions(self, u: int, v: int) -> list[tuple[int, int]]:
        """The directions in which a directed graph stores an edge; that of a new one is from ``u`` to ``v``."""
        both = dict.fromkeys([(u, v), (v, u)])
        return [(a, b) for a, b in both if self._graph.has_edge(self._value(a), self._value(b))] or [(u, v)]

    def remove_edges(self, side: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Remove edges in both directions."""
        wanted = list(pairs)
        super().remove_edges(side, [*wanted, *((v, u) for u, v in wanted)])
