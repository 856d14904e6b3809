"""Writes the stubs of Python's methods of algorithms, from the table of the native module.

    python tools/algorithms.py            # writes
    python tools/algorithms.py --check    # fails if something would change

The table is `crates/analytics/src/table.rs`. `python/quipu/_algorithms.py` makes the methods; their stubs are written
between the marks of `python/quipu/_quipu.pyi`.
"""

import argparse
import subprocess
import sys
import textwrap
from pathlib import Path

from quipu import Graph, Projection, _algorithms

ROOT = Path(__file__).parent.parent
STUB = ROOT / "python/quipu/_quipu.pyi"
BEGIN = "    # --- algorithms of {}, written by tools/algorithms.py\n"
END = "    # --- end of algorithms\n"


def definition(method: _algorithms.AlgorithmMethod) -> str:
    """The stub of a method."""
    required = [f"{name}: {kind}" for name, kind, default, _ in method.parameters if default is ...]
    optional = [f"{name}: {kind} = {default!r}" for name, kind, default, _ in method.parameters if default is not ...]
    arguments = ", ".join(["self", *required, *(["*", *optional] if optional else [])])
    documentation = textwrap.indent(f'"""{method.__doc__}"""', "    ")
    return f"def {method.__name__}({arguments}) -> {method.result_type}:\n{documentation}"


def stub(text: str) -> str:
    """The stub with the methods between its marks."""
    for owner in (Projection, Graph):
        begin = BEGIN.format(owner.__name__)
        before, rest = text.split(begin)
        _, after = rest.split(END, 1)
        parts = (textwrap.indent(definition(method), "    ") for method in _algorithms.methods(owner))
        text = before + begin + "\n".join(parts) + "\n" + END + after
    return text


def formatted(text: str) -> str:
    """The text as ruff formats it."""
    command = [str(Path(sys.executable).parent / "ruff"), "format", "--stdin-filename", STUB.name, "-"]
    return subprocess.run(command, input=text, text=True, check=True, capture_output=True, cwd=ROOT).stdout


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if something would change")
    check = parser.parse_args().check
    old = STUB.read_text()
    new = formatted(stub(old))
    if new == old:
        return
    if check:
        sys.exit(f"{STUB.relative_to(ROOT)} differs from the table\nhint: run tools/algorithms.py")
    STUB.write_text(new)


if __name__ == "__main__":
    main()
