"""Compare components, PageRank and triangles of Spark with ours, from one export, and time them.

    python bench/spark/compare.py git-git-dag.adj.zst --folder /tmp/spark
    python bench/spark/compare.py wiki-vote.edges.zst --folder /tmp/spark --cluster

The file has lines ``src dst`` or ``src dst:label dst:label …``. With ``--cluster``, a master of Spark and two workers
are started on this machine and stopped at the end; ``--skip triangles`` leaves an algorithm out. Needs ``zstd``,
pyspark 4 and Java 17.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import quipu
from quipu import spark as qs

EDGES_A_STEP = 2_000_000


def edges_of(file: Path) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the edges of a file in pieces."""
    sources: list[int] = []
    targets: list[int] = []
    with subprocess.Popen(["zstd", "-dc", str(file)], stdout=subprocess.PIPE, text=True) as lines:
        assert lines.stdout is not None
        for line in lines.stdout:
            source, *rest = line.split()
            ends = [end.split(":")[0] for end in rest] if ":" in line else rest[:1]
            sources += [int(source)] * len(ends)
            targets += map(int, ends)
            if len(sources) >= EDGES_A_STEP:
                yield sources, targets
                sources, targets = [], []
    yield sources, targets


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long the block took."""
    start = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - start:.1f} s", flush=True)


@contextlib.contextmanager
def cluster(cores: int, memory: str) -> Iterator[str]:
    """Run a master with two workers, and yield its address."""
    import pyspark

    home = os.path.dirname(pyspark.__file__)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    run = [os.path.join(home, "bin", "spark-class")]
    deploy = "org.apache.spark.deploy"
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = [*run, f"{deploy}.master.Master", *common, "--port", str(port)]
    worker = [*run, f"{deploy}.worker.Worker", *common, "--cores", str(cores), "--memory", memory, address]
    environment = os.environ | {"SPARK_HOME": home}
    with contextlib.ExitStack() as stack:
        for command in (master, worker, worker):
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        yield address


def values_of(frame: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids and values of a result of GraphX, by id."""
    table = frame.toArrow().sort_by("id")
    return table.column("id").to_numpy(), table.column("value").to_numpy()


def ours_by_id(result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids and values of one of our results, by id."""
    ids, values = np.asarray(result.ids).astype(np.int64), np.asarray(result.values)
    order = np.argsort(ids, kind="stable")
    return ids[order], values[order]


def least_of_group(ids: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return for each id, which ascend, the least id of its group."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    return ids[first][inverse]


def main() -> None:
    """Run the comparison that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--folder", type=Path, required=True, help="for the database and the export")
    parser.add_argument("--cluster", action="store_true", help="a master and two workers in place of local threads")
    parser.add_argument("--memory", default="6g", help="of the driver, or of each worker")
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--tolerance", type=float, default=1e-8, help="of GraphX's ranks, whose sum is the vertices")
    parser.add_argument("--skip", nargs="*", default=[], choices=["components", "pagerank", "triangles"])
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    export = given.folder / "export"
    db = quipu.open(given.folder / "db", memory_limit="4GB")
    graph = db.graph("g")
    if not graph.number_of_edges():
        with timed("import"):
            for sources, targets in edges_of(given.file):
                graph.import_arrays(np.array(sources, np.uint64), np.array(targets, np.uint64))
    with timed("export by the command"):
        command = [sys.executable, "-m", "quipu", "export", str(given.folder / "db"), "g", "--spark", str(export)]
        subprocess.run([*command, "--replace"], check=True)
    report = qs.statistics(str(export))
    print(f"{report['vertices']} vertices, {report['edges']} edges, {sum(report['file_bytes'].values())} bytes")
    with timed("ours"):
        frozen = graph.project()
        rank = ours_by_id(frozen.pagerank(tol=1e-16, max_iter=1000))
        component = ours_by_id(frozen.connected_components())
        triangle = ours_by_id(frozen.triangles())
    from pyspark.sql import SparkSession

    with contextlib.ExitStack() as stack:
        address = stack.enter_context(cluster(1, given.memory)) if given.cluster else "local[2]"
        builder = SparkSession.builder.master(address).config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.memory", given.memory).config("spark.executor.memory", given.memory)
        session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        stack.callback(session.stop)
        print(f"Spark {session.version} on {'a master and two workers' if given.cluster else address}")
        with timed("GraphX reads"):
            graphx = qs.graphx(session, export, partitions=given.partitions)
        if "components" not in given.skip:
            with timed("GraphX components"):
                ids, groups = values_of(graphx.connected_components())
            assert np.array_equal(ids, component[0])
            assert np.array_equal(groups, least_of_group(*component)), "components differ"
            print(f"components {len(set(groups.tolist()))}: equal")
        if "pagerank" not in given.skip:
            with timed("GraphX PageRank"):
                ranked = graphx.pagerank(given.tolerance)
                stored = qs.store(db, "spark_rank", ranked, keys=["id"])
            ids, ranks = values_of(ranked)
            assert stored == len(ids)
            assert np.array_equal(ids, rank[0])
            difference = float(np.abs(ranks - rank[1]).max())
            print(f"PageRank: greatest difference {difference:.3g}, sums {ranks.sum():.12f} and {rank[1].sum():.12f}")
            assert difference < 1e-9, "ranks differ"
        if "triangles" not in given.skip:
            with timed("GraphX triangles"):
                ids, counts = values_of(graphx.triangles())
            assert np.array_equal(ids, triangle[0])
            assert np.array_equal(counts, triangle[1]), "triangles differ"
            print(f"triangles {int(counts.sum()) // 3}: equal")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")


if __name__ == "__main__":
    main()
