"""Graphs of NetworkX with their attributes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import networkx as nx
import numpy as np
import pytest
import quipu


def stored(g: quipu.Graph, graph: Any) -> Any:
    """The stored graph as one of NetworkX, with the properties that are not null."""
    found = graph.__class__()
    names = [column.name for column in g.nodes.columns[1:]]
    for vertex, *values in g.nodes.rows():
        found.add_node(vertex, **{k: v for k, v in zip(names, values, strict=True) if v is not None})
    names = [column.name for column in g.edges_table.columns[2:]]
    for u, v, *values in g.edges_table.rows():
        found.add_edge(u, v, **{k: v for k, v in zip(names, values, strict=True) if v is not None})
    return found


def test_attributes_come_back(db: quipu.Database) -> None:
    graph = nx.DiGraph()
    graph.add_node(9, kind="lonely", when=dt.date(1998, 2, 3))
    graph.add_edge(1, 2, since=1998, note="a")
    graph.add_edge(2, 3, since=np.int64(5), ok=True, more={"x": [1]})
    report = db.from_networkx("g", graph)
    assert (report.edges, report.nodes) == (2, 4)
    g = db.graph("g")
    assert nx.utils.graphs_equal(stored(g, graph), nx.DiGraph(graph))
    assert [(c.name, c.type) for c in g.edges_table.columns[2:]] == [
        ("since", "Int?"),
        ("note", "String?"),
        ("ok", "Bool?"),
        ("more", "Json?"),
    ]


@pytest.mark.parametrize("make", [nx.karate_club_graph, nx.les_miserables_graph, nx.florentine_families_graph])
def test_graphs_of_networkx_are_stored_with_their_weights(db: quipu.Database, make: Any) -> None:
    graph = make()
    db.from_networkx("g", graph)
    g = db.graph("g")
    assert g.number_of_vertices() == len(graph)
    weight = "weight" if g.weight else None
    ranks = g.project(weight=weight, undirected=True).pagerank().to_dict()
    want = nx.pagerank(graph)
    assert ranks.keys() == want.keys()
    assert all(abs(ranks[v] - want[v]) < 1e-5 for v in want)


def test_attributes_with_the_names_of_columns_keep_their_values(db: quipu.Database) -> None:
    graph = nx.DiGraph()
    graph.add_node(1, **{"vertex": 3, "id": 4, "": 5, "a b": 6, "é-1": 7})
    graph.add_edge(1, 2, **{"src": 6, "dst": 7, "source": 8, "target": 9, "source_": 10, "": 11})
    db.from_networkx("g", graph)
    g = db.graph("g")
    assert g.node(1) == {"vertex_": 3, "id": 4, "c_": 5, "a_b": 6, "é_1": 7}
    assert g.edge_properties(1, 2) == {
        **{"src_": 6, "dst_": 7, "source_": 8, "target_": 9},
        **{"source__": 10, "c_": 11},
    }


def test_a_value_without_a_type_is_refused(db: quipu.Database) -> None:
    with pytest.raises(TypeError, match="cannot be a set"):
        db.from_networkx("g", nx.DiGraph([(1, 2, {"x": {1, 2}})]))
    assert db.graphs() == []


def test_a_missing_weight_is_one(db: quipu.Database) -> None:
    graph = nx.DiGraph([(1, 2, {"weight": 0.5}), (2, 3, {})])
    assert db.from_networkx("g", graph).missing == 1
    assert db.graph("g").edges_table.rows() == [(1, 2, 0.5), (2, 3, 1.0)]


def test_nodes_that_are_no_integers_become_strings(db: quipu.Database) -> None:
    db.from_networkx("g", nx.DiGraph([(1, "a"), ((1, 2), 1)]))
    assert sorted(db.graph("g").vertices().tolist()) == ["(1, 2)", "1", "a"]
    with pytest.raises(quipu.InvalidInputError, match="the same text"):
        db.from_networkx("h", nx.DiGraph([(1, "1")]))


def test_parallel_edges_are_refused_and_an_empty_graph_is_stored(db: quipu.Database) -> None:
    with pytest.raises(quipu.InvalidInputError, match="parallel edges"):
        db.from_networkx("g", nx.MultiGraph([(1, 2, "a", {}), (1, 2, "b", {})]))
    with pytest.raises(quipu.InvalidInputError, match="parallel edges"):
        db.from_networkx("g", nx.MultiDiGraph([(1, 2, 0, {}), (1, 2, "", {})]))
    assert db.from_networkx("m", nx.MultiGraph([(1, 2), (2, 3, "second", {})])).edges == 2
    for graph in [nx.Graph(), nx.empty_graph(3)]:
        name = f"empty{len(graph)}"
        assert db.from_networkx(name, graph).nodes == len(graph)
        assert db.graph(name).number_of_vertices() == len(graph)
