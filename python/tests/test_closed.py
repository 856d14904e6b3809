"""After :meth:`quipu.Database.close` every call on any object raises one clear error."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import quipu

INHERITED = set(dir(object)) | {"__module__", "__lt__", "__le__", "__gt__", "__ge__"}

# Classes whose data is in memory and belongs to the caller.
DATA = {
    *("Table", "Column", "Result", "ImportReport", "BackupReport", "RestoreReport"),
    *("Projection", "AlgorithmResult"),
}

# Calls that do not touch the database, and calls that end something.
SPARED = {
    "Database": {"close", "__enter__", "__exit__"},
    "Transaction": {"rollback", "__enter__"},
    "BlobReader": {"close", "tell", "seek", "__len__", "__enter__", "__exit__"},
    "BlobWriter": {"abort", "__enter__"},
    # Rows that were read ahead may still be returned: `test_a_stream_that_was_begun_…` reads them
    # to the end.
    "TableStream": {name for name in dir(quipu.TableStream) if name not in INHERITED},
    "ResultStream": {name for name in dir(quipu.ResultStream) if name not in INHERITED},
    # A notebook must be able to show it.
    "Graph": {"_repr_html_"},
    "Relation": {"__arrow_c_schema__", "__bool__"},
    "Blobs": {"__bool__"},
    "Counters": {"__bool__"},
    "Documents": {"__bool__"},
}

ROWS = {"k": [1], "v": [2]}
ONE = np.array([1], dtype=np.uint64)

# Arguments of the calls.
ARGUMENTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "Database": {
        "graph": ("g",),
        "import_graph": ("g", []),
        "from_networkx": ("g", nx.path_graph(2)),
        "blobs": ("b",),
        "counters": ("c",),
        "documents": ("d",),
        "run": ("?[a] <- [[1]]",),
        "stream": ("?[a] <- [[1]]",),
        "relation": ("r",),
        "export_relations": (["r"],),
        "import_relations": ({"r": [[1, 2]]},),
        "register_callback": ("r", print),
        "unregister_callback": (0,),
        "register_fixed_rule": ("Rule", 1, list),
        "unregister_fixed_rule": ("Rule",),
        "register_aggregate": ("agg", int, max),
        "unregister_aggregate": ("agg",),
        "drop": ("r",),
        "drop_graph": ("g",),
        "backup": ("/there/is/no/such/folder/backup",),
    },
    "Transaction": {
        "graph": ("g",),
        "blobs": ("b",),
        "counters": ("c",),
        "documents": ("d",),
        "run": ("?[a] <- [[1]]",),
        "relation": ("r",),
        "export_relations": (["r"],),
        "import_relations": ({"r": [[1, 2]]},),
        "__exit__": (None, None, None),
    },
    "Blobs": {
        "__getitem__": (1,),
        "get": (1,),
        "__contains__": (1,),
        "contains_many": (ONE,),
        "get_many": (ONE,),
        "get_many_arrow": (ONE,),
        "__setitem__": (1, b"x"),
        "put": (1, b"x"),
        "put_many": (ONE, [b"x"]),
        "load": ([(ONE, [b"x"])],),
        "__delitem__": (1,),
        "delete": (1,),
        "delete_many": (ONE,),
        "discard": (1,),
        "discard_many": (ONE,),
        "sample": (1,),
        "reader": (1,),
        "writer": (1,),
    },
    "Documents": {
        **dict.fromkeys(("__getitem__", "get", "__contains__", "__delitem__", "delete"), (1,)),
        **dict.fromkeys(("get_many", "delete_many"), (ONE,)),
        **dict.fromkeys(("__setitem__", "put", "insert", "update", "upsert", "merge"), (1, {"a": 1})),
        **dict.fromkeys(("put_many", "insert_many", "update_many", "upsert_many", "merge_many"), (ONE, [{"a": 1}])),
        "patch": (1, []),
        "patch_many": (ONE, [[]]),
        "delete_field": (1, "a"),
        "gather": (ONE, {"a": "int64"}),
        "create_index": ("by_a", "a"),
        "drop_index": ("by_a",),
        "find": ("a", 1),
        "import_ndjson": (['{"a": 1}'], "a"),
        "import_bson": ([b"\x0c\0\0\0\x10a\0\x01\0\0\0\0"], "a"),
        "import_msgpack": ([b"\x81\xa1a\x01"], "a"),
        **dict.fromkeys(("export_ndjson", "export_bson", "export_msgpack"), ("OUT",)),
    },
    "BlobWriter": {"write": (b"x" * (4 << 20),), "__exit__": (None, None, None)},
    "Counters": {
        "add": (1,),
        "add_many": (ONE,),
        "__getitem__": (1,),
        "get": (1,),
        "get_many": (ONE,),
        "__contains__": (1,),
        "__setitem__": (1, 2),
        "set": (1, 2),
        "__delitem__": (1,),
        "remove": (1,),
    },
    "Graph": {
        "edge": (1, 2),
        "has_edge": (1, 2),
        "edge_many": (ONE, ONE),
        "has_edge_many": (ONE, ONE),
        "upsert": (1, 2),
        "upsert_many": (ONE, ONE),
        "remove": (1, 2),
        "remove_many": (ONE, ONE),
        "import_csv": ("EDGES",),
        "import_parquet": ("EDGES",),
        "import_arrow": ("ARROW",),
        "import_arrays": (ONE, ONE),
        "import_nodes": ({"vertex": [1]},),
        "export_nodes": ("OUT",),
        "export_parquet": ("OUT",),
        "export_arrow": ("OUT",),
        "export_csv": ("OUT",),
    },
    "Relation": dict.fromkeys(("put", "insert", "update", "rm", "delete"), (ROWS,)),
}

# Calls of graphs with one vertex or many.
for _name in (
    "out_edges",
    "in_edges",
    "edges",
    "successors",
    "predecessors",
    "neighbors",
    "degree",
    "out_degree",
    "in_degree",
):
    ARGUMENTS["Graph"][_name] = (1,)
    ARGUMENTS["Graph"][f"{_name}_many"] = (ONE,)
for _name in ("remove_vertex", "has_vertex", "__contains__"):
    ARGUMENTS["Graph"][_name] = (1,)
ARGUMENTS["Relation"]["get_many"] = ARGUMENTS["Relation"]["rm"] = ARGUMENTS["Relation"]["delete"] = ({"k": [1]},)


# Arguments of the other calls, by the names of their parameters.
BY_PARAMETER: dict[str, Any] = {
    "algorithm": "pagerank",
    "communities": [[1], [2]],
    "group": [1],
    "data": ROWS,
    "keys": [1],
    "nodes": None,
    "parallel": None,
    "query": "?[a, b] := *g{src: a, dst: b}",
    "source": 1,
    "target": 2,
    "u": 1,
    "undirected": False,
    "us": ONE,
    "v": 2,
    "vs": ONE,
    "weight": None,
    "where": None,
    "arguments": {},
    "parameters": {},
    "params": None,
}


def given_to(cls: type, name: str) -> tuple[Any, ...]:
    """Arguments of a call: its own, or those of its parameters without a default."""
    own = ARGUMENTS.get(cls.__name__, {}).get(name)
    if own is not None:
        return own
    member = inspect.getattr_static(cls, name)
    if name.startswith("__") or isinstance(member, staticmethod | classmethod):
        return ()
    parameters = list(inspect.signature(member).parameters.values())[1:]
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    return tuple(BY_PARAMETER[p.name] for p in needed if p.kind is not p.VAR_KEYWORD)


def fill(db: quipu.Database) -> None:
    """Create an entry of every kind."""
    db.graph("g").upsert(1, 2)
    db.blobs("b")[1] = b"x" * (1 << 20)
    db.counters("c").add(1)
    db.documents("d")[1] = {"a": 1}
    db.run("?[k, v] := k in int_range(100000), v = k :create r {k: Int => v: Int}")


def held(db: quipu.Database) -> list[Any]:
    """Return an object of every class."""
    tx = db.transaction()
    tx.run("?[k, v] <- [[-1, 0]] :put r {k => v}")
    stream = db.stream("?[k, v] := *r{k, v}")
    return [
        db,
        *(db.graph("g"), db.blobs("b"), db.counters("c"), db.relation("r"), db.documents("d"), tx.documents("d")),
        *(db.blobs("b").reader(1), db.blobs("b").writer(2), db.blobs("b").range(), db.counters("c").range()),
        *(stream, tx, tx.graph("g"), tx.blobs("b"), tx.counters("c"), tx.relation("r"), db.transaction()),
    ]


def calls(one: Any) -> Iterator[str]:
    """Return the names of a class's calls that read or change the database."""
    cls = type(one)
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if name not in INHERITED and callable(member) and name not in SPARED.get(cls.__name__, set()):
            yield name


