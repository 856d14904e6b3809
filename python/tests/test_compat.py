"""Cozo's Python interface on Quipu. Results have the shapes of cozo-embedded and pycozo 0.7.6."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from quipu.compat.cozo import Client, CozoDbPy, QueryException


@pytest.fixture
def cozo() -> Iterator[CozoDbPy]:
    """A database in memory with one relation."""
    db = CozoDbPy("mem", "", "{}")
    db.run_script("?[k, v] <- [[1, 'a'], [2, null]] :create r {k: Int => v: String?}", {}, False)
    yield db
    db.close()


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client(dataframe=False)
    client.run(":create r {k: Int => v: String, w: Float? default 1}")
    yield client
    client.close()


def rows(db: CozoDbPy) -> list[list[Any]]:
    return db.run_script("?[k, v] := *r[k, v]", {}, True)["rows"]


OK = {"headers": ["status"], "rows": [["OK"]], "next": None}


def test_scripts_answer_dicts_of_plain_values(cozo: CozoDbPy) -> None:
    script = "?[a, b, c, d, e] <- [[1, to_uuid('00112233-4455-6677-8899-aabbccddeeff'), validity(5), vec([1, 2]), $p]]"
    found = cozo.run_script(script, {"p": {"x": [1, None]}}, False)
    uuid = "00112233-4455-6677-8899-aabbccddeeff"
    rows = [[1, uuid, [5, True], [1.0, 2.0], {"x": [1, None]}]]
    assert found == {"headers": ["a", "b", "c", "d", "e"], "rows": rows, "next": None}
    assert json.dumps(found)
    assert cozo.run_script("?[k, v] <- [[3, 'c']] :put r {k => v}", {}, False) == OK


def test_an_error_carries_a_dict(cozo: CozoDbPy) -> None:
    with pytest.raises(Exception, match="no relation") as error:
        cozo.run_script("# ä\n?[a] := *nope[a]", {}, False)
    (told,) = error.value.args
    assert told["ok"] is False
    assert told["message"] == "no relation `nope`"
    assert told["labels"] == [{"span": {"offset": 14, "length": 0}}]
    assert "^^^^" in told["display"]
    with pytest.raises(Exception, match="cannot be a object"):
        cozo.run_script("?[a] <- [[$a]]", {"a": object()}, False)
    with pytest.raises(Exception, match="for reading only"):
        cozo.run_script("?[k, v] <- [[1, 'x']] :put r {k => v}", {}, True)
    with pytest.raises(Exception, match="engine 'nope' not supported"):
        CozoDbPy("nope", "", "{}")


def test_relations_are_exported_and_imported(cozo: CozoDbPy) -> None:
    out = cozo.export_relations(["r"])
    assert out == {"r": {"headers": ["k", "v"], "rows": [[1, "a"], [2, None]], "next": None}}
    cozo.import_relations({"-r": {"headers": ["k"], "rows": [[1], [9]]}})
    assert rows(cozo) == [[2, None]]
    cozo.import_relations(out)
    assert rows(cozo) == [[1, "a"], [2, None]]
    for call in (cozo.export_relations, lambda names: cozo.import_relations({names[0]: out["r"]})):
        with pytest.raises(Exception, match="no relation `nope`"):
            call(["nope"])


@pytest.mark.parametrize("engine", ["mem", "rocksdb"])
@pytest.mark.parametrize("name", ["backup", "backup.qbak"])
def test_a_backup_is_restored_and_imported_from(cozo: CozoDbPy, tmp_path: Path, engine: str, name: str) -> None:
    backup = str(tmp_path / name)
    cozo.backup(backup)
    with pytest.raises(Exception, match="data exists"):
        cozo.restore(backup)
    other = CozoDbPy(engine, str(tmp_path / "other"), "{}")
    told: list[Any] = []
    number = other.register_callback("r", lambda *change: told.append(change))
    other.register_fixed_rule("Seven", 1, lambda inputs, options: [[7]])
    with pytest.raises(Exception, match="no backup"):
        other.restore(str(tmp_path / "nothing"))
    other.restore(backup)
    assert rows(other) == [[1, "a"], [2, None]]
    other.run_script("?[k, v] <- [[1, 'z'], [3, 'c']] :put r {k => v}", {}, False)
    assert told == [("Put", [[1, "z"], [3, "c"]], [[1, "a"]])]
    assert other.run_script("?[x] <~ Seven()", {}, False)["rows"] == [[7]]
    other.import_from_backup(backup, ["r"])
    assert rows(other) == [[1, "a"], [2, None], [3, "c"]]
    assert other.unregister_callback(number)
    other.close()
    if engine != "mem":
        again = CozoDbPy(engine, str(tmp_path / "other"), "{}")
        assert rows(again) == [[1, "a"], [2, None], [3, "c"]]
        again.close()


def test_a_transaction_holds_back_and_outlives_a_failure(cozo: CozoDbPy) -> None:
    tx = cozo.multi_transact(True)
    assert tx.run_script("?[k, v] <- [[5, 't']] :put r {k => v}", {}) == OK
    with pytest.raises(Exception, match="expected Int"):
        tx.run_script("?[k, v] <- [['x', 't']] :put r {k => v}", {})
    assert tx.run_script("?[k] := *r[k, _]", {})["rows"] == [[1], [2], [5]]
    assert len(rows(cozo)) == 2
    tx.commit()
    assert len(rows(cozo)) == 3
    with pytest.raises(Exception, match="has ended"):
        tx.commit()
    reading = cozo.multi_transact(False)
    with pytest.raises(Exception, match="for reading only"):
        reading.run_script("?[k] <- [[5]] :rm r {k}", {})
    reading.abort()
    tx = cozo.multi_transact(True)
    tx.run_script("?[k] <- [[5]] :rm r {k}", {})
    tx.abort()
    assert len(rows(cozo)) == 3


def test_callbacks_and_rules(cozo: CozoDbPy) -> None:
    told: list[Any] = []
    first = cozo.register_callback("r", lambda *change: told.append(change))
    assert cozo.register_callback("s", print) == first + 1
    cozo.run_script("{?[k, v] <- [[1, 'z']] :put r {k => v}} {?[k] <- [[2], [9]] :rm r {k}}", {}, False)
    assert told == [("Put", [[1, "z"]], [[1, "a"]]), ("Rm", [[2], [9]], [[2, None]])]
    assert cozo.unregister_callback(first)
    assert not cozo.unregister_callback(first)
    cozo.run_script("?[k, v] <- [[1, 'y']] :put r {k => v}", {}, False)
    assert len(told) == 2

    def rule(inputs: list[list[list[Any]]], options: dict[str, Any]) -> list[tuple[Any, ...]]:
        assert inputs == [[[1, "00112233-4455-6677-8899-aabbccddeeff"]]]
        return [(options["x"], len(inputs))]

    cozo.register_fixed_rule("Mine", 2, rule)
    script = "p[a, b] <- [[1, to_uuid('00112233-4455-6677-8899-aabbccddeeff')]] ?[a, b] <~ Mine(p[a, b], x: [1])"
    assert cozo.run_script(script, {}, False)["rows"] == [[[1], 1]]
    for name in ("Mine", "PageRank"):
        with pytest.raises(Exception, match=r"registered already|built in"):
            cozo.register_fixed_rule(name, 1, rule)
    assert cozo.unregister_fixed_rule("Mine")
    assert not cozo.unregister_fixed_rule("Mine")


def test_a_closed_database_says_so(tmp_path: Path) -> None:
    db = CozoDbPy("sqlite", str(tmp_path / "db"), "{}")
    assert db.close() is True
    assert db.close() is False
    with pytest.raises(Exception, match="database closed"):
        db.run_script("?[a] <- [[1]]", {}, False)
    (tmp_path / "cozo.db").write_bytes(b"SQLite format 3\0")
    with pytest.raises(Exception, match="is a file, perhaps Cozo's"):
        CozoDbPy("sqlite", str(tmp_path / "cozo.db"), "{}")


def test_a_client_writes_dicts_lists_and_frames(client: Client) -> None:
    assert client.put("r", {"k": 1, "v": "a", "w": 2}) == OK
    client.put("r", [{"k": 2, "v": "b", "w": None}, {"k": 3, "v": "c", "w": 1.5}])
    client.insert("r", pd.DataFrame({"k": [4, 5], "v": ["d", "e"]}))
    client.update("r", {"k": 4, "v": "D"})
    client.rm("r", [{"k": 1}, {"k": 99}])
    client.rm("r", {"k": 2, "v": "whatever"})
    assert client.run("?[k, v, w] := *r[k, v, w]")["rows"] == [[3, "c", 1.5], [4, "D", 1.0], [5, "e", 1.0]]
    for wrong, why in [
        (lambda: client.insert("r", {"k": 3, "v": "x"}), "already exists"),
        (lambda: client.update("r", {"k": 9, "v": "x"}), "does not exist"),
        (lambda: client.put("r", {"k": 9, "v": "x", "z": 1}), "no column `z`"),
        (lambda: client.put("nope", {"k": 9}), "no relation `nope`"),
    ]:
        with pytest.raises(QueryException, match=why):
            wrong()
    with pytest.raises(RuntimeError, match="Invalid data type"):
        client.put("r", 7)


def test_a_client_raises_query_exceptions(client: Client) -> None:
    with pytest.raises(QueryException) as error:
        client.run("?[a] := *nope[a]")
    assert str(error.value) == "no relation `nope`"
    assert "^^^^" in repr(error.value)
    assert error.value.code == "quipu::InvalidInputError"
    with pytest.raises(QueryException, match="for reading only"):
        client.run("?[k] <- [[1]] :rm r {k}", immutable=True)


def test_a_client_answers_frames() -> None:
    client = Client()
    frame = client.run("?[a, b] <- [[1, 'x'], [2, null]]")
    assert isinstance(frame, pd.DataFrame)
    assert frame["a"].tolist() == [1, 2]
    assert list(frame.columns) == ["a", "b"]
    client.run(":create r {k => v}")
    client.put("r", pd.DataFrame({"k": [1.5], "v": [float("nan")]}))
    assert client.export_relations(["r"])["r"]["rows"][0][1] != client.export_relations(["r"])["r"]["rows"][0][1]
    client.run(":create s {k: Int => n: Int?, f: Float, t: String?}")
    columns = {"k": [1, 2], "n": [7, None], "f": [0.5, None], "t": [None, "x"]}
    client.put("s", pd.DataFrame(columns))
    first, second = client.export_relations(["s"])["s"]["rows"]
    assert first == [1, 7, 0.5, None]
    assert (second[1], second[3]) == (None, "x")
    assert second[2] != second[2]
    tx = client.multi_transact(True)
    tx.run("?[k, v] <- [[2, 3]] :put r {k => v}")
    tx.commit()
    assert len(client.run("?[k] := *r[k, _]")) == 2
    client.close()


def test_a_client_makes_lists_and_removes_relations() -> None:
    client = Client(dataframe=False)
    assert client.create("users", "name", "mail: String") == OK
    assert client.query("<- [['ada', 5]]")["rows"] == [["ada", 5]]
    assert client.columns("users")["rows"][1][:4] == ["mail", True, 1, "String"]
    client.create("other", "a")
    assert [row[0] for row in client.relations()["rows"]] == ["other", "users"]
    assert [row[0] for row in client.relations("users")["rows"]] == ["users"]
    assert [row[0] for row in client.relations(["users", "none"])["rows"]] == ["users"]
    assert list(client.columns()) == ["other", "users"]
    client.remove("users")
    assert list(client.columns()) == ["other"]
    client.close()


def test_a_client_lists_relations_in_frames() -> None:
    client = Client()
    client.create("users", "name", "mail")
    assert list(client.relations("users")["arity"]) == [2]
    assert list(client.columns()["users"]["column"]) == ["name", "mail"]
    assert list(client.query("<- [[1, 2]]").columns) == ["_0", "_1"]
    client.close()
