"""Times and peak memory of NetworkX's functions on a graph of many edges, each engine in a process of its own.

    python bench/networkx/large.py --engine quipu [--nodes 1000000] [--edges 16000000] [--folder DIR]

Engines: ``quipu`` (a stored graph, opened anew), ``columns`` (the same over a graph of ``db.graph`` that was loaded by
columns), ``networkx``, ``igraph`` and ``parallel`` (NetworkX with nx-parallel).
The graph is undirected, simple, from a seed, with an attribute ``kind`` of its vertices. A line is an operation, wall
and processor seconds, and the peak of resident memory since the process began (`VmHWM`).
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

KINDS = 10


def drawn(nodes: int, edges: int) -> tuple[Any, Any]:
    """Sources and targets of distinct edges without loops: ends are drawn with weights like those of Zipf."""
    rng = np.random.default_rng(1)
    found = np.empty(0, "int64")
    while len(found) < edges:
        ends = (rng.random((2, int((edges - len(found)) * 1.1) + 1000)) ** 2 * nodes).astype("int64")
        u, v = ends.min(0), ends.max(0)
        found = np.unique(np.concatenate([found, (u * nodes + v)[u != v]]))
    found = rng.permutation(found)[:edges]
    return found // nodes, found % nodes


def peak_mb() -> int:
    """Peak resident memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def measured(name: str, work: Callable[[], Any]) -> Any:
    """Call, print the times and the memory, and return the answer."""
    wall, processor = time.perf_counter(), time.process_time()
    found = work()
    times = time.perf_counter() - wall, time.process_time() - processor
    print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} | {peak_mb():,} |", flush=True)
    return found


def of_networkx(nx: Any, G: Any, options: argparse.Namespace) -> None:
    """Measure functions over a graph with NetworkX's interface."""
    backend = {"backend": "parallel"} if options.engine == "parallel" else {}
    if not backend:
        measured("`connected_components`", lambda: sum(1 for _ in nx.connected_components(G)))
        measured("`shortest_path` of two vertices", lambda: nx.shortest_path(G, 17, options.nodes - 17))
        measured("`ego_graph`, radius 1", lambda: nx.ego_graph(G, options.nodes // 2))
        measured("`pagerank`", lambda: nx.pagerank(G))
        measured("filter of vertices by `kind`", lambda: [n for n, kind in G.nodes(data="kind") if kind == 3])
    if options.slow:
        measured("`louvain_communities`", lambda: nx.community.louvain_communities(G))
    if backend:
        sources = list(range(8))
        measured(
            "`betweenness_centrality`, k=8", lambda: nx.betweenness_centrality(G, k=len(sources), seed=1, **backend)
        )


def more(options: argparse.Namespace) -> list[tuple[int, int]]:
    """100,000 edges, from new vertices to old ones."""
    rng = np.random.default_rng(2)
    return [(options.nodes + i, int(v)) for i, v in enumerate(rng.integers(0, options.nodes, 100_000))]


def quipu_main(options: argparse.Namespace) -> None:
    """Load a stored graph, close and reopen it, and measure."""
    import networkx as nx
    import quipu
    import quipu.nx

    u, v = drawn(options.nodes, options.edges)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = f"{folder}/db"

        def load() -> None:
            with quipu.nx.Graph(db=path, name="g") as G:
                for i in range(0, options.nodes, 100_000):
                    G.add_nodes_from((n, {"kind": n % KINDS}) for n in range(i, min(i + 100_000, options.nodes)))
                    G.flush()
                for i in range(0, options.edges, 500_000):
                    G.add_edges_from(zip(u[i : i + 500_000].tolist(), v[i : i + 500_000].tolist(), strict=True))
                    G.flush()

        def load_columns() -> None:
            with quipu.open(path) as db:
                nodes = np.arange(options.nodes)
                graph: Any = db.graph("g", directed=False, nodes={"kind": "int?"})
                for i in range(0, options.edges, 1_000_000):
                    graph.upsert_many(u[i : i + 1_000_000], v[i : i + 1_000_000])
                graph.upsert_nodes({"vertex": nodes, "kind": nodes % KINDS})

        name = "adding all vertices and edges"
        if options.engine == "columns":
            measured(f"{name} by columns", load_columns)
        else:
            measured(f"{name}, flushed", load)
        G: Any = measured("reopening", lambda: quipu.nx.Graph(db=path, name="g"))
        of_networkx(nx, G, options)
        edges = more(options)
        measured("adding 100,000 vertices and edges", lambda: G.add_edges_from(edges))
        measured("`flush`", G.flush)
        measured("`close`", G.close)
        H: Any = measured("reopening", lambda: quipu.nx.Graph(db=path, name="g"))
        measured("`len` and a row", lambda: (len(H), len(H[0])))
        H.close()


def networkx_main(options: argparse.Namespace) -> None:
    """Make a graph in memory, and measure."""
    import networkx as nx

    u, v = drawn(options.nodes, options.edges)
    G: Any = nx.Graph()

    def load() -> None:
        G.add_nodes_from((n, {"kind": n % KINDS}) for n in range(options.nodes))
        for i in range(0, options.edges, 500_000):
            G.add_edges_from(zip(u[i : i + 500_000].tolist(), v[i : i + 500_000].tolist(), strict=True))

    measured("adding all vertices and edges", load)
    of_networkx(nx, G, options)
    edges = more(options)
    measured("adding 100,000 vertices and edges", lambda: G.add_edges_from(edges))


def igraph_main(options: argparse.Namespace) -> None:
    """Make a graph of igraph, and measure."""
    import igraph

    u, v = drawn(options.nodes, options.edges)

    def load() -> Any:
        g = igraph.Graph(options.nodes, np.stack([u, v], 1))
        g.vs["kind"] = [n % KINDS for n in range(options.nodes)]
        return g

    g = measured("adding all vertices and edges", load)
    middle = options.nodes // 2
    measured("`connected_components`", lambda: len(g.connected_components()))
    measured("`shortest_path` of two vertices", lambda: g.get_shortest_path(17, options.nodes - 17))
    measured("`ego_graph`, radius 1", lambda: g.induced_subgraph(g.neighborhood(middle)))
    measured("`pagerank`", g.pagerank)
    measured("filter of vertices by `kind`", lambda: g.vs.select(kind=3).indices)
    if options.slow:
        measured("`louvain_communities`", g.community_multilevel)
    edges = more(options)

    def add() -> None:
        g.add_vertices(len(edges))
        g.add_edges(edges)

    measured("adding 100,000 vertices and edges", add)


def main() -> None:
    """Measure one engine, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["quipu", "columns", "networkx", "igraph", "parallel"], default="quipu")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=16_000_000)
    parser.add_argument("--folder", help="where the database is made")
    parser.add_argument("--slow", action="store_true", help="louvain_communities too")
    options = parser.parse_args()
    print(f"{options.engine}: {options.nodes:,} vertices, {options.edges:,} edges\n")
    print("| operation | wall s | processor s | peak MB |\n| --- | --- | --- | --- |", flush=True)
    engines = {"quipu": quipu_main, "columns": quipu_main, "igraph": igraph_main}
    engines.get(options.engine, networkx_main)(options)


if __name__ == "__main__":
    main()
