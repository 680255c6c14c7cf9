"""Hosts that fell silent -> agent_down, host_down, agent_starved, clock_skewed, by rule.

The decision table is that of ``detectors.silence``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.detectors import loss
from localizer.detectors.silence import HostStates, observers
from localizer.explanation.confidence import by_rule
from localizer.state.fabric_state import FabricState
from localizer.verdicts.build import corrected
from localizer.verdicts.decision import Decision
from localizer.verdicts.rules import quorum
from localizer.verdicts.verdict import I64, Verdict
from schemas.component_ids import component, kind_of
from schemas.documents.incident import Layer, Symptom

Bool = npt.NDArray[np.bool_]


def silent_hosts(state: FabricState, at: int, hosts: HostStates, covered: Bool) -> Decision:
    """agent_down and host_down.

    covered  (H,) hosts that fell silent with their whole pod, which has a verdict of its own
    The probes from and to a host that is down do not count: they say nothing about the network.
    """
    silent = np.flatnonzero(hosts.silent & ~covered)
    # As many seconds as show that a host is silent: three, but where it probes rarely.
    pace_s = np.nan_to_num(state.hosts.pace_s[silent], posinf=1.0)
    lengths = np.clip(np.ceil(3 * pace_s).astype(int), 3, state.history.seconds)
    verdicts: list[Verdict] = []
    ignore = np.zeros(len(state.index), bool)
    for length in np.unique(lengths).tolist():
        found, down = _silent_hosts(state, at, hosts, silent[lengths == length], length)
        verdicts += found
        ignore |= state.touches(down)
    return Decision(verdicts, ignore=ignore if len(silent) else None)


def _silent_hosts(
    state: FabricState, at: int, hosts: HostStates, asked: I64, length: int
) -> tuple[list[Verdict], Bool]:
    """agent_down and host_down of some silent hosts, by the probes of so many seconds; and which
    hosts are down (H,)."""
    count, parameters = len(state.hosts), state.options.verdicts.silent_hosts
    sent, lost, refused = (state.history.total(n, at, length) for n in ("sent", "lost", "refused"))
    to_silent = hosts.silent[state.dst] & ~hosts.silent[state.src]
    life = state.hosts.last_seen(at)
    # One host that claims to be answered for longer than a death takes to be seen by all vetoes
    # nothing while the others agree.
    lasting = at + 1.0 - life.last_s >= parameters.contradicted_s
    allowed = np.where(lasting, 1, 0)
    by_kernel = state.kernel_answers(at, length)
    # What a kernel answers anyway says that the agent is gone only if nothing shows that it is not:
    # no answer of its own, and no probe.
    by_agent = to_silent & ~state.agentless & (sent - lost > refused)
    gone = observers(state.dst, state.src, by_agent, count) <= allowed
    gone &= life.probed_s < at - length
    by_kernel[state.agentless & ~gone[state.dst]] = 0
    refusers = observers(state.dst, state.src, to_silent & (by_kernel > 0), count)
    dark = observers(state.dst, state.src, to_silent & (sent > 0) & (lost >= sent), count)
    possible = observers(state.dst, state.src, to_silent & (sent > 0), count)
    needed = np.clip(possible, quorum.LEAST, state.options.observers)
    lit = observers(state.dst, state.src, to_silent & (lost < sent), count)
    verdicts = []
    down = np.zeros(count, bool)
    sign = "heartbeat" if life.beats.any() else "probe"
    for host in asked.tolist():
        name = state.hosts.names[host]
        bad = np.flatnonzero((state.dst == host) & to_silent & ((by_kernel > 0) | (lost > 0)))
        answers = "refuses" if refused[bad].any() else "answers"
        heard = f"no {sign} from {name} for {length} s"
        if refusers[host] >= needed[host]:
            text = (
                f"{heard}, and its kernel {answers} the probes of {refusers[host]} hosts: "
                "the network delivers them, the agent is gone"
            )
            who = component("agent", name)
            p = unanswered(state, at, (state.dst == host) & to_silent, length)
            first_s, witnesses = at + 1 - length, refusers[host]
            verdicts.append(
                _about_host(who, "agent", "agent_down", bad, first_s, text, p, witnesses)
            )
        elif dark[host] >= needed[host] and lit[host] <= allowed[host]:
            rnics = len({state.index.paths[row].dst_real_ip for row in bad.tolist()})
            if rnics < state.hosts.rnics(int(host)):
                continue
            text = (
                f"{heard}, and the probes of {dark[host]} hosts to all of its {rnics} rnics "
                "time out in every layer"
            )
            who = component("host", name)
            p = unanswered(state, at, (state.dst == host) & to_silent, length)
            first_s, witnesses = at + 1 - length, dark[host]
            verdicts.append(_about_host(who, "host", "host_down", bad, first_s, text, p, witnesses))
            down[host] = True
    return verdicts, down


def fading_hosts(state: FabricState, at: int) -> Bool:
    """(H,) hosts that kernels show to be up and that show no life of their own in this second.

    No probe sent, no heartbeat, no answer of the agent, while the kernel answers TCP or ICMP: the
    agent may just have died. Its heartbeats tell within seconds; until then its timeouts wait, or
    an agent that dies behind a firewall would be a lossy host first.
    """
    if not state.agentless.any():
        return np.zeros(len(state.hosts), bool)
    life = state.hosts.last_seen(at)
    reports = life.beats | ~life.beats.any()
    sent, lost = (state.history.total(name, at, 1) for name in ("sent", "lost"))
    count, others = len(state.hosts), state.src != state.dst
    answered = np.bincount(state.dst[~state.agentless & others & (sent > lost)], minlength=count)
    dark = np.bincount(state.dst[~state.agentless & others & (lost > 0)], minlength=count)
    by_kernel = np.bincount(state.dst[state.agentless & others & (sent > lost)], minlength=count)
    quiet: Bool = reports & (life.last_s <= at) & (answered == 0) & (dark > 0) & (by_kernel > 0)
    return quiet


def starved_agents(state: FabricState, at: int, hosts: HostStates) -> Decision:
    """agent_starved: several rnics of one host time out together while its CPU is withheld, or its
    own timers have been late for long, whether a probe is lost or not.

    Whatever a starved agent measures is about itself, and does not count.
    """
    if not (hosts.starved | hosts.late).any():
        return Decision()
    verdicts, at_once = [], state.options.verdicts.silent_hosts.rnics_at_once
    lost = state.history.total("lost", at, 3)
    for host in np.flatnonzero(hosts.starved | hosts.late):
        rows = np.flatnonzero(((state.src == host) | (state.dst == host)) & (lost > 0))
        rnics = {
            p.src_real_ip if state.src[row] == host else p.dst_real_ip
            for row in rows.tolist()
            for p in (state.index.paths[row],)
        }
        name = state.hosts.names[host]
        who = component("agent", name)
        together = len(rnics) >= min(at_once, state.hosts.rnics(int(host))) and len(rows) >= 3
        if hosts.starved[host] and together:
            text = (
                f"{len(rnics)} rnics of {name} time out together while its heartbeat reports "
                "a starved CPU: the prober is late, not the network"
            )
            p = unanswered(state, at, (state.src == host) | (state.dst == host))
            verdicts.append(
                _about_host(who, "agent", "agent_starved", rows, at, text, p, len(rows))
            )
        elif hosts.late[host]:
            verdicts.append(_late_timers(state, at, name, who))
    return Decision(verdicts, ignore=state.touches(hosts.starved))


def _late_timers(state: FabricState, at: int, name: str, who: str) -> Verdict:
    """agent_starved by the agent's own clock alone: no path is bad, and no other host sees it."""
    parameters, bound_us = state.options.detectors.silence, state.hosts.parameters.starved_delay_us
    text = (
        f"of {parameters.late_of} heartbeats of {name} in a row {parameters.late_begins} or more "
        f"report timers that are late by {bound_us / 1e3:.0f} ms or more: the agent gets too "
        "little CPU, and what it measures meanwhile is not judged"
    )
    none = np.empty(0, np.int64)
    return _about_host(who, "agent", "agent_starved", none, at, text, 1.0, parameters.late_begins)


