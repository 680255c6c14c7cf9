"""Times of parameters."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from api.queries.times import FIRST, absolute

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("-90s", datetime(2026, 1, 31, 11, 58, 30, tzinfo=UTC)),
        ("-15m", datetime(2026, 1, 31, 11, 45, tzinfo=UTC)),
        ("-6h", datetime(2026, 1, 31, 6, tzinfo=UTC)),
        ("-7d", datetime(2026, 1, 24, 12, tzinfo=UTC)),
        ("-999999d", FIRST),
        ("15m", "15m"),
        ("-1w", "-1w"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
    ],
)
def test_a_relative_time_is_before_now(text: str, time: object) -> None:
    assert absolute(text, NOON) == time
