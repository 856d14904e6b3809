"""Keys of edges, as `docs/formats/ordered.md` has them and as alternatives would, and their bytes.

# Why the bytes of TiKV are here
TiKV splits a region by the bytes and the number of its own rows: the key with escape bytes and a
timestamp, the value inside a record of the write column family. That is twice the bytes of a row
that the engine hands over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphs import Ids

Words = npt.NDArray[np.uint64]
Shares = npt.NDArray[np.float64]

PREFIX_BYTES = 4
WORD_BYTES = 8
CHECKSUM_BYTES = 4
SHORT_VALUE_BYTES_MAX = 255

# Neighbors of a page, and the bytes of one in it: the engine `kv` stores a direction of an edge of
# a random graph in about 2.5 (bench/results/README.md, "Import from 1 M to 30 M edges").
PAGE_NEIGHBORS = 512
NEIGHBOR_BYTES = 2.5

# A vertex with more edges than this is a hub, and has this number of buckets.
HUB_EDGES = 1024
BUCKETS = 16

# Shards of a keyspace: their number is a byte between prefix and words.
SHARDS = 64


def key(prefix: int, words: tuple[int, ...]) -> bytes:
    """The key of a row: four bytes of prefix, eight of each word, big-endian."""
    return b"".join([prefix.to_bytes(PREFIX_BYTES, "big"), *(word.to_bytes(WORD_BYTES, "big") for word in words)])


def value_bytes(commit: int = 0, plain: int = 0, weights: int = 0) -> int:
    """Bytes of a row's value: flags, two numbers of commits, columns, checksum."""
    columns = (weights + 7) // 8 + WORD_BYTES * weights
    return 1 + _varint_bytes(commit) + _varint_bytes(plain) + columns + CHECKSUM_BYTES


def tikv_row_bytes(key_bytes: int, value: Shares) -> Shares:
    """Bytes of a row in TiKV, before compression.

    Key: `z`, groups of eight bytes with a marker each, a timestamp. The record in the write column
    family: the kind, the start timestamp (nine bytes as a varint), `v`, a length and a short value.
    A longer value is a row of its own in the default column family.
    """
    stored_key = 1 + 9 * (key_bytes // 8 + 1) + 8
    short = value <= SHORT_VALUE_BYTES_MAX
    return stored_key + 10 + value + np.where(short, 2, stored_key)


def _varint_bytes(number: int) -> int:
    return max(1, (number.bit_length() + 6) // 7)


def mix(words: Words) -> Words:
    """A bijection of words that scatters neighbors: the last steps of SplitMix64."""
    words = words ^ (words >> np.uint64(30))
    words = words * np.uint64(0xBF58476D1CE4E5B9)
    words = words ^ (words >> np.uint64(27))
    words = words * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def unmix(words: Words) -> Words:
    """The inverse of `mix`."""
    words = words ^ (words >> np.uint64(31)) ^ (words >> np.uint64(62))
    words = words * np.uint64(0x319642B2D24D8EC3)
    words = words ^ (words >> np.uint64(27)) ^ (words >> np.uint64(54))
    words = words * np.uint64(0x96DE1B173F119089)
    return words ^ (words >> np.uint64(30)) ^ (words >> np.uint64(60))


def reverse_bits(words: Words) -> Words:
    """The bits of each word in the other order; its own inverse."""
    for shift, mask in (
        (1, 0x5555555555555555),
        (2, 0x3333333333333333),
        (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF),
        (16, 0x0000FFFF0000FFFF),
        (32, 0x00000000FFFFFFFF),
    ):
        by, low = np.uint64(shift), np.uint64(mask)
        words = ((words >> by) & low) | ((words & low) << by)
    return words


@dataclass(frozen=True)
class Layout:
    """How the edge between ``near``, whose neighbors are asked for, and ``far`` becomes a key."""

    name: str
    about: str
    words: Callable[[Words, Words, npt.NDArray[np.bool_]], tuple[Words, ...]]
    """Words of the keys, from both ends and whether ``near`` is a hub."""
    neighbors: int = 1
    """Neighbors in a row."""
    buckets: int = 1
    """Ranges in which the neighbors of a hub lie."""
    ordered_ranges: int = 0
    """Scans in key order that together find vertices in the order of their ids; 0 if there are none."""

    def rows(self, edges: Ids) -> Ids:
        """Rows that hold this number of neighbors in one range."""
        return -(-edges // self.neighbors)

    def row_bytes(self, neighbors: Shares) -> Shares:
        """Bytes in TiKV of an unweighted row with this number of neighbors."""
        key_bytes = PREFIX_BYTES + WORD_BYTES * (3 if self.buckets > 1 else 2) + (self.ordered_ranges > 1)
        inside = np.zeros_like(neighbors) if self.neighbors == 1 else NEIGHBOR_BYTES * neighbors
        return tikv_row_bytes(key_bytes, value_bytes() + inside)

    def edge_bytes(self, edges: Ids) -> Shares:
        """Bytes in TiKV of one edge of a vertex with this number of edges: its part of a row."""
        rows = self.rows(edges)
        return rows / edges * self.row_bytes(edges / rows)


def _bucketed(near: Words, far: Words, hub: npt.NDArray[np.bool_]) -> tuple[Words, ...]:
    bucket = np.where(hub, mix(far) % np.uint64(BUCKETS), np.uint64(0))
    return mix(near ^ mix(bucket)), near, far


LAYOUTS = (
    Layout("as is", "`(near, far)`", lambda near, far, _: (near, far), ordered_ranges=1),
    Layout(
        "sharded",
        f"`(mix(near) mod {SHARDS}, near, far)`",
        lambda near, far, _: (mix(near) % np.uint64(SHARDS), near, far),
        ordered_ranges=SHARDS,
    ),
    Layout("hashed", "`(mix(near), far)`", lambda near, far, _: (mix(near), far)),
    Layout("bit-reversed", "`(reverse(near), far)`", lambda near, far, _: (reverse_bits(near), far)),
    Layout("both hashed", "`(mix(near), mix(far))`", lambda near, far, _: (mix(near), mix(far))),
    Layout(
        "hub buckets",
        f"`(mix(near, bucket), near, far)`; a vertex with more than {HUB_EDGES} edges has {BUCKETS} buckets",
        _bucketed,
        buckets=BUCKETS,
    ),
    Layout(
        "pages",
        f"`(mix(near), first far)`, {PAGE_NEIGHBORS} neighbors a row",
        lambda near, far, _: (mix(near), far),
        neighbors=PAGE_NEIGHBORS,
    ),
)
