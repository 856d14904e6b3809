"""A process that ends while its threads run Python code that the database called.

Usage: `ending.py FOLDER SEED WORK...`.

Each kind of work has a daemon thread. Committed numbers are written to standard output, a line
each, before the next one starts. After a random time the main thread ends: by returning or by
`sys.exit`, with a stream that was read from, closed, or left alone.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import quipu

seed = int(sys.argv[2])
chance = random.Random(seed)
db = quipu.open(sys.argv[1], durability="sync" if seed % 2 else "os")


def pause() -> None:
    """Release the GIL for a moment, so that the interpreter may end meanwhile."""
    time.sleep(chance.random() * 0.002)


def rows(*_: object) -> Iterator[list[int]]:
    """Yield rows slowly."""
    for row in range(20):
        pause()
        yield [row]


def step(state: int, value: int) -> int:
    """Add slowly."""
    pause()
    return state + value


def acknowledged(number: int) -> None:
    """Report that a number is committed."""
    os.write(1, f"{number}\n".encode())


def in_a_rule() -> None:
    """Read a slow rule."""
    db.run("?[a] <~ Slow()")


def in_an_aggregate() -> None:
    """Sum slowly."""
    db.run("?[slow(x)] := x in [1, 2, 3, 4]")


numbers = iter(range(1_000_000))


def in_a_callback() -> None:
    """Commit a number, which calls a slow callback."""
    number = next(numbers)
    db.run("?[a] <- [[$a]] :put told {a}", {"a": number})
    acknowledged(number)


def in_an_iterable() -> None:
    """Put rows of a slow iterable."""
    db.relation("put").put(rows())


def in_an_import() -> None:
    """Load batches of a slow iterable."""

    def batches() -> Iterator[tuple[list[int], list[bytes]]]:
        for number in range(5):
            pause()
            yield [number], [b"x" * 100]

    db.blobs("loaded").load(batches())


def in_a_stream() -> None:
    """Read a slow rule by a stream."""
    for _ in db.stream("?[a] <~ Slow()"):
        pause()


def in_async_calls() -> None:
    """Read a slow rule from threads of asyncio."""

    async def calls() -> None:
        await asyncio.gather(*(asyncio.to_thread(in_a_rule) for _ in range(2)))

    asyncio.run(calls())


def in_a_transaction() -> None:
    """Put the rows of a slow rule in a transaction."""
    with db.transaction() as tx:
        tx.run("?[a] <~ Slow() :put put {a}")
        pause()


WORKS: dict[str, Callable[[], Any]] = {
    work.__name__: work
    for work in (
        in_a_rule,
        in_an_aggregate,
        in_a_callback,
        in_an_iterable,
        in_an_import,
        in_a_stream,
        in_async_calls,
        in_a_transaction,
    )
}


def for_ever(work: Callable[[], Any]) -> None:
    """Repeat one kind of work until the process is gone."""
    while True:
        try:
            work()
        except (quipu.ConflictError, quipu.InvalidInputError):
            # Two loads of the same keys, or two writers of the same rows, may conflict.
            pause()
        except RuntimeError:
            # Asyncio and executors start no threads while the interpreter ends.
            return


def main() -> None:
    """Start all kinds of work, and end."""
    for name in ("told", "put"):
        db.run(f":create {name} {{a: Int}}")
    db.register_callback("told", lambda *_: pause())
    db.register_fixed_rule("Slow", 1, rows)
    db.register_aggregate("slow", int, step)
    for name in sys.argv[3:] or list(WORKS):
        threading.Thread(target=for_ever, args=(WORKS[name],), daemon=True).start()
    left_open = db.stream("?[a] <~ Slow()")
    time.sleep(chance.random() * 0.1)
    how = chance.randrange(4)
    if how == 0:
        sys.exit(0)
    if how == 1:
        next(left_open)
    if how == 2:
        left_open.close()


main()
