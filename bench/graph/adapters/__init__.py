"""Adapters, one file per database, imported only by the process that measures it."""

from __future__ import annotations

import importlib

from adapters.base import Adapter

PEERS = {
    "quipu": ("adapters.quipu_", "Quipu"),
    "sqlite": ("adapters.sqlite_", "Sqlite"),
    "lmdb": ("adapters.lmdb_", "Lmdb"),
    "rocksdb": ("adapters.rocksdb_", "RocksDb"),
    "leveldb": ("adapters.leveldb_", "LevelDb"),
    "duckdb": ("adapters.duckdb_", "DuckDb"),
    "ladybug": ("adapters.ladybug_", "Ladybug"),
}


def load(name: str) -> type[Adapter]:
    """The adapter of a database. Raises ImportError when its client is not installed."""
    module, attribute = PEERS[name]
    return getattr(importlib.import_module(module), attribute)
