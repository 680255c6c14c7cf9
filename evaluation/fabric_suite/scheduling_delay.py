"""How late timers fire on this machine: whether a claim about time can be tested on it.

A process of its own sleeps 10 ms again and again and records by how much each sleep is exceeded.
Measured on two cores: the median delay is 0.1 ms beside an idle machine, 2 ms beside four busy
loops. What is measured starts many processes at once, so the figure is a median over 30 s: a burst
of some seconds does not change it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final

PERIOD_S: Final = 0.01
#: Seconds over which a median is taken.
STRETCH_S: Final = 30
#: Median delay from which on the machine is too busy for claims about time [ms].
BUSY_MS: Final = 1.0
_LINE: Final = 32  # bytes: a line is a time and a median, padded


class SchedulingDelay:
    """Measures until it is closed; a context manager."""

    def __init__(self) -> None:
        self._samples = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        self._process = subprocess.Popen(  # noqa: S603  # this very file
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=self._samples
        )

    def __enter__(self) -> SchedulingDelay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the measuring process."""
        assert self._process.stdin is not None  # noqa: S101  # it is a pipe
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._samples.close()

    def worst_ms(self, since_s: float = 0.0) -> float:
        """The largest median delay of any 30 s since ``since_s`` [ms]; see ``worst_median``.

        since_s  on the clock of ``time.monotonic``
        """
        raw = os.pread(self._samples.fileno(), os.fstat(self._samples.fileno()).st_size, 0)
        lines = (raw[at : at + _LINE].split() for at in range(0, len(raw) - _LINE + 1, _LINE))
        return worst_median([float(median) for at, median in lines if float(at) >= since_s])

    def complaint(self, since_s: float = 0.0) -> str:
        """One line with the figure where the machine was too busy; empty where it was not."""
        measured = self.worst_ms(since_s)
        if measured <= BUSY_MS:
            return ""
        return (
            f"machine too busy, measured: timers of 10 ms fire {measured:.1f} ms late (median of "
            f"the worst {STRETCH_S} s; at most {BUSY_MS:g} ms where nothing else runs)"
        )


def worst_median(seconds: Sequence[float]) -> float:
    """The largest median of any ``STRETCH_S`` successive values; of all where there are fewer; 0
    without values."""
    stretches = range(max(1, len(seconds) - STRETCH_S + 1))
    medians = [seconds[first : first + STRETCH_S] for first in stretches]
    return max((statistics.median(each) for each in medians if each), default=0.0)


def _measure() -> None:
    """A line each second, until the other end of stdin is closed."""
    import select

    late_ms: list[float] = []
    while not select.select([sys.stdin], [], [], 0)[0]:
        before = time.monotonic()
        time.sleep(PERIOD_S)
        late_ms.append((time.monotonic() - before - PERIOD_S) * 1e3)
        if len(late_ms) * PERIOD_S >= 1:
            line = f"{before:.3f} {statistics.median(late_ms):.4f}"
            os.write(sys.stdout.fileno(), line.ljust(_LINE - 1).encode() + b"\n")
            late_ms.clear()


if __name__ == "__main__":
    _measure()
