"""Times of query parameters: RFC 3339 with a zone, or relative to now as in -15m."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)  # fmt: skip

FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LAST: Final = datetime(2200, 1, 1, tzinfo=UTC)
_RELATIVE: Final = re.compile(r"-([0-9]{1,6})([smhd])")
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_NUMBER: Final = re.compile(r"\s*[-+]?[0-9.]+\s*")
_FORM: Final = "write a time with its zone, as 2026-01-31T12:00:00Z, or one before now, as -15m"
EXAMPLES: Final = ["2026-01-31T12:00:00Z", "-15m"]


def storable(time: datetime) -> datetime:
    """The time limited to 1970..2200, the range of the column."""
    if time.year <= FIRST.year:
        return FIRST
    return LAST if time.year >= LAST.year else time.astimezone(UTC)


def absolute(text: str, now: datetime) -> str | datetime:
    """A time relative to now (-90s, -15m, -6h, -7d) as a time; any other text as it is."""
    found = _RELATIVE.fullmatch(text)
    if found is None:
        return text
    ago_s = int(found[1]) * _UNIT_S[found[2]]
    return now - timedelta(seconds=min(ago_s, (now - FIRST).total_seconds()))


def _absolute_now(given: Any, read: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(given, str) and _NUMBER.fullmatch(given):
        raise ValueError(_FORM)  # pydantic takes numbers as seconds since 1970, as it does "2026"
    try:
        return read(absolute(given, datetime.now(UTC)) if isinstance(given, str) else given)
    except ValidationError:
        raise ValueError(_FORM) from None


#: A parameter that is a time; now is the moment in which the request is read.
Time = Annotated[
    AwareDatetime,
    AfterValidator(storable),
    WrapValidator(_absolute_now),
    WithJsonSchema({
        "anyOf": [
            {"type": "string", "format": "date-time"},
            {"type": "string", "pattern": "^-[0-9]{1,6}[smhd]$"},
        ],
        "examples": EXAMPLES,
    }),
]  # fmt: skip
