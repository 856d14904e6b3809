"""Generates rules that apply graph algorithms."""

from __future__ import annotations

from rules import Rules
from text import Rule, Seq, Step, literal


class Algorithms(Rules):
    """Generates applications of algorithms, and queries with engine-independent results."""

    def algorithm_rules(self, name: str, below: list[Rule]) -> tuple[list[Seq], Rule] | None:
        """A rule that applies an algorithm, if there is something to apply it to."""
        r = self.r
        kind = r.choice(["int", "int", "int", "str"])
        sources = []
        for relation, columns in self.relations.items():
            some = [c for c in columns if c.kind == kind]
            if len(some) >= 2 and relation != "rl":
                a, b = r.sample(some, 2)
                numbers = [c for c in columns if c.kind == "int" and c not in (a, b)]
                sources.append((f"*{relation}{{{a.name}: x, {b.name}: y", "}", [c.name for c in numbers]))
        for rule in below:
            some = [i for i, of in enumerate(rule.kinds) if of == kind]
            if len(some) >= 2:
                a, b = r.sample(some, 2)
                args = ", ".join({a: "x", b: "y"}.get(i, "_") for i in range(len(rule.kinds)))
                sources.append((f"{rule.name}[{args}", "]", []))
        if not sources:
            return None
        begin, end, numbers = r.choice(sources)
        what = r.choice(NAMES)
        edge, made = f"{name}_e", f"{name}_f"
        # The weight is derived from the vertices: with parallel edges of equal weight, results
        # would be ambiguous.
        weight = "abs(x) + abs(y * 3 - 1)" if kind == "int" else "length(x) + length(y)"
        atom = begin + end
        if what == "DegreeCentrality" and numbers:
            atom, weight = f"{begin}, {r.choice(numbers)}: z{end}", "z"
        only = ", x < y" if what in ("MinimumSpanningForestKruskal", "ClusteringCoefficients") else ""
        rules = [f"{edge}[x, y, w] := {atom}, w = {weight}{r.choice(['', '', ' + 0.5'])}{only}"]
        if what in ("ConnectedComponents", "MinimumSpanningTreePrim") and self.chance(0.3):
            rules.append(f"{edge}[x, y, w] := {edge}[y, x, w]")
        for short in "sg":
            if self.chance(0.6):
                rows = ", ".join(f"[{literal(self.value(kind))}]" for _ in range(r.choice([1, 1, 2, 3])))
                rules.append(f"{name}_{short}[v] <- [{rows}]")
            else:
                rules.append(f"{name}_{short}[v] := {edge}[v, _, _], v > {literal(self.value(kind))}")
        rules += [f"{name}_n[v] := {edge}[v, _, _]", f"{name}_n[v] := {edge}[_, v, _]", f"{name}_n[v] := {name}_s[v]"]
        edges, starts, goals = f"{edge}[x, y, w]", f"{name}_s[sv]", f"{name}_g[gv]"
        nodes = f", {name}_n[v]" if self.chance(0.4) else ""
        undirected = r.choice(["", ", undirected: true", ", undirected: false"])
        args, head, body, kinds = {
            "ConnectedComponents": (edges + nodes, "v, c", f"{made}[x, c], {made}[y, c]", "kk"),
            "StronglyConnectedComponents": (edges + nodes, "v, c", f"{made}[x, c], {made}[y, c]", "kk"),
            "TopSort": (edges, "i, v", f"{edges}, {made}[i, x], {made}[j, y], i < j", "kk"),
            "DegreeCentrality": (edges + nodes, "v, a, b, c", f"{made}[x, y, z, u]", "kiii"),
            "ShortestPathBFS": (
                f"{edges}, {starts}, {goals}", "a, b, p", f"{made}[x, y, p], z = if(is_null(p), -1, length(p))", "kki",
            ),
            "ShortestPathDijkstra": (
                f"{edges}, {starts}{r.choice([f', {goals}', ''])}{undirected}", "a, b, c, p",
                f"{made}[x, y, c, p], x != y, is_finite(c), z = to_int(c * 2)", "kki",
            ),
            "KShortestPathYen": (
                f"{edges}, {starts}, {goals}, k: {r.choice([1, 2, 3, 5])}{undirected}", "a, b, c, p",
                f"{name}_c[x, y, c, z], x != y, is_finite(c), u = to_int(c * 2)", "kkii",
            ),
            "ShortestPathAStar": (
                f"{edges}, {name}_n[v], {starts}, {goals}, heuristic: 0", "a, b, c, p",
                f"{made}[x, y, c, p], x != y, is_finite(c), z = to_int(c * 2)", "kki",
            ),
            "MinimumSpanningForestKruskal": (edges, "a, b, c", f"{name}_c[c, y], x = to_int(c * 2)", "ii"),
            "MinimumSpanningTreePrim": (edges, "a, b, c", f"{name}_c[c, y], x = to_int(c * 2)", "ii"),
            "ClusteringCoefficients": (
                edges, "v, c, t, d", f"{made}[x, c, y, z], u = to_int(round(c * 1000))", "kiii",
            ),
            "PageRank": (
                f"{edges}, theta: 0.{r.choice('58')}, epsilon: 0.0, iterations: {r.choice([1, 3, 10])}{undirected}",
                "v, c", f"{made}[x, y]", "kr",
            ),
            "ClosenessCentrality": (edges + undirected, "v, c", f"{made}[x, y]", "kr"),
            "BetweennessCentrality": (edges + undirected, "v, c", f"{made}[x, y]", "kr"),
            "BFS": (
                f"{edges}, {name}_n[v], {starts}, condition: v > {literal(self.value(kind))}, limit: 1000", "a, b, p",
                f"{made}[x, y, _]", "kk",
            ),
            "DFS": (
                f"{edges}, {name}_n[v], {starts}, condition: v > {literal(self.value(kind))}, limit: 1000", "a, b, p",
                f"{made}[x, y, _]", "kk",
            ),
            "ReorderSort": (
                f"{edges}, out: [x, y], sort_by: {r.choice(['[w, x, y]', 'x', '[x]', 'w', '-w'])}"
                f"{r.choice(['', ', descending: true'])}{r.choice(['', ', break_ties: true'])}"
                f"{r.choice(['', ', skip: 1', ', skip: 2, take: 2', ', take: 3', ', take: 0'])}", "i, a, b",
                f"{made}[z, x, y]", "kki",
            ),
            "Constant": (
                f"data: [{', '.join(self.row([kind, kind]) for _ in range(r.randint(1, 3)))}]", "a, b",
                f"{made}[x, y]", "kk",
            ),
        }[what]  # fmt: skip
        rules.append(f"{made}[{head}] <~ {what}({args})")
        if what == "KShortestPathYen":
            rules.append(f"{name}_c[x, y, c, count(p)] := {made}[x, y, c, p]")
        elif "Spanning" in what:
            rules.append(f"{name}_c[sum(c), count(a)] := {made}[a, _, c]")
        heads = {"kk": "x, y", "ii": "x, y", "kr": "x, y", "kki": "x, y, z", "kkii": "x, y, z, u", "kiii": "x, y, z, u"}
        rules.append(f"{name}[{heads[kinds]}] := {body}")
        self.tags |= {"ranks"} if "r" in kinds else set()
        return [Seq([text]) for text in rules], Rule(name, [KINDS_OF.get(k, kind) for k in kinds])

    def application(self) -> Step | None:
        """A query that returns the result of an algorithm."""
        self.params, self.tags = {}, {"query"}
        applied = self.algorithm_rules("f", [])
        if not applied:
            return None
        rules, made = applied
        names = [f"v{i}" for i in range(len(made.kinds))]
        head = ", ".join(names)
        entry = Seq([f"?[{head}] := ", Seq([f"f[{head}]"], ", ", 1)])
        if self.chance(0.2):
            count = self.r.randint(1, len(names))
            text = ", ".join([*names[: count - 1], f"count({names[-1]})"])
            entry = Seq([f"?[{text}] := ", Seq([f"f[{head}]"], ", ", 1)])
        return Step(Seq([Seq([*rules, entry], "\n", 1)]), self.params, self.tags)


KINDS_OF = {"i": "int", "r": "rank"}

NAMES = [
    "ConnectedComponents", "StronglyConnectedComponents", "TopSort", "DegreeCentrality", "ShortestPathBFS",
    "ShortestPathDijkstra", "KShortestPathYen", "ShortestPathAStar", "MinimumSpanningForestKruskal",
    "MinimumSpanningTreePrim", "ClusteringCoefficients", "PageRank", "ClosenessCentrality", "BetweennessCentrality",
    "BFS", "DFS", "ReorderSort", "Constant",
]  # fmt: skip
