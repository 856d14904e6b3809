"""Draws tables, indexes and questions from a seed, and writes each question in Datalog and in SQL.

What the languages mean differently is written out:

- A relation's rows are a set, so SQL says `distinct`.
- In Datalog `null` equals `null`; SQL says `is not distinct from`, or `is` in SQLite.
- Comparisons of order reject `null`, so both sides put a value in its place.
- Sorted results end with all columns, so that there is one order. Nulls come first.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from typing import Any

KINDS = {"Int": "bigint", "Float": "double", "String": "varchar", "Bool": "boolean"}
LETTERS = "abcdeéß中 '%_"


@dataclass
class Column:
    """A column. Its values are drawn from a domain with a skew."""

    name: str
    kind: str
    is_nullable: bool
    domain: list[Any]
    skew: float

    def value(self, draw: random.Random) -> Any:
        """A value of the column."""
        if self.is_nullable and draw.random() < 0.15:
            return None
        return self.domain[int(draw.random() ** self.skew * len(self.domain))]


@dataclass
class Table:
    """A table: its key columns come first."""

    name: str
    columns: list[Column]
    keys: int
    indexes: list[list[str]] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass
class Question:
    """A question in both languages; `{same}` and `{other}` stand for null-safe comparison."""

    script: str
    sql: str
    is_ordered: bool


def domain(draw: random.Random, kind: str, size: int) -> list[Any]:
    """Distinct values of a kind."""
    if kind == "Bool":
        return [False, True]
    if kind == "Int":
        wide = draw.random() < 0.2
        bound = 2**60 if wide else max(size, 4)
        values: set[Any] = {draw.randint(-bound if draw.random() < 0.5 else 0, bound) for _ in range(size)}
    elif kind == "Float":
        # Quarters: their sums are exact, in any order.
        values = {draw.randint(-4 * size, 4 * size) / 4 for _ in range(size)}
    else:
        longest = draw.choice([2, 6, 40])
        values = {"".join(draw.choices(LETTERS, k=draw.randint(0, longest))) for _ in range(size)}
    found = sorted(values)
    draw.shuffle(found)
    return found


def tables(draw: random.Random) -> list[Table]:
    """One to four tables with rows and indexes. Some columns share their domain, so that joins match."""
    found: list[Table] = []
    domains = {kind: [domain(draw, kind, draw.choice([3, 30, 3000])) for _ in range(2)] for kind in KINDS}
    for number in range(draw.randint(1, 4)):
        count = draw.choice([0, 1, 10, 300, 3_000, 3_000, 30_000, 100_000])
        keys = draw.choice([1, 1, 2])
        columns: list[Column] = []
        for place in range(keys + draw.randint(0 if keys == 2 else 1, 5)):
            is_key = place < keys
            kind = draw.choices(list(KINDS), [5, 3, 4, 1])[0]
            if is_key:
                kind = draw.choice(["Int", "Int", "String"])
            values = draw.choice(domains[kind])
            if is_key and place == keys - 1:
                values = domain(draw, kind, max(count, 1) if keys == 1 else 300)
            is_nullable = not is_key and draw.random() < 0.3
            columns.append(Column(f"c{place}", kind, is_nullable, values, draw.choice([1.0, 1.0, 2.0, 5.0])))
        table = Table(f"t{number}", columns, keys)
        rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for _ in range(count):
            row = tuple(column.value(draw) for column in columns)
            rows[row[:keys]] = row
        table.rows = list(rows.values())
        for _ in range(draw.choice([0, 1, 2])):
            chosen = draw.sample(columns, draw.randint(1, min(2, len(columns))))
            table.indexes.append([column.name for column in chosen])
        found.append(table)
    return found


def literal(value: Any, is_sql: bool) -> str:
    """A literal of either language."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + (value.replace("'", "''") if is_sql else value.replace("\\", "\\\\").replace("'", "\\'")) + "'"
    if isinstance(value, float):
        return f"{value!r}" if not is_sql else f"cast({value!r} as double)"
    return str(value)


