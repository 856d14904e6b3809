"""The exceptions of Quipu, sorted by what the caller can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "CancelledError",
    "ConflictError",
    "CorruptionError",
    "Error",
    "ForkedError",
    "InternalError",
    "InvalidInputError",
    "LimitError",
    "LockedError",
    "PoisonedError",
]


class Error(Exception):
    """Anything that Quipu raises of its own. Bare: the machine failed a read or a write."""


class ConflictError(Error):
    """Another transaction won. Nothing was written; run the transaction again."""


class InvalidInputError(Error, ValueError):
    """The request is wrong, and changed nothing. A retry fails the same way."""

    line: int | None = None
    """Line of the input, from 1, where the input is a text."""
    column: int | None = None
    """Column of the record, from 1; 0 where the whole record is meant."""


class CorruptionError(Error):
    """Bytes on disk are not what was written; the message names the file and the byte."""

    problems: Sequence[Mapping[str, Any]] = ()
    """Of :meth:`quipu.Database.check`: everything found, each with ``file``, ``offset`` and ``what``."""


class PoisonedError(Error):
    """An earlier write or sync failed, so durability is unknown. Close and open again."""


class CancelledError(Error):
    """The caller stopped it. Nothing was changed."""


class LimitError(Error):
    """A limit that was set was reached, memory for one. Nothing was changed."""


class ForkedError(Error, RuntimeError):
    """The database was opened in another process, which this one was forked from. Nothing was done.

    Open it again here: read-only, or after the parent has closed it.
    """


class LockedError(Error, BlockingIOError):
    """Another process holds the folder; the message says which."""


class InternalError(Error):
    """A mistake of Quipu's own. What the call changed was not committed. Please report it."""
