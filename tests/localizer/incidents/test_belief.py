"""The confidence of an incident is that of all its windows, not of the newest one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from localizer.explanation.confidence import cap
from localizer.explanation.parameters import DEFAULT
from localizer.incidents.belief import Belief
from localizer.incidents.tracked_incident import Impact
from localizer.incidents.tracker import IncidentTracker
from localizer.verdicts.verdict import Contrast, Measured, Verdict
from schemas.documents.incident import Incident

START_S = 1_780_000_000
NAMED, OTHER, THIRD = "link:spine:s0|tor:t0", "link:spine:s1|tor:t0", "link:spine:s2|tor:t0"


def verdict(
    confidence: float, alternatives: Mapping[str, float], window_s: int = 5, **more: Any
) -> Verdict:
    known = Verdict(
        NAMED, [NAMED], "underlay", "loss", 1e-12, confidence,
        np.arange(9), 40, START_S, effect=0.3, alternatives=dict(alternatives),
        measured=Measured(Contrast(9, 9, 0, 40), {}, 0.3, window_s, 4, []),
    )  # fmt: skip
    return replace(known, **more)


CLEAR, NOISE = verdict(0.97, {OTHER: 0.02}), verdict(0.04, {OTHER: 0.94})
LONG = verdict(0.98, {}, window_s=30)


def believed(*seen: tuple[int, Verdict]) -> Belief:
    """After verdicts, each by the window that ends with a second."""
    belief = Belief()
    for second, each in seen:
        assert each.measured is not None
        belief = belief.add(each, second + 1 - each.measured.window_s, second + 1)
    return belief


def test_of_one_window_confidence_is_what_the_verdict_says() -> None:
    for each in (CLEAR, NOISE, verdict(0.55, {OTHER: 0.3, THIRD: 0.12})):
        after = believed((10, each)).applied(each)
        assert after.confidence == pytest.approx(each.confidence)
        assert after.alternatives == each.alternatives


def test_odds_of_windows_that_share_no_second_are_multiplied() -> None:
    after = believed((10, CLEAR), (20, NOISE)).applied(NOISE)
    odds = (0.97 / 0.02) * (0.04 / 0.94)
    assert after.confidence == pytest.approx(0.98 * odds / (1 + odds))
    assert after.alternatives == {OTHER: pytest.approx(0.98 / (1 + odds), abs=1e-3)}


def test_no_window_says_more_than_99_to_1_against_what_it_does_not_list() -> None:
    after = believed((10, verdict(0.98, {})), (20, NOISE)).applied(NOISE)
    odds = (0.98 / DEFAULT.least_weighed) * (0.04 / 0.94)
    assert after.confidence == pytest.approx(0.98 * odds / (1 + odds))


def test_classes_that_no_window_tells_apart_stay_as_likely_as_each_other() -> None:
    even = verdict(0.33, {OTHER: 0.33, THIRD: 0.33})
    after = believed(*((second, even) for second in range(10, 200, 5))).applied(even)
    assert after.confidence == pytest.approx(0.33)
    assert after.alternatives == even.alternatives


def test_a_strategy_that_weighs_no_classes_is_no_surer_after_many_windows() -> None:
    blind = verdict(0.7, {})
    after = believed(*((second, blind) for second in range(10, 200, 5))).applied(blind)
    assert after.confidence == pytest.approx(0.7)


def test_many_windows_are_capped_like_one() -> None:
    likely = verdict(0.8, {OTHER: 0.19})
    after = believed(*((second, likely) for second in range(10, 200, 5))).applied(likely)
    assert 0.8 < after.confidence <= cap("link", "loss") < 1.0


def test_a_short_window_does_not_stand_for_a_long_one_that_it_overlaps() -> None:
    after = believed((30, LONG), (32, NOISE)).applied(NOISE)
    assert after.confidence > 0.95


def test_a_long_window_stands_for_the_short_ones_that_it_overlaps() -> None:
    after = believed((10, NOISE), (30, LONG)).applied(LONG)
    assert after.confidence == pytest.approx(LONG.confidence)


def test_of_sliding_windows_the_newest_counts_and_none_twice() -> None:
    sliding = believed((10, CLEAR), *((second, NOISE) for second in range(11, 15)))
    assert sliding.applied(NOISE).confidence == pytest.approx(NOISE.confidence)
    again = believed((10, CLEAR), (12, NOISE), (15, CLEAR))
    assert again.applied(CLEAR).confidence > CLEAR.confidence


def test_shares_within_a_tie_set_stay_as_the_newest_verdict_has_them() -> None:
    tied = verdict(
        0.03, {OTHER: 0.94}, tie_set=[NAMED, THIRD], tie_set_probability={NAMED: 0.03, THIRD: 0.01}
    )
    after = believed((10, CLEAR), (20, tied)).applied(tied)
    each = after.tie_set_probability
    assert each[NAMED] == pytest.approx(3 * each[THIRD], rel=1e-2)
    assert after.confidence == pytest.approx(each[NAMED], abs=1e-3)
    assert sum(each.values()) + after.alternatives[OTHER] == pytest.approx(0.98, abs=2e-3)


def test_what_an_incident_leaves_open_is_weighed_by_all_windows_too() -> None:
    open_ = verdict(
        0.6, {OTHER: 0.38}, tie_set=[NAMED, OTHER], undecided=frozenset({OTHER}),
        tie_set_probability={NAMED: 0.6, OTHER: 0.38},
    )  # fmt: skip
    after = believed((10, open_), (20, open_)).applied(open_)
    odds = (0.6 / 0.38) ** 2
    assert after.tie_set_probability == {
        NAMED: pytest.approx(0.98 * odds / (1 + odds), abs=1e-3),
        OTHER: pytest.approx(0.98 / (1 + odds), abs=1e-3),
    }
    named_other = open_.about(OTHER)
    assert believed((10, open_.about(OTHER)), (20, named_other)).applied(
        named_other
    ).confidence == pytest.approx(0.98 / (1 + odds), abs=1e-3)


def test_an_incident_of_days_keeps_few_windows_and_forgets_none() -> None:
    long = believed(*((second, CLEAR) for second in range(10, 10_000, 5)))
    assert len(long.apart) <= DEFAULT.windows_kept
    assert long.apart[0].start_s == 6
    nats = sum(each.log_odds(OTHER) for each in long.apart)
    assert nats == pytest.approx(len(range(10, 10_000, 5)) * np.log(0.02 / 0.97))


class Story:
    """An incident on a link, second by second."""

    def __init__(self) -> None:
        self.tracker = IncidentTracker("f1", lateness_s=2.0, strategy="hypothesis")

    def second(self, at: int, *seen: Verdict) -> list[Incident]:
        pairs = [(each, Impact("P2", [], [])) for each in seen]
        return [document for document, _ in self.tracker.step(START_S + at, pairs)]

    def document(self, at: int, *seen: Verdict) -> Incident:
        (document,) = self.second(at, *seen)
        return document


@pytest.fixture
def story() -> Story:
    """An incident that 30 s have shown clearly."""
    story = Story()
    story.second(30, LONG)
    story.document(31, LONG)
    return story


def test_an_incident_keeps_its_confidence_through_a_noisy_window(story: Story) -> None:
    assert story.document(45, NOISE).confidence > 0.6
    assert story.document(60).confidence > 0.6  # resolved


def test_windows_that_go_on_contradicting_it_bring_its_confidence_down(story: Story) -> None:
    written = [each for at in range(45, 85, 5) for each in story.second(at, NOISE)]
    confidences = [each.confidence for each in written]
    assert confidences == sorted(confidences, reverse=True)
    assert confidences[-1] < 0.05


def test_it_is_written_again_when_its_confidence_has_moved(story: Story) -> None:
    assert story.document(45, LONG).state == "ongoing"
    assert not story.second(56, CLEAR)
    assert not story.second(62, NOISE)
    assert 0.7 < story.document(67, NOISE).confidence < 0.9


def test_another_name_is_as_likely_as_its_own_windows_say(story: Story) -> None:
    wider = replace(LONG, component="tor:t0", tie_set=["tor:t0"])
    unsure = replace(wider, confidence=0.6, alternatives={OTHER: 0.3})
    written = [each for at in range(40, 60) for each in story.second(at, unsure)]
    renamed = [each for each in written if each.component == "tor:t0"]
    assert renamed
    assert {each.incident_id for each in written} == {renamed[0].incident_id}
    assert renamed[0].confidence == pytest.approx(0.6)


def test_the_tail_of_unreachability_leaves_the_shares_of_a_tie_set_as_they_were() -> None:
    rnic, cable = "rnic:r", "link:rnic:r|tor:t0"
    silent = verdict(
        0.92, {}, component=rnic, tie_set=[rnic, cable], symptom="unconnectivity", effect=1.0,
        tie_set_probability={rnic: 0.92, cable: 0.06},
    )  # fmt: skip
    tail = replace(
        silent, component=cable, tie_set=[cable, rnic], symptom="loss", effect=0.6, confidence=0.5,
        tie_set_probability={cable: 0.5, rnic: 0.48}, bad=np.arange(12),
    )  # fmt: skip
    story = Story()
    story.second(30, silent)
    story.document(31, silent)
    (after,) = [each for at in range(32, 45) for each in story.second(at, tail)]
    assert (after.component, after.symptom) == (rnic, "unconnectivity")
    assert after.confidence == pytest.approx(0.92, abs=0.01)


def test_a_restarted_localizer_goes_on_with_the_confidence_that_was_written(story: Story) -> None:
    written = story.document(45, LONG)
    again = Story()
    again.tracker.restore([written])
    assert again.document(56, NOISE).confidence > 0.6
