"""Which files scripts may read, and that no file makes a query wait forever."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import quipu
from quipu.compat.cozo import Client

if TYPE_CHECKING:
    from conftest import Alarm

CSV = "?[a] <~ CsvReader(url: $url, types: ['String'], has_headers: false)"


def read(db: quipu.Database, path: Path | str, **options: str | Path | float) -> list[tuple[object, ...]]:
    """Read a file by a script."""
    return db.run(CSV, {"url": f"file://{path}"}, **options).rows()  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder `in` with files and links, next to a folder `out`."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.csv").write_text("inside\n")
    (inside / "a.json").write_text('{"a": 1}\n')
    (outside / "secret.csv").write_text("outside\n")
    (inside / "link").symlink_to("a.csv")
    (inside / "escape").symlink_to(outside / "secret.csv")
    (inside / "up").symlink_to("..")
    return tmp_path


def escapes(home: Path) -> list[Path]:
    """Return several paths to the file outside."""
    inside = home / "in"
    return [
        home / "out/secret.csv",
        inside / "escape",
        inside / "up/out/secret.csv",
        Path(f"{inside}/../out/secret.csv"),
        Path("/etc/passwd"),
    ]


def test_a_database_says_which_files_its_scripts_read(home: Path) -> None:
    inside = home / "in"
    with quipu.open() as db:
        assert read(db, home / "out/secret.csv") == [("outside",)]
    with quipu.open(files="any") as db:
        assert read(db, inside / "escape") == [("outside",)]
    with quipu.open(files=inside) as db:
        assert read(db, inside / "a.csv") == [("inside",)]
        assert read(db, inside / "link") == [("inside",)]
        for path in escapes(home):
            with pytest.raises(quipu.InvalidInputError, match="not below") as refused:
                read(db, path)
            assert refused.value.column is not None
    with quipu.open(files="none") as db:
        for path in [*escapes(home), inside / "a.csv", home / "nothing"]:
            with pytest.raises(quipu.InvalidInputError, match="the database does not allow"):
                read(db, path)
        for reader in [
            "JsonReader(url: $url, fields: ['a'])",
            "ParquetReader(url: $url)",
        ]:
            with pytest.raises(quipu.InvalidInputError, match="the database does not allow"):
                db.run(f"?[a] <~ {reader}", {"url": f"file://{inside / 'a.json'}"})


def test_a_run_narrows_what_the_database_allows_and_never_widens_it(home: Path) -> None:
    inside, outside = home / "in", home / "out"
    secret = outside / "secret.csv"
    with quipu.open() as db:
        with pytest.raises(quipu.InvalidInputError, match="this run does not allow"):
            read(db, secret, files="none")
        with pytest.raises(quipu.InvalidInputError, match="not below"):
            read(db, secret, files=inside)
        assert read(db, secret, files=outside) == [("outside",)]
        with pytest.raises(quipu.InvalidInputError, match="this run does not allow"):
            list(db.stream(CSV, {"url": f"file://{secret}"}, files="none"))
        with db.transaction() as tx, pytest.raises(quipu.InvalidInputError, match="this run does not allow"):
            tx.run(CSV, {"url": f"file://{secret}"}, files="none")
        # Also if the previous run was allowed more.
        with pytest.raises(quipu.InvalidInputError, match="this run does not allow"):
            read(db, secret, files="none")
        assert read(db, secret) == [("outside",)]
    for allowed in ["none", inside]:
        with quipu.open(files=allowed) as db:
            for wider in ["any", home, "/", outside]:
                with pytest.raises(quipu.InvalidInputError, match=r"not below|does not allow"):
                    read(db, secret, files=wider)


def test_a_trigger_reads_no_more_than_the_run_that_sets_it_off(home: Path) -> None:
    secret = home / "out/secret.csv"
    with quipu.open() as db:
        db.run(":create log {a: String}")
        db.run(":create r {k: Int}")
        reader = f"CsvReader(url: 'file://{secret}', types: ['String'], has_headers: false)"
        body = f"r[a] <~ {reader} ?[a] := r[a] :put log {{a}}"
        db.run(f"::set_triggers r on put {{ {body} }}")
        with pytest.raises(quipu.InvalidInputError, match="this run does not allow"):
            db.run("?[k] <- [[1]] :put r {k}", files="none")
        db.run("?[k] <- [[1]] :put r {k}")
        assert db.run("?[a] := *log{a}").rows() == [("outside",)]


def test_what_files_may_be_is_said(db: quipu.Database) -> None:
    with pytest.raises(quipu.InvalidInputError, match='"none", "any" or the path of a folder'):
        quipu.open(files=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(quipu.InvalidInputError, match='"none", "any" or the path of a folder'):
        db.run("?[a] <- [[1]]", files="")


def test_cozos_interface_takes_the_option_too(home: Path) -> None:
    script = CSV.replace("$url", f"'file://{home / 'out/secret.csv'}'")
    assert Client("mem", dataframe=False).run(script)["rows"] == [["outside"]]
    client = Client("mem", options={"files": "none"}, dataframe=False)
    with pytest.raises(Exception, match="the database does not allow"):
        client.run(script)
    client.close()


def test_a_pipe_without_a_writer_ends_with_the_timeout(db: quipu.Database, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(quipu.CancelledError, match="timeout"):
        read(db, pipe, timeout=0.2)
    # So does a pipe whose writer writes nothing.
    writer = os.open(pipe, os.O_RDWR)
    with pytest.raises(quipu.CancelledError, match="timeout"):
        read(db, pipe, timeout=0.2)
    os.close(writer)


def test_a_pipe_that_is_waited_for_ends_with_a_kill(db: quipu.Database, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            read(db, pipe)
        except quipu.CancelledError as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    # It ends only when it is killed.
    while thread.is_alive():
        for number, _, script in db.run("::running").rows():
            if "CsvReader" in script:
                db.run("::kill $id", {"id": number})
        thread.join(0.01)
    assert "killed" in str(ended[0])


def test_a_pipe_that_is_waited_for_ends_with_ctrl_c(db: quipu.Database, tmp_path: Path, alarm: Alarm) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    alarm(0.1)
    with pytest.raises(KeyboardInterrupt):
        read(db, pipe)
    alarm(0.1)
    with pytest.raises(KeyboardInterrupt):
        list(db.stream(CSV, {"url": f"file://{pipe}"}))


def test_pipes_and_what_has_no_length_are_read_to_their_end(db: quipu.Database, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write(path: Path | int) -> None:
        with open(path, "w") as file:
            file.writelines(f"{row}\n" for row in range(100_000))

    for path, target in [(pipe, pipe), (None, None)]:
        ends = os.pipe() if path is None else None
        thread = threading.Thread(target=write, args=(ends[1] if ends else target,))
        thread.start()
        found = read(db, path or f"/dev/fd/{ends[0] if ends else 0}")
        thread.join()
        if ends:
            os.close(ends[0])
        assert len(found) == 100_000
    status = Path("/proc/self/status")
    if status.exists():
        assert any(str(row[0]).startswith("Name:") for row in read(db, status))


def test_what_is_no_file_is_refused_by_what_it_is(db: quipu.Database, tmp_path: Path) -> None:
    with pytest.raises(quipu.InvalidInputError, match="a folder, which is not read"):
        read(db, tmp_path)
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        with pytest.raises(quipu.InvalidInputError, match="a socket, which is not read"):
            read(db, path)


def test_a_device_without_an_end_runs_into_the_limit_of_memory(db: quipu.Database) -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no such device")
    with pytest.raises(quipu.LimitError):
        read(db, "/dev/zero", memory_limit="16MB")
