"""A slice of the kills of processes that change graphs. ``make kill-networkx`` runs more of them."""

import subprocess
import sys
from pathlib import Path

KILLS = Path(__file__).parents[2] / "tests" / "kill" / "networkx_graphs.py"


def test_a_killed_process_leaves_each_graph_as_after_a_flush():
    command = [sys.executable, str(KILLS), "--count", "16", "--seed", "7", "--counted"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nkill ") == 15
