"""Vector search from Python: every way of changing rows keeps an index, and so do backups and repairs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import quipu

INDEX = "::hnsw create doc:near {dim: 4, fields: [v], m: 8, ef_construction: 64}"
SEARCH = "?[k, d] := ~doc:near{k | query: $q, k: $k, ef: 100, bind_distance: d} :order d, k"


def points(rows: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, 4), dtype=np.float32)


def column(vectors: np.ndarray) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])


def fill(db: quipu.Database, vectors: np.ndarray) -> None:
    db.run(":create doc {k: Int => v: <F32; 4>}")
    db.relation("doc").put({"k": np.arange(len(vectors)), "v": column(vectors)})
    db.run(INDEX)


def found(db: quipu.Database | quipu.Transaction, query: np.ndarray, k: int = 10) -> list[int]:
    return [key for key, _ in db.run(SEARCH, {"q": query.tolist(), "k": k}).rows()]


def nearest(vectors: dict[int, np.ndarray], query: np.ndarray, k: int = 10) -> list[int]:
    distance = {key: float(np.sum((vector - query) ** 2)) for key, vector in vectors.items()}
    return sorted(distance, key=lambda key: (distance[key], key))[:k]


def test_searches_find_what_comparing_all_vectors_finds(db: quipu.Database) -> None:
    vectors = points(1500)
    fill(db, vectors)
    known = dict(enumerate(vectors))
    hits = sum(len({*found(db, query)} & {*nearest(known, query)}) for query in points(50, seed=2))
    assert hits >= 0.97 * 500
    assert db.check()["problems"] == []


def test_an_index_follows_the_calls_for_rows(db: quipu.Database) -> None:
    vectors = points(300)
    fill(db, vectors)
    doc = db.relation("doc")
    corner = np.zeros(4, np.float32)
    doc.put({"k": [300, 301], "v": [[0, 0, 0, 0], [0, 0, 0, 0.01]]})
    assert found(db, corner, 2) == [300, 301]
    doc.update({"k": [300], "v": [[9, 9, 9, 9]]})
    assert found(db, corner, 1) == [301]
    doc.delete({"k": [301]})
    db.import_relations({"doc": {"headers": ["k", "v"], "rows": [[302, [0, 0, 0.02, 0]]]}})
    assert found(db, corner, 1) == [302]
    db.import_relations({"-doc": {"headers": ["k"], "rows": [[302]]}})
    known = dict(enumerate(vectors))
    assert found(db, corner, 3) == nearest(known, corner, 3)
    assert db.check()["problems"] == []


def test_triggers_keep_the_index_of_the_relation_that_they_write(db: quipu.Database) -> None:
    fill(db, points(50))
    db.run(":create source {k: Int => v: <F32; 4>}")
    db.run("::set_triggers source on put { ?[k, v] := _new[k, v] :put doc {k => v} }")
    db.run("?[k, v] <- [[100, [5, 5, 5, 5]]] :put source {k => v}")
    assert found(db, np.full(4, 5, np.float32), 1) == [100]
    assert db.check()["problems"] == []


def test_a_transaction_finds_its_own_vectors_and_others_do_not(db: quipu.Database) -> None:
    fill(db, points(100))
    far = np.full(4, 7, np.float32)
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.relation("doc").put({"k": [100], "v": [far.tolist()]})
        assert found(tx, far, 1) == [100]
        assert found(db, far, 1) != [100]
        raise ZeroDivisionError
    assert found(db, far, 1) != [100]
    assert db.check()["problems"] == []


def test_an_index_is_there_after_reopening_restoring_and_repairing(folder: Path, tmp_path: Path) -> None:
    far = np.full(4, 7, np.float32)
    with quipu.open(folder) as db:
        fill(db, points(100))
        db.run("?[k, v] <- [[100, [7, 7, 7, 7]]] :put doc {k => v}")
        db.backup(tmp_path / "backup")
    quipu.restore(tmp_path / "backup", tmp_path / "restored")
    quipu.repair(folder, tmp_path / "repaired")
    for path in [folder, tmp_path / "restored", tmp_path / "repaired"]:
        with quipu.open(path) as db:
            assert found(db, far, 1) == [100]
            assert db.check()["problems"] == []
            db.run("?[k] <- [[100]] :rm doc {k}")
            assert found(db, far, 1) != [100]
            assert db.check()["problems"] == []


def again(write: Callable[[], None]) -> None:
    """Vectors near each other conflict; the engine runs a write again some times."""
    while True:
        try:
            return write()
        except quipu.ConflictError:
            continue


def test_writers_at_the_same_time_keep_the_graph_whole(db: quipu.Database) -> None:
    fill(db, points(100))
    failures: list[Exception] = []

    def write(writer: int) -> None:
        try:
            for step in range(15):
                key = 1000 + 100 * writer + step
                vector = points(1, seed=key)[0]
                again(lambda: db.relation("doc").put({"k": [key], "v": [vector.tolist()]}))  # noqa: B023
                if step % 3 == 2:
                    again(lambda: db.relation("doc").delete({"k": [key - 1]}))  # noqa: B023
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failures == []
    assert db.check()["problems"] == []
    rows = {key: np.array(vector, np.float32) for key, vector in db.run("?[k, v] := *doc{k, v}").rows()}
    assert len(rows) == 130
    query = points(1, seed=3)[0]
    assert found(db, query) == nearest(rows, query)


def test_vectors_come_out_as_arrow_lists_of_one_length(db: quipu.Database) -> None:
    fill(db, points(20))
    script = "?[d, v] := ~doc:near{v | query: $q, k: 3, bind_distance: d} :order d"
    table = db.run(script, {"q": [0, 0, 0, 0]}).to_arrow()
    assert table.schema.types == [pa.float64(), pa.list_(pa.float32(), 4)]
    vectors = np.array(table["v"].to_pylist(), np.float32)
    assert np.allclose((vectors**2).sum(axis=1), table["d"].to_numpy())


def test_a_renamed_relation_keeps_its_index_and_levels_protect_it(db: quipu.Database) -> None:
    fill(db, points(50))
    db.run("::rename doc -> note")
    db.run("?[k, v] <- [[100, [5, 5, 5, 5]]] :put note {k => v}")
    search = "?[k] := ~note:near{k | query: [5, 5, 5, 5], k: 1}"
    assert db.run(search).rows() == [(100,)]
    assert db.check()["problems"] == []
    db.run("::access_level hidden note")
    with pytest.raises(quipu.Error):
        db.run(search)


def test_keys_of_many_columns_and_wide_floats_are_indexed(db: quipu.Database) -> None:
    db.run(":create page {book: String, n: Int => v: <F64; 2>?}")
    db.run("::hnsw create page:near {dim: 2, dtype: F64, distance: Cosine, fields: [v], filter: n > 0}")
    rows = {"book": ["a", "a", "b"], "n": [0, 1, 1], "v": [[1.0, 0.0], [1.0, 1e-9], [0.0, 1.0]]}
    db.relation("page").put(rows)
    search = "?[book, n, d] := ~page:near{book, n | query: [1, 0], k: 5, bind_distance: d} :order d"
    assert [(book, n) for book, n, _ in db.run(search).rows()] == [("a", 1), ("b", 1)]
    db.relation("page").put({"book": ["a"], "n": [1], "v": [None]})
    assert [(book, n) for book, n, _ in db.run(search).rows()] == [("b", 1)]
    assert db.check()["problems"] == []
