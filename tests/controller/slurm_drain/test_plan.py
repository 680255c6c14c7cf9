"""What is drained and resumed: never another's node, never too many, never by a doubt."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controller.blacklist.blacklist import Blacklist, Entry, LeftOut, Resolved
from controller.slurm_drain.nodes import Node
from controller.slurm_drain.plan import Action, Allowed, Plan, plan
from schemas.documents.times import milliseconds_of

T0 = "2026-01-31T12:00:00Z"
NOW = milliseconds_of(T0)
OURS = "skeletonhunter abcd P0 rnic:10.0.7.1 all 24 paths are silent"
ALLOWED = Allowed({"gpu"}, (), most_share=0.05, left_this_hour=4)


def entry(node_sn: str, **more: Any) -> Entry:
    known: dict[str, Any] = {
        "fabric": "f1", "node_sn": node_sn, "rnic": "10.0.7.1", "component": "rnic:10.0.7.1",
        "incident_id": "abcd", "severity": "P0", "confidence": 0.97,
        "reason": "all 24 paths are silent", "since": T0, "expires": "2026-01-31T13:00:00Z",
    }  # fmt: skip
    return Entry(**known | more)


def node(name: str, *states: str, reason: str = "", partition: str = "gpu") -> Node:
    return Node(name, frozenset(states or ("IDLE",)), frozenset({partition}), reason)


def cluster(*nodes: Node, size: int = 100) -> dict[str, Node]:
    """These nodes, and idle ones of the partition gpu."""
    rest = [node(f"idle{number}") for number in range(size - len(nodes))]
    return {each.name: each for each in (*nodes, *rest)}


def planned(known: dict[str, Node], listed: Blacklist, **more: Any) -> Plan:
    return plan(known, listed, "f1", ALLOWED._replace(**more), NOW)


def of(*entries: Entry, **more: Any) -> Blacklist:
    return Blacklist([*entries], [], **more)


def test_a_listed_host_in_service_is_drained_with_the_reason() -> None:
    found = planned(cluster(node("gpu-7")), of(entry("gpu-7")))
    assert found == Plan([Action("gpu-7", "DRAIN", "abcd", "rnic:10.0.7.1", OURS)], [])
    assert found.actions[0].arguments == [
        "update", "NodeName=gpu-7", "State=DRAIN", f"Reason={OURS}",
    ]  # fmt: skip


def test_what_others_have_taken_out_of_service_is_left_alone() -> None:
    nodes = cluster(
        node("a", "IDLE", "DRAIN", reason="bad DIMM"), node("b", "DOWN", reason="Not responding"),
        node("c", "IDLE", "REBOOT_REQUESTED"), node("d", "IDLE", "SOMETHING_NEW"),
        node("e", "MIXED", "DRAIN", reason="skeletonhunter said so"),
    )  # fmt: skip
    listed = of(*map(entry, "abcde"), entry("nowhere"))
    found = planned(nodes, listed, resume_after_s=0.0)
    assert found.actions == []
    assert dict(found.left_alone) == {
        "a": "drained by somebody else: bad DIMM", "b": "DOWN: Not responding",
        "c": "REBOOT_REQUESTED: no reason given", "d": "SOMETHING_NEW: no reason given",
        "e": "an open incident speaks of it", "nowhere": "no node of that name",
    }  # fmt: skip


def test_only_partitions_nodes_and_the_fabric_that_are_named_are_touched() -> None:
    nodes = cluster(node("gpu-7"), node("cpu-1", partition="cpu"), node("cpu-2", partition="cpu"))
    listed = of(entry("gpu-7", fabric="f2"), entry("cpu-1"), entry("cpu-2"))
    found = planned(nodes, listed, nodes={"cpu-2"})
    assert [each.node for each in found.actions] == ["cpu-2"]
    assert [each.node for each in found.left_alone] == ["cpu-1"]


def test_the_worst_and_oldest_go_first_and_an_hour_has_so_many() -> None:
    nodes = cluster(node("a"), node("b"), node("c"))
    listed = of(
        entry("a", severity="P1"), entry("b", since="2026-01-31T11:00:00Z"), entry("c")
    )  # fmt: skip
    found = planned(nodes, listed, left_this_hour=2)
    assert [each.node for each in found.actions] == ["b", "c"]
    assert found.left_alone == [("a", "as many as one hour may have are drained")]


def test_of_a_partition_a_share_may_be_out_of_service_whoever_took_it_out() -> None:
    nodes = cluster(
        node("x", "DOWN"), node("y", "IDLE", "DRAIN", reason="disk"),
        node("z", "IDLE", "DRAIN", reason=OURS), node("a"), node("b"), node("c"),
    )  # fmt: skip
    found = planned(nodes, of(*map(entry, "abc")))
    assert [each.node for each in found.actions] == ["a", "b"]
    assert found.left_alone == [
        ("c", "5 of 100 nodes of partition gpu are out of service; 5 may be")
    ]


def test_of_a_small_partition_one_node_may_be_drained() -> None:
    found = planned(cluster(node("a"), node("b"), size=4), of(entry("a"), entry("b")))
    assert [each.node for each in found.actions] == ["a"]


def test_a_node_that_is_drained_already_is_drained_no_second_time() -> None:
    nodes = cluster(node("a", "MIXED", "DRAIN", reason=OURS))
    assert planned(nodes, of(entry("a", incident_id="efgh"))) == Plan([], [])


def resolved(closed_at: str, incident_id: str = "abcd") -> Resolved:
    return Resolved(incident_id, "f1", "rnic:10.0.7.1", closed_at)


def test_a_node_of_ours_is_resumed_when_its_incident_is_over_for_long_enough() -> None:
    nodes = cluster(node("a", "IDLE", "DRAIN", reason=OURS))
    listed = of(resolved=[resolved("2026-01-31T11:29:59Z")])
    assert planned(nodes, listed) == Plan([], []), "only if it is asked for"
    found = planned(nodes, listed, resume_after_s=1800.0)
    assert found == Plan([Action("a", "RESUME", "abcd", "rnic:10.0.7.1")], [])
    assert found.actions[0].arguments == ["update", "NodeName=a", "State=RESUME"]
    too_early = planned(nodes, listed, resume_after_s=1802.0)
    assert too_early.left_alone == [("a", "its incident is over since 2026-01-31T11:29:59Z only")]


def test_without_word_that_its_incident_is_over_no_node_is_resumed() -> None:
    ours = node("a", "IDLE", "DRAIN", reason=OURS)
    over = resolved("2026-01-31T11:00:00Z")
    speaks = LeftOut("efgh", "f1", "rnic:10.0.7.2", "uncertain", "a")
    down = node("a", "DOWN", "DRAIN", reason=OURS)
    other = node("a", "IDLE", "DRAIN", reason="broken; was skeletonhunter abcd")
    for the_node, listed, why in (
        (ours, of(), "its incident is not known to be over"),
        (ours, of(entry("a"), resolved=[over]), "an open incident speaks of it"),
        (ours, Blacklist([], [speaks], [over]), "an open incident speaks of it"),
        (down, of(resolved=[over]), "DOWN: that is not ours to change"),
    ):
        found = planned(cluster(the_node), listed, resume_after_s=60.0)
        assert found == Plan([], [("a", why)])  # type: ignore[list-item]
    assert planned(cluster(other), of(resolved=[over]), resume_after_s=60.0) == Plan([], [])
    elsewhere = planned(
        cluster(ours), of(resolved=[over]), resume_after_s=60.0, partitions={"cpu"}
    )  # fmt: skip
    assert elsewhere == Plan([], [])


@given(st.text(), st.text(), st.text())
def test_no_text_of_a_record_names_another_node_or_option(
    name: str, component: str, reason: str
) -> None:
    listed = of(entry(name, component=component, reason=reason), entry("ALL"))
    nodes = {**cluster(node("gpu-7")), name: node(name), "ALL": node("ALL")}
    for action in planned(nodes, listed).actions:
        assert action.node.upper() != "ALL"
        assert not set("[],= \n") & set(action.node)
        assert msgspec.json.decode(msgspec.json.encode(action.arguments)) == action.arguments
        assert "=" not in action.reason
        assert "\n" not in action.reason
