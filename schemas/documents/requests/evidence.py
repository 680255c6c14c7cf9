"""skh.evidence: what an agent answers to a request.

A request has one or more documents, numbered from 1, each with what came since the one before; the
last one says how it ended. Probes and routes are records of skh.pings as well.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from schemas.documents.decoding import decode
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.requests.request import Kind
from schemas.documents.times import seconds_of
from schemas.limits import LIMITS

#: running: more will come. complete: all was done. refused: nothing was. expired, withdrawn: some.
State = Literal["running", "complete", "refused", "expired", "withdrawn"]


class ProbeResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One probe. time: of sending, RFC 3339; dial as in ping records; rtt_us only with success."""

    src_ip: str
    src_port: int
    ip: str
    port: int
    time: str
    dial: str
    rtt_us: float | None = None


class RouteResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One traceroute. hops: addresses, null where a hop was silent; complete with dial success or
    refused."""

    src_ip: str
    src_port: int
    ip: str
    port: int
    time: str
    dial: str
    hops: list[str | None]


class DeviceCounters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counters and states of a port of an RDMA device, of a network interface, or of huge pages
    (device ``hugepages``), at a time.

    values  names as the kernel and the driver have them, and states (``probers.requests``)
    rnic    address of the rnic whose port it is; empty: of none that the agent probes from
    """

    device: str
    time: str
    values: dict[str, int]
    rnic: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What came since the document before, and how far the request is.

    incident_id  of the incident that the request is about; empty: of none
    number      1, 2, ...: a document that is missing is noticed
    reason      why it was refused, or ended early; empty else
    sent, answered  probes so far [count]
    left_out    results that did not fit, so far [count]
    flow_table  what each command of the host's operator printed, below a line ``$ command``; with
                ``truncated`` its beginning
    """

    request_id: str
    kind: Kind
    node_sn: str
    fabric: str = DEFAULT_FABRIC
    incident_id: str = ""
    number: int
    time: str
    state: State
    reason: str = ""
    sent: int = 0
    answered: int = 0
    left_out: int = 0
    probes: list[ProbeResult] = []
    routes: list[RouteResult] = []
    counters: list[DeviceCounters] = []
    flow_table: str = ""
    truncated: bool = False

    def __post_init__(self) -> None:
        for name in ("request_id", "node_sn", "fabric"):
            if not getattr(self, name):
                raise ValueError(f"evidence: {name} is empty")
        if self.number < 1 or not 0 <= self.answered <= self.sent:
            raise ValueError(f"evidence of {self.request_id[:100]!r}: its counts contradict")
        seconds_of(self.time)


class Answer(NamedTuple):
    """Evidence as it comes from a broker.

    client  container whose own agent gives it, as its host vouches; empty: the host's agent
    """

    evidence: Evidence
    client: str = ""


def parse(raw: bytes) -> Evidence:
    """Decode one document; raises ValueError of one line."""
    if len(raw) > LIMITS.document_bytes:
        raise ValueError(f"evidence of {len(raw)} B; it may have {LIMITS.document_bytes} B")
    return decode(raw, Evidence)
