"""Generates random programs for `naive.py`, and writes them as scripts.

There are few values, so that joins find rows: numbers that compare equal but are distinct (1 and
1.0, 0.0 and -0.0), values longer than a word (long strings, lists, large integers), null and NaN.
"""

from __future__ import annotations

import random
from dataclasses import replace

from naive import (
    Atom,
    Call,
    Condition,
    Const,
    Literal,
    Member,
    Program,
    Relation,
    Row,
    Rule,
    Term,
    Unify,
    Value,
    Var,
    same,
)

NAN = float("nan")
INTS = [-1, 0, 1, 2, 3, 1 << 53, (1 << 53) + 1, 1 << 60]
FLOATS = [-1.5, -0.0, 0.0, 1.0, 2.0, 0.5, 9007199254740992.0, NAN]
TEXTS = ["", "a", "b", "ab", "a text of words", "a text of words as well", "é", "inserted"]
LISTS: list[Value] = [(), (1,), (1.0,), (0.0,), (-0.0,), ("a", None)]
KINDS: dict[str, list[Value]] = {
    "int": INTS,
    "float": FLOATS,
    "num": INTS[:5] + FLOATS,
    "text": TEXTS,
    "any": [None, True, False, *INTS[1:4], *FLOATS[1:5], *TEXTS[1:6], *LISTS],
}
TYPES = {
    "int": ["Int", "Int", None, "Any"],
    "float": ["Float", "Float", None, "Any"],
    "num": [None, "Any"],
    "text": ["String", "String", None],
    "any": [None],
}
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
NUMBERS = {"int", "float", "num"}


