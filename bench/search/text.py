"""Full-text search: Quipu beside tantivy, SQLite's FTS5 and CozoDB.

    python bench/search/text.py --texts shared/data/gutenberg-en-42m.txt.zst --count 100000

All engines index the same paragraphs, lowercased and without stop words or stemming, and return the
ten best rows by BM25. CozoDB has `tf_idf` only, and takes part below 20,000 paragraphs. A figure is
the median over the queries of a kind of the median of the rounds. `shared` is how many of the ten
rows of Quipu an engine also has: tantivy rounds the lengths of texts to a byte, and SQLite gives
frequent words a higher weight.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine_process import EngineProcess, digits, in_turns, markdown, parsed, parser_of, write_report

COZO_MAX = 20_000
"""The most paragraphs that CozoDB indexes in a time that a bench can have."""

QUERIES = {
    "one word": ["whale", "marriage", "harbour", "the", "melancholy", "parliament", "money", "winter"],
    "alternatives": ["whale OR harbour", "love OR hate OR fear", "king OR queen", "good OR great OR old"],
    "all words": ["white whale", "young lady", "old man sea", "long time ago", "of the"],
    "phrase": ['"white whale"', '"young lady"', '"a long time"', '"my dear"', '"of the"'],
}
"""Kinds of queries, in Quipu's syntax."""

BEST = 10


def paragraphs(source: Path, count: int) -> Iterator[str]:
    """The first `count` lines of a file, which may be compressed by zstd."""
    command = ["zstd", "-dcq", str(source)] if source.suffix == ".zst" else ["cat", str(source)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout
        for _, line in zip(range(count), process.stdout, strict=False):
            yield line.rstrip("\n")
        process.kill()


class Quipu:
    """Quipu: a relation with a full-text index."""

    def __init__(self, folder: Path) -> None:
        """Opens a new database."""
        import quipu

        self.database = quipu.open(folder, memory_limit="4GB", cache="1GB")

    def load(self, source: Path, count: int) -> None:
        """Stores the paragraphs."""
        import pyarrow as pa

        texts = list(paragraphs(source, count))
        self.database.run(":create texts {id: Int => body: String}")
        self.database.import_relations({"texts": pa.table({"id": range(len(texts)), "body": texts})})

    def index(self) -> None:
        """Makes the index."""
        self.database.run("::fts create texts:words {extractor: body, tokenizer: Simple, filters: [Lowercase]}")

    def ask(self, query: str) -> list[int]:
        """The best rows, best first."""
        script = "?[id, s] := ~texts:words{id | query: $q, k: 10, score_kind: 'bm25', bind_score: s} :order -s, id"
        return [row[0] for row in self.database.run(script, {"q": query}).rows()]


class Tantivy:
    """tantivy, with the index in a folder."""

    def __init__(self, folder: Path) -> None:
        """Makes a new index."""
        import tantivy

        folder.mkdir(parents=True)
        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("id", stored=True, fast=True)
        schema.add_text_field("body", tokenizer_name="default")
        self.tantivy = tantivy
        self.tantivy_index = tantivy.Index(schema.build(), path=str(folder))
        self.texts: list[str] = []

    def load(self, source: Path, count: int) -> None:
        """Reads the paragraphs, which the index does not store."""
        self.texts = list(paragraphs(source, count))

    def index(self) -> None:
        """Makes the index with one thread, as Quipu does."""
        writer = self.tantivy_index.writer(heap_size=1_000_000_000, num_threads=1)
        for number, text in enumerate(self.texts):
            writer.add_document(self.tantivy.Document(id=number, body=text))
        writer.commit()
        writer.wait_merging_threads()
        self.tantivy_index.reload()
        self.texts = []

    def ask(self, query: str) -> list[int]:
        """The best rows, best first."""
        if '"' not in query and "OR" not in query:
            query = " AND ".join(query.split())
        searcher = self.tantivy_index.searcher()
        hits = searcher.search(self.tantivy_index.parse_query(query, ["body"]), BEST, count=False).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]


class SQLite:
    """SQLite's FTS5, without a copy of the texts."""

    def __init__(self, folder: Path) -> None:
        """Makes a new database."""
        folder.mkdir(parents=True)
        self.connection = sqlite3.connect(folder / "texts.sqlite")
        self.connection.execute("pragma journal_mode = wal")
        self.connection.execute("pragma cache_size = -1000000")
        self.connection.execute("create table texts (id integer primary key, body text)")

    def load(self, source: Path, count: int) -> None:
        """Stores the paragraphs."""
        self.connection.executemany("insert into texts values (?, ?)", enumerate(paragraphs(source, count)))
        self.connection.commit()

    def index(self) -> None:
        """Makes the index."""
        self.connection.execute(
            "create virtual table words using fts5(body, content=texts, content_rowid=id, "
            'tokenize="unicode61 remove_diacritics 0")'
        )
        self.connection.execute("insert into words(words) values ('rebuild')")
        self.connection.commit()

    def ask(self, query: str) -> list[int]:
        """The best rows, best first."""
        sql = "select rowid from words where words match ? order by rank limit 10"
        return [row[0] for row in self.connection.execute(sql, [query])]


