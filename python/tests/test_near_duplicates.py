"""Indexes of near duplicates from Python: compared with exact similarities, and kept by every way of changing rows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import quipu

INDEX = "::lsh create doc:like {extractor: text, tokenizer: Simple, filters: [Lowercase], target_threshold: 0.5}"
SEARCH = "?[k] := ~doc:like{k | query: $q}"
SIMILAR = "?[k, s] := ~doc:like{k | query: $q, bind_similarity: s}"


def create(db: quipu.Database) -> None:
    db.run(":create doc {k: Int => text: String}")
    db.run(INDEX)


def found(db: quipu.Database, query: str) -> list[int]:
    return [k for (k,) in db.run(SEARCH, {"q": query}).rows()]


def jaccard(a: str, b: str) -> float:
    left, right = set(a.split()), set(b.split())
    return len(left & right) / len(left | right)


def test_searches_find_what_exact_similarities_say(db: quipu.Database) -> None:
    rng = random.Random(7)
    words = [f"w{i}" for i in range(300)]
    bases = [rng.sample(words, 40) for _ in range(25)]
    texts = [" ".join(rng.sample(base, 38) + rng.sample(words, changed)) for base in bases for changed in (0, 2, 6, 12)]
    create(db)
    db.relation("doc").put({"k": list(range(len(texts))), "text": texts})
    near = far = hits = false = 0
    for query in texts:
        similar = dict(db.run(SIMILAR, {"q": query}).rows())
        for k, text in enumerate(texts):
            exact = jaccard(query, text)
            if k in similar:
                # Five standard errors of 198 numbers.
                assert abs(similar[k] - exact) < 5 * 0.5 / 198**0.5
            if exact >= 0.7:
                near, hits = near + 1, hits + (k in similar)
            elif exact <= 0.25:
                far, false = far + 1, false + (k in similar)
    # The probabilities of 33 bands of 6: above .98 at .7, below .01 at .25.
    assert near > 250
    assert hits / near > 0.98
    assert far > 8000
    assert false / far < 0.01


def test_the_most_similar_rows_come_first(db: quipu.Database) -> None:
    create(db)
    base = [f"w{i}" for i in range(20)]
    texts = [" ".join(base[changed:] + [f"x{i}" for i in range(changed)]) for changed in (3, 0, 1, 2)]
    db.relation("doc").put({"k": [0, 1, 2, 3], "text": texts})
    best = "?[k] := ~doc:like{k | query: $q, k: $k}"
    for k, keys in [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (9, [0, 1, 2, 3])]:
        assert [row[0] for row in db.run(best, {"q": " ".join(base), "k": k}).rows()] == keys


def test_an_index_follows_the_calls_for_rows(db: quipu.Database) -> None:
    create(db)
    doc = db.relation("doc")
    doc.put({"k": [0, 1, 2], "text": ["a brown fox", "A brown fox!", "two zebras"]})
    assert found(db, "a brown fox") == [0, 1]
    doc.delete({"k": [0]})
    doc.update({"k": [2], "text": ["fox brown a"]})
    assert found(db, "a brown fox") == [1, 2]
    assert found(db, "two zebras") == []
    db.import_relations({"doc": {"headers": ["k", "text"], "rows": [[10, "two zebras"]]}})
    db.import_relations({"-doc": {"headers": ["k"], "rows": [[1]]}})
    assert (found(db, "a brown fox"), found(db, "two zebras")) == ([2], [10])
    db.run("::set_triggers doc on put {?[k, text] := _new[j, text], k = j + 100, k < 200 :put doc {k => text}}")
    db.run("?[k, text] <- [[11, 'two zebras']] :put doc {k => text}")
    assert found(db, "two zebras") == [10, 11, 111]
    assert db.check()["problems"] == []


def test_a_transaction_finds_its_own_rows_and_others_do_not(db: quipu.Database) -> None:
    create(db)
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.relation("doc").put({"k": [7], "text": ["a zebra"]})
        assert tx.run(SEARCH, {"q": "a zebra"}).rows() == [(7,)]
        assert found(db, "a zebra") == []
        raise ZeroDivisionError
    assert found(db, "a zebra") == []
    assert db.check()["problems"] == []


def test_transactions_with_the_same_text_in_different_rows_both_commit(db: quipu.Database) -> None:
    create(db)
    with db.transaction() as one, db.transaction() as two:
        one.relation("doc").put({"k": [1], "text": ["a zebra"]})
        two.relation("doc").put({"k": [2], "text": ["a zebra"]})
    assert found(db, "a zebra") == [1, 2]
    assert db.check()["problems"] == []


def test_an_index_is_there_after_reopening_restoring_and_repairing(folder: Path, tmp_path: Path) -> None:
    with quipu.open(folder) as db:
        create(db)
        db.run("?[k, text] <- [[7, 'a zebra'], [8, 'two foxes']] :put doc {k => text}")
        db.run("::rename doc -> note")
        db.run("::rename note -> doc")
        db.backup(tmp_path / "backup")
    quipu.restore(tmp_path / "backup", tmp_path / "restored")
    quipu.repair(folder, tmp_path / "repaired")
    for path in [folder, tmp_path / "restored", tmp_path / "repaired"]:
        with quipu.open(path) as db:
            assert found(db, "a zebra") == [7]
            assert db.check()["problems"] == []
            db.run("?[k] <- [[7]] :rm doc {k}")
            assert found(db, "a zebra") == []
            assert db.check()["problems"] == []


def test_an_index_of_many_rows_with_keys_of_many_columns_is_filled(db: quipu.Database) -> None:
    db.run(":create page {book: String, at: Uuid?, n: Int => tags: [String]}")
    tags = [[f"t{n}", "u"] for n in range(500)]
    db.relation("page").put({"book": ["a"] * 500, "at": [None] * 500, "n": list(range(500)), "tags": tags})
    db.run("::lsh create page:like {extractor: tags, extract_filter: n < 400, tokenizer: Raw}")
    search = "?[book, at, n] := ~page:like{book, at, n | query: $q}"
    assert db.run(search, {"q": ["u", "t7"]}).rows() == [("a", None, 7)]
    assert db.run(search, {"q": ["u", "t450"]}).rows() == []
    assert db.check()["problems"] == []