class Drawn:
    """Generates the program of a seed."""

    def __init__(self, seed: int) -> None:
        """The same seed gives the same program."""
        self.r = random.Random(seed)
        self.kinds: dict[tuple[str, bool], list[str]] = {}
        self.fresh = 0

    def chance(self, p: float) -> bool:
        """True with probability `p`."""
        return self.r.random() < p

    def program(self) -> Program:
        """Generates the program."""
        program = Program({}, [])
        for i in range(self.r.randint(1, 3)):
            self.relation(program, f"s{i}" if self.chance(0.75) else f"_s{i}")
        if self.chance(0.4):
            self.constant(program, "c")
        for i in range(self.r.randint(0, 2)):
            self.rules(program, f"r{i}", is_last=False)
        self.rules(program, "?", is_last=True)
        if self.chance(0.02):
            self.r.choice(
                [one for name, one in program.relations.items() if name[0] != "_"] or [Relation((), 0, [])]
            ).is_hidden = True
        return program

    def value(self, kind: str) -> Value:
        """A random value of a kind."""
        return self.r.choice(KINDS[kind])

    def relation(self, program: Program, name: str) -> None:
        """Adds a stored relation, or a temporary one of the script."""
        kinds = [self.r.choice(list(KINDS)) for _ in range(self.r.randint(1, 3))]
        types = [self.r.choice(TYPES[kind]) for kind in kinds]
        keys = self.r.randint(1, len(kinds))
        rows: dict[object, Row] = {}
        for _ in range(self.r.choice([0, 2, 5, 9, 14])):
            row = tuple(map(self.value, kinds))
            # A Float column accepts an integer and stores it as a float.
            row = tuple(float(v) if t == "Float" and v is not None else v for v, t in zip(row, types, strict=True))
            rows[same(row[:keys])] = row
        columns = tuple((f"k{i}", of) for i, of in enumerate(types))
        index = tuple(self.r.sample(range(len(kinds)), self.r.randint(1, len(kinds)))) if self.chance(0.5) else ()
        program.relations[name] = Relation(columns, keys, list(rows.values()), () if name[0] == "_" else index)
        self.kinds[name, True] = kinds

    def constant(self, program: Program, name: str) -> None:
        """Adds a constant rule."""
        kinds = [self.r.choice(list(KINDS)) for _ in range(self.r.randint(1, 2))]
        rows = [tuple(self.constant_of(kind) for kind in kinds) for _ in range(self.r.randint(1, 5))]
        program.constants[name] = rows
        self.kinds[name, False] = kinds

    def constant_of(self, kind: str) -> Const:
        """A constant, or a parameter with its value."""
        self.fresh += 1
        return Const(self.value(kind), f"p{self.fresh}" if self.chance(0.15) else None)

    def rules(self, program: Program, name: str, *, is_last: bool) -> None:
        """Adds the rules of one name: recursive, several, or with aggregates."""
        is_recursive = not is_last and self.chance(0.3)
        count = 1 if self.chance(0.7) and not is_recursive else 2
        width = self.r.randint(1, 3)
        aggregates: list[str | None] = [None] * width
        if not is_recursive and self.chance(0.35):
            for i in range(self.r.randint(0, width - 1), width):
                aggregates[i] = self.r.choice(["count", "count", "sum", "min", "max", "count_unique"])
        kinds: list[str] | None = None
        for number in range(count):
            if is_recursive and number == 1 and kinds:
                self.kinds[name, False] = kinds
            drawn = self.rule(name, aggregates, itself=is_recursive and number == 1)
            kinds = [a if a == b else "any" for a, b in zip(kinds or drawn[1], drawn[1], strict=True)]
            program.rules.append(drawn[0])
        self.kinds[name, False] = kinds or []

    def rule(self, name: str, aggregates: list[str | None], *, itself: bool) -> tuple[Rule, list[str]]:
        """A rule and the kinds of its columns."""
        known: dict[str, str] = {}
        body: list[Literal] = []
        sources = [key for key in self.kinds if key != (name, False)]
        for i in range(self.r.randint(1, 3)):
            source = (name, False) if itself and i == 0 else self.r.choice(sources)
            body.append(self.atom(source, known, negated=False))
        if self.chance(0.25):
            body.append(self.member(known, fresh=True))
        tests = range(self.r.choice([0, 1, 1, 2, 3]))
        body.extend(self.test(known, sources, computes=not itself) for _ in tests)
        sums = [i for i, of in enumerate(aggregates) if of == "sum"]
        head = []
        for i, of in enumerate(aggregates):
            numbers = [var for var, kind in known.items() if kind in NUMBERS]
            if i in sums and not numbers:
                of = "count"
            var = self.r.choice(numbers if of == "sum" else list(known) or [self.bind(body, known)])
            head.append((of, var))
        head = [(aggregates[i] and of, var) for i, (of, var) in enumerate(head)]
        if "sum" in aggregates:
            # All rules of a name must have the same aggregates.
            head = [
                (of, var) if of == aggregates[i] else (aggregates[i], self.number(body, known))
                for i, (of, var) in enumerate(head)
            ]
        self.r.shuffle(body)
        results = {"count": "int", "count_unique": "int", "sum": "float", "min": "any", "max": "any"}
        return Rule(name, tuple(head), tuple(body)), [results[of] if of else known[var] for of, var in head]

    def number(self, body: list[Literal], known: dict[str, str]) -> str:
        """A numeric variable, which is bound if there is none."""
        self.fresh += 1
        name = f"n{self.fresh}"
        body.append(Member(name, (Const(1), Const(2.0), Const(1))))
        known[name] = "num"
        return name

    def bind(self, body: list[Literal], known: dict[str, str]) -> str:
        """Binds a new variable."""
        body.append(self.member(known, fresh=True))
        return next(iter(known))

    def variable(self, kind: str, known: dict[str, str]) -> Var:
        """A bound variable, which joins, or a new one."""
        fitting = [name for name, of in known.items() if of == kind or (of in NUMBERS and kind in NUMBERS)]
        if fitting and self.chance(0.5):
            name = self.r.choice(fitting)
        elif known and self.chance(0.1):
            name = self.r.choice(list(known))
        else:
            self.fresh += 1
            name = f"v{self.fresh}"
        before = known.get(name, kind)
        # Its values are of both kinds; two numeric kinds give a numeric one.
        known[name] = before if before == kind else "num" if {before, kind} <= NUMBERS else "any"
        return Var(name)

    def atom(self, source: tuple[str, bool], known: dict[str, str], *, negated: bool) -> Atom:
        """An atom of a relation or a rule."""
        args: list[Term | None] = []
        for kind in self.kinds[source]:
            if self.chance(0.2):
                args.append(None)
            elif self.chance(0.2):
                args.append(self.constant_of("num" if kind in NUMBERS else kind))
            elif negated:
                args.append(Var(self.r.choice(list(known))) if known else None)
            else:
                args.append(self.variable(kind, known))
        return Atom(source[0], tuple(args), source[1], negated)

    def member(self, known: dict[str, str], *, fresh: bool) -> Member:
        """`v in […]`, where items may repeat."""
        if fresh or not known:
            kind = self.r.choice(list(KINDS))
            name = self.variable(kind, {} if fresh else known).name
            known.setdefault(name, kind)
        else:
            name, kind = self.r.choice(list(known.items()))
        items: list[Term] = [self.constant_of("num" if kind in NUMBERS else kind) for _ in range(self.r.randint(1, 4))]
        others = [Var(other) for other in known if other != name]
        if others and not fresh and self.chance(0.2):
            items.append(self.r.choice(others))
        return Member(name, (*items, *items[: self.r.randint(0, 2)]))

    def test(self, known: dict[str, str], sources: list[tuple[str, bool]], *, computes: bool) -> Literal:
        """A literal that filters rows, or binds one more value."""
        if not known:
            return self.member(known, fresh=False)
        name, kind = self.r.choice(list(known.items()))
        numbers = [var for var, of in known.items() if of in NUMBERS]
        what = self.r.random()
        if what < 0.25:
            return self.comparison(name, kind, known)
        if what < 0.4:
            return Unify(name, self.constant_of("num" if kind in NUMBERS else kind), self.chance(0.3))
        if what < 0.5:
            other = self.r.choice(list(known))
            return Unify(name, Var(other), self.chance(0.3))
        if what < 0.65:
            return replace(self.member(known, fresh=False), negated=self.chance(0.4))
        # A recursive rule that computes new values may never end.
        if what < 0.8 and numbers and computes:
            self.fresh += 1
            # Constants are small, and values at most 2^60, so nothing overflows.
            left = Var(self.r.choice(numbers))
            term = Call(self.r.choice("+-"), (left, Const(self.r.choice([1, 0, 0.5, 1.0]))))
            if self.chance(0.02):
                term = Call("+", (Const((1 << 63) - 1), Const(1)))
            found = f"e{self.fresh}" if self.chance(0.7) else self.r.choice(numbers)
            known.setdefault(found, "num")
            return Unify(found, term)
        return self.atom(self.r.choice(sources), known, negated=True)

    def comparison(self, name: str, kind: str, known: dict[str, str]) -> Condition:
        """A condition; for kinds without an order only equality."""
        is_ordered = kind in NUMBERS | {"text"}
        function = self.r.choice(COMPARISONS if is_ordered else COMPARISONS[:2])
        fitting = [other for other, of in known.items() if of == kind or {of, kind} <= NUMBERS]
        right: Term = (
            Var(self.r.choice(fitting)) if self.chance(0.3) else self.constant_of("num" if kind in NUMBERS else kind)
        )
        args = (Var(name), right) if self.chance(0.8) else (right, Var(name))
        return Condition(Call(function, args), self.chance(0.2))


