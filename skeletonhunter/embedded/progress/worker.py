"""How far the stream worker has come while the demo plays, and whether it still moves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from skeletonhunter.embedded.demo_state import DemoState
from streams.worker import StreamWorker

_SECOND: Final = 1_000_000_000
_LOOK_S: Final = 0.1
#: A part whose figures do not change for so long has stopped [s].
STALLED_S: Final = 30.0

Sleep = Callable[[float], Awaitable[None]]


class WorkerProgress:
    """Waits for the worker as long as it does anything: slow is not stalled.

    sleep  waits so many seconds; a test passes one that returns at once
    """

    def __init__(
        self, state: DemoState, worker: StreamWorker, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._state = state
        self._worker = worker
        self._sleep = sleep

    def update(self) -> tuple[int, ...]:
        """Set ``judged_s`` of the state; returns figures that change while the worker works."""
        state, worker = self._state, self._worker
        judged_s = worker.localize.judged_s(state.simulation.topology.fabric)
        if judged_s:  # 0 or None: no second is judged yet
            state.judged_s = judged_s + 1 - state.simulation.start_ns / _SECOND
        return (judged_s or 0, worker.localize.counts.messages, worker.ingest.counts.messages)

    async def until(self, second: float, tick: Callable[[], None]) -> bool:
        """Wait until event time up to ``second`` is judged; False when the worker has stopped.

        tick  called at each look
        """

        async def look() -> tuple[int, ...]:
            return self.update()

        return await moved(look, lambda: self._state.judged_s >= second, tick, self._sleep)

    def judged_s(self) -> float:
        """Event time that is judged now [s]."""
        self.update()
        return self._state.judged_s


async def moved(
    look: Callable[[], Awaitable[tuple[float, ...]]],
    arrived: Callable[[], bool],
    tick: Callable[[], None],
    sleep: Sleep,
) -> bool:
    """Wait until a part has ``arrived``; False when its figures no longer change.

    look  returns the figures, and updates what ``arrived`` reads
    tick  called at each look
    """
    figures, stalled = await look(), 0
    while not arrived():
        # Looks are counted, not seconds: a suspended process is not a stalled part.
        if stalled * _LOOK_S >= STALLED_S:
            return False
        await sleep(_LOOK_S)
        tick()
        now = await look()
        stalled = stalled + 1 if now == figures else 0
        figures = now
    return True
