"""Names of operators -> endpoints, and which endpoints may probe which. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from controller.ping_lists.endpoints import Endpoint
from controller.ping_lists.lists import PingLists
from controller.ping_lists.pair_graph import Agent


def found(lists: PingLists, name: str) -> list[Endpoint]:
    """The endpoints of a host, a container, or with an address; empty for any other name.

    name  NODE_SN, NODE_ID or an address, or a component id: host:, container:, rnic:
    """
    if (member := lists.member(name.removeprefix("rnic:"))) is not None:
        return [member[0]]
    for key in (name, f"host:{name}", f"container:{name}"):
        if (agent := lists.members.get(key)) is not None:
            return agent.endpoints
    return []


def pairs(ours: Sequence[Endpoint], theirs: Sequence[Endpoint]) -> list[tuple[Endpoint, Endpoint]]:
    """The pairs on the same rail, else one pair."""
    same = [(a, b) for a in ours for b in theirs if a.rail == b.rail and a.ip != b.ip]
    return same or [(a, b) for a in ours for b in theirs if a.ip != b.ip][:1]


def forbidden(lists: PingLists, a: Endpoint, b: Endpoint) -> str | None:
    """Why a may not probe b; None: it may.

    As in lists: rnics of the fabric, or endpoints of one job, and both ends have registered.
    """
    if a.layer != b.layer:
        return f"{a.ip} is in the {a.layer}, {b.ip} in the {b.layer}; name two of the same"
    ours, theirs = lists.member(a.ip), lists.member(b.ip)
    if ours is None or theirs is None:
        return f"{(a if ours is None else b).ip} is no endpoint of the fabric any more"
    for end, (_, agent) in ((a, ours), (b, theirs)):
        if not agent.ready:
            return f"{_who(end)} has not registered, or drains"
    if a.layer == "overlay":
        return _forbidden_in_overlay(a, b, ours[1], theirs[1])
    return None


def _forbidden_in_overlay(a: Endpoint, b: Endpoint, ours: Agent, theirs: Agent) -> str | None:
    if a.node_sn == b.node_sn:
        return f"{_who(a)} and {_who(b)} are on one host: their packets do not leave its vSwitch"
    if ours.job != theirs.job:
        return f"{_who(a)} and {_who(b)} are not of the same job"
    return None


def _who(end: Endpoint) -> str:
    return f"container {end.node_id}" if end.node_id else f"the agent of host {end.node_sn}"
