"""A Datalog evaluator too simple to be wrong: it tries every row, and repeats rules to a fixpoint.

It shares no code with the engine. By the rules of `tests/spec`, two values are the same if kind and
value are equal; only `==` and `<` compare numbers of different kinds. `meaning.py` runs random
programs on both.
"""

from __future__ import annotations

import functools
import itertools
import operator
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Value = object
Row = tuple[Value, ...]
Bound = dict[str, Value]

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


# Rows that are tried at most; larger programs find nothing more.
LOOKS_MAX = 300_000


class Failed(Exception):
    """An expression has no value, or the script must be rejected."""


class TooMuch(Exception):
    """The program takes too long for this evaluator."""


# Programs.


@dataclass(frozen=True)
class Var:
    """A variable."""

    name: str


@dataclass(frozen=True)
class Const:
    """A constant; `param` is the parameter that passes it."""

    value: Value
    param: str | None = None


@dataclass(frozen=True)
class Call:
    """An application of a function."""

    function: str
    args: tuple[Term, ...]


Term = Var | Const | Call


@dataclass(frozen=True)
class Atom:
    """An atom of a relation (`is_stored`) or a rule.

    `None` is `_`, or a column that is not listed.
    """

    name: str
    args: tuple[Term | None, ...]
    is_stored: bool
    negated: bool = False


@dataclass(frozen=True)
class Condition:
    """A condition: an expression that must be true."""

    term: Call
    negated: bool = False


@dataclass(frozen=True)
class Unify:
    """`name = term`."""

    name: str
    term: Term
    negated: bool = False


@dataclass(frozen=True)
class Member:
    """`name in [items]`."""

    name: str
    items: tuple[Term, ...]
    negated: bool = False


Literal = Atom | Condition | Unify | Member


@dataclass(frozen=True)
class Rule:
    """A head of variables, the last ones with aggregates, and a body."""

    name: str
    head: tuple[tuple[str | None, str], ...]
    body: tuple[Literal, ...]


@dataclass
class Relation:
    """A stored relation, or a temporary one of the script."""

    columns: tuple[tuple[str, str | None], ...]
    keys: int
    rows: list[Row]
    index: tuple[int, ...] = ()
    is_hidden: bool = False


@dataclass
class Program:
    """Relations, rules and constant rules. `?` is the query."""

    relations: dict[str, Relation]
    rules: list[Rule]
    constants: dict[str, list[tuple[Term, ...]]] = field(default_factory=dict)


# Values.


def same(value: Value) -> tuple[object, ...]:
    """A key that is equal for values that are the same."""
    match value:
        case None:
            return ("null",)
        case bool():
            return ("bool", value)
        case int():
            return ("int", value)
        case float():
            # 0.0 and -0.0 are distinct; all NaN are the same.
            return ("float", "nan" if value != value else struct.pack(">d", value))
        case str():
            return ("str", value)
        case tuple() | list():
            return ("list", *map(same, value))
    raise TypeError(value)


