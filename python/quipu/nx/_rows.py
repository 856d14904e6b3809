"""The edges of a graph as arrays: for each vertex its neighbors, in NetworkX's order.

Kernels read these arrays, and answers name vertices by them. A stored graph without unflushed changes is read from the
columns of its relations, so its dicts need not be in memory; any other graph is read from its dicts.

The arrays are kept with the graph, in the dict that NetworkX clears when a method changes the graph. Attributes are not
among them, since a program changes these dicts without a notice.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

#: Key in the dict that NetworkX clears.
_KEY = "quipu.nx"


class Rows:
    """The neighbors of each vertex as positions in ``nodes``. Read-only."""

    def __init__(self, nodes: list[Any], offsets: Ints, targets: Positions, counts: Ints | None, *, directed: bool):
        #: The vertices in their order.
        self.nodes = nodes
        #: Vertex ``i`` has the neighbors ``targets[offsets[i] : offsets[i + 1]]``, each once.
        self.offsets = offsets
        self.targets = targets
        #: Number of parallel edges for each of ``targets``; ``None`` if all are 1.
        self.counts = counts
        self.directed = directed
        #: Projections by their options; see :mod:`quipu.nx._projecting`.
        self.projections: dict[Any, Any] = {}
        #: Weights of a stored graph; see :mod:`quipu.nx._weights`.
        self.weights: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def at(self) -> dict[Any, int]:
        """The position of each vertex."""
        return {n: i for i, n in enumerate(self.nodes)}

    @cached_property
    def names(self) -> npt.NDArray[Any]:
        """The vertices as an array of objects."""
        return np.fromiter(self.nodes, object, len(self.nodes))

    @cached_property
    def sources(self) -> Positions:
        """The vertex in whose row each of ``targets`` is."""
        return np.repeat(np.arange(len(self), dtype="int32"), np.diff(self.offsets))

    @cached_property
    def loops(self) -> npt.NDArray[np.bool_]:
        """Whether each of ``targets`` is the vertex itself."""
        return self.sources == self.targets

    @cached_property
    def has_loops(self) -> bool:
        """Whether a vertex is its own neighbor."""
        return bool(self.loops.any())

    @cached_property
    def once(self) -> npt.NDArray[np.bool_]:
        """Where ``G.edges`` has an edge: everywhere, or at its first end if the graph is undirected."""
        return np.ones(len(self.targets), bool) if self.directed else self.sources <= self.targets

    @cached_property
    def reversed(self) -> Rows:
        """The rows of the sources of each vertex, in the order of their positions."""
        if not self.directed:
            return self
        order = np.argsort(self.targets, kind="stable")
        offsets = np.zeros(len(self) + 1, "int64")
        np.cumsum(np.bincount(self.targets, minlength=len(self)), out=offsets[1:])
        return Rows(self.nodes, offsets, self.sources[order], None, directed=True)

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        keys = self.sources.astype("int64") * len(self) + self.targets.astype("int64")
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def find(self, us: Any, vs: Any) -> Ints:
        """Return where in ``targets`` these edges are; -1 for pairs without an edge."""
        keys, order = self._sorted
        wanted = np.asarray(us, "int64") * len(self) + np.asarray(vs, "int64")
        at = np.searchsorted(keys, wanted)
        if not len(keys):
            return np.full(len(wanted), -1, "int64")
        at[at == len(keys)] = 0
        return np.where(keys[at] == wanted, order[at], -1)

    def degrees(self) -> Ints:
        """Return the number of edges that leave each vertex; of all edges if the graph is undirected."""
        weights = self.counts
        if not self.directed and self.has_loops:  # a loop has two ends here
            weights = (1 if weights is None else weights) * (1 + self.loops.astype("int64"))
        return np.diff(self.offsets) if weights is None else _sums(self.sources, weights, len(self))

    def in_degrees(self) -> Ints:
        """Return the number of edges that lead to each vertex of a directed graph."""
        if self.counts is None:
            return np.bincount(self.targets, minlength=len(self))
        return _sums(self.targets, self.counts, len(self))

    def __reduce__(self) -> Any:
        # A graph is pickled with the dict in which these arrays are.
        return _nothing, ()


def _nothing() -> None:
    """Return nothing in place of the arrays of a graph that was pickled."""


def _sums(groups: Any, values: Any, count: int) -> Ints:
    return np.bincount(groups, weights=values, minlength=count).astype("int64")


def _cache(G: Any) -> dict[str, Any]:
    """The dict that NetworkX clears, or an empty one if the program has set it to ``None``, so that nothing is kept."""
    found = getattr(G, "__networkx_cache__", None)
    return {} if found is None else found


def kept(G: Any) -> Rows | None:
    """Return the arrays of a graph that were made before; ``None`` if there are none, or the graph has changed."""
    found = _cache(G).get(_KEY)
    return found[1] if found is not None and found[0] == _signature(G) else None


def is_known(G: Any) -> bool:
    """Return whether arrays were asked for since the last change of the graph; from now on they were."""
    found = _cache(G).get(_KEY)
    signature = _signature(G)
    if found is not None and found[0] == signature:
        return True
    _cache(G)[_KEY] = signature, None
    return False


def rows_of(G: Any) -> Rows:
    """Return the arrays of a graph, which are made unless they are kept."""
    found = kept(G)
    if found is None:
        store = clean_store(G)
        found = _from_dicts(G) if store is None else _from_columns(store, directed=G.is_directed())
        _cache(G)[_KEY] = _signature(G), found
    return found


def vertices_of(G: Any) -> int:
    """Return the number of vertices, for which ``len`` would read a stored graph."""
    stored = getattr(G, "_stored", None)
    return stored.cache.node_count if stored is not None and stored.cache.shows(G) else len(G)


def clean_store(G: Any) -> Any:
    """Return the store of a stored graph without unflushed changes of vertices or edges; ``None`` for others."""
    if G._stored is None or not G._stored.cache.shows(G):
        return None
    return None if G._stored.cache.has_new_edges() else G._stored.store


def _signature(G: Any) -> Any:
    """A value that changes with the vertices and edges, also where no method of NetworkX has changed them."""
    if G._stored is not None and G._stored.cache.shows(G):
        return G._stored.cache.signature()
    return len(G._node), sum(map(len, G._adj.values()))


def _from_dicts(G: Any) -> Rows:
    nodes = list(G._node)
    at = {n: i for i, n in enumerate(nodes)}
    lengths, found, counts = [], [], []
    for n in nodes:
        row = G._adj[n]
        lengths.append(len(row))
        found.extend(map(at.__getitem__, row))
        if G.is_multigraph():
            counts.extend(map(len, row.values()))
    offsets = np.zeros(len(nodes) + 1, "int64")
    np.cumsum(lengths, out=offsets[1:])
    numbers = np.asarray(counts, "int64") if G.is_multigraph() else None
    return Rows(nodes, offsets, np.asarray(found, "int32"), _unless_ones(numbers), directed=G.is_directed())


def _from_columns(store: Any, *, directed: bool) -> Rows:
    ids, nodes = store.vertices()
    src, dst = store.neighbors()
    if len(ids) and ids[-1] != len(ids) - 1:  # some vertices were removed
        src, dst = np.searchsorted(ids, src), np.searchsorted(ids, dst)
    counts = None
    if store.multigraph and len(src):
        first = np.flatnonzero(np.r_[True, (src[1:] != src[:-1]) | (dst[1:] != dst[:-1])])
        counts = np.diff(np.r_[first, len(src)])
        src, dst = src[first], dst[first]
    offsets = np.zeros(len(nodes) + 1, "int64")
    np.cumsum(np.bincount(src, minlength=len(nodes)), out=offsets[1:])
    return Rows(nodes, offsets, dst.astype("int32"), _unless_ones(counts), directed=directed)


def _unless_ones(counts: Ints | None) -> Ints | None:
    return None if counts is None or (counts == 1).all() else counts
