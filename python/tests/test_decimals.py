"""Decimals between Python, its libraries and relations."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import quipu

PRICE = Decimal("19.99")
LONG = Decimal("-1234567890123456789.0123456789012345678")
TINY = Decimal("1e-38")


@pytest.fixture
def shop(tmp_path: Path) -> Any:
    with quipu.open(tmp_path / "shop") as db:
        db.run(":create item {n: Int => price: Decimal?}")
        yield db


def prices(db: quipu.Database) -> list[Any]:
    return [row[0] for row in db.run("?[price, n] := *item[n, price] :order n").rows()]


@pytest.mark.parametrize("value", [PRICE, LONG, TINY, Decimal(0), Decimal(10) ** 37, Decimal("-0.10")])
def test_a_parameter_keeps_its_value(shop: quipu.Database, value: Decimal) -> None:
    found = shop.run("?[a, b] := a = $a, b = [$a]", {"a": value})[0]
    assert found == (value, [value])
    assert type(found[0]) is Decimal


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity"), Decimal("1e-39"), Decimal(10) ** 38])
def test_what_is_no_number_of_38_digits_is_refused(shop: quipu.Database, value: Decimal) -> None:
    with pytest.raises(quipu.InvalidInputError, match="at most 38 digits"):
        shop.run("?[a] := a = $a", {"a": value})


def frames() -> list[Any]:
    columns = {"n": [1, 2, 3], "price": [PRICE, None, LONG]}
    return [
        columns,
        [(1, PRICE), (2, None), (3, LONG)],
        pa.table(columns),
        pa.table({"n": [1, 2, 3], "price": pa.array(columns["price"], pa.decimal256(60, 20))}),
        pl.DataFrame(columns, schema={"n": pl.Int64, "price": pl.Decimal(38, 19)}),
        pd.DataFrame(columns),
        {"n": np.array([1, 2, 3]), "price": np.array(columns["price"], dtype=object)},
        pa.table({"n": [1, 2, 3], "price": [str(PRICE), None, str(LONG)]}),
    ]


@pytest.mark.parametrize(
    "frame", frames(), ids=["columns", "rows", "arrow", "arrow256", "polars", "pandas", "numpy", "text"]
)
def test_frames_are_stored_as_they_are(shop: quipu.Database, frame: Any) -> None:
    shop.import_relations({"item": frame})
    assert prices(shop) == [PRICE, None, LONG]


def test_a_frame_finds_its_columns(shop: quipu.Database) -> None:
    types = {"n": pl.Int64, "price": pl.Decimal(10, 2)}
    frame = pl.DataFrame({"n": [1, 2], "price": [PRICE, Decimal("0.5")]}, schema=types)
    relation = shop.relation("made", create=frame, keys=["n"])
    relation.put(frame)
    found = {row[0]: row[3] for row in shop.run("::columns made").rows()}
    assert found == {"n": "Int", "price": "Decimal?"}
    assert pl.DataFrame(relation).rows() == frame.rows()
    assert pl.DataFrame(relation).dtypes == [pl.Int64, pl.Decimal(38, 2)]


def test_results_have_the_types_of_libraries(shop: quipu.Database) -> None:
    shop.import_relations({"item": [(1, PRICE), (2, Decimal("0.125")), (3, None)]})
    result = shop.run("?[n, price] := *item[n, price]")
    assert result.to_arrow().schema.types[1] == pa.decimal128(38, 3)
    assert result.to_polars().dtypes[1] == pl.Decimal(38, 3)
    assert result.to_polars()["price"].to_list() == [PRICE, Decimal("0.125"), None]
    assert list(result.to_pandas()["price"]) == [PRICE, Decimal("0.125"), None]
    assert list(result.to_numpy()["price"]) == [PRICE, Decimal("0.125"), None]
    for rows in (result.to_arrow(), result.to_polars()):
        shop.run("?[n] := *item{n} :rm item {n}")
        shop.import_relations({"item": rows})
        assert prices(shop) == [PRICE, Decimal("0.125"), None]


def test_money_adds_up(shop: quipu.Database) -> None:
    shop.import_relations({"item": [(n, Decimal("0.1")) for n in range(10)]})
    assert shop.run("?[sum(price)] := *item{price}").rows() == [(Decimal(1),)]
    assert shop.run("?[n] := *item{n, price}, price > 0.1").rows() == []
    assert len(shop.run("?[n] := *item{n, price}, price >= $p", {"p": PRICE - PRICE}).rows()) == 10
    assert shop.run("?[a] := a = round($p * 3, 1)", {"p": PRICE}).rows() == [(Decimal(60),)]


def test_exported_relations_come_back(shop: quipu.Database) -> None:
    shop.import_relations({"item": [(1, PRICE), (2, None), (3, LONG)]})
    exported = shop.export_relations(["item"])
    shop.run("?[n] := *item{n} :rm item {n}")
    shop.import_relations(exported)
    assert prices(shop) == [PRICE, None, LONG]


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
def test_a_graph_has_decimals_as_properties(tmp_path: Path, ending: str) -> None:
    with quipu.open() as db:
        paid = db.graph("paid", edges={"amount": "decimal?"})
        paid.add_edge(1, 2, amount=Decimal("0.10"))
        paid.add_edge(2, 3, amount=None)
        paid.add_edge(3, 1, amount=LONG)
        path = tmp_path / f"paid.{ending}"
        (paid.export_parquet if ending == "parquet" else paid.export_csv)(path)
        again = db.graph("again", edges={"amount": "decimal?"})
        (again.import_parquet if ending == "parquet" else again.import_csv)(path)
        for name in ("paid", "again"):
            rows = db.run(f"?[src, amount] := *{name}{{src, amount}}").rows()
            assert rows == [(1, Decimal("0.1")), (2, None), (3, LONG)]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("amounts", [[PRICE, None, Decimal("0.125")], [LONG, TINY, None]], ids=["128 bits", "256 bits"])
def test_files_of_a_graph_have_decimals(tmp_path: Path, ending: str, amounts: list[Decimal | None]) -> None:
    of = pa.decimal128(38, 3) if PRICE in amounts else pa.decimal256(76, 38)
    with quipu.open() as db:
        paid = db.graph("paid", edges={"amount": "decimal?"}, nodes={"limit": "decimal?"})
        paid.upsert_edges({"src": [1, 2, 3], "dst": [2, 3, 1], "amount": amounts})
        paid.upsert_nodes({"vertex": [1, 2, 3], "limit": amounts})
        edges, nodes = tmp_path / f"edges.{ending}", tmp_path / f"nodes.{ending}"
        (paid.export_parquet if ending == "parquet" else paid.export_arrow)(edges)
        paid.export_nodes(nodes)
        for path, name in ((edges, "amount"), (nodes, "limit")):
            table: Any = pq.read_table(path) if ending == "parquet" else feather.read_table(path)
            assert table.schema.field(name).type == of
            assert table[name].to_pylist() == amounts
        db.import_graph("again", edges, nodes=nodes, edge_properties=True)
        again = db.graph("again")
        assert [column.type for column in again.edges_table.columns if column.name == "amount"] == ["Decimal?"]
        for v, amount in enumerate(amounts, 1):
            assert again.edge_properties(v, v % 3 + 1) == {"amount": amount}
            assert again.node(v) == {"limit": amount}


def test_the_command_exports_and_imports_decimals(tmp_path: Path) -> None:
    database, edges, nodes = (tmp_path / name for name in ("shop", "edges.parquet", "nodes.arrow"))
    with quipu.open(database) as db:
        paid = db.graph("paid", edges={"amount": "decimal?"}, nodes={"limit": "decimal?"})
        paid.add_edge(1, 2, amount=PRICE)
        paid.add_node(2, limit=TINY)

    def command(*arguments: object) -> None:
        subprocess.run([sys.executable, "-m", "quipu", *map(str, arguments)], check=True, capture_output=True)

    command("export", database, "paid", edges, "--nodes", nodes)
    assert pq.read_table(edges).schema.field("amount").type == pa.decimal128(38, 2)
    assert feather.read_table(nodes).schema.field("limit").type == pa.decimal128(38, 38)
    command("import", database, "again", edges, "--nodes", nodes, "--properties")
    with quipu.open(database) as db:
        again = db.graph("again")
        assert again.edge_properties(1, 2) == {"amount": PRICE}
        assert again.node(2) == {"limit": TINY}
