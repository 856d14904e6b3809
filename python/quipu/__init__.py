"""Quipu: an embedded database for graphs, facts and counts.

>>> import quipu
>>> db = quipu.open()                      # in memory; give a path to keep it
>>> g = db.graph("cites", weight="float64")
>>> g.upsert(1, 2, 0.5)
>>> g.edge(1, 2)
0.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _algorithms, _bridges
from ._processes import refuse_to_pickle
from ._quipu import (
    AlgorithmResult,
    BackupReport,
    BlobReader,
    Blobs,
    BlobWriter,
    Column,
    Counters,
    Database,
    Documents,
    Graph,
    ImportReport,
    Projection,
    Relation,
    RestoreReport,
    Result,
    ResultStream,
    Table,
    TableStream,
    Transaction,
    __version__,
    open,
    repair,
    restore,
)
from ._sampling import Sample
from .errors import (
    CancelledError,
    ConflictError,
    CorruptionError,
    Error,
    ForkedError,
    InternalError,
    InvalidInputError,
    LimitError,
    LockedError,
    MissingFileError,
    PoisonedError,
)

if TYPE_CHECKING:
    from ._notebook import Shell
    from ._plot import Picture, plot

refuse_to_pickle()
_algorithms.attach()
_bridges.attach()


if not TYPE_CHECKING:  # or type checkers would accept any attribute

    def __getattr__(name: str) -> Any:
        # Pictures need NumPy, which takes several times as long to import as the rest.
        if name in ("Picture", "plot"):
            from . import _plot

            return getattr(_plot, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Shell) -> None:
    """Add the magic ``%%quipu``; ``%load_ext quipu`` calls it."""
    from . import _notebook

    _notebook.load(shell)


def unload_ipython_extension(shell: Shell) -> None:
    """Remove its completion, and close what its cells have opened; ``%unload_ext quipu`` calls it."""
    from . import _notebook

    _notebook.unload(shell)


__all__ = [
    "AlgorithmResult",
    "BackupReport",
    "BlobReader",
    "BlobWriter",
    "Blobs",
    "CancelledError",
    "Column",
    "ConflictError",
    "CorruptionError",
    "Counters",
    "Database",
    "Documents",
    "Error",
    "ForkedError",
    "Graph",
    "ImportReport",
    "InternalError",
    "InvalidInputError",
    "LimitError",
    "LockedError",
    "MissingFileError",
    "Picture",
    "PoisonedError",
    "Projection",
    "Relation",
    "RestoreReport",
    "Result",
    "ResultStream",
    "Sample",
    "Table",
    "TableStream",
    "Transaction",
    "__version__",
    "open",
    "plot",
    "repair",
    "restore",
]
