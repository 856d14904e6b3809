"""A :class:`quipu.nx._existing.ExistingStore` for ``quipu.nx.Graph``: directions have no effect.

The database stores each edge in the direction in which it was written. Here it leads both ways. An edge that is stored
in both directions is one edge, and must have the same properties in both.
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

    def rows(self, side: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Return the neighbors of the vertices with ids from ``first`` to ``last``, ascending."""
        found: dict[tuple[int, Any], tuple[Any, ...]] = {}
        for direction in ("edges", "pred"):
            for row in super().rows(direction, first, last):
                pair = row[0], self.id_of(row[4])
                known = found.setdefault(pair, row)
                if known[3] != row[3]:
                    self._refuse(*pair)
        return [found[pair] for pair in sorted(found)]

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
        us, vs, data = [], [], []
        for u, v, one in once.values():
            ends = [(a, b) for a, b in dict.fromkeys([(u, v), (v, u)]) if self._is_stored(a, b)]
            for a, b in ends or [(u, v)]:
                us.append(a)
                vs.append(b)
                data.append(one)
        super()._upsert(side, us, vs, data)

    def _is_stored(self, u: int, v: int) -> bool:
        return self._graph.has_edge(self._value(u), self._value(v))

    def remove_edges(self, side: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Remove edges in both directions."""
        wanted = list(pairs)
        super().remove_edges(side, [*wanted, *((v, u) for u, v in wanted)])
