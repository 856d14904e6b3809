"""Regions of a key space that split as they grow, and what writes and reads ask of them.

# How keys are represented
Each row has a rank, its position among all rows that the graph will ever have. A region is a range
of ranks, so a region is found by binary search and sizes are differences of one running sum.

# What is TiKV's behavior here
1. A region over 1.5 times the split size or the split number of keys is cut from its left into
   regions of the split size (`split_check/size.rs`, `keys.rs`).
2. The key space begins as one region.
3. A new region's leader is moved to the store with the fewest leaders, at once. PD takes minutes, so
   real stores are less balanced than these.

Replicas, merges and splits by load are not simulated. Of the last, `floor` in a report is the limit:
reads of one vertex begin at one key, and no split divides them.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphs import Graph, Ids
from layouts import Layout, Shares

# TiKV's defaults; ten thousand keys a MB.
SPLIT_BYTES = 96 << 20
SPLIT_ROWS = 960_000
MAX_PER_SPLIT = 1.5

# Rows of the pages of a scan, as crates/ordered reads them (`view.rs`, `pages.rs`).
ROWS_OF_A_SPAN = 64
ROWS_FIRST = 128
ROWS_MAX = 4096


@dataclass(frozen=True)
class Rows:
    """All rows of a graph under a layout, in key order: outgoing directions first."""

    layout: Layout
    ranks: Ids
    """Ranks of both rows of each edge, in the order in which edges arrive."""
    weights: Shares
    """By rank: the part of a region that the row fills."""
    starts: Ids
    """Ranks at which the ranges of vertices begin, and the number of rows."""
    owners: Ids
    """The vertex of each range."""
    range_rows: Ids
    """Rows of each range: fewer than its edges where a row has several."""
    forward_ranges: int
    """The number of ranges of the outgoing direction."""


@dataclass(frozen=True)
class Window:
    """A part of the load, and the regions that its writes go to."""

    regions: int
    hottest_region: float
    """Share of the window's writes."""
    hottest_store: float


@dataclass(frozen=True)
class Map:
    """Regions at the end of a load."""

    bounds: Ids
    """The first rank of each."""
    stores: Ids
    """The store of each leader."""

    def of(self, ranks: Ids) -> Ids:
        """Regions of ranks."""
        return np.searchsorted(self.bounds, ranks, side="right") - 1


def rows_of(graph: Graph, layout: Layout, shrink: float, hubs: npt.NDArray[np.bool_]) -> Rows:
    """Sorts the rows of a graph.

    ``shrink`` divides TiKV's region sizes, so that a small graph has regions as a large one.
    """
    count = graph.edges
    ranks = np.empty(2 * count, np.int64)
    weights = np.empty(2 * count)
    starts: list[Ids] = []
    owners: list[Ids] = []
    rows: list[Ids] = []
    for direction, (near, far) in enumerate([(graph.sources, graph.targets), (graph.targets, graph.sources)]):
        base = direction * count
        words = layout.words(near.view(np.uint64), far.view(np.uint64), hubs[near])
        order = np.lexsort(words[::-1])
        ranks[base + order] = np.arange(base, base + count)
        sorted_near, first = near[order], words[0][order]
        begins = np.flatnonzero(np.diff(sorted_near, prepend=-1) | (np.diff(first, prepend=first[:1]) != 0))
        lengths = np.diff(begins, append=count)
        starts.append(begins + base)
        owners.append(sorted_near[begins])
        rows.append(layout.rows(lengths))
        part = np.maximum(layout.rows(lengths) / lengths / SPLIT_ROWS, layout.edge_bytes(lengths) / SPLIT_BYTES)
        weights[base : base + count] = np.repeat(part * shrink, lengths)
    return Rows(
        layout=layout,
        # Both directions of an edge are written by one commit.
        ranks=ranks.reshape(2, count).T.reshape(-1),
        weights=weights,
        starts=np.concatenate([*starts, np.array([2 * count])]),
        owners=np.concatenate(owners),
        range_rows=np.concatenate(rows),
        forward_ranges=len(owners[0]),
    )


