"""Random programs of the query language, as trees of text that can be made smaller.

A program is a list of steps, each a script with parameters. Names, column types and the kinds of variables are kept
while a program is made, so that most programs run without errors: two engines may evaluate in another order, and which
error comes first says little.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


class Seq:
    """Text made of parts; parts may be left out down to `least`."""

    def __init__(self, parts: list[Seq | str], sep: str = "", least: int | None = None) -> None:
        """`least` of None says that no part may go."""
        self.parts, self.sep, self.least = parts, sep, least

    def text(self) -> str:
        """The text."""
        return self.sep.join(part if isinstance(part, str) else part.text() for part in self.parts)

    def smaller(self) -> list[Seq]:
        """Copies that lack something, the smallest first."""
        found = []
        if self.least is not None and len(self.parts) > self.least:
            half = len(self.parts) // 2
            if half > 1 and half >= self.least:
                found += [Seq(self.parts[half:], self.sep, self.least), Seq(self.parts[:half], self.sep, self.least)]
            for i in range(len(self.parts)):
                found.append(Seq(self.parts[:i] + self.parts[i + 1 :], self.sep, self.least))
        for i, part in enumerate(self.parts):
            if isinstance(part, Seq):
                found += [
                    Seq([*self.parts[:i], less, *self.parts[i + 1 :]], self.sep, self.least) for less in part.smaller()
                ]
        return found

    def shuffled(self, r: random.Random) -> Seq:
        """The same with the literals of bodies, and alternatives, in another order."""
        parts = [part if isinstance(part, str) else part.shuffled(r) for part in self.parts]
        if self.least == 1 and self.sep in (", ", " or "):
            r.shuffle(parts)
        return Seq(parts, self.sep, self.least)


@dataclass
class Step:
    """A script and its parameters."""

    script: Seq
    params: dict[str, object]
    tags: set[str] = field(default_factory=set)


@dataclass
class Column:
    """A column of a stored relation; the kind says which values are in it."""

    name: str
    kind: str
    type: str | None
    is_key: bool


@dataclass
class Rule:
    """What a rule or relation gives; `computed` ones do not grow."""

    name: str
    kinds: list[str]


TYPES = {
    "int": ["Int", "Int", None, "Any?", "Any", "Int?"],
    "float": ["Float", "Float", None, "Float?"],
    "str": ["String", "String", None, "String?"],
    "bool": ["Bool", None],
    "list": ["[Int]", None],
    "any": [None, None, "Any?"],
    "maybe": ["Int?", "Int?", None],
}

JOINABLE = {"int": {"int", "maybe", "any"}, "maybe": {"int", "maybe", "any"}, "any": {"int", "maybe", "any", "str"}}


class Maker:
    """Makes one program."""

    def __init__(self, seed: int, large: float) -> None:
        """The same seed makes the same program; so many have a large relation."""
        self.large = large
        self.r = random.Random(seed)
        # Engines differ in whether 1 unifies with 1.0, so most programs have integers only.
        self.floats = self.r.random() < 0.3
        self.mixed = self.floats and self.r.random() < 0.5
        self.relations: dict[str, list[Column]] = {}
        self.fresh = 0
        self.is_large = False
        self.indexes: dict[str, list[Column]] = {}
        self.params: dict[str, object] = {}
        self.tags: set[str] = set()

    def chance(self, p: float) -> bool:
        """True so often."""
        return self.r.random() < p

    def name(self) -> str:
        """A new variable."""
        self.fresh += 1
        return f"x{self.fresh}"

    # Values.

    def value(self, kind: str) -> object:
        """A value of a kind."""
        r = self.r
        if kind == "int":
            return r.choice([0, 1, 1, 2, 2, 3, 4, -1])
        if kind == "float":
            return r.choice([0.0, 0.5, 1.0, 1.5, 2.0, -1.0, 3.25])
        if kind == "str":
            return r.choice(["", "a", "a", "b", "ab", "B", "abc"])
        if kind == "bool":
            return self.chance(0.5)
        if kind == "list":
            return r.choice([[], [1], [1, 2], [2], [0, 3]])
        if kind == "maybe":
            return r.choice([None, 0, 1, 2, 3])
        if self.mixed:
            return r.choice([0, 1, 1.0, 2, 2.0, None, "a", True, [1], 0.5])
        return r.choice([0, 1, 2, 3, None, "a", "b", True, [1]])

    def literal(self, kind: str) -> str:
        """A value as text, or a parameter that has it."""
        value = self.value(kind)
        if self.chance(0.08):
            name = f"p{len(self.params)}"
            self.params[name] = value
            return f"${name}"
        return literal(value)

    # Relations.

    def create(self, name: str) -> Step:
        """A script that makes a relation with rows."""
        r = self.r
        keys, values = r.choice([(1, 0), (1, 1), (1, 1), (2, 0), (2, 0), (2, 1), (3, 0), (1, 2), (2, 2)])
        columns = []
        for i in range(keys + values):
            kind = r.choices(["int", "any", "str", "float", "maybe", "bool", "list"], [50, 10, 12, 8, 8, 5, 3])[0]
            if kind == "float" and not self.floats:
                kind = "int"
            kind_types = TYPES[kind]
            columns.append(Column("abcdef"[i], kind, r.choice(kind_types), i < keys))
        self.relations[name] = columns
        if self.chance(0.04):
            rows: list[Seq | str] = []
        else:
            rows = [self.row([c.kind for c in columns]) for _ in range(r.choice([2, 4, 6, 9, 14]))]
        spec = spec_of(columns, with_types=True)
        head = ", ".join(c.name for c in columns)
        return Step(Seq([f"?[{head}] <- [", Seq(rows, ", ", 0), f"] :create {name} {spec}"]), {})

    def row(self, kinds: list[str]) -> str:
        """A row as a list literal."""
        return "[" + ", ".join(literal(self.value(kind)) for kind in kinds) + "]"

    def create_history(self, name: str) -> Step:
        """A relation with a validity as its last key."""
        self.relations[name] = [
            Column("a", "int", "Int", True),
            Column("at", "validity", "Validity", True),
            Column("b", "int", "Int", False),
        ]
        rows: list[Seq | str] = []
        for _ in range(self.r.choice([2, 5, 8])):
            asserted = "true" if self.chance(0.75) else "false"
            rows.append(f"[{self.r.randint(0, 2)}, [{self.r.randint(1, 6)}, {asserted}], {self.r.randint(0, 4)}]")
        return Step(
            Seq(["?[a, at, b] <- [", Seq(rows, ", ", 0), f"] :create {name} {{a: Int, at: Validity => b: Int}}"]), {}
        )

    # Expressions.

    def pick(self, env: dict[str, str], kind: str) -> str | None:
        """A variable of a kind."""
        fit = [name for name, has in env.items() if has == kind]
        return self.r.choice(fit) if fit else None

    def expr(self, kind: str, env: dict[str, str], depth: int = 2) -> str:
        """An expression over bound variables."""
        r = self.r
        var = self.pick(env, kind)
        if depth <= 0 or self.chance(0.3):
            return var if var and self.chance(0.8) else self.literal(kind)

        def e(of: str) -> str:
            return self.expr(of, env, depth - 1)

        if kind == "int":
            return r.choice(
                [
                    lambda: f"({e('int')} + {e('int')})",
                    lambda: f"{e('int')} - ({e('int')})",
                    lambda: f"({e('int')}) * {e('int')}",
                    lambda: f"-({e('int')})",
                    lambda: f"max({e('int')}, {e('int')})",
                    lambda: f"min({e('int')}, {e('int')})",
                    lambda: f"abs({e('int')})",
                    lambda: f"({e('int')}) % 3",
                    lambda: f"length({e('str')})",
                    lambda: f"length({e('list')})",
                    lambda: f"if({e('bool')}, {e('int')}, {e('int')})",
                    lambda: f"cond({e('bool')}, {e('int')}, {e('bool')}, {e('int')}, true, 7)",
                    lambda: f"coalesce({e('maybe')}, {e('int')})",
                    lambda: f"({e('maybe')} ~ {e('int')})",
                ]
            )()
        if kind == "float":
            if not self.floats:
                return var or self.literal(kind)
            return r.choice(
                [
                    lambda: f"({e('int')}) / 2",
                    lambda: f"({e('float')} + 0.125)",
                    lambda: f"({e('int')} + 0.125)",
                    lambda: f"({e('float')} * 1.375)",
                    lambda: f"({e('int')}) ^ 2",
                    lambda: f"to_float({e('int')})",
                    lambda: f"round({e('float')})",
                ]
            )()
        if kind == "str":
            return r.choice(
                [
                    lambda: f"({e('str')} ++ {e('str')})",
                    lambda: f"concat({e('str')}, {e('str')}, 'z')",
                    lambda: f"lowercase({e('str')})",
                    lambda: f"to_string({e('int')})",
                    lambda: f"if({e('bool')}, {e('str')}, 'q')",
                ]
            )()
        if kind == "bool":
            op = r.choice(["<", "<=", ">", ">=", "==", "!="])
            of = r.choice(["int", "int", "int", "float" if self.floats else "int", "str"])
            return r.choice(
                [
                    lambda: f"({e(of)} {op} {e(of)})",
                    lambda: f"({e(of)} {op} {e(of)})",
                    lambda: f"({e(of)} {op} {e(of)})",
                    lambda: f"({e('any')} {r.choice(['==', '!='])} {e('any')})",
                    lambda: f"is_null({e('any')})",
                    lambda: f"({e('bool')} && {e('bool')})",
                    lambda: f"({e('bool')} || {e('bool')})",
                    lambda: f"!({e('bool')})",
                    lambda: f"starts_with({e('str')}, {self.literal('str')})",
                    lambda: f"is_in({e('int')}, [{e('int')}, {e('int')}])",
                    lambda: f"regex_matches({e('str')}, 'a.?')",
                ]
            )()
        if kind == "list":
            return r.choice(
                [
                    lambda: f"[{e('int')}, {e('int')}]",
                    lambda: f"append({e('list')}, {e('int')})",
                    lambda: f"concat({e('list')}, {e('list')})",
                    lambda: f"sorted({e('list')})",
                    lambda: f"union({e('list')}, {e('list')})",
                ]
            )()
        if kind == "maybe":
            return r.choice([lambda: e("int"), lambda: "null", lambda: f"if({e('bool')}, {e('int')})"])()
        return self.expr(r.choice(["int", "str", "maybe", "bool", "list"]), env, depth - 1)

    # Bodies.

    def term(self, kind: str, env: dict[str, str], negated: bool, seen: dict[str, str]) -> str:
        """An argument of an atom; new variables go into `seen`."""
        joinable = [v for v, has in (env | seen).items() if has == kind]
        if not joinable or self.chance(0.1):
            joinable += [v for v, has in (env | seen).items() if has in JOINABLE.get(kind, ())]
        roll = self.r.random()
        if negated:
            if env and roll < 0.75:
                fit = [v for v in joinable if v in env]
                if fit:
                    return self.r.choice(fit)
            return self.literal(kind) if roll < 0.85 else "_"
        if joinable and roll < 0.36:
            return self.r.choice(joinable)
        if roll < 0.41:
            return self.literal(kind)
        if roll < 0.53:
            # Named wildcards are used once: there they unify, here they do not.
            return self.r.choice(["_", "_", f"_{self.name()}"])
        if roll < 0.55 and kind != "validity":
            return self.expr(kind, env, 1)
        name = self.name()
        seen[name] = kind
        return name

    def atom(self, env: dict[str, str], rules: list[Rule], negated: bool = False, force: Rule | None = None) -> str:
        """An atom; its variables are added to `env` if it is not negated."""
        seen: dict[str, str] = {}
        if force or (rules and self.chance(0.4)):
            rule = force or self.r.choice(rules)
            text = f"{rule.name}[{', '.join(self.term(k, env, negated, seen) for k in rule.kinds)}]"
        else:
            name = self.r.choice([*self.relations, *self.indexes])
            columns = self.relations.get(name) or self.indexes[name]
            at = ""
            if any(c.kind == "validity" for c in columns) and self.chance(0.7):
                at = f" @ {self.r.randint(0, 7)}"
                bound = self.pick(env, "int")
                if bound and self.chance(0.2):
                    at = f" @ {bound} + 2"
            if self.chance(0.6) and ":" not in name:
                inner = ", ".join(self.term(c.kind, env, negated, seen) for c in columns)
                text = f"*{name}[{inner}{at}]"
            else:
                some = self.r.sample(columns, self.r.randint(1, len(columns)))
                pairs = []
                for c in some:
                    if not negated and self.chance(0.15) and c.name not in env and c.name not in seen:
                        seen[c.name] = c.kind
                        pairs.append(c.name)
                    else:
                        pairs.append(f"{c.name}: {self.term(c.kind, env, negated, seen)}")
                text = f"*{name}{{{', '.join(pairs)}{at}}}"
        if not negated:
            env.update(seen)
        return text

    def literal_of(self, env: dict[str, str], rules: list[Rule], below: list[Rule], depth: int) -> Seq | str:
        """A condition, a unification, a negation or a disjunction."""
        roll = self.r.random()
        if roll < 0.4 or depth <= 0:
            return self.condition(env)
        if roll < 0.55:
            kind = self.r.choice(["int", "int", "str", "list", "float" if self.floats else "int", "any"])
            bound = self.pick(env, kind)
            text = self.expr(kind, env)
            if bound and self.chance(0.25):
                return f"{bound} = {text}"
            name = self.name()
            env[name] = kind
            return f"{name} = {text}"
        if roll < 0.63:
            kind = self.r.choice(["int", "str"])
            items = ", ".join(self.expr(kind, env, 1) for _ in range(self.r.randint(0, 3)))
            bound = self.pick(env, kind)
            if bound and self.chance(0.4):
                return f"{bound} in [{items}]"
            name = self.name()
            env[name] = kind
            return f"{name} in [{items}]"
        if roll < 0.82:
            return Seq(["not ", self.negation(env, below, depth)])
        return self.either(env, rules, below, depth)

    def condition(self, env: dict[str, str]) -> str:
        """A condition, of something that is bound where there is anything."""
        if self.chance(0.4) and (bound := self.bounds(env)):
            return bound
        text = self.expr("bool", env, 2)
        for _ in range(6):
            if any(name in text for name in env):
                break
            text = self.expr("bool", env, 2)
        return text

    def bounds(self, env: dict[str, str]) -> str | None:
        """A condition that says what a variable is at least, at most, or at all: what may choose an index."""
        r = self.r
        some = [name for name, kind in env.items() if kind in ("int", "float", "str")]
        if not some:
            return None
        name = r.choice(some)

        def known() -> str:
            text = self.literal(env[name])
            return f"{text} + 1" if env[name] != "str" and self.chance(0.15) else text

        def one() -> str:
            op = r.choice(["==", "==", "<", "<=", ">", ">="])
            return f"{name} {op} {known()}" if self.chance(0.8) else f"{known()} {op} {name}"

        if env[name] == "str" and self.chance(0.3):
            return f"starts_with({name}, {self.literal('str')})"
        return f"{one()} && {one()}" if self.chance(0.3) else one()

    def negation(self, env: dict[str, str], below: list[Rule], depth: int) -> Seq | str:
        """What stands after `not`."""
        roll = self.r.random()
        if roll < 0.7 or depth <= 1:
            return self.atom(env, below, negated=True)
        if roll < 0.8:
            return Seq(["(", self.expr("bool", env, 1), ")"])
        if roll < 0.9:
            return Seq(["(not ", self.atom(env, below, negated=True), ")"])
        sep = self.r.choice([", ", " or "])
        return Seq(["(", Seq([self.negation(env, below, depth - 1), self.expr("bool", env, 1)], sep, 1), ")"])

    def either(self, env: dict[str, str], rules: list[Rule], below: list[Rule], depth: int) -> Seq:
        """A disjunction whose branches may bind the same new variable."""
        branches: list[Seq | str] = []
        new = self.name() if self.chance(0.5) else None
        kind = self.r.choice(["int", "str", "any"])
        for _ in range(self.r.choice([2, 2, 3])):
            inner = dict(env)
            parts: list[Seq | str] = []
            if self.chance(0.6):
                parts.append(self.atom(inner, rules))
            if not parts or self.chance(0.4):
                parts.append(self.literal_of(inner, rules, below, depth - 1))
            if new:
                var = self.pick({v: k for v, k in inner.items() if v not in env}, kind)
                parts.append(f"{new} = {var or self.expr(kind, inner, 1)}")
            one = Seq(parts, ", ", 1)
            branches.append(one if len(parts) == 1 else Seq(["(", one, ")"]))
        if new:
            env[new] = kind
        return Seq(["(", Seq(branches, " or ", 1), ")"]) if self.chance(0.4) else Seq(branches, " or ", 1)

    def body(
        self, rules: list[Rule], below: list[Rule], force: list[Rule], extras: int = 3
    ) -> tuple[list[Seq | str], dict[str, str]]:
        """Literals, and the kinds of the variables they bind."""
        env: dict[str, str] = {}
        count = self.r.choices([1, 2, 3, 4], [35, 38, 0, 0] if self.is_large else [35, 38, 18, 9])[0]
        atoms: list[Rule | None] = [None] * max(0, count - len(force))
        for rule in force:
            atoms.insert(self.r.randint(0, len(atoms)), rule)
        literals: list[Seq | str] = [self.atom(env, rules, force=rule) for rule in atoms]
        for _ in range(self.r.choice([0, 0, 1, 1, 2, 3])):
            if extras > 0:
                extras -= 1
                literals.append(self.literal_of(env, rules, below, 2))
        if self.chance(0.25):
            self.r.shuffle(literals)
        return literals, env

    def rule(self, name: str, head: list[tuple[str, str]], literals: list[Seq | str]) -> Seq:
        """A rule from the heads' texts and a body."""
        text = f"{name}[{', '.join(text for text, _ in head)}] := "
        return Seq([text, Seq(literals, ", ", 1)])

    def plain_rules(
        self, name: str, rules: list[Rule], below: list[Rule], group: list[Rule] | None = None
    ) -> tuple[list[Seq], Rule]:
        """One to three definitions of a rule without aggregates, which may be recursive."""
        literals, env = self.body(rules, below, [])
        usable = [v for v in env if env[v] != "validity"] or []
        count = self.r.choices([1, 2, 3], [30, 50, 20])[0]
        head = [(v, env[v]) for v in self.r.sample(usable, min(count, len(usable)))]
        if not head:
            literals.append("k = 1")
            head = [("k", "int")]
        made = Rule(name, [kind for _, kind in head])
        found = [self.rule(name, head, literals)]
        more = self.r.choices([0, 1, 2], [60, 30, 10])[0]
        found.extend([self.another(made, rules, below, []) for _ in range(more)])
        return found, made

    def another(self, made: Rule, rules: list[Rule], below: list[Rule], force: list[Rule]) -> Seq:
        """One more definition with the same kinds of columns; one that reads itself computes nothing new."""
        literals, env = self.body(rules, below, force, extras=0 if force else 2)
        if force and self.chance(0.3):
            literals.append(self.expr("bool", env, 1))
        if force and self.chance(0.25):
            literals.append(Seq(["not ", self.atom(env, below, negated=True)]))
        head = []
        for kind in made.kinds:
            fit = [v for v in env if env[v] == kind]
            name = self.r.choice(fit) if fit and not self.chance(0.1) else None
            if name is None or name in [text for text, _ in head]:
                old = self.pick(env, "int")
                name = self.name()
                if force and kind == "int" and old:
                    literals.append(f"{name} = {old} + 1")
                    literals.append(f"{name} < 6")
                elif force:
                    literals.append(f"{name} = {self.literal(kind)}")
                else:
                    literals.append(f"{name} = {self.expr(kind, env, 1)}")
            head.append((name, kind))
        return self.rule(made.name, head, literals)

    def recursive_rules(self, names: list[str], below: list[Rule]) -> tuple[list[Seq], list[Rule]]:
        """Rules that read themselves or each other."""
        found: list[Seq] = []
        made: list[Rule] = []
        for name in names:
            texts, rule = self.plain_rules(name, below, below)
            found += texts
            made.append(rule)
        for rule in made:
            for _ in range(self.r.choice([1, 1, 2])):
                force = [self.r.choice(made) for _ in range(self.r.choice([1, 1, 1, 2]))]
                found.append(self.another(rule, below, below, force))
        return found, made

    def meet_rules(self, name: str, below: list[Rule]) -> tuple[list[Seq], Rule]:
        """A recursive rule with a meet aggregate over paths."""
        r = self.r
        pairs = []
        for relation, columns in self.relations.items():
            ints = [c for c in columns if c.kind == "int"]
            if len(ints) >= 2:
                pairs.append((relation, r.sample(ints, 2)))
        if not pairs:
            return self.plain_rules(name, below, below)
        relation, (a, b) = r.choice(pairs)
        edge = f"*{relation}{{{a.name}: x, {b.name}: y}}"
        next_edge = f"*{relation}{{{a.name}: y, {b.name}: z}}"
        what = r.choice(["min", "max", "shortest", "min_cost", "min", "union", "bit", "min2"])
        start = f", x == {self.literal('int')}" if self.chance(0.4) else ""
        if what in ("min", "max"):
            step = r.choice(["1", "z", "1", "2"])
            texts = [
                f"{name}[y, {what}(c)] := {edge}, c = x{start}",
                f"{name}[z, {what}(c)] := {name}[y, d], {next_edge}, c = d + {step}, c < 9, c > -9",
            ]
            made = Rule(name, ["int", "int"])
        elif what == "min2":
            texts = [
                f"{name}[x, y, min(c), max(d)] := {edge}, c = x, d = y{start}",
                f"{name}[x, z, min(c), max(d)] := {name}[x, y, e, f], {next_edge}, c = e - 1, d = f + 1, d < 7, c > -7",
            ]
            made = Rule(name, ["int", "int", "int", "int"])
        elif what == "shortest":
            texts = [
                f"{name}[x, y, shortest(p)] := {edge}, p = [x, y]{start}",
                f"{name}[x, z, shortest(p)] := {name}[x, y, q], {next_edge}, p = append(q, z)",
            ]
            self.tags.add("ties")
            made = Rule(name, ["int", "int", "list"])
        elif what == "min_cost":
            texts = [
                f"{name}[y, min_cost(p)] := {edge}, p = [x, 1]{start}",
                f"{name}[z, min_cost(p)] := {name}[y, q], {next_edge}, p = [first(q), last(q) + 1]",
            ]
            self.tags.add("ties")
            made = Rule(name, ["int", "list"])
        elif what in ("or", "and"):
            texts = [
                f"{name}[y, {what}(c)] := {edge}, c = x > {self.literal('int')}{start}",
                f"{name}[z, {what}(c)] := {name}[y, d], {next_edge}, c = d {r.choice(['&&', '||'])} z > 1",
            ]
            made = Rule(name, ["int", "bool"])
        elif what == "union":
            texts = [
                f"{name}[y, union(c)] := {edge}, c = [x]{start}",
                f"{name}[z, union(c)] := {name}[y, d], {next_edge}, c = append(d, y)",
            ]
            made = Rule(name, ["int", "list"])
        else:
            texts = [
                f"{name}[y, min(c)] := {edge}, c = x{start}",
                f"{name}[y, min(c)] := {name}[y, d], c = d - 1, c > -4",
            ]
            made = Rule(name, ["int", "int"])
        return [Seq([text]) for text in texts], made

    def aggregate(self, env: dict[str, str], literals: list[Seq | str]) -> tuple[str, str]:
        """An aggregate over a variable: its text and the kind that it gives."""
        r = self.r
        for _ in range(10):
            name = r.choice([
                "count", "count_unique", "unique", "group_count", "min", "max", "sum", "mean", "product", "variance",
                "std_dev", "union", "intersection", "and", "or", "collect", "latest_by", "smallest_by", "min_cost",
                "choice", "shortest", "sum", "count", "min", "max",
            ])  # fmt: skip
            if name in ("min", "max"):
                var = self.pick(env, r.choice(["int", "int", "float", "maybe"]))
                if var:
                    return f"{name}({var})", "any" if env[var] == "maybe" else env[var]
            elif name in ("sum", "mean", "product", "variance", "std_dev"):
                var = self.pick(env, r.choice(["int", "float"]))
                if var:
                    return f"{name}({var})", "float"
            elif name in ("union", "intersection", "shortest"):
                var = self.pick(env, "list")
                if var:
                    self.tags |= {"ties"} if name == "shortest" else set()
                    return f"{name}({var})", "list"
            elif name in ("and", "or"):
                var = self.pick(env, "bool")
                if var:
                    return f"{name}({var})", "bool"
            elif name in ("latest_by", "smallest_by", "min_cost"):
                cost = self.pick(env, r.choice(["int", "float"]))
                data = self.pick(env, "int")
                if cost and data:
                    pair = self.name()
                    # No ties: equal costs go with equal data.
                    literals.append(f"{pair} = [{r.choice([cost, f'-{cost}', f'[{cost}]'])}, {cost}]")
                    return f"{name}({pair})", "any"
            elif name == "choice":
                var = self.pick(env, "int")
                if var:
                    self.tags.add("choice")
                    return f"{name}({var})", "any"
            else:
                var = r.choice(list(env)) if env else None
                if var and env[var] != "validity":
                    if name == "collect":
                        self.tags.add("collect")
                        return f"{name}({var}{r.choice(['', '', ', 2'])})", "anylist"
                    return f"{name}({var})", "int" if name.startswith("count") else "anylist"
        literals.append("kk = 1")
        return "count(kk)", "int"

    def aggregate_rules(self, name: str, below: list[Rule]) -> tuple[list[Seq], Rule]:
        """A rule with aggregates, of one or two definitions."""
        literals, env = self.body(below, below, [])
        group = [(v, env[v]) for v in self.r.sample(list(env), min(len(env), self.r.choice([0, 1, 1, 2])))]
        group = [(v, k) for v, k in group if k != "validity"]
        head = group + [self.aggregate(env, literals) for _ in range(self.r.choice([1, 1, 2]))]
        if self.chance(0.3):
            self.r.shuffle(head)
        found = [self.rule(name, head, literals)]
        made = Rule(name, [kind for _, kind in head])
        if self.chance(0.2):
            literals, env = self.body(below, below, [], extras=1)
            again = []
            for text, kind in head:
                if "(" not in text:
                    var = self.pick(env, kind)
                    if not var or var in [t for t, _ in again]:
                        var = self.name()
                        literals.append(f"{var} = {self.literal(kind)}")
                    again.append((var, kind))
                else:
                    call, rest = text.split("(")
                    args = rest[:-1].split(", ")
                    wants = {"and": "bool", "or": "bool", "union": "list", "intersection": "list", "shortest": "list"}
                    if call in ("latest_by", "smallest_by", "min_cost"):
                        return found, made
                    of = wants.get(call, "int")
                    var = self.pick(env, of)
                    if not var:
                        var = self.name()
                        literals.append(f"{var} = {self.literal(of)}")
                    again.append((f"{call}({', '.join([var, *args[1:]])})", kind))
            found.append(self.rule(name, again, literals))
        return found, made

    def rules(self) -> tuple[list[Seq], list[Rule]]:
        """Rules below the entry."""
        found: list[Seq] = []
        made: list[Rule] = []
        count = self.r.choice([0, 0, 1, 1, 2, 3])
        names = [f"r{i}" for i in range(count)]
        while names:
            roll = self.r.random()
            if roll < 0.25:
                group = names[:2] if self.chance(0.4) else names[:1]
                texts, some = self.recursive_rules(group, made)
                names = names[len(group) :]
            else:
                name = names.pop(0)
                if roll < 0.45:
                    texts, one = self.aggregate_rules(name, made)
                elif roll < 0.57:
                    texts, one = self.meet_rules(name, made)
                elif roll < 0.65:
                    kinds = [self.r.choice(["int", "int", "str", "any"]) for _ in range(self.r.choice([1, 2, 2]))]
                    rows: list[Seq | str] = [self.row(kinds) for _ in range(self.r.randint(1, 5))]
                    head = ", ".join("uvw"[: len(kinds)])
                    texts, one = [Seq([f"{name}[{head}] <- [", Seq(rows, ", ", 0), "]"])], Rule(name, kinds)
                else:
                    texts, one = self.plain_rules(name, made, made)
                some = [one]
            found += texts
            # What collects in the order of arrival is no set to join with.
            made += [rule for rule in some if "anylist" not in rule.kinds]
        return found, made

    def query(self) -> Step:
        """A query with options."""
        self.params, self.tags = {}, set()
        rules, made = self.rules()
        roll = self.r.random()
        if roll < 0.25:
            entry, _ = self.aggregate_rules("?", made)
        else:
            entry, _ = self.plain_rules("?", made, made)
        rules += entry
        if self.chance(0.2):
            self.r.shuffle(rules)
        options: list[Seq | str] = []
        heads = entry[0].parts[0].split("[")[1].split("]")[0].split(", ")
        if self.chance(0.2):
            simple = [h for h in heads if "(" not in h]
            if simple:
                some = self.r.sample(simple, self.r.randint(1, len(simple)))
                keyword = self.r.choice([":order", ":sort"])
                options.append(f"{keyword} {', '.join(self.r.choice(['', '-', '+']) + h for h in some)}")
        if self.chance(0.12):
            options.append(f":limit {self.r.randint(0, 5)}")
        if self.chance(0.07):
            options.append(f":offset {self.r.randint(0, 3)}")
        if self.chance(0.03):
            options.append(f":assert {self.r.choice(['none', 'some'])}")
        if self.chance(0.05):
            options.append(":disable_magic_rewrite true")
        script = Seq([Seq(rules, "\n", 1), "\n", Seq(options, "\n", 0)])
        return Step(script, self.params, self.tags | {"query"})

    # Changes.

    def mutation(self) -> list[Step]:
        """A change of a relation, and a look at it; its parameters are added to what is there."""
        r = self.r
        name = r.choice(list(self.relations))
        columns = self.relations[name]
        keys = [c for c in columns if c.is_key]
        values = [c for c in columns if not c.is_key]
        op = r.choice(
            ["put", "put", "put", "insert", "update", "rm", "rm", "delete", "ensure", "ensure_not", "replace"]
        )
        if op in ("rm", "delete", "ensure_not"):
            some = keys if self.chance(0.7) else columns
        elif op == "update":
            some = keys + r.sample(values, r.randint(0, len(values)))
        else:
            some = columns
        if self.chance(0.04):
            some = some[1:] or some
        rename = {c.name: f"{c.name}9" for c in some if self.chance(0.1)}
        head = [rename.get(c.name, c.name) for c in some]
        if any(c.kind == "validity" for c in some) or self.chance(0.5):
            rows: list[Seq | str] = []
            for _ in range(r.choice([1, 1, 2, 3])):
                cells = [
                    f"[{r.randint(1, 6)}, true]" if c.kind == "validity" else literal(self.value(c.kind)) for c in some
                ]
                rows.append(f"[{', '.join(cells)}]")
            rules: list[Seq | str] = [Seq([f"?[{', '.join(head)}] <- [", Seq(rows, ", ", 0), "]"])]
        else:
            literals, env = self.body([], [], [], extras=1)
            for c, text in zip(some, head, strict=True):
                literals.append(f"{text} = {self.expr(c.kind, {v: k for v, k in env.items() if v not in head}, 1)}")
            if r.random() < 0.5 and op in ("rm", "delete", "ensure", "update"):
                literals, env = (
                    [f"*{name}{{{', '.join(f'{c.name}: {t}' for c, t in zip(some, head, strict=True))}}}"],
                    {},
                )
            rules = [Seq([f"?[{', '.join(head)}] := ", Seq(literals, ", ", 1)])]
        spec = ""
        if rename or self.chance(0.7) or op == "update":
            spec = spec_of(some, with_types=op == "replace", rename=rename)
        options: list[Seq | str] = [f":{op} {name} {spec}"]
        if self.chance(0.3):
            options.append(":returning")
        script = Seq([Seq(rules, "\n", 1), "\n", Seq(options, "\n", 1)])
        return [Step(script, self.params, self.tags), self.look(name)]

    def look(self, name: str) -> Step:
        """All rows of a relation."""
        head = ", ".join(c.name for c in self.relations[name])
        return Step(Seq([f"?[{head}] := *{name}{{{head}}}"]), {})

    def kept(self) -> Step:
        """A script of several blocks over relations of its own."""
        self.params, self.tags = {}, {"imperative"}
        r, relations = self.r, dict(self.relations)
        parts: list[Seq | str] = []
        own = []
        for name in ["_a", "_b"][: r.choice([1, 1, 2])]:
            kinds = [r.choice(["int", "int", "str", "any"]) for _ in range(r.choice([1, 2, 3]))]
            keys = r.randint(1, len(kinds))
            columns = [Column("uvw"[i], kind, None, i < keys) for i, kind in enumerate(kinds)]
            rows: list[Seq | str] = [self.row(kinds) for _ in range(r.choice([1, 3, 5]))]
            head = ", ".join(c.name for c in columns)
            spec = spec_of(columns, with_types=False)
            parts.append(Seq([f"{{?[{head}] <- [", Seq(rows, ", ", 0), f"] :create {name} {spec}}}"]))
            self.relations[name] = columns
            own.append(name)
        for _ in range(r.choice([1, 2, 3])):
            name = r.choice(own)
            columns = self.relations[name]
            op = r.choice(["put", "put", "rm", "replace"])
            some = [c for c in columns if c.is_key] if op == "rm" else columns
            literals, env = self.body([], [], [], extras=1)
            for c in some:
                literals.append(f"{c.name} = {self.expr(c.kind, {v: k for v, k in env.items() if v not in 'uvw'}, 1)}")
            head, spec = ", ".join(c.name for c in some), spec_of(some, with_types=False)
            change: Seq | str = Seq([f"{{?[{head}] := ", Seq(literals, ", ", 1), f" :{op} {name} {spec}}}"])
            roll = r.random()
            if roll < 0.2:
                change = Seq([r.choice(["%if ", "%if_not "]), r.choice(own), " %then ", change, " %end"])
            elif roll < 0.3:
                change = Seq(["%ignore_error ", change])
            parts.append(change)
        last = r.choice(["query", "query", "return", "as"])
        if last == "return":
            parts.append(f"%return {r.choice(own)}")
        elif last == "as":
            parts += [Seq(["{", self.query_text(), "} as _c"]), "%return _c"]
        else:
            parts.append(Seq(["{", self.query_text(), "}"]))
        self.relations = relations
        return Step(Seq(parts, " ", 1), self.params, self.tags)

    def imperative(self) -> Step:
        """A script of several statements."""
        self.params, self.tags = {}, set()
        r = self.r
        first = self.query_text()
        second = self.query_text()
        third = self.query_text()
        shape = r.choice(["if", "loop", "return", "as", "if_as", "if_not", "nested", "ignore", "change"])
        lim = r.randint(1, 4)
        if shape == "if":
            parts: list[Seq | str] = ["%if {", first, "} %then {", second, "} %else {", third, "} %end"]
        elif shape == "if_not":
            parts = ["%if_not {", first, "} %then {", second, "} %end {", third, "}"]
        elif shape == "loop":
            parts = [
                "{?[n] <- [[0]] :create _t {n}} %loop %if {?[n] := *_t[n], n >= ", str(lim),
                "} %then %break %end {?[n] := *_t[m], n = m + 1 :replace _t {n}} %end ",
                r.choice(["%return _t", "{?[n] := *_t[n]}", "{?[n, m] := *_t[n], m in [n, 1]}"]),
            ]  # fmt: skip
        elif shape == "return":
            parts = ["{", first, "} as _a {", second, "} as _b %return ", r.choice(["_a", "_b"])]
        elif shape == "as":
            parts = ["{?[q, w] <- [[1, 2], [3, 4], [0, 0]]} as _a {?[q, s] := *_a[q, w], s = w + q}"]
        elif shape == "if_as":
            parts = ["{", first, "} as _a %if _a %then {", second, "} %else {", third, "} %end"]
        elif shape == "nested":
            parts = [
                "{?[n] <- [[0]] :create _t {n}} %mark outer %loop %loop ",
                "{?[n] := *_t[m], n = m + 1 :replace _t {n}} %if {?[n] := *_t[n], n > ",
                str(lim), "} %then ", r.choice(["%break outer", "%break outer", "%break outer"]),
                " %end %continue %end %end %return _t",
            ]  # fmt: skip
        elif shape == "ignore":
            parts = ["%ignore_error {", first, " :assert ", r.choice(["none", "some"]), "} {", second, "}"]
        else:
            change = self.mutation()[0].script
            more = self.mutation()[0].script
            parts = ["{", change, "} {", more, "} {", first, "}"]
        return Step(Seq(parts), self.params, self.tags | {"imperative"})

    def query_text(self) -> Seq:
        """A query without options whose parameters and tags are added to what is there."""
        params, tags = self.params, self.tags
        self.params = dict(params)
        rules, made = self.rules()
        entry, _ = self.plain_rules("?", made, made)
        self.tags |= tags
        return Seq([*rules, *entry], "\n", 1)

    def program(self) -> list[Step]:
        """The whole."""
        steps = [self.create(name) for name in ["ra", "rb", "rc"][: self.r.choice([1, 2, 2, 3])]]
        self.is_large = self.chance(self.large)
        if self.is_large:
            steps.append(self.create_large("rl"))
        if self.chance(0.1):
            steps.append(self.create_history("rh"))
        if self.chance(0.3):
            name = self.r.choice(list(self.relations))
            columns = [c for c in self.relations[name] if c.kind != "validity"]
            some = self.r.sample(columns, self.r.randint(1, len(columns)))
            if name not in ("rh", "rl"):
                keys = [c for c in columns if c.is_key and c not in some]
                self.indexes[f"{name}:ix"] = some + keys
                steps.append(Step(Seq([f"::index create {name}:ix {{{', '.join(c.name for c in some)}}}"]), {}))
        queries: list[Step] = []
        for _ in range(self.r.choice([1, 2, 3])):
            roll = self.r.random()
            if roll < 0.72:
                queries.append(self.query())
                steps.append(queries[-1])
            elif roll < 0.92:
                self.params, self.tags = {}, set()
                steps += self.mutation()
            else:
                steps.append(self.kept() if self.chance(0.5) else self.imperative())
                steps += [self.look(name) for name in self.relations if self.chance(0.4)]
        if self.chance(0.04):
            name = self.r.choice([name for name in self.relations if name != "rh"])
            if f"{name}:ix" not in self.indexes:
                steps += [Step(Seq([f"::remove {name}"]), {}), self.create(name)]
        # A plan that is kept must not outlive what it was made for.
        steps += [again for again in queries if self.chance(0.2)]
        return steps

    def create_large(self, name: str) -> Step:
        """A relation that is more than one batch."""
        self.relations[name] = [
            Column("a", "int", "Int", True),
            Column("b", "int", self.r.choice(["Int", None]), self.chance(0.6)),
        ]
        step, every = self.r.choice([(7, 5), (3, 2), (11, 9)]), self.r.choice([20, 30, 60])
        body = f"a in int_range(0, {every}), b in int_range(0, {every}), (a * {step[0]} + b * 13) % {step[1]} == 0"
        if not self.relations[name][1].is_key:
            body = f"a in int_range(0, {every * 15}), b = (a * {step[0]}) % {step[1] + 3}"
        return Step(Seq([f"?[a, b] := {body} :create {name} {spec_of(self.relations[name], with_types=True)}"]), {})


