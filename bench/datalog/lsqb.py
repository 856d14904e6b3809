"""Times the nine patterns of the Labelled Subgraph Query Benchmark on LDBC's social network.

The benchmark is by Mhedhbi et al. (GRADES-NDA 2021). Only counts are queried. The data are the CSV
files of the social network's generator, in one of two forms: a file for each relation (names as in
Kuzu's copy, `Person_knows_Person.csv` and so on), or with single-valued relations as columns of the
vertex's file (`CreatorPersonId` in `Post.csv`). Where `Forum_hasMember_Person.csv` is absent, the
first pattern uses the forums' moderators instead. Friendships are loaded in both directions. Each
engine is a process of its own, loaded once; then rounds go through all engines in turn, and their
counts are compared.

    python bench/datalog/lsqb.py FOLDER --engine quipu=PYTHON --engine duckdb=PYTHON --engine ladybug=PYTHON

PYTHON is an interpreter with the engine's package; also cozo and mnestic. These are not official
LDBC results.
"""

import argparse
import csv
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from patterns import QUERIES

RELATIONS: dict[str, tuple[str, str, list[str]]] = {
    "knows": ("p1", "p2", ["Person_knows_Person"]),
    "tagged": ("message", "tag", ["Comment_hasTag_Tag", "Post_hasTag_Tag"]),
    "created": ("message", "person", ["Comment_hasCreator_Person", "Post_hasCreator_Person"]),
    "liked": ("message", "person", ["Person_likes_Comment", "Person_likes_Post"]),
    "reply": ("comment", "message", ["Comment_replyOf_Comment", "Comment_replyOf_Post"]),
    "interest": ("person", "tag", ["Person_hasInterest_Tag"]),
    "lives": ("person", "city", ["Person_isLocatedIn_Place"]),
    "part": ("city", "country", ["Place_isPartOf_Place"]),
    "contains": ("forum", "post", ["Forum_containerOf_Post"]),
    "class": ("tag", "tagclass", ["Tag_hasType_TagClass"]),
    "member": ("forum", "person", ["Forum_hasMember_Person"]),
}
"""Of each relation its columns and files. Files of likes begin with the person."""

MERGED: dict[str, list[tuple[str, str, str]]] = {
    "knows": [("Person_knows_Person", "Person1Id", "Person2Id")],
    "tagged": [("Comment_hasTag_Tag", "CommentId", "TagId"), ("Post_hasTag_Tag", "PostId", "TagId")],
    "created": [("Comment", "id", "CreatorPersonId"), ("Post", "id", "CreatorPersonId")],
    "liked": [("Person_likes_Comment", "CommentId", "PersonId"), ("Person_likes_Post", "PostId", "PersonId")],
    "reply": [("Comment", "id", "ParentCommentId"), ("Comment", "id", "ParentPostId")],
    "interest": [("Person_hasInterest_Tag", "PersonId", "TagId")],
    "lives": [("Person", "id", "LocationCityId")],
    "part": [("Place", "id", "PartOfPlaceId")],
    "contains": [("Post", "ContainerForumId", "id")],
    "class": [("Tag", "id", "TypeTagClassId")],
    "member": [("Forum_hasMember_Person", "ForumId", "PersonId")],
}
"""Of each relation its files and their columns in the second form of the data; a column may be empty."""

NODES = {
    "person": ["knows.p1", "created.person", "liked.person", "interest.person", "lives.person", "member.person"],
    "message": [
        "tagged.message",
        "created.message",
        "liked.message",
        "reply.comment",
        "reply.message",
        "contains.post",
    ],
    "tag": ["tagged.tag", "interest.tag", "class.tag"],
    "place": ["lives.city", "part.city", "part.country"],
    "forum": ["contains.forum", "member.forum"],
    "tagclass": ["class.tagclass"],
}
"""Where the vertices of a property graph come from."""


def pairs(folder: Path, name: str) -> Iterator[tuple[int, int]]:
    """The pairs of a relation, each once, in order."""
    found: set[tuple[int, int]] = set()
    merged = not (folder / "Post_hasCreator_Person.csv").exists()
    for pair in merged_pairs(folder, name) if merged else separate_pairs(folder, name):
        found.add(pair)
        if name == "knows":
            found.add(pair[::-1])
    return iter(sorted(found))


