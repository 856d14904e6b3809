"""A slice of NetworkX's own tests through the backend. ``make networkx-suite`` runs all of them."""

import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parents[2] / "tests" / "networkx" / "suite.py"


@pytest.mark.parametrize(
    "options", [[], ["--stored"], ["--classes"], ["--kernels"], ["--stored", "--kernels"], ["--classes", "--kernels"]]
)
def test_a_slice_of_the_tests_of_networkx_passes(options: list[str]):
    parts = ["algorithms/components", "algorithms/traversal"]
    command = [sys.executable, str(SUITE), "--part", *parts, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "160 passed, 0 failed, 0 skipped, 0 xfailed" in done.stdout
