"""Times in documents: RFC 3339, event time."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(time_ns: int) -> str:
    """RFC 3339 in UTC with milliseconds, 2026-01-02T03:04:05.678Z.

    time_ns  [ns since the epoch]
    """
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ns // 1_000_000 % 1000:03d}Z"


def rfc3339_of_ms(time_ms: int) -> str:
    """As ``rfc3339``, of [ms since the epoch]."""
    return rfc3339(time_ms * 1_000_000)


def seconds_of(text: str) -> float:
    """[s since the epoch] of an RFC 3339 time; raises ValueError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"time {text!r} is not RFC 3339, e.g. 2026-01-01T00:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} has no zone; append Z for UTC")
    return moment.timestamp()


def milliseconds_of(text: str) -> int:
    """[ms since the epoch] of an RFC 3339 time, rounded; raises ValueError."""
    return round(seconds_of(text) * 1000)
