"""Engines of the Python benchmark: maps from integers to byte strings and to counts.

Each package is used in its fastest way. Keys are unsigned 64-bit integers, big-endian for engines
that order bytes. Nothing is synced: Quipu's durability is ``none``, RocksDB has no log, LMDB and
LevelDB do not sync.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint64]

KEY = struct.Struct(">Q")
COUNT = struct.Struct("<q")
# Rows that Quipu reads with one call; longer scans use its iterator.
SHORT = 1024
NAMES = ["quipu", "rocksdb", "lmdb", "leveldb", "dict"]


class Engine(ABC):
    """An engine that stores counters in a folder."""

    @abstractmethod
    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens the folder, or creates it."""

    @abstractmethod
    def add_many(self, keys: Ids) -> None:
        """Adds 1 to the count of each key; keys may repeat."""

    @abstractmethod
    def counts(self, keys: Ids) -> list[int]:
        """Counts of the keys, 0 for keys that were not counted."""

    def flush(self) -> None:
        """Flushes what is only in memory, if the engine has such a call."""
        return

    def close(self) -> None:
        """Closes the engine."""
        return


class Store(Engine):
    """An engine that also stores values."""

    @abstractmethod
    def put_many(self, keys: Ids, values: list[bytes]) -> None:
        """Puts the values of many keys."""

    @abstractmethod
    def get(self, key: int) -> bytes | None:
        """The value of a key, or nothing."""

    def get_many(self, keys: Ids) -> list[bytes | None]:
        """The values of keys, in their order."""
        return [self.get(key) for key in keys.tolist()]

    @abstractmethod
    def put(self, key: int, value: bytes) -> None:
        """Puts the value of a key."""

    @abstractmethod
    def scan(self, start: int, count: int) -> int:
        """Total bytes of the next `count` values from `start` on."""

    @abstractmethod
    def remove(self, key: int) -> None:
        """Deletes a key."""


class Quipu(Store):
    """Quipu, by its Python package."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens the folder, or creates it."""
        import quipu

        memory = max(2 * cache_bytes, 1 << 30)
        self.database = quipu.open(folder, durability="none", cache=cache_bytes, memory_limit=memory, direct_io=direct)
        self.blobs = self.database.blobs("values")
        self.counters = self.database.counters("counts")

    def put_many(self, keys: Ids, values: list[bytes]) -> None:
        """Puts the values of many keys."""
        self.blobs.put_many(keys, values)

    def get(self, key: int) -> bytes | None:
        """The value of a key, or nothing."""
        return self.blobs.get(key)

    def get_many(self, keys: Ids) -> list[bytes | None]:
        """The values of keys, in their order."""
        return self.blobs.get_many(keys)

    def put(self, key: int, value: bytes) -> None:
        """Puts the value of a key."""
        self.blobs.put(key, value)

    def scan(self, start: int, count: int) -> int:
        """Total bytes of the next `count` values from `start` on."""
        rows = self.blobs.scan(start, count) if count <= SHORT else islice(self.blobs.items(start), count)
        return sum(len(value) for _, value in rows)

    def remove(self, key: int) -> None:
        """Deletes a key."""
        self.blobs.discard(key)

    def add_many(self, keys: Ids) -> None:
        """Adds 1 to the count of each key; keys may repeat."""
        self.counters.add_many(keys)

    def counts(self, keys: Ids) -> list[int]:
        """Counts of the keys, 0 for keys that were not counted."""
        return self.counters.get_many(keys).tolist()

    def flush(self) -> None:
        """Flushes what is only in memory."""
        self.database.flush()

    def close(self) -> None:
        """Closes the engine."""
        self.database.close()


