"""Generates expressions over constants."""

from __future__ import annotations

import random

from text import Seq, Step

FUNCTIONS = """
eq neq gt ge lt le max min and or negate add sub mul div minus pow sqrt mod abs signum floor ceil round exp exp2 ln log2
log10 sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh deg_to_rad rad_to_deg haversine
haversine_deg_input vec l2_normalize l2_dist ip_dist cos_dist is_vec json is_json json_object dump_json parse_json get
maybe_get set_json_path remove_json_path json_to_scalar concat length str_includes lowercase uppercase trim trim_start
trim_end starts_with ends_with unicode_normalize chars from_substrings slice_string t2s list is_in first last get
maybe_get length slice concat prepend append reverse sorted chunks chunks_exact windows union intersection difference
int_range bit_and bit_or bit_not bit_xor pack_bits unpack_bits encode_base64 decode_base64 coalesce to_string to_float
to_int to_unity to_bool to_uuid uuid_timestamp is_null is_int is_float is_num is_finite is_infinite is_nan is_bytes
is_list is_string is_uuid regex_matches regex_replace regex_replace_all regex_extract regex_extract_first
format_timestamp parse_timestamp validity if cond
""".split()  # noqa: SIM905 - a hundred quotes say no more

ARGUMENTS = """
null true false 0 1 2 3 -1 -2 7 100 0.0 0.5 1.0 2.0 -1.5 1e300 '' 'a' 'abc' ' b ' 'É' 'héllo' '12' '1.5' '-3' 'true'
'PI' 'NAN' '[1,2]' '{"a":1}' '2020-01-02T03:04:05Z' 'a.*' '[a-c]' 'b' 'nfc' 'YWJj' [] [1] [1,2] [2,1,1] [1,2,3,4,5]
['a','b'] [null] [[1,2],[3]] [1.0,2.0] [true,false] ['a',1] {} {'a':1} {'a':{'b':[1,2]}} vec([1,2]) vec([0.5,1.5])
json([1,2]) '01234567-89ab-cdef-0123-456789abcdef' to_uuid('01234567-89ab-cdef-0123-456789abcdef')
decode_base64('YWJj') 'Asia/Shanghai' 1600000000 1600000000.25 validity(5) 9223372036854775807
""".split()  # noqa: SIM905

OPERATORS = ["+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "++", "~", "->"]


def expressions(seed: int, count: int = 25) -> list[Step]:
    """Expressions over constants, each in a script of its own."""
    r = random.Random(seed)

    def expression(depth: int) -> Seq | str:
        roll = r.random()
        if depth <= 0 or roll < 0.15:
            return r.choice(ARGUMENTS)
        if roll < 0.3:
            op = r.choice(OPERATORS)
            left, right = expression(depth - 1), expression(depth - 1)
            return Seq([Seq(["(", left, ")"]) if r.random() < 0.7 else left, f" {op} ", right])
        if roll < 0.35:
            return Seq([r.choice(["-", "!"]), "(", expression(depth - 1), ")"])
        name = r.choice(FUNCTIONS)
        parts = [expression(depth - 1) for _ in range(r.choice([1, 1, 2, 2, 2, 3, 3, 4]))]
        return Seq([f"{name}(", Seq(parts, ", ", 0), ")"])

    steps = []
    for _ in range(count):
        value = expression(r.choice([1, 1, 1, 2, 3]))
        steps.append(Step(Seq([r.choice(["?[x] := x = ", "?[x] := y = 1, x = "]), value]), {}, {"expressions"}))
    return steps
