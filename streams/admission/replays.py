"""Detects replayed messages: signed ones that another sender copied and sent again. No I/O.

A signature never expires, because an agent may deliver late what it measured during an outage.
Records that come twice are duplicates, but old ones that come again would make their source's
clock look wrong. So the signatures of a sender's last minutes are remembered; an older message is
accepted only when it is the sender's newest, or when it has just been signed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Final

from schemas.signing.headers import Claim
from streams.admission.parameters import DEFAULT, ReplayParameters

_NS: Final = 1_000_000_000


class _Seen:
    """Times of signature, ascending, and the signatures' first 8 bytes beside them."""

    __slots__ = ("at", "mark")

    def __init__(self) -> None:
        self.at, self.mark = array("q"), array("Q")


class Replays:
    """The messages of one partition, in their order."""

    def __init__(self, parameters: ReplayParameters = DEFAULT.replays) -> None:
        self._kept_ns, self._fresh_ns = parameters.kept_s * _NS, parameters.fresh_s * _NS
        self._senders = parameters.senders
        self._seen: dict[tuple[str, str], _Seen] = {}

    def repeated(self, claim: Claim, signature: bytes, arrival_ns: int) -> bool:
        """Whether a verified message is a replay, or cannot be distinguished from one.

        signature   32 bytes; arrival_ns: the broker's time stamp [ns since the epoch]
        """
        seen = self._seen.get((claim.fabric, claim.sender))
        if seen is None:
            if len(self._seen) >= self._senders:  # all have a valid key, but memory is bounded
                self._seen.clear()
            seen = self._seen[claim.fabric, claim.sender] = _Seen()
        mark = int.from_bytes(signature[:8], "big")
        first, last = (
            bisect_left(seen.at, claim.signed_at_ns),
            bisect_right(seen.at, claim.signed_at_ns),
        )
        if mark in seen.mark[first:last]:
            return True
        forgotten = bool(seen.at) and claim.signed_at_ns < seen.at[-1] - self._kept_ns
        if forgotten and abs(arrival_ns - claim.signed_at_ns) > self._fresh_ns:
            return True
        if forgotten:  # its clock was set back, and is right now: begin anew
            seen = self._seen[claim.fabric, claim.sender] = _Seen()
            last = 0
        seen.at.insert(last, claim.signed_at_ns)
        seen.mark.insert(last, mark)
        if seen.at[0] < seen.at[-1] - 2 * self._kept_ns:  # seldom: cutting costs as much as is kept
            old = bisect_left(seen.at, seen.at[-1] - self._kept_ns)
            del seen.at[:old], seen.mark[:old]
        return False
