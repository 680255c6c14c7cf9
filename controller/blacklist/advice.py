"""The open incidents as they are published, and how the blacklist has changed: its audit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, get_args

from controller.blacklist.blacklist import (
    Blacklist,
    Entry,
    Hosts,
    Resolved,
    Why,
    blacklist,
    is_inside,
)
from controller.blacklist.parameters import DEFAULT, BlacklistParameters
from schemas.documents.incident import Incident
from schemas.metrics import Sample
from schemas.metrics import controller as metrics


class Changed(NamedTuple):
    """Entries that came and went since the last look, and incidents that are newly left out."""

    added: list[Entry]
    removed: list[Entry]
    left_out: list[str]

    def lines(self) -> list[str]:
        """What an audit log says of it, a line each."""
        return [
            *(
                f"blacklist: {each.node_sn} of {each.fabric} listed until {each.expires} by "
                f"incident {each.incident_id}: {each.component}, {each.reason}"
                for each in self.added
            ),
            *(
                f"blacklist: {each.node_sn} of {each.fabric} no longer listed by incident "
                f"{each.incident_id}"
                for each in self.removed
            ),
            *(f"blacklist: {each}" for each in self.left_out),
        ]


class Advice:
    """The newest version of every open incident, and which were resolved last."""

    def __init__(self, parameters: BlacklistParameters = DEFAULT) -> None:
        self._parameters = parameters
        self._open: dict[str, Incident] = {}
        self._resolved: dict[str, Resolved] = {}
        self._entries: dict[str, Entry] = {}
        self._left_out: set[str] = set()

    def __len__(self) -> int:
        """Open incidents [count]."""
        return len(self._open)

    @property
    def incidents(self) -> dict[str, Incident]:
        """Those that are open, by id."""
        return dict(self._open)

    def take(self, incident: Incident) -> None:
        """A version of an incident; older ones than the newest change nothing."""
        known = self._open.get(incident.incident_id)
        if known is not None and known.version > incident.version:
            return
        name = incident.incident_id
        self._resolved.pop(name, None)
        if incident.state != "resolved":
            self._open[name] = incident
            return
        self._open.pop(name, None)
        closed_at = incident.closed_at or incident.updated_at
        self._resolved[name] = Resolved(name, incident.fabric, incident.component, closed_at)
        if len(self._resolved) > self._parameters.most_resolved:
            del self._resolved[next(iter(self._resolved))]

    def listed(self, hosts: Mapping[str, Hosts], now_ms: int) -> Blacklist:
        """The blacklist at a time, for these hosts by fabric."""
        known = list(self._open.values())  # metrics are read in another thread
        if not known:
            return Blacklist([], [])
        return blacklist(known, hosts, now_ms, self._parameters)

    def resolved(self, hosts: Mapping[str, Hosts]) -> list[Resolved]:
        """Incidents inside these hosts that are over, the newest of them."""
        return [
            each
            for each in list(self._resolved.values())
            if each.fabric in hosts and is_inside(each.component, hosts[each.fabric])
        ]

    def samples(self, listed: Blacklist, fabrics: Iterable[str]) -> Iterator[Sample]:
        """Metrics: hosts listed, and incidents that list none."""
        for fabric in fabrics:
            hosts = {each.node_sn for each in listed.entries if each.fabric == fabric}
            yield Sample(metrics.CONTROLLER_BLACKLISTED, len(hosts), (fabric,))
        for why in get_args(Why):
            count = sum(each.why == why for each in listed.left_out)
            yield Sample(metrics.CONTROLLER_NOT_BLACKLISTED, count, (why,))

    def audit(self, listed: Blacklist) -> Changed:
        """How this blacklist differs from that of the last call."""
        now = {each.incident_id: each for each in listed.entries}
        before, self._entries = self._entries, now
        left_out = {
            f"incident {each.incident_id} lists no host: {each.component}, {each.why}"
            for each in listed.left_out
        }
        new, self._left_out = sorted(left_out - self._left_out), left_out
        return Changed(
            [each for name, each in now.items() if name not in before],
            [each for name, each in before.items() if name not in now],
            new,
        )
