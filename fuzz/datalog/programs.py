"""Generates random programs of the query language, as trees of text that can be reduced.

A program is a list of steps, each a script with parameters. The generator tracks names, column
types and the kinds of variables, so that most programs run without errors: engines may evaluate in
another order, and which error comes first says little.
"""

from __future__ import annotations

from scripts import Scripts
from text import Seq, Step


class Maker(Scripts):
    """Generates one program."""

    def program(self) -> list[Step]:
        """Generates the whole program."""
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
            if roll < 0.68:
                queries.append(self.query())
                steps.append(queries[-1])
            elif roll < 0.86:
                self.params, self.tags = {}, set()
                steps += self.mutation()
            elif roll < 0.95:
                steps += self.transaction()
            else:
                steps.append(self.kept() if self.chance(0.5) else self.imperative())
                steps += [self.look(name) for name in self.relations if self.chance(0.4)]
        if self.chance(0.2) and (applied := self.application()):
            queries.append(applied)
            steps.append(applied)
        if self.chance(0.15):
            steps += self.triggers(self.r.choice([name for name in self.relations if name != "rh"]))
        if self.chance(0.06):
            steps += self.access()
        if self.chance(0.04):
            steps.append(self.listed())
        if self.chance(0.04):
            name = self.r.choice([name for name in self.relations if name not in ("rh", "lg")])
            if f"{name}:ix" not in self.indexes and name not in self.triggered:
                steps += [Step(Seq([f"::remove {name}"]), {}), self.create(name)]
        # Queries are repeated, because a cached plan must not outlive what it was made for.
        steps += [again for again in queries if self.chance(0.2)]
        return steps


def program(seed: int, large: float = 0.03) -> list[Step]:
    """The program of a seed."""
    maker = Maker(seed, large)
    steps = maker.program()
    for step in steps:
        step.tags |= {"floats"} if maker.floats else set()
        step.way = seed % 8
    return steps
