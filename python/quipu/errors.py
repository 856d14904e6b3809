"""The exceptions of Quipu, classified by the caller's possible reaction."""

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
    "MissingFileError",
    "PoisonedError",
]


class Error(Exception):
    """The base class of Quipu's exceptions. The class itself means a failed read or write."""


class ConflictError(Error):
    """Another transaction won. Nothing was written; run the transaction again."""


class InvalidInputError(Error, ValueError):
    """The request is wrong and changed nothing. A retry fails the same way."""

    line: int | None = None
    """Line of the input, from 1, if the input is text."""
    column: int | None = None
    """Column of the record, from 1; 0 for the whole record."""
    reason: str | None = None
    """Why an algorithm refused its graph or an argument: ``"unknown_vertex"``, ``"no_path"``,
    ``"no_convergence"``, ``"negative_weight"``, ``"negative_cycle"``, ``"disconnected"``,
    ``"has_cycle"``, ``"self_loop"``, ``"null_graph"`` or ``"zero_sum"``."""


class CorruptionError(Error):
    """Bytes on disk differ from those that were written; the message names the file and the byte."""

    problems: Sequence[Mapping[str, Any]] = ()
    """The problems that :meth:`quipu.Database.check` found, with ``file``, ``offset``, ``what``."""


class PoisonedError(Error):
    """An earlier write or sync failed, so durability is unknown. Close and open again."""


class CancelledError(Error):
    """The call was stopped by the caller or by its timeout. Nothing was changed."""


class LimitError(Error):
    """A limit was reached, for example that of memory. Nothing was changed."""


class ForkedError(Error, RuntimeError):
    """The database was opened by another process, from which this one was forked.

    Nothing was done. Open the database again in this process: read-only, or after the parent has
    closed it.
    """


class MissingFileError(Error, FileNotFoundError):
    """A file that was named does not exist."""


class LockedError(Error, BlockingIOError):
    """Another process holds the folder; the message says which."""


class InternalError(Error):
    """A bug in Quipu. The call's changes were not committed. Please report it."""
