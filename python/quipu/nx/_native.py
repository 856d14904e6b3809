"""The kernels: functions of NetworkX that run over arrays and projections of the graph.

A kernel has the arguments, the values, the order and the types of NetworkX's function. It refuses all other cases, and
NetworkX's own code runs: views, subclasses, graphs below :data:`VERTICES_MIN`, rare arguments, and what ends in an
error, which then is NetworkX's.

Reading a graph takes about as long as NetworkX's own answer to a question of one pass. So kernels of one pass refuse
the first question about a graph in memory, unless its arrays are there; the next one, about the same unchanged graph,
makes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import networkx as nx
import quipu
from quipu_networkx import networkx_version

from . import _private
from ._graph import CLASS_OF, class_of, is_ours
from ._projecting import projection_of
from ._rows import Rows, clean_store, is_known, kept, rows_of, vertices_of
from ._weights import Combine, NotNumbersError, Weights, read_weights

#: Smaller graphs are answered by NetworkX's code before a projection is made.
VERTICES_MIN = 1000

_CLASSES = frozenset(CLASS_OF) | frozenset(CLASS_OF.values())


class Refused(Exception):
    """NetworkX's own code has to run. The argument says why."""


class RefusedAtFirst(Refused):
    """NetworkX's own code has to run, and functions that it calls: this is the first question about the graph."""


#: Whether NetworkX's code runs after :class:`RefusedAtFirst`.
answers_first: ContextVar[bool] = ContextVar("answers_first", default=False)


class Call:
    """One call of a kernel: the graph, its arrays and the arguments."""

    def __init__(self, kernel: Kernel, G: Any, arguments: Mapping[str, Any]):
        self.G = G
        self._kernel = kernel
        self._arguments = arguments

    def __contains__(self, name: str) -> bool:
        return name in self._arguments

    def __getitem__(self, name: str) -> Any:
        return self._arguments[name]

    @cached_property
    def rows(self) -> Rows:
        """The arrays of the graph.

        Raises:
            Refused: It has parallel edges or self-loops that the kernel does not take.
        """
        rows = rows_of(self.G)
        if rows.has_loops and not self._kernel.loops:
            raise Refused("there are self-loops")
        return rows

    def weights(self, name: Any, combine: Combine = "sum", *, default: Any = 1) -> Weights | None:
        """Return the weights of the edges; ``None`` if ``name`` is, so that all are 1.

        Raises:
            Refused: A weight is not a finite number, or the name is a function.
        """
        if name is None:
            if self.rows.counts is None or combine == "min":
                return None
            return Weights(self.rows.counts.astype("float64"), {int})
        if not isinstance(name, str):
            raise Refused("the kernel takes the name of a weight, not a function")
        try:
            return read_weights(self.G, self.rows, name, combine if self.G.is_multigraph() else None, default)
        except NotNumbersError as error:
            raise Refused(str(error)) from error

    def projection(self, weights: Weights | None = None, *, loops: bool = True) -> Any:
        """Return the projection of the graph, see :func:`quipu.nx._projecting.projection_of`."""
        return projection_of(self.rows, None if weights is None else weights.values, loops=loops)

    def position(self, n: Any) -> int:
        """Return the position of a vertex.

        Raises:
            Refused: It is none.
        """
        try:
            return self.rows.at[n]
        except (KeyError, TypeError) as error:
            raise Refused("an argument is no vertex") from error

    def by_vertex(self, values: Any) -> dict[Any, Any]:
        """Return values of all vertices as a dict in their order, with Python's numbers."""
        return dict(zip(self.rows.nodes, values.tolist(), strict=True))

    def edges(self, us: Any, vs: Any) -> Iterator[tuple[Any, Any]]:
        """Yield pairs of vertices."""
        yield from zip(self.named(us), self.named(vs), strict=True)

    def named(self, positions: Any, given: list[Any] | None = None) -> list[Any]:
        """Return the vertices at these positions; the first ones as they were given, such as 1.0 for the vertex 1."""
        names = self.rows.names[positions].tolist()
        if given:
            names[: len(given)] = given
        return names


