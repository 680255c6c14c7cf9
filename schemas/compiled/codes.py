"""Codes of a large table as places among those that are used, for a dictionary of few texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from schemas.compiled import native

I32 = npt.NDArray[np.int32]


def compacted(codes: I32, size: int) -> tuple[I32, I32]:
    """(n,) the place of each code among the codes that are used, and those codes, ascending.

    codes  (n,) each below ``size``

    Example: of the codes [7, 2, 7], 2 and 7 are used, and the places are [1, 0, 1].
    """
    helper = native.used()
    if helper is not None:
        places, found = np.empty(len(codes), np.int32), np.empty(size, np.int32)
        return places, found[: helper.compact_codes(codes, places, found)]
    used = np.zeros(size, bool)
    used[codes] = True
    place = (np.cumsum(used) - 1).astype(np.int32)
    return place[codes], np.flatnonzero(used).astype(np.int32)
