"""The backend object, which NetworkX calls for graphs of this package.

A dispatched name without a kernel is answered by NetworkX's own function, which runs on our classes as on its own.
NetworkX would raise `NotImplementedError` for it otherwise, since `fallback_to_nx` is off by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import _private
from ._convert import adopt, from_networkx, to_networkx
from ._graph import CLASS_OF, is_ours
from ._kernels import KERNELS
from ._native import Kernel, Refused, RefusedAtFirst, answers_first


class Backend:
    """The object of the entry point ``networkx.backends``."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = _function(name)
        return found

    def can_run(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Return whether a call can run here, or the reason why not."""
        if _private.original(name) is None:
            return "NetworkX has no function with this name"
        return True

    def should_run(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Return whether graphs should be converted to run a call here, or the reason why not.

        NetworkX asks only if an argument belongs to another backend.
        """
        kernel = KERNELS.get(name)
        if kernel is None:
            return "Quipu has no kernel for it, so NetworkX's own code would run after a conversion"
        return kernel.refusal(args, kwargs) or True

    @staticmethod
    def convert_from_nx(
        graph: Any,
        edge_attrs: dict[str, Any] | None = None,
        node_attrs: dict[str, Any] | None = None,
        preserve_edge_attrs: bool = False,
        preserve_node_attrs: bool = False,
        preserve_graph_attrs: bool = False,
        name: str | None = None,
        graph_name: str | None = None,
    ) -> Any:
        """Return a graph of this package, in memory, with the vertices and edges of another, in the same order."""
        return from_networkx(
            graph,
            edge_attrs=None if preserve_edge_attrs else edge_attrs or {},
            node_attrs=None if preserve_node_attrs else node_attrs or {},
            graph_attrs=preserve_graph_attrs,
            called=name,
        )

    @staticmethod
    def convert_to_nx(result: Any, name: str | None = None) -> Any:
        """Return a copy of a graph of this package as one of NetworkX; anything else as it is."""
        return to_networkx(result) if is_ours(result) else result

    @staticmethod
    def graph__new__(kind: type[Any], *args: Any, **kwargs: Any) -> Any:
        """Return a new object of our class for one of NetworkX's; Python calls its ``__init__`` next."""
        return object.__new__(CLASS_OF.get(kind, kind))

    digraph__new__ = multigraph__new__ = multidigraph__new__ = graph__new__


def _function(name: str) -> Callable[..., Any]:
    own = _private.original(name)
    if own is None:
        raise AttributeError(name)
    kernel = KERNELS.get(name)
    if kernel is not None:
        return _with_kernel(kernel, own)
    return _adopting(own) if _private.returns_graph(name) else own


def _with_kernel(kernel: Kernel, own: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return kernel.run(*args, **kwargs)
        except RefusedAtFirst:
            token = answers_first.set(True)
            try:
                return own(*args, **kwargs)
            finally:
                answers_first.reset(token)
        except Refused:
            return own(*args, **kwargs)

    return call


def _adopting(own: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NetworkX whose new graphs are ours."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = own(*args, **kwargs)
        given = {id(value) for value in _values(args, kwargs)}
        return result if id(result) in given else adopt(result)

    return call


def _values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    yield from args
    yield from kwargs.values()


backend = Backend()
