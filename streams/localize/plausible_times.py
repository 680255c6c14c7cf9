"""Which event times on skh.windows a localizer may accept. Pure.

A localizer's time runs forward only: after a pane or punctuation of next year it would take
everything of this year for late. A wrong clock of this worker must not stop it either. So a time
ahead of the worker's clock is accepted only from a fabric that has never been at the present time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter
from schemas.wire.window_chunks import Header, WindowsError


@dataclass(frozen=True, slots=True)
class PlausibleTimeParameters:
    """How far event time may be ahead of this worker's clock, or of its fabric's newest time."""

    ahead_s: int = parameter(
        3600, unit="s",
        source="chosen: an hour is more than the clocks of hosts with and without NTP differ",
    )  # fmt: skip


DEFAULT: Final = PlausibleTimeParameters()


def check_times(header: Header, newest_s: int | None, now_s: float) -> bool:
    """Whether a message restarts the fabric's time, because the newest time known is ahead of it.

    newest_s  newest event time that was accepted of this fabric [s]; None: none yet
    now_s     this worker's clock [s since the epoch]
    Raises WindowsError when the message is further ahead than any clock can be.
    """
    if header.kind == "heartbeats":  # their times close nothing
        return False
    latest_s = now_s + DEFAULT.ahead_s
    time_s = max(header.end_s, header.watermark_ms // 1000)
    if time_s <= latest_s:
        return newest_s is not None and newest_s > max(latest_s, time_s + DEFAULT.ahead_s)
    if newest_s is None and header.kind != "punctuation":
        return False  # measured data: this worker's clock may be wrong
    if newest_s is not None and latest_s < newest_s and time_s <= newest_s + DEFAULT.ahead_s:
        return False  # this fabric's clocks are ahead of this worker's
    raise WindowsError(
        f"skh.windows: {header.kind} of {time_s} s is {time_s - now_s:.0f} s ahead of our clock"
    )
