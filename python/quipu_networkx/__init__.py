"""The description of the backend ``quipu`` that NetworkX reads during ``import networkx``.

It is a package of its own, because importing anything of ``quipu`` loads the native module, and a program that only
imports NetworkX should not pay for it. The backend itself is :mod:`quipu.nx`.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

#: Functions with a kernel of Quipu. A test compares them with the table in :mod:`quipu.nx`.
NATIVE = (
    "adamic_adar_index",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path_length",
    "ancestors",
    "average_clustering",
    "average_shortest_path_length",
    "bellman_ford_path_length",
    "betweenness_centrality",
    "bfs_edges",
    "bfs_layers",
    "bridges",
    "closeness_centrality",
    "clustering",
    "connected_components",
    "core_number",
    "degree_assortativity_coefficient",
    "degree_centrality",
    "degree_pearson_correlation_coefficient",
    "descendants",
    "dijkstra_path",
    "dijkstra_path_length",
    "eccentricity",
    "edge_betweenness_centrality",
    "eigenvector_centrality",
    "greedy_color",
    "harmonic_centrality",
    "in_degree_centrality",
    "is_biconnected",
    "is_bipartite",
    "is_connected",
    "is_directed_acyclic_graph",
    "is_strongly_connected",
    "is_weakly_connected",
    "jaccard_coefficient",
    "k_truss",
    "katz_centrality",
    "leiden_communities",
    "louvain_communities",
    "maximum_flow_value",
    "maximum_spanning_edges",
    "minimum_cut",
    "minimum_cut_value",
    "minimum_spanning_edges",
    "modularity",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "node_connected_component",
    "number_connected_components",
    "number_strongly_connected_components",
    "number_weakly_connected_components",
    "out_degree_centrality",
    "overall_reciprocity",
    "pagerank",
    "preferential_attachment",
    "resource_allocation_index",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "transitivity",
    "triangles",
    "weakly_connected_components",
)

#: Environment variable: unless it is empty or ``"0"``, NetworkX uses the backend by itself.
AUTOCONFIG = "QUIPU_NX_AUTOCONFIG"

_GUIDE = "https://github.com/quipu-db/quipu/blob/main/docs/guides/networkx.md"


def info() -> dict[str, Any]:
    """Return the description for the entry point ``networkx.backend_info``, after applying :data:`AUTOCONFIG`."""
    if os.environ.get(AUTOCONFIG, "") not in ("", "0"):
        _configure()
    return {
        "backend_name": "quipu",
        "project": "quipudb",
        "package": "quipu.nx",
        "url": "https://github.com/quipu-db/quipu",
        "short_summary": "NetworkX's graph classes on disk, and kernels in Rust.",
        "default_config": {},
        "functions": {name: {"additional_docs": "A kernel in Rust.", "url": _GUIDE} for name in NATIVE},
    }


def networkx_version() -> tuple[int, int]:
    """Return the first two numbers of the version of NetworkX that is imported, or being imported."""
    text: str = getattr(sys.modules.get("networkx"), "__version__", "3.6")
    first, second = re.findall(r"\d+", text)[:2]  # also of "3.6rc1"
    return int(first), int(second)


def _configure() -> None:
    # NetworkX reads these right after it has called `info`. Before 3.6 it refuses the third.
    kinds = ("ALGOS", "GENERATORS") if networkx_version() < (3, 6) else ("ALGOS", "GENERATORS", "CLASSES")
    for kind in kinds:
        os.environ.setdefault(f"NETWORKX_BACKEND_PRIORITY_{kind}", "quipu")
    os.environ.setdefault("NETWORKX_FALLBACK_TO_NX", "True")
