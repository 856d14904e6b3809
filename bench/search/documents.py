"""JSON documents: Quipu beside SQLite and DuckDB.

    python bench/search/documents.py --count 100000

The documents are orders with a customer, an address and a list of lines, of random values. All
engines load the same file of lines, index the path of the customer's city, and answer the same
questions; results are compared with Quipu's. Changes are one commit each, which the system writes
when it likes (`os` durability, `synchronous=off`). SQLite reads JSON text; DuckDB has a column of
its type JSON, and no index on a path of it.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
from pathlib import Path
from typing import Any

from engine_process import EngineProcess, digits, in_turns, markdown, parsed, parser_of, write_report

CITIES = 500


def write(path: Path, count: int) -> None:
    """A document in each line."""
    rng = random.Random(1)
    words = [f"word{number}" for number in range(2_000)]
    with path.open("w") as file:
        for number in range(count):
            document = {
                "id": number,
                "customer": {
                    "name": f"{rng.choice(words)} {rng.choice(words)}",
                    "addr": {"city": f"city{rng.randrange(CITIES)}", "zip": f"{rng.randrange(99_999):05}"},
                },
                "total": round(rng.random() * 1000, 2),
                "paid": rng.random() < 0.9,
                "lines": [{"sku": rng.choice(words), "count": rng.randrange(1, 9)} for _ in range(rng.randrange(1, 6))],
                "note": " ".join(rng.choice(words) for _ in range(rng.randrange(5, 25))),
            }
            file.write(json.dumps(document, separators=(",", ":")) + "\n")


class Quipu:
    """Quipu's documents."""

    def __init__(self, folder: Path) -> None:
        """Opens a new database."""
        import quipu

        self.database = quipu.open(folder, memory_limit="4GB", cache="1GB", durability="os")
        self.orders = self.database.documents("orders")

    def load(self, path: Path) -> int:
        """Loads all lines."""
        return self.orders.import_ndjson(str(path), key_field="id")

    def index(self) -> None:
        """Makes the index."""
        self.orders.create_index("by_city", "/customer/addr/city")

    def one(self, key: int) -> float:
        """The total of a document that became Python values."""
        return self.orders[key]["total"]

    def many(self, keys: list[int]) -> float:
        """A field of many documents."""
        return sum(self.orders.get_many(keys, field="/total"))

    def of_city(self, city: str) -> int:
        """Documents that the index finds."""
        query = "?[count(key)] := *orders{key, doc}, doc->'customer'->'addr'->'city' == $city"
        return self.database.run(query, {"city": city}).rows()[0][0]

    def large_unpaid(self) -> int:
        """Documents that two fields without an index select."""
        query = "?[count(key)] := *orders{key, doc}, get(doc, 'total') > 900, get(doc, 'paid') == false"
        return self.database.run(query).rows()[0][0]

    def by_city(self) -> list[Any]:
        """A sum by group."""
        query = (
            "?[city, sum(total)] := *orders{doc}, city = doc->'customer'->'addr'->'city', total = get(doc, 'total') "
            ":order city"
        )
        return [list(row) for row in self.database.run(query).rows()]

    def change_one(self, key: int) -> None:
        """Sets a field of a document."""
        self.orders.merge(key, {"paid": True})

    def change_many(self, keys: list[int]) -> None:
        """Sets a field of many documents in one commit."""
        self.orders.merge_many(keys, [{"paid": True}] * len(keys))


class SqlEngine:
    """The common part of SQLite and DuckDB."""

    connection: Any
    city = "json_extract(doc, '$.customer.addr.city')"
    total = "json_extract(doc, '$.total')"
    unpaid = "json_extract(doc, '$.paid') = 0"
    merged = "json_patch(doc, '{\"paid\":true}')"

    def one(self, key: int) -> float:
        """The total of a document that became Python values."""
        row = self.connection.execute("select doc from orders where id = ?", [key]).fetchone()
        return json.loads(row[0])["total"]

    def many(self, keys: list[int]) -> float:
        """A field of many documents."""
        places = ", ".join("?" * len(keys))
        sql = f"select {self.total} from orders where id in ({places})"
        return sum(row[0] for row in self.connection.execute(sql, keys).fetchall())

    def of_city(self, city: str) -> int:
        """Documents of a city."""
        sql = f"select count(*) from orders where {self.city} = ?"
        return self.connection.execute(sql, [city]).fetchone()[0]

    def large_unpaid(self) -> int:
        """Documents that two fields without an index select."""
        sql = f"select count(*) from orders where {self.total} > 900 and {self.unpaid}"
        return self.connection.execute(sql).fetchone()[0]

    def by_city(self) -> list[Any]:
        """A sum by group."""
        sql = f"select {self.city} city, sum({self.total}) from orders group by city order by city"
        return [list(row) for row in self.connection.execute(sql).fetchall()]

    def change_one(self, key: int) -> None:
        """Sets a field of a document."""
        self.connection.execute(f"update orders set doc = {self.merged} where id = ?", [key])
        self.connection.commit()

    def change_many(self, keys: list[int]) -> None:
        """Sets a field of many documents in one commit."""
        places = ", ".join("?" * len(keys))
        self.connection.execute(f"update orders set doc = {self.merged} where id in ({places})", keys)
        self.connection.commit()


