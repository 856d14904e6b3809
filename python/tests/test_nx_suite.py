"""A slice of NetworkX's own tests through the backend. ``make networkx-suite`` runs all of them."""

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parents[2] / "tests" / "networkx" / "suite.py"


@pytest.mark.parametrize("stored", [False, True])
def test_a_slice_of_the_tests_of_networkx_passes(stored: bool):
    parts = ["algorithms/components", "algorithms/traversal"]
    command = [sys.executable, str(SUITE), "--part", *parts, *(["--stored"] if stored else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "160 passed, 0 failed, 0 skipped" in done.stdout
