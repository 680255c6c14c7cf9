"""Parameters of the default strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter

_CONTRACT: Final = "chosen: pytest tests/contracts"
_ACCURACY: Final = "chosen: make scorecard (F1 of the published settings)"


@dataclass(frozen=True, slots=True)
class LossModel:
    """The likelihood of losses.

    prior_probes      what the learnt baseline is worth against the window's own losses
    most_healthy      highest loss of a round trip that may still be a healthy network's
    uneven            a healthy component may lose so many times its fair share of the baseline
    impossible        losses of a path that are less probable than this at the highest healthy loss
                      are no sign of an uneven network
    refit_change      relative change of the healthy loss that makes everything be computed anew
    steps             sizes that are tried below 0.5
    em_steps          iterations that fit the healthy loss
    """

    prior_probes: float = parameter(1e4, unit="probes", source=_ACCURACY)
    most_healthy: float = parameter(5e-3, unit="1", source=_ACCURACY)
    uneven: float = parameter(3.0, unit="1", source=_ACCURACY)
    impossible: float = parameter(
        1e-4,
        unit="1",
        source="chosen: pytest tests/localizer/strategies (bursts without an answer)",
    )
    refit_change: float = parameter(0.15, unit="1", source="chosen: make bench (row detect)")
    steps: int = parameter(14, unit="count", source="chosen: make bench (row detect)")
    em_steps: int = parameter(4, unit="count", source="chosen: make bench (row detect)")


@dataclass(frozen=True, slots=True)
class LatencyModel:
    """The likelihood of added latency.

    most_residual   residuals count for no more than so many times the path's noise
    freedom         degrees of freedom of the residual's Student t; bursts of a host are common
    varies          standard deviation of what a culprit adds to a path, as a share of what it adds
                    on average; with 0 the differences between the paths of one congested switch
                    would be attributed to other components
    healthy_noise   a shift of a crossing below this is healthy, in the paths' median noise; a round
                    trip crosses most components twice
    some            share of five-tuples at which a candidate is tried beside "all of them"
    absurd          the largest size that is tried, in the excess that the last witness reports
    witnesses       source hosts whose excess bounds the sizes that are tried
    factor          sizes are tried in steps of this factor,
    most_steps      but no more than so many
    least_slow      share of the paths across a class that must be slow for it to be a candidate
    """

    most_residual: float = parameter(5.0, unit="1", source=_CONTRACT)
    freedom: float = parameter(4.0, unit="1", source=_CONTRACT)
    varies: float = parameter(
        0.25, unit="1", source="chosen: pytest tests/localizer/strategies (an uneven queue)"
    )
    healthy_noise: float = parameter(0.25, unit="1", source=_CONTRACT)
    some: float = parameter(0.4, unit="1", source=_CONTRACT)
    absurd: float = parameter(
        16.0, unit="1", source="chosen: pytest tests/localizer (round trips of one host)"
    )
    witnesses: int = parameter(
        2,
        unit="hosts",
        source="chosen: pytest tests/localizer (round trips of one host; few hosts)",
    )
    factor: float = parameter(1.8, unit="1", source="chosen: make bench (row detect)")
    most_steps: int = parameter(20, unit="count", source="chosen: make bench (row detect)")
    least_slow: float = parameter(0.1, unit="1", source="chosen: make bench (row detect)")


@dataclass(frozen=True, slots=True)
class SearchParameters:
    """The search for the set of culprits.

    partial      log-odds by which a share of five-tuples must beat the simpler "all of them"
    companion    log-odds that a link's other direction is bad once one is known to be
    challengers  candidates left over that may challenge those that were chosen,
    noticed      if each would bring so much
    shared       share of common paths from which on a culprit's rate is fitted again
    improbable   alternatives whose log-likelihood is so much lower are not weighed
    fitted       alternatives of different evidence that are fitted as finely as culprits are
    most_atoms   atoms of a path that are kept, by posterior weight
    """

    partial: float = parameter(4.0, unit="nat", source=_ACCURACY)
    companion: float = parameter(5.0, unit="nat", source=_ACCURACY)
    challengers: int = parameter(16, unit="count", source=_ACCURACY)
    noticed: float = parameter(2.0, unit="nat", source=_ACCURACY)
    shared: float = parameter(0.2, unit="1", source="chosen: make bench (row detect)")
    improbable: float = parameter(
        -12.0, unit="nat", source="chosen: exp(-12) = 6e-6 changes no rounded probability"
    )
    fitted: int = parameter(8, unit="count", source="chosen: bounds the fits of a culprit")
    most_atoms: int = parameter(
        12, unit="count", source="measured: pytest tests/localizer/strategies (atoms kept)"
    )


@dataclass(frozen=True, slots=True)
class HypothesisParameters:
    """Parameters of the strategy ``hypothesis``.

    level      false discovery rate of the set: Benjamini & Hochberg's step-up over the candidates
    most       culprits in one window
    incumbent  log-odds that trouble is that of an open incident rather than a new one: in a single
               second a link and its switch may fit alike, and a name must not flicker
    narrow     log-odds of a fault in one direction, or of tunnelled packets, only
    """

    level: float = parameter(5e-2, unit="1", source=_ACCURACY)
    most: int = parameter(64, unit="culprits", source="chosen: make bench (row detect)")
    incumbent: float = parameter(
        10.0, unit="nat",
        source="Flock, CoNEXT 2023: its prior for a blamed component is of that size (15 on known "
        "paths)",
    )  # fmt: skip
    narrow: float = parameter(-2.0, unit="nat", source="chosen: most faults hit all packets")
    loss: LossModel = LossModel()
    latency: LatencyModel = LatencyModel()
    search: SearchParameters = SearchParameters()


DEFAULT: Final = HypothesisParameters()