@dataclass(frozen=True)
class Kernel:
    """One function of NetworkX."""

    name: str
    compute: Callable[[Call], Any]
    #: Name of the argument that is the graph.
    graph: str = "G"
    #: NetworkX's own code needs one pass over the edges.
    is_one_pass: bool = False
    #: It takes directed graphs, undirected ones, or both.
    directed: bool | None = None
    #: It takes parallel edges, and self-loops.
    parallel: bool = False
    loops: bool = False
    #: Accepted values of arguments; a call with another value is refused.
    only: Mapping[str, Any] = field(default_factory=dict)
    #: Oldest version of NetworkX with this meaning.
    since: tuple[int, int] = (3, 5)
    #: NetworkX has no code of its own, so small graphs and views are taken too.
    is_alone: bool = False

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run it.

        Raises:
            Refused: NetworkX's own code has to run.
            ValueError: It refuses the arguments, and NetworkX has no code of its own.
        """
        arguments = self._bound(args, kwargs)
        if self.is_alone:
            arguments[self.graph] = _copied_unless_plain(arguments[self.graph])
        reason = self._refusal(arguments)
        G = arguments.get(self.graph)
        if reason is not None:
            raise Refused(reason)
        if self.is_one_pass:
            _refuse_the_first(G)
        call = Call(self, G, arguments)
        try:
            return self.compute(call)
        except quipu.Error as error:
            if getattr(error, "reason", None) == "no_convergence":
                raise nx.PowerIterationFailedConvergence(call["max_iter"]) from error
            if self.is_alone:
                raise
            raise Refused(str(error)) from error
        except Refused as error:
            if self.is_alone:
                raise ValueError(f"{self.name}: {error}") from error
            raise

    def refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return why NetworkX's own code has to run; ``None`` if the graph of another backend looks fit."""
        try:
            arguments = self._bound(args, kwargs)
        except Refused as error:
            return str(error)
        if self.is_one_pass:
            return "NetworkX needs one pass over the edges, a conversion more"
        return self._refusal(arguments)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = _signature(self.name).bind(*args, **kwargs)
        except TypeError as error:
            raise Refused(str(error)) from error
        bound.apply_defaults()
        return bound.arguments

    def _refusal(self, arguments: dict[str, Any]) -> str | None:
        G = arguments[self.graph]
        for name, value in self.only.items():
            if arguments[name] is not value and not (isinstance(value, str) and arguments[name] == value):
                return f"the kernel takes no other {name!r} than {value!r}"
        if networkx_version() < self.since:
            return "this version of NetworkX has another meaning"
        if type(G) not in _CLASSES:
            return "a subclass may have another meaning"
        if _is_view(G):
            return "a view is not projected"
        if self.directed is not None and G.is_directed() != self.directed:
            return "the kernel takes no directed graph" if G.is_directed() else "the kernel takes directed graphs only"
        if G.is_multigraph() and not self.parallel:
            return "the kernel takes no parallel edges"
        if vertices_of(G) < VERTICES_MIN and not self.is_alone:
            return f"the graph has less than {VERTICES_MIN} vertices"
        return None


def _is_view(G: Any) -> bool:
    return hasattr(G, "_graph") or not isinstance(G._adj, dict)


def _copied_unless_plain(G: Any) -> Any:
    """The graph, or a copy of a view or of a subclass's graph."""
    if not is_ours(G) or (type(G) in _CLASSES and not _is_view(G)):
        return G
    return class_of(G)(G)


def _refuse_the_first(G: Any) -> None:
    if kept(G) is not None or (clean_store(G) is not None and not G._stored.cache.is_complete()):
        return
    if answers_first.get() or not is_known(G):
        raise RefusedAtFirst("NetworkX needs one pass over the edges, as reading them does; the next call has arrays")


@cache
def _signature(name: str) -> inspect.Signature:
    own = _private.original(name)
    assert own is not None
    return inspect.signature(own)


#: Kernels by the name under which NetworkX dispatches them.
KERNELS: dict[str, Kernel] = {}


def kernel(name: str | None = None, **options: Any) -> Callable[[Callable[[Call], Any]], Callable[[Call], Any]]:
    """Put a function into :data:`KERNELS`, under its own name without another, with fields of :class:`Kernel`."""

    def put(compute: Callable[[Call], Any]) -> Callable[[Call], Any]:
        key = name or compute.__name__
        if _private.original(key) is not None:  # older versions of NetworkX lack some
            KERNELS[key] = Kernel(key, compute, **options)
        return compute

    return put
