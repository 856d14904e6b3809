"""Runs the key-value and counter workloads of every engine in turn, each workload in a process of its own.

Rounds are interleaved: within a round, every engine runs a workload before the next workload
begins, in an order that differs between workloads. (An engine that runs after one that has freed
much memory gets fresh pages, which cost more on a virtual machine than used ones.) Lines of JSON go
to a file; a Markdown table of medians is written next to it (`report.py`).
"""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import report

KV = [
    "init",
    "read",
    "batch-read",
    "range-select",
    "scan",
    "read-update-50-50",
    "read-upsert-95-5",
    "batch-upsert",
    "remove",
]
COUNTS = ["bigrams", "parallel", "objects", "uniform", "consecutive", "scattered"]
HERE = Path(__file__).resolve().parent


def main() -> None:
    """Runs the workloads that the arguments select."""
    args = arguments()
    args.scratch.mkdir(parents=True, exist_ok=True)
    args.out.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y-%m-%d-%H%M")
    size = f"{args.records}" if args.family == "kv" else f"{args.items}"
    path = args.out / f"{stamp}-{args.family}-{size}{'-' + args.label if args.label else ''}.jsonl"
    with path.open("w") as file:
        for round_ in range(args.repeat):
            for threads in args.threads:
                # An engine that fails, or does not finish its load, is skipped afterwards.
                out_of_play: set[str] = set()
                for workload in args.workloads:
                    for engine in order(args.engines, round_, threads, workload):
                        if engine in out_of_play:
                            continue
                        lines = run(args, engine, workload, threads, round_)
                        if not lines or (workload == "init" and lines[0]["entries"] < args.records):
                            out_of_play.add(engine)
                        for line in lines:
                            file.write(json.dumps(line) + "\n")
                            file.flush()
                            show(line)
                for engine in args.engines:
                    shutil.rmtree(args.scratch / engine, ignore_errors=True)
    table = report.table([json.loads(line) for line in path.read_text().splitlines()])
    path.with_suffix(".md").write_text(table)
    print(table)


def order(engines: list[str], *turn: object) -> list[str]:
    """The engines in a random order that depends only on the turn."""
    return random.Random(repr(turn)).sample(engines, len(engines))


def arguments() -> argparse.Namespace:
    """The parsed command line, with derived settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=["kv", "counts"])
    parser.add_argument("--binary", type=Path, required=True, help="quipu-bench, built for release")
    parser.add_argument("--peers-binary", type=Path, help="the same built with the feature `peers` alone")
    parser.add_argument("--engines", nargs="+", default=None)
    parser.add_argument("--workloads", nargs="+", default=None)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 8])
    parser.add_argument("--records", type=int, default=1_000_000, help="kv: keys")
    parser.add_argument("--factor", type=float, default=1.0, help="kv: operations, by the specification's")
    parser.add_argument("--items", type=int, default=4 << 20, help="counts: increments, and then reads")
    parser.add_argument("--fill", type=int, default=8 << 20, help="counts: increments before the parallel test")
    parser.add_argument("--text", type=Path, help="counts: a text, plain or .zst, whose bigrams are counted")
    parser.add_argument("--single", action="store_true", help="counts: one key a call in place of 10 000")
    parser.add_argument("--cache-mib", type=int, default=512)
    parser.add_argument("--write-mib", type=int, default=128)
    parser.add_argument("--logged", action="store_true", help="commits survive a killed process")
    parser.add_argument("--direct", action="store_true", help="direct I/O, in engines that have it")
    parser.add_argument("--drop-cache", action="store_true", help="empty the page cache before each workload")
    parser.add_argument("--cap-s", type=float, default=30, help="seconds an operation may take; what was done counts")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scratch", type=Path, default=Path("bench/data/native"))
    parser.add_argument("--out", type=Path, default=Path("bench/data/results"))
    parser.add_argument("--label", default="")
    args = parser.parse_args()
    peers = ["quipu", "rocksdb", "lmdb", "fjall", "redb"]
    args.engines = args.engines or (peers if args.family == "kv" else [*peers, "map"])
    args.workloads = args.workloads or (KV if args.family == "kv" else COUNTS)
    args.scratch = args.scratch.resolve()
    if args.text is not None and args.text.suffix == ".zst":
        plain = args.scratch / args.text.stem
        args.scratch.mkdir(parents=True, exist_ok=True)
        subprocess.run(["zstd", "-dqf", args.text, "-o", plain], check=True)
        args.text = plain
    return args


def run(args: argparse.Namespace, engine: str, workload: str, threads: int, round_: int) -> list[dict]:
    """Runs one workload in a process of its own; no lines if it failed."""
    folder = args.scratch / engine
    if workload == "init" or args.family == "counts":
        shutil.rmtree(folder, ignore_errors=True)
    binary = args.binary if engine == "quipu" else args.peers_binary or args.binary
    command = [binary, args.family, "--engine", engine, "--folder", folder, "--threads", threads]
    command += ["--cache-mib", args.cache_mib, "--write-mib", args.write_mib, "--seed", round_ + 1]
    command += ["--cap-s", max(args.cap_s, 600) if workload == "init" else args.cap_s]
    command += ["--logged"] * args.logged + ["--direct"] * args.direct
    if args.family == "kv":
        command += ["--workload", workload, "--records", args.records, "--factor", args.factor]
    else:
        command += ["--test", workload, "--items", args.items, "--fill", args.fill]
        command += ["--text", args.text] * (args.text is not None) + ["--single"] * args.single
    # Writes of the previous run must not delay this one.
    os.sync()
    if args.drop_cache:
        drop_cache(folder)
    else:
        warm_cache(folder)
    load = os.getloadavg()[0]
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=max(900, 4 * args.cap_s)
        )
    except subprocess.TimeoutExpired:
        print(f"{engine} {workload}: no end in sight, killed", file=sys.stderr)
        return []
    if done.returncode != 0:
        print(f"{engine} {workload}: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return []
    facts = about(args, round_, load) | {"cold": args.drop_cache}
    return [json.loads(line) | facts for line in done.stdout.splitlines()]


def about(args: argparse.Namespace, round_: int, load: float) -> dict:
    """The fields that every line has besides its figures."""
    return {
        "round": round_,
        "load": load,
        "commit": commit(),
        "machine": f"{os.cpu_count()} cores, {platform.release()}",
        "write_mib": args.write_mib,
        "at": time.strftime("%Y-%m-%dT%H:%M:%S"),
    }


def drop_cache(folder: Path) -> None:
    """Drops the whole page cache if permitted, else the pages of the engine's files."""
    try:
        Path("/proc/sys/vm/drop_caches").write_text("1")
    except OSError:
        for path in folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm_cache(folder: Path) -> None:
    """Reads all files: some engines drop what they write from the page cache, others do not."""
    for path in folder.rglob("*"):
        if path.is_file():
            # LMDB's file is sparse: as long as its address space, with the data at its start.
            left = path.stat().st_blocks * 512
            with path.open("rb", buffering=0) as file:
                while left > 0 and (piece := file.read(4 << 20)):
                    left -= len(piece)


def commit() -> str:
    """The commit of the repository that this file is in."""
    found = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip()


def show(line: dict) -> None:
    """Prints the line as progress."""
    print(
        f"{line['engine']:8} {line['workload']:18} {line['threads']} threads {line['rate']:14,.0f}/s  "
        f"p50 {line['p50_us']:.1f} p99 {line['p99_us']:.1f} us  cpu {line['cpu_s']:.1f} s  load {line['load']:.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
