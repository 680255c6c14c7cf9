"""One thread, one selector, one heap of timers: cheap enough to stay at about 1 % of a core."""

from __future__ import annotations

import heapq
import selectors
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic_ns
from typing import Final

Call = Callable[[], None]

#: So many failed callbacks within ERROR_WINDOW_NS are no longer isolated faults: ``run`` raises.
MAX_ERRORS: Final = 100
ERROR_WINDOW_NS: Final = 10_000_000_000
#: A timer that fires later than this has sockets read first: what they hold came in time.
_LATE_NS: Final = 20_000_000
_MAX_DRAINED: Final = 10_000  # datagrams read before a late timer fires, at most


class LoopError(RuntimeError):
    """Callbacks fail one after another; the last failure is the cause."""


class Loop:
    """Calls back when a socket is ready or a time has come. Only ``post`` and ``stop`` may be
    called from other threads or signal handlers."""

    def __init__(self, failed: Callable[[Exception], None] = lambda _: None) -> None:
        """``failed(error)`` is called for every exception that a callback raises."""
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[int, int, Call]] = []
        self._order = count()
        self._posted: SimpleQueue[Call] = SimpleQueue()
        self._ear, self._bell = socket.socketpair()
        self._ear.setblocking(False)
        self._bell.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ, self._hear)
        self._stopping = False
        self._worst_delay_ns = 0
        self._failed = failed
        self._recent_errors: deque[int] = deque(maxlen=MAX_ERRORS)
        #: Exceptions that callbacks have raised.
        self.errors = 0

    @property
    def timers(self) -> int:
        """Calls that wait for their time."""
        return len(self._timers)

    def watch(self, fileno: int, ready: Call) -> None:
        """Call ``ready`` while the socket has something to read or an error to report."""
        self._selector.register(fileno, selectors.EVENT_READ, ready)

    def unwatch(self, fileno: int) -> None:
        """Forget a socket; to be called before it is closed."""
        self._selector.unregister(fileno)

    def at(self, when_ns: int, call: Call) -> None:
        """Call once at monotonic time ``when_ns``."""
        heapq.heappush(self._timers, (when_ns, next(self._order), call))

    def every(self, interval_ns: int, call: Call) -> None:
        """Call now and then every ``interval_ns`` without drift; missed turns are skipped."""
        due = monotonic_ns()

        def turn() -> None:
            nonlocal due
            try:
                call()
            finally:
                missed = max(0, monotonic_ns() - due) // interval_ns
                due += (missed + 1) * interval_ns
                self.at(due, turn)

        self.at(due, turn)

    def post(self, call: Call) -> None:
        """Have ``call`` made by the loop's thread soon."""
        self._posted.put(call)
        self._ring()

    def stop(self) -> None:
        """Make ``run`` return after the turn it is in."""
        self._stopping = True
        self._ring()

    def run(self) -> None:
        """Serve until stopped (also if that was before the call).

        An exception in a callback is counted and reported, and the others go on: a datagram or a
        list that one of them cannot cope with must not end the agent. Raises LoopError when
        MAX_ERRORS turns of our own (not what others send) fail within ERROR_WINDOW_NS.
        """
        while not self._stopping:
            for key, _ in self._selector.select(self._wait_s()):
                self._make(key.data, ours=False)
            now = monotonic_ns()
            if self._timers and now - self._timers[0][0] > _LATE_NS:
                self._drain()
            while self._timers and self._timers[0][0] <= now:
                when, _, call = heapq.heappop(self._timers)
                self._worst_delay_ns = max(self._worst_delay_ns, now - when)
                self._make(call)
        self._stopping = False

    def take_worst_delay_ns(self) -> int:
        """How late the latest timer fired since this was last asked."""
        worst, self._worst_delay_ns = self._worst_delay_ns, 0
        return worst

    def close(self) -> None:
        """Release the loop's own file descriptors."""
        self._selector.close()
        self._ear.close()
        self._bell.close()

    def _make(self, call: Call, *, ours: bool = True) -> None:
        try:
            call()
        except LoopError:
            raise
        except Exception as why:  # whatever a callback raises is its own; the others go on
            self.errors += 1
            self._failed(why)
            if not ours:
                return
            now = monotonic_ns()
            self._recent_errors.append(now)
            if (
                len(self._recent_errors) == MAX_ERRORS
                and now - self._recent_errors[0] < ERROR_WINDOW_NS
            ):
                raise LoopError(
                    f"{MAX_ERRORS} callbacks failed within {ERROR_WINDOW_NS // 10**9} s; "
                    f"the last one: {type(why).__name__}: {why}"
                ) from why

    def _drain(self) -> None:
        """Read what has arrived while the process did not run, before anything is called late."""
        left = _MAX_DRAINED
        while left > 0 and (ready := self._selector.select(0)):
            left -= len(ready)
            for key, _ in ready:
                self._make(key.data, ours=False)

    def _wait_s(self) -> float | None:
        if not self._timers:
            return None
        return max(0.0, (self._timers[0][0] - monotonic_ns()) / 1e9)

    def _ring(self) -> None:
        with suppress(BlockingIOError, OSError):  # a full pipe wakes it as well; closed: it is over
            self._bell.send(b"!")

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            self._ear.recv(4096)
        while True:
            try:
                call = self._posted.get_nowait()
            except Empty:
                return
            self._make(call)


class Deadlines:
    """Many waits of the same length with one timer: first in, first out."""

    def __init__(self, loop: Loop, timeout_ns: int, expired: Callable[[int], None]) -> None:
        """``expired(number)`` is called for every number added, timeout_ns after it was; whoever
        was answered in time ignores it."""
        self._loop, self._timeout_ns, self._expired = loop, timeout_ns, expired
        self._waiting: deque[tuple[int, int]] = deque()
        self._armed = False
        self._due = 0
        #: During ``expired``: the process did not run for as long as the wait itself (stopped,
        #: suspended, starved), so that no answer proves nothing.
        self.stalled = False

    def add(self, number: int, now_ns: int) -> None:
        """Start a wait at monotonic time ``now_ns``."""
        self._waiting.append((now_ns + self._timeout_ns, number))
        if not self._armed:
            self._arm(self._waiting[0][0])

    def _arm(self, due: int) -> None:
        self._armed, self._due = True, due
        self._loop.at(due, self._turn)

    def _turn(self) -> None:
        now = monotonic_ns()
        self._armed = False
        self.stalled = now - self._due >= self._timeout_ns
        try:
            while self._waiting and self._waiting[0][0] <= now:
                self._expired(self._waiting.popleft()[1])
        finally:
            if self._waiting and not self._armed:
                # One wake-up for all that end within 20 ms: a timeout need not be exact.
                self._arm(max(self._waiting[0][0], now + 20_000_000))
