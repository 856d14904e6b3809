"""NetworkX's tests of its graph classes, with our classes: in memory, in a database, and read in pages.

A stored graph is closed and opened again between the set-up and the test, and after the test it is compared with
another object of the same stored graph.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx
import pytest
import quipu
import quipu.nx
from networkx.classes.tests.historical_tests import HistoricalTests
from networkx.classes.tests.test_digraph import TestDiGraph as DiGraphTests
from networkx.classes.tests.test_digraph_historical import TestDiGraphHistorical as HistoricalDiGraphTests
from networkx.classes.tests.test_graph import TestGraph as GraphTests
from networkx.classes.tests.test_multidigraph import TestMultiDiGraph as MultiDiGraphTests
from networkx.classes.tests.test_multigraph import TestMultiGraph as MultiGraphTests

# The stubs say less than the module has.
nx: Any = networkx

KINDS = {
    "Graph": quipu.nx.Graph,
    "DiGraph": quipu.nx.DiGraph,
    "MultiGraph": quipu.nx.MultiGraph,
    "MultiDiGraph": quipu.nx.MultiDiGraph,
}


class Folder:
    """A database in a folder, and classes whose graphs are all in it."""

    def __init__(self, path: Path, memory: int | None, *, keeps: bool):
        self.path = path
        self.keeps = keeps
        self.made = 0
        self.memory = memory
        self.db = quipu.open(path, durability="os")
        self.graphs: list[Any] = []

    def kind(self, name: str) -> Any:
        """A class of graphs that are stored here, each under a name of its own."""
        folder = self

        base: Any = KINDS[name]

        class Stored(base):
            def __init__(self, data: Any = None, *args: Any, **attr: Any):
                title = attr.pop("name", None)
                folder.made += 1
                number = f"g{folder.made}"
                super().__init__(data, *args, db=folder.db, name=number, memory=folder.memory, **attr)
                if title is not None:
                    self.graph["name"] = title
                if folder.keeps:
                    folder.graphs.append(self)

        Stored.__name__ = name
        return Stored

    def reopen(self, holder: Any) -> None:
        """Close the database, open it, and replace the graphs that an object holds."""
        held = {name: G for name, G in vars(holder).items() if any(G is other for other in self.graphs)}
        names = {name: G._stored.name for name, G in held.items()}
        for G in self.graphs:
            G.close()
        if self.memory is None:
            self.db.close()
            self.db = quipu.open(self.path, durability="os")
        self.graphs = [G for G in self.graphs if not any(G is other for other in held.values())]
        for name, closed in held.items():
            kind: Any = KINDS[type(closed).__name__]
            again = object.__new__(type(closed))
            kind.__init__(again, db=self.db, name=names[name], memory=self.memory)
            self.graphs.append(again)
            setattr(holder, name, again)

    def compare(self) -> None:
        """Compare each graph with another object of the same stored graph."""
        for G in self.graphs:
            if G._stored.database is not self.db or nx.is_frozen(G):
                continue
            try:
                G.flush()
            except TypeError as error:
                assert "cannot be stored" in str(error)
                continue
            if set(G._adj) != set(G._node):  # a test has put other dicts into the object
                continue
            H = KINDS[type(G).__name__](db=self.db, name=G._stored.name)
            same(G, H)
            assert not H.flush()


def same(G: Any, H: Any) -> None:
    assert H.graph == G.graph
    assert list(H._node.items()) == list(G._node.items())
    for name in ("_succ", "_pred") if G.is_directed() else ("_adj",):
        ours, theirs = getattr(H, name), getattr(G, name)
        assert set(ours) == set(theirs)
        for u in theirs:
            assert list(ours[u].items()) == list(theirs[u].items()), (name, u)


@pytest.fixture(params=["memory", "disk", "pages"], autouse=True)
def _where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    holder: Any = request.instance
    if request.param == "memory":
        holder.Graph = holder.G = KINDS[holder.kind]
        holder.set_up()
        yield
        return
    # One test counts the objects that are left.
    keeps = "memory_leak" not in request.node.name
    folder = Folder(tmp_path / "db", 0 if request.param == "pages" else None, keeps=keeps)
    holder.Graph = holder.G = folder.kind(holder.kind)
    holder.stored = True
    holder.set_up()
    folder.reopen(holder)
    yield
    folder.compare()
    folder.db.close()


class _Ours:
    kind: str
    stored = False

    def setup_method(self) -> None: ...

    def set_up(self: Any) -> None:
        theirs = super().setup_method  # type: ignore[misc]
        graph = self.Graph
        kind = type("Fixed", (type(self),), {"Graph": property(lambda _: graph, lambda _, __: None)})
        self.__class__, before = kind, self.__class__
        try:
            theirs()
        finally:
            self.__class__ = before

    def test_pickle(self: Any) -> None:
        """A stored graph is not pickled; a copy in memory is."""
        if not self.stored:
            super().test_pickle()  # type: ignore[misc]


class TestGraph(_Ours, GraphTests):
    """Undirected."""

    kind = "Graph"


class TestDiGraph(_Ours, DiGraphTests):
    """Directed."""

    kind = "DiGraph"


class TestMultiGraph(_Ours, MultiGraphTests):
    """Undirected, with parallel edges."""

    kind = "MultiGraph"


class TestMultiDiGraph(_Ours, MultiDiGraphTests):
    """Directed, with parallel edges."""

    kind = "MultiDiGraph"


class _Historical(_Ours):
    @classmethod
    def setup_class(cls) -> None:
        HistoricalTests.setup_class()
        for name in ("null", "P1", "P3", "P10", "K1", "K3", "K4", "K5", "K10"):
            setattr(cls, name, getattr(HistoricalTests, name))

    def set_up(self) -> None: ...

    def test_pickle(self) -> None: ...


class TestGraphHistorical(_Historical, HistoricalTests):
    """The oldest tests, undirected."""

    kind = "Graph"


class TestDiGraphHistorical(_Historical, HistoricalDiGraphTests):
    """The oldest tests, directed."""

    kind = "DiGraph"
