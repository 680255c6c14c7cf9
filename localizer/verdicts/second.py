"""One second of one fabric -> verdicts: silence first, then reachability, then latency."""

from __future__ import annotations

import numpy as np

from localizer.state import FabricState
from localizer.suppression.filters import reported, unready
from localizer.verdicts import calibration
from localizer.verdicts.drift import drift
from localizer.verdicts.latency import latency
from localizer.verdicts.reachability import reachability
from localizer.verdicts.scope_outage import dead
from localizer.verdicts.silence import silent, skewed_clock, starved
from localizer.verdicts.verdict import Verdict


def second(
    state: FabricState, at: int, skewed: dict[str, float], suspects: set[str] | None = None
) -> list[Verdict]:
    """All verdicts at the end of a second, strongest evidence first.

    skewed    sources whose clock is off, and by how much [s]
    suspects  sources whose clock seems to be off, for how short a time ever
    """
    hosts = state.hosts.state(at)
    verdicts = [skewed_clock(at, name, by) for name, by in skewed.items()]
    gone = dead(state, at, hosts)
    verdicts += gone.verdicts
    verdicts += silent(state, at, hosts, gone.covered)
    # Between "no sign of life for a moment" and a verdict, a host's time-outs wait.
    # So do those of a host whose clock is off: its peers refuse its probes as stale.
    off = np.array([name in (suspects or ()) for name in state.hosts.names], bool)
    not_ready = unready(state, at)
    state.suppression_log.add(not_ready.suppressed, at)
    if not_ready.rows.any():
        state.history.erase(not_ready.rows)
    judged = ~state.touches(hosts.doubtful | hosts.silent | off) & ~not_ready.rows
    if hosts.back.any():
        state.history.erase(state.touches(hosts.back))
    hungry = state.touches(hosts.starved)
    if hungry.any():
        verdicts += starved(state, at, hosts)
        state.history.erase(hungry)  # what a starved prober measured is about itself
    calibration.tell(state, at, judged & ~hungry)
    verdicts += reachability(state, at, judged)
    verdicts += drift(state, at, judged & ~hungry)
    # A burst that a whole window averages out fills one that has only just begun.
    verdicts += latency(state, at, judged & ~hungry & ~state.touches(hosts.short))
    verdicts, suppressed = reported(state, verdicts, at)
    state.suppression_log.add(suppressed, at)
    return verdicts
