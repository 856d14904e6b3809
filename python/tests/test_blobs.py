"""Blobs: single values, many, in order, in pieces."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import quipu


@pytest.fixture
def b(db: quipu.Database) -> quipu.Blobs:
    """Empty blobs."""
    return db.blobs("pages")


def test_blobs_behave_like_a_dictionary(b: quipu.Blobs) -> None:
    b[7] = b"seven"
    b[2**64 - 1] = b""
    assert b[7] == b"seven"
    assert b[2**64 - 1] == b""
    assert (7 in b, 8 in b) == (True, False)
    assert b.get(8) is None
    assert b.get(8, b"none") == b"none"
    with pytest.raises(KeyError):
        b[8]
    assert len(b) == 2
    del b[7]
    with pytest.raises(KeyError):
        del b[7]
    assert b.delete(2**64 - 1) is True
    assert b.delete(2**64 - 1) is False
    assert len(b) == 0


@pytest.mark.parametrize("size", [0, 1, 1000, 16_383, 16_384, 262_144, 262_145, 2_000_000])
def test_values_of_any_size_come_back_also_after_reopening(folder: Path, size: int) -> None:
    value = random.Random(size).randbytes(size)
    with quipu.open(folder, durability="os") as db:
        db.blobs("pages")[1] = value
        assert db.blobs("pages")[1] == value
    with quipu.open(folder) as db:
        assert db.blobs("pages")[1] == value
        assert db.blobs("pages").get_many([1, 2]) == [value, None]
        db.check()


def test_a_load_takes_ascending_batches_and_all_or_nothing(folder: Path) -> None:
    def batches(count: int) -> Iterator[tuple[np.ndarray, list[bytes]]]:
        for start in range(0, count, 1000):
            keys = np.arange(start, start + 1000, dtype=np.uint64)
            yield keys, [b"%d" % key for key in keys]

    with quipu.open(folder) as db:
        b = db.blobs("pages")
        assert b.load(batches(5000)) == 5000
        assert (len(b), b[4999], b.load([])) == (5000, b"4999", 0)
        with pytest.raises(quipu.InvalidInputError, match="row 1 is not above"):
            b.load([([9000, 9000], [b"x", b"y"])])
        with pytest.raises(quipu.InvalidInputError, match="16384 bytes"):
            b.load([([9000], [b"x" * 16384])])

        def failing() -> Iterator[tuple[list[int], list[bytes]]]:
            yield [9000], [b"x"]
            raise ZeroDivisionError("mine")

        with pytest.raises(ZeroDivisionError, match="mine"):
            b.load(failing())
        with pytest.raises(TypeError):
            b.load([7])  # type: ignore[list-item]
        with db.transaction() as tx, pytest.raises(quipu.InvalidInputError, match="commit of its own"):
            tx.blobs("pages").load(batches(1000))
        assert len(b) == 5000
    with quipu.open(folder) as db:
        assert db.blobs("pages").get_many([0, 4999, 9000]) == [b"0", b"4999", None]


def test_many_keys_at_once(b: quipu.Blobs) -> None:
    keys = np.arange(1000, dtype=np.uint64)
    b.put_many(keys, [b"%d" % key for key in keys])
    assert b.get_many([3, 5000, 4]) == [b"3", None, b"4"]
    assert b.contains_many(np.array([3, 5000])).tolist() == [True, False]
    assert b.delete_many([3, 3, 5000]).tolist() == [True, False, False]
    b.discard(3)
    b.discard(4)
    b.discard_many([4, 5, 6, 5000])
    assert len(b) == 996
    with pytest.raises(quipu.InvalidInputError, match="2 keys, but 1 values"):
        b.put_many([1, 2], [b"x"])


def test_arrow_goes_in_and_out(b: quipu.Blobs) -> None:
    pa = pytest.importorskip("pyarrow")
    b.put_many(pa.array([1, 2, 3], pa.uint64()), pa.array([b"a", b"", b"ccc"]))
    b.put_many([4], pa.array(["text"]))
    b.put_many([5, 6], pa.chunked_array([[b"five"], [b"six"]]))
    table = b.scan().to_arrow()
    assert table.column("key").to_pylist() == [1, 2, 3, 4, 5, 6]
    assert table.column("value").to_pylist() == [b"a", b"", b"ccc", b"text", b"five", b"six"]
    assert b.get_many_arrow([6, 9]).to_arrow().column("value").to_pylist() == [b"six", None]
    assert pa.RecordBatchReader.from_stream(b.range(2, 5)).read_all().column("key").to_pylist() == [2, 3, 4]
    with pytest.raises(quipu.InvalidInputError, match="nulls"):
        b.put_many([1], pa.array([None], pa.binary()))


def test_scans_go_both_ways(b: quipu.Blobs) -> None:
    b.put_many(range(10), [b"%d" % i for i in range(10)])
    assert list(b.scan(3, 2)) == [(3, b"3"), (4, b"4")]
    assert list(b.scan(3, 2, backward=True)) == [(3, b"3"), (2, b"2")]
    assert [key for key, _ in b.scan(backward=True, count=3)] == [9, 8, 7]
    assert b.scan(100, 5).rows() == []
    rows = [row for table in b.range(8) for row in table]
    assert rows == [(8, b"8"), (9, b"9")]


def test_items_are_pairs_in_the_order_of_keys(db: quipu.Database, b: quipu.Blobs) -> None:
    values = {key: bytes([key % 256]) * (key % 3000) for key in range(1500)}
    b.put_many(list(values), list(values.values()))
    values |= {key: bytes([key % 256]) * (3 << 20 if key % 50 == 0 else 10) for key in range(1500, 1700)}
    for key in range(1500, 1700):
        b[key] = values[key]
    assert list(b.items()) == list(values.items())
    assert [key for key, _ in b.items(1698)] == [1698, 1699]
    assert [key for key, _ in b.items(5, 8)] == [5, 6, 7]
    assert list(b.items(5, 5)) == []
    items = b.items()
    assert iter(items) is items
    first = next(items)
    b.clear()
    assert [first, *items] == list(values.items())
    with pytest.raises(StopIteration):
        next(items)
    signed = db.blobs("signed", key="i64")
    signed.put_many([-1, 1], [b"a", b"b"])
    assert list(signed.items()) == [(-1, b"a"), (1, b"b")]
    texts = db.blobs("texts", key="str")
    texts["ä"] = b""
    assert list(texts.items()) == [("ä", b"")]


def test_one_iterator_may_be_shared_by_threads(b: quipu.Blobs) -> None:
    b.put_many(range(5000), [b"%d" % key for key in range(5000)])
    items = b.items()
    found: list[list[tuple[int, bytes]]] = [[], [], [], []]

    def take(into: list[tuple[int, bytes]]) -> None:
        into.extend(items)

    threads = [threading.Thread(target=take, args=(into,), daemon=True) for into in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert sorted(pair for each in found for pair in each) == [(key, b"%d" % key) for key in range(5000)]


def test_a_loop_over_a_table_makes_its_rows_as_it_goes(b: quipu.Blobs) -> None:
    b.put_many(range(1000), [b"%d" % key for key in range(1000)])
    table = b.scan(0, 1000)
    assert list(table) == table.rows() == [(key, b"%d" % key) for key in range(1000)]
    first, second = iter(table), iter(table)
    assert next(first) == next(second) == (0, b"0")
    assert len(list(first)) == 999
    assert list(b.scan(2000)) == []


def test_a_stream_is_of_the_moment_it_began(b: quipu.Blobs) -> None:
    b.put_many(range(3), [b"old"] * 3)
    stream = b.range()
    b.clear()
    assert [row for table in stream for row in table] == [(i, b"old") for i in range(3)]
    assert len(b) == 0


def test_text_keys_are_in_the_order_of_their_bytes(db: quipu.Database) -> None:
    b = db.blobs("texts", key="str")
    for key in ["b", "", "a\0b", "a", "ä"]:
        b[key] = key.encode()
    assert [key for key, _ in b.scan()] == ["", "a", "a\0b", "b", "ä"]
    assert b.get_many(["ä", "x"]) == ["ä".encode(), None]
    with pytest.raises(TypeError, match="a key here is text"):
        b[1]


def test_signed_keys(db: quipu.Database) -> None:
    b = db.blobs("signed", key="i64")
    b.put_many([3, -1, -(2**63)], [b"x"] * 3)
    assert [key for key, _ in b.scan()] == [-(2**63), -1, 3]


def test_what_is_no_key_or_no_value_is_refused(b: quipu.Blobs) -> None:
    with pytest.raises(quipu.InvalidInputError, match="a key is an integer from 0"):
        b[-1] = b"x"
    with pytest.raises(TypeError, match="encode"):
        b[1] = "text"  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        b["text"] = b"x"
    with pytest.raises(TypeError, match="a list of bytes"):
        b.put_many([1], b"x")  # pyright: ignore[reportArgumentType]
    b[1] = bytearray(b"array")
    b[2] = memoryview(b"view")
    assert b.get_many([1, 2]) == [b"array", b"view"]


def test_a_value_in_pieces(b: quipu.Blobs) -> None:
    value = random.Random(1).randbytes(1_000_000)
    with b.writer(5) as writer:
        for at in range(0, len(value), 99_999):
            writer.write(value[at : at + 99_999])
        assert 5 not in b
    assert b[5] == value
    with b.reader(5) as reader:
        assert len(reader) == len(value)
        assert reader.read(10) == value[:10]
        assert reader.seek(-5, 2) == len(value) - 5
        assert reader.read() == value[-5:]
        assert reader.read() == b""
        assert reader.tell() == len(value)
    with pytest.raises(KeyError):
        b.reader(6)
    with pytest.raises(RuntimeError, match="on purpose"), b.writer(5) as writer:
        writer.write(b"x" * 600_000)
        raise RuntimeError("on purpose")
    assert b[5] == value


def test_a_value_in_pieces_is_whole_though_all_were_cleared_meanwhile(b: quipu.Blobs) -> None:
    value = random.Random(2).randbytes(1_000_000)
    b[6] = value
    with b.writer(5) as writer:
        writer.write(value[:600_000])
        b.clear()
        assert len(b) == 0
        writer.write(value[600_000:])
    assert list(b.items()) == [(5, value)]


def test_a_stream_of_long_values_comes_in_tables_of_some_mebibytes(b: quipu.Blobs) -> None:
    values = {key: random.Random(key).randbytes(1_000_000 if key % 4 else 10) for key in range(40)}
    for key, value in values.items():
        b[key] = value
    tables = [table.rows() for table in b.range()]
    assert dict(row for rows in tables for row in rows) == values
    assert all(sum(len(value) for _, value in rows) < 8_000_000 for rows in tables)
    assert dict(b.items()) == values
    b.clear()
    b.put_many(range(5000), [b"short"] * 5000)
    assert [len(table) for table in b.range()] == [4096, 904]


def test_a_value_past_a_quarter_of_the_memory_limit_is_put_outside_of_a_transaction() -> None:
    with quipu.open(memory_limit="64MB", cache="8MB") as db:
        b = db.blobs("pages")
        value = random.Random(3).randbytes(20_000_000)
        b[1] = value
        assert b[1] == value
        with pytest.raises(quipu.LimitError), db.transaction() as tx:
            tx.blobs("pages")[2] = value
        with pytest.raises(quipu.LimitError):
            b.put_many([2, 3], [value, b""])
        assert len(b) == 1


def test_a_sample_and_a_measure(b: quipu.Blobs) -> None:
    assert b.sample(3).rows() == []
    b.put_many(range(500), [b"%d" % i for i in range(500)])
    sample = b.sample(100, seed=1)
    assert len(sample) == 100
    assert all(value == b"%d" % key for key, value in sample)
    assert sample.rows() == b.sample(100, seed=1).rows()
    assert b.sample(100, seed=0).rows() == b.sample(100, seed=0).rows()
    assert b.measure()["rows"] > 0


def test_each_sample_is_drawn_anew_unless_a_seed_is_given(b: quipu.Blobs) -> None:
    b.put_many(range(500), [b""] * 500)
    first, second = b.sample(100).rows(), b.sample(100).rows()
    assert first != second
    assert b.sample(100, seed=None).rows() not in (first, second)


def test_blobs_in_a_transaction(db: quipu.Database, b: quipu.Blobs) -> None:
    b[1] = b"one"
    with db.transaction() as tx:
        inside = tx.blobs("pages")
        inside[2] = b"two" * 100_000
        del inside[1]
        assert (1 in inside, 1 in b, 2 in b) == (False, True, False)
    assert (1 in b, len(b[2])) == (False, 300_000)


def test_names_belong_to_one_thing(db: quipu.Database, b: quipu.Blobs) -> None:
    with pytest.raises(quipu.InvalidInputError):
        db.graph("pages")
    with pytest.raises(quipu.InvalidInputError):
        db.blobs("pages", key="str")
    assert db.blobs("pages").key == "u64"
    assert db.drop("pages") is True
    assert db.drop("pages") is False
    with pytest.raises(quipu.InvalidInputError):
        b[1] = b"x"


def test_a_reader_process_sees_blobs(folder: Path) -> None:
    with quipu.open(folder, durability="os") as db:
        db.blobs("pages")[1] = b"one"
        with quipu.open(folder, read_only=True) as follower:
            b = follower.blobs("pages")
            assert b[1] == b"one"
            with pytest.raises(quipu.InvalidInputError):
                b[2] = b"two"
            with pytest.raises(quipu.InvalidInputError, match="no blobs"):
                follower.blobs("others")


def test_stats_tell_of_blobs(db: quipu.Database, b: quipu.Blobs) -> None:
    b[1] = b"x" * 100_000
    b[2] = b"y"
    db.flush()
    (stats,) = db.stats()["blobs"]
    assert (stats["name"], stats["rows"]) == ("pages", 2)
    assert stats["disk_bytes"] > 100


def test_a_backup_holds_blobs_and_counters(tmp_path: Path) -> None:
    value = random.Random(2).randbytes(300_000)
    with quipu.open(tmp_path / "db", durability="none") as db:
        db.blobs("pages")[1] = value
        db.counters("hits").add(5, 3)
        db.backup(tmp_path / "backup.qbak")
    quipu.restore(tmp_path / "backup.qbak", tmp_path / "new")
    with quipu.open(tmp_path / "new") as db:
        assert db.blobs("pages")[1] == value
        assert db.counters("hits")[5] == 3


@pytest.mark.parametrize("key", ["u64", "i64", "str"])
def test_a_loop_is_over_the_keys_and_reads_no_values(db: quipu.Database, key: Literal["u64", "i64", "str"]) -> None:
    b = db.blobs("pages", key=key)
    assert list(b) == []
    keys: list[Any] = sorted(map(str, range(10_000))) if key == "str" else list(range(10_000))
    b.put_many(keys, [b"x"] * len(keys))
    b[keys[0]] = bytes(1 << 20)
    assert list(b) == keys
    del b[keys[0]]
    with db.transaction() as tx:
        inside = tx.blobs("pages")
        del inside[keys[1]]
        assert list(inside) == keys[2:]
        assert list(b) == keys[1:]


@pytest.mark.parametrize("key", ["u64", "i64", "str"])
def test_keys_of_a_range_come_without_their_values(db: quipu.Database, key: Literal["u64", "i64", "str"]) -> None:
    b, c = db.blobs("pages", key=key), db.counters("hits", key=key)
    keys: list[Any] = sorted(map(str, range(10_000))) if key == "str" else list(range(10_000))
    b.put_many(keys, [b"x"] * len(keys))
    c.add_many(keys)
    for of in (b, c):
        assert list(of.keys()) == list(of) == keys
        assert list(of.keys(keys[9_000])) == keys[9_000:]
        assert list(of.keys(None, stop=keys[7])) == keys[:7]
        assert list(of.keys(start=keys[5], stop=keys[8])) == keys[5:8]
        assert list(of.keys(keys[8], keys[5])) == []
        assert type(of.keys()) is type(iter(of))
    assert dict(b) == dict.fromkeys(keys, b"x")
    held = b.keys(keys[1])
    b.clear()
    assert list(held) == keys[1:]
    with pytest.raises(TypeError, match="a key"):
        b.keys(0.5)  # pyright: ignore[reportArgumentType]


def test_blobs_and_counters_are_true_also_where_there_are_none(db: quipu.Database) -> None:
    b, c = db.blobs("pages"), db.counters("hits")
    assert (len(b), len(c)) == (0, 0)
    assert (bool(b), bool(c)) == (True, True)
