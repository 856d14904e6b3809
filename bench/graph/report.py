"""Renders results as a Markdown table: medians over the rounds, and ratios of Quipu to its peers.

Also runs on its own with a file of JSON lines: ``python report.py RESULTS.jsonl``.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

Line: TypeAlias = dict[str, Any]

OURS = "quipu"
MISSING = "-"
BASELINES = ("parse-python", "parse-polars")

OPERATIONS = {
    "import": "Import CSV, edges/s",
    "find_edge": "Find edge",
    "find_ingoing": "Find ingoing edges",
    "find_connected": "Find connected edges",
    "find_friends": "Find friends",
    "count_friends": "Count friends",
    "count_followers": "Count followers",
    "remove_edge": "Remove edge",
    "upsert_edge": "Upsert edge",
    "remove_batch": "Remove edges, batches",
    "upsert_batch": "Upsert edges, batches",
    "find_edge_many": "Find edge, many a call",
    "find_ingoing_many": "Find ingoing edges, many a call",
    "find_connected_many": "Find connected edges, many a call",
    "find_friends_many": "Find friends, many a call",
    "count_friends_many": "Count friends, many a call",
    "count_followers_many": "Count followers, many a call",
}

COSTS: list[tuple[str, str, Callable[[Line], float]]] = [
    ("Size on disk, bytes/edge", "closed", lambda line: line["bytes_per_edge"]),
    ("Import: peak memory, MB", "import", lambda line: line["peak_memory_bytes"] / 1e6),
    ("Import: written to disk, MB", "import", lambda line: line["disk_written_bytes"] / 1e6),
    ("Import: processor seconds", "import", lambda line: line["cpu_s"]),
    ("Closing after the import, s", "closed", lambda line: line["wall_s"]),
    ("Reads: peak memory, MB", "find_connected", lambda line: line["peak_memory_bytes"] / 1e6),
]


def human(value: float) -> str:
    """Format with three digits and a unit: 1.23 M, 45.6 K, 789, 0.12."""
    for limit, unit in ((1e6, " M"), (1e3, " K")):
        if value >= limit * 0.9995:
            return f"{value / limit:.3g}{unit}" if value < limit * 999.5 else f"{value / limit:.0f}{unit}"
    return f"{value:.3g}"


def median_of(lines: Iterable[Line], read: Callable[[Line], float]) -> str:
    """The formatted median of a figure; a dash where nothing was measured."""
    values = [read(line) for line in lines]
    return human(statistics.median(values)) if values else MISSING


def ratio(lines: list[Line], operation: str) -> str:
    """Quipu's rate divided by that of the best other database: median (min..max of the rounds).

    Ratios are taken within a round. A row "many a call" is compared with the best way that any peer
    has for the operation, one or many items per call.
    """
    questions = {operation, operation.removesuffix("_many")}
    ratios: list[float] = []
    for number in sorted({line["round"] for line in lines}):
        of_round = [line for line in lines if line["round"] == number and "rate" in line]
        ours = [line["rate"] for line in of_round if line["peer"] == OURS and line["operation"] == operation]
        others = [
            line["rate"]
            for line in of_round
            if line["peer"] not in (OURS, *BASELINES) and line["operation"] in questions
        ]
        if ours and others:
            ratios.append(ours[0] / max(others))
    if not ratios:
        return MISSING
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})"


def sound(lines: list[Line]) -> tuple[list[Line], list[Line]]:
    """The lines of databases that never failed, and the failures.

    A wrong answer withdraws all figures of that database.
    """
    failures = [line for line in lines if "failed" in line]
    wrong = {line["peer"] for line in failures if line["failed"].startswith("Mismatch")}
    return [line for line in lines if "failed" not in line and line["peer"] not in wrong], failures


def render(lines: list[Line]) -> str:
    """Render the whole page."""
    first = lines[0]
    good, failures = sound(lines)
    peers = list(dict.fromkeys(line["peer"] for line in lines if line["peer"] not in BASELINES))
    peers.sort(key=lambda peer: peer != OURS)
    graph, settings, machine = first["graph"], first["settings"], first["machine"]
    rounds = len({line["round"] for line in lines})
    loads = [line["load_1m"] for line in lines]
    about_graph = (
        f"Graph: `{graph['name']}`, {graph['rows']:,} lines, {graph['edges']:,} distinct edges, "
        f"{graph['vertices']:,} vertices, {graph['bytes']:,} bytes of text."
    )
    about_machine = (
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.1f} GiB, "
        f"{machine['system']}, Python {machine['python']}; load at the start of a round "
        f"{min(loads):.1f} to {max(loads):.1f}."
    )
    about_run = (
        f"Commit {first['commit']}; {rounds} rounds, medians; cache {settings['cache_bytes'] >> 20} MiB, "
        f"memory {settings['memory_bytes'] >> 20} MiB, {settings['threads']} threads, batches of {settings['batch']}, "
        f"{settings['many']} items in a call of many."
    )
    out = [
        f"# Graph workload, {first['date'][:10]}",
        "",
        f"- {about_graph}",
        f"- {about_machine}",
        f"- {about_run}",
        "- Operations a second unless the row says otherwise. Durability: a killed process loses nothing.",
        "",
        "| | " + " | ".join(peers) + f" | {OURS} / best peer |",
        "| --- |" + " ---: |" * (len(peers) + 1),
    ]

    def cells(operation: str, read: Callable[[Line], float]) -> list[str]:
        of = [line for line in good if line.get("operation") == operation]
        return [median_of([line for line in of if line["peer"] == peer], read) for peer in peers]

    for operation, title in OPERATIONS.items():
        row = cells(operation, lambda line: line["rate"])
        if any(cell != MISSING for cell in row):
            out.append(f"| {title} | " + " | ".join(row) + f" | {ratio(good, operation)} |")
    out.extend(f"| {title} | " + " | ".join(cells(operation, read)) + " | |" for title, operation, read in COSTS)
    out.append("")
    for peer in BASELINES:
        of = [line for line in good if line["peer"] == peer and line.get("operation") == "import"]
        if of:
            out.append(
                f"- Baseline `{peer}`: {median_of(of, lambda line: line['rate'])} edges/s parsed, nothing stored."
            )
    versions = {line["peer"]: line["version"] for line in good if "version" in line}
    out.extend(f"- {peer}: {version}" for peer, version in versions.items())
    out.extend(f"- **{line['peer']} failed in round {line['round']}**: {_first(line['failed'])}" for line in failures)
    return "\n".join(out) + "\n"


def _first(text: str) -> str:
    return text.splitlines()[0] if text else text


def main() -> int:
    """Print the page for a file of results."""
    print(render([json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
