"""Compares Quipu's results with those of two other engines of the language, on random programs.

Needs the wheels `cozo-embedded` and `mnestic` (the referee) in the interpreter that runs it, and our example:

    cargo build -p quipu-session --example script
    python fuzz/datalog/differ.py --ours target/debug/examples/script --seeds 0:2000

A seed is a program (see `programs.py`). Where results differ, the program is reduced while it still
differs in the same way, and printed with the three results. Intended differences are listed in
`EXPLAINED` with their reasons, and counted. With `--alone` no other engine is needed, and larger
relations are tried. `--script FILE` runs the scripts of a file, separated by lines of `---`, and
prints the three results.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import random
import re
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from expressions import expressions
from programs import program
from text import Seq, Step

TIMEOUT_S = 3.0
SHRINK_S = 10.0
ENGINES = ("ours", "cozo", "mnestic")
Answer = dict[str, object]


def serve(module: str) -> None:
    """Runs programs from standard input on another engine: the counterpart of `Engine`."""
    database = importlib.import_module(module).CozoDbPy
    for line in sys.stdin:
        base, results = database("mem", "", "{}"), []
        for script, params in json.loads(line)[1]:
            try:
                found = base.run_script(script, params, False)
                results.append({"headers": found["headers"], "rows": found["rows"]})
            except BaseException as error:  # noqa: BLE001 - a panic is no Exception
                what = error.args[0] if error.args else error
                panic = "PANIC " if "Panic" in type(error).__name__ else ""
                text = what.get("display", what.get("message")) if isinstance(what, dict) else what
                results.append({"error": panic + re.sub(r"\x1b\[\d+m", "", str(text))})
        print(json.dumps(results, default=plain), flush=True)


def plain(value: object) -> object:
    """A value that JSON cannot represent, as a string."""
    return value.hex() if isinstance(value, bytes) else str(value)


class Engine:
    """A process that runs programs; it is restarted when it dies or hangs."""

    def __init__(self, command: list[str]) -> None:
        """The process is started at first use."""
        self.command, self.process = command, None

    def send(self, program: tuple[int, list[tuple[str, dict[str, object]]]]) -> None:
        """Sends a program."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        self.process.stdin.write(json.dumps(program).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> list[Answer] | None:
        """The results; None after a crash or a timeout."""
        chunks, until = [], time.monotonic() + TIMEOUT_S
        stdout = self.process.stdout.fileno()
        while True:
            left = until - time.monotonic()
            if left <= 0 or not select.select([stdout], [], [], left)[0]:
                break
            chunk = self.process.stdout.read1(1 << 16)
            if not chunk:
                break
            chunks.append(chunk)
            if chunk.endswith(b"\n"):
                return json.loads(b"".join(chunks))
        self.stop()
        return None

    def stop(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def ask(engines: dict[str, Engine], steps: list[Step]) -> dict[str, list[Answer]]:
    """The results of all engines for each step."""
    scripts = [(step.script.text(), step.params) for step in steps]
    for engine in engines.values():
        engine.send((max((step.way for step in steps), default=0), scripts))
    found = {}
    for name, engine in engines.items():
        answers = engine.receive()
        found[name] = answers if answers is not None else [{"error": "HANG or crash"}] * len(steps)
    return found


# Comparison.


def same(a: object, b: object, near: float = 1e-7) -> bool:
    """Whether two values are equal; floats approximately."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=near, abs_tol=1e-12)
    if isinstance(a, float | str) and isinstance(b, float | str):
        return normal(a) == normal(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(one, other, near) for one, other in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[key], near) for key, value in a.items())
    return type(a) is type(b) and a == b


def normal(value: object) -> object:
    """The value with non-finite numbers as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "inf", "-inf": "-inf"}[str(value)]
    return value


