"""Draws lines of `long.py`.

`grow`: a panel per operation, a line per engine, both axes logarithmic. `steady`: a column per
engine, rows for throughput, latency and size over time; each row has one scale. A run with many
windows is drawn in bins: the line is the median of a bin's windows, the band is between its minimum
and its maximum.
"""

import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

from svg import COLORS, WIDTH, Axis, Picture, Points


def engines_of(lines: list[dict]) -> list[str]:
    """The engines of the lines, always in the same order."""
    known = list(COLORS)
    names = {line["engine"] for line in lines}
    return sorted(names, key=lambda name: known.index(name) if name in known else len(known))


def settings(line: dict) -> str:
    """The settings that all lines share."""
    return (
        f"values of {line['value_bytes']} bytes; cache {line['cache_bytes'] >> 20} MiB, "
        f"write buffers {line['write_mib']} MiB; "
        f"{'a log without sync' if line['logged'] else 'no log'}; {'direct I/O' if line['direct'] else 'page cache'}"
    )


def machine(lines: list[dict]) -> str:
    """The machine, the date, and the load by other processes."""
    first = lines[0]
    others = sum(line["others_cpu_s"] for line in lines if line["workload"] != "window")
    seconds = sum(line["account_s"] for line in lines if line["workload"] != "window")
    busy = f"; other processes took {others / seconds:.2f} processors" if seconds else ""
    return f"commit {first['commit']}; {first['machine']}; {first['at'][:10]}{busy}"


GROW = [
    ("load", "us_flushed", 1, "load, µs a key"),
    ("read", "us", 1, "read one, µs"),
    ("batch-read", "us", 1, "read 256 at once, µs a key"),
    ("range", "us", 1, "range of 256, µs a key"),
    ("upsert", "us_flushed", 1, "upsert one, µs"),
    ("batch-upsert", "us_flushed", 1, "upsert 1000 at once, µs a key"),
    ("delete", "us_flushed", 1, "delete one, µs"),
    ("load", "disk_bytes", 0, "disk after the load, bytes a key"),
    ("", "peak_bytes", 1e6, "most memory of any operation, MB"),
]


