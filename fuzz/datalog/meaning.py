"""Compares Quipu's results with those of an evaluator too simple to be wrong, on random programs.

    python fuzz/datalog/meaning.py --seed 0 --seconds 3600

A seed is a program (`drawn.py`), which is written in several equivalent ways: with atoms in another
order, through additional rules, with rows in a rule instead of a relation, without indexes, without
magic sets. Each must have the result of `naive.py`. A program whose results differ is reduced while
they still differ, and printed.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

import quipu
from drawn import Drawn, Script
from naive import Atom, Const, Evaluator, Failed, Member, Program, Rule, TooMuch, Unify, Value, Var, same

SHRINK_S = 20.0
# Sums of the same floats in another order differ by less, relative to a sum without cancellation:
# each of up to 90 additions rounds by at most 2 ** -53.
ROUNDING = 1e-14
Rows = Counter[tuple[object, ...]]


@dataclass
class Answer:
    """The rows of a query, or its error."""

    rows: Rows | None
    error: str = ""

    def shown(self) -> str:
        """Formats it for people."""
        if self.rows is None:
            return f"error: {self.error}"
        return "\n".join(sorted(map(str, self.rows.elements()))) or "(no rows)"


def expected(program: Program) -> tuple[Answer, bool]:
    """The result by the rules of the language, and whether an engine may fail instead."""
    evaluator = Evaluator(program)
    try:
        rows = evaluator.answer()
    except Failed as failed:
        return Answer(None, str(failed)), True
    return Answer(Counter(map(same, rows))), evaluator.may_fail


def plain(value: object) -> Value:
    """A value of a result in the evaluator's form."""
    return tuple(map(plain, value)) if isinstance(value, list) else value


def asked(program: Program, seed: int, option: str = "") -> tuple[Answer, str]:
    """Quipu's result, and the scripts that it ran."""
    script = Script(program, random.Random(seed))
    with quipu.open() as db:
        setup = script.setup()
        text = script.query()
        if option:
            # The option goes inside the braces, if the script has some.
            text = f"{text[:-1]}{option}\n}}" if text.endswith("\n}") else f"{text}\n{option}"
        shown = "\n".join([*(f"{{ {one} }}" for one in setup), text, f"parameters: {script.params}"])
        try:
            for one in setup:
                db.run(one)
            params = {name: list(value) if isinstance(value, tuple) else value for name, value in script.params.items()}
            rows = db.run(text, params, timeout=20).rows()
        except quipu.InvalidInputError as error:
            return Answer(None, str(error)), shown
        except quipu.Error as error:
            # Programs of this kind must not fail in any other way.
            return Answer(None, f"{type(error).__name__}: {error}"), shown
        return Answer(Counter(same(tuple(map(plain, row))) for row in rows)), shown


# Equivalent ways to write a program.


def as_drawn(program: Program, _: random.Random) -> Program:
    """The program unchanged."""
    return program


def shuffled(program: Program, r: random.Random) -> Program:
    """The program with atoms and rules in another order."""
    rules = [replace(rule, body=tuple(r.sample(rule.body, len(rule.body)))) for rule in program.rules]
    return replace(program, rules=r.sample(rules, len(rules)))


def without_indexes(program: Program, _: random.Random) -> Program:
    """The program without indexes."""
    return replace(program, relations={name: replace(one, index=()) for name, one in program.relations.items()})


def through_rules(program: Program, r: random.Random) -> Program:
    """The program with relations, lists and constants behind additional rules."""
    made = []

    def behind(literal: object) -> object:
        name = f"x{len(made)}"
        match literal:
            case Atom(stored, args, True) if r.random() < 0.7:
                head = tuple((None, f"a{i}") for i in range(len(args)))
                made.append(Rule(name, head, (Atom(stored, tuple(Var(var) for _, var in head), is_stored=True),)))
                return replace(literal, name=name, is_stored=False)
            case Member(var, items) if all(isinstance(item, Const) for item in items) and r.random() < 0.7:
                made.append(Rule(name, ((None, "a"),), (Member("a", items),)))
                return Atom(name, (Var(var),), is_stored=False, negated=literal.negated)
            case Unify(var, Const() as value) if r.random() < 0.7:
                made.append(Rule(name, ((None, "a"),), (Unify("a", value),)))
                return Atom(name, (Var(var),), is_stored=False, negated=literal.negated)
        return literal

    rules = [replace(rule, body=tuple(map(behind, rule.body))) for rule in program.rules]
    return replace(program, rules=[*made, *rules])


def said_by_rules(program: Program, _: random.Random) -> Program:
    """The program with rows of relations as constant rules."""
    said = {name: one for name, one in program.relations.items() if one.rows and not one.is_hidden}
    constants = program.constants | {
        f"of_{name}": [tuple(map(Const, row)) for row in one.rows] for name, one in said.items()
    }
    named = {name: f"of_{name}" for name in said}

    def behind(literal: object) -> object:
        if isinstance(literal, Atom) and literal.is_stored and literal.name in named:
            return replace(literal, name=named[literal.name], is_stored=False)
        return literal

    rules = [replace(rule, body=tuple(map(behind, rule.body))) for rule in program.rules]
    return replace(program, rules=rules, constants=constants)


WAYS: list[tuple[Callable[[Program, random.Random], Program], str]] = [
    (as_drawn, ""),
    (shuffled, ""),
    (without_indexes, ""),
    (through_rules, ""),
    (said_by_rules, ""),
    (shuffled, ":disable_magic_rewrite true"),
]


