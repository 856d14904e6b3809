"""RocksDB through rocksdict: a column family for each direction, both changed by one write batch.

Loading writes sorted SST files and ingests them, which bypasses the log and needs no compaction.
With the prefix extractor a vertex's scan checks one filter. The log is written without a sync,
RocksDB's default, so a commit survives a killed process.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    SliceTransform,
    SstFileWriter,
    WriteBatch,
)

from adapters.base import Adapter, Batch, EdgeArrays, Many
from adapters.keys import PAIR, VERTEX, WEIGHT, both_directions, distinct, incoming, packed, sums
from edges import EdgeFile, IdArray, read_frame, sorted_columns

VERTEX_BYTES = 8


class RocksDb(Adapter):
    """Adapter of RocksDB."""

    name: ClassVar[str] = "rocksdb"

    def _options(self) -> Options:
        blocks = BlockBasedOptions()
        blocks.set_block_cache(self.cache)
        blocks.set_bloom_filter(10, False)
        blocks.set_block_size(4096)
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.create_missing_column_families(True)
        options.set_block_based_table_factory(blocks)
        options.set_prefix_extractor(SliceTransform.create_fixed_prefix(VERTEX_BYTES))
        options.set_memtable_prefix_bloom_ratio(0.1)
        options.set_compression_type(DBCompressionType.lz4())
        options.set_write_buffer_size(64 << 20)
        options.increase_parallelism(self.settings.threads)
        return options

    def open(self) -> None:
        self.cache: Any = Cache(self.settings.cache_bytes)
        options = self._options()
        self.out: Any = Rdict(str(self.folder), options, column_families={"into": self._options()})
        self.into: Any = self.out.get_column_family("into")
        self.out_handle: Any = self.out.get_column_family_handle("default")
        self.into_handle: Any = self.out.get_column_family_handle("into")
        # The same for all scans: setting a bound per scan would cost more than the filter saves.
        self.scan: Any = ReadOptions()
        self.scan.set_prefix_same_as_start(True)

    def close(self) -> None:
        # The folder stays locked until the last handle is dropped.
        del self.out_handle, self.into_handle
        self.into.close()
        self.out.close()
        del self.into, self.out

    def version(self) -> str:
        return f"rocksdict {version('rocksdict')}"

    def import_edges(self, file: EdgeFile) -> None:
        frame = read_frame(file)
        for family, first, second in ((self.out, "src", "dst"), (self.into, "dst", "src")):
            keys, values = packed(*sorted_columns(frame, first, second))
            path = str(self.folder.parent / f"{self.folder.name}-{first}.sst")
            writer = SstFileWriter(self._options())
            writer.open(path)
            for key, value in zip(keys, values, strict=True):
                writer[key] = value
            writer.finish()
            family.ingest_external_file([path])

    def edge(self, u: int, v: int) -> float | None:
        value = self.out.get(PAIR.pack(u, v))
        return None if value is None else WEIGHT.unpack(value)[0]

    def _rows(self, family: Any, v: int) -> bytes:
        return b"".join(chain.from_iterable(family.items(from_key=VERTEX.pack(v), read_opt=self.scan)))

    def in_edges(self, v: int) -> EdgeArrays:
        return incoming(self._rows(self.into, v))

    def edges(self, v: int) -> EdgeArrays:
        return both_directions(self._rows(self.out, v), self._rows(self.into, v))

    def neighbors(self, v: int) -> IdArray:
        return distinct(v, self._rows(self.out, v), self._rows(self.into, v))

    def degree(self, v: int) -> tuple[int, float]:
        return sums(v, self._rows(self.out, v), self._rows(self.into, v))

    def in_degree(self, v: int) -> tuple[int, float]:
        weights = np.frombuffer(b"".join(self.into.values(from_key=VERTEX.pack(v), read_opt=self.scan)), "<f8")
        return len(weights), float(weights.sum())

    def remove(self, u: int, v: int) -> None:
        self._remove((u,), (v,))

    def upsert(self, u: int, v: int, w: float) -> None:
        self._upsert((u,), (v,), (w,))

    def remove_batch(self, batch: Batch) -> None:
        self._remove(batch.us, batch.vs)

    def _remove(self, us: Sequence[int], vs: Sequence[int]) -> None:
        batch = WriteBatch(raw_mode=True)
        for u, v in zip(us, vs, strict=True):
            batch.delete(PAIR.pack(u, v), self.out_handle)
            batch.delete(PAIR.pack(v, u), self.into_handle)
        self.out.write(batch)

    def upsert_batch(self, batch: Batch) -> None:
        self._upsert(batch.us, batch.vs, batch.ws)

    def _upsert(self, us: Sequence[int], vs: Sequence[int], ws: Sequence[float]) -> None:
        batch = WriteBatch(raw_mode=True)
        for u, v, w in zip(us, vs, ws, strict=True):
            weight = WEIGHT.pack(w)
            batch.put(PAIR.pack(u, v), weight, self.out_handle)
            batch.put(PAIR.pack(v, u), weight, self.into_handle)
        self.out.write(batch)

    def totals(self, vertices: IdArray) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        for family in (self.out, self.into):
            weights = np.frombuffer(b"".join(family.values()), "<f8")
            found.append((len(weights), float(weights.sum())))
        return found

    def many(self) -> Many:
        def edge(us: IdArray, vs: IdArray) -> list[float]:
            found = self.out.get([PAIR.pack(u, v) for u, v in zip(us.tolist(), vs.tolist(), strict=True)])
            return [WEIGHT.unpack(value)[0] for value in found]

        return {"edge": edge}
