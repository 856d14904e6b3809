"""Imports the files and frames of `cases.py`, and prints what came back, as a table.

python tests/files/table.py              # by Python
python tests/files/table.py --command    # by the command
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import quipu
from cases import CASES, Case


def call_of(case: Case) -> str:
    """The call, as a reader would write it."""
    arguments = "".join(f", {name}={value!r}" for name, value in case.arguments.items())
    return f'db.import_graph("g", {case.name!r}{arguments})'


def by_python(case: Case, made: Any) -> tuple[str, int, str]:
    """The call, the number of edges, and the report."""
    with quipu.open() as db:
        report = db.import_graph("g", made, **case.arguments)
        g = db.graph("g")
        said = [f"{key}: {value}" for key, value in report.detected.items()]
        said += [f"vertex: {g.vertex}, weight: {g.weight}", *(f"note: {note}" for note in report.notes)]
        return call_of(case), report.edges, "; ".join(said)


def by_command(case: Case, made: Any, folder: Path) -> tuple[str, int, str] | None:
    """As `by_python`; `None` for an object in memory."""
    paths = [str(path) for path in (made if isinstance(made, list) else [made]) if isinstance(path, Path)]
    if not paths:
        return None
    command = [sys.executable, "-m", "quipu", "import", str(folder / "db"), "g", *paths, *case.flags, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    said = [f"{key}: {value}" for key, value in reports[0]["detected"].items()]
    said += [f"note: {note}" for note in reports[0]["notes"]]
    call = f"quipu import db g {' '.join([case.name, *case.flags])}"
    return call, sum(report["edges"] for report in reports), "; ".join(said)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", action="store_true")
    by_the_command = parser.parse_args().command
    print("| call | edges | report |\n| --- | --- | --- |")
    for case in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            made = case.make(folder)
            row = by_command(case, made, folder) if by_the_command else by_python(case, made)
            if row:
                call, edges, said = (str(cell).replace("|", "\\|").replace(str(folder), "") for cell in row)
                print(f"| `{call}` | {edges} | {said} |")


if __name__ == "__main__":
    main()
