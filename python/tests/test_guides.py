"""The guides are true: their Python blocks are executed, and the results that they show are compared.

The blocks of a page share one namespace and an empty folder. An expression with a comment after it shows its ``repr``
there; ``...`` at its end leaves the rest open. A block ``text`` right after a block ``python`` shows its output.
A block that begins with ``>>>`` is a doctest.
"""

import ast
import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "guides"

# The blocks of the first are parts of programs of several processes; test_fork.py and
# test_worker_pools.py run those.
# Those of the second need an engine that a plain build has not.
NOT_EXECUTED = {"processes.md", "scale-out.md"}

# What a page needs beside the packages that the tests require.
NEEDS = {"spark.md": "pyspark"}

PAGES = sorted(
    page.name
    for page in FOLDER.glob("*.md")
    if page.name not in NOT_EXECUTED and "```python" in page.read_text(encoding="utf-8")
)

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\s*^```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def run_block(source: str, first_line: int, page: str, names: dict[str, object]) -> None:
    """Executes the statements of one block; compares each expression that has a comment."""
    lines = source.splitlines()
    for statement in ast.parse(source).body:
        ast.increment_lineno(statement, first_line)
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), page, "exec"), names)
            continue
        value = eval(compile(ast.Expression(statement.value), page, "eval"), names)
        last = lines[(statement.end_lineno or 0) - first_line - 1]
        shown = last.encode()[statement.end_col_offset or 0 :].decode().strip()
        if shown.startswith("#"):
            expected = shown[1:].strip()
            found = repr(value)
            if expected.endswith("..."):
                found = found[: len(expected) - 3] + "..."
            assert found == expected, f"{page}, line {statement.lineno}"


def run_doctest(source: str, first_line: int, page: str, names: dict[str, object]) -> None:
    """Executes a block of examples; the result of each is compared with the lines that follow it."""
    test = doctest.DocTestParser().get_doctest(source, {}, page, page, first_line)
    test.globs = names
    report = io.StringIO()
    failed, _ = doctest.DocTestRunner(verbose=False).run(test, out=report.write, clear_globs=False)
    assert not failed, report.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_a_guide_does_what_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page in NEEDS:
        pytest.importorskip(NEEDS[page], reason=f"{NEEDS[page]} is not installed: {page} is not executed")
    monkeypatch.chdir(tmp_path)
    text = (FOLDER / page).read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__guide__"}
    for block in BLOCK.finditer(text):
        printed = io.StringIO()
        first_line = text.count("\n", 0, block.start(1))
        with contextlib.redirect_stdout(printed):
            if block[1].startswith(">>>"):
                run_doctest(block[1], first_line, page, names)
            else:
                run_block(block[1], first_line, page, names)
        if block[2] is not None:
            assert printed.getvalue().rstrip() == block[2].rstrip(), f"{page}, line {first_line}"
