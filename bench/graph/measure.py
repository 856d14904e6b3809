"""Reads the kernel's counters for this process, and describes the machine."""

from __future__ import annotations

import os
import platform
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Counters of this process at one point in time."""

    wall_s: float
    cpu_s: float
    io: dict[str, int]

    @classmethod
    def now(cls) -> Usage:
        """Read the counters, and the clock last: a phase does not pay for reading the others."""
        io = _proc_pairs("/proc/self/io")
        used = resource.getrusage(resource.RUSAGE_SELF)
        return cls(time.perf_counter(), used.ru_utime + used.ru_stime, io)

    def since(self, start: Usage, wall_s: float | None = None) -> dict[str, Any]:
        """Differences as fields of a result.

        ``disk_*_bytes`` is what the kernel charged to the process as device I/O (a read that the
        page cache answers is 0); ``call_*_bytes`` is what went through read and write calls (memory
        maps do not).
        """
        io = {key: self.io[key] - start.io[key] for key in self.io}
        return {
            "wall_s": self.wall_s - start.wall_s if wall_s is None else wall_s,
            "cpu_s": self.cpu_s - start.cpu_s,
            "disk_read_bytes": io.get("read_bytes", 0),
            "disk_written_bytes": io.get("write_bytes", 0),
            "call_read_bytes": io.get("rchar", 0),
            "call_written_bytes": io.get("wchar", 0),
        }


def _proc_pairs(path: str) -> dict[str, int]:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return {}
    return {key: int(value) for key, _, value in (line.partition(": ") for line in lines)}


def reset_peak_memory() -> None:
    """Reset the peak to the current resident memory, where the kernel allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_bytes() -> int:
    """Peak resident memory since the last reset, including mapped file pages."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def folder_bytes(folder: Path) -> int:
    """Bytes of the disk blocks that the files of a folder occupy; holes do not count."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def machine() -> dict[str, Any]:
    """Describe processor, cores, memory and system."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
