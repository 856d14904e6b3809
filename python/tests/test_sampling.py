"""Samples of neighborhoods: each edge exists, no vertex keeps too many, and one seed gives one sample."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np
import pytest
import quipu


def random_graph(db: quipu.Database, seed: int, weight: Literal["float64"] | None = "float64") -> quipu.Graph:
    rng = np.random.default_rng(seed)
    g = db.graph("g", weight=weight)
    us = rng.integers(0, 60, 900)
    # A hub beside vertices of a few edges.
    us[:200] = 7
    g.upsert_many(us, rng.integers(0, 60, 900), rng.random(900))
    return g


def edges_of(projection: quipu.Projection) -> dict[tuple[int, int], float]:
    table = projection.to_scipy().tocoo()
    ids = projection.ids
    return {(int(ids[u]), int(ids[v])): float(w) for u, v, w in zip(table.row, table.col, table.data, strict=True)}


@pytest.mark.parametrize("incoming", [False, True])
@pytest.mark.parametrize("fan_outs", [[], [0], [3], [5, 2], [100, 100], [1, 1, 1, 1]])
def test_a_sample_has_edges_of_the_graph_and_obeys_the_fan_outs(
    db: quipu.Database, incoming: bool, fan_outs: list[int]
) -> None:
    p = random_graph(db, 3).project(weight="weight")
    edges = edges_of(p)
    near = 1 if incoming else 0
    degrees = Counter(edge[near] for edge in edges)
    starts = [7, 3, 9, 3]
    s = p.sample(starts, fan_outs, seed=11, incoming=incoming)
    assert s.ids[: s.counts[0]].tolist() == [7, 3, 9]
    assert p.ids[s.vertices].tolist() == s.ids.tolist()
    assert len(set(s.ids.tolist())) == len(s.ids) == s.counts[-1]
    found = [(int(s.ids[u]), int(s.ids[v])) for u, v in zip(s.sources, s.targets, strict=True)]
    assert len(set(found)) == len(found)
    assert s.weights is not None
    assert {edge: edges[edge] for edge in found} == dict(zip(found, s.weights.tolist(), strict=True))
    kept = Counter(edge[near] for edge in found)
    for hop, fan_out in enumerate(fan_outs):
        begin = 0 if hop == 0 else int(s.counts[hop - 1])
        for vertex in s.ids[begin : s.counts[hop]].tolist():
            assert kept[vertex] == min(fan_out, degrees[vertex])
    # Vertices of the last hop keep none.
    last = s.ids[s.counts[-2] if fan_outs else 0 :].tolist()
    assert not any(kept[vertex] for vertex in last)


def test_a_seed_gives_one_sample_and_each_edge_is_as_likely(db: quipu.Database) -> None:
    p = random_graph(db, 3).project()
    a, b, c = (p.sample([7], [4, 3], seed=seed) for seed in (5, 5, 6))
    assert a.ids.tolist() == b.ids.tolist()
    assert a.ids.tolist() != c.ids.tolist()
    assert a.weights is None
    degree = sum(1 for edge in edges_of(p) if edge[0] == 7)
    taken: Counter[int] = Counter()
    for seed in range(2000):
        s = p.sample([7], [5], seed=seed)
        taken.update(s.ids[s.targets].tolist())
    expected = 2000 * 5 / degree
    assert len(taken) == degree
    assert all(0.6 * expected < count < 1.5 * expected for count in taken.values())


def test_batches_have_all_vertices_once(db: quipu.Database) -> None:
    p = random_graph(db, 4).project()
    batches = list(p.samples(fan_outs=[2], batch_size=16, seed=3))
    starts = [s.ids[: s.counts[0]].tolist() for s in batches]
    assert sorted(v for batch in starts for v in batch) == p.ids.tolist()
    assert [len(batch) for batch in starts[:-1]] == [16] * (len(starts) - 1)
    again = list(p.samples(fan_outs=[2], batch_size=16, seed=3))
    assert [s.ids.tolist() for s in again] == [s.ids.tolist() for s in batches]
    plain = list(p.samples([5, 9, 2], [2], batch_size=2, shuffle=False))
    assert [s.ids[: s.counts[0]].tolist() for s in plain] == [[5, 9], [2]]


def test_vertices_of_strings_and_undirected_graphs_are_sampled(db: quipu.Database) -> None:
    g = db.graph("t", vertex="str")
    g.upsert_many(["a", "b", "c"], ["b", "c", "d"])
    s = g.project(undirected=True).sample("c", [5])
    assert sorted(s.ids.tolist()) == ["b", "c", "d"]
    assert s.ids[s.targets].tolist() == ["b", "d"]


def test_what_cannot_be_sampled_is_refused(db: quipu.Database) -> None:
    p = random_graph(db, 3).project()
    with pytest.raises(quipu.InvalidInputError, match="99 is not a vertex"):
        p.sample([7, 99], [1])
    with pytest.raises(quipu.InvalidInputError, match="not negative"):
        p.sample([7], [-1])
    with pytest.raises(quipu.InvalidInputError, match="one vertex or more"):
        p.samples(batch_size=0)
    empty = db.graph("e").project()
    assert list(empty.samples()) == []
