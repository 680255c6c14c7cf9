"""Decides who gets a reply: authenticated, fresh requests within their source's rate.

Everything else gets no reply and is counted by reason, so that an operator can distinguish a wrong
key from a wrong clock. No I/O.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

from probers.net import packet
from probers.net.packet import Address, Key

ReplyFlow = tuple[str, int, str, int]  # own ip, own port, peer ip, peer port

MAX_SOURCES: Final = 4096


class TokenBucket:
    """``rate`` a second, ``burst`` at once."""

    __slots__ = ("_burst", "_last_ns", "_rate_per_ns", "_tokens")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate_per_ns, self._burst, self._tokens = rate / 1e9, burst, burst
        self._last_ns: int | None = None

    def allows(self, now_ns: int) -> bool:
        """Spend one token at monotonic time ``now_ns``; False when there is none."""
        if self._last_ns is not None:
            passed_ns = now_ns - self._last_ns
            if passed_ns > 0:
                tokens = self._tokens + passed_ns * self._rate_per_ns
                self._tokens = tokens if tokens < self._burst else self._burst
        self._last_ns = now_ns
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class RateLimit:
    """A token bucket per source address: ``rate`` a second, ``burst`` at once, bounded memory.

    When more than ``sources`` addresses are known, the one seen longest ago is removed. Only
    authenticated requests reach the limiter, so forged addresses cannot fill it.
    """

    def __init__(self, rate: float, burst: float, sources: int = MAX_SOURCES) -> None:
        self._rate, self._burst, self._sources = rate, burst, sources
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def allows(self, source: str, now_ns: int) -> bool:
        """Spend one token of ``source`` at monotonic time ``now_ns``; False when it has none."""
        bucket = self._buckets.get(source)
        if bucket is None:
            bucket = self._buckets[source] = TokenBucket(self._rate, self._burst)
        self._buckets.move_to_end(source)
        if len(self._buckets) > self._sources:
            self._buckets.popitem(last=False)
        return bucket.allows(now_ns)

    def __len__(self) -> int:
        return len(self._buckets)


class Responder:
    """Builds the reply to a request, or none; sends nothing itself."""

    def __init__(
        self,
        key: Key,
        *,
        rate: float = 200.0,
        burst: float = 400.0,
        fresh_ns: int = packet.FRESH_NS,
        max_sources: int = MAX_SOURCES,
        flow_rest_ns: int = 0,
    ) -> None:
        """rate, burst  replies per source address: a second, at once
        max_sources  source addresses whose rate is known, and flows in ``recent_flows``
        flow_rest_ns  how far behind the times in ``recent_flows`` may be
        """
        self._key = key
        self.rate, self.burst, self.fresh_ns, self.max_sources = rate, burst, fresh_ns, max_sources
        self.flow_rest_ns = flow_rest_ns
        self._limit = RateLimit(rate, burst, max_sources)
        self.answered = 0
        #: Own address, which of its queue pairs -> the queue pair's number; 0: it has none.
        self.queue_pair: Callable[[str, int], int] = lambda ip, which: 0
        #: Requests without a reply, by reason: not-ours, bad-mac, stale, rate, and late (this
        #: process did not run while they waited in its socket).
        self.silent: Counter[str] = Counter()
        #: Clock of the last stale request minus the own clock [ns].
        self.last_skew_ns = 0
        #: Flows that were probed lately -> monotonic time [ns], up to ``flow_rest_ns`` behind;
        #: oldest first, bounded.
        self.recent_flows: OrderedDict[ReplyFlow, int] = OrderedDict()

    def reply(
        self,
        raw: bytes,
        peer: Address,
        own: Address,
        received_ns: int,
        now_ns: int,
        mono_ns: int,
        send_delay_ns: int = 0,
    ) -> tuple[bytes, int] | None:
        """The reply's bytes and DSCP; None: send no reply.

        peer, own    the request's source address, and which own address it was sent to
        received_ns  wall clock when the request arrived (kernel time stamp where there is one)
        now_ns       wall clock now; plus ``send_delay_ns`` it is stamped as the time of sending
        mono_ns      monotonic clock now, for the rate limit
        """
        try:
            request = packet.unpack(raw)
        except packet.PacketError:
            self.silent["not-ours"] += 1
            return None
        if request.kind in (packet.REPLY, packet.FOLLOW_UP):
            self.silent["not-ours"] += 1
            return None
        made_with = packet.verify(self._key, raw, peer, own)
        if made_with is None:
            self.silent["bad-mac"] += 1
            return None
        if now_ns - received_ns > self.fresh_ns:
            self.silent["late"] += 1
            return None
        if not packet.fresh(request, now_ns, self.fresh_ns):
            self.last_skew_ns = request.wall_ns - now_ns
            self.silent["stale"] += 1
            return None
        if not self._limit.allows(peer[0], mono_ns):
            self.silent["rate"] += 1
            return None
        self.answered += 1
        if request.kind == packet.PROBE:
            self.record_flow((*own, *peer), mono_ns)
        if request.kind == packet.QUEUE_PAIR:
            which = request.received_ns
            reply = packet.reply_to(request, which, self.queue_pair(own[0], which))
        else:
            reply = packet.reply_to(request, received_ns, now_ns + send_delay_ns)
        return packet.pack(made_with, reply, own, peer), request.dscp & 0x3F

    def record_flow(self, flow: ReplyFlow, mono_ns: int) -> None:
        """A probe of this flow was answered at monotonic time ``mono_ns``."""
        last_ns = self.recent_flows.get(flow)
        if last_ns is not None and mono_ns - last_ns < self.flow_rest_ns:
            return
        self.recent_flows[flow] = mono_ns
        self.recent_flows.move_to_end(flow)
        if len(self.recent_flows) > self.max_sources:
            self.recent_flows.popitem(last=False)
