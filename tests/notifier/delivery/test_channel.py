"""A channel: pauses grow, nothing waits for ever, storms are one message."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec
import pytest
from builders.notifier.virtual_time import VirtualTime
from builders.schemas.incident_histories import version
from hypothesis import given
from hypothesis import strategies as st

from notifier.decisions.changes import Notification
from notifier.decisions.reports import Reports
from notifier.decisions.routes import Route
from notifier.decisions.storms import StormGate, StormLimits
from notifier.delivery.channel import Channel, ChannelOptions
from notifier.delivery.formats import AlertmanagerFormat, Format, PagerDutyFormat, SlackFormat
from notifier.delivery.pauses import Pauses
from notifier.delivery.post import Outcome
from notifier.messages.requests import Request
from schemas.documents.incident import Incident

SLACK = SlackFormat("", 30)
PAGERDUTY = PagerDutyFormat("", 30, "KEY")
ALERTMANAGER = AlertmanagerFormat("", 30)
AGAIN, REFUSED = Outcome("again", "HTTP 503"), Outcome("refused", "HTTP 400")


class Play:
    """A channel in virtual time; ``sent``: when which body was delivered [s]."""

    def __init__(
        self,
        form: Format,
        outcomes: Callable[[int], Outcome] = lambda _: Outcome("delivered"),
        give_up_s: float = 3600,
        queue: int = 1000,
    ) -> None:
        self._time = VirtualTime()
        self.attempts_s: list[float] = []
        self.sent: list[tuple[float, bytes]] = []
        self.settled: list[str] = []
        self.reports = Reports([Route(to=("x",))], ["x"])
        self._outcomes = outcomes
        options = ChannelOptions(
            give_up_s, queue, Pauses(1, 60), clock_s=lambda: 10**9, monotonic_s=self.now_s
        )
        gate = StormGate(StormLimits(most=3, window_s=30), form.groupable)
        self.channel = Channel("x", self, form, gate, self.reports, self._settled, options)

    def now_s(self) -> float:
        return self._time.now_s

    async def send(self, request: Request) -> Outcome:
        self.attempts_s.append(self.now_s())
        outcome = self._outcomes(len(self.attempts_s))
        if outcome.result == "delivered":
            self.sent.append((self.now_s(), request.body or b""))
        return outcome

    def publish(self, *incidents: Incident) -> None:
        for each in incidents:
            for _, notification in self.reports.observe(each):
                self.channel.put(notification)

    def run(self, *steps: tuple[float, Sequence[Incident]], until_s: float = 10_000) -> None:
        """Publish incidents at times [s], and let time pass."""

        async def play() -> None:
            working = asyncio.create_task(self.channel.run())
            for at_s, incidents in steps:
                await asyncio.sleep(max(0, at_s - self.now_s()))
                self.publish(*incidents)
            await asyncio.sleep(until_s - self.now_s())
            working.cancel()

        self._time.run(play())

    def outcomes(self) -> dict[tuple[str, ...], float]:
        return {
            each.labels[1:]: each.value
            for each in self.channel.samples()
            if each.metric.name == "skh_notifier_notifications_total"
        }

    def _settled(self, _: str, notification: Notification) -> None:
        self.settled.append(notification.key)


def incidents(count: int) -> list[Incident]:
    return [version(1, f"incident-{number}") for number in range(count)]


def events(play: Play) -> list[tuple[str, str]]:
    """PagerDuty's actions and keys."""
    found = [msgspec.json.decode(body) for _, body in play.sent]
    return [(each["event_action"], each["dedup_key"]) for each in found]


@given(st.integers(1, 100), st.floats(0, 1), st.floats(0, 10_000))
def test_pauses_grow_and_have_bounds(failures: int, random: float, after_s: float) -> None:
    pauses = Pauses(1, 60)
    pause_s = pauses.pause_s(failures, random, after_s)
    assert 0.5 <= pause_s <= 60
    assert pause_s >= min(after_s, 60)
    assert pauses.pause_s(failures + 1, random) >= pauses.pause_s(failures, random)


def test_a_notification_is_sent_again_until_the_receiver_takes_it() -> None:
    play = Play(SLACK, lambda attempt: Outcome("delivered") if attempt == 5 else AGAIN)
    play.run((0, incidents(1)))
    assert play.attempts_s == [0, 1, 3, 7, 15]
    assert play.outcomes() == {("opened", "delivered"): 1}


