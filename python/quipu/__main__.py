"""The command ``quipu``: ``python -m quipu --help``."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from ._quipu import run_command


def main() -> NoReturn:
    """Run the command line with the arguments of this process, and end the process."""
    # Python's handler only notes Ctrl-C, for Python code that does not run until the command ends.
    # The default ends the process, unless the command sets a handler of its own, which stops a
    # query or an import.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_command(["quipu", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
