"""Automatic use of the backend: NetworkX's priorities, set and restored."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import networkx as nx

NAME = "quipu"
# NetworkX asks backends for classes since 3.6.
_KINDS = tuple(kind for kind in ("algos", "generators", "classes") if kind in nx.config.backend_priority)

_before: dict[str, Any] | None = None


class _Enabled:
    """Result of :func:`enable`: a ``with`` statement disables the backend at the end of its block."""

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        disable()


def enable(*, algos: bool = True, generators: bool = True, classes: bool = True) -> _Enabled:
    """Let NetworkX use the backend by itself, and fall back to its own code where there is no kernel.

    The same happens without a change of a program if the environment variable ``QUIPU_NX_AUTOCONFIG`` is ``1``.

    >>> quipu.nx.enable()
    >>> nx.pagerank(nx.path_graph(10))

    Args:
        algos: Whether functions run in Quipu where it has a kernel and the graph is large enough.
        generators: Whether functions that return graphs return Quipu's.
        classes: Whether ``nx.Graph()`` and its three sisters are Quipu's; from NetworkX 3.6 on.

    Returns:
        A context manager that calls :func:`disable`. It need not be used.
    """
    global _before
    priorities: Any = nx.config.backend_priority
    if _before is None:
        _before = {kind: list(priorities[kind]) for kind in _KINDS}
        _before["fallback_to_nx"] = nx.config.fallback_to_nx
    wishes = {"algos": algos, "generators": generators, "classes": classes}
    for kind in _KINDS:
        wanted = wishes[kind]
        others = [name for name in priorities[kind] if name != NAME]
        priorities[kind] = [NAME, *others] if wanted else others
    nx.config.fallback_to_nx = True
    return _Enabled()


def disable() -> None:
    """Restore the priorities that :func:`enable` found. Without a call of it, nothing happens."""
    global _before
    if _before is None:
        return
    nx.config.fallback_to_nx = _before.pop("fallback_to_nx")
    priorities: Any = nx.config.backend_priority
    for kind, names in _before.items():
        priorities[kind] = names
    _before = None
