"""Open databases, and objects of theirs, belong to one process and cannot be pickled."""

from __future__ import annotations

import copyreg
from typing import NoReturn

from ._quipu import (
    AlgorithmResult,
    BlobReader,
    Blobs,
    BlobWriter,
    Counters,
    Database,
    Documents,
    Graph,
    Projection,
    Relation,
    ResultStream,
    TableStream,
    Transaction,
)

_BOUND = (
    AlgorithmResult,
    BlobReader,
    BlobWriter,
    Blobs,
    Counters,
    Database,
    Documents,
    Graph,
    Projection,
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
    """Make :mod:`pickle` and :mod:`copy` refuse open databases, with a hint what to do instead."""
    for kind in _BOUND:
        copyreg.pickle(kind, _refuse)
