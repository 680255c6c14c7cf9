"""The requests of one round of an incident. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from controller.feedback.choice import Ground, NewFiveTuples, choose
from controller.feedback.crossings import TieCrossings
from controller.feedback.parameters import FeedbackParameters
from controller.ping_lists.endpoints import Endpoint
from controller.requests.parameters import RequestParameters
from schemas.component_ids import escaped
from schemas.documents.incident import Incident
from schemas.documents.requests.request import Kind, Request, Target
from schemas.documents.times import rfc3339_of_ms
from schemas.limits import LIMITS

#: Source and target address -> five-tuples that the incident has had already [count].
Used = Mapping[tuple[str, str], int]
FiveTuple = tuple[str, int, str, int]


class Round:
    """Makes the requests of one round; ``number`` is 1 for the first one of the incident."""

    def __init__(
        self,
        incident: Incident,
        ground: Ground,
        number: int,
        now_ms: int,
        parameters: FeedbackParameters,
        requests: RequestParameters,
    ) -> None:
        self._incident, self._ground, self._number = incident, ground, number
        self._parameters = parameters
        lasts_s = min(parameters.lasts_s + requests.answer_s, LIMITS.request_s)
        self._asked_at = rfc3339_of_ms(now_ms)
        self._expires = rfc3339_of_ms(now_ms + round(1000 * lasts_s))
        self._made = 0
        self._tie = incident.tie_set[: parameters.members]
        self._crossings = TieCrossings(ground.topology, self._tie)

    def splitting(self, capacity: Mapping[str, int], used: Used) -> list[list[Request]]:
        """New five-tuples that tell members of the tie set apart, by source host: their probes,
        then their traceroutes, which need the probes.

        used  five-tuples of earlier rounds, which are not taken again
        """
        found = choose(self._ground, self._crossings, len(self._tie), capacity, self._parameters)
        by_host: defaultdict[str, list[Target]] = defaultdict(list)
        for each in found:
            by_host[each.source.node_sn].append(self._new(each, used))
        return [self._of_host(host, targets) for host, targets in sorted(by_host.items())]

    def listed(self, known: Callable[[FiveTuple], bool]) -> list[Request]:
        """Traceroutes of five-tuples of the lists that most probably cross some of the tie set.

        known  whether the route of a five-tuple is known
        """
        shares: list[tuple[float, str, Target]] = []
        by_ip = {each.ip: each for each in self._ground.endpoints if each.layer == "underlay"}
        for (a, b), ports in self._ground.entries.items():
            source, target = by_ip.get(a), by_ip.get(b)
            if source is None or target is None:
                continue
            share = self._crossings.any_member(source, target)
            if share > 0.0:
                entry = self._target(source, target, 0, ports)
                new = [p for p in entry.src_ports if not known((a, p, b, entry.port))]
                if new:
                    own = msgspec.structs.replace(entry, src_ports=new)
                    shares.append((-share, source.node_sn, own))
        shares.sort(key=lambda each: (each[0], each[1], each[2].src_ip, each[2].ip))
        by_host: defaultdict[str, list[Target]] = defaultdict(list)
        left = self._parameters.traced
        for _, host, entry in shares:
            room = self._parameters.host_tuples - sum(len(t.src_ports) for t in by_host[host])
            some = entry.src_ports[: max(0, min(left, room))]
            if some:
                by_host[host].append(msgspec.structs.replace(entry, src_ports=some))
                left -= len(some)
        return [
            self._request("traceroute", host, targets, 1, self._parameters.trace_s)
            for host, targets in sorted(by_host.items())
            if targets
        ]

    def facts(self) -> Iterator[Request]:
        """Counters of the hosts that the tie set is about, and flow tables where it is about the
        overlay; none where these are many.

        Of a slow ToR, counters of some hosts below it, whose rnics it pauses. A vSwitch's tables
        are read several times, for flows that come and go, and once those of hosts that it talks
        to: what is missing in a table, others know.
        """
        known = self._parameters
        hosts = {
            each.node_sn for each in self._ground.endpoints if self._crossings.own(each)
        }  # fmt: skip
        if len(hosts) > known.counted_hosts:
            return
        for host in sorted(hosts or self._below()):
            yield self._request("counters", host, [], 2, known.counters_s)
        if self._incident.layer != "overlay":
            return
        for host in sorted(hosts):
            yield self._request("flow_table", host, [], known.table_readings, known.tables_s)
        for host in self._talking_to(hosts) if hosts else ():
            yield self._request("flow_table", host, [], 1, known.tables_s)

    def _below(self) -> list[str]:
        """Hosts below a slow ToR of the tie set: those that come first by name."""
        if self._incident.symptom != "high_latency":
            return []
        tors = {each.removeprefix("tor:") for each in self._tie if each.startswith("tor:")}
        found = {each.node_sn for each in self._ground.endpoints if escaped(each.asw) in tors}
        return sorted(found)[: self._parameters.counted_hosts]

    def _talking_to(self, hosts: Collection[str]) -> list[str]:
        """Hosts that the lists of the overlay pair with these: first those with a path that the
        incident names as bad, then in the order of their names."""
        of_ip = {
            each.ip: each.node_sn for each in self._ground.endpoints if each.layer == "overlay"
        }
        found = set()
        for pair in self._ground.entries:
            ends = [of_ip[ip] for ip in pair if ip in of_ip]
            if any(end in hosts for end in ends):
                found |= {end for end in ends if end not in hosts}
        named = str(self._incident.evidence.get("examples", "")).replace("'", " ").split()
        bad = set(named) & found
        return sorted(found, key=lambda host: (host not in bad, host))[: self._parameters.peers]

    def _new(self, chosen: NewFiveTuples, used: Used) -> Target:
        """Ports beyond those of the list and of earlier rounds."""
        pair = chosen.source.ip, chosen.target.ip
        first = self._ground.entries.get(pair, 0) + used.get(pair, 0)
        return self._target(chosen.source, chosen.target, first, chosen.five_tuples)

    def _of_host(self, host: str, targets: Sequence[Target]) -> list[Request]:
        known = self._parameters
        count = max(1, round(known.lasts_s / known.interval_s))
        made = [self._request("probe", host, targets, count, known.interval_s)]
        traced = [each for each in targets if each.layer == "underlay"]
        if traced:
            made.append(self._request("traceroute", host, traced, 1, known.trace_s))
        return made

    def replies(self, probes: Iterable[Request]) -> list[Request]:
        """Traceroutes of the replies to these probes, by the host that sends them."""
        by_ip = {each.ip: each for each in self._ground.endpoints}
        found: defaultdict[str, list[Target]] = defaultdict(list)
        for each in (target for probe in probes for target in probe.targets):
            if each.layer == "underlay":
                prober = self._target(by_ip[each.ip], by_ip[each.src_ip], 0, 1)
                found[each.node_sn] += [
                    msgspec.structs.replace(prober, src_ports=[each.port], port=port)
                    for port in each.src_ports
                ]
        return [
            self._request("traceroute", peer, back, 1, self._parameters.trace_s)
            for peer, back in sorted(found.items())
        ]

    def _target(self, source: Endpoint, target: Endpoint, first: int, ports: int) -> Target:
        return msgspec.convert(self._ground.target(source, target, first, ports), Target)

    def _request(
        self, kind: Kind, host: str, targets: Sequence[Target], count: int, interval_s: float
    ) -> Request:
        self._made += 1
        incident = self._incident
        what = "what crosses" if len(self._tie) == 1 else f"{len(incident.tie_set)} members with"
        return Request(
            request_id=f"{incident.incident_id}.{self._number}.{self._made}", kind=kind,
            node_sn=host, fabric=incident.fabric, targets=list(targets), count=count,
            interval_s=interval_s, reason=f"{what} {incident.component}"[:200],
            incident_id=incident.incident_id, asked_at=self._asked_at, expires=self._expires,
        )  # fmt: skip
