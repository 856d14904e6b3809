"""Generates random graphs of many shapes, as files that every engine can read."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Edge = tuple[int, int]

SIZES = [10_000, 10_000, 10_000, 30_000, 30_000, 100_000, 100_000, 300_000, 1_000_000]
"""Edges of a graph that is not tiny."""

LABELS = 50
"""Values of the column `k` of vertices: the square of a uniform number, so that some come often."""


@dataclass
class Graph:
    """A graph, and its properties for generating queries."""

    name: str
    shape: str
    edges: list[Edge]
    vertices: int
    is_text: bool
    has_reverse: bool
    special: list[int]
    """Vertices that are worth asking for: hubs, ends, roots, one that is not there."""

    def vertex(self, number: int) -> int | str:
        """A vertex as it is stored."""
        return f"vertex {number}" if self.is_text else number

    def write(self, folder: Path) -> None:
        """Writes `edges.csv` and `vertices.csv`."""
        draw = random.Random(self.name)
        with (folder / "edges.csv").open("w") as file:
            file.write("a,b\n")
            file.writelines(f"{self.vertex(a)},{self.vertex(b)}\n" for a, b in self.edges)
        with (folder / "vertices.csv").open("w") as file:
            file.write("id,k\n")
            file.writelines(
                f"{self.vertex(number)},{int(draw.random() ** 2 * LABELS)}\n" for number in range(self.vertices)
            )


def uniform(r: random.Random, edges: int) -> Iterator[Edge]:
    """Edges between uniformly random vertices."""
    vertices = max(2, edges // r.choice([2, 5, 10, 30]))
    return ((r.randrange(vertices), r.randrange(vertices)) for _ in range(edges))


def popular(r: random.Random, edges: int) -> Iterator[Edge]:
    """Edges whose ends follow a skewed distribution."""
    vertices = max(2, edges // r.choice([3, 8]))
    a, b = r.choice([(1, 3), (3, 1), (2, 2)])
    return ((int(r.random() ** a * vertices), int(r.random() ** b * vertices)) for _ in range(edges))


def hub(out: bool, into: bool) -> Callable[[random.Random, int], Iterator[Edge]]:
    """One vertex with a fifteenth of all edges in one direction or both; the others have few."""

    def of(r: random.Random, edges: int) -> Iterator[Edge]:
        vertices = max(2, edges // r.choice([2, 5]))
        for number in range(edges):
            a, b = r.randrange(vertices), r.randrange(vertices)
            if out and number % 15 == 0:
                a = 0
            if into and number % 15 == 1:
                b = 0
            yield a, b

    return of


def chain(_: random.Random, edges: int) -> Iterator[Edge]:
    """One path."""
    return ((number, number + 1) for number in range(edges))


def tree(r: random.Random, edges: int) -> Iterator[Edge]:
    """Children to parents, or parents to children."""
    width, up = r.choice([2, 2, 3, 10]), r.random() < 0.5
    pairs = ((number, (number - 1) // width) for number in range(1, edges + 1))
    return pairs if up else ((parent, child) for child, parent in pairs)


def grid(_: random.Random, edges: int) -> Iterator[Edge]:
    """A grid with edges to the right and down."""
    side = max(2, int((edges / 2) ** 0.5))
    for place in range(side * side):
        if place % side + 1 < side:
            yield place, place + 1
        if place + side < side * side:
            yield place, place + side


def cliques(r: random.Random, edges: int) -> Iterator[Edge]:
    """Cliques, and an edge from each to the next."""
    size = r.choice([5, 20, 60])
    for first in range(0, max(1, edges // (size * size)) * size, size):
        for a in range(first, first + size):
            yield from ((a, b) for b in range(first, first + size) if a != b)
        yield first, first + size


def layers(r: random.Random, edges: int) -> Iterator[Edge]:
    """A bipartite graph with edges in one direction only: a path ends after one step."""
    left = max(2, edges // r.choice([5, 100]))
    right = max(2, edges // 10)
    return ((r.randrange(left), left + int(r.random() ** 2 * right)) for _ in range(edges))


SHAPES: dict[str, Callable[[random.Random, int], Iterator[Edge]]] = {
    "uniform": uniform,
    "popular": popular,
    "hub out": hub(out=True, into=False),
    "hub in": hub(out=False, into=True),
    "hub both": hub(out=True, into=True),
    "chain": chain,
    "tree": tree,
    "grid": grid,
    "cliques": cliques,
    "layers": layers,
    "tiny": uniform,
}


def graph(seed: int, edges_max: int) -> Graph:
    """The graph of a seed."""
    r = random.Random(f"graph {seed}")
    shape = list(SHAPES)[seed % len(SHAPES)]
    size = r.randint(1, 60) if shape == "tiny" else min(r.choice(SIZES), edges_max)
    edges = sorted(set(SHAPES[shape](r, size)))
    vertices = 1 + max(max(edge) for edge in edges)
    out: dict[int, int] = {}
    into: dict[int, int] = {}
    for a, b in edges:
        out[a] = out.get(a, 0) + 1
        into[b] = into.get(b, 0) + 1
    most = [max(of, key=of.__getitem__) for of in (out, into)]
    ends = [vertex for vertex in (0, vertices - 1) if vertex not in out or vertex not in into]
    lonely = next((vertex for vertex in range(vertices) if vertex not in out), vertices)
    special = [*most, *ends, lonely, vertices + 7, edges[len(edges) // 2][0], edges[len(edges) // 3][1]]
    is_text, has_reverse = r.random() < 0.3, r.random() < 0.6
    kind = "text" if is_text else "numbers"
    name = f"{seed} {shape}, {len(edges)} edges, {kind}{', both ways' if has_reverse else ''}"
    return Graph(name, shape, edges, vertices, is_text, has_reverse, special)
