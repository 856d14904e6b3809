"""Nearest neighbors: Quipu beside usearch, hnswlib and CozoDB.

    python bench/search/vectors.py --data-set digits
    python bench/search/vectors.py --data-set lsa --texts shared/data/gutenberg-en-42m.txt.zst --count 100000
    python bench/search/vectors.py --data-set random --count 50000 --dimensions 48

All engines build a graph with 16 links and 128 candidates, of 32-bit floats and squared Euclidean
distances, and look for the ten nearest of vectors of the data. Recall is the share of the exact ten
that is found. `one` is a call for each query, `batch` one call for all. `replaced` is the recall
after half of the vectors were removed and put again. CozoDB takes part below 5,000 vectors.
"""

from __future__ import annotations

import argparse
import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from engine_process import EngineProcess, digits, in_turns, markdown, parsed, parser_of, write_report
from numpy.typing import NDArray

LINKS = 16
CANDIDATES = 128
NEAREST = 10
COZO_MAX = 5_000

Floats: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int64]


def digits_of_sklearn() -> Floats:
    """1,797 images of 8 by 8 points."""
    from sklearn.datasets import load_digits

    return np.asarray(load_digits().data, dtype=np.float32)


def topics(texts: Path, count: int, dimensions: int) -> Floats:
    """Latent semantic analysis: weights of words, reduced to a few numbers of each text."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from text import paragraphs

    words = TfidfVectorizer(min_df=5, max_features=50_000, sublinear_tf=True, stop_words="english")
    reduced = TruncatedSVD(dimensions, random_state=1).fit_transform(words.fit_transform(paragraphs(texts, count)))
    norms = np.linalg.norm(reduced, axis=1, keepdims=True)
    return np.asarray(reduced / np.maximum(norms, 1e-9), dtype=np.float32)


def exact(vectors: Floats, queries: Ids) -> Ids:
    """The nearest vectors of each query, all compared. The parts keep memory small."""
    squares = (vectors.astype(np.float64) ** 2).sum(axis=1)
    best = np.empty((len(queries), NEAREST), dtype=np.int64)
    for start in range(0, len(queries), 256):
        of = queries[start : start + 256]
        distances = squares - 2 * (vectors[of] @ vectors.T).astype(np.float64)
        best[start : start + 256] = np.argpartition(distances, NEAREST, axis=1)[:, :NEAREST]
    return best


def recall(vectors: Floats, queries: Ids, truth: Ids, found: Ids) -> float:
    """The share of the nearest that was found. A vector as far as the last of them counts."""
    hits = 0
    for query, right, rows in zip(queries, truth, found, strict=True):
        limit = ((vectors[right] - vectors[query]) ** 2).sum(axis=1).max() * (1 + 1e-5)
        rows = np.unique(rows[rows >= 0])
        hits += int((((vectors[rows] - vectors[query]) ** 2).sum(axis=1) <= limit).sum())
    return hits / truth.size


class Engine(ABC):
    """An engine with all vectors."""

    vectors: Floats
    ef = 64

    def candidates(self, ef: int) -> None:
        """Sets the candidates of a search."""
        self.ef = ef

    @abstractmethod
    def nearest(self, query: NDArray[np.float32]) -> Sequence[int]:
        """The ids of the nearest vectors."""

    def one(self, ids: Ids) -> tuple[float, Ids]:
        """Milliseconds of a call, and what was found."""
        times, found = [], np.full((len(ids), NEAREST), -1)
        for number, query in enumerate(ids):
            start = time.perf_counter()
            keys = self.nearest(self.vectors[query])
            times.append(time.perf_counter() - start)
            found[number, : len(keys)] = keys
        return statistics.median(times) * 1e3, found


class Quipu(Engine):
    """Quipu: a relation with a vector index."""

    def __init__(self, folder: Path, vectors: Floats) -> None:
        """Stores the vectors."""
        import quipu

        self.database = quipu.open(folder, memory_limit="4GB", cache="1GB")
        self.vectors = vectors
        self.database.run(f":create vectors {{id: Int => v: <F32; {vectors.shape[1]}>}}")
        self.put(np.arange(len(vectors)))

    def put(self, ids: Ids) -> None:
        """Puts rows."""
        import pyarrow as pa

        flat = pa.array(self.vectors[ids].reshape(-1))
        column = pa.FixedSizeListArray.from_arrays(flat, self.vectors.shape[1])
        self.database.import_relations({"vectors": pa.table({"id": ids, "v": column})})

    def build(self) -> None:
        """Makes the index."""
        self.database.run(
            f"::hnsw create vectors:near {{dim: {self.vectors.shape[1]}, fields: [v], "
            f"m: {LINKS}, ef_construction: {CANDIDATES}}}"
        )

    def nearest(self, query: NDArray[np.float32]) -> Sequence[int]:
        """The rows that are nearest to a vector."""
        script = f"?[d, id] := ~vectors:near{{id | query: vec($q), k: 10, ef: {self.ef}, bind_distance: d}} :order d"
        return [row[1] for row in self.database.run(script, {"q": query}).rows()]

    def batch(self, ids: Ids) -> None:
        """All queries in one call. Their vectors are in the relation."""
        self.database.run(
            f"?[q, d, id] := q in $ids, *vectors{{id: q, v}}, "
            f"~vectors:near{{id | query: v, k: 10, ef: {self.ef}, bind_distance: d}}",
            {"ids": ids},
        )

    def replace(self, ids: Ids) -> None:
        """Removes rows and puts them again."""
        self.database.run("?[id] := id in $ids :rm vectors {id}", {"ids": ids})
        self.put(ids)


class Usearch(Engine):
    """usearch with one thread."""

    def __init__(self, folder: Path, vectors: Floats) -> None:
        """Makes an empty index. `folder` is not used."""
        from usearch.index import Index

        self.vectors = vectors
        self.index = Index(
            ndim=vectors.shape[1], metric="l2sq", dtype="f32", connectivity=LINKS, expansion_add=CANDIDATES
        )

    def build(self) -> None:
        """Adds all vectors."""
        self.index.add(np.arange(len(self.vectors)), self.vectors, threads=1)

    def candidates(self, ef: int) -> None:
        """Sets the candidates of a search."""
        self.index.expansion_search = ef

    def nearest(self, query: NDArray[np.float32]) -> Sequence[int]:
        """The keys that are nearest to a vector."""
        return self.index.search(query, NEAREST, threads=1).keys

    def batch(self, ids: Ids) -> None:
        """All queries in one call."""
        self.index.search(self.vectors[ids], NEAREST, threads=1)

    def replace(self, ids: Ids) -> None:
        """Removes vectors and adds them again."""
        self.index.remove(ids)
        self.index.add(ids, self.vectors[ids], threads=1)


class Hnswlib(Engine):
    """hnswlib with one thread."""

    def __init__(self, folder: Path, vectors: Floats) -> None:
        """Makes an empty index. `folder` is not used."""
        import hnswlib

        self.vectors = vectors
        self.index = hnswlib.Index(space="l2", dim=vectors.shape[1])
        self.index.init_index(len(vectors), ef_construction=CANDIDATES, M=LINKS, allow_replace_deleted=True)
        self.index.set_num_threads(1)

    def build(self) -> None:
        """Adds all vectors."""
        self.index.add_items(self.vectors, np.arange(len(self.vectors)))

    def candidates(self, ef: int) -> None:
        """Sets the candidates of a search."""
        self.index.set_ef(ef)

    def nearest(self, query: NDArray[np.float32]) -> Sequence[int]:
        """The keys that are nearest to a vector."""
        return self.index.knn_query(query, NEAREST)[0][0]

    def batch(self, ids: Ids) -> None:
        """All queries in one call."""
        self.index.knn_query(self.vectors[ids], NEAREST)

    def replace(self, ids: Ids) -> None:
        """Removes vectors and adds them again."""
        for number in ids:
            self.index.mark_deleted(int(number))
        self.index.add_items(self.vectors[ids], ids, replace_deleted=True)


class Cozo(Engine):
    """CozoDB in memory."""

    def __init__(self, folder: Path, vectors: Floats) -> None:
        """Stores the vectors. `folder` is not used."""
        from pycozo.client import Client

        self.client = Client("mem", dataframe=False)
        self.vectors = vectors
        self.client.run(f":create vectors {{id: Int => v: <F32; {vectors.shape[1]}>}}")
        self.put(np.arange(len(vectors)))

    def put(self, ids: Ids) -> None:
        """Puts rows."""
        rows = [[int(number), self.vectors[number].tolist()] for number in ids]
        self.client.run("?[id, v] <- $rows :put vectors {id => v}", {"rows": rows})

    def build(self) -> None:
        """Makes the index."""
        self.client.run(
            f"::hnsw create vectors:near {{dim: {self.vectors.shape[1]}, dtype: F32, fields: [v], distance: L2, "
            f"m: {LINKS}, ef_construction: {CANDIDATES}}}"
        )

    def nearest(self, query: NDArray[np.float32]) -> Sequence[int]:
        """The rows that are nearest to a vector."""
        script = (
            f"?[d, id] := ~vectors:near{{id | query: q, k: 10, ef: {self.ef}, bind_distance: d}}, q = vec($q) :order d"
        )
        return [row[1] for row in self.client.run(script, {"q": query.tolist()})["rows"]]

    def batch(self, ids: Ids) -> None:
        """All queries in one call. Their vectors are in the relation."""
        self.client.run(
            f"ids[q] <- $ids ?[q, d, id] := ids[q], *vectors{{id: q, v}}, "
            f"~vectors:near{{id | query: v, k: 10, ef: {self.ef}, bind_distance: d}}",
            {"ids": [[int(number)] for number in ids]},
        )

    def replace(self, ids: Ids) -> None:
        """Removes rows and puts them again."""
        self.client.run("?[id] <- $ids :rm vectors {id}", {"ids": [[int(number)] for number in ids]})
        self.put(ids)


ENGINES: dict[str, Any] = {"quipu": Quipu, "usearch": Usearch, "hnswlib": Hnswlib, "cozo": Cozo}


def measure(args: argparse.Namespace, vectors: Floats) -> dict[str, Any]:
    """Builds all graphs, and searches in turn."""
    names = [name for name in args.engine if name != "cozo" or len(vectors) <= COZO_MAX]
    rng = np.random.default_rng(1)
    queries = rng.permutation(len(vectors))[: args.queries]
    truth = exact(vectors, queries)
    engines: list[EngineProcess] = []
    report: dict[str, Any] = {"vectors": list(vectors.shape), "of": {}}
    for name in names:
        engine = EngineProcess(name, ENGINES[name], args.data / f"vectors-{name}", vectors)
        _, build_s = engine.call("build")
        report["of"][name] = {"build, s": build_s}
        print(name, build_s, flush=True)
        engines.append(engine)
    for ef in args.ef:
        one: dict[str, list[float]] = {name: [] for name in names}
        batch: dict[str, list[float]] = {name: [] for name in names}
        for engine in engines:
            engine.call("candidates", ef)
        for engine in in_turns(engines, args.rounds):
            (ms, found), _ = engine.call("one", queries)
            one[engine.name].append(ms)
            _, seconds = engine.call("batch", queries)
            batch[engine.name].append(len(queries) / seconds)
            report["of"][engine.name][f"recall, ef {ef}"] = recall(vectors, queries, truth, found)
        for name in names:
            report["of"][name][f"one, ms, ef {ef}"] = statistics.median(one[name])
            report["of"][name][f"batch, queries/s, ef {ef}"] = statistics.median(batch[name])
    half = rng.permutation(len(vectors))[: len(vectors) // 2]
    for engine in engines:
        _, seconds = engine.call("replace", half)
        (_, found), _ = engine.call("one", queries)
        figures = report["of"][engine.name]
        figures["half replaced, s"] = seconds
        figures[f"recall then, ef {args.ef[-1]}"] = recall(vectors, queries, truth, found)
        figures["peak, MiB"] = engine.peak_mib
        engine.end()
    return report


def shown(report: dict[str, Any]) -> str:
    """The report in Markdown."""
    names = list(report["of"])
    count, dimensions = report["vectors"]
    rows = []
    for what in report["of"][names[0]]:
        shape = "{:.4f}".format if what.startswith("recall") else digits
        rows.append([what, *(shape(report["of"][name][what]) for name in names)])
    return markdown([f"{count:,} by {dimensions}", *names], rows)


def main() -> None:
    """Measures."""
    parser = parser_of(__doc__, ENGINES, rounds=5)
    parser.add_argument("--data-set", choices=["digits", "lsa", "random"], default="digits")
    parser.add_argument("--texts", type=Path, help="texts for `lsa`, one in each line, plain or .zst")
    parser.add_argument("--count", type=int, default=50_000, help="vectors of `lsa` and `random`")
    parser.add_argument("--dimensions", type=int, default=48, help="numbers in a vector of `lsa` and `random`")
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--ef", type=int, nargs="+", default=[16, 64])
    args = parsed(parser)
    if args.data_set == "digits":
        vectors = digits_of_sklearn()
    elif args.data_set == "lsa":
        if args.texts is None:
            parser.error("--data-set lsa needs --texts")
        vectors = topics(args.texts, args.count, args.dimensions)
    else:
        vectors = np.random.default_rng(1).random((args.count, args.dimensions), dtype=np.float32)
    report = measure(args, vectors)
    write_report(args, f"vectors-{args.data_set}-{len(vectors)}", shown(report), report)


if __name__ == "__main__":
    main()
