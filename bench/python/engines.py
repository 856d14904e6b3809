"""Engines of the Python benchmark: byte strings by number, and numbers that grow, as each package does them best.

Keys are unsigned 64-bit integers; engines that order bytes get them big-endian. Nothing is synced: Quipu's durability
is ``none``, RocksDB has no log, LMDB and LevelDB do not sync.
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
# Rows that Quipu reads with one call; more are looked at one by one.
SHORT = 1024
NAMES = ["quipu", "rocksdb", "lmdb", "leveldb", "dict"]


class Engine(ABC):
    """A folder of counters."""

    @abstractmethod
    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens or creates it."""

    @abstractmethod
    def add_many(self, keys: Ids) -> None:
        """Adds one to the number of each key, as often as it is named."""

    @abstractmethod
    def counts(self, keys: Ids) -> list[int]:
        """Numbers of keys, 0 where there is none."""

    def flush(self) -> None:
        """Writes what is only in memory, where there is such a call."""
        return

    def close(self) -> None:
        """Ends."""
        return


class Store(Engine):
    """A folder of values and of counters."""

    @abstractmethod
    def put_many(self, keys: Ids, values: list[bytes]) -> None:
        """Gives keys values."""

    @abstractmethod
    def get(self, key: int) -> bytes | None:
        """A value."""

    def get_many(self, keys: Ids) -> list[bytes | None]:
        """Values of keys."""
        return [self.get(key) for key in keys.tolist()]

    @abstractmethod
    def put(self, key: int, value: bytes) -> None:
        """Gives a key a value."""

    @abstractmethod
    def scan(self, start: int, count: int) -> int:
        """How many bytes the next so many values have."""

    @abstractmethod
    def remove(self, key: int) -> None:
        """Forgets a key."""


class Quipu(Store):
    """Ours."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens or creates it."""
        import quipu

        memory = max(2 * cache_bytes, 1 << 30)
        self.database = quipu.open(folder, durability="none", cache=cache_bytes, memory_limit=memory, direct_io=direct)
        self.blobs = self.database.blobs("values")
        self.counters = self.database.counters("counts")

    def put_many(self, keys: Ids, values: list[bytes]) -> None:
        """Gives keys values."""
        self.blobs.put_many(keys, values)

    def get(self, key: int) -> bytes | None:
        """A value."""
        return self.blobs.get(key)

    def get_many(self, keys: Ids) -> list[bytes | None]:
        """Values of keys."""
        return self.blobs.get_many(keys)

    def put(self, key: int, value: bytes) -> None:
        """Gives a key a value."""
        self.blobs.put(key, value)

    def scan(self, start: int, count: int) -> int:
        """How many bytes the next so many values have."""
        rows = self.blobs.scan(start, count) if count <= SHORT else islice(self.blobs.items(start), count)
        return sum(len(value) for _, value in rows)

    def remove(self, key: int) -> None:
        """Forgets a key."""
        self.blobs.discard(key)

    def add_many(self, keys: Ids) -> None:
        """Adds one to the number of each key, as often as it is named."""
        self.counters.add_many(keys)

    def counts(self, keys: Ids) -> list[int]:
        """Numbers of keys, 0 where there is none."""
        return self.counters.get_many(keys).tolist()

    def flush(self) -> None:
        """Writes what is only in memory."""
        self.database.flush()

    def close(self) -> None:
        """Ends."""
        self.database.close()


