"""A panic of the database is an ordinary exception, and its changes are not committed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import quipu
from quipu import _quipu

MODULE = Path(__file__).parents[2] / "crates" / "py" / "src"


def test_a_panic_is_an_internal_error_and_no_panic_exception() -> None:
    with pytest.raises(quipu.InternalError, match=r"^internal error: on purpose\nhint: .*report") as raised:
        getattr(_quipu, "_panic")("on purpose")  # noqa: B009 - the stub does not show it
    assert isinstance(raised.value, Exception), "`except Exception` sees it"


@pytest.mark.skipif(not MODULE.is_dir(), reason="the sources of the module are elsewhere")
def test_each_function_that_python_calls_is_guarded() -> None:
    made_callable = re.compile(r"^(.*)\n#\[(?:pymethods|pyfunction)", re.MULTILINE)
    lines = [(file.name, before) for file in MODULE.glob("*.rs") for before in made_callable.findall(file.read_text())]
    assert lines
    assert [line for line in lines if line[1] != "#[guarded]"] == []


@pytest.mark.parametrize("rows", [1, 2000])
def test_what_a_change_returns_may_be_kept_and_read(rows: int) -> None:
    with quipu.open() as db:
        db.run(":create note {k: Int => text: String}")
        script = """
            { ?[t] := i in int_range($rows), t = concat('another text, number ', to_string(i)) } as _other
            { ?[k, text] := k in int_range($rows), text = concat('a text of row ', to_string(k))
                :put note {k => text} :returning } as _x
            { ?[kind, k, text] := *_x{_kind: kind, k, text} }
        """
        found = db.run(script, {"rows": rows}).rows()
        assert found == [("inserted", k, f"a text of row {k}") for k in range(rows)]
        script = """
            { ?[t] <- [['another text'], ['and one that is longer']] } as _other
            { ::relations } as _x
            { ?[name, n] := *_x{name}, *_other{t}, n = length(t) }
        """
        assert {row[0] for row in db.run(script).rows()} == {"note"}


def test_a_transaction_goes_on_behind_a_script_that_returned_what_it_changed() -> None:
    with quipu.open() as db:
        db.run(":create note {k: Int => text: String}")
        with db.transaction() as tx:
            tx.run("?[k, text] <- [[1, 'a text of some length']] :put note {k => text}")
            script = """
                { ?[k, text] <- [[1, 'a text that replaces it']] :put note {k => text} :returning } as _x
                { ?[v] := *_x{text: v} }
            """
            assert tx.run(script).rows() == [("a text of some length",), ("a text that replaces it",)]
        assert db.run("?[text] := *note{text}").rows() == [("a text that replaces it",)]
