"""A :class:`quipu.nx._store.Store` over a graph of ``db.graph``.

It is directed, has at most a weight, and keeps no order but that of its keys: numbers come in ascending order, strings
in the order in which the database first saw them. A vertex is there as long as it has an edge. Ids are positions among
the vertices of the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._encoding import decode, decode_attributes, encode, encode_attributes
from ._store import Ints, Meta, Store

_WEIGHT = "weight"


class ExistingStore(Store):
    """Reads and writes a graph of ``db.graph`` through a transaction, which :meth:`use` sets."""

    def __init__(self, name: str):
        super().__init__(name, directed=True, multigraph=False)
        self._graph: Any = None
        self._vertices: Any = np.empty(0, "int64")
        #: Positions of strings, which are not sorted.
        self._strings: dict[str, int] = {}
        self._new: dict[int, Any] = {}

    def use(self, transaction: Any) -> None:
        """Read and write through this transaction from now on."""
        super().use(transaction)
        self._new.clear()
        if transaction is not None:
            self._graph = transaction.graph(self.name)
            self._vertices = self._graph.vertices()
            if self._graph.vertex == "str":
                self._strings = {n: id for id, n in enumerate(self._vertices.tolist())}

    # --- the graph as a whole ---

    def read_meta(self) -> Meta:
        """Return the graph's properties."""
        count = len(self._vertices)
        return Meta("DiGraph", next_id=count, nodes=count)

    def write_meta(self, meta: Meta) -> None:
        """There is nothing to write."""

    def clear(self) -> None:
        """Remove all edges."""
        self._graph.clear()

    def check(self, changes: Any) -> None:
        """Refuse changes that such a graph cannot hold, before anything is written.

        Raises:
            TypeError: An attribute is no weight, or a new vertex has no edge, or is of another type.
        """
        if changes.graph:
            raise TypeError(f"the graph {self.name!r} of db.graph has no attributes of its own")
        cache = changes.cache
        for n, id, data in changes.nodes:
            if data:
                raise TypeError(f"the vertex {n!r} cannot have attributes: {self.name!r} is a graph of db.graph")
            if id >= cache.meta.next_id and not any(len(side.rows[n]) for side in cache.sides):
                raise TypeError(
                    f"the vertex {n!r} has no edge, and {self.name!r}, a graph of db.graph, stores edges alone"
                )
            if type(n) is not (str if self._graph.vertex == "str" else int):
                raise TypeError(f"the vertex {n!r} does not fit {self.name!r}, whose vertices are {self._graph.vertex}")
        for pair, data in changes.edges[0][1].items():
            if data is not None:
                self._check_weight(pair, decode_attributes(data))

    def _check_weight(self, pair: Any, attributes: dict[Any, Any]) -> None:
        if self._graph.weight is None and not attributes:
            return
        weight = attributes.get(_WEIGHT)
        fits = type(weight) in ((int, float) if self._graph.weight == "float64" else (int,))
        if self._graph.weight is None or set(attributes) != {_WEIGHT} or not fits:
            kind = f"a weight of {self._graph.weight}" if self._graph.weight else "no attributes"
            raise TypeError(f"the edge {pair!r} has {attributes!r}, and edges of {self.name!r} have {kind}")

    # --- reading ---

    def count(self, part: str) -> int:
        """Return the number of edges or vertices."""
        return len(self._vertices) if part == "nodes" else self._graph.number_of_edges()

    def id_of(self, key: bytes) -> int | None:
        """Return the id of a vertex; ``None`` if there is no such vertex."""
        n = decode(key)
        if self._graph.vertex == "str":
            return self._strings.get(n)
        if type(n) is not int or not len(self._vertices):
            return None
        if not int(self._vertices[0]) <= n <= int(self._vertices[-1]):
            return None
        at = int(np.searchsorted(self._vertices, self._vertices.dtype.type(n)))
        return at if at < len(self._vertices) and self._vertices[at] == n else None

    def node(self, id: int) -> tuple[bytes, bytes]:
        """Return a vertex, and no attributes."""
        return encode(self._value(id)), b""

    def nodes(self, after: int, count: int | None) -> tuple[list[int], list[bytes], list[bytes]]:
        """Return ids and vertices of up to ``count`` vertices with larger ids, and no attributes."""
        last = len(self._vertices) if count is None else min(after + 1 + count, len(self._vertices))
        ids = list(range(after + 1, last))
        return ids, [encode(self._value(id)) for id in ids], [b""] * len(ids)

    def rows(self, side: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Return the neighbors of the vertices with ids from ``first`` to ``last``, in their order."""
        wanted = self._vertices[first : last + 1]
        read = self._graph.out_edges_many if side == "edges" else self._graph.in_edges_many
        offsets, src, dst, weights = read(wanted)
        others = dst if side == "edges" else src
        data = self._weights(weights, len(others))
        ids = np.repeat(np.arange(first, first + len(wanted)), np.diff(offsets.astype("int64"))).tolist()
        return [(id, None, None, one, encode(n)) for id, n, one in zip(ids, others.tolist(), data, strict=True)]

    def all_rows(self, side: str) -> tuple[list[int], list[int], list[bytes] | None, list[bytes]]:
        """Return sources, targets and weights of all edges, in the order of each source's neighbors."""
        columns = self._graph.to_table().to_numpy()
        src, dst = self._positions(columns["src"]), self._positions(columns["dst"])
        data = self._weights(columns.get(_WEIGHT), len(src))
        if side == "edges":
            return src.tolist(), dst.tolist(), None, data
        order = np.lexsort((src, dst))
        return dst[order].tolist(), src[order].tolist(), None, [data[i] for i in order.tolist()]

    def vertices(self) -> tuple[Ints, list[Any]]:
        """Return the ids of all vertices, ascending, and the vertices."""
        return np.arange(len(self._vertices)), self._vertices.tolist()

    def neighbors(self) -> tuple[Ints, Ints]:
        """Return sources and targets of all edges as ids, in the order of each source's neighbors."""
        columns = self._graph.to_table().to_numpy()
        return self._positions(columns["src"]), self._positions(columns["dst"])

    def _positions(self, vertices: Any) -> Ints:
        if self._graph.vertex == "str":
            return np.asarray([self._strings[n] for n in vertices.tolist()], "int64")
        return np.searchsorted(self._vertices, vertices).astype("int64")

    def _weights(self, weights: Any, count: int) -> list[bytes]:
        if self._graph.weight is None:
            return [b""] * count
        return [encode_attributes({_WEIGHT: weight}) for weight in weights.tolist()]

    def _value(self, id: int) -> Any:
        found = self._new.get(id)
        if found is None:
            found = self._vertices[id]
        return found if isinstance(found, str | int) else found.item()

    # --- writing ---

    def put_nodes(self, ids: Sequence[int], nodes: Sequence[bytes], attributes: Sequence[bytes]) -> None:
        """Remember new vertices, whose edges follow."""
        self._new.update(zip(ids, map(decode, nodes), strict=True))

    def put_ids(self, keys: Sequence[bytes], ids: Sequence[int]) -> None:
        """There is nothing to write."""

    def remove_nodes(self, ids: Sequence[int], keys: Sequence[bytes]) -> None:
        """Remove vertices, and all edges that begin or end at them."""
        for key in keys:
            self._graph.remove_vertex(decode(key))

    def put_edges(self, side: str, columns: dict[str, Any]) -> None:
        """Write edges."""
        self._upsert(side, columns["src"], columns["dst"], columns["attributes"])

    def update_edges(self, side: str, src: Sequence[int], dst: Sequence[int], attributes: Sequence[bytes]) -> None:
        """Change the weights of edges."""
        self._upsert(side, src, dst, attributes)

    def _upsert(self, side: str, src: Sequence[int], dst: Sequence[int], attributes: Sequence[bytes]) -> None:
        # The graph keeps its other direction by itself.
        if side != "edges" or not src:
            return
        us, vs = [self._value(id) for id in src], [self._value(id) for id in dst]
        if self._graph.weight is None:
            self._graph.upsert_many(us, vs)
        else:
            self._graph.upsert_many(us, vs, [decode_attributes(data)[_WEIGHT] for data in attributes])

    def remove_edges(self, side: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Remove edges."""
        wanted = list(pairs) if side == "edges" else []
        if wanted:
            self._graph.remove_many([self._value(u) for u, _ in wanted], [self._value(v) for _, v in wanted])
