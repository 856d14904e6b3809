"""Generates values and expressions of random programs."""

from __future__ import annotations

import base64
import random
import struct

from text import Column, Raw, literal

TYPES = {
    "int": ["Int", "Int", None, "Any?", "Any", "Int?"],
    "float": ["Float", "Float", None, "Float?"],
    "str": ["String", "String", None, "String?"],
    "bool": ["Bool", None],
    "list": ["[Int]", "[Int]", None, "[Int?]", "[Any]", "[Any?]?"],
    "any": [None, None, "Any?"],
    "maybe": ["Int?", "Int?", None],
    "bytes": ["Bytes", "Bytes", "Bytes?", None],
    "uuid": ["Uuid", "Uuid", "Uuid?", None],
    "json": ["Json", "Json", "Json?", None],
    "narrow": ["<F32; 3>", "<F32; 3>", "<Float; 3>?", None],
    "wide": ["<F64; 2>", "<F64; 2>", "<Double; 2>", None],
    "pair": ["(Int, String)", "(Int, String)", "(Any, String?)", "[Any; 2]", None],
    "two": ["[Int; 2]", "[Int; 2]?", "(Int, Int)", "[Int]", None],
}

RICH = ["bytes", "uuid", "json", "narrow", "wide", "pair", "two"]

# Values that some columns convert and others reject.
STRAY = ["null", "'x'", "'YQ=='", "1", "1.0", "0.5", "true", "[]", "[1]", "[1, 2, 3, 4]", "[1, null]", "['a', 1]",
    "{'a': 1}", "json([1, 2])", "decode_base64('YQ==')", "vec([1, 2])", "vec([1, 2, 3])", "vec([1, 2], 'F64')",
    "'00000000-0000-0000-0000-000000000001'", "to_uuid('00000000-0000-0000-0000-000000000001')", "validity(5)",
]  # fmt: skip

UUIDS = [f"00000000-0000-{v}000-8000-00000000000{n}" for v in (1, 4) for n in range(3)]
JSONS = [
    "json(1)", "json('a')", "json(null)", "json([1, 'a'])", "json([])", "{'a': 1}", "{'a': 2}", "{}",
    "{'b': {'a': [1]}}", "{'a': 1, 'b': 'x'}", "json(0.5)", "json(true)",
]  # fmt: skip
PLACES = [0.5, 1, 2, -1, 1.5]

JOINABLE = {"int": {"int", "maybe", "any"}, "maybe": {"int", "maybe", "any"}, "any": {"int", "maybe", "any", "str"}}


