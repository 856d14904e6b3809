"""Whole-graph work: Quipu beside SciPy, NetworKit, igraph, rustworkx, GraphBLAS and DuckDB.

    python bench/analytics/run.py --graphs cnr-2000 road-ny --repeat 5 --out bench/data/analytics
    python bench/analytics/run.py --graphs rmat-14 --kernels pagerank bfs

Each engine is a process of its own. All engines run a kernel before the next kernel comes, each round in another
order; a figure is the median of the rounds. Structures are ready before a kernel is timed, and a first call, whose
answer is compared with Quipu's, is not timed. An engine with another answer has no figure in that row. Then follow the
ways from stored data to a result, and the projections of Quipu. The peak is that of the process, by the kernel.

This interpreter needs Quipu and its peers (`pip install -r bench/analytics/requirements.txt`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engines import ENGINES, PARALLEL, RANDOM, Engine, Quipu
from graphs import DATA, REAL, SHARED, Edges, generated, load
from kernels import KERNELS, modularity

BY_NAME = {kernel.name: kernel for kernel in KERNELS}
STORED = ["pagerank", "weak components", "sssp"]
"""Kernels that are also run from stored data."""
SLOW_S = 8.0
"""A kernel that takes longer runs three times at most."""


# In the process of an engine.


def memory_bytes(field: str) -> int:
    """A figure of this process, such as VmHWM."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    return 0


def projections(engine: Quipu, form: str) -> Any:
    """The call that makes a projection, with its database opened before the clock starts."""
    if form == "text":
        g = engine.open("text")
        return lambda: g.project()
    g = engine.open()
    if form == "filtered":
        return lambda: g.project(where="weight > 128")
    return lambda: engine.project(g, form)


def work_of(engine: Engine, asked: dict[str, Any]) -> Callable[[], Any]:
    """The call to be timed."""
    if asked["do"] == "project":
        assert isinstance(engine, Quipu)
        return projections(engine, asked["form"])
    kernel = BY_NAME[asked["kernel"]]
    match asked["do"]:
        case "prepare":
            return lambda: engine.prepare(kernel.form)
        case "run":
            return lambda: engine.run(kernel.name, kernel.form)
        case _:
            engine.close()
            return lambda: engine.stored(kernel.name, kernel.form)


def serve(name: str, edges: Edges, folder: Path, threads: int) -> None:
    """Do the work that lines of standard input ask for, and answer each with a line."""
    engine = ENGINES[name](edges, folder, threads)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "has":
            able = len(edges.src) <= engine.edges_max and asked["kernel"] in engine.kernels
            print(json.dumps({"has": able}), flush=True)
            continue
        work = work_of(engine, asked)
        wall, cpu = time.perf_counter(), time.process_time()
        found = work()
        answer = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": memory_bytes("VmHWM")}
        if "save" in asked:
            np.save(asked["save"], engine.values(asked["kernel"], found))
        if asked["do"] == "project":
            answer["edges"] = int(found.number_of_edges())
        answer["once"] = asked.get("kernel") in engine.once
        del found
        print(json.dumps(answer), flush=True)
    engine.close()


# In the process that asks.


