"""What skh.windows says of the future does not stop a localizer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from builders.streams.ping_records import START_S
from builders.streams.stages import (
    BatchEvent,
    FixedFeed,
    RecordingProducer,
    no_incidents,
    plain_localizer,
    windows_messages,
)

from schemas.wire.window_chunks import Header, WindowsError
from streams.kafka.messages import InMessage
from streams.localize.plausible_times import DEFAULT, check_times
from streams.localize.stage import LocalizeStage

pytestmark = pytest.mark.anyio
YEAR_S = 365 * 86_400
NOW_S = START_S + 60.0


def forged(offset: int, by_s: int, like: InMessage, **other: int) -> InMessage:
    """The message with its times moved."""
    header = Header.from_kafka(like.headers)
    moved = header._replace(
        start_s=header.start_s + by_s, end_s=header.end_s + by_s,
        watermark_ms=header.watermark_ms + by_s * 1000, **other,
    )  # fmt: skip
    return like._replace(offset=offset, headers=dict(moved.to_kafka()))


def punctuation(messages: list[InMessage]) -> InMessage:
    return next(m for m in messages if m.headers["kind"] == b"punctuation")


def pane(messages: list[InMessage]) -> InMessage:
    return next(m for m in messages if m.headers["kind"] == b"pane")


async def judged(
    insert: Callable[[list[InMessage]], InMessage],
    at: int,
    clock_s: float = NOW_S,
    by_s: int = YEAR_S,
) -> tuple[int | None, LocalizeStage]:
    """Newest second judged after 20 s of messages with a forged one among them."""

    stage = LocalizeStage(
        RecordingProducer(),
        plain_localizer,
        no_incidents,
        FixedFeed(),
        clock_s=lambda: clock_s,
    )
    messages = windows_messages(20)
    story = [*messages[:at], forged(0, by_s, insert(messages)), *messages[at:]]
    for offset, each in enumerate(story):
        await stage.consume(BatchEvent([each._replace(offset=offset)], 0, []))
    return stage.judged_s("f1"), stage


@pytest.mark.parametrize("at", [0, 1, 10])
@pytest.mark.parametrize("kind", [punctuation, pane])
async def test_a_message_of_next_year_does_not_blind_the_localizer(
    kind: Callable[[list[InMessage]], InMessage], at: int
) -> None:
    newest_s, stage = await judged(kind, at)
    assert newest_s == START_S + 19
    anchored = at == 0 and kind is pane  # accepted until a message of the present came
    assert stage.counts.dead_lettered == (0 if anchored else 1)


@pytest.mark.parametrize("clock_s", [NOW_S - YEAR_S, NOW_S + YEAR_S])
async def test_a_wrong_clock_of_the_worker_blinds_no_localizer(clock_s: float) -> None:
    newest_s, stage = await judged(pane, 10, clock_s, by_s=0)
    assert newest_s == START_S + 19
    assert stage.counts.dead_lettered == 0


async def test_a_wrong_clock_of_the_worker_and_a_forged_time_blind_no_localizer() -> None:
    newest_s, stage = await judged(punctuation, 10, NOW_S - YEAR_S)
    assert newest_s == START_S + 19
    assert stage.counts.dead_lettered == 1


def test_times_within_an_hour_are_accepted_and_those_of_heartbeats_always() -> None:
    def at(kind: str, ahead_s: int) -> Header:
        return Header(kind, "f1", int(NOW_S) + ahead_s, int(NOW_S) + ahead_s)  # type: ignore[arg-type]

    assert not check_times(at("punctuation", DEFAULT.ahead_s), START_S, NOW_S)
    assert not check_times(at("heartbeats", YEAR_S), START_S, NOW_S)
    with pytest.raises(WindowsError, match="3700 s ahead of our clock"):
        check_times(at("pane", 3700), START_S, NOW_S)


async def test_a_punctuation_that_is_not_json_is_a_dead_letter() -> None:
    producer = RecordingProducer()
    stage = LocalizeStage(
        producer, plain_localizer, no_incidents, FixedFeed(), clock_s=lambda: NOW_S
    )
    messages = windows_messages(20)
    bodies = [b"{", b"\xff", b"5", b'{"skewed":{"h1":"x"}}', b"[" * 10**5]
    bad = [punctuation(messages)._replace(value=body) for body in bodies]
    for offset, each in enumerate([*messages[:5], *bad, *messages[5:]]):
        await stage.consume(BatchEvent([each._replace(offset=offset)], 0, []))
    assert stage.judged_s("f1") == START_S + 19
    letters = producer.dead_letters()
    assert [each.value for each in letters] == bodies