def cuts(sums: Shares, begin: int, end: int) -> list[int]:
    """Ranks at which the region of these ranks is cut; ``sums`` are running sums of its rows' parts."""
    found: list[int] = []
    while sums[end] - sums[begin] > MAX_PER_SPLIT:
        # The last rank at which the left part is not larger than a region.
        begin = max(int(np.searchsorted(sums, sums[begin] + 1.0 + 1e-9, side="right")) - 1, begin + 1)
        found.append(begin)
    return found


def load(rows: Rows, stores: int, windows: int, presplit: int = 1) -> Iterator[tuple[Window, Map]]:
    """Writes the rows in the order of their arrival, and yields each window with the regions after it.

    ``presplit`` regions exist at the start, at equal distances in key order. That is possible for
    hashed keys alone, whose distribution is known.
    """
    total = len(rows.ranks)
    bounds = np.unique(np.linspace(0, total, presplit, endpoint=False).astype(np.int64))
    store = np.arange(len(bounds)) % stores
    leaders = [(int((store == s).sum()), s) for s in range(stores)]
    heapq.heapify(leaders)
    filled = np.zeros(total)
    sums = np.zeros(total + 1)
    for chunk in np.array_split(rows.ranks, windows):
        regions = Map(bounds, store)
        writes = np.bincount(regions.of(chunk), minlength=len(bounds)) / max(len(chunk), 1)
        window = Window(len(bounds), float(writes.max()), float(np.bincount(store, writes).max()))
        filled[chunk] = rows.weights[chunk]
        np.cumsum(filled, out=sums[1:])
        ends = np.append(bounds[1:], total)
        large = np.flatnonzero(sums[ends] - sums[bounds] > MAX_PER_SPLIT)
        new = [(cut, int(region)) for region in large for cut in cuts(sums, int(bounds[region]), int(ends[region]))]
        if new:
            placed: list[int] = []
            for _ in new:
                count, least = heapq.heappop(leaders)
                heapq.heappush(leaders, (count + 1, least))
                placed.append(least)
            at = np.searchsorted(bounds, [cut for cut, _ in new])
            bounds = np.insert(bounds, at, [cut for cut, _ in new])
            store = np.insert(store, at, placed)
        yield window, Map(bounds, store)


def pages(rows: Ids) -> Ids:
    """Requests for the rows of one range, if it is in one region: pages grow from 64 to 4096 rows."""
    requests = np.ones_like(rows)
    rest, page = rows - ROWS_OF_A_SPAN, ROWS_FIRST
    # A full page may be the last one: only the next one tells.
    while page < ROWS_MAX:
        requests += rest >= 0
        rest, page = rest - page, min(page * 4, ROWS_MAX)
    return requests + np.where(rest >= 0, rest // ROWS_MAX + 1, 0)


@dataclass(frozen=True)
class Reads:
    """Requests for the neighbors of vertices, and the regions that answer them."""

    requests: Ids
    """Requests for each vertex, both directions."""
    first: Ids
    """The first region of each range."""
    last: Ids

    def region_loads(self, rows: Rows, regions: Map, shares: Shares) -> Shares:
        """Reads of each region for one call, if a vertex is asked for with its share."""
        count = len(regions.bounds) + 1
        parts = shares[rows.owners]
        steps = np.bincount(self.first, parts, count) - np.bincount(self.last + 1, parts, count)
        return np.cumsum(steps)[:-1]

    def touched(self, rows: Rows, regions: Map, vertices: Ids) -> int:
        """Regions with neighbors of any of these vertices: requests if one could ask for many ranges."""
        asked = np.zeros(int(max(rows.owners.max(), vertices.max())) + 1)
        asked[vertices] = 1
        # Differences of running sums of ones are whole numbers, and exact.
        return int((self.region_loads(rows, regions, asked) > 0.5).sum())


def reads(rows: Rows, regions: Map, vertices: int) -> Reads:
    """Requests and regions of `neighbors(v)` for each vertex v."""
    first, last = regions.of(rows.starts[:-1]), regions.of(rows.starts[1:] - 1)
    # A scan does not leave its region.
    requests = pages(rows.range_rows) + last - first
    split = rows.forward_ranges
    sides = (
        np.bincount(rows.owners[part], requests[part], minlength=vertices)
        for part in (slice(split), slice(split, None))
    )
    # A direction without edges is one request that finds nothing.
    total = sum(np.maximum(side, 1) for side in sides)
    return Reads(np.asarray(total, np.int64), first, last)