class Bytes(Store):
    """Common parts of engines of byte strings; counters are read, changed and written back."""

    @abstractmethod
    def read(self, keys: list[bytes]) -> list[bytes | None]:
        """Reads rows of the counters."""

    @abstractmethod
    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes rows of the counters."""

    def add_many(self, keys: Ids) -> None:
        """Adds 1 to the count of each key; keys may repeat."""
        named, times = np.unique(keys, return_counts=True)
        packed = [KEY.pack(key) for key in named.tolist()]
        before = self.read(packed)
        sums = (COUNT.unpack(old)[0] + n if old else n for old, n in zip(before, times.tolist(), strict=True))
        self.write(zip(packed, map(COUNT.pack, sums), strict=True))

    def counts(self, keys: Ids) -> list[int]:
        """Counts of the keys, 0 for keys that were not counted."""
        found = self.read([KEY.pack(key) for key in keys.tolist()])
        return [COUNT.unpack(value)[0] if value else 0 for value in found]


class RocksDb(Bytes):
    """RocksDB, by rocksdict; counters do not use merges."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens the folder, or creates it."""
        import rocksdict as r

        self.r = r
        blocks = r.BlockBasedOptions()
        blocks.set_block_cache(r.Cache(cache_bytes))
        blocks.set_bloom_filter(10, False)
        options = r.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_block_based_table_factory(blocks)
        options.set_compression_type(r.DBCompressionType.none())
        options.set_write_buffer_size(64 << 20)
        options.increase_parallelism(2)
        options.set_use_direct_reads(direct)
        self.unlogged = r.WriteOptions()
        self.unlogged.disable_wal = True
        self.values, self.numbers = (r.Rdict(str(folder / name), options) for name in ("values", "counts"))
        for part in (self.values, self.numbers):
            part.set_write_options(self.unlogged)

    def put_many(self, keys: Ids, values: list[bytes]) -> None:
        """Puts the values of many keys."""
        batch = self.r.WriteBatch(raw_mode=True)
        for key, value in zip(keys.tolist(), values, strict=True):
            batch.put(KEY.pack(key), value)
        self.values.write(batch, self.unlogged)

    def get(self, key: int) -> bytes | None:
        """The value of a key, or nothing."""
        return self.values.get(KEY.pack(key))

    def get_many(self, keys: Ids) -> list[bytes | None]:
        """The values of keys, in their order."""
        return self.values.get([KEY.pack(key) for key in keys.tolist()])

    def put(self, key: int, value: bytes) -> None:
        """Puts the value of a key."""
        self.values.put(KEY.pack(key), value)

    def scan(self, start: int, count: int) -> int:
        """Total bytes of the next `count` values from `start` on."""
        return sum(map(len, islice(self.values.values(from_key=KEY.pack(start)), count)))

    def remove(self, key: int) -> None:
        """Deletes a key."""
        self.values.delete(KEY.pack(key))

    def read(self, keys: list[bytes]) -> list[bytes | None]:
        """Reads rows of the counters."""
        return self.numbers.get(keys)

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes rows of the counters."""
        batch = self.r.WriteBatch(raw_mode=True)
        for key, value in rows:
            batch.put(key, value)
        self.numbers.write(batch, self.unlogged)

    def flush(self) -> None:
        """Flushes what is only in memory."""
        self.values.flush()
        self.numbers.flush()

    def close(self) -> None:
        """Closes the engine."""
        self.values.close()
        self.numbers.close()


class Lmdb(Bytes):
    """LMDB, by py-lmdb, which only has the kernel's page cache."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens the folder, or creates it."""
        import lmdb

        self.env = lmdb.open(str(folder), map_size=64 << 30, max_dbs=2, sync=False, metasync=False)
        self.values = self.env.open_db(b"values")
        self.numbers = self.env.open_db(b"counts")

    def put_many(self, keys: Ids, values: list[bytes]) -> None:
        """Puts the values of many keys."""
        with self.env.begin(db=self.values, write=True) as transaction:
            rows = ((KEY.pack(key), value) for key, value in zip(keys.tolist(), values, strict=True))
            transaction.cursor().putmulti(rows)

    def get(self, key: int) -> bytes | None:
        """The value of a key, or nothing."""
        with self.env.begin(db=self.values) as transaction:
            return transaction.get(KEY.pack(key))

    def get_many(self, keys: Ids) -> list[bytes | None]:
        """The values of keys, in their order."""
        with self.env.begin(db=self.values) as transaction:
            return [transaction.get(KEY.pack(key)) for key in keys.tolist()]

    def put(self, key: int, value: bytes) -> None:
        """Puts the value of a key."""
        with self.env.begin(db=self.values, write=True) as transaction:
            transaction.put(KEY.pack(key), value)

    def scan(self, start: int, count: int) -> int:
        """Total bytes of the next `count` values from `start` on."""
        with self.env.begin(db=self.values) as transaction:
            cursor = transaction.cursor()
            if not cursor.set_range(KEY.pack(start)):
                return 0
            return sum(map(len, islice(cursor.iternext(keys=False), count)))

    def remove(self, key: int) -> None:
        """Deletes a key."""
        with self.env.begin(db=self.values, write=True) as transaction:
            transaction.delete(KEY.pack(key))

    def read(self, keys: list[bytes]) -> list[bytes | None]:
        """Reads rows of the counters."""
        with self.env.begin(db=self.numbers) as transaction:
            return [transaction.get(key) for key in keys]

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes rows of the counters."""
        with self.env.begin(db=self.numbers, write=True) as transaction:
            transaction.cursor().putmulti(rows)

    def flush(self) -> None:
        """Flushes what is only in memory."""
        self.env.sync(True)

    def close(self) -> None:
        """Closes the engine."""
        self.env.close()


class LevelDb(Bytes):
    """LevelDB, by plyvel. Its log cannot be turned off."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens the folder, or creates it."""
        import plyvel

        folder.mkdir(parents=True, exist_ok=True)

        def part(name: str) -> Any:
            return plyvel.DB(
                str(folder / name),
                create_if_missing=True,
                lru_cache_size=cache_bytes,
                write_buffer_size=64 << 20,
                bloom_filter_bits=10,
                compression=None,
            )

        self.values, self.numbers = part("values"), part("counts")

    def put_many(self, keys: Ids, values: list[bytes]) -> None:
        """Puts the values of many keys."""
        with self.values.write_batch() as batch:
            for key, value in zip(keys.tolist(), values, strict=True):
                batch.put(KEY.pack(key), value)

    def get(self, key: int) -> bytes | None:
        """The value of a key, or nothing."""
        return self.values.get(KEY.pack(key))

    def put(self, key: int, value: bytes) -> None:
        """Puts the value of a key."""
        self.values.put(KEY.pack(key), value)

    def scan(self, start: int, count: int) -> int:
        """Total bytes of the next `count` values from `start` on."""
        return sum(map(len, islice(self.values.iterator(start=KEY.pack(start), include_key=False), count)))

    def remove(self, key: int) -> None:
        """Deletes a key."""
        self.values.delete(KEY.pack(key))

    def read(self, keys: list[bytes]) -> list[bytes | None]:
        """Reads rows of the counters."""
        return [self.numbers.get(key) for key in keys]

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes rows of the counters."""
        with self.numbers.write_batch() as batch:
            for key, value in rows:
                batch.put(key, value)

    def close(self) -> None:
        """Closes the engine."""
        self.values.close()
        self.numbers.close()


class Dict(Engine):
    """Python's own ``Counter``, which stores nothing: the upper bound for counters."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Starts empty."""
        self.numbers: Counter[int] = Counter()

    def add_many(self, keys: Ids) -> None:
        """Adds 1 to the count of each key; keys may repeat."""
        self.numbers.update(keys.tolist())

    def counts(self, keys: Ids) -> list[int]:
        """Counts of the keys, 0 for keys that were not counted."""
        return [self.numbers[key] for key in keys.tolist()]


ENGINES: dict[str, type[Engine]] = dict(zip(NAMES, [Quipu, RocksDb, Lmdb, LevelDb, Dict], strict=True))
