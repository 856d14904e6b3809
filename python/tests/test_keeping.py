"""Data survives a close and a kill; other processes read it meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import quipu

from model import check

Durability = Literal["sync", "os"]


def python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], check=False, capture_output=True, text=True, timeout=300
    )


@contextmanager
def running(code: str, *arguments: object) -> Generator[subprocess.Popen[str]]:
    """Run a script in parallel with the test, which continues after its first line of output."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


def test_a_closed_database_is_there_again(folder: Path) -> None:
    with quipu.open(folder) as db:
        assert db.path == folder
        db.graph("g", weight="float64").upsert(1, 2, 3.0)
        db.graph("names", vertex="str", weight="int64").upsert("a", "b", 4)
    for _ in range(2):
        with quipu.open(folder) as db:
            assert db.graphs() == ["g", "names"]
            check(db.graph("g"), {(1, 2): 3.0})
            check(db.graph("names"), {("a", "b"): 4})
            assert db.check()["graphs"] == {"g": 1, "names": 1}


def test_a_closed_database_refuses_calls(folder: Path) -> None:
    db = quipu.open(folder)
    g = db.graph("g")
    db.close()
    db.close()
    with pytest.raises(quipu.Error):
        g.upsert(1, 2)


COMMITS = """
import os, sys, quipu
db = quipu.open(sys.argv[1], durability=sys.argv[2])
g = db.graph("g", weight="int64")
g.upsert(1, 2, 3)
with db.transaction() as tx:
    tx.graph("g").upsert_many(range(1000), range(1000, 2000), range(1000))
g.remove(1, 2)
lost = db.transaction()
lost.graph("g").upsert(7, 7, 7)
os._exit(0)
"""


@pytest.mark.parametrize("durability", ["sync", "os"])
def test_commits_survive_a_process_that_just_ends(folder: Path, durability: Durability) -> None:
    assert python(COMMITS, folder, durability).returncode == 0
    with quipu.open(folder) as db:
        g = db.graph("g")
        assert len(g) == 1000
        assert g.edge(999, 1999) == 999
        assert not g.has_edge(1, 2)
        assert not g.has_edge(7, 7)
        db.check()


WRITER = """
import sys, quipu
db = quipu.open(sys.argv[1], durability="os")
g = db.graph("g", weight="int64")
i = 0
while True:
    g.upsert(i % 1000, i, i)
    i += 1
    if i % 100 == 0:
        print(i, flush=True)
"""


def test_acknowledged_commits_survive_a_killed_writer(folder: Path) -> None:
    with running(WRITER, folder) as process:
        assert process.stdout is not None
        acknowledged = 0
        while acknowledged < 5000:
            acknowledged = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with quipu.open(folder) as db:
        g = db.graph("g")
        found = len(g)
        assert found >= acknowledged
        # No gap, no half edge: the edges are those of the first `found` commits.
        assert sorted(row[1] for row in g.to_table().rows()) == list(range(found))
        assert db.check()["graphs"] == {"g": found}


HOLDER = """
import sys, quipu
db = quipu.open(sys.argv[1])
g = db.graph("g")
g.upsert(1, 2)
print("open", flush=True)
for line in sys.stdin:
    g.upsert(*map(int, line.split()))
    print("done", flush=True)
"""


def test_a_second_writer_is_told_who_holds_the_folder(folder: Path) -> None:
    with running(HOLDER, folder) as process:
        with pytest.raises(quipu.LockedError, match=str(process.pid)) as caught:
            quipu.open(folder)
        assert isinstance(caught.value, BlockingIOError)
    with quipu.open(folder) as db:
        assert db.graph("g").has_edge(1, 2)


def test_one_process_cannot_open_a_folder_twice_for_writing(folder: Path) -> None:
    with quipu.open(folder), pytest.raises(quipu.LockedError):
        quipu.open(folder)
    quipu.open(folder).close()


def test_readers_stand_beside_a_writer_and_refresh(folder: Path) -> None:
    with running(HOLDER, folder) as process, quipu.open(folder, read_only=True) as db:
        assert process.stdin is not None
        assert process.stdout is not None
        g = db.graph("g")
        check(g, {(1, 2): 1.0})
        process.stdin.write("3 4\n")
        process.stdin.flush()
        process.stdout.readline()
        assert not g.has_edge(3, 4)
        db.refresh()
        check(g, {(1, 2): 1.0, (3, 4): 1.0})
        with pytest.raises(quipu.InvalidInputError, match="read-only"):
            g.upsert(5, 6)
        with pytest.raises(quipu.InvalidInputError):
            db.graph("new")
        assert db.check()["graphs"] == {"g": 2}


def test_reading_needs_a_database(folder: Path) -> None:
    with pytest.raises(quipu.InvalidInputError):
        quipu.open(folder, read_only=True)
    with pytest.raises(quipu.InvalidInputError):
        quipu.open(folder, create=False)
    assert not folder.exists()


def test_a_folder_of_something_else_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    with pytest.raises(quipu.InvalidInputError):
        quipu.open(folder)
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]


def test_damage_is_an_error_that_names_the_file(folder: Path) -> None:
    with quipu.open(folder) as db:
        db.graph("g", weight="int64").import_arrays(range(5000), range(5000), range(5000))
    tables = [path for path in (folder / "tables").rglob("*") if path.is_file()]
    assert tables
    for path in tables:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    with pytest.raises(quipu.CorruptionError) as caught:
        quipu.open(folder).check()
    assert any(path.name in str(caught.value) for path in tables)


def test_databases_that_share_a_table_folder_leave_each_other_alone(tmp_path: Path) -> None:
    shared = [tmp_path / "disk"]
    for _ in range(2):
        for name in ("a", "b"):
            with quipu.open(tmp_path / name, table_folders=shared) as db:
                db.graph("g").import_arrays(range(1000), range(1000))
                db.graph("h").import_arrays(range(1000), range(1000))
    for name in ("a", "b"):
        with quipu.open(tmp_path / name, read_only=True) as db:
            assert db.check()["graphs"] == {"g": 1000, "h": 1000}


def test_tables_may_lie_in_several_folders(folder: Path, tmp_path: Path) -> None:
    more = [tmp_path / "disk1", tmp_path / "disk2"]
    with quipu.open(folder, table_folders=more[:1]) as db:
        db.graph("g").import_arrays(range(1000), range(1000))
    with quipu.open(folder, table_folders=more) as db:
        g = db.graph("g")
        g.import_arrays(range(1000), range(1000, 2000))
        g.upsert(5, 6)
    places = [path.parent for path in tmp_path.rglob("*.sst")]
    assert {place.parent for place in places} == {folder, *more}
    # (A Rust test with many small tables shows that folders fill evenly.)
    # The database knows the folders.
    with quipu.open(folder) as db:
        assert len(db.graph("g")) == 2001
    with quipu.open(folder, read_only=True) as db:
        assert db.check()["graphs"] == {"g": 2001}


def test_a_database_around_the_page_cache_keeps_the_same(folder: Path) -> None:
    source = np.arange(400_000, dtype=np.uint64)
    target = source * np.uint64(0x9E37_79B9_7F4A_7C15)
    with quipu.open(folder, direct_io=True) as db:
        g = db.graph("g")
        g.import_arrays(source, target)
        g.upsert(1, 2)
    with quipu.open(folder, direct_io=True) as db:
        g = db.graph("g")
        assert g.successors(7).tolist() == [int(target[7])]
        assert db.check()["graphs"] == {"g": 400_001}
