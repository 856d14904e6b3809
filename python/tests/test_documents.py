"""Documents: JSON by key, changed whole, by field, by patches; gathered into columns; imported and exported."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import quipu

ADA = {"name": "Ada", "age": 36, "address": {"city": "London", "zip": ["W1", "A"]}, "tags": []}
FLAT = {"person": "Alice", "age": 27, "height": 1.66, "ok": True, "none": None, "text": 'é\n"\\'}


@pytest.fixture
def d(db: quipu.Database) -> quipu.Documents:
    """Empty documents."""
    return db.documents("users")


def test_flat_and_nested_documents_come_back_as_they_were(d: quipu.Documents) -> None:
    d[1] = FLAT
    d.put(2, ADA)
    assert (d[1], d[2], d.get(3), d.get(3, 7)) == (FLAT, ADA, None, 7)
    for number, value in enumerate([None, True, 7, -1.5, "text", [], [1, [2]], {}, {"": {"": 0}}, 2**64 - 1]):
        d[number] = value
        assert d[number] == value
    d[0] = b'{"b": 1, "a": [1, 2.50]}'
    assert d[0] == {"a": [1, 2.5], "b": 1}
    assert 0 in d
    assert 99 not in d
    assert len(d) == 10
    assert d
    with pytest.raises(KeyError):
        d[99]
    with pytest.raises(KeyError):
        del d[99]


def test_keys_are_of_the_type_asked_for(db: quipu.Database) -> None:
    texts = db.documents("texts", key="str")
    texts.put_many(["b", "a", "é"], [1, 2, 3])
    assert list(texts) == ["a", "b", "é"]
    assert list(texts.items()) == [("a", 2), ("b", 1), ("é", 3)]
    ints = db.documents("ints", key="i64")
    ints.put_many([5, -5], ["five", "minus"])
    assert list(ints.items()) == [(-5, "minus"), (5, "five")]
    words = db.documents("words")
    words[2**64 - 1] = 1
    assert (list(words), words.key, texts.key, ints.key) == ([2**64 - 1], "u64", "str", "i64")
    with pytest.raises(TypeError):
        ints["five"] = 1
    with pytest.raises(quipu.InvalidInputError, match="have str keys, u64 were asked for"):
        db.documents("texts", key="u64")
    assert db.documents("texts").key == "str"
    assert repr(texts) == "<quipu.Documents 'texts', keys str>".replace("'", '"')


def test_fields_are_read_by_name_and_by_pointer(d: quipu.Documents) -> None:
    d[1] = {**ADA, "a/b": {"~": 1}}
    for field, want in [
        ("name", "Ada"),
        ("/name", "Ada"),
        ("/address/zip/1", "A"),
        ("a/b", {"~": 1}),
        ("/a~1b/~0", 1),
        ("/address/zip/2", None),
        ("/address/nothing", None),
    ]:
        assert d.get(1, field=field) == want
    assert d.get(1, "default", field="/nope") == "default"
    d[2] = {"name": "Ben"}
    assert d.get_many([2, 9, 1], field="name") == ["Ben", None, "Ada"]
    with pytest.raises(quipu.InvalidInputError, match="`~` is written `~0`"):
        d.get(1, field="/a~")


@pytest.mark.parametrize("keys", [[1, 2, 3, 4], [4, 2, 3, 1], [7, 0, 2**40, 8]])
def test_sorted_and_unsorted_keys_are_written_and_read(d: quipu.Documents, keys: list[int]) -> None:
    documents = [{"number": key} for key in keys]
    d.put_many(keys, documents)
    assert d.get_many(keys) == documents
    assert d.get_many([*reversed(keys), 99]) == [*reversed(documents), None]
    assert list(d) == sorted(keys)


def test_of_several_documents_with_one_key_the_last_stays(d: quipu.Documents) -> None:
    d.put_many([1, 2, 1], ["first", "second", "third"])
    assert d.get_many([1, 1, 2]) == ["third", "third", "second"]
    d.merge_many([3, 3], [{"a": 1}, {"b": 2}])
    assert d[3] == {"a": 1, "b": 2}
    step = [{"op": "add", "path": "/list/-", "value": 1}]
    d[4] = {"list": []}
    d.patch_many([4, 4, 4], [step, step, step])
    assert d[4] == {"list": [1, 1, 1]}


@pytest.mark.parametrize("wrong", [b"{", b"nothing", b"", b"\xff", {1, 2}, float("nan"), object()])
def test_one_document_that_is_no_json_refuses_all(d: quipu.Documents, wrong: object) -> None:
    d[1] = "before"
    for write in (d.put_many, d.insert_many, d.upsert_many, d.merge_many):
        with pytest.raises(quipu.InvalidInputError, match="is no JSON"):
            write([1, 2, 3], [{"a": 1}, wrong, {"b": 2}])
    assert list(d.items()) == [(1, "before")]
    with pytest.raises(quipu.InvalidInputError, match="2 keys, but 1 documents"):
        d.put_many([1, 2], [3])


def test_documents_that_nest_too_deep_are_refused_and_do_not_crash(d: quipu.Documents) -> None:
    deep: Any = 1
    for _ in range(127):
        deep = [deep]
    d[1] = deep
    assert d[1] == deep
    with pytest.raises(quipu.InvalidInputError, match="is no JSON"):
        d[1] = [deep]
    with pytest.raises(quipu.InvalidInputError, match="is no JSON"):
        d[1] = b"[" * 1_000_000
    with pytest.raises(quipu.InvalidInputError, match="recursion limit"):
        d.patch(1, [{"op": "copy", "from": "", "path": "/-"}])
    assert d[1] == deep


def test_insert_and_update_say_what_must_be_there(d: quipu.Documents) -> None:
    d.insert(1, {"a": 1})
    with pytest.raises(quipu.InvalidInputError, match="already exists"):
        d.insert(1, {"a": 2})
    with pytest.raises(quipu.InvalidInputError, match="already exists"):
        d.insert_many([2, 1], [{"a": 2}, {"a": 2}])
    with pytest.raises(quipu.InvalidInputError):
        d.update(2, {"a": 2})
    with pytest.raises(quipu.InvalidInputError):
        d.update_many([1, 2], [{"a": 2}, {"a": 2}])
    assert list(d.items()) == [(1, {"a": 1})]
    d.update(1, {"a": 3})
    d.upsert_many([1, 2], [{"a": 4}, {"a": 5}])
    assert list(d.items()) == [(1, {"a": 4}), (2, {"a": 5})]


def test_fields_are_inserted_updated_upserted_and_removed(d: quipu.Documents) -> None:
    d[1] = ADA
    d.insert(1, "ada@example.org", field="mail")
    d.insert(1, "X", field="/address/zip/1")
    d.insert(1, "end", field="/address/zip/-")
    d.update(1, 37, field="age")
    d.upsert(1, "fr", field="/langs/first/code")
    d.upsert(1, "W2", field="/address/zip/0")
    d.delete_field(1, "tags")
    assert d[1] == {
        "name": "Ada",
        "age": 37,
        "mail": "ada@example.org",
        "address": {"city": "London", "zip": ["W2", "X", "A", "end"]},
        "langs": {"first": {"code": "fr"}},
    }
    before = d[1]
    for call, message in [
        (lambda: d.insert(1, 1, field="age"), 'the value at "/age" already exists'),
        (lambda: d.update(1, 1, field="nothing"), 'there is no value at "/nothing"'),
        (lambda: d.delete_field(1, "nothing"), 'there is no value at "/nothing"'),
        (lambda: d.upsert(1, 1, field="/name/x"), '"/name/x" is in neither an object nor a list'),
        (lambda: d.insert(1, 1, field="/a/b"), 'there is no value at "/a"'),
        (lambda: d.upsert(2, 1, field="a"), "there is no such document"),
        (lambda: d.insert_many([1, 2], [1, 1], field="new"), 'document 2 of "users": there is no such document'),
    ]:
        with pytest.raises(quipu.InvalidInputError) as raised:
            call()
        assert message in str(raised.value)
    assert list(d.items()) == [(1, before)]
    d.put_many([1, 2, 3], [{}, {}, {}])
    d.upsert_many([3, 1], ["three", "one"], field="name")
    assert d.get_many([1, 2, 3], field="name") == ["one", None, "three"]


def test_patches_change_documents_or_nothing(d: quipu.Documents) -> None:
    d[1] = {"list": [1, 2], "name": "Ada"}
    d.patch(1, [
        {"op": "test", "path": "/name", "value": "Ada"},
        {"op": "add", "path": "/list/1", "value": 1.5},
        {"op": "move", "from": "/name", "path": "/first"},
        {"op": "copy", "from": "/list/0", "path": "/one"},
        {"op": "replace", "path": "/first", "value": "Ada L."},
        {"op": "remove", "path": "/list/2"},
    ])  # fmt: skip
    want = {"first": "Ada L.", "list": [1, 1.5], "one": 1}
    assert d[1] == want
    d[2] = {"list": []}
    for operations, message in [
        ([{"op": "remove", "path": "/one"}, {"op": "test", "path": "/first", "value": "Ben"}], "operation 1 of the"),
        ([{"op": "move", "path": "/x"}], "`from` is missing"),
        ([{"op": "add", "path": "first", "value": 1}], "is not a JSON Pointer"),
        ([{"op": "replace", "path": "/nothing", "value": 1}], "there is no value at"),
        ({"op": "remove", "path": "/one"}, "a patch is a list of operations"),
    ]:
        with pytest.raises(quipu.InvalidInputError, match=message):
            d.patch(1, operations)
        with pytest.raises(quipu.InvalidInputError, match=message):
            d.patch_many([2, 1], [[{"op": "add", "path": "/list/-", "value": 1}], operations])
    with pytest.raises(quipu.InvalidInputError, match="there is no such document"):
        d.patch(9, [])
    assert list(d.items()) == [(1, want), (2, {"list": []})]


def test_merges_set_and_remove_fields_and_make_documents(d: quipu.Documents) -> None:
    d[1] = {"title": "Goodbye!", "author": {"given": "John", "family": "Doe"}, "tags": ["a", "b"]}
    d.merge(1, {"title": "Hello!", "phone": "+01", "author": {"family": None}, "tags": ["a"]})
    assert d[1] == {"title": "Hello!", "author": {"given": "John"}, "tags": ["a"], "phone": "+01"}
    d.merge(2, {"a": {"b": None, "c": 1}})
    assert d[2] == {"a": {"c": 1}}


def test_documents_are_deleted(d: quipu.Documents) -> None:
    d.put_many([1, 2, 3, 4], [1, 2, 3, 4])
    assert d.delete(1) is True
    assert d.delete(1) is False
    assert d.delete_many([2, 9, 2]).tolist() == [True, False, False]
    del d[3]
    assert list(d.items()) == [(4, 4)]


def test_documents_are_scanned_in_key_order(db: quipu.Database) -> None:
    d = db.documents("some_thing", key="str")
    d.put_many([f"k{n:04}" for n in range(3000)], [{"n": n} for n in range(3000)])
    table = d.scan("k0010", 2)
    assert table.rows() == [("k0010", '{"n":10}'), ("k0011", '{"n":11}')]
    assert [row[0] for row in d.scan(count=2).rows()] == ["k0000", "k0001"]
    assert d.scan("k2999x").rows() == []
    seen = 0
    for number, (key, document) in enumerate(d.items()):
        assert (key, document) == (f"k{number:04}", {"n": number})
        seen += 1
        if number == 10:
            d.delete_many([f"k{n:04}" for n in range(3000)])
    assert seen == 3000, "the iteration reads one snapshot"
    assert len(d) == 0


def test_a_gist_lists_fields_with_their_types(d: quipu.Documents) -> None:
    d.put_many([1, 2, 3], [{"a": {"b": 1}, "l": [{"x": 1}]}, {"a": {"b": "1"}, "c": None}, {"a": {"b": 2}}])
    assert d.gist().rows() == [
        ("", "object", 3),
        ("/a", "object", 3),
        ("/a/b", "int", 2),
        ("/a/b", "string", 1),
        ("/c", "null", 1),
        ("/l", "list", 1),
    ]


def test_fields_are_gathered_into_typed_columns(d: quipu.Documents) -> None:
    d.put_many([1, 2, 3, 4, 5], [{"age": 27}, {"age": "27"}, {"age": 27.5}, {"age": None}, {"other": 1}])
    keys = [1, 2, 3, 4, 5, 99]
    for of, values, converted, collided in [
        ("int32", [27, 27, None, None, None, None], [1], [2]),
        ("uint32", [27, 27, None, None, None, None], [1], [2]),
        ("str", ["27", "27", "27.5", None, None, None], [0, 2], []),
        ("float64", [27.0, 27.0, 27.5, None, None, None], [1], []),
        ("json", ["27", '"27"', "27.5", None, None, None], [], []),
        ("bool", [None] * 6, [], [0, 1, 2]),
    ]:
        table, was_converted, has_collided = d.gather(keys, {"/age": of})
        assert [row[0] for row in table.rows()] == values, of
        assert [at for at, (flag,) in enumerate(was_converted.rows()) if flag] == converted, of
        assert [at for at, (flag,) in enumerate(has_collided.rows()) if flag] == collided, of
    table, _, _ = d.gather(None, {"age": "int8", "/other": "uint64"})
    assert table.columns == ["age", "/other"]
    assert table.rows() == [(27, None), (27, None), (None, None), (None, None), (None, 1)]
    table, _, _ = d.gather([1, 1], {})
    assert len(table) == 2
    for fields, message in [({"age": "i32"}, "unknown type of a column"), ({"/a~": "bool"}, "is not a JSON Pointer")]:
        with pytest.raises(quipu.InvalidInputError, match=message):
            d.gather([1], fields)


def test_gathered_columns_are_arrow_columns_of_their_types(d: quipu.Documents) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    d[1] = {"a": 1}
    types = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
    for name in types:
        table = pyarrow.table(d.gather([1], {"a": name})[0])
        want = {"float32": "float", "float64": "double"}.get(name, name)
        assert str(table.schema.field("a").type) == want
        assert table.column("a").to_pylist() == [True if name == "bool" else 1]


def test_scripts_read_and_write_documents(db: quipu.Database, d: quipu.Documents) -> None:
    d.put_many([1, 2], [{"name": "Ada", "age": 36}, {"name": "Ben", "age": 30}])
    rows = db.run("?[key, name] := *users{key, doc}, name = get(doc, 'name'), get(doc, 'age') > 33").rows()
    assert rows == [(1, "Ada")]
    db.run("?[key, doc] <- [[3, json_object('name', 'Cleo')]] :put users {key => doc}")
    assert d[3] == {"name": "Cleo"}
    db.run(":create made {key: String => doc: Json}")
    listed = db.run("::relations")
    described = {row[0]: row[listed.columns.index("description")] for row in listed.rows()}
    assert described == {"users": "documents", "made": ""}
    made = db.documents("made")
    made["x"] = [1]
    assert made.key == "str"
    db.run(":create other {key: String => doc: String}")
    with pytest.raises(quipu.InvalidInputError, match="are not documents"):
        db.documents("other")
    db.graph("g")
    with pytest.raises(quipu.InvalidInputError, match="are not documents"):
        db.documents("g")
    assert db.check()["problems"] == []


def test_search_indexes_and_triggers_follow_documents(db: quipu.Database, d: quipu.Documents) -> None:
    db.run("::fts create users:words {extractor: get(doc, 'text', ''), tokenizer: Simple, filters: [Lowercase]}")
    db.run(":create log {key: Int}")
    db.run("::set_triggers users on put {?[key] := _new[key, _] :put log {key}}")
    d[1] = {"text": "A quick fox"}
    d.patch(1, [{"op": "replace", "path": "/text", "value": "A slow fox"}])
    d.merge(2, {"text": "quick"})
    found = "?[key] := ~users:words{key | query: $q, k: 9}"
    assert db.run(found, {"q": "quick"}).rows() == [(2,)]
    assert db.run(found, {"q": "slow"}).rows() == [(1,)]
    d.delete(1)
    assert db.run(found, {"q": "slow"}).rows() == []
    assert db.run("?[key] := *log{key}").rows() == [(1,), (2,)]
    assert db.check()["problems"] == []


def test_documents_in_a_transaction(db: quipu.Database, d: quipu.Documents) -> None:
    d[1] = {"n": 1}
    with db.transaction() as tx:
        inside = tx.documents("users")
        inside.merge(1, {"m": 2})
        inside.patch(1, [{"op": "add", "path": "/k", "value": 3}])
        inside[2] = "new"
        assert inside[1] == {"n": 1, "m": 2, "k": 3}
        assert list(inside) == [1, 2]
        assert [row[0] for row in inside.scan(2).rows()] == [2]
        assert list(d.items()) == [(1, {"n": 1})]
    assert d[1] == {"n": 1, "m": 2, "k": 3}
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.documents("users").delete_many([1, 2])
        raise ZeroDivisionError
    assert list(d) == [1, 2]
    with db.transaction() as tx:
        tx.run(":create fresh {key: Int => doc: Json}")
        tx.documents("fresh")[1] = [1]
    assert db.documents("fresh")[1] == [1]


def test_disjoint_transactions_commit_and_overlapping_ones_conflict(db: quipu.Database, d: quipu.Documents) -> None:
    d.put_many([1, 2], [{"n": 0}, {"n": 0}])
    with db.transaction() as one, db.transaction() as two:
        one.documents("users").merge(1, {"n": 1})
        two.documents("users").merge(2, {"n": 2})
    assert d.get_many([1, 2], field="n") == [1, 2]
    one, two = db.transaction(), db.transaction()
    one.documents("users").merge(1, {"n": 3})
    two.documents("users").merge(1, {"m": 4})
    one.commit()
    with pytest.raises(quipu.ConflictError):
        two.commit()
    assert d[1] == {"n": 3}


def test_changes_of_one_document_by_several_threads_are_all_there(db: quipu.Database, d: quipu.Documents) -> None:
    d[1] = {"list": []}

    def append(name: int) -> None:
        for number in range(20):
            d.patch(1, [{"op": "add", "path": "/list/-", "value": [name, number]}])

    threads = [threading.Thread(target=append, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(d[1]["list"]) == [[name, number] for name in range(3) for number in range(20)]


def test_a_hundred_sets_of_documents_hold_what_was_put(db: quipu.Database) -> None:
    for number in range(100):
        db.documents(f"set{number}")[number] = {"number": number}
    assert all(list(db.documents(f"set{n}").items()) == [(n, {"number": n})] for n in range(100))


def test_a_linked_list_of_documents_is_followed_both_ways(db: quipu.Database) -> None:
    d = db.documents("links", key="str")
    names = [f"node {number}" for number in range(1000)]
    links = [
        {"before": names[at - 1] if at else None, "after": names[at + 1] if at + 1 < len(names) else None}
        for at in range(len(names))
    ]
    d.put_many(names, links)
    for first, way in [(names[0], "after"), (names[-1], "before")]:
        seen, at = 0, first
        while at is not None:
            seen, at = seen + 1, d.get(at, field=way)
        assert seen == 1000


def test_lines_of_json_go_in_and_out(db: quipu.Database, write: Callable[..., Path], tmp_path: Path) -> None:
    lines = '{"id": 7, "name": "Ada"}\n\n  {"id": 3, "name": "Ben"}\r\n{"id": 7, "name": "Ada L."}'
    d = db.documents("people")
    assert d.import_ndjson(write("people.ndjson", lines), key_field="id") == 3
    assert list(d.items()) == [(3, {"id": 3, "name": "Ben"}), (7, {"id": 7, "name": "Ada L."})]
    assert d.import_ndjson(iter([b'{"id": 8}', '{"id": 9}']), "/id") == 2
    out = tmp_path / "out.ndjson"
    assert d.export_ndjson(out) == 4
    assert [json.loads(line) for line in out.read_text().splitlines()] == [document for _, document in d.items()]
    target = io.BytesIO()
    names = db.documents("names", key="str")
    names.put_many(["é", "b"], [{"n": 1}, {}])
    assert names.export_ndjson(target, key_field="/meta/name") == 2
    assert target.getvalue().decode() == '{"meta":{"name":"b"}}\n{"meta":{"name":"é"},"n":1}\n'
    again = db.documents("again", key="str")
    again.import_ndjson(target.getvalue().splitlines(), key_field="/meta/name")
    assert list(again) == ["b", "é"]


def test_a_dump_of_mongodb_goes_in_and_comes_out_the_same(db: quipu.Database, tmp_path: Path) -> None:
    first = b"\x07_id\0" + bytes.fromhex("5f43726f6964000102030405") + b"\x02name\0\x04\0\0\0Ada\0"
    second = b"\x07_id\0" + bytes.fromhex("5f43726f6964000102030406") + b"\x09born\0" + bytes(8) + b"\x10n\0\x07\0\0\0"
    dump = b"".join((len(fields) + 5).to_bytes(4, "little") + fields + b"\0" for fields in (first, second))
    path = tmp_path / "people.bson"
    path.write_bytes(dump)
    d = db.documents("people", key="str")
    assert d.import_bson(path) == 2
    assert d["5f43726f6964000102030405"] == {"_id": {"$oid": "5f43726f6964000102030405"}, "name": "Ada"}
    assert d.get("5f43726f6964000102030406", field="/born/$date") == "1970-01-01T00:00:00Z"
    out = io.BytesIO()
    assert d.export_bson(out) == 2
    assert out.getvalue() == dump
    assert d.export_bson(tmp_path / "out.bson") == 2
    assert (tmp_path / "out.bson").read_bytes() == dump
    with pytest.raises(quipu.InvalidInputError, match="document 2: the file ends within a document"):
        db.documents("cut", key="str").import_bson(io.BytesIO(dump[:-1]))
    assert len(db.documents("cut", key="str")) == 0


def test_messagepack_goes_in_and_comes_out_the_same(d: quipu.Documents, tmp_path: Path) -> None:
    packed = [b"\x82\xa2id" + bytes([n]) + b"\xa4tags\x92\xa1x\xcb\x3f\xe0\0\0\0\0\0\0" for n in range(5)]
    path = tmp_path / "docs.msgpack"
    path.write_bytes(b"".join(packed))
    assert d.import_msgpack(path, "id") == 5
    assert d[3] == {"id": 3, "tags": ["x", 0.5]}
    out = io.BytesIO()
    assert d.export_msgpack(out) == 5
    assert out.getvalue() == path.read_bytes()
    assert d.import_msgpack(packed[:2], "id") == 2
    with pytest.raises(quipu.InvalidInputError, match='document 2: binary data, which JSON does not have at "/b"'):
        d.import_msgpack([packed[0], b"\x81\xa1b\xc4\x01x"], "id")


def test_one_document_has_the_format_that_is_asked_for(d: quipu.Documents) -> None:
    d.put(1, b"\x81\xa1a\x92\x01\xa1x", format="msgpack")
    assert d[1] == {"a": [1, "x"]}
    assert d.get(1, format="msgpack") == b"\x81\xa1a\x92\x01\xa1x"
    assert d.get(1, format="json") == b'{"a":[1,"x"]}'
    assert d.get(1, field="a", format="msgpack") == b"\x92\x01\xa1x"
    bson = d.get(1, format="bson")
    d.put(2, bson, format="bson")
    assert d[2] == d[1]
    assert d.get(3, default=b"", format="bson") == b""
    with pytest.raises(quipu.InvalidInputError, match="BSON has objects at the top"):
        d.get(1, field="a", format="bson")
    with pytest.raises(quipu.InvalidInputError, match="hint: formats are json, bson, msgpack"):
        d.get(1, format=cast("Any", "xml"))
    for wrong in (b"", b"\x92\x01", b"\x81\xa1a"):
        with pytest.raises(quipu.InvalidInputError, match="this is not MessagePack"):
            d.put(1, wrong, format="msgpack")
        with pytest.raises(quipu.InvalidInputError, match="this is not BSON"):
            d.put(1, wrong, format="bson")
    assert d[1] == {"a": [1, "x"]}


def test_an_import_of_more_than_a_transaction_holds_commits_in_between() -> None:
    with quipu.open(memory_limit="16MB") as db:
        lines = [json.dumps({"id": n, "text": "x" * 10_000}) for n in range(2000)]
        d = db.documents("d")
        with pytest.raises(quipu.LimitError):
            d.import_ndjson(lines, "id")
        assert len(d) == 0
        assert d.import_ndjson(lines, "id", commit_every=100) == 2000
        assert len(d) == 2000
        with pytest.raises(quipu.InvalidInputError, match="line 1025: the key"):
            d.import_ndjson([*lines[:1024], "{}"], "id", commit_every=1)
        with pytest.raises(quipu.InvalidInputError, match="commit_every is 0"):
            d.import_ndjson(lines, "id", commit_every=0)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"id": 1}', "{"], "line 2: EOF"),
        (['{"id": 1}', "", '{"name": 1}'], 'line 3: the key at "/id" is missing, not of type u64'),
        (['{"id": "x"}'], 'line 1: the key at "/id" is "x", not of type u64'),
        ([*(f'{{"id": {n}}}' for n in range(5000)), '{"id": -1}'], 'line 5001: the key at "/id" is -1'),
        ([b"\xff"], "line 1: invalid utf-8"),
    ],
)
def test_a_line_that_cannot_be_imported_imports_nothing(d: quipu.Documents, lines: list[Any], message: str) -> None:
    with pytest.raises(quipu.InvalidInputError) as raised:
        d.import_ndjson(lines, key_field="id")
    assert message in str(raised.value)
    assert len(d) == 0


def test_exceptions_of_files_are_raised(d: quipu.Documents, tmp_path: Path) -> None:
    d[1] = 1

    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        d.export_ndjson(Full())
    with pytest.raises(FileNotFoundError):
        d.import_ndjson(tmp_path / "nothing", key_field="id")

    def lines() -> Any:
        yield '{"id": 2}'
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        d.import_ndjson(lines(), key_field="id")
    with pytest.raises(quipu.InvalidInputError, match="in neither"):
        d.export_ndjson(io.BytesIO(), key_field="/id")
    assert list(d) == [1]


def test_an_export_is_in_the_file_whole_or_not_at_all(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    with quipu.open(folder) as db:
        d = db.documents("users")
        d.put_many([1, 2], [{"a": 1}, 2])
        assert d.export_ndjson(str(out)) == 2
        assert out.read_text() == '{"a":1}\n2\n'
        with pytest.raises(quipu.InvalidInputError, match="in neither"):
            d.export_ndjson(out, key_field="id")
        assert out.read_text() == '{"a":1}\n2\n'
        with pytest.raises(quipu.InvalidInputError, match="in the folder of the database itself"):
            d.export_ndjson(folder / "out.ndjson")
        assert not (folder / "out.ndjson").exists()
        assert sorted(tmp_path.iterdir()) == [folder, out]
        with pytest.raises(FileNotFoundError):
            d.export_ndjson(tmp_path / "nowhere" / "out.ndjson")


class Raw(io.RawIOBase):
    """A file that writes some bytes of those it gets, as pipes do."""

    def __init__(self, results: list[int | None] | None = None) -> None:
        super().__init__()
        self.results = results or []
        self.written = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int | None:
        result = self.results.pop() if self.results else min(7, len(data))
        self.written += bytes(data[: result or 0])
        return result


def test_a_raw_file_gets_all_bytes_although_it_writes_a_few_at_a_time(d: quipu.Documents) -> None:
    d.put_many(range(100), [{"number": number} for number in range(100)])
    raw = Raw()
    assert d.export_ndjson(raw) == 100
    assert raw.written.decode() == "".join(f'{{"number":{number}}}\n' for number in range(100))

    class Parts(list[bytes]):
        def write(self, data: bytes) -> None:
            self.append(data)

    parts = Parts()
    assert d.export_ndjson(parts) == 100
    assert b"".join(parts) == raw.written
    with pytest.raises(BlockingIOError):
        d.export_ndjson(Raw([None]))
    with pytest.raises(OSError, match="`write` returned 1000000"):
        d.export_ndjson(Raw([1_000_000]))


def test_paths_that_are_too_deep_are_refused_and_do_not_crash(d: quipu.Documents) -> None:
    d[1] = {}
    for tokens in (200, 200_000):
        with pytest.raises(quipu.InvalidInputError, match="recursion limit"):
            d.upsert(1, 1, field="/a" * tokens)
    with pytest.raises(quipu.InvalidInputError, match="recursion limit"):
        d.patch(1, [{"op": "copy", "from": "", "path": "/a"}] * 20_000)
    assert d[1] == {}


def test_documents_survive_reopening_backups_and_repairs(folder: Path, tmp_path: Path) -> None:
    with quipu.open(folder) as db:
        d = db.documents("users", key="str")
        d.put_many(["a", "b"], [ADA, FLAT])
        db.backup(tmp_path / "backup")
    quipu.restore(tmp_path / "backup", tmp_path / "restored")
    quipu.repair(folder, tmp_path / "repaired")
    for path in (folder, tmp_path / "restored", tmp_path / "repaired"):
        with quipu.open(path) as db:
            d = db.documents("users")
            assert list(d.items()) == [("a", ADA), ("b", FLAT)]
            assert db.check()["problems"] == []
    with quipu.open(folder, read_only=True) as follower:
        assert follower.documents("users")["a"] == ADA
        with pytest.raises(quipu.InvalidInputError):
            follower.documents("users")["a"] = 1
        with pytest.raises(quipu.InvalidInputError, match="no documents"):
            follower.documents("others")


def test_access_levels_hold_for_documents(db: quipu.Database, d: quipu.Documents) -> None:
    d[1] = {"a": 1}
    db.run("::access_level read_only users")
    for write in (lambda: d.put(1, 2), lambda: d.merge(1, {"b": 1}), lambda: d.delete(1)):
        with pytest.raises(quipu.InvalidInputError, match="read"):
            write()
    assert d[1] == {"a": 1}


def people(d: quipu.Documents) -> None:
    for key, city in enumerate(["Oslo", "Bergen", "Oslo", None, 7, 7.0, ["Oslo"], {"a": 1}]):
        d[key] = {"addr": {"city": city}, "age": key}
    d[8] = {"age": "old"}
    d[9] = "Oslo"


def found(d: quipu.Documents, field: str, *value: Any, **bounds: Any) -> list[int]:
    return [key for key, _ in d.find(field, *value, **bounds)]


def check_found(d: quipu.Documents) -> None:
    assert found(d, "/addr/city", "Oslo") == [0, 2]
    assert found(d, "/addr/city", None) == [3, 8, 9]
    assert found(d, "/addr/city", 7) == [4, 5]
    assert found(d, "/addr/city", ["Oslo"]) == [6]
    assert found(d, "/addr/city", {"a": 1}) == [7]
    assert found(d, "/addr/city/0", "Oslo") == [6]
    assert found(d, "/addr/city", minimum="C") == [0, 2]
    assert found(d, "/addr/city", maximum="Bergen") == [1]
    assert found(d, "age", minimum=2, maximum=4) == [2, 3, 4]
    assert found(d, "age", "old") == [8]
    assert dict(d.find("age", 1)) == {1: {"addr": {"city": "Bergen"}, "age": 1}}


def test_documents_are_found_by_a_field_with_and_without_an_index(db: quipu.Database, d: quipu.Documents) -> None:
    people(d)
    check_found(d)
    d.create_index("by_city", "/addr/city")
    d.create_index("by_age", "age", "/addr/city/0")
    check_found(d)
    plan = db.run("::explain { ?[key] := *users{key, doc}, doc->'addr'->'city' == 'Oslo' }").rows()
    assert any(row[5] == "*users:by_city" for row in plan)
    d.merge(1, {"addr": {"city": "Oslo"}})
    d.update(2, "Bergen", field="/addr/city")
    del d[0]
    d.put_many([10, 11], [{"addr": {"city": "Oslo"}}, {"addr": {"city": "Oslo"}}])
    assert found(d, "/addr/city", "Oslo") == [1, 10, 11]
    with db.transaction() as tx:
        inner = tx.documents("users")
        inner[12] = {"addr": {"city": "Oslo"}}
        assert found(inner, "/addr/city", "Oslo") == [1, 10, 11, 12]
        with pytest.raises(quipu.InvalidInputError, match="outside of transactions"):
            inner.create_index("other", "age")
        tx.rollback()
    assert found(d, "/addr/city", "Oslo") == [1, 10, 11]
    assert db.check()["problems"] == []
    d.drop_index("by_city")
    assert found(d, "/addr/city", "Oslo") == [1, 10, 11]


def test_an_index_on_a_field_survives_a_restart_a_backup_and_an_import(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "a") as db:
        d = db.documents("users")
        d.create_index("by_city", "/addr/city")
        people(d)
        lines = [json.dumps({"id": 20 + n, "addr": {"city": f"c{n % 3}"}}) for n in range(30)]
        d.import_ndjson(lines, key_field="id")
        db.backup(tmp_path / "b")
    quipu.restore(tmp_path / "b", tmp_path / "c")
    for name in ["a", "c"]:
        with quipu.open(tmp_path / name) as db:
            d = db.documents("users")
            assert found(d, "/addr/city", "c1") == list(range(21, 50, 3))
            assert found(d, "/addr/city", "Oslo") == [0, 2]
            assert db.run("::indices users").rows() == [
                ("by_city", "normal", ["users:by_city"], ["doc->'addr'->'city'", "key"])
            ]
            assert db.check()["problems"] == []


def test_documents_differ_in_the_fields_of_a_unique_index(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "a") as db:
        d = db.documents("users")
        d.create_index("by_mail", "/mail", unique=True)
        d[1] = {"mail": "ada@x.org"}
        d[2] = {"mail": "bob@x.org"}
        d[3], d[4], d[5] = {}, {}, {"mail": None}
        refused = r'row \[6\] of relation `users` cannot have doc->\'mail\' = "ada@x.org": row \[1\] has it'
        with pytest.raises(quipu.InvalidInputError, match=refused):
            d[6] = {"mail": "ada@x.org"}
        with pytest.raises(quipu.InvalidInputError, match="is unique"):
            d.put_many([7, 8], [{"mail": "new"}, {"mail": "new"}])
        assert 7 not in d
        d.put_many([1, 2], [{"mail": "bob@x.org"}, {"mail": "ada@x.org"}])
        with pytest.raises(quipu.InvalidInputError, match="cannot be unique: rows"):
            d.put_many([8, 9], [{"n": 1}, {"n": 1}])
            d.create_index("by_n", "n", unique=True)
        one, two = db.transaction(), db.transaction()
        one.documents("users")[10] = {"mail": "cid@x.org"}
        two.documents("users")[11] = {"mail": "cid@x.org"}
        one.commit()
        with pytest.raises(quipu.ConflictError):
            two.commit()
        assert db.check()["problems"] == []
        db.backup(tmp_path / "b")
    quipu.restore(tmp_path / "b", tmp_path / "c")
    for name in ["a", "c"]:
        with quipu.open(tmp_path / name) as db:
            d = db.documents("users")
            assert db.run("::indices users").rows() == [("by_mail", "unique", ["users:by_mail"], ["doc->'mail'"])]
            assert found(d, "mail", "cid@x.org") == [10]
            with pytest.raises(quipu.InvalidInputError, match="is unique"):
                d[11] = {"mail": "cid@x.org"}


def test_what_find_and_create_index_refuse(d: quipu.Documents) -> None:
    for args, bounds in [((), {}), ((1, 2), {}), ((1,), {"minimum": 1}), ((), {"minimum": 1, "maximum": "a"})]:
        with pytest.raises(quipu.InvalidInputError):
            d.find("age", *args, **bounds)
    for bound in [True, [1], {}]:
        with pytest.raises(quipu.InvalidInputError, match="numbers or strings"):
            d.find("age", minimum=bound)
    for fields in [(), ("",), ("/a~2",)]:
        with pytest.raises(quipu.InvalidInputError):
            d.create_index("x", *fields)
    d.create_index("x", "age")
    with pytest.raises(quipu.InvalidInputError, match="already exists"):
        d.create_index("x", "age")
    with pytest.raises(quipu.InvalidInputError, match="no index"):
        d.drop_index("y")
