"""An engine in a process of its own, so that its memory is its own and no other shares its caches."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def peak_mib() -> float:
    """The most memory that this process has had, by the kernel."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def serve(connection: Connection, make: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Makes an engine, and answers calls until the other process closes the connection."""
    engine = make(*args)
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        start = time.perf_counter()
        try:
            reply = getattr(engine, method)(*arguments)
        except Exception as error:  # noqa: BLE001 - the other process reports it
            connection.send((None, 0.0, peak_mib(), f"{type(error).__name__}: {str(error)[:300]}"))
        else:
            connection.send((reply, time.perf_counter() - start, peak_mib(), None))


class EngineProcess:
    """Calls the methods of an engine in its process."""

    def __init__(self, name: str, make: Callable[..., Any], folder: Path, *args: Any) -> None:
        """Starts the process with an empty folder, which is removed at the end.

        `make` is a class at the top of a module; its arguments are the folder and `args`.
        """
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        context = multiprocessing.get_context("spawn")
        self.connection, child = context.Pipe()
        self.process = context.Process(target=serve, args=(child, make, (folder, *args)), daemon=True)
        self.process.start()
        child.close()
        self.name = name
        self.peak_mib = 0.0

    def call(self, method: str, *arguments: Any) -> tuple[Any, float]:
        """The result of a method, and its seconds."""
        self.connection.send((method, arguments))
        try:
            reply, seconds, self.peak_mib, error = self.connection.recv()
        except EOFError:
            raise SystemExit(f"{self.name} ended without an answer") from None
        if error:
            raise SystemExit(f"{self.name}.{method}: {error}")
        return reply, seconds

    def end(self) -> None:
        """Ends the process, and removes its data."""
        self.connection.close()
        self.process.join()
        shutil.rmtree(self.folder, ignore_errors=True)


def in_turns(engines: Sequence[EngineProcess], rounds: int) -> Iterator[EngineProcess]:
    """All engines `rounds` times, each time in another order."""
    for number in range(rounds):
        shift = number % len(engines)
        yield from (*engines[shift:], *engines[:shift])


def parser_of(documentation: str | None, engines: Mapping[str, Any], rounds: int) -> argparse.ArgumentParser:
    """The arguments that all benches of this folder have."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--engine", nargs="+", choices=list(engines), default=list(engines))
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "data" / "search")
    parser.add_argument("--out", type=Path, help="a folder for the report, as JSON and Markdown")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments of the command line; makes the folder for data."""
    args = parser.parse_args()
    args.data.mkdir(parents=True, exist_ok=True)
    return args


def digits(figure: float) -> str:
    """A figure with three digits."""
    if figure >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if figure >= 10 else f"{figure:.2f}" if figure >= 1 else f"{figure:.3f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, with numbers in all columns but the first."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def write_report(args: argparse.Namespace, stem: str, text: str, report: Mapping[str, Any]) -> None:
    """Prints the report, and writes it to the folder `args.out`, if there is one."""
    print(text)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
        machine = f"{platform.system()}, {os.cpu_count()} cores"
        whole = {"command": command, "machine": machine, **report}
        (args.out / f"{stem}.json").write_text(json.dumps(whole, indent=1))
        (args.out / f"{stem}.md").write_text(text + "\n")
