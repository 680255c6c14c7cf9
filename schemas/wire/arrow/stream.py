"""An Arrow IPC stream -> columns of known names, not yet checked as records."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.limits import LIMITS, Limits
from schemas.wire.arrow import columns, frames
from schemas.wire.arrow.layouts import Layouts
from schemas.wire.decoded import CodecError, Parsed, one_line
from schemas.wire.ping_columns import KNOWN

_plans: Final = columns.Plans(KNOWN)
#: Layouts of streams of ping records.
LAYOUTS: Final = Layouts(_plans)


def parse_arrow(raw: bytes, limits: Limits = LIMITS, plans: columns.Plans = _plans) -> Parsed:
    """Rows of one message as plain columns; raises CodecError.

    plans  of the columns that are read: those of ping records, unless given
    The stream is validated in full: corrupt offsets would otherwise crash the process.
    """
    try:
        found = frames.walk(raw, limits)
        if found.rows > limits.rows:
            raise CodecError(f"Arrow stream holds more than {limits.rows} rows; split it")
        if found.rows > max(1, len(raw) // limits.least_bytes):
            raise CodecError(f"{found.rows} rows in {len(raw)} B: a record takes more")
        plan = plans.of(raw[slice(*found.schema)], limits)
        batch = columns.read(raw, found, plan, limits)
    except (frames.FrameError, pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as why:
        raise CodecError(f"corrupt Arrow stream: {one_line(why)}") from why
    except columns.ColumnError as why:
        raise CodecError(one_line(why)) from why
    return Parsed(batch, bytes=batch.nbytes if plan.encoded else len(raw))
