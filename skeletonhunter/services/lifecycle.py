"""Signals, log output and failures of a command that runs until it is stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from skeletonhunter.errors import BadSettings, CommandError, DependencyUnreachable

#: Exit code of a command that SIGTERM ended, as a shell reports it.
TERMINATED: Final = 128 + signal.SIGTERM


async def until_terminated(main: Coroutine[Any, Any, int]) -> int:
    """Run ``main`` and return its exit code; SIGTERM cancels it, so that it can clean up.

    returns  ``TERMINATED`` after that
    """
    loop, running, terminated = asyncio.get_running_loop(), asyncio.current_task(), False

    def terminate() -> None:
        nonlocal terminated
        if running is not None and not terminated:  # a second signal must not end the cleaning up
            terminated = True
            running.cancel()

    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await main
    except asyncio.CancelledError:
        if not terminated:  # SIGINT, of which the runner of the loop makes KeyboardInterrupt
            raise
        return TERMINATED


def stop_signals() -> asyncio.Event:
    """An event that SIGTERM or SIGINT sets; call it before announcing that the part has started."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


async def until_stopped(
    failure: Callable[[], Awaitable[BaseException | None]],
    stop: asyncio.Event | None = None,
    within_s: float | None = None,
) -> BaseException | None:
    """Wait for ``stop`` (returns None) or for ``failure`` (returns its error).

    stop      from ``stop_signals``; None: it is created here
    within_s  it stops by itself after so long; None: it does not
    """
    stop = stop_signals() if stop is None else stop
    asked = asyncio.ensure_future(stop.wait())
    failed = asyncio.ensure_future(failure())
    try:
        await asyncio.wait({asked, failed}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
        if not failed.done():
            failed.cancel()
    return failed.result() if failed.done() and not failed.cancelled() else None


def command_error(why: BaseException) -> BaseException:
    """The error that ended a part, as the command reports it.

    A dependency that went away becomes DependencyUnreachable (exit code 3), a name that two workers
    have becomes BadSettings (2); any other error stays, so that it ends as an internal error with
    its traceback.
    """
    from confluent_kafka import KafkaException

    from streams.errors import NameTaken, StreamsError

    if isinstance(why, NameTaken):
        return BadSettings(f"SKH_INSTANCE: {why}; give each worker a name of its own")
    if isinstance(why, KafkaException):
        return DependencyUnreachable(f"Kafka: {why.args[0]}")
    if isinstance(why, StreamsError | ConnectionError):
        return DependencyUnreachable(str(why))
    return why if isinstance(why, CommandError | Exception) else RuntimeError(repr(why))
