"""Examples of Cozo's own pages and tests, with the results of cozo-embedded 0.7.6."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import quipu
from quipu.compat.cozo import Client, CozoDbPy

# A few airports, in the format of the files that Cozo's tutorial reads.
NODES = """id,label,type,code,icao,desc,region,runways
1,airport,airport,PEK,ZBAA,Beijing,CN-11,3
2,airport,airport,LHR,EGLL,Heathrow,GB-ENG,2
3,airport,airport,LGW,EGKK,Gatwick,GB-ENG,1
4,airport,airport,FRA,EDDF,Frankfurt,DE-HE,4
5,airport,airport,HFE,ZSOF,Hefei,CN-34,1
6,airport,airport,YPO,CYPO,Peawanuck,CA-ON,1
7,airport,airport,YYZ,CYYZ,Toronto,CA-ON,5
8,airport,airport,SIN,WSSS,Singapore,SG-04,3
9,airport,airport,TXL,EDDT,Tegel,DE-BE,2
20,country,country,CN,,China,,
"""
ROUTES = [
    ("PEK", "LHR", 5071),
    ("PEK", "FRA", 4850),
    ("LHR", "FRA", 406),
    ("FRA", "LGW", 390),
    ("PEK", "HFE", 554),
    ("LHR", "YYZ", 3547),
    ("YYZ", "YPO", 800),
]
ONE_WAY = [("FRA", "SIN", 6380), ("SIN", "LHR", 6764), ("PEK", "SIN", 2783)]


@pytest.fixture
def air(tmp_path: Path) -> Iterator[CozoDbPy]:
    """The airports and the routes between them, read from a file and put as rows."""
    file = tmp_path / "nodes.csv"
    file.write_text(NODES)
    db = CozoDbPy("mem", "", "{}")
    read = """
        res[idx, label, typ, code, icao, desc, region, runways] <~
            CsvReader(types: ['Int', 'Any', 'Any', 'Any', 'Any', 'Any', 'Any', 'Int?'], url: $url, has_headers: true)
        ?[code, icao, desc, region, runways] :=
            res[idx, label, typ, code, icao, desc, region, runways], label == 'airport'

        :replace airport { code: String => icao: String, desc: String, region: String, runways: Int }
    """
    db.run_script(read, {"url": file.as_uri()}, False)
    back = [(b, a, km) for a, b, km in ROUTES]
    rows = [list(route) for route in [*ROUTES, *back, *ONE_WAY]]
    routes = "?[fr, to, dist] <- $rows :create route { fr: String, to: String => dist: Float }"
    db.run_script(routes, {"rows": rows}, False)
    yield db
    db.close()


def asked(db: CozoDbPy, script: str, **parameters: Any) -> tuple[list[str], list[list[Any]]]:
    found = db.run_script(script, parameters, False)
    return found["headers"], found["rows"]


SEARCHES = {
    "dfs": (
        "starting[] <- [['PEK']] ?[] <~ DFS(*route[], *airport[code], starting[], condition: (code == 'LHR'))",
        (["_0", "_1", "_2"], [["PEK", "LHR", ["PEK", "SIN", "LHR"]]]),
    ),
    "bfs": (
        "starting[] <- [['PEK']] ?[] <~ BFS(*route[], *airport[code], starting[], condition: (code == 'LHR'))",
        (["_0", "_1", "_2"], [["PEK", "LHR", ["PEK", "LHR"]]]),
    ),
    "scc": (
        "res[] <~ StronglyConnectedComponents(*route[], *airport[code]); ?[grp, code] := res[code, grp], grp != 0;",
        (["grp", "code"], [[1, "TXL"]]),
    ),
    "cc": (
        "res[] <~ ConnectedComponents(*route[], *airport[code]); ?[grp, code] := res[code, grp], grp != 0;",
        (["grp", "code"], [[1, "TXL"]]),
    ),
    "deg_centrality": (
        "deg_centrality[] <~ DegreeCentrality(*route[a, b]); ?[total, out, in] := deg_centrality[node, total, out, in];"
        " :order -total, out; :limit 10;",
        (["total", "out", "in"], [[7, 3, 4], [7, 4, 3], [4, 2, 2], [3, 1, 2], [2, 1, 1]]),
    ),
    "dijkstra": (
        "start[] <- [['FRA']] end[] <- [['YPO']]"
        " ?[fr, to, km, path] <~ ShortestPathDijkstra(*route[a, b], start[], end[])",
        (["fr", "to", "km", "path"], [["FRA", "YPO", 4753.0, ["FRA", "LHR", "YYZ", "YPO"]]]),
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_an_algorithm_takes_a_relation_of_which_it_names_the_first_columns(air: CozoDbPy, name: str) -> None:
    script, want = SEARCHES[name]
    assert asked(air, script) == want


def test_an_own_rule_is_given_all_columns_of_a_relation_that_names_one(air: CozoDbPy) -> None:
    given: list[Any] = []

    def rule(inputs: list[list[list[Any]]], options: dict[str, Any]) -> list[list[Any]]:
        given.append((inputs, options))
        return [[len(inputs[0])]]

    air.register_fixed_rule("Counted", 1, rule)
    assert asked(air, "?[n] <~ Counted(*route[x], by: 2)") == (["n"], [[17]])
    ((rows,), options) = given[0]
    assert rows[0] == ["FRA", "LGW", 390.0]
    assert options == {"by": 2}


EMPTY_BRACES = [
    ("put", "?[k, v] <- [[1, 'new']]", [[1, "new"], [2, None]]),
    ("update", "?[k, v] <- [[2, 'new']]", [[1, "a"], [2, "new"]]),
    ("insert", "?[v, k] <- [['new', 3]]", [[1, "a"], [2, None], [3, "new"]]),
    ("rm", "?[k] <- [[1], [9]]", [[2, None]]),
    ("delete", "?[k, v] <- [[1, 'a']]", [[2, None]]),
    ("ensure", "?[k, v] <- [[1, 'a']]", [[1, "a"], [2, None]]),
    ("ensure_not", "?[k, v] <- [[7, 'a']]", [[1, "a"], [2, None]]),
    ("replace", "?[k, v] <- [[5, 'only']]", [[5, "only"]]),
    ("create", "?[k, v] <- [[5, 'only']]", [[5, "only"]]),
]


@pytest.mark.parametrize("braces", [" {}", "", " { => }"])
@pytest.mark.parametrize(("op", "query", "want"), EMPTY_BRACES)
def test_empty_braces_mean_the_columns_of_the_query(braces: str, op: str, query: str, want: list[list[Any]]) -> None:
    client = Client(dataframe=False)
    if op != "create":
        client.run("?[k, v] <- [[1, 'a'], [2, null]] :create r {k: Int => v: String?}")
    client.run(f"{query} :{op} r{braces}")
    assert client.run("?[k, v] := *r[k, v]")["rows"] == want
    client.close()


def test_one_row_of_parameters_is_named_by_them() -> None:
    db = CozoDbPy("mem", "", "{}")
    parameters = {"x": 1, "y": "two"}
    assert asked(db, "?[] <- [[$x, $y]]", **parameters) == (["x", "y"], [[1, "two"]])
    asked(db, "?[] <- [[$x, $y]] :create r {}", **parameters)
    assert asked(db, "?[y] := *r{x: 1, y}") == (["y"], [["two"]])
    asked(db, "?[] <- [[$x, $y]] :put r {x, y}", x=2, y=None)
    assert asked(db, "?[x] := *r{x, y: null}") == (["x"], [[2]])
    assert asked(db, "?[] <- [[$x, $x + 1]]", x=1) == (["_0", "_1"], [[1, 2]])
    db.close()


def test_a_kept_result_names_the_column_of_an_aggregate_by_both_words(air: CozoDbPy) -> None:
    kept = "{ ?[fr, sum(dist), count(to)] := *route[fr, to, dist] } as _l\n"
    assert asked(air, kept + "{ ?[fr, sum_dist, n] := *_l{fr, sum_dist, count_to: n}, n > 3 }") == (
        ["fr", "sum_dist", "n"],
        [["FRA", 12026.0, 4], ["PEK", 13258.0, 4]],
    )
    assert asked(air, kept + "%return _l")[0] == ["fr", "sum_dist", "count_to"]


def test_collect_lists_rows_as_loops_over_the_written_body_find_them(air: CozoDbPy) -> None:
    found = asked(air, "?[collect(to)] := *route[fr, to, _], *airport{code: to}, fr in ['PEK', 'LHR']")
    assert found[1] == [[["FRA", "PEK", "YYZ", "FRA", "HFE", "LHR", "SIN"]]]
    few = "few[code] <- [['YYZ'], ['LHR']]\n"
    assert asked(air, few + "?[collect(b)] := few[a], *route{fr: a, to: b}")[1] == [
        [["FRA", "PEK", "YYZ", "LHR", "YPO"]]
    ]
    assert asked(air, few + "?[collect(a)] := *route{fr: a, to: b}, few[b]")[1] == [
        [["FRA", "LHR", "PEK", "SIN", "YPO", "YYZ"]]
    ]
    assert asked(air, few + "?[collect(code)] := few[code]")[1] == [[["LHR", "YYZ"]]]


def test_stored_relations_are_swapped_in_a_script_and_by_nobody_who_only_reads() -> None:
    db = quipu.open()
    db.run("?[k] <- [[1]] :create a {k: Int}")
    db.run("?[k, v] <- [[2, 'x']] :create b {k: Int => v}")
    with pytest.raises(quipu.InvalidInputError):
        db.run("%swap a b", read_only=True)
    assert db.run("%swap a b\n{ ?[k, v] := *a[k, v] }").rows() == [(2, "x")]
    assert db.run("?[k] := *b[k]").rows() == [(1,)]
    with pytest.raises(quipu.InvalidInputError, match="no rule"):
        db.run("%swap a b\n{ ?[k] := nothing[k] }")
    assert db.run("?[k] := *b[k]").rows() == [(1,)]
    db.close()


def test_names_are_of_any_script_wherever_a_name_stands(tmp_path: Path) -> None:
    with quipu.open(tmp_path / "db") as db:
        db.run("?[数, é] <- [[1, 'x'], [2, 'y']] :create 数据 {数: Int => é: String}")
        db.run("::index create 数据:ñ {é}")
        assert db.run("規則[变] := *数据{é: $文, 数: 变} ?[变] := 規則[变]", {"文": "y"}).rows() == [(2,)]
        table = db.relation("数据")
        assert [column.name for column in table.columns] == ["数", "é"]
        table.put([{"数": 3, "é": "z"}])
        assert db.export_relations(["数据"])["数据"]["headers"] == ["数", "é"]
        db.import_relations({"数据": {"headers": ["数", "é"], "rows": [[4, "w"]]}})
        seen: list[str] = []
        callback = db.register_callback("数据", lambda op, new, old: seen.append(op))
        db.run("?[数] <- [[4]] :rm 数据 {}")
        db.unregister_callback(callback)
        assert seen == ["Rm"]
        graph = db.graph("граф", vertex="str")
        graph.upsert("é", "数")
        assert db.run("?[a, b] := *граф[a, b]").rows() == [("é", "数")]
        db.counters("πόσα").add(1, 5)
        db.blobs("हिन्दी").put(1, b"x")
        # `é` as one character and as two are different names.
        db.run("?[a] <- [[1]] :create e\u0301 {}")
        db.run("?[a] <- [[2]] :create \u00e9 {}")
        assert db.run("?[a] := *e\u0301[a]").rows() == [(1,)]
    with quipu.open(tmp_path / "db") as db:
        assert db.run("?[é] := *数据{数: 3, é}").rows() == [("z",)]
        names = {row[0] for row in db.run("::relations").rows()}
        assert {"数据", "数据:ñ", "граф", "e\u0301", "\u00e9"} <= names
        assert db.blobs("हिन्दी").get(1) == b"x"
        with pytest.raises(quipu.InvalidInputError, match="cannot be a name"):
            db.graph("😀")
