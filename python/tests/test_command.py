"""The command line of the wheel: `python -m quipu`, and the script `quipu`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO

import pytest
import quipu

MODULE = [sys.executable, "-m", "quipu"]


def command(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*MODULE, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture
def path(folder: Path) -> Path:
    """A database with the graph `g` of the edges 1→2 and 2→3."""
    with quipu.open(folder) as db:
        db.graph("g").upsert_many([1, 2], [2, 3])
    return folder


def test_the_module_is_the_command(path: Path) -> None:
    ran = command("run", path, "-e", "?[to] := *g[1, to]")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "to\n2\n", "")
    assert command("--version").stdout == f"quipu {quipu.__version__}\n"
    assert "Usage: quipu [COMMAND]" in command("--help").stdout.replace("<COMMAND>", "[COMMAND]")


def test_the_script_is_the_module() -> None:
    (script,) = entry_points(group="console_scripts", name="quipu")
    assert script.value == "quipu.__main__:main"
    with pytest.raises(SystemExit) as end:
        script.load()()
    assert end.value.code == 2


def test_exit_statuses_are_those_of_the_command(path: Path, tmp_path: Path) -> None:
    assert command("check", path).returncode == 0
    failed = command("run", path, "-e", "?[a] := *nothing[a]")
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: ")
    assert command("neither").returncode == 2
    assert command().returncode == 2
    with quipu.open(path) as db:
        db.compact()
    for table in path.rglob("*.sst"):
        data = bytearray(table.read_bytes())
        data[len(data) // 3] ^= 0x55
        table.write_bytes(data)
    damaged = command("check", path)
    assert damaged.returncode == 3, damaged


def test_input_and_arguments_are_taken_as_they_are(tmp_path: Path) -> None:
    name = os.fsdecode(b"n\xff m")
    ran = command("import", tmp_path / name, "g", "-", stdin="1,2\n3,4\n")
    assert ran.returncode == 0, ran.stderr
    assert command("shell", tmp_path / name, stdin="?[a] := *g[1, a]\n").stdout == "a\n2\n"


def test_a_closed_pipe_ends_it_without_a_word(path: Path) -> None:
    script = "?[n] := n in int_range(2000000)"
    with subprocess.Popen(
        [*MODULE, "run", str(path), "-e", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"n\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def write_all(pipe: IO[bytes], data: bytes) -> None:
    """Write to a pipe without a buffer."""
    while data:
        data = data[pipe.write(data) :]


def writes_until_the_end(process: subprocess.Popen[bytes], then: Callable[[], None]) -> None:
    """Write edges until the process reads no more, and call `then` once it has read some."""
    assert process.stdin is not None
    with process.stdin, pytest.raises(BrokenPipeError):
        for part in range(4000):
            first = part * 100_000
            # A pipe buffers less than this: once it is written, the command is reading.
            lines = b"".join(b"%d,%d\n" % (i, i * 7) for i in range(first, first + 100_000))
            write_all(process.stdin, lines)
            if part == 0:
                then()


def test_ctrl_c_stops_an_import_and_the_status_says_so(path: Path) -> None:
    with subprocess.Popen(
        [*MODULE, "import", str(path), "g", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as process:
        writes_until_the_end(process, lambda: process.send_signal(signal.SIGINT))
        assert process.stderr is not None
        assert process.stderr.read().startswith(b"interrupted: ")
    assert process.returncode == 130
    with quipu.open(path) as db:
        assert len(db.graph("g")) == 2


def test_ctrl_c_ends_a_command_that_does_not_handle_it(path: Path) -> None:
    with subprocess.Popen(
        [*MODULE, "run", str(path), "-"], stdin=subprocess.PIPE, bufsize=0, preexec_fn=reset
    ) as process:
        assert process.stdin is not None
        # A pipe buffers less than this: once it is written, the command waits for more.
        write_all(process.stdin, b"# a comment\n" * 100_000)
        process.send_signal(signal.SIGINT)
        assert process.wait() == -signal.SIGINT


def reset() -> None:
    """A process in the background may ignore Ctrl-C, and its children would, too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
