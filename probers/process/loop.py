"""The event loop: one thread, one selector, one heap of timers; about 1 % of a core.

The method names are those of asyncio, which is not used: the agent stays small.
"""

from __future__ import annotations

import heapq
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic_ns
from typing import Final

from probers.process import poller

Callback = poller.Callback
Ready = poller.Ready

#: ``run`` raises when this many callbacks fail within ERROR_WINDOW_NS: faults are not isolated.
MAX_ERRORS: Final = 100
ERROR_WINDOW_NS: Final = 10_000_000_000
#: Before a timer that is later than this, sockets are read: their datagrams arrived in time.
_LATE_NS: Final = 20_000_000
#: A time-out that is noticed later than this is no evidence of loss, however long it is.
STALL_NS: Final = 1_000_000_000
_MAX_DRAINED: Final = 10_000  # datagrams read before a late timer
#: What need not be exact happens at multiples of this time, so that it shares wake-ups: most of the
#: cost of a wake-up is that the processor's caches hold other programs.
GRID_NS: Final = 50_000_000
#: The same for what takes long anyway: turns of seconds, time-outs of a third of one. Also
#: GRID_NS of native/src/poller.h.
COARSE_NS: Final = 5 * GRID_NS
_LONG_TIMEOUT_NS: Final = 6 * GRID_NS


