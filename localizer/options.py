"""What a localizer is asked to do: strategy, alarm budget, witnesses, times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.baselines import (
    cadence,
    clocks,
    drift,
    hosts,
    latency,
    long_counts,
    loss,
    source_weights,
    sparse_latency,
)
from localizer.detectors import drift as drift_test
from localizer.detectors import flapping, lof, pair_contrasts, peer_groups, silence, spike
from localizer.detectors import loss as loss_test
from localizer.detectors.latency import parameters as latency_test
from localizer.host_evidence.parameters import DEFAULT as HOST_EVIDENCE
from localizer.host_evidence.parameters import HostEvidenceParameters
from localizer.incidents import parameters as incident_parameters
from localizer.restored import parameters as restored_parameters
from localizer.verdicts import parameters as verdict_parameters
from schemas.parameters.parameter import parameter
from schemas.parameters.window_timing import DEFAULT_TIMING, WindowTiming


class PValues(NamedTuple):
    """One family of tests in one second, over C observability classes or paths.

    p         (C,) P(as much or more) under the null hypothesis
    above     (C,) P(more): with p it brackets what a discrete count leaves open
    expected  (C,) events expected under the null: little can be said of less than about one
    """

    family: str
    second: int
    p: npt.NDArray[np.float64]
    above: npt.NDArray[np.float64]
    expected: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Retention:
    """How long paths and hosts are remembered that are not heard of any more.

    every_s       between two clean-ups
    least_judged  seconds that are judged between two clean-ups, where event time jumps
    unheard_s     a five-tuple not probed, a host without a sign of life for so long is dropped
    outage_s      but a host that fell silent with its pod or fabric only after so long
    live_s        observability classes are those of paths probed within this time
    """

    every_s: int = parameter(120, unit="s", source="chosen: pytest tests/localizer -k growth")
    least_judged: int = parameter(
        10, unit="s", source="chosen: paths that come back after a hole need some seconds to do so"
    )
    unheard_s: int = parameter(900, unit="s", source="chosen: pytest tests/localizer -k growth")
    outage_s: int = parameter(
        86_400, unit="s",
        source="chosen: the outage of a pod or fabric ends when half of its hosts are back",
    )  # fmt: skip
    live_s: int = parameter(90, unit="s", source="chosen: three windows of 30 s")


@dataclass(frozen=True, slots=True)
class BaselineParameters:
    """One for each baseline, by the name of its module."""

    cadence: cadence.CadenceParameters = cadence.DEFAULT
    class_loss: loss.ClassLossParameters = loss.CLASS_DEFAULT
    clocks: clocks.ClockParameters = clocks.DEFAULT
    drift: drift.DriftBaselineParameters = drift.DEFAULT
    hosts: hosts.HostActivityParameters = hosts.DEFAULT
    latency: latency.LatencyBaselineParameters = latency.DEFAULT
    long_counts: long_counts.LongCountParameters = long_counts.DEFAULT
    loss: loss.LossBaselineParameters = loss.DEFAULT
    source_weights: source_weights.SourceWeightParameters = source_weights.DEFAULT
    sparse_latency: sparse_latency.SparseLatencyParameters = sparse_latency.DEFAULT


@dataclass(frozen=True, slots=True)
class DetectorParameters:
    """One for each detector, by the name of its module."""

    drift: drift_test.DriftParameters = drift_test.DEFAULT
    flapping: flapping.FlappingParameters = flapping.DEFAULT
    latency: latency_test.LatencyParameters = latency_test.DEFAULT
    lof: lof.LofParameters = lof.DEFAULT
    loss: loss_test.LossParameters = loss_test.DEFAULT
    pair_contrasts: pair_contrasts.PairContrastParameters = pair_contrasts.DEFAULT
    peer_groups: peer_groups.PeerGroupParameters = peer_groups.DEFAULT
    silence: silence.SilenceParameters = silence.DEFAULT
    spike: spike.SpikeParameters = spike.DEFAULT


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the localizer.

    strategy        registered name
    false_per_week  alarm budget: false incidents allowed per fabric and week
    observers       source hosts that it takes to blame the network; all, two at least, where fewer
                    probe a component
    timing          of the windower: detected_at = watermark at decision + lateness
    retention       of what is not heard of any more
    baselines       parameters of what is learnt; detectors: of the tests; verdicts: of the rules
    incidents       parameters of their life; restored: of those that a former process left open
    host_evidence   parameters of what counters decide
    on_p            called with the p-values of every second, to check that they are calibrated
    """

    strategy: str = parameter(
        "hypothesis", unit="text", source="chosen: make scorecard (all strategies compared)"
    )
    false_per_week: float = parameter(
        1.0, unit="incidents/week", source="chosen: one a week is what an operator looks into"
    )
    observers: int = parameter(
        3, unit="hosts",
        source="chosen: pytest tests/localizer (one host, or two of many, must not convict the "
        "network)",
    )  # fmt: skip
    timing: WindowTiming = DEFAULT_TIMING
    retention: Retention = Retention()
    baselines: BaselineParameters = BaselineParameters()
    detectors: DetectorParameters = DetectorParameters()
    verdicts: verdict_parameters.VerdictParameters = verdict_parameters.DEFAULT
    incidents: incident_parameters.IncidentParameters = incident_parameters.DEFAULT
    restored: restored_parameters.RestoredParameters = restored_parameters.DEFAULT
    host_evidence: HostEvidenceParameters = HOST_EVIDENCE
    on_p: Callable[[PValues], None] | None = None
