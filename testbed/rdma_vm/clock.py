"""The rate of this machine's time stamp counter, for the guest's kernel.

The emulated counter runs at the rate of the real one. A kernel that has to measure it against the
emulated timer chip fails on a busy machine and then waits without end for a tick; with the rate as
a parameter (``tsc_early_khz``) it does not measure.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable
from typing import Final

#: rdtsc; shl rdx, 32; or rax, rdx; ret
_READ_COUNTER: Final = bytes.fromhex("0f31 48c1e220 4809d0 c3")
_SPAN_S: Final = 0.05
_LOOKS: Final = 50


def counter_khz() -> int | None:
    """Rate of the time stamp counter [kHz]; None where this machine forbids code of our own."""
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except (PermissionError, OSError):
        return None
    page.write(_READ_COUNTER)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    begin = _look(read)
    time.sleep(_SPAN_S)
    return rate_khz(begin, _look(read))


def rate_khz(begin: tuple[int, int], end: tuple[int, int]) -> int:
    """Ticks per millisecond between two looks (time [ns], ticks)."""
    return (end[1] - begin[1]) * 1_000_000 // (end[0] - begin[0])


def _look(read: Callable[[], int]) -> tuple[int, int]:
    """Time and ticks of one moment: of many readings the one that took least time."""
    looks = []
    for _ in range(_LOOKS):
        before, ticks, after = time.monotonic_ns(), read(), time.monotonic_ns()
        looks.append((after - before, (before + after) // 2, ticks))
    _, at_ns, ticks = min(looks)
    return at_ns, ticks
