"""The first minute of an incident: what a drawing of it adds up. No I/O."""

from __future__ import annotations

from typing import Final

from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of

#: Length of a window, and from the start of one to that of the next [s].
WINDOW_S: Final = 30
_HOP_S: Final = 5
_MOST_WINDOWS: Final = 2
#: Windows that begin a multiple of WINDOW_S after {since:Int64}: they hold each probe once.
ONCE: Final = f"(toUnixTimestamp(window_start) - {{since:Int64}}) % {WINDOW_S} = 0"


def first_minute(incident: Incident) -> tuple[int, int]:
    """Begin and end of one or two windows that follow each other [s since the epoch].

    They begin with the first bad second, at most 5 s before it: windows on whole half minutes would
    miss up to half a minute of the loss. A second one that lies mostly after the end is left out.
    """
    since = int(seconds_of(incident.opened_at)) // _HOP_S * _HOP_S
    if incident.closed_at is None:
        return since, since + _MOST_WINDOWS * WINDOW_S
    windows = round((seconds_of(incident.closed_at) - since) / WINDOW_S)
    return since, since + min(max(windows, 1), _MOST_WINDOWS) * WINDOW_S
