"""The properties of a graph of ``db.graph`` as attributes of NetworkX, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._encoding import decode_attributes, encode_attributes

#: Python's types for the types of columns. Values of other types are checked when they are written.
_TYPES: dict[str, tuple[type[Any], ...]] = {
    "Float": (int, float),
    "Int": (int,),
    "String": (str,),
    "Bool": (bool,),
    "Bytes": (bytes,),
}
_KEYS = frozenset({"src", "dst", "vertex"})


class Properties:
    """The columns of edges or vertices that are no keys."""

    def __init__(self, columns: Sequence[Any]):
        self._types = {column.name: column.type for column in columns if column.name not in _KEYS}
        self.names = list(self._types)
        #: Those that cannot be null.
        self.required = [name for name, type in self._types.items() if not type.endswith("?")]

    def check(self, place: str, attributes: dict[Any, Any]) -> None:
        """Refuse attributes that are no values of the columns.

        Args:
            place: What has them, for the message.
            attributes: The attributes.

        Raises:
            TypeError: One is missing, unknown, or of another type.
        """
        for name in self.required:
            if name not in attributes:
                raise TypeError(f"{place} has {attributes!r}, and needs {self._described(name)}")
        for name, value in attributes.items():
            if name not in self._types:
                known = ", ".join(map(self._described, self.names)) or "no attributes"
                raise TypeError(f"{place} has {attributes!r}, and can have {known}")
            fitting = _TYPES.get(self._types[name].removesuffix("?"))
            if value is None or (fitting is not None and type(value) not in fitting):
                raise TypeError(f"{place} has {attributes!r}, where {name!r} does not fit {self._described(name)}")

    def _described(self, name: str) -> str:
        return f"a {name} of type {self._types[name].removesuffix('?')}"

    def encoded(self, row: dict[str, Any]) -> bytes:
        """Return the attributes of a row: its values that are not null."""
        return encode_attributes({name: row[name] for name in self.names if row.get(name) is not None})

    def rows(self, table: Any) -> list[bytes]:
        """Return the attributes of each row of a table of edges or vertices."""
        if not self.names:
            return [b""] * len(table)
        values = zip(*(table[name] for name in self.names), strict=True)
        return [self.encoded(dict(zip(self.names, row, strict=True))) for row in values]

    def columns(self, attributes: Sequence[bytes]) -> dict[str, list[Any]]:
        """Return the columns for these attributes, with ``None`` for null."""
        found = [decode_attributes(data) for data in attributes]
        return {name: [one.get(name) for one in found] for name in self.names}
