"""What skh.windows says of the future does not stop a localizer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ping_samples import START_S
from test_ingest_agents import Event, Outbox, Quiet, windows_messages

from localizer.localizer import Localizer
from schemas import topics
from schemas.documents.incident import Incident
from schemas.wire.window_chunks import Header, WindowsError
from streams.kafka.messages import InMessage
from streams.localize.plausible_times import MOST_AHEAD_S, check_times
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

    async def nothing() -> list[Incident]:
        return []

    stage = LocalizeStage(
        Outbox(), lambda _: Localizer(), nothing, Quiet(), clock_s=lambda: clock_s
    )
    messages = windows_messages(20)
    story = [*messages[:at], forged(0, by_s, insert(messages)), *messages[at:]]
    for offset, each in enumerate(story):
        await stage.take(Event(each._replace(offset=offset), 0, []))
    return stage.judged_s("f1"), stage


@pytest.mark.parametrize("at", [0, 1, 10])
@pytest.mark.parametrize("kind", [punctuation, pane])
async def test_a_message_of_next_year_does_not_blind_the_localizer(
    kind: Callable[[list[InMessage]], InMessage], at: int
) -> None:
    newest_s, stage = await judged(kind, at)
    assert newest_s == START_S + 19
    anchored = at == 0 and kind is pane  # it was believed until the present came
    assert stage.dead_lettered == (0 if anchored else 1)


@pytest.mark.parametrize("clock_s", [NOW_S - YEAR_S, NOW_S + YEAR_S])
async def test_a_wrong_clock_of_ours_does_not_blind_it_either(clock_s: float) -> None:
    newest_s, stage = await judged(pane, 10, clock_s, by_s=0)
    assert newest_s == START_S + 19
    assert stage.dead_lettered == 0


async def test_a_wrong_clock_of_ours_and_a_forged_one_of_theirs() -> None:
    newest_s, stage = await judged(punctuation, 10, NOW_S - YEAR_S)
    assert newest_s == START_S + 19
    assert stage.dead_lettered == 1


def test_times_within_an_hour_are_believed_and_heartbeats_close_nothing() -> None:
    def at(kind: str, ahead_s: int) -> Header:
        return Header(kind, "f1", int(NOW_S) + ahead_s, int(NOW_S) + ahead_s)  # type: ignore[arg-type]

    assert not check_times(at("punctuation", MOST_AHEAD_S), START_S, NOW_S)
    assert not check_times(at("heartbeats", YEAR_S), START_S, NOW_S)
    with pytest.raises(WindowsError, match="3700 s ahead of our clock"):
        check_times(at("pane", 3700), START_S, NOW_S)


async def test_a_punctuation_that_is_no_json_is_a_dead_letter() -> None:
    async def nothing() -> list[Incident]:
        return []

    outbox = Outbox()
    stage = LocalizeStage(outbox, lambda _: Localizer(), nothing, Quiet(), clock_s=lambda: NOW_S)
    messages = windows_messages(20)
    bodies = [b"{", b"\xff", b"5", b'{"skewed":{"h1":"x"}}', b"[" * 10**5]
    bad = [punctuation(messages)._replace(value=body) for body in bodies]
    for offset, each in enumerate([*messages[:5], *bad, *messages[5:]]):
        await stage.take(Event(each._replace(offset=offset), 0, []))
    assert stage.judged_s("f1") == START_S + 19
    letters = [each for each in outbox.sent if each.topic == topics.DEAD_LETTER.name]
    assert [each.value for each in letters] == bodies