def separate_pairs(folder: Path, name: str) -> Iterator[tuple[int, int]]:
    """The pairs of a relation with files of its own."""
    _, _, files = RELATIONS[name]
    if name == "member" and not (folder / f"{files[0]}.csv").exists():
        files = ["Forum_hasModerator_Person"]
    for file in files:
        with (folder / f"{file}.csv").open() as lines:
            rows = csv.reader(lines, delimiter="|")
            next(rows)
            for a, b, *_ in rows:
                yield (int(b), int(a)) if name == "liked" else (int(a), int(b))


def merged_pairs(folder: Path, name: str) -> Iterator[tuple[int, int]]:
    """The pairs of a relation whose columns are in other files."""
    for file, first, second in MERGED[name]:
        with (folder / f"{file}.csv").open(newline="") as lines:
            for row in csv.DictReader(lines, delimiter="|"):
                if row[first] and row[second]:
                    yield int(row[first]), int(row[second])


def write_pairs(folder: Path, target: Path) -> None:
    """Writes a CSV file without a header for each relation, and one for each kind of vertex."""
    columns: dict[str, set[int]] = {}
    for name, (first, second, _) in RELATIONS.items():
        with (target / f"{name}.csv").open("w") as file:
            for a, b in pairs(folder, name):
                file.write(f"{a},{b}\n")
                columns.setdefault(f"{name}.{first}", set()).add(a)
                columns.setdefault(f"{name}.{second}", set()).add(b)
    for node, sources in NODES.items():
        ids = set[int]().union(*(columns[source] for source in sources))
        (target / f"node-{node}.csv").write_text("".join(f"{one}\n" for one in sorted(ids)))


def open_engine(name: str, folder: Path, threads: int) -> Callable[[str], int]:
    """Loads an engine; returns a function that counts a pattern by its name."""
    if name in ("quipu", "cozo", "mnestic"):
        if name == "quipu":
            import quipu

            database = quipu.open(cache="1GB", threads=threads)

            def run(script: str, parameters: dict[str, Any]) -> Any:
                return database.run(script, parameters).rows()
        else:
            module = __import__({"cozo": "cozo_embedded", "mnestic": "mnestic"}[name])
            store = module.CozoDbPy("mem", "", "{}")

            def run(script: str, parameters: dict[str, Any]) -> Any:
                return store.run_script(script, parameters, False)["rows"]

        for relation, (first, second, _) in RELATIONS.items():
            run(f":create {relation} {{{first}: Int, {second}: Int}}", {})
            rows = [[int(cell) for cell in line.split(",")] for line in (folder / f"{relation}.csv").open()]
            for start in range(0, len(rows), 10_000):
                batch = {"rows": rows[start : start + 10_000]}
                run(f"?[{first}, {second}] <- $rows :put {relation} {{{first}, {second}}}", batch)
            run(f"::index create {relation}:rev {{{second}}}", {})
        return lambda query: int(run(QUERIES[query][0], {})[0][0])
    if name == "duckdb":
        import duckdb

        connection = duckdb.connect(config={"threads": threads})
        for relation, (first, second, _) in RELATIONS.items():
            connection.execute(f"create table {relation} ({first} bigint, {second} bigint)")
            connection.execute(
                f"insert into {relation} select * from read_csv('{folder}/{relation}.csv', header=false)"
            )
        return lambda query: int(connection.execute(QUERIES[query][1]).fetchall()[0][0])
    if name == "ladybug":
        import ladybug

        connection = ladybug.Connection(ladybug.Database(), num_threads=threads)
        for node in NODES:
            connection.execute(f"CREATE NODE TABLE {node}(id INT64, PRIMARY KEY(id))")
            connection.execute(f"COPY {node} FROM '{folder}/node-{node}.csv' (header=false)")
        kinds = {source: node for node, sources in NODES.items() for source in sources} | {"knows.p2": "person"}
        for relation, (first, second, _) in RELATIONS.items():
            ends = f"FROM {kinds[f'{relation}.{first}']} TO {kinds[f'{relation}.{second}']}"
            connection.execute(f"CREATE REL TABLE {relation}({ends})")
            connection.execute(f"COPY {relation} FROM '{folder}/{relation}.csv' (header=false)")
        return lambda query: int(connection.execute(QUERIES[query][2]).get_next()[0])
    raise ValueError(name)