def is_number(value: Value) -> bool:
    """Whether it is a number; a bool is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def compare(a: Value, b: Value) -> int:
    """Compares by the total order of values."""
    ranks = [[type(None), bool, (int, float), str, (tuple, list)]] * 2
    rank = [
        next(i for i, kind in enumerate(kinds) if isinstance(v, kind)) for kinds, v in zip(ranks, (a, b), strict=True)
    ]
    if rank[0] != rank[1]:
        return rank[0] - rank[1]
    if is_number(a):
        return compare_numbers(a, b) or (a_float(a) - a_float(b)) or (zero(a) - zero(b))
    if isinstance(a, tuple | list):
        for x, y in zip(a, b, strict=False):
            if first := compare(x, y):
                return first
        return len(a) - len(b)
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return (a > b) - (a < b) if a is not None else 0


def a_float(value: Value) -> int:
    """A tie-break: of two equal numbers, the integer comes first."""
    return int(isinstance(value, float))


def zero(value: Value) -> int:
    """A tie-break: -0.0 comes before 0.0."""
    return int(same(value) == same(0.0))


def compare_numbers(a: Value, b: Value) -> int:
    """Compares numbers; NaN is the largest and equals itself."""
    nans = int(a != a), int(b != b)
    return nans[0] - nans[1] if any(nans) else (a > b) - (a < b)


def equal(a: Value, b: Value) -> bool:
    """Evaluates `==`."""
    return compare_numbers(a, b) == 0 if is_number(a) and is_number(b) else same(a) == same(b)


def ordered(test: Callable[[int, int], bool]) -> Callable[[Value, Value], bool]:
    """Makes `<` and similar operators, which need two values of one kind."""

    def function(a: Value, b: Value) -> bool:
        kinds = [type(v) if not is_number(v) else float for v in (a, b)]
        if kinds[0] is not kinds[1] or None in (a, b):
            raise Failed(f"no order of {a!r} and {b!r}")
        if kinds[0] is float:
            # Comparisons with NaN are only true in the total order.
            return test(compare_numbers(a, b), 0)
        return test(compare(a, b), 0)

    return function


def arithmetic(of: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """Makes `+` and similar operators."""

    def function(a: Value, b: Value) -> Value:
        if not (is_number(a) and is_number(b)):
            raise Failed(f"no numbers: {a!r}, {b!r}")
        if isinstance(a, int) and isinstance(b, int):
            found = of(a, b)
            if not INT_MIN <= found <= INT_MAX:
                raise Failed("an overflow")
            return found
        return of(float(a), float(b))

    return function


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "==": equal,
    "!=": lambda a, b: not equal(a, b),
    "<": ordered(operator.lt),
    "<=": ordered(operator.le),
    ">": ordered(operator.gt),
    ">=": ordered(operator.ge),
    "+": arithmetic(operator.add),
    "-": arithmetic(operator.sub),
    "*": arithmetic(operator.mul),
    "is_null": lambda a: a is None,
    "is_in": lambda a, items: same(a) in {same(item) for item in items},
    "list": lambda *items: tuple(items),
    "coalesce": lambda a, b: b if a is None else a,
}


def value_of(term: Term, bound: Bound) -> Value:
    """Evaluates an expression."""
    match term:
        case Var(name):
            return bound[name]
        case Const(value):
            return value
        case Call(function, args):
            return FUNCTIONS[function](*(value_of(arg, bound) for arg in args))


def names(term: Term | None) -> set[str]:
    """The variables of an expression."""
    match term:
        case Var(name):
            return {name}
        case Call(_, args):
            return set().union(*map(names, args)) if args else set()
    return set()


def total(values: list[Value]) -> Value:
    """Computes `sum`, which returns a float and adds integers exactly."""
    ints = sum(v for v in values if isinstance(v, int))
    return float(ints) + sum(v for v in values if isinstance(v, float))


def extreme(largest: bool) -> Callable[[list[Value]], Value]:
    """Makes `min` and `max`, which ignore null."""

    def function(values: list[Value]) -> Value:
        found = sorted((v for v in values if v is not None), key=functools.cmp_to_key(compare))
        return found[-1 if largest else 0] if found else None

    return function


AGGREGATES: dict[str, Callable[[list[Value]], Value]] = {
    "count": len,
    "sum": total,
    "min": extreme(largest=False),
    "max": extreme(largest=True),
    "count_unique": lambda values: len({same(v) for v in values}),
}


# Evaluation of programs.


class Evaluator:
    """Evaluates one program."""

    def __init__(self, program: Program) -> None:
        """Nothing is evaluated yet."""
        self.program = program
        self.found: dict[str, dict[tuple[object, ...], Row]] = {}
        # Whether an expression failed for values that another literal may filter out: an engine may
        # or may not evaluate it.
        self.may_fail = False
        self.looks = 0

    def answer(self) -> list[Row]:
        """The rows of `?`; fails where every engine must fail."""
        for literal in itertools.chain.from_iterable(rule.body for rule in self.program.rules):
            for term in terms(literal):
                check_constants(term)
            if isinstance(literal, Atom) and literal.is_stored and self.program.relations[literal.name].is_hidden:
                raise Failed("a hidden relation")
        for name, rows in self.program.constants.items():
            self.found[name] = {same(row): row for row in (tuple(value_of(v, {}) for v in row) for row in rows)}
        for stratum in self.strata():
            self.fill(stratum)
        return list(self.found["?"].values())

    def strata(self) -> list[set[str]]:
        """Groups of mutually recursive rules, in evaluation order."""
        reads: dict[str, set[str]] = {}
        for rule in self.program.rules:
            own = reads.setdefault(rule.name, set())
            own |= {one.name for one in rule.body if isinstance(one, Atom) and not one.is_stored}
        rules = set(reads)
        reach = {name: set(reads[name]) & rules for name in reads}
        for middle in reads:
            for name in reads:
                if middle in reach[name]:
                    reach[name] |= reach[middle]
        groups = {frozenset({other for other in reach[name] if name in reach[other]} | {name}) for name in reads}
        return [
            set(group)
            for group in sorted(groups, key=lambda group: len(set().union(*(reach[n] for n in group)) | group))
        ]

    def fill(self, stratum: set[str]) -> None:
        """Evaluates the rules of a stratum to a fixpoint."""
        rules = [rule for rule in self.program.rules if rule.name in stratum]
        for name in stratum:
            self.found[name] = {}
        if any(aggregate for rule in rules for aggregate, _ in rule.head):
            for name in stratum:
                self.aggregate(name, [rule for rule in rules if rule.name == name])
            return
        grown = True
        while grown:
            grown = False
            for rule in rules:
                for bound in list(self.bindings(rule.body)):
                    row = tuple(bound[name] for _, name in rule.head)
                    grown |= same(row) not in self.found[rule.name]
                    self.found[rule.name].setdefault(same(row), row)

    def aggregate(self, name: str, rules: list[Rule]) -> None:
        """Evaluates a rule with aggregates."""
        groups: dict[tuple[object, ...], tuple[Row, list[Row]]] = {}
        for rule in rules:
            for bound in self.bindings(rule.body):
                key = tuple(bound[var] for aggregate, var in rule.head if aggregate is None)
                values = tuple(bound[var] for aggregate, var in rule.head if aggregate)
                groups.setdefault(same(key), (key, []))[1].append(values)
        aggregates = [aggregate for aggregate, _ in rules[0].head if aggregate]
        if not groups and all(aggregate for aggregate, _ in rules[0].head):
            groups[()] = ((), [])
        for key, rows in groups.values():
            columns = [[row[i] for row in rows] for i in range(len(aggregates))]
            row = (*key, *(AGGREGATES[of](column) for of, column in zip(aggregates, columns, strict=True)))
            self.found[name][same(row)] = row

    def bindings(self, body: tuple[Literal, ...]) -> Iterator[Bound]:
        """All bindings of a body's variables, one for each combination of rows."""
        yield from self.extend({}, list(body))

    def extend(self, bound: Bound, left: list[Literal]) -> Iterator[Bound]:
        """The bindings that extend these."""
        if not left:
            yield bound
            return
        # Tests come first, then literals that bind one value, then atoms.
        ready = min(range(len(left)), key=lambda i: self.rank(left[i], bound))
        if self.rank(left[ready], bound) > UNREADY - 1:
            raise TypeError(f"nothing binds what is left of {left}")
        rest = left[:ready] + left[ready + 1 :]
        try:
            found = list(self.step(left[ready], bound))
        except Failed:
            self.may_fail = True
            return
        for more in found:
            yield from self.extend(more, rest)

    def rank(self, literal: Literal, bound: Bound) -> int:
        """The priority of a literal; the lowest is evaluated next."""
        match literal:
            case Atom(args=args, negated=negated):
                inner = set().union(*(names(arg) for arg in args if isinstance(arg, Call)), set())
                outer = set().union(*map(names, args), set()) if negated else inner
                return (0 if negated else 3) if outer <= bound.keys() else UNREADY
            case Condition(term):
                return 0 if names(term) <= bound.keys() else UNREADY
            case Unify(name, term, negated):
                if isinstance(term, Var) and name in bound and not negated:
                    return 1
                needed = names(term) | ({name} if negated else set())
                return 1 if needed <= bound.keys() else UNREADY
            case Member(name, items, negated):
                needed = set().union(*map(names, items), {name} if negated else set())
                return 2 if needed <= bound.keys() else UNREADY

    def step(self, literal: Literal, bound: Bound) -> Iterator[Bound]:
        """The bindings after one more literal."""
        match literal:
            case Condition(term, negated):
                if value_of(term, bound) != negated:
                    yield bound
            case Unify(name, term, negated):
                if isinstance(term, Var) and term.name not in bound:
                    yield bound | {term.name: bound[name]}
                    return
                value = value_of(term, bound)
                if name not in bound:
                    yield bound | {name: value}
                elif (same(bound[name]) == same(value)) != negated:
                    yield bound
            case Member(name, items, negated):
                values = {same(v): v for v in (value_of(item, bound) for item in items)}
                if name in bound:
                    if (same(bound[name]) in values) != negated:
                        yield bound
                else:
                    yield from (bound | {name: value} for value in values.values())
            case Atom(name, args, is_stored, negated):
                rows = self.program.relations[name].rows if is_stored else list(self.found[name].values())
                self.looks += len(rows) + 1
                if self.looks > LOOKS_MAX:
                    raise TooMuch
                found = [more for row in rows if (more := matched(args, row, bound)) is not None]
                yield from ([] if found else [bound]) if negated else found


UNREADY = 9


def matched(args: tuple[Term | None, ...], row: Row, bound: Bound) -> Bound | None:
    """The bindings extended by a row of an atom, if it matches."""
    bound = dict(bound)
    for arg, value in zip(args, row, strict=True):
        match arg:
            case None:
                continue
            case Var(name) if name not in bound:
                bound[name] = value
            case _:
                if same(value_of(arg, bound)) != same(value):
                    return None
    return bound


def terms(literal: Literal) -> list[Term]:
    """The expressions of a literal."""
    match literal:
        case Atom(args=args):
            return [arg for arg in args if arg is not None]
        case Condition(term) | Unify(term=term):
            return [term]
        case Member(items=items):
            return list(items)


def check_constants(term: Term) -> None:
    """Fails if a part without variables has no value, even if no row evaluates it."""
    if isinstance(term, Call):
        args = term.args[:1] if term.function == "coalesce" else term.args
        for arg in args:
            check_constants(arg)
        if not names(term):
            value_of(term, {})
