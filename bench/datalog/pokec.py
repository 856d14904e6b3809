"""The Pokec queries (Memgraph's benchmark, as Cozo measured them) as scripts, SQL and Cypher.

Relations: ``user{uid => cmpl_pct, gender?, age?}`` (``users`` in SQL), ``friends{fr, to}`` and,
only for scripts, the reversed pairs as ``friends.rev{to, fr}``. ``$id`` is a user, ``$other``
another one.
"""

from dataclasses import dataclass

ADULT = "(age ~ 0) >= 18"
SQL_ADULT = "coalesce(u.age, 0) >= 18"


@dataclass
class Query:
    """One query in three languages; None where a language cannot express it."""

    script: str
    sql: str | None
    cypher: str | None


def expansion(hops: int, adults: bool) -> Query:
    """The users reachable in exactly `hops` steps.

    From three hops on there is a rule per step, so that no user is expanded twice.
    """
    end = f", *user{{uid: to, age}}, {ADULT}" if adults else ""
    layers = ["l1[to] := *friends{fr: $id, to}"]
    layers += [f"l{k}[to] := l{k - 1}[fr], *friends{{fr, to}}" for k in range(2, hops)]
    joined, where = "", ""
    if adults:
        joined, where = ' join users u on u.uid = f."to"', f" where {SQL_ADULT}"
    if hops == 1:
        script = f"?[to] := *friends{{fr: $id, to}}{end}"
        sql = f'select distinct f."to" from friends f{joined} where f.fr = $id{" and " + SQL_ADULT if adults else ""}'
    elif hops == 2:
        script = f"?[to] := *friends{{fr: $id, to: a}}, *friends{{fr: a, to}}{end}"
        sql = (
            f'select distinct f."to" from friends a join friends f on a."to" = f.fr{joined} '
            f"where a.fr = $id{' and ' + SQL_ADULT if adults else ''}"
        )
    else:
        script = "\n".join([*layers, f"?[to] := l{hops - 1}[fr], *friends{{fr, to}}{end}"])
        tables = ['l1 as (select distinct "to" from friends where fr = $id)']
        step = 'l{} as (select distinct f."to" from l{} l join friends f on l."to" = f.fr)'
        tables += [step.format(k, k - 1) for k in range(2, hops)]
        sql = (
            f'with {", ".join(tables)} select distinct f."to" from l{hops - 1} l '
            f'join friends f on l."to" = f.fr{joined}{where}'
        )
    if hops <= 2:
        cypher = f"MATCH (s:users {{uid: $id}}){'-[:friends]->()' * (hops - 1)}-[:friends]->(v:users)"
    else:
        cypher = "MATCH (s:users {uid: $id})-[:friends]->(l1:users)"
        for k in range(2, hops):
            cypher += f" WITH DISTINCT l{k - 1} MATCH (l{k - 1})-[:friends]->(l{k}:users)"
        cypher += f" WITH DISTINCT l{hops - 1} MATCH (l{hops - 1})-[:friends]->(v:users)"
    if adults:
        cypher += " WHERE coalesce(v.age, 0) >= 18"
    return Query(script, sql, f"{cypher} RETURN DISTINCT v.uid")


def neighbours(adults: bool, data: bool) -> Query:
    """The users reachable in one or two steps, with attributes if `data` is set."""
    columns = "to, cmpl_pct, gender, age" if data else "to"
    end = ""
    if data:
        end = ", *user{uid: to, cmpl_pct, gender, age}"
    elif adults:
        end = ", *user{uid: to, age}"
    end += f", {ADULT}" if adults else ""
    script = (
        f"?[{columns}] := *friends{{fr: $id, to}}{end}\n"
        f"?[{columns}] := *friends{{fr: $id, to: a}}, *friends{{fr: a, to}}{end}"
    )
    inner = (
        'select "to" from friends where fr = $id union '
        'select b."to" from friends a join friends b on a."to" = b.fr where a.fr = $id'
    )
    sql = inner
    if adults or data:
        picked = 'n."to", u.cmpl_pct, u.gender, u.age' if data else 'n."to"'
        sql = f'select {picked} from ({inner}) n join users u on u.uid = n."to"'
        sql += f" where {SQL_ADULT}" if adults else ""
    where = " WHERE coalesce(v.age, 0) >= 18" if adults else ""
    picked = "v.uid, v.cmpl_pct, v.gender, v.age" if data else "v.uid"
    cypher = f"MATCH (s:users {{uid: $id}})-[:friends*1..2]->(v:users){where} RETURN DISTINCT {picked}"
    return Query(script, sql, cypher)


