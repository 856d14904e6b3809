"""GraphX on an export or a database.

GraphX has no Python interface of its own: its objects are called through the gateway to Java.

Its vertices are 64-bit integers, so graphs of texts need ``frames`` and a numbering.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError
from ._session import export_address, frames, page

if TYPE_CHECKING:
    from ._session import Source


def graphx(
    session: Any,
    source: Source,
    graph: str | None = None,
    *,
    partitions: int | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> GraphX:
    """Load all vertices and edges of a graph as a graph of GraphX, without their properties.

    GraphX's edges are directed: each edge of an undirected graph is there in both directions.

    Args:
        session: A ``SparkSession``.
        source: Folder of an export or an open database, as for :func:`frames`.
        graph: Name of the graph in a database.
        partitions: Parts of the edges; by default Spark's own.
        scratch: Folder for temporary files, which all executors must see, as for :func:`frames`. The edges pass
            through it as text.

    Raises:
        InvalidInputError: The folder is no export, or the vertices are no integers.
    """
    address = export_address(session, source, graph, None, scratch)
    vertices, edges = frames(session, address)
    if not page(session, address).get("directed", True):
        ends = edges.select("src", "dst")
        edges = ends.union(ends.where("src <> dst").selectExpr("dst as src", "src as dst"))
    kind = dict(vertices.dtypes)["id"]
    if kind not in ("bigint", "int", "decimal(20,0)"):
        raise InvalidInputError(f"vertices of GraphX are integers of 64 bits, and these are {kind}")
    # GraphX loads edges from text alone; a DataFrame becomes its edges only in Scala.
    text = tempfile.mkdtemp(prefix="quipu-graphx-", dir=scratch)
    try:
        edges.selectExpr("cast(src as bigint) src", "cast(dst as bigint) dst").write.csv(
            text, sep=" ", mode="overwrite"
        )
        jvm = session._jvm
        level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()
        parts = partitions or session.sparkContext.defaultParallelism
        loaded = jvm.org.apache.spark.graphx.GraphLoader.edgeListFile(
            session._jsc.sc(), text, False, parts, level, level
        )
        # The loaded graph has only the ends of edges.
        encoders = jvm.org.apache.spark.sql.Encoders
        pairs = vertices.selectExpr("cast(id as bigint) _1", "1 _2")._jdf
        pairs = getattr(pairs, "as")(encoders.tuple(encoders.LONG(), encoders.INT())).rdd()
        tag = jvm.scala.reflect.ClassTag.Int()
        built = jvm.org.apache.spark.graphx.Graph.apply(pairs, loaded.edges(), 1, level, level, tag, tag)
        built.edges().count()  # read now: the text goes
        built.vertices().count()
        return GraphX(session, built)
    finally:
        shutil.rmtree(text, ignore_errors=True)


class GraphX:
    """A graph of GraphX. Each algorithm returns a DataFrame ``id, value``.

    ``graph`` is the object of Scala, for everything else that GraphX has.
    """

    def __init__(self, session: Any, graph: Any) -> None:
        self._session = session
        self.graph = graph

    def pagerank(self, tolerance: float = 1e-9, reset: float = 0.15) -> Any:
        """Run PageRank until no rank changes by more than ``tolerance``. Ranks sum to 1, as Quipu's do.

        GraphX's own sum to the number of vertices.
        """
        library = self._session._jvm.org.apache.spark.graphx.lib
        done = library.PageRank.runUntilConvergence(self.graph, tolerance, reset, *self._tags())
        frame = self._values(done.vertices(), "DOUBLE")
        return frame.selectExpr("id", f"value / {max(frame.count(), 1)} as value")

    def connected_components(self) -> Any:
        """Return for each vertex the least id of its weak component."""
        library = self._session._jvm.org.apache.spark.graphx.lib
        return self._values(library.ConnectedComponents.run(self.graph, *self._tags()).vertices(), "LONG")

    def triangles(self) -> Any:
        """Return for each vertex the number of triangles it is in, edges taken without direction."""
        library = self._session._jvm.org.apache.spark.graphx.lib
        return self._values(library.TriangleCount.run(self.graph, *self._tags()).vertices(), "INT")

    def _tags(self) -> tuple[Any, Any]:
        """Scala's class tags for the types of vertices and edges: they are ``Int`` in a loaded graph."""
        tag = self._session._jvm.scala.reflect.ClassTag.Int()
        return tag, tag

    def _values(self, vertices: Any, kind: str) -> Any:
        """Return a DataFrame of ``VertexRDD``, made by Java: executors run no Python."""
        sql: Any = import_module("pyspark.sql")
        encoders = self._session._jvm.org.apache.spark.sql.Encoders
        encoder = encoders.tuple(encoders.LONG(), getattr(encoders, kind)())
        rows = self._session._jsparkSession.createDataset(vertices, encoder).toDF()
        return sql.DataFrame(rows, self._session).toDF("id", "value")
