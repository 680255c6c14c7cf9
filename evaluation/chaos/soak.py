"""``python -m evaluation.chaos.soak``: hours of load and change; nothing may grow.

The pipeline carries the scenario ``churn`` with as many hosts as the rate needs: jobs, containers
and their addresses are new all the time. Each minute another host joins for a minute, by a topology
document and its heartbeats. From the samples after the warm-up: slopes of resident memory, of what
malloc has given out and of the free room that it keeps, number of open files, lag.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from evaluation.chaos.churn_load import STEADY_S, ChurnLoad, carrying
from evaluation.chaos.load import SECOND_NS
from evaluation.chaos.site.pipeline import Pipeline
from evaluation.chaos.site.process import Process, wait_for
from evaluation.machine import machine
from testbed.scenarios import scenario
from testbed.services import kafka_server

#: Resident memory may rise so much [MB/h], and judging may be so late [s].
SLOPE_MB_H: Final = 1.0
LAG_S: Final = 10.0
#: The first part of the samples is warm-up: the first paths are dropped 900 s after their last
#: probe, at the clean-up after that (docs/reliability.md). Of a short run it is half at the most.
_WARM_UP: Final = 0.25
_SETTLED_S: Final = 1200.0
_LONGEST_WARM_UP: Final = 0.5
_SAMPLES: Final = 360
_SHORTEST_S: Final = 1.0


@dataclass(slots=True)
class Samples:
    """Of one process: time [s], resident memory [MB], open files, lag [s].

    used_mb, free_mb  what malloc has given out, and what it keeps [MB]; nan: it does not say
    """

    at_s: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    lag_s: list[float] = field(default_factory=list)
    used_mb: list[float] = field(default_factory=list)
    free_mb: list[float] = field(default_factory=list)

    def add(self, at_s: float, process: Process) -> None:
        """Look at a process that runs."""
        where = Path("/proc", str(process.process.pid))
        resident = where.joinpath("status").read_text().partition("VmRSS:")[2].split()[0]
        self.at_s.append(at_s)
        self.rss_mb.append(int(resident) / 1024)
        self.files.append(len(list(where.joinpath("fd").iterdir())))
        found: Mapping[str, float] = process.metrics() or {}
        self.lag_s.append(found.get("skh_stream_lag_seconds", 0.0 if found else np.nan))
        for state, values in (("used", self.used_mb), ("free", self.free_mb)):
            size = found.get(f'skh_process_malloc_bytes{{state="{state}"}}', np.nan)
            values.append(size / 2**20)

    def warm(self) -> Samples:
        """Those after the warm-up."""
        whole_s = self.at_s[-1] if self.at_s else 0.0
        return self.since(min(max(_WARM_UP * whole_s, _SETTLED_S), _LONGEST_WARM_UP * whole_s))

    def since(self, at_s: float) -> Samples:
        """Those from a time on [s]."""
        first = bisect_left(self.at_s, at_s)
        return Samples(
            self.at_s[first:], self.rss_mb[first:], self.files[first:], self.lag_s[first:],
            self.used_mb[first:], self.free_mb[first:],
        )  # fmt: skip


def slope(at_s: Sequence[float], value: Sequence[float]) -> tuple[float, float]:
    """Rise of a value per hour by least squares, and twice its standard error; nan: too few.

    Values that are nan are left out.
    """
    known = np.isfinite(value)
    if np.count_nonzero(known) < 3:
        return np.nan, np.nan
    x, y = np.asarray(at_s)[known], np.asarray(value)[known]
    x, y = (x - np.mean(x)) / 3600, y - np.mean(y)
    rise = float(x @ y / (x @ x))
    rest = y - rise * x
    return rise, 2 * float(np.sqrt(rest @ rest / (len(x) - 2) / (x @ x)))


def problems(name: str, samples: Samples) -> list[str]:
    """What grows, a line each: only what is beyond the error of its measurement."""
    warm = samples.warm()
    found = []
    for what, values in (
        ("resident memory", warm.rss_mb), ("what malloc has given out", warm.used_mb)
    ):  # fmt: skip
        rise, error = slope(warm.at_s, values)
        if rise - error > SLOPE_MB_H:
            found.append(f"{name}: {what} rises by {rise:.1f} ± {error:.1f} MB/h")
    third, half = len(warm.files) // 3, len(warm.files) // 2
    if third and min(warm.files[-third:]) > max(warm.files[:third]):
        found.append(f"{name}: open files rose from {warm.files[0]} to {warm.files[-1]}")
    if half and np.nanmin([*warm.lag_s[half:], np.inf]) > LAG_S:
        found.append(f"{name}: judging stays {warm.lag_s[-1]:.0f} s behind")
    return found


def soak(
    folder: Path, *, duration_s: float, rate: int, report: Callable[[str], None] = print
) -> list[str]:
    """Run the pipeline so long under load; reports a line per process, returns the problems.

    rate  records a second, about
    """
    plan = msgspec.structs.replace(scenario.load("churn"), duration_s=int(duration_s) + STEADY_S)
    plan = carrying(plan, rate)
    pipeline = Pipeline(folder, plan.simulation(seed=1, start_ns=0).topology)
    try:
        worker = pipeline.start_worker()
        wait_for(lambda: worker.ready() and pipeline.sink.ready(), "worker and sink are ready")
        source = ChurnLoad(
            pipeline.brokers.bootstrap, plan.simulation(seed=1, start_ns=time.time_ns() + SECOND_NS)
        )
        found = {"stream": (worker, Samples()), "sink": (pipeline.sink, Samples())}
        began_s = time.monotonic()
        every_s = max(_SHORTEST_S, duration_s / _SAMPLES)
        while (at_s := time.monotonic() - began_s) < duration_s and source.is_alive():
            for process, samples in found.values():
                samples.add(at_s, process)
            source.join(every_s)
        if not source.is_alive():
            return ["the load ended by itself"]
        source.end()
        report(
            f"{source.records / at_s:,.0f} records/s for {at_s / 60:.1f} min; "
            f"load at most {source.behind_s:.1f} s late; {machine()}"
        )
    finally:
        pipeline.close()
    for name, (_, samples) in found.items():
        warm = samples.warm()
        newest = samples.since(2 / 3 * samples.at_s[-1])
        rises = [
            f"{what} {values[-1]:.0f} MB, {rise:+.1f} ± {error:.1f} MB/h"
            for what, values, of in (
                ("resident", warm.rss_mb, warm), ("newest third", newest.rss_mb, newest),
                ("given out by malloc", warm.used_mb, warm), ("free in it", warm.free_mb, warm),
            )
            for rise, error in [slope(of.at_s, values)]
        ]  # fmt: skip
        report(
            f"{name}, after {warm.at_s[0] / 60:.0f} min: {'; '.join(rises)}; files "
            f"{warm.files[0]} to {warm.files[-1]}; lag at most {np.nanmax([0, *warm.lag_s]):.1f} s"
        )
    return [line for name, (_, samples) in found.items() for line in problems(name, samples)]


def main() -> int:
    """Exit code 1 when something grows, 2 when nothing can be tried here."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.chaos.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=int, default=20_000, help="records a second, about")
    given = parser.parse_args()
    if why := kafka_server.missing():
        print(why, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        found = soak(Path(folder), duration_s=60 * given.minutes, rate=given.rate)
    print("\n".join(found) or "nothing grows")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
