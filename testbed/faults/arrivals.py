"""Random arrivals of faults: times, durations and kinds as in a real cluster.

The table is computed once from the InfiniteHBD fault trace (584 faults of 400 servers in 348
days): ``python -m testbed.faults.arrivals TRACE.json > testbed/data/arrivals.json``. A simulation
has the shape of the trace (faults come in clusters, a few last far longer than the others) on a
shorter time scale.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from importlib import resources
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from testbed.faults.kinds import KINDS, NETWORK_KINDS
from testbed.simulator.counter_rng import F64

_LEVELS: Final = 20
#: Kinds by (class, description) of the trace; everything else there (GPUs, fans, disks, stress
#: tests, unknown causes) leaves the network alone.
_KIND_OF: Final = {
    ("Parameter Plane Cable", "Link Down"): "switch_port_down",
    ("Change", "Y-cables Taken offline"): "switch_port_down",
    ("Change", "Remote Optical Module Failure"): "switch_port_down",
    ("NIC", "Rnic Gid Error"): "rnic_gid_change",
    ("NIC", "NIC Link Speed low"): "rnic_latency",
    ("NIC", "NIC Lost"): "rnic_hardware_failure",
    ("NIC", "NIC PCI link Width low"): "pcie_nic_error",
    ("Riser Card", "RiserCard Fault"): "pcie_nic_error",
    ("Power Supply", "Power Supply Failure detected"): "host_down",
    ("Motherboard", "Motherboard Failed"): "host_down",
    ("CPU", "Machine Check Exception ( Uncorrectable )"): "host_down",
    ("System Crash", "Server down"): "host_down",
    ("Operating System", "Kernel Panic"): "host_down",
}


class Trace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The summary of the trace.

    gap_hours, lasting_hours  quantiles in equal steps from 0 to 1
    kinds                     faults by kind of the testbed; ``silent``: not the network's
    """

    origin: str
    faults: int
    servers: int
    days: float
    gap_hours: list[float]
    lasting_hours: list[float]
    silent: int
    kinds: dict[str, int]


class Arrivals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Random faults of a scenario, drawn by the seed.

    per_hour   mean number of faults an hour
    mix        "observable": each of the published types that probes can show, alike;
               "trace": the network's share of the real trace, in its proportions; or kinds
    start_s    no fault begins earlier
    lasting_s  shortest and longest; the trace's quantiles are mapped between them, log-linearly
    gap_s      time between a fault's end and the simulation's, so that it can be found
    """

    per_hour: float
    mix: str | tuple[str, ...] = "observable"
    start_s: int = 75
    lasting_s: tuple[int, int] = (20, 60)
    gap_s: int = 15

    def __post_init__(self) -> None:
        low, high = self.lasting_s
        if self.per_hour <= 0 or not 1 <= low <= high:
            raise ValueError("arrivals: give per_hour > 0 and lasting_s = [low, high], 1 <= low")
        mixes = (*_NAMED, *KINDS)
        for name in (self.mix,) if isinstance(self.mix, str) else self.mix:
            if name not in mixes:
                raise ValueError(
                    f"arrivals: no mix or kind {name!r}; use one of {', '.join(mixes)}"
                )


class Arrival(msgspec.Struct, frozen=True):
    """One fault to be placed: kind, first second, last second."""

    kind: str
    start_s: int
    end_s: int


_NAMED: Final = ("observable", "trace")


def table() -> Trace:
    """The shipped table."""
    raw = (resources.files("testbed") / "data" / "arrivals.json").read_bytes()
    return msgspec.json.decode(raw, type=Trace)


def draw(plan: Arrivals, duration_s: int, seed: int) -> list[Arrival]:
    """Faults in order of their start; none starts before start_s or ends in the last gap_s."""
    rng, trace = np.random.default_rng([seed, 41]), table()
    names, weights = _mix(plan, trace)
    gaps = np.array(trace.gap_hours)
    mean_s = 3600 / plan.per_hour / float(np.trapezoid(gaps, dx=1 / (len(gaps) - 1)))
    lasting = _laid_between(np.array(trace.lasting_hours), plan.lasting_s)
    out: list[Arrival] = []
    at = float(plan.start_s)
    while True:
        at += mean_s * _quantile(gaps, rng.random())
        kind = names[int(rng.choice(len(names), p=weights))]
        length = round(_quantile(lasting, rng.random()))
        if at >= duration_s - plan.gap_s:
            return out
        end = int(at) + length
        if end <= duration_s - plan.gap_s:
            out.append(Arrival(kind, int(at), end))


def _mix(plan: Arrivals, trace: Trace) -> tuple[list[str], F64]:
    names = [plan.mix] if isinstance(plan.mix, str) else list(plan.mix)
    counts = dict.fromkeys(names, 1)
    if names == ["observable"]:
        counts = dict.fromkeys(NETWORK_KINDS, 1)
    elif names == ["trace"]:
        counts = trace.kinds
    weights = np.array(list(counts.values()), float)
    return list(counts), weights / weights.sum()


def _quantile(levels: F64, u: float) -> float:
    return float(np.interp(u, np.linspace(0, 1, len(levels)), levels))


def _laid_between(hours: F64, bounds: tuple[int, int]) -> F64:
    """Seconds: the trace's 5 % quantile becomes the shortest and its 95 % quantile the longest."""
    place = np.log(np.maximum(hours, 1e-3))
    low, high = place[1], place[-2]
    share = np.clip((place - low) / (high - low), 0, 1)
    out: F64 = bounds[0] * (bounds[1] / bounds[0]) ** share
    return out


def derive(raw: bytes) -> Trace:
    """The table of a trace in InfiniteHBD's format."""
    events = msgspec.json.decode(raw)
    begun: defaultdict[tuple[str, str, str], list[float]] = defaultdict(list)
    lasting, starts, kinds = [], [], Counter[str]()
    for event in events:
        what = event["fault_type"]["Class"], event["fault_type"]["Desc"]
        same = begun[(event["node_id"], *what)]
        if event["event_type"] == "fault_start":
            same.append(event["event_time"])
            starts.append(event["event_time"])
            kinds[_KIND_OF.get(what, "")] += 1
        else:
            lasting.append(24 * (event["event_time"] - same.pop(0)))
    levels = np.linspace(0, 1, _LEVELS + 1)
    silent = kinds.pop("", 0)
    return Trace(
        origin="InfiniteHBD-Trace, Apache-2.0; quantiles and counts made by "
        "testbed/faults/arrivals.py",
        faults=len(starts),
        servers=400,
        days=round(max(starts), 1),
        gap_hours=np.quantile(24 * np.diff(sorted(starts)), levels).round(3).tolist(),
        lasting_hours=np.quantile(lasting, levels).round(3).tolist(),
        silent=silent,
        kinds=dict(kinds.most_common()),
    )


if __name__ == "__main__":
    made = msgspec.json.encode(derive(Path(sys.argv[1]).read_bytes()))
    print(msgspec.json.format(made, indent=1).decode())
