"""Writes Python's methods of algorithms, and their stubs, from the table of the native module.

    python tools/algorithms.py            # writes
    python tools/algorithms.py --check    # fails if something would change

The table is `crates/analytics/src/table.rs`. Methods are written to `python/quipu/_algorithms.py`, their stubs between
the marks of `python/quipu/_quipu.pyi`.
"""

import argparse
import importlib
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
METHODS = ROOT / "python/quipu/_algorithms.py"
STUB = ROOT / "python/quipu/_quipu.pyi"
BEGIN = "    # --- algorithms of {}, written by tools/algorithms.py\n"
END = "    # --- end of algorithms\n"

TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "vertex": "_Vertex",
    "vertices": "_Vertex | Iterable[_Vertex]",
    "vertex_values": "Mapping[Any, float] | AlgorithmResult",
    "communities": "Iterable[Iterable[_Vertex]] | AlgorithmResult",
}
SCALARS = {
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
# Parameters of Graph's methods, which are those of `project`.
PROJECTED = [
    ("undirected", "bool", "False", "Whether directions are ignored."),
    ("nodes", "Iterable[_Vertex] | None", "None", "The vertices of a subgraph; without it all."),
    ("where", "str | None", "None", "Condition for edges, see :meth:`project`."),
    ("params", "Mapping[str, Any] | None", "None", "Values of the condition's parameters."),
]
WEIGHT = (
    "weight",
    "str | None",
    '"auto"',
    'Name of the weights, or ``None``; ``"auto"`` uses them where NetworkX does.',
)

Algorithm = tuple[str, str, bool, list[tuple[str, str, list[str], Any, str]]]


def parameters_of(algorithm: Algorithm, owner: str) -> tuple[list[tuple[str, str, str | None, str]], list[str]]:
    """Name, type, default and description of each parameter, and the names of those of `project`."""
    found: list[tuple[str, str, str | None, str]] = []
    for name, of, words, default, about in algorithm[3]:
        annotation = TYPES.get(of) or f"Literal[{', '.join(repr(word) for word in words)}]".replace("'", '"')
        about = about.replace("`", "``")
        if default is ...:
            found.append((name, annotation, None, about))
        else:
            shown = f'"{default}"' if isinstance(default, str) else repr(default)
            found.append((name, f"{annotation} | None" if default is None else annotation, shown, about))
    found.sort(key=lambda parameter: parameter[2] is not None)
    projected = [*([WEIGHT] if algorithm[2] else []), *PROJECTED] if owner == "Graph" else []
    return [*found, *projected], [name for name, *_ in projected]


def definition(algorithm: Algorithm, owner: str, body: str | None) -> str:
    """The text of a method: in the stub if there is no body."""
    name, about = algorithm[0], algorithm[1].replace("`", "``")
    parameters, _ = parameters_of(algorithm, owner)
    required = [f"{p}: {of}" for p, of, default, _ in parameters if default is None]
    optional = [f"{p}: {of} = {default}" for p, of, default, _ in parameters if default is not None]
    owner_type = "" if body is None else f": {owner}"
    arguments = ", ".join([f"self{owner_type}", *required, *(["*", *optional] if optional else [])])
    lines = [f"def {name}({arguments}) -> {SCALARS.get(name, 'AlgorithmResult')}:"]
    doc = [f"{about[0].upper()}{about[1:]}"]
    if parameters:
        doc += ["", "Args:"]
        for parameter, _, _, text in parameters:
            doc += textwrap.wrap(f"{parameter}: {text}", 88, initial_indent="    ", subsequent_indent="        ")
        doc.append("")
    text = "\n".join(doc).rstrip()
    quoted = f'"""{text}"""' if len(doc) == 1 else f'"""{text}\n"""'
    lines += textwrap.indent(quoted, "    ").split("\n")
    if body is not None:
        lines.append(f"    {body}")
    return "\n".join(line.rstrip() for line in lines)


def body_of(algorithm: Algorithm, owner: str) -> str:
    """The statement of a method."""
    parameters, projected = parameters_of(algorithm, owner)
    given = ", ".join(f'"{name}": {name}' for name, *_ in parameters if name not in projected)
    if owner == "Projection":
        return f'return self._run("{algorithm[0]}", {{{given}}})'
    weight = "weight" if algorithm[2] else "None"
    project = f'self._project("{algorithm[0]}", {weight}, undirected, nodes, where, params)'
    return f'return {project}._run("{algorithm[0]}", {{{given}}})'


def methods(table: list[Algorithm]) -> str:
    """The text of `_algorithms.py`."""
    parts = [
        '"""Methods of `Graph` and `Projection` that run algorithms, written by tools/algorithms.py.\n\n'
        'The table is `crates/analytics/src/table.rs`.\n"""\n',
        "from __future__ import annotations\n",
        "from typing import TYPE_CHECKING, Any, Literal, TypeAlias\n",
        "from ._quipu import Graph, Projection\n",
        "if TYPE_CHECKING:\n    from collections.abc import Iterable, Mapping\n\n"
        "    from ._quipu import AlgorithmResult\n\n    _Vertex: TypeAlias = int | str\n",
    ]
    for owner in ("Projection", "Graph"):
        for algorithm in table:
            text = definition(algorithm, owner, body_of(algorithm, owner))
            parts.append("\n" + text.replace(f"def {algorithm[0]}(", f"def {owner.lower()}_{algorithm[0]}(") + "\n")
    parts.append('\ndef attach() -> None:\n    """Make the functions methods."""')
    parts.append('    for prefix, owner in (("projection_", Projection), ("graph_", Graph)):')
    parts.append("        for name, function in [*globals().items()]:")
    parts.append("            if name.startswith(prefix):")
    parts.append("                function.__name__ = name.removeprefix(prefix)")
    parts.append('                function.__qualname__ = f"{owner.__name__}.{function.__name__}"')
    parts.append("                setattr(owner, function.__name__, function)\n")
    return "\n".join(parts)


def stub(text: str, table: list[Algorithm]) -> str:
    """The stub with the methods between its marks."""
    for owner in ("Projection", "Graph"):
        begin = BEGIN.format(owner)
        before, rest = text.split(begin)
        _, after = rest.split(END, 1)
        parts = (textwrap.indent(definition(algorithm, owner, None), "    ") for algorithm in table)
        text = before + begin + "\n".join(parts) + "\n" + END + after
    return text


def formatted(text: str, name: str) -> str:
    """The text as ruff formats it."""
    command = [str(Path(sys.executable).parent / "ruff"), "format", "--stdin-filename", name, "-"]
    return subprocess.run(command, input=text, text=True, check=True, capture_output=True, cwd=ROOT).stdout


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if something would change")
    check = parser.parse_args().check
    if not METHODS.exists():
        METHODS.write_text("def attach() -> None: ...\n")
    sys.path.insert(0, str(ROOT / "python"))
    # The table is for this tool alone, and has no stub.
    table: list[Algorithm] = vars(importlib.import_module("quipu._quipu"))["_algorithms"]()
    for path, text in ((METHODS, methods(table)), (STUB, stub(STUB.read_text(), table))):
        new = formatted(text, path.name)
        if path.exists() and path.read_text() == new:
            continue
        if check:
            sys.exit(f"{path.relative_to(ROOT)} differs from the table\nhint: run tools/algorithms.py")
        path.write_text(new)


if __name__ == "__main__":
    main()