# Scripts.


def literal(value: Value) -> str:
    """A value as a script writes it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return "to_float('NAN')" if value != value else repr(value)
        case str():
            return "'" + value.replace("'", "\\'") + "'"
        case tuple():
            return "[" + ", ".join(map(literal, value)) + "]"
    return str(value)


class Script:
    """A program as a script, and its parameters."""

    def __init__(self, program: Program, r: random.Random) -> None:
        """Chooses at random among equivalent forms."""
        self.program, self.r = program, r
        self.params: dict[str, Value] = {}

    def setup(self) -> list[str]:
        """The scripts that create the stored relations."""
        scripts = []
        for name, relation in self.program.relations.items():
            if not name.startswith("_"):
                scripts += self.made(name, relation)
                if relation.index:
                    columns = ", ".join(f"k{i}" for i in relation.index)
                    scripts.append(f"::index create {name}:i {{{columns}}}")
                if relation.is_hidden:
                    scripts.append(f"::access_level hidden {name}")
        return scripts

    def made(self, name: str, relation: Relation) -> list[str]:
        """The scripts that create a relation: in one script, or row by row."""
        spec = [f"{column}: {of}" if of else column for column, of in relation.columns]
        keys, values = ", ".join(spec[: relation.keys]), ", ".join(spec[relation.keys :])
        spec_text = f"{name} {{{keys}{' => ' if values else ''}{values}}}"
        names = ", ".join(column for column, _ in relation.columns)
        rows = ", ".join(literal(row) for row in relation.rows)
        return [f":create {spec_text}", *([f"?[{names}] <- [{rows}] :put {spec_text}"] if rows else [])]

    def query(self) -> str:
        """The script with the query; it creates its temporary relations first."""
        own = [(name, one) for name, one in self.program.relations.items() if name.startswith("_")]
        rules = "\n".join([*map(self.constant, self.program.constants.items()), *map(self.rule, self.program.rules)])
        if not own:
            return rules
        blocks = []
        for name, relation in own:
            names = ", ".join(column for column, _ in relation.columns)
            create, *put = self.made(name, relation)
            way = self.r.random()
            if way < 0.4 and put:
                # A change with `:returning`.
                columns = ", ".join(f"k{i}" for i in range(len(relation.columns)))
                blocks += [
                    f"{{ {create.replace(name, name + '0', 1)} }}",
                    f"{{ {put[0].replace(name, name + '0', 1)} :returning }} as {name}1",
                ]
                blocks.append(f"{{ ?[{columns}] := *{name}1{{_kind: 'inserted', {columns}}} }} as {name}")
            elif way < 0.6 and put:
                rows = put[0].split(" :put ")[0]
                blocks += [f"{{ ?[{names}] <- [] }} as {name}", f"{{ {rows} }} as {name}1", f"%swap {name} {name}1"]
            else:
                blocks += [f"{{ {text} }}" for text in (create, *put)]
        return "\n".join([*blocks, "{", rules, "}"])

    def constant(self, named: tuple[str, list[tuple[Term, ...]]]) -> str:
        """A constant rule."""
        name, rows = named
        head = ", ".join(f"a{i}" for i in range(len(rows[0])))
        return f"{name}[{head}] <- [{', '.join('[' + ', '.join(map(self.term, row)) + ']' for row in rows)}]"

    def rule(self, rule: Rule) -> str:
        """An inline rule."""
        head = ", ".join(f"{of}({var})" if of else var for of, var in rule.head)
        return f"{rule.name}[{head}] := {', '.join(map(self.literal, rule.body))}"

    def literal(self, one: Literal) -> str:
        """One literal of a body."""
        no = "not " if one.negated else ""
        match one:
            case Condition(term):
                return no + self.term(term)
            case Unify(name, term):
                return f"{no}{name} = {self.term(term)}"
            case Member(name, items):
                return f"{no}{name} in [{', '.join(map(self.term, items))}]"
            case Atom(name, args, is_stored):
                if not is_stored or self.r.random() < 0.4:
                    inner = ", ".join("_" if arg is None else self.term(arg) for arg in args)
                    return f"{no}{'*' if is_stored else ''}{name}[{inner}]"
                named = [f"k{i}: {self.term(arg)}" for i, arg in enumerate(args) if arg is not None]
                self.r.shuffle(named)
                return f"{no}*{name}{{{', '.join(named)}}}"

    def term(self, term: Term) -> str:
        """An expression."""
        match term:
            case Var(name):
                return name
            case Const(value, param):
                if param is None:
                    return literal(value)
                self.params[param] = value
                return f"${param}"
            case Call(function, (left, right)):
                return f"{self.term(left)} {function} {self.term(right)}"
        raise TypeError(term)
