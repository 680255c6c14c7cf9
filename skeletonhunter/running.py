"""Running something until it fails or somebody asks it to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable

from skeletonhunter.terminal import OneLine


def stop_signals() -> asyncio.Event:
    """Set by SIGTERM or SIGINT from now on; called before a part says that it has started."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


async def until_stopped(
    failure: Callable[[], Awaitable[BaseException | None]], stop: asyncio.Event | None = None
) -> BaseException | None:
    """Waits for SIGTERM or SIGINT (returns None), or for ``failure`` (returns why).

    stop  of ``stop_signals``, where it was called before
    """
    stop = stop_signals() if stop is None else stop
    asked = asyncio.ensure_future(stop.wait())
    failed = asyncio.ensure_future(failure())
    try:
        await asyncio.wait({asked, failed}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
        if not failed.done():
            failed.cancel()
    return failed.result() if failed.done() and not failed.cancelled() else None


def log_to_stderr(level: str) -> None:
    """One line per event; the libraries below us say no more than their errors."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
