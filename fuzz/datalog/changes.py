"""Generates stored relations, and changes of them."""

from __future__ import annotations

from algorithms import Algorithms
from text import Column, Rule, Seq, Step, literal, spec_of
from values import RICH, STRAY, TYPES


class Changes(Algorithms):
    """Generates scripts that create relations and change them."""

    def create(self, name: str) -> Step:
        """A script that creates a relation with rows."""
        r = self.r
        keys, values = r.choice([(1, 0), (1, 1), (1, 1), (2, 0), (2, 0), (2, 1), (3, 0), (1, 2), (2, 2)])
        columns = []
        for i in range(keys + values):
            kind = r.choices(["int", "any", "str", "float", "maybe", "bool", "list"], [50, 10, 15, 8, 8, 5, 3])[0]
            if self.rich and self.chance(0.4):
                kind = r.choice(RICH)
            if kind == "float" and not self.floats:
                kind = "int"
            default = literal(self.value(kind)) if i >= keys and self.chance(0.15) else None
            columns.append(Column("abcdef"[i], kind, r.choice(TYPES[kind]), i < keys, default))
        self.relations[name] = columns
        if self.chance(0.04):
            rows: list[Seq | str] = []
        else:
            stray, self.rich = self.rich, self.rich and self.chance(0.5)
            cells = [[self.cell(c) for c in columns] for _ in range(r.choice([2, 4, 6, 9, 14]))]
            # If the relation is not created, everything that follows is an error.
            rows = [f"[{', '.join(row)}]" for row in cells if not self.chance(0.9) or not set(row) & set(STRAY)]
            self.rich = stray
        spec = spec_of(columns, with_types=True)
        head = ", ".join(c.name for c in columns)
        return Step(Seq([f"?[{head}] <- [", Seq(rows, ", ", 0), f"] :create {name} {spec}"]), {})

    def create_history(self, name: str) -> Step:
        """A script that creates a relation with a validity as its last key."""
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

    def create_large(self, name: str) -> Step:
        """A script that creates a relation larger than one batch."""
        self.relations[name] = [
            Column("a", "int", "Int", True),
            Column("b", "int", self.r.choice(["Int", None]), self.chance(0.6)),
        ]
        step, every = self.r.choice([(7, 5), (3, 2), (11, 9)]), self.r.choice([20, 30, 60])
        body = f"a in int_range(0, {every}), b in int_range(0, {every}), (a * {step[0]} + b * 13) % {step[1]} == 0"
        if not self.relations[name][1].is_key:
            body = f"a in int_range(0, {every * 15}), b = (a * {step[0]}) % {step[1] + 3}"
        return Step(Seq([f"?[a, b] := {body} :create {name} {spec_of(self.relations[name], with_types=True)}"]), {})

    def mutation(self, name: str | None = None, lively: bool = False) -> list[Step]:
        """A change of a relation, then a query for its rows; adds parameters.

        With `lively` the change is likely to have an effect.
        """
        r = self.r
        name = name or r.choice(list(self.relations))
        columns = self.relations[name]
        keys = [c for c in columns if c.is_key]
        values = [c for c in columns if not c.is_key]
        op = r.choice(
            ["put", "put", "put", "insert", "update", "rm", "rm", "delete", "ensure", "ensure_not", "replace"]
        )
        if lively:
            op = r.choice(["put", "put", "put", "rm", "rm", "insert", "update", "delete"])
        if op == "replace" and name in self.triggered:
            # In the other engines this drops the triggers.
            op = "put"
        if op in ("rm", "delete", "ensure_not"):
            some = keys if self.chance(0.7) else columns
        elif op == "update":
            some = keys + r.sample(values, r.randint(0, len(values)))
        else:
            some = columns
        if op in ("put", "insert") and self.chance(0.5):
            some = [c for c in some if not c.default]
        if self.chance(0.04):
            some = some[1:] or some
        rename = {c.name: f"{c.name}9" for c in some if self.chance(0.1)}
        head = [rename.get(c.name, c.name) for c in some]
        if lively and op in ("rm", "delete", "update") and self.chance(0.7):
            pairs = [f"{c.name}: {t}" for c, t in zip(some, head, strict=True) if c.is_key]
            literals: list[Seq | str] = [f"*{name}{{{', '.join(pairs)}}}"]
            if self.chance(0.5):
                literals.append(self.condition({t: c.kind for c, t in zip(some, head, strict=True) if c.is_key}))
            literals += [f"{t} = {self.cell(c)}" for c, t in zip(some, head, strict=True) if not c.is_key]
            rules: list[Seq | str] = [Seq([f"?[{', '.join(head)}] := ", Seq(literals, ", ", 1)])]
        elif any(c.kind == "validity" for c in some) or self.chance(0.8 if lively else 0.5):
            rows = [f"[{', '.join(self.cell(c) for c in some)}]" for _ in range(r.choice([1, 1, 2, 3]))]
            rules = [Seq([f"?[{', '.join(head)}] <- [", Seq(rows, ", ", 0), "]"])]
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
        """A query for all rows of a relation."""
        head = ", ".join(c.name for c in self.relations[name])
        return Step(Seq([f"?[{head}] := *{name}{{{head}}}"]), {})

    # Triggers, access levels and lists of relations.

    def triggers(self, name: str) -> list[Step]:
        """Triggers that write to another relation, changes that fire them, and queries for both."""
        r, log = self.r, "lg"
        columns = self.relations[name]
        kinds = [c.kind for c in columns]
        keys = [c.kind for c in columns if c.is_key]
        steps = []
        if log not in self.relations:
            self.relations[log] = [Column("k", "str", None, True)] + [
                Column("abcdef"[i], kind, None, True) for i, kind in enumerate(kinds)
            ]
            steps.append(Step(Seq([f":create {log} {spec_of(self.relations[log], with_types=False)}"]), {}))
        parts: list[Seq | str] = []
        for event in r.sample(["put", "put", "rm", "rm", "replace"], r.choice([2, 3, 3])):
            given = {
                "put": [Rule("_new", kinds), Rule("_old", kinds)],
                "rm": [Rule("_new", keys), Rule("_old", kinds)],
                "replace": [],
            }[event]
            parts.append(Seq([f" on {event} {{", self.reaction(log, event, given), "}"]))
        steps.append(Step(Seq([f"::set_triggers {name}", Seq(parts, "", 0)]), {}))
        self.triggered.add(name)
        if self.chance(0.3):
            steps.append(Step(Seq([f"::show_triggers {name}"]), {}))
        for _ in range(r.choice([1, 2, 3])):
            self.params, self.tags = {}, set()
            steps += [*self.mutation(name, lively=self.chance(0.8)), self.look(log)]
        if self.chance(0.2):
            head = ", ".join(c.name for c in columns)
            spec = spec_of(columns, with_types=True)
            rows = Seq([f"[{', '.join(self.cell(c) for c in columns)}]" for _ in range(r.choice([1, 3]))], ", ", 0)
            steps.append(Step(Seq([f"?[{head}] <- [", rows, f"] :replace {name} {spec}"]), {}))
            # From here on the engines differ in whether the triggers exist, so they are removed.
            steps += [Step(Seq([f"::set_triggers {name}"]), {}), self.look(name), self.look(log)]
            self.triggered.discard(name)
        return steps

    def reaction(self, log: str, event: str, given: list[Rule]) -> Seq:
        """The script of a trigger."""
        rules: list[Seq | str] = []
        self.has_parameters = False
        used = self.r.sample(given, self.r.randint(1, len(given))) if given else []
        for force in [[rule] for rule in used] if self.chance(0.6) else [used]:
            literals, env = self.body([], [], force, extras=1) if self.chance(0.25) else self.plain_body(force)
            if given and self.chance(0.2):
                literals.append(Seq(["not ", self.atom(env, given, negated=True, force=self.r.choice(given))]))
            head = []
            for i, column in enumerate(self.relations[log]):
                name = self.pick({v: k for v, k in env.items() if v not in head}, column.kind)
                if i == 0 or name is None:
                    name = self.name()
                    text = literal(event + str(len(rules))) if i == 0 else self.expr(column.kind, {}, 1)
                    literals.append(f"{name} = {text}")
                head.append(name)
            pairs = [f"{c.name} = {v}" for c, v in zip(self.relations[log], head, strict=True)]
            # All rules of the entry must have the same head.
            literals += [pair for pair, v in zip(pairs, head, strict=True) if v != pair.split(" = ")[0]]
            names = ", ".join(c.name for c in self.relations[log])
            rules.append(Seq([f"?[{names}] := ", Seq(literals, ", ", 1)]))
        self.has_parameters = True
        op = self.r.choice(["put", "put", "put", "put", "rm", "insert"])
        spec = spec_of(self.relations[log], with_types=False)
        return Seq([Seq(rules, "\n", 1), f" :{op} {log} {spec}"])

    def plain_body(self, rules: list[Rule]) -> tuple[list[Seq | str], dict[str, str]]:
        """A body that returns all rows of rules, or those that satisfy one condition."""
        env: dict[str, str] = {}
        literals: list[Seq | str] = []
        for rule in rules:
            # Their keys are likely to have a part in common.
            names = [self.name() for _ in rule.kinds]
            if env and self.chance(0.8):
                names[0] = next(iter(env))
            env |= dict(zip(names, rule.kinds, strict=True))
            literals.append(f"{rule.name}[{', '.join(names)}]")
        if self.chance(0.15) or not literals:
            literals.append(self.condition(env))
        return literals, env

    def access(self) -> list[Step]:
        """Changes and reads of a relation whose access level forbids changes, or reads."""
        name = self.r.choice(list(self.relations))
        level = self.r.choice(["protected", "read_only", "hidden"])
        steps = [Step(Seq([f"::access_level {level} {name}"]), {})]
        for _ in range(self.r.choice([1, 2])):
            self.params, self.tags = {}, set()
            steps += self.mutation(name) if self.chance(0.7) else [self.query()]
        if self.chance(0.3):
            steps.append(Step(Seq([f"::remove {name}"]), {}))
        return [*steps, self.listed(), Step(Seq([f"::access_level normal {name}"]), {}), self.look(name)]

    def listed(self) -> Step:
        """A query for the list of relations, or for details of one."""
        name = self.r.choice(list(self.relations))
        return Step(Seq([self.r.choice(["::relations", "::relations", f"::columns {name}", f"::indices {name}"])]), {})