def grow(lines: list[dict], order: str, path: Path) -> Path:
    """Plots the cost of operations over the number of keys."""
    engines = engines_of(lines)
    notes = [settings(lines[0]), "writes with their part of the closing flush; medians", machine(lines)]
    picture = Picture(3, 3, f"Cost of an operation as the data grows, keys loaded {order}", notes)
    picture.legend(engines, 3 * WIDTH, 24)
    for number, (workload, field, by, title) in enumerate(GROW):
        series = {}
        for engine in engines:
            found = defaultdict(list)
            for line in lines:
                # A load that was cut off ends at a size that no other engine has.
                whole = line.get("planned", line.get("entries")) == line.get("entries") or line["workload"] != "load"
                if line["engine"] == engine and line["workload"] == (workload or line["workload"]) and whole:
                    found[line["keys"]].append(line[field] / (by or line["keys"]))
            middle = max if not workload else median
            series[engine] = [(keys, middle(of)) for keys, of in sorted(found.items())]
        all_points = [point for points in series.values() for point in points]

        def axes(
            left: float, right: float, bottom: float, top: float, points: Points = all_points
        ) -> tuple[Axis, Axis]:
            across, up = ([point[i] for point in points] for i in (0, 1))
            return Axis(across, left, right, log=True), Axis(up, bottom, top, log=True)

        x, y = picture.panel(number % 3, number // 3, title, "keys", axes)
        for engine, points in series.items():
            if points:
                picture.line(x, y, points, COLORS.get(engine, "#333"), dots=True)
    return picture.save(path)


BINS = 150
STEADY = [
    ("calls a second, thousands", False, [("rate", 1e3, "")]),
    ("p50, p99, p99.9, µs", True, [("p50_us", 1, "1 3"), ("p99_us", 1, "4 3"), ("p999_us", 1, "")]),
    ("longest call, ms", True, [("max_us", 1e3, "")]),
    ("on disk, GB", False, [("disk_bytes", 1e9, "")]),
    ("memory, MB", False, [("resident_bytes", 1e6, "")]),
]


def binned(lines: list[dict], field: str, by: float, unit_s: int) -> tuple[Points, Points, Points]:
    """Minimum, median and maximum of each bin; with few windows each is a bin."""
    size = max(1, math.ceil(len(lines) / BINS))
    least, middle, most = [], [], []
    for at in range(0, len(lines), size):
        piece = lines[at : at + size]
        # A window in which no call ended has no latency.
        values = [line[field] / by for line in piece if line[field] > 0 or field == "rate"]
        # The longest latency of a bin is its maximum, not a median.
        values = [max(values)] if values and field == "max_us" else values
        if values:
            when = median(line["at_s"] for line in piece) / unit_s
            least.append((when, min(values)))
            middle.append((when, median(values)))
            most.append((when, max(values)))
    return least, middle, most


def steady(lines: list[dict], path: Path) -> Path:
    """Plots throughput, latency, size and memory over time."""
    lines = [line for line in lines if line["round"] == lines[0]["round"]]
    first = next(line for line in lines if line["workload"] != "window")
    windows = defaultdict(list)
    for line in lines:
        if line["workload"] == "window":
            windows[line["engine"]].append(line)
    engines = engines_of([of[0] for of in windows.values()])
    size = math.ceil(max(len(of) for of in windows.values()) / BINS)
    end_s = max(of[-1]["at_s"] for of in windows.values())
    unit_s, unit = (60, "minutes") if end_s > 150 else (1, "seconds")
    length = median(line["window_s"] for of in windows.values() for line in of)
    bins = f"lines: median of {size} windows, bands: their range, longest call: of all; " if size > 1 else ""
    notes = [
        f"{first['records']:,} keys, {first['read_part']:.0%} reads, the rest upserts, {first['threads']} threads; "
        f"{settings(first)}",
        f"windows of {length:.3g} s; {bins}p50 dotted, p99 dashed; live bytes grey",
        machine(lines),
    ]
    picture = Picture(len(engines), len(STEADY), "Upserts and reads over time", notes)
    for row, (title, log, fields) in enumerate(STEADY):
        series = {engine: [binned(windows[engine], field, by, unit_s) for field, by, _ in fields] for engine in engines}
        points = [point for of in series.values() for parts in of for part in parts for point in part]
        # The axis must reach the end of the run, past the middle of the last bin.
        points.append((end_s / unit_s, points[0][1]))
        if title.startswith("on disk"):
            live = first["live_bytes"] / 1e9
            points.append((0, live))

        def axes(
            left: float, right: float, bottom: float, top: float, points: Points = points, log: bool = log
        ) -> tuple[Axis, Axis]:
            across, up = ([point[i] for point in points] for i in (0, 1))
            return Axis(across, left, right, air=0), Axis(up, bottom, top, log=log)

        for column, engine in enumerate(engines):
            x, y = picture.panel(column, row, f"{engine}: {title}", unit, axes)
            if title.startswith("on disk"):
                picture.line(x, y, [(0, live), (x.high, live)], "#888", more='stroke-dasharray="4 3"')
            for (field, _, dashes), (least, middle, most) in zip(fields, series[engine], strict=True):
                color = COLORS.get(engine, "#333")
                if size > 1 and not dashes and field != "max_us":
                    picture.band(x, y, least, most, color)
                more = f'stroke-dasharray="{dashes}"' if dashes else ""
                picture.line(x, y, most if field == "max_us" else middle, color, more=more)
    return picture.save(path)


def draw(path: Path) -> list[Path]:
    """Draws the plots of a file and writes them next to it."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    made = []
    if any(line["family"] == "steady" and line["workload"] == "window" for line in lines):
        made.append(steady([line for line in lines if line["family"] == "steady"], path.with_suffix(".svg")))
    for order in ("ascending", "shuffled"):
        of = [line for line in lines if line["family"] == "grow" and line["order"] == order]
        if of:
            made.append(grow(of, order, path.with_name(f"{path.stem}-{order}.svg")))
    return made


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for made in draw(Path(name)):
            print(made)
