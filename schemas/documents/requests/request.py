"""skh.requests: what one host's agent is asked to do once, beyond its ping list.

The topic is the record of what was asked, by whom and why; agents get their requests from the
controller, over the connection of their ping list. A request that has ended early is written again
with ``withdrawn``. Nothing is done for a request that has expired.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from schemas.documents.decoding import decode
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.times import milliseconds_of
from schemas.limits import LIMITS

#: probe: round trips of five-tuples; traceroute: their routes; counters: error counters of the
#: host's rnics; flow_table: what a command of the host's operator prints.
Kind = Literal["probe", "traceroute", "counters", "flow_table"]
#: Kinds that send packets, to ``targets``.
SENDING: Final = ("probe", "traceroute")


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A peer of the endpoint ``src_ip``, with one five-tuple per source port; fields as in a ping
    list (``probers.ping_list.document``)."""

    src_ip: str
    ip: str
    real_ip: str
    node_sn: str
    layer: Literal["overlay", "underlay"]
    src_ports: list[int]
    port: int
    dscp: int = 0
    node_id: str = ""
    asw: str = ""
    dsw: str = ""
    pod: str = ""
    tenant_id: str = ""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the agent of host ``node_sn`` is asked.

    count        times that each five-tuple is probed, or that counters or flow tables are read
    interval_s   between two times; a traceroute request spreads its five-tuples over it [s]
    reason       one line, for people
    incident_id  of the incident that it is about; else empty
    operator     who asked on demand; else empty
    asked_at, expires  RFC 3339; nothing is done from ``expires`` on
    withdrawn    why it has ended early; empty while it holds
    """

    request_id: str
    kind: Kind
    node_sn: str
    fabric: str = DEFAULT_FABRIC
    targets: list[Target] = []
    count: int = 1
    interval_s: float = 1.0
    reason: str
    incident_id: str = ""
    operator: str = ""
    asked_at: str
    expires: str
    withdrawn: str = ""

    def __post_init__(self) -> None:
        def fail(what: str) -> None:
            raise ValueError(f"request {self.request_id[:100]!r}: {what}")

        for name in ("request_id", "node_sn", "fabric", "reason"):
            if not getattr(self, name).strip():
                fail(f"{name} is empty")
        if bool(self.targets) != (self.kind in SENDING):
            fail(f"a {self.kind} request {'takes no' if self.targets else 'needs'} targets")
        if not 1 <= self.count <= LIMITS.request_count:
            fail(f"count {self.count} is not between 1 and {LIMITS.request_count}")
        if not LIMITS.request_interval_s <= self.interval_s <= LIMITS.request_s:
            fail(
                f"interval_s {self.interval_s} is not between {LIMITS.request_interval_s} and "
                f"{LIMITS.request_s:g}"
            )
        if self.five_tuples > LIMITS.request_five_tuples:
            fail(f"{self.five_tuples} five-tuples; it may have {LIMITS.request_five_tuples}")
        for each in self.targets:
            if not each.src_ports or not all(1 <= p <= 65535 for p in (each.port, *each.src_ports)):
                fail(f"target {each.ip}: a port is not between 1 and 65535, or there is none")
        lasts_s = (milliseconds_of(self.expires) - milliseconds_of(self.asked_at)) / 1000
        if not 0 < lasts_s <= LIMITS.request_s:
            fail(f"it lasts {lasts_s:g} s; it may last {LIMITS.request_s:g} s")

    @property
    def five_tuples(self) -> int:
        """Five-tuples of all targets."""
        return sum(len(each.src_ports) for each in self.targets)

    @property
    def packets(self) -> int:
        """Packets that it costs at most, replies left out."""
        if self.kind == "probe":
            return self.five_tuples * self.count
        return self.five_tuples * LIMITS.request_trace_packets

    @property
    def rate(self) -> float:
        """Packets a second while it runs, replies left out [1/s]."""
        times = 1 if self.kind == "probe" else LIMITS.request_trace_packets
        return self.five_tuples * times / self.interval_s


def parse(raw: bytes) -> Request:
    """Decode one document; raises ValueError of one line."""
    if len(raw) > LIMITS.document_bytes:
        raise ValueError(f"request of {len(raw)} B; it may have {LIMITS.document_bytes} B")
    return decode(raw, Request)
