"""Without a document and without a traced route, what is lost above the ToRs has one name."""

from __future__ import annotations

import pytest
from builders.simulated_fabrics import (
    THREE_TIERS,
    Plan,
    broken,
    every_version,
    from_second,
    last_versions,
    never,
)

BEGIN, END, UPTO = 20, 10**6, 60
UNSEEN = "spine:?"


def plan(kind: str, where: str, magnitude: float = 0.3) -> Plan:
    return (kind, where, BEGIN, END, magnitude)


ABOVE = [
    plan("link_loss", "any agg-spine link"), plan("switch_offline", "any agg"),
    plan("switch_offline", "any spine"),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("fault", ABOVE)
def test_one_incident_on_an_unseen_switch_and_no_tor_or_host(fault: Plan, seed: int) -> None:
    found = last_versions(every_version(broken(THREE_TIERS, seed, [fault]), UPTO, never,
                                        document=False))  # fmt: skip
    (incident,) = found
    assert incident.component == UNSEEN
    assert str(incident.evidence["warning"]).startswith("routes of ")
    assert incident.confidence < 0.95


@pytest.mark.parametrize("fault", ABOVE)
def test_the_incident_gets_its_name_when_routes_arrive(fault: Plan) -> None:
    simulation = broken(THREE_TIERS, 1, [fault])
    (truth,) = simulation.faults
    found = every_version(simulation, 2 * UPTO, from_second(50), document=False)
    last = last_versions(found)
    assert found[0].component == UNSEEN
    assert [(each.incident_id, each.component) for each in last] == [
        (found[0].incident_id, truth.component)
    ]


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_below_the_tors_keeps_its_name(count: int) -> None:
    plans = [plan("rnic_port_down", "any rnic", 1.0), plan("tor_loss", "any tor")][:count]
    simulation = broken(THREE_TIERS, 3, plans)
    found = last_versions(every_version(simulation, UPTO, never, document=False))
    assert {each.component for each in found} == {each.component for each in simulation.faults}
