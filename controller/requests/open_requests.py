"""Requests that have not ended: of each host, and what its agent has answered. No I/O, no clock."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from controller.requests.parameters import DEFAULT, RequestParameters
from controller.state import Host
from schemas.documents.requests.evidence import Evidence
from schemas.documents.requests.request import Request
from schemas.documents.times import milliseconds_of


class Load(NamedTuple):
    """Open requests [count] and the packets a second that they ask for."""

    requests: int
    rate: float


class OpenRequests:
    """What agents are asked now.

    counts  asked, and how requests ended: complete, refused, expired, withdrawn; asked = the others
            + those that are open. Of evidence repeated (it had come before), missing (it has not
            come), unknown (it is of no open request)
    """

    def __init__(self, parameters: RequestParameters = DEFAULT) -> None:
        self._parameters = parameters
        self._open: dict[str, Request] = {}
        self._of_host: defaultdict[Host, dict[str, None]] = defaultdict(dict)
        self._of_fabric: Counter[str] = Counter()
        self._rate: defaultdict[str, float] = defaultdict(float)
        self._numbers: dict[str, int] = {}
        self.counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._open

    def __iter__(self) -> Iterator[Request]:
        return iter(list(self._open.values()))

    def add(self, request: Request) -> None:
        """It has been asked; one that is open already stays as it is."""
        if request.request_id in self._open:
            return
        self.counts["asked"] += 1
        self._open[request.request_id] = request
        self._numbers[request.request_id] = 0
        self._of_host[request.fabric, request.node_sn][request.request_id] = None
        self._of_fabric[request.fabric] += 1
        self._rate[request.fabric] += request.rate

    def withdraw(self, request_id: str, why: str) -> Request | None:
        """End it early; returns it as it is to be recorded, None where it is not open."""
        if request_id not in self._open:
            return None
        return msgspec.structs.replace(self._close(request_id, "withdrawn"), withdrawn=why)

    def answered(self, evidence: Evidence) -> Request | None:
        """The request that it is about; None where that is not open, or where it says nothing
        new. The last evidence of a request closes it."""
        request = self._open.get(evidence.request_id)
        who = (evidence.fabric, evidence.node_sn, evidence.kind)
        if request is None or who != (request.fabric, request.node_sn, request.kind):
            self.counts["unknown"] += 1
            return None
        last = self._numbers[request.request_id]
        if evidence.number <= last:
            self.counts["repeated"] += 1
            return None
        if evidence.number > last + 1:
            self.counts["missing"] += evidence.number - last - 1
        self._numbers[request.request_id] = evidence.number
        if evidence.state != "running":
            self._close(request.request_id, evidence.state)
        return request

    def sources(self, request_id: str) -> set[str]:
        """Addresses from which an open request probes; empty for facts about the host."""
        request = self._open.get(request_id)
        return set() if request is None else {each.src_ip for each in request.targets}

    def expire(self, now_ms: int) -> list[Request]:
        """Those that are over, without a last word of their agents; they are closed."""
        late_ms = round(1000 * self._parameters.late_s)
        over = [each for each in self if milliseconds_of(each.expires) + late_ms <= now_ms]
        return [self._close(each.request_id, "expired") for each in over]

    def of_host(self, host: Host, now_ms: int) -> list[Request]:
        """What the host's agent is to do, in the order of asking."""
        own = (self._open[name] for name in self._of_host.get(host, ()))
        return [each for each in own if milliseconds_of(each.expires) > now_ms]

    def etag(self, host: Host, now_ms: int) -> str:
        """Identifies what ``of_host`` returns."""
        names = "\0".join(each.request_id for each in self.of_host(host, now_ms))
        return blake2b(names.encode(), digest_size=12).hexdigest()

    def host_load(self, host: Host) -> Load:
        """Of one host."""
        own = [self._open[name] for name in self._of_host.get(host, ())]
        return Load(len(own), sum(each.rate for each in own))

    def fabric_load(self, fabric: str) -> Load:
        """Of a fabric."""
        return Load(self._of_fabric[fabric], self._rate[fabric])

    def too_much(self, request: Request) -> str | None:
        """Why it cannot be asked now; None: there is room for it."""
        return Room(self, self._parameters).too_much(request)

    def room(self) -> Room:
        """What may be asked beside what is open now."""
        return Room(self, self._parameters)

    def _close(self, request_id: str, outcome: str) -> Request:
        request = self._open.pop(request_id)
        del self._numbers[request_id]
        host = request.fabric, request.node_sn
        del self._of_host[host][request_id]
        if not self._of_host[host]:
            del self._of_host[host]
        self._of_fabric[request.fabric] -= 1
        self._rate[request.fabric] -= request.rate
        if not self._of_fabric[request.fabric]:
            del self._of_fabric[request.fabric], self._rate[request.fabric]
        self.counts[outcome] += 1
        return request


class Room:
    """What may be asked beside what was open when it was made; ``take`` uses some of it up."""

    def __init__(self, known: OpenRequests, parameters: RequestParameters) -> None:
        self._parameters = parameters
        self._hosts = {(each.fabric, each.node_sn): known.host_load((each.fabric, each.node_sn))
                       for each in known}  # fmt: skip
        self._fabrics = {fabric: known.fabric_load(fabric) for fabric, _ in self._hosts}
        self._taken: list[Request] = []

    def take(self, request: Request) -> bool:
        """Whether there is room for it, which is then taken."""
        if self.too_much(request) is not None:
            return False
        self._taken.append(request)
        return True

    def too_much(self, request: Request) -> str | None:
        """Why there is no room for it; None: there is."""
        known, host = self._parameters, (request.fabric, request.node_sn)
        alike = [each for each in self._taken if each.fabric == request.fabric]
        own = _sum(self._hosts.get(host, Load(0, 0.0)),
                   [each for each in alike if each.node_sn == request.node_sn])  # fmt: skip
        all_ = _sum(self._fabrics.get(request.fabric, Load(0, 0.0)), alike)
        if own.requests >= known.host_requests:
            return f"host {request.node_sn} has {own.requests} open requests; wait until some end"
        if own.rate + request.rate > known.host_rate:
            left = max(0.0, known.host_rate - own.rate)
            return (
                f"{request.rate:g} packets/s of host {request.node_sn}, which may be asked for "
                f"{left:g} more; lengthen the interval"
            )
        if all_.requests >= known.fabric_requests:
            return f"fabric {request.fabric} has {all_.requests} open requests"
        if all_.rate + request.rate > known.fabric_rate:
            return f"the open requests of fabric {request.fabric} ask for {all_.rate:g} packets/s"
        return None


def _sum(load: Load, more: list[Request]) -> Load:
    return Load(load.requests + len(more), load.rate + sum(each.rate for each in more))
