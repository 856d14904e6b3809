"""Runs NetworkX's own tests through the backend, and compares the failures with the known ones.

    python tests/networkx/suite.py [--part algorithms/components ...] [--jobs 2] [MODE] [--kernels]

NetworkX's test mode converts each graph to one of the backend, runs the function there, compares graphs that it returns
or changes with those of its own code, and gives the test the result. Its own code is alone then: NetworkX would convert
the graphs of the functions that it calls, too, at a cost that doubles with each level (``reference.py``).

With ``--stored`` the graphs are stored ones, in databases in memory, and read in pages. With ``--kernels`` kernels
answer for graphs of any size, and at the first question: most of the tests' graphs are too small for them.

With ``--classes`` nothing is converted: ``networkx.Graph()`` and its sisters make graphs of the backend, as after
``quipu.nx.enable()``. With ``--plain`` NetworkX is alone, to compare the counts.
"""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx

HERE = Path(__file__).parent
PACKAGE = Path(networkx.__file__).parent

#: Tests that fail through the backend, and why. At most eight.
DEVIATIONS: dict[str, str] = {}
#: Those with ``--stored``.
DEVIATIONS_OF_STORED = {
    "readwrite.tests.test_gml.TestGraph::test_special_float_label": "a NaN that was stored is another object",
}
#: Those with ``--classes``.
DEVIATIONS_OF_CLASSES = {
    "classes.graphviews::networkx.classes.graphviews.generic_graph_view": "an example prints the type of a graph",
}

#: The part of the modules that lie beside the folders.
MODULES = "modules"


def parts() -> list[str]:
    """The folders and modules of NetworkX that have tests."""
    skipped = ("__pycache__", "__init__.py", "algorithms", "conftest.py")
    algorithms = [path for path in (PACKAGE / "algorithms").iterdir() if path.name not in skipped]
    others = [path for path in PACKAGE.iterdir() if path.name not in skipped]
    folders = [path for path in [*algorithms, *others] if path.is_dir()]
    return [*(str(path.relative_to(PACKAGE)) for path in folders), MODULES]


#: The modes: NetworkX converts graphs to the backend, or ``Graph()`` makes graphs of the backend.
CONVERTING = {"NETWORKX_TEST_BACKEND": "quipu", "NETWORKX_FALLBACK_TO_NX": "True"}
CLASSES = {"QUIPU_NX_AUTOCONFIG": "1"}


def run(part: str, plugins: list[str], mode: dict[str, str]) -> dict[str, str]:
    """Outcomes of the tests of a part, by name."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        environment = {**os.environ, **mode, "MPLBACKEND": "agg", "PYTHONPATH": str(HERE)}
        plugin = [option for name in plugins for option in ("-p", name)]
        # Names of tests are their places below the root, so that no two are alike.
        options = ["-c", os.devnull, "--rootdir", str(PACKAGE), "-p", "no:cacheprovider", "-q", "--doctest-modules"]
        # Modules are not named one by one, or those that NetworkX ignores would be collected.
        ignored = [f"--ignore={PACKAGE / name}" for name in parts() if name != MODULES]
        paths = [str(PACKAGE), *ignored] if part == MODULES else [str(PACKAGE / part)]
        command = [sys.executable, "-m", "pytest", *options, *plugin, f"--junitxml={report}", *paths]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if not report.exists():
            raise SystemExit(f"pytest ended with {done.returncode} in {part}\n{done.stdout}{done.stderr}")
        found: dict[str, str] = {}
        for case in ElementTree.parse(report).iter("testcase"):
            kinds = [_kind(child) for child in case if child.tag in ("failure", "error", "skipped")]
            found[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
        if done.returncode:
            print(done.stdout[-6000:], flush=True)
        return found


def _kind(child: ElementTree.Element) -> str:
    """The outcome of a test with this element; the report counts tests that are expected to fail as skipped."""
    return "xfailed" if child.get("type") == "pytest.xfail" else child.tag


def described(outcomes: dict[str, str]) -> str:
    """The counts of the outcomes."""
    counts = Counter(outcomes.values())
    failed = counts["failure"] + counts["error"]
    return f"{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped, {counts['xfailed']} xfailed"


def main() -> None:
    """Run the parts, print the counts, and fail if a test fails that is not known to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="*", help="folders or modules of NetworkX; all without it")
    parser.add_argument("--jobs", type=int, default=2)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--stored", action="store_true", help="convert to stored graphs")
    mode.add_argument("--classes", action="store_true", help="let networkx.Graph() make graphs of the backend")
    mode.add_argument("--plain", action="store_true", help="use no backend")
    parser.add_argument("--kernels", action="store_true", help="use kernels for small graphs too")
    options = parser.parse_args()
    plugins = ["stored_graphs"] * options.stored + ["small_graphs"] * options.kernels
    environment, known = CONVERTING, DEVIATIONS
    if options.plain:
        environment, known = {}, {}
    elif options.classes:
        environment, known = CLASSES, DEVIATIONS_OF_CLASSES
    else:
        plugins.append("reference")
        known = DEVIATIONS_OF_STORED if options.stored else DEVIATIONS
    found: dict[str, str] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        chosen = options.part or parts()
        for part, outcomes in zip(chosen, pool.map(lambda part: run(part, plugins, environment), chosen), strict=True):
            print(f"{part}: {described(outcomes)}", flush=True)
            found.update(outcomes)
    # The examples of docstrings are tests of pytest, too.
    examples = {name: outcome for name, outcome in found.items() if "::networkx." in name}
    print(f"examples: {described(examples)}")
    print(f"tests: {described({name: found[name] for name in found.keys() - examples.keys()})}")
    print(described(found))
    failed = {name for name, kind in found.items() if kind in ("failure", "error")}
    for name in sorted(failed):
        print(f"failed: {name}: {known.get(name, 'not known to fail')}")
    sys.exit(1 if failed - set(known) else 0)


if __name__ == "__main__":
    main()