def order(value: object) -> tuple:
    """A key for some total order of values."""
    if isinstance(value, list):
        return (3, [order(item) for item in value])
    if isinstance(value, bool) or value is None:
        return (0, str(value))
    if isinstance(value, int | float):
        return (1, f"{float(value):.9g}", isinstance(value, float))
    return (2, str(value))


def difference(step: Step, a: Answer, b: Answer) -> str | None:
    """The kind of difference of two results, in a word; None if they are equal."""
    if ("error" in a) != ("error" in b):
        return "error" if "error" in a else "no error"
    if "error" in a:
        return "hang" if a["error"] != b["error"] and "HANG" in a["error"] + b["error"] else None
    if a["headers"] != b["headers"]:
        return "headers"
    headers, rows, others = a["headers"], a["rows"], b["rows"]
    if len(rows) != len(others):
        return "rows"
    text = step.script.text()
    if re.search(r":(limit|offset)", text) and not re.search(r":(order|sort)", text):
        return None
    uncompared = [i for i, header in enumerate(headers) if re.match(r"choice\(|collect\(.*", header)]
    if "imperative" in step.tags and step.tags & {"choice", "collect"}:
        return None
    if "ties" in step.tags:
        uncompared += [i for i, row in enumerate(zip(*rows, strict=True)) if any(isinstance(v, list) for v in row)]
    if uncompared:
        rows, others = (
            [[None if i in uncompared else v for i, v in enumerate(row)] for row in some] for some in (rows, others)
        )
    if text.startswith("::columns"):
        rows, others = ([[str(v).replace(" ", "") for v in row[:5]] for row in some] for some in (rows, others))
    # The other engines compute ranks with 32 bits.
    near = 1e-4 if "ranks" in step.tags else 1e-7
    if same(rows, others, near):
        return None
    if same(sorted(rows, key=order), sorted(others, key=order), near):
        return None if uncompared else "order"
    return "rows"


@dataclass
class Finding:
    """The first step whose results differ."""

    step: int
    versus: tuple[str | None, str | None, str | None]
    answers: dict[str, Answer]

    def key(self) -> tuple:
        """The kind of the difference, which a reduced program must keep."""
        error = str(self.answers["ours"].get("error", ""))
        return (self.versus, re.sub(r"[`'\"][^`'\"]*[`'\"]|\d+", "", error.split("\n")[0]))


def find(engines: dict[str, Engine], steps: list[Step]) -> Finding | None:
    """The first difference of a program's results."""
    found = ask(engines, steps)
    for i, step in enumerate(steps):
        answers = {name: found[name][i] for name in ENGINES}
        ours, cozo, mnestic = (answers[name] for name in ENGINES)
        versus = (difference(step, ours, cozo), difference(step, ours, mnestic), difference(step, cozo, mnestic))
        if versus[0] or versus[1]:
            return Finding(i, versus, answers)
    return None


# Known differences.


def says(name: str, pattern: str) -> Callable[[list[Step], Finding], bool]:
    """A test whether an engine's error matches."""
    return lambda _steps, found: re.search(pattern, str(found.answers[name].get("error", ""))) is not None


def has(pattern: str) -> Callable[[list[Step], Finding], bool]:
    """A test whether the script of the differing step matches."""
    return lambda steps, found: re.search(pattern, steps[found.step].script.text()) is not None


