"""The task that infers skeletons, one after the other, while the service answers requests."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from controller.service.site import Site
from controller.skeleton.inference import infer
from controller.traffic.job_skeletons import Attempt, Conclusion

_log = logging.getLogger(__name__)

T = TypeVar("T")


async def learn(site: Site) -> None:
    """Infer the skeletons of jobs that have traffic for long enough, for ever."""
    while True:
        if not await learn_next(site):
            await asyncio.sleep(site.parameters.look_s)


async def learn_next(site: Site) -> bool:
    """Infer the skeleton that is due next; returns whether there is one.

    Numpy and SciPy do most of the work outside the interpreter's lock, so that a thread is enough.
    An error costs the inference in which it occurs.
    """
    site.traffic.follow(site.now_ms())
    attempt = site.traffic.due()
    if attempt is None:
        return False
    try:
        site.inferred(attempt, await _in_daemon_thread(partial(_inferred, site, attempt)))
    except Exception as why:
        _log.exception("job %s: the skeleton cannot be inferred", attempt.key[1])
        site.inferred(attempt, why)
    return True


def _inferred(site: Site, attempt: Attempt) -> Conclusion:
    return site.traffic.conclude(attempt, infer(attempt.given))


async def _in_daemon_thread(call: Callable[[], T]) -> T:
    """Result of a call in a thread of its own, for which a process that is stopped does not wait.

    For threads of the loop's executor it does (``asyncio.to_thread``): a controller that was
    stopped in an inference kept its port for as long, up to minutes.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(how: Callable[[Any], None], value: T | BaseException) -> None:
        if not result.done():  # else the task was cancelled
            how(value)

    def run() -> None:
        try:
            done = partial(settle, result.set_result, call())
        except BaseException as why:  # whatever it is, it is raised where the result is awaited
            done = partial(settle, result.set_exception, why)
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(done)

    threading.Thread(target=run, name="inference", daemon=True).start()
    return await result