FUNCTIONS = """
eq neq gt ge lt le max min and or negate add sub mul div minus pow sqrt mod abs signum floor ceil round exp exp2 ln log2
log10 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh deg_to_rad rad_to_deg haversine
haversine_deg_input vec l2_normalize l2_dist ip_dist cos_dist is_vec json is_json json_object dump_json parse_json get
maybe_get set_json_path remove_json_path json_to_scalar concat length str_includes lowercase uppercase trim trim_start
trim_end starts_with ends_with unicode_normalize chars from_substrings slice_string t2s list is_in first last get
maybe_get length slice concat prepend append reverse sorted chunks chunks_exact windows union intersection difference
int_range bit_and bit_or bit_not bit_xor pack_bits unpack_bits encode_base64 decode_base64 coalesce to_string to_float
to_int to_unity to_bool to_uuid uuid_timestamp is_null is_int is_float is_num is_finite is_infinite is_nan is_bytes
is_list is_string is_uuid regex_matches regex_replace regex_replace_all regex_extract regex_extract_first
format_timestamp parse_timestamp validity if cond
""".split()  # noqa: SIM905 - a hundred quotes say no more

ARGUMENTS = """
null true false 0 1 2 3 -1 -2 7 100 0.0 0.5 1.0 2.0 -1.5 1e300 '' 'a' 'abc' ' b ' 'É' 'héllo' '12' '1.5' '-3' 'true'
'PI' 'NAN' '[1,2]' '{"a":1}' '2020-01-02T03:04:05Z' 'a.*' '[a-c]' 'b' 'nfc' 'YWJj' [] [1] [1,2] [2,1,1] [1,2,3,4,5]
['a','b'] [null] [[1,2],[3]] [1.0,2.0] [true,false] ['a',1] {} {'a':1} {'a':{'b':[1,2]}} vec([1,2]) vec([0.5,1.5])
json([1,2]) '01234567-89ab-cdef-0123-456789abcdef' to_uuid('01234567-89ab-cdef-0123-456789abcdef')
decode_base64('YWJj') 'Asia/Shanghai' 1600000000 1600000000.25 validity(5) 9223372036854775807
""".split()  # noqa: SIM905

