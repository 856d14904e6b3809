"""User-defined functions that the database calls: callbacks, fixed rules, aggregates."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import pytest
import quipu

Log = list[tuple[str, list[list[Any]], list[list[Any]]]]


@pytest.fixture
def log(db: quipu.Database) -> Log:
    told: Log = []
    db.run(":create r {k: Int => v: String}")
    db.register_callback("r", lambda op, new, old: told.append((op, new, old)))
    return told


def test_each_statement_is_told_after_the_commit(db: quipu.Database, log: Log) -> None:
    db.run("?[k, v] <- [[1, 'a'], [2, 'b']] :put r {k => v}")
    assert log == [("Put", [[1, "a"], [2, "b"]], [])]
    log.clear()
    script = """
        {?[k, v] <- [[1, 'A'], [3, 'c']] :put r {k => v}}
        {?[k] <- [[3], [9]] :rm r {k}}
        {?[k, v] <- [[2, 'B']] :update r {k => v}}
        {?[k, v] := k = 1, v = '', false :put r {k => v}}
        {?[k, v] <- [[2, 'B']] :ensure r {k => v}}
    """
    db.run(script)
    assert log == [
        ("Put", [[1, "A"], [3, "c"]], [[1, "a"]]),
        ("Rm", [[3], [9]], [[3, "c"]]),
        ("Put", [[2, "B"]], [[2, "b"]]),
    ]
    log.clear()
    db.run("?[k, v] <- [[7, 'x']] :replace r {k: Int => v: String}")
    assert log == [("Put", [[7, "x"]], [])]


def test_imports_and_relations_are_told_once(db: quipu.Database, log: Log) -> None:
    rows = [[k, str(k)] for k in range(70_000)]
    db.import_relations({"r": rows, "-r": [[1], [2]]})
    (removed, put) = log
    assert removed == ("Rm", [[1], [2]], [])
    assert put == ("Put", rows, [])
    log.clear()
    db.relation("r").delete([(1,)])
    assert log == [("Rm", [[1]], [[1, "1"]])]


def test_nothing_is_told_of_what_is_not_committed(db: quipu.Database, log: Log) -> None:
    with pytest.raises(quipu.InvalidInputError):
        db.run("{?[k, v] <- [[1, 'a']] :put r {k => v}} {?[k, v] <- [['x', 'a']] :put r {k => v}}")
    with db.transaction() as tx:
        tx.run("?[k, v] <- [[1, 'a']] :put r {k => v}")
        tx.rollback()
    assert log == []
    with db.transaction() as tx:
        tx.run("?[k, v] <- [[1, 'a']] :put r {k => v}")
        tx.relation("r").put([(2, "b")])
        tx.import_relations({"-r": [[1]]})
        assert log == []
    assert log == [("Put", [[1, "a"]], []), ("Put", [[2, "b"]], []), ("Rm", [[1]], [[1, "a"]])]
    first, second = db.transaction(), db.transaction()
    log.clear()
    for tx in (first, second):
        tx.run("?[k, v] <- [[5, 'x']] :put r {k => v}")
    first.commit()
    with pytest.raises(quipu.ConflictError):
        second.commit()
    assert len(log) == 1


def test_a_callback_may_run_scripts_and_is_told_of_them_afterwards(db: quipu.Database) -> None:
    db.run(":create r {k: Int}")
    db.run(":create copy {k: Int}")
    steps: list[object] = []

    def again(op: str, new: list[list[Any]], old: list[list[Any]]) -> None:
        k = new[0][0]
        steps.append(("begin", k, db.run("?[count(k)] := *r[k]").rows()))
        if k < 300:
            db.run("?[k] <- [[$k]] :put r {k}", {"k": k + 1})
        db.relation("copy").put(new)
        steps.append(("end", k))

    db.register_callback("r", again)
    db.run("?[k] <- [[1]] :put r {k}")
    assert steps[:3] == [("begin", 1, [(1,)]), ("end", 1), ("begin", 2, [(2,)])]
    assert len(db.relation("copy")) == 300


def test_an_exception_of_a_callback_harms_nothing(
    db: quipu.Database, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: raised.append(args.exc_value))  # pyright: ignore[reportUnknownLambdaType]
    db.register_callback("r", lambda op, new, old: 1 / 0)
    late: Log = []
    db.register_callback("r", lambda op, new, old: late.append((op, new, old)))
    db.run("?[k, v] <- [[1, 'a']] :put r {k => v}")
    assert [type(error) for error in raised] == [ZeroDivisionError]
    assert len(log) == len(late) == 1
    assert db.relation("r").rows() == [(1, "a")]


def test_a_callback_is_forgotten(db: quipu.Database, log: Log) -> None:
    other: Log = []
    number = db.register_callback("r", lambda op, new, old: other.append((op, new, old)))
    assert db.unregister_callback(number)
    assert not db.unregister_callback(number)
    db.run("?[k, v] <- [[1, 'a']] :put r {k => v}")
    assert (len(log), len(other)) == (1, 0)
    with pytest.raises(TypeError, match="a function is needed, not a int"):
        db.register_callback("r", 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_closing_lets_callbacks_go() -> None:
    class Told:
        def __call__(self, op: str, new: object, old: object) -> None: ...

    db = quipu.open()
    told = Told()
    db.register_callback("r", told)
    there = weakref.ref(told)
    del told
    gc.collect()
    assert there() is not None
    db.close()
    gc.collect()
    assert there() is None


def test_callbacks_run_on_the_thread_that_commits(db: quipu.Database) -> None:
    db.run(":create r {k: Int}")
    threads: set[tuple[int, int]] = set()
    db.register_callback("r", lambda op, new, old: threads.add((new[0][0], threading.get_ident())))

    def work(k: int) -> None:
        for _ in range(20):
            db.run("?[k] <- [[$k]] :put r {k}", {"k": k})
        mine.add((k, threading.get_ident()))

    mine: set[tuple[int, int]] = set()
    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert threads == mine


def test_triggers_changes_are_told_too(db: quipu.Database, log: Log) -> None:
    db.run(":create s {k: Int}")
    db.run("::set_triggers s on put { ?[k, v] := _new[k], v = 'by trigger' :put r {k => v} }")
    db.run("?[k] <- [[1]] :put s {k}")
    assert log == [("Put", [[1, "by trigger"]], [])]


def test_a_rule_reads_relations_and_options(db: quipu.Database) -> None:
    calls: list[tuple[Any, Any]] = []

    def rule(inputs: list[list[list[Any]]], options: dict[str, Any]) -> list[tuple[Any, ...]]:
        calls.append((inputs, options))
        return [("b", {"x": [1]}), ("a", None), ("a", None)]

    db.register_fixed_rule("Mine", 2, rule)
    db.run("?[k, v] <- [[2, 'b'], [1, null]] :create r {k: Int => v}")
    script = "p[x, y] <- [[9, 8], [7, [6]]] ?[a, b] <~ Mine(p[_, y], *r{v, k}, n: 1 + $n, l: [1, 'x'])"
    assert db.run(script, {"n": 2}).rows() == [("a", None), ("b", {"x": [1]})]
    (((first, second), options),) = calls
    assert [row[-1] for row in first] == [[6], 8]
    assert sorted(second, key=str) == [["b", 2], [None, 1]]
    assert options == {"n": 3, "l": [1, "x"]}
    assert ("Mine",) in db.run("::fixed_rules").rows()
    assert db.run("?[] <~ Mine()").columns == ["_0", "_1"]
    with pytest.raises(quipu.InvalidInputError, match="2") as error:
        db.run("?[a] <~ Mine()")
    assert error.value.line == 1
    assert db.unregister_fixed_rule("Mine")
    assert not db.unregister_fixed_rule("Mine")
    with pytest.raises(quipu.InvalidInputError, match="no algorithm `Mine`"):
        db.run("?[a, b] <~ Mine()")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda: 1 / 0, "Bad: ZeroDivisionError: division by zero"),
        (lambda: 7, "Bad: TypeError: 'int' object is not iterable"),
        (lambda: [[1], [1, 2]], "Bad gave a row of 2 values, and has 1 columns"),
        (lambda: [[object()]], "Bad: TypeError: the result cannot be a object"),
    ],
)
def test_what_goes_wrong_in_a_rule_is_told_with_its_place(db: quipu.Database, answer: Any, why: str) -> None:
    db.register_fixed_rule("Bad", 1, lambda inputs, options: answer())
    with pytest.raises(quipu.InvalidInputError) as error:
        db.run("x[a] <- [[1]]\n?[a] <~ Bad(x[a])")
    assert str(error.value).startswith(why)
    assert (error.value.line, error.value.column) == (2, 9)
    assert "^^^" in str(error.value)


def test_names_that_are_taken_or_cannot_be_are_refused(db: quipu.Database) -> None:
    def nothing(*_args: Any) -> list[Any]:
        return []

    with pytest.raises(quipu.InvalidInputError, match="`PageRank` is built in"):
        db.register_fixed_rule("PageRank", 1, nothing)
    with pytest.raises(quipu.InvalidInputError, match="`BFS` is built in"):
        db.unregister_fixed_rule("BFS")
    with pytest.raises(quipu.InvalidInputError, match="`sum` is built in"):
        db.register_aggregate("sum", nothing, nothing)
    for name in ["", "a b", "true", "x("]:
        with pytest.raises(quipu.InvalidInputError, match="cannot be the name of a fixed rule"):
            db.register_fixed_rule(name, 1, nothing)
    db.register_fixed_rule("Mine", 1, nothing)
    with pytest.raises(quipu.InvalidInputError, match="registered already\nhint: unregister it first"):
        db.register_fixed_rule("Mine", 1, nothing)
    with pytest.raises(quipu.InvalidInputError, match="arity is not negative"):
        db.register_fixed_rule("Other", -1, nothing)
    with pytest.raises(TypeError, match="a function is needed"):
        db.register_fixed_rule("Other", 1, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_rule_may_ask_the_database(db: quipu.Database) -> None:
    db.run("?[k] <- [[1], [2]] :create r {k}")
    db.register_fixed_rule("All", 1, lambda inputs, options: db.run("?[k] := *r[k]"))
    assert db.run("?[k] <~ All()").rows() == [(1,), (2,)]


def test_a_rule_that_never_ends_is_stopped(db: quipu.Database) -> None:
    def forever(inputs: object, options: object) -> Any:
        while True:
            yield (1,)

    db.register_fixed_rule("Forever", 1, forever)
    with pytest.raises(quipu.CancelledError, match="timeout"):
        db.run("?[x] <~ Forever() :timeout 0.05")


def test_an_aggregate_of_ones_own(db: quipu.Database) -> None:
    def join(state: tuple[str, list[str]], value: str) -> tuple[str, list[str]]:
        return (state[0], [*state[1], value])

    db.register_aggregate("joined", lambda by=",": (by, []), join, lambda s: s[0].join(sorted(s[1])), args=1)
    rows = "r[k, v] <- [[1, 'b'], [1, 'a'], [2, 'c']]"
    assert db.run(f"{rows} ?[k, joined(v)] := r[k, v]").rows() == [(1, "a,b"), (2, "c")]
    assert db.run(f"{rows} ?[joined(v, '+')] := r[_, v]").rows() == [("a+b+c",)]
    assert db.run("r[] <- [] ?[joined(v)] := r[v]").rows() == [("",)]
    db.register_aggregate("last", list, lambda state, value: value)
    assert db.run("r[v] <- [[7]] ?[last(v)] := r[v]").rows() == [(7,)]
    with pytest.raises(quipu.InvalidInputError, match="`joined` takes at most 1 argument"):
        db.run(f"{rows} ?[joined(v, 1, 2)] := r[_, v]")
    with pytest.raises(quipu.InvalidInputError, match="joined: AttributeError: ") as error:
        db.run(f"{rows} ?[joined(v, 1)] := r[_, v]")
    assert error.value.line == 1
    with pytest.raises(quipu.InvalidInputError, match=r"no aggregate `joind`\n.*\n.*\n.*\nhint: did you mean `joined`"):
        db.run(f"{rows} ?[joind(v)] := r[_, v]")
    with pytest.raises(quipu.InvalidInputError, match="recursion"):
        db.run("r[k, joined(v)] := k = 1, v = 'a'\nr[k, joined(v)] := r[k, v] ?[k] := r[k, _]")
    assert db.unregister_aggregate("joined")
    assert not db.unregister_aggregate("joined")
    with pytest.raises(quipu.InvalidInputError, match="no aggregate `joined`"):
        db.run(f"{rows} ?[joined(v)] := r[_, v]")
