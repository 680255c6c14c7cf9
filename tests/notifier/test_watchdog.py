"""The watchdog is asked while judging goes on, and only then."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from notifier.decisions.judging import JudgingProgress
from notifier.delivery.post import Outcome
from notifier.messages.requests import Request
from notifier.watchdog import Watchdog
from schemas.documents.coverage import Coverage, encode
from schemas.documents.times import rfc3339

NOW_S = 1_780_000_000.0


class Service:
    """What a dead man's switch gets."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.outcome = Outcome("delivered")

    async def send(self, request: Request) -> Outcome:
        self.requests.append(request)
        return self.outcome


def judged(at_s: float, fabric: str = "f1") -> bytes:
    return encode(Coverage(
        fabric=fabric, at=rfc3339(int(at_s * 1e9)), paths=1, components=1, uncovered=0, untraced=0,
        uncovered_names=[], untraced_names=[],
    ))  # fmt: skip


def asked(*messages: bytes, now_s: float = NOW_S, fabrics: tuple[str, ...] = ()) -> bool:
    service = Service()
    watchdog = Watchdog(service, JudgingProgress(300, fabrics), 60, lambda: now_s)
    for each in messages:
        watchdog.read(each, int(NOW_S * 1000))
    asyncio.run(watchdog.step())
    return bool(service.requests)


def test_the_watchdog_is_asked_while_judging_goes_on() -> None:
    assert asked(judged(NOW_S - 20))


def test_the_watchdog_is_not_asked_when_judging_has_stopped() -> None:
    assert asked(judged(NOW_S - 20), now_s=NOW_S + 279)
    assert not asked(judged(NOW_S - 20), now_s=NOW_S + 281)


def test_the_watchdog_is_not_asked_before_anything_is_judged() -> None:
    assert not asked()


def test_a_worker_that_reads_old_messages_again_is_not_judging_yet() -> None:
    assert not asked(judged(NOW_S - 3600))


def test_a_clock_that_is_ahead_does_not_hide_that_judging_has_stopped() -> None:
    assert not asked(judged(NOW_S + 86_400), now_s=NOW_S + 301)


def test_each_fabric_that_is_named_must_be_judged() -> None:
    both = ("f1", "f2")
    assert asked(judged(NOW_S), judged(NOW_S, "f2"), fabrics=both)
    assert not asked(judged(NOW_S), fabrics=both)
    assert not asked(judged(NOW_S), judged(NOW_S - 400, "f2"), fabrics=both)


def test_without_names_one_fabric_that_is_judged_is_enough() -> None:
    assert asked(judged(NOW_S - 400, "f2"), judged(NOW_S))


def test_an_invalid_message_is_an_error_of_its_reader() -> None:
    watchdog = Watchdog(Service(), JudgingProgress(300), 60)
    with pytest.raises(ValueError, match="fabric"):
        watchdog.read(msgspec.json.encode({"at": "x"}), 0)


def test_the_metrics_say_whether_judging_goes_on_and_what_became_of_requests() -> None:
    service = Service()
    service.outcome = Outcome("again", "HTTP 503")
    watchdog = Watchdog(service, JudgingProgress(300), 60, lambda: NOW_S)
    watchdog.read(judged(NOW_S), int(NOW_S * 1000))
    asyncio.run(watchdog.step())
    found = {(each.metric.name, each.labels): each.value for each in watchdog.samples()}
    assert found["skh_notifier_judging", ()] == 1
    assert found["skh_notifier_watchdog_requests_total", ("failed",)] == 1