def on_grid(due_ns: int, grid_ns: int = COARSE_NS) -> int:
    """The first multiple of ``grid_ns`` from ``due_ns`` on [monotonic ns]."""
    return -(-due_ns // grid_ns) * grid_ns


def grid_of(timeout_ns: int) -> int:
    """On which grid time-outs of that length pass: they need not be exact."""
    return COARSE_NS if timeout_ns >= _LONG_TIMEOUT_NS else GRID_NS


class LoopError(RuntimeError):
    """Callbacks fail one after another; the last failure is the cause."""


class Loop:
    """Calls back when a socket is readable or a time has come.

    Other threads and signal handlers may call ``post`` and ``stop`` only.
    """

    def __init__(self, on_error: Callable[[Exception], None] = lambda _: None) -> None:
        """``on_error(error)`` is called for every exception that a callback raises."""
        #: What it waits with; the compiled helper serves UDP sockets too.
        self.poller = poller.make()
        self._timers: list[tuple[int, int, Callback]] = []
        self._order = count()
        self._posted: SimpleQueue[Callback] = SimpleQueue()
        self._wake_receiver, self._wake_sender = socket.socketpair()
        self._wake_receiver.setblocking(False)
        self._wake_sender.setblocking(False)
        self.poller.watch(self._wake_receiver.fileno(), self._call_posted)
        self._stopping = False
        self._worst_delay_ns = 0
        self._on_error = on_error
        self._recent_errors: deque[int] = deque(maxlen=MAX_ERRORS)
        #: Exceptions that callbacks have raised.
        self.errors = 0

    @property
    def timers(self) -> int:
        """Number of timers that have not fired yet."""
        return len(self._timers)

    def add_reader(self, fileno: int, callback: Callback) -> None:
        """Call back whenever the socket has something to read or an error to report."""
        self.poller.watch(fileno, callback)

    def add_writer(self, fileno: int, callback: Callback) -> None:
        """Call back when the socket can be written to: it is connected, or that has failed."""
        self.poller.watch(fileno, callback, write=True)

    def remove_writer(self, fileno: int) -> None:
        """Undo ``add_writer``; must be called before the socket is closed."""
        self.poller.unwatch(fileno)

    def remove_reader(self, fileno: int) -> None:
        """Undo ``add_reader``; must be called before the socket is closed."""
        self.poller.unwatch(fileno)

    def call_at(self, due_ns: int, callback: Callback) -> None:
        """Call back once at monotonic time ``due_ns``."""
        heapq.heappush(self._timers, (due_ns, next(self._order), callback))

    def call_every(self, interval_ns: int, callback: Callback) -> None:
        """Call back now and then every ``interval_ns``, without drift; missed times are skipped."""
        due_ns = monotonic_ns()

        def fire() -> None:
            nonlocal due_ns
            try:
                callback()
            finally:
                missed = max(0, monotonic_ns() - due_ns) // interval_ns
                due_ns += (missed + 1) * interval_ns
                if interval_ns % COARSE_NS == 0:  # from the second call on
                    due_ns = on_grid(due_ns)
                self.call_at(due_ns, fire)

        self.call_at(due_ns, fire)

    def post(self, callback: Callback) -> None:
        """Have the loop's thread call back soon; safe in any thread."""
        self._posted.put(callback)
        self._wake()

    def stop(self) -> None:
        """Make ``run`` return after the current iteration; safe in any thread."""
        self._stopping = True
        self._wake()

    def run(self) -> None:
        """Serve until ``stop`` is called (also if that was before this call).

        An exception in a callback is counted and passed to ``on_error``; the other callbacks go
        on, because one bad datagram or list must not end the agent. Raises LoopError when
        MAX_ERRORS timers or posted callbacks fail within ERROR_WINDOW_NS. Failures while reading
        sockets do not count for that: others decide how many datagrams arrive.
        """
        while not self._stopping:
            self._call_ready(self.poller.wait(self._timeout_s()))
            now_ns = monotonic_ns()
            if self._timers and now_ns - self._timers[0][0] > _LATE_NS:
                self._drain()
            while self._timers and self._timers[0][0] <= now_ns:
                due_ns, _, callback = heapq.heappop(self._timers)
                self._worst_delay_ns = max(self._worst_delay_ns, now_ns - due_ns)
                self._call(callback)
        self._stopping = False

    def reset_worst_delay_ns(self) -> int:
        """Return how late the latest timer fired since the last call of this method [ns]."""
        worst_ns, self._worst_delay_ns = self._worst_delay_ns, 0
        return worst_ns

    def close(self) -> None:
        """Release the loop's own file descriptors."""
        self.poller.close()
        self._wake_receiver.close()
        self._wake_sender.close()

    def _call_ready(self, ready: list[Ready]) -> None:
        """Call back; an exception does not count towards MAX_ERRORS."""
        for callback, arguments in ready:
            try:
                callback(*arguments)
            except LoopError:
                raise
            except Exception as why:  # one callback's failure must not affect the others
                self.errors += 1
                self._on_error(why)

    def _call(self, callback: Callback) -> None:
        """Call back; an exception counts towards MAX_ERRORS."""
        try:
            callback()
        except LoopError:
            raise
        except Exception as why:  # likewise
            self.errors += 1
            self._on_error(why)
            now_ns = monotonic_ns()
            self._recent_errors.append(now_ns)
            if (
                len(self._recent_errors) == MAX_ERRORS
                and now_ns - self._recent_errors[0] < ERROR_WINDOW_NS
            ):
                raise LoopError(
                    f"{MAX_ERRORS} callbacks failed within {ERROR_WINDOW_NS // 10**9} s; "
                    f"the last one: {type(why).__name__}: {why}"
                ) from why

    def _drain(self) -> None:
        """Read what arrived while the process did not run, before any late timer fires."""
        left = _MAX_DRAINED
        while left > 0 and (ready := self.poller.wait(0)):
            left -= len(ready)
            self._call_ready(ready)

    def _timeout_s(self) -> float | None:
        if not self._timers:
            return None
        return max(0.0, (self._timers[0][0] - monotonic_ns()) / 1e9)

    def _wake(self) -> None:
        # A full socket wakes the loop as well; a closed one means that the loop has ended.
        with suppress(BlockingIOError, OSError):
            self._wake_sender.send(b"!")

    def _call_posted(self) -> None:
        with suppress(BlockingIOError):
            self._wake_receiver.recv(4096)
        while True:
            try:
                callback = self._posted.get_nowait()
            except Empty:
                return
            self._call(callback)


class Deadlines:
    """Many time-outs of the same length that share one timer: first in, first out."""

    def __init__(self, loop: Loop, timeout_ns: int, on_expiry: Callable[[int], None]) -> None:
        """``on_expiry(number)`` is called ``timeout_ns`` after ``add(number)``, also when the reply
        has arrived meanwhile: the callee ignores the numbers that it no longer knows."""
        self._loop, self._timeout_ns, self._on_expiry = loop, timeout_ns, on_expiry
        self._pending: deque[tuple[int, int]] = deque()
        self._armed = False
        self._due_ns = 0
        #: Valid during ``on_expiry``: the time-out was noticed late, by as much again or by
        #: STALL_NS. The process did not run meanwhile (stopped, suspended, starved of CPU), so a
        #: missing reply proves nothing about the network.
        self.stalled = False

    def add(self, number: int, now_ns: int) -> None:
        """Start a time-out at monotonic time ``now_ns``."""
        self._pending.append((now_ns + self._timeout_ns, number))
        if not self._armed:
            self._arm(self._pending[0][0])

    def _arm(self, due_ns: int) -> None:
        # One wake-up for all that expire at about the same time, and for the turns of
        # probing.schedule.
        self._armed, self._due_ns = True, on_grid(due_ns, grid_of(self._timeout_ns))
        self._loop.call_at(self._due_ns, self._expire)

    def _expire(self) -> None:
        now_ns = monotonic_ns()
        self._armed = False
        self.stalled = now_ns - self._due_ns >= min(self._timeout_ns, STALL_NS)
        try:
            while self._pending and self._pending[0][0] <= now_ns:
                self._on_expiry(self._pending.popleft()[1])
        finally:
            if self._pending and not self._armed:
                self._arm(self._pending[0][0])
