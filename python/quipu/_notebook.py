"""The magic ``%%quipu`` of IPython and Jupyter: scripts as cells, with completion.

Nothing here imports IPython before IPython has loaded the extension.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

from ._quipu import Database, Result, Transaction, candidates, open
from .errors import Error, InvalidInputError

NAME = "quipu"

USAGE = "%quipu DB · %%quipu [DB] [-o NAME] [--timeout SECONDS] [--read-only]"

DESCRIPTION = """Run a cell as a script of the query language, and show its rows.

DB is a variable with an open database or transaction, or the path of a database, which stays open for later cells.
Without it the cell takes the DB of the last cell or of `%quipu DB`, else the variable `db`. `$name` in the script is
the variable `name` of the notebook, if there is one."""

# A parameter, or a string or comment whose `$` begins none.
_PARAMETERS = re.compile(r"""\#[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\$(\w+)""", re.DOTALL)


class Completer(Protocol):
    """The part of IPython's completer that is used."""

    custom_matchers: list[Callable[[Any], dict[str, Any]]]


class Shell(Protocol):
    """The part of IPython's shell that is used."""

    user_ns: dict[str, Any]
    Completer: Completer

    def register_magic_function(self, func: Callable[..., object], magic_kind: str, magic_name: str) -> None:
        """Add a magic."""


class CompletionContext(Protocol):
    """The context that IPython passes to a matcher."""

    full_text: str
    cursor_line: int
    cursor_position: int


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidInputError(f"{message}\nhint: {USAGE}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        # `--help` has printed its text; only a command would end here.
        raise _Done


class _Done(Exception):
    """The arguments asked for help alone."""


def _arguments() -> _Arguments:
    parser = _Arguments(
        usage=USAGE.replace("%", "%%"),
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("db", nargs="?", metavar="DB", help="a variable, or a path")
    parser.add_argument("-o", "--output", metavar="NAME", help="assign the result to this variable, and show nothing")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="as for Database.run")
    parser.add_argument("--read-only", action="store_true", help="refuse a script that would change something")
    return parser


class Magic:
    """The magic of one shell, with the databases that it has opened."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.current: Database | Transaction | None = None
        self.opened: dict[Path, Database] = {}

    def __call__(self, line: str, cell: str | None = None) -> Result | None:
        """Run a cell as a script of Quipu's query language; ``%%quipu --help`` says more."""
        try:
            return self.run(line, cell)
        except _Done:
            return None
        except Error as error:
            # The message shows the place in the cell. Python's frames say nothing about it.
            shown = f"{type(error).__name__}: {error}"
            error.__dict__["_render_traceback_"] = shown.splitlines
            raise

    def run(self, line: str, cell: str | None) -> Result | None:
        """Parse the line, and run the cell if there is one."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise InvalidInputError(f"{error}\nhint: {USAGE}") from error
        given = _arguments().parse_args(words)
        database = self.database(given.db)
        self.current = database
        if cell is None:
            return None
        result = database.run(cell, self.parameters(cell), timeout=given.timeout, read_only=given.read_only)
        if given.output is None:
            return result
        if not given.output.isidentifier():
            raise InvalidInputError(f"{given.output!r} is not a name of a variable")
        self.shell.user_ns[given.output] = result
        return None

    def database(self, name: str | None) -> Database | Transaction:
        """The database of this name, path or, without one, of the last cell."""
        if name is None:
            found = self.current or self.shell.user_ns.get("db")
            if not isinstance(found, Database | Transaction):
                raise InvalidInputError(f"no database is named yet\nhint: {USAGE}")
            return found
        variable = self.shell.user_ns.get(name)
        if isinstance(variable, Database | Transaction):
            return variable
        if name.isidentifier() and not Path(name).is_dir():
            what = "is not a database" if name in self.shell.user_ns else "does not exist"
            hint = f'hint: {name} = quipu.open("PATH"), or name a path: %%quipu ./{name}'
            raise InvalidInputError(f"the variable {name!r} {what}\n{hint}")
        path = Path(name).expanduser().resolve()
        if path not in self.opened:
            self.opened[path] = open(path)
        return self.opened[path]

    def parameters(self, script: str) -> dict[str, Any]:
        """The variables of the notebook that the script names after ``$``."""
        names = {found[1] for found in _PARAMETERS.finditer(script)} - {None}
        return {name: self.shell.user_ns[name] for name in names if name in self.shell.user_ns}

    def matches(self, context: CompletionContext) -> dict[str, Any]:
        """Candidates for the word before the cursor, in a cell of this magic."""
        from IPython.core.completer import SimpleCompletion

        lines = context.full_text.split("\n")
        if context.cursor_line == 0 or lines[0].split()[:1] != [f"%%{NAME}"]:
            return {"completions": []}
        cursor_line = lines[context.cursor_line][: context.cursor_position]
        before = "\n".join([*lines[1 : context.cursor_line], cursor_line])
        start, found = self.candidates(lines[0], before)
        return {
            "completions": [SimpleCompletion(text=text, type=NAME) for text in found],
            "matched_fragment": before[start:],
            # Python's names mean nothing in a script.
            "suppress": True,
        }

    def candidates(self, line: str, before: str) -> tuple[int, list[str]]:
        """Candidates from the database of the cell; none while its first line is not finished."""
        try:
            given = _arguments().parse_args(shlex.split(line)[1:])
            database = self.database(given.db)
        except (Error, ValueError, _Done):
            return len(before), []
        if not isinstance(database, Database):
            return len(before), []
        variables = [name for name in self.shell.user_ns if not name.startswith("_")]
        return candidates(database, variables, before)

    def close(self) -> None:
        """Close the databases that cells have opened by path."""
        for database in self.opened.values():
            database.close()
        self.opened.clear()


def load(shell: Shell) -> None:
    """Add the magic to a shell."""
    magic = Magic(shell)

    # IPython tells matchers apart by their names and their version.
    def quipu_matcher(context: CompletionContext) -> dict[str, Any]:
        return magic.matches(context)

    quipu_matcher.__dict__["matcher_api_version"] = 2
    shell.register_magic_function(magic, "line_cell", NAME)
    shell.Completer.custom_matchers.append(quipu_matcher)
    _loaded[id(shell)] = (magic, quipu_matcher)


def unload(shell: Shell) -> None:
    """Remove the completion, and close what cells have opened. IPython keeps the name of the magic."""
    loaded = _loaded.pop(id(shell), None)
    if loaded is not None:
        magic, matcher = loaded
        shell.Completer.custom_matchers.remove(matcher)
        magic.close()


# By the shell's id, as IPython loads and unloads an extension by its module alone.
_loaded: dict[int, tuple[Magic, Callable[[Any], dict[str, Any]]]] = {}