class Values:
    """Generates values and expressions for one program."""

    def __init__(self, seed: int, large: float) -> None:
        """The same seed gives the same program; `large` is the probability of a large relation."""
        self.large = large
        self.r = random.Random(seed)
        # Engines differ in whether 1 unifies with 1.0, so most programs have integers only.
        self.floats = self.r.random() < 0.3
        self.mixed = self.floats and self.r.random() < 0.5
        # Bytes, UUIDs, JSON, vectors, lists of some length or of several types.
        self.rich = self.r.random() < 0.4
        self.has_parameters = True
        self.relations: dict[str, list[Column]] = {}
        self.fresh = 0
        self.is_large = False
        self.indexes: dict[str, list[Column]] = {}
        self.params: dict[str, object] = {}
        self.tags: set[str] = set()
        self.triggered: set[str] = set()

    def chance(self, p: float) -> bool:
        """True with probability `p`."""
        return self.r.random() < p

    def name(self) -> str:
        """A new variable."""
        self.fresh += 1
        return f"x{self.fresh}"

    # Values.

    def value(self, kind: str) -> object:
        """A random value of a kind."""
        r = self.r
        if kind in RICH:
            return self.rich_value(kind)
        if kind == "int":
            return r.choice([0, 1, 1, 2, 2, 3, 4, -1])
        if kind == "float":
            return r.choice([0.0, 0.5, 1.0, 1.5, 2.0, -1.0, 3.25])
        if kind == "str":
            return r.choice(["", "a", "a", "b", "ab", "B", "abc"])
        if kind == "bool":
            return self.chance(0.5)
        if kind == "list":
            return r.choice([[], [1], [1, 2], [2], [0, 3]])
        if kind == "maybe":
            return r.choice([None, 0, 1, 2, 3])
        if self.rich and self.chance(0.25):
            return self.rich_value(r.choice(RICH))
        if self.mixed:
            return r.choice([0, 1, 1.0, 2, 2.0, None, "a", True, [1], 0.5])
        return r.choice([0, 1, 2, 3, None, "a", "b", True, [1]])

    def literal(self, kind: str) -> str:
        """A literal, or a parameter with its value."""
        value = self.value(kind)
        if self.chance(0.08) and self.has_parameters and not isinstance(value, Raw):
            name = f"p{len(self.params)}"
            self.params[name] = value
            return f"${name}"
        return literal(value)

    # Relations.

    def rich_value(self, kind: str) -> object:
        """A value of one of the rarer kinds."""
        r = self.r
        if kind == "bytes":
            return Raw(f"decode_base64('{r.choice(['', 'AA==', 'AAE=', 'YQ==', '//8=', 'YWJj'])}')")
        if kind == "uuid":
            return Raw(f"to_uuid('{r.choice(UUIDS)}')")
        if kind == "json":
            return Raw(r.choice(JSONS))
        if kind == "narrow":
            return Raw(f"vec([{', '.join(str(r.choice(PLACES)) for _ in range(3))}])")
        if kind == "wide":
            return Raw(f"vec([{', '.join(str(r.choice(PLACES)) for _ in range(2))}], 'F64')")
        return [self.value("int"), self.value("str" if kind == "pair" else "int")]

    def cell(self, column: Column) -> str:
        """A value for a column, in a form that it accepts, or sometimes one that it may reject."""
        r = self.r
        if column.kind == "validity":
            return f"[{r.randint(1, 6)}, true]"
        if self.rich and self.chance(0.03):
            return r.choice(STRAY)
        of = column.type or ""
        if of.endswith("?") and self.chance(0.1):
            return "null"
        if column.kind in RICH and of and self.chance(0.5):
            if of.startswith("Bytes"):
                return literal(r.choice(["", "AA==", "AAE=", "YQ==", "YWJj"]))
            if of.startswith("Uuid"):
                return literal(r.choice(UUIDS))
            if of.startswith("Json"):
                return r.choice(["1", "'a'", "true", "[1, 'a', null]", "{'a': [1], 'b': {}}", "[]", "0.5", "[[], {}]"])
            if of.startswith("<"):
                items = [r.choice(PLACES) for _ in range(3 if column.kind == "narrow" else 2)]
                form = "<" + str(len(items)) + ("f" if column.kind == "narrow" else "d")
                text = base64.b64encode(struct.pack(form, *items)).decode()
                one = r.choice(["'F64'", "'F32'"])
                return r.choice([str(items), str(items), f"'{text}'", f"vec({items}, {one})"])
        return literal(self.value(column.kind))

    def row(self, kinds: list[str]) -> str:
        """A row as a list literal."""
        return "[" + ", ".join(literal(self.value(kind)) for kind in kinds) + "]"

    # Expressions.

    def pick(self, env: dict[str, str], kind: str) -> str | None:
        """A variable of a kind."""
        fit = [name for name, has in env.items() if has == kind]
        return self.r.choice(fit) if fit else None

    def expr(self, kind: str, env: dict[str, str], depth: int = 2) -> str:
        """An expression over bound variables."""
        r = self.r
        var = self.pick(env, kind)
        if depth <= 0 or self.chance(0.3):
            return var if var and self.chance(0.8) else self.literal(kind)

        def e(of: str) -> str:
            return self.expr(of, env, depth - 1)

        if kind in RICH:
            return self.rich_expr(kind, env, depth)
        if self.rich and kind in ("int", "float", "str", "bool", "any", "list") and self.chance(0.2):
            return self.from_rich(kind, env, depth)
        if kind == "int":
            return r.choice(
                [
                    lambda: f"({e('int')} + {e('int')})",
                    lambda: f"{e('int')} - ({e('int')})",
                    lambda: f"({e('int')}) * {e('int')}",
                    lambda: f"-({e('int')})",
                    lambda: f"max({e('int')}, {e('int')})",
                    lambda: f"min({e('int')}, {e('int')})",
                    lambda: f"abs({e('int')})",
                    lambda: f"({e('int')}) % 3",
                    lambda: f"length({e('str')})",
                    lambda: f"length({e('list')})",
                    lambda: f"if({e('bool')}, {e('int')}, {e('int')})",
                    lambda: f"cond({e('bool')}, {e('int')}, {e('bool')}, {e('int')}, true, 7)",
                    lambda: f"coalesce({e('maybe')}, {e('int')})",
                    lambda: f"({e('maybe')} ~ {e('int')})",
                ]
            )()
        if kind == "float":
            if not self.floats:
                return var or self.literal(kind)
            return r.choice(
                [
                    lambda: f"({e('int')}) / 2",
                    lambda: f"({e('float')} + 0.125)",
                    lambda: f"({e('int')} + 0.125)",
                    lambda: f"({e('float')} * 1.375)",
                    lambda: f"({e('int')}) ^ 2",
                    lambda: f"to_float({e('int')})",
                    lambda: f"round({e('float')})",
                ]
            )()
        if kind == "str":
            return r.choice(
                [
                    lambda: f"({e('str')} ++ {e('str')})",
                    lambda: f"concat({e('str')}, {e('str')}, 'z')",
                    lambda: f"lowercase({e('str')})",
                    lambda: f"to_string({e('int')})",
                    lambda: f"if({e('bool')}, {e('str')}, 'q')",
                ]
            )()
        if kind == "bool":
            op = r.choice(["<", "<=", ">", ">=", "==", "!="])
            of = r.choice(["int", "int", "int", "float" if self.floats else "int", "str"])
            return r.choice(
                [
                    lambda: f"({e(of)} {op} {e(of)})",
                    lambda: f"({e(of)} {op} {e(of)})",
                    lambda: f"({e(of)} {op} {e(of)})",
                    lambda: f"({e('any')} {r.choice(['==', '!='])} {e('any')})",
                    lambda: f"is_null({e('any')})",
                    lambda: f"({e('bool')} && {e('bool')})",
                    lambda: f"({e('bool')} || {e('bool')})",
                    lambda: f"!({e('bool')})",
                    lambda: f"starts_with({e('str')}, {self.literal('str')})",
                    lambda: f"is_in({e('int')}, [{e('int')}, {e('int')}])",
                    lambda: f"regex_matches({e('str')}, 'a.?')",
                ]
            )()
        if kind == "list":
            return r.choice(
                [
                    lambda: f"[{e('int')}, {e('int')}]",
                    lambda: f"append({e('list')}, {e('int')})",
                    lambda: f"concat({e('list')}, {e('list')})",
                    lambda: f"sorted({e('list')})",
                    lambda: f"union({e('list')}, {e('list')})",
                ]
            )()
        if kind == "maybe":
            return r.choice([lambda: e("int"), lambda: "null", lambda: f"if({e('bool')}, {e('int')})"])()
        return self.expr(r.choice(["int", "str", "maybe", "bool", "list"]), env, depth - 1)

    def rich_expr(self, kind: str, env: dict[str, str], depth: int) -> str:
        """An expression of one of the rarer kinds."""

        def e(of: str) -> str:
            return self.expr(of, env, depth - 1)

        ways = {
            "bytes": [lambda: f"decode_base64(encode_base64({e('bytes')}))"],
            "uuid": [lambda: f"if({e('bool')}, {e('uuid')}, {e('uuid')})"],
            "json": [
                lambda: f"json({e('any')})",
                lambda: f"json_object('a', {e('int')}, 'c', {e('str')})",
                lambda: f"set_json_path(json_object('b', {e('int')}), ['a'], {e('int')})",
                lambda: f"remove_json_path({{'a': 1, 'b': 2}}, ['{self.r.choice('ab')}'])",
                lambda: f"concat(json_object('a', {e('int')}), json_object('{self.r.choice('ab')}', {e('int')}))",
                lambda: f"parse_json(dump_json({e('json')}))",
                lambda: f"({e('json')} -> 'a')",
            ],
            "narrow": [
                lambda: f"({e('narrow')} {self.r.choice('+-*')} {e('narrow')})",
                lambda: f"({e('narrow')} * 2)",
                lambda: f"vec([{e('int')}, 1, {e('int')}])",
                lambda: f"-({e('narrow')})",
            ],
            "wide": [
                lambda: f"({e('wide')} {self.r.choice('+-*/')} {e('wide')})",
                lambda: f"vec([{e('int')}, 1], 'F64')",
            ],
            "pair": [lambda: f"[{e('int')}, {e('str')}]"],
            "two": [lambda: f"[{e('int')}, {e('int')}]", lambda: f"reverse({e('two')})"],
        }
        return self.r.choice(ways[kind])()

    def from_rich(self, kind: str, env: dict[str, str], depth: int) -> str:
        """An expression of a plain kind over values of a rarer kind."""

        def e(of: str) -> str:
            return self.expr(of, env, depth - 1)

        def compared() -> str:
            of = self.r.choice(RICH)
            return f"({e(of)} {self.r.choice(['==', '==', '!=', '<', '<=', '>', '>='])} {e(of)})"

        ways = {
            "int": [
                lambda: f"length({e('bytes')})",
                lambda: f"length({e('narrow')})",
                lambda: f"get({e('pair')}, 0)",
                lambda: f"first({e('two')})",
            ],
            "float": [
                lambda: f"{self.r.choice(['l2_dist', 'ip_dist', 'cos_dist'])}({e('narrow')}, {e('narrow')})",
                lambda: f"{self.r.choice(['l2_dist', 'ip_dist'])}({e('wide')}, {e('wide')})",
            ],
            "str": [
                lambda: f"encode_base64({e('bytes')})",
                lambda: f"last({e('pair')})",
                lambda: f"dump_json({e('json')})",
            ],
            "bool": [
                compared,
                compared,
                lambda: f"is_{self.r.choice(['bytes', 'uuid', 'json', 'vec', 'list'])}({e('any')})",
                lambda: f"is_in({e('uuid')}, [{e('uuid')}, {e('uuid')}])",
            ],
            "any": [
                lambda: f"json_to_scalar({e('json')})",
                lambda: f"maybe_get({e('json')}, '{self.r.choice('ab')}')",
                lambda: e(self.r.choice(RICH)),
            ],
            "list": [lambda: e("two")],
        }
        return self.r.choice(ways[kind])()
