"""The datapath's flows against the rnic's table: what should be offloaded and is not. Pure.

Open vSwitch offers each flow of the datapath to the rnic. A flow that carries packets and stays in
software is slow; which flows do so tells the cause apart.

Source  SkeletonHunter (SIGCOMM 2025), localization by inconsistent flow tables of rnics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from localizer.host_evidence.parameters import DEFAULT, HostEvidenceParameters
from localizer.host_evidence.printed.flow_dumps import DatapathFlow, Dump

_MORE: Final = ("-m", "--more")


@dataclass(frozen=True, slots=True)
class Tables:
    """One reading of a host.

    expected  key -> flow of the datapath that should be in the rnic's table
    inside    keys that are there
    """

    expected: Mapping[str, DatapathFlow]
    inside: frozenset[str]

    @property
    def missing(self) -> dict[str, DatapathFlow]:
        """Flows that should be offloaded and are not."""
        return {key: flow for key, flow in self.expected.items() if key not in self.inside}

    @property
    def offloaded(self) -> int:
        """Expected flows that are offloaded [count]."""
        return len(self.expected) - len(self.missing)


def tables(dumps: Sequence[Dump], parameters: HostEvidenceParameters = DEFAULT) -> Tables | None:
    """The two tables of one reading; None where the dumps do not show both.

    The rnic's table is what ``type=offloaded`` prints, or what ``-m`` or ``tc`` marks as offloaded.
    """
    software = [each for each in dumps if each.of_datapath and not each.from_rnic]
    in_rnic = [each for each in dumps if each.of_datapath and each.from_rnic]
    marked = [
        each for each in software if each.of_tc or any(w in _MORE for w in each.command.split())
    ]
    marked += [each for each in software if any(flow.offloaded for flow in each.flows)]
    if not software or not (in_rnic or marked):
        return None
    flows = {flow.key: flow for dump in software for flow in dump.flows}
    flows |= {flow.key: flow for dump in in_rnic for flow in dump.flows if flow.key not in flows}
    inside = {flow.key for dump in in_rnic for flow in dump.flows}
    inside |= {key for key, flow in flows.items() if flow.offloaded}
    expected = {
        key: flow for key, flow in flows.items()
        if flow.may_be_offloaded and flow.packets >= parameters.offloadable
    }  # fmt: skip
    return Tables(expected, frozenset(inside))


def vanished(readings: Sequence[Tables]) -> list[DatapathFlow]:
    """Flows that were in the rnic's table and are not any more, though they carry packets still.

    readings  of one host, oldest first
    """
    found = {
        key: flow
        for before, after in pairwise(readings)
        for key, flow in after.missing.items()
        if key in before.inside
        and (key not in before.expected or flow.packets > before.expected[key].packets)
    }
    return [found[key] for key in sorted(found)]


def of_rnics(reading: Tables) -> dict[str, tuple[int, int]]:
    """Address of an rnic -> its tunnelled flows that are offloaded, of those that should be."""
    found: dict[str, tuple[int, int]] = {}
    for key, flow in reading.expected.items():
        if flow.own_ip:
            offloaded, of = found.get(flow.own_ip, (0, 0))
            found[flow.own_ip] = offloaded + (key in reading.inside), of + 1
    return found
