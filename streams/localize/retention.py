"""How long a fabric's localizer, its messages and its incidents are retained. Pure.

A stream worker and a replay apply the same limits, so that a file and a topic give the same
incidents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of
from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class RetentionParameters:
    """How long what belongs to a fabric is retained.

    every_s                from one clean-up to the next
    sizes_every_s          event time from one measurement of a localizer's memory to the next
    coverage_every_s       event time from one message of skh.coverage to the next
    lookback_s             event time of the messages that are not acknowledged, because the
                           detectors' history may need them again
    idle_s                 a fabric that receives only punctuations is evicted after so long,
    idle_with_incidents_s  and with open incidents after so long
    resolved_s             resolved incidents of a former process that are restored
    evicted                names of evicted fabrics that are remembered
    inline_bytes           a chunk as large as this is taken in at once: less than handing it to a
                           thread costs, which waits for the interpreter
    """

    every_s: float = parameter(1.0, unit="s", source="chosen: a pane spans 1 s")
    sizes_every_s: int = parameter(10, unit="s", source="chosen: metrics are read less often")
    coverage_every_s: int = parameter(60, unit="s", source="chosen: as the replay reads it")
    lookback_s: int = parameter(
        330, unit="s", source="chosen: 10 windows of 30 s of the detectors, and one to be sure"
    )
    idle_s: float = parameter(
        3600.0, unit="s", source="chosen: the incidents of an idle fabric have closed by then"
    )
    idle_with_incidents_s: float = parameter(
        86_400.0, unit="s",
        source="chosen: they are restored from skh.incidents when the fabric returns",
    )  # fmt: skip
    resolved_s: float = parameter(
        3600.0, unit="s", source="chosen: some may reopen, and no second is judged twice"
    )
    evicted: int = parameter(10_000, unit="fabrics", source="chosen: bounds the memory")
    inline_bytes: int = parameter(
        128 * 1024, unit="B", source="measured: four times as much is decoded within 0.6 ms"
    )


RETENTION: Final = RetentionParameters()


def idle_limit_s(open_incidents: int) -> float:
    """How long a fabric may be without measurements until its localizer is evicted [s]."""
    return RETENTION.idle_with_incidents_s if open_incidents else RETENTION.idle_s


def restorable(incidents: Iterable[Incident]) -> list[Incident]:
    """Incidents that a localizer may still need: open ones, and each fabric's last ``resolved_s``.

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
        if each.state != "resolved" or time_s >= newest.get(each.fabric, 0.0) - RETENTION.resolved_s
    ]
