"""Adding many vertices or edges to a stored graph that is larger than its memory.

NetworkX looks up both ends of each new edge, and reads both rows of neighbors. Here a chunk of edges takes two lookups.
A new edge is put into the rows that are in memory. For a row that is not, it *waits* in :attr:`Side.waiting`, until the
row is read, to which it is appended, or until a flush.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ._cache import Cache, Pair, Side
from ._encoding import UnsupportedError, key_of
from ._maps import FreeAttributes

#: Number of vertices or edges that are looked up together.
CHUNK = 50_000

_UNKNOWN: Any = object()


def cache_of_pages(G: Any) -> Cache | None:
    """Return the cache of a graph to which much is added in chunks; ``None`` if NetworkX's own methods do as well."""
    stored = G._stored
    if stored is None or not stored.cache.shows(G) or stored.cache.complete():
        return None
    return stored.cache


def chunks(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield the values in lists; those before an error of the iterator come before the error."""
    iterator, chunk, error = iter(values), [], None
    while error is None:
        chunk = []
        try:
            chunk.extend(islice(iterator, CHUNK))
        except Exception as raised:  # noqa: BLE001, raised again below
            error = raised
        if not chunk:
            break
        yield chunk
    if error is not None:
        raise error


def look_up_vertices(cache: Cache, chunk: list[Any]) -> None:
    """Look up the vertices in an argument of ``add_nodes_from``."""
    found: dict[Any, None] = {}
    for n in chunk:
        try:
            found[n] = None
        except TypeError:  # a vertex with its attributes
            if isinstance(n, tuple) and n:
                _add(found, n[0])
    _look_up(cache, found)


def add_edges(G: Any, cache: Cache, chunk: list[Any], attributes: dict[str, Any]) -> bool:
    """Add edges as ``add_edges_from`` does; return whether they were, and not left to NetworkX, which may raise."""
    edges = _checked(chunk)
    if edges is None:
        return False
    _look_up(cache, {n: None for u, v, _ in edges for n in (u, v)})
    stored = _stored_pairs(cache, [(u, v) for u, v, _ in edges])
    first, last = cache.sides[0], cache.sides[-1]
    for u, v, own in edges:
        for n in (u, v):
            if n not in G._node:
                for side in cache.sides:
                    side.rows[n] = G.adjlist_inner_dict_factory()
                G._node[n] = G.node_attr_dict_factory()
        found = _in_memory(cache, u, v)
        if found is _UNKNOWN:
            found = first.rows[u][v] if (u, v) in stored else None
        if found is not None:
            found.update(attributes)
            found.update(own)
            continue
        new = FreeAttributes(attributes)
        new.update(own)
        _put(cache, first, u, v, new)
        if last is not first or u != v:
            _put(cache, last, v, u, new)
    return True


def _checked(chunk: list[Any]) -> list[tuple[Any, Any, Any]] | None:
    """The edges with their attributes; ``None`` if one may be refused."""
    found: list[tuple[Any, Any, Any]] = []
    for edge in chunk:
        try:
            u, v, own = edge if len(edge) == 3 else (*edge, {})
            hash((u, v))
            key_of(u)
            key_of(v)
        except (TypeError, ValueError, UnsupportedError):
            return None
        if u is None or v is None or not isinstance(own, dict):
            return None
        found.append((u, v, own))
    return found


def _add(found: dict[Any, None], n: Any) -> None:
    try:
        found[n] = None
    except TypeError:
        return


def _look_up(cache: Cache, vertices: dict[Any, None]) -> None:
    """Keep the ids of the stored ones, and which are not there."""
    cache.absent.clear()
    keys: dict[bytes, Any] = {}
    for n in vertices:
        if n in cache.ids or n in cache.known or n in cache.gone:
            continue
        try:
            keys[key_of(n)] = n
        except UnsupportedError:
            continue
    ids = cache.store.ids_of(list(keys))
    for key, n in keys.items():
        id = ids.get(key)
        if id is None:
            cache.absent.add(n)
        else:
            cache.known[n] = id


def _stored_pairs(cache: Cache, pairs: list[Pair]) -> set[Pair]:
    """Those of the edges that are in the snapshot."""
    wanted: dict[Any, Pair] = {}
    for u, v in pairs:
        src, dst = cache.number_of(u), cache.number_of(v)
        if src is not None and dst is not None and max(src, dst) < cache.meta.next_id:
            wanted[src, dst] = u, v
    return {wanted[at] for at in cache.store.stored_edges(cache.sides[0].name, list(wanted))}


def _in_memory(cache: Cache, u: Any, v: Any) -> Any:
    """The attributes of an edge that is in memory or waits; ``None`` if there is none."""
    first, last = cache.sides[0], cache.sides[-1]
    for side, a, b in ((first, u, v), (last, v, u)):
        if cache.has_row(side, a):
            return dict.get(dict.__getitem__(side.rows, a), b)
    return first.waiting.get(u, {}).get(v, _UNKNOWN)


def _put(cache: Cache, side: Side, u: Any, v: Any, value: Any) -> None:
    if cache.has_row(side, u):
        dict.__getitem__(side.rows, u)[v] = value
    else:
        side.wait(u, v, value)
