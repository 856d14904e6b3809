"""Plots with panels, axes and lines, written as SVG without any package; a browser shows them."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path

COLORS = {"quipu": "#0068b5", "rocksdb": "#d55e00", "lmdb": "#009e73", "fjall": "#b5559a", "redb": "#9a7b00"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 300, 190, 58, 14, 30, 38
Points = list[tuple[float, float]]


class Axis:
    """An axis: maps values to pixels, and places ticks."""

    def __init__(
        self, values: Iterable[float], start: float, end: float, *, log: bool = False, air: float = 0.05
    ) -> None:
        known = [value for value in values if value > 0 or not log]
        low, high = (min(known), max(known)) if known else (1, 10)
        self.log, self.start, self.end = log, start, end
        if log:
            # At least a decade, with a margin.
            self.low, self.high = math.log10(low) - 0.06, math.log10(high) + 0.06
            middle, half = (self.low + self.high) / 2, max(self.high - self.low, 1.02) / 2
            self.low, self.high = middle - half, middle + half
            digits = (1,) if self.high - self.low > 2.2 else (1, 2, 5) if self.high - self.low < 1.6 else (1, 3)
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            ticks = [digit * 10.0**power for power in powers for digit in digits]
            self.ticks = [tick for tick in ticks if self.low <= math.log10(tick) <= self.high]
        else:
            self.low, self.high = 0.0, (high or 1) * (1 + air)
            raw = self.high / 5
            unit = 10 ** math.floor(math.log10(raw))
            step = unit * min((digit for digit in (1, 2, 5, 10) if digit * unit >= raw), default=10)
            self.ticks = [step * i for i in range(math.floor(self.high / step) + 1)]

    def at(self, value: float) -> float:
        value = math.log10(max(value, 1e-12)) if self.log else value
        part = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(max(part, 0.0), 1.0)


def short(value: float) -> str:
    """1500000 as 1.5M."""
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{sign}"
    return f"{value:g}"


def text(x: float, y: float, what: str, more: str = "") -> str:
    """A text element."""
    what = what.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{what}</text>'


class Picture:
    """A plot: panels in a grid, below a title and a line of notes."""

    def __init__(self, columns: int, rows: int, title: str, notes: list[str]) -> None:
        self.above = 34 + 15 * len(notes)
        width, height = max(columns * WIDTH + 16, 640), self.above + rows * HEIGHT + 8
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="Helvetica, Arial, sans-serif" font-size="11" fill="#333">',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            text(16, 24, title, 'font-size="15" font-weight="bold"'),
            *(text(16, 42 + 15 * i, note, 'fill="#666"') for i, note in enumerate(notes)),
        ]

    def panel(self, column: int, row: int, title: str, x_title: str, make: Callable[..., tuple[Axis, Axis]]) -> tuple:
        """Draws frame, grid and labels; returns the axes that `make` made."""
        left, top = column * WIDTH + LEFT, self.above + row * HEIGHT + TOP
        right, bottom = (column + 1) * WIDTH - RIGHT, self.above + (row + 1) * HEIGHT - BOTTOM
        x, y = make(left, right, bottom, top)
        for tick in x.ticks:
            self.parts.append(f'<path d="M{x.at(tick):.1f} {top}V{bottom}" stroke="#eee"/>')
            self.parts.append(text(x.at(tick), bottom + 14, short(tick), 'text-anchor="middle"'))
        for tick in y.ticks:
            self.parts.append(f'<path d="M{left} {y.at(tick):.1f}H{right}" stroke="#e4e4e4"/>')
            self.parts.append(text(left - 5, y.at(tick) + 4, short(tick), 'text-anchor="end"'))
        self.parts.append(f'<path d="M{left} {top}V{bottom}H{right}" stroke="#999" fill="none"/>')
        self.parts.append(text(left, top - 8, title, 'font-weight="bold"'))
        self.parts.append(text(right, bottom + 28, x_title, 'text-anchor="end" fill="#666"'))
        return x, y

    def line(self, x: Axis, y: Axis, points: Points, color: str, *, dots: bool = False, more: str = "") -> None:
        """A line through points, in their order."""
        path = "L".join(f"{x.at(px):.1f} {y.at(py):.1f}" for px, py in points)
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.6" {more}/>')
        for px, py in points if dots else []:
            self.parts.append(f'<circle cx="{x.at(px):.1f}" cy="{y.at(py):.1f}" r="2.6" fill="{color}"/>')

    def band(self, x: Axis, y: Axis, low: Points, high: Points, color: str) -> None:
        """Fills the area between two lines."""
        path = "L".join(f"{x.at(px):.1f} {y.at(py):.1f}" for px, py in [*low, *reversed(high)])
        self.parts.append(f'<path d="M{path}Z" fill="{color}" fill-opacity="0.2"/>')

    def legend(self, names: list[str], x: float, y: float) -> None:
        """Draws the names in their colors, from right to left."""
        for name in reversed(names):
            x -= 7 * len(name) + 30
            self.parts.append(f'<path d="M{x} {y - 4}h16" stroke="{COLORS.get(name, "#333")}" stroke-width="3"/>')
            self.parts.append(text(x + 20, y, name))

    def save(self, path: Path) -> Path:
        path.write_text("\n".join([*self.parts, "</svg>"]) + "\n")
        return path
