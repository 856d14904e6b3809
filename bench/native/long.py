"""Runs the two long measurements of every engine in turn: `grow` and `steady`.

Each engine runs in one process, which is read line by line, so that a run that is cut off keeps its
results so far. Lines of JSON go to a file; tables (`report.py`) and plots (`plot.py`) are written
next to it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import plot
import report
from run import about


def main() -> None:
    """Runs the measurements that the arguments select."""
    args = arguments()
    args.scratch.mkdir(parents=True, exist_ok=True)
    args.out.mkdir(parents=True, exist_ok=True)
    size = args.keys if args.family == "grow" else args.records
    name = f"{time.strftime('%Y-%m-%d-%H%M')}-{args.family}-{size}{'-' + args.label if args.label else ''}"
    path = args.out / f"{name}.jsonl"
    with path.open("w") as file:
        for round_ in range(args.repeat):
            turn = round_ % len(args.engines)
            for engine in args.engines[turn:] + args.engines[:turn]:
                for order in args.orders if args.family == "grow" else [""]:
                    for line in run(args, engine, order, round_):
                        file.write(json.dumps(line) + "\n")
                        file.flush()
                        show(line)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    if not lines:
        sys.exit("nothing was measured")
    table = report.table(lines)
    path.with_suffix(".md").write_text(table)
    print(table)
    for made in plot.draw(path):
        print(made)


def arguments() -> argparse.Namespace:
    """The parsed command line, with derived settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=["grow", "steady"])
    parser.add_argument("--binary", type=Path, required=True, help="quipu-bench, built for release")
    parser.add_argument("--peers-binary", type=Path, help="the same built with the feature `peers` alone")
    parser.add_argument("--engines", nargs="+", default=["quipu", "rocksdb", "lmdb", "fjall", "redb"])
    parser.add_argument("--keys", type=int, default=10_000_000, help="grow: the most keys, from 10^6 on in steps of 3")
    parser.add_argument("--steps", nargs="+", type=int, help="grow: the numbers of keys, in place of --keys")
    parser.add_argument("--orders", nargs="+", default=["ascending"], choices=["ascending", "shuffled"], help="grow")
    parser.add_argument("--records", type=int, default=1_000_000, help="steady: keys, all loaded before")
    parser.add_argument("--reads", type=float, default=0.5, help="steady: part of the calls that read")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--window-s", type=float, default=1.0, help="steady: of a line")
    parser.add_argument("--threads", type=int, default=2, help="steady")
    parser.add_argument("--value-bytes", type=int, help="64 in grow, 1024 in steady")
    parser.add_argument("--cache-mib", type=int, default=512)
    parser.add_argument("--write-mib", type=int, default=128)
    parser.add_argument("--logged", action="store_true", help="commits survive a killed process")
    parser.add_argument("--direct", action="store_true", help="direct I/O, in engines that have it")
    parser.add_argument("--cap-s", type=float, default=1800, help="grow: seconds of a step's load, after which it ends")
    parser.add_argument("--rest-s", type=float, default=300, help="seconds to wait for an engine to come to rest")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--scratch", type=Path, default=Path("bench/data/native"))
    parser.add_argument("--out", type=Path, default=Path("bench/data/results"))
    parser.add_argument("--label", default="")
    args = parser.parse_args()
    args.scratch = args.scratch.resolve()
    args.value_bytes = args.value_bytes or (64 if args.family == "grow" else 1024)
    if args.steps is None:
        steps = [digit * 10**power for power in range(6, 12) for digit in (1, 3)]
        args.steps = [keys for keys in steps if keys < args.keys] + [args.keys]
    args.keys = args.steps[-1]
    return args


def run(args: argparse.Namespace, engine: str, order: str, round_: int) -> Iterator[dict]:
    """Runs one engine in a process of its own, and yields its lines as they come."""
    folder = args.scratch / engine
    shutil.rmtree(folder, ignore_errors=True)
    binary = args.binary if engine == "quipu" else args.peers_binary or args.binary
    command = [binary, args.family, "--engine", engine, "--folder", folder, "--seed", round_ + 1]
    command += ["--cache-mib", args.cache_mib, "--write-mib", args.write_mib, "--value-bytes", args.value_bytes]
    command += ["--rest-s", args.rest_s, "--cap-s", args.cap_s]
    command += ["--logged"] * args.logged + ["--direct"] * args.direct
    if args.family == "grow":
        command += ["--steps", ",".join(map(str, args.steps)), "--order", order]
    else:
        command += ["--records", args.records, "--seconds", args.seconds, "--window-s", args.window_s]
        command += ["--reads", args.reads, "--threads", args.threads]
    # Writes of the previous run must not delay this one.
    os.sync()
    facts = about(args, round_, os.getloadavg()[0])
    try:
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True) as process:
            try:
                for line in process.stdout or []:
                    yield kept(json.loads(line), facts)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            print(f"{engine}: ended with {process.returncode}", file=sys.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kept(line: dict, facts: dict) -> dict:
    """The line as it is stored; windows are shortened, because there are thousands."""
    if line["workload"] != "window":
        return line | facts
    shortened = {name: float(f"{value:.4g}") for name, value in line.items() if isinstance(value, float)}
    return line | shortened | {"round": facts["round"]}


def show(line: dict) -> None:
    """Prints the line as progress."""
    if line["family"] == "grow":
        print(
            f"{line['engine']:8} {line['order']:9} {line['keys']:11,} {line['workload']:12} "
            f"{line['us']:9.3f} us an entry, {line['us_flushed']:9.3f} flushed  "
            f"p50 {line['p50_us']:.1f} p99 {line['p99_us']:.1f} us a call  disk {line['disk_bytes'] / 1e6:,.0f} MB",
            flush=True,
        )
    elif "rate" in line:
        print(
            f"{line['engine']:8} {line['workload']:6} {line.get('at_s', line.get('wall_s')):7.1f} s "
            f"{line['rate']:11,.0f}/s  p50 {line['p50_us']:.1f} p99 {line['p99_us']:.1f} p99.9 {line['p999_us']:.1f} "
            f"max {line['max_us']:.0f} us",
            flush=True,
        )


if __name__ == "__main__":
    main()
