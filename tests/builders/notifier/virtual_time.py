"""asyncio in virtual time: what sleeps is woken at once, and the clock has moved on."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class VirtualTime(selectors.DefaultSelector):
    """Time that passes only when everything waits; for coroutines that do no I/O."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on a loop whose time this is."""
        with asyncio.Runner(loop_factory=lambda: _Loop(self)) as runner:
            runner.run(main)

    def select(self, timeout: float | None = None) -> list[Any]:
        """Wait for nothing but the clock."""
        assert timeout is not None, "everything waits for what will not come"
        self.now_s += timeout
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, virtual: VirtualTime) -> None:
        self._virtual = virtual
        super().__init__(virtual)

    def time(self) -> float:
        return self._virtual.now_s
