"""Incidents and documents that a fabric takes over; and a fabric that is not judged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from builders.streams.localize_runs import START_S, Run, two_fabrics
from builders.streams.stages import (
    Acked,
    BatchEvent,
    FixedFeed,
    RecordingProducer,
    no_incidents,
    plain_localizer,
    punctuation,
)
from builders.streams.stream_workers import worker_of

from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.metrics import Metric
from schemas.metrics import stream as metrics
from streams import counters
from streams.localize.stage import LocalizeStage
from streams.readers.operator_feed import OperatorDocument


@pytest.fixture(scope="module")
def undisturbed() -> Run:
    run = Run(two_fabrics())
    asyncio.run(run.judge())
    assert run.network("bad"), "else this proves nothing"
    return run


def test_offsets_move_while_a_fabric_is_not_judged() -> None:
    """What it needs again is read again; the commit of the others does not wait for it."""

    async def story() -> None:
        stage = LocalizeStage(RecordingProducer(), broken, no_incidents, FixedFeed(), sleep=never)
        acked: Acked = []
        for offset in range(0, 2000, 2):
            for more, name in enumerate(("bad", "good")):
                message = punctuation(offset + more, START_S + offset, name)
                await stage.consume(BatchEvent([message], 0, acked))
        assert set(stage.failing()) == {"bad"}
        assert max(acked)[1] > 1600
        stage.revoke()

    asyncio.run(story())


def broken(fabric: str) -> Localizer:
    """No localizer can be made for the fabric ``bad``."""
    if fabric == "bad":
        raise RuntimeError("no localizer")
    return Localizer()


async def never(_: float) -> None:
    await asyncio.Event().wait()


class Picky(Localizer):
    """Fails on maintenance of one host."""

    def maintain(self, documents: Any) -> None:
        new = list(documents)
        if any(each.component == "host:bad" for each in new):
            raise RuntimeError("injected")
        super().maintain(new)


class Unchecked(Placement, frozen=True, kw_only=True):
    """A placement that the schema would refuse."""

    def __post_init__(self) -> None: ...


def test_a_bad_document_costs_no_other(undisturbed: Run) -> None:
    """Of incidents to restore, placements and maintenance: the others are taken over."""
    first = undisturbed.network("bad")[0]
    spoilt = msgspec.structs.replace(first, incident_id="spoilt", opened_at="yesterday")
    times = {"start": "2026-05-28T20:00:00Z", "until": "2026-05-28T21:00:00Z", "reason": "optics"}
    docs: list[OperatorDocument] = [
        Unchecked(
            node_id=name, node_sn="h1", state="ready", fabric="bad",
            valid_from="2026-05-28T20:26:40Z" if name == "box" else "yesterday",
        )
        for name in ("spoilt", "box")
    ]  # fmt: skip
    docs += [Maintenance(component=f"host:{n}", fabric="bad", **times) for n in ("bad", "h9")]

    async def read() -> list[Incident]:
        return [spoilt, first]

    async def story() -> None:
        producer = RecordingProducer()
        stage = LocalizeStage(producer, lambda _: Picky(), read, FixedFeed(*docs))
        await stage.consume(BatchEvent([punctuation(0, START_S)], 0, []))
        [fabric] = stage.fabrics
        assert fabric.localizer is not None
        assert fabric.localizer.open_incidents == 1
        sizes = fabric.localizer.sizes()
        assert (sizes["placements"], sizes["maintenance"]) == (1, 1)
        assert stage.counts.failures == {"bad": 3}
        [opened] = [each for each in producer.incidents("bad") if each.kind == "pipeline"]
        assert "incident document of spoilt" in str(opened.evidence["text"])

    asyncio.run(story())


def test_an_open_pipeline_incident_of_a_former_process_is_resolved(undisturbed: Run) -> None:
    async def story() -> None:
        producer = RecordingProducer()
        first = LocalizeStage(producer, broken, no_incidents, FixedFeed(), sleep=never)
        await first.consume(BatchEvent([punctuation(0, START_S)], 0, []))
        first.revoke()
        [opened] = producer.incidents("bad")

        async def read() -> list[Incident]:
            return [opened, *undisturbed.network("bad")]

        second = LocalizeStage(producer, plain_localizer, read, FixedFeed())
        assert not second.counts.failures
        for offset in range(1, 15):
            await second.consume(BatchEvent([punctuation(offset, START_S + offset)], 0, []))
        last = producer.incidents("bad")[-1]
        assert (last.incident_id, last.version, last.state) == (opened.incident_id, 2, "resolved")

    asyncio.run(story())


def test_failures_are_counted_by_fabric_in_the_metrics() -> None:
    def found(stage: LocalizeStage) -> Iterator[tuple[Metric, tuple[str, ...], float]]:
        worker = worker_of(stage, FixedFeed())
        return ((each.metric, each.labels, each.value) for each in counters.samples(worker))

    async def story() -> None:
        producer = RecordingProducer()
        stage = LocalizeStage(producer, broken, no_incidents, FixedFeed(), sleep=never)
        await stage.consume(BatchEvent([punctuation(0, START_S)], 0, []))
        samples = list(found(stage))
        assert (metrics.STREAM_FABRIC_FAILURES, ("bad",), 1) in samples
        assert (metrics.STREAM_FABRIC_FAILING, ("bad",), True) in samples
        assert (metrics.STREAM_LOCALIZER_SIZE, ("fabrics",), 1) in samples
        stage.revoke()

    asyncio.run(story())


def test_incidents_resolved_long_ago_are_not_restored(undisturbed: Run) -> None:
    last = undisturbed.network("bad")[-1]
    old = [
        msgspec.structs.replace(
            last, incident_id=f"old-{n}", state="resolved", updated_at="2020-01-01T00:00:00.000Z"
        )
        for n in range(1000)
    ]
    still_open = msgspec.structs.replace(old[0], incident_id="open", state="open")
    restored: list[list[str]] = []

    class Recording(Localizer):
        def restore(self, incidents: list[Incident]) -> None:
            restored.append([each.incident_id for each in incidents])

    async def read() -> list[Incident]:
        return [*old, still_open, last]

    async def story() -> None:
        producer = RecordingProducer()
        stage = LocalizeStage(producer, lambda _: Recording(), read, FixedFeed())
        await stage.consume(BatchEvent([punctuation(0, START_S)], 0, []))

    asyncio.run(story())
    assert restored == [["open", last.incident_id]]
