"""Docstrings at run time are those of the stub, which editors show."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
import quipu
from quipu import _quipu, errors

STUB = ast.parse((Path(quipu.__file__).parent / "_quipu.pyi").read_text())


def described(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names of the stub with their docstrings: `open`, `Graph`, `Graph.upsert`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    yield f"{node.name}.{member.name}", ast.get_docstring(member) or ""


DESCRIBED = dict(described(STUB))


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_docstring_is_that_of_the_stub(name: str) -> None:
    found: object = _quipu
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    assert DESCRIBED[name]
    assert inspect.cleandoc(found.__doc__ or "") == DESCRIBED[name]


def test_the_docstring_of_the_module_is_that_of_the_stub() -> None:
    assert inspect.cleandoc(_quipu.__doc__ or "") == ast.get_docstring(STUB)


def public(thing: object) -> Iterator[tuple[str, object]]:
    """Public members, without those of every Python object."""
    for name in dir(thing):
        if not name.startswith("_"):
            yield name, inspect.getattr_static(thing, name)


def test_everything_that_can_be_imported_is_described() -> None:
    for name in quipu.__all__:
        thing = getattr(quipu, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        if inspect.isclass(thing) and not issubclass(thing, errors.Error):
            for member, value in public(thing):
                assert value.__doc__, f"{name}.{member}"


def test_the_signature_is_kept_beside_the_docstring() -> None:
    assert str(inspect.signature(quipu.Graph.upsert)).startswith("(self, /, u, v")
    assert "text_signature" not in (quipu.Graph.upsert.__doc__ or "")
    assert not (quipu.Graph.upsert.__doc__ or "").startswith("upsert(")
