"""One second of one fabric -> verdicts: silence first, then reachability, then latency."""

from __future__ import annotations

import numpy as np

from localizer.judge.latency import latency
from localizer.judge.reachability import reachability
from localizer.judge.silence import silent, skewed_clock, starved
from localizer.state import FabricState
from localizer.verdict import Verdict

__all__ = ["second"]


def second(
    state: FabricState, at: int, skewed: dict[str, float], suspects: set[str] | None = None
) -> list[Verdict]:
    """All verdicts at the end of a second, strongest evidence first.

    skewed    sources whose clock is off, and by how much [s]
    suspects  sources whose clock seems to be off, for how short a time ever
    """
    hosts = state.hosts.state(at)
    verdicts = [skewed_clock(at, name, by) for name, by in skewed.items()]
    verdicts += silent(state, at, hosts)
    # Between "no sign of life for a moment" and a verdict, a host's time-outs wait.
    # So do those of a host whose clock is off: its peers refuse its probes as stale.
    off = np.array([name in (suspects or ()) for name in state.hosts.names], bool)
    judged = ~state.touches(hosts.doubtful | hosts.silent | off)
    if hosts.back.any():
        state.history.erase(state.touches(hosts.back))
    hungry = state.touches(hosts.starved)
    if hungry.any():
        verdicts += starved(state, at, hosts)
        state.history.erase(hungry)  # what a starved prober measured is about itself
    verdicts += reachability(state, at, judged)
    if state.shift is not None:
        verdicts += latency(state, at, np.logical_and(judged, ~hungry))
    return verdicts
