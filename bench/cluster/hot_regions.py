"""Simulates hot regions: a graph with hubs is written to and read from a store that splits by key.

Reports for each layout of keys the share of writes and reads of the hottest region and store, the
number of regions, the requests of a query, and the cost of a hub. `make hot-regions` runs it, and
docs/scale.md has the conclusions.

    python bench/cluster/hot_regions.py --scale 18 --arrival growing
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from graphs import Graph, Ids, chung_lu, grown, rmat
from layouts import HUB_EDGES, LAYOUTS, Layout
from regions import ROWS_OF_A_SPAN, SPLIT_ROWS, Map, Rows, Window, load, pages, reads, rows_of

# Parts of the load at which windows are reported.
SHOWN = (0.02, 0.1, 0.5, 1.0)
SCANNED_VERTICES = 1000


@dataclass(frozen=True)
class Report:
    """The costs of one layout. Shares are of all writes, or of all reads."""

    layout: str
    regions: int
    written_region: list[float]
    """The hottest region's share of writes, at the parts `SHOWN` of the load."""
    written_store: list[float]
    bytes_an_edge: float
    """Both directions, one replica, before compression."""
    bytes_an_insert: float
    """Bytes that a commit of one edge writes, both directions."""
    read_region_uniform: float
    read_store_uniform: float
    read_region_by_degree: float
    read_store_by_degree: float
    floor: float
    """The hottest vertex's share of reads by degree, which no split of a region divides."""
    requests_uniform: float
    requests_by_degree: float
    requests_two_hops: float
    """Median over the start vertices."""
    requests_three_hops: float
    regions_two_hops: float
    """Median number of requests, if one asked for all vertices whose neighbors are in a region."""
    regions_three_hops: float
    requests_scan: float
    """Outgoing edges of a thousand consecutive vertices."""
    hub_edges: int
    hub_regions: int
    hub_requests: int
    hub_written_region: float
    """The share of all writes that goes to one region of the hub, in the last tenth of the load."""


class Neighbors:
    """Neighbors of each vertex in either direction, for walks."""

    def __init__(self, graph: Graph) -> None:
        near = np.concatenate([graph.sources, graph.targets])
        order = np.argsort(near, kind="stable")
        self.far = np.concatenate([graph.targets, graph.sources])[order]
        self.offsets = np.searchsorted(near[order], np.arange(graph.vertices + 1))

    def hops(self, start: int, count: int) -> list[Ids]:
        """Vertices whose neighbors are read at each hop from ``start``."""
        seen = np.zeros(len(self.offsets) - 1, np.bool_)
        frontier = np.array([start])
        found = [frontier]
        seen[frontier] = True
        for _ in range(count - 1):
            parts = [self.far[self.offsets[v] : self.offsets[v + 1]] for v in frontier]
            frontier = np.unique(np.concatenate(parts))
            frontier = frontier[~seen[frontier]]
            seen[frontier] = True
            found.append(frontier)
        return found


def report(
    graph: Graph, layout: Layout, *, shrink: float, stores: int, windows: int, presplit: int, walks: Sequence[list[Ids]]
) -> Report:
    """Loads the graph under a layout and reads it."""
    degrees = graph.degrees()
    hubs = degrees > HUB_EDGES
    rows = rows_of(graph, layout, shrink, hubs)
    steps: list[Window] = []
    regions = Map(np.zeros(1, np.int64), np.zeros(1, np.int64))
    late = regions
    for step, regions in load(rows, stores, windows, presplit):
        steps.append(step)
        if len(steps) == windows - windows // 10:
            late = regions
    shown = [steps[max(round(part * windows) - 1, 0)] for part in SHOWN]
    found = reads(rows, regions, graph.vertices)
    by_degree = degrees / degrees.sum()
    uniform = (degrees > 0) / (degrees > 0).sum()
    loads = [found.region_loads(rows, regions, shares) for shares in (uniform, by_degree)]
    hub = int(degrees.argmax())
    per_hop = [[int(found.requests[hop].sum()) for hop in walk] for walk in walks]
    grouped = [[found.touched(rows, regions, hop) for hop in walk] for walk in walks]
    # Over the life of a page it is half as full as at the end.
    page = np.maximum(np.minimum(degrees, layout.neighbors) / 2, 1)
    return Report(
        layout=layout.name,
        regions=len(regions.bounds),
        written_region=[step.hottest_region for step in shown],
        written_store=[step.hottest_store for step in shown],
        bytes_an_edge=_bytes_an_edge(rows, graph.edges),
        bytes_an_insert=float(2 * (by_degree * layout.row_bytes(page)).sum()),
        read_region_uniform=float(loads[0].max() / loads[0].sum()),
        read_store_uniform=float(np.bincount(regions.stores, loads[0]).max() / loads[0].sum()),
        read_region_by_degree=float(loads[1].max() / loads[1].sum()),
        read_store_by_degree=float(np.bincount(regions.stores, loads[1]).max() / loads[1].sum()),
        floor=float(by_degree.max()),
        requests_uniform=float((uniform * found.requests).sum()),
        requests_by_degree=float((by_degree * found.requests).sum()),
        requests_two_hops=float(np.median([sum(hops[:2]) for hops in per_hop])),
        requests_three_hops=float(np.median([sum(hops) for hops in per_hop])),
        regions_two_hops=float(np.median([sum(hops[:2]) for hops in grouped])),
        regions_three_hops=float(np.median([sum(hops) for hops in grouped])),
        requests_scan=_scan_requests(rows, regions, graph.vertices),
        hub_edges=int(degrees[hub]),
        hub_regions=_regions_of(rows, found.first, found.last, hub),
        hub_requests=int(found.requests[hub]),
        hub_written_region=_hub_writes(rows, late, hub),
    )


