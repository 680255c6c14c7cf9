"""Who gets an answer: keyed, fresh probes within their source's rate; everyone else gets silence.

Silence is counted by reason, so that an operator can tell a wrong key from a wrong clock.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Final

from probers.net import packet
from probers.net.packet import Address, Key

Flow = tuple[str, int, str, int]  # own ip, own port, peer ip, peer port

MAX_SOURCES: Final = 4096


class RateLimit:
    """Token buckets by source address: ``rate`` a second, ``burst`` at once, bounded memory.

    When more than ``sources`` addresses are known the one seen longest ago is forgotten; since
    only keyed probes reach the limiter, forging addresses fills nothing.
    """

    def __init__(self, rate: float, burst: float, sources: int = MAX_SOURCES) -> None:
        self._rate, self._burst, self._sources = rate / 1e9, burst, sources
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def allows(self, source: str, now_ns: int) -> bool:
        """Take one token of ``source`` at monotonic time ``now_ns``; False when it has none."""
        tokens, last = self._buckets.get(source, (self._burst, now_ns))
        tokens = min(self._burst, tokens + max(0, now_ns - last) * self._rate)
        allowed = tokens >= 1.0
        self._buckets[source] = (tokens - 1.0 if allowed else tokens, now_ns)
        self._buckets.move_to_end(source)
        if len(self._buckets) > self._sources:
            self._buckets.popitem(last=False)
        return allowed

    def __len__(self) -> int:
        return len(self._buckets)


class Responder:
    """Decides on every question that arrives; sends nothing itself."""

    def __init__(
        self,
        key: Key,
        *,
        rate: float = 200.0,
        burst: float = 400.0,
        fresh_ns: int = packet.FRESH_NS,
    ) -> None:
        """``rate`` and ``burst``: answers a second and at once per source address."""
        self._key, self._fresh_ns = key, fresh_ns
        self._limit = RateLimit(rate, burst)
        self.answered = 0
        #: Questions without an answer, by reason: not-ours, bad-mac, stale, rate, and late (it was
        #: our own process that did not run while they waited here).
        self.silent: Counter[str] = Counter()
        #: Clock of the last stale question minus ours [ns]: says how wrong which clock is.
        self.last_skew_ns = 0
        #: Flows that were probed lately -> monotonic time; oldest first, bounded.
        self.recent: OrderedDict[Flow, int] = OrderedDict()

    def answer(
        self, raw: bytes, peer: Address, own: Address, received_ns: int, now_ns: int, mono_ns: int
    ) -> tuple[bytes, int] | None:
        """The answer's bytes and DSCP, or None: stay silent.

        peer, own    where the question came from and which of our addresses it came to
        received_ns  wall clock when it arrived (kernel stamp where there is one)
        now_ns       wall clock now: stamped as the time of sending
        mono_ns      monotonic clock now, for the rate limit
        """
        try:
            question = packet.unpack(raw)
        except packet.WireError:
            self.silent["not-ours"] += 1
            return None
        if question.kind in (packet.REPLY, packet.FOLLOW_UP):
            self.silent["not-ours"] += 1
            return None
        if not packet.verify(self._key, raw, peer, own):
            self.silent["bad-mac"] += 1
            return None
        if now_ns - received_ns > self._fresh_ns:
            self.silent["late"] += 1
            return None
        if not packet.fresh(question, now_ns, self._fresh_ns):
            self.last_skew_ns = question.wall - now_ns
            self.silent["stale"] += 1
            return None
        if not self._limit.allows(peer[0], mono_ns):
            self.silent["rate"] += 1
            return None
        self.answered += 1
        if question.kind == packet.PROBE:
            self._remember((*own, *peer), mono_ns)
        reply = packet.answer(question, received_ns, now_ns)
        return packet.pack(self._key, reply, own, peer), question.dscp & 0x3F

    def _remember(self, flow: Flow, mono_ns: int) -> None:
        self.recent[flow] = mono_ns
        self.recent.move_to_end(flow)
        if len(self.recent) > MAX_SOURCES:
            self.recent.popitem(last=False)
