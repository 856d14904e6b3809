"""Generates bodies of rules."""

from __future__ import annotations

from text import Rule, Seq
from values import JOINABLE, Values


class Bodies(Values):
    """Generates atoms, conditions, negations, disjunctions and bodies."""

    def term(self, kind: str, env: dict[str, str], negated: bool, seen: dict[str, str]) -> str:
        """An argument of an atom; adds new variables to `seen`."""
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
            # Named wildcards are used once: the other engines unify them, ours does not.
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
        """A condition on a bound variable, if there is one."""
        if self.chance(0.4) and (bound := self.bounds(env)):
            return bound
        text = self.expr("bool", env, 2)
        for _ in range(6):
            if any(name in text for name in env):
                break
            text = self.expr("bool", env, 2)
        return text

    def bounds(self, env: dict[str, str]) -> str | None:
        """A condition that bounds a variable, or fixes it, which may select an index."""
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
        """The operand of `not`."""
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
        """Literals, and the kinds of the variables that they bind."""
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
