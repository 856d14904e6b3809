"""Backups and restores from Python."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import quipu

from model import Edges, check


def fill(db: quipu.Database, edges: int = 1000) -> Edges:
    db.graph("g", weight="float64").import_arrays(range(edges), range(1, edges + 1), [0.5] * edges)
    db.graph("g").upsert(7, 7, 7.0)
    made: Edges = {(i, i + 1): 0.5 for i in range(edges)}
    return made | {(7, 7): 7.0}


@pytest.mark.parametrize("name", ["backup", "backup.qbak"])
@pytest.mark.parametrize("opened", [True, False])
def test_a_backup_is_restored_as_it_was(folder: Path, tmp_path: Path, name: str, opened: bool) -> None:
    with quipu.open(folder if opened else None) as db:
        edges = fill(db)
        report = db.backup(tmp_path / name)
        assert (report.linked > 0) == (opened and name == "backup")
        assert report.linked + report.copied == report.files - 2
        assert report.bytes_written <= report.bytes_total + 2000
        assert "BackupReport(files=" in repr(report)
        db.graph("g").upsert(8, 8, 8.0)
    restored = quipu.restore(tmp_path / name, tmp_path / "again")
    assert restored.rows == 2 * len(edges)
    assert restored.sequence == report.sequence
    assert restored.bytes == report.bytes_total
    with quipu.open(tmp_path / "again") as db:
        check(db.graph("g"), edges)
        db.graph("g").upsert(9, 9, 9.0)
        assert db.check()["graphs"] == {"g": len(edges) + 1}


def test_a_backup_folder_is_a_database(folder: Path, tmp_path: Path) -> None:
    with quipu.open(folder) as db:
        edges = fill(db)
        db.backup(tmp_path / "backup")
    with quipu.open(tmp_path / "backup", read_only=True) as db:
        check(db.graph("g"), edges)
    assert quipu.restore(tmp_path / "backup", tmp_path / "again").seconds > 0


def test_an_incremental_backup_takes_over_what_is_there_and_stands_alone(folder: Path, tmp_path: Path) -> None:
    with quipu.open(folder) as db:
        edges = fill(db)
        first = db.backup(tmp_path / "monday")
        db.graph("g").upsert(1, 1, 1.0)
        second = db.backup(tmp_path / "tuesday", earlier=tmp_path / "monday")
    assert (second.reused, second.linked) == (first.linked, 2)
    for path in sorted((tmp_path / "monday").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    quipu.restore(tmp_path / "tuesday", tmp_path / "again")
    with quipu.open(tmp_path / "again") as db:
        check(db.graph("g"), edges | {(1, 1): 1.0})


def test_a_restore_replaces_only_what_it_may_and_only_by_what_is_sound(folder: Path, tmp_path: Path) -> None:
    with quipu.open(folder) as db:
        edges = fill(db)
        db.backup(tmp_path / "backup")
        with pytest.raises(quipu.InvalidInputError, match="not empty"):
            db.backup(tmp_path / "backup")
        with pytest.raises(quipu.LockedError):
            quipu.restore(tmp_path / "backup", folder, replace=True)
        db.graph("g").upsert(8, 8, 8.0)
    with pytest.raises(quipu.InvalidInputError, match="already exists"):
        quipu.restore(tmp_path / "backup", folder)
    with pytest.raises(quipu.InvalidInputError, match="not a backup"):
        quipu.restore(folder, tmp_path / "again")
    table = next((tmp_path / "backup").rglob("*.sst"))
    sound = table.read_bytes()
    table.unlink()  # it is a link to the database's table
    table.write_bytes(sound[:100] + bytes([sound[100] ^ 1]) + sound[101:])
    with pytest.raises(quipu.CorruptionError, match=table.name):
        quipu.restore(tmp_path / "backup", folder, replace=True)
    with quipu.open(folder, read_only=True) as db:
        check(db.graph("g"), edges | {(8, 8): 8.0})
    table.write_bytes(sound)
    quipu.restore(tmp_path / "backup", folder, replace=True)
    with quipu.open(folder) as db:
        check(db.graph("g"), edges)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "db.quipu"]


@pytest.mark.parametrize("name", ["backup", "backup.qbak"])
def test_progress_is_told_and_may_stop_it(folder: Path, tmp_path: Path, name: str) -> None:
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    def stop(done: int, total: int) -> None:
        raise RuntimeError(f"enough at {done} of {total}")

    steps: list[Callable[[Callable[[int, int], object]], object]] = [
        lambda progress: db.backup(tmp_path / name, progress=progress),
        lambda progress: quipu.restore(tmp_path / name, tmp_path / "again", progress=progress),
    ]
    with quipu.open(folder) as db:
        fill(db)
        for step in steps:
            before = sorted(tmp_path.iterdir())
            with pytest.raises(RuntimeError, match="enough"):
                step(stop)
            assert sorted(tmp_path.iterdir()) == before
            told.clear()
            step(tell)
            assert told[-1][0] == told[-1][1] > 0


def test_other_threads_run_while_a_backup_is_made(folder: Path, tmp_path: Path) -> None:
    with quipu.open(folder, durability="none") as db:
        fill(db, 200_000)
        waiting, ran = threading.Event(), threading.Event()

        def other() -> None:
            waiting.set()
            ran.set()

        thread = threading.Thread(target=other)

        def tell(_done: int, _total: int) -> None:
            # The GIL is released around this call, so the other thread runs.
            if not waiting.is_set():
                thread.start()
                assert ran.wait(300)

        db.backup(tmp_path / "backup", progress=tell)
        thread.join()
        assert ran.is_set()


INTERRUPTED = """
import shutil, signal, sys, quipu
# Who runs the tests in the background may have made the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
db = quipu.open(sys.argv[1])
db.graph("g").import_arrays(range(100_000), range(100_000))
try:
    print("ready", flush=True)
    while True:
        db.backup(sys.argv[2])
        shutil.rmtree(sys.argv[2])
except KeyboardInterrupt:
    print("interrupted", db.check()["graphs"]["g"], flush=True)
"""


def test_ctrl_c_ends_a_backup_and_the_database_goes_on(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(folder), str(tmp_path / "backup")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted 100000\n"
            assert process.wait() == 0
        finally:
            # After a failed assertion it would run forever.
            process.kill()
