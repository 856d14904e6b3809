"""Sixty files and frames that people have, each with the one call that imports it.

All hold the same three edges: as numbers, or as names. `table.py` prints what came back; the tests of the Python
package import each, through Python and through the command.
"""

from __future__ import annotations

import bz2
import decimal
import gzip
import io
import lzma
import uuid
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

Edges = dict[tuple[Any, Any], float]

NUMBERS: Edges = {(1, 2): 0.5, (2, 3): 1.5, (3, 1): 2.0}
NAMES: Edges = {("ann", "bob"): 0.5, ("bob", "carl"): 1.5, ("carl", "ann"): 2.0}
PLAIN: Edges = {(1, 2): 1.0, (2, 3): 1.0, (3, 1): 1.0}
PLAIN_NAMES: Edges = {("ann", "bob"): 1.0, ("bob", "carl"): 1.0, ("carl", "ann"): 1.0}

CSV = "1,2,0.5\n2,3,1.5\n3,1,2\n"
NAMED = "source,target,weight\nann,bob,0.5\nbob,carl,1.5\ncarl,ann,2\n"


@dataclass
class Case:
    """A file or an object, what it holds, and the arguments that it needs."""

    name: str
    make: Callable[[Path], Any]
    """Makes it in a folder, and returns the path, or the object."""
    want: Edges
    arguments: dict[str, Any] = field(default_factory=dict)
    """Of `import_graph`."""
    flags: list[str] = field(default_factory=list)
    """The same for the command."""
    note: str = ""
    """A part of the notes in the report."""


def text(
    name: str, content: str | bytes, want: Edges, flags: list[str] | None = None, note: str = "", **arguments: Any
) -> Case:
    """A case of a file with this content."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return Case(name, make, want, arguments, flags or [], note)


def zipped(content: str) -> bytes:
    """A zip archive of one file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("edges.csv", content)
    return out.getvalue()


def frame() -> dict[str, list[Any]]:
    """Columns of the edges of numbers."""
    return {"source": [1, 2, 3], "target": [2, 3, 1], "weight": [0.5, 1.5, 2.0]}


def names() -> dict[str, list[Any]]:
    """Columns of the edges of names."""
    return {"source": ["ann", "bob", "carl"], "target": ["bob", "carl", "ann"], "weight": [0.5, 1.5, 2.0]}


def parquet(name: str, table: Callable[[], Any], want: Edges, **options: Any) -> Case:
    """A case of a Parquet file that pyarrow or pandas writes."""

    def make(folder: Path) -> Path:
        path = folder / name
        data = table()
        if isinstance(data, pd.DataFrame):
            data.to_parquet(path)
        else:
            pq.write_table(data, path, **options)
        return path

    return Case(name, make, want)


def object_of(name: str, make: Callable[[], Any], want: Edges, note: str = "", **arguments: Any) -> Case:
    """A case of an object in memory, which the command cannot read."""
    return Case(name, lambda _: make(), want, arguments, [], note)


class Graph:
    """As a graph of NetworkX, without NetworkX."""

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return True

    def edges(self, data: str) -> Iterator[tuple[Any, Any, Any]]:
        """Return the edges with one of their attributes."""
        assert data == "weight"
        return ((u, v, w) for (u, v), w in NAMES.items())


class Sparse:
    """As a sparse matrix of SciPy, without SciPy."""

    row = np.array([1, 2, 3], "int32")
    col = np.array([2, 3, 1], "int32")
    data = np.array([0.5, 1.5, 2.0])

    def tocoo(self) -> Sparse:
        """Return the matrix as coordinates."""
        return self


MATRIX = "%%MatrixMarket matrix coordinate real general\n% by hand\n3 3 3\n1 2 0.5\n2 3 1.5\n3 1 2\n"
SYMMETRIC = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"
GML = """graph [ directed 1
  node [ id 1 label "ann" ] node [ id 2 label "bob" ] node [ id 3 label "carl" ]
  edge [ source 1 target 2 weight 0.5 ]
  edge [ source 2 target 3 weight 1.5 ]
  edge [ source 3 target 1 weight 2 ]
]
"""
GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="w" for="edge" attr.name="weight" attr.type="double"/>
  <graph edgedefault="directed">
    <node id="ann"/><node id="bob"/><node id="carl"/>
    <edge source="ann" target="bob"><data key="w">0.5</data></edge>
    <edge source="bob" target="carl"><data key="w">1.5</data></edge>
    <edge source="carl" target="ann"><data key="w">2</data></edge>
  </graph>
