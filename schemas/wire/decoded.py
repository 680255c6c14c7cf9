"""Rows of one message: as they were parsed, and as ping records apart from rejected rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.wire.rejects import Reject


class CodecError(ValueError):
    """A whole message cannot be read; one line that says what is wrong."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Rows of a message, not yet checked as records.

    batch    the columns of known names, as they came
    origin   (rows,) position of each row in ``lines``; None: rows have no bytes of their own
    lines    bytes of each row of a text format
    rejects  rows that are not in the batch because they cannot be parsed
    bytes    size of the batch's values, approximate [B]
    """

    batch: pa.RecordBatch
    origin: npt.NDArray[np.int64] | None = None
    lines: list[bytes] | None = None
    rejects: list[Reject] = field(default_factory=list)
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """Good rows, with the present columns in the types of ``documents.ping``, and bad rows."""

    batch: pa.RecordBatch
    rejects: list[Reject]


def one_line(why: BaseException) -> str:
    """The text of an error in one line of at most 300 characters."""
    return " ".join(str(why).split())[:300]
