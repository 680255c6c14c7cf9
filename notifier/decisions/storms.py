"""Few messages are sent one by one; of what comes on top within a window, one summary is made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from notifier.decisions.changes import Notification


@dataclass(frozen=True, slots=True)
class StormLimits:
    """most      messages of a channel one by one within a window [count]
    window_s  the window, and so long a summary is collected [s]
    """

    most: int = 10
    window_s: float = 30.0


class StormGate:
    """What a channel sends next; the queue is the caller's, oldest first.

    groupable  which notifications a summary may hold; others are sent one by one, uncounted
    """

    def __init__(self, limits: StormLimits, groupable: Callable[[Notification], bool]) -> None:
        self._limits = limits
        self._groupable = groupable
        self._sent_s: deque[float] = deque()
        self._collect_until_s: float | None = None

    def take(self, queue: deque[Notification], now_s: float) -> list[Notification] | float:
        """Remove what is to be sent now, one or a summary of several; or how long to wait [s]."""
        if not queue:
            return self._limits.window_s
        if not self._groupable(queue[0]):
            return [queue.popleft()]
        while self._sent_s and self._sent_s[0] <= now_s - self._limits.window_s:
            self._sent_s.popleft()
        if self._collect_until_s is None:
            if len(self._sent_s) < self._limits.most:
                self._sent_s.append(now_s)
                return [queue.popleft()]
            self._collect_until_s = now_s + self._limits.window_s
        if now_s < self._collect_until_s:
            return self._collect_until_s - now_s
        return self._collected(queue, now_s)

    def _collected(self, queue: deque[Notification], now_s: float) -> list[Notification]:
        """All that may be in a summary; after a large one, the storm goes on."""
        self._collect_until_s = None
        taken = [each for each in queue if self._groupable(each)]
        left = [each for each in queue if not self._groupable(each)]
        queue.clear()
        queue.extend(left)
        self._sent_s.clear()
        self._sent_s.extend([now_s] * (self._limits.most if len(taken) > self._limits.most else 1))
        return taken
