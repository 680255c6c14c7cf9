"""Waiting for something that another thread or process does: the bound is for hangs only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

Condition = Callable[[], bool]
Until = Callable[[Condition], None]

HANG_S: Final = 300.0  # a loaded machine is slow, not hanging


def wait_until(holds: Condition) -> None:
    """Return when the condition holds; fails after HANG_S."""
    deadline = time.monotonic() + HANG_S
    pause = threading.Event()
    while not holds():
        assert time.monotonic() < deadline, f"the condition did not hold within {HANG_S:g} s"
        pause.wait(0.01)
