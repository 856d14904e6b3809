"""Processor seconds of NetworkX's functions on a random graph: NetworkX, Quipu in memory and on disk, and igraph.

    python bench/networkx/kernels.py [--nodes 200000] [--edges 1000000] [--slow]

Times are processor times, so other work on the machine has little effect. Each function runs once, after the
arrays are there; ``read`` is the time to make them, from dicts or from the columns of a stored graph. igraph's answers
are lists, the others' are those of NetworkX. NetworkX's own code for functions that take it minutes runs with
``--slow`` alone.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from typing import Any

import igraph
import networkx
import quipu
import quipu.nx
from quipu.nx._rows import rows_of

# The stubs say less than the module has.
nx: Any = networkx

#: Functions that take NetworkX minutes.
SLOW = {"louvain_communities", "betweenness_centrality, k=50"}


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of a call, with the work of its generator."""
    begin = time.process_time()
    found = work()
    if hasattr(found, "__next__"):
        for _ in found:
            pass
    return time.process_time() - begin


def functions(pairs: list[tuple[int, int]]) -> dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any] | None]]:
    """Calls for graphs of NetworkX and for those of igraph."""
    return {
        "connected_components": (nx.connected_components, lambda g: list(g.connected_components())),
        "single_source_shortest_path_length": (
            lambda G: nx.single_source_shortest_path_length(G, 0),
            lambda g: g.distances(0)[0],
        ),
        "single_source_dijkstra_path_length": (
            lambda G: nx.single_source_dijkstra_path_length(G, 0),
            lambda g: g.distances(0, weights="weight")[0],
        ),
        "single_source_dijkstra": (lambda G: nx.single_source_dijkstra(G, 0), None),
        "pagerank": (nx.pagerank, lambda g: g.pagerank(weights="weight")),
        "pagerank, weight=None": (lambda G: nx.pagerank(G, weight=None), lambda g: g.pagerank()),
        "triangles": (nx.triangles, None),
        "clustering": (nx.clustering, lambda g: g.transitivity_local_undirected()),
        "core_number": (nx.core_number, lambda g: g.coreness()),
        "degree_centrality": (nx.degree_centrality, lambda g: g.degree()),
        "minimum_spanning_edges": (
            lambda G: nx.minimum_spanning_edges(G, data=False),
            lambda g: g.spanning_tree(weights=g.es["weight"], return_tree=False),
        ),
        "greedy_color": (nx.greedy_color, None),
        "bridges": (nx.bridges, lambda g: g.bridges()),
        "jaccard_coefficient of 100,000 pairs": (
            lambda G: nx.jaccard_coefficient(G, pairs),
            lambda g: g.similarity_jaccard(pairs=pairs),
        ),
        "louvain_communities": (nx.community.louvain_communities, lambda g: g.community_multilevel()),
        "betweenness_centrality, k=50": (
            lambda G: nx.betweenness_centrality(G, k=50, seed=1),
            lambda g: g.betweenness(sources=range(50)),
        ),
    }


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--slow", action="store_true", help="wait for NetworkX's slow functions too")
    options = parser.parse_args()
    rng = random.Random(1)
    ends = range(options.nodes)
    edges = {tuple(sorted(rng.sample(ends, 2))) for _ in range(options.edges)}
    weighted = [(u, v, rng.random() + 0.1) for u, v in edges]
    plain = nx.Graph()
    plain.add_nodes_from(ends)
    plain.add_weighted_edges_from(weighted)
    memory = quipu.nx.backend.convert_from_nx(plain, preserve_edge_attrs=True)
    other = igraph.Graph(options.nodes, edges=[(u, v) for u, v, _ in weighted])
    other.es["weight"] = [weight for _, _, weight in weighted]
    pairs = [(u, v) for u, v in (rng.sample(ends, 2) for _ in range(100_000))]
    print(f"{len(plain)} vertices, {plain.number_of_edges()} edges\n")
    print("| processor seconds | NetworkX | Quipu, memory | Quipu, stored | igraph |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder, quipu.open(f"{folder}/db", durability="os") as db:
        with quipu.nx.Graph(plain, db=db, name="g"):
            pass
        stored = quipu.nx.Graph(db=db, name="g")
        read = [seconds(lambda G=G: rows_of(G)) for G in (memory, stored)]
        print(f"| read | | {read[0]:.2f} | {read[1]:.2f} | |", flush=True)
        for name, (call, of_igraph) in functions(pairs).items():
            row = ["" if name in SLOW and not options.slow else f"{seconds(lambda call=call: call(plain)):.2f}"]
            row += [f"{seconds(lambda call=call, G=G: call(G)):.2f}" for G in (memory, stored)]
            row.append("" if of_igraph is None else f"{seconds(lambda of=of_igraph: of(other)):.2f}")
            print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
