"""``skeletonhunter notify`` against a broker: once per incident and state, over kills too."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from builders.notifier.receiver import Answer, Received, Receiver, receiving
from builders.schemas.incident_histories import version
from confluent_kafka import Producer

from notifier.feed import sent_log
from schemas import topics
from schemas.documents import coverage
from schemas.documents.coverage import Coverage
from schemas.documents.incident import Incident, encode
from schemas.documents.times import rfc3339

from ..conftest import Broker, Command

pytestmark = pytest.mark.slow
RunCommand = Callable[..., Command]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def publish(broker: Broker, *incidents: Incident) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for each in incidents:
        producer.produce(topics.INCIDENTS.name, key=each.incident_id, value=encode(each))
    assert producer.flush(60) == 0


class Notifying:
    """A configuration with webhooks, and the command that uses it."""

    def __init__(self, broker: Broker, run: RunCommand, folder: Path) -> None:
        self._broker, self._run = broker, run
        self.file = folder / "notify.yaml"
        self.content: dict[str, object] = {}

    def webhooks(self, **receivers: Receiver) -> None:
        self.content = {
            "channels": {
                name: {"kind": "webhook", "url": found.url, "allow_http": True,
                       "allow_private": True, "timeout_s": 60}
                for name, found in receivers.items()
            },
            "routes": [{"to": list(receivers)}],
            "storm": {"most": 1000},
        }  # fmt: skip

    def start(self) -> Command:
        self.file.write_text(yaml.safe_dump(self.content))
        return self._run(
            "notify", "--config", str(self.file),
            SKH_KAFKA=self._broker.bootstrap, SKH_HEALTH_PORT="0",
        )  # fmt: skip

    def ready(self) -> Command:
        command = self.start()
        command.wait_for(lambda: "notifying" in command.log.read_text(), "it notifies")
        return command


@pytest.fixture
def notifying(embedded: Broker, run: RunCommand, tmp_path: Path) -> Notifying:
    return Notifying(embedded, run, tmp_path)


@pytest.fixture
def notifying_anywhere(broker: Broker, run: RunCommand, tmp_path: Path) -> Notifying:
    """Against either broker."""
    return Notifying(broker, run, tmp_path)


def heard(found: list[Received]) -> list[tuple[str, str]]:
    return [(each.json["incident_id"], each.json["type"]) for each in found]


def in_log(broker: Broker, answered: list[tuple[str, str]]) -> bool:
    """Whether the log has what the receiver has answered; it is written without waiting."""
    stored = sent_log.read({"bootstrap.servers": broker.bootstrap}).heard
    over = {incident_id for incident_id, change in answered if change == "resolved"}
    return all(
        stored[incident_id]["hook"].state == "closed" or incident_id not in over
        if incident_id in stored
        else incident_id in over  # forgotten
        for incident_id, _ in answered
    )


def metrics(command: Command) -> list[str]:
    at = re.search(r"health and metrics (http://\S+/)", command.log.read_text())
    assert at
    return httpx.get(f"{at[1]}metrics", timeout=300).text.splitlines()


def notified(change: str, outcome: str, count: int) -> str:
    labels = f'change="{change}",channel="hook",outcome="{outcome}"'
    return f"skh_notifier_notifications_total{{{labels}}} {count}.0"


def test_what_is_old_at_the_first_start_is_quiet_and_what_follows_is_notified_once(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    publish(embedded, version(1, "old"), version(1, "over"), version(2, "over", state="resolved"))
    notifying.webhooks(hook=receiver)
    command = notifying.ready()
    publish(embedded, version(2, "old"), version(1, "new"), version(2, "new"),
            version(3, "old", severity="P0"), version(3, "new", state="resolved"),
            version(4, "old", state="resolved"))  # fmt: skip
    receiver.wait(4)
    line = notified("resolved", "delivered", 2)
    command.wait_for(lambda: line in metrics(command), line)
    assert sorted(heard(receiver.received)) == [
        ("new", "opened"), ("new", "resolved"), ("old", "opened"), ("old", "resolved")
    ]  # fmt: skip
    assert "skh_notifier_leads 1.0" in metrics(command)
    assert command.stop() == 0, command.log.read_text()


def test_a_restart_repeats_nothing_and_finds_what_came_meanwhile(
    broker: Broker, notifying_anywhere: Notifying, receiver: Receiver
) -> None:
    notifying_anywhere.webhooks(hook=receiver)
    command = notifying_anywhere.ready()
    publish(broker, version(1, "a"), version(1, "b"))
    receiver.wait(2)
    assert command.stop() == 0, command.log.read_text()
    publish(broker, version(2, "a", state="resolved"), version(1, "c"),
            version(2, "c", state="resolved"))  # fmt: skip
    command = notifying_anywhere.ready()
    receiver.wait(5)
    publish(broker, version(1, "last"))
    receiver.wait(6)
    assert sorted(heard(receiver.received)) == [
        ("a", "opened"), ("a", "resolved"), ("b", "opened"), ("c", "opened"), ("c", "resolved"),
        ("last", "opened"),
    ]  # fmt: skip
    assert command.stop() == 0


def test_kills_in_mid_delivery_lose_nothing_and_repeat_only_with_the_same_key(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    """Five times the process is killed while the receiver holds a request."""
    notifying.webhooks(hook=receiver)
    notifying.ready().stop()  # the first start
    count = 40
    incidents = [f"incident-{number:02d}" for number in range(count)]
    publish(embedded, *(version(1, each) for each in incidents),
            *(version(2, each, state="resolved") for each in incidents))  # fmt: skip
    for kill in range(5):
        held, at = threading.Event(), len(receiver.received) + 7

        def answer(_: Received, held: threading.Event = held, at: int = at) -> Answer:
            return Answer(hold=held if len(receiver.received) >= at - 1 else None)

        receiver.answer = answer
        command = notifying.start()
        answered = heard(receiver.wait(at)[at - 7 : at - 1])  # of this run
        command.wait_for(lambda known=answered: in_log(embedded, known), "it is in the log")
        assert command.stop(signal.SIGKILL) == -signal.SIGKILL, kill
        held.set()
    receiver.answer = lambda _: Answer()
    command = notifying.ready()
    wanted = {(each, change) for each in incidents for change in ("opened", "resolved")}
    command.wait_for(lambda: set(heard(receiver.received)) == wanted, "all is notified")
    publish(embedded, version(1, "last"))
    command.wait_for(lambda: ("last", "opened") in heard(receiver.received), "the last one")
    keys = [each.headers["idempotency-key"] for each in receiver.received]
    assert len(set(keys)) == 2 * count + 1
    # Each time the request that was held was not in the log, and perhaps one beside an incident
    # that the log had forgotten.
    assert len(keys) - len(set(keys)) <= 5 * 2
    for each in incidents:
        changes = [change for known, change in heard(receiver.received) if known == each]
        assert changes == sorted(changes), "no end comes before its opening"
    assert command.stop() == 0


def test_a_stop_waits_for_the_answer_to_a_request_that_is_on_its_way(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    held = threading.Event()
    receiver.answer = lambda _: Answer(hold=held)
    notifying.webhooks(hook=receiver)
    command = notifying.ready()
    publish(embedded, version(1, "a"), version(1, "b"))
    receiver.wait(1)
    command.process.send_signal(signal.SIGTERM)
    held.set()
    assert command.process.wait(300) == 0
    command = notifying.ready()
    receiver.wait(2)
    publish(embedded, version(1, "last"))
    receiver.wait(3)
    assert sorted(heard(receiver.received)) == [
        ("a", "opened"), ("b", "opened"), ("last", "opened")
    ]  # fmt: skip
    assert command.stop() == 0


def test_the_watchdog_is_asked_while_coverage_shows_that_judging_goes_on(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    with receiving() as dead_man:
        notifying.webhooks(hook=receiver)
        notifying.content["watchdog"] = {
            "url": dead_man.url, "allow_http": True, "allow_private": True, "every_s": 1
        }  # fmt: skip
        command = notifying.ready()
        publish(embedded, version(1, "a"))
        receiver.wait(1)
        assert "skh_notifier_judging 0.0" in metrics(command)
        assert dead_man.received == []
        document = Coverage(
            fabric="f1", at=rfc3339(time.time_ns()), paths=1, components=1, uncovered=0,
            untraced=0, uncovered_names=[], untraced_names=[],
        )  # fmt: skip
        producer = Producer({"bootstrap.servers": embedded.bootstrap})
        producer.produce(topics.COVERAGE.name, key="f1", value=coverage.encode(document))
        assert producer.flush(60) == 0
        assert dead_man.wait(2)[0].method == "GET"
        assert "skh_notifier_judging 1.0" in metrics(command)
        assert command.stop() == 0


def test_a_channel_that_hangs_delays_no_other(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    held = threading.Event()
    with receiving() as dead:
        dead.answer = lambda _: Answer(hold=held)
        notifying.webhooks(dead=dead, hook=receiver)
        command = notifying.ready()
        publish(embedded, *(version(1, f"incident-{number}") for number in range(20)))
        receiver.wait(20)
        assert len(dead.received) == 1
        held.set()
        dead.wait(20)
        assert command.stop() == 0


def test_what_waits_for_a_dead_receiver_at_a_stop_is_sent_after_the_restart(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    with receiving() as dead:
        dead.answer = lambda _: Answer(503)
        notifying.webhooks(dead=dead, hook=receiver)
        command = notifying.ready()
        publish(embedded, *(version(1, f"incident-{number}") for number in range(9)))
        receiver.wait(9)
        dead.wait(1)
        assert command.stop() == 0, command.log.read_text()
        dead.received.clear()
        dead.answer = lambda _: Answer()
        command = notifying.ready()
        publish(embedded, version(1, "last"))
        receiver.wait(10)
        dead.wait(10)
        assert sorted(heard(dead.received)) == sorted(heard(receiver.received))
        assert command.stop() == 0


def test_a_receiver_that_fails_for_a_while_hears_everything_later(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    failures = iter([503, 503])
    receiver.answer = lambda _: Answer(next(failures, 200))
    notifying.webhooks(hook=receiver)
    command = notifying.ready()
    publish(embedded, version(1, "a"), version(2, "a", state="resolved"))
    assert heard(receiver.wait(4)) == [("a", "opened")] * 3 + [("a", "resolved")]
    assert 'skh_notifier_failed_attempts_total{channel="hook"} 2.0' in metrics(command)
    assert command.stop() == 0


def test_what_a_receiver_refuses_is_dropped_and_logged_with_its_incident(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    receiver.answer = lambda found: Answer(400 if found.json["incident_id"] == "bad" else 200)
    notifying.webhooks(hook=receiver)
    command = notifying.ready()
    publish(embedded, version(1, "bad"), version(2, "bad", state="resolved"))
    command.wait_for(lambda: "bad" in command.log.read_text(), "it says so")
    publish(embedded, version(1, "good"))
    receiver.wait(2)
    assert notified("opened", "dropped", 1) in metrics(command)
    assert "dropped opened of incident bad: HTTP 400" in command.log.read_text()
    assert heard(receiver.received) == [("bad", "opened"), ("good", "opened")]
    assert command.stop() == 0


def test_an_invalid_document_is_counted_and_stops_nothing(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    notifying.webhooks(hook=receiver)
    command = notifying.ready()
    producer = Producer({"bootstrap.servers": embedded.bootstrap})
    producer.produce(topics.INCIDENTS.name, key="x", value=b'{"incident_id": "x"', partition=0)
    producer.flush(60)
    publish(embedded, version(1, "a"))
    receiver.wait(1)
    line = 'skh_notifier_invalid_total{topic="skh.incidents"} 1.0'
    command.wait_for(lambda: line in metrics(command), line)
    assert command.stop() == 0


def test_of_two_notifiers_one_sends_and_the_other_takes_over(
    embedded: Broker, notifying: Notifying, receiver: Receiver
) -> None:
    notifying.webhooks(hook=receiver)
    first = notifying.ready()
    second = notifying.start()
    publish(embedded, version(1, "a"))
    receiver.wait(1)
    second.wait_for(lambda: "health" in second.log.read_text(), "it serves")
    first.wait_for(lambda: in_log(embedded, [("a", "opened")]), "the log has what was delivered")
    first.stop(signal.SIGKILL)
    publish(embedded, version(2, "a", state="resolved"), version(1, "b"))
    receiver.wait(3)
    assert sorted(heard(receiver.received)) == [
        ("a", "opened"), ("a", "resolved"), ("b", "opened")
    ]  # fmt: skip
    assert second.stop() == 0
