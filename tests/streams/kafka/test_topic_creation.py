"""Topics are created although a request is lost, and a refusal is told."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from schemas import topics
from streams.kafka import admin

LOST = KafkaError._DESTROY_BROKER  # noqa: SLF001 — a name
KAFKA = {"bootstrap.servers": "127.0.0.1:1"}


class Cluster:
    """An AdminClient whose brokers answer each round of creations with the next of some errors.

    What is asked is done all the same where ``does`` says so.
    """

    def __init__(self, *errors: int | None, does: bool = False) -> None:
        self._errors = list(errors)
        self._does = does
        self.topics: dict[str, Any] = {}
        self.asked: list[list[str]] = []

    def list_topics(self, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(topics=self.topics)

    def create_topics(self, wanted: list[Any], operation_timeout: float) -> dict[str, Future[None]]:
        self.asked.append([each.topic for each in wanted])
        error = self._errors.pop(0) if self._errors else None
        found: dict[str, Future[None]] = {}
        for each in wanted:
            answer = found[each.topic] = Future()
            code = KafkaError.TOPIC_ALREADY_EXISTS if each.topic in self.topics else error
            if code is None or self._does:
                self.topics[each.topic] = SimpleNamespace(partitions=range(each.num_partitions))
            if code is None:
                answer.set_result(None)
            else:
                answer.set_exception(KafkaException(KafkaError(code)))
        return found


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(cluster: Cluster) -> Cluster:
        monkeypatch.setattr(admin, "_admin", lambda _: cluster)
        return cluster

    return use


def test_only_missing_topics_are_asked_for(brokers: Any) -> None:
    cluster = brokers(Cluster())
    assert admin.create(KAFKA) == list(topics.ALL)
    assert admin.create(KAFKA) == []
    assert cluster.asked == [[topic.name for topic in topics.ALL]]


@pytest.mark.parametrize("does", [False, True], ids=["not done", "done all the same"])
@pytest.mark.parametrize("code", [LOST, KafkaError.NOT_CONTROLLER])
def test_a_request_that_is_lost_with_its_broker_is_sent_again(
    brokers: Any, code: int, does: bool
) -> None:
    cluster = brokers(Cluster(code, code, does=does))
    assert admin.create(KAFKA) == list(topics.ALL)
    assert len(cluster.asked) == (2 if does else 3)
    assert cluster.topics.keys() == {topic.name for topic in topics.ALL}


def test_a_request_that_is_lost_until_the_end_of_the_time_is_an_error(brokers: Any) -> None:
    brokers(Cluster(LOST))
    with pytest.raises(KafkaException):
        admin.create(KAFKA, timeout_s=0.0)


def test_a_refused_topic_is_an_error_at_once(brokers: Any) -> None:
    cluster = brokers(Cluster(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(KafkaException):
        admin.create(KAFKA)
    assert len(cluster.asked) == 1
