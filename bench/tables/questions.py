"""The questions: everyday ones to posts, users, tags and follows, in Datalog and in SQL.

`$name` in a script and `:name` in SQL are parameters. Times of posts are distinct, so that an order
has one result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from data import AUTHOR_OF_MANY, DAY, FIRST, authors


@dataclass(frozen=True)
class Question:
    """A question."""

    name: str
    script: str
    sql: str
    group: str = "rest"
    """`sorted`, `change`, `scan` or `rest`: the target ratio depends on it."""
    params: dict[str, Any] = field(default_factory=dict)
    is_ordered: bool = False
    as_arrow: bool = False
    """Whether the result is fetched as Arrow; otherwise as Python rows."""
    undo: tuple[str, str] | None = None
    """Script and SQL that take a change back, not timed."""


TARGETS = {"sorted": 1.0, "change": 1.0, "scan": 1.5, "rest": 2.0}
"""By group, the aim for the ratio to the best peer's time."""

QUARTER = 4
"""The relation `spare` has the first `1 / QUARTER` of the posts: what a delete takes back."""


def sorted_access(posts: int) -> Iterator[Question]:
    """First rows in an order that an index or the key has."""
    middle = FIRST + posts // 2 * 3
    question = partial(Question, group="sorted", is_ordered=True)
    yield question(
        "newest 10 of the author of a third",
        f"?[id, ts, body] := *posts{{id, author: {AUTHOR_OF_MANY}, ts, body}} :order -ts :limit 10",
        f"select id, ts, body from posts where author = {AUTHOR_OF_MANY} order by ts desc limit 10",
    )
    yield question(
        "newest 10",
        "?[id, ts] := *posts{id, ts} :order -ts :limit 10",
        "select id, ts from posts order by ts desc limit 10",
    )
    yield question(
        "next 10 after a time, with bodies",
        "?[id, ts, body] := *posts{id, ts, body}, ts > $t :order ts :limit 10",
        "select id, ts, body from posts where ts > :t order by ts limit 10",
        params={"t": middle},
    )
    yield question(
        "next 10 after a key",
        "?[id, ts] := *posts{id, ts}, id > $k :order id :limit 10",
        "select id, ts from posts where id > :k order by id limit 10",
        params={"k": posts // 2},
    )
    yield question(
        "10 before a key, backwards",
        "?[id, ts] := *posts{id, ts}, id < $k :order -id :limit 10",
        "select id, ts from posts where id < :k order by id desc limit 10",
        params={"k": posts // 2},
    )
    yield question(
        "a page, as keyset paging asks",
        "?[id, ts] := *posts{id, ts}, ts < $t || (ts == $t && id < $i) :order -ts, -id :limit 10",
        "select id, ts from posts where ts < :t or (ts = :t and id < :i) order by ts desc, id desc limit 10",
        params={"t": middle, "i": posts // 2},
    )
    yield question("max(ts)", "?[max(ts)] := *posts{ts}", "select max(ts) from posts")
    yield question("max(id)", "?[max(id)] := *posts{id}", "select max(id) from posts")
    yield question(
        "min(ts) of an author",
        "?[min(ts)] := *posts{author: 5, ts}",
        "select min(ts) from posts where author = 5",
    )
    yield question(
        "newest 20 of all whom one follows",
        "?[id, ts] := *follows{src: $u, dst: a}, *posts{id, author: a, ts} :order -ts :limit 20",
        "select p.id, p.ts from follows f join posts p on p.author = f.dst where f.src = :u "
        "order by p.ts desc limit 20",
        params={"u": 7},
    )


def scans(posts: int) -> Iterator[Question]:
    """Filters and expressions over all posts."""
    some = list(range(1, authors(posts), max(authors(posts) // 50, 1)))[:50]
    many = list(range(1, authors(posts), max(authors(posts) // 300, 1)))[:300]
    question = partial(Question, group="scan")

    def count(name: str, condition: str, sql: str, **params: Any) -> Question:
        columns = ", ".join(c for c in ("author", "ts", "lang", "score", "body") if c in condition)
        return question(
            name,
            f"?[count(id)] := *posts{{id, {columns}}}, {condition}",
            f"select count(*) from posts where {sql}",
            params=params,
        )

    yield question(
        "length(body) summed",
        "?[sum(n)] := *posts{id, body}, n = length(body)",
        "select sum(length(body)) from posts",
    )
    yield count("str_includes", "str_includes(body, 'word777')", "body like '%word777%'")
    yield count("starts_with", "starts_with(body, 'word77')", "body like 'word77%'")
    yield count("body = 'zzz'", "body == 'zzz'", "body = 'zzz'")
    yield count("regex", "regex_matches(body, 'word7[0-9] ')", "matches(body, 'word7[0-9] ')")
    yield count("lang != 'de'", "lang != 'de'", "lang <> 'de'")
    yield count("uppercase(lang)", "uppercase(lang) == 'DE'", "upper(lang) = 'DE'")
    yield question(
        "if(lang == 'de', score, 0.0) summed",
        "?[sum(n)] := *posts{id, lang, score}, n = if(lang == 'de', score, 0.0)",
        "select sum(case when lang = 'de' then score else 0.0 end) from posts",
    )
    yield count("score in a range", "score > 0.5, score < 0.6", "score > 0.5 and score < 0.6")
    yield count("ts % 100 == 3", "ts % 100 == 3", "ts % 100 = 3")
    yield count("or of two", "score > 0.9 || ts % 10 == 3", "score > 0.9 or ts % 10 = 3")
    yield question(
        "score * 2.0 + 1.0 summed",
        "?[sum(n)] := *posts{id, score}, n = score * 2.0 + 1.0",
        "select sum(score * 2.0 + 1.0) from posts",
    )
    for name, members in (("fifty", some), ("three hundred", many)):
        sql = ", ".join(map(str, members))
        yield count(f"is_in of {name}", "is_in(author, $members)", f"author in ({sql})", members=members)


def groups(_: int) -> Iterator[Question]:
    """Aggregates by group."""
    yield Question(
        "group by lang, two aggregates",
        "?[lang, count(id), sum(score)] := *posts{id, lang, score}",
        "select lang, count(*), sum(score) from posts group by lang",
    )
    yield Question(
        "group by day",
        f"?[day, count(id)] := *posts{{id, ts}}, day = ts - (ts % {DAY})",
        f"select ts - ts % {DAY}, count(*) from posts group by 1",
    )
    yield Question(
        "count_unique(author)",
        "?[count_unique(author)] := *posts{author}",
        "select count(distinct author) from posts",
    )
    yield Question(
        "group by author, ten with most",
        "c[author, count(id)] := *posts{id, author} ?[n, author] := c[author, n] :order -n, author :limit 10",
        "select count(*), author from posts group by author order by 1 desc, 2 limit 10",
    )


def outputs(_: int) -> Iterator[Question]:
    """Many rows."""
    yield Question(
        "three columns to Arrow",
        "?[id, author, score] := *posts{id, author, score}",
        "select id, author, score from posts",
        as_arrow=True,
    )
    yield Question(
        "id and body to Arrow",
        "?[id, body] := *posts{id, body}",
        "select id, body from posts",
        as_arrow=True,
    )
    yield Question(
        "sorted by text, first 10",
        "?[body, id] := *posts{id, body} :order body, id :limit 10",
        "select body, id from posts order by body, id limit 10",
        is_ordered=True,
    )


def joins(_: int) -> Iterator[Question]:
    """Joins of two and three tables."""
    yield Question(
        "a rare city, a common tag",
        "?[p] := *users{id: a, city: 'city120'}, *posts{id: p, author: a}, *tags{post: p, tag: 'tag1'}",
        "select p.id from users u join posts p on p.author = u.id join tags t on t.post = p.id "
        "where u.city = 'city120' and t.tag = 'tag1'",
    )
    yield Question(
        "follows within a city",
        "?[count(a)] := *follows{src: a, dst: b}, *users{id: a, city}, *users{id: b, city}",
        "select count(*) from follows f join users u on u.id = f.src join users v on v.id = f.dst "
        "where u.city = v.city",
    )
    yield Question(
        "posts by city of their authors",
        "?[city, count(p)] := *posts{id: p, author: a}, *users{id: a, city}",
        "select u.city, count(*) from posts p join users u on u.id = p.author group by u.city",
    )


def changes(posts: int) -> Iterator[Question]:
    """Changes of many rows, each one transaction."""
    half, quarter, fortieth = posts // 2, posts // QUARTER, posts // 40
    question = partial(Question, group="change")

    def update(name: str, condition: str, sql: str) -> Question:
        def shift(sign: str) -> tuple[str, str]:
            return (
                f"?[id, score] := *posts{{id, score: s}}, {condition}, score = s {sign} 1.0 "
                ":update posts {id => score}",
                f"update posts set score = score {sign} 1.0 where {sql}",
            )

        return question(name, *shift("+"), undo=shift("-"))

    yield update("update of half of the rows, in a column no index has", f"id < {half}", f"id < {half}")
    yield update(
        "update of a range of keys, a 40th",
        f"id >= {half}, id < {half + fortieth}",
        f"id >= {half} and id < {half + fortieth}",
    )
    yield question(
        "delete of a quarter of the rows",
        f"?[id] := *posts{{id}}, id < {quarter} :rm posts {{id}}",
        f"delete from posts where id < {quarter}",
        undo=(
            "?[id, author, ts, lang, score, body] := *spare{id, author, ts, lang, score, body} "
            ":put posts {id => author, ts, lang, score, body}",
            "insert into posts select * from spare",
        ),
    )


def all_questions(posts: int) -> list[Question]:
    """All questions to this many posts: those that read, then those that change."""
    return [
        question
        for questions in (sorted_access, scans, groups, outputs, joins, changes)
        for question in questions(posts)
    ]
