"""A pod or a whole fabric falls silent at once: one verdict instead of one for each host.

Heartbeats travel apart from the probed network, so hosts that neither beat nor probe are without
power, without their management network, or stopped by one hand. Hosts that said goodbye do not
count, nor do fabrics whose agents send no heartbeats: there, silence may be the end of a job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.detectors.silence import HostStates, observers
from localizer.explanation.confidence import by_rule
from localizer.state.fabric_state import FabricState
from localizer.verdicts.decision import Decision
from localizer.verdicts.rules.silence import unanswered
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import component, kind_of
from schemas.documents.incident import Layer, Symptom

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]


class ScopeOutages(NamedTuple):
    """covered (H,): hosts that these verdicts, or those of the next seconds, are about."""

    decision: Decision
    covered: Bool


def scope_outages(state: FabricState, at: int, hosts: HostStates) -> ScopeOutages:
    """Pods and fabrics whose hosts are silent together, until half of the hosts are back."""
    covered = np.zeros(len(state.hosts), bool)
    if not (hosts.doubtful | hosts.silent).any() and not state.silent_scopes:
        return ScopeOutages(Decision(), covered)
    silent_scopes = set(state.silent_scopes)
    parameters = state.options.verdicts.scope_outage
    life = state.hosts.last_seen(at)
    counted = life.beats & ~life.goodbye
    mute = hosts.silent & (life.probed_s < at - 3)
    fading = (hosts.silent | hosts.doubtful) & (life.probed_s < at - 1)
    found: list[tuple[str, Bool]] = []
    for scope, members, share in _scopes(state):
        members = members & counted
        before = scope in state.silent_scopes
        if not before:
            members &= life.last_s > at - parameters.recent_s
        count = int(members.sum())
        if count < parameters.fewest_hosts:
            silent_scopes.discard(scope)
            continue
        least = max(parameters.fewest_hosts, share * count)
        gone = members & mute
        seen = _seen(state, at, gone) if gone.any() else "lit"
        if seen == "lit":  # they answer others: only their reports do not arrive
            silent_scopes.discard(scope)
            continue
        if before and gone.sum() >= parameters.back_share * count:
            found.append((scope, gone))
        elif (
            not before
            and _at_once(life.last_s, gone, parameters.at_once_s) >= least
            and (seen == "dark" or at - np.median(life.last_s[gone]) >= parameters.unseen_s)
        ):
            silent_scopes.add(scope)
            found.append((scope, gone))
        else:
            silent_scopes.discard(scope)
            if (
                not before
                and _at_once(life.last_s, members & fading, parameters.at_once_s) >= least
            ):
                covered |= members & fading  # too early to say: wait for the others
            continue
        covered |= gone
        if scope.startswith("fabric:"):
            break  # its pods are silent because it is
    verdicts = [_verdict(state, at, scope, gone, life.last_s) for scope, gone in found]
    gone = np.logical_or.reduce([gone for _, gone in found]) if found else np.zeros_like(covered)
    decision = Decision(
        verdicts, ignore=state.touches(gone), silent_scopes=frozenset(silent_scopes)
    )
    return ScopeOutages(decision, covered)


def fabric_outage(state: FabricState, at: int, known_s: int) -> Decision:
    """The whole fabric, when no probe arrives any more, so that no second will be judged.

    at       newest second that was judged
    known_s  second in which the silence has lasted for long enough
    """
    parameters = state.options.verdicts.scope_outage
    life = state.hosts.last_seen(at + 60)  # heartbeats run ahead of panes
    counted = life.beats & ~life.goodbye & (life.last_s > at - parameters.at_once_s)
    if counted.sum() < parameters.fewest_hosts:
        return Decision()
    if (life.last_s[counted] > at + parameters.at_once_s / 2).any():
        return Decision()  # agents that beat without probing are alive
    scope = component("fabric", state.fabric)
    return Decision(
        [_verdict(state, at, scope, counted, life.last_s, known_s)],
        ignore=state.touches(counted),
        silent_scopes=frozenset({*state.silent_scopes, scope}),
    )


def _seen(state: FabricState, at: int, gone: Bool) -> str:
    """How other hosts find those that are gone: lit (their agents answer), dark (or only their
    kernels answer), unseen."""
    parameters = state.options.verdicts.scope_outage
    count = len(state.hosts)
    sent, lost = (state.history.total(n, at, 3) for n in ("sent", "lost"))
    towards = gone[state.dst] & ~gone[state.src] & (sent > 0)
    fails = towards & ((lost >= sent) | (state.kernel_answers(at, 3) > 0))
    claims = observers(state.dst, state.src, towards & ~fails, count)[gone]
    denials = observers(state.dst, state.src, fails, count)[gone]
    # One host's word is not enough to call another alive when more find it dark.
    lit = (claims > 1) | ((claims == 1) & (denials <= 1))
    if lit.sum() > parameters.most_lit * gone.sum():
        return "lit"
    dark = ~lit & (denials > 0)
    return "dark" if dark.sum() >= parameters.back_share * gone.sum() else "unseen"


def _scopes(state: FabricState) -> Iterator[tuple[str, Bool, float]]:
    parameters = state.options.verdicts.scope_outage
    # Objects: an array of texts would give each of them the room of the longest.
    pods = np.array([state.pods.get(name, "") for name in state.hosts.names], object)
    named = sorted({pod for pod in pods.tolist() if pod})
    if len(named) != 1:
        yield component("fabric", state.fabric), np.ones(len(pods), bool), parameters.fabric_share
    for pod in named:
        yield component("pod", pod), pods == pod, parameters.pod_share


def _at_once(last_s: F64, gone: Bool, within_s: float) -> int:
    """How many of them were last heard of at about the same time."""
    if not gone.any():
        return 0
    return int((np.abs(last_s[gone] - np.median(last_s[gone])) <= within_s).sum())


def _verdict(
    state: FabricState, at: int, scope: str, gone: Bool, last_s: F64, known_s: int | None = None
) -> Verdict:
    count, back_share = len(state.hosts), state.options.verdicts.scope_outage.back_share
    sent, lost = (state.history.total(name, at, 3) for name in ("sent", "lost"))
    towards = gone[state.dst] & ~gone[state.src] & (sent > 0)
    dark = observers(state.dst, state.src, towards & (lost >= sent), count)[gone]
    off = bool((dark > 0).mean() >= back_share)
    bad = np.flatnonzero(towards & (lost > 0))
    names = [state.hosts.names[host] for host in np.flatnonzero(gone)]
    first_s = int(np.median(last_s[gone])) + 1
    symptom: Symptom = "host_down" if off else "agent_down"
    layer: Layer = "host" if off else "agent"
    others = "the probes of others to them time out" if off else "no other host finds them dark"
    text = (
        f"{len(names)} hosts of {scope} fell silent at once: no heartbeats and no probes since "
        f"{first_s - (at if known_s is None else known_s) - 1:+d} s; {others}"
    )
    p = unanswered(state, at, towards)
    sure = by_rule(kind_of(scope), symptom, len(names))
    return Verdict(
        scope, [scope], layer, symptom, p, sure, bad, len(bad), min(first_s, at + 1),
        text=text, hosts=names,
        covers=frozenset(component(kind, name) for name in names for kind in ("host", "agent")),
    )  # fmt: skip
