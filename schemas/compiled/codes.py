"""Codes of a large table as places among those that are used, for a dictionary of few texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schemas.compiled import native

I32 = npt.NDArray[np.int32]


def compacted(codes: I32, rows: I32, size: int) -> tuple[I32, I32]:
    """(n,) the place of each row's code among the codes that they use, and those codes, ascending.

    codes  (m,) each below ``size``
    rows   (n,) which of them

    Example: the rows [0, 1, 3] of the codes [7, 2, 9, 7] use 2 and 7; the places are [1, 0, 1].
    """
    helper = native.used()
    if helper is not None:
        places, found = np.empty(len(rows), np.int32), np.empty(size, np.int32)
        return places, found[: helper.compact_codes(codes, rows, places, found)]
    codes = codes[rows]
    used = np.zeros(size, bool)
    used[codes] = True
    place = (np.cumsum(used) - 1).astype(np.int32)
    return place[codes], np.flatnonzero(used).astype(np.int32)
