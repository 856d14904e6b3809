"""Generates rules and queries."""

from __future__ import annotations

from bodies import Bodies
from text import Rule, Seq, Step


class Rules(Bodies):
    """Generates rules, with aggregates and recursion."""

    def rule(self, name: str, head: list[tuple[str, str]], literals: list[Seq | str]) -> Seq:
        """A rule of a head's terms and a body."""
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
        """One more definition with the same kinds of columns.

        If it is recursive, it computes no new values.
        """
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
        """An aggregate over a variable: its text, and the kind of its result."""
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
                    # No ambiguous ties: equal costs have equal data.
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

    def algorithm_rules(self, name: str, below: list[Rule]) -> tuple[list[Seq], Rule] | None:
        """A rule that applies an algorithm, if there is something to apply it to."""
        raise NotImplementedError

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
                elif roll < 0.64 and (applied := self.algorithm_rules(name, made)):
                    texts, one = applied
                elif roll < 0.7:
                    kinds = [self.r.choice(["int", "int", "str", "any"]) for _ in range(self.r.choice([1, 2, 2]))]
                    rows: list[Seq | str] = [self.row(kinds) for _ in range(self.r.randint(1, 5))]
                    head = ", ".join("uvw"[: len(kinds)])
                    texts, one = [Seq([f"{name}[{head}] <- [", Seq(rows, ", ", 0), "]"])], Rule(name, kinds)
                else:
                    texts, one = self.plain_rules(name, made, made)
                some = [one]
            found += texts
            # A list in the order of arrival differs between engines, so nothing joins with it.
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
