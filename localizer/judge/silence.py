"""Silence -> agent_down, host_down, agent_starved, clock_skewed, by the decision table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from localizer.detectors.silence import Hosts, observers
from localizer.state import FabricState
from localizer.verdict import I64, Verdict
from schemas.components import component
from schemas.incident import Layer, Symptom

Bool = npt.NDArray[np.bool_]

RNICS_AT_ONCE = 2


def silent(state: FabricState, at: int, hosts: Hosts, covered: Bool) -> list[Verdict]:
    """agent_down and host_down, by the decision table.

    covered  (H,) hosts that are spoken for: they fell silent with their whole pod
    """
    if not (hosts.silent & ~covered).any():
        return []
    count = len(state.hosts)
    sent, lost, refused = (state.history.total(n, at, 3) for n in ("sent", "lost", "refused"))
    to_silent = hosts.silent[state.dst] & ~hosts.silent[state.src]
    refusers = observers(state.dst, state.src, to_silent & (refused > 0), count)
    dark = observers(state.dst, state.src, to_silent & (sent > 0) & (lost >= sent), count)
    lit = observers(state.dst, state.src, to_silent & (lost < sent), count)
    verdicts = []
    for host in np.flatnonzero(hosts.silent & ~covered):
        name = state.hosts.names[host]
        bad = np.flatnonzero((state.dst == host) & to_silent & ((refused > 0) | (lost > 0)))
        heard = f"no heartbeat from {name} for 3 s"
        if refusers[host] >= state.options.observers:
            text = (
                f"{heard}, and its kernel refuses the probes of {refusers[host]} hosts: "
                "the network delivers them, the agent is gone"
            )
            who = component("agent", name)
            verdicts.append(_about_host(who, "agent", "agent_down", bad, at - 2, text))
        elif dark[host] >= state.options.observers and not lit[host]:
            rnics = len({state.index.paths[row].dst_real_ip for row in bad.tolist()})
            if rnics < state.hosts.rnics(int(host)):
                continue
            text = (
                f"{heard}, and the probes of {dark[host]} hosts to all of its {rnics} rnics "
                "time out in every layer"
            )
            who = component("host", name)
            verdicts.append(_about_host(who, "host", "host_down", bad, at - 2, text))
            state.history.erase(state.touches(np.arange(count) == host))
    return verdicts


def starved(state: FabricState, at: int, hosts: Hosts) -> Iterator[Verdict]:
    """Several rnics of one host time out together while its CPU is withheld."""
    lost = state.history.total("lost", at, 3)
    for host in np.flatnonzero(hosts.starved):
        rows = np.flatnonzero(((state.src == host) | (state.dst == host)) & (lost > 0))
        rnics = {
            p.src_real_ip if state.src[row] == host else p.dst_real_ip
            for row in rows.tolist()
            for p in (state.index.paths[row],)
        }
        if len(rnics) >= min(RNICS_AT_ONCE, state.hosts.rnics(int(host))) and len(rows) >= 3:
            name = state.hosts.names[host]
            text = (
                f"{len(rnics)} rnics of {name} time out together while its heartbeat reports "
                "a starved CPU: the prober is late, not the network"
            )
            who = component("agent", name)
            yield _about_host(who, "agent", "agent_starved", rows, at, text)


def skewed_clock(at: int, name: str, by: float) -> Verdict:
    text = f"the clock of {name} is {by:+.1f} s off the median of its peers; not judged"
    who = component("agent", name)
    return _about_host(who, "agent", "clock_skewed", np.empty(0, np.int64), at, text)


def _about_host(
    who: str, layer: Layer, symptom: Symptom, bad: I64, first_s: int, text: str
) -> Verdict:
    return Verdict(
        who, [who], layer, symptom, 0.0, 1.0, bad, len(bad), first_s, evidence={"text": text}
    )
