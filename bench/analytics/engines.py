"""The engines of the bench: each makes its structures from the same columns, and runs the kernels that it has.

``prepare`` makes the structure of a form, which kernels then find ready. ``run`` returns what the library returns, and
``values`` turns that into the compared array outside of the timing. ``stored`` is the way from data on disk to the
values, in a fresh structure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphs import Edges
from kernels import ROUNDS, SOURCES

Array = NDArray[Any]


def parquet_columns(path: Path, weighted: bool) -> list[Array]:
    """Columns of the stored edges, as users of a library keep them."""
    from pyarrow import parquet

    table = parquet.read_table(path, columns=["src", "dst", "weight"][: 3 if weighted else 2])
    return [column.to_numpy() for column in table.columns]


class Engine:
    """An engine without kernels: the parts that all share."""

    kernels: Mapping[str, Callable[[Any, Edges], Any]]
    edges_max = 1 << 40
    """Larger graphs take too much memory or time."""

    once: frozenset[str] = frozenset()
    """Kernels so slow that they run once."""

    def __init__(self, edges: Edges, folder: Path, threads: int) -> None:
        self.edges, self.folder, self.threads = edges, folder, threads
        self.ready: dict[str, Any] = {}

    def prepare(self, form: str) -> None:
        """Make the structure of a form, unless it is there."""
        if form not in self.ready:
            self.ready[form] = self.build(form, *self.columns(form))

    def columns(self, form: str) -> tuple[Array, Array, Array | None]:
        """Source, target and perhaps weight, in memory."""
        if form.startswith("undirected"):
            low, high, weight = self.edges.undirected()
            return low, high, weight if form.endswith("weighted") else None
        return self.edges.src, self.edges.dst, self.edges.weight if form == "weighted" else None

    def build(self, form: str, src: Array, dst: Array, weight: Array | None) -> Any:
        """A structure of the library."""
        raise NotImplementedError

    def run(self, name: str, form: str) -> Any:
        """Call a kernel on the structure that is ready."""
        return self.kernels[name](self.ready[form], self.edges)

    def values(self, name: str, found: Any) -> Array:
        """The answer as an array."""
        return np.asarray(found)

    def stored(self, name: str, form: str) -> Array:
        """The answer, from a Parquet file."""
        src, dst, *weights = parquet_columns(self.folder / "edges.parquet", form == "weighted")
        if form.startswith("undirected"):
            low, high = np.minimum(src, dst), np.maximum(src, dst)
            pairs = np.unique(low.astype(np.uint64) << np.uint64(32) | high)
            src, dst = pairs >> np.uint64(32), pairs & np.uint64((1 << 32) - 1)
        made = self.build(form, src, dst, weights[0] if weights else None)
        return self.values(name, self.kernels[name](made, self.edges))

    def close(self) -> None:
        """Give up what was made."""
        self.ready.clear()


# Quipu: a projection of a stored graph.


def _scattered(found: Any, edges: Edges, unreached: float) -> Array:
    values = np.full(edges.vertices, unreached, dtype=np.result_type(found.values.dtype, np.int64))
    values[found.ids] = found.values
    return values


class Quipu(Engine):
    """A database on disk; positions are the ids, and so the order of the vertices."""

    kernels: ClassVar = {
        "pagerank": lambda p, edges: p.pagerank(variant="ldbc", max_iter=ROUNDS),
        "bfs": lambda p, edges: p.bfs(edges.source),
        "weak components": lambda p, edges: p.connected_components(),
        "strong components": lambda p, edges: p.strongly_connected_components(),
        "sssp": lambda p, edges: p.shortest_paths(edges.source),
        "lcc": lambda p, edges: p.clustering(),
        "k-core": lambda p, edges: p.core_number(),
        "label propagation": lambda p, edges: p.label_propagation(),
        "spanning forest": lambda p, edges: p.minimum_spanning_tree(),
        "betweenness": lambda p, edges: p.betweenness_centrality(sources=range(SOURCES), normalized=False),
        "louvain": lambda p, edges: p.louvain(),
        "leiden": lambda p, edges: p.leiden(seed=1),
    }

    def __init__(self, edges: Edges, folder: Path, threads: int) -> None:
        super().__init__(edges, folder, threads)
        self.database: Any = None

    def open(self, name: str = "g") -> Any:
        """The graph, with the database opened anew: nothing is cached but pages of the system."""
        import quipu

        self.close()
        path = self.folder / f"{name}-{self.threads}.quipu"
        self.database = quipu.open(path, threads=self.threads, memory_limit="8GB", durability="os")
        return self.database.graph("g")

    def project(self, g: Any, form: str) -> Any:
        """A projection; of several edges between two vertices the least counts, as in the columns."""
        weight = "weight" if form.endswith("weighted") else None
        undirected = form.startswith("undirected")
        return g.project(weight=weight, undirected=undirected, parallel="min" if undirected and weight else None)

    def prepare(self, form: str) -> None:
        if form not in self.ready:
            g = self.database.graph("g") if self.ready else self.open()
            self.ready[form] = self.project(g, form)

    def values(self, name: str, found: Any) -> Array:
        if name == "spanning forest":
            return np.array([found.values.sum()])
        values = _scattered(found, self.edges, {"bfs": -1, "sssp": np.inf}.get(name, 0))
        if name == "betweenness":
            # As in NetworkX, samples are scaled up: a source is not counted by its own search.
            n = self.edges.vertices
            values[:SOURCES] *= (SOURCES - 1) / (n - 1)
            values[SOURCES:] *= SOURCES / (n - 1)
        return values

    def stored(self, name: str, form: str) -> Array:
        return self.values(name, self.kernels[name](self.project(self.open(), form), self.edges))

    def close(self) -> None:
        super().close()
        if self.database is not None:
            self.database.close()
            self.database = None


# SciPy: matrices of compressed rows.


def _scipy_pagerank(made: tuple[Any, Array], edges: Edges) -> Array:
    matrix, dangling = made
    n, alpha = edges.vertices, 0.85
    ranks = np.full(n, 1 / n)
    for _ in range(ROUNDS):
        ranks = alpha * (matrix @ ranks) + (alpha * ranks[dangling].sum() + 1 - alpha) / n
    return ranks


def _levels(found: tuple[Array, Array]) -> Array:
    order, parents = found
    levels = np.full(len(parents), -1)
    levels[order[0]] = 0
    for v, parent in zip(order[1:].tolist(), parents[order[1:]].tolist(), strict=True):
        levels[v] = levels[parent] + 1
    return levels


class SciPy(Engine):
    """`scipy.sparse.csgraph`, and products with a vector for ranks."""

    def __init__(self, edges: Edges, folder: Path, threads: int) -> None:
        super().__init__(edges, folder, threads)
        from scipy.sparse import csgraph

        self.kernels = {
            "pagerank": lambda made, edges: _scipy_pagerank(made["ranks"], edges),
            "bfs": lambda made, edges: csgraph.breadth_first_order(made["matrix"], edges.source),
            "weak components": lambda made, edges: csgraph.connected_components(made["matrix"], connection="weak")[1],
            "strong components": lambda made, edges: csgraph.connected_components(made["matrix"], connection="strong")[
                1
            ],
            "sssp": lambda made, edges: csgraph.dijkstra(made["matrix"], indices=edges.source),
            "spanning forest": lambda made, edges: csgraph.minimum_spanning_tree(made["matrix"]),
        }

    def build(self, form: str, src: Array, dst: Array, weight: Array | None) -> Any:
        from scipy.sparse import csr_array

        n = self.edges.vertices
        data = np.ones(len(src)) if weight is None else weight
        made: dict[str, Any] = {"matrix": csr_array((data, (src, dst)), shape=(n, n))}
        if form == "directed":
            degrees = np.bincount(src, minlength=n)
            matrix = csr_array((1 / degrees[src], (dst, src)), shape=(n, n))
            made["ranks"] = matrix, np.flatnonzero(degrees == 0)
        return made

    def values(self, name: str, found: Any) -> Array:
        if name == "bfs":
            return _levels(found)
        return np.array([found.sum()]) if name == "spanning forest" else np.asarray(found)


class DuckDb(SciPy):
    """A table of DuckDB, read as columns for SciPy: only from stored data."""

    def __init__(self, edges: Edges, folder: Path, threads: int) -> None:
        super().__init__(edges, folder, threads)
        self.with_kernels, self.kernels = self.kernels, {}

    def stored(self, name: str, form: str) -> Array:
        import duckdb

        with duckdb.connect(str(self.folder / "edges.duckdb"), read_only=True) as db:
            db.execute(f"SET threads = {self.threads}")
            found = db.execute(f"SELECT src, dst{', weight' if form == 'weighted' else ''} FROM edges").fetchnumpy()
        made = self.build(form, found["src"], found["dst"], found.get("weight"))
        return self.values(name, self.with_kernels[name](made, self.edges))


# NetworKit: an adjacency array a vertex.


class NetworKit(Engine):
    """Parallel by OpenMP."""

    def __init__(self, edges: Edges, folder: Path, threads: int) -> None:
        super().__init__(edges, folder, threads)
        import networkit as nk

        nk.setNumberOfThreads(threads)
        nk.setSeed(1, False)

        def ranks(g: Any, edges: Edges) -> Any:
            found = nk.centrality.PageRank(g, 0.85, 1e-300, distributeSinks=nk.centrality.SinkHandling.DistributeSinks)
            found.maxIterations = ROUNDS
            return found.run()

        self.kernels = {
            "pagerank": ranks,
            "bfs": lambda g, edges: nk.distance.BFS(g, edges.source, storePaths=False).run(),
            "weak components": lambda g, edges: nk.components.WeaklyConnectedComponents(g).run(),
            "strong components": lambda g, edges: nk.components.StronglyConnectedComponents(g).run(),
            "sssp": lambda g, edges: nk.distance.Dijkstra(g, edges.source, storePaths=False).run(),
            "lcc": lambda g, edges: nk.centrality.LocalClusteringCoefficient(g, True).run(),
            "k-core": lambda g, edges: nk.centrality.CoreDecomposition(g).run(),
            "label propagation": lambda g, edges: nk.community.PLP(g).run(),
            "betweenness": lambda g, edges: nk.centrality.EstimateBetweenness(g, SOURCES, False, threads > 1).run(),
            "louvain": lambda g, edges: nk.community.PLM(g).run(),
            "leiden": lambda g, edges: nk.community.ParallelLeiden(g).run(),
        }

    def build(self, form: str, src: Array, dst: Array, weight: Array | None) -> Any:
        import networkit as nk

        data = np.ones(len(src)) if weight is None else weight
        coo = (data, (src.astype(np.uint64), dst.astype(np.uint64)))
        directed = not form.startswith("undirected")
        return nk.GraphFromCoo(coo, n=self.edges.vertices, weighted=weight is not None, directed=directed)

    def values(self, name: str, found: Any) -> Array:
        if name in ("bfs", "sssp"):
            far = np.asarray(found.getDistances())
            reached = far < 1e300
            if name == "bfs":
                return np.where(reached, far, -1).astype(np.int64)
            return np.where(reached, far, np.inf)
        if hasattr(found, "getPartition"):
            return np.asarray(found.getPartition().getVector()).astype(np.int64)
        scores = np.asarray(found.scores())
        return scores.astype(np.int64) if name == "k-core" else scores


# igraph: lists of Python for answers, which its C code fills.


class IGraph(Engine):
    """One thread."""

    edges_max = 10_000_000
    once = frozenset({"louvain", "label propagation"})

    kernels: ClassVar = {
        "bfs": lambda g, edges: g.distances(edges.source)[0],
        "weak components": lambda g, edges: g.connected_components(mode="weak"),
        "strong components": lambda g, edges: g.connected_components(mode="strong"),
        "sssp": lambda g, edges: g.distances(edges.source, weights="weight")[0],
        "lcc": lambda g, edges: g.transitivity_local_undirected(mode="zero"),
        "k-core": lambda g, edges: g.coreness(),
        "label propagation": lambda g, edges: g.community_label_propagation(),
        "spanning forest": lambda g, edges: g.spanning_tree(weights="weight", return_tree=False),
        "betweenness": lambda g, edges: g.betweenness(sources=list(range(SOURCES))),
        "louvain": lambda g, edges: g.community_multilevel(),
        "leiden": lambda g, edges: g.community_leiden(objective_function="modularity", n_iterations=2),
    }

    def build(self, form: str, src: Array, dst: Array, weight: Array | None) -> Any:
        import igraph

        directed = not form.startswith("undirected")
        g = igraph.Graph(self.edges.vertices, np.column_stack([src, dst]).astype(np.int64), directed=directed)
        if weight is not None:
            g.es["weight"] = weight
        return g

    def values(self, name: str, found: Any) -> Array:
        if name == "bfs":
            far = np.array(found)
            return np.where(np.isfinite(far), far, -1).astype(np.int64)
        if name == "spanning forest":
            return np.array([sum(self.ready["undirected weighted"].es[found]["weight"])])
        return np.array(getattr(found, "membership", found))


# rustworkx: a graph of Python objects, with the two kernels in which it is strong.


class RustworkX(Engine):
    """One thread."""

    edges_max = 5_000_000

    def __init__(self, edges: Edges, folder: Path, threads: int) -> None:
        super().__init__(edges, folder, threads)
        import rustworkx as rx

        self.kernels = {
            "weak components": lambda g, edges: rx.weakly_connected_components(g),
            "sssp": lambda g, edges: rx.digraph_dijkstra_shortest_path_lengths(g, edges.source, float),
            "k-core": lambda g, edges: rx.core_number(g),
            "spanning forest": lambda g, edges: rx.minimum_spanning_edges(g, float),
        }

    def build(self, form: str, src: Array, dst: Array, weight: Array | None) -> Any:
        import rustworkx as rx

        g: Any = rx.PyGraph() if form.startswith("undirected") else rx.PyDiGraph()
        g.add_nodes_from(range(self.edges.vertices))
        weights = [1.0] * len(src) if weight is None else weight.tolist()
        g.add_edges_from(list(zip(src.tolist(), dst.tolist(), weights, strict=True)))
        return g

    def values(self, name: str, found: Any) -> Array:
        n = self.edges.vertices
        if name == "spanning forest":
            return np.array([sum(weight for *_, weight in found)])
        if name == "weak components":
            labels = np.zeros(n, dtype=np.int64)
            for number, part in enumerate(found):
                labels[list(part)] = number
            return labels
        values = np.full(n, np.inf) if name == "sssp" else np.zeros(n, dtype=np.int64)
        values[list(found.keys())] = list(found.values())
        if name == "sssp":
            values[self.edges.source] = 0
        return values


# GraphBLAS: products over other semirings.


def _graphblas_pagerank(made: dict[str, Any], edges: Edges) -> Any:
    import graphblas as gb

    n, alpha = edges.vertices, 0.85
    ranks = gb.Vector.from_scalar(1 / n, n)
    for _ in range(ROUNDS):
        shares = ranks.ewise_mult(made["shares"], gb.binary.times).new()
        lost = ranks.ewise_mult(made["dangling"], gb.binary.first).new().reduce(gb.monoid.plus).get(0.0)
        moved = gb.semiring.plus_second(made["reverse"] @ shares).new()
        ranks = gb.Vector.from_scalar((alpha * lost + 1 - alpha) / n, n)
        ranks(gb.binary.plus) << moved.apply(gb.binary.times, right=alpha)
    return ranks


def _graphblas_bfs(made: dict[str, Any], edges: Edges) -> Any:
    import graphblas as gb

    levels = gb.Vector(int, edges.vertices)
    front = gb.Vector(bool, edges.vertices)
    front[edges.source] = True
    level = 0
    while front.nvals:
        levels(front.S) << level
        front(~levels.S, replace=True) << gb.semiring.any_pair(front @ made["matrix"])
        level += 1
    return levels


class GraphBlas(Engine):
    """SuiteSparse, in parallel by OpenMP."""

    kernels: ClassVar = {"pagerank": _graphblas_pagerank, "bfs": _graphblas_bfs}

    def __init__(self, edges: Edges, folder: Path, threads: int) -> None:
        super().__init__(edges, folder, threads)
        import graphblas as gb

        gb.init("suitesparse", blocking=True)
        gb.ss.config["nthreads"] = threads

    def build(self, form: str, src: Array, dst: Array, weight: Array | None) -> Any:
        import graphblas as gb

        n = self.edges.vertices
        matrix = gb.Matrix.from_coo(src, dst, True, nrows=n, ncols=n, dtype=bool)
        degrees = np.bincount(src, minlength=n)
        out, sinks = np.flatnonzero(degrees), np.flatnonzero(degrees == 0)
        return {
            "matrix": matrix,
            "reverse": matrix.T.new(),
            "shares": gb.Vector.from_coo(out, 1 / degrees[out], size=n),
            "dangling": gb.Vector.from_coo(sinks, 1.0, size=n) if len(sinks) else gb.Vector(float, n),
        }

    def values(self, name: str, found: Any) -> Array:
        return found.to_dense(fill_value=-1 if name == "bfs" else 0.0)


ENGINES: dict[str, type[Engine]] = {
    "quipu": Quipu,
    "scipy": SciPy,
    "networkit": NetworKit,
    "igraph": IGraph,
    "rustworkx": RustworkX,
    "graphblas": GraphBlas,
    "duckdb": DuckDb,
}
PARALLEL = {"quipu", "networkit", "graphblas"}
"""Engines with more than one thread."""

RANDOM = {("networkit", "betweenness")}
"""Kernels that choose their own sources: their times count, their answers cannot be compared."""
