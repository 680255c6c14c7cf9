"""A line for people when judging falls behind, and one when it has caught up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

TELL_S: Final = 10.0
#: Catching up after a start is no overload while the lag shrinks by a second in so many looks.
STILL_LOOKS: Final = 15
_LOOK_S: Final = 2.0


class LagNotice:
    """Remembers whether it has been said.

    tell_s  lag that is told of [s]; it is over at half of it, so that it is told of once
    """

    def __init__(self, tell_s: float = TELL_S) -> None:
        self._tell_s = tell_s
        self.behind = False
        self._rereading = False
        self._least_s = 0.0  # lag while re-reading
        self._still = 0  # looks since it shrank

    def line(self, lag_s: float, *, catching_up: bool = False) -> str | None:
        """What to say now, if anything.

        lag_s        how far judging is behind [s]
        catching_up  what is read was there when the worker started, or took partitions over
        """
        if self.behind or self._rereading:
            if lag_s < self._tell_s / 2:
                self.behind = self._rereading = False
                return "judging has caught up"
        elif lag_s > self._tell_s and catching_up:
            self._rereading, self._least_s, self._still = True, lag_s, 0
            return f"re-reading {lag_s:.0f} s of skh.windows"
        if self._rereading and catching_up and not self.behind:
            self._still = 0 if lag_s < self._least_s - 1 else self._still + 1
            self._least_s = min(lag_s, self._least_s)
            if self._still < STILL_LOOKS:
                return None
        if not self.behind and lag_s > self._tell_s:
            self.behind = True
            return f"judging is {lag_s:.0f} s behind: this machine has too little time for it"
        return None


async def tell(
    lag_s: Callable[[], float], catching_up: Callable[[], bool], say: Callable[[str], None]
) -> None:
    """Look every two seconds, until cancelled."""
    notice = LagNotice()
    while True:
        await asyncio.sleep(_LOOK_S)
        if line := notice.line(lag_s(), catching_up=catching_up()):
            say(line)