@dataclass
class Difference:
    """A way of writing a program whose result is wrong."""

    way: int
    script: str
    found: Answer
    wanted: Answer

    def shown(self) -> str:
        """Formats it for people."""
        return f"{self.script}\n--- quipu\n{self.found.shown()}\n--- wanted\n{self.wanted.shown()}"


def as_float(big_endian: bytes) -> float:
    """The float of eight bytes."""
    values: tuple[float] = struct.unpack(">d", big_endian)
    return values[0]


def differ_by_rounding(found: Rows | None, wanted: Rows | None) -> bool:
    """Whether rows differ only in the last bits of floats: a sum of floats depends on its order."""
    if found is None or wanted is None or found.total() != wanted.total():
        return False

    def is_near(a: object, b: object) -> bool:
        if not (isinstance(a, tuple) and isinstance(b, tuple)):
            return a == b
        some, others = cast("tuple[object, ...]", a), cast("tuple[object, ...]", b)
        match some, others:
            case ("float", bytes(x)), ("float", bytes(y)):
                return math.isclose(as_float(x), as_float(y), rel_tol=ROUNDING, abs_tol=1e-300)
            case _:
                return len(some) == len(others) and all(map(is_near, some, others))

    def in_order(rows: Rows) -> list[tuple[object, ...]]:
        return sorted(rows.elements(), key=str)

    return all(map(is_near, in_order(found), in_order(wanted)))


def difference(program: Program, seed: int, ways: list[int]) -> Difference | None:
    """The first way whose result differs; None if there is none."""
    try:
        wanted, may_fail = expected(program)
    except TooMuch:
        return None
    for way in ways:
        written, option = WAYS[way]
        found, script = asked(written(program, random.Random(seed)), seed, option)
        is_same = found.rows == wanted.rows or ("sum(" in script and differ_by_rounding(found.rows, wanted.rows))
        is_as_wanted = is_same and not ODD.match(found.error)
        is_excused = found.rows is None and (may_fail or VALUE_ERROR.match(found.error)) and not ODD.match(found.error)
        if not is_as_wanted and not is_excused:
            return Difference(way, script, found, wanted)
    return None


# A function that rejects values of a kind may be applied to rows that do not reach the result.
VALUE_ERROR = re.compile("(lt|le|gt|ge|add|sub): ")

# Errors that no generated program may cause.
ODD = re.compile("(Internal|Corruption|Poisoned|Conflict|Cancelled|Limit)?Error: ")


def smaller(program: Program) -> Iterator[Program]:
    """Variants of the program with something removed."""
    for i, rule in enumerate(program.rules):
        others = [*program.rules[:i], *program.rules[i + 1 :]]
        yield replace(program, rules=others)
        for j in range(len(rule.body)):
            left = replace(rule, body=(*rule.body[:j], *rule.body[j + 1 :]))
            yield replace(program, rules=[*program.rules[:i], left, *program.rules[i + 1 :]])
        for j in range(len(rule.head)):
            left = replace(rule, head=(*rule.head[:j], *rule.head[j + 1 :]))
            if rule.name == "?" and left.head and len([one for one in program.rules if one.name == "?"]) == 1:
                yield replace(program, rules=[*program.rules[:i], left, *program.rules[i + 1 :]])
    for name, relation in program.relations.items():
        yield replace(program, relations={other: one for other, one in program.relations.items() if other != name})
        yield replace(program, relations=program.relations | {name: replace(relation, index=())})
        for i in range(len(relation.rows)):
            left = replace(relation, rows=relation.rows[:i] + relation.rows[i + 1 :])
            yield replace(program, relations=program.relations | {name: left})
    for name, rows in program.constants.items():
        yield replace(program, constants={other: one for other, one in program.constants.items() if other != name})
        for i in range(len(rows)):
            if len(rows) > 1:
                yield replace(program, constants=program.constants | {name: rows[:i] + rows[i + 1 :]})


def shrunk(program: Program, seed: int, found: Difference) -> Difference:
    """Reduces the program while it differs in the same way."""
    end = time.monotonic() + SHRINK_S
    goes_on = True
    while goes_on:
        goes_on = False
        for left in smaller(program):
            if time.monotonic() > end:
                return found
            try:
                less = difference(left, seed, [found.way])
            except (KeyError, TypeError, ValueError, IndexError):
                # The removed part was needed.
                continue
            # A variant that is not a valid program fails in another way.
            if less and less.found.error[:12] == found.found.error[:12]:
                program, found, goes_on = left, less, True
                break
    return found


def run(seeds: Iterator[int], seconds: float, differences_max: int) -> int:
    """Tries seeds; returns how many differ."""
    end = time.monotonic() + seconds
    tried = differ = last = 0
    for seed in seeds:
        if time.monotonic() > end or differ >= differences_max:
            break
        tried, last = tried + 1, seed
        program = Drawn(seed).program()
        if found := difference(program, seed, list(range(len(WAYS)))):
            differ += 1
            found = shrunk(program, seed, found)
            print(f"=== seed {seed}, {WAYS[found.way][0].__name__}\n{found.shown()}\n", flush=True)
    print(f"{tried} programs up to seed {last}, each in {len(WAYS)} ways: {differ} differ")
    return differ


def main() -> None:
    """Runs the seeds that the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--differences", type=int, default=20, help="stop after this number of differences")
    args = parser.parse_args()
    counted = iter(range(args.seed, sys.maxsize))
    sys.exit(1 if run(counted, args.seconds, args.differences) else 0)


if __name__ == "__main__":
    main()
