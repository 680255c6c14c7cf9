"""Incidents and hosts -> the blacklist: which hosts, why, until when, and which not. Pure.

Only what is inside one host counts: the host, its vswitch, its rnics, and their cables. An incident
that probes cannot tell from something outside of the host says nothing against it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from controller.blacklist.parameters import DEFAULT, BlacklistParameters
from schemas.component_ids import component, kind_of, link_ends
from schemas.documents.incident import Incident
from schemas.documents.times import milliseconds_of, rfc3339_of_ms
from schemas.documents.topology import Rnic

Why = Literal["uncertain", "beyond the host", "cap"]
#: node_sn, and the underlay address of the rnic; empty: the host as a whole.
Place = tuple[str, str]

_SEVERITIES: Final = ("P0", "P1", "P2")


class Hosts(NamedTuple):
    """A fabric's hosts; made once for a topology, and looked at often.

    number  of hosts [count]
    places  components inside them -> where they are
    """

    number: int
    places: Mapping[str, Place]

    @classmethod
    def of(cls, hosts: Mapping[str, Sequence[Rnic]]) -> Hosts:
        """From the rnics of each host, by node_sn."""
        places: dict[str, Place] = {}
        for node_sn, rnics in hosts.items():
            for kind in ("host", "vswitch"):
                places[component(kind, node_sn)] = node_sn, ""
            for rnic in rnics:
                places[component("rnic", rnic.real_ip)] = node_sn, rnic.real_ip
        return cls(len(hosts), places)


class Entry(msgspec.Struct, frozen=True):
    """A host that is to be left out, by one incident.

    rnic        underlay address of the rnic that is to blame; empty: the host as a whole
    reason      the sentence of the incident's evidence
    since       detection of the incident
    expires     the entry counts no longer then, unless the incident is written again
    """

    fabric: str
    node_sn: str
    rnic: str
    component: str
    incident_id: str
    severity: str
    confidence: float
    reason: str
    since: str
    expires: str


class LeftOut(msgspec.Struct, frozen=True):
    """An open incident inside a host that does not list the host, and why."""

    incident_id: str
    fabric: str
    component: str
    why: Why
    node_sn: str = ""


class Resolved(msgspec.Struct, frozen=True):
    """An incident that is over.

    closed_at  after the last trouble, RFC 3339
    """

    incident_id: str
    fabric: str
    component: str
    closed_at: str


class Blacklist(msgspec.Struct, frozen=True):
    """Entries by fabric and host, and open incidents that make none.

    resolved  the newest incidents inside hosts that are over: who drained a host by one of them
              can tell a host that is well from one of which nothing is known any more
    """

    entries: list[Entry]
    left_out: list[LeftOut]
    resolved: list[Resolved] = []


def blacklist(
    incidents: Iterable[Incident],
    hosts: Mapping[str, Hosts],
    now_ms: int,
    parameters: BlacklistParameters = DEFAULT,
) -> Blacklist:
    """The blacklist at a time.

    incidents  newest version of each; those that are resolved or explained by another are skipped
    hosts      of each fabric; incidents of other fabrics are skipped
    Of more hosts than the cap allows, those of the worst and then of the oldest incidents stay.
    """
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    left_out: list[LeftOut] = []
    for each in incidents:
        expires_ms = milliseconds_of(each.updated_at) + round(1000 * parameters.kept_s)
        over = each.state == "resolved" or each.parent is not None or expires_ms <= now_ms
        if over or each.fabric not in hosts:
            continue
        inside = hosts[each.fabric].places
        own = _place(each.component, inside)
        if own is None:
            continue
        tied = [_place(name, inside) for name in each.tie_set]
        if any(place is None or place[0] != own[0] for place in tied):
            left_out.append(_left_out(each, own, "beyond the host"))
        elif each.confidence < parameters.least_confidence:
            left_out.append(_left_out(each, own, "uncertain"))
        else:
            found[each.fabric].append(_entry(each, own, expires_ms))
    entries: list[Entry] = []
    for fabric, its in found.items():
        most = max(1, int(parameters.most_share * hosts[fabric].number))
        its.sort(key=lambda each: (_SEVERITIES.index(each.severity), each.since, each.incident_id))
        listed = list(dict.fromkeys(each.node_sn for each in its))[:most]
        entries += [each for each in its if each.node_sn in listed]
        left_out += [
            LeftOut(each.incident_id, fabric, each.component, "cap", each.node_sn)
            for each in its
            if each.node_sn not in listed
        ]
    entries.sort(key=lambda each: (each.fabric, each.node_sn, each.since, each.incident_id))
    left_out.sort(key=lambda each: each.incident_id)
    return Blacklist(entries, left_out)


def is_inside(component_id: str, hosts: Hosts) -> bool:
    """Whether a component is a host, or inside one."""
    return _place(component_id, hosts.places) is not None


def _place(name: str, inside: Mapping[str, Place]) -> Place | None:
    """Where a component is; of a cable, where its rnic is. None: outside of all hosts."""
    ends = link_ends(name) if kind_of(name) == "link" else (name,)
    return next((inside[end] for end in ends if end in inside), None)


def _entry(incident: Incident, own: Place, expires_ms: int) -> Entry:
    text = incident.evidence.get("text", "")
    return Entry(
        incident.fabric, *own, incident.component, incident.incident_id, incident.severity,
        incident.confidence, str(text), incident.detected_at, rfc3339_of_ms(expires_ms),
    )  # fmt: skip


def _left_out(incident: Incident, own: Place, why: Why) -> LeftOut:
    return LeftOut(incident.incident_id, incident.fabric, incident.component, why, own[0])