def worker(name: str, folder: Path, threads: int) -> None:
    """Reads names of patterns from standard input, and writes counts and seconds."""
    start = time.perf_counter()
    ask = open_engine(name, folder, threads)
    print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        try:
            count: int | str = ask(line.strip())
        except Exception as error:  # noqa: BLE001  (an engine that fails is reported, whatever it raises)
            count = f"{type(error).__name__}: {error}"[:200]
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps({"count": count, "seconds": seconds, "peak_mb": peak}), flush=True)


def main() -> None:
    """Runs the engines, or serves as one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", action="append", default=[], help="name=PYTHON")
    parser.add_argument("--out", type=Path, default=Path("lsqb-data"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of the engines that can be told")
    parser.add_argument(
        "--limit-s", type=float, default=60.0, help="an engine that takes longer is not asked that again"
    )
    parser.add_argument("--worker")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker, args.folder, args.threads)
        return
    args.out.mkdir(parents=True, exist_ok=True)
    write_pairs(args.folder, args.out)
    engines: dict[str, subprocess.Popen[str]] = {}
    times: dict[tuple[str, str], list[float]] = {}
    counts: dict[tuple[str, str], Any] = {}
    peaks: dict[str, int] = {}

    def start(name: str) -> None:
        python = dict(pair.split("=", 1) for pair in args.engine)[name]
        command = [python, __file__, str(args.out), "--worker", name, "--threads", str(args.threads)]
        engines[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        pipe = engines[name].stdout
        assert pipe is not None
        print(f"{name}: loaded in {json.loads(pipe.readline())['seconds']:.1f} s", file=sys.stderr)

    names = [pair.split("=", 1)[0] for pair in args.engine]
    for name in names:
        start(name)
    given_up: set[tuple[str, str]] = set()
    for _ in range(args.rounds):
        for query in QUERIES:
            for name in names:
                if (name, query) in given_up:
                    continue
                process = engines[name]
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(query + "\n")
                process.stdin.flush()
                os.set_blocking(process.stdout.fileno(), True)
                line = read_line(process, args.limit_s)
                if line is None:
                    given_up.add((name, query))
                    counts[name, query] = f"more than {args.limit_s:.0f} s"
                    process.kill()
                    process.wait()
                    start(name)
                    continue
                answer = json.loads(line)
                counts[name, query] = answer["count"]
                peaks[name] = max(peaks.get(name, 0), answer["peak_mb"])
                if isinstance(answer["count"], str):
                    given_up.add((name, query))
                else:
                    times.setdefault((name, query), []).append(answer["seconds"])
    report(names, times, counts, peaks)


def read_line(process: subprocess.Popen[str], seconds: float) -> str | None:
    """A line of an engine's output; None if it takes longer."""
    import select

    pipe = process.stdout
    assert pipe is not None
    ready, _, _ = select.select([pipe], [], [], seconds)
    return pipe.readline() if ready else None


def report(
    names: list[str],
    times: dict[tuple[str, str], list[float]],
    counts: dict[tuple[str, str], Any],
    peaks: dict[str, int],
) -> None:
    """Prints the table of medians and ratios."""
    print(f"\nMedians in ms; {os.cpu_count()} cores, {platform.release()}, load {os.getloadavg()[0]:.1f}.\n")
    others = names[1:]
    print("| pattern | count |", " | ".join([*names, *(f"{other} / {names[0]}" for other in others)]), "|")
    print("| --- | ---: |" + " ---: |" * (len(names) + len(others)))
    for query in QUERIES:
        found = {counts.get((name, query)) for name in names if isinstance(counts.get((name, query)), int)}
        cells: list[str] = [query, " or ".join(f"{one:,}" for one in sorted(found))]
        for name in names:
            all_times = times.get((name, query))
            cells.append(f"{statistics.median(all_times) * 1e3:,.1f}" if all_times else str(counts.get((name, query))))
        own = times.get((names[0], query), [])
        for name in others:
            ratios = [b / a for a, b in zip(own, times.get((name, query), []), strict=False)]
            spread = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})" if ratios else ""
            cells.append(spread)
        print("|", " | ".join(cells), "|")
    print("\nPeak memory:", ", ".join(f"{name} {peaks[name]} MB" for name in names if name in peaks))


if __name__ == "__main__":
    main()
