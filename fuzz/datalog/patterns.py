"""Generates random queries over a graph, in the query language and in SQL.

A query is a list of rules over `e{a, b}`, the edges, and `n{id => k}`, the vertices. Every column
of an atom is named, so that a count counts the same rows in both languages.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import pairwise

from shapes import LABELS, Graph


@dataclass
class Atom:
    """An atom of a relation or a rule, possibly negated."""

    of: str
    args: list[str]
    negated: bool = False

    def datalog(self) -> str:
        """The atom as a literal."""
        star = "*" if self.of in COLUMNS else ""
        return f"{'not ' if self.negated else ''}{star}{self.of}[{', '.join(self.args)}]"


COLUMNS = {"e": ["a", "b"], "n": ["id", "k"]}


@dataclass
class Rule:
    """A rule: atoms, values of variables, and conditions `(left, sign, right)`."""

    name: str
    head: list[str]
    atoms: list[Atom]
    values: dict[str, int | str] = field(default_factory=dict)
    conditions: list[tuple[str, str, str]] = field(default_factory=list)

    def datalog(self, params: dict[str, int | str] | None) -> str:
        """The rule in Datalog; values are added to `params` unless they are written out."""
        parts = []
        for variable, value in self.values.items():
            if params is None:
                parts.append(f"{variable} = {value!r}")
            else:
                name = f"p{len(params)}"
                params[name] = value
                parts.append(f"{variable} = ${name}")
        parts += [atom.datalog() for atom in self.atoms if not atom.negated]
        parts += [f"{left} {sign} {right}" for left, sign, right in self.conditions]
        parts += [atom.datalog() for atom in self.atoms if atom.negated]
        return f"{self.name}[{', '.join(self.head)}] := {', '.join(parts)}"

    def sql(self, rules: dict[str, list[str]]) -> str:
        """The rule as an SQL query; `rules` are the columns of other rules."""
        place: dict[str, str] = {}
        where, tables = [], []
        for number, atom in enumerate(atom for atom in self.atoms if not atom.negated):
            tables.append(f"{table(atom.of)} t{number}")
            for column, variable in zip(columns(atom.of, rules), atom.args, strict=True):
                here = f"t{number}.{column}"
                if variable in place:
                    where.append(f"{place[variable]} = {here}")
                else:
                    place[variable] = here
        for variable, value in self.values.items():
            if variable in place:
                where.append(f"{place[variable]} = {value!r}")
            else:
                place[variable] = repr(value)
        signs = {"!=": "<>", "==": "="}
        where += [
            f"{place.get(left, left)} {signs.get(sign, sign)} {place.get(right, right)}"
            for left, sign, right in self.conditions
        ]
        for atom in self.atoms:
            if atom.negated:
                pairs = zip(columns(atom.of, rules), atom.args, strict=True)
                same = " and ".join(f"s.{column} = {place[variable]}" for column, variable in pairs)
                where.append(f"not exists (select 1 from {table(atom.of)} s where {same})")
        grouped = [item for item in self.head if "(" not in item]
        is_set = len(grouped) == len(self.head)
        items = [aggregate(item, place) if "(" in item else place[item] for item in self.head]
        text = f"select {'distinct ' if is_set else ''}{', '.join(items)} from {', '.join(tables)}"
        if where:
            text += f" where {' and '.join(where)}"
        if grouped and not is_set:
            text += f" group by {', '.join(place[item] for item in grouped)}"
        return text


def aggregate(item: str, place: dict[str, str]) -> str:
    """An aggregate of the query language in SQL."""
    name, variable = item.rstrip(")").split("(")
    return {
        "count": "count(*)",
        "count_unique": f"count(distinct {place[variable]})",
        "sum": f"coalesce(sum({place[variable]}), 0)",
    }.get(name, f"{name}({place[variable]})")


def table(of: str) -> str:
    """The name of a relation or a rule in SQL."""
    return of if of in COLUMNS else f"r_{of}"


def columns(of: str, rules: dict[str, list[str]]) -> list[str]:
    """The names of columns in SQL."""
    return COLUMNS.get(of) or rules[of]


@dataclass
class Query:
    """A query in both languages."""

    kind: str
    script: str
    params: dict[str, int | str]
    sql: str | None


def together(kind: str, rules: list[Rule], written_out: bool, in_sql: bool = True) -> Query:
    """The query of these rules; the last one is the entry."""
    params: dict[str, int | str] = {}
    script = "\n".join(rule.datalog(None if written_out else params) for rule in rules)
    return Query(kind, script, params, in_sql_of(rules) if in_sql else None)


def in_sql_of(rules: list[Rule]) -> str:
    """The rules in SQL: common table expressions, and the last rule as the query."""
    of_name: dict[str, list[Rule]] = {}
    for rule in rules[:-1]:
        of_name.setdefault(rule.name, []).append(rule)
    known = {name: [f"c{place}" for place in range(len(same[0].head))] for name, same in of_name.items()}
    parts = []
    for name, same in of_name.items():
        union = " union ".join(rule.sql(known) for rule in same)
        parts.append(f"r_{name}({', '.join(known[name])}) as ({union})")
    text = rules[-1].sql(known)
    return f"with recursive {', '.join(parts)} {text}" if parts else text


class Patterns:
    """Generates queries of a graph."""

    def __init__(self, seed: str, graph: Graph) -> None:
        """The same seed gives the same queries."""
        self.r, self.graph = random.Random(seed), graph

    def chance(self, of: float) -> bool:
        """True with probability `of`."""
        return self.r.random() < of

    def value(self) -> int | str:
        """A vertex to query."""
        graph = self.graph
        number = self.r.choice(graph.special) if self.chance(0.5) else self.r.randrange(graph.vertices)
        return graph.vertex(number)

    def edge(self, a: str, b: str, backwards: bool) -> Atom:
        """An atom for an edge in a direction."""
        return Atom("e", [b, a] if backwards else [a, b])

    def query(self) -> Query:
        """A random query."""
        make = self.r.choice(
            [
                *[self.walk, self.walk, self.walk, self.star, self.cycle, self.levels, self.reach, self.reach],
                *[self.labels, self.generation, self.closure, self.aliases, self.distance, self.other, self.unions],
            ]
        )
        return make()

    def bound(self, variables: list[str]) -> dict[str, int | str]:
        """Values for some variables: mostly one, sometimes none."""
        count = self.r.choice([0, 1, 1, 1, 1, 2]) if len(variables) > 1 else self.r.choice([0, 1, 1])
        return {variable: self.value() for variable in self.r.sample(variables, count)}

    def head(self, variables: list[str], values: dict[str, int | str]) -> list[str]:
        """The head of the entry; a count where nothing is bound, to avoid too many rows."""
        free = [variable for variable in variables if variable not in values] or variables
        one = self.r.choice(free)
        rolls = [[f"count({one})"], [f"count({one})"], [f"count_unique({one})"], [f"min({one})", f"max({one})"]]
        if values:
            rolls += [[one], [one], [variables[-1]], [one, f"count({self.r.choice(free)})"]]
        return self.r.choice(rolls)

    def walk(self) -> Query:
        """A path with random directions and bound ends, sometimes with labels or conditions."""
        steps = self.r.choice([1, 2, 2, 3, 3, 4])
        names = [f"x{i}" for i in range(steps + 1)]
        one_way, back = self.chance(0.6), self.chance(0.5)
        atoms = [self.edge(a, b, back if one_way else self.chance(0.5)) for a, b in pairwise(names)]
        ends = [names[0], names[-1]] if self.chance(0.85) else names
        values = self.bound(ends)
        conditions = []
        if self.chance(0.15):
            conditions.append((names[0], self.r.choice(["!=", "<"]), names[-1]))
        if self.chance(0.2):
            atoms.append(Atom("n", [self.r.choice(names), "k"]))
            conditions.append(("k", self.r.choice(["==", "<", ">"]), str(self.r.randrange(LABELS))))
        if self.chance(0.15):
            atoms.append(Atom("e", self.r.sample(names, 2), negated=True))
        self.r.shuffle(atoms)
        rule = Rule("?", self.head(names, values), atoms, values, conditions)
        return together(f"walk of {steps}", [rule], self.chance(0.3))

    def star(self) -> Query:
        """Edges that share one vertex."""
        names = [f"y{i}" for i in range(self.r.choice([2, 3]))]
        atoms = [self.edge("x", y, self.chance(0.4)) for y in names]
        values = self.bound(["x", *names])
        rule = Rule("?", self.head(["x", *names], values), atoms, values)
        return together("star", [rule], self.chance(0.3))

    def cycle(self) -> Query:
        """Triangles and squares."""
        names = ["x", "y", "z", "w"][: self.r.choice([2, 3, 3, 4])]
        pairs = zip(names, [*names[1:], names[0]], strict=True)
        atoms = [self.edge(a, b, self.chance(0.2)) for a, b in pairs]
        values = self.bound(names)
        rule = Rule("?", self.head(names, values), atoms, values)
        return together(f"cycle of {len(names)}", [rule], self.chance(0.3))

    def levels(self) -> Query:
        """A path with a rule per step; each rule is a set."""
        steps, back = self.r.choice([2, 3, 4]), self.chance(0.4)
        rules = [Rule("l1", ["y"], [self.edge("x", "y", back)], {"x": self.value()})]
        rules.extend(
            Rule(f"l{step}", ["y"], [Atom(f"l{step - 1}", ["x"]), self.edge("x", "y", back)])
            for step in range(2, steps + 1)
        )
        last = f"l{steps}"
        atoms = [Atom(last, ["y"])]
        if self.chance(0.3):
            atoms.append(Atom("l1", ["y"], negated=True))
        head = self.r.choice([["y"], ["count(y)"]])
        return together(f"levels, {steps}", [*rules, Rule("?", head, atoms)], self.chance(0.3))

    def recursive(self, back: bool, of: str = "e") -> list[Rule]:
        """Rules for the vertices reachable from a vertex of the first rule."""

        def step(a: str, b: str) -> Atom:
            return Atom(of, [b, a] if back else [a, b])

        base = Rule("r", ["y"], [step("x", "y")], {"x": self.value()})
        return [base, Rule("r", ["y"], [Atom("r", ["x"]), step("x", "y")])]

    def reach(self) -> Query:
        """The vertices reachable from a vertex, or whether one is."""
        rules = self.recursive(self.chance(0.4))
        atoms, values = [Atom("r", ["y"])], {}
        if self.chance(0.2):
            values = {"y": self.value()}
        if self.chance(0.25):
            atoms += [Atom("n", ["y", "k"])]
            head = self.r.choice([["k", "count(y)"], ["sum(k)"]])
        else:
            head = ["y"] if values or self.chance(0.2) else ["count(y)"]
        return together("reach", [*rules, Rule("?", head, atoms, values)], self.chance(0.3))

    def other(self) -> Query:
        """Vertices that are not reachable, or reachable from only one of two vertices."""
        rules = self.recursive(self.chance(0.4))
        if self.chance(0.5):
            rule = Rule("?", ["count(y)"], [Atom("n", ["y", "k"]), Atom("r", ["y"], negated=True)])
        else:
            rule = Rule("?", ["count(y)"], [self.edge("x", "y", False), Atom("r", ["y"], True)], {"x": self.value()})
        return together("not reached", [*rules, rule], self.chance(0.3))

    def unions(self) -> Query:
        """A union of both directions, or of edges and paths of two, and a path over it."""
        second = [Atom("e", ["y", "x"])] if self.chance(0.6) else [Atom("e", ["x", "z"]), Atom("e", ["z", "y"])]
        rules = [Rule("u", ["x", "y"], [Atom("e", ["x", "y"])]), Rule("u", ["x", "y"], second)]
        names = [f"x{i}" for i in range(self.r.choice([2, 3]))]
        atoms = [Atom("u", [a, b]) for a, b in pairwise(names)]
        values = {self.r.choice([names[0], names[-1]]): self.value()}
        return together("union", [*rules, Rule("?", self.head(names, values), atoms, values)], self.chance(0.3))

    def aliases(self) -> Query:
        """Rules that rename relations, and a query over them."""
        turned = self.chance(0.5)
        alias = Rule("al", ["p", "c"], [Atom("e", ["c", "p"] if turned else ["p", "c"])])
        if self.chance(0.4):
            rules = self.recursive(self.chance(0.4), "al")
            head = self.r.choice([["y"], ["count(y)"]])
            return together("alias, reach", [alias, *rules, Rule("?", head, [Atom("r", ["y"])])], self.chance(0.3))
        names = [f"x{i}" for i in range(self.r.choice([2, 3, 4]))]
        atoms = [Atom("al", [a, b]) for a, b in pairwise(names)]
        values = {self.r.choice([names[0], names[-1]]): self.value()}
        return together("alias", [alias, Rule("?", self.head(names, values), atoms, values)], self.chance(0.3))

    def labels(self) -> Query:
        """Counts by label, or edges between labels."""
        atoms = [self.edge("x", "y", False), Atom("n", ["y", "k"])]
        head = self.r.choice([["k", "count(x)"], ["k", "count_unique(x)"], ["sum(k)"], ["max(k)", "count(x)"]])
        conditions, values = [], {}
        if self.chance(0.5):
            atoms.append(Atom("n", ["x", "j"]))
            conditions.append(("j", self.r.choice(["==", "<", ">"]), str(self.r.randrange(LABELS))))
        if self.chance(0.3):
            values = {"x": self.value()}
        if self.chance(0.3):
            atoms.append(Atom("e", ["y", "x"], negated=True))
        return together("labels", [Rule("?", head, atoms, values, conditions)], self.chance(0.3))

    def generation(self) -> Query:
        """Same-generation pairs, with one end bound or both."""
        up = "e" if self.chance(0.5) else "al"
        rules = [Rule("al", ["p", "c"], [Atom("e", ["p", "c"])])] if up == "al" else []
        start = [Atom(up, ["x", "p"]), Atom(up, ["y", "p"])]
        further = [Atom(up, ["x", "p"]), Atom("sg", ["p", "q"]), Atom(up, ["y", "q"])]
        rules += [
            Rule("sg", ["x", "y"], start, {}, [("x", "!=", "y")]),
            Rule("sg", ["x", "y"], further),
        ]
        names = self.r.choice([["x"], ["x"], ["x", "y"]])
        head = ["count(y)"] if len(names) == 1 else ["y"]
        rule = Rule("?", head, [Atom("sg", ["x", "y"])], {name: self.value() for name in names})
        return together("same generation", [*rules, rule], self.chance(0.3), in_sql=len(self.graph.edges) < 5000)

    def closure(self) -> Query:
        """The transitive closure, in part; sometimes with a constant in the recursive atom."""
        own = [Atom("t", ["x", "z"]), Atom("e", ["z", "y"])]
        if self.chance(0.3):
            own = [Atom("e", ["x", "z"]), Atom("t", ["z", "y"])]
        rules = [Rule("t", ["x", "y"], [Atom("e", ["x", "y"])])]
        values = {"x": self.value()} if self.chance(0.3) else {}
        rules.append(Rule("t", ["x", "y"], own, values))
        asked = {self.r.choice(["x", "y"]): self.value()}
        if self.chance(0.15):
            asked = {"x": self.value(), "y": self.value()}
        if values and self.chance(0.5):
            asked = {}
        head = ["y"] if len(asked) == 2 else ["count(y)"]
        rule = Rule("?", head, [Atom("t", ["x", "y"])], asked)
        in_sql = len(self.graph.edges) < 5000 or bool(values)
        return together("closure", [*rules, rule], self.chance(0.3), in_sql=in_sql)

    def distance(self) -> Query:
        """The distances from a vertex."""
        base = Rule("d", ["y", "min(l)"], [Atom("e", ["x", "y"])], {"x": self.value(), "l": 1})
        text = "d[y, min(l)] := d[x, m], *e[x, y], l = m + 1"
        entry = self.r.choice(["?[max(l), count(y)] := d[y, l]", "?[l, count(y)] := d[y, l]"])
        params: dict[str, int | str] = {}
        script = "\n".join([base.datalog(None if self.chance(0.3) else params), text, entry])
        return Query("distance", script, params, None)
