"""Programs as trees of text, which can be reduced."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


class Seq:
    """A text of parts; some may be left out, down to `least`."""

    def __init__(self, parts: list[Seq | str], sep: str = "", least: int | None = None) -> None:
        """With `least` None no part may be left out."""
        self.parts, self.sep, self.least = parts, sep, least

    def text(self) -> str:
        """The parts joined to a string."""
        return self.sep.join(part if isinstance(part, str) else part.text() for part in self.parts)

    def smaller(self) -> list[Seq]:
        """Copies with something removed, the smallest first."""
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
        """A copy with literals of bodies, and alternatives, in another order."""
        parts = [part if isinstance(part, str) else part.shuffled(r) for part in self.parts]
        if self.least == 1 and self.sep in (", ", " or "):
            r.shuffle(parts)
        return Seq(parts, self.sep, self.least)


class Raw(str):
    """An expression as source text, written without quotes."""

    __slots__ = ()


@dataclass
class Step:
    """A script and its parameters; `way` selects the execution mode of our engine."""

    script: Seq
    params: dict[str, object]
    tags: set[str] = field(default_factory=set)
    way: int = 0


@dataclass
class Column:
    """A column of a stored relation, with the kind of its values."""

    name: str
    kind: str
    type: str | None
    is_key: bool
    default: str | None = None


@dataclass
class Rule:
    """The columns of a rule or relation; those that are `computed` are not extended further."""

    name: str
    kinds: list[str]


def literal(value: object) -> str:
    """A value as a literal of the language."""
    if isinstance(value, Raw):
        return str(value)
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
    """The specification of the columns, in braces."""

    def one(column: Column) -> str:
        text = column.name
        if with_types and column.type:
            text += f": {column.type}"
        if with_types and column.default and not (rename and column.name in rename):
            text += f" default {column.default}"
        if rename and column.name in rename:
            text += f" = {rename[column.name]}"
        return text

    keys = ", ".join(one(c) for c in columns if c.is_key)
    values = ", ".join(one(c) for c in columns if not c.is_key)
    return "{" + keys + (f" => {values}" if values else "") + "}"
