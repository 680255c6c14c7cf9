"""The rnics of an agent: each one's queue pairs probe and answer, driven by the agent's loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Final

from probers.net import packet
from probers.net.packet import Key
from probers.net.responder import Responder
from probers.process.log import log_event
from probers.process.loop import Deadlines, Loop
from probers.rdma.devices import Gid, RdmaError, own_gid
from probers.rdma.engine import RdmaProber
from probers.rdma.packet import QpAddress, RdmaRoundTrip, source_port
from probers.rdma.port import HOP_LIMIT, Arrived, Port
from probers.rdma.responder import RdmaResponder
from probers.rdma.verbs import VerbsPort

#: Gets the round trip of a probe, None for none, and whether this process did not run meanwhile.
OnEnd = Callable[[RdmaRoundTrip | None, bool], None]

_MOST_AT_ONCE: Final = 256  # completions before others in the loop have their turn
_KIND: Final = 5  # place of the kind in a probe packet


@dataclass(frozen=True, slots=True)
class RdmaOptions:
    """How rnics are used.

    queue_pairs    of each rnic: each has a UDP source port, so ECMP may give it another path
    gids           own address -> its GID, where that is not the first one with the address
    service_level  of InfiniBand, 0..15
    traffic_class  of all probes; None: the list's DSCP
    """

    queue_pairs: int = 4
    gids: dict[str, Gid] = field(default_factory=dict)
    service_level: int = 0
    traffic_class: int | None = None


#: Opens the rnic with this address; raises RdmaError.
OpenPort = Callable[[str, RdmaOptions], Port]


def open_port(ip: str, options: RdmaOptions) -> Port:
    """The port of the device that has the address; raises RdmaError."""
    gid = own_gid(ip, options.gids.get(ip))
    return VerbsPort(
        gid.device, options.queue_pairs, gid=gid,
        service_level=options.service_level, traffic_class=options.traffic_class,
    )  # fmt: skip


class Rnic:
    """A port in the loop. ``on_failed`` is called once, with the reason, when the device fails; the
    owner then closes it."""

    def __init__(
        self,
        loop: Loop,
        key: Key,
        port: Port,
        responder: Responder,
        *,
        timeout_s: float,
        on_failed: Callable[[str], None],
    ) -> None:
        self._loop, self._port, self._on_failed = loop, port, on_failed
        self._prober = RdmaProber(key, port)
        self._responder = RdmaResponder(key, port, responder)
        self._deadlines = Deadlines(loop, int(timeout_s * 1e9), self._on_expiry)
        self._stalled = self._closed = False
        #: Replies that could not be sent.
        self.unsendable = 0
        loop.add_reader(port.fileno(), self._on_readable)

    @property
    def queue_pairs(self) -> list[QpAddress]:
        """The own ones; probes name one by its index."""
        return list(self._port.addresses)

    @property
    def source_ports(self) -> list[int]:
        """UDP source port of each queue pair."""
        return [source_port(each.qpn) for each in self._port.addresses]

    @property
    def unmatched(self) -> int:
        """Messages that are no reply to a probe in flight."""
        return self._prober.unmatched

    def probe(
        self, own: int, target: QpAddress, on_end: OnEnd, dscp: int = 0, hop_limit: int = HOP_LIMIT
    ) -> None:
        """Send one probe; ``on_end`` is called once. Raises RdmaError; then nothing was sent."""
        sequence = self._prober.probe(
            own, target, lambda measured: on_end(measured, self._stalled),
            dscp=dscp, hop_limit=hop_limit,
        )  # fmt: skip
        self._deadlines.add(sequence, monotonic_ns())

    def close(self) -> None:
        """Release the device; probes in flight end as if this process had not run."""
        if self._closed:
            return
        self._closed = self._stalled = True
        self._loop.remove_reader(self._port.fileno())
        self._port.close()
        self._prober.end_all()

    def _on_readable(self) -> None:
        self._guarded(self._port.rearm)
        self._guarded(self._poll)

    def _poll(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            event = self._port.poll()
            if event is None:
                return
            if not isinstance(event, Arrived):
                self._prober.handle(event)
            elif event.payload[_KIND : _KIND + 1] in (
                b"%c" % packet.REPLY,
                b"%c" % packet.FOLLOW_UP,
            ):
                self._prober.handle(event)
                continue
            try:
                self._responder.handle(event)
            except RdmaError:  # no route to who asked, or too many at once: the others go on
                self.unsendable += 1
        self._loop.post(lambda: self._guarded(self._poll))

    def _guarded(self, act: Callable[[], None]) -> None:
        if self._closed:
            return
        try:
            act()
        except RdmaError as why:
            self._on_failed(str(why))

    def _on_expiry(self, sequence: int) -> None:
        self._stalled = self._stalled or self._deadlines.stalled
        self._prober.time_out(sequence)
        self._stalled = self._closed


class Rnics:
    """The rnics of the own addresses, opened again when a device fails or appears later."""

    def __init__(
        self,
        loop: Loop,
        key: Key,
        responder: Responder,
        options: RdmaOptions,
        *,
        timeout_s: float,
        retry_s: float,
        open_port: OpenPort = open_port,
    ) -> None:
        self._loop, self._key, self._responder = loop, key, responder
        self._options, self._timeout_s, self._open_port = options, timeout_s, open_port
        self._retry_after_ns = int(retry_s * 1e9)
        self._open: dict[str, Rnic] = {}
        self._retry_ns: dict[str, int] = {}
        #: Own addresses without a device -> why.
        self.unopened: dict[str, str] = {}

    def get(self, ip: str) -> Rnic | None:
        """The rnic of an own address."""
        return self._open.get(ip)

    def __iter__(self) -> Iterator[tuple[str, Rnic]]:
        return iter(list(self._open.items()))

    def queue_pair(self, ip: str, which: int) -> int:
        """The number of one of an own address's queue pairs, whatever ``which`` is; 0: none."""
        rnic = self._open.get(ip)
        if rnic is None:
            return 0
        own = rnic.queue_pairs
        return own[which % len(own)].qpn

    def replace(self, addresses: Collection[str]) -> None:
        """Open the rnics of these addresses and close all others."""
        for ip in [*self._open]:
            if ip not in addresses:
                self._open.pop(ip).close()
        for known in (self.unopened, self._retry_ns):
            for ip in known.keys() - set(addresses):
                del known[ip]
        for ip in addresses:
            if ip not in self._open and ip not in self._retry_ns:
                self._try(ip)

    def retry(self) -> bool:
        """Open those whose time for another attempt has come; returns whether one was opened."""
        now_ns = monotonic_ns()
        due = [ip for ip, at_ns in self._retry_ns.items() if at_ns <= now_ns]
        return sum(self._try(ip) for ip in due) > 0

    def _try(self, ip: str) -> bool:
        try:
            port = self._open_port(ip, self._options)
        except RdmaError as why:
            self._lost(ip, str(why))
            return False
        self._open[ip] = Rnic(
            self._loop, self._key, port, self._responder, timeout_s=self._timeout_s,
            on_failed=lambda why: self._failed(ip, why),
        )  # fmt: skip
        self._retry_ns.pop(ip, None)
        self.unopened.pop(ip, None)
        numbers = ",".join(str(each.qpn) for each in self._open[ip].queue_pairs)
        log_event("info", "rdma-opened", ip=ip, queue_pairs=numbers)
        return True

    def _failed(self, ip: str, why: str) -> None:
        if (rnic := self._open.pop(ip, None)) is not None:
            rnic.close()
        self._lost(ip, why)

    def _lost(self, ip: str, why: str) -> None:
        if self.unopened.get(ip) != why:
            log_event("error", "rdma-not-used", ip=ip, why=why, goes_on_with="UDP_PING")
        self.unopened[ip] = why
        self._retry_ns[ip] = monotonic_ns() + self._retry_after_ns
