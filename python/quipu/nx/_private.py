"""The names of NetworkX that its documentation does not promise. Each has a test in ``test_nx_private.py``.

Nothing else in this package uses a private name of NetworkX, except the attributes ``_node``, ``_adj``, ``_succ`` and
``_pred`` of graphs, which its documentation of subclasses describes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quipu_networkx import networkx_version

OLDEST = (3, 5)


def check_version() -> None:
    """Refuse a missing or an old NetworkX.

    Raises:
        ImportError: NetworkX is missing, or older than :data:`OLDEST`.
    """
    hint = 'hint: pip install "quipudb[networkx]"'
    try:
        import networkx as nx
    except ImportError as error:
        raise ImportError(f"quipu.nx needs NetworkX, which is not installed\n{hint}") from error
    if networkx_version() < OLDEST:
        raise ImportError(f"quipu.nx needs NetworkX {OLDEST[0]}.{OLDEST[1]} or newer, not {nx.__version__}\n{hint}")


def dispatched(name: str) -> Any | None:
    """Return the dispatched function with this name; ``None`` if there is none."""
    from networkx.utils import backends

    return backends._registered_algorithms.get(name)


def dispatched_names() -> list[str]:
    """Return the names of all functions that NetworkX dispatches."""
    from networkx.utils import backends

    return list(backends._registered_algorithms)


def original(name: str) -> Callable[..., Any] | None:
    """Return the function that NetworkX itself runs for a dispatched name; ``None`` if there is none."""
    function = dispatched(name)
    return None if function is None else function.orig_func


def returns_graph(name: str) -> bool:
    """Return whether NetworkX says that a dispatched function returns a graph."""
    function = dispatched(name)
    return function is not None and bool(function._returns_graph)


def clear_cache(graph: Any) -> None:
    """Drop the values that NetworkX has cached for a graph, after a change of the graph."""
    cache = getattr(graph, "__networkx_cache__", None)
    if cache is not None:
        cache.clear()
