"""Atomicity, snapshots, and conflicts."""

from __future__ import annotations

import pytest
import quipu


@pytest.fixture
def g(db: quipu.Database) -> quipu.Graph:
    """A graph of one edge."""
    graph = db.graph("g", weight="int64")
    graph.upsert(1, 2, 10)
    return graph


def test_nothing_is_seen_before_the_end_of_the_block(db: quipu.Database, g: quipu.Graph) -> None:
    with db.transaction() as tx:
        inside = tx.graph("g")
        inside.upsert(3, 4, 5)
        inside.remove(1, 2)
        assert (inside.edge(3, 4), inside.edge(1, 2)) == (5, None)
        assert (g.edge(3, 4), g.edge(1, 2)) == (None, 10)
    assert (g.edge(3, 4), g.edge(1, 2)) == (5, None)


def test_an_exception_rolls_back(db: quipu.Database, g: quipu.Graph) -> None:
    with pytest.raises(RuntimeError, match="on purpose"), db.transaction() as tx:
        tx.graph("g").upsert(3, 4, 5)
        raise RuntimeError("on purpose")
    assert g.edge(3, 4) is None
    assert len(g) == 1


def test_a_transaction_sees_one_moment(db: quipu.Database, g: quipu.Graph) -> None:
    with db.transaction() as tx:
        inside = tx.graph("g")
        assert inside.edge(1, 2) == 10
        g.upsert(1, 2, 11)
        g.upsert(5, 6, 1)
        assert inside.edge(1, 2) == 10
        assert inside.number_of_edges() == 1
        assert inside.neighbors(5).tolist() == []


def test_the_first_to_commit_wins(db: quipu.Database, g: quipu.Graph) -> None:
    first, second = db.transaction(), db.transaction()
    first.graph("g").upsert(1, 2, 20)
    second.graph("g").upsert(1, 2, 30)
    second.graph("g").upsert(7, 8, 1)
    first.commit()
    with pytest.raises(quipu.ConflictError):
        second.commit()
    assert g.edge(1, 2) == 20
    assert g.edge(7, 8) is None


def test_writes_of_different_edges_do_not_conflict(db: quipu.Database, g: quipu.Graph) -> None:
    first, second = db.transaction(), db.transaction()
    first.graph("g").upsert(1, 3, 1)
    second.graph("g").upsert(1, 4, 1)
    first.commit()
    second.commit()
    assert g.successors(1).tolist() == [2, 3, 4]


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_write_skew_is_stopped_only_by_serializable(db: quipu.Database, g: quipu.Graph, isolation: str) -> None:
    # Two doctors are on call; each leaves because the other one is there.
    g.upsert(1, 1, 1)
    g.upsert(2, 2, 1)
    first, second = (db.transaction(isolation) for _ in range(2))  # pyright: ignore[reportArgumentType]
    assert first.graph("g").has_edge(2, 2)
    assert second.graph("g").has_edge(1, 1)
    first.graph("g").remove(1, 1)
    second.graph("g").remove(2, 2)
    first.commit()
    if isolation == "serializable":
        with pytest.raises(quipu.ConflictError):
            second.commit()
        assert g.has_edge(2, 2)
    else:
        second.commit()
        assert not g.has_edge(2, 2)


def test_a_transaction_ends_once(db: quipu.Database, g: quipu.Graph) -> None:
    tx = db.transaction()
    inside = tx.graph("g")
    inside.upsert(3, 4, 5)
    tx.commit()
    with pytest.raises(quipu.InvalidInputError):
        tx.commit()
    with pytest.raises(quipu.InvalidInputError):
        inside.upsert(5, 6, 7)
    tx.rollback()
    assert g.edge(3, 4) == 5
    with db.transaction() as tx:
        tx.graph("g").upsert(9, 9, 9)
        tx.rollback()
    assert g.edge(9, 9) is None


def test_a_transaction_may_cover_several_graphs(db: quipu.Database, g: quipu.Graph) -> None:
    other = db.graph("other", vertex="str")
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.graph("g").upsert(3, 4, 5)
        tx.graph("other").upsert("a", "b")
        raise ZeroDivisionError
    assert (len(g), len(other)) == (1, 0)
    with db.transaction() as tx:
        tx.graph("g").upsert(3, 4, 5)
        tx.graph("other").upsert("a", "b")
    assert (len(g), len(other)) == (2, 1)
    with pytest.raises(quipu.InvalidInputError):
        db.transaction().graph("nowhere")
