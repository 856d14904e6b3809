"""The arithmetic of docs/scale.md: what a graph of 10^9 to 10^12 edges needs on TiKV and on Spark.

Nothing here is measured except the inputs that link to a result. Prints the tables of the page;
`python/tests/test_scale.py` holds the page to them.

    python bench/cluster/arithmetic.py --page docs/scale.md
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphs import hub_share
from layouts import PAGE_NEIGHBORS, tikv_row_bytes, value_bytes
from regions import ROWS_MAX

GB, TB = 1e9, 1e12
HOUR, DAY = 3600.0, 86400.0
EDGES = (10**9, 10**10, 10**11, 10**12)

KV_RESULTS = "[import from 1 M to 30 M edges](../bench/results/README.md#import-from-1-m-to-30-m-edges)"
OURS = "[hot regions](../bench/results/2026-11-27-hot-regions.md)"
YCSB = "[TiKV's benchmark](https://tikv.org/docs/6.5/deploy/performance/overview/)"
SPLIT = "[TiKV](https://github.com/tikv/tikv/blob/master/components/raftstore/src/coprocessor/config.rs)"
LIGHTNING = "[TiDB Lightning](https://docs.pingcap.com/tidb/v8.4/tidb-lightning-overview)"
DISK = "[TiDB's hardware page](https://docs.pingcap.com/tidb/stable/hardware-and-software-requirements)"
REGIONS = "[limit of TiDB's inspection](https://ask.pingcap.com/t/tikv-has-too-many-regions/5239)"
GRAPHX = "[SPARK-3427](https://issues.apache.org/jira/browse/SPARK-3427)"
PROJECTION = "[projections](guides/algorithms.md#memory)"
ASSUMED = "assumed"


@dataclass(frozen=True)
class Given:
    """A number that the arithmetic starts from."""

    value: float
    unit: str
    what: str
    source: str


def _table(rows: dict[str, Given]) -> dict[str, float]:
    return {name: given.value for name, given in rows.items()}


GRAPH = {
    "degree": Given(100, "edges", "out of a vertex, the mean", ASSUMED),
    "exponent": Given(2.5, "", "of the power law of degrees, for the hub", ASSUMED),
    "second": Given(1000, "edges", "of a neighbor, both directions: hubs are neighbors more often", ASSUMED),
}
ENGINE = {
    "overhead": Given(3.66, "bits", "a direction of an edge in `kv` above log2(vertices / degree)", KV_RESULTS),
    "import": Given(20.9e6, "edges/s", "import of `kv`, two cores, text in the page cache", KV_RESULTS),
    "export": Given(1.8e6, "edges/s", "export for Spark, one core, development profile", OURS),
    "arc": Given(8, "bytes", "an edge of a projection with its reverse, no weights", PROJECTION),
    "vertex": Given(24, "bytes", "a vertex of it: id, two offsets", PROJECTION),
}
STORE = {
    "loaded": Given(24.7, "bytes", "an edge on a store's disk, both directions, loaded at once, Zstandard", OURS),
    "committed": Given(40.9, "bytes", "the same, written by many commits", OURS),
    "amplification": Given(1.11, "", "space of RocksDB above its newest rows, leveled compaction", ASSUMED),
    "replicas": Given(3, "", "of each region", "TiKV's default"),
    "disk": Given(4 * TB, "bytes", "of a store, PCIe SSD", DISK),
    "fill": Given(0.8, "", "healthy use of the disk", DISK),
    "peers": Given(20_000, "replicas of regions", "on a store", REGIONS),
    "region_rows": Given(2_560_000, "rows", "of a region of 256 MiB, the default since 8.4: 10,000 a MB", SPLIT),
    "region_bytes": Given(256 << 20, "bytes", "of a region, uncompressed", SPLIT),
    "cores": Given(16, "cores", "of a store", DISK),
    "gets": Given(212_000 / 120, "requests/s", "reads a core: 212,000 on 3 stores of 40, raw mode", YCSB),
    "puts": Given(43_200 / 120, "rows/s", "writes a core: 43,200 on 3 stores of 40, raw mode", YCSB),
    "request": Given(0.001, "s", "a read without load, within a data center", ASSUMED),
    "busy": Given(0.01, "s", "a read at full load", YCSB),
    "in_flight": Given(256, "requests", "of one query at a time", "`SPANS_AT_ONCE` of `crates/ordered`"),
    "load_commit": Given(0.1, "s", "a commit of a load, one after another", ASSUMED),
    "load_rows": Given(16_384, "rows", "of a commit of a load", "`ROWS_A_COMMIT` of `crates/ordered`"),
    "ingest": Given(300 * 2**30 / HOUR, "bytes/s", "a loader that ingests tables: 100 to 500 GiB/h", LIGHTNING),
    "loaders": Given(0.1, "", "loaders a store", ASSUMED),
}
SPARK = {
    "edge": Given(16, "bytes", "an edge in GraphX: two local ids of 4, an attribute of 8", "`EdgePartition.scala`"),
    "mirror": Given(40, "bytes", "a copy of a vertex in a partition: id, rank, hash table", ASSUMED),
    "message": Given(16, "bytes", "an id and a rank between partitions", ASSUMED),
    "memory": Given(128 * GB, "bytes", "of a worker", ASSUMED),
    "usable": Given(0.54, "", "of it: 0.6 of a heap of 0.9 of the memory", "Spark's default `spark.memory.fraction`"),
    "cores": Given(16, "cores", "of a worker", ASSUMED),
    "rate": Given(1.27e9 * 10 / 397 / 128, "edges/s", "a core in a round: 1.27 G, 10 rounds, 397 s, 128 cores", GRAPHX),
    "network": Given(1.25 * GB, "bytes/s", "of a worker, 10 Gbit/s", ASSUMED),
    "rounds": Given(20, "", "of PageRank", ASSUMED),
}
PRICE = {
    "core": Given(0.05, "USD/h", "a core with 4 to 8 GB of memory", ASSUMED),
    "disk": Given(0.08, "USD/GB/month", "SSD", ASSUMED),
    "hours": Given(730, "h", "a month", ""),
}

G, E, S, P, C = (_table(rows) for rows in (GRAPH, ENGINE, STORE, SPARK, PRICE))


ROW_BYTES = float(tikv_row_bytes(20, np.array(value_bytes())))
"""Of a row of one edge and direction in TiKV, before compression."""


def vertices(edges: float) -> float:
    """Vertices of a graph with the mean degree."""
    return edges / G["degree"]


def kv_bytes(edges: float, degree: float = GRAPH["degree"].value) -> float:
    """Bytes of an edge in `kv`, both directions: gaps between neighbors take log2 of their mean."""
    return 2 * (math.log2(edges / degree / degree) + E["overhead"]) / 8


def regions(edges: float, region: float = 1.0) -> float:
    """Regions of both directions, a row for each. Rows are short, so their number splits and not their bytes."""
    full = max(1 / S["region_rows"], ROW_BYTES / S["region_bytes"])
    return 2 * edges * full / region


def page_bytes(edges: float) -> float:
    """Bytes of an edge in pages, both directions. Compression finds little in packed gaps."""
    rows = math.ceil(G["degree"] / PAGE_NEIGHBORS)
    gap = (math.log2(vertices(edges) / G["degree"]) + 1.5) / 8
    value = value_bytes() + gap * G["degree"] / rows
    return 2 * rows * float(tikv_row_bytes(20, np.array(value))) / G["degree"]


def page_regions(edges: float) -> float:
    """Regions of both directions with pages: a vertex of the mean degree has one row in each."""
    rows = 2 * vertices(edges) * math.ceil(G["degree"] / PAGE_NEIGHBORS)
    return max(rows / S["region_rows"], edges * page_bytes(edges) / S["region_bytes"])


def hub_edges(edges: float) -> float:
    """Edges of the largest hub, both directions."""
    return 2 * edges * hub_share(vertices(edges), G["exponent"])


def stores(disk: float, regions_all: float) -> tuple[int, int]:
    """Stores that the bytes of one replica need, and that the regions need."""
    by_disk = disk * S["amplification"] * S["replicas"] / (S["disk"] * S["fill"])
    return max(3, math.ceil(by_disk)), max(3, math.ceil(regions_all * S["replicas"] / S["peers"]))


@dataclass(frozen=True)
class Spark:
    """Workers of PageRank on GraphX, and a round of it."""

    workers: int
    copies: float
    """Partitions in which a vertex is."""
    memory: float
    shuffle: float
    """Bytes of a round."""
    seconds: float
    """Of a round."""


def spark(edges: float) -> Spark:
    """The fewest workers whose memory holds the graph; more workers have more partitions, and more copies."""
    workers = 1
    while True:
        partitions = workers * P["cores"]
        side = math.sqrt(partitions)
        # A vertex of the mean degree: its edges out of a row of partitions, and into a column.
        copies = min(2 * side * (1 - (1 - 1 / side) ** G["degree"]), partitions) if partitions > 1 else 1.0
        memory = edges * P["edge"] + vertices(edges) * copies * P["mirror"]
        needed = math.ceil(memory / (P["memory"] * P["usable"]))
        if needed <= workers:
            break
        workers = max(workers + 1, math.floor(workers * 1.01))
    shuffle = vertices(edges) * copies * P["message"]
    seconds = max(edges / (P["rate"] * P["cores"] * workers), shuffle / (P["network"] * workers))
    return Spark(workers, copies, memory, shuffle, seconds)


def walks() -> tuple[float, float]:
    """Requests of two and of three hops from a vertex of the mean degree: two for each vertex that is read."""
    near = 2 * G["degree"]
    return 2 * (1 + near), 2 * (1 + near + near * G["second"])


def seconds(hops: list[float], request: float) -> float:
    """A query: a timestamp, then the requests of each hop, as many at once as may be in flight."""
    return request * (1 + sum(math.ceil(hop / S["in_flight"]) for hop in hops))


def load_seconds(edges: float, count: int) -> dict[str, float]:
    """Four ways to load the rows of both directions into this number of stores."""
    store = S["puts"] * S["cores"]
    return {
        "load, one writer, 16,384 rows a commit": 2 * edges / S["load_rows"] * S["load_commit"],
        "load, single rows to all stores": 2 * edges / (store * count),
        # Half of all rows go to one region, and so to one store.
        "load, single rows, ids in order of creation": 2 * edges / (store * min(count, 2)),
        "load, ingested tables": 2 * ROW_BYTES * edges / (S["ingest"] * max(1, math.floor(S["loaders"] * count))),
    }


def price(count: int) -> float:
    """Stores for a month."""
    return count * (S["cores"] * C["core"] * C["hours"] + S["disk"] / GB * C["disk"])


def _number(value: float) -> str:
    if value < 1e4:
        return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
    unit, size = next(pair for pair in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)) if value >= pair[1])
    return f"{_three(value / size)} {unit}"


def _three(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _bytes(value: float) -> str:
    unit, size = next(pair for pair in (("PB", 1e15), ("TB", TB), ("GB", GB), ("MB", 1e6)) if value >= pair[1])
    return f"{_three(value / size)} {unit}"


def _time(value: float) -> str:
    units = (("years", 365 * DAY, 2), ("days", DAY, 2), ("h", HOUR, 2), ("min", 60.0, 2), ("s", 1.0, 1))
    for unit, size, least in units:
        if value >= least * size:
            return f"{_three(value / size)} {unit}"
    return f"{_three(value * 1000)} ms"


def _dollars(value: float) -> str:
    return f"${float(f'{value:.2g}'):,.0f}"


def _lines(rows: dict[str, list[str]]) -> str:
    head = ["edges", *(f"10^{round(math.log10(edges))}" for edges in EDGES)]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(EDGES)]
    lines += ["| " + " | ".join([name, *cells]) + " |" for name, cells in rows.items()]
    return "\n".join(lines)


def inputs() -> str:
    """Every number that the arithmetic starts from, with its source."""
    lines = ["| number | meaning | source |", "| ---: | --- | --- |"]
    for rows in (GRAPH, ENGINE, STORE, SPARK, PRICE):
        for given in rows.values():
            value = _three(given.value)
            if given.unit.startswith("bytes") and given.value >= 1e6:
                value = _bytes(given.value) + given.unit.removeprefix("bytes")
            elif given.unit:
                value += f" {given.unit}"
            lines.append(f"| {value} | {given.what} | {given.source} |")
    return "\n".join(lines)


def one_machine() -> str:
    """The same graph in a folder of `kv`."""
    memory = [e * E["arc"] + vertices(e) * E["vertex"] for e in EDGES]
    return _lines(
        {
            "vertices": [_number(vertices(e)) for e in EDGES],
            "bytes an edge, both directions": [f"{kv_bytes(e):.1f}" for e in EDGES],
            "bytes on disk": [_bytes(e * kv_bytes(e)) for e in EDGES],
            "import": [_time(e / E["import"]) for e in EDGES],
            "memory of a projection": [
                _bytes(m) if vertices(e) < 2**32 else "too many vertices" for e, m in zip(EDGES, memory, strict=True)
            ],
            "export for Spark, one core": [_time(e / E["export"]) for e in EDGES],
        }
    )


def on_tikv() -> str:
    """Stores, loads and queries, a row for each edge and direction as the format has it today."""
    by_disk, by_regions = zip(*(stores(e * S["loaded"], regions(e)) for e in EDGES), strict=True)
    needed = [max(pair) for pair in zip(by_disk, by_regions, strict=True)]
    copies = S["amplification"] * S["replicas"]
    rows = {
        "bytes, three replicas, loaded": [_bytes(e * S["loaded"] * copies) for e in EDGES],
        "the same, written by many commits": [_bytes(e * S["committed"] * copies) for e in EDGES],
        "regions of 256 MiB": [_number(regions(e)) for e in EDGES],
        "stores by disk": [f"{n:,}" for n in by_disk],
        "stores by regions of 256 MiB": [f"{n:,}" for n in by_regions],
        "stores by regions of 1 GiB": [f"{stores(0, regions(e, 4))[1]:,}" for e in EDGES],
        "N, the larger with 256 MiB": [f"{n:,}" for n in needed],
    }
    loads = [load_seconds(e, n) for e, n in zip(EDGES, needed, strict=True)]
    rows |= {name: [_time(load[name]) for load in loads] for name in loads[0]}
    two, three = walks()
    queries = {
        "find an edge": [1.0],
        "neighbors": [2.0],
        "two hops": [2.0, two - 2],
        "three hops": [2.0, two - 2, three - two],
    }
    for name, hops in queries.items():
        waits = [_time(seconds(hops, S[load])) for load in ("request", "busy")]
        rows[f"{name}: requests; idle, busy"] = [f"{_number(sum(hops))}; {', '.join(waits)}"] * len(EDGES)
    reads = [S["gets"] * S["cores"] * n for n in needed]
    rows |= {
        "find an edge, N stores, a second": [_number(r) for r in reads],
        "three hops, N stores, a second": [_number(r / three) for r in reads],
        "edges of the hub": [_number(hub_edges(e)) for e in EDGES],
        "regions of the hub": [_number(math.ceil(hub_edges(e) / S["region_rows"])) for e in EDGES],
        "requests to read the hub": [_number(hub_edges(e) / ROWS_MAX) for e in EDGES],
        "N stores, a month": [_dollars(price(n)) for n in needed],
    }
    return _lines(rows)


def with_pages() -> str:
    """The same with rows of many neighbors."""
    counts = [stores(e * page_bytes(e), page_regions(e)) for e in EDGES]
    _, three = walks()
    copies = S["amplification"] * S["replicas"]
    return _lines(
        {
            "bytes an edge, one replica": [f"{page_bytes(e):.1f}" for e in EDGES],
            "bytes, three replicas": [_bytes(e * page_bytes(e) * copies) for e in EDGES],
            "regions of 256 MiB": [_number(page_regions(e)) for e in EDGES],
            "stores by disk": [f"{disk:,}" for disk, _ in counts],
            "stores by regions": [f"{by:,}" for _, by in counts],
            "three hops: requests grouped by region, at most": [
                _number(min(2 * page_regions(e) + 2, three)) for e in EDGES
            ],
            "stores, a month": [_dollars(price(max(pair))) for pair in counts],
        }
    )


def on_spark() -> str:
    """PageRank by GraphX."""
    found = [spark(e) for e in EDGES]
    hours = [one.workers * P["rounds"] * one.seconds / HOUR for one in found]
    return _lines(
        {
            "M, workers by memory": [f"{one.workers:,}" for one in found],
            "partitions that a vertex is in": [f"{one.copies:.0f}" for one in found],
            "memory: edges and copies of vertices": [_bytes(one.memory) for one in found],
            "of it copies of vertices": [
                f"{1 - e * P['edge'] / o.memory:.0%}" for e, o in zip(EDGES, found, strict=True)
            ],
            "shuffle, a round": [_bytes(one.shuffle) for one in found],
            "a round": [_time(one.seconds) for one in found],
            f"{P['rounds']:.0f} rounds": [_time(P["rounds"] * one.seconds) for one in found],
            "a run": [_dollars(h * P["cores"] * C["core"]) for h in hours],
        }
    )


TABLES = {
    "inputs": inputs,
    "one machine": one_machine,
    "TiKV": on_tikv,
    "pages": with_pages,
    "Spark": on_spark,
}


def filled(page: str) -> str:
    """The page with its tables replaced by those of now."""
    for name, table in TABLES.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{table()}\n{end}{after}"
    return page


def main() -> None:
    """Prints the tables of docs/scale.md, or writes them into it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="a page whose tables are replaced")
    given = parser.parse_args()
    if given.page:
        given.page.write_text(filled(given.page.read_text()))
        return
    print("\n\n".join(f"{name}\n\n{table()}" for name, table in TABLES.items()))


if __name__ == "__main__":
    main()