def _bytes_an_edge(rows: Rows, edges: int) -> float:
    lengths = np.diff(rows.starts)
    return float((rows.layout.edge_bytes(lengths) * lengths).sum()) / edges


def _regions_of(rows: Rows, first: Ids, last: Ids, vertex: int) -> int:
    own = np.flatnonzero(rows.owners == vertex)
    return len(np.unique(np.concatenate([np.arange(first[i], last[i] + 1) for i in own])))


def _hub_writes(rows: Rows, regions: Map, hub: int) -> float:
    """The largest share of the last tenth of the writes that are rows of the hub in one region."""
    tail = rows.ranks[len(rows.ranks) * 9 // 10 :]
    owners = rows.owners[np.searchsorted(rows.starts, tail, side="right") - 1]
    return float(np.bincount(regions.of(tail[owners == hub]), minlength=1).max()) / len(tail)


def _scan_requests(rows: Rows, regions: Map, vertices: int) -> float:
    """Requests for outgoing edges of consecutive vertices, the mean over blocks of ids.

    Where a layout keeps ids in order, a scan of each of its ranges reads them; otherwise each vertex
    is a range.
    """
    count = rows.forward_ranges
    owners, starts = rows.owners[:count], rows.starts[: count + 1]
    first, last = regions.of(starts[:-1]), regions.of(starts[1:] - 1)
    blocks = -(-vertices // SCANNED_VERTICES)
    if rows.layout.ordered_ranges == 0:
        return float((pages(rows.range_rows[:count]) + last - first).sum()) / blocks
    # Where ids fall, another shard begins.
    shard = np.cumsum(np.diff(owners, prepend=owners[:1]) < 0)
    begins = np.flatnonzero(np.diff(shard * blocks + owners // SCANNED_VERTICES, prepend=-1))
    ends = np.append(begins[1:], count) - 1
    requests = _scan_pages(np.add.reduceat(rows.range_rows[:count], begins)) + last[ends] - first[begins]
    empty = rows.layout.ordered_ranges * blocks - len(begins)
    return float(requests.sum() + empty) / blocks


def _scan_pages(lengths: Ids) -> Ids:
    """A scan of one range begins with 128 rows, and has no first request of 64."""
    return pages(lengths + ROWS_OF_A_SPAN) - 1


def table(reports: Sequence[Report]) -> str:
    """Reports as Markdown, a column for each layout."""

    def percent(share: float) -> str:
        return f"{100 * share:.3g} %"

    def line(name: str, cells: Sequence[str]) -> str:
        return "| " + " | ".join([name, *cells]) + " |"

    lines = [line("", [r.layout for r in reports]), line("---", ["---:"] * len(reports))]
    lines.append(line("regions at the end", [f"{r.regions:,}" for r in reports]))
    for i, part in enumerate(SHOWN):
        lines.append(line(f"writes, hottest region, at {part:.0%}", [percent(r.written_region[i]) for r in reports]))
    for i, part in enumerate(SHOWN):
        lines.append(line(f"writes, hottest store, at {part:.0%}", [percent(r.written_store[i]) for r in reports]))
    numbers: list[tuple[str, list[str]]] = [
        ("bytes an edge, one replica, uncompressed", [f"{r.bytes_an_edge:.0f}" for r in reports]),
        ("bytes that a single insert writes", [f"{r.bytes_an_insert:,.0f}" for r in reports]),
        ("reads, uniform: hottest region", [percent(r.read_region_uniform) for r in reports]),
        ("reads, uniform: hottest store", [percent(r.read_store_uniform) for r in reports]),
        ("reads, by degree: hottest region", [percent(r.read_region_by_degree) for r in reports]),
        ("reads, by degree: hottest store", [percent(r.read_store_by_degree) for r in reports]),
        ("reads, by degree: hottest vertex", [percent(r.floor) for r in reports]),
        ("requests: neighbors, uniform", [f"{r.requests_uniform:.2f}" for r in reports]),
        ("requests: neighbors, by degree", [f"{r.requests_by_degree:.2f}" for r in reports]),
        ("requests: two hops, median", [f"{r.requests_two_hops:,.0f}" for r in reports]),
        ("requests: three hops, median", [f"{r.requests_three_hops:,.0f}" for r in reports]),
        ("two hops, grouped by region", [f"{r.regions_two_hops:,.0f}" for r in reports]),
        ("three hops, grouped by region", [f"{r.regions_three_hops:,.0f}" for r in reports]),
        (f"requests: out-edges of {SCANNED_VERTICES} consecutive ids", [f"{r.requests_scan:,.0f}" for r in reports]),
        ("hub: regions", [f"{r.hub_regions}" for r in reports]),
        ("hub: requests to read it", [f"{r.hub_requests}" for r in reports]),
        ("hub: writes to one of its regions", [percent(r.hub_written_region) for r in reports]),
    ]
    lines += [line(name, cells) for name, cells in numbers]
    return "\n".join(lines)


def main() -> None:
    """Prints the table of all layouts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", choices=["rmat", "chung-lu"], default="rmat")
    parser.add_argument("--scale", type=int, default=17, help="2^scale vertices")
    parser.add_argument("--edges-a-vertex", type=int, default=16, help="drawn; duplicates are dropped")
    parser.add_argument("--exponent", type=float, default=2.2, help="of Chung and Lu's power law")
    parser.add_argument("--arrival", choices=["random", "growing"], default="growing")
    parser.add_argument("--regions", type=int, default=500, help="regions at the end, about, by the size of a region")
    parser.add_argument("--stores", type=int, default=12)
    parser.add_argument("--windows", type=int, default=100)
    parser.add_argument("--presplit", type=int, default=1, help="regions that exist before the load")
    parser.add_argument("--walks", type=int, default=40, help="start vertices of two and three hops")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layouts", nargs="+", default=[layout.name for layout in LAYOUTS])
    parser.add_argument("--json", action="store_true", help="a line of JSON for each layout, and no table")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    edges = given.edges_a_vertex << given.scale
    if given.graph == "rmat":
        graph = rmat(given.scale, edges, rng)
    else:
        graph = chung_lu(1 << given.scale, edges, given.exponent, rng)
    if given.arrival == "growing":
        graph = grown(graph)
    degrees = graph.degrees()
    shrink = SPLIT_ROWS * given.regions / (2 * graph.edges)
    neighbors = Neighbors(graph)
    starts = rng.choice(graph.vertices, given.walks, p=degrees / degrees.sum())
    walks = [neighbors.hops(int(start), 3) for start in starts]
    reports = [
        report(
            graph,
            layout,
            shrink=shrink,
            stores=given.stores,
            windows=given.windows,
            presplit=given.presplit,
            walks=walks,
        )
        for layout in LAYOUTS
        if layout.name in given.layouts
    ]
    if given.json:
        for one in reports:
            print(json.dumps(asdict(one)))
        return
    law = "R-MAT" if given.graph == "rmat" else f"Chung-Lu, exponent {given.exponent}"
    print(
        f"{law}, {graph.vertices:,} vertices, {graph.edges:,} edges, arrival {given.arrival}, seed {given.seed}; "
        f"{2 * graph.edges / given.regions:,.0f} rows a region, {given.stores} stores; "
        f"hub of {int(degrees.max()):,} edges\n"
    )
    print(table(reports))


if __name__ == "__main__":
    main()
