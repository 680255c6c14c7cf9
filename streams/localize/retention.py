"""How long a fabric's localizer, its messages and its incidents are retained. Pure.

A stream worker and a replay apply the same limits, so that a file and a topic give the same
incidents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of

#: Event time that the detectors look back: 10 windows of 30 s, and one to be sure [s].
LOOKBACK_S: Final = 330
#: A fabric that receives only punctuations is evicted after this time: its incidents have closed.
IDLE_S: Final = 3600.0
#: With open incidents, after this time; they are restored from skh.incidents when it returns.
IDLE_WITH_INCIDENTS_S: Final = 86_400.0
#: Resolved incidents of a former process that are restored: some may reopen, and no second is
#: judged twice.
RESOLVED_S: Final = 3600.0


def idle_limit_s(open_incidents: int) -> float:
    """How long a fabric may be without measurements until its localizer is evicted [s]."""
    return IDLE_WITH_INCIDENTS_S if open_incidents else IDLE_S


def restorable(incidents: Iterable[Incident]) -> list[Incident]:
    """Incidents that a localizer may still need: open ones, and each fabric's last ``RESOLVED_S``.

    An incident whose ``updated_at`` is not a time is retained: restoring it reports the error.
    """
    updated: list[tuple[Incident, float]] = []
    newest: dict[str, float] = {}
    for each in incidents:
        try:
            time_s = seconds_of(each.updated_at)
        except ValueError:
            time_s = math.inf
        else:
            newest[each.fabric] = max(newest.get(each.fabric, 0.0), time_s)
        updated.append((each, time_s))
    return [
        each
        for each, time_s in updated
        if each.state != "resolved" or time_s >= newest.get(each.fabric, 0.0) - RESOLVED_S
    ]
