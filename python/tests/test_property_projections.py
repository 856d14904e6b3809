"""Projections of graphs with properties: weights, conditions, vertices without edges, results written back."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import quipu

EDGES = {"weight": "float", "cost": "float?", "hops": "int?", "name": "str?"}


def random_graph(db: quipu.Database, vertex: str, weighted: bool) -> tuple[quipu.Graph, Any]:
    """A stored graph and the same of NetworkX; some costs are null."""
    rng = np.random.default_rng(17)
    types = {name: of for name, of in EDGES.items() if weighted or name != "weight"}
    g = db.graph("g", vertex=vertex, edges=types, nodes={"rank": "float?", "kind": "str?"})  # pyright: ignore[reportArgumentType]
    of = str if vertex == "str" else int
    want: Any = nx.DiGraph()
    for u, v in rng.integers(0, 40, (300, 2)).tolist():
        cost = None if rng.random() < 0.2 else float(rng.integers(1, 9))
        attributes = {"cost": cost, "hops": int(rng.integers(1, 5)), "name": "x" if u % 2 else None}
        if weighted:
            attributes["weight"] = 100.0
        g.add_edge(of(u), of(v), **attributes)
        if want.has_edge(of(u), of(v)):
            # A null replaces an earlier value, which NetworkX would keep.
            want.remove_edge(of(u), of(v))
        want.add_edge(of(u), of(v), **{k: value for k, value in attributes.items() if value is not None})
    g.add_node(of(99), kind="lonely")
    want.add_node(of(99))
    return g, want


@pytest.mark.parametrize("vertex", ["u64", "i64", "str"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("weight", ["cost", "hops"])
def test_a_property_is_the_weight(db: quipu.Database, vertex: str, weighted: bool, weight: str) -> None:
    g, graph = random_graph(db, vertex, weighted)
    source = g.project().ids[0]
    source = source if vertex == "str" else int(source)
    found = g.shortest_paths(source, weight=weight).to_dict()
    want = nx.single_source_dijkstra_path_length(graph, source, weight=weight)
    assert {v: d for v, d in found.items() if np.isfinite(d)} == want
    # A condition makes the projection by a query.
    asked = g.project(weight=weight, where="src == src")
    assert asked.shortest_paths(source).to_dict() == found
    undirected = g.project(weight=weight, undirected=True, parallel="min")
    assert undirected.number_of_vertices() == len(graph)


def test_projections_by_different_properties_are_different_objects(db: quipu.Database) -> None:
    g, _ = random_graph(db, "u64", True)
    by_cost, by_hops, by_weight = (g.project(weight=name).weights for name in ("cost", "hops", "weight"))
    assert by_cost is not None
    assert by_hops is not None
    assert by_weight is not None
    assert set(by_weight.tolist()) == {100.0}
    assert by_cost.tolist() != by_hops.tolist()
    again = g.project(weight="cost").weights
    assert again is not None
    assert again.tolist() == by_cost.tolist()


def test_what_is_no_weight_is_refused(db: quipu.Database) -> None:
    g, _ = random_graph(db, "u64", False)
    with pytest.raises(quipu.InvalidInputError, match='property "name" of graph "g" is of type String'):
        g.project(weight="name")
    with pytest.raises(quipu.InvalidInputError, match='no weights with the name "rate"'):
        g.project(weight="rate")
    with pytest.raises(quipu.InvalidInputError, match="has no weights"):
        g.project(weight="weight")
    plain = db.graph("plain")
    with pytest.raises(quipu.InvalidInputError, match='no weights with the name "cost"'):
        plain.project(weight="cost")
    h = db.graph("h", edges={"cost": "float"})
    h.add_edge(1, 2, cost=float("inf"))
    with pytest.raises(quipu.InvalidInputError, match="finite"):
        h.project(weight="cost")


@pytest.mark.parametrize("vertex", ["u64", "str"])
def test_conditions_read_properties_of_edges_and_of_vertices(db: quipu.Database, vertex: str) -> None:
    g, graph = random_graph(db, vertex, True)
    p = g.project(weight="hops", where="!is_null(cost), cost > $least", params={"least": 4})
    want = {(u, v): a["hops"] for u, v, a in graph.edges(data=True) if a.get("cost", 0) > 4}
    assert nx.get_edge_attributes(p.to_networkx(), "weight") == want
    some = sorted({u for u, _ in graph.edges})[:5]
    for vertex_id in some:
        g.add_node(vertex_id, kind="hub")
    of_hubs = g.project(where="*g:nodes{vertex: src, kind: 'hub'}")
    assert set(of_hubs.to_networkx().edges) == {(u, v) for u, v in graph.edges if u in some}


def test_vertices_without_edges_are_part_of_a_projection_as_soon_as_they_exist(db: quipu.Database) -> None:
    g = db.graph("g", nodes={"kind": "str?"}, edges={"cost": "float?"})
    g.add_edge(1, 2)
    first = g.project()
    assert g.project().number_of_vertices() == 2
    g.add_node(9)
    assert first.number_of_vertices() == 2
    assert g.project().ids.tolist() == [1, 2, 9]
    assert len(g.connected_components()) == 2
    assert g.project(undirected=True).number_of_vertices() == 3
    g.remove_vertex(9)
    assert g.project().ids.tolist() == [1, 2]
    only = db.graph("only", nodes={})
    only.add_node(5)
    assert only.pagerank().to_dict() == {5: 1.0}


@pytest.mark.parametrize("vertex", ["u64", "i64", "str"])
def test_a_result_is_written_as_a_property(db: quipu.Database, vertex: str) -> None:
    g, _ = random_graph(db, vertex, True)
    ranks = g.pagerank(weight="cost")
    ranks.write_property(g, "rank")
    assert {row[0]: row[1] for row in g.nodes.rows()} == ranks.to_dict()
    lonely = 99 if vertex != "str" else "99"
    assert g.node(lonely) == {"rank": ranks.to_dict()[lonely], "kind": "lonely"}
    with db.transaction() as tx:
        mine = tx.graph("g")
        g.degree_centrality().write_property(mine, "rank")
        assert g.node(lonely) == {"rank": ranks.to_dict()[lonely], "kind": "lonely"}
    assert g.node(lonely) == {"rank": 0.0, "kind": "lonely"}


def test_many_vertices_are_written_in_steps(db: quipu.Database) -> None:
    g = db.graph("g", nodes={"group": "int?", "kind": "str?"})
    count = 120_000
    g.upsert_many(np.arange(count - 1), np.arange(1, count))
    g.add_node(7, kind="x")
    g.connected_components().write_property(g, "group")
    assert len(g.nodes) == count
    assert g.node(7) == {"group": 0, "kind": "x"}


def test_a_property_that_does_not_fit_is_refused(db: quipu.Database) -> None:
    g, _ = random_graph(db, "u64", True)
    ranks = g.pagerank()
    with pytest.raises(quipu.InvalidInputError, match='no property "rang"\nhint: they have rank, kind'):
        ranks.write_property(g, "rang")
    with pytest.raises(quipu.InvalidInputError, match="column `kind`: expected String"):
        ranks.write_property(g, "kind")
    with pytest.raises(quipu.InvalidInputError, match="no value for each vertex"):
        g.edge_betweenness_centrality().write_property(g, "rank")
    with pytest.raises(quipu.InvalidInputError, match="have no rows of their own"):
        ranks.write_property(db.graph("plain"), "rank")
    assert len(g.nodes) == 1
