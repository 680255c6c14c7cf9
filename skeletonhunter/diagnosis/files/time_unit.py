"""Times of sending that are in another unit than nanoseconds -> one line that says so.

Seconds, milliseconds and microseconds since the epoch are what loggers and pandas write. Read as
nanoseconds they are a moment of 1970: all records fall into one second, nothing can be judged, and
the coverage would not say why. A time is in another unit if it would be one of this century there.
Where some are in nanoseconds and others are not, as of two loggers in one file, the others would be
judged as of 1970.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from skeletonhunter.errors import BadInput

_SECOND: Final = 1_000_000_000
#: Records of real networks were sent in this time [s since the epoch]: the years 2001 to 2099.
_FIRST_S: Final = int(datetime(2001, 1, 1, tzinfo=UTC).timestamp())
_LAST_S: Final = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
#: Unit -> factor to nanoseconds. The ranges of two units do not overlap.
_FACTORS: Final = {"s": _SECOND, "ms": 1_000_000, "us": 1000}


def check(times: pa.Array) -> None:
    """Refuse times that are all in another unit; raises BadInput, which names unit and factor.

    times  [ns since the epoch], of all records that were read
    """
    bounds = pc.min_max(times).as_py()
    if bounds["min"] is None:
        return
    for unit, factor in _FACTORS.items():
        if bounds["min"] * factor >= _FIRST_S * _SECOND and bounds["max"] * factor < (
            _LAST_S * _SECOND
        ):
            raise BadInput(
                f"ping_time {bounds['min']} is in {unit}, and has to be in ns since the epoch: "
                f'write ping_time = {{ from = "ping_time", times = {factor:_} }} into a file for '
                "--columns, or multiply the column"
            )


def check_mixed(times: pa.Array) -> None:
    """Refuse times of which some are in nanoseconds and others in another unit; raises BadInput.

    times  as of ``check``; one that is of this century in no unit, such as 0, is let pass
    """
    right = _of_this_century(times, 1)
    count = pc.sum(right).as_py() or 0
    if count in (0, len(times)):
        return
    for unit, factor in _FACTORS.items():
        other = _of_this_century(times, factor)
        if (others := pc.sum(other).as_py()) > 0:
            example = pc.filter(times, other)[0].as_py()
            raise BadInput(
                f"ping_time of {others:,} records is in {unit} ({example}), and of {count:,} in ns "
                f"since the epoch: multiply the former by {factor:_}"
            )


def _of_this_century(times: pa.Array, factor: int) -> pa.Array:
    first, last = (each * _SECOND // factor for each in (_FIRST_S, _LAST_S))
    return pc.and_(pc.greater_equal(times, first), pc.less(times, last))


def shown(time_ns: int) -> str:
    """A time of sending as people write it, to the second; years beyond 9999 as the number."""
    try:
        return f"{datetime.fromtimestamp(time_ns // _SECOND, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return f"{time_ns} ns"
