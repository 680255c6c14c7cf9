"""P-values of every test of a second, to check that they are calibrated.

``Options.on_p`` is called with them; without it nothing is computed. On clean data p-values are
uniform or larger. Counts are discrete, so for a QQ plot take ``above + u * (p - above)`` with u
uniform on [0, 1), which is exactly uniform under the null hypothesis.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.detectors import loss, peer_groups
from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.options import PValues
from localizer.state.fabric_state import FabricState
from localizer.verdicts.rules import latency_tests, quorum

Bool = npt.NDArray[np.bool_]


def report(state: FabricState, at: int, judged: Bool) -> None:
    """Call ``Options.on_p`` with the p-values of this second.

    judged  (P,) paths that may be judged
    """
    ask = state.options.on_p
    if ask is None:
        return
    groups, background = state.classes(), state.background
    for length in state.options.verdicts.reachability.windows_s:
        sent, lost = (
            groups.pooled(state.history.total(name, at, length) * judged)
            for name in ("sent", "lost")
        )
        p, above = (
            loss.excess_p_values(k, sent, background.rate, background.dispersion)
            for k in (lost, lost + 1.0)
        )
        ask(PValues(f"loss {length} s", at, p, np.minimum(above, p), sent * background.rate))
    if state.latency.deviation is not None:
        valid = state.latency.deviation.valid & judged
        ask(_of_latency(state, at, valid, state.latency.deviation))
        ask(_of_slow_outright(state, at, valid, state.latency.deviation))


def _of_latency(state: FabricState, at: int, valid: Bool, deviation: LatencyDeviation) -> PValues:
    groups, vote = state.classes(), quorum.per_pair(state.pair, valid)
    group = peer_groups.peer_groups(state.src, state.dst, state.layer == 1)
    p = peer_groups.excess_p_values(
        groups.factored, group, vote, deviation.flagged & valid, deviation.healthy_share,
        state.options.detectors.peer_groups,
    )  # fmt: skip
    expected = groups.pooled(vote) * deviation.healthy_share
    return PValues(f"latency {state.options.timing.window_s} s", at, p, p, expected)


def _of_slow_outright(
    state: FabricState, at: int, valid: Bool, deviation: LatencyDeviation
) -> PValues:
    """Of each path: that it is slow outright has the probability ``outright_share`` at most."""
    window_s = state.options.timing.window_s
    share = state.options.detectors.latency.outright_share
    _, *outright = latency_tests.looks(state, at, deviation, window_s)  # none, or one
    slow = outright[0].paths[valid] if outright else np.zeros(int(valid.sum()), bool)
    p, above = np.where(slow, share, 1.0), np.where(slow, 0.0, share)
    return PValues(f"slow outright {window_s} s", at, p, above, np.full(len(p), share))
