"""A line for people when judging falls behind, and one when it has caught up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

TELL_S: Final = 10.0
_LOOK_S: Final = 2.0


class LagNotice:
    """Remembers whether it has been said.

    tell_s  lag that is told of [s]; it is over at half of it, so that it is told of once
    """

    def __init__(self, tell_s: float = TELL_S) -> None:
        self._tell_s = tell_s
        self.behind = False

    def line(self, lag_s: float) -> str | None:
        """What to say now, if anything.

        lag_s  how far judging is behind [s]
        """
        if not self.behind and lag_s > self._tell_s:
            self.behind = True
            return f"judging is {lag_s:.0f} s behind: this machine has too little time for it"
        if self.behind and lag_s < self._tell_s / 2:
            self.behind = False
            return "judging has caught up"
        return None


async def tell(lag_s: Callable[[], float], say: Callable[[str], None]) -> None:
    """Look every two seconds, until cancelled."""
    notice = LagNotice()
    while True:
        await asyncio.sleep(_LOOK_S)
        if line := notice.line(lag_s()):
            say(line)
