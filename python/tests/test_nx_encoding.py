"""Vertices and attributes come back as they were."""

import datetime
import math
import random
import uuid
from typing import Any

import numpy as np
import pytest
from quipu.nx._encoding import (
    UnsupportedError,
    decode,
    decode_attributes,
    encode,
    encode_attributes,
    key_of,
)

OFFSET = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    127,
    128,
    -128,
    -129,
    2**63,
    -(10**40),
    0.0,
    -0.0,
    1.5,
    math.inf,
    -math.inf,
    "",
    "quipu",
    "ñandú 数据",
    "\ud800",
    "x" * 300,
    b"",
    b"\x00\xff",
    (),
    (1, (2.0, "three"), None),
    [],
    [1, [2, (3,)], {"a": [4]}],
    {},
    {1: "one", (2, 3): {"deep": [None]}},
    datetime.date(1999, 12, 31),
    datetime.time(23, 59, 59, 999999),
    datetime.time(1, 2, tzinfo=OFFSET),
    datetime.datetime(2026, 11, 27, 5, 6, 7, 8),
    datetime.datetime(2026, 11, 27, tzinfo=datetime.UTC),
    datetime.datetime(2026, 11, 27, tzinfo=OFFSET),
    datetime.timedelta(days=-1, seconds=3, microseconds=7),
    uuid.UUID(int=2**100 + 7),
    np.int8(-3),
    np.uint64(2**64 - 1),
    np.float32(1.5),
    np.float64(2.5),
    np.bool_(True),
    np.str_("text"),
    np.str_(""),
    np.bytes_(b"raw"),
    np.complex128(1 + 2j),
    np.datetime64("2026-11-27T05:06"),
    np.timedelta64(7, "s"),
]


def same(a: Any, b: Any) -> bool:
    """Equal, of the same types all the way down, and in the same order."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and not isinstance(a, np.generic):
        return a.hex() == b.hex()
    return bool(a == b) and repr(a) == repr(b)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_as_it_was(value: Any):
    assert same(decode(encode(value)), value)
    assert same(decode_attributes(encode_attributes({"k": value, 3: (value,)})), {"k": value, 3: (value,)})


def test_nan_stays():
    assert math.isnan(decode(encode(math.nan)))
    assert np.isnan(decode(encode(np.float32("nan"))))


def test_no_attributes_are_no_bytes():
    assert encode_attributes({}) == b""
    assert decode_attributes(b"") == {}


def test_random_nested_values_come_back():
    random.seed(7)

    def some(depth: int) -> Any:
        kind = random.randrange(6 if depth else 3)
        if kind < 3:
            return random.choice([value for value in VALUES if not isinstance(value, list | dict | tuple)])
        items = [some(depth - 1) for _ in range(random.randrange(4))]
        return [items, tuple(items), {f"k{i}": item for i, item in enumerate(items)}][kind - 3]

    for _ in range(500):
        value = some(4)
        assert same(decode(encode(value)), value)


def test_equal_vertices_have_one_key():
    for alike in (
        [1, 1.0, True, np.int64(1), np.float32(1)],
        [0, -0.0, False],
        ["a", np.str_("a")],
        [(1, 2), (True, 2.0)],
    ):
        assert len({key_of(vertex) for vertex in alike}) == 1
    assert len({key_of(vertex) for vertex in (1, 1.5, "1", b"1", (1,), 10**30, -1, math.inf)}) == 8


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, range(3), len])
def test_what_has_no_encoding_is_refused_and_the_attribute_named(value: Any):
    with pytest.raises(UnsupportedError, match="attribute 'k'"):
        encode_attributes({"k": [value]})


def test_a_time_zone_that_would_come_back_as_an_offset_is_refused():
    from zoneinfo import ZoneInfo

    with pytest.raises(UnsupportedError, match="fixed offset"):
        encode(datetime.datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")))


def test_a_list_that_contains_itself_is_refused():
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(UnsupportedError, match="contains itself"):
        encode(loop)


@pytest.mark.parametrize("vertex", [None, [1], frozenset({1}), object(), (1, None), np.datetime64("2026-01-01")])
def test_other_vertices_are_refused(vertex: Any):
    with pytest.raises(UnsupportedError, match="a vertex is"):
        key_of(vertex)
