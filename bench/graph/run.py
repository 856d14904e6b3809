"""Runs the graph workload on Quipu and its peers, on one machine, in one run.

Every database has a fresh process in every round, and rounds are interleaved, so that a slow minute
of the machine affects all of them. See ``bench/README.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adapters import PEERS
from adapters.base import Settings
from child import BASELINES, Task
from edges import EdgeFile, generate, read_frame, sniff, unpack
from measure import machine
from report import render
from sample import Counts, draw

BENCH = Path(__file__).resolve().parent.parent
DATA = BENCH / "data"
SHARED = BENCH.parent.parent / "shared" / "data"
"""Where real graphs lie beside the repository, if at all; ``--data-dir`` names another place."""


@dataclass(frozen=True)
class Plan:
    """The settings that all processes of a run share."""

    file: EdgeFile
    questions: Path
    vertices: Path
    work: Path
    settings: Settings
    batch: int
    many: int
    read_cap_s: float
    write_cap_s: float
    import_cap_s: int


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter, allow_abbrev=False
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--edges", type=Path, metavar="FILE", help="edge list: CSV, TSV, space separated, or .zst of it"
    )
    source.add_argument("--data", metavar="NAME", help="edge list NAME.edges.zst or NAME.adj.zst in the data folder")
    source.add_argument(
        "--generate", nargs=3, type=int, metavar=("V", "E", "SEED"), default=(100_000, 1_770_000, 1),
        help="directed graph with power-law degrees and weights of two decimals",
    )  # fmt: skip
    parser.add_argument("--data-dir", type=Path, default=SHARED, help="folder of the graphs for --data")
    parser.add_argument(
        "--peers", nargs="+", default=[*PEERS, *BASELINES], choices=[*PEERS, *BASELINES], metavar="PEER",
        help=f"of {', '.join([*PEERS, *BASELINES])}",
    )  # fmt: skip
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds")
    parser.add_argument(
        "--out", type=Path, default=BENCH / "data" / "out", metavar="DIR", help="folder for the results"
    )
    parser.add_argument("--work", type=Path, default=DATA, metavar="DIR", help="folder for the databases")
    parser.add_argument("--seed", type=int, default=7, help="of the sampling")
    parser.add_argument("--cache-mb", type=int, default=512, help="cache of each database")
    parser.add_argument("--memory-mb", type=int, default=1024, help="memory limit of each database that has one")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def setting(name: str, default: int) -> int:
    """A count that the environment may override."""
    return int(os.environ.get(name, default))


def edge_file(given: argparse.Namespace) -> Path:
    """The plain text file that every database imports."""
    if given.edges:
        return unpack(given.edges, DATA)
    if given.data:
        for suffix in ("edges.zst", "adj.zst"):
            path = given.data_dir / f"{given.data}.{suffix}"
            if path.exists():
                return unpack(path, DATA)
        raise SystemExit(f"no {given.data}.edges.zst or {given.data}.adj.zst in {given.data_dir}")
    vertices, edges, seed = given.generate
    return generate(vertices, edges, seed, DATA)


def run_peer(plan: Plan, peer: str, number: int) -> list[dict[str, Any]]:
    """Run one round of one database; return its lines.

    If the process dies, a last line says why.
    """
    folder = plan.work / f"{peer}-{number}"
    folder.mkdir()
    output = plan.work / f"{peer}-{number}.jsonl"
    output.touch()
    task = Task(
        peer=peer, file=plan.file, questions=plan.questions, vertices=plan.vertices, folder=folder, output=output,
        settings=plan.settings, batch=plan.batch, many=plan.many,
        read_cap_s=plan.read_cap_s, write_cap_s=plan.write_cap_s, import_cap_s=plan.import_cap_s,
    )  # fmt: skip
    path = plan.work / f"{peer}-{number}.task"
    path.write_bytes(pickle.dumps(task))
    # Otherwise dirty pages of the previous round would be written during this one.
    os.sync()
    load_1m = os.getloadavg()[0]
    status = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("child.py")), str(path)], check=False
    ).returncode
    lines: list[dict[str, Any]] = [json.loads(line) for line in output.read_text().splitlines()]
    if status and not any("failed" in line for line in lines):
        if status == -signal.SIGALRM:
            reason = f"import took more than {plan.import_cap_s} s and was killed"
        else:
            reason = f"process ended with status {status}"
        lines.append({"failed": reason})
    shutil.rmtree(folder, ignore_errors=True)
    return [{"load_1m": load_1m, **line} for line in lines]


def commit() -> str:
    """The commit that is measured, with a mark when files differ from it."""
    try:
        described = subprocess.run(
            ["git", "-C", str(BENCH), "describe", "--always", "--dirty", "--exclude=*"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()


def main() -> int:
    """Run, write the results, print the table; 1 when a database failed."""
    given = arguments()
    counts = Counts(
        finds=setting("COUNT_FINDS", 20_000),
        analytics=setting("COUNT_ANALYTICS", 300),
        changes=setting("COUNT_CHANGES", 10_000),
        checks=setting("COUNT_CHECKS", 200),
    )
    file = sniff(edge_file(given))
    given.out.mkdir(parents=True, exist_ok=True)
    given.work.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="run-", dir=given.work))
    try:
        questions = draw(file, counts, given.seed)
        frame = read_frame(file)
        vertices = np.union1d(frame["src"].to_numpy(), frame["dst"].to_numpy())
        del frame
        np.save(work / "vertices.npy", vertices)
        (work / "questions.pickle").write_bytes(pickle.dumps(questions))
        settings = Settings(given.cache_mb << 20, given.memory_mb << 20, given.threads)
        plan = Plan(
            file=file, questions=work / "questions.pickle", vertices=work / "vertices.npy", work=work,
            settings=settings, batch=setting("BATCH", 500), many=setting("COUNT_MANY", 1000),
            read_cap_s=setting("READ_CAP_S", 60), write_cap_s=setting("WRITE_CAP_S", 0),
            import_cap_s=setting("IMPORT_CAP_S", 600),
        )  # fmt: skip
        now = datetime.datetime.now(datetime.UTC)
        about = {
            "date": now.isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": machine(),
            "settings": {
                **asdict(settings), **asdict(counts), "batch": plan.batch, "many": plan.many, "seed": given.seed,
                "durability": "os",
            },
            "graph": {
                "name": file.path.name, "bytes": file.path.stat().st_size, "rows": questions.rows,
                "edges": questions.answers.total[0], "vertices": len(vertices),
            },
        }  # fmt: skip
        stem = f"{now:%Y-%m-%d-%H%M}-{file.path.stem}-batch{plan.batch}"
        lines: list[dict[str, Any]] = []
        with (given.out / f"{stem}.jsonl").open("w") as out:
            for number in range(given.repeat):
                turn = number % len(given.peers)
                for peer in given.peers[turn:] + given.peers[:turn]:
                    print(f"round {number + 1} of {given.repeat}: {peer}", file=sys.stderr, flush=True)
                    for line in run_peer(plan, peer, number):
                        full = {**about, "peer": peer, "round": number, **line}
                        lines.append(full)
                        out.write(json.dumps(full) + "\n")
                    out.flush()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    page = render(lines)
    (given.out / f"{stem}.md").write_text(page)
    print(page, end="")
    return 1 if any("failed" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
