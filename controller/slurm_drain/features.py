"""Slurm's nodes and the blacklist -> which nodes have a feature, for jobs that ask for it. Pure.

Milder than a drain: no node is taken out of service, and a job without the constraint runs
anywhere. So hosts of which an open incident speaks without certainty lose the feature too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.blacklist.blacklist import Blacklist
from controller.blacklist.formats import is_node
from controller.slurm_drain.nodes import Node
from controller.slurm_drain.parameters import DEFAULT
from controller.slurm_drain.plan import Action, Allowed, LeftAlone, Plan


def plan_features(
    nodes: Mapping[str, Node], listed: Blacklist, fabric: str, allowed: Allowed, feature: str
) -> Plan:
    """The nodes that may be touched have the feature, but for those that an open incident of the
    fabric names; other features stay as they are. Nodes that become alike are one action."""
    named = {each.node_sn for each in listed.entries if each.fabric == fabric}
    named |= {each.node_sn for each in listed.left_out if each.fabric == fabric}
    alike: dict[tuple[str, ...], list[str]] = {}
    left: list[LeftAlone] = []
    for node in sorted(nodes.values(), key=lambda each: each.name):
        if not allowed.holds(node) or not is_node(node.name):
            continue
        others = [each for each in node.features if each != feature]
        wanted = tuple(others if node.name in named else [*others, feature])
        if sorted(wanted) == sorted(node.features):
            continue
        if sorted(node.features) != sorted(node.active):
            left.append(LeftAlone(node.name, "its active features are not all that it may have"))
        else:
            alike.setdefault(wanted, []).append(node.name)
    return Plan([*_actions(alike)], left)


def _actions(alike: Mapping[tuple[str, ...], list[str]]) -> Iterator[Action]:
    at_once = DEFAULT.nodes_at_once
    for features, names in sorted(alike.items()):
        for at in range(0, len(names), at_once):
            some = ",".join(names[at : at + at_once])
            yield Action(some, "FEATURES", "", "", features=features)
