"""What a fabric takes over from topics, and what becomes of it while it is not judged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fabric_runs import START_S, Event, Recorder, Run, Told, said
from worker_samples import worker_of

from localizer.localizer import Localizer
from schemas import metrics
from schemas.documents.incident import Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.wire import window_chunks
from streams import counters
from streams.kafka.messages import InMessage, OutMessage
from streams.localize.operator_feed import Notice
from streams.localize.stage import LocalizeStage


@pytest.fixture(scope="module")
def undisturbed() -> Run:
    run = Run(said())
    asyncio.run(run.judge())
    assert run.network("bad"), "else this proves nothing"
    return run


def test_offsets_move_while_a_fabric_is_not_judged() -> None:
    """What it needs again is read again; the commit of the others does not wait for it."""

    async def story() -> None:
        stage = LocalizeStage(
            Recorder(SimpleNamespace(send=_nothing)),  # type: ignore[arg-type]
            broken, no_incidents, Told(), sleep=never,
        )  # fmt: skip
        acked: list[int] = []
        for offset in range(0, 2000, 2):
            for more, name in enumerate(("bad", "good")):
                header = window_chunks.Header(
                    "punctuation", name, START_S + offset, START_S + offset
                )
                at_ms = (START_S + offset) * 1000
                message = InMessage(offset + more, at_ms, b"", dict(header.to_kafka()))
                await stage.take(Event(message, acked))
        assert set(stage.failing()) == {"bad"}
        assert max(acked) > 1600
        stage.forget()

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    def broken(fabric: str) -> Localizer:
        if fabric == "bad":
            raise RuntimeError("no localizer")
        return Localizer()

    asyncio.run(story())


async def _nothing(_: Sequence[OutMessage]) -> None:
    pass


async def no_incidents() -> list[Incident]:
    return []


class Picky(Localizer):
    """Cannot take some maintenance in."""

    def maintain(self, documents: Any) -> None:
        new = list(documents)
        if any(each.component == "host:bad" for each in new):
            raise RuntimeError("injected")
        super().maintain(new)


class Unchecked(Placement, frozen=True, kw_only=True):
    """A placement that the schema would refuse."""

    def __post_init__(self) -> None: ...


def test_a_bad_document_costs_itself_only(undisturbed: Run) -> None:
    """Of incidents to restore, placements and maintenance: the others are taken over."""
    first = undisturbed.network("bad")[0]
    spoilt = msgspec.structs.replace(first, incident_id="spoilt", opened_at="yesterday")
    times = {"start": "2026-05-28T20:00:00Z", "until": "2026-05-28T21:00:00Z", "reason": "optics"}
    docs: list[Notice] = [
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
        outbox = Recorder(SimpleNamespace(send=_nothing))  # type: ignore[arg-type]
        stage = LocalizeStage(outbox, lambda _: Picky(), read, Told(*docs))
        header = window_chunks.Header("punctuation", "bad", START_S, START_S)
        message = InMessage(0, START_S * 1000, b"", dict(header.to_kafka()))
        await stage.take(Event(message, []))
        [fabric] = stage.fabrics
        assert fabric.localizer is not None
        assert fabric.localizer.open_incidents == 1
        sizes = fabric.localizer.sizes()
        assert (sizes["placements"], sizes["maintenance"]) == (1, 1)
        assert stage.failures == {"bad": 3}
        [opened] = [each for each in outbox.incidents("bad") if each.kind == "pipeline"]
        assert "incident document of spoilt" in str(opened.evidence["text"])

    asyncio.run(story())


def test_an_open_pipeline_incident_of_a_former_process_is_resolved(undisturbed: Run) -> None:
    async def story() -> None:
        outbox = Recorder(SimpleNamespace(send=_nothing))  # type: ignore[arg-type]
        first = LocalizeStage(outbox, _broken, no_incidents, Told(), sleep=_never)
        await first.take(Event(_punctuation(0), []))
        first.forget()
        [opened] = outbox.incidents("bad")

        async def read() -> list[Incident]:
            return [opened, *undisturbed.network("bad")]

        second = LocalizeStage(outbox, lambda _: Localizer(), read, Told())
        assert not second.failures
        for offset in range(1, 15):
            await second.take(Event(_punctuation(offset), []))
        last = outbox.incidents("bad")[-1]
        assert (last.incident_id, last.version, last.state) == (opened.incident_id, 2, "resolved")

    asyncio.run(story())


def _broken(_: str) -> Localizer:
    raise RuntimeError("no localizer")


async def _never(_: float) -> None:
    await asyncio.Event().wait()


def _punctuation(offset: int, fabric: str = "bad") -> InMessage:
    header = window_chunks.Header("punctuation", fabric, START_S + offset, START_S + offset)
    return InMessage(offset, (START_S + offset) * 1000, b"", dict(header.to_kafka()))


def test_failures_are_counted_by_fabric_in_the_metrics() -> None:
    def found(stage: LocalizeStage) -> Iterator[tuple[metrics.Metric, tuple[str, ...], float]]:
        worker = worker_of(stage, Told())
        return ((each.metric, each.labels, each.value) for each in counters.samples(worker))

    async def story() -> None:
        outbox = Recorder(SimpleNamespace(send=_nothing))  # type: ignore[arg-type]
        stage = LocalizeStage(outbox, _broken, no_incidents, Told(), sleep=_never)
        await stage.take(Event(_punctuation(0), []))
        samples = list(found(stage))
        assert (metrics.STREAM_FABRIC_FAILURES, ("bad",), 1) in samples
        assert (metrics.STREAM_FABRIC_FAILING, ("bad",), True) in samples
        assert (metrics.STREAM_LOCALIZER_SIZE, ("fabrics",), 1) in samples
        stage.forget()

    asyncio.run(story())


def test_resolved_incidents_of_long_ago_are_not_held(undisturbed: Run) -> None:
    last = undisturbed.network("bad")[-1]
    old = [
        msgspec.structs.replace(
            last, incident_id=f"old-{n}", state="resolved", updated_at="2020-01-01T00:00:00.000Z"
        )
        for n in range(1000)
    ]
    still_open = msgspec.structs.replace(old[0], incident_id="open", state="open")
    taken: list[list[str]] = []

    class Listening(Localizer):
        def restore(self, incidents: list[Incident]) -> None:
            taken.append([each.incident_id for each in incidents])

    async def read() -> list[Incident]:
        return [*old, still_open, last]

    async def story() -> None:
        outbox = Recorder(SimpleNamespace(send=_nothing))  # type: ignore[arg-type]
        stage = LocalizeStage(outbox, lambda _: Listening(), read, Told())
        await stage.take(Event(_punctuation(0), []))

    asyncio.run(story())
    assert taken == [["open", last.incident_id]]