def outcome(call: Callable[[], Any]) -> str:
    """Return the outcome of a call; for an iterator, that of its first item."""
    try:
        answer = call()
        if isinstance(answer, Iterator):
            answer = next(answer, "the end")
        if isinstance(answer, quipu.BlobWriter):
            answer.close()
    except quipu.InvalidInputError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - named in the message
        return f"{type(error).__name__}: {error}"
    return f"answers {answer!r:.60}"


@pytest.mark.parametrize("where", ["memory", "folder", "read only"])
def test_after_close_every_call_is_the_same_error(where: str, tmp_path: Path) -> None:
    path = None if where == "memory" else tmp_path / "db"
    writer = quipu.open(path)
    fill(writer)
    if where == "read only":
        writer.flush()
    db = quipu.open(path, read_only=True) if where == "read only" else writer
    edges = tmp_path / "edges.csv"
    edges.write_text("1,2\n")
    files = {"EDGES": edges, "OUT": tmp_path / "out.csv", "ARROW": db.run("?[source, target] <- [[1, 2]]")}
    objects = held(db) if db is writer else [db, db.graph("g"), db.blobs("b"), db.counters("c"), db.relation("r")]
    db.close()
    db.close()
    wrong: list[str] = []
    for one in objects:
        cls = type(one).__name__
        # A writer is closed by its first error.
        ends, has_told = cls == "BlobWriter", False
        for name in calls(one):
            given = given_to(type(one), name)
            given = tuple(
                files.get(argument, argument) if isinstance(argument, str) else argument for argument in given
            )
            found = outcome(lambda one=one, name=name, given=given: getattr(type(one), name)(one, *given))
            # A call that would also have failed before may raise that error.
            told = [
                "the database is closed",
                "is a commit of its own",
                "the database was opened read-only",
                "have no keys",
            ]
            is_told = any(words in found for words in told)
            if not is_told and not (ends and has_told):
                wrong.append(f"{cls}.{name}: {found}")
            has_told |= is_told
    assert not wrong, "\n".join(wrong)
    # `repr` still works.
    assert [repr(one) for one in objects]
    graph = objects[1]
    assert isinstance(graph, quipu.Graph)
    assert graph.name == "g"
    if db is not writer:
        writer.close()


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_stream_that_was_begun_gives_all_its_rows_or_the_error(where: str, tmp_path: Path) -> None:
    db = quipu.open(None if where == "memory" else tmp_path / "db")
    keys = np.arange(300_000, dtype=np.uint64)
    db.counters("c").add_many(keys)
    db.blobs("b").put_many(keys[:1000], [b"x" * 10_000] * 1000)
    db.run("?[k, v] := k in int_range(100000), v = k :create r {k: Int => v: Int}")
    streams = {
        300_000: db.counters("c").range(),
        1000: db.blobs("b").range(),
        100_000: db.stream("?[k, v] := *r{k, v}"),
    }
    found = {rows: len(next(stream)) for rows, stream in streams.items()}
    db.close()
    for rows, stream in streams.items():
        try:
            assert found[rows] + sum(len(part) for part in stream) == rows
        except quipu.InvalidInputError as error:
            assert "the database is closed" in str(error)


def test_every_class_is_looked_at() -> None:
    with quipu.open() as db:
        fill(db)
        seen = {type(one).__name__ for one in held(db)} | DATA
    public = {name for name, value in vars(quipu).items() if inspect.isclass(value) and value.__module__ == "quipu"}
    assert public == seen


def test_what_was_found_before_stays(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "db") as db:
        fill(db)
        answer = db.run("?[k] := *r{k}, k < 3")
        table = db.graph("g").to_table()
    assert answer.rows() == [(0,), (1,), (2,)]
    assert len(table) == 1


def test_a_transaction_that_an_exception_ends_tells_that_one() -> None:
    db = quipu.open()
    with pytest.raises(ZeroDivisionError), db.transaction():
        db.close()
        _ = 1 / 0
    db = quipu.open()
    with pytest.raises(quipu.InvalidInputError, match="the database is closed"), db.transaction():
        db.close()
