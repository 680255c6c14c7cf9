"""Slurm's output, of several releases' shapes -> the same nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders.controller.slurm_stub import DATA

from controller.slurm_drain.nodes import Node, NodesError, parse

OURS = "skeletonhunter b7d1f0a2c3e4d5f6 P0 rnic:10.0.4.1 all 24 paths are silent"


def node(name: str, states: str, partitions: str, reason: str = "") -> Node:
    features = ("h100", "ib")
    return Node(
        name, frozenset(states.split()), frozenset(partitions.split()), reason, features, features
    )  # fmt: skip


CLUSTER = [
    node("h000", "IDLE", "gpu"),
    node("h001", "ALLOCATED", "gpu debug"),
    node("h002", "IDLE DRAIN", "gpu", "bad DIMM in slot 4"),
    node("h003", "DOWN NOT_RESPONDING", "gpu", "Not responding"),
    node("h004", "MIXED DRAIN", "gpu", OURS),
    node("cpu01", "IDLE", "cpu"),
]


@pytest.mark.parametrize(
    "name", ["sinfo-21.08.json", "sinfo-23.02.json", "scontrol-23.02.json", "scontrol-25.11.json"]
)
def test_every_release_says_the_same_of_the_same_nodes(name: str) -> None:
    assert parse((DATA / name).read_text()) == {each.name: each for each in CLUSTER}


def test_what_a_node_is_follows_from_its_states() -> None:
    idle, _, drained, down, _, _ = CLUSTER
    assert (idle.is_out, idle.is_drained, idle.beyond_drain) == (False, False, [])
    assert (drained.is_out, drained.is_drained, drained.beyond_drain) == (True, True, [])
    assert (down.is_out, down.is_drained) == (True, False)
    assert down.beyond_drain == ["DOWN", "NOT_RESPONDING"]


def test_marks_and_joined_names_of_states_are_understood() -> None:
    states = {"nodes": [{"name": "a", "state": ["idle*+drain"]}]}
    assert parse(json.dumps(states))["a"].states == {"IDLE", "DRAIN"}


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ({"jobs": []}, "neither 'nodes' nor 'sinfo'"),
        ({"nodes": [{"name": "a"}]}, "missing required field `state`"),
        ({"nodes": "a"}, "Expected `array"),
        ("no JSON", "not JSON"),
    ],
)
def test_another_output_is_refused_in_one_line(output: Any, says: str) -> None:
    text = output if isinstance(output, str) else json.dumps(output)
    with pytest.raises(NodesError, match=says) as why:
        parse(text)
    assert "\n" not in str(why.value)
    assert "scontrol show node --json" in str(why.value)
