"""Judgeable pings for tests of panes and windows, one tuple a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from streams.windowing.panes import NO_RTT, Pane, Pings, Window

START_S = 1_780_000_000
SECOND = 1_000_000_000


class Ping(NamedTuple):
    """A record of path ``path``, sent ``at_s`` seconds after START_S; rtt_us None: no answer."""

    path: int
    at_s: float
    rtt_us: float | None = 15.0
    sent: int = 1
    lost: int = 0
    refused: int = 0
    source: int = 0
    offset: int = 0

    @property
    def time_ns(self) -> int:
        return START_S * SECOND + round(self.at_s * SECOND)


def pings(records: Sequence[Ping]) -> Pings:
    def column(kind: Any, values: list[Any]) -> Any:
        return np.array(values, kind)

    return Pings(
        path=column(np.int32, [r.path for r in records]),
        time_ns=column(np.int64, [r.time_ns for r in records]),
        rtt_ns=column(
            np.uint32,
            [int(NO_RTT) if r.rtt_us is None else round(r.rtt_us * 1000) for r in records],
        ),
        sent=column(np.uint32, [r.sent for r in records]),
        lost=column(np.uint32, [r.lost for r in records]),
        refused=column(np.uint32, [r.refused for r in records]),
        source=column(np.int32, [r.source for r in records]),
        offset=column(np.int64, [r.offset for r in records]),
    )


def plain(closed: Pane | Window) -> tuple[Any, ...]:
    """A pane or window as something that compares; NaN as None."""
    counts = ("path", "records", "sent", "lost", "refused", "rtt_count")
    columns = [tuple(getattr(closed, name).tolist()) for name in counts]
    if isinstance(closed, Pane):
        more: Any = (
            tuple(np.round(closed.rtt_mean_us, 3).tolist()), tuple(closed.samples.tolist()),
        )  # fmt: skip
    else:
        more = {k: [None if v != v else v for v in x.tolist()]
                for k, x in closed.features_us.items()}  # fmt: skip
    return (closed.start_s - START_S, *columns, more)
