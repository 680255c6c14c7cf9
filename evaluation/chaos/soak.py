"""``python -m evaluation.chaos.soak``: hours of load and change; nothing may grow.

The pipeline carries the scenario ``churn`` with as many hosts as the rate needs: jobs, containers
and their addresses are new all the time. Each minute another host joins for a minute, by a topology
document and its heartbeats. From the samples after the warm-up: slope of resident memory, number of
open files, lag.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
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
#: The first part of the samples is warm-up: caches fill, pages are touched for the first time.
_WARM_UP: Final = 0.25
_SAMPLES: Final = 360
_SHORTEST_S: Final = 1.0


@dataclass(slots=True)
class Samples:
    """Of one process: time [s], resident memory [MB], open files, lag [s]."""

    at_s: list[float] = field(default_factory=list)
    rss_mb: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    lag_s: list[float] = field(default_factory=list)

    def add(self, at_s: float, process: Process) -> None:
        """Look at a process that runs."""
        where = Path("/proc", str(process.process.pid))
        resident = where.joinpath("status").read_text().partition("VmRSS:")[2].split()[0]
        self.at_s.append(at_s)
        self.rss_mb.append(int(resident) / 1024)
        self.files.append(len(list(where.joinpath("fd").iterdir())))
        metrics = process.metrics()
        self.lag_s.append(metrics["skh_stream_lag_seconds"] if metrics is not None else np.nan)

    def warm(self) -> Samples:
        """Those after the warm-up."""
        return self.since(_WARM_UP)

    def since(self, share: float) -> Samples:
        """Those after this share of them."""
        first = int(len(self.at_s) * share)
        return Samples(
            self.at_s[first:], self.rss_mb[first:], self.files[first:], self.lag_s[first:]
        )


def slope(at_s: Sequence[float], value: Sequence[float]) -> tuple[float, float]:
    """Rise of a value per hour by least squares, and twice its standard error; nan: too few."""
    if len(at_s) < 3:
        return np.nan, np.nan
    x = (np.asarray(at_s) - np.mean(at_s)) / 3600
    y = np.asarray(value) - np.mean(value)
    rise = float(x @ y / (x @ x))
    rest = y - rise * x
    return rise, 2 * float(np.sqrt(rest @ rest / (len(x) - 2) / (x @ x)))


def problems(name: str, samples: Samples) -> list[str]:
    """What grows, a line each: only what is beyond the error of its measurement."""
    warm = samples.warm()
    rise, error = slope(warm.at_s, warm.rss_mb)
    found = []
    if rise - error > SLOPE_MB_H:
        found.append(f"{name}: resident memory rises by {rise:.1f} ± {error:.1f} MB/h")
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
        newest = samples.since(2 / 3)
        rise, error = slope(warm.at_s, warm.rss_mb)
        late, late_error = slope(newest.at_s, newest.rss_mb)
        report(
            f"{name}: {warm.rss_mb[-1]:.0f} MB, {rise:+.1f} ± {error:.1f} MB/h, newest third "
            f"{late:+.1f} ± {late_error:.1f} MB/h; files "
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
