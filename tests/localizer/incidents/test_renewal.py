"""Times of incidents follow the evidence: rare probes, gray losses, and switches around links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from localizer.incidents.parameters import DEFAULT
from localizer.incidents.tracked_incident import Impact
from localizer.incidents.tracker import IncidentTracker
from localizer.verdicts.verdict import Contrast, Measured, Verdict
from schemas.documents.incident import Incident, Symptom

START_S = 1_780_000_000
NO_IMPACT = Impact("P2", [], [])
LINKS = frozenset({"link:agg:a1|tor:t1", "link:agg:a2|tor:t1"})


def loss(component: str, first: int, *, effect: float = 0.3, renewal_s: int = 1) -> Verdict:
    return Verdict(
        component, [component], "underlay", "loss", 1e-12, 0.9, np.arange(10), 40, START_S + first,
        effect=effect, renewal_s=renewal_s, contains=frozenset(),
    )  # fmt: skip


def tor(first: int, *, effect: float = 0.3) -> Verdict:
    return replace(loss("tor:t1", first, effect=effect), contains=LINKS)


def tracker() -> IncidentTracker:
    return IncidentTracker("f1", lateness_s=2.0, strategy="hypothesis")


def step(of: IncidentTracker, at: int, *seen: Verdict) -> list[Incident]:
    return [doc for doc, _ in of.step(START_S + at, [(each, NO_IMPACT) for each in seen])]


def test_two_sightings_as_far_apart_as_the_evidence_renews_itself_open_an_incident() -> None:
    rare, often = tracker(), tracker()
    assert step(rare, 0, loss("tor:t1", 0, renewal_s=20)) == []
    assert len(step(rare, 40, loss("tor:t1", 0, renewal_s=20))) == 1
    assert step(often, 0, loss("tor:t1", 0)) == []
    assert step(often, 40, loss("tor:t1", 0)) == []


def test_an_incident_stays_open_for_three_renewals_without_evidence() -> None:
    incidents = tracker()
    for at in (0, 1):
        step(incidents, at, loss("tor:t1", 0, renewal_s=20))
    assert [doc for at in range(2, 61) for doc in step(incidents, at)] == []
    assert [doc.state for doc in step(incidents, 61)] == ["resolved"]


def test_a_gray_loss_that_went_on_unseen_is_the_same_incident() -> None:
    incidents = tracker()
    for at in (0, 1):
        step(incidents, at, loss("tor:t1", 0, renewal_s=20))
    closed = step(incidents, 61)
    again = [doc for at in (400, 401) for doc in step(incidents, at, loss("tor:t1", 1))]
    assert [doc.state for doc in (*closed, *again)] == ["resolved", "ongoing"]
    assert closed[0].incident_id == again[0].incident_id


def test_a_loss_that_began_after_the_incident_closed_is_another_one() -> None:
    incidents = tracker()
    for at in (0, 1):
        step(incidents, at, loss("tor:t1", 0, renewal_s=20))
    closed = step(incidents, 61)
    again = [doc for at in (400, 401) for doc in step(incidents, at, loss("tor:t1", 300))]
    assert closed[0].incident_id != again[0].incident_id


def test_an_incident_that_ended_is_known_for_as_long_as_its_trouble_is_in_a_window() -> None:
    incidents = tracker()
    for at in (0, 1):
        step(incidents, at, loss("rnic:r", 0))
    step(incidents, 20)
    assert incidents.open == 0
    for since, names in ((1, {"rnic:r"}), (2, set())):
        assert incidents.troubled_since("reachability", START_S + since) == names
    assert not incidents.troubled_since("latency", START_S)


def test_a_resolved_incident_is_known_with_its_last_trouble_and_an_open_one_is_not() -> None:
    incidents = tracker()
    for at in (0, 1):
        step(incidents, at, loss("rnic:r", 0))
    assert incidents.ended("reachability") == {}
    step(incidents, 20)
    assert incidents.ended("reachability") == {"rnic:r": START_S + 1}
    assert incidents.ended("latency") == {}


def test_losses_over_a_minute_open_an_incident_at_first_sight() -> None:
    measured = Measured(Contrast(9, 9, 0, 99), {}, 0.001, DEFAULT.settled_s, 9, [])
    assert len(step(tracker(), 0, replace(loss("tor:t1", 0), measured=measured))) == 1


def test_a_tor_takes_over_the_incident_of_its_link_and_keeps_the_id() -> None:
    incidents = tracker()
    for at in (0, 1):
        first = step(incidents, at, loss("link:agg:a1|tor:t1", 0))
    for at in (2, 3):
        then = step(incidents, at, tor(0))
    assert [(doc.incident_id, doc.component) for doc in then] == [(first[0].incident_id, "tor:t1")]


def test_links_of_one_switch_with_the_same_bad_paths_do_not_take_over_each_other() -> None:
    incidents = tracker()
    one, other = loss("link:agg:a1|tor:t1", 0), loss("link:agg:a1|tor:t2", 0)
    other = replace(other, bad=np.arange(20))
    for at in (0, 1):
        step(incidents, at, one)
    for at in (2, 3):
        found = step(incidents, at, one, other)
    assert [doc.component for doc in found] == ["link:agg:a1|tor:t2"]
    assert found[0].parent is None


def test_a_tor_does_not_take_over_what_began_long_before_it() -> None:
    incidents = tracker()
    link = loss("link:agg:a1|tor:t1", 0)
    for at in range(61):
        step(incidents, at, link)
    for at in (61, 62):
        found = step(incidents, at, link, replace(tor(60), bad=np.arange(60)))
    assert [doc.component for doc in found] == ["tor:t1"]


def test_what_a_link_of_a_gray_switch_loses_is_a_child_unless_it_is_far_worse() -> None:
    for effect, child in ((0.01, True), (0.5, False)):
        incidents = tracker()
        for at in (0, 1):
            parent = step(incidents, at, tor(0, effect=0.004))
        for at in (30, 31):
            link = replace(loss("link:agg:a1|tor:t1", 29, effect=effect), bad=np.arange(50, 60))
            found = step(incidents, at, tor(0, effect=0.004), link)
        link_documents = [doc for doc in found if doc.component.startswith("link:")]
        assert [doc.parent == parent[0].incident_id for doc in link_documents] == [child]


def beside_its_tor(at: int, *, effect: float, symptom: Symptom = "loss") -> tuple[Verdict, Verdict]:
    link = replace(loss("link:agg:a1|tor:t1", at, effect=effect), symptom=symptom)
    return tor(0, effect=0.2), replace(link, bad=np.arange(50, 60))


def test_what_is_silent_is_no_part_of_what_its_switch_loses() -> None:
    incidents = tracker()
    for at in (0, 1):
        step(incidents, at, tor(0, effect=0.2))
    for at in (30, 31):
        found = step(incidents, at, *beside_its_tor(29, effect=0.96, symptom="unconnectivity"))
    assert [(doc.symptom, doc.parent) for doc in found if doc.component.startswith("link:")] == [
        ("unconnectivity", None)
    ]


@pytest.mark.parametrize(("symptom", "switch"), [("unconnectivity", 0.2), ("loss", 0.05)])
def test_a_child_that_becomes_silent_or_far_worse_stands_alone(
    symptom: Symptom, switch: float
) -> None:
    incidents = tracker()
    around = tor(0, effect=switch)
    link = replace(loss("link:agg:a1|tor:t1", 29, effect=switch), bad=np.arange(50, 60))
    worse = replace(link, symptom=symptom, effect=0.96)
    for at in (0, 1):
        step(incidents, at, around)
    for at in (30, 31):
        (*_, child) = step(incidents, at, around, link)
    later = [doc for at in range(32, 42) for doc in step(incidents, at, around, worse)]
    alone = later[-1]
    assert child.parent is not None
    assert (alone.incident_id, alone.symptom) == (child.incident_id, symptom)
    assert alone.parent is None
