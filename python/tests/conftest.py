"""Shared fixtures: databases, files and alarms."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
import quipu


@pytest.fixture
def db() -> Iterator[quipu.Database]:
    """A database in memory."""
    with quipu.open() as database:
        yield database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Path of a database that does not exist yet."""
    return tmp_path / "db.quipu"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file of this name, and return its path."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def interrupt() -> None:
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


class Alarm(Protocol):
    """The function of the fixture `alarm`."""

    def __call__(self, after_s: float, handler: Callable[[], object] = interrupt) -> None:
        """Call a function from a signal handler, after some seconds."""


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    """Set an alarm by a timer's signal.

    Not by Ctrl-C's signal, which a process in the background may ignore.
    """

    def set_alarm(after_s: float, handler: Callable[[], object] = interrupt) -> None:
        signal.signal(signal.SIGALRM, lambda *_: handler())
        signal.setitimer(signal.ITIMER_REAL, after_s)

    before = signal.getsignal(signal.SIGALRM)
    yield set_alarm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
