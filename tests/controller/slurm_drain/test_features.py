"""Which nodes have the feature: those that may be touched, and that no open incident names."""

from __future__ import annotations

from controller.blacklist.blacklist import Blacklist, Entry, LeftOut
from controller.slurm_drain.features import plan_features
from controller.slurm_drain.nodes import Node
from controller.slurm_drain.plan import Action, Allowed, LeftAlone, Plan

ENTRY = Entry(
    "f1", "a", "10.0.7.1", "rnic:10.0.7.1", "abcd", "P0", 0.97, "silent", "2026-01-31T12:00:00Z",
    "2026-01-31T13:00:00Z",
)  # fmt: skip
UNCERTAIN = LeftOut("efgh", "f1", "rnic:10.0.8.1", "uncertain", "b")
LISTED = Blacklist([ENTRY], [UNCERTAIN])
ALLOWED = Allowed({"gpu"}, (), 1.0, 0)


def node(name: str, features: str = "h100", active: str | None = None, of: str = "gpu") -> Node:
    has = features if active is None else active
    return Node(name, frozenset({"IDLE"}), frozenset({of}), "", _texts(features), _texts(has))


def _texts(features: str) -> tuple[str, ...]:
    return tuple(features.split(",")) if features else ()


def planned(*nodes: Node, fabric: str = "f1") -> Plan:
    return plan_features({each.name: each for each in nodes}, LISTED, fabric, ALLOWED, "net_ok")


def action(nodes: str, *features: str) -> Action:
    return Action(nodes, "FEATURES", "", "", features=features)


def test_suspected_nodes_lose_it_and_the_others_get_it_a_call_for_those_that_become_alike() -> None:
    found = planned(
        node("a", "h100,net_ok"), node("b", "net_ok"), node("c"), node("d"), node("e", "a100"),
    )  # fmt: skip
    assert found == Plan(
        [action("b"), action("e", "a100", "net_ok"), action("a", "h100"),
         action("c,d", "h100", "net_ok")], [],
    )  # fmt: skip
    assert found.actions[3].arguments == [
        "update", "NodeName=c,d", "AvailableFeatures=h100,net_ok", "ActiveFeatures=h100,net_ok",
    ]  # fmt: skip


def test_nothing_is_done_twice_nor_to_others_nor_by_incidents_of_another_fabric() -> None:
    assert planned(node("a"), node("c", "net_ok,h100"), node("x", of="cpu"), node("ALL")) == Plan(
        [], []
    )
    assert planned(node("a"), fabric="f2").actions == [action("a", "h100", "net_ok")]


def test_features_that_a_plugin_changes_are_left_alone() -> None:
    found = planned(node("c", "h100,numa4", active="h100"))
    why = "its active features are not all that it may have"
    assert found == Plan([], [LeftAlone("c", why)])


def test_a_call_has_a_bounded_number_of_nodes() -> None:
    found = planned(*(node(f"n{number:03}") for number in range(250)))
    assert [each.node.count(",") + 1 for each in found.actions] == [100, 100, 50]
