"""An event loop in virtual time: timers fire in order, without waiting."""

from __future__ import annotations

import heapq
from itertools import count

from probers.process.loop import Callback, Loop


class VirtualLoop(Loop):
    """Time passes only in ``advance``; pass ``now`` as the clock of what is tested."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ns = 10**18
        self._due: list[tuple[int, int, Callback]] = []
        self._numbers = count()

    def now(self) -> int:
        """The virtual monotonic time [ns]."""
        return self.now_ns

    def call_at(self, due_ns: int, callback: Callback) -> None:
        heapq.heappush(self._due, (due_ns, next(self._numbers), callback))

    def advance(self, duration_ns: int) -> None:
        """Let time pass; timers that became due meanwhile fire late, as after a stop."""
        end_ns = self.now_ns + duration_ns
        while self._due and self._due[0][0] <= end_ns:
            due_ns, _, callback = heapq.heappop(self._due)
            self.now_ns = max(self.now_ns, due_ns)
            callback()
        self.now_ns = max(self.now_ns, end_ns)
