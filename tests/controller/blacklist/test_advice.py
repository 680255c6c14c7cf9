"""Open incidents are followed version by version, and each change of the blacklist is recorded."""

from __future__ import annotations

import msgspec
from builders.schemas.incidents import NIC

from controller.blacklist.advice import Advice
from controller.blacklist.blacklist import Hosts, Resolved
from controller.blacklist.parameters import BlacklistParameters
from schemas.documents.incident import Incident
from schemas.documents.times import milliseconds_of
from schemas.documents.topology import Rnic

HOSTS = {"f2": Hosts.of({"gpu-1": [Rnic("10.0.0.1", 0, "asw-3-1")]})}
NOW = milliseconds_of(NIC.updated_at) + 1000


def version(number: int, **more: object) -> Incident:
    return msgspec.structs.replace(NIC, version=number, **more)


def test_an_older_version_that_comes_late_changes_nothing() -> None:
    advice = Advice()
    advice.take(version(2))
    advice.take(version(1, confidence=0.1))
    assert len(advice.listed(HOSTS, NOW).entries) == 1


def test_a_resolved_incident_leaves_the_list() -> None:
    advice = Advice()
    advice.take(version(1))
    assert len(advice) == 1
    advice.take(version(2, state="resolved"))
    assert len(advice) == 0
    assert not advice.listed(HOSTS, NOW).entries


def test_the_newest_incidents_inside_hosts_that_are_over_are_known() -> None:
    advice = Advice(BlacklistParameters(most_resolved=2))
    over = {"state": "resolved", "closed_at": "2026-01-31T12:00:00Z"}
    for name in ("a", "b", "c"):
        advice.take(version(1, incident_id=name, **over))
    assert [each.incident_id for each in advice.resolved(HOSTS)] == ["b", "c"]
    advice.take(version(2, incident_id="b"))
    advice.take(version(1, incident_id="d", component="tor:asw-3-1", **over))
    (known,) = advice.resolved(HOSTS)
    assert known == Resolved("c", "f2", NIC.component, "2026-01-31T12:00:00Z")
    assert advice.resolved({}) == []


def test_each_change_is_recorded_once() -> None:
    advice = Advice()
    assert advice.audit(advice.listed(HOSTS, NOW)).lines() == []
    advice.take(version(1))
    (added,) = advice.audit(advice.listed(HOSTS, NOW)).lines()
    assert added.startswith("blacklist: gpu-1 of f2 listed until ")
    assert "incident BBBB: rnic:10.0.0.1" in added
    assert advice.audit(advice.listed(HOSTS, NOW)).lines() == []
    advice.take(version(2, confidence=0.3))
    removed, left_out = advice.audit(advice.listed(HOSTS, NOW)).lines()
    assert removed == "blacklist: gpu-1 of f2 no longer listed by incident BBBB"
    assert left_out == "blacklist: incident BBBB lists no host: rnic:10.0.0.1, uncertain"
    assert advice.audit(advice.listed(HOSTS, NOW)).lines() == []