</graphml>
"""
GEXF = """<?xml version="1.0"?><gexf version="1.3"><graph defaultedgetype="directed"><nodes>
<node id="0" label="ann"/><node id="1" label="bob"/><node id="2" label="carl"/></nodes><edges>
<edge id="0" source="0" target="1" weight="0.5"/><edge id="1" source="1" target="2" weight="1.5"/>
<edge id="2" source="2" target="0" weight="2"/></edges></graph></gexf>
"""
PAJEK = '*Vertices 3\n1 "ann"\n2 "bob"\n3 "carl"\n*Arcs\n1 2 0.5\n2 3 1.5\n3 1 2\n'


def folder_of_parts(folder: Path) -> Path:
    """A folder of files that are one import."""
    parts = folder / "parts"
    parts.mkdir()
    for i, line in enumerate(CSV.splitlines()):
        (parts / f"part-{i}.csv").write_text(f"{line}\n")
    return parts


def neo4j(folder: Path) -> list[Path]:
    """The pair of files that Neo4j imports."""
    vertices, edges = folder / "people.csv", folder / "knows.csv"
    vertices.write_text("personId:ID,name\nann,Ann\nbob,Bob\ncarl,Carl\n")
    edges.write_text(":START_ID,weight:float,:END_ID,:TYPE\nann,0.5,bob,KNOWS\nbob,1.5,carl,KNOWS\ncarl,2,ann,KNOWS\n")
    return [vertices, edges]


def arrow_file(folder: Path) -> Path:
    """An Arrow file, also called Feather."""
    path = folder / "edges.feather"
    feather.write_feather(pa.table(frame()), path)
    return path


def uuids() -> pa.Table:
    """A table whose vertices are UUIDs."""
    ids = pa.array([uuid.UUID(int=i).bytes for i in (1, 2, 3)], pa.binary(16))
    return pa.table({"source": ids, "target": ids.take(pa.array([1, 2, 0])), "weight": [0.5, 1.5, 2.0]})


UUIDS: Edges = {(str(uuid.UUID(int=u)), str(uuid.UUID(int=v))): w for (u, v), w in NUMBERS.items()}


def unaligned() -> pa.Table:
    """A table whose buffers do not begin at multiples of their items."""

    def shifted(values: list[Any], dtype: str) -> pa.Array:
        data = np.array(values, dtype).tobytes()
        buffer = pa.py_buffer(b"\0" + data).slice(1)
        return pa.Array.from_buffers(pa.from_numpy_dtype(np.dtype(dtype)), len(values), [None, buffer])

    return pa.table(
        {
            "source": shifted([1, 2, 3], "int64"),
            "target": shifted([2, 3, 1], "int64"),
            "weight": shifted([0.5, 1.5, 2.0], "float64"),
        }
    )


CASES: list[Case] = [
    # --- text: delimiters, headers, columns ---
    text("plain.csv", CSV, NUMBERS),
    text("tabs.tsv", CSV.replace(",", "\t"), NUMBERS),
    text("semicolons.csv", CSV.replace(",", ";"), NUMBERS),
    text("bars.txt", CSV.replace(",", "|"), NUMBERS),
    text("blanks.txt", CSV.replace(",", "   "), NUMBERS),
    text("crlf-and-mark.csv", "\ufeff" + NAMED.replace("\n", "\r\n"), NAMES),
    text("names.csv", NAMED, NAMES),
    text("followers.csv", "follower,followee\nann,bob\nbob,carl\ncarl,ann\n", PLAIN_NAMES),
    text("musae.csv", "node_1,node_2\n1,2\n2,3\n3,1\n", PLAIN),
    text("ids-first.csv", "id,source,target,weight\n7,1,2,0.5\n8,2,3,1.5\n9,3,1,2\n", NUMBERS),
    text("timestamps.csv", "src,dst,timestamp\n1,2,1082040961\n2,3,1082040962\n3,1,1082040963\n", PLAIN),
    text("pandas-index.csv", ",source,target,weight\n0,1,2,0.5\n1,2,3,1.5\n2,3,1,2\n", NUMBERS),
    text("pandas-index-of-names.csv", ",fan,idol\n7,ann,bob\n3,bob,carl\n5,carl,ann\n", PLAIN_NAMES),
    text("numbered.csv", "person_a,person_b\nann,bob\nbob,carl\ncarl,ann\n", PLAIN_NAMES),
    text("other-order.csv", "weight,to,from\n0.5,2,1\n1.5,3,2\n2,1,3\n", NUMBERS),
    text("quoted.csv", '"source","target","weight"\n"ann","bob","0.5"\n"bob","carl","1.5"\n"carl","ann","2"\n', NAMES),
    text("decimal-comma.csv", "1;2;0,5\n2;3;1,5\n3;1;2\n", NUMBERS, ["--decimal", ","], decimal=","),
    text("decimal-comma-found.csv", "s;t;w\n1;2;0,5\n2;3;1,5\n3;1;2,0\n", NUMBERS),
    text("preamble.csv", "exported today\nby hand\n" + CSV, NUMBERS, ["--skip-rows", "2"], skip_rows=2),
    text("bangs.csv", "! made by hand\n" + CSV, NUMBERS, ["--comment", "!"], comment="!"),
    text(
        "columns.csv",
        "p,q,r,s\n9,1,2,0.5\n8,2,3,1.5\n7,3,1,2\n",
        NUMBERS,
        ["--columns", "q,r,s"],
        columns=["q", "r", "s"],
    ),
    text("gaps.csv", "1,2,0.5\n2,3,1.5\n3,1,\n", {**NUMBERS, (3, 1): 7.0}, ["--missing", "7"], missing=7.0),
    text("gaps-left-out.csv", "1,2,0.5\n2,3,1.5\n3,1,2\n4,4,NA\n", NUMBERS, ["--missing", "skip"], missing="skip"),
    text(
        "own-nulls.csv",
        "1,2,0.5\n2,3,1.5\n3,1,2\n4,4,?\n",
        NUMBERS,
        ["--missing", "skip", "--null-value", "?"],
        missing="skip",
        null_values=["?"],
    ),
    text(
        "unclosed-quote.csv",
        'ann,bob\n"carl,ann\nbob,carl\n',
        {("ann", "bob"): 1.0, ('"carl', "ann"): 1.0, ("bob", "carl"): 1.0},
        ["--no-quotes"],
        quote=None,
    ),
    text("negative.csv", "-1,2\n2,-3\n", {(-1, 2): 1.0, (2, -3): 1.0}),
    text("special.csv", "1,2,NaN\n2,3,inf\n3,1,-0.0\n", {(1, 2): float("nan"), (2, 3): float("inf"), (3, 1): -0.0}),
    # --- text: compression ---
    text("edges.csv.gz", gzip.compress(CSV.encode()), NUMBERS),
    text("padded.csv.gz", gzip.compress(CSV.encode()) + bytes(512), NUMBERS),
    text("edges.csv.bz2", bz2.compress(CSV.encode()), NUMBERS),
    text("edges.csv.xz", lzma.compress(CSV.encode()), NUMBERS),
    text("edges.csv.lz4", pa.compress(CSV.encode(), codec="lz4", asbytes=True), NUMBERS),
    text("edges.csv.zst", pa.compress(CSV.encode(), codec="zstd", asbytes=True), NUMBERS),
    text("edges.zip", zipped(CSV), NUMBERS),
    # --- collections and programs ---
    text("snap.txt", "# Directed graph\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n3\t1\n", PLAIN),
    text("signed.csv", "1,2,0.5,1289241911.72836\n2,3,1.5,1289241941.53378\n3,1,2,1289243140.39049\n", NUMBERS),
    text(
        "out.konect", "% asym posweighted\n% 3 3 3\n1 2 0.5 1082040961\n2 3 1.5 1082040961\n3 1 2 1082040961\n", NUMBERS
    ),
    text("out.bipartite", "% bip unweighted\n1 2\n2 3\n3 1\n", PLAIN, note="bipartite"),
    text(
        "gephi.csv",
        "Source;Target;Type;Id;Label;Weight\nann;bob;Directed;0;;0.5\nbob;carl;Directed;1;;1.5\ncarl;ann;Directed;2;;2\n",
        NAMES,
    ),
    text(
        "gephi-undirected.csv",
        "Source,Target,Type\n1,2,Undirected\n2,3,Undirected\n3,1,Undirected\n",
        PLAIN,
        note="direction",
    ),
    Case("neo4j", neo4j, NAMES, note="table of vertices"),
    text("matrix.mtx", MATRIX, NUMBERS),
    text("one-percent.mtx", MATRIX[1:], NUMBERS),
    text(
        "symmetric.mtx.gz", gzip.compress(SYMMETRIC.encode()), {(2, 1): 1.0, (1, 2): 1.0, (3, 3): 1.0}, note="two edges"
    ),
    text("roads.gr", "c roads\np sp 3 3\na 1 2 0.5\na 2 3 1.5\na 3 1 2\n", NUMBERS),
    text("colours.col", "c colours\np edge 3 2\ne 1 2\ne 2 3\n", {(1, 2): 1.0, (2, 3): 1.0}, note="without direction"),
    text("mesh.graph", "3 2 001\n2 5\n1 5 3 6\n2 6\n", {(1, 2): 5.0, (2, 1): 5.0, (2, 3): 6.0, (3, 2): 6.0}),
    text("people.gml", GML, NAMES, note="labels"),
    text("undirected.gml", GML.replace(" directed 1", ""), NAMES, note="direction"),
    text("people.graphml", GRAPHML, NAMES),
    text("people.gexf", GEXF, NAMES, note="labels"),
    text("people.net", PAJEK, NAMES, note="labels"),
    text("networkx.edgelist", "1 2 {}\n2 3 {}\n3 1 {}\n", PLAIN),
    text(
        "networkx-data.edgelist",
        "1 2 {'weight': 0.5}\n2 3 {'weight': 1.5}\n3 1 {'weight': 2, 'since': 1999}\n",
        NUMBERS,
        note="attributes",
    ),
    # --- tables in files ---
    parquet("edges.parquet", lambda: pa.table(frame()), NUMBERS),
    parquet("gzip.parquet", lambda: pa.table(frame()), NUMBERS, compression="gzip"),
    parquet("brotli.parquet", lambda: pa.table(frame()), NUMBERS, compression="brotli"),
    parquet("pandas-sample.parquet", lambda: pd.DataFrame(frame()).sample(3, random_state=1), NUMBERS),
    Case("edges.feather", arrow_file, NUMBERS),
    Case("parts", folder_of_parts, NUMBERS),
    # --- objects ---
    object_of("pandas after sample", lambda: pd.DataFrame(names()).sample(3, random_state=1), NAMES),
    object_of("polars lazy frame", lambda: pl.DataFrame(frame()).lazy(), NUMBERS),
    object_of("dict of columns", frame, NUMBERS),
    object_of("list of triples", lambda: [(u, v, w) for (u, v), w in NAMES.items()], NAMES),
    object_of("generator of pairs", lambda: (pair for pair in PLAIN), PLAIN),
    object_of(
        "generator of NumPy's numbers",
        lambda: zip(*(np.array([*column]) for column in zip(*PLAIN, strict=True)), strict=True),
        PLAIN,
    ),
    object_of(
        "tuple of arrays", lambda: (np.array([1, 2, 3]), np.array([2, 3, 1]), np.array([0.5, 1.5, 2.0])), NUMBERS
    ),
    object_of(
        "edges with attributes",
        lambda: [(u, v, {"weight": w, "since": 1999}) for (u, v), w in NAMES.items()],
        NAMES,
    ),
    object_of("array of two columns", lambda: np.array(list(PLAIN)), PLAIN),
    object_of("NetworkX graph", Graph, NAMES),
    object_of("sparse matrix", Sparse, NUMBERS),
    object_of(
        "dictionary-encoded",
        lambda: pa.table({**names(), "source": pa.array(names()["source"]).dictionary_encode()}),
        NAMES,
    ),
    object_of(
        "decimals", lambda: pa.table({**frame(), "weight": [decimal.Decimal(w) for w in ("0.5", "1.5", "2")]}), NUMBERS
    ),
    object_of("booleans", lambda: pa.table({**frame(), "weight": [True, True, True]}), PLAIN),
    object_of("UUIDs", uuids, UUIDS),
    object_of("all null", lambda: pa.table({**frame(), "weight": pa.nulls(3)}), PLAIN, missing=1.0),
    object_of(
        "masked",
        lambda: {**frame(), "weight": np.ma.MaskedArray([0.5, 1.5, 9.0], [False, False, True])},
        {**NUMBERS, (3, 1): 4.0},
        missing=4.0,
    ),
    object_of(
        "big-endian",
        lambda: {name: np.array(column, ">f8" if name == "weight" else ">i8") for name, column in frame().items()},
        NUMBERS,
    ),
    object_of("unaligned", unaligned, NUMBERS),
    object_of("open file", lambda: io.BytesIO(gzip.compress(CSV.encode())), NUMBERS),
]
