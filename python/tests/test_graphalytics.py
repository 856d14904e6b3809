"""The validation graphs of LDBC Graphalytics: six algorithms, both directions, with their reference results.

The archive is part of ``ldbc/ldbc_graphalytics`` and is not part of this repository. It is looked for in the folder
that ``QUIPU_DATA`` names, or where the benchmarks look for graphs.
"""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import quipu

FOLDER = Path(os.environ.get("QUIPU_DATA") or Path(__file__).parents[3] / "shared" / "data")
ARCHIVE = FOLDER / "graphalytics-validation.tar.zst"

#: Algorithm and folder of each validation graph, with the options of its reference result.
CASES: dict[tuple[str, str], dict[str, Any]] = {
    ("bfs", "bfs/"): {"source": 1},
    ("cdlp", "cdlp/"): {"max_iter": 5},
    ("lcc", "lcc/"): {},
    ("pr", "pr/"): {"max_iter": 14, "undirected_max_iter": 26},
    ("sssp", "sssp/"): {"source": 1},
    ("wcc", "wcc/"): {},
    ("bfs", "example/"): {},
    ("cdlp", "example/"): {"max_iter": 2},
    ("lcc", "example/"): {},
    ("pr", "example/"): {"max_iter": 2},
    ("sssp", "example/"): {},
    ("wcc", "example/"): {},
}


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Text of each file of the archive, by its path."""
    if not ARCHIVE.exists():
        pytest.skip(f"{ARCHIVE} does not exist: QUIPU_DATA may name the folder of the archive")
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: nothing reads zstd")
    found: dict[str, str] = {}
    with (
        pyarrow.input_stream(str(ARCHIVE), compression="zstd") as packed,
        tarfile.open(fileobj=packed, mode="r|") as archive,
    ):
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                found[member.name.partition("/")[2]] = content.read().decode()
    return found


def numbers(text: str) -> list[list[str]]:
    """Fields of the lines that have some."""
    return [line.split() for line in text.splitlines() if line.strip()]


def graph_of(vertices: list[int], edges: list[tuple[int, int, float]], directed: bool) -> quipu.Graph:
    """The graph in a database, with a row for each vertex, since a vertex may have no edges."""
    kind: dict[str, Any] = {"nodes": {}, "edges": {"weight": "float"}, "directed": directed}
    g = quipu.open().graph("g", vertex="u64", **kind)
    g.upsert_nodes({"vertex": vertices})
    g.upsert_edges({"src": [u for u, _, _ in edges], "dst": [v for _, v, _ in edges], "weight": [w for *_, w in edges]})
    return g


def read(files: dict[str, str], algorithm: str, prefix: str, directed: bool) -> tuple[quipu.Graph, str]:
    """A validation graph, and the text of its reference result."""
    if prefix == "example/":
        name = f"example/example-{'directed' if directed else 'undirected'}"
        result = files[f"{name}-{algorithm.upper()}"]
        vertices, edges = files[f"{name}.v"], files[f"{name}.e"]
    else:
        name = f"{prefix}{'dir' if directed else 'undir'}"
        result = files[f"{name}-output"]
        if algorithm != "sssp":
            rows = [[int(field) for field in line] for line in numbers(files[f"{name}-input"])]
            pairs = [(row[0], target, 1.0) for row in rows for target in row[1:]]
            return graph_of([row[0] for row in rows], pairs, directed), result
        vertices, edges = files[f"{name}-input.v"], files[f"{name}-input.e"]
    rows = [(int(u), int(v), float(w)) for u, v, w in numbers(edges)]
    return graph_of([int(line[0]) for line in numbers(vertices)], rows, directed), result


def answer(g: quipu.Graph, algorithm: str, options: dict[str, Any], directed: bool) -> dict[int, Any]:
    """The value of each vertex, in Graphalytics' meaning."""
    source = options.get("source", 1 if directed else 2)
    rounds: int = options.get("max_iter", 0)
    match algorithm:
        case "bfs":
            return g.bfs(source, variant="ldbc").to_dict()
        case "sssp":
            return g.shortest_paths(source, weight="weight", variant="ldbc").to_dict()
        case "pr":
            rounds = rounds if directed else options.get("undirected_max_iter", rounds)
            return g.pagerank(alpha=0.85, max_iter=rounds, weight=None, variant="ldbc").to_dict()
        case "lcc":
            return g.clustering(variant="ldbc").to_dict()
        case "cdlp":
            return g.cdlp(max_iter=rounds).to_dict()
        case _:
            return g.connected_components().to_dict()


def parts(labels: dict[int, Any]) -> set[frozenset[int]]:
    """Vertices of equal labels."""
    groups: dict[Any, set[int]] = {}
    for vertex, label in labels.items():
        groups.setdefault(label, set()).add(vertex)
    return {frozenset(group) for group in groups.values()}


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize(("algorithm", "prefix"), CASES, ids=lambda part: part.strip("/"))
def test_results_are_those_of_graphalytics(files: dict[str, str], algorithm: str, prefix: str, directed: bool) -> None:
    g, reference = read(files, algorithm, prefix, directed)
    wanted = {int(vertex): value for vertex, value in numbers(reference)}
    found = answer(g, algorithm, CASES[algorithm, prefix], directed)
    assert found.keys() == wanted.keys()
    match algorithm:
        case "bfs":
            assert found == {vertex: int(value) for vertex, value in wanted.items()}
        case "wcc" | "cdlp":
            assert parts(found) == parts(wanted)
        case _:
            ids = sorted(wanted)
            expected = [float(wanted[vertex]) for vertex in ids]
            np.testing.assert_allclose([found[vertex] for vertex in ids], expected, rtol=1e-5, atol=1e-12)
