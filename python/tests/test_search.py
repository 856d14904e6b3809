"""Full-text search from Python: every way of changing rows keeps an index, and so do backups and repairs."""

from __future__ import annotations

from pathlib import Path

import pytest
import quipu

TEXTS = [
    "A quick brown fox jumps over the lazy dog",
    "Dogs chase foxes and the foxes run",
    "A brown bear is a big brown bear",
    "fox fox fox",
    "",
    "The dog and the fox and the bear met a fox",
]
INDEX = "::fts create doc:words {extractor: text, tokenizer: Simple, filters: [Lowercase]}"
SEARCH = "?[k, s] := ~doc:words{k | query: $q, k: 100, score_kind: $kind, bind_score: s} :order -s, k"


def fill(db: quipu.Database) -> None:
    db.run(":create doc {k: Int => text: String}")
    db.relation("doc").put({"k": list(range(len(TEXTS))), "text": TEXTS})
    db.run(INDEX)


def found(db: quipu.Database, query: str) -> list[int]:
    return [k for k, _ in db.run(SEARCH, {"q": query, "kind": "tf"}).rows()]


# The answers of cozo-embedded 0.7.6: `tf`, and `tf_idf` of the best row.
@pytest.mark.parametrize(
    ("query", "tf", "best"),
    [
        ("fox", [(3, 3.0), (5, 2.0), (0, 1.0)], 2.0794415416798357),
        ("brown OR dog", [(2, 2.0), (0, 1.0), (5, 1.0)], 2.0592388343623163),
        ("fox dog", [(5, 3.0), (0, 2.0)], 2.4159137783010487),
        ("fox, bear AND dog", [(5, 3.0), (0, 2.0)], 2.4159137783010487),
        ("fox NOT dog", [(3, 3.0)], 2.0794415416798357),
        ("fo*", [(3, 3.0), (1, 2.0), (5, 2.0), (0, 1.0)], 1.3254982568371176),
        ("fox^2.5 OR dog", [(3, 7.5), (5, 5.0), (0, 2.5)], 5.19860385419959),
        ("the fox NOT bear", [(0, 2.0)], 1.3862943611198906),
    ],
)
def test_scores_are_those_of_cozo(db: quipu.Database, query: str, tf: list[tuple[int, float]], best: float) -> None:
    fill(db)
    assert db.run(SEARCH, {"q": query, "kind": "tf"}).rows() == tf
    assert db.run(SEARCH, {"q": query, "kind": "tf_idf"}).rows()[0] == (tf[0][0], pytest.approx(best, abs=1e-12))


def test_an_index_follows_the_calls_for_rows(db: quipu.Database) -> None:
    fill(db)
    doc = db.relation("doc")
    doc.put({"k": [0, 9], "text": ["a zebra", "zebra zebra"]})
    doc.delete({"k": [3]})
    doc.update({"k": [4], "text": ["fox"]})
    assert found(db, "zebra") == [9, 0]
    assert found(db, "fox") == [5, 4]
    db.import_relations({"doc": {"headers": ["k", "text"], "rows": [[10, "a zebra crossing"]]}})
    db.import_relations({"-doc": {"headers": ["k"], "rows": [[9]]}})
    assert found(db, "zebra") == [0, 10]
    assert db.check()["problems"] == []


def test_a_transaction_finds_its_own_rows_and_others_do_not(db: quipu.Database) -> None:
    fill(db)
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.relation("doc").put({"k": [7], "text": ["a zebra"]})
        assert tx.run(SEARCH, {"q": "zebra", "kind": "tf"}).rows() == [(7, 1.0)]
        assert found(db, "zebra") == []
        raise ZeroDivisionError
    assert found(db, "zebra") == []
    assert db.check()["problems"] == []


def test_an_index_is_there_after_reopening_restoring_and_repairing(folder: Path, tmp_path: Path) -> None:
    with quipu.open(folder) as db:
        fill(db)
        db.run("?[k, text] <- [[7, 'a zebra']] :put doc {k => text}")
        db.backup(tmp_path / "backup")
    quipu.restore(tmp_path / "backup", tmp_path / "restored")
    quipu.repair(folder, tmp_path / "repaired")
    for path in [folder, tmp_path / "restored", tmp_path / "repaired"]:
        with quipu.open(path) as db:
            assert found(db, "zebra") == [7]
            assert db.check()["problems"] == []
            db.run("?[k] <- [[7]] :rm doc {k}")
            assert found(db, "zebra") == []
            assert db.check()["problems"] == []


def test_a_renamed_relation_keeps_its_index(db: quipu.Database) -> None:
    fill(db)
    db.run("::rename doc -> note")
    db.run("?[k, text] <- [[7, 'a zebra']] :put note {k => text}")
    assert db.run("?[k] := ~note:words{k | query: 'zebra', k: 1}").rows() == [(7,)]
    assert db.check()["problems"] == []


def test_keys_of_many_columns_and_texts_of_expressions_are_searched(db: quipu.Database) -> None:
    db.run(":create page {book: String, n: Int => title: String, body: String?}")
    db.run("""::fts create page:words {
        extractor: concat(title, ' ', body), extract_filter: !is_null(body), tokenizer: Simple, filters: [Lowercase]
    }""")
    rows = {"book": ["a", "a", "b"], "n": [1, 2, 1], "title": ["Fox", "Dog", "Fox"], "body": ["runs", "a fox", None]}
    db.relation("page").put(rows)
    search = "?[book, n, t, s] := ~page:words{book, n, title: t | query: 'fox', k: 5, score_kind: 'tf', bind_score: s}"
    assert db.run(search).rows() == [("a", 1, "Fox", 1.0), ("a", 2, "Dog", 1.0)]
    db.relation("page").put({"book": ["b"], "n": [1], "title": ["Fox"], "body": ["fox"]})
    assert db.run(search).rows()[-1] == ("b", 1, "Fox", 2.0)
    assert db.check()["problems"] == []
