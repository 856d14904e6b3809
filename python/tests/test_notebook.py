"""The magic `%%quipu` in IPython's shell, which is also that of a notebook."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import quipu
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A shell with the extension, without history."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    shell.run_line_magic("load_ext", "quipu")
    yield shell
    shell.run_line_magic("unload_ext", "quipu")


@pytest.fixture
def cites(shell: InteractiveShell, db: quipu.Database) -> quipu.Database:
    """The database `db` of the notebook, with the graph `cites` of the edges 1→2 and 2→3."""
    db.graph("cites").upsert_many([1, 2], [2, 3])
    shell.user_ns["db"] = db
    return db


def run(shell: InteractiveShell, cell: str) -> Any:
    """Run a cell, and return its output."""
    ran = shell.run_cell(cell)
    ran.raise_error()
    return ran.result


def complete(shell: InteractiveShell, cell: str) -> list[str]:
    """The cell after each completion of its end."""
    with provisionalcompleter():
        found = shell.Completer.completions(cell, len(cell))
        return [cell[: one.start] + one.text for one in found if one.type == "quipu"]


def test_a_cell_is_a_script_and_shows_its_rows(shell: InteractiveShell, cites: quipu.Database) -> None:
    result = run(shell, "%%quipu db\n?[to] := *cites{src: 1, dst: to}\n")
    assert isinstance(result, quipu.Result)
    assert result.rows() == [(2,)]
    assert run(shell, "%%quipu\n?[n] := n = 1 + 1").rows() == [(2,)]


def test_parameters_are_variables_of_the_notebook(shell: InteractiveShell, cites: quipu.Database) -> None:
    run(shell, "v = 2; unused = object()")
    script = """
        # not $unused
        /* nor $unused */
        ?[to, a, b] := *cites{src: $v, dst: to}, a = '$unused', b = "\\"$unused"
    """
    assert run(shell, f"%%quipu\n{script}").rows() == [(3, "$unused", '"$unused')]


def test_a_result_is_assigned_rather_than_shown(shell: InteractiveShell, cites: quipu.Database) -> None:
    assert run(shell, "%%quipu -o edges\n?[src, dst] := *cites{src, dst}") is None
    assert run(shell, "edges['dst']") == [2, 3]
    with pytest.raises(quipu.InvalidInputError, match="not a name of a variable"):
        run(shell, "%%quipu -o 2x\n?[a] <- [[1]]")


def test_a_path_stays_open_for_later_cells(
    shell: InteractiveShell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(shell, f"%quipu {folder}")
    run(shell, "%%quipu\n?[a] <- [[1]] :create r {a}")
    monkeypatch.chdir(folder.parent)
    assert run(shell, f"%%quipu ./{folder.name}\n?[a] := *r[a]").rows() == [(1,)]
    shell.run_line_magic("unload_ext", "quipu")
    with quipu.open(folder) as db:
        assert db.run("?[a] := *r[a]").rows() == [(1,)]


def test_a_transaction_runs_cells_too(shell: InteractiveShell, cites: quipu.Database) -> None:
    with cites.transaction() as tx:
        shell.user_ns["tx"] = tx
        run(shell, "%%quipu tx\n?[src, dst] <- [[7, 8]] :put cites {src, dst}")
        assert run(shell, "%%quipu\n?[d] := *cites[7, d]").rows() == [(8,)]
        assert run(shell, "%%quipu db\n?[d] := *cites[7, d]").rows() == []


def test_an_error_shows_its_place_and_no_frames(
    shell: InteractiveShell, cites: quipu.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = shell.run_cell("%%quipu\n?[a] := *cites{src: a}, b > 1")
    assert isinstance(ran.error_in_exec, quipu.InvalidInputError)
    shown = capsys.readouterr()
    text = shown.out + shown.err
    assert text.startswith("InvalidInputError: ")
    assert "--> line 1" in text
    assert "_notebook.py" not in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing", "the variable 'nothing' does not exist\nhint: nothing = quipu.open"),
        ("number", "the variable 'number' is not a database"),
        ("db 7", "unrecognized arguments: 7\nhint: %quipu DB"),
        ("db --timeout x", "invalid float value"),
        ("'", "No closing quotation\nhint: "),
    ],
)
def test_a_wrong_line_says_what_is_right(
    shell: InteractiveShell, cites: quipu.Database, line: str, message: str
) -> None:
    run(shell, "number = 7")
    with pytest.raises(quipu.InvalidInputError) as error:
        run(shell, f"%%quipu {line}\n?[a] <- [[1]]")
    assert message in str(error.value)


def test_without_a_database_the_hint_says_how_to_name_one(shell: InteractiveShell) -> None:
    with pytest.raises(quipu.InvalidInputError, match="no database is named yet\nhint: %quipu DB"):
        run(shell, "%%quipu\n?[a] <- [[1]]")
    assert complete(shell, "%%quipu\n?[a] := *") == []


def test_read_only_cells_and_help(
    shell: InteractiveShell, cites: quipu.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(quipu.Error, match="for reading only"):
        run(shell, "%%quipu --read-only\n:create r {a}")
    assert run(shell, "%%quipu --help\n?[a] <- [[1]]") is None
    assert "%%quipu [DB]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "candidates"),
    [
        ("?[a] := *ci", ["?[a] := *cites"]),
        ("?[a] := *", ["?[a] := *cites"]),
        ("?[é] := *cites{s", ["?[é] := *cites{src"]),
        ("?[a] <~ PageR", ["?[a] <~ PageRank"]),
        ("?[a] := *cites[a, b]\n:lim", ["?[a] := *cites[a, b]\n:limit"]),
        ("::relat", ["::relations"]),
        ("?[a] := a = $some_n", ["?[a] := a = $some_number"]),
        ("?[a] := a = 'ci", []),
    ],
)
def test_relations_columns_and_words_are_completed(
    shell: InteractiveShell, cites: quipu.Database, before: str, candidates: list[str]
) -> None:
    run(shell, "some_number = 7")
    head = "%%quipu db\n"
    assert complete(shell, head + before) == [head + one for one in candidates]


def test_other_cells_are_completed_as_before(shell: InteractiveShell, cites: quipu.Database) -> None:
    assert complete(shell, "x = 1\ndb.ru") == []
    with provisionalcompleter():
        assert "db.run" in [
            "db." + one.text.lstrip(".").removeprefix("db.") for one in shell.Completer.completions("db.ru", 5)
        ]


def test_help_in_the_shell_finds_the_docstring(shell: InteractiveShell, cites: quipu.Database) -> None:
    found = shell.object_inspect("db.run")
    assert found["found"]
    assert inspect.cleandoc(found["docstring"] or "").startswith("Run a script of the query language")


def test_the_package_does_not_import_ipython() -> None:
    code = "import sys, quipu; sys.exit('IPython' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
