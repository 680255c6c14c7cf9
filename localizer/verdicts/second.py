"""One second of one fabric -> verdicts: silent hosts first, then reachability, drift, latency.

Every rule returns a decision; ``apply`` carries it out before the next rule reads the state.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.detectors.silence import HostStates, host_states
from localizer.state.fabric_state import FabricState
from localizer.suppression.filters import reported, unready
from localizer.verdicts import p_values
from localizer.verdicts.decision import Decision, apply
from localizer.verdicts.rules.drift import drift, learn
from localizer.verdicts.rules.latency import latency
from localizer.verdicts.rules.reachability import reachability
from localizer.verdicts.rules.scope_outage import scope_outages
from localizer.verdicts.rules.silence import (
    fading_hosts,
    silent_hosts,
    skewed_clock,
    starved_agents,
)
from localizer.verdicts.verdict import Verdict

Bool = npt.NDArray[np.bool_]


def second(
    state: FabricState, at: int, skewed: dict[str, float], suspects: set[str] | None = None
) -> list[Verdict]:
    """The verdicts to report at the end of a second, strongest evidence first.

    skewed    sources whose clock is off, and by how much [s]
    suspects  sources whose clock seems to be off, for how short a time ever
    """
    parameters = state.options.detectors.silence
    hosts = host_states(state.hosts, at, parameters, state.options.timing.window_s)
    known = ~state.without_agent(at)
    hosts.silent &= known
    hosts.doubtful &= known
    verdicts = [skewed_clock(state, at, name, by) for name, by in skewed.items()]
    outages = scope_outages(state, at, hosts)
    verdicts += apply(state, at, outages.decision)
    verdicts += apply(state, at, silent_hosts(state, at, hosts, outages.covered))
    not_ready = unready(state, at)
    apply(state, at, Decision(ignore=not_ready.rows, suppressed=not_ready.suppressed))
    judged = _judged(state, at, hosts, suspects or set()) & ~not_ready.rows
    apply(state, at, Decision(ignore=state.touches(hosts.back)))
    verdicts += apply(state, at, starved_agents(state, at, hosts))
    measured = judged & ~state.touches(hosts.starved)
    p_values.report(state, at, measured)
    verdicts += apply(state, at, reachability(state, at, judged))
    verdicts += apply(state, at, drift(state, at, measured, learn(state, at, measured)))
    # A burst that a whole window averages out fills one that has only just begun.
    verdicts += apply(state, at, latency(state, at, measured & ~state.touches(hosts.short)))
    out = reported(state, verdicts, at)
    apply(state, at, Decision(suppressed=out.suppressed))
    return out.verdicts


def at_end(state: FabricState, at: int, suspects: set[str]) -> list[Verdict]:
    """The verdicts of the last second of the input that ``second`` has waited for evidence with: of
    several culprits at once, before the first round of probes was over.

    suspects  as of ``second``
    """
    parameters = state.options.detectors.silence
    hosts = host_states(state.hosts, at, parameters, state.options.timing.window_s)
    judged = _judged(state, at, hosts, suspects) & ~unready(state, at).rows
    verdicts = apply(state, at, reachability(state, at, judged, ended=True))
    return reported(state, verdicts, at).verdicts


def _judged(state: FabricState, at: int, hosts: HostStates, suspects: set[str]) -> Bool:
    """(P,) paths that may be judged.

    Between "no sign of life for a moment" and a verdict, a host's time-outs wait. So do those of a
    host whose clock is off: its peers refuse its probes as stale.
    """
    off = np.array([name in suspects for name in state.hosts.names], bool)
    known = ~state.without_agent(at)
    fading = fading_hosts(state, at)
    return ~state.touches(((hosts.doubtful | hosts.silent | fading) & known) | off)
