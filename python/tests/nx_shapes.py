"""Graphs of every shape for tests of ``quipu.nx``, and a strict comparison of answers."""

import math
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import networkx

# The stubs say less than the module has.
nx: Any = networkx

KINDS: dict[str, Any] = {
    "Graph": nx.Graph,
    "DiGraph": nx.DiGraph,
    "MultiGraph": nx.MultiGraph,
    "MultiDiGraph": nx.MultiDiGraph,
}

#: Choices of a weight. ``None`` leaves it out.
WEIGHTS: dict[str, Callable[[random.Random], Any]] = {
    "none": lambda rng: None,
    "some": lambda rng: rng.choice([None, 2, 3]),
    "ties": lambda rng: rng.randint(1, 3),
    "floats": lambda rng: rng.random() + 0.1,
    "halves": lambda rng: rng.choice([0.5, 1.0, 1.5]),
    "mixed": lambda rng: rng.choice([None, 1, 0.5]),
    "zero": lambda rng: rng.choice([0, 1]),
    "negative": lambda rng: rng.choice([-1, 2, 5]),
}


def _names(rng: random.Random, count: int) -> list[Any]:
    names: list[Any] = list(range(count))
    form = rng.choice(["int", "str", "tuple", "mixed"])
    if form == "str":
        names = [f"v{i}" for i in names]
    elif form == "tuple":
        names = [(i // 3, f"{i % 3}") for i in names]
    elif form == "mixed":
        names = [[i, f"s{i}", (i,), i + 0.5][i % 4] for i in names]
    rng.shuffle(names)
    return names


def _edges(rng: random.Random, n: int, shape: str) -> list[tuple[int, int]]:
    def any_two(count: int, low: int = 0, high: int | None = None) -> list[tuple[int, int]]:
        top = n if high is None else high
        return [(rng.randrange(low, top), rng.randrange(low, top)) for _ in range(count)] if top > low else []

    if shape == "sparse":
        return any_two(n)
    if shape == "dense":
        return any_two(n * 4)
    if shape == "loops":
        return any_two(n) + [(v, v) for v in range(0, n, 3)]
    if shape == "parts":
        return any_two(n, 0, n // 2) + any_two(n, n // 2, n)
    if shape == "tree":
        return [(rng.randrange(v), v) for v in range(1, n)]
    if shape == "ring":
        return [(v, (v + 1) % n) for v in range(n)]
    if shape == "ordered":
        return [(u, v) for u, v in any_two(n * 2) if u < v]
    return []


SHAPES = ("nothing", "sparse", "dense", "loops", "parts", "tree", "ring", "ordered")


def graphs(kind: str, seeds: Iterable[int]) -> Iterator[tuple[str, Any]]:
    """Random graphs of NetworkX with a description, some without vertices or edges."""
    for seed in seeds:
        rng = random.Random(seed)
        shape = SHAPES[seed % len(SHAPES)]
        choice = rng.choice(list(WEIGHTS))
        count = rng.choice([0, 1, 2, 3, 5, 9, 17, 30]) if shape != "ring" else rng.choice([3, 8, 17])
        names = _names(rng, count)
        G = KINDS[kind]()
        edges = _edges(rng, count, shape)
        if shape != "loops":
            edges = [(u, v) for u, v in edges if u != v]
        rng.shuffle(edges)
        G.add_nodes_from(names[: rng.randint(0, count)])
        for u, v in edges:
            weight = WEIGHTS[choice](rng)
            G.add_edge(names[u], names[v], **({} if weight is None else {"weight": weight}))
        if rng.random() < 0.5:  # some vertices without edges
            G.add_nodes_from(names)
        if rng.random() < 0.3 and len(G) > 3:
            G.remove_node(rng.choice(list(G)))
        yield f"{kind} {shape} of {len(G)}, weights {choice}, seed {seed}", G


def outcome(work: Callable[[], Any]) -> tuple[str, Any]:
    """The value of a call with generators as lists, or the type and the text of its error."""
    try:
        return "value", _plain(work())
    except Exception as error:  # noqa: BLE001  (whatever NetworkX raises has to be raised)
        return "error", (type(error), str(error))


def _plain_dict(found: Any) -> Any:
    """A dict for the attributes of a stored graph, which are of a subclass."""
    return dict(found) if isinstance(found, dict) else found


def _plain(value: Any) -> Any:
    if isinstance(value, nx.Graph):
        return type(value).__name__, _plain(dict(value.nodes(data=True))), list(value.edges(data=True)), value.graph
    if isinstance(value, Iterator):
        return [_plain(one) for one in value]
    return value


def difference(expected: Any, found: Any, at: str = "the answer") -> str | None:
    """Say where two answers differ in value, type or order; floats may differ in the last bits."""
    if type(expected) is dict:
        found = _plain_dict(found)
    if type(expected) is not type(found):
        return f"{at} is {found!r}, a {type(found).__name__}, and not {expected!r}, a {type(expected).__name__}"
    if type(expected) is float:
        same = math.isclose(expected, found, rel_tol=1e-8, abs_tol=1e-11) or (expected != expected and found != found)
        return None if same else f"{at} is {found!r} and not {expected!r}"
    if type(expected) is dict:
        if list(expected) != list(found) or [*map(type, expected)] != [*map(type, found)]:
            return f"{at} has the keys {list(found)} and not {list(expected)}"
        pairs = [(f"{at}[{key!r}]", expected[key], found[key]) for key in expected]
    elif type(expected) in (list, tuple):
        if len(expected) != len(found):
            return f"{at} is {found!r} and not {expected!r}"
        pairs = [(f"{at}[{i}]", one, other) for i, (one, other) in enumerate(zip(expected, found, strict=True))]
    else:
        return None if expected == found else f"{at} is {found!r} and not {expected!r}"
    return next((text for where, one, other in pairs if (text := difference(one, other, where))), None)