class Questions:
    """Draws questions to tables."""

    def __init__(self, draw: random.Random, all_tables: list[Table]) -> None:
        """Questions to these tables."""
        self.draw = draw
        self.tables = all_tables

    def question(self) -> Question:
        """One question."""
        self.atoms: list[Table] = []
        # Of each column that is used: its variable, its SQL name, and the column.
        self.used: list[tuple[str, str, Column]] = []
        self.taken: list[dict[str, str]] = []
        self.where: list[str] = []
        self.conditions: list[str] = []
        for _ in range(self.draw.choices([1, 2, 3, 4], [6, 3, 1.5, 0.5])[0]):
            self.atom()
        for _ in range(self.draw.choices([0, 1, 2, 3], [3, 4, 2, 1])[0]):
            script, sql = self.condition()
            self.conditions.append(script)
            self.where.append(sql)
        return self.grouped() if self.draw.random() < 0.35 else self.listed()

    def atom(self) -> None:
        """One more atom, joined with those before where types fit."""
        table = self.draw.choice(self.tables)
        number = len(self.atoms)
        taken: dict[str, str] = {}
        joins = [
            (column, other)
            for column in table.columns
            for other in self.used
            if other[2].kind == column.kind and column.kind != "Bool"
        ]
        is_joined = False
        if joins:
            # Domains that are shared give joins with rows; small ones would give too many.
            good = [pair for pair in joins if len(pair[0].domain) >= 30] or joins
            column, other = self.draw.choice(good)
            taken[column.name] = other[0]
            if column.is_nullable and not other[2].is_nullable:
                # A condition may be evaluated before the join, and then meets nulls.
                nullable = replace(other[2], is_nullable=True)
                self.used = [(*one[:2], nullable) if one is other else one for one in self.used]
            self.where.append(f"({other[1]} {{same}} a{number}.{column.name})")
            is_joined = True
        for place, column in enumerate(table.columns):
            if column.name in taken:
                continue
            if place < table.keys or self.draw.random() < 0.6:
                variable = f"v{number}_{column.name}"
                taken[column.name] = variable
                self.used.append((variable, f"a{number}.{column.name}", column))
        if self.atoms and not is_joined and len(table.rows) > 300:
            # No product of large tables: a constant key.
            column = table.columns[0]
            value = self.draw.choice(column.domain)
            variable, name, _ = next(one for one in self.used if one[1] == f"a{number}.{column.name}")
            self.conditions.append(f"{variable} == {literal(value, is_sql=False)}")
            self.where.append(f"{name} = {literal(value, is_sql=True)}")
        self.atoms.append(table)
        self.taken.append(taken)

    def condition(self) -> tuple[str, str]:
        """A condition in both languages."""
        draw = self.draw
        if draw.random() < 0.15:
            one, other = self.condition(), self.condition()
            script, sql = draw.choice([("||", "or"), ("&&", "and")])
            return f"({one[0]} {script} {other[0]})", f"({one[1]} {sql} {other[1]})"
        if draw.random() < 0.1:
            script, sql = self.condition()
            return f"!({script})", f"not ({sql})"
        variable, name, column = draw.choice(self.used)
        value = draw.choice(column.domain)
        written, in_sql = literal(value, is_sql=False), literal(value, is_sql=True)
        if column.is_nullable and draw.random() < 0.2:
            return f"is_null({variable})", f"({name} is null)"
        if column.kind == "Bool":
            return f"{variable} == {written}", f"({name} {{same}} {in_sql})"
        if draw.random() < 0.15:
            members = draw.sample(column.domain, min(len(column.domain), draw.choice([1, 3, 20])))
            return (
                f"is_in({variable}, [{', '.join(literal(member, is_sql=False) for member in members)}])",
                f"coalesce({name} in ({', '.join(literal(member, is_sql=True) for member in members)}), false)",
            )
        if column.is_nullable:
            variable, name = f"coalesce({variable}, {written})", f"coalesce({name}, {in_sql})"
            value = draw.choice(column.domain)
            written, in_sql = literal(value, is_sql=False), literal(value, is_sql=True)
        if column.kind == "String" and draw.random() < 0.4:
            part = value[: draw.randint(0, 3)]
            written, in_sql = literal(part, is_sql=False), literal(part, is_sql=True)
            return draw.choice(
                [
                    (f"starts_with({variable}, {written})", f"(substr({name}, 1, {len(part)}) = {in_sql})"),
                    (f"str_includes({variable}, {written})", f"(instr({name}, {in_sql}) > 0)"),
                    (f"length({variable}) > {len(part)}", f"(length({name}) > {len(part)})"),
                ]
            )
        if column.kind == "Int" and draw.random() < 0.2:
            modulus = draw.choice([2, 7, 100])
            return f"{variable} % {modulus} == 1", f"({name} % {modulus} = 1)"
        operator, sql = draw.choice([("==", "="), ("!=", "<>"), ("<", "<"), ("<=", "<="), (">", ">"), (">=", ">=")])
        return f"{variable} {operator} {written}", f"({name} {sql} {in_sql})"

    def computed(self) -> tuple[str, str]:
        """An expression for output or groups."""
        draw = self.draw
        variable, name, column = draw.choice(self.used)
        value = draw.choice(column.domain)
        written, in_sql = literal(value, is_sql=False), literal(value, is_sql=True)
        if column.is_nullable:
            variable, name = f"coalesce({variable}, {written})", f"coalesce({name}, {in_sql})"
        if column.kind == "Int":
            return f"{variable} % 10", f"{name} % 10"
        if column.kind == "Float":
            return f"if({variable} > {written}, {variable} * 2.0, 0.5)", (
                f"case when {name} > {in_sql} then {name} * 2.0 else 0.5 end"
            )
        if column.kind == "String":
            return f"length({variable})", f"length({name})"
        return f"if({variable}, 1, 2)", f"case when {name} then 1 else 2 end"

    def body(self, more: list[str]) -> str:
        """The body of the rule."""
        atoms = [
            f"*{table.name}{{{', '.join(f'{column}: {variable}' for column, variable in taken.items())}}}"
            for table, taken in zip(self.atoms, self.taken, strict=True)
        ]
        if self.draw.random() < 0.3:
            self.draw.shuffle(atoms)
        return ", ".join([*atoms, *self.conditions, *more])

    def source(self) -> str:
        """What follows `from`."""
        joined = ", ".join(f"{table.name} a{number}" for number, table in enumerate(self.atoms))
        return joined + (f" where {' and '.join(self.where)}" if self.where else "")

    def listed(self) -> Question:
        """Rows, often in an order and with a limit."""
        draw = self.draw
        chosen = draw.sample(self.used, draw.randint(1, min(4, len(self.used))))
        variables = [one[0] for one in chosen]
        names = [one[1] for one in chosen]
        more: list[str] = []
        if draw.random() < 0.3:
            script, sql = self.computed()
            more.append(f"made = {script}")
            variables.append("made")
            names.append(sql)
        head, body = ", ".join(variables), self.body(more)
        script = f"?[{head}] := {body}"
        columns = ", ".join(f"{name} as o{number}" for number, name in enumerate(names))
        sql = f"select distinct {columns} from {self.source()}"
        size = math.prod(max(len(table.rows), 1) for table in self.atoms)
        if size <= 3_000 and draw.random() < 0.4:
            return Question(script, sql, is_ordered=False)
        leading = draw.randint(0, len(variables))
        order = list(range(len(variables)))
        if draw.random() < 0.5:
            draw.shuffle(order)
        signs = [draw.random() < 0.4] * len(order)
        if draw.random() < 0.3:
            signs = [draw.random() < 0.4 if number < leading else False for number in range(len(order))]
        limit, offset = draw.choice([1, 10, 10, 100, 1000]), draw.choice([0, 0, 0, 5, 1000])
        by_script = ", ".join(f"{'-' if signs[n] else ''}{variables[place]}" for n, place in enumerate(order))
        by_sql = ", ".join(
            f"o{place} {'desc nulls last' if signs[n] else 'asc nulls first'}" for n, place in enumerate(order)
        )
        script += f" :order {by_script} :limit {limit}" + (f" :offset {offset}" if offset else "")
        sql += f" order by {by_sql} limit {limit}" + (f" offset {offset}" if offset else "")
        return Question(script, sql, is_ordered=True)

    def grouped(self) -> Question:
        """Aggregates, with or without groups."""
        draw = self.draw
        more: list[str] = []
        heads: list[str] = []
        names: list[str] = []
        groups = draw.choice([0, 1, 1, 2])
        for variable, name, _ in draw.sample(self.used, min(groups, len(self.used))):
            heads.append(variable)
            names.append(name)
        if draw.random() < 0.2:
            script, sql = self.computed()
            more.append(f"made = {script}")
            heads.append("made")
            names.append(sql)
        places = len(heads)
        variable = self.used[0][0]
        heads.append(f"count({variable})")
        names.append("count(*)")
        numbers = [
            one
            for one in self.used
            if not one[2].is_nullable
            and (one[2].kind == "Float" or (one[2].kind == "Int" and max(map(abs, one[2].domain), default=0) < 2**40))
        ]
        for _ in range(draw.randint(0, 2)):
            if numbers and draw.random() < 0.6:
                variable, name, _ = draw.choice(numbers)
                script, sql = draw.choice([("sum", "coalesce(sum({}), 0)"), ("mean", "avg({})")])
            else:
                variable, name, column = draw.choice(self.used)
                kinds = [("min", "min({})"), ("max", "max({})")]
                if not column.is_nullable:
                    kinds.append(("count_unique", "count(distinct {})"))
                script, sql = draw.choice(kinds)
                if column.kind == "Bool":
                    continue
            heads.append(f"{script}({variable})")
            names.append(sql.format(name))
        script = f"?[{', '.join(heads)}] := {self.body(more)}"
        sql = f"select {', '.join(names)} from {self.source()}"
        if places:
            sql += f" group by {', '.join(str(number + 1) for number in range(places))}"
        return Question(script, sql, is_ordered=False)