READS: dict[str, Query] = {
    "single_vertex_read": Query(
        "?[cmpl_pct, gender, age] := *user{uid: $id, cmpl_pct, gender, age}",
        "select cmpl_pct, gender, age from users where uid = $id",
        "MATCH (u:users {uid: $id}) RETURN u.cmpl_pct, u.gender, u.age",
    ),
    **{f"expansion_{k}": expansion(k, adults=False) for k in (1, 2, 3, 4)},
    **{f"expansion_{k}_filter": expansion(k, adults=True) for k in (1, 2, 3, 4)},
    "neighbours_2": neighbours(adults=False, data=False),
    "neighbours_2_filter": neighbours(adults=True, data=False),
    "neighbours_2_data": neighbours(adults=False, data=True),
    "neighbours_2_filter_data": neighbours(adults=True, data=True),
    "pattern_cycle": Query(
        "?[n, m] := n = $id, *friends{fr: n, to: m}, *friends{fr: m, to: n}",
        'select a.fr, a."to" from friends a join friends b on a."to" = b.fr and b."to" = a.fr where a.fr = $id',
        "MATCH (n:users {uid: $id})-[:friends]->(m:users)-[:friends]->(n) RETURN n.uid, m.uid",
    ),
    "pattern_long": Query(
        "?[e] := *friends{fr: $id, to: b}, *friends{fr: b, to: c}, *friends{fr: c, to: d}, "
        "*friends.rev{to: d, fr: e} :limit 1",
        'select e.fr from friends a join friends b on a."to" = b.fr join friends c on b."to" = c.fr '
        'join friends e on e."to" = c."to" where a.fr = $id limit 1',
        "MATCH (s:users {uid: $id})-[:friends]->(b)-[:friends]->(c)-[:friends]->(d)<-[:friends]-(e) "
        "RETURN e.uid LIMIT 1",
    ),
    "pattern_short": Query(
        "?[to] := *friends{fr: $id, to} :limit 1",
        'select "to" from friends where fr = $id limit 1',
        "MATCH (s:users {uid: $id})-[:friends]->(v) RETURN v.uid LIMIT 1",
    ),
    "aggregation_group": Query(
        "?[age, count(uid)] := *user{uid, age}",
        "select age, count(uid) from users group by age",
        "MATCH (u:users) RETURN u.age, count(u.uid)",
    ),
    "aggregation_count": Query(
        "?[count(uid), count(age)] := *user{uid, age}",
        "select count(uid), count(*) from users",
        "MATCH (u:users) RETURN count(u.uid), count(*)",
    ),
    "aggregation_filter": Query(
        f"?[age, count(age)] := *user{{age}}, {ADULT}",
        "select age, count(age) from users where coalesce(age, 0) >= 18 group by age",
        "MATCH (u:users) WHERE coalesce(u.age, 0) >= 18 RETURN u.age, count(u.age)",
    ),
    "aggregation_min_max": Query(
        "?[min(uid), max(uid), mean(uid)] := *user{uid}",
        "select min(uid), max(uid), avg(uid) from users",
        "MATCH (u:users) RETURN min(u.uid), max(u.uid), avg(u.uid)",
    ),
    "pagerank": Query("?[user, rank] <~ PageRank(*friends[])", None, None),
}
"""Queries that change nothing."""

WRITES: dict[str, Query] = {
    "single_vertex_write": Query(
        "?[uid, cmpl_pct, gender, age] <- [[$id, 0, null, null]] :put user {uid => cmpl_pct, gender, age}",
        "insert or replace into users values ($id, 0, null, null)",
        "MERGE (u:users {uid: $id}) SET u.cmpl_pct = 0, u.gender = null, u.age = null",
    ),
    "single_edge_write": Query(
        "{?[fr, to] <- [[$id, $other]] :put friends {fr, to}}\n"
        "{?[fr, to] <- [[$id, $other]] :put friends.rev {to, fr}}",
        "insert into friends select $id, $other "
        'where not exists (select 1 from friends where fr = $id and "to" = $other)',
        "MATCH (a:users {uid: $id}), (b:users {uid: $other}) MERGE (a)-[:friends]->(b)",
    ),
    "single_vertex_update": Query(
        "?[uid, cmpl_pct, gender, age] := uid = $id, *user{uid, cmpl_pct: before, gender, age}, "
        "cmpl_pct = mod(before + 1, 100) :put user {uid => cmpl_pct, gender, age}",
        "update users set cmpl_pct = (cmpl_pct + 1) % 100 where uid = $id",
        "MATCH (u:users {uid: $id}) SET u.cmpl_pct = (u.cmpl_pct + 1) % 100",
    ),
}
"""Queries with changes, and their reads."""

MIXES: dict[str, tuple[int, int, int]] = {
    "mix_90_5_5": (90, 5, 5),
    "mix_70_15_15": (70, 15, 15),
    "mix_50_25_25": (50, 25, 25),
    "mix_30_35_35": (30, 35, 35),
}
"""Of a hundred calls how many read a user, update one, write one."""


MIXED: dict[str, str] = {f"mixed_{name}": name for name in READS if name != "single_vertex_read"}
"""Analytic queries, of whose calls three in ten change something instead."""


def change(call: int) -> str | None:
    """The change that a call of a mixed query makes; None where it is the query itself."""
    return list(WRITES)[call // 3 % len(WRITES)] if call % 10 in (2, 5, 8) else None


def drawn(mix: str, user: int) -> str:
    """The query of a mix that a call for this user runs."""
    reads, updates, _ = MIXES[mix]
    place = user * 2_654_435_761 % 2**32 * 100 // 2**32
    if place < reads:
        return "single_vertex_read"
    return "single_vertex_update" if place < reads + updates else "single_vertex_write"
