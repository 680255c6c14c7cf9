"""Whether trouble comes and goes: at least two outbreaks with calm between them. Pure.

What lies before the first outbreak and after the last is left out: every fault begins and ends.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln
from scipy.stats import binom

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

#: Seconds from the first bad one on before anything can be said: a port that is down for three
#: seconds of six has come back by then.
FEWEST_S: Final = 6
#: Trouble is back when it is above this share of its height, and calm is what is below that one;
#: seconds between the two say nothing.
LOUD, QUIET = 0.7, 0.15
#: Seconds with less than this share of the probes of the busiest one say nothing.
HEARD: Final = 0.25
#: Chance with which steady losses may look as if they paused.
LEVEL: Final = 1e-4


def losses(sent: I64, lost: I64) -> bool | None:
    """Whether losses pause for longer than steady ones would by chance.

    sent, lost  (T,) probes in each second
    None before there is enough to tell.
    """
    if not lost.any():
        return None
    told = sent >= max(1.0, HEARD * sent.max())
    calm = _calm(np.where(told, lost / np.maximum(sent, 1), 0.0), told)
    if calm is None:
        return None
    inner, quiet = calm
    if not quiet.any():
        return False
    # The calm seconds were picked because they are calm: paid for by how many might have been.
    ways = _ln_choose(int(inner.sum()), int(quiet.sum()))
    steady = float(lost[inner].sum() / sent[inner].sum())
    ln_p = binom.logcdf(int(lost[quiet].sum()), int(sent[quiet].sum()), steady)
    return bool(ways + ln_p < np.log(LEVEL))


def lateness(late: F64, count: I64) -> bool | None:
    """Whether answers are late, in time, and late again.

    late   (T,) how late the answers of each second are, 0 as ever, on any scale
    count  (T,) answers in each second
    None before there is enough to tell.
    """
    calm = _calm(late, count >= max(1.0, HEARD * count.max(initial=0)))
    return None if calm is None else bool(calm[1].any())


def _calm(height: F64, told: Bool) -> tuple[Bool, Bool] | None:
    """(T,) the seconds from the first outbreak to the last, and those among them that are calm.

    None where there is no outbreak, or where the first is too young.
    """
    top = float(height[told].max(initial=0.0))
    if top <= 0:
        return None
    usual = float(np.median(height[told & (height > LOUD * top)]))
    loud = np.flatnonzero(told & (height > LOUD * usual))
    if len(height) - loud[0] < FEWEST_S:
        return None
    inner = told.copy()
    inner[: loud[0]] = inner[loud[-1] + 1 :] = False
    return inner, inner & (height < QUIET * usual)


def _ln_choose(n: int, k: int) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
