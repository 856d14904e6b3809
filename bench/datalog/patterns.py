"""The nine patterns of LSQB as scripts, SQL and Cypher, over the relations of `lsqb.py`.

The seventh has two forms.
"""

QUERIES: dict[str, tuple[str, str, str]] = {
    "q1": (
        "?[count(c)] := *part[c, country], *lives[p, c], *member[f, p], *contains[f, m], *reply[k, m], "
        "*tagged[k, t], *class[t, tc]",
        "select count(*) from part, lives, member, contains, reply, tagged, class "
        "where lives.city = part.city and member.person = lives.person "
        "and contains.forum = member.forum and reply.message = contains.post "
        "and tagged.message = reply.comment and class.tag = tagged.tag",
        "MATCH (co:place)<-[:part]-(ci:place)<-[:lives]-(p:person)<-[:member]-(f:forum)"
        "-[:contains]->(m:message)<-[:reply]-(k:message)-[:tagged]->(t:tag)"
        "-[:class]->(tc:tagclass) RETURN count(*)",
    ),
    "q2": (
        "?[count(a)] := *knows[a, b], *created[k, a], *reply[k, m], *created[m, b]",
        "select count(*) from knows, created c, reply r, created m where c.person = knows.p1 "
        "and r.comment = c.message and m.message = r.message and m.person = knows.p2",
        "MATCH (a:person)-[:knows]->(b:person), (a)<-[:created]-(k:message)-[:reply]->(m:message)"
        "-[:created]->(b) RETURN count(*)",
    ),
    "q3": (
        "?[count(a)] := *knows[a, b], *knows[b, c], *knows[c, a], *lives[a, x], *part[x, z], *lives[b, "
        "y], *part[y, z], *lives[c, w], *part[w, z]",
        "select count(*) from knows k1, knows k2, knows k3, lives l1, lives l2, lives l3, part q1, "
        "part q2, part q3 where k2.p1 = k1.p2 and k3.p1 = k2.p2 and k3.p2 = k1.p1 "
        "and l1.person = k1.p1 and l2.person = k2.p1 and l3.person = k3.p1 and q1.city = l1.city "
        "and q2.city = l2.city and q3.city = l3.city and q1.country = q2.country "
        "and q2.country = q3.country",
        "MATCH (a:person)-[:knows]->(b:person)-[:knows]->(c:person)-[:knows]->(a), (a)"
        "-[:lives]->(x:place)-[:part]->(z:place), (b)-[:lives]->(y:place)-[:part]->(z), (c)"
        "-[:lives]->(w:place)-[:part]->(z) RETURN count(*)",
    ),
    "q4": (
        "?[count(m)] := *tagged[m, t], *created[m, p], *liked[m, l], *reply[k, m]",
        "select count(*) from tagged t, created c, liked l, reply r where c.message = t.message "
        "and l.message = t.message and r.message = t.message",
        "MATCH (t:tag)<-[:tagged]-(m:message)-[:created]->(p:person), (m)-[:liked]->(l:person), (m)<"
        "-[:reply]-(k:message) RETURN count(*)",
    ),
    "q5": (
        "?[count(m)] := *tagged[m, s], *reply[k, m], *tagged[k, t], s != t",
        "select count(*) from tagged a, reply r, tagged b where r.message = a.message "
        "and b.message = r.comment and a.tag <> b.tag",
        "MATCH (s:tag)<-[:tagged]-(m:message)<-[:reply]-(k:message)-[:tagged]->(t:tag) "
        "WHERE s.id <> t.id RETURN count(*)",
    ),
    "q6": (
        "?[count(a)] := *knows[a, b], *knows[b, c], a != c, *interest[c, t]",
        "select count(*) from knows k1, knows k2, interest i where k2.p1 = k1.p2 and k1.p1 <> k2.p2 "
        "and i.person = k2.p2",
        "MATCH (a:person)-[:knows]->(b:person)-[:knows]->(c:person)-[:interest]->(t:tag) "
        "WHERE a.id <> c.id RETURN count(*)",
    ),
    "q7": (
        "likers[m, l] := *liked[m, l]\n"
        "likers[m, l] := *tagged[m, _], not *liked[m, _], l = null\n"
        "replies[m, k] := *reply[k, m]\n"
        "replies[m, k] := *tagged[m, _], not *reply[_, m], k = null\n"
        "?[count(m)] := *tagged[m, t], *created[m, p], likers[m, l], replies[m, k]",
        "select count(*) from tagged t join created c on c.message = t.message "
        "left join liked l on l.message = t.message left join reply r on r.message = t.message",
        "MATCH (t:tag)<-[:tagged]-(m:message)-[:created]->(p:person) OPTIONAL MATCH (m)"
        "-[:liked]->(l:person) OPTIONAL MATCH (m)<-[:reply]-(k:message) RETURN count(*)",
    ),
    "q8": (
        "?[count(m)] := *tagged[m, s], *reply[k, m], *tagged[k, t], s != t, not *tagged[k, s]",
        "select count(*) from tagged a, reply r, tagged b where r.message = a.message "
        "and b.message = r.comment and a.tag <> b.tag and not exists (select 1 from tagged x "
        "where x.message = r.comment and x.tag = a.tag)",
        "MATCH (s:tag)<-[:tagged]-(m:message)<-[:reply]-(k:message)-[:tagged]->(t:tag) "
        "WHERE s.id <> t.id AND NOT EXISTS { MATCH (k)-[:tagged]->(s) } RETURN count(*)",
    ),
    "q9": (
        "?[count(a)] := *knows[a, b], *knows[b, c], a != c, not *knows[a, c], *interest[c, t]",
        "select count(*) from knows k1, knows k2, interest i where k2.p1 = k1.p2 and k1.p1 <> k2.p2 "
        "and i.person = k2.p2 and not exists (select 1 from knows x where x.p1 = k1.p1 and x.p2 = k2.p2)",
        "MATCH (a:person)-[:knows]->(b:person)-[:knows]->(c:person)-[:interest]->(t:tag) "
        "WHERE a.id <> c.id AND NOT EXISTS { MATCH (a)-[:knows]->(c) } RETURN count(*)",
    ),
}
"""Of each the script, the SQL and the Cypher."""

QUERIES["q7_rules"] = (
    "?[count(m)] := *tagged[m, t], *created[m, p], *liked[m, l], *reply[k, m]\n"
    "?[count(m)] := *tagged[m, t], *created[m, p], *liked[m, l], not *reply[_, m]\n"
    "?[count(m)] := *tagged[m, t], *created[m, p], not *liked[m, _], *reply[k, m]\n"
    "?[count(m)] := *tagged[m, t], *created[m, p], not *liked[m, _], not *reply[_, m]",
    *QUERIES["q7"][1:],
)
"""The same as rules of the answer, where `q7` joins two unions."""
