"""A plugin of pytest: NetworkX's test mode converts to stored graphs, which it then reads in pages.

A graph that cannot be stored, because of its vertices or attributes, is converted to one in memory.
"""

from __future__ import annotations

from typing import Any

import quipu
import quipu.nx
from quipu.nx import _backend

_in_memory = _backend.from_networkx

#: Memory of a graph, in bytes: less than most tests' graphs take.
MEMORY_BYTES = 20_000


def _stored(graph: Any, **options: Any) -> Any:
    plain = _in_memory(graph, **options)
    try:
        G = type(plain)(plain, db=quipu.open(), name="g", memory=MEMORY_BYTES)
        G.flush()
    except TypeError:
        return plain
    G.refresh()
    return G


_backend.from_networkx = _stored
