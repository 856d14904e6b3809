"""The private names of NetworkX that ``quipu.nx._private`` uses: one test each, for the version that is installed."""

from typing import Any

import networkx
import pytest
import quipu_networkx
from quipu.nx import _private

# The stubs say less than the module has.
nx: Any = networkx


def test_versions_before_a_release_are_understood(monkeypatch: pytest.MonkeyPatch):
    for text, version in (("3.6.1", (3, 6)), ("3.7rc0.dev0", (3, 7)), ("4.0b1", (4, 0))):
        monkeypatch.setattr(nx, "__version__", text)
        assert quipu_networkx.networkx_version() == version
        _private.check_version()
    monkeypatch.setattr(nx, "__version__", "3.4.2")
    with pytest.raises(ImportError, match=r"3\.5 or newer, not 3\.4\.2"):
        _private.check_version()


def test_dispatched_functions_are_found_by_name():
    assert _private.dispatched("pagerank") is not None
    assert _private.dispatched("no_such_function") is None


def test_all_dispatched_names_are_listed():
    names = _private.dispatched_names()
    assert len(names) > 700
    assert {"pagerank", "compose", "empty_graph"} <= set(names)


def test_the_original_function_runs_without_dispatching():
    own = _private.original("number_of_selfloops")
    assert own is not None
    assert own(nx.Graph([(1, 1), (1, 2)])) == 1
    assert _private.original("no_such_function") is None


def test_it_is_known_which_functions_return_graphs():
    assert _private.returns_graph("compose")
    assert not _private.returns_graph("pagerank")
    assert not _private.returns_graph("no_such_function")


def test_the_cache_of_a_graph_can_be_cleared():
    G = nx.Graph([(1, 2)])
    G.__networkx_cache__["backends"] = {"other": {}}
    _private.clear_cache(G)
    assert G.__networkx_cache__ == {}


def test_a_class_of_graphs_can_be_made_without_dispatching_and_adopted():
    class Own(nx.Graph): ...

    G = nx.Graph([(1, 2)])
    G.__class__ = Own
    assert G.has_edge(1, 2)


def test_views_know_the_graph_that_they_show():
    G = nx.Graph([(1, 2)])
    assert G.subgraph([1])._graph is G
    assert nx.subgraph_view(G)._graph is G
    assert nx.DiGraph(G).reverse(copy=False)._graph is not None
    assert G.to_directed(as_view=True)._graph is G
    assert not hasattr(G, "_graph")
