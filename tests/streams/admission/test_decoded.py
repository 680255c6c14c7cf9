"""Messages of several partitions decoded together give what each partition gives by itself."""

from __future__ import annotations

from itertools import pairwise

from builders.schemas.record_formats import arrow, ndjson
from builders.streams.hostile_bytes import fuzzed, mutated
from builders.streams.ping_records import START_S, ping
from hypothesis import given
from hypothesis import strategies as st

from schemas import topics
from streams.admission.admission import Admission
from streams.admission.decoded import decode
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing.partition import PartitionWorker

PARTITIONS = 3


def rows(second: int, source: str) -> list[dict[str, object]]:
    return [ping(second, src=source, dst_port=port) for port in range(5)]


#: Messages in the order of time: whole seconds of two hosts, some invalid rows, NDJSON among Arrow.
MESSAGES = [
    *(arrow(*rows(second, source)) for second in range(12) for source in ("h1", "h2")),
    arrow(*rows(3, "h3"), {**ping(3), "dial": "?"}),
    arrow({**ping(4), "task_type": "TRACEROUTE", "route": '["a", null]'}),
    ndjson({**ping(5), "task_type": "TRACEROUTE", "route": "no route"}, ping(6)),
]


@st.composite
def arrivals(draw: st.DrawFn) -> list[list[InMessage]]:
    """Messages of each partition: in order, some of them corrupt, repeated or missing."""
    choice = st.sampled_from(range(len(MESSAGES)))
    out = []
    for _ in range(PARTITIONS):
        numbers = sorted(draw(st.lists(choice, max_size=25)))
        found = []
        for offset, number in enumerate(numbers):
            raw = MESSAGES[number]
            if draw(st.integers(0, 9)) == 0:
                raw = draw(mutated(raw))
            kind = topics.NDJSON if MESSAGES[number][:1] == b"{" else topics.ARROW
            headers = {topics.CONTENT_TYPE: kind.encode()}
            time_ms = START_S * 1000 + 500 * number
            found.append(InMessage(offset, time_ms, raw, headers, b"h%d" % (number % 2)))
        out.append(found)
    return out


@fuzzed(20)
@given(arrivals(), st.integers(1, 30))
def test_partitions_give_the_same_alone_and_together(
    inboxes: list[list[InMessage]], size: int
) -> None:
    alone = [PartitionWorker(partition, 1) for partition in range(PARTITIONS)]
    together = [PartitionWorker(partition, 1) for partition in range(PARTITIONS)]
    expected: list[list[OutMessage]] = [[] for _ in inboxes]
    found: list[list[OutMessage]] = [[] for _ in inboxes]
    for at in range(0, max(map(len, inboxes)), size):
        steps = [inbox[at : at + size] for inbox in inboxes]
        messages = [message for step in steps for message in step]
        where = [partition for partition, step in enumerate(steps) for _ in step]
        replays = {worker.partition: worker.replays for worker in together}
        decoded = decode(Admission(), messages, where, replays)
        edges = [sum(map(len, steps[:partition])) for partition in range(PARTITIONS + 1)]
        for partition, (first, end) in enumerate(pairwise(edges)):
            if first < end:
                part = decoded.of(first, end)
                found[partition] += together[partition].step(steps[partition], part)
                expected[partition] += alone[partition].step(steps[partition])
    for partition, worker in enumerate(together):
        found[partition] += worker.finish()
        expected[partition] += alone[partition].finish()
        assert worker.counts == alone[partition].counts
        assert [(o.value, o.headers) for o in found[partition]] == [
            (o.value, o.headers) for o in expected[partition]
        ]
