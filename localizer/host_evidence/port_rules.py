"""What a port shows -> the component and the issue type of an incident. Pure.

An rnic and its cable are one to every probe. Counters tell them apart by who counts: damaged frames
are counted by the end that receives them, so they were damaged before it, in the cable or in a
transceiver; packets that came well and were not taken, or that never left, are the rnic's or its
host's own. A link that goes down is counted at both ends, also by the end that did
not drop it: that tells the issue type, and not the component.

Source  issue types: the catalogue of SkeletonHunter (SIGCOMM 2025).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localizer.host_evidence.finding import UNCHANGED, HostFinding, Question
from localizer.host_evidence.parameters import DEFAULT, HostEvidenceParameters
from localizer.host_evidence.port_signs import PortSigns
from schemas.component_ids import TIER_KIND, component, kind_of, link_ends

_FLAPPING: Final = {"rnic": "rnic_port_flapping", "link": "switch_port_flapping"}
_DOWN: Final = {"rnic": "rnic_port_down", "link": "switch_port_down"}


def about_port(
    question: Question,
    rnic: str,
    found: PortSigns,
    parameters: HostEvidenceParameters = DEFAULT,
) -> HostFinding | None:
    """What the port of an rnic (its address) says; None where it decides nothing.

    Only an rnic or its cable in the tie set is decided, or congestion of a switch there.
    """
    own = component("rnic", rnic)
    cable = next(
        (each for each in question.tie_set
         if each.startswith("link:") and own in link_ends(each)), ""
    )  # fmt: skip
    if own not in question.tie_set and not cable:
        return _of_switch(question, rnic, found, parameters)
    tied = own if own in question.tie_set else cable
    ask = _Port(question, tied, cable, rnic, found, parameters)
    if question.symptom == "unconnectivity":
        return ask.dead()
    return ask.lossy() if question.symptom == "loss" else None


class _Port:
    """One port in one question: ``own`` is its rnic, or its cable where the rnic is not tied."""

    def __init__(
        self, question: Question, own: str, cable: str, rnic: str, found: PortSigns,
        parameters: HostEvidenceParameters,
    ) -> None:  # fmt: skip
        self._question, self._own, self._cable, self._rnic = question, own, cable, rnic
        self._found, self._parameters = found, parameters

    def dead(self) -> HostFinding | None:
        """Nothing goes through: in which way is it dead?"""
        found = self._found
        if found.present is False:
            return self._its("rnic_hardware_failure", "its network interface is gone")
        if found.bond_up == 0:
            return self._its("bond_error", "no port of its bond is up")
        if found.enabled is False:
            return self._its("rnic_port_down", "the host has switched its port off (admin_up 0)")
        if found.up is False and found.downs < self._parameters.flaps:
            why = "its port is down (carrier or port state), though the host wants it up"
            return self._either(_DOWN, why)
        if found.up is not False and found.addressed is False:
            return self._its("rnic_gid_change", "its port is up, and its address is gone from it")
        return self.lossy()

    def lossy(self) -> HostFinding | None:
        """Some packets get through, or the port looks well: what does it count?"""
        found, least = self._found, self._parameters
        if found.downs > 0:
            times = "once" if found.downs == 1 else f"{found.downs:,} times"
            return self._either(_FLAPPING, f"its link went down {times} ({found.by})")
        if sum(found.damaged.values()) >= least.damaged:
            text = f"it received damaged frames: {_named(found.damaged)}"
            where = self._cable or self._own
            return self._finding(where, "crc_error", text, decides=bool(self._cable))
        if sum(found.dropped.values()) >= least.dropped:
            text = f"its host did not take what arrived: {_named(found.dropped)}"
            return self._finding(self._own, None, text, decides=True)
        if sum(found.unsent.values()) >= least.dropped:
            text = f"it failed to send: {_named(found.unsent)}"
            return self._finding(self._own, UNCHANGED, text, decides=True)
        return None

    def _its(self, issue_type: str, why: str) -> HostFinding | None:
        """The rnic's own doing; no finding where only its cable is tied."""
        if kind_of(self._own) != "rnic":
            return None
        return self._finding(self._own, issue_type, why, decides=True)

    def _either(self, types: Mapping[str, str], why: str) -> HostFinding | None:
        """Of the rnic or of its cable: the component stays."""
        named = self._question.component
        where = named if named in (self._own, self._cable) else self._own
        return self._finding(where, types[kind_of(where)], why, decides=False)

    def _finding(self, where: str, issue: str | None, why: str, *, decides: bool) -> HostFinding:
        return HostFinding(where, issue, f"rnic {self._rnic}: {why}", decides=decides,
                           symptom=self._question.symptom)  # fmt: skip


def _of_switch(
    question: Question, rnic: str, found: PortSigns, parameters: HostEvidenceParameters
) -> HostFinding | None:
    """Round trips through a switch are late: does congestion control work there?

    Where queues fill, a switch marks packets, and senders slow down; where only pauses come, no
    sender was told to.
    """
    switch = question.component
    if question.symptom != "high_latency" or kind_of(switch) not in TIER_KIND.values():
        return None
    if sum(found.pauses.values()) < parameters.marks or found.marks:
        return None
    text = f"rnic {rnic}: pauses and no mark of congestion: {_named(found.pauses)}"
    return HostFinding(switch, "congestion_control_disabled", text, decides=False,
                       symptom=question.symptom)  # fmt: skip


def _named(counts: Mapping[str, int]) -> str:
    """The counters that gained most, for people."""
    most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:3]
    return ", ".join(f"{name} +{count:,}" for name, count in most)
