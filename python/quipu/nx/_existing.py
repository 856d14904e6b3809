"""A :class:`quipu.nx._store.Store` over a graph of ``db.graph``.

Its edges are directed, unlike those of :mod:`quipu.nx._undirected`. It keeps the order of its keys: numbers come in
ascending order, strings in the order in which the database first saw them. Attributes are its properties, such as the
weight; a null property is left out. A vertex exists if it has an edge, or a row of its own where the vertices of the
graph have properties. Ids are positions among the vertices of the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ._encoding import decode, decode_attributes, encode
from ._properties import Properties
from ._store import Ints, Meta, Store


class ExistingStore(Store):
    """Reads and writes a graph of ``db.graph`` through a transaction, which :meth:`use` sets."""

    #: The class of :mod:`quipu.nx` that shows the graph.
    kind = "DiGraph"

    def __init__(self, name: str):
        super().__init__(name, directed=self.kind == "DiGraph", multigraph=False)
        self._graph: Any = None
        self._vertices: Any = np.empty(0, "int64")
        #: Positions of strings, which are not sorted.
        self._strings: dict[str, int] = {}
        self._new: dict[int, Any] = {}
        self._of_edges = Properties(())
        #: ``None`` if vertices have no rows, so that they exist by their edges alone.
        self._of_nodes: Properties | None = None

    def use(self, transaction: Any) -> None:
        """Read and write through this transaction from now on."""
        super().use(transaction)
        self._new.clear()
        if transaction is not None:
            self._graph = transaction.graph(self.name)
            if self._graph.key is not None:
                raise InvalidInputError(
                    f"the graph {self.name!r} of db.graph has edges with keys, which classes of NetworkX do not show\n"
                    "hint: g.project().to_networkx() copies them"
                )
            if self.kind == "DiGraph" and not self._graph.is_directed:
                raise InvalidInputError(
                    f"the graph {self.name!r} of db.graph is undirected\nhint: open it as quipu.nx.Graph"
                )
            self._of_edges = Properties(self._graph.edges_table.columns)
            self._of_nodes = self._properties_of_nodes()
            self._vertices = self._graph.vertices()
            if self._graph.vertex == "str":
                self._strings = {n: id for id, n in enumerate(self._vertices.tolist())}

    def _properties_of_nodes(self) -> Properties | None:
        try:
            return Properties(self._graph.nodes.columns)
        except InvalidInputError:
            return None

    # --- the graph as a whole ---

    def read_meta(self) -> Meta:
        """Return the graph's properties."""
        count = len(self._vertices)
        return Meta(self.kind, next_id=count, nodes=count)

    def write_meta(self, meta: Meta) -> None:
        """There is nothing to write."""

    def clear(self) -> None:
        """Remove all edges."""
        self._graph.clear()

    def check(self, changes: Any) -> None:
        """Refuse changes that such a graph cannot hold, before anything is written.

        Raises:
            TypeError: An attribute is no property, or a new vertex cannot be without an edge, or is of another type.
        """
        if changes.graph:
            raise TypeError(f"the graph {self.name!r} of db.graph has no attributes of its own")
        cache = changes.cache
        for n, id, data in changes.nodes:
            is_new = id >= cache.meta.next_id
            if is_new and type(n) is not (str if self._graph.vertex == "str" else int):
                raise TypeError(f"the vertex {n!r} does not fit {self.name!r}, whose vertices are {self._graph.vertex}")
            if self._of_nodes is not None:
                has_row = data or not is_new or not any(len(side.rows[n]) for side in cache.sides)
                if has_row:
                    self._of_nodes.check(f"the vertex {n!r}", decode_attributes(data))
                continue
            if data:
                raise TypeError(
                    f"the vertex {n!r} cannot have attributes: vertices of {self.name!r} have no properties"
                )
            if is_new and not any(len(side.rows[n]) for side in cache.sides):
                raise TypeError(f"the vertex {n!r} has no edge, and {self.name!r} stores edges alone")
        for pair, data in changes.edges[0][1].items():
            if data is not None:
                self._of_edges.check(f"the edge {pair!r}", decode_attributes(data))

    # --- reading ---

    def count(self, part: str) -> int:
        """Return the number of edges or vertices."""
        return len(self._vertices) if part == "nodes" else self._graph.number_of_edges()

    def edge_count(self) -> int | None:
        """Return the number of edges."""
        return self._graph.number_of_edges()

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

    def ids_of(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Return the ids of those of the vertices that are there."""
        found = ((key, self.id_of(key)) for key in keys)
        return {key: id for key, id in found if id is not None}

    def stored_edges(self, side: str, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return those of the edges, by source and target, that are there."""
        is_there = self._has_edges(pairs) if pairs else np.zeros(0, bool)
        return [pairs[i] for i in np.flatnonzero(is_there).tolist()]

    def _has_edges(self, pairs: Sequence[tuple[int, int]]) -> Any:
        us, vs = ([self._value(id) for id in ids] for ids in zip(*pairs, strict=True))
        return self._graph.has_edge_many(us, vs)

    def node(self, id: int) -> tuple[bytes, bytes]:
        """Return a vertex and its attributes."""
        n = self._value(id)
        return encode(n), b"" if self._of_nodes is None else self._of_nodes.encoded(self._graph.node(n) or {})

    def nodes(self, after: int, count: int | None) -> tuple[list[int], list[bytes], list[bytes]]:
        """Return ids, vertices and attributes of up to ``count`` vertices with larger ids, in order."""
        last = len(self._vertices) if count is None else min(after + 1 + count, len(self._vertices))
        ids = list(range(after + 1, last))
        data = [b""] * len(ids)
        if self._of_nodes is not None and ids:
            is_there, table = self._graph.node_many(self._vertices[after + 1 : last])
            places = np.flatnonzero(is_there).tolist()
            for place, one in zip(places, self._of_nodes.rows(table), strict=True):
                data[place] = one
        return ids, [encode(self._value(id)) for id in ids], data

    def rows(self, side: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Return the neighbors of the vertices with ids from ``first`` to ``last``, in their order."""
        wanted = self._vertices[first : last + 1]
        read = self._graph.out_edges_many if side == "edges" else self._graph.in_edges_many
        offsets, src, dst, _ = read(wanted)
        others = dst if side == "edges" else src
        data = self._attributes_of(src, dst)
        ids = np.repeat(np.arange(first, first + len(wanted)), np.diff(offsets.astype("int64"))).tolist()
        return [(id, None, None, one, encode(n)) for id, n, one in zip(ids, others.tolist(), data, strict=True)]

    def all_rows(self, side: str) -> tuple[list[int], list[int], list[bytes] | None, list[bytes]]:
        """Return sources, targets and attributes of all edges, in the order of each source's neighbors."""
        src, dst, data = self._all_edges()
        if side != "edges":
            src, dst = dst, src
        order = np.lexsort((dst, src)).tolist()
        return src[order].tolist(), dst[order].tolist(), None, [data[i] for i in order]

    def _all_edges(self) -> tuple[Ints, Ints, list[bytes]]:
        """Positions of sources and targets, and attributes."""
        columns = self._graph.to_table().to_numpy()
        data = self._attributes_of(columns["src"], columns["dst"])
        return self._positions(columns["src"]), self._positions(columns["dst"]), data

    def _attributes_of(self, us: Any, vs: Any) -> list[bytes]:
        """The attributes of edges that are there."""
        if not len(us) or not self._of_edges.names:
            return [b""] * len(us)
        return self._of_edges.rows(self._graph.edge_properties_many(us, vs)[1])

    def vertices(self) -> tuple[Ints, list[Any]]:
        """Return the ids of all vertices, ascending, and the vertices."""
        return np.arange(len(self._vertices)), self._vertices.tolist()

    def neighbors(self) -> tuple[Ints, Ints]:
        """Return sources and targets of all edges as ids, in the order of each source's neighbors."""
        columns = self._graph.to_table().to_numpy()
        src, dst = self._positions(columns["src"]), self._positions(columns["dst"])
        order = np.lexsort((dst, src))
        return src[order], dst[order]

    def attributes(self) -> list[bytes]:
        """Return the attributes of the edges of :meth:`neighbors`."""
        return self.all_rows("edges")[3]

    def lacks(self, name: Any) -> bool:
        """Return whether no edge has this attribute, since it is no property."""
        return name not in self._of_edges.names

    def _positions(self, vertices: Any) -> Ints:
        if self._graph.vertex == "str":
            return np.asarray([self._strings[n] for n in vertices.tolist()], "int64")
        return np.searchsorted(self._vertices, vertices).astype("int64")

    def _value(self, id: int) -> Any:
        found = self._new.get(id)
        if found is None:
            found = self._vertices[id]
        return found if isinstance(found, str | int) else found.item()

    # --- writing ---

    def put_nodes(self, ids: Sequence[int], nodes: Sequence[bytes], attributes: Sequence[bytes]) -> None:
        """Write vertices with attributes or without edges; remember the others, whose edges follow."""
        vertices = [decode(node) for node in nodes]
        is_new = [id >= len(self._vertices) for id in ids]
        self._new.update(zip(ids, vertices, strict=True))
        if self._of_nodes is None:
            return
        kept = [i for i, data in enumerate(attributes) if data or not is_new[i] or self._can_be_empty()]
        if kept:
            columns = self._of_nodes.columns([attributes[i] for i in kept])
            self._graph.upsert_nodes({"vertex": [vertices[i] for i in kept], **columns})

    def _can_be_empty(self) -> bool:
        """Whether a vertex may have a row without properties."""
        return self._of_nodes is not None and not self._of_nodes.required

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
        if self._of_edges.names:
            self._graph.upsert_edges({"src": us, "dst": vs, **self._of_edges.columns(attributes)})
        else:
            self._graph.upsert_many(us, vs)

    def remove_edges(self, side: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Remove edges."""
        wanted = list(pairs) if side == "edges" else []
        if wanted:
            self._graph.remove_many([self._value(u) for u, _ in wanted], [self._value(v) for _, v in wanted])
