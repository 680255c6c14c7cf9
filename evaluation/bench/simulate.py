"""Rate at which the simulator writes a large cluster to a file.

32,768 rnics with 16 targets each in both layers make 1.1 M records per simulated second. Some
seconds of the ten minutes are run; the rest is extrapolated, because each second costs the same.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluation.bench.input import START_NS
from evaluation.bench.method.figure import figure
from testbed.simulator.files import write
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec, build

_GOAL: Final = 2_000_000  # records/s/core
_TRACED: Final = 2  # seconds at the beginning in which every route is traced
_SECONDS: Final = 12
_WHOLE_S: Final = 600


#: 4,096 hosts x 8 rnics in three tiers.
LARGE: Final = ClosSpec(
    name="large", hosts=4096, rails=8, hosts_per_segment=128, aggs=8, pods=8, spines=16,
    hosts_per_job=64, tenants=16,
)  # fmt: skip


def large() -> Simulation:
    """``LARGE`` with 16 targets, two five-tuples per pair."""
    return Simulation(build(LARGE, 1), seed=1, start_ns=START_NS, targets=16)


def simulate(form: str) -> dict[str, Any]:
    """Records per second of CPU time, all threads, of ``skeletonhunter simulate``.

    The set-up of the fabric and the first seconds, in which every route is traced, are not part of
    the rate.
    """
    began = time.process_time()
    simulation = large()
    rnics, paths = len(simulation.network.rnic_host), len(simulation.paths)
    drawn_s = time.process_time() - began
    first, first_s = _written(simulation, form, _TRACED)
    more, more_s = _written(simulation, form, _TRACED + _SECONDS)
    records, spent_s = more.records - first.records, more_s - first_s
    rate = records / spent_s
    whole = first.records + records * (_WHOLE_S - _TRACED) / _SECONDS
    whole_s = drawn_s + first_s + spent_s * (_WHOLE_S - _TRACED) / _SECONDS
    return {
        **figure(
            "{rate:,.0f} records/s/core ({records:,} records of {seconds} s, {size:.0f} B each; "
            "{rnics:,} rnics, {paths:,} five-tuple paths). Extrapolated: {long_s} s are "
            "{millions:.0f} M records in {whole_s:.0f} s of CPU, {drawn_s:.0f} s of them to draw "
            "the fabric: {whole_rate:,.0f} records/s/core",
            rate=rate,
            records=records,
            seconds=_SECONDS,
            size=more.size / more.records,
            rnics=rnics,
            paths=paths,
            long_s=_WHOLE_S,
            millions=whole / 1e6,
            whole_s=whole_s,
            drawn_s=drawn_s,
            whole_rate=whole / whole_s,
        ),
        "goal": f">= {_GOAL:,}",
        "missed": whole / whole_s < _GOAL,
    }


class _Cost(NamedTuple):
    """Records in a file, and its size [bytes]."""

    records: int
    size: int


def _written(simulation: Simulation, form: str, seconds: int) -> tuple[_Cost, float]:
    """Write a simulation; returns the records and bytes, and the CPU time [s]."""
    with tempfile.TemporaryDirectory() as place:
        began = time.process_time()
        written = write(simulation, Path(place), seconds, form)
        spent_s = time.process_time() - began
        return _Cost(written.records, written.pings.stat().st_size), spent_s