def test_what_cannot_be_delivered_in_time_is_dropped_with_its_incident_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    play = Play(SLACK, lambda _: AGAIN, give_up_s=100)
    play.run((0, incidents(1)))
    assert play.attempts_s[-1] <= 100
    assert play.outcomes() == {("opened", "dropped"): 1}
    assert play.settled == ["incident-0:1"]
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.getMessage() == "channel x: dropped opened of incident incident-0: HTTP 503"


def test_what_the_receiver_refuses_is_not_sent_again() -> None:
    play = Play(SLACK, lambda _: REFUSED)
    play.run((0, incidents(1)))
    assert len(play.attempts_s) == 1


def test_of_too_many_that_wait_the_last_are_dropped() -> None:
    play = Play(SLACK, lambda _: AGAIN, queue=5)
    play.run((0, incidents(1)), (1, incidents(9)[1:]), until_s=50)
    assert play.outcomes() == {("opened", "dropped"): 3}


def test_of_a_storm_the_first_are_messages_and_the_rest_is_one_summary() -> None:
    play = Play(SLACK)
    play.run((0, incidents(40)))
    assert [at_s for at_s, _ in play.sent] == [0, 0, 0, 30]
    assert b"37 more changes of incidents within 30 s: 37 opened" in play.sent[-1][1]
    assert play.outcomes() == {("opened", "delivered"): 40}
    assert len(play.settled) == 40


def test_an_incident_that_opens_and_ends_within_a_storm_is_in_its_summary_twice() -> None:
    play = Play(SLACK)
    over = [version(2, f"incident-{number}", state="resolved") for number in range(40)]
    play.run((0, [*incidents(40), *over]))
    assert play.outcomes() == {("opened", "delivered"): 40, ("resolved", "delivered"): 40}


def test_after_a_lost_opening_its_end_is_not_sent() -> None:
    play = Play(SLACK, lambda attempt: REFUSED if attempt == 1 else Outcome("delivered"))
    play.run((0, [version(1), version(2, state="resolved")]))
    assert play.sent == []
    assert play.outcomes() == {("opened", "dropped"): 1, ("resolved", "superfluous"): 1}
    assert play.settled == ["AAAA:1", "AAAA:2"]


def test_a_storm_is_one_alert_of_pagerduty_which_ends_with_its_last_incident() -> None:
    play = Play(PAGERDUTY)
    over = [version(2, f"incident-{number}", state="resolved") for number in range(6)]
    play.run((0, incidents(6)), (100, over[:5]), (200, over[5:]))
    assert events(play) == [
        ("trigger", "incident-0"), ("trigger", "incident-1"), ("trigger", "incident-2"),
        ("trigger", "summary:incident-3:1"),
        ("resolve", "incident-0"), ("resolve", "incident-1"), ("resolve", "incident-2"),
        ("resolve", "summary:incident-3:1"),
    ]  # fmt: skip
    assert play.sent[-1][0] == 200
    assert play.outcomes()["resolved", "superfluous"] == 2


def test_an_incident_of_a_summary_that_gets_worse_updates_the_alert_of_the_summary() -> None:
    play = Play(PAGERDUTY)
    play.run((0, incidents(5)), (100, [version(2, "incident-4", severity="P0")]))
    assert events(play)[-1] == ("trigger", "summary:incident-3:1")


def test_alertmanager_is_told_again_and_again_what_goes_on() -> None:
    play = Play(ALERTMANAGER)
    play.run((0.5, incidents(2)), (130, [version(2, "incident-0", state="resolved")]), until_s=190)
    sizes = [(at_s, len(msgspec.json.decode(body))) for at_s, body in play.sent]
    assert sizes == [(0.5, 1), (0.5, 1), (60, 2), (120, 2), (130, 1), (180, 1)]


def test_a_defect_in_one_message_costs_only_that_message() -> None:
    class Broken(SlackFormat):
        def one(self, notification: Notification, now_s: float) -> Request:
            if notification.incident.incident_id == "incident-0":
                raise RuntimeError("a defect")
            return super().one(notification, now_s)

    play = Play(Broken("", 30))
    play.run((0, incidents(2)))
    assert play.outcomes() == {("opened", "dropped"): 1, ("opened", "delivered"): 1}
