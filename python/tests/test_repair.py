"""Checks that find damage, and repairs that save intact data."""

from __future__ import annotations

from pathlib import Path

import pytest
import quipu


def make(folder: Path) -> dict[tuple[int, int], float]:
    """A closed database with a graph of 3000 edges."""
    edges = {(i // 10, i * 7 % 997): float(i) for i in range(3000)}
    with quipu.open(folder) as db:
        us, vs = [u for u, _ in edges], [v for _, v in edges]
        db.graph("g", weight="float64").upsert_many(us, vs, list(edges.values()))
    return edges


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


def held(db: quipu.Database) -> dict[tuple[int, int], float]:
    return {(u, v): w for u, v, w in db.graph("g").to_table().rows()}


def tables(folder: Path) -> list[Path]:
    return sorted((folder / "tables").glob("*.sst"))


def test_a_sound_database_has_no_problems(folder: Path) -> None:
    make(folder)
    with quipu.open(folder) as db:
        report = db.check()
    assert report["problems"] == []
    assert report["graphs"] == {"g": 3000}
    assert report["blocks"] >= 2
    assert report["seconds"] >= 0


def test_a_check_raises_with_every_problem(folder: Path) -> None:
    make(folder)
    for table in tables(folder):
        flip(table, 40)
    with quipu.open(folder, read_only=True) as db, pytest.raises(quipu.CorruptionError) as raised:
        db.check()
    files = {problem["file"] for problem in raised.value.problems}
    assert files == set(tables(folder))
    assert all(problem["what"] and problem["offset"] == 0 for problem in raised.value.problems)
    assert "hint:" in str(raised.value)


@pytest.mark.parametrize("damaged", [0, 1])
def test_a_damaged_direction_comes_back_whole(folder: Path, tmp_path: Path, damaged: int) -> None:
    edges = make(folder)
    flip(tables(folder)[damaged], 40)
    report = quipu.repair(folder, tmp_path / "new")
    assert report["complete"]
    assert report["graphs"]["g"]["edges"] == 3000
    assert report["graphs"]["g"]["rebuilt"] > 0
    assert [damage["file"] for damage in report["damages"]] == [tables(folder)[damaged]]
    with quipu.open(tmp_path / "new") as db:
        assert held(db) == edges
        db.check()


def test_what_is_lost_in_both_directions_is_said(folder: Path, tmp_path: Path) -> None:
    edges = make(folder)
    for table in tables(folder):
        flip(table, 40)
    report = quipu.repair(folder, tmp_path / "new")
    assert not report["complete"]
    assert sum(keyspace["rows_lost"] for keyspace in report["keyspaces"]) > 0
    with quipu.open(tmp_path / "new") as db:
        assert held(db).items() <= edges.items()


def test_a_repair_needs_a_database_and_an_empty_target(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(quipu.InvalidInputError):
        quipu.repair(tmp_path / "nothing", tmp_path / "new")
    make(folder)
    with pytest.raises(quipu.InvalidInputError, match="not empty"):
        quipu.repair(folder, folder.parent)
