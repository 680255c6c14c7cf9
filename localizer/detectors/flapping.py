"""Flapping: trouble that comes and goes, at least two outbreaks with calm between them. Pure.

What lies before the first outbreak and after the last is left out: every fault begins and ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from schemas.parameters.parameter import parameter

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FlappingParameters:
    """What is an outbreak, what is calm, and when either can be said.

    least_s       seconds from the first bad one on before anything is decided: a port that is down
                  for three seconds of six has come back by then
    outbreak      share of the usual height above which the trouble is back
    calm          share of the usual height below which it has paused; seconds between the two are
                  neither
    least_probes  share of the busiest second's probes; seconds with fewer are left out
    level         probability with which steady losses may look as if they paused
    """

    least_s: int = parameter(
        6, unit="s", source="chosen: pytest tests/localizer/detectors (flapping)"
    )
    outbreak: float = parameter(
        0.7, unit="1", source="chosen: pytest tests/localizer/detectors (flapping)"
    )
    calm: float = parameter(
        0.15, unit="1", source="chosen: pytest tests/localizer/detectors (flapping)"
    )
    least_probes: float = parameter(
        0.25, unit="1", source="chosen: pytest tests/localizer/detectors (flapping)"
    )
    level: float = parameter(
        1e-4, unit="1", source="chosen: pytest tests/localizer/detectors (steady losses)"
    )


DEFAULT: Final = FlappingParameters()


def losses(sent: I64, lost: I64, parameters: FlappingParameters = DEFAULT) -> bool | None:
    """Whether losses pause for longer than steady ones would by chance.

    sent, lost  (T,) probes in each second
    returns     None before there is enough to decide
    Source      binomial test of the calm seconds, corrected for how they were selected (Bonferroni)
    """
    if not lost.any():
        return None
    counted = sent >= max(1.0, parameters.least_probes * sent.max())
    height = np.where(counted, lost / np.maximum(sent, 1), 0.0)
    found = _outbreaks(height, counted, parameters)
    if found is None:
        return None
    inner, calm = found
    if not calm.any():
        return False
    # The calm seconds were selected for being calm: corrected by how many selections there are.
    ways = _ln_choose(int(inner.sum()), int(calm.sum()))
    steady = float(lost[inner].sum() / sent[inner].sum())
    k, n = int(lost[calm].sum()), int(sent[calm].sum())
    with np.errstate(divide="ignore"):  # ln of less than the smallest number is -inf
        ln_p = np.log(special.bdtr(float(k), n, steady))
    return bool(ways + ln_p < np.log(parameters.level))


def lateness(late: F64, count: I64, parameters: FlappingParameters = DEFAULT) -> bool | None:
    """Whether answers are late, in time, and late again.

    late     (T,) how late the answers of each second are, 0 as usual, on any scale
    count    (T,) answers in each second
    returns  None before there is enough to decide
    """
    counted = count >= max(1.0, parameters.least_probes * count.max(initial=0))
    found = _outbreaks(late, counted, parameters)
    return None if found is None else bool(found[1].any())


def _outbreaks(
    height: F64, counted: Bool, parameters: FlappingParameters
) -> tuple[Bool, Bool] | None:
    """(T,) the seconds from the first outbreak to the last, and those among them that are calm.

    None where there is no outbreak, or where the first is too recent.
    """
    top = float(height[counted].max(initial=0.0))
    if top <= 0:
        return None
    usual = float(np.median(height[counted & (height > parameters.outbreak * top)]))
    bad = np.flatnonzero(counted & (height > parameters.outbreak * usual))
    if len(height) - bad[0] < parameters.least_s:
        return None
    inner = counted.copy()
    inner[: bad[0]] = inner[bad[-1] + 1 :] = False
    return inner, inner & (height < parameters.calm * usual)


def _ln_choose(n: int, k: int) -> float:
    return float(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))
