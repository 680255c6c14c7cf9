"""Which hosts schedulers are advised to leave out: by whom, how sure, how many, for how long."""

from __future__ import annotations

from typing import Any

import msgspec
from builders.schemas.incidents import NIC
from hypothesis import given
from hypothesis import strategies as st

from controller.blacklist.blacklist import Blacklist, Hosts, blacklist
from controller.blacklist.parameters import BlacklistParameters
from schemas.documents.incident import Incident
from schemas.documents.times import milliseconds_of
from schemas.documents.topology import Rnic

NOW = milliseconds_of(NIC.updated_at) + 1000
HOSTS = 200
FABRIC = {
    f"h{number}": [Rnic(f"10.0.{number}.{rail}", rail, "asw-1") for rail in (1, 2)]
    for number in range(HOSTS)
}


def incident(component: str, **more: Any) -> Incident:
    known: dict[str, Any] = {
        "component": component, "incident_id": component, "tie_set": [component],
        "confidence": 0.95,
    }  # fmt: skip
    return msgspec.structs.replace(NIC, **(known | more))


def listed(*incidents: Incident, now_ms: int = NOW) -> Blacklist:
    return blacklist(incidents, {"f2": Hosts.of(FABRIC)}, now_ms)


def hosts(found: Blacklist) -> list[str]:
    return [each.node_sn for each in found.entries]


def test_an_rnic_its_cable_its_vswitch_and_the_host_itself_list_the_host() -> None:
    rnic = "rnic:10.0.7.1"
    for component in (rnic, f"link:{rnic}|tor:asw-1", "vswitch:h7", "host:h7"):
        found = listed(incident(component))
        assert hosts(found) == ["h7"]
        assert found.entries[0].rnic == ("10.0.7.1" if "rnic" in component else "")
        assert found.entries[0].reason == NIC.evidence["text"]


def test_what_is_outside_of_the_hosts_lists_none() -> None:
    for component in ("tor:asw-1", "link:agg:a|tor:asw-1", "container:c1", "rnic:192.0.2.1"):
        assert listed(incident(component)) == Blacklist([], [])


def test_a_host_that_probes_cannot_tell_from_its_switch_is_not_listed() -> None:
    tied = incident("rnic:10.0.7.1", tie_set=["rnic:10.0.7.1", "tor:asw-1"])
    found = listed(tied)
    assert not found.entries
    assert [each.why for each in found.left_out] == ["beyond the host"]
    with_cable = incident("rnic:10.0.7.1", tie_set=["rnic:10.0.7.1", "link:rnic:10.0.7.1|tor:x"])
    assert hosts(listed(with_cable)) == ["h7"]


def test_an_uncertain_incident_lists_nothing_and_says_so() -> None:
    found = listed(incident("host:h1", confidence=0.5))
    assert [(each.component, each.why) for each in found.left_out] == [("host:h1", "uncertain")]


def test_resolved_and_explained_incidents_are_over() -> None:
    assert listed(incident("host:h1", state="resolved")) == Blacklist([], [])
    assert listed(incident("host:h1", parent="AAAA")) == Blacklist([], [])


def test_an_entry_expires_unless_its_incident_is_written_again() -> None:
    kept_ms = round(1000 * BlacklistParameters().kept_s)
    last = milliseconds_of(NIC.updated_at) + kept_ms
    assert hosts(listed(incident("host:h1"), now_ms=last - 1)) == ["h1"]
    assert listed(incident("host:h1"), now_ms=last) == Blacklist([], [])


@given(st.lists(st.integers(0, HOSTS - 1), max_size=30), st.data())
def test_no_more_than_the_cap_are_listed_and_all_others_are_said(
    numbers: list[int], data: st.DataObject
) -> None:
    incidents = [
        incident(
            f"host:h{number}", incident_id=f"i{at}",
            severity=data.draw(st.sampled_from(["P0", "P1", "P2"])),
        )
        for at, number in enumerate(numbers)
    ]  # fmt: skip
    found = listed(*incidents)
    assert len(set(hosts(found))) == min(4, len(set(numbers)))
    said = [*(each.incident_id for each in found.entries), *(e.incident_id for e in found.left_out)]
    assert sorted(said) == sorted(each.incident_id for each in incidents)
    assert listed(*reversed(incidents)) == found, "whatever the order"
    worst = {
        name: min(each.severity for each in incidents if each.component == name)
        for name in (each.component for each in incidents)
    }
    listed_hosts = {each.component for each in found.entries}
    capped = [worst[each.component] for each in found.left_out]
    assert all(worst[name] <= each for name in listed_hosts for each in capped), "the worst stay"


def test_one_host_of_a_small_fabric_may_be_listed() -> None:
    small = {"f2": Hosts.of({name: FABRIC[name] for name in ("h0", "h1", "h2")})}
    both = [incident("host:h0", detected_at="2026-01-31T12:00:00Z"), incident("host:h1")]
    assert hosts(blacklist(both, small, NOW)) == ["h0"], "the older one"
