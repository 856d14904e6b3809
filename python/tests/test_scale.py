"""The arithmetic of docs/scale.md: the page has its tables, and its formulas agree with measurements."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "cluster"))

import arithmetic
from graphs import hub_share

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_tables_of_the_script() -> None:
    page = (ROOT / "docs" / "scale.md").read_text()
    # `python bench/cluster/arithmetic.py --page docs/scale.md` writes them.
    assert arithmetic.filled(page) == page
    assert all(table() in page for table in arithmetic.TABLES.values())


def test_bytes_of_an_edge_are_those_that_were_measured() -> None:
    results = (ROOT / "bench" / "results" / "README.md").read_text()
    section = results.partition("## Import from 1 M to 30 M edges")[2]
    rows = re.findall(r"^\| (\d+) M \| \d+ \| \d+ \| [\d.]+ \| ([\d.]+) \|", section, re.MULTILINE)
    assert [int(millions) for millions, _ in rows] == [1, 3, 10, 30]
    for millions, measured in rows:
        # Those graphs have 18 edges a vertex.
        assert arithmetic.kv_bytes(int(millions) * 1e6, degree=18) == pytest.approx(float(measured), rel=0.01)


def test_constants_of_the_engine_are_those_of_its_source() -> None:
    source = "".join((ROOT / "crates/ordered/src" / name).read_text() for name in ("view.rs", "bulk.rs"))
    (spans,) = re.findall(r"const SPANS_AT_ONCE: usize = (\d+);", source)
    (rows,) = re.findall(r"const ROWS_A_COMMIT: usize = (\d+) << 10;", source)
    assert arithmetic.STORE["in_flight"].value == int(spans)
    assert arithmetic.STORE["load_rows"].value == int(rows) << 10


def test_regions_are_counted_by_rows_if_rows_are_short() -> None:
    # 10,000 rows a MB are 105 bytes a row: rows of 55 do not fill a region by their bytes.
    assert arithmetic.ROW_BYTES == 55
    assert arithmetic.regions(2_560_000) == 2.0
    assert arithmetic.regions(2_560_000, region=4) == 0.5


def test_stores_are_the_more_of_disk_and_regions() -> None:
    # 3.2 TB of 4 in each of three stores, three copies and a ninth more: 2.883 TB of a replica.
    assert arithmetic.stores(2.88e12, 1) == (3, 3)
    assert arithmetic.stores(2.89e12, 1) == (4, 3)
    assert arithmetic.stores(1, 20_000) == (3, 3)
    assert arithmetic.stores(1, 20_001) == (3, 4)


def test_half_of_a_growing_load_is_one_stores() -> None:
    for stores in (3, 12, 118):
        load = arithmetic.load_seconds(1e10, stores)
        slowest = load["load, single rows, ids in order of creation"]
        assert slowest == pytest.approx(load["load, single rows to all stores"] * stores / 2)


def test_a_query_waits_for_its_timestamp_and_for_what_does_not_fit_in_flight() -> None:
    assert arithmetic.seconds([1.0], 0.001) == pytest.approx(0.002)
    assert arithmetic.seconds([2.0, 256.0], 0.001) == pytest.approx(0.003)
    assert arithmetic.seconds([2.0, 257.0], 0.001) == pytest.approx(0.004)
    # Two requests for each of 1 and 200 vertices; then for a thousand of each of those.
    assert arithmetic.walks() == (402.0, 400_402.0)


@pytest.mark.parametrize("edges", arithmetic.EDGES)
def test_workers_hold_the_graph_and_no_fewer_would(edges: float) -> None:
    found = arithmetic.spark(edges)
    room = arithmetic.SPARK["memory"].value * arithmetic.SPARK["usable"].value
    assert found.memory <= found.workers * room
    # A percent fewer workers have fewer copies, and still too little room.
    assert found.workers == 1 or found.memory > 0.9 * found.workers * room or found.workers < 10
    assert 1 <= found.copies <= 200


def test_the_share_of_a_hub_falls_with_the_size_of_the_graph() -> None:
    shares = [hub_share(vertices, 2.5) for vertices in (1e7, 1e8, 1e9, 1e10)]
    assert shares == sorted(shares, reverse=True)
    # It falls with the third root of the number of vertices.
    assert shares[2] / shares[3] == pytest.approx(10 ** (1 / 3), rel=0.01)
