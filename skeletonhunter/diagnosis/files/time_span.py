"""Which part of the records is judged: --since and --until."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from skeletonhunter.errors import BadInput


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Times of sending from ``since_ns`` on and before ``until_ns`` [ns since the epoch]."""

    since_ns: int | None = None
    until_ns: int | None = None

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The records in the span."""
        times = batch.column("ping_time")
        if self.since_ns is not None:
            batch = batch.filter(pc.greater_equal(times, self.since_ns))
        if self.until_ns is not None:
            batch = batch.filter(pc.less(batch.column("ping_time"), self.until_ns))
        return batch

    def holds(self, time_ns: int) -> bool:
        """Whether a time is in the span."""
        after = self.since_ns is None or time_ns >= self.since_ns
        return after and (self.until_ns is None or time_ns < self.until_ns)


def span(since: str | None, until: str | None) -> TimeSpan:
    """The span between two times, RFC 3339, UTC where they name no zone; raises BadInput."""
    found = TimeSpan(_ns(since, "--since"), _ns(until, "--until"))
    if None not in (since, until) and (found.since_ns or 0) >= (found.until_ns or 0):
        raise BadInput(f"--since {since} is not before --until {until}")
    return found


def _ns(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{option} {text}: no time; write 2026-01-31T12:00:00Z") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    seconds = round((time - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
    return seconds * 1000
