"""Which times on skh.windows a localizer may believe.

Its time runs forward only: after a pane or punctuation of next year it would take everything of
this year for late. A wrong clock of our own must not stop it either. So a time ahead of our clock
is believed only where a fabric has never spoken of the present.
"""

from __future__ import annotations

from typing import Final

from schemas.wire.window_chunks import Header, WindowsError

#: How far event time may be ahead of our clock, or of what is known of its fabric [s]: an hour is
#: more than the clocks of hosts with and without NTP differ.
MOST_AHEAD_S: Final = 3600


def check_times(header: Header, newest_s: int | None, now_s: float) -> bool:
    """Whether a message begins the fabric's time anew, because what was known lies ahead of it.

    newest_s  newest end of what was accepted of this fabric; None: nothing yet
    now_s     our clock
    Raises WindowsError when the message is further ahead than anybody's clock can be.
    """
    if header.kind == "heartbeats":  # their times close nothing
        return False
    latest_s = now_s + MOST_AHEAD_S
    at_s = max(header.end_s, header.watermark_ms // 1000)
    if at_s <= latest_s:
        return newest_s is not None and newest_s > max(latest_s, at_s + MOST_AHEAD_S)
    if newest_s is None and header.kind != "punctuation":
        return False  # measured data: perhaps it is our clock that is wrong
    if newest_s is not None and latest_s < newest_s and at_s <= newest_s + MOST_AHEAD_S:
        return False  # this fabric lives ahead of our clock
    raise WindowsError(
        f"skh.windows: {header.kind} of {at_s} s is {at_s - now_s:.0f} s ahead of our clock"
    )
