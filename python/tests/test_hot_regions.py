"""The simulation of hot regions: it has the engine's keys, and agrees with closed forms where there are some."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "cluster"))

from graphs import Graph, chung_lu, grown, hub_share, rmat, shares
from hot_regions import Neighbors, Report, report, table
from layouts import LAYOUTS, SHARDS, Layout, key, mix, reverse_bits, tikv_row_bytes, unmix, value_bytes
from regions import MAX_PER_SPLIT, SPLIT_ROWS, Map, Window, cuts, load, pages, reads, rows_of

ROOT = Path(__file__).parents[2]
AS_IS, SHARDED, HASHED, REVERSED, BOTH_HASHED, BUCKETS, PAGES = LAYOUTS


def shrunk(rows_a_region: float) -> float:
    """The factor that makes a region of this number of rows."""
    return SPLIT_ROWS / rows_a_region


def loaded(
    graph: Graph, layout: Layout, rows_a_region: float, windows: int = 50, stores: int = 4, presplit: int = 1
) -> tuple[list[Window], Map]:
    rows = rows_of(graph, layout, shrunk(rows_a_region), graph.degrees() > 1024)
    steps = list(load(rows, stores, windows, presplit))
    return [step for step, _ in steps], steps[-1][1]


def regular(vertices: int, degree: int) -> Graph:
    """Each vertex has an edge to the next ones; edges arrive in random order."""
    source = np.repeat(np.arange(vertices), degree)
    target = (source + np.tile(np.arange(1, degree + 1), vertices)) % vertices
    order = np.random.default_rng(5).permutation(len(source))
    return Graph(vertices, source[order], target[order])


def growing(vertices: int, degree: int) -> Graph:
    """Each new vertex gets edges to older ones, which are drawn uniformly."""
    rng = np.random.default_rng(5)
    source = np.repeat(np.arange(degree, vertices), degree)
    return grown(Graph(vertices, source, (rng.random(len(source)) * source).astype(np.int64)))


# --- keys and bytes ---


def test_keys_are_those_of_the_format() -> None:
    """`crates/ordered/src/key.rs` has the same example: bytes compare as keys do."""
    keys = [key(7, words) for words in [(0, 2**64 - 1), (1, 0), (1, 256), (2**64 - 1, 2**64 - 1)]]
    assert keys == sorted(keys)
    assert keys[2].hex() == "00000007" + "0000000000000001" + "0000000000000100"


def test_a_row_has_the_bytes_of_its_parts() -> None:
    # A row of a load: flags, two zeros, a checksum. A weight adds its presence and eight bytes.
    assert value_bytes() == 7
    assert value_bytes(weights=1) == 16
    assert value_bytes(commit=1 << 20, plain=1 << 20) == 7 + 4
    # z, three groups of nine, a timestamp; P, nine bytes of timestamp, v, the length, the value.
    assert tikv_row_bytes(20, np.array(7.0)) == 1 + 27 + 8 + 1 + 9 + 1 + 1 + 7 == 55
    # A long value has a key of its own.
    assert tikv_row_bytes(20, np.array(256.0)) == 36 + 10 + 36 + 256
    assert PAGES.edge_bytes(np.array([1000])) == [2 * (36 + 10 + 36 + 7 + 500 * 2.5) / 1000]


def test_page_sizes_are_the_engines() -> None:
    view = (ROOT / "crates/ordered/src/view.rs").read_text()
    source = view + (ROOT / "crates/ordered/src/pages.rs").read_text()
    sizes = {name: int(value) for name, value in re.findall(r"const (ROWS_\w+): usize = (\d+);", source)}
    assert sizes == {"ROWS_OF_A_SPAN": 64, "ROWS_FIRST": 128, "ROWS_MAX": 4096}


@pytest.mark.parametrize(
    ("rows", "requests"),
    [(0, 1), (63, 1), (64, 2), (191, 2), (192, 3), (703, 3), (704, 4), (2751, 4), (2752, 5), (6847, 5), (6848, 6)],
)
def test_pages_grow_and_a_full_page_is_followed_by_another(rows: int, requests: int) -> None:
    # 64, then 128, 512, 2048, and 4096 each.
    assert pages(np.array([rows])).tolist() == [requests]


def test_scattering_words_loses_none() -> None:
    words = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64)
    for low in (words, np.arange(1000, dtype=np.uint64)):
        assert (unmix(mix(low)) == low).all()
        assert (reverse_bits(reverse_bits(low)) == low).all()
    assert reverse_bits(np.array([1, 6], np.uint64)).tolist() == [1 << 63, 3 << 61]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_each_edge_has_a_row_in_each_direction_under_every_layout(layout: Layout) -> None:
    graph = rmat(8, 2000, np.random.default_rng(2))
    rows = rows_of(graph, layout, 1.0, graph.degrees() > 20)
    assert sorted(rows.ranks.tolist()) == list(range(2 * graph.edges))
    near = np.empty(2 * graph.edges, np.int64)
    near[rows.ranks] = np.stack([graph.sources, graph.targets], axis=1).reshape(-1)
    # The owner of a range is the near end of all its rows.
    assert near.tolist() == np.repeat(rows.owners, np.diff(rows.starts)).tolist()


# --- graphs ---


def test_the_hub_of_chung_and_lu_has_the_neighbors_that_its_weight_says() -> None:
    vertices, drawn, exponent = 4000, 40_000, 2.5
    graph = chung_lu(vertices, drawn, exponent, np.random.default_rng(3))
    p = shares(vertices, exponent)
    distinct = (1 - (1 - p[0] * p[1:]) ** drawn).sum()
    found = np.bincount(graph.sources, minlength=vertices)[0]
    assert abs(found - distinct) < 5 * distinct**0.5
    assert hub_share(vertices, exponent) == pytest.approx(p[0], rel=1e-3)


def test_a_seed_gives_one_graph_without_duplicates_and_loops() -> None:
    one, same, other = (rmat(9, 5000, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (one.sources == same.sources).all()
    assert len(one.sources) != len(other.sources) or (one.sources != other.sources).any()
    assert len(set(zip(one.sources.tolist(), one.targets.tolist(), strict=True))) == one.edges
    assert (one.sources != one.targets).all()
    young = grown(one)
    assert (young.sources > young.targets).all()
    assert (np.diff(young.sources) >= 0).all()


# --- regions ---


def test_a_large_region_is_cut_into_whole_ones_from_its_left() -> None:
    # Ten rows fill a region: 15 are let be, 16 become 10 and 6, 36 become 10, 10, 10 and 6.
    for rows, wanted in [(15, []), (16, [10]), (25, [10]), (26, [10, 20]), (36, [10, 20, 30])]:
        sums = np.arange(rows + 1) / 10
        assert cuts(sums, 0, rows) == wanted


@pytest.mark.parametrize("windows", [7, 40, 111])
def test_appended_rows_fill_regions_as_counting_says(windows: int) -> None:
    """Vertices in ascending order: the outgoing direction is appended to alone where the other has no rows yet."""
    rows, region = 10_000, 100
    graph = growing(rows // 10, 10)
    found = rows_of(graph, AS_IS, shrunk(region), np.zeros(graph.vertices, np.bool_))
    appended = np.sort(found.ranks)
    assert len(appended) == 2 * graph.edges
    ascending = type(found)(
        AS_IS, appended, found.weights, found.starts, found.owners, found.range_rows, found.forward_ranges
    )
    *_, (_, regions) = load(ascending, 4, windows)
    # Each region but the last is whole, and the last has at most half as much again.
    wanted = int(np.ceil((len(appended) - MAX_PER_SPLIT * region) / region)) + 1
    assert len(regions.bounds) == wanted
    assert np.diff(regions.bounds).tolist() == [region] * (wanted - 1)


def test_rows_in_random_order_leave_regions_between_half_and_one_and_a_half() -> None:
    graph = regular(5000, 10)
    region = 500
    _, regions = loaded(graph, HASHED, region)
    sizes = np.diff(np.append(regions.bounds, 2 * graph.edges))
    assert sizes.sum() == 2 * graph.edges
    assert sizes.max() <= MAX_PER_SPLIT * region
    assert sizes.min() >= (MAX_PER_SPLIT - 1) * region - 1


def test_half_of_a_growing_graphs_writes_go_to_one_region_as_is() -> None:
    """The outgoing rows of a new vertex are behind all others; the incoming rows spread over old vertices."""
    steps, _ = loaded(growing(20_000, 5), AS_IS, 500)
    late = steps[len(steps) // 2 :]
    assert [step.hottest_region for step in late] == pytest.approx([0.5] * len(late), abs=1e-3)
    # No placement of regions on stores helps.
    assert min(step.hottest_store for step in late) > 0.499


def test_shards_divide_the_writes_to_new_vertices() -> None:
    """Each shard has a region at its end, and one in 64 new vertices is there."""
    steps, _ = loaded(growing(40_000, 5), SHARDED, 250, windows=8)
    late = steps[-3:]
    # 5,000 vertices in a window: 78 in a shard, give or take 9.
    assert all(0.5 / SHARDS < step.hottest_region < 2 * 0.5 / SHARDS for step in late)
    assert all(step.hottest_store < 0.35 for step in late)


@pytest.mark.parametrize("layout", [HASHED, REVERSED, BOTH_HASHED], ids=lambda layout: layout.name)
def test_hashed_writes_go_to_regions_by_their_size(layout: Layout) -> None:
    graph, region = growing(20_000, 5), 500
    steps, _ = loaded(graph, layout, region, windows=10)
    rows_written = np.arange(len(steps)) * 2 * graph.edges / len(steps)
    for step, rows in list(zip(steps, rows_written, strict=True))[len(steps) // 2 :]:
        # The part that the largest region holds, doubled for the noise of 2,000 vertices.
        assert step.hottest_region <= 2 * MAX_PER_SPLIT * region / rows
        assert step.hottest_store <= 0.3


def test_regions_that_exist_before_the_load_share_its_first_writes() -> None:
    graph = growing(20_000, 5)
    steps, _ = loaded(graph, HASHED, 500, presplit=64)
    assert steps[0].regions == 64
    # 4,000 writes over 64 regions: 62.5 each, and none has twice as many.
    assert steps[0].hottest_region < 2 / 64
    assert loaded(graph, HASHED, 500)[0][0].hottest_region == 1.0


def test_pages_need_fewer_regions_by_the_bytes_of_an_edge() -> None:
    graph = rmat(10, 30_000, np.random.default_rng(4))
    counts = [len(loaded(graph, layout, 100)[1].bounds) for layout in (HASHED, PAGES)]
    assert counts[0] > 5 * counts[1]


# --- reads ---


def test_reads_of_a_regular_graph_are_two_requests_and_the_crossings() -> None:
    graph = regular(3000, 8)
    rows = rows_of(graph, HASHED, shrunk(500), np.zeros(3000, np.bool_))
    *_, (_, regions) = load(rows, 4, 50)
    found = reads(rows, regions, graph.vertices)
    # A bound inside a vertex's rows costs it another request; one between two vertices costs none.
    inside = set(regions.bounds.tolist()) - set(rows.starts.tolist())
    assert found.requests.sum() == 2 * graph.vertices + len(inside)
    uniform = np.full(graph.vertices, 1 / graph.vertices)
    loads = found.region_loads(rows, regions, uniform)
    assert loads.sum() == pytest.approx(2 + len(inside) / graph.vertices)
    sizes = np.diff(np.append(regions.bounds, 2 * graph.edges))
    # Vertices are alike: a region is read as often as it holds some. Those at its ends are in two.
    assert np.abs(loads - sizes / 8 / graph.vertices).max() < 2 / graph.vertices


def star(leaves: int) -> Graph:
    """A hub that others point to, and a ring of the others."""
    ids = np.arange(1, leaves + 1)
    return Graph(leaves + 1, np.concatenate([ids, ids]), np.concatenate([np.zeros_like(ids), ids % leaves + 1]))


def reported(graph: Graph, layout: Layout, rows_a_region: float) -> Report:
    walks = [Neighbors(graph).hops(1, 3)]
    return report(graph, layout, shrink=shrunk(rows_a_region), stores=4, windows=40, presplit=1, walks=walks)


def test_a_hub_spreads_over_regions_by_itself_and_buckets_add_requests() -> None:
    leaves, region = 20_000, 2000
    graph = star(leaves)
    as_is, both, buckets = (reported(graph, layout, region) for layout in (AS_IS, BOTH_HASHED, BUCKETS))
    assert as_is.hub_edges == leaves
    # Its rows have the neighbor in their keys, so that regions split inside a vertex.
    for one in (as_is, both):
        assert leaves / (MAX_PER_SPLIT * region) <= one.hub_regions <= leaves / (0.5 * region) + 2
    assert buckets.hub_requests > 2 * both.hub_requests
    # It is asked for in half of the reads by degree, under each layout.
    assert as_is.floor == both.floor == buckets.floor == pytest.approx(0.25, rel=1e-3)


def test_new_neighbors_of_a_hub_go_to_one_region_unless_both_ends_are_hashed() -> None:
    leaves = 20_000
    ids = np.arange(1, leaves + 1)
    fans = Graph(leaves + 1, ids, np.zeros_like(ids))
    hashed, both, buckets = (
        reported(fans, layout, 2000).hub_written_region for layout in (HASHED, BOTH_HASHED, BUCKETS)
    )
    # Half of the rows are the hub's.
    assert hashed == pytest.approx(0.5)
    assert both < 0.5 / 5
    assert buckets < 0.5 / 5


def test_walks_read_each_vertex_once() -> None:
    path = Graph(5, np.arange(4), np.arange(1, 5))
    assert [hop.tolist() for hop in Neighbors(path).hops(2, 3)] == [[2], [1, 3], [0, 4]]
    one = reported(path, AS_IS, 100)
    # Vertex 1: one read of both directions, then those of 0 and 2, then that of 3.
    assert (one.requests_uniform, one.requests_two_hops, one.requests_three_hops) == (2.0, 6.0, 8.0)
    # All is in one region: a request for each hop.
    assert (one.regions_two_hops, one.regions_three_hops) == (2.0, 3.0)


def test_ids_in_order_are_one_scan_or_one_for_each_shard_and_hashed_ids_one_each() -> None:
    graph = regular(2000, 3)
    reports = (reported(graph, layout, 10**6) for layout in (AS_IS, SHARDED, HASHED))
    as_is, sharded, hashed = (one.requests_scan for one in reports)
    # 3,000 rows: 128, 512, 2048 and a part of 4096.
    assert as_is == 4
    # 47 rows in each shard.
    assert sharded == SHARDS
    assert hashed == 1000


def test_a_report_is_a_table_with_a_column_for_each_layout() -> None:
    graph = rmat(8, 2000, np.random.default_rng(2))
    lines = table([reported(graph, layout, 200) for layout in LAYOUTS]).splitlines()
    assert lines[0] == "|  | as is | sharded | hashed | bit-reversed | both hashed | hub buckets | pages |"
    assert {line.count("|") for line in lines} == {9}
