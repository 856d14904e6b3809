"""Runs recursive programs with Quipu and its peers, each in a process of its own.

Rounds are interleaved: within a round, every engine answers a program before the next one begins.
Data is in memory before the clock starts. All engines must find the same number of rows. A Markdown
table of medians in seconds goes to standard output; `--out` adds a line of JSON for each run.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from programs import PROGRAMS, Program

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Found:
    """The output of one run."""

    rows: int
    seconds: float
    cpu_seconds: float


def main() -> None:
    """Runs what the arguments select."""
    args = arguments()
    seconds: dict[tuple[str, str], list[float]] = {}
    rows: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.programs:
            write(PROGRAMS[name], args.scale, args.spread, Path(scratch) / name)
        for _ in range(args.repeat):
            for name in args.programs:
                for engine in args.engines:
                    found = run(args, engine, PROGRAMS[name], Path(scratch) / name)
                    if found is None:
                        continue
                    if rows.setdefault(name, found.rows) != found.rows:
                        sys.exit(f"{engine} finds {found.rows} rows of {name}, not {rows[name]}")
                    of_run = found.cpu_seconds if args.cpu else found.seconds
                    seconds.setdefault((name, engine), []).append(of_run)
                    record(args, name, engine, found)
    show(args, rows, seconds)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quipu", type=Path, help="binary of the example `recursion`")
    parser.add_argument("--ascent", type=Path, help="binary of bench/recursion/ascent")
    parser.add_argument("--scale", type=float, default=1.0, help="1 is the published size")
    parser.add_argument("--spread", type=int, default=1, help="multiplies values: 9973 is sparse")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu", action="store_true", help="show processor seconds: for a busy machine")
    parser.add_argument("--cap", type=float, default=120.0, help="seconds of one run")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    engines = ["quipu", "quipu-serial", "ascent", "ascent-parallel", "duckdb"]
    parser.add_argument("--engines", nargs="+", choices=engines, default=engines)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def write(program: Program, scale: float, spread: int, folder: Path) -> None:
    """Writes the relations of a program and its script. All values are multiplied by ``spread``."""
    folder.mkdir()
    (folder / "script").write_text(program.script)
    (folder / "sql").write_text(program.sql or "")
    for relation, pairs in program.data(scale).items():
        lines = "".join(f"{a * spread} {b * spread}\n" for a, b in pairs)
        (folder / f"{relation}.txt").write_text(lines)


def run(args: argparse.Namespace, engine: str, program: Program, folder: Path) -> Found | None:
    """Rows and seconds of one run; nothing where the engine cannot answer or takes too long."""
    command = {
        "quipu": [args.quipu, folder, args.threads],
        "quipu-serial": [args.quipu, folder, 1],
        "ascent": [args.ascent, program.kind, folder, 0],
        "ascent-parallel": [args.ascent, program.kind, folder, args.threads],
        "duckdb": [sys.executable, HERE / "duckdb_run.py", folder, args.threads],
    }[engine]
    if command[0] is None or (engine == "duckdb" and program.sql is None):
        return None
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            text=True,
            timeout=args.cap,
            check=True,
        )
    except subprocess.TimeoutExpired:
        print(f"{engine}: {folder.name} takes more than {args.cap:.0f} s", file=sys.stderr)
        return None
    return Found(**json.loads(done.stdout))


def record(args: argparse.Namespace, name: str, engine: str, found: Found) -> None:
    """Appends one run to the output file, and shows it."""
    print(f"{name:20} {engine:16} {found.seconds:9.3f} s {found.cpu_seconds:9.2f} s of processors", file=sys.stderr)
    if args.out is not None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
        line = {
            "time": stamp,
            "program": name,
            "engine": engine,
            "scale": args.scale,
            "spread": args.spread,
            **asdict(found),
        }
        with args.out.open("a") as file:
            file.write(json.dumps(line) + "\n")


def show(args: argparse.Namespace, rows: dict[str, int], seconds: dict[tuple[str, str], list[float]]) -> None:
    """Prints the table of medians."""
    print(f"| program | rows | {' | '.join(args.engines)} |")
    print(f"| --- | ---: | {' | '.join('---:' for _ in args.engines)} |")
    for name in args.programs:
        times = [seconds.get((name, engine)) for engine in args.engines]
        cells = ["" if some is None else f"{statistics.median(some):.2f}" for some in times]
        print(f"| {name} | {rows.get(name, 0):,} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
