"""What channels hear: once per incident and state, also over restarts at any point."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest
from builders.schemas.incident_histories import histories, version
from hypothesis import given
from hypothesis import strategies as st

from notifier.decisions.changes import Notification
from notifier.decisions.reports import Addressed, Heard, Reports
from notifier.decisions.routes import Route
from schemas.documents.incident import Incident

ALL = (Route(to=("all",)),)
ROUTES = (Route(to=("all",)), Route(to=("urgent",), severity=("P0",)),
          Route(to=("sure",), min_confidence=0.5))  # fmt: skip
CHANNELS = ("all", "urgent", "sure")


def heard(*versions: Incident, routes: Sequence[Route] = ALL) -> list[tuple[str, str]]:
    """Incident and change of each notification, everything delivered at once."""
    reports = Reports(routes, sorted({name for route in routes for name in route.to}))
    out = []
    for each in versions:
        for channel, notification in reports.observe(each):
            reports.delivered(channel, notification)
            out.append((notification.incident.incident_id, notification.change))
    return out


def changes(*versions: Incident) -> list[str]:
    return [change for _, change in heard(*versions)]


def test_an_incident_is_notified_when_it_opens_and_not_with_each_version() -> None:
    assert changes(version(1), version(2), version(3, paths_bad=7)) == ["opened"]


def test_an_incident_that_ends_is_resolved_once() -> None:
    over = version(3, state="resolved")
    assert changes(version(1), version(2), over, over) == ["opened", "resolved"]


def test_an_incident_that_was_never_notified_is_not_resolved() -> None:
    assert changes(version(4, state="resolved")) == []


def test_a_higher_severity_is_notified_and_a_lower_one_is_not() -> None:
    assert changes(
        version(1), version(2, severity="P0"), version(3, severity="P2"), version(4, severity="P0")
    ) == ["opened", "severity_raised"]


def test_a_severity_that_was_heard_once_is_not_raised_again_after_another_change() -> None:
    assert changes(
        version(1, severity="P0"),
        version(2, severity="P2", component="tor:t2"),
        version(3, severity="P0", component="tor:t2"),
    ) == ["opened", "component_changed"]


def test_another_component_is_notified() -> None:
    assert changes(version(1), version(2, component="tor:t2")) == ["opened", "component_changed"]


def test_an_old_version_after_a_new_one_is_ignored() -> None:
    assert changes(version(2), version(1, severity="P0"), version(2, severity="P0")) == ["opened"]


def test_an_incident_with_a_parent_is_folded_into_it() -> None:
    cause, part = version(1, "cause"), version(1, "part", parent="cause")
    assert heard(cause, part) == [("cause", "opened")]
    assert heard(part, cause) == [("cause", "opened")]


def test_an_incident_that_gets_a_parent_is_closed_and_says_of_what_it_is_a_part() -> None:
    reports = Reports(ALL, ["all"])
    reports.observe(version(1, "part"))
    reports.observe(version(1, "cause"))
    (found,) = reports.observe(version(2, "part", parent="cause"))
    assert (found.notification.change, found.notification.explained) == ("resolved", True)


def test_a_part_that_has_no_parent_any_more_opens() -> None:
    cause, part = version(1, "cause"), version(1, "part", parent="cause")
    assert heard(cause, part, version(2, "part")) == [("cause", "opened"), ("part", "opened")]


def test_a_part_whose_cause_does_not_reach_the_channel_is_notified_itself() -> None:
    routes = (Route(to=("all",), severity=("P0",)),)
    cause, part = version(1, "cause"), version(1, "part", parent="cause", severity="P0")
    assert heard(cause, part, routes=routes) == [("part", "opened")]
    assert heard(part, cause, routes=routes) == [("part", "opened")]


def test_an_incident_opens_on_a_channel_when_a_route_first_leads_it_there() -> None:
    routes = (Route(to=("all",), severity=("P0",)),)
    risen = version(2, severity="P0")
    over = version(4, state="resolved")
    assert [change for _, change in heard(
        version(1), risen, version(3, severity="P2"), over, routes=routes
    )] == ["opened", "resolved"]  # fmt: skip


def test_incidents_older_than_the_first_start_are_quiet_until_they_get_worse() -> None:
    reports = Reports(ALL, ["all"])
    reports.restore(version(1), ["all"])
    assert reports.observe(version(2)) == []
    (found,) = reports.observe(version(3, severity="P0"))
    assert found.notification.change == "opened"


def test_incidents_older_than_the_first_start_are_not_resolved() -> None:
    reports = Reports(ALL, ["all"])
    reports.restore(version(1), ["all"])
    assert reports.observe(version(2, state="resolved")) == []


def test_a_channel_that_is_new_hears_of_no_old_incident_and_the_others_go_on() -> None:
    before = Reports(ALL, ["all"])
    (opened,) = before.observe(version(1))
    stored = {"AAAA": before.delivered("all", opened.notification)}
    now = Reports((Route(to=("all", "new")),), ["all", "new"], stored)
    now.restore(version(1), ["new"])
    assert [each.channel for each in now.observe(version(2, state="resolved"))] == ["all"]


def test_what_is_over_on_all_channels_is_needed_no_longer() -> None:
    reports = Reports(ALL, ["all"])
    for each in (version(1), version(2, state="resolved")):
        for channel, notification in reports.observe(each):
            stored = {"AAAA": reports.delivered(channel, notification)}
    later = Reports(ALL, ["all"], stored)
    assert later.restore(version(2, state="resolved"))
    assert not Reports(ALL, ["all"]).restore(version(2, state="resolved"))


def test_what_a_channel_believes_to_be_open_is_kept() -> None:
    reports = Reports(ALL, ["all"])
    (opened,) = reports.observe(version(1))
    stored = {"AAAA": reports.delivered("all", opened.notification)}
    assert not Reports(ALL, ["all"], stored).restore(version(2, state="resolved"))


class Lost:
    """A channel that lost the opening of an incident; then the incident goes on."""

    def __init__(self) -> None:
        self.reports = Reports(ALL, ["all"])
        (opened,) = self.reports.observe(version(1))
        self.opened = opened.notification


def test_after_a_lost_opening_the_end_is_not_notified() -> None:
    lost = Lost()
    (over,) = lost.reports.observe(version(2, state="resolved"))
    lost.reports.dropped("all", lost.opened)
    assert lost.reports.settled("all", [over.notification]) == [None]


def test_after_a_lost_opening_the_next_change_that_waits_is_the_opening() -> None:
    lost = Lost()
    (raised,) = lost.reports.observe(version(2, severity="P0"))
    lost.reports.dropped("all", lost.opened)
    (found,) = lost.reports.settled("all", [raised.notification])
    assert found is not None
    assert found.change == "opened"


def test_after_a_lost_opening_nothing_more_is_notified_until_it_gets_worse() -> None:
    lost = Lost()
    lost.reports.dropped("all", lost.opened)
    assert lost.reports.observe(version(2)) == []
    (found,) = lost.reports.observe(version(3, severity="P0"))
    assert found.notification.change == "opened"


def test_an_opening_and_an_end_that_wait_together_are_both_heard() -> None:
    reports = Reports(ALL, ["all"])
    waiting = [
        found.notification
        for each in (version(1), version(2, state="resolved"))
        for found in reports.observe(each)
    ]
    assert [each.change for each in reports.settled("all", waiting) if each] == [
        "opened", "resolved"
    ]  # fmt: skip


class Run:
    """A notifier in small: versions of a topic, one queue, restarts that lose what is in memory."""

    def __init__(self, versions: Sequence[Incident]) -> None:
        self.versions = versions
        self.sent: list[Addressed] = []
        self.stored: dict[str, Heard] = {}
        self.position = 0

    def until(self, read: int, delivered: int) -> None:
        """Start, read some versions, deliver some notifications, and be killed."""
        reports = Reports(ROUTES, CHANNELS, self.stored)
        newest = {each.incident_id: each for each in self.versions[: self.position]}
        for each in newest.values():
            if reports.restore(each):
                del self.stored[each.incident_id]
        queue: list[tuple[int, Addressed]] = []
        for offset in range(self.position, read):
            queue += [(offset, found) for found in reports.observe(self.versions[offset])]
        for _, found in queue[:delivered]:
            self.sent.append(found)
            incident_id = found.notification.incident.incident_id
            self.stored[incident_id] = reports.delivered(*found)
        left = [offset for offset, _ in queue[delivered:]]
        self.position = min(left, default=max(read, self.position))

    @property
    def keys(self) -> list[tuple[str, str, str]]:
        return [(channel, each.change, each.key) for channel, each in self.sent]


@given(histories(), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=4))
def test_restarts_at_any_point_neither_repeat_nor_lose_a_notification(
    versions: list[Incident], cuts: list[tuple[int, int]]
) -> None:
    undisturbed, killed = Run(versions), Run(versions)
    undisturbed.until(len(versions), 10_000)
    for read, delivered in cuts:
        killed.until(min(read, len(versions)), delivered)
    killed.until(len(versions), 10_000)
    assert killed.keys == undisturbed.keys


@given(histories())
def test_each_opening_has_at_most_one_end_and_no_end_comes_without(
    versions: list[Incident],
) -> None:
    run = Run(versions)
    run.until(len(versions), 10_000)
    lines: defaultdict[tuple[str, str], list[Notification]] = defaultdict(list)
    for channel, each in run.sent:
        lines[channel, each.incident.incident_id].append(each)
    for line in lines.values():
        is_open = False
        for each in line:
            assert (each.change == "opened") != is_open, line
            is_open = each.change != "resolved"
        assert len({each.key for each in line}) == len(line)


@given(histories())
def test_what_has_opened_somewhere_and_is_resolved_has_ended_there(
    versions: list[Incident],
) -> None:
    run = Run(versions)
    run.until(len(versions), 10_000)
    over = {each.incident_id for each in versions if each.state == "resolved"}
    last = {(channel, each.incident.incident_id): each for channel, each in run.sent}
    assert all(each.change == "resolved" for (_, known), each in last.items() if known in over)


@pytest.mark.parametrize(
    ("route", "goes"),
    [
        (Route(to=("x",)), True),
        (Route(to=("x",), severity=("P0", "P1")), True),
        (Route(to=("x",), severity=("P0",)), False),
        (Route(to=("x",), fabric=("f*",)), True),
        (Route(to=("x",), fabric=("g*",)), False),
        (Route(to=("x",), kind=("tor",)), True),
        (Route(to=("x",), kind=("rnic",)), False),
        (Route(to=("x",), job=("llm-*",)), True),
        (Route(to=("x",), job=("bert",)), False),
        (Route(to=("x",), tenant=("blue",)), True),
        (Route(to=("x",), tenant=("red",)), False),
        (Route(to=("x",), min_confidence=0.93), True),
        (Route(to=("x",), min_confidence=0.94), False),
        (Route(to=("x",), severity=("P1",), job=("bert",)), False),
    ],
)
def test_an_incident_takes_a_route_when_it_meets_all_of_its_conditions(
    route: Route, goes: bool
) -> None:
    assert route.matches(version(1)) is goes
