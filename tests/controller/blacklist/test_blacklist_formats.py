"""The blacklist for Kubernetes and Slurm: nothing in it can be run that was not meant."""

from __future__ import annotations

import shlex

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from controller.blacklist.blacklist import Blacklist, Entry
from controller.blacklist.formats import kubernetes, slurm

ENTRY = Entry(
    fabric="f1", node_sn="gpu-7", rnic="10.0.7.1", component="rnic:10.0.7.1", incident_id="abcd",
    severity="P0", confidence=0.97, reason="all 24 paths of rnic:10.0.7.1 are silent",
    since="2026-01-31T12:00:00Z", expires="2026-01-31T13:00:00Z",
)  # fmt: skip


def of(*entries: Entry) -> Blacklist:
    return Blacklist(list(entries), [])


def test_a_node_affinity_keeps_pods_off_the_hosts() -> None:
    other = msgspec.structs.replace(ENTRY, node_sn="gpu-8")
    affinity = kubernetes(of(ENTRY, other, ENTRY))["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["gpu-7", "gpu-8"]
    assert kubernetes(of()) == {}


def test_slurm_drains_each_host_once_with_the_reason() -> None:
    lines = slurm(of(ENTRY, msgspec.structs.replace(ENTRY, incident_id="efgh"))).splitlines()
    assert lines == [
        'scontrol update NodeName=gpu-7 State=DRAIN Reason="skeletonhunter abcd P0 '
        'rnic:10.0.7.1 all 24 paths of rnic:10.0.7.1 are silent"'
    ]


@given(st.text(), st.text(), st.text())
def test_no_text_of_a_record_becomes_a_command(node: str, component: str, reason: str) -> None:
    entry = msgspec.structs.replace(ENTRY, node_sn=node, component=component, reason=reason)
    for line in slurm(of(entry)).splitlines():
        words = shlex.split(line)
        assert words[:2] == ["scontrol", "update"]
        assert len(words) == 5
        assert not set('`$"\\\n') & set(line.partition("Reason=")[2].strip('"'))
