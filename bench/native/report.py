"""Prints lines of `run.py` as a Markdown table: medians over the rounds, and Quipu's rate by the best other engine's.

The ratio is taken within each round; its median stands first, the least and greatest follow in brackets.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median


def table(lines: list[dict]) -> str:
    """Rates with ratios, then latencies and costs."""
    lines = [line for line in lines if "rate" in line]
    engines = list(dict.fromkeys(line["engine"] for line in lines))
    engines.sort(key=lambda name: (name != "quipu", name == "map"))
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


def mid(lines: list[dict], field: str, by: float = 1.0) -> float:
    """The median of a field."""
    return median(line.get(field, 0) for line in lines) / by


def about(lines: list[dict]) -> str:
    """What was measured, where and how."""
    first = lines[0]
    rounds = len({line["round"] for line in lines})
    loads = sorted(line["load"] for line in lines)
    return (
        f"{first['family']}, {first['records']:,} {'records' if first['family'] == 'kv' else 'items'}; "
        f"medians of {rounds} interleaved rounds; cache {first['cache_bytes'] >> 20} MiB, write buffers "
        f"{first['write_mib']} MiB; {'a log that survives a killed process' if first['logged'] else 'no log'}, no sync "
        f"of a commit; {'direct I/O' if first['direct'] else 'page cache'}"
        f"{', emptied before each' if first['cold'] else ''}; "
        f"commit {first['commit']}; {first['machine']}; load {loads[0]:.0f} to {loads[-1]:.0f}, "
        f"median {median(loads):.0f}."
    )


def rate(lines: list[dict]) -> str:
    """The median, marked where a round was cut short."""
    rate = median(line["rate"] for line in lines)
    capped = any(line["planned"] > line.get("operations", line["entries"]) for line in lines)
    text = f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:.1f} K"
    return text + " (cut)" * capped


def ratio(of: dict, peers: list[str]) -> str:
    """Quipu by the best of the peers, round by round."""
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
    """A row."""
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(table([json.loads(line) for line in Path(name).read_text().splitlines()]))
