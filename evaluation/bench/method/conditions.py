"""Under which conditions a figure was measured: work of others, clock, and speed of the machine."""

from __future__ import annotations

import os
import re
import resource
import time
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import numpy as np

#: A figure is refused where others take more of the machine than this [cores].
MOST_OTHERS: Final = 0.25
#: Of /proc/stat [s].
TICK_S: Final = 1.0 / os.sysconf("SC_CLK_TCK")
_IDLE: Final = (3, 4)  # of a line of /proc/stat: idle, and waiting for a disk
_FIELDS: Final = 8  # behind them are those of guests, whose time is user time too
_STEPS: Final = 2_000_000
_NUMBERS: Final = 4_000_000


class CpuTime(NamedTuple):
    """CPU time that has passed.

    at_s    of the wall clock [s]
    busy_s  all cores, all processes, and what the hypervisor gave to other guests [s]
    own_s   this process and its children that have ended [s]
    """

    at_s: float
    busy_s: float
    own_s: float

    @classmethod
    def now(cls) -> CpuTime:
        """As the kernel counts it."""
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        own_s = sum(each.ru_utime + each.ru_stime for each in own)
        stat = Path("/proc/stat")  # of Linux; elsewhere nothing is known of others
        return cls(time.monotonic(), busy_s(stat.read_text()) if stat.exists() else own_s, own_s)

    def others_since(self, before: CpuTime) -> float:
        """Cores that others used on average since then."""
        busy_s, own_s = self.busy_s - before.busy_s, self.own_s - before.own_s
        return max(0.0, (busy_s - own_s) / max(self.at_s - before.at_s, 1e-9))


def busy_s(stat: str) -> float:
    """CPU time of all cores by the first line of /proc/stat [s]."""
    ticks = [int(each) for each in stat.partition("\n")[0].split()[1:][:_FIELDS]]
    return TICK_S * sum(each for at, each in enumerate(ticks) if at not in _IDLE)


def process_cpu_s(pid: int) -> float:
    """CPU time of a process that runs, all of its threads [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return TICK_S * (int(fields[11]) + int(fields[12]))


def refusal(others: float) -> str | None:
    """Why a figure is none, if others used so many cores meanwhile; None: it is one."""
    if others <= MOST_OTHERS:
        return None
    return (
        f"refused: other processes or guests used {others:.1f} of {os.cpu_count()} cores meanwhile"
    )


def described() -> str:
    """Load, clock and speed of this machine at this time, on one line."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    info = Path("/proc/cpuinfo")
    clock = clock_mhz(info.read_text() if info.exists() else "")
    return f"load {load:.1f}, {clock}, reference work {reference_s():.2f} s"


def clock_mhz(cpuinfo: str) -> str:
    """The cores' median clock, as the kernel says it."""
    found = [float(each) for each in re.findall(r"^cpu MHz\s*:\s*([\d.]+)", cpuinfo, re.M)]
    return f"{median(found):,.0f} MHz" if found else "clock unknown"


def reference_s() -> float:
    """CPU time of fixed work, half in the interpreter and half in memory [s]; best of three.

    Two days' figures of one machine, or those of two machines, compare no better than these times:
    a neighbour on the same processor takes its caches and memory bandwidth, which no load shows.
    """
    rng = np.random.default_rng(1)
    numbers, order = rng.random(_NUMBERS), rng.permutation(_NUMBERS)
    took_s = []
    for _ in range(3):
        began_s = time.process_time()
        sum(step * step for step in range(_STEPS))
        numbers[order].sum()
        np.bincount(order & 0xFFFF, numbers)
        took_s.append(time.process_time() - began_s)
    return min(took_s)
