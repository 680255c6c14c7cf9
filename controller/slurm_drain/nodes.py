"""What Slurm says of its nodes -> ``Node``, whichever release said it. Pure.

Source: Slurm's data parsers. ``nodes``: sinfo --json of 20.11 to 22.05 (a state and its flags
apart), scontrol show node --json since 23.02 (a list of states). ``sinfo``: sinfo --json since
23.02, an object for the nodes of a partition that are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from schemas.documents.decoding import DocumentError, decode

#: States of a node that runs jobs or could, but for a drain.
_SERVING: Final = frozenset(
    {"IDLE", "ALLOCATED", "MIXED", "COMPLETING", "PLANNED", "RESERVED", "BLOCKED", "DYNAMIC_NORM",
     "CLOUD"}
)  # fmt: skip
_DRAIN: Final = frozenset({"DRAIN", "DRAINED", "DRAINING"})
#: States in which a node takes no new job.
_OUT: Final = _DRAIN | {"DOWN", "FAIL", "FAILING", "ERROR", "MAINT", "MAINTENANCE", "UNKNOWN"}
_MARKS: Final = "*~#!%$@^-"  # that sinfo adds to names of states


class NodesError(ValueError):
    """The output cannot be used; one line: what, and what to give."""


class Node(msgspec.Struct, frozen=True):
    """A node of Slurm.

    states  base state and flags, upper case
    reason  why it is drained or down; empty: none was given
    features, active  what it may have, and what it has: they differ where a plugin changes them
    """

    name: str
    states: frozenset[str]
    partitions: frozenset[str]
    reason: str = ""
    features: tuple[str, ...] = ()
    active: tuple[str, ...] = ()

    @property
    def is_drained(self) -> bool:
        """Whether somebody has drained it, jobs on it or not."""
        return not self.states.isdisjoint(_DRAIN)

    @property
    def is_out(self) -> bool:
        """Whether it takes no new job."""
        return not self.states.isdisjoint(_OUT)

    @property
    def beyond_drain(self) -> list[str]:
        """States, apart from a drain, in which only people may change it: down, being rebooted,
        and all that are not known here."""
        return sorted(self.states - _SERVING - _DRAIN)


class _Named(msgspec.Struct, frozen=True):
    name: str
    state: str | list[str]
    state_flags: list[str] = []
    partitions: list[str] | None = None
    reason: str | None = None
    features: str | list[str] | None = None
    active_features: str | list[str] | None = None


class _Features(msgspec.Struct, frozen=True):
    total: str = ""
    active: str = ""


class _States(msgspec.Struct, frozen=True):
    state: list[str]


class _Names(msgspec.Struct, frozen=True):
    nodes: list[str]


class _Reason(msgspec.Struct, frozen=True):
    description: str = ""


class _Partition(msgspec.Struct, frozen=True):
    name: str = ""


class _Alike(msgspec.Struct, frozen=True):
    node: _States
    nodes: _Names
    partition: _Partition
    reason: _Reason = _Reason()
    features: _Features = _Features()


class _Output(msgspec.Struct, frozen=True):
    nodes: list[_Named] | None = None
    sinfo: list[_Alike] | None = None


def parse(text: str) -> dict[str, Node]:
    """Nodes by name; raises NodesError."""
    try:
        output = decode(text.encode(), _Output)
    except DocumentError as why:
        raise NodesError(f"{why}; give the whole output of scontrol show node --json") from why
    if output.nodes is None and output.sinfo is None:
        raise NodesError(
            "neither 'nodes' nor 'sinfo' is in it; give the whole output of scontrol show node "
            "--json, or of sinfo --all --Node --json"
        )
    found: dict[str, Node] = {}
    for each in (*map(_node, output.nodes or ()), *_rows(output.sinfo or ())):
        known = found.get(each.name)
        found[each.name] = each if known is None else _joined(known, each)
    return found


def _node(each: _Named) -> Node:
    states = [each.state] if isinstance(each.state, str) else each.state
    return Node(
        each.name, _states([*states, *each.state_flags]), frozenset(each.partitions or ()),
        each.reason or "", _listed(each.features), _listed(each.active_features),
    )  # fmt: skip


def _rows(rows: tuple[_Alike, ...] | list[_Alike]) -> Iterator[Node]:
    for each in rows:
        partitions = frozenset({each.partition.name} - {""})
        for name in each.nodes.nodes:
            yield Node(
                name, _states(each.node.state), partitions, each.reason.description,
                _listed(each.features.total), _listed(each.features.active),
            )  # fmt: skip


def _listed(features: str | list[str] | None) -> tuple[str, ...]:
    """A list, or a text with commas as of older releases; the text (null) stands for none."""
    found = features.split(",") if isinstance(features, str) else features or []
    return tuple(each for each in found if each not in ("", "(null)"))


def _states(names: list[str]) -> frozenset[str]:
    parts = (part.rstrip(_MARKS).upper() for name in names for part in name.split("+"))
    return frozenset(part for part in parts if part)


def _joined(one: Node, other: Node) -> Node:
    """A node of several partitions, of which sinfo has an object each."""
    return Node(
        one.name, one.states | other.states, one.partitions | other.partitions,
        one.reason or other.reason, one.features or other.features, one.active or other.active,
    )  # fmt: skip
