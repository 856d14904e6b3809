"""NetworkX over Quipu: its graph classes on disk, and its functions over them.

>>> import networkx as nx
>>> import quipu.nx
>>> G = quipu.nx.Graph(db="friends.quipu", name="friends")
>>> G.add_edge("Ann", "Bob", since=2019)
>>> G.flush()
>>> nx.shortest_path(G, "Ann", "Bob")
['Ann', 'Bob']

The distribution has NetworkX as an extra: ``pip install quipudb[networkx]``.
"""

from __future__ import annotations

from ._private import check_version

check_version()

from ._backend import backend  # noqa: E402
from ._enable import disable, enable  # noqa: E402
from ._graph import DiGraph, Graph, MultiDiGraph, MultiGraph  # noqa: E402

__all__ = ["DiGraph", "Graph", "MultiDiGraph", "MultiGraph", "backend", "disable", "enable"]