class SQLite(SqlEngine):
    """SQLite, with documents as text."""

    def __init__(self, folder: Path) -> None:
        """Makes a new database."""
        folder.mkdir(parents=True)
        self.connection = sqlite3.connect(folder / "orders.sqlite")
        for setting in ("journal_mode = wal", "synchronous = off", "cache_size = -1000000"):
            self.connection.execute(f"pragma {setting}")
        self.connection.execute("create table orders (id integer primary key, doc text)")

    def load(self, path: Path) -> int:
        """Loads all lines."""
        with path.open() as file:
            rows = ((json.loads(line)["id"], line.rstrip("\n")) for line in file)
            self.connection.executemany("insert into orders values (?, ?)", rows)
        self.connection.commit()
        return self.connection.execute("select count(*) from orders").fetchone()[0]

    def index(self) -> None:
        """Makes the index."""
        self.connection.execute(f"create index by_city on orders ({self.city})")


class DuckDB(SqlEngine):
    """DuckDB, with documents of the type JSON."""

    city = "doc->>'$.customer.addr.city'"
    total = "(doc->>'$.total')::double"
    unpaid = "doc->>'$.paid' = 'false'"
    merged = "json_merge_patch(doc, '{\"paid\":true}'::json)"

    def __init__(self, folder: Path) -> None:
        """Makes a new database."""
        import duckdb

        folder.mkdir(parents=True)
        self.connection = duckdb.connect(folder / "orders.duckdb", config={"threads": 1})
        self.connection.execute("create table orders (id bigint primary key, doc json)")

    def load(self, path: Path) -> int:
        """Loads all lines."""
        sql = "insert into orders select (json->>'$.id')::bigint, json from read_ndjson_objects(?)"
        self.connection.execute(sql, [str(path)])
        return self.connection.execute("select count(*) from orders").fetchone()[0]

    def index(self) -> None:
        """There is no index on a path."""

    def change_one(self, key: int) -> None:
        """Sets a field of a document."""
        self.connection.execute(f"update orders set doc = {self.merged} where id = ?", [key])

    def change_many(self, keys: list[int]) -> None:
        """Sets a field of many documents in one commit."""
        self.connection.execute(f"update orders set doc = {self.merged} where id in (select unnest(?))", [keys])


ENGINES: dict[str, Any] = {"quipu": Quipu, "sqlite": SQLite, "duckdb": DuckDB}


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, but for the last digits of floats."""
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return abs(one - other) <= 1e-9 * abs(one) if isinstance(one, float) else one == other


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Loads all engines, and asks them in turn."""
    path = args.data / f"orders-{args.count}.ndjson"
    write(path, args.count)
    keys = random.Random(2).sample(range(args.count), 1_000)
    questions: list[tuple[str, str, list[Any]]] = [
        ("a document by key, as Python values", "one", keys[:1]),
        ("a field of 1,000 documents", "many", [keys]),
        ("documents of a city, by index", "of_city", ["city7"]),
        ("documents by two fields, all read", "large_unpaid", []),
        ("a sum by city", "by_city", []),
        ("a field of a document set", "change_one", keys[1:2]),
        ("a field of 1,000 documents set", "change_many", [keys]),
    ]
    engines: list[EngineProcess] = []
    report: dict[str, Any] = {"count": args.count, "file_mib": path.stat().st_size / 2**20, "of": {}}
    for name in args.engine:
        engine = EngineProcess(name, ENGINES[name], args.data / f"documents-{name}")
        loaded, load_s = engine.call("load", path)
        assert loaded == args.count, f"{name} has {loaded} documents"
        _, index_s = engine.call("index")
        report["of"][name] = {"loaded, ms": load_s * 1e3, "index, ms": index_s * 1e3}
        print(name, report["of"][name], flush=True)
        engines.append(engine)
    for what, method, arguments in questions:
        times: dict[str, list[float]] = {engine.name: [] for engine in engines}
        rows: dict[str, Any] = {}
        for engine in in_turns(engines, args.rounds + 1):
            found, seconds = engine.call(method, *arguments)
            if engine.name in rows:
                times[engine.name].append(seconds * 1e3)
            rows[engine.name] = found
        for name in times:
            first = next(iter(rows.values()))
            assert same(first, rows[name]), f"{what}: {name} has {str(rows[name])[:200]}, not {str(first)[:200]}"
            report["of"][name][f"{what}, ms"] = statistics.median(times[name])
    for engine in engines:
        report["of"][engine.name]["peak, MiB"] = engine.peak_mib
        engine.end()
    path.unlink()
    return report


def shown(report: dict[str, Any]) -> str:
    """The report in Markdown."""
    names = list(report["of"])
    rows = [[what, *(digits(report["of"][name][what]) for name in names)] for what in report["of"][names[0]]]
    return markdown([f"{report['count']:,} documents, {report['file_mib']:.0f} MiB", *names], rows)


def main() -> None:
    """Measures."""
    parser = parser_of(__doc__, ENGINES, rounds=7)
    parser.add_argument("--count", type=int, default=100_000)
    args = parsed(parser)
    report = measure(args)
    write_report(args, f"documents-{args.count}", shown(report), report)


if __name__ == "__main__":
    main()
