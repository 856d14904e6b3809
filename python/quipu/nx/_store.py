"""Reads and writes of the relations of one stored graph.

For a graph ``g``:

| relation | rows |
| --- | --- |
| ``g.meta`` | ``{key: String => value: Bytes}``: the kind of graph, its attributes, the next numbers |
| ``g.nodes`` | ``{id: Int => node: Bytes, attributes: Bytes}``: vertices; ids ascend in the order of insertion |
| ``g.ids`` | ``{node: Bytes => id: Int}``: vertices by :func:`quipu.nx._encoding.key_of` |
| ``g.edges`` | ``{src: Int, dst: Int => position: Int, attributes: Bytes}``: neighbors, from both ends if undirected |
| ``g.pred`` | the same for predecessors, with ``src`` the head of the edge; only of directed graphs |

Graphs with parallel edges have a third key column, ``key: Bytes``, and a column ``key_position``. A vertex keeps its
neighbors in the order of ``position``, and the edges between two vertices in that of ``key_position``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ._encoding import decode, encode

FORMAT = 1

Ints = npt.NDArray[np.int64]


class Reader(Protocol):
    """A transaction, or a database."""

    def run(self, script: str, params: Any = None) -> Any: ...
    def relation(self, name: str) -> Any: ...


class Meta:
    """The properties in ``g.meta``."""

    def __init__(self, kind: str, graph: bytes = b"", next_id: int = 0, next_position: int = 0, nodes: int = 0):
        self.kind = kind
        self.graph = graph
        self.next_id = next_id
        self.next_position = next_position
        self.nodes = nodes
        self.version = 0


class Store:
    """Reads and writes the relations of one graph through a transaction, which :meth:`use` sets."""

    def __init__(self, name: str, *, directed: bool, multigraph: bool):
        self.name = name
        self.multigraph = multigraph
        self.sides = ("edges", "pred") if directed else ("edges",)
        self._run: Callable[..., Any] = _closed
        self._relation: Callable[[str], Any] = _closed

    def use(self, transaction: Reader | None) -> None:
        """Read and write through this transaction from now on."""
        self._run = _closed if transaction is None else transaction.run
        self._relation = _closed if transaction is None else transaction.relation

    def _ref(self, part: str) -> str:
        return f"`{self.name}.{part}`"

    # --- the graph as a whole ---

    def has_relations(self) -> bool:
        """Return whether the graph's relations exist."""
        try:
            self._relation(f"{self.name}.meta")
        except InvalidInputError:
            return False
        return True

    def is_filled(self) -> bool:
        """Return whether the graph's properties are stored."""
        return len(self._run(f"?[key] := *{self._ref('meta')}{{key}} :limit 1")) > 0

    def create(self) -> None:
        """Create the relations."""
        key, place = (", key: Bytes", ", key_position: Int") if self.multigraph else ("", "")
        relations = [
            ("meta", "{key: String => value: Bytes}"),
            ("nodes", "{id: Int => node: Bytes, attributes: Bytes}"),
            ("ids", "{node: Bytes => id: Int}"),
            *((side, f"{{src: Int, dst: Int{key} => position: Int{place}, attributes: Bytes}}") for side in self.sides),
        ]
        for part, columns in relations:
            self._run(f":create {self._ref(part)} {columns}")

    def read_meta(self) -> Meta:
        """Return the graph's properties.

        Raises:
            InvalidInputError: A newer version wrote it.
        """
        rows = dict(self._run(f"?[key, value] := *{self._ref('meta')}{{key, value}}").rows())
        known = {key: decode(value) for key, value in rows.items()}
        if known["format"] != FORMAT:
            raise InvalidInputError(
                f"graph {self.name!r} has format {known['format']} of quipu.nx, this version reads {FORMAT}\n"
                "hint: open it with a newer version of quipudb"
            )
        meta = Meta(known["kind"], known["graph"], known["next_id"], known["next_position"], known["nodes"])
        meta.version = known["version"]
        return meta

    def write_meta(self, meta: Meta) -> None:
        """Write the graph's properties. Every commit does, so two writers of one graph always conflict."""
        values = {
            "format": FORMAT,
            "kind": meta.kind,
            "graph": meta.graph,
            "next_id": meta.next_id,
            "next_position": meta.next_position,
            "nodes": meta.nodes,
            "version": meta.version,
        }
        self._put("meta", key=list(values), value=[encode(value) for value in values.values()])

    def clear(self) -> None:
        """Remove all vertices and edges."""
        self._run(f"?[id] := *{self._ref('nodes')}{{id}} :rm {self._ref('nodes')} {{id}}")
        self._run(f"?[node] := *{self._ref('ids')}{{node}} :rm {self._ref('ids')} {{node}}")
        keys = self._edge_keys()
        for side in self.sides:
            self._run(f"?[{keys}] := *{self._ref(side)}{{{keys}}} :rm {self._ref(side)} {{{keys}}}")

    def check(self, changes: Any) -> None:
        """Refuse changes that the graph cannot hold, before anything is written."""

    # --- reading ---

    def count(self, part: str) -> int:
        """Return the number of rows of a relation."""
        key = "id" if part == "nodes" else "src"
        return self._run(f"?[count({key})] := *{self._ref(part)}{{{key}}}")[0][0]

    def edge_count(self) -> int | None:
        """Return the number of edges; ``None`` if only reading all of them tells it."""
        rows = self.count("edges")
        if len(self.sides) > 1:
            return rows
        # Every other edge has two rows, one at each end.
        loops = self._run(f"?[count(src)] := *{self._ref('edges')}{{src, dst}}, src == dst")[0][0]
        return (rows + loops) // 2

    def id_of(self, key: bytes) -> int | None:
        """Return the id of a vertex; ``None`` if there is no such vertex."""
        rows = self._run(f"?[id] := *{self._ref('ids')}{{node: $key, id}}", {"key": key})
        return rows[0][0] if len(rows) else None

    def ids_of(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Return the ids of those of the vertices that are stored."""
        if not keys:
            return {}
        is_there, found = self._relation(f"{self.name}.ids").get_many({"node": keys})
        there = (key for key, one in zip(keys, is_there.tolist(), strict=True) if one)
        return dict(zip(there, found["id"], strict=True))

    def stored_edges(self, side: str, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return those of the edges, by source and target, that are stored. There are no parallel edges."""
        if not pairs:
            return []
        src, dst = zip(*pairs, strict=True)
        is_there, _ = self._relation(f"{self.name}.{side}").get_many({"src": _column(src), "dst": _column(dst)})
        return [pairs[i] for i in np.flatnonzero(is_there).tolist()]

    def node(self, id: int) -> tuple[bytes, bytes]:
        """Return a vertex and its attributes."""
        script = f"?[node, attributes] := *{self._ref('nodes')}{{id: $id, node, attributes}}"
        return self._run(script, {"id": id})[0]

    def nodes(self, after: int, count: int | None) -> tuple[list[int], list[bytes], list[bytes]]:
        """Return ids, vertices and attributes of up to ``count`` vertices with larger ids, in order."""
        script = f"?[id, node, attributes] := *{self._ref('nodes')}{{id, node, attributes}}, id > $after :order id"
        found = self._run(script if count is None else f"{script} :limit {count}", {"after": after})
        return found["id"], found["node"], found["attributes"]

    def rows(self, side: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Return the neighbors of the vertices with ids from ``first`` to ``last``, in their order.

        Rows are ``(src, dst, key, attributes, node)``; the key is ``None`` without parallel edges.
        """
        script = (
            f"?[src, position, {self._order()}dst, {self._key()}attributes, node] := "
            f"*{self._ref(side)}{{src, dst, {self._key()}position, {self._order()}attributes}}, "
            f"src >= $first, src <= $last, *{self._ref('nodes')}{{id: dst, node}}"
        )
        rows = self._run(script, {"first": first, "last": last}).rows()
        if self.multigraph:
            return [(src, dst, key, data, node) for src, _, _, dst, key, data, node in rows]
        return [(src, dst, None, data, node) for src, _, dst, data, node in rows]

    def all_rows(self, side: str) -> tuple[list[int], list[int], list[bytes] | None, list[bytes]]:
        """Return sources, targets, keys and attributes of all edges, in the order of each source's neighbors."""
        columns = f"src, dst, {self._key()}position, {self._order()}attributes"
        found = self._run(f"?[{columns}] := *{self._ref(side)}{{{columns}}}").to_numpy()
        order = self._neighbor_order(found)
        src, dst = (_ints(found, name)[order].tolist() for name in ("src", "dst"))
        keys = found["key"][order].tolist() if self.multigraph else None
        return src, dst, keys, found["attributes"][order].tolist()

    def _neighbor_order(self, found: Any) -> Ints:
        """The order of each source's neighbors, and of the edges to each of them."""
        orders = [_ints(found, "position"), _ints(found, "src")]
        return np.lexsort([_ints(found, "key_position"), *orders] if self.multigraph else orders)

    def vertices(self) -> tuple[Ints, list[Any]]:
        """Return the ids of all vertices, ascending, and the vertices."""
        found = self._run(f"?[id, node] := *{self._ref('nodes')}{{id, node}} :order id").to_numpy()
        return _ints(found, "id"), list(map(decode, found["node"]))

    def neighbors(self) -> tuple[Ints, Ints]:
        """Return sources and targets of all edges as ids, in the order of each source's neighbors.

        Parallel edges are adjacent.
        """
        columns = f"src, dst, {self._key()}position"
        found = self._run(f"?[{columns}] := *{self._ref('edges')}{{{columns}}}").to_numpy()
        order = np.lexsort([_ints(found, "position"), _ints(found, "src")])
        return _ints(found, "src")[order], _ints(found, "dst")[order]

    def attributes(self) -> list[bytes]:
        """Return the attributes of the edges of :meth:`neighbors`; of parallel edges in the order of their keys."""
        columns = f"src, position, {self._order()}attributes"
        found = self._run(f"?[{columns}] := *{self._ref('edges')}{{{columns}}}").to_numpy()
        return found["attributes"][self._neighbor_order(found)].tolist()

    def lacks(self, name: Any) -> bool:
        """Return whether no edge has this attribute, as far as the relations' columns tell."""
        return False

    def positions(self, side: str, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """Return the positions of edges that are stored, by source and target."""
        wanted = [list(pair) for pair in pairs]
        if not wanted:
            return {}
        script = (
            "wanted[src, dst] <- $pairs\n"
            f"?[src, dst, position] := wanted[src, dst], *{self._ref(side)}{{src, dst, position}}"
        )
        return {(src, dst): position for src, dst, position in self._run(script, {"pairs": wanted})}

    # --- writing ---

    def put_nodes(self, ids: Sequence[int], nodes: Sequence[bytes], attributes: Sequence[bytes]) -> None:
        """Write vertices."""
        if ids:
            self._put("nodes", id=_column(ids), node=nodes, attributes=attributes)

    def put_ids(self, keys: Sequence[bytes], ids: Sequence[int]) -> None:
        """Write the ids of new vertices."""
        if keys:
            self._put("ids", node=keys, id=_column(ids))

    def remove_nodes(self, ids: Sequence[int], keys: Sequence[bytes]) -> None:
        """Remove vertices, and all edges that begin or end at them."""
        if not ids:
            return
        self._relation(f"{self.name}.nodes").rm({"id": _column(ids)})
        self._relation(f"{self.name}.ids").rm({"node": keys})
        columns, key = self._edge_keys(), ", key" if self.multigraph else ""
        gone = {"gone": [[id] for id in ids]}
        for side, opposite in zip(self.sides, reversed(self.sides), strict=True):
            # Rows of the other end are found from this end, by the first key column.
            here, there = self._ref(side), self._ref(opposite)
            reverse = f"?[{columns}] := gone[dst], *{here}{{src: dst, dst: src{key}}}"
            self._run(f"gone[id] <- $gone\n{reverse} :rm {there} {{{columns}}}", gone)
        for side in self.sides:
            here = self._ref(side)
            self._run(
                f"gone[id] <- $gone\n?[{columns}] := gone[src], *{here}{{{columns}}} :rm {here} {{{columns}}}", gone
            )

    def put_edges(self, side: str, columns: dict[str, Any]) -> None:
        """Write edges, with all columns."""
        if len(columns["src"]):
            self._put(side, **columns)

    def update_edges(self, side: str, src: Sequence[int], dst: Sequence[int], attributes: Sequence[bytes]) -> None:
        """Change the attributes of edges that are stored."""
        if src:
            data = {"src": _column(src), "dst": _column(dst), "attributes": attributes}
            self._relation(f"{self.name}.{side}").update(data)

    def remove_edges(self, side: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Remove all edges between these pairs of vertices."""
        wanted = [[s, d] for s, d in pairs]
        if not wanted:
            return
        if not self.multigraph:
            src, dst = zip(*wanted, strict=True)
            self._relation(f"{self.name}.{side}").rm({"src": _column(src), "dst": _column(dst)})
            return
        self._run(
            f"wanted[src, dst] <- $pairs\n?[src, dst, key] := wanted[src, dst], *{self._ref(side)}{{src, dst, key}} "
            f":rm {self._ref(side)} {{src, dst, key}}",
            {"pairs": wanted},
        )

    def _put(self, part: str, **columns: Any) -> None:
        self._relation(f"{self.name}.{part}").put(columns)

    def _key(self) -> str:
        return "key, " if self.multigraph else ""

    def _order(self) -> str:
        return "key_position, " if self.multigraph else ""

    def _edge_keys(self) -> str:
        return "src, dst, key" if self.multigraph else "src, dst"


def _closed(*_args: Any, **_kwargs: Any) -> Any:
    raise InvalidInputError(
        "the snapshot of this graph has ended\nhint: G.refresh() takes a new one, and discards unflushed changes"
    )


def _column(values: Sequence[int]) -> Ints:
    return np.asarray(values, "int64")


def _ints(columns: Any, name: str) -> Ints:
    return cast("Ints", columns[name].astype("int64", copy=False))