def skewed_clock(state: FabricState, at: int, name: str, by: float) -> Verdict:
    """clock_skewed: the clock of an agent differs by so much [s] from the median of its peers."""
    text = f"the clock of {name} is {by:+.1f} s off the median of its peers; not judged"
    who = component("agent", name)
    none = np.empty(0, np.int64)
    lasting_s = state.options.baselines.clocks.lasting_s
    return _about_host(who, "agent", "clock_skewed", none, at, text, 1.0, lasting_s)


def unanswered(state: FabricState, at: int, rows: Bool, length: int = 3) -> float:
    """P-value of so many failures of the last seconds on some paths, if the network were healthy.

    A refusal counts as a failure. Corrected for the hosts that it could have been; 1 where there
    were no probes that an agent had to answer.
    """
    rows = rows & ~state.agentless
    sent, lost, refused = (
        float(state.history.total(name, at, length)[rows].sum())
        for name in ("sent", "lost", "refused")
    )
    failed, background = np.array([min(lost + refused, sent)]), state.background
    p = loss.excess_p_values(failed, np.array([sent]), background.rate, background.dispersion)
    return corrected(float(p[0]), max(1, len(state.hosts)))


def _about_host(who: str, layer: Layer, symptom: Symptom, bad: I64, first_s: int, text: str,
                p: float, witnesses: int) -> Verdict:  # fmt: skip
    sure = by_rule(kind_of(who), symptom, int(witnesses))
    return Verdict(who, [who], layer, symptom, p, sure, bad, len(bad), first_s, text=text)
