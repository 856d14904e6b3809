"""Writes the changes since the last flush.

Everything is encoded before anything is written, so a value that cannot be stored changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._cache import Cache, Pair, Side
from ._encoding import UnsupportedError, encode, encode_attributes, is_mutable_inside, key_of
from ._store import Meta


class Changes:
    """The changes of a graph as columns."""

    def __init__(self, cache: Cache):
        self.cache = cache
        self.graph = _naming("the graph", encode_attributes, cache.graph)
        self.nodes: list[tuple[Any, int, bytes]] = []
        with cache.nothing_forgotten():
            self._find_nodes()
            self.edges = [(side, self._find_edges(side)) for side in cache.sides]

    def __bool__(self) -> bool:
        cache = self.cache
        return bool(
            self.nodes
            or cache.gone
            or cache.cleared
            or self.graph != cache.meta.graph
            or any(pairs for _, pairs in self.edges)
        )

    def _find_nodes(self) -> None:
        cache = self.cache
        for n, kept in cache.touched_nodes.items():
            if n in cache.ids:
                value = dict.get(cache.nodes, n, kept)
                data = _naming(f"the vertex {n!r}", encode_attributes, value)
                self.nodes.append((n, cache.ids[n], data))
                if n in cache.watched_nodes or is_mutable_inside(value):
                    cache.watched_nodes[n] = data
        for n, stored in cache.watched_nodes.items():
            if n in cache.touched_nodes or n not in cache.ids:
                continue
            data = _naming(f"the vertex {n!r}", encode_attributes, cache.nodes[n])
            if data != stored:
                self.nodes.append((n, cache.ids[n], data))
                cache.watched_nodes[n] = data

    def _find_edges(self, side: Side) -> dict[Pair, Any]:
        """The changed edges of a side with their bytes; ``None`` for those that are gone."""
        cache = self.cache
        found: dict[Pair, Any] = {}
        for pair in _changed_pairs(side):
            if pair in found or cache.id_of(pair[0]) is None or cache.id_of(pair[1]) is None:
                continue
            found[pair] = self._bytes_of(side, pair)
        for at, stored in list(cache.watched_edges.items()):
            for pair in _orientations(side, at):
                if pair in found or cache.id_of(pair[0]) is None or cache.id_of(pair[1]) is None:
                    continue
                data = self._bytes_of(side, pair)
                if data != stored and data is not None:
                    found[pair] = data
        # New edges get ascending positions, in the order in which they were added.
        new = [pair for pair in side.added if pair in found]
        return {pair: found[pair] for pair in [*(pair for pair in found if pair not in side.added), *new]}

    def _bytes_of(self, side: Side, pair: Pair) -> Any:
        u, v = pair
        row = dict.get(side.rows, u)
        if row is None:
            waiting = side.waiting.get(u, {})
            row = waiting if v in waiting else self.cache.load_row(side, u)
        value = dict.get(row, v, self)
        return None if value is self else _naming(f"the edge {pair!r}", self.cache.encoded, value)

    def write(self) -> Meta:
        """Write everything through the store; return the graph's new properties."""
        cache, store = self.cache, self.cache.store
        meta = Meta(cache.meta.kind, self.graph, cache.next_id, cache.meta.next_position, cache.node_count)
        meta.version = cache.meta.version + 1
        if cache.cleared:
            store.clear()
        store.remove_nodes(list(cache.gone.values()), [key_of(n) for n in cache.gone])
        store.put_nodes(
            [id for _, id, _ in self.nodes], [encode(n) for n, _, _ in self.nodes], [d for _, _, d in self.nodes]
        )
        new = [(n, id) for n, id, _ in self.nodes if id >= cache.meta.next_id or cache.cleared]
        store.put_ids([key_of(n) for n, _ in new], [id for _, id in new])
        for side, pairs in self.edges:
            write = self._write_parallel if cache.multigraph else self._write_simple
            write(side, pairs, meta)
        store.write_meta(meta)
        self._watch()
        return meta

    def _ids(self, pair: Pair) -> Pair:
        return self.cache.id_of(pair[0]), self.cache.id_of(pair[1])

    def _write_simple(self, side: Side, pairs: dict[Pair, Any], meta: Meta) -> None:
        store = self.cache.store
        put: dict[str, list[Any]] = {"src": [], "dst": [], "position": [], "attributes": []}
        changed: tuple[list[int], list[int], list[bytes]] = ([], [], [])
        removed: list[tuple[int, int]] = []
        for pair, data in pairs.items():
            src, dst = self._ids(pair)
            if data is None:
                removed.append((src, dst))
            elif pair in side.added:
                for column, value in zip(put.values(), (src, dst, meta.next_position, data), strict=True):
                    column.append(value)
                meta.next_position += 1
            else:
                for column, value in zip(changed, (src, dst, data), strict=True):
                    column.append(value)
        store.remove_edges(side.name, removed)
        store.put_edges(side.name, put)
        store.update_edges(side.name, *changed)

    def _write_parallel(self, side: Side, pairs: dict[Pair, Any], meta: Meta) -> None:
        store = self.cache.store
        ids = {pair: self._ids(pair) for pair in pairs}
        old = [ids[pair] for pair, data in pairs.items() if data is not None and pair not in side.added]
        positions = store.positions(side.name, old)
        store.remove_edges(side.name, ids.values())
        names = ("src", "dst", "key", "position", "key_position", "attributes")
        put: dict[str, list[Any]] = {name: [] for name in names}
        for pair, data in pairs.items():
            if data is None:
                continue
            src, dst = ids[pair]
            position = positions.get((src, dst)) if pair not in side.added else None
            if position is None:
                position = meta.next_position
                meta.next_position += 1
            for i, (key, attributes) in enumerate(data):
                for column, value in zip(put.values(), (src, dst, key, position, i, attributes), strict=True):
                    column.append(value)
        store.put_edges(side.name, put)

    def _watch(self) -> None:
        """Record the written bytes of values that cannot record changes; the next flush compares them."""
        cache = self.cache
        side = cache.sides[0]
        for pair, data in self.edges[0][1].items():
            at = pair if pair in cache.watched_edges or cache.directed else _known(cache, pair)
            value = None if data is None else dict.get(dict.get(side.rows, pair[0], {}), pair[1])
            if value is None:
                cache.watched_edges.pop(at, None)
            elif at in cache.watched_edges or _is_mutable(cache, value):
                cache.watched_edges[at] = data


def _known(cache: Cache, pair: Pair) -> Pair:
    reverse = pair[1], pair[0]
    return reverse if reverse in cache.watched_edges else pair


def _is_mutable(cache: Cache, value: Any) -> bool:
    return any(map(is_mutable_inside, value.values())) if cache.multigraph else is_mutable_inside(value)


def _changed_pairs(side: Side) -> Iterator[Pair]:
    yield from side.changed
    for at in list(side.cache.touched_edges):
        yield from _orientations(side, at)
    yield from side.added


def _orientations(side: Side, at: Pair) -> Iterator[Pair]:
    u, v = at
    if side.reverse:
        yield v, u
        return
    yield u, v
    if not side.cache.directed and u != v:
        yield v, u


def _naming(place: str, encoder: Any, value: Any) -> Any:
    try:
        return encoder(value)
    except UnsupportedError as error:
        raise TypeError(f"{place} cannot be stored: {error}") from None
