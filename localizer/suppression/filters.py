"""Paths of containers that are not ready are not judged; what is being worked on is not told."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import joined
from localizer.state import FabricState
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import component

Bool = npt.NDArray[np.bool_]


def unready(state: FabricState, at: int) -> Bool:
    """(P,) overlay paths with an end in a container that is not ready, or no longer there.

    What they lost is forgotten, so that it is not held against them when they are ready; losses
    that were passed over are put on the account.
    """
    rows = np.zeros(len(state.index), bool)
    boxes = state.placements.unready(at)
    if not boxes or not len(rows):
        return rows
    paths = state.index.paths
    known = paths.table("src_node_id").known(boxes)
    for name, code in known.items():
        home, how = boxes[name]
        here = np.zeros(len(rows), bool)
        for field, host in (("src_node_id", state.src), ("dst_node_id", state.dst)):
            away = host != state.hosts.find(home) if how == "ready" else True
            here |= (paths.column(field) == code) & (state.layer == 1) & away
        if (here & (state.history.line("lost", at) > 0)).any():
            said = f"it has moved to {home}" if how == "ready" else f"it is {how}"
            state.account.note(component("container", name), "placement", said, at)
        rows |= here
    if rows.any():
        state.history.erase(rows)
    return rows


def reported(state: FabricState, verdicts: list[Verdict], at: int) -> list[Verdict]:
    """The verdicts on what nobody works on; the others are put on the account."""
    if not verdicts or not len(state.calendar):
        return verdicts
    holders = _holders(state)
    whole = component("fabric", state.fabric)
    out = []
    for verdict in verdicts:
        for each in {*verdict.tie_set, *verdict.names}:
            holders.setdefault(each, set()).add(whole)  # switches and links are in no host
        reason = state.calendar.reason(verdict, at, holders)
        if reason is None:
            out.append(verdict)
        else:
            state.account.note(verdict.component, "maintenance", reason, at)
    return out


def _holders(state: FabricState) -> dict[str, set[str]]:
    """Component -> what contains it: host, pod, fabric."""
    whole = component("fabric", state.fabric)
    out: dict[str, set[str]] = {}
    paths = state.index.paths
    hosts = paths.table("src_node_sn").texts
    for side in ("src", "dst"):
        for kind, field in (("rnic", "real_ip"), ("container", "node_id")):
            texts = paths.table(f"src_{field}").texts
            ends = joined(paths.column(f"{side}_node_sn"), paths.column(f"{side}_{field}"))
            for each in np.unique(ends).tolist():
                host, name = hosts[each >> 32], texts[each & 0xFFFFFFFF]
                if host and name:
                    out.setdefault(component(kind, name), set()).add(component("host", host))
    for host in state.hosts.names:
        above = {whole} | ({component("pod", pod)} if (pod := state.pods.get(host)) else set())
        out[component("host", host)] = above
        for kind in ("vswitch", "agent"):
            out[component(kind, host)] = {component("host", host)}
    return out
