"""What a run on files has judged, and whether that was enough for a verdict.

"No incidents" is worth something only beside it: a file of a second, of one host, or with links
that no probe crosses is no proof of a healthy network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from localizer.detectors import drift
from localizer.detectors.latency import LatencyMemory
from localizer.incidents.tracker import SIGHTINGS
from localizer.options import Options
from localizer.state import THIRD_S
from localizer.verdicts.reachability import WINDOWS_S
from schemas.component_ids import kind_of
from schemas.documents.known_components import of_topology
from schemas.documents.topology import Topology
from streams.replay_coverage import Judged

_SHOWN: Final = 5
_JUDGEABLE: Final = ("rnic", "tor", "agg", "spine", "link", "vswitch", "container")


class Need(NamedTuple):
    """What one family of detectors needs before it can say anything, and what there was."""

    detector: str
    seconds: int
    hosts: int
    seconds_there: int
    hosts_there: int

    @property
    def met(self) -> bool:
        return self.seconds_there >= self.seconds and self.hosts_there >= self.hosts

    @property
    def missing(self) -> str:
        """What is missing, in words; empty when nothing is."""
        parts = []
        if self.seconds_there < self.seconds:
            parts.append(f"{self.seconds:,} s ({self.seconds_there:,} s judged)")
        if self.hosts_there < self.hosts:
            parts.append(f"{self.hosts} source hosts ({self.hosts_there} seen)")
        return f"{self.detector} needs {' and '.join(parts)}" if parts else ""


def needs(judged: Judged, options: Options) -> list[Need]:
    """The families, from the detectors' own parameters.

    loss     its shortest window, and the further sightings that open an incident
    latency  a window to compare, after a disjoint one to compare it with that ends on a multiple
             of its length
    drift    two half hours
    Each blames the network only where enough source hosts see it.
    """
    start, span = judged.stretch()
    there = len(judged.hosts)
    loss = WINDOWS_S[0] + SIGHTINGS["reachability"] - 1
    window = LatencyMemory().window_s
    lead = start % window  # a reference may lack the beginning of its first third
    latency = 2 * window - lead if lead < THIRD_S else 3 * window - lead
    rows = (
        ("loss", loss, len(judged.seconds)),
        ("latency", latency, span),
        ("drift", (1 + drift.LAGS[0]) * drift.PERIOD_S, span),
    )
    return [Need(name, math.ceil(s), options.observers, have, there) for name, s, have in rows]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of a whole run.

    records   read, judged, late, duplicate, dead_lettered
    fabrics   by name
    """

    records: dict[str, int]
    fabrics: dict[str, Judged]
    topology: Topology | None
    options: Options = field(default_factory=Options)

    @property
    def seconds(self) -> int:
        """Seconds that held a judged probe, summed over fabrics."""
        return sum(len(each.seconds) for each in self.fabrics.values())

    @property
    def hosts(self) -> int:
        """Source hosts of judged probes."""
        return sum(len(each.hosts) for each in self.fabrics.values())

    @property
    def probed(self) -> dict[str, Judged]:
        """Fabrics with a judged second: of others there were heartbeats only."""
        return {fabric: each for fabric, each in sorted(self.fabrics.items()) if each.seconds}

    @property
    def enough(self) -> bool:
        """Whether loss at least could be judged in each fabric; latency and drift take longer."""
        wanted = [needs(each, self.options)[0] for each in self.probed.values()]
        return bool(wanted) and all(need.met for need in wanted)

    def missing(self) -> list[str]:
        """What detectors lack, one text each."""
        return [
            (f"{need.missing} (fabric {fabric})" if len(self.probed) > 1 else need.missing)
            for fabric, judged in self.probed.items()
            for need in needs(judged, self.options)
            if not need.met
        ]

    def not_crossed(self) -> tuple[list[str], int]:
        """Components of the topology that no judged probe crosses, in order, and how many it has;
        hosts, agents and pods are judged by their rnics.
        """
        if self.topology is None:
            return [], 0
        boxes = {box.node_sn for box in self.topology.containers}
        every = {
            each
            for each in of_topology(self.topology)
            if kind_of(each) in _JUDGEABLE
            and (kind_of(each) != "vswitch" or each.partition(":")[2] in boxes)
        }
        judged = self.fabrics.get(self.topology.fabric)
        return sorted(every - (judged.components if judged else set())), len(every)

    def words(self) -> list[str]:
        """Lines for people."""
        said = (
            f"coverage: judged {self.records['judged']:,} of {self.records['read']:,} records, "
            f"{self.seconds:,} s, {self.hosts:,} source host{'' if self.hosts == 1 else 's'}"
        )
        if self.topology is None:
            said += "; without --topology it is not known which links no probe crosses"
        else:
            left, every = self.not_crossed()
            said += f"; {len(left):,} of {every:,} links and components never crossed"
            said += f": {', '.join(left[:_SHOWN])}" if left else ""
            said += f" and {len(left) - _SHOWN:,} more" if len(left) > _SHOWN else ""
        return [said, *(f"not enough to judge: {each}" for each in self.missing())]

    def document(self) -> dict[str, Any]:
        """The same for programs; see ``diagnose --help``."""
        left, every = self.not_crossed()
        return {
            "enough": self.enough,
            "records": self.records,
            "seconds": self.seconds,
            "source_hosts": self.hosts,
            "fabrics": {
                fabric: {
                    "seconds": len(judged.seconds),
                    "source_hosts": len(judged.hosts),
                    "detectors": {
                        need.detector: {"enough": need.met, "missing": need.missing or None}
                        for need in needs(judged, self.options)
                    },
                }
                for fabric, judged in self.probed.items()
            },
            "not_crossed": None
            if self.topology is None
            else {"count": len(left), "of": every, "first": left[:_SHOWN]},
        }
