"""Imports a graph of millions of edges, stores it, and queries it: run with ``make demo``.

Imports a real graph into ``demo.quipu``, runs the eleven operations of the graph workload that
``bench/graph`` measures, closes the database, opens it again and checks that everything is there.
"""

from __future__ import annotations

import argparse
import keyword
import re
import shutil
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import quipu

ROOT = Path(__file__).resolve().parent.parent
DATABASE = ROOT / "demo.quipu"
WEB_CRAWL = ROOT.parent / "shared" / "data" / "cnr-2000.edges.zst"
"""Hyperlinks of the site of the Italian research council, crawled in 2000 by the Laboratory for Web Algorithmics."""

FINDS = 20_000
CHANGES = 10_000
BATCH = 500


@dataclass(frozen=True)
class Source:
    """An edge list to import, with its description."""

    path: Path
    text: str
    names: list[str] = field(default_factory=list[str])

    def name(self, v: int) -> str:
        """The name of a vertex for people."""
        return f"{v} ({self.names[v]!r})" if self.names else str(v)


@dataclass(frozen=True)
class Row:
    """One operation: its number of calls, its speed, and one result."""

    question: str
    items: int
    seconds: float
    answer: str


def web_crawl() -> Source:
    """The graph of hyperlinks that is stored next to the repository."""
    return Source(WEB_CRAWL, "cnr-2000, a real web crawl: 325,557 pages and 3,216,152 hyperlinks (LAW, via WebGraph)")


def standard_library(folder: Path) -> Source:
    """A graph of names in the source of Python's standard library.

    An edge connects a name to the one that follows it; its weight counts how often.
    """
    names: dict[str, int] = {}
    follows: Counter[tuple[int, int]] = Counter()
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts or "dist-packages" in path.parts:
            continue
        words = re.findall(r"[^\W\d]\w*", path.read_text(errors="ignore"))
        ids = [names.setdefault(word, len(names)) for word in words if not keyword.iskeyword(word)]
        follows.update(pairwise(ids))
    target = folder / "standard-library.csv"
    target.write_text("".join(f"{u},{v},{count}\n" for (u, v), count in follows.items()))
    text = "which name follows which in the source of Python's own standard library (real, and always there)"
    return Source(target, text, list(names))


def generated(folder: Path) -> Source:
    """A random graph, if no real one is found."""
    rng = np.random.default_rng(1)
    ends = (rng.zipf(1.5, size=(1_500_000, 2)) % 100_000).astype(np.uint64)
    target = folder / "generated.csv"
    np.savetxt(target, ends, fmt="%d", delimiter=",")
    return Source(target, "no real graph was found, so this one is generated: 1,500,000 random edges, power law")


def choose(folder: Path) -> Source:
    """The best graph that this machine has."""
    if WEB_CRAWL.exists():
        return web_crawl()
    source = standard_library(folder)
    return source if len(source.names) > 1000 else generated(folder)


def ask(question: str, call: Callable[..., object], items: Sequence[tuple[Any, ...]], answer: str) -> Row:
    """Call with every item and measure the time."""
    start = time.perf_counter()
    for item in items:
        call(*item)
    return Row(question, len(items), time.perf_counter() - start, answer)


def sample_edges(g: Any, rng: np.random.Generator, count: int) -> list[tuple[int, int, float]]:
    """One outgoing edge of each of several random vertices; fewer if the graph is smaller."""
    found: list[tuple[int, int, float]] = []
    for v in rng.permutation(g.number_of_vertices()).tolist():
        src, dst, weight = g.out_edges(v)
        if len(src):
            one = int(rng.integers(len(src)))
            found.append((int(src[one]), int(dst[one]), float(weight[one])))
        if len(found) == count:
            break
    return found


def shown(values: Any, at_most: int = 4) -> str:
    """The first few ids, and their number."""
    first = ", ".join(str(int(value)) for value in values[:at_most])
    return f"{first}, ... ({len(values):,})" if len(values) > at_most else f"{first or 'none'} ({len(values)})"


