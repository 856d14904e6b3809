"""Prints lines of `run.py` and `long.py` as Markdown tables of medians, with Quipu's rate by the best peer's.

A ratio of rates is computed within each round. Its median comes first, the minimum and the maximum
follow in brackets.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median


def table(lines: list[dict]) -> str:
    """The table of lines of one family."""
    return {"grow": grow, "steady": steady}.get(lines[0]["family"], rates)(lines)


def rates(lines: list[dict]) -> str:
    """The table of rates with ratios, then of latencies and costs."""
    lines = [line for line in lines if "rate" in line]
    engines = by_name(lines)
    peers = [name for name in engines if name not in ("quipu", "map")]
    rows: dict = defaultdict(lambda: defaultdict(list))
    for line in lines:
        rows[line["workload"], line["threads"]][line["engine"]].append(line)
    out = [about(lines), ""]
    head = ["workload", "threads", *[f"{name}, /s" for name in engines], "by the best peer"]
    head += ["by the map"] * ("map" in engines)
    out += [join(head), join(["---", "---:"] + ["---:"] * (len(head) - 2))]
    for (workload, threads), of in rows.items():
        cells = [workload, str(threads)]
        cells += [rate(of[name]) if name in of else "-" for name in engines]
        cells.append(ratio(of, peers))
        cells += [ratio(of, ["map"])] * ("map" in engines)
        out.append(join(cells))
    out += [
        "",
        "Latency in microseconds (50th / 99th / 99.9th percentile of a call), processor seconds, MB read from and "
        "written to the device, MB on disk afterwards, peak MB of memory:",
        "",
    ]
    head = [
        "workload",
        "threads",
        "engine",
        "p50",
        "p99",
        "p99.9",
        "cpu s",
        "cpu µs an entry",
        "read",
        "written",
        "disk",
        "peak",
        "not there",
    ]
    out += [join(head), join(["---", "---:", "---"] + ["---:"] * (len(head) - 3))]
    for (workload, threads), of in rows.items():
        for name in engines:
            if name not in of:
                continue
            lines_of = of[name]
            cells = [workload, str(threads), name]
            cells += [f"{mid(lines_of, field):,.1f}" for field in ("p50_us", "p99_us", "p999_us")]
            cells.append(f"{mid(lines_of, 'cpu_s'):.2f}")
            cells.append(f"{1e6 * median(line['cpu_s'] / max(line['entries'], 1) for line in lines_of):.2f}")
            cells += [
                f"{mid(lines_of, field, 1e6):,.0f}"
                for field in ("disk_read", "disk_written", "disk_bytes", "peak_bytes")
            ]
            cells.append(f"{mid(lines_of, 'failures'):,.0f}")
            out.append(join(cells))
    wrong = sum(line.get("wrong", 0) for line in lines)
    out += ["", f"Values that were not their key's: {wrong}."]
    return "\n".join(out) + "\n"


def grow(lines: list[dict]) -> str:
    """Microseconds per entry by operation and size, and their growth; then the size of the data."""
    first = lines[0]
    engines = by_name(lines)
    out = []
    for order in dict.fromkeys(line["order"] for line in lines):
        of = [line for line in lines if line["order"] == order]
        # A load that was cut off ends at a size that no other engine has.
        cut = [line for line in of if line.get("planned", line["entries"]) > line["entries"]]
        of = [line for line in of if line not in cut]
        sizes = sorted({line["keys"] for line in of})
        out += [
            f"Keys loaded {order}, values of {first['value_bytes']} bytes; {terms(lines)}.",
            "",
            "Microseconds an entry: of writes and loads with the closing flush, of reads the median of the batches.",
            "",
            join(["operation", "engine", *[f"{size:,}" for size in sizes], "last by first"]),
            join(["---", "---", *["---:"] * (len(sizes) + 1)]),
        ]
        for workload in dict.fromkeys(line["workload"] for line in of):
            field = "us" if workload in ("read", "batch-read", "range") else "us_flushed"
            for name in engines:
                found = {size: pick(of, engine=name, workload=workload, keys=size) for size in sizes}
                costs = [mid(found[size], field) for size in sizes if found[size]]
                cells = [f"{mid(found[size], field):.3f}" if found[size] else "-" for size in sizes]
                growth = f"{costs[-1] / costs[0]:.2f}" if len(costs) > 1 else "-"
                out.append(join([workload, name, *cells, growth]))
        for line in cut:
            out += ["", f"{line['engine']} had loaded {line['keys']:,} keys when its time was up."]
        out += [
            "",
            "After the load: bytes on disk a key, peak MB of memory during it, seconds until the engine was at rest, "
            "and bytes written to the device a byte loaded.",
            "",
            join(["keys", "engine", "disk", "peak", "rest s", "written"]),
            join(["---:", "---", *["---:"] * 4]),
        ]
        for size in sizes:
            for name in engines:
                found = pick(of, engine=name, workload="load", keys=size)
                if found:
                    loaded = mid(found, "entries") * (8 + first["value_bytes"])
                    cells = [f"{mid(found, 'disk_bytes') / size:.1f}", f"{mid(found, 'peak_bytes', 1e6):,.0f}"]
                    cells += [f"{mid(found, 'rest_s'):.0f}", f"{mid(found, 'disk_written') / loaded:.2f}"]
                    out.append(join([f"{size:,}", name, *cells]))
        out.append("")
    wrong = sum(line.get("wrong", 0) for line in lines)
    return "\n".join([*out, f"Values that were not their key's: {wrong}."]) + "\n"


def steady(lines: list[dict]) -> str:
    """The whole run of each engine: rates, latencies, amplification."""
    first = next(line for line in lines if line["workload"] != "window")
    out = [
        f"{first['records']:,} keys with values of {first['value_bytes']} bytes, {first['threads']} threads, "
        f"{first['read_part']:.0%} reads and upserts for the rest; {terms(lines)}.",
        "",
        join(
            [
                "engine",
                "minutes",
                "calls/s",
                "slowest window",
                "p50 µs",
                "p99 µs",
                "p99.9 µs",
                "longest ms",
                "over 100 ms",
                "written by put",
                "disk by live, flushed",
                "at rest",
                "rest s",
                "cpu µs a call",
                "peak MB",
            ]
        ),
        join(["---", *["---:"] * 14]),
    ]
    for name in by_name(lines):
        ends = pick(lines, engine=name, workload="end")
        windows = pick(lines, engine=name, workload="window")
        if not ends or not windows:
            continue
        at_rest = [line["rested"] for line in ends]
        calls = median(line["reads"] + line["writes"] for line in ends)
        cells = [name, f"{mid(ends, 'wall_s', 60):.1f}", rate(ends), f"{min(line['rate'] for line in windows):,.0f}"]
        cells += [f"{mid(ends, field):,.1f}" for field in ("p50_us", "p99_us", "p999_us")]
        cells += [f"{mid(ends, 'max_us', 1e3):,.0f}", f"{mid(ends, 'over_100ms'):,.0f}"]
        cells += [f"{mid(at_rest, 'write_amplification'):.2f}"]
        cells += [f"{mid(of, 'space_amplification'):.2f}" for of in ([line["flushed"] for line in ends], at_rest)]
        cells += [f"{mid(ends, 'rest_s'):.0f}", f"{1e6 * mid(ends, 'cpu_s') / calls:.2f}"]
        cells += [f"{mid(ends, 'peak_bytes', 1e6):,.0f}"]
        out.append(join(cells))
    wrong = sum(line["wrong"] + line["failures"] for line in pick(lines, workload="end"))
    out += ["", f"Keys that were not there, and values that were not their key's: {wrong}."]
    return "\n".join(out) + "\n"


def by_name(lines: list[dict]) -> list[str]:
    """Engines in the order of the lines, but Quipu first and the map last."""
    engines = list(dict.fromkeys(line["engine"] for line in lines))
    return sorted(engines, key=lambda name: (name != "quipu", name == "map"))


def pick(lines: list[dict], **fields: object) -> list[dict]:
    """The lines that have these fields."""
    return [line for line in lines if all(line[name] == value for name, value in fields.items())]


def mid(lines: list[dict], field: str, by: float = 1.0) -> float:
    """The median of a field."""
    return median(line.get(field, 0) for line in lines) / by


def about(lines: list[dict]) -> str:
    """Describes what was measured, where and how."""
    first = lines[0]
    rounds = len({line["round"] for line in lines})
    loads = sorted(line["load"] for line in lines)
    return (
        f"{first['family']}, {first['records']:,} {'records' if first['family'] == 'kv' else 'items'}; "
        f"medians of {rounds} interleaved rounds; {terms(lines)}; load {loads[0]:.0f} to {loads[-1]:.0f}, "
        f"median {median(loads):.0f}."
    )


def terms(lines: list[dict]) -> str:
    """The settings that all engines share, and the machine."""
    first = lines[0]
    return (
        f"cache {first['cache_bytes'] >> 20} MiB, write buffers {first['write_mib']} MiB; "
        f"{'a log that survives a killed process' if first['logged'] else 'no log'}, no sync of a commit; "
        f"{'direct I/O' if first['direct'] else 'page cache'}{', emptied before each' if first.get('cold') else ''}; "
        f"commit {first['commit']}; {first['machine']}{others(lines)}"
    )


def others(lines: list[dict]) -> str:
    """Processor time of other processes, where it is known.

    A run's last line includes its windows, which are left out.
    """
    known = [line for line in lines if "others_cpu_s" in line and line["workload"] != "window"]
    if not known:
        return ""
    share = sum(line["others_cpu_s"] for line in known) / sum(line["account_s"] for line in known)
    return f"; other processes took {share:.2f} processors"


def rate(lines: list[dict]) -> str:
    """The median rate, marked if a round was cut short."""
    rate = median(line["rate"] for line in lines)
    capped = any(line.get("planned", 0) > line.get("operations", line.get("entries", 0)) for line in lines)
    text = f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:.1f} K"
    return text + " (cut)" * capped


def ratio(of: dict, peers: list[str]) -> str:
    """Quipu's rate divided by that of the best peer, round by round."""
    rounds = defaultdict(dict)
    for name in ["quipu", *peers]:
        for line in of.get(name, []):
            rounds[line["round"]][name] = line["rate"]
    ratios = [
        rates["quipu"] / max(rates[name] for name in rates if name != "quipu")
        for rates in rounds.values()
        if "quipu" in rates and len(rates) > 1
    ]
    if not ratios:
        return "-"
    return f"**{median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f})"


def join(cells: list[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(table([json.loads(line) for line in Path(name).read_text().splitlines()]))