OPERATORS = ["+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "++", "~", "->"]


def expressions(seed: int, count: int = 25) -> list[Step]:
    """Expressions over constants, each in a script of its own."""
    r = random.Random(seed)

    def expression(depth: int) -> Seq | str:
        roll = r.random()
        if depth <= 0 or roll < 0.15:
            return r.choice(ARGUMENTS)
        if roll < 0.3:
            op = r.choice(OPERATORS)
            left, right = expression(depth - 1), expression(depth - 1)
            return Seq([Seq(["(", left, ")"]) if r.random() < 0.7 else left, f" {op} ", right])
        if roll < 0.35:
            return Seq([r.choice(["-", "!"]), "(", expression(depth - 1), ")"])
        name = r.choice(FUNCTIONS)
        parts = [expression(depth - 1) for _ in range(r.choice([1, 1, 2, 2, 2, 3, 3, 4]))]
        return Seq([f"{name}(", Seq(parts, ", ", 0), ")"])

    steps = []
    for _ in range(count):
        value = expression(r.choice([1, 1, 1, 2, 3]))
        steps.append(Step(Seq([r.choice(["?[x] := x = ", "?[x] := y = 1, x = "]), value]), {}, {"expressions"}))
    return steps


def literal(value: object) -> str:
    """A value as the language writes it."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return "'" + value + "'"
    if isinstance(value, list):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    return str(value)


def spec_of(columns: list[Column], with_types: bool, rename: dict[str, str] | None = None) -> str:
    """The columns in braces."""

    def one(column: Column) -> str:
        text = column.name
        if with_types and column.type:
            text += f": {column.type}"
        if rename and column.name in rename:
            text += f" = {rename[column.name]}"
        return text

    keys = ", ".join(one(c) for c in columns if c.is_key)
    values = ", ".join(one(c) for c in columns if not c.is_key)
    return "{" + keys + (f" => {values}" if values else "") + "}"


def program(seed: int, large: float = 0.03) -> list[Step]:
    """The program of a seed."""
    maker = Maker(seed, large)
    steps = maker.program()
    for step in steps:
        step.tags |= {"floats"} if maker.floats else set()
    return steps
