"""The meaning of a query depends on neither the order of atoms, nor indexes, nor where values are.

The rules are in `tests/spec`; `fuzz/datalog/naive.py` is an evaluator that follows them and shares
no code with the engine.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path
from types import ModuleType

import pytest
import quipu

FUZZ = Path(__file__).parents[2] / "fuzz" / "datalog"

VALUES = [
    "1",
    "1.0",
    "0",
    "0.0",
    "-0.0",
    "2.5",
    "null",
    "'x'",
    "to_float('NAN')",
    "1152921504606846976",
    "'a text of some length'",
    "[1]",
    "[1.0]",
]
COLUMNS = {
    "Int": ["1", "0", "1152921504606846976"],
    "Float": ["1.0", "0.0", "-0.0", "2.5", "to_float('NAN')"],
    "String?": ["'x'", "'a text of some length'", "null"],
    "Any?": VALUES,
}


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    """The differential fuzzer."""
    sys.path.insert(0, str(FUZZ))
    return importlib.import_module("meaning")


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_programs_answer_as_a_naive_evaluator_does(fuzz: ModuleType, first: int) -> None:
    differences = [
        found.shown()
        for seed in range(first, first + 50)
        if (found := fuzz.difference(fuzz.Drawn(seed).program(), seed, list(range(len(fuzz.WAYS)))))
    ]
    assert not differences, "\n\n".join(differences)


@pytest.mark.parametrize("of", list(COLUMNS))
@pytest.mark.parametrize("is_key", [False, True])
def test_a_value_means_the_same_wherever_it_stands(db: quipu.Database, of: str, is_key: bool) -> None:
    rows = ", ".join(f"[{i}, {value}]" for i, value in enumerate(COLUMNS[of]))
    spec = f"{{x: {of}, k: Int}}" if is_key else f"{{k: Int => x: {of}}}"
    db.run(f"?[k, x] <- [{rows}] :create f {spec}")
    db.run(f"?[k, x] <- [{rows}] :create indexed {spec}")
    db.run("::index create indexed:by_x {x}")
    for value in VALUES:
        ways = {
            "in a rule of rows": f"f[k, x] <- [{rows}] ?[k, x] := f[k, x], x = {value}",
            "behind a rule": f"f[k, x] := *f{{k, x}} ?[k, x] := f[k, x], x = {value}",
            "in a rule of its own": f"one[x] := x = {value} ?[k, x] := *f{{k, x}}, one[x]",
            "in a constant rule": f"one[x] <- [[{value}]] ?[k, x] := *f{{k, x}}, one[x]",
        }
        for relation in ["f", "indexed"]:
            atom = f"*{relation}{{k, x}}"
            tests = {"=": f"x = {value}", "in": f"x in [{value}, {value}]", "not": f"not x != {value}, x in [{value}]"}
            for name, test in tests.items():
                for order in itertools.permutations([atom, *test.split(", ", 1)] if name == "not" else [atom, test]):
                    ways[f"{name} of {order}"] = f"?[k, x] := {', '.join(order)}"
            ways[f"in the atom of {relation}"] = f"?[k, x] := *{relation}{{k, x: {value}}}, x = {value}"
            # The rows that remain after removing those with another value.
            ways[f"not not of {relation}"] = f"other[k] := {atom}, not x = {value} ?[k, x] := {atom}, not other[k]"
            ways[f"not not in of {relation}"] = (
                f"other[k] := {atom}, not x in [{value}] ?[k, x] := {atom}, not other[k]"
            )
        answers = {way: repr(db.run(script).rows()) for way, script in ways.items()}
        assert len(set(answers.values())) == 1, f"{value} in {of}: {answers}"


@pytest.mark.parametrize("script", ["?[sum(v), count(v)] := {}", "r[k, v] := {} ?[sum(v), count(v)] := r[_, v]"])
def test_in_is_a_test_whichever_atom_stands_first(db: quipu.Database, script: str) -> None:
    db.run("?[k, v] <- [['x', 1.0], ['y', 2.0], ['z', 4.0]] :create r {k: String => v: Float}")
    atoms = ["*r{k, v}", "k in ['x', 'x', 'y', 'x']", "k in ['y', 'x', 'q', 'y']"]
    for order in itertools.permutations(atoms):
        assert db.run(script.format(", ".join(order))).rows() == [(3.0, 2)], order


@pytest.mark.parametrize("option", ["", ":limit 1", ":disable_magic_rewrite true"])
def test_a_constant_that_fails_fails_whether_or_not_it_is_reached(db: quipu.Database, option: str) -> None:
    db.run(":create none {k: Int => v: Int}")
    db.run("?[k, v] <- [[1, 1], [2, 2]] :create some {k: Int => v: Int}")
    large = "9223372036854775807 + 1"
    bodies = [
        ["*none{k}", f"v = {large}"],
        ["*some{k}", "k > 5", f"k < {large}"],
        ["k = 1", "not *some{k}", f"k in [{large}]"],
    ]
    for body in bodies:
        for order in itertools.permutations(body):
            for text in ["?[k] := {}", "never[k] := {}\n?[k] := *some{{k}}", "r[k] := {}\n?[k] := r[k], *none{{k}}"]:
                with pytest.raises(quipu.InvalidInputError, match="does not fit an Int"):
                    db.run(text.format(", ".join(order)) + f"\n{option}")
    assert db.run(f"?[k] := *some{{k}}, k < 5 || k == {large}\n{option}").rows()[:1] == [(1,)]
