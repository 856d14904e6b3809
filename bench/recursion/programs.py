"""The recursive programs of this benchmark: their data, and how each engine writes them.

A relation is a list of pairs of small integers. All generators draw from a seed, so every engine
and every run gets the same rows.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Pairs = list[tuple[int, int]]

CLOSURE = """
path[x, y] := *edge{a: x, b: y}
path[x, z] := path[x, y], *edge{a: y, b: z}
?[count(x)] := path[x, y]
"""

GENERATION = """
same[x, y] := *edge{a: p, b: x}, *edge{a: p, b: y}, x != y
same[x, y] := *edge{a: a, b: x}, same[a, b], *edge{a: b, b: y}
?[count(x)] := same[x, y]
"""

POINTS_TO = """
points[y, x] := *addr{a: y, b: x}
points[y, x] := *assign{a: y, b: z}, points[z, x]
points[y, w] := *load{a: y, b: x}, points[x, z], points[z, w]
points[z, w] := *store{a: y, b: x}, points[y, z], points[x, w]
?[count(x)] := points[x, y]
"""

COMPONENTS = """
component[x, min(c)] := *edge{a: x}, c = x
component[y, min(c)] := component[x, c], *edge{a: x, b: y}
?[count(x)] := component[x, c]
"""

CLOSURE_SQL = """
WITH RECURSIVE path(x, z) AS (
    SELECT a, b FROM edge UNION SELECT path.x, edge.b FROM path JOIN edge ON path.z = edge.a
) SELECT count(*) FROM path
"""

GENERATION_SQL = """
WITH RECURSIVE same(x, y) AS (
    SELECT one.b, two.b FROM edge one JOIN edge two ON one.a = two.a WHERE one.b <> two.b
    UNION
    SELECT one.b, two.b FROM same JOIN edge one ON one.a = same.x JOIN edge two ON two.a = same.y
) SELECT count(*) FROM same
"""


@dataclass(frozen=True)
class Program:
    """One row of the benchmark.

    Attributes:
        kind: Name of the rules, by which the compiled peer finds them.
        script: The rules for Quipu.
        data: Makes the relations of a scale; 1.0 is the size of the published table.
        sql: The same question for DuckDB, where one recursive query can ask it.
    """

    kind: str
    script: str
    data: Callable[[float], dict[str, Pairs]]
    sql: str | None = None


def distinct(pairs: Iterator[tuple[int, int]], count: int) -> Pairs:
    """The first ``count`` distinct pairs of an endless iterator."""
    found: dict[tuple[int, int], None] = {}
    for pair in pairs:
        found[pair] = None
        if len(found) == count:
            break
    return list(found)


def random_pairs(left: int, right: int, count: int, seed: int) -> Pairs:
    """Distinct random pairs of numbers below ``left`` and ``right``."""
    draw = random.Random(seed)

    def pairs() -> Iterator[tuple[int, int]]:
        while True:
            yield draw.randrange(left), draw.randrange(right)

    return distinct(pairs(), min(count, left * right))


def random_graph(scale: float) -> dict[str, Pairs]:
    """1,000 vertices and 10,000 edges."""
    vertices = int(1000 * scale)
    return {"edge": random_pairs(vertices, vertices, 10 * vertices, 1)}


def chain(scale: float) -> dict[str, Pairs]:
    """1,501 vertices in a row."""
    return {"edge": [(i, i + 1) for i in range(int(1500 * scale))]}


def grid(scale: float) -> dict[str, Pairs]:
    """60 by 60 vertices with edges to the right and down."""
    side = int(60 * scale)
    cells = [(row, column) for row in range(side) for column in range(side)]
    right = [(row * side + col, row * side + col + 1) for row, col in cells if col + 1 < side]
    down = [(row * side + col, (row + 1) * side + col) for row, col in cells if row + 1 < side]
    return {"edge": right + down}


def tree(scale: float) -> dict[str, Pairs]:
    """A binary tree of 4,095 vertices, edges from parent to child."""
    vertices = int(4095 * scale)
    return {"edge": [((child - 1) // 2, child) for child in range(1, vertices)]}


def variables(scale: float) -> dict[str, Pairs]:
    """Statements of a random C-like program over 3,000 variables, 750 of them with an address."""
    count = int(3000 * scale)
    return {
        "addr": random_pairs(count, count // 4, count, 2),
        "assign": random_pairs(count, count, count * 7 // 10, 3),
        "load": random_pairs(count, count, count // 8, 4),
        "store": random_pairs(count, count, count // 8, 5),
    }


def both_ways(scale: float) -> dict[str, Pairs]:
    """400,000 edges over 200,000 vertices, most of them short, each in both directions."""
    vertices, draw = int(200_000 * scale), random.Random(6)

    def pairs() -> Iterator[tuple[int, int]]:
        while True:
            near = draw.randrange(vertices)
            yield near, (near + 1 + int(draw.paretovariate(0.7))) % vertices

    edges = distinct(pairs(), 2 * vertices)
    return {"edge": list(dict.fromkeys(edges + [(b, a) for a, b in edges]))}


PROGRAMS = {
    "closure-random": Program("closure", CLOSURE, random_graph, CLOSURE_SQL),
    "closure-chain": Program("closure", CLOSURE, chain, CLOSURE_SQL),
    "closure-grid": Program("closure", CLOSURE, grid, CLOSURE_SQL),
    "generation-random": Program("generation", GENERATION, random_graph, GENERATION_SQL),
    "generation-tree": Program("generation", GENERATION, tree, GENERATION_SQL),
    "points-to": Program("points_to", POINTS_TO, variables),
    "components": Program("components", COMPONENTS, both_ways),
}
