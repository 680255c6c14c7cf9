"""What is suppressed: paths of containers that are not ready, verdicts on what is maintained."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.fabric.key_index import pair_key
from localizer.state.fabric_state import FabricState
from localizer.suppression.log import Suppression
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import component

Bool = npt.NDArray[np.bool_]


class Unready(NamedTuple):
    """rows (P,) overlay paths that do not count; suppressed: containers that lose meanwhile."""

    rows: Bool
    suppressed: list[Suppression]


class Reported(NamedTuple):
    """Verdicts that are reported, and those that are not."""

    verdicts: list[Verdict]
    suppressed: list[Suppression]


def unready(state: FabricState, at: int) -> Unready:
    """Overlay paths with an end in a container that is not ready, or that moved to another host.

    What such paths lose says nothing about the network, nor does it once the container is ready.
    """
    rows = np.zeros(len(state.index), bool)
    suppressed: list[Suppression] = []
    boxes = state.placements.unready(at)
    if not boxes or not len(rows):
        return Unready(rows, suppressed)
    paths = state.index.paths
    known = paths.table("src_node_id").known(boxes)
    losing = state.history.line("lost", at) > 0
    for name, code in known.items():
        home, how = boxes[name]
        here = np.zeros(len(rows), bool)
        for field, host in (("src_node_id", state.src), ("dst_node_id", state.dst)):
            away = host != state.hosts.find(home) if how == "ready" else True
            here |= (paths.column(field) == code) & (state.layer == 1) & away
        if (here & losing).any():
            reason = f"it has moved to {home}" if how == "ready" else f"it is {how}"
            suppressed.append(Suppression(component("container", name), "placement", reason))
        rows |= here
    return Unready(rows, suppressed)


def reported(state: FabricState, verdicts: list[Verdict], at: int) -> Reported:
    """Verdicts on components under maintenance are suppressed; all others are reported."""
    if not verdicts or not len(state.maintenance):
        return Reported(verdicts, [])
    holders = _holders(state)
    whole = component("fabric", state.fabric)
    out = Reported([], [])
    for verdict in verdicts:
        meant = {*verdict.tie_set, *verdict.names}
        for each in meant:
            holders.setdefault(each, set()).add(whole)  # switches and links are in no host
        reason = state.maintenance.reason(meant, at, holders)
        if reason is None:
            out.verdicts.append(verdict)
        else:
            out.suppressed.append(Suppression(verdict.component, "maintenance", reason))
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
            ends = pair_key(paths.column(f"{side}_node_sn"), paths.column(f"{side}_{field}"))
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