class Child:
    """An engine in its process."""

    def __init__(self, name: str, graph: str, folder: Path, threads: int) -> None:
        self.name = name
        command = [sys.executable, __file__, "--serve", name, graph, str(folder), str(threads)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.peak = 0

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Send a line, and wait for its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended at {asked}")
        answer: dict[str, Any] = json.loads(line)
        self.peak = max(self.peak, answer.get("peak", 0))
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def store(edges: Edges, folder: Path, threads: list[int], text: bool) -> dict[str, float]:
    """Write the graph as Parquet, as a table of DuckDB, and as databases of Quipu; one for each number of threads."""
    import duckdb
    import pyarrow as pa
    import quipu
    from pyarrow import parquet

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    columns = {"src": edges.src.astype(np.uint64), "dst": edges.dst.astype(np.uint64), "weight": edges.weight}
    path = folder / "edges.parquet"
    parquet.write_table(pa.table(columns), path)
    with duckdb.connect(str(folder / "edges.duckdb")) as table:
        table.execute(f"CREATE TABLE edges AS SELECT * FROM '{path}'")
    begin = time.perf_counter()
    first = folder / f"g-{threads[0]}.quipu"
    with quipu.open(first, memory_limit="4GB", durability="os") as db:
        db.graph("g", weight="float64").import_parquet(path)
    seconds = time.perf_counter() - begin
    for count in threads[1:]:
        shutil.copytree(first, folder / f"g-{count}.quipu")
    if text:
        names = np.char.add("vertex-", np.arange(edges.vertices).astype(str))
        table = pa.table({"src": names[edges.src], "dst": names[edges.dst], "weight": edges.weight})
        parquet.write_table(table, folder / "text.parquet")
        with quipu.open(folder / f"text-{threads[0]}.quipu", memory_limit="4GB", durability="os") as db:
            db.graph("g", vertex="str", weight="float64").import_parquet(folder / "text.parquet")
        for count in threads[1:]:
            shutil.copytree(folder / f"text-{threads[0]}.quipu", folder / f"text-{count}.quipu")
    return {"import_s": seconds, "text": float(text)}


def rounds_of(children: list[Child], repeat: int, asked: dict[str, Any], first: dict[str, dict[str, Any]]) -> Any:
    """Answers of all children, interleaved; each round begins with another."""
    found: dict[str, list[dict[str, Any]]] = {child.name: [] for child in children}
    for i in range(repeat):
        turn = i % max(1, len(children))
        for child in children[turn:] + children[:turn]:
            slow = first.get(child.name, {})
            limit = 0 if slow.get("once") else 3 if slow.get("wall", 0) > SLOW_S else repeat
            if i < limit:
                found[child.name].append(child.ask(**asked))
    for name, answers in found.items():
        if not answers:
            answers.append(first[name])
    return found


def measure(edges: Edges, graph: str, threads: int, options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """All figures of a graph with a number of threads."""
    names = [name for name in options.engines if threads == 1 or name in PARALLEL]
    children = [Child(name, graph, folder, threads) for name in names]
    low, high, _ = edges.undirected()
    rows: list[dict[str, Any]] = []

    def row(kind: str, name: str, engine: str, answers: list[dict[str, Any]], **more: Any) -> None:
        figures = {field: [answer[field] for answer in answers] for field in ("wall", "cpu")}
        rows.append(
            {"graph": graph, "threads": threads, "kind": kind, "row": name, "engine": engine, **figures, **more}
        )
        print(json.dumps(rows[-1]), flush=True)

    for kernel in KERNELS:
        if kernel.name not in options.kernels:
            continue
        runs, first, more = [], {}, {}
        own: Any = None
        for child in children:
            if not child.ask(do="has", kernel=kernel.name)["has"]:
                continue
            child.ask(do="prepare", kernel=kernel.name)
            save = folder / f"answer-{child.name}.npy"
            first[child.name] = child.ask(do="run", kernel=kernel.name, save=str(save))
            values = np.load(save)
            own = values if own is None else own
            wrong = None if (child.name, kernel.name) in RANDOM else kernel.differs(values, own)
            if wrong:
                row("kernel", kernel.name, child.name, [], wrong=wrong)
                continue
            more[child.name] = {}
            if kernel.kind == "communities":
                more[child.name] = {"modularity": modularity(values.astype(np.int64), low, high)}
            runs.append(child)
        for name, answers in rounds_of(runs, options.repeat, {"do": "run", "kernel": kernel.name}, first).items():
            row("kernel", kernel.name, name, answers, **more[name])
    for child in children:
        row("peak", "peak", child.name, [], bytes=child.peak)
    for name in STORED:
        if name in options.kernels:
            able = [child for child in children if child.name in ("quipu", "scipy", "networkit", "duckdb")]
            answers = rounds_of(able, options.repeat, {"do": "stored", "kernel": name}, {})
            for engine, found in answers.items():
                row("stored", name, engine, found)
    for child in children[: 1 if "quipu" in names else 0]:
        for form in ["directed", "weighted", "undirected", "filtered", *(["text"] if options.text else [])]:
            found = [child.ask(do="project", form=form) for _ in range(options.repeat)]
            row("project", form, "quipu", found, edges=found[0]["edges"])
    for child in children:
        child.close()
    return rows


# The report.


def report(rows: list[dict[str, Any]], about: dict[str, Any]) -> str:
    """Tables in Markdown."""
    lines = [f"- {key}: {value}" for key, value in about.items()]
    for graph in dict.fromkeys(row["graph"] for row in rows):
        of_graph = [row for row in rows if row["graph"] == graph]
        for threads in dict.fromkeys(row["threads"] for row in of_graph):
            lines += ["", f"## {graph}, threads: {threads}", ""]
            lines += section([row for row in of_graph if row["threads"] == threads], of_graph)
    return "\n".join(lines) + "\n"


def section(rows: list[dict[str, Any]], of_graph: list[dict[str, Any]]) -> list[str]:
    """The tables of a graph and a number of threads."""
    lines = [
        "Milliseconds, median of wall time. The ratio is Quipu's time to that of the best peer: of medians, and in",
        "brackets the least and greatest of the rounds; then of processor time. `x one` compares with one thread.",
        "",
        "| row | Quipu | peers | ratio | cpu | aim | x one |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for kind in ("kernel", "stored"):
        for name in dict.fromkeys(row["row"] for row in rows if row["kind"] == kind):
            found = {row["engine"]: row for row in rows if row["kind"] == kind and row["row"] == name}
            own = found.pop("quipu", None)
            if own is None or not own["wall"]:
                continue
            peers = {engine: row for engine, row in found.items() if row["wall"]}
            shown = [f"{engine} {shown_ms(row)}" for engine, row in peers.items()]
            shown += [f"{engine}: {row['wrong']}" for engine, row in found.items() if "wrong" in row]
            ratio = cpu = ""
            if peers:
                best = min(peers, key=lambda engine: statistics.median(peers[engine]["wall"]))
                base = peers[best]["wall"]
                each = [a / b for a, b in zip(own["wall"], base, strict=False)]
                ratio = (
                    f"{statistics.median(own['wall']) / statistics.median(base):.2f} ({min(each):.2f}-{max(each):.2f})"
                )
                cpu = f"{statistics.median(own['cpu']) / statistics.median(peers[best]['cpu']):.2f}"
            one = [
                row
                for row in of_graph
                if (row["kind"], row["row"], row["engine"], row["threads"]) == (kind, name, "quipu", 1)
            ]
            times = ""
            if one and own["threads"] > 1:
                times = f"{statistics.median(one[0]['wall']) / statistics.median(own['wall']):.2f}"
            aim = f"{BY_NAME[name].aim:.1f}" if kind == "kernel" else ""
            label = name if kind == "kernel" else f"stored to {name}"
            lines.append(f"| {label} | {shown_ms(own)} | {', '.join(shown)} | {ratio} | {cpu} | {aim} | {times} |")
    lines += ["", "| projection | ms | M edges/s | M edges/s of processor time |", "| --- | ---: | ---: | ---: |"]
    for row in rows:
        if row["kind"] == "project":
            wall, cpu, edges = statistics.median(row["wall"]), statistics.median(row["cpu"]), row["edges"]
            lines.append(f"| {row['row']} | {wall * 1e3:,.1f} | {edges / wall / 1e6:.1f} | {edges / cpu / 1e6:.1f} |")
    peaks = [f"{row['engine']} {row['bytes'] / 2**20:,.0f}" for row in rows if row["kind"] == "peak"]
    return [*lines, "", f"Peak memory of the process over all kernels, MiB: {', '.join(peaks)}."]


def shown_ms(row: dict[str, Any]) -> str:
    """Milliseconds, and of communities their modularity in brackets."""
    quality = f" ({row['modularity']:.4f})" if "modularity" in row else ""
    return f"{statistics.median(row['wall']) * 1e3:,.1f}{quality}"


def edges_of(graph: str, folder: Path) -> Edges | None:
    """A graph by its name; ``rmat-SCALE`` is generated."""
    return generated(int(graph[5:]), 16, 1) if graph.startswith("rmat-") else load(graph, folder)


def main() -> None:
    """Measure, and write a file of JSON lines and a page."""
    if sys.argv[1:2] == ["--serve"]:
        name, graph, folder, threads = sys.argv[2:]
        with np.load(Path(folder) / "edges.npz") as found:
            edges = Edges(graph, int(found["n"]), found["src"], found["dst"], found["weight"])
        serve(name, edges, Path(folder), int(threads))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=[*REAL], help=f"of {', '.join(REAL)}, or rmat-SCALE")
    parser.add_argument("--data-dir", type=Path, default=SHARED, help="folder of the real graphs")
    parser.add_argument("--engines", nargs="+", default=[*ENGINES], choices=[*ENGINES])
    parser.add_argument("--kernels", nargs="+", default=[*BY_NAME], choices=[*BY_NAME])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--no-text", dest="text", action="store_false", help="no graph with text for vertices")
    parser.add_argument("--out", type=Path, default=DATA / "results")
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    about = {
        "commit": commit.stdout.strip(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "rounds": options.repeat,
        "load before": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }
    rows: list[dict[str, Any]] = []
    for graph in options.graphs:
        edges = edges_of(graph, options.data_dir)
        if edges is None:
            edges = generated(17, 16, 1)
            print(
                f"{graph}: {options.data_dir / REAL[graph]} does not exist; {edges.name} takes its place",
                file=sys.stderr,
            )
        name = edges.name
        if any(row["graph"] == name for row in rows):
            continue
        folder = DATA / f"run-{name}"
        stored = store(edges, folder, options.threads, options.text)
        np.savez(folder / "edges.npz", n=edges.vertices, src=edges.src, dst=edges.dst, weight=edges.weight)
        about[name] = f"{edges.vertices:,} vertices, {len(edges.src):,} edges, import {stored['import_s']:.1f} s"
        for threads in options.threads:
            rows += measure(edges, name, threads, options, folder)
            about["load after"] = " ".join(f"{load:.1f}" for load in os.getloadavg())
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / "analytics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            (options.out / "analytics.md").write_text(report(rows, about))
        shutil.rmtree(folder, ignore_errors=True)
    print(report(rows, about))


if __name__ == "__main__":
    main()
