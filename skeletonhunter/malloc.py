"""glibc's malloc in this process: one heap for all threads, and how much of it is in use.

malloc gives each thread a heap (arena) of its own, up to eight for each core. A fabric is judged in
whichever thread of a pool is idle, so each of these heaps grows, over hours, to what the most
expensive second needs, although only one of them is in use at a time; and what one thread has freed
no other one takes. Threads that mostly hold Python's lock gain nothing from heaps of their own.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from schemas.metrics import Sample
from schemas.metrics import process as metrics

_FIELDS: Final = (
    "arena", "ordblks", "smblks", "hblks", "hblkhd",
    "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
)  # fmt: skip


#: Of <malloc.h>.
_M_ARENA_MAX: Final = -8


def share_heap() -> bool:
    """Give threads that begin from now on the heap of this one; call it before there are others.

    Returns whether it is so: not where the environment says how many there are to be, nor where the
    C library is another one.
    """
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    if "MALLOC_ARENA_MAX" in os.environ or "glibc.malloc.arena_max" in tunables:
        return False
    mallopt = _function("mallopt")
    return mallopt is not None and mallopt(_M_ARENA_MAX, 1) == 1


class _Mallinfo(ctypes.Structure):
    """``struct mallinfo2`` of <malloc.h>."""

    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


class Heap(NamedTuple):
    """Of the heaps of all threads.

    used  given out, mappings of their own included: arrays, buffers of the Kafka clients, tables of
          the compiled helper; Python's small objects and Arrow's buffers have other allocators [B]
    free  room that is kept for later [B]
    """

    used: int
    free: int


def heap() -> Heap | None:
    """The present state; None where the C library does not say: glibc before 2.33, musl."""
    mallinfo2 = _function("mallinfo2")
    if mallinfo2 is None:
        return None
    mallinfo2.restype = _Mallinfo
    found = mallinfo2()
    return Heap(found.uordblks + found.hblkhd, found.fordblks)


def samples() -> Iterator[Sample]:
    """For /metrics; nothing where the C library does not say."""
    if (now := heap()) is not None:
        for state, size in now._asdict().items():
            yield Sample(metrics.PROCESS_MALLOC, size, (state,))


def _function(name: str) -> Any:
    """A function of the C library; None where it has none of this name."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):  # TypeError: Windows has no library without name
        return None