EXPLAINED: list[tuple[str, Callable[[list[Step], Finding], bool]]] = [
    ("theirs refuse a negated atom that binds nothing", says("mnestic", "unsafe_negation")),
    ("theirs do not find an order of literals that binds all", says("mnestic", "unbound_variable")),
    ("theirs keep rows past a limit or before an offset", lambda steps, found: limited(steps, found)),
    (
        "ours does not replace indexed relations or graphs by others",
        says("ours", "has other columns, and cannot be replaced"),
    ),
    ("an intersection of nothing is null here, null or [] there; one of one list is a set", has(r"intersection\(")),
    (
        "theirs sort some NaN first",
        lambda _s, found: found.versus[1] == "order" and "NaN" in str(found.answers["ours"]),
    ),
    ("theirs want columns that play no part", says("mnestic", "required_col_not_provided")),
    (
        "ours computes rows that a join would have removed",
        says("ours", r"^(a trigger .* failed: )?\w+: |^a condition: expected"),
    ),
    (
        "theirs compute rows that ours has removed",
        lambda _steps, found: found.versus[1] == "no error" and throws(found),
    ),
    ("theirs make an integer of a float sum or product", lambda _steps, found: numbers_alike(found)),
    ("1 unifies with 1.0 there where both are bound", lambda steps, _found: "floats" in steps[0].tags),
    ("theirs refuse to replace a relation that has indexes", says("mnestic", "replace_rel_with_indices")),
    (
        "ours counts a member of a list as often as it is there",
        has(r"(?s)\b(count|collect|group_count|sum|mean|product|variance|std_dev)\(.*\bin \["),
    ),
    (
        "0.7.6 loses the text itself to starts_with",
        lambda steps, found: found.versus[0] == "rows" and has(r"starts_with\(")(steps, found),
    ),
    ("mnestic takes `true && x` for false", has(r"\btrue &&|&& true\b")),
    (
        "mnestic takes `true` for false, and 0.7.6 does something else",
        lambda steps, found: found.versus[2] is not None and has(r"[,=(] ?true\b")(steps, found),
    ),
    ("theirs make min_cost's cost a float", has(r"min_cost\(")),
    (
        "a union is a list, sorted, here; there it is the only list, or a value unlike any list",
        has(r"\b(union|unique)\("),
    ),
    ("theirs hang or crash", says("mnestic", "HANG|PANIC")),
    ("theirs pass over arguments", says("ours", "it is given")),
    ("choice chooses otherwise", lambda steps, found: found.versus[1] == "rows" and has(r"choice\(")(steps, found)),
    (
        "theirs do not look at rules that play no part",
        says("ours", r"has \d+ columns?, \d+ (is|are) given|has no column|no relation `|is hidden"),
    ),
    (
        "theirs give what all blocks return",
        lambda steps, found: found.versus[1] == "rows" and has(r"(?s):returning.*\}.*:returning")(steps, found),
    ),
    (
        "a script that ran nothing is OK here, and has no columns there",
        lambda _steps, found: found.answers["mnestic"].get("headers") == [],
    ),
    (
        "theirs keep what a block changed before its error, which is ignored",
        lambda steps, found: any("%ignore_error" in step.script.text() for step in steps[: found.step + 1]),
    ),
    ("an index's columns have names here, and numbers there", has(r"^::indices")),
    (
        "theirs keep vectors before numbers in stored relations, and sort them by their lengths first",
        lambda steps, found: found.versus[1] == "order" and any("vec(" in step.script.text() for step in steps),
    ),
]


def throws(found: Finding) -> bool:
    """Whether both other engines fail on a value."""
    return all(re.search("eval::|PANIC", str(found.answers[name].get("error", ""))) for name in ("cozo", "mnestic"))


def numbers_alike(found: Finding) -> bool:
    """Whether only the kinds of numbers differ."""
    ours, theirs = found.answers["ours"], found.answers["mnestic"]
    if "rows" not in ours or "rows" not in theirs or ours["headers"] != theirs["headers"]:
        return False
    return same(floats(ours["rows"]), floats(theirs["rows"]))


