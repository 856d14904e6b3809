"""A model of a graph as a dictionary of edges, and a check of real graphs against it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import quipu

Vertex = int | str
Edges = dict[tuple[Vertex, Vertex], float]


def triples(columns: Iterable[np.ndarray]) -> list[tuple[object, ...]]:
    """Columns as a list of rows of plain values."""
    return list(zip(*(column.tolist() for column in columns), strict=True))


def leaving(model: Edges, v: Vertex) -> list[tuple[object, ...]]:
    """Edges from a vertex, by target."""
    return sorted((a, b, w) for (a, b), w in model.items() if a == v)  # pyright: ignore[reportArgumentType]


def arriving(model: Edges, v: Vertex) -> list[tuple[object, ...]]:
    """Edges to a vertex, by source."""
    return sorted((a, b, w) for (a, b), w in model.items() if b == v)  # pyright: ignore[reportArgumentType]


def check(g: quipu.Graph, model: Edges, others: Iterable[Vertex] = ()) -> None:
    """Compare all reads of the graph with the model, for its vertices and for others."""
    there = {end for pair in model for end in pair}
    vertices: list[Vertex] = [*there, *others]
    assert g.number_of_edges() == len(g) == len(model)
    assert g.number_of_vertices() == len(there)
    assert set(g.vertices().tolist()) == there
    outs = {v: leaving(model, v) for v in vertices}
    ins = {v: arriving(model, v) for v in vertices}
    for v in vertices:
        out, into = outs[v], ins[v]
        both = out + [edge for edge in into if edge[0] != v]
        # Strings come in the order of their dictionary ids, which a caller does not know.
        assert sorted(triples(g.out_edges(v))) == out
        assert sorted(triples(g.in_edges(v))) == into
        assert sorted(triples(g.edges(v))) == sorted(both)
        if g.vertex != "str":
            assert triples(g.out_edges(v)) == out
            assert triples(g.in_edges(v)) == into
            assert triples(g.edges(v)) == both
        successors, predecessors = [e[1] for e in out], [e[0] for e in into]
        assert sorted(g.successors(v).tolist()) == successors
        assert sorted(g.predecessors(v).tolist()) == predecessors
        neighbors = g.neighbors(v).tolist()
        assert sorted(neighbors) == sorted({*successors, *predecessors} - {v})  # pyright: ignore[reportArgumentType]
        assert same_degree(g.out_degree(v), out)
        assert same_degree(g.in_degree(v), into)
        assert same_degree(g.degree(v), both)
        assert g.has_vertex(v) == (v in g) == (v in there)
    check_many(g, model, vertices)
    pairs = [(u, v) for u in vertices for v in vertices[:8]]
    for u, v in pairs:
        assert g.edge(u, v) == model.get((u, v))
        assert g.has_edge(u, v) == ((u, v) in model)
    us, vs = [u for u, _ in pairs], [v for _, v in pairs]
    present, weights = g.edge_many(us, vs)
    assert present.tolist() == g.has_edge_many(us, vs).tolist() == [pair in model for pair in pairs]
    for pair, weight in zip(pairs, weights.tolist(), strict=True):
        absent = weight in (0, 1) or math.isnan(weight)
        assert weight == model[pair] if pair in model else absent


def check_many(g: quipu.Graph, model: Edges, vertices: list[Vertex]) -> None:
    """Compare the calls for many vertices with those for one; a vertex may occur twice."""
    asked = [*vertices, *vertices[:2]]
    for single, many in [
        (g.out_edges, g.out_edges_many),
        (g.in_edges, g.in_edges_many),
        (g.edges, g.edges_many),
    ]:
        offsets, *columns = many(asked)
        rows = triples(columns)
        assert offsets.dtype == np.int64
        assert len(offsets) == len(asked) + 1
        for i, v in enumerate(asked):
            assert rows[offsets[i] : offsets[i + 1]] == triples(single(v))
    for single, many in [
        (g.successors, g.successors_many),
        (g.predecessors, g.predecessors_many),
        (g.neighbors, g.neighbors_many),
    ]:
        offsets, ids = many(asked)
        for i, v in enumerate(asked):
            assert ids[offsets[i] : offsets[i + 1]].tolist() == single(v).tolist()
    for single, many in [
        (g.degree, g.degree_many),
        (g.out_degree, g.out_degree_many),
        (g.in_degree, g.in_degree_many),
    ]:
        counts, sums = many(asked)
        assert list(zip(counts.tolist(), sums.tolist(), strict=True)) == [single(v) for v in asked]


def same_degree(found: tuple[int, float], edges: list[tuple[object, ...]]) -> bool:
    """Whether count and sum of weights are those of the edges."""
    total = math.fsum(float(edge[2]) for edge in edges)  # pyright: ignore[reportArgumentType]
    return found[0] == len(edges) and math.isclose(found[1], total)
