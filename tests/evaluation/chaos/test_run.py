"""What has to hold after a fault: every record accounted for, the same incidents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evaluation.chaos import table
from evaluation.chaos.faults import FAULTS, Fault, Step
from evaluation.chaos.observer import Identity, Judged, Pane
from evaluation.chaos.run import Outcome, check

FAULT = Fault("x", "something", (Step(46, lambda _: None),))
LINK = Identity("1", "link:a|b", "2026-01-01T00:00:40Z", None)
OTHER = Identity("2", "rnic:c", "2026-01-01T00:00:41Z", None)


def outcome(fault: Fault = FAULT, **other: Any) -> Outcome:
    good: dict[str, Any] = {
        "published": 100, "stored": 100, "judged": 100, "again_s": 3.0, "named_s": 5.0,
        "found": {LINK}, "expected": {LINK},
    }  # fmt: skip
    return Outcome(fault, **{**good, **other})


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"stored": 99}, "100 records were published, 99 are stored"),
        ({"judged": 99}, "of 100 records 99 were judged"),
        ({"judged": 99, "late": 1}, "of 100 records 99 were judged"),
        ({"judged": 101}, "of 100 records 101 were judged"),
        ({"letters": 1}, "0 messages cannot be read, 1 are dead letters"),
        ({"poison": 1}, "1 messages cannot be read, 0 are dead letters"),
        ({"missing": 1}, "0 messages were deleted unread, 1 are reported"),
        ({"found": {LINK, OTHER}}, "incidents differ"),
        ({"found": set()}, "incidents differ"),
        ({"found": {LINK._replace(opened_at="later")}}, "incidents differ"),
        ({"again_s": None}, "judging did not go on"),
        ({"failed": ["healthz: refused"]}, "1 requests of the API failed, healthz: refused"),
        ({"lists_lost": 2}, "agents gave up 2 ping lists"),
        ({"fault": replace(FAULT, replicas=True)}, "no request of the API was answered"),
    ],
)  # fmt: skip
def test_what_is_lost_or_invented_is_a_problem(other: dict[str, Any], problem: str) -> None:
    assert [*check(outcome())] == []
    found = [*check(outcome(**other))]
    assert len(found) == 1
    assert problem in found[0]


def test_records_may_be_late_duplicate_or_deleted_where_the_fault_says_so() -> None:
    assert not [*check(outcome(replace(FAULT, late=True), judged=90, late=10))]
    twice = replace(FAULT, duplicate=True)
    assert not [*check(outcome(twice, published=110, repeated=10, duplicate=10))]
    gone = replace(FAULT, overtaken=True)
    assert not [*check(outcome(gone, judged=90, overtaken=15, missing=2, overtaken_messages=2))]
    assert not [*check(outcome(gone, found=set()))], "its evidence was deleted"
    assert [*check(outcome(gone, found={OTHER}))], "but none is invented"


def test_of_a_second_that_is_closed_twice_the_first_complete_version_counts() -> None:
    judged = Judged()
    first, second = (Pane("pane", 0, "f", 7, epoch) for epoch in (1, 2))
    judged.add(first, 0, 2, 10)
    judged.add(second, 0, 2, 10)
    assert judged.records == 0
    judged.add(second, 1, 2, 5)
    judged.add(first, 1, 2, 99)
    judged.add(first._replace(partition=1), 0, 1, 4)
    assert judged.records == 19


def test_the_table_stands_between_its_marks_and_nothing_else_changes() -> None:
    first, second = FAULTS[:2]
    page = (
        "before\n<!-- chaos: written by make chaos-test -->\n"
        f"| {first.text} | old |\n| {second.text} | stays |\n<!-- end of chaos -->\nafter\n"
    )
    row = table.row(outcome(first, problems=["lost"]), timed=True)
    found = table.into(page, {first.text: row})
    assert found.startswith("before\n")
    assert found.endswith("\nafter\n")
    assert "old" not in found.partition("|---|")[2]
    assert f"{row}\n| {second.text} | stays |\n" in found
    with pytest.raises(ValueError, match="lacks"):
        table.into("a page without marks", {})


def test_a_row_has_no_times_of_a_busy_machine() -> None:
    timed, untimed = (table.row(outcome(), timed=timed) for timed in (True, False))
    assert timed == "| something | 100 | 100 | 100 | 0 | 0 | 0 | 0 | 1 of 1 | 5.0 s | 3.0 s | yes |"
    assert untimed == timed.replace("5.0 s | 3.0 s", "- | -")


def test_faults_have_names_of_their_own_and_steps_in_order() -> None:
    assert len({each.name for each in FAULTS}) == len(FAULTS)
    for each in FAULTS:
        assert [step.at_s for step in each.steps] == sorted(step.at_s for step in each.steps)
