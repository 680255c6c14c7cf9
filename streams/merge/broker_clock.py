"""The brokers' present time, from the time stamps of messages: a worker's own clock may be wrong.

A message was stored before it was read, so its time stamp and what has passed since then are at
most the brokers' time; of a worker that keeps up they are within a second of it. The newest minutes
count, so that a broker whose clock is set back is followed. No I/O.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from streams.merge.parameters import INGEST


class BrokerClock:
    """Before the first message it is the worker's own clock."""

    def __init__(
        self,
        own_ns: Callable[[], int] = time.time_ns,
        elapsed_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """own_ns      wall clock [ns since the epoch]
        elapsed_ns  a clock that is never set [ns]
        """
        self._own_ns = own_ns
        self._elapsed_ns = elapsed_ns
        self._begun_ns = elapsed_ns()
        self._recent_ns: int | None = None  # brokers' time less elapsed time, at least
        self._before_ns: int | None = None  # the same, of the minutes before

    def observe(self, stored_ns: int) -> None:
        """Record when the brokers stored a message that has just been read [ns since the epoch]."""
        elapsed_ns = self._elapsed_ns()
        if elapsed_ns - self._begun_ns >= INGEST.clock_s * 10**9:
            self._begun_ns, self._before_ns, self._recent_ns = elapsed_ns, self._recent_ns, None
        offset_ns = stored_ns - elapsed_ns
        if self._recent_ns is None or offset_ns > self._recent_ns:
            self._recent_ns = offset_ns

    def now_ns(self) -> int:
        """The brokers' time, or a little earlier; much earlier while old messages are read."""
        known = [each for each in (self._recent_ns, self._before_ns) if each is not None]
        return self._elapsed_ns() + max(known) if known else self._own_ns()
