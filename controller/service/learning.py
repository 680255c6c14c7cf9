"""The task that infers skeletons, one after the other, while the service answers requests."""

from __future__ import annotations

import asyncio
import logging

from controller.service.site import Site
from controller.skeleton.inference import infer
from controller.traffic.job_skeletons import Attempt, Conclusion

_log = logging.getLogger(__name__)


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
        site.inferred(attempt, await asyncio.to_thread(_inferred, site, attempt))
    except Exception as why:
        _log.exception("job %s: the skeleton cannot be inferred", attempt.key[1])
        site.inferred(attempt, why)
    return True


def _inferred(site: Site, attempt: Attempt) -> Conclusion:
    return site.traffic.conclude(attempt, infer(attempt.given))