def questions(g: Any, source: Source, example: int, edges: list[tuple[int, int, float]]) -> list[Row]:
    """Run operations 2 to 11 of the workload; the import was the first."""
    rng = np.random.default_rng(2)
    pairs = [(u, v) for u, v, _ in edges]
    vertices = [
        (v,)
        for v in dict.fromkeys(
            pair[int(coin)] for pair, coin in zip(pairs, rng.integers(2, size=len(pairs)), strict=True)
        )
    ]
    changes = edges[:CHANGES]
    u, v, _ = next((edge for edge in edges if example in edge[:2]), edges[0])
    count, total = g.degree(example)
    in_count, in_total = g.in_degree(example)
    rows = [
        ask("find edge", g.edge, pairs, f"{u} -> {v} has weight {g.edge(u, v):g}"),
        ask("find ingoing edges", g.in_edges, vertices, f"from {shown(g.in_edges(example)[0])}"),
        ask("find connected edges", g.edges, vertices, f"{len(g.edges(example)[0]):,} edges"),
        ask("find friends", g.neighbors, vertices, shown(g.neighbors(example))),
        ask("count friends", g.degree, vertices, f"{int(count):,} edges, weight {total:,.0f}"),
        ask("count followers", g.in_degree, vertices, f"{int(in_count):,} edges, weight {in_total:,.0f}"),
    ]
    edges_before = g.number_of_edges()

    def after() -> str:
        return f"{g.number_of_edges() - edges_before:+,} edges"

    batches = [changes[i : i + BATCH] for i in range(0, len(changes), BATCH)]
    columns = [
        (
            np.array([u for u, _, _ in b], np.uint64),
            np.array([v for _, v, _ in b], np.uint64),
            np.array([w for _, _, w in b]),
        )
        for b in batches
    ]

    def changed(question: str, call: Callable[..., object], items: Sequence[tuple[Any, ...]]) -> Row:
        row = ask(question, call, items, "")
        return Row(question, len(changes), row.seconds, after())

    rows.append(changed("remove edge", g.remove, [(u, v) for u, v, _ in changes]))
    rows.append(changed("upsert edge", g.upsert, changes))
    rows.append(changed(f"remove edges, {BATCH} at once", g.remove_many, [(us, vs) for us, vs, _ in columns]))
    rows.append(changed(f"upsert edges, {BATCH} at once", g.upsert_many, columns))
    return rows


def table(rows: list[Row], example: str) -> str:
    """The results as aligned text."""
    cells = [("question", "asked", "per second", f"answer for vertex {example}")]
    cells += [
        (row.question, f"{row.items:,}", f"{row.items / max(row.seconds, 1e-9):,.0f}", row.answer) for row in rows
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(4)]
    lines = [f"  {a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}" for a, b, c, d in cells]
    lines.insert(1, "  " + "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def same(before: Any, after: Any) -> bool:
    """Whether two lists of edges, given as columns, are equal."""
    return all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def main() -> int:
    """Run the demo; return 0 if everything is correct."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", type=Path, default=DATABASE, help="folder of the database")
    path: Path = parser.parse_args().path
    if path.exists():
        # Only the folder of an earlier demo is replaced; another one may hold data of the user.
        if path != DATABASE:
            parser.error(f"{path} already exists; remove it, or name another folder")
        shutil.rmtree(path)
    with tempfile.TemporaryDirectory() as scratch:
        return show(path, choose(Path(scratch)))


def show(path: Path, source: Source) -> int:
    """Import, query, close, reopen, compare."""
    print(f"The graph: {source.text}.\n")
    db = quipu.open(path, durability="os")
    g = db.graph("demo", weight="float64")
    report = g.import_csv(source.path, progress=True)
    edges, vertices = g.number_of_edges(), g.number_of_vertices()
    disk_bytes = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    print(
        f"Imported {edges:,} edges between {vertices:,} vertices, both directions indexed, in {report.seconds:.2f} s:\n"
        f"{report.edges / report.seconds:,.0f} edges/s, {disk_bytes / 1e6:,.1f} MB on disk, "
        f"{disk_bytes / edges:.2f} bytes an edge.\n"
    )

    sampled = sample_edges(g, np.random.default_rng(1), FINDS)
    # A vertex with a few edges in both directions has results that fit on a line.
    example = next(
        (v for _, v, _ in sampled if 3 <= len(g.in_edges(v)[0]) <= 9 and len(g.out_edges(v)[0]) >= 3), sampled[0][1]
    )
    imported = Row("import", report.edges, report.seconds, f"{len(g.edges(example)[0])} of them are its own")
    print(table([imported, *questions(g, source, example, sampled)], source.name(example)))

    kept = g.edges(example)
    db.close()
    start = time.perf_counter()
    db = quipu.open(path, durability="os")
    g = db.graph("demo", weight="float64")
    opened_s = time.perf_counter() - start
    start = time.perf_counter()
    check = db.check()  # raises CorruptionError, with file and offset, when anything is wrong
    checked_s = time.perf_counter() - start
    verdicts = {
        f"{edges:,} edges": g.number_of_edges() == edges,
        f"{vertices:,} vertices": g.number_of_vertices() == vertices,
        f"the same {len(kept[0])} edges of vertex {source.name(example)}": same(kept, g.edges(example)),
        f"{check['files']} files, {check['bytes'] / 1e6:,.1f} MB, checked in {checked_s:.2f} s: nothing wrong": (
            check["graphs"]["demo"] == edges
        ),
    }
    print(f"\nClosed, and opened again in {opened_s * 1000:.1f} ms:")
    for what, right in verdicts.items():
        print(f"  {'yes' if right else 'NO '}  {what}")
    db.close()
    return 0 if all(verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
