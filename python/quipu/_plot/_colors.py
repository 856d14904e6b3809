"""Colours for the values of vertices: one for each of few kinds, or a scale for numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

PLAIN = "#4878a8"
OTHERS = "#b0b0b0"
"""Vertices without a value, and kinds beyond the palette."""

KINDS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f", "#d37295", "#4b4b4b")
"""Distinct colours also with most forms of colour blindness."""

SCALE = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""Five points of the scale viridis."""


@dataclass(frozen=True)
class Colors:
    """A colour for each vertex, and the legend of the colours."""

    of: list[str]
    legend: list[tuple[str, str]]


def colors_of(values: list[Any]) -> Colors:
    """Return colours for ``values``; ``None`` is a vertex without a value."""
    known = [value for value in values if value is not None]
    if not known:
        return Colors([PLAIN] * len(values), [])
    kinds = sorted(set(map(str, known)))
    numbers = [float(v) for v in known if isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v)]
    if len(numbers) == len(known) and len(kinds) > len(KINDS):
        return _scaled(values, min(numbers), max(numbers))
    return _by_kind(values, known)


def _by_kind(values: list[Any], known: list[Any]) -> Colors:
    counts: dict[str, int] = {}
    for value in known:
        counts[str(value)] = counts.get(str(value), 0) + 1
    # The largest kinds have colours of their own.
    order = sorted(counts, key=lambda kind: (-counts[kind], kind))
    colors = dict(zip(order, KINDS, strict=False))
    legend = [(f"{kind} ({counts[kind]})", color) for kind, color in colors.items()]
    if len(order) > len(KINDS) or len(known) < len(values):
        legend.append((f"others ({sum(str(v) not in colors or v is None for v in values)})", OTHERS))
    return Colors([OTHERS if v is None else colors.get(str(v), OTHERS) for v in values], legend)


def _scaled(values: list[Any], low: float, high: float) -> Colors:
    def color(value: float) -> str:
        place = (value - low) / (high - low) * (len(SCALE) - 1)
        step = min(int(place), len(SCALE) - 2)
        parts = zip(SCALE[step], SCALE[step + 1], strict=True)
        mixed = (round(a + (b - a) * (place - step)) for a, b in parts)
        return "#" + "".join(f"{part:02x}" for part in mixed)

    marks = [low + (high - low) * i / (len(SCALE) - 1) for i in range(len(SCALE))]
    legend = [(f"{mark:.4g}", color(mark)) for mark in marks]
    return Colors([OTHERS if v is None else color(float(v)) for v in values], legend)
