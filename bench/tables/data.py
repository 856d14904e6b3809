"""Tables of a small social site, drawn from a seed: posts, users, tags and follows.

The sizes of all tables follow the number of posts. Like real data, they are skewed: one author
wrote a third of the posts, one language has most of them, one tag is on half of them, and one city
has few users.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LANGUAGES = ["de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh"]
CITIES = 200
TAGS = 50
WORDS = 1000
DAY = 86_400
FIRST = 1_600_000_000
"""The time of the first post, in seconds."""
AUTHOR_OF_MANY = 1
CHUNK = 1_000_000
"""Rows of one write."""


def authors(posts: int) -> int:
    """The number of users."""
    return max(posts // 20, 100)


def _bodies(draw: np.random.Generator, count: int) -> pa.Array:
    """Texts of 4 to 20 words; about 100 bytes each."""
    words = np.array([f"word{number:03} " for number in range(WORDS)], dtype="S8")
    lengths = draw.integers(4, 21, count)
    offsets = np.zeros(count + 1, dtype=np.int32)
    np.cumsum(lengths * 8, out=offsets[1:])
    text = words[draw.integers(0, WORDS, int(lengths.sum()))].tobytes()
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def posts(draw: np.random.Generator, count: int, start: int, rows: int) -> pa.Table:
    """Posts `start` to `start + rows` of `count`."""
    ids = np.arange(start, start + rows)
    author = np.where(
        draw.random(rows) < 0.32, AUTHOR_OF_MANY, 2 + (draw.random(rows) ** 2 * (authors(count) - 2)).astype(np.int64)
    )
    # Distinct times in another order than that of the keys: a multiplicative permutation.
    ts = FIRST + (ids * 7919) % count * 3 if count % 7919 else FIRST + ids * 3
    lang = np.minimum((draw.random(rows) ** 3 * len(LANGUAGES)).astype(np.int64), len(LANGUAGES) - 1)
    return pa.table(
        {
            "id": ids,
            "author": author,
            "ts": ts,
            "lang": pa.DictionaryArray.from_arrays(pa.array(lang, pa.int8()), LANGUAGES).cast(pa.string()),
            "score": draw.random(rows),
            "body": _bodies(draw, rows),
        }
    )


def small_tables(draw: np.random.Generator, count: int) -> dict[str, pa.Table]:
    """Users, tags and follows."""
    people = authors(count)
    ids = np.arange(1, people + 1)
    # 'city120' is rare: one user in 1,000.
    city = draw.integers(0, CITIES, people)
    city = np.where(city == 120, 121, city)
    city[::1000] = 120
    tag = np.where(draw.random(count) < 0.5, 1, draw.integers(2, TAGS, count))
    follows = np.unique(
        (draw.integers(1, people + 1, count * 3 // 4) << 32)
        | (1 + (draw.random(count * 3 // 4) ** 2 * (people - 1)).astype(np.int64))
    )
    return {
        "users": pa.table({"id": ids, "name": [f"user {i}" for i in ids], "city": [f"city{c}" for c in city]}),
        # The first tag is on half of the posts.
        "tags": pa.table({"post": np.arange(count), "tag": [f"tag{t}" for t in tag]}),
        "follows": pa.table({"src": follows >> 32, "dst": follows & 0xFFFF_FFFF}),
    }


def write(folder: Path, count: int, seed: int) -> None:
    """Writes one Parquet file per table, if they are not there."""
    done = folder / "done"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(seed)
    writer: Any = None
    for start in range(0, count, CHUNK):
        part = posts(draw, count, start, min(CHUNK, count - start))
        writer = writer or pq.ParquetWriter(folder / "posts.parquet", part.schema)
        writer.write_table(part)
    writer.close()
    for name, table in small_tables(draw, count).items():
        pq.write_table(table, folder / f"{name}.parquet")
    done.write_text("")
