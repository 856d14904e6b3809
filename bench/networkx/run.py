"""Times of NetworkX's code over its own graphs and over stored ones, in seconds; the smallest of some runs."""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from typing import Any

import networkx
import quipu
import quipu.nx

# The stubs say less than the module has.
nx: Any = networkx


def smallest(repeat: int, work: Callable[[], object]) -> float:
    """The shortest of some runs."""
    times: list[float] = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def bfs(G: Any) -> int:
    """Distances from the first vertex, as a program writes it over `G.adj`'s dicts."""
    return len(nx.single_source_shortest_path_length(G, next(iter(G))))


def scan(G: Any) -> int:
    """All edges with their attributes."""
    return sum(1 for _ in G.edges(data=True))


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--degree", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    plain = nx.gnm_random_graph(options.nodes, options.nodes * options.degree // 2, seed=1)
    nx.set_edge_attributes(plain, 1.5, "weight")
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, quipu.open(f"{folder}/db", durability="os") as db:
        many = quipu.nx.Graph(db=db, name="many")
        figures["add_node x 100,000"] = smallest(1, lambda: [many.add_node(i) for i in range(100_000)])
        figures["their flush"] = smallest(1, many.flush)
        G = quipu.nx.Graph(db=db, name="g")
        figures["add_edges_from, stored"] = smallest(1, lambda: G.add_edges_from(plain.edges(data=True)))
        figures["add_edges_from, networkx"] = smallest(1, lambda: nx.Graph().add_edges_from(plain.edges(data=True)))
        figures["flush of all edges"] = smallest(1, G.flush)
        G.add_edge(0, 1, weight=2.0)
        figures["flush of one edge"] = smallest(1, G.flush)
        figures["first read"] = smallest(1, lambda: len(quipu.nx.Graph(db=db, name="g").adj))
        opened = quipu.nx.Graph(db=db, name="g")
        paged = quipu.nx.Graph(db=db, name="g", memory="4MB")
        for name, work in (("bfs", bfs), ("scan of edges", scan)):
            base = figures[f"{name}, networkx"] = smallest(options.repeat, lambda work=work: work(plain))
            work(opened)
            own = figures[f"{name}, stored"] = smallest(options.repeat, lambda work=work: work(opened))
            figures[f"{name}, ratio"] = own / base
            figures[f"{name}, in pages"] = smallest(1, lambda work=work: work(paged))
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}, indent=2))


if __name__ == "__main__":
    main()
