"""The kernels by subject. Importing them fills the table."""

from __future__ import annotations

from .._native import KERNELS
from . import centrality, communities, components, dijkstra, distances, flows, links, searches, spectral, structure

__all__ = ["KERNELS"]
_MODULES = centrality, communities, components, dijkstra, distances, flows, links, searches, spectral, structure