class Cozo:
    """CozoDB in memory."""

    def __init__(self, folder: Path) -> None:
        """Makes a new database. `folder` is not used."""
        from pycozo.client import Client

        self.client = Client("mem", dataframe=False)

    def load(self, source: Path, count: int) -> None:
        """Stores the paragraphs."""
        self.client.run(":create texts {id: Int => body: String}")
        rows = [[number, text] for number, text in enumerate(paragraphs(source, count))]
        self.client.import_relations({"texts": {"headers": ["id", "body"], "rows": rows}})

    def index(self) -> None:
        """Makes the index."""
        self.client.run("::fts create texts:words {extractor: body, tokenizer: Simple, filters: [Lowercase]}")

    def ask(self, query: str) -> list[int]:
        """The best rows by `tf_idf`, best first."""
        script = "?[id, s] := ~texts:words{id | query: $q, k: 10, bind_score: s} :order -s"
        return [row[0] for row in self.client.run(script, {"q": query})["rows"]]


ENGINES: dict[str, Any] = {"quipu": Quipu, "tantivy": Tantivy, "sqlite": SQLite, "cozo": Cozo}


def size_mib(folder: Path) -> float:
    """The files of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Builds all indexes, and asks all queries in turn."""
    names = [name for name in args.engine if name != "cozo" or args.count <= COZO_MAX]
    engines: list[EngineProcess] = []
    report: dict[str, Any] = {"count": args.count, "build": {}, "queries": {}}
    for name in names:
        engine = EngineProcess(name, ENGINES[name], args.data / f"text-{name}")
        _, load_s = engine.call("load", args.texts, args.count)
        _, build_s = engine.call("index")
        report["build"][name] = {"load_s": load_s, "index_s": build_s, "peak_mib": engine.peak_mib}
        report["build"][name]["folder_mib"] = size_mib(engine.folder)
        print(name, report["build"][name], flush=True)
        engines.append(engine)
    for kind, queries in QUERIES.items():
        for query in queries:
            times: dict[str, list[float]] = {name: [] for name in names}
            rows: dict[str, list[int]] = {}
            for engine in in_turns(engines, args.rounds + 1):
                found, seconds = engine.call("ask", query)
                if engine.name in rows:
                    times[engine.name].append(seconds * 1e3)
                rows[engine.name] = found
            of = {name: {"ms": statistics.median(times[name])} for name in names}
            for name in names:
                of[name]["shared"] = len(set(rows[name]) & set(rows["quipu"])) if "quipu" in rows else 0
            report["queries"][query] = {"kind": kind, "of": of, "rows": len(rows[names[0]])}
    for engine in engines:
        engine.end()
    return report


def shown(report: dict[str, Any]) -> str:
    """The report in Markdown."""
    names = list(report["build"])
    build = [
        [what, *(digits(report["build"][name][key]) for name in names)]
        for what, key in [
            ("texts stored, s", "load_s"),
            ("index, s", "index_s"),
            ("peak, MiB", "peak_mib"),
            ("folder, MiB", "folder_mib"),
        ]
    ]
    asked = []
    for kind in QUERIES:
        of = [query["of"] for query in report["queries"].values() if query["kind"] == kind]
        ms = {name: statistics.median(one[name]["ms"] for one in of) for name in names}
        asked.append([f"{kind} ({len(of)}), ms", *(digits(ms[name]) for name in names)])
    single = [
        [f"`{query}`, ms", *(digits(one["of"][name]["ms"]) for name in names)]
        for query, one in report["queries"].items()
    ]
    total = sum(one["rows"] for one in report["queries"].values())
    same = [sum(one["of"][name]["shared"] for one in report["queries"].values()) for name in names]
    single.append([f"rows of Quipu's {total}", *(str(count) for count in same)])
    head = [f"{report['count']:,} paragraphs", *names]
    return markdown(head, build + asked) + "\n\n" + markdown(["query", *names], single)


def main() -> None:
    """Measures."""
    parser = parser_of(__doc__, ENGINES, rounds=7)
    parser.add_argument("--texts", type=Path, required=True, help="a file with a text in each line, plain or .zst")
    parser.add_argument("--count", type=int, default=100_000)
    args = parsed(parser)
    report = measure(args)
    write_report(args, f"text-{args.count}", shown(report), report)


if __name__ == "__main__":
    main()
