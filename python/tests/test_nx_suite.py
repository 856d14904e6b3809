"""A slice of NetworkX's own tests through the backend. ``make networkx-suite`` runs all of them."""

import os
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


#: Prints how often the backend's code runs in NetworkX's test mode, for two functions.
COUNTING = """
import networkx as nx
import reference
from networkx.utils import backends
from quipu.nx import backend

# As networkx/conftest.py sets it.
backends._dispatchable._is_testing = True
nx.config.backend_priority.algos = nx.config.backend_priority.generators = ["quipu"]

calls = []

def counted(name):
    own = getattr(backend, name)
    def call(*args, **kwargs):
        calls.append(name)
        return own(*args, **kwargs)
    return call

for name in ("minimum_spanning_arborescence", "maximum_branching"):
    setattr(backend, name, counted(name))
nx.minimum_spanning_arborescence(nx.cycle_graph(4, create_using=nx.DiGraph))
print(*calls)
"""


def test_the_code_that_answers_are_compared_with_is_networkx_alone():
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SUITE.parent), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-c", COUNTING], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # The first calls the second through a third one. NetworkX alone would double the calls twice.
    assert done.stdout.split() == ["minimum_spanning_arborescence", "maximum_branching"]
