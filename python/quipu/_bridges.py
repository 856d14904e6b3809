"""Projections as graphs of other libraries, which are imported at first use."""

from __future__ import annotations

import importlib
from typing import Any

from ._from_networkx import from_networkx
from ._quipu import Database, Projection
from ._sampling import sample, samples


def _library(name: str, package: str) -> Any:
    """Import a library that users install themselves."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed\nhint: pip install {package}", name=name) from error


def _ends(projection: Projection) -> tuple[Any, Any, Any]:
    """Sources, targets and weights of the edges, an undirected edge once."""
    import numpy as np

    offsets, targets, weights = projection.offsets, projection.targets, projection.weights
    sources = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets))
    if projection.is_directed:
        return sources, targets, weights
    kept = sources <= targets
    return sources[kept], targets[kept], None if weights is None else weights[kept]


def to_scipy(self: Projection) -> Any:
    """Return the adjacency matrix as a ``scipy.sparse.csr_array``, in the order of ``ids``.

    Its indices are the arrays of the projection. Without weights, entries are 1.0. Parallel edges
    are separate entries, which SciPy adds up.
    """
    sparse = _library("scipy.sparse", "scipy")
    import numpy as np

    n = len(self.offsets) - 1
    weights = self.weights
    data = np.ones(len(self.targets)) if weights is None else weights
    # SciPy wants both index arrays of one signed type; targets are copied, offsets where they fit.
    kind = np.int32 if len(self.targets) < 2**31 and n < 2**31 else np.int64
    return sparse.csr_array((data, self.targets.astype(kind), self.offsets.astype(kind)), shape=(n, n))


def to_networkx(self: Projection) -> Any:
    """Return a graph of NetworkX with the ids as nodes.

    It is a ``DiGraph`` or a ``Graph``, or a ``MultiDiGraph`` or ``MultiGraph`` if there are
    parallel edges. Weights become the attribute ``weight``.
    """
    nx = _library("networkx", "networkx")
    import numpy as np

    sources, targets, weights = _ends(self)
    same = (sources[1:] == sources[:-1]) & (targets[1:] == targets[:-1])
    kinds = (nx.DiGraph, nx.MultiDiGraph) if self.is_directed else (nx.Graph, nx.MultiGraph)
    graph = kinds[bool(np.any(same))]()
    ids = self.ids.tolist()
    graph.add_nodes_from(ids)
    ends = zip(sources.tolist(), targets.tolist(), strict=True)
    if weights is None:
        graph.add_edges_from((ids[u], ids[v]) for u, v in ends)
    else:
        both = zip(ends, weights.tolist(), strict=True)
        graph.add_weighted_edges_from((ids[u], ids[v], weight) for (u, v), weight in both)
    return graph


def to_igraph(self: Projection) -> Any:
    """Return an ``igraph.Graph``. Vertices have the attribute ``name``, edges ``weight``."""
    igraph = _library("igraph", "igraph")
    import numpy as np

    sources, targets, weights = _ends(self)
    edges = np.column_stack([sources, targets])
    graph = igraph.Graph(n=len(self.offsets) - 1, edges=edges, directed=self.is_directed)
    graph.vs["name"] = self.ids.tolist()
    if weights is not None:
        graph.es["weight"] = weights.tolist()
    return graph


def to_networkit(self: Projection) -> Any:
    """Return a ``networkit.Graph`` whose nodes are the positions in ``ids``."""
    networkit = _library("networkit", "networkit")
    import numpy as np

    sources, targets, weights = _ends(self)
    n = len(self.offsets) - 1
    data = np.ones(len(sources)) if weights is None else weights
    coo = (data, (sources.astype(np.uint64), targets.astype(np.uint64)))
    return networkit.GraphFromCoo(coo, n=n, weighted=weights is not None, directed=self.is_directed)


def to_pyg(self: Projection) -> Any:
    """Return a ``torch_geometric.data.Data``: ``edge_index``, ``edge_weight`` and ``num_nodes``.

    ``edge_index`` has positions in ``ids``. An undirected edge is there in both directions.
    """
    data = _library("torch_geometric.data", "torch_geometric")
    torch = _library("torch", "torch")
    import numpy as np

    offsets, weights = self.offsets, self.weights
    sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    edge_index = torch.from_numpy(np.stack([sources, self.targets.astype(np.int64)]))
    found = data.Data(edge_index=edge_index, num_nodes=len(offsets) - 1)
    if weights is not None:
        found.edge_weight = torch.from_numpy(weights.copy())
    return found


def ego(self: Projection, center: int | str, radius: int = 1) -> Projection:
    """Return the vertices within a number of outgoing edges of a vertex, and the edges between them.

    Args:
        center: The vertex.
        radius: Number of edges.
    """
    return self.subgraph(self.bfs(center, depth_limit=radius).ids)


def attach() -> None:
    """Make the functions methods."""
    for function in (to_scipy, to_networkx, to_igraph, to_networkit, to_pyg, ego, sample, samples):
        function.__qualname__ = f"Projection.{function.__name__}"
        setattr(Projection, function.__name__, function)
    from_networkx.__qualname__ = "Database.from_networkx"
    Database.from_networkx = from_networkx
