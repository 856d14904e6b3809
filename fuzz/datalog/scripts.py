"""Generates scripts of several statements."""

from __future__ import annotations

from changes import Changes
from text import Column, Seq, Step, spec_of


class Scripts(Changes):
    """Generates scripts of several statements."""

    def kept(self) -> Step:
        """A script of several blocks over temporary relations."""
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
        """A query without options; its parameters and tags are added to the current ones."""
        params, tags = self.params, self.tags
        self.params = dict(params)
        rules, made = self.rules()
        entry, _ = self.plain_rules("?", made, made)
        self.tags |= tags
        return Seq([*rules, *entry], "\n", 1)

    def transaction(self) -> list[Step]:
        """Changes of stored relations, where one may fail, and queries for the remaining rows."""
        self.params, self.tags = {}, {"imperative"}
        r, relations = self.r, dict(self.relations)
        parts: list[Seq | str] = []
        made = self.chance(0.3)
        if made:
            self.relations["rn"] = [Column("a", "int", "Int", True), Column("b", "int", None, False)]
            parts.append("{?[a, b] <- [[1, 2], [2, 3]] :create rn {a: Int => b}}")
        for _ in range(r.choice([1, 2, 3])):
            change: Seq | str = Seq(["{", self.mutation()[0].script, "}"])
            if self.chance(0.1):
                change = Seq(["%ignore_error ", change])
            elif self.chance(0.1):
                change = Seq(["%if {", self.query_text(), "} %then ", change, " %end"])
            parts.append(change)
        if self.chance(0.6):
            parts.insert(r.randint(0, len(parts)), Seq(["{", self.failure(), "}"]))
        if self.chance(0.5):
            parts.append(Seq(["{", self.query_text(), "}"]))
        found = [Step(Seq(parts, " ", 1), self.params, self.tags)]
        found += [self.look(name) for name in self.relations]
        if made:
            self.relations = relations
            found += [Step(Seq(["::relations"]), {}), Step(Seq(["::remove rn"]), {})]
        return found

    def failure(self) -> str:
        """A query that mostly fails."""
        r = self.r
        name = r.choice(list(self.relations))
        keys = [c for c in self.relations[name] if c.is_key]
        head, row = ", ".join(c.name for c in keys), ", ".join(self.cell(c) for c in keys)
        stored = f"?[{head}] := *{name}{{{head}}}"
        return r.choice([
            "?[x] <- [[1]] :assert none",
            "?[x] <- [] :assert some",
            "?[x] := x = to_int('x')",
            "?[x] := x = assert(1 == 2, 'no')",
            f"{stored} :ensure_not {name} {{{head}}}",
            f"?[{head}] <- [[{row}]] :delete {name} {{{head}}}",
            f"{stored} :create {name} {{{head}}}",
            "?[x] <- [[1]] :put nowhere {x}",
            f"{stored} :insert {name} {{{head}}}",
        ])  # fmt: skip
