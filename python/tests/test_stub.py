"""The stub matches the module: names, parameters, their kinds, and whether they have defaults."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import quipu
from quipu import _quipu

STUB = ast.parse((Path(quipu.__file__).parent / "_quipu.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}

# Members of every object; PyO3 adds comparisons and such where Python requires them.
INHERITED = set(dir(object)) | {"__module__"}


def parameters_of_stub(function: ast.FunctionDef) -> list[tuple[str, str, bool]]:
    """Name, kind and whether there is a default, of each parameter."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    found = [(arg.arg, "positional", i >= first_default) for i, arg in enumerate(positional)]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "variadic", False))
    found += [
        (arg.arg, "keyword", default is not None)
        for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "any keyword", False))
    return found


def parameters_of_module(function: Any) -> list[tuple[str, str, bool]]:
    """Name, kind and whether there is a default, of each parameter."""
    kinds = {
        inspect.Parameter.POSITIONAL_ONLY: "positional",
        inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
        inspect.Parameter.VAR_POSITIONAL: "variadic",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_KEYWORD: "any keyword",
    }
    return [
        (parameter.name, kinds[parameter.kind], parameter.default is not inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
    ]


def test_the_stub_names_what_the_module_has() -> None:
    public = {name for name in dir(_quipu) if not name.startswith("_")}
    assert public == CLASSES.keys() | FUNCTIONS.keys()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_have_the_parameters_of_the_stub(name: str) -> None:
    assert parameters_of_module(getattr(_quipu, name)) == parameters_of_stub(FUNCTIONS[name])


def test_defaults_are_those_of_the_stub() -> None:
    for name, parameter in inspect.signature(quipu.open).parameters.items():
        keywords = FUNCTIONS["open"].args
        stub = dict(zip([arg.arg for arg in keywords.kwonlyargs], keywords.kw_defaults, strict=True))
        if name in stub:
            default = stub[name]
            assert default is not None
            assert parameter.default == ast.literal_eval(default), name


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_classes_have_the_members_of_the_stub(name: str) -> None:
    real = getattr(_quipu, name)
    members = {node.name: node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}
    assert {member for member in dir(real) if member not in INHERITED} == members.keys() - INHERITED
    for member, node in members.items():
        decorators = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
        attribute = inspect.getattr_static(real, member)
        if "property" in decorators:
            assert inspect.isgetsetdescriptor(attribute), member
        elif not member.startswith("__"):
            assert parameters_of_module(attribute) == parameters_of_stub(node), member


def test_everything_public_is_described() -> None:
    for name, node in {**CLASSES, **FUNCTIONS}.items():
        assert ast.get_docstring(node), name
    for name, node in CLASSES.items():
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                text = ast.get_docstring(member)
                assert text, f"{name}.{member.name}"
                parameters = {arg.arg for arg in [*member.args.args, *member.args.kwonlyargs]} - {"self"}
                for parameter in parameters:
                    assert f"{parameter}:" in text, f"{name}.{member.name}({parameter})"


REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
ALGORITHMS = Path(__file__).parents[2] / "docs" / "guides" / "algorithms.md"


def names_in(text: str) -> set[str]:
    """The words between backticks."""
    return {word for quoted in re.findall("`([^`\n]+)`", text) for word in re.findall(r"\w+", quoted)}


def entry(name: str) -> str:
    """The part of the reference about a class: the section that names it, or else its lines."""
    page = REFERENCE.read_text(encoding="utf-8")
    sections = [part for part in page.split("\n## ") if f"`{name}`" in part.partition("\n")[0]]
    return "\n".join(sections or [line for line in page.splitlines() if f"`{name}`" in line])


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_the_reference_names_every_member_of_a_class(name: str) -> None:
    members = {node.name for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}
    algorithms = names_in(ALGORITHMS.read_text(encoding="utf-8")) if name in ("Graph", "Projection") else set[str]()
    missing = {member for member in members if not member.startswith("_")} - names_in(entry(name)) - algorithms
    assert not missing


def test_the_reference_names_what_the_package_exports() -> None:
    page = names_in(REFERENCE.read_text(encoding="utf-8"))
    assert {name for name in quipu.__all__ if not name.startswith("_")} - page == set[str]()
    assert FUNCTIONS.keys() <= page
