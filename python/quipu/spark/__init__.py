"""Graphs for Apache Spark, for work on whole graphs that outgrows one machine.

>>> from quipu import spark as qs
>>> qs.export(db, "cites", "cites.spark")                      # partitioned Parquet, also `hdfs://` after a copy
>>> vertices, edges = qs.frames(session, "cites.spark")        # DataFrames; also of `db, "cites"`
>>> graph = qs.graphx(session, "cites.spark")                  # GraphX; also of `db, "cites"`
>>> qs.store(db, "rank", graph.pagerank(), keys=["id"])        # back into a relation, in one commit

Spark has no write access to a database: a database belongs to one process on one machine. Its
executors read an export, from a folder that all of them see.

``export`` and ``statistics`` need nothing else; the others need pyspark 4 and Java 17.
"""

from ._export import ExportReport, export, statistics
from ._graphx import GraphX, graphx
from ._session import frames, store

__all__ = ["ExportReport", "GraphX", "export", "frames", "graphx", "statistics", "store"]
