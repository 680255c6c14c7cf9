"""Runs the command with a wall clock that is off: ``python -m ... OFFSET_S ARGUMENTS``.

Only Python's clock moves; that is the one that a stream worker reads. The broker's stays right.
"""

from __future__ import annotations

import runpy
import sys
import time


def main(offset_s: int, arguments: list[str]) -> None:
    """Run ``skeletonhunter`` with these arguments."""
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + offset_s
    time.time_ns = lambda: nanoseconds() + offset_s * 10**9
    sys.argv = ["skeletonhunter", *arguments]
    runpy.run_module("skeletonhunter.cli", run_name="__main__")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
