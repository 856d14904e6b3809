"""A picture of a graph: vertices in a plane, as SVG, and as a page that can be moved and searched."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInputError
from ._colors import Colors, colors_of
from ._edges import Edges, collect, plain
from ._layout import positions as positions_of

WIDTH, HEIGHT, MARGIN = 960, 640, 40
RADIUS_MIN, RADIUS_MAX = 4.0, 18.0
LABELS_MAX = 60
"""With more vertices only the largest have their label; the others show it under the pointer."""


@dataclass(frozen=True)
class Picture:
    """A drawn graph. A notebook shows it; ``save`` writes it."""

    edges: Edges
    positions: npt.NDArray[np.float64]
    """Positions of the vertices in a plane of 960 by 640, one row each."""
    radii: list[float]
    colors: Colors
    labels: list[str]
    title: str

    def save(self, path: str | Path) -> None:
        """Write the picture to a file: ``.html``, ``.svg``, or by matplotlib ``.png`` and ``.pdf``.

        The page is one file without references: it works offline. Drag the picture to move it, scroll to zoom, drag
        a vertex to move that, point at it to see its name and its neighbours.

        Raises:
            InvalidInputError: The file has another suffix.
            ImportError: matplotlib is needed and is not installed.
        """
        path = Path(path)
        match path.suffix.lower():
            case ".html" | ".htm":
                path.write_text(self.to_html(), encoding="utf-8")
            case ".svg":
                path.write_text(self.to_svg(), encoding="utf-8")
            case ".png" | ".pdf":
                figure = self.draw().figure
                figure.savefig(path)
                figure.clear()
            case other:
                raise InvalidInputError(f"a picture is .html, .svg, .png or .pdf, and not {other!r}")

    def to_svg(self) -> str:
        """Return the picture as one SVG element."""
        labelled = set(self._labelled())
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
                f'font-size="11" role="img" aria-label="{html.escape(self.title)}">',
                '<rect width="100%" height="100%" fill="#fff"/>',
                '<g class="view">',
                '<g class="edges" fill="none" stroke="#888" stroke-opacity=".55">',
                *(self._edge(number) for number in range(len(self.edges.pairs))),
                '</g><g class="vertices" stroke="#fff">',
                *(self._vertex(number, number in labelled) for number in range(len(self.labels))),
                "</g></g>",
                self._legend(),
                "</svg>",
            ]
        )

    def to_html(self) -> str:
        """Return the picture as a page in one file."""
        from importlib import resources  # takes as long to import as the rest of this package

        page = resources.files("quipu._plot").joinpath("page.html").read_text(encoding="utf-8")
        data = {
            "pairs": self.edges.pairs,
            "radii": [round(r, 1) for r in self.radii],
            "labels": self.labels,
            "directed": self.edges.directed,
        }
        # `</script>` in a label must not end the data.
        text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
        page = page.replace("TITLE", html.escape(self.title), 1)
        before, after = page.split("PICTURE", 1)
        return before + self.to_svg() + after.replace("DATA", text, 1)

    def draw(self, ax: Any = None) -> Any:
        """Draw with matplotlib, into ``ax`` if given, and return the axes.

        Raises:
            ImportError: matplotlib is not installed.
        """
        lines: Any = import_module("matplotlib.collections")
        if ax is None:
            pyplot: Any = import_module("matplotlib.pyplot")
            ax = pyplot.subplots(figsize=(9.6, 6.4))[1]
        ends = np.array(self.edges.pairs, dtype=np.int64).reshape(-1, 2)
        ax.add_collection(lines.LineCollection(self.positions[ends], colors="#88888888", linewidths=0.8, zorder=1))
        areas = [math.pi * r**2 for r in self.radii]
        ax.scatter(self.positions[:, 0], self.positions[:, 1], s=areas, c=self.colors.of, zorder=2)
        for number in self._labelled():
            ax.annotate(self.labels[number], self.positions[number], fontsize=7, ha="center", va="bottom")
        ax.set_xlim(0, WIDTH)
        ax.set_ylim(HEIGHT, 0)
        ax.set_axis_off()
        ax.set_title(self.title)
        return ax

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html())
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="{WIDTH}" height="{HEIGHT}" frameborder="0">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return (
            f"<quipu.Picture of {len(self.labels)} vertices and {len(self.edges.pairs)} edges; "
            "save('picture.html') writes it>"
        )

    def _labelled(self) -> list[int]:
        """Return the largest vertices, whose labels are always shown."""
        return sorted(range(len(self.labels)), key=lambda i: -self.radii[i])[:LABELS_MAX]

    def _edge(self, number: int) -> str:
        path = edge_path(self.positions, self.radii, self.edges.pairs[number], self.edges.directed)
        weight = self.edges.weights[number]
        source, target = self.edges.pairs[number]
        arrow = " → " if self.edges.directed else " - "
        name = self.labels[source] + arrow + self.labels[target]
        if weight is not None:
            name += f": {weight:g}"
        return f'<path d="{path}"><title>{html.escape(name)}</title></path>'

    def _vertex(self, number: int, labelled: bool) -> str:
        x, y = self.positions[number]
        label = html.escape(self.labels[number])
        kind = "" if labelled else ' class="small"'
        radius = self.radii[number]
        return (
            f'<g transform="translate({x:.1f} {y:.1f})"{kind}><circle r="{radius:.1f}" '
            f'fill="{self.colors.of[number]}"/><text y="{-radius - 3:.1f}" text-anchor="middle" stroke="none" '
            f'fill="#222"{"" if labelled else " visibility=" + chr(34) + "hidden" + chr(34)}>{label}</text>'
            f"<title>{label}</title></g>"
        )

    def _legend(self) -> str:
        rows = [
            f'<g transform="translate(14 {HEIGHT - 16 - 16 * number})"><circle r="5" fill="{color}"/>'
            f'<text x="10" y="4" fill="#222">{html.escape(name)}</text></g>'
            for number, (name, color) in enumerate(reversed(self.colors.legend))
        ]
        return f'<g class="legend">{"".join(rows)}</g>'


def edge_path(positions: npt.NDArray[np.float64], radii: list[float], pair: tuple[int, int], directed: bool) -> str:
    """Return the path of an edge: to the border of its target, with a head if it has a direction."""
    source, target = pair
    x, y = positions[source]
    if source == target:
        r = radii[source]
        return f"M{x + r:.1f} {y - r / 2:.1f}a{r:.1f} {r:.1f} 0 1 1 0 {r:.1f}"
    dx, dy = positions[target] - positions[source]
    length = max(math.hypot(dx, dy), 1e-6)
    dx, dy = dx / length, dy / length
    tip_x, tip_y = positions[target][0] - dx * radii[target], positions[target][1] - dy * radii[target]
    path = f"M{x:.1f} {y:.1f}L{tip_x:.1f} {tip_y:.1f}"
    if directed:
        # A head no larger than the vertex, whose sides are half as wide as long.
        dx, dy = dx * min(5, 1.5 * radii[target]), dy * min(5, 1.5 * radii[target])
        path += f"M{tip_x - dx + dy / 2:.1f} {tip_y - dy - dx / 2:.1f}L{tip_x:.1f} {tip_y:.1f}"
        path += f"L{tip_x - dx - dy / 2:.1f} {tip_y - dy + dx / 2:.1f}"
    return path


def plot(
    graph: Any,
    *,
    around: Any = None,
    hops: int = 1,
    labels: Mapping[Any, Any] | None = None,
    colors: Any = None,
    sizes: Any = None,
    title: str | None = None,
    vertices_max: int = 2000,
    seed: int = 0,
) -> Picture:
    """Draw a small graph, or the neighbourhood of a vertex.

    Args:
        graph: A graph of a database, a projection, a NetworkX graph, or pairs and triples: a list, or the result of a
            query.
        around: One vertex, or a list of them: only vertices within ``hops`` are drawn. ``None`` draws all.
        hops: How many edges away from ``around`` a vertex may be, in either direction.
        labels: A name for some vertices; the others have their own.
        colors: A value for some vertices: few different ones are kinds with a colour each, many numbers a scale.
            A mapping, or a result with ``to_dict()``.
        sizes: A number of at least 0 for some vertices. By default their degree.
        title: Title of the page. By default the graph's name.
        vertices_max: More vertices are refused, since nobody can read them. Time grows by their square.
        seed: The same seed gives the same picture.

    Raises:
        LimitError: There are more vertices.
        InvalidInputError: ``around`` is not a vertex of the graph, or a size is not a number.
    """
    if hops < 0:
        raise InvalidInputError(f"hops= is a number from 0, and not {hops}")
    edges = collect(graph, around, hops, vertices_max)
    ends = np.array(edges.pairs, dtype=np.int64).reshape(-1, 2)
    count = len(edges.vertices)
    unit = positions_of(count, ends[:, 0], ends[:, 1], seed)
    positions = unit * (WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN) + MARGIN
    degrees = np.bincount(ends.ravel(), minlength=count).astype(np.float64)
    names: Mapping[Any, Any] = {} if labels is None else labels
    values = mapping_of(colors)
    return Picture(
        edges=edges,
        positions=positions,
        radii=_radii(degrees if sizes is None else _sizes(mapping_of(sizes), edges.vertices)),
        colors=colors_of([values.get(vertex) for vertex in edges.vertices]),
        labels=[str(names.get(vertex, vertex)) for vertex in edges.vertices],
        title=title if title is not None else str(getattr(graph, "name", "") or "graph"),
    )


def mapping_of(values: Any) -> Mapping[Any, Any]:
    """Return values of vertices as a mapping. They may be ``None``, a mapping, pairs, or a result."""
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return cast("Mapping[Any, Any]", values)
    if callable(getattr(values, "to_dict", None)):
        return cast("Mapping[Any, Any]", values.to_dict())
    rows: Iterable[Any] = values.rows() if hasattr(values, "rows") else values
    return {row[0]: row[1] for row in rows}


def _sizes(sizes: Mapping[Any, Any], vertices: list[Any]) -> npt.NDArray[np.float64]:
    found = [sizes.get(vertex, 0) for vertex in vertices]
    for vertex, size in zip(vertices, found, strict=True):
        if not _is_size(size):
            raise InvalidInputError(f"the size of vertex {vertex!r} is a number of at least 0, and not {size!r}")
    return np.array(found, dtype=np.float64)


def _is_size(size: Any) -> bool:
    number = plain(size)
    return isinstance(number, int | float) and number is not True and 0 <= number < math.inf


def _radii(sizes: npt.NDArray[np.float64]) -> list[float]:
    """Areas follow the sizes. Many vertices are smaller than few."""
    scale = min(1.0, math.sqrt(150 / max(len(sizes), 1)))
    largest = float(sizes.max(initial=0))
    if largest == 0:
        return [(RADIUS_MIN + 2) * scale] * len(sizes)
    return (scale * (RADIUS_MIN + (RADIUS_MAX - RADIUS_MIN) * np.sqrt(sizes / largest))).tolist()