def floats(value: object) -> object:
    """The value with integers as floats."""
    if isinstance(value, list):
        return [floats(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def limited(steps: list[Step], found: Finding) -> bool:
    """Whether a limit without an order explains it, and our number of rows respects the limit."""
    text = steps[found.step].script.text()
    limit = re.search(r":limit (\d+)", text)
    if (
        "rows" not in found.answers["ours"]
        or re.search(r":(order|sort)", text)
        or not re.search(r":(limit|offset)", text)
    ):
        return False
    return limit is None or len(found.answers["ours"]["rows"]) <= int(limit[1])


def explain(steps: list[Step], found: Finding) -> str | None:
    """The reason of a known difference, or None."""
    if found.versus[1] is None:
        return "0.7.6 alone differs"
    if found.versus[0] is None:
        return "mnestic alone differs"
    return next((reason for reason, holds in EXPLAINED if holds(steps, found)), None)


def without_ignoring(steps: list[Step]) -> list[Step] | None:
    """The program without `%ignore_error`, or None if it has none."""
    word = "%ignore_error "
    if not any(word in step.script.text() for step in steps):
        return None
    return [replace(step, script=Seq([step.script.text().replace(word, "")])) for step in steps]


def shrink(engines: dict[str, Engine], steps: list[Step], found: Finding) -> tuple[list[Step], Finding]:
    """Reduces the program while it differs in the same way."""
    steps = steps[: found.step + 1] if "expressions" not in steps[0].tags else [steps[found.step]]
    until = time.monotonic() + SHRINK_S
    while time.monotonic() < until:
        for less in smaller(steps):
            now = find(engines, less)
            if now and now.step == len(less) - 1 and now.key() == found.key() and not explain(less, now):
                steps, found = less, now
                break
        else:
            break
    return steps, found


def smaller(steps: list[Step]) -> list[list[Step]]:
    """Variants of the program with something removed."""
    found = [steps[:i] + steps[i + 1 :] for i in range(len(steps) - 1)]
    for i, step in enumerate(steps):
        found += [[*steps[:i], replace(step, script=less), *steps[i + 1 :]] for less in step.script.smaller()]
    return found


def show(steps: list[Step], found: Finding | None, answers: dict[str, Answer]) -> str:
    """The program and its results, as text."""
    lines = [
        "\n---\n".join(
            step.script.text().strip() + (f"   # {used}" if (used := used_of(step)) else "") for step in steps
        )
    ]
    for name, answer in answers.items():
        text = str(answer["error"]).strip() if "error" in answer else f"{answer['headers']} {answer['rows']}"
        lines.append(f"{name:8}: {text}")
    return "\n".join(lines) + (f"\n{found.versus}" if found else "")


def used_of(step: Step) -> dict[str, object]:
    """The parameters that the script uses."""
    text = step.script.text()
    return {name: value for name, value in step.params.items() if re.search(rf"\${name}\b", text)}


def main() -> None:
    """Runs the mode that the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default="target/debug/examples/script", help="our example's binary")
    parser.add_argument("--seeds", default="0:1000", help="from:to")
    parser.add_argument("--stop", type=int, default=10, help="findings after which to stop")
    parser.add_argument("--script", type=Path, help="a file of scripts instead of seeds")
    parser.add_argument("--expressions", action="store_true", help="expressions over constants instead of programs")
    parser.add_argument("--alone", action="store_true", help="compare ours with itself: other orders, no magic sets")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--minutes", type=float, default=8, help="stop after so long")
    args = parser.parse_args()
    if args.alone:
        engine = Engine([args.ours, "--programs"])
        run_alone(engine, args)
        engine.stop()
        return
    if args.serve:
        serve(args.serve)
        return
    engines = {"ours": Engine([args.ours, "--programs"])}
    for name, module in (("cozo", "cozo_embedded"), ("mnestic", "mnestic")):
        engines[name] = Engine([sys.executable, __file__, "--serve", module])
    if args.script:
        steps = [Step(Seq([text]), {}) for text in args.script.read_text().split("\n---\n")]
        found = ask(engines, steps)
        for i, step in enumerate(steps):
            print(show([step], None, {name: found[name][i] for name in ENGINES}))
    else:
        run(engines, args)
    for engine in engines.values():
        engine.stop()


def run_alone(engine: Engine, args: argparse.Namespace) -> None:
    """Compares our results for each query with those of equivalent forms of it.

    The forms have another order of literals, or no magic sets.
    """
    first, last = (int(seed) for seed in args.seeds.split(":"))
    classes: Counter[str] = Counter()
    until = time.monotonic() + 60 * args.minutes
    for seed in range(first, last):
        if time.monotonic() > until:
            print(f"out of time before seed {seed}")
            break
        r = random.Random(seed)
        steps, base = [], []
        for step in program(seed, large=0.3):
            base += [None]
            steps.append(step)
            if "query" in step.tags:
                at = len(steps) - 1
                is_plain = ":disable_magic_rewrite" in step.script.text()
                off = "" if is_plain else "\n:disable_magic_rewrite true"
                scripts = [
                    Seq([script, more])
                    for script, more in [
                        (step.script, off),
                        (step.script.shuffled(r), ""),
                        (step.script.shuffled(r), off),
                    ]
                ]
                steps += [replace(step, script=script) for script in scripts]
                base += [at] * len(scripts)
        answers = ask({"ours": engine}, steps)["ours"]
        # With or without statistics of small relations; in parallel or serial.
        other = 2 if seed // 8 % 2 else 4
        others = ask({"ours": engine}, [replace(step, way=step.way ^ other) for step in steps])["ours"]
        classes["programs"] += 1
        pairs = [(i, at, answers[at]) for i, at in enumerate(base) if at is not None]
        for i, at, first in pairs + [(i, i, others[i]) for i in range(len(steps))]:
            how = difference(steps[i], answers[i], first)
            text = f"{answers[i].get('error', '')}{first.get('error', '')}"
            if how in ("error", "no error") and re.search(r"^(a trigger .* failed: )?(\w+: |a condition: )", text):
                how = None
                classes["errors of rows that a join removes"] += 1
            if any("::remove" in step.script.text() for step in steps) and how == "error":
                # A cached plan does not check unused rules.
                how = None
            if how:
                classes[how] += 1
                before = [step for step in steps[:at] if "query" not in step.tags]
                print(
                    f"seed {seed}: {how}",
                    show([*before, steps[at], steps[i]], None, {"first": first, "then": answers[i]}),
                )
                print("=" * 60, flush=True)
                break
        if sum(classes[how] for how in ("rows", "order", "error", "no error", "hang", "headers")) >= args.stop:
            break
    for reason, count in classes.most_common():
        print(f"{count:8} {reason}")


def run(engines: dict[str, Engine], args: argparse.Namespace) -> None:
    """Compares the engines on all seeds."""
    first, last = (int(seed) for seed in args.seeds.split(":"))
    classes: Counter[str] = Counter()
    seen: set[tuple] = set()
    until = time.monotonic() + 60 * args.minutes
    for seed in range(first, last):
        if time.monotonic() > until:
            print(f"out of time before seed {seed}")
            break
        steps = expressions(seed) if args.expressions else program(seed)
        classes["programs"] += 1
        found = find(engines, steps)
        while found and args.expressions and explain(steps, found):
            classes[explain(steps, found)] += 1
            steps = steps[found.step + 1 :]
            found = find(engines, steps) if steps else None
        if found is None:
            continue
        reason = explain(steps, found)
        if reason is None and (plain := without_ignoring(steps)):
            # An ignored error of one engine shows much later.
            other = find(engines, plain)
            reason = explain(plain, other) if other else None
        if reason is None:
            less, now = shrink(engines, steps, found)
            classes["UNEXPLAINED"] += 1
            if now.key() in seen and "rows" not in now.versus:
                continue
            seen.add(now.key())
            print(f"seed {seed}\n{show(less, now, now.answers)}\n{'=' * 60}", flush=True)
            if classes["UNEXPLAINED"] >= args.stop:
                break
        else:
            classes[reason] += 1
    for reason, count in classes.most_common():
        print(f"{count:8} {reason}")


if __name__ == "__main__":
    main()
