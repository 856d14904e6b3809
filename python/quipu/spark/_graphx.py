"""GraphX on an export. GraphX has no Python interface of its own: its objects are called through the gateway to Java.

Its vertices are 64-bit integers, so graphs of texts need ``frames`` and a numbering.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib import import_module
from typing import Any

from ..errors import InvalidInputError
from ._session import frames


def graphx(session: Any, folder: str | os.PathLike[str], *, partitions: int | None = None) -> GraphX:
    """Load the edges of an export as a graph of GraphX.

    Args:
        session: A ``SparkSession``.
        folder: Folder of the export, as for :func:`frames`.
        partitions: Parts of the edges; by default Spark's own.

    Raises:
        InvalidInputError: The folder is no export, or the vertices are no integers.
    """
    vertices, edges = frames(session, folder)
    kind = dict(vertices.dtypes)["id"]
    if kind not in ("bigint", "int", "decimal(20,0)"):
        raise InvalidInputError(f"vertices of GraphX are integers of 64 bits, and these are {kind}")
    # GraphX loads edges from text alone; a DataFrame becomes its graph only in Scala.
    text = tempfile.mkdtemp(prefix="quipu-graphx-")
    try:
        edges.selectExpr("cast(src as bigint) src", "cast(dst as bigint) dst").write.csv(
            text, sep=" ", mode="overwrite"
        )
        jvm = session._jvm
        level = jvm.org.apache.spark.storage.StorageLevel.MEMORY_AND_DISK()
        parts = partitions or session.sparkContext.defaultParallelism
        graph = jvm.org.apache.spark.graphx.GraphLoader.edgeListFile(
            session._jsc.sc(), text, False, parts, level, level
        )
        graph.edges().count()  # read now: the text goes
        return GraphX(session, graph)
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
        frame = self._values(done.vertices(), "double")
        return frame.selectExpr("id", f"value / {max(frame.count(), 1)} as value")

    def connected_components(self) -> Any:
        """Return for each vertex the least id of its weak component."""
        library = self._session._jvm.org.apache.spark.graphx.lib
        return self._values(library.ConnectedComponents.run(self.graph, *self._tags()).vertices(), "bigint")

    def triangles(self) -> Any:
        """Return for each vertex the number of triangles it is in, edges taken without direction."""
        library = self._session._jvm.org.apache.spark.graphx.lib
        return self._values(library.TriangleCount.run(self.graph, *self._tags()).vertices(), "int")

    def _tags(self) -> tuple[Any, Any]:
        """Scala's class tags for the types of vertices and edges: they are ``Int`` in a loaded graph."""
        tag = self._session._jvm.scala.reflect.ClassTag.Int()
        return tag, tag

    def _values(self, vertices: Any, kind: str) -> Any:
        """Return a DataFrame of ``VertexRDD``."""
        core: Any = import_module("pyspark.core.rdd")
        serializers: Any = import_module("pyspark.serializers")
        pickled = self._session._jvm.org.apache.spark.api.python.SerDeUtil.pairRDDToPython(vertices, 0).toJavaRDD()
        rows = core.RDD(
            pickled, self._session.sparkContext, serializers.AutoBatchedSerializer(serializers.CPickleSerializer())
        )
        return self._session.createDataFrame(rows, f"id bigint, value {kind}")
