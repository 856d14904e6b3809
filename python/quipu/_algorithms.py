"""Methods of `Graph` and `Projection` that run algorithms, made from the table in `crates/analytics/src/table.rs`.

`tools/algorithms.py` writes their stubs with the same descriptions.
"""

from __future__ import annotations

from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

from ._quipu import Graph, Projection

if TYPE_CHECKING:
    from inspect import Signature

#: Name, description, whether weights matter, and parameters with name, type, words, default
#: (``...``: required) and description.
Algorithm: TypeAlias = tuple[str, str, bool, list[tuple[str, str, list[str], Any, str]]]
#: Name, type, default (``...``: required) and description of a parameter.
Parameter: TypeAlias = tuple[str, str, Any, str]

_TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "vertex": "_Vertex",
    "vertices": "_Vertex | Iterable[_Vertex]",
    "vertex_values": "Mapping[Any, float] | AlgorithmResult",
    "communities": "Iterable[Iterable[_Vertex]] | AlgorithmResult",
}
_SCALARS = {
    "average_clustering": "float",
    "degree_assortativity_coefficient": "float",
    "diameter": "float",
    "is_bipartite": "bool",
    "is_directed_acyclic_graph": "bool",
    "maximum_flow_value": "float",
    "modularity": "float",
    "overall_reciprocity": "float",
    "radius": "float",
    "transitivity": "float",
}


# Parameters of Graph's methods, which are those of `_project`.
_WEIGHT: Parameter = (
    "weight",
    "str | None",
    "auto",
    'Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.',
)
_PROJECTED: list[Parameter] = [
    ("undirected", "bool", False, "Whether directions are ignored."),
    ("nodes", "Iterable[_Vertex] | None", None, "The vertices of a subgraph; without it all."),
    ("where", "str | None", None, "Condition for edges, see :meth:`project`."),
    ("params", "Mapping[str, Any] | None", None, "Values of the condition's parameters."),
]


class AlgorithmMethod:
    """A method of `Graph` or of `Projection`.

    `inspect` and `help` see a method as any other. Its docstring and its signature are made when they are asked for:
    for all methods they would take longer than the rest of ``import quipu``.
    """

    def __init__(self, algorithm: Algorithm, owner: type[Graph | Projection]):
        self.__name__, self._about, self._is_weighted, self._own = algorithm
        self.__qualname__ = f"{owner.__name__}.{self.__name__}"
        self.__objclass__ = owner
        self._required = tuple(name for name, _, _, default, _ in self._own if default is ...)
        self._needed = set(self._required)
        self._known = {name for name, *_ in self._own}
        if owner is Graph:
            self._known.update(name for name, *_ in self._projected())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, instance: Any, /, *args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(self._required, args, strict=False)) | kwargs
        is_once = len(arguments) == len(args) + len(kwargs)
        if not (is_once and self._known.issuperset(arguments) and arguments.keys() >= self._needed):
            self._refuse(arguments)
            self.__signature__.bind(instance, *args, **kwargs)  # raises the TypeError
        if self.__objclass__ is Graph:
            weight = arguments.pop("weight", "auto" if self._is_weighted else None)
            projected = [arguments.pop(name, default) for name, _, default, _ in _PROJECTED]
            instance = instance._project(self.__name__, weight, *projected)
        return instance._run(self.__name__, arguments)

    def _refuse(self, arguments: dict[str, Any]) -> None:
        """Raise the error for arguments that a projection was made with."""
        if self.__objclass__ is Projection:
            for name, *_ in [_WEIGHT, *_PROJECTED]:
                if name in arguments and name not in self._known:
                    hint = f"it is an argument of project(), which made the projection: project({name}=...)"
                    raise TypeError(f"got an unexpected keyword argument '{name}'\nhint: {hint}")

    def __repr__(self) -> str:
        return f"<method {self.__qualname__!r}>"

    def _projected(self) -> list[Parameter]:
        return [_WEIGHT, *_PROJECTED] if self._is_weighted else _PROJECTED

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters after ``self``, those without a default first."""
        found: list[Parameter] = []
        for name, kind, words, default, about in self._own:
            annotation = _TYPES.get(kind) or f"Literal[{', '.join(repr(word) for word in words)}]".replace("'", '"')
            found.append((name, f"{annotation} | None" if default is None else annotation, default, _quoted(about)))
        found.sort(key=lambda parameter: parameter[2] is not ...)
        return [*found, *self._projected()] if self.__objclass__ is Graph else found

    @property
    def result_type(self) -> str:
        """Type of the value that the method returns."""
        return _SCALARS.get(self.__name__, "AlgorithmResult")

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        import textwrap

        about = _quoted(self._about)
        lines = [f"{about[0].upper()}{about[1:]}"]
        if self.parameters:
            lines += ["", "Args:"]
        for name, _, _, text in self.parameters:
            lines += textwrap.wrap(f"{name}: {text}", 88, initial_indent=" " * 4, subsequent_indent=" " * 8)
        return "\n".join([*lines, ""] if self.parameters else lines)

    @property
    def __signature__(self) -> Signature:
        from inspect import Parameter, Signature

        found = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
        for name, annotation, default, _ in self.parameters:
            kind = Parameter.POSITIONAL_OR_KEYWORD if default is ... else Parameter.KEYWORD_ONLY
            given = Parameter.empty if default is ... else default
            found.append(Parameter(name, kind, default=given, annotation=annotation))
        return Signature(found, return_annotation=self.result_type)


def _quoted(about: str) -> str:
    return about.replace("`", "``")


def methods(owner: type[Graph | Projection]) -> list[AlgorithmMethod]:
    """Return a class's method for each algorithm."""
    table: list[Algorithm] = import_module("quipu._quipu")._algorithms()  # it has no stub
    return [AlgorithmMethod(algorithm, owner) for algorithm in table]


def attach() -> None:
    """Give both classes a method for each algorithm."""
    for owner in (Projection, Graph):
        for method in methods(owner):
            setattr(owner, method.__name__, method)
