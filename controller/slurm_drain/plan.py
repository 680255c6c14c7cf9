"""Slurm's nodes and the blacklist -> nodes to drain, nodes to resume, nodes left alone. Pure.

Ours is a node that is drained with a reason that begins with ``OWNER`` and the id of an incident.
No other node that is out of service is touched, whatever the blacklist says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from controller.blacklist.blacklist import Blacklist, Entry, Resolved
from controller.blacklist.formats import OWNER, is_node, reason_of
from controller.slurm_drain.nodes import Node
from schemas.documents.times import milliseconds_of


class Allowed(NamedTuple):
    """What the operator lets be done.

    partitions, nodes  a node of these partitions, or with such a name, may be touched
    most_share      of a partition's nodes that may be out of service after a drain [1]
    left_this_hour  nodes that may still be drained [count]
    resume_after_s  a node's incident must have been over for so long; None: resume none
    """

    partitions: Collection[str]
    nodes: Collection[str]
    most_share: float
    left_this_hour: int
    resume_after_s: float | None = None

    def holds(self, node: Node) -> bool:
        """Whether the node may be touched."""
        return node.name in self.nodes or not node.partitions.isdisjoint(self.partitions)


class Action(NamedTuple):
    """One call of scontrol.

    node      its name; FEATURES: of one or more, with commas
    reason    of a drain, as Slurm keeps it; empty where a node is resumed
    features  FEATURES: all that the nodes have then
    """

    node: str
    state: Literal["DRAIN", "RESUME", "FEATURES"]
    incident_id: str
    component: str
    reason: str = ""
    features: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """Of scontrol; no shell may read them."""
        if self.state == "FEATURES":
            text = ",".join(self.features)
            change = [f"AvailableFeatures={text}", f"ActiveFeatures={text}"]
            return ["update", f"NodeName={self.node}", *change]
        words = ["update", f"NodeName={self.node}", f"State={self.state}"]
        return [*words, f"Reason={self.reason}"] if self.reason else words


class LeftAlone(NamedTuple):
    """A node of the blacklist, or of ours, to which nothing is done, and why."""

    node: str
    why: str


class Plan(NamedTuple):
    """What is to be done, in this order."""

    actions: list[Action]
    left_alone: list[LeftAlone]


def plan(
    nodes: Mapping[str, Node], listed: Blacklist, fabric: str, allowed: Allowed, now_ms: int
) -> Plan:
    """What to do at a time, with the blacklist's entries of one fabric.

    nodes  all of the cluster, by name: shares are of the partitions that they make up
    The first entry of a host counts; hosts with the worst and then the oldest incidents go first.
    """
    actions: list[Action] = []
    left: list[LeftAlone] = []
    out = _Out(nodes.values(), allowed.most_share)
    drains = 0
    for entry in _first(listed.entries, fabric):
        node = nodes.get(entry.node_sn)
        if (why := _not_drained(node, allowed)) is not None:
            left.append(LeftAlone(entry.node_sn, why))
        elif node is not None and not owned(node):
            if drains >= allowed.left_this_hour:
                left.append(LeftAlone(node.name, "as many as one hour may have are drained"))
            elif (full := out.full(node)) is not None:
                left.append(LeftAlone(node.name, full))
            else:
                drains += 1
                out.add(node)
                actions.append(
                    Action(node.name, "DRAIN", entry.incident_id, entry.component, reason_of(entry))
                )
    if allowed.resume_after_s is not None:
        after_ms = 1000 * allowed.resume_after_s
        spoken_of = {each.node_sn for each in listed.entries}
        spoken_of |= {each.node_sn for each in listed.left_out}
        over = {each.incident_id: each for each in listed.resolved if each.fabric == fabric}
        for node in sorted(nodes.values(), key=lambda each: each.name):
            incident_id = owned(node)
            if incident_id is None or not allowed.holds(node):
                continue
            known = over.get(incident_id)
            why = _not_resumed(node, known, node.name in spoken_of, now_ms - after_ms)
            if why is not None or known is None:
                left.append(LeftAlone(node.name, why or ""))
            else:
                actions.append(Action(node.name, "RESUME", incident_id, known.component))
    return Plan(actions, left)


def owned(node: Node) -> str | None:
    """The incident by which the node was drained; None: others drained it, or it is
    not drained."""
    words = node.reason.split()
    return words[1] if node.is_drained and words[:1] == [OWNER] and len(words) > 1 else None


def _first(entries: Iterable[Entry], fabric: str) -> Iterator[Entry]:
    """One entry for each host of the fabric that can be a node's name, the worst first."""
    seen: set[str] = set()
    for each in sorted(entries, key=lambda each: (each.severity, each.since, each.incident_id)):
        if each.fabric == fabric and each.node_sn not in seen and is_node(each.node_sn):
            seen.add(each.node_sn)
            yield each


def _not_drained(node: Node | None, allowed: Allowed) -> str | None:
    """Why a listed host's node is left alone; None: it may be drained, or is by us."""
    if node is None:
        return "no node of that name"
    if not allowed.holds(node):
        return "in no partition, and no node, that may be drained"
    if owned(node) is not None:
        return None
    if node.is_drained:
        return f"drained by somebody else: {node.reason or 'no reason given'}"
    if node.beyond_drain:
        return f"{'+'.join(node.beyond_drain)}: {node.reason or 'no reason given'}"
    return None


def _not_resumed(
    node: Node, known: Resolved | None, is_spoken_of: bool, until_ms: float
) -> str | None:
    """Why one of our nodes stays drained; None: it may be resumed."""
    if is_spoken_of:
        return "an open incident speaks of it"
    if known is None:
        return "its incident is not known to be over"
    if milliseconds_of(known.closed_at) > until_ms:
        return f"its incident is over since {known.closed_at} only"
    if node.beyond_drain:
        return f"{'+'.join(node.beyond_drain)}: that is not ours to change"
    return None


class _Out:
    """Nodes out of service in each partition, the planned ones included."""

    def __init__(self, nodes: Iterable[Node], most_share: float) -> None:
        self._number: Counter[str] = Counter()
        self._out: Counter[str] = Counter()
        self._most_share = most_share
        for node in nodes:
            self._number.update(node.partitions)
            if node.is_out:
                self._out.update(node.partitions)

    def add(self, node: Node) -> None:
        """One that will be drained."""
        self._out.update(node.partitions)

    def full(self, node: Node) -> str | None:
        """Why no more nodes of one of its partitions may be drained; None: they may."""
        for name in sorted(node.partitions):
            most = max(1, int(self._most_share * self._number[name]))
            if self._out[name] >= most:
                return (
                    f"{self._out[name]} of {self._number[name]} nodes of partition {name} are "
                    f"out of service; {most} may be"
                )
        return None
