"""What belongs to one process is not sent to another."""

from __future__ import annotations

import copyreg
from typing import NoReturn

from ._quipu import (
    BlobReader,
    Blobs,
    BlobWriter,
    Counters,
    Database,
    Graph,
    Relation,
    ResultStream,
    TableStream,
    Transaction,
)

_BOUND = (
    BlobReader,
    BlobWriter,
    Blobs,
    Counters,
    Database,
    Graph,
    Relation,
    ResultStream,
    TableStream,
    Transaction,
)


def _refuse(value: object) -> NoReturn:
    what = f"a {type(value).__name__} belongs to the process that opened its database, and cannot be pickled or copied"
    hint = "send the path, and open it there: quipu.open(path), or with read_only=True beside this process"
    raise TypeError(f"{what}\nhint: {hint}")


def refuse_to_pickle() -> None:
    """Say what to do instead where :mod:`pickle`, :mod:`copy` or :mod:`multiprocessing` meet an open database."""
    for kind in _BOUND:
        copyreg.pickle(kind, _refuse)
