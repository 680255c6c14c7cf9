"""Questions to brokers that do not answer are asked again; others fail."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from skeletonhunter.errors import DependencyUnreachable
from skeletonhunter.services.lifecycle import command_error
from streams.kafka.offset_ranges import until_answered

pytestmark = pytest.mark.anyio


async def test_a_question_is_asked_until_the_coordinator_answers() -> None:
    answers: list[int] = [
        KafkaError._TIMED_OUT,  # noqa: SLF001 — the name of librdkafka's code
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    ]

    def ask() -> str:
        if answers:
            raise KafkaException(KafkaError(answers.pop(0)))
        return "ranges"

    assert await until_answered(ask) == "ranges"
    assert not answers


async def test_a_refusal_is_not_asked_again_and_names_the_dependency() -> None:
    def ask() -> str:
        raise KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))

    with pytest.raises(KafkaException) as refused:
        await until_answered(ask)
    assert isinstance(command_error(refused.value), DependencyUnreachable)
