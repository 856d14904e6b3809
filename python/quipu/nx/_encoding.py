"""Vertices and attributes as bytes, and back as they were.

A value is a tag byte and its data. A dict of attributes is its pairs without a tag, so an empty dict has no bytes.
Lengths and counts are variable-length integers of 7 bits a byte, lowest first.

| tag | value | follows |
| --- | --- | --- |
| ``N`` ``T`` ``F`` | None, True, False | nothing |
| ``i`` | int | length, bytes in two's complement, lowest first |
| ``f`` | float | 8 bytes, lowest first |
| ``s`` ``b`` | str, bytes | length, bytes (UTF-8; lone surrogates as three bytes) |
| ``t`` ``l`` | tuple, list | count, values |
| ``d`` | dict | count, keys and values |
| ``D`` ``C`` ``X`` | date, time, datetime | ISO 8601 with a length |
| ``E`` | timedelta | a tuple of days, seconds and microseconds |
| ``U`` | UUID | 16 bytes |
| ``n`` | NumPy scalar | its type and its bytes, each with a length |

:func:`key_of` is the form in which vertices are looked up: equal vertices have equal keys, so ``1``, ``1.0`` and
``True`` are one vertex.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from struct import Struct
from typing import Any, cast

import numpy as np

_FLOAT = Struct("<d")
_NESTED_MAX = 200


class UnsupportedError(TypeError):
    """A value has no encoding."""


def encode(value: Any) -> bytes:
    """Return the bytes of a value.

    Raises:
        UnsupportedError: The value, or one inside of it, has no encoding.
    """
    out = bytearray()
    _put(out, value, 0)
    return bytes(out)


def decode(data: bytes) -> Any:
    """Return the value that :func:`encode` was called with."""
    return _take(data, 0)[0]


def encode_attributes(attributes: dict[Any, Any]) -> bytes:
    """Return the bytes of a dict of attributes; ``b""`` for an empty one.

    Raises:
        UnsupportedError: A value has no encoding. The message names the attribute.
    """
    if not attributes:
        return b""
    out = bytearray()
    for key, value in attributes.items():
        try:
            _put(out, key, 0)
            _put(out, value, 0)
        except UnsupportedError as error:
            raise UnsupportedError(f"attribute {key!r}: {error}") from None
    return bytes(out)


def decode_attributes(data: bytes) -> dict[Any, Any]:
    """Return the attributes that :func:`encode_attributes` was called with."""
    attributes: dict[Any, Any] = {}
    at = 0
    while at < len(data):
        key, at = _take(data, at)
        attributes[key], at = _take(data, at)
    return attributes


def is_mutable_inside(attributes: dict[Any, Any]) -> bool:
    """Return whether a value can change without the dict of attributes noticing."""
    return any(type(value) in _CONTAINERS for value in attributes.values())


_CONTAINERS = (list, dict, tuple)


def key_of(vertex: Any) -> bytes:
    """Return the bytes by which a vertex is looked up; the same for equal vertices.

    Raises:
        UnsupportedError: It is not an int, str, float, bytes, bool or a tuple of these.
    """
    return encode(_canonical(vertex))


def _canonical(vertex: Any) -> Any:
    kind = cast("type[Any]", type(vertex))
    if kind is int or kind is str or kind is bytes:
        return vertex
    if kind is bool:
        return int(vertex)
    if kind is float:
        return int(vertex) if vertex.is_integer() else vertex
    if kind is tuple:
        return tuple(_canonical(item) for item in vertex)
    if isinstance(vertex, np.generic) and vertex.dtype.kind in "biufSU":
        return _canonical(vertex.item())
    raise UnsupportedError(
        f"a vertex is an int, str, float, bytes, bool, a NumPy scalar or a tuple of these, not {kind.__name__}"
    )


# --- writing ---


def _put_length(out: bytearray, length: int) -> None:
    while length > 127:
        out.append(length & 127 | 128)
        length >>= 7
    out.append(length)


def _put_bytes(out: bytearray, tag: int, data: bytes) -> None:
    out.append(tag)
    _put_length(out, len(data))
    out += data


def _put(out: bytearray, value: Any, depth: int) -> None:
    write = _WRITERS.get(type(value))
    if write is not None:
        write(out, value, depth)
    elif isinstance(value, np.generic):
        _put_scalar(out, value)
    elif isinstance(value, dict) and getattr(value, "is_plain", False):  # attributes of a stored graph
        _put_dict(out, cast("dict[Any, Any]", value), depth)
    else:
        raise UnsupportedError(f"a {type(value).__name__} cannot be stored")


def _put_none(out: bytearray, value: None, depth: int) -> None:
    out.append(78)


def _put_bool(out: bytearray, value: bool, depth: int) -> None:
    out.append(84 if value else 70)


def _put_int(out: bytearray, value: int, depth: int) -> None:
    _put_bytes(out, 105, value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True))


def _put_float(out: bytearray, value: float, depth: int) -> None:
    out.append(102)
    out += _FLOAT.pack(value)


def _put_str(out: bytearray, value: str, depth: int) -> None:
    _put_bytes(out, 115, value.encode("utf-8", "surrogatepass"))


def _put_raw(out: bytearray, value: bytes, depth: int) -> None:
    _put_bytes(out, 98, value)


def _deeper(depth: int) -> int:
    if depth >= _NESTED_MAX:
        raise UnsupportedError(f"a value with more than {_NESTED_MAX} levels, or one that contains itself")
    return depth + 1


def _put_items(out: bytearray, tag: int, items: list[Any] | tuple[Any, ...], depth: int) -> None:
    out.append(tag)
    _put_length(out, len(items))
    depth = _deeper(depth)
    for item in items:
        _put(out, item, depth)


def _put_tuple(out: bytearray, value: tuple[Any, ...], depth: int) -> None:
    _put_items(out, 116, value, depth)


def _put_list(out: bytearray, value: list[Any], depth: int) -> None:
    _put_items(out, 108, value, depth)


def _put_dict(out: bytearray, value: dict[Any, Any], depth: int) -> None:
    out.append(100)
    _put_length(out, len(value))
    depth = _deeper(depth)
    for key, item in value.items():
        _put(out, key, depth)
        _put(out, item, depth)


def _put_date(out: bytearray, value: datetime.date, depth: int) -> None:
    _put_bytes(out, 68, value.isoformat().encode())


def _put_time(out: bytearray, value: datetime.time, depth: int) -> None:
    _refuse_named_zone(value.tzinfo)
    _put_bytes(out, 67, value.isoformat().encode())


def _put_datetime(out: bytearray, value: datetime.datetime, depth: int) -> None:
    _refuse_named_zone(value.tzinfo)
    _put_bytes(out, 88, value.isoformat().encode())


def _refuse_named_zone(zone: datetime.tzinfo | None) -> None:
    # ISO 8601 has the offset alone, so a named zone would come back as another.
    if zone is not None and type(zone) is not datetime.timezone:
        raise UnsupportedError(f"a time with the zone {zone!r} cannot be stored, only one with a fixed offset")


def _put_timedelta(out: bytearray, value: datetime.timedelta, depth: int) -> None:
    out.append(69)
    _put_tuple(out, (value.days, value.seconds, value.microseconds), depth)


def _put_uuid(out: bytearray, value: uuid.UUID, depth: int) -> None:
    out.append(85)
    out += value.bytes


def _put_scalar(out: bytearray, value: np.generic) -> None:
    if value.dtype.hasobject or value.dtype.names:
        raise UnsupportedError(f"a NumPy scalar of type {value.dtype} cannot be stored")
    _put_bytes(out, 110, value.dtype.str.encode())
    data = value.tobytes()
    _put_length(out, len(data))
    out += data


_WRITERS: dict[type[Any], Callable[[bytearray, Any, int], None]] = {
    type(None): _put_none,
    bool: _put_bool,
    int: _put_int,
    float: _put_float,
    str: _put_str,
    bytes: _put_raw,
    tuple: _put_tuple,
    list: _put_list,
    dict: _put_dict,
    datetime.date: _put_date,
    datetime.time: _put_time,
    datetime.datetime: _put_datetime,
    datetime.timedelta: _put_timedelta,
    uuid.UUID: _put_uuid,
}


# --- reading ---


def _take_length(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 128:
        return byte, at + 1
    length, shift = byte & 127, 7
    while True:
        at += 1
        byte = data[at]
        length |= (byte & 127) << shift
        if byte < 128:
            return length, at + 1
        shift += 7


def _take_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _take_length(data, at)
    end = at + length
    return data[at:end], end


def _take(data: bytes, at: int) -> tuple[Any, int]:
    return _READERS[data[at]](data, at + 1)


def _take_int(data: bytes, at: int) -> tuple[int, int]:
    raw, at = _take_bytes(data, at)
    return int.from_bytes(raw, "little", signed=True), at


def _take_float(data: bytes, at: int) -> tuple[float, int]:
    return _FLOAT.unpack_from(data, at)[0], at + 8


def _take_str(data: bytes, at: int) -> tuple[str, int]:
    length, at = _take_length(data, at)
    end = at + length
    return data[at:end].decode("utf-8", "surrogatepass"), end


def _take_list(data: bytes, at: int) -> tuple[list[Any], int]:
    count, at = _take_length(data, at)
    items: list[Any] = []
    for _ in range(count):
        item, at = _take(data, at)
        items.append(item)
    return items, at


def _take_tuple(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    items, at = _take_list(data, at)
    return tuple(items), at


def _take_dict(data: bytes, at: int) -> tuple[dict[Any, Any], int]:
    count, at = _take_length(data, at)
    found: dict[Any, Any] = {}
    for _ in range(count):
        key, at = _take(data, at)
        found[key], at = _take(data, at)
    return found, at


def _take_date(data: bytes, at: int) -> tuple[datetime.date, int]:
    raw, at = _take_bytes(data, at)
    return datetime.date.fromisoformat(raw.decode()), at


def _take_time(data: bytes, at: int) -> tuple[datetime.time, int]:
    raw, at = _take_bytes(data, at)
    return datetime.time.fromisoformat(raw.decode()), at


def _take_datetime(data: bytes, at: int) -> tuple[datetime.datetime, int]:
    raw, at = _take_bytes(data, at)
    return datetime.datetime.fromisoformat(raw.decode()), at


def _take_timedelta(data: bytes, at: int) -> tuple[datetime.timedelta, int]:
    (days, seconds, microseconds), at = _take_tuple(data, at + 1)
    return datetime.timedelta(days, seconds, microseconds), at


def _take_uuid(data: bytes, at: int) -> tuple[uuid.UUID, int]:
    return uuid.UUID(bytes=data[at : at + 16]), at + 16


def _take_scalar(data: bytes, at: int) -> tuple[np.generic, int]:
    kind, at = _take_bytes(data, at)
    raw, at = _take_bytes(data, at)
    dtype = np.dtype(kind.decode())
    if not dtype.itemsize:  # an empty string has no bytes to read from
        return dtype.type(), at
    return np.frombuffer(raw, dtype)[0], at


_READERS: dict[int, Callable[[bytes, int], tuple[Any, int]]] = {
    78: lambda data, at: (None, at),
    84: lambda data, at: (True, at),
    70: lambda data, at: (False, at),
    105: _take_int,
    102: _take_float,
    115: _take_str,
    98: _take_bytes,
    116: _take_tuple,
    108: _take_list,
    100: _take_dict,
    68: _take_date,
    67: _take_time,
    88: _take_datetime,
    69: _take_timedelta,
    85: _take_uuid,
    110: _take_scalar,
}
