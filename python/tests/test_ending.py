"""The interpreter ends at any time, while threads run Python code that the database called.

Nothing aborts or hangs, and the database stays intact.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "kill"))

from exits import WORKS, end


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("seed", range(3))
def test_a_thread_in_python_code_does_not_abort_the_end(folder: Path, work: str, seed: int) -> None:
    end(folder, seed, (work,))


@pytest.mark.parametrize("seed", range(100, 112))
def test_all_of_them_at_once(folder: Path, seed: int) -> None:
    end(folder, seed, ())
