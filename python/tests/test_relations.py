"""Exports and imports of whole relations."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import quipu


@pytest.fixture
def city(db: quipu.Database) -> quipu.Database:
    db.run(":create city {name: String => people: Int, height: Float? default 0, more: Any?}")
    return db


ROWS = [["Cusco", 428450, 3399.0, None], ["Lima", 10092000, 0.0, [1, "x"]]]


def rows(db: quipu.Database) -> list[list[Any]]:
    return db.export_relations(["city"])["city"]["rows"]


def test_what_is_exported_is_imported(city: quipu.Database) -> None:
    headers = ["name", "people", "height", "more"]
    city.import_relations({"city": {"headers": headers, "rows": ROWS, "next": None}})
    out = city.export_relations(["city"])
    assert out == {"city": {"headers": headers, "rows": ROWS}}
    city.run("?[name, people, height, more] <- [['Tacna', 1, 1, 1]] :put city {name => people, height, more}")
    city.import_relations({"-city": {"headers": ["name"], "rows": [["Tacna"], ["nobody"]]}})
    city.import_relations(out)
    assert rows(city) == ROWS


FRAME = {"people": [428450, 10092000], "name": ["Cusco", "Lima"], "height": [3399.0, None]}


@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        {**FRAME, "people": np.array(FRAME["people"]), "height": np.array([3399.0, 0.0])},
        {**FRAME, "people": pa.array(FRAME["people"]), "name": pl.Series(FRAME["name"])},
        pd.DataFrame(FRAME),
        pl.DataFrame(FRAME),
        pa.table(FRAME),
        pa.table({**FRAME, "name": pa.array(FRAME["name"]).dictionary_encode()}).to_reader(max_chunksize=1),
        [dict(zip(FRAME, row, strict=True)) for row in zip(*FRAME.values(), strict=True)],
    ],
    ids=["columns", "numpy", "arrays", "pandas", "polars", "arrow", "batches", "dicts"],
)
def test_rows_come_in_many_shapes(city: quipu.Database, data: Any) -> None:
    city.run(":replace city {name: String => people: Int, height: Float?}")
    city.import_relations({"city": data})
    assert [row[:2] for row in rows(city)] == [["Cusco", 428450], ["Lima", 10092000]]
    assert rows(city)[0][2] == 3399.0
    assert not rows(city)[1][2]


def test_a_list_of_rows_is_in_the_order_of_the_columns(city: quipu.Database) -> None:
    city.import_relations({"city": [("Lima", 1, 2, "x"), ["Cusco", 2, None, None]]})
    city.import_relations({"-city": [("Lima",)]})
    assert rows(city) == [["Cusco", 2, None, None]]
    with pytest.raises(quipu.InvalidInputError, match="row 1 has 1 values for 2 columns"):
        city.import_relations({"city": [("a", 1), ("b",)]})


def test_a_result_is_imported_with_its_values(city: quipu.Database) -> None:
    result = city.run("?[name, people, more] <- [['a', 1, {'x': [1]}], ['b', 2.0, ['y']]]")
    city.import_relations({"city": result})
    assert rows(city) == [["a", 1, 0.0, {"x": [1]}], ["b", 2, 0.0, ["y"]]]


def test_arrow_types_find_their_columns(db: quipu.Database) -> None:
    db.run(":create r {k: Int => l: [Int], j: Json?, b: Bytes, t: String, d: String, v: <F32; 2>, n: Any?}")
    utc = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    table = pa.table(
        {
            "k": pa.array([1, 2], pa.uint8()),
            "l": [[1, 2], []],
            "j": [{"a": 1, "b": ["x"]}, None],
            "b": pa.array([b"x", b""], pa.binary_view()),
            "t": pa.array([utc, utc]),
            "d": [dt.date(2026, 1, 2), dt.date(1, 1, 1)],
            "v": pa.array([[1.0, 0.5], [0.0, 2.0]], pa.list_(pa.float32(), 2)),
            "n": pa.nulls(2),
        }
    )
    db.import_relations({"r": table})
    first, second = db.export_relations(["r"])["r"]["rows"]
    assert first == [1, [1, 2], {"a": 1, "b": ["x"]}, b"x", "2026-01-02T03:04:05Z", "2026-01-02", [1.0, 0.5], None]
    assert second == [2, [], None, b"", "2026-01-02T03:04:05Z", "0001-01-01", [0.0, 2.0], None]
    assert db.run("?[x] := *r{t}, x = parse_timestamp(t)").rows() == [(utc.timestamp(),)]


def test_json_leaves_as_arrow_s_json_and_comes_back_as_what_it_was(db: quipu.Database) -> None:
    values = [{"a": [1, None]}, None, "text", [1, 2.5]]
    db.run(":create docs {k: Int => j: Json?}")
    script = "?[k, j] <- [[0, {'a': [1, null]}], [1, null], [2, json('text')], [3, json([1, 2.5])]] :put docs {k => j}"
    db.run(script)
    before = db.relation("docs").rows()
    assert [value for _, value in before] == values
    table = db.relation("docs").to_arrow()
    assert str(table.schema.field("j").type) == "extension<arrow.json>"
    assert table["j"].to_pylist() == ['{"a":[1,null]}', None, '"text"', "[1,2.5]"]
    assert db.run("?[k, j] := *docs{k, j}").to_arrow().schema == table.schema
    with db.stream("?[k, j] := *docs{k, j}") as stream:
        assert pa.table(stream).schema == table.schema

    for given in (table, db.relation("docs").to_polars(), {"k": table["k"], "j": table["j"]}):
        db.run("?[k] := *docs{k} :rm docs {k}")
        db.relation("docs").put(given)
        assert db.relation("docs").rows() == before
    copy = db.relation("copy", create=table, keys=["k"])
    assert [column.type for column in copy.columns] == ["Int", "Json?"]
    # A string without JSON metadata stays a string.
    copy.put({"k": [9], "j": ['{"a":1}']})
    assert copy.rows() == [(9, '{"a":1}')]
    wrong = pa.table({"k": [1, 2], "j": pa.array(["1", "{"]).cast(pa.json_())})
    with pytest.raises(quipu.InvalidInputError, match="column `j`, row 1: no JSON"):
        copy.put(wrong)
    assert len(copy) == 1


def test_all_or_nothing_with_the_place_of_what_is_wrong(city: quipu.Database) -> None:
    city.run(":create other {k: Int}")
    wrong = {"other": {"headers": ["k"], "rows": [[1], [2.5]]}, "city": [("Lima", 1, 2, 3)]}
    with pytest.raises(quipu.InvalidInputError, match="relation `other`, row 1, column `k`: expected Int") as error:
        city.import_relations(wrong)
    assert error.value.line is None
    assert rows(city) == []
    with pytest.raises(quipu.InvalidInputError, match="no relation `cit`\nhint: did you mean `city`"):
        city.import_relations({"cit": [(1,)]})
    with pytest.raises(quipu.InvalidInputError, match="no relation `no`"):
        city.export_relations(["city", "no"])
    with pytest.raises(quipu.InvalidInputError, match="have no column `people`\nhint: they have `name`"):
        city.import_relations({"city": {"name": ["x"]}})


@pytest.mark.parametrize(
    ("data", "kind", "why"),
    [
        ({"name": "Lima"}, TypeError, "not one text"),
        ({"name": [object()]}, TypeError, "a value of column `name` cannot be a object"),
        ({1: ["x"]}, TypeError, "names of columns are texts"),
        ("rows", TypeError, "rows cannot be a str"),
        (7, TypeError, "rows cannot be a int"),
        (["Lima"], TypeError, "row 0 is a str"),
        ({"headers": ["name", "people"], "rows": [["x"]]}, ValueError, "row 0 has 1 values for 2 headers"),
        ({"name": ["a"], "people": [1, 2]}, ValueError, "column `people` has 2 rows, the first has 1"),
        ({"headers": ["name", "name"], "rows": [["x", "y"]]}, ValueError, "two columns are named `name`"),
        ([{"name": "x"}, {"nam": "y"}], ValueError, "row 1 has no `name`"),
        (pa.table({"name": pa.array([1], pa.time64("us"))}), ValueError, "cast it to numbers or text"),
    ],
)
def test_what_is_no_rows_is_refused(city: quipu.Database, data: Any, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        city.import_relations({"city": data})
    assert rows(city) == []


def test_an_import_in_a_transaction_ends_with_it(city: quipu.Database) -> None:
    with city.transaction() as tx:
        tx.import_relations({"city": ROWS})
        assert len(tx.export_relations(["city"])["city"]["rows"]) == 2
        assert rows(city) == []
        tx.rollback()
    assert rows(city) == []
    with city.transaction() as tx:
        tx.import_relations({"city": ROWS})
    assert rows(city) == ROWS


def test_without_pyarrow_a_pandas_frame_goes_column_by_column(city: quipu.Database, monkeypatch: Any) -> None:
    height, more = [0.5, float("nan")], [None, "x"]
    frame = pd.DataFrame({"name": ["a", "b"], "people": pd.array([1, 2]), "height": height, "more": more})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    city.import_relations({"city": frame})
    assert rows(city) == [["a", 1, 0.5, None], ["b", 2, None, "x"]]


@pytest.fixture
def town(city: quipu.Database) -> quipu.Relation:
    return city.relation("city")


def test_a_relation_knows_its_columns(town: quipu.Relation) -> None:
    assert town.name == "city"
    columns = [(column.name, column.type, column.is_key, column.default) for column in town.columns]
    assert columns == [
        ("name", "String", True, None),
        ("people", "Int", False, None),
        ("height", "Float?", False, "0"),
        ("more", "Any?", False, None),
    ]
    assert [repr(column) for column in town.columns][::2] == ["<key name: String>", "<height: Float? default 0>"]
    assert repr(town) == "<quipu.Relation city {name: String => people: Int, height: Float?, more: Any?}>"
    assert len(town) == 0
    assert town
    assert town.rows() == list(town) == []


@pytest.mark.parametrize(
    "nothing",
    [
        [],
        {},
        pd.DataFrame(),
        pd.DataFrame({"name": [], "people": []}),
        pl.DataFrame(schema={"name": pl.String, "people": pl.Int64}),
        pa.table({"name": pa.array([], pa.string()), "people": pa.array([], pa.int64())}),
        {"name": [], "people": np.array([], np.int64)},
    ],
    ids=["list", "dict", "frame", "pandas", "polars", "arrow", "columns"],
)
def test_no_rows_are_no_change(db: quipu.Database, nothing: Any) -> None:
    town = db.relation("town", create="{name: String => people: Int}")
    town.put(nothing)
    assert town.rows() == []


def test_columns_may_come_in_pieces(db: quipu.Database) -> None:
    town = db.relation("town", create="{name: String => people: Int}")
    town.put({"name": pa.chunked_array([["a"], [], ["b", "c"]]), "people": pa.table({"x": [1, 2, 3]})["x"]})
    assert [row[:2] for row in town.rows()] == [("a", 1), ("b", 2), ("c", 3)]


def test_rows_are_put_inserted_updated_and_removed(town: quipu.Relation) -> None:
    town.put(pd.DataFrame({**FRAME, "more": [None, "x"]}))
    town.insert({"name": ["Tacna"], "people": [1], "more": [[1]]})
    with pytest.raises(quipu.InvalidInputError, match='row \\["Tacna"\\] of relation `city` already exists'):
        town.insert([("Puno", 2, None, None), ("Tacna", 3, None, None)])
    town.update([{"name": "Tacna", "people": 7}])
    with pytest.raises(quipu.InvalidInputError, match='row \\["Puno"\\] of relation `city` does not exist'):
        town.update([("Puno", 2, None, None)])
    assert len(town) == 3
    assert town.rows()[1:] == [("Lima", 10092000, None, "x"), ("Tacna", 7, 0.0, [1])]
    town.rm([("Lima",), ("nobody",)])
    with pytest.raises(quipu.InvalidInputError, match="does not exist"):
        town.delete(pl.DataFrame({"name": ["Tacna", "nobody"]}))
    town.delete(pl.DataFrame({"name": ["Tacna"]}))
    assert town.rows() == [("Cusco", 428450, 3399.0, None)]
    with pytest.raises(quipu.InvalidInputError, match="has no column `peopel`\nhint: did you mean `people`"):
        town.put({"name": ["x"], "peopel": [1]})


def test_typed_columns_come_out_as_their_arrow_types(db: quipu.Database) -> None:
    spec = "{k: Int, s: String => f: Float?, b: Bool, y: Bytes, l: [Int], a: Any?, n: Any?, e: String?}"
    relation = db.relation("r", create=spec)
    text = pa.string()
    ints = pa.list_(pa.int64())
    types = [pa.int64(), text, pa.float64(), pa.bool_(), pa.binary(), ints, pa.null(), pa.null(), text]
    assert relation.to_arrow().schema.types == types
    relation.put([(2, "b", None, True, b"x", [1], 7, None, None), (1, "a", 0.5, False, b"", [], 8.5, None, None)])
    types[6] = pa.float64()
    table = relation.to_arrow()
    assert table.schema.types == types
    assert table.to_pylist()[0] == dict(
        zip(table.column_names, (1, "a", 0.5, False, b"", [], 8.5, None, None), strict=True)
    )
    assert relation.to_polars()["k"].to_list() == relation.to_pandas()["k"].to_list() == [1, 2]


def test_vectors_and_lists_come_out_as_they_went_in(db: quipu.Database) -> None:
    spec = "{k: Int => v: <F32; 2>, w: <F64; 3>?, l: [Float], s: [String?], d: [[Int]]}"
    relation = db.relation("r", create=spec)
    rows = [
        (1, [0.5, 1.0], None, [1.0, 2.5], ["a", None], [[1]]),
        (2, [2.0, 3.0], [1.0, 2.0, 3.0], [], [], []),
    ]
    relation.put(rows)
    table = relation.to_arrow()
    floats, doubles, deep = pa.list_(pa.float32(), 2), pa.list_(pa.float64(), 3), pa.list_(pa.list_(pa.int64()))
    types = [pa.int64(), floats, doubles, pa.list_(pa.float64()), pa.list_(pa.string()), deep]
    assert table.schema.types == types
    assert table.to_pylist() == [dict(zip("kvwlsd", row, strict=True)) for row in rows]
    assert db.run("?[k, v, w, l, s, d] := *r{k, v, w, l, s, d}").to_arrow().schema.types == types
    assert relation.to_polars()["v"].to_list() == [[0.5, 1.0], [2.0, 3.0]]
    other = db.relation("s", create=table, keys=["k"])
    other.put(relation.to_arrow())
    assert [column.type for column in other.columns][1:3] == ["<F32; 2>?", "<F64; 3>?"]
    assert other.rows() == relation.rows()
    other.put(relation.to_polars())
    assert other.rows() == relation.rows()


def test_a_typed_relation_streams(db: quipu.Database) -> None:
    relation = db.relation("r", create="{k: Int => v: Float?}")
    relation.put({"k": np.arange(100_000), "v": np.arange(100_000) / 2})
    reader = pa.RecordBatchReader.from_stream(relation)
    relation.rm([(0,)])
    batches = list(reader)
    assert len(batches) > 1
    table = pa.Table.from_batches(batches)
    assert table["k"].to_pylist() == list(range(100_000))
    assert table["v"].to_numpy()[-1] == 49_999.5
    assert len(relation) == 99_999
    other = db.relation("s", create=relation, keys=["k"])
    other.put(relation)
    assert other.to_arrow() == relation.to_arrow()


def test_a_relation_is_created_once(db: quipu.Database) -> None:
    spec = "{k: Int => v: String?, w default 1}"
    assert db.relation("r", create=spec).columns[2].default == "1"
    db.relation("r", create=" { k : Int => v: String?, w default 1 } ").put([(1, "x", 2)])
    with pytest.raises(
        quipu.InvalidInputError, match=r"with other columns\nhint: it has {k: Int => v: String\?, w: Any\?}"
    ):
        db.relation("r", create="{k: Int => v: String}")
    with pytest.raises(quipu.InvalidInputError, match="no relation `rr`"):
        db.relation("rr")
    assert db.relation("r").rows() == [(1, "x", 2)]


@pytest.mark.parametrize(
    ("name", "create", "why"),
    [
        ("a b", "{k}", '"a b" cannot be a relation\'s name'),
        ("_a", "{k}", "cannot be a relation's name"),
        ("true", "{k}", "cannot be a relation's name"),
        ("r:x", "{k}", "cannot be a relation's name"),
        ("r", "{k: Itn}", "the columns .*Itn"),
        ("r", "", "such as {key: Int"),
        ("r", "{k} ?[a] <- [[1]]", "the columns"),
        ("r", "{k, k}", "`k` occurs twice"),
        ("r", "{ => v}", "no key column"),
    ],
)
def test_columns_that_cannot_be_are_refused(db: quipu.Database, name: str, create: str, why: str) -> None:
    with pytest.raises(quipu.InvalidInputError, match=why):
        db.relation(name, create=create)
    assert db.run("::relations").rows() == []


def test_a_relation_is_created_from_an_arrow_schema(db: quipu.Database) -> None:
    vector = pa.list_(pa.float32(), 3)
    schema = pa.schema(
        [
            pa.field("v", pa.int32(), nullable=False),
            ("k", pa.string()),
            ("f", pa.float32()),
            ("w", vector),
            ("s", pa.struct([("a", pa.int64())])),
            ("t", pa.timestamp("us", "UTC")),
        ]
    )
    relation = db.relation("r", create=schema, keys=["k"])
    types = {column.name: (column.type, column.is_key) for column in relation.columns}
    assert types == {
        "k": ("String", True),
        "v": ("Int", False),
        "f": ("Float?", False),
        "w": ("<F32; 3>?", False),
        "s": ("Json?", False),
        "t": ("Timestamp?", False),
    }
    frame = pd.DataFrame(FRAME)
    assert [column.type for column in db.relation("s", create=frame, keys=["name"]).columns] == [
        "String",
        "Int?",
        "Float?",
    ]
    with pytest.raises(quipu.InvalidInputError, match="the key `x` is none of the columns"):
        db.relation("t", create=schema, keys=["x"])
    with pytest.raises(quipu.InvalidInputError, match="keys are needed"):
        db.relation("t", create=schema)
    with pytest.raises(quipu.InvalidInputError, match='"a b" cannot be a column'):
        db.relation("t", create=pa.schema([("a b", pa.int64())]), keys=["a b"])
    with pytest.raises(TypeError, match="create cannot be a int"):
        db.relation("t", create=7, keys=["x"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_triggers_fire_and_transactions_hold_back(city: quipu.Database, town: quipu.Relation) -> None:
    city.run(":create log {k => n}")
    city.run("::set_triggers city on put { ?[k, n] := _new[k, n, _, _] :put log {k => n} }")
    with city.transaction() as tx:
        tx.relation("city").put(ROWS)
        assert len(tx.relation("city")) == 2
        assert len(tx.relation("log")) == 2
        assert len(town) == 0
        tx.rollback()
    with pytest.raises(quipu.InvalidInputError, match="has ended"):
        tx.relation("city").rows()
    town.put(ROWS)
    assert city.relation("log").rows() == [("Cusco", 428450), ("Lima", 10092000)]


def test_graphs_and_counters_are_relations(db: quipu.Database) -> None:
    cites = db.graph("cites", weight="float64")
    relation = db.relation("cites")
    relation.put({"src": [1, 3], "dst": [2, 2], "weight": [0.5, 1.5]})
    assert cites.predecessors(2).tolist() == [1, 3]
    assert relation.to_arrow().to_pylist()[1] == {"src": 3, "dst": 2, "weight": 1.5}
    db.counters("seen").add(7, 5)
    assert db.relation("seen").rows() == [(7, 5)]


def test_a_table_of_300_columns_becomes_a_relation_and_comes_back(db: quipu.Database) -> None:
    columns: dict[str, list[Any]] = {"k": [1, 2, 3]}
    for i in range(300):
        columns[f"c{i}"] = [f"t{i}", None, "é"] if i % 2 else [i, -i, None]
    table = pa.table(columns)
    wide = db.relation("wide", create=table, keys=["k"])
    wide.put(table)
    assert wide.to_arrow().select(table.column_names).to_pydict() == columns
    assert db.run("?[a, b] := *wide{k: 2, c298: a, c299: b}").rows() == [(-298, None)]


def test_validities_and_lists_of_lists_leave_as_arrow_and_come_back(db: quipu.Database) -> None:
    db.run(":create a {k: Int, at: Validity => deep: [[Int]]?, names: [[String?]], blobs: [Bytes]}")
    db.run(
        """
        ?[k, at, deep, names, blobs] <- [
            [1, validity(5, true), [[1, 2], []], [['a', null], []], [decode_base64('AAE=')]],
            [2, validity(7, false), null, [], []],
            [3, validity(9), [], [[]], []]]
        :put a {k, at => deep, names, blobs}
        """
    )
    table = db.run("?[k, at, deep, names, blobs] := *a{k, at, deep, names, blobs}").to_arrow()
    assert str(table.schema.field("deep").type) == "list<item: list<item: int64>>"
    assert str(table.schema.field("at").type) == "struct<microseconds: int64 not null, asserted: bool not null>"
    db.run(":create b {k: Int, at: Validity => deep: [[Int]]?, names: [[String?]], blobs: [Bytes]}")
    db.relation("b").put(table)
    for name in ("a", "b"):
        columns = "k, at, deep, names, blobs"
        rows = db.run(f"?[{columns}] := *{name}{{{columns}}}").rows()
        assert rows[0] == (1, (5, True), [[1, 2], []], [["a", None], []], [b"\x00\x01"])
    differing = "?[k, at] := *a{k, at, deep, names, blobs}, not *b{k, at, deep, names, blobs}"
    assert db.run(differing).rows() == []
    # Also for whole relations.
    db.run(":create c {k: Int, at: Validity => deep: [[Int]]?, names: [[String?]], blobs: [Bytes]}")
    db.relation("c").put(db.relation("b").to_arrow())
    assert db.run(differing.replace("*b{", "*c{")).rows() == []


def test_the_index_that_numbers_a_frame_is_no_column(db: quipu.Database) -> None:
    frame = pd.DataFrame({"k": [1, 2, 3], "v": ["a", "b", "c"]}).sample(3, random_state=1)
    for name, create in [("t", pa.Table.from_pandas(frame)), ("r", frame)]:
        relation = db.relation(name, create=create, keys=["k"])
        assert [column.name for column in relation.columns] == ["k", "v"]
    relation = db.relation("r")
    relation.put(frame)
    relation.put(pa.Table.from_pandas(frame))
    assert relation.rows() == [(1, "a"), (2, "b"), (3, "c")]
    # An index with the name of a column is this column, also where pandas keeps it as a range.
    relation.put(frame.replace("a", "z").set_index("k"))
    relation.put(pd.DataFrame({"v": ["d"]}, index=pd.RangeIndex(4, 5, name="k")))
    assert relation.rows() == [(1, "z"), (2, "b"), (3, "c"), (4, "d")]
    with pytest.raises(quipu.InvalidInputError, match="no column `other`"):
        relation.put(frame.set_index(pd.Index([9, 7, 8], name="other")))
    g = db.graph("g", nodes={"name": "str?"}, edges={"cost": "float?"})
    g.upsert_nodes(pd.DataFrame({"vertex": [1, 2], "name": ["a", "b"]}).sample(2, random_state=1))
    g.upsert_edges(pd.DataFrame({"src": [1, 2], "dst": [2, 1], "cost": [0.5, 1.5]}).sample(2, random_state=1))
    assert (len(g.nodes), g.number_of_edges()) == (2, 2)


def test_masked_items_are_null_or_refused(db: quipu.Database) -> None:
    masked = np.ma.MaskedArray([1.0, 7.0], [False, True])
    keys = np.ma.MaskedArray([1, 2], [False, True])
    relation = db.relation("r", create="{k: Int => v: Float?}")
    relation.put({"k": [1, 2], "v": masked})
    assert relation.rows() == [(1, 1.0), (2, None)]
    weighted = db.graph("g", weight="float64")
    for call in [
        lambda: relation.put({"k": keys, "v": [1.0, 2.0]}),
        lambda: weighted.upsert_many([1, 2], [2, 3], masked),
        lambda: weighted.upsert_many(keys, [2, 3], [1.0, 2.0]),
        lambda: weighted.successors_many(keys),
        lambda: db.graph("s", vertex="str").upsert_many(np.ma.MaskedArray(["a", "b"], [False, True]), ["b", "c"]),
        lambda: db.counters("c").add_many([1, 2], keys),
        lambda: db.blobs("b").put_many(keys, [b"a", b"b"]),
        lambda: db.documents("d").put_many(keys, [{}, {}]),
    ]:
        with pytest.raises(quipu.InvalidInputError, match=r"masked|null"):
            call()
    assert (len(weighted), len(relation)) == (0, 2)
    # A mask that hides nothing is none.
    weighted.upsert_many(np.ma.MaskedArray([1, 2], [False, False]), [2, 3], np.ma.MaskedArray([1.0, 2.0]))
    assert len(weighted) == 2


def test_lazy_frames_and_missing_values_of_pandas_are_rows(db: quipu.Database) -> None:
    relation = db.relation("r", create="{k: Int => v: Float?}")
    relation.put(pl.LazyFrame({"k": [1], "v": [0.5]}))
    relation.put([(2, pd.NA), (3, pd.NaT)])
    assert relation.rows() == [(1, 0.5), (2, None), (3, None)]
    assert db.run("?[x] := x = $x", {"x": pd.Series([1, None], dtype="Int64")}).rows() == [([1, None],)]
