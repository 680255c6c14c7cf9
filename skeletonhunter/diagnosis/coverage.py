"""What a run on files has judged, and whether that was enough for a verdict.

"No incidents" proves a healthy network only together with it: a file of one second, of one host, or
with links that no probe crosses proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from localizer.coverage import Covered, covered
from localizer.options import Options
from schemas.documents.topology import Topology
from streams.replay_coverage import Judged, Stretch

_SHOWN: Final = 5


class Need(NamedTuple):
    """What one family of detectors needs for a verdict, and what the input had.

    seconds, hosts            needed: judged seconds, source hosts [count]
    seconds_seen, hosts_seen  in the input [count]
    latencies                 whether it had those that the detectors need, if they need any
    """

    detector: str
    seconds: int
    hosts: int
    seconds_seen: int
    hosts_seen: int
    latencies: bool

    @property
    def met(self) -> bool:
        """Whether the input had what is needed."""
        enough = self.seconds_seen >= self.seconds and self.hosts_seen >= self.hosts
        return enough and self.latencies

    @property
    def missing(self) -> str:
        """What is missing, as a text; empty when nothing is."""
        parts = []
        if self.seconds_seen < self.seconds:
            parts.append(f"{self.seconds:,} s ({self.seconds_seen:,} s judged)")
        if self.hosts_seen < self.hosts:
            parts.append(f"{self.hosts} source hosts ({self.hosts_seen} seen)")
        if not self.latencies:
            parts.append("latencies (no record has a latency)")
        return f"{self.detector} needs {' and '.join(parts)}" if parts else ""


def needs(judged: Judged, options: Options) -> list[Need]:
    """Needs of each family of detectors, from the detectors' own parameters.

    loss     its shortest window, and the further sightings that open an incident
    latency  a window, and before it a disjoint reference that ends on a multiple of its length
    drift    the blocks of the shortest line
    Each blames the network only where ``options.observers`` source hosts see the deviation.
    """
    stretches = judged.stretches()
    start, span, _ = max(stretches, key=lambda each: each.length, default=Stretch(0, 0, 0))
    seconds = max((each.judged for each in stretches), default=0)
    hosts = len(judged.hosts)
    loss = options.verdicts.reachability.windows_s[0] + options.incidents.sightings.reachability - 1
    window, drift = options.timing.window_s, options.baselines.drift
    lead = start % window  # a reference may lack the beginning of its first third
    latency = 2 * window - lead if lead < options.timing.third_s else 3 * window - lead
    rows = (
        ("loss", loss, seconds, True),
        ("latency", latency, span, judged.answered),
        ("drift", options.detectors.drift.least_blocks * drift.block_s, span, judged.answered),
    )
    return [
        Need(name, math.ceil(needed), options.observers, seen, hosts, latencies)
        for name, needed, seen, latencies in rows
    ]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a whole run has judged.

    records   read, judged, late, duplicate, dead_lettered [count]
    fabrics   what was judged of each, by name
    topology  None: it is not known which components there are
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
        """Fabrics with a judged second; the others had heartbeats only."""
        return {fabric: each for fabric, each in sorted(self.fabrics.items()) if each.seconds}

    @property
    def enough(self) -> bool:
        """Whether loss could be judged in each fabric; latency and drift need more."""
        wanted = [needs(each, self.options)[0] for each in self.probed.values()]
        return bool(wanted) and all(need.met for need in wanted)

    def missing(self) -> list[str]:
        """What each detector lacks, as texts."""
        return [
            (f"{need.missing} (fabric {fabric})" if len(self.probed) > 1 else need.missing)
            for fabric, judged in self.probed.items()
            for need in needs(judged, self.options)
            if not need.met
        ]

    def not_crossed(self) -> tuple[list[str], int]:
        """Components of the topology that no judged probe crosses, sorted; and the number of all.

        Hosts, agents and pods are left out: they are judged by their rnics.
        """
        found = self._covered()
        return ([], 0) if found is None else (found.uncovered, found.components)

    def untraced(self) -> list[str]:
        """Links between switches that only paths of unknown routes may cross, sorted."""
        found = self._covered()
        return [] if found is None else found.untraced

    def _covered(self) -> Covered | None:
        """Of the fabric of the topology; None without one."""
        if self.topology is None:
            return None
        judged = self.fabrics.get(self.topology.fabric) or Judged()
        return covered(self.topology, judged.components, judged.certain)

    def lines(self) -> list[str]:
        """The coverage as lines for people."""
        line = (
            f"coverage: judged {self.records['judged']:,} of {self.records['read']:,} records, "
            f"{self.seconds:,} s, {self.hosts:,} source host{'' if self.hosts == 1 else 's'}"
        )
        if self.topology is None:
            line += "; without --topology it is not known which links no probe crosses"
        else:
            uncrossed, total = self.not_crossed()
            if uncrossed:
                line += f"; {len(uncrossed):,} of {total:,} links and components never crossed"
                line += f": {', '.join(uncrossed[:_SHOWN])}"
            else:
                line += f"; all {total:,} links and components are crossed"
            line += f" and {len(uncrossed) - _SHOWN:,} more" if len(uncrossed) > _SHOWN else ""
        lines = [line]
        if unknown := self.untraced():
            more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
            lines.append(
                f"{len(unknown):,} links between switches are crossed by no probe whose route is "
                f"known: {', '.join(unknown[:_SHOWN])}{more}; where switches hash alike, no probe "
                "may cross them (skeletonhunter coverage)"
            )
        return [*lines, *(f"not enough to judge: {each}" for each in self.missing())]

    def document(self) -> dict[str, Any]:
        """The coverage as a JSON document for programs."""
        uncrossed, total = self.not_crossed()
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
            else {"count": len(uncrossed), "of": total, "first": uncrossed[:_SHOWN]},
            "untraced_links": None if self.topology is None else self.untraced(),
        }
