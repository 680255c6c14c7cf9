"""Records that an agent had kept on disk: stored as late, and no clock is judged by them."""

from __future__ import annotations

from builders.streams.ping_records import START_S, message, ping

from schemas import topics
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing.partition import PartitionWorker

HOSTS = 4


def present(second: int) -> list[InMessage]:
    """What each host measured in a second."""
    return [
        message(0, [ping(second + k / 4, f"h{h}", f"h{h % HOSTS + 1}") for k in range(4)],
                arrival_s=second + 1)
        for h in range(1, HOSTS + 1)
    ]  # fmt: skip


def kept(second: int, arrival_s: float) -> list[InMessage]:
    """The same, sent later."""
    out = []
    for each in present(second):
        headers = {**each.headers, topics.SPOOLED: b"1"}
        out.append(each._replace(time_ms=int((START_S + arrival_s) * 1000), headers=headers))
    return out


def stepped(messages: list[InMessage]) -> tuple[PartitionWorker, list[OutMessage]]:
    worker = PartitionWorker(0, epoch=1)
    out: list[OutMessage] = []
    for offset, each in enumerate(messages):
        out += worker.step([each._replace(offset=offset)])
    return worker, out


def published(out: list[OutMessage]) -> list[bytes]:
    return [each.value for each in out if dict(each.headers).get("kind") in (b"pane", b"window")]


def test_records_of_an_outage_do_not_delay_the_present() -> None:
    before = [m for s in range(10) for m in present(s)]
    after = [[*present(s)] for s in range(310, 330)]
    plain, expected = stepped([*before, *(m for each in after for m in each)])
    backlog = [[m for k in range(15) for m in kept(10 + 15 * i + k, 311 + i)] for i in range(20)]
    mixed = [m for each, late in zip(after, backlog, strict=True) for m in (*each, *late)]
    worker, out = stepped([*before, *mixed])
    assert published(out) == published(expected)
    assert worker.watermark_ns == plain.watermark_ns
    late = sum(4 for each in backlog for _ in each)
    assert worker.counts.late == plain.counts.late + late
    assert worker.counts.records == plain.counts.records + late


def test_records_that_were_kept_for_a_moment_are_judged() -> None:
    messages = [m for s in range(12) for m in present(s)]
    delayed = messages[4 * 9]
    rest = [m for m in messages if m is not delayed]
    headers = {**delayed.headers, topics.SPOOLED: b"1"}
    moment = delayed._replace(time_ms=delayed.time_ms + 1000, headers=headers)
    at = 4 * 10 - 1
    worker, _ = stepped([*rest[:at], moment, *rest[at:]])
    assert worker.counts.late == 0


def test_a_worker_that_begins_with_old_records_starts_at_the_present() -> None:
    old = [m for s in range(20) for m in kept(s, 300)]
    worker, out = stepped([*old, *(m for s in range(300, 312) for m in present(s))])
    plain, expected = stepped([m for s in range(300, 312) for m in present(s)])
    assert published(out) == published(expected)
    assert worker.counts.late == len(old) * 4
    assert plain.counts.late == 0
