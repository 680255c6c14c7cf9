"""The host itself: its clock, the CPU time that the agent gets, its limits."""

from __future__ import annotations

import ctypes
import resource
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic_ns, sleep
from typing import Final

from probers.doctor.finding import Finding
from schemas.compiled import native

#: The analyzer takes records of a clock more than this off the others' for late ones.
SKEW_S: Final = 5.0
_TIMEX: Final = struct.Struct("=I4xqqqqi")  # modes, offset, freq, maxerror, esterror, status
_TIMEX_BYTES: Final = 256  # more than any kernel writes
_UNSYNCHRONIZED: Final = 0x40  # STA_UNSYNC
_WAITS, _WAIT_S = 100, 0.002
_SLOW_US: Final = 5_000.0  # a probe's time-out is 500,000
_FEW_FILES: Final = 1024

ReadClock = Callable[[], tuple[float, bool]]


def adjtimex() -> tuple[float, bool]:
    """Largest error of the clock that the kernel knows of [s], and whether it is synchronized;
    raises OSError. See adjtimex(2)."""
    state = ctypes.create_string_buffer(_TIMEX_BYTES)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.adjtimex(state) < 0:
        code = ctypes.get_errno()
        raise OSError(code, "adjtimex failed")
    _, _, _, error_us, _, status = _TIMEX.unpack_from(state.raw)
    return error_us / 1e6, not status & _UNSYNCHRONIZED


def clock(read: ReadClock = adjtimex) -> Iterator[Finding]:
    """Whether the clock is kept right by NTP or PTP."""
    try:
        error_s, synchronized = read()
    except (OSError, AttributeError) as why:  # no Linux
        yield Finding("warning", "clock", f"cannot tell whether it is right ({why})",
                      "see that NTP or PTP keeps it")  # fmt: skip
        return
    if not synchronized:
        yield Finding(
            "warning", "clock", "the kernel says that nothing synchronizes it",
            "run chrony, ntpd or phc2sys; records of a clock more than "
            f"{SKEW_S:g} s off the others' are not judged",
        )  # fmt: skip
    elif error_s > SKEW_S:
        yield Finding("error", "clock", f"up to {error_s:.1f} s off", "mend NTP or PTP")
    else:
        yield Finding("ok", "clock", f"synchronized, at most {error_s * 1e3:.1f} ms off")


def scheduling(
    now_ns: Callable[[], int] = monotonic_ns, wait: Callable[[float], None] = sleep
) -> Iterator[Finding]:
    """How late the process runs when it should, now."""
    late_us = []
    for _ in range(_WAITS):
        due_ns = now_ns() + int(_WAIT_S * 1e9)
        wait(_WAIT_S)
        late_us.append((now_ns() - due_ns) / 1e3)
    late_us.sort()
    text = f"runs {late_us[_WAITS // 2]:.0f} us late, {late_us[-1]:.0f} us at worst"
    if late_us[_WAITS * 9 // 10] > _SLOW_US:
        yield Finding("warning", "scheduling", text,
                      "reserve CPU for the agent, or its probes will time out")  # fmt: skip
    else:
        yield Finding("ok", "scheduling", text)


def cpu_limit(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> (
    Iterator[Finding]
):  # fmt: skip
    """The CPU limit of the agent's control group (version 2), and whether it has been reached."""
    try:
        line = next(each for each in own.read_text().splitlines() if each.startswith("0::"))
        folder = root / line[3:].lstrip("/")
        quota, _, period = (folder / "cpu.max").read_text().strip().partition(" ")
        counts = dict(each.split() for each in (folder / "cpu.stat").read_text().splitlines())
    except (OSError, StopIteration, ValueError):  # no such group, or not to be seen from here
        return
    if quota == "max":
        return
    throttled = int(counts.get("nr_throttled", 0))
    text = f"limited to {int(quota) / int(period or 1):.2f} of a CPU, stopped {throttled} times"
    if throttled:
        yield Finding("warning", "cpu", text, "raise the limit: probes of such moments are lost")
    else:
        yield Finding("ok", "cpu", text)


def helper() -> Iterator[Finding]:
    """Whether the compiled helper serves the sockets, or Python."""
    if why := native.why_not():
        text = f"sockets are served in Python, without the compiled helper ({why})"
        yield Finding("ok", "helper", text)
    else:
        yield Finding("ok", "helper", "sockets are served by the compiled helper")


def descriptors() -> Iterator[Finding]:
    """How many files and sockets the agent may have open."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < _FEW_FILES:
        yield Finding(
            "warning", "descriptors", f"{hard} files at most",
            "raise LimitNOFILE or ulimit -n: each source port takes a socket",
        )  # fmt: skip
    else:
        yield Finding("ok", "descriptors", "as many as the kernel has" if hard < 0 else f"{hard}")