class Bytes(Store):
    """What the engines of byte strings have in common: counters are read, added to and written, a batch at a time."""

    @abstractmethod
    def read(self, keys: list[bytes]) -> list[bytes | None]:
        """Values by keys as bytes, of the counters."""

    @abstractmethod
    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes rows of the counters."""

    def add_many(self, keys: Ids) -> None:
        """Adds one to the number of each key, as often as it is named."""
        named, times = np.unique(keys, return_counts=True)
        packed = [KEY.pack(key) for key in named.tolist()]
        before = self.read(packed)
        sums = (COUNT.unpack(old)[0] + n if old else n for old, n in zip(before, times.tolist(), strict=True))
        self.write(zip(packed, map(COUNT.pack, sums), strict=True))

    def counts(self, keys: Ids) -> list[int]:
        """Numbers of keys, 0 where there is none."""
        found = self.read([KEY.pack(key) for key in keys.tolist()])
        return [COUNT.unpack(value)[0] if value else 0 for value in found]


class RocksDb(Bytes):
    """RocksDB, by rocksdict."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens or creates it."""
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
        """Gives keys values."""
        batch = self.r.WriteBatch(raw_mode=True)
        for key, value in zip(keys.tolist(), values, strict=True):
            batch.put(KEY.pack(key), value)
        self.values.write(batch, self.unlogged)

    def get(self, key: int) -> bytes | None:
        """A value."""
        return self.values.get(KEY.pack(key))

    def get_many(self, keys: Ids) -> list[bytes | None]:
        """Values of keys."""
        return self.values.get([KEY.pack(key) for key in keys.tolist()])

    def put(self, key: int, value: bytes) -> None:
        """Gives a key a value."""
        self.values.put(KEY.pack(key), value)

    def scan(self, start: int, count: int) -> int:
        """How many bytes the next so many values have."""
        return sum(map(len, islice(self.values.values(from_key=KEY.pack(start)), count)))

    def remove(self, key: int) -> None:
        """Forgets a key."""
        self.values.delete(KEY.pack(key))

    def read(self, keys: list[bytes]) -> list[bytes | None]:
        """Values by keys as bytes, of the counters."""
        return self.numbers.get(keys)

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes rows of the counters."""
        batch = self.r.WriteBatch(raw_mode=True)
        for key, value in rows:
            batch.put(key, value)
        self.numbers.write(batch, self.unlogged)

    def flush(self) -> None:
        """Writes what is only in memory."""
        self.values.flush()
        self.numbers.flush()

    def close(self) -> None:
        """Ends."""
        self.values.close()
        self.numbers.close()


class Lmdb(Bytes):
    """LMDB, by py-lmdb: no cache of its own but the kernel's."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens or creates it."""
        import lmdb

        self.env = lmdb.open(str(folder), map_size=64 << 30, max_dbs=2, sync=False, metasync=False)
        self.values = self.env.open_db(b"values")
        self.numbers = self.env.open_db(b"counts")

    def put_many(self, keys: Ids, values: list[bytes]) -> None:
        """Gives keys values."""
        with self.env.begin(db=self.values, write=True) as transaction:
            rows = ((KEY.pack(key), value) for key, value in zip(keys.tolist(), values, strict=True))
            transaction.cursor().putmulti(rows)

    def get(self, key: int) -> bytes | None:
        """A value."""
        with self.env.begin(db=self.values) as transaction:
            return transaction.get(KEY.pack(key))

    def get_many(self, keys: Ids) -> list[bytes | None]:
        """Values of keys."""
        with self.env.begin(db=self.values) as transaction:
            return [transaction.get(KEY.pack(key)) for key in keys.tolist()]

    def put(self, key: int, value: bytes) -> None:
        """Gives a key a value."""
        with self.env.begin(db=self.values, write=True) as transaction:
            transaction.put(KEY.pack(key), value)

    def scan(self, start: int, count: int) -> int:
        """How many bytes the next so many values have."""
        with self.env.begin(db=self.values) as transaction:
            cursor = transaction.cursor()
            if not cursor.set_range(KEY.pack(start)):
                return 0
            return sum(map(len, islice(cursor.iternext(keys=False), count)))

    def remove(self, key: int) -> None:
        """Forgets a key."""
        with self.env.begin(db=self.values, write=True) as transaction:
            transaction.delete(KEY.pack(key))

    def read(self, keys: list[bytes]) -> list[bytes | None]:
        """Values by keys as bytes, of the counters."""
        with self.env.begin(db=self.numbers) as transaction:
            return [transaction.get(key) for key in keys]

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes rows of the counters."""
        with self.env.begin(db=self.numbers, write=True) as transaction:
            transaction.cursor().putmulti(rows)

    def flush(self) -> None:
        """Writes what is only in memory."""
        self.env.sync(True)

    def close(self) -> None:
        """Ends."""
        self.env.close()


class LevelDb(Bytes):
    """LevelDB, by plyvel. It cannot do without a log."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Opens or creates it."""
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
        """Gives keys values."""
        with self.values.write_batch() as batch:
            for key, value in zip(keys.tolist(), values, strict=True):
                batch.put(KEY.pack(key), value)

    def get(self, key: int) -> bytes | None:
        """A value."""
        return self.values.get(KEY.pack(key))

    def put(self, key: int, value: bytes) -> None:
        """Gives a key a value."""
        self.values.put(KEY.pack(key), value)

    def scan(self, start: int, count: int) -> int:
        """How many bytes the next so many values have."""
        return sum(map(len, islice(self.values.iterator(start=KEY.pack(start), include_key=False), count)))

    def remove(self, key: int) -> None:
        """Forgets a key."""
        self.values.delete(KEY.pack(key))

    def read(self, keys: list[bytes]) -> list[bytes | None]:
        """Values by keys as bytes, of the counters."""
        return [self.numbers.get(key) for key in keys]

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes rows of the counters."""
        with self.numbers.write_batch() as batch:
            for key, value in rows:
                batch.put(key, value)

    def close(self) -> None:
        """Ends."""
        self.values.close()
        self.numbers.close()


class Dict(Engine):
    """Python's own ``Counter``, which stores nothing: the ceiling of counters."""

    def __init__(self, folder: Path, cache_bytes: int, direct: bool) -> None:
        """Nothing yet."""
        self.numbers: Counter[int] = Counter()

    def add_many(self, keys: Ids) -> None:
        """Adds one to the number of each key, as often as it is named."""
        self.numbers.update(keys.tolist())

    def counts(self, keys: Ids) -> list[int]:
        """Numbers of keys, 0 where there is none."""
        return [self.numbers[key] for key in keys.tolist()]


ENGINES: dict[str, type[Engine]] = dict(zip(NAMES, [Quipu, RocksDb, Lmdb, LevelDb, Dict], strict=True))
