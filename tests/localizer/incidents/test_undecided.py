"""Two links fit the first losses, and the less likely one may be the culprit: the incident says so.

What an incident leaves open as it opens stays in its tie set until a verdict rules it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from localizer.incidents import undecided
from localizer.incidents.tracked_incident import Impact
from localizer.incidents.tracker import IncidentTracker
from localizer.verdicts.verdict import Beside, Untraced, Verdict
from schemas.documents.incident import Incident

START_S = 1_780_000_000
LEFT, RIGHT = "link:spine:s0|tor:t0", "link:spine:s1|tor:t0"


def lossy(component: str, confidence: float, others: Mapping[str, float], **more: Any) -> Verdict:
    known = Verdict(
        component, [component], "underlay", "loss", 1e-12, confidence,
        np.arange(9), 40, START_S, effect=0.3, others=others,
    )  # fmt: skip
    return replace(known, **more)


class Story:
    def __init__(self) -> None:
        self.tracker = IncidentTracker("f1", lateness_s=2.0, strategy="hypothesis")
        self.at = 0

    def second(self, *seen: Verdict) -> list[Incident]:
        self.at += 1
        pairs = [(each, Impact("P2", [], [])) for each in seen]
        return [document for document, _ in self.tracker.step(START_S + self.at, pairs)]


@pytest.fixture
def story() -> Story:
    """An incident that has just opened on one link, with another one left open."""
    story = Story()
    assert not story.second(lossy(LEFT, 0.85, {RIGHT: 0.12}))
    (opened,) = story.second(lossy(LEFT, 0.93, {RIGHT: 0.05}))
    assert opened.component == LEFT
    assert opened.tie_set == [LEFT, RIGHT]
    assert opened.evidence["tie_set_probability"] == {LEFT: 0.93, RIGHT: 0.05}
    return story


def test_it_narrows_as_soon_as_the_evidence_tells(story: Story) -> None:
    assert not story.second(lossy(LEFT, 0.96, {RIGHT: 0.02})), "still open: nothing new to say"
    (later,) = story.second(lossy(LEFT, 0.99, {}))
    assert (later.version, later.component, later.tie_set) == (2, LEFT, [LEFT])


def test_the_other_one_takes_over_the_same_incident(story: Story) -> None:
    assert not story.second(lossy(RIGHT, 0.99, {}))
    assert not story.second(lossy(RIGHT, 0.99, {}))
    (later,) = story.second(lossy(RIGHT, 0.99, {}))
    assert (later.version, later.component, later.tie_set) == (2, RIGHT, [RIGHT])
    assert story.tracker.open == 1


def test_a_verdict_now_and_then_on_the_other_one_renames_nothing(story: Story) -> None:
    """One of a long window, which holds another fault, was the only one of its kind, and wrong."""
    for _ in range(4):
        assert not story.second(lossy(RIGHT, 0.95, {}))
        assert not story.second(lossy(RIGHT, 0.95, {}))
        assert all(each.component == LEFT for each in story.second(lossy(LEFT, 0.9, {RIGHT: 0.1})))


def test_the_name_does_not_flicker_while_both_are_likely(story: Story) -> None:
    for _ in range(20):
        for document in story.second(lossy(RIGHT, 0.6, {LEFT: 0.39})):
            assert document.component == LEFT
            assert {*document.tie_set} == {LEFT, RIGHT}
            assert document.confidence == 0.39
    (later,) = story.second(lossy(RIGHT, 0.97, {LEFT: 0.02}))
    assert (later.component, later.confidence) == (RIGHT, 0.97)
    assert later.tie_set == [RIGHT, LEFT]


def test_a_verdict_on_either_link_in_one_second_is_two_faults(story: Story) -> None:
    both = lossy(LEFT, 0.99, {}), lossy(RIGHT, 0.99, {}, bad=np.arange(20, 29))
    (narrowed,) = story.second(*both)
    assert (narrowed.component, narrowed.tie_set) == (LEFT, [LEFT])
    (second,) = story.second(*both)
    assert (second.version, second.component) == (1, RIGHT)
    assert story.tracker.open == 2


def test_a_link_that_loses_beside_the_named_one_is_another_fault(story: Story) -> None:
    beside = Beside(apart=frozenset({LEFT}))
    other = lossy(RIGHT, 0.99, {}, bad=np.arange(20, 29), beside=beside)
    assert not story.second(other)
    (second,) = story.second(other)
    assert (second.version, second.component) == (1, RIGHT)


def test_what_is_left_open_is_a_suspect_but_not_known_to_lose(story: Story) -> None:
    """A suspect is as likely as the named link to go on; the paths of what is known to lose are
    left out where others are compared."""
    assert story.tracker.open_components() == [("reachability", [LEFT, LEFT, RIGHT])]
    assert story.tracker.troubled_since("reachability", START_S) == {LEFT}


def test_an_incident_that_is_clear_is_not_widened_later() -> None:
    story = Story()
    story.second(lossy(LEFT, 0.99, {}))
    (opened,) = story.second(lossy(LEFT, 0.99, {}))
    assert opened.tie_set == [LEFT]
    for _ in range(20):
        for document in story.second(lossy(LEFT, 0.6, {RIGHT: 0.4}, bad=np.arange(30))):
            assert document.tie_set == [LEFT]


def test_what_untraced_routes_leave_open_is_more_than_the_alternatives() -> None:
    untraced = lossy(LEFT, 0.4, {RIGHT: 0.1}, untraced=Untraced(3, 9))
    assert undecided.opening(untraced) is untraced
