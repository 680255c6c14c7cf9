"""A line for people when judging falls behind, and another when it has caught up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

#: Lag from which a line is printed [s].
REPORT_S: Final = 10.0
#: After a start the lag is normal as long as it shrinks by a second within so many looks [count].
STALLED_LOOKS: Final = 15
_LOOK_S: Final = 2.0


class LagNotice:
    """Decides which line to print for a series of lags; each state is reported once.

    report_s  lag from which it is reported [s]; it counts as caught up below half of it
    """

    def __init__(self, report_s: float = REPORT_S) -> None:
        self._report_s = report_s
        self._behind = False
        self._rereading = False
        self._least_s = 0.0  # smallest lag while re-reading
        self._stalled = 0  # looks since it shrank

    def line(self, lag_s: float, *, catching_up: bool = False) -> str | None:
        """The line to print now, or None.

        lag_s        how far judging is behind [s]
        catching_up  whether the worker still reads what was there when it started or when it was
                     assigned its partitions
        """
        if self._behind or self._rereading:
            if lag_s < self._report_s / 2:
                self._behind = self._rereading = False
                return "judging has caught up"
        elif lag_s > self._report_s and catching_up:
            self._rereading, self._least_s, self._stalled = True, lag_s, 0
            return f"re-reading {lag_s:.0f} s of skh.windows"
        if self._rereading and catching_up and not self._behind:
            self._stalled = 0 if lag_s < self._least_s - 1 else self._stalled + 1
            self._least_s = min(lag_s, self._least_s)
            if self._stalled < STALLED_LOOKS:
                return None
        if not self._behind and lag_s > self._report_s:
            self._behind = True
            return f"judging is {lag_s:.0f} s behind: this machine has too little time for it"
        return None


async def watch_lag(
    lag_s: Callable[[], float], catching_up: Callable[[], bool], report: Callable[[str], None]
) -> None:
    """Look every two seconds and report each line of ``LagNotice``, until cancelled."""
    notice = LagNotice()
    while True:
        await asyncio.sleep(_LOOK_S)
        if line := notice.line(lag_s(), catching_up=catching_up()):
            report(line)
