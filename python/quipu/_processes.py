"""What belongs to one process is not sent to another."""

from __future__ import annotations

import copyreg
from typing import NoReturn

from . import _quipu

_BOUND = (
    _quipu.BlobReader,
    _quipu.BlobWriter,
    _quipu.Blobs,
    _quipu.Counters,
    _quipu.Database,
    _quipu.Graph,
    _quipu.Relation,
    _quipu.ResultStream,
    _quipu.TableStream,
    _quipu.Transaction,
)


def _refuse(value: object) -> NoReturn:
    what = f"a {type(value).__name__} belongs to the process that opened its database, and cannot be pickled or copied"
    hint = "send the path, and open it there: quipu.open(path), or with read_only=True beside this process"
    raise TypeError(f"{what}\nhint: {hint}")


def refuse_to_pickle() -> None:
    """Say what to do instead where :mod:`pickle`, :mod:`copy` or :mod:`multiprocessing` meet an open database."""
    for kind in _BOUND:
        copyreg.pickle(kind, _refuse)
