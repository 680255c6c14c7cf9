"""When latency counts as slow: parameters of the tests of windows, and of sparse paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter

_OUTRIGHT: Final = (
    "measured: of 2.9 million windows of clean, churn and clean-2048 (seed 210) none is, which "
    "bounds the share at 1e-6 with 95 %; other networks may be ten times worse; make scorecard "
    "counts them"
)


@dataclass(frozen=True, slots=True)
class LatencyParameters:
    """When a window of a path counts as slow.

    least_answers   answered probes that make a window comparable
    sigmas          the shift must exceed so many times the path's noise,
    least_us        and this,
    least_share     and this share of the path's own round trip
    outlying        and the Local Outlier Factor of the window must be at least this
    healthy_share   share of healthy paths that may look slow, whatever the others of their peer
                    group do
    lasting         windows in a row: of what few pairs cross, so many must be slow
    lasting_share   share of healthy paths that may look slow in each of them
    outright        an excess is far above what flags a path if it is so many times that,
    outright_answers  of so large a share of the seconds of a window with an answer,
    least_outright  and in so many of them
    outright_share  share of healthy paths that may be so slow
    least_pairs     pairs with such paths that it takes at least: what rushes through two pairs for
                    half a minute is no fault
    quicker_share   share of paths that must be quicker than usual for them to tell the noise
    noise_share     a path's noise is at least this share of its round trip,
    noise_us        and at least this
    persistent      sparse paths: over evidence that is so many times as long, a path is as slow as
                    the quickest of its answers,
    least_persistent  of so many at least
    """

    least_answers: int = parameter(
        3, unit="probes", source="chosen: one answer for each of the three quartiles"
    )
    sigmas: float = parameter(
        4.0, unit="1", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )
    least_us: float = parameter(
        2.0, unit="us", source="chosen: make scorecard (recall of high_latency)"
    )
    least_share: float = parameter(
        0.10, unit="1", source="chosen: make scorecard (recall of high_latency)"
    )
    outlying: float = parameter(
        2.0, unit="1",
        source="measured: 98 of 100 healthy windows of simulated clusters are below; with +10 us "
        "on a path of 15 us 99 of 100 score above 10 (above 1 where bursts last up to 12 s and "
        "quadruple the round trip)",
    )  # fmt: skip
    healthy_share: float = parameter(
        0.005, unit="1", source="measured: on clean clusters 2e-4 on average, this at worst"
    )
    lasting: int = parameter(
        3, unit="windows", source="chosen: 90 s, longer than what slows a few pairs by chance"
    )
    lasting_share: float = parameter(
        1e-4, unit="1",
        source="chosen: pytest tests/localizer/situations/test_slow_rnic_in_a_ring.py; of 32,000 "
        "windows under bursts none is a third in a row, which bounds it at 9e-5 with 95 %",
    )  # fmt: skip
    outright: float = parameter(4.0, unit="1", source=_OUTRIGHT)
    outright_answers: float = parameter(
        0.75, unit="1", source="chosen: bursts of training last up to 12 s of 30"
    )
    least_outright: int = parameter(
        4, unit="s", source="chosen: tails of 1.5 % slow 4 of 4 answers with 5e-8"
    )
    outright_share: float = parameter(1e-5, unit="1", source=_OUTRIGHT)
    least_pairs: int = parameter(
        3,
        unit="pairs",
        source="chosen: pytest tests/localizer/situations/test_slow_rnic_in_a_ring.py",
    )
    quicker_share: float = parameter(
        0.1, unit="1", source="chosen: pytest tests/localizer/detectors (a switch slows most paths)"
    )
    noise_share: float = parameter(
        0.02, unit="1", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )
    noise_us: float = parameter(
        0.3, unit="us", source="chosen: pytest tests/localizer/detectors (quiet paths)"
    )
    persistent: float = parameter(
        2.0, unit="1", source="chosen: eight rounds of a pair, the time to name latency"
    )
    least_persistent: int = parameter(2, unit="answers", source="chosen: one of them is a burst's")


DEFAULT: Final = LatencyParameters()
