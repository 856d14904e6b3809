"""Holds words, prose, line widths and commit subjects to docs/glossary.md and CONTRIBUTING.md.

Counts of old words, of clauses with "what" in place of a noun, of comments over 100 columns and of
document lines over 120 are kept by crate or folder in baseline.json and may only fall. Commit
subjects over 72 columns are refused, and decisions that docs/decisions/README.md does not list.

    python tools/lint/check.py             # checks
    python tools/lint/check.py --list      # each place that is counted
    python tools/lint/check.py --update    # writes the counts that have fallen
"""

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BASELINE = HERE / "baseline.json"
COMMENT_COLUMNS_MAX = 100
DOCUMENT_COLUMNS_MAX = 120
SUBJECT_COLUMNS_MAX = 72
WIDE = "wide comments"
WORDS = "old words"
CLAUSES = "clauses in place of nouns"
DOCUMENTS = "wide lines in documents"
COMMENT = re.compile(r"^\s*(//|#(?!\[))")
LINK_OR_URL = re.compile(r"https?://|\]\(")


def tracked() -> list[Path]:
    """Files of the repository, without those that are lists of facts or of other people's words."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    skipped = ("bench/results/", "tests/formats/", "tools/lint/", "docs/glossary.md")
    names = [name for name in listed.stdout.split("\0") if name]
    return [Path(name) for name in names if not name.startswith(skipped)]


def group_of(path: Path) -> str:
    """The crate of a file, or its first folder."""
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] == "crates" else parts[0]


def expressions() -> list[tuple[str, re.Pattern[str]]]:
    """Kind and expression of each entry of words.toml."""
    tables = tomllib.loads((HERE / "words.toml").read_text())
    kinds = {name: CLAUSES if name == "clauses" else WORDS for name in tables}
    return [(kinds[name], re.compile(text)) for name, table in tables.items() for text in table]


def counted(paths: list[Path]) -> Iterator[tuple[str, str, str]]:
    """Kind, group and place of each thing that is counted."""
    refused = expressions()
    for path in paths:
        if path.suffix not in {".rs", ".py", ".pyi", ".md", ".toml"} and path.name != "Makefile":
            continue
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            place = f"{path}:{number}: {line.strip()[:100]}"
            is_source = path.suffix in {".rs", ".py", ".pyi"}
            if is_source and len(line) > COMMENT_COLUMNS_MAX and COMMENT.match(line):
                yield WIDE, group_of(path), place
            for kind, expression in refused:
                for _ in expression.finditer(line):
                    yield kind, group_of(path), place


def wide_documents(paths: list[Path]) -> Iterator[tuple[str, str, str]]:
    """Lines of documents that are too long, outside of code, tables and links, as `counted`."""
    for path in paths:
        if path.suffix != ".md":
            continue
        in_code = False
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            if line.lstrip().startswith(("```", "~~~")):
                in_code = not in_code
            elif (
                not in_code
                and len(line) > DOCUMENT_COLUMNS_MAX
                and not line.lstrip().startswith("|")
                and not LINK_OR_URL.search(line)
            ):
                yield DOCUMENTS, group_of(path), f"{path}:{number}: {len(line)} columns"


def wide_subjects(since: str) -> Iterator[str]:
    """Subjects of commits after `since` that are too long; nothing where the history is not here."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h %s", f"{since}..HEAD"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if log.returncode != 0:
        return
    for line in log.stdout.splitlines():
        _, _, subject = line.partition(" ")
        if len(subject) > SUBJECT_COLUMNS_MAX:
            yield line


def unlisted_decisions() -> Iterator[str]:
    """Pages of decisions whose row in the list lacks their title, status or date."""
    folder = ROOT / "docs" / "decisions"
    rows = (folder / "README.md").read_text().splitlines()
    for page in sorted(folder.glob("[0-9]*.md")):
        lines = page.read_text().splitlines()
        title = lines[0].partition(": ")[2]
        status, date = (
            next((line.partition(": ")[2] for line in lines if line.startswith(f"{name}: ")), "")
            for name in ("Status", "Date")
        )
        row = f"| [{page.name[:4]}]({page.name}) | {title} | {status} | {date} |"
        if row not in rows:
            yield row


def main() -> int:
    """Prints what is wrong; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--list", action="store_true", help="print each place that is counted")
    parser.add_argument("--update", action="store_true", help="write the counts that have fallen")
    given = parser.parse_args()
    paths = [path for path in tracked() if (ROOT / path).is_file()]
    found = [*counted(paths), *wide_documents(paths)]
    if given.list:
        print("\n".join(f"{kind}: {place}" for kind, _, place in found))
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in (WIDE, WORDS, CLAUSES, DOCUMENTS)}
    for kind, group, _ in found:
        counts[kind][group] += 1
    baseline: dict[str, Any] = json.loads(BASELINE.read_text())
    problems: list[str] = []
    kept: dict[str, dict[str, int]] = {}
    for kind, by_group in counts.items():
        known: dict[str, int] = baseline.get(kind, {})
        kept[kind] = {}
        for group in sorted(set(known) | set(by_group)):
            allowed = known.get(group, 0)
            if by_group[group] > allowed:
                problems.append(f"{group}: {by_group[group]} {kind}, {allowed} allowed")
            if low := min(by_group[group], allowed):
                kept[kind][group] = low
    problems += [f"commit subject too long: {line}" for line in wide_subjects(baseline["since"])]
    problems += [f"not in docs/decisions/README.md: {row}" for row in unlisted_decisions()]
    if given.update:
        text = json.dumps({"since": baseline["since"], **kept}, indent=2)
        BASELINE.write_text(text + "\n")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print("hint: tools/lint/check.py --list shows each place", file=sys.stderr)
    totals = ", ".join(f"{by_group.total()} {kind}" for kind, by_group in counts.items())
    print(f"words and prose: {totals}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
