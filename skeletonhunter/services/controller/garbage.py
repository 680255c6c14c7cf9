"""Garbage collection of a process with millions of objects that stay.

CPython's oldest generation holds all lists and documents of a large site; to look through them
takes a second, in which no agent is answered. So objects that have survived are frozen: later
collections leave them out. References are counted all the same; only garbage in cycles waits for
the next time that everything is looked through.
"""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class GarbageParameters:
    """freeze_s  between two times that survivors are frozen
    whole     of these times, one collects the garbage of all objects
    """

    freeze_s: float = parameter(
        5.0, unit="s", source="chosen: skeletonhunter bench --only connections"
    )
    whole: int = parameter(720, unit="times", source="chosen: an hour of a second without answers")


DEFAULT: Final = GarbageParameters()


async def freeze_survivors(parameters: GarbageParameters = DEFAULT) -> None:
    """For ever."""
    times = 0
    while True:
        await asyncio.sleep(parameters.freeze_s)
        times += 1
        freeze(whole=times % parameters.whole == 0)


def freeze(*, whole: bool) -> None:
    """Collect the garbage of young objects, or of all; what is left is not looked through again."""
    if whole:
        gc.unfreeze()
    gc.collect(2 if whole else 1)
    gc.freeze()
