"""An error in judging one fabric is a visible state of that fabric alone, and it recovers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from confluent_kafka import Producer
from ping_samples import START_S as EPOCH_S
from ping_samples import batch, ping

import localizer.engine
from localizer import judge
from localizer.assemble import Assembler
from localizer.engine import Localizer
from localizer.state import FabricState
from schemas import metrics, topics, windows
from schemas.incident import Incident, decode_incident
from schemas.maintenance import Maintenance
from schemas.placement import Placement
from skeletonhunter.broker import EmbeddedBroker
from streams import counters, fabrics, restore
from streams.localise import Localise
from streams.messages import InMessage, OutMessage
from streams.notices import Notice, Notices
from streams.partition import PartitionWorker, Tally
from streams.publish import Publisher
from streams.reread import WindowsReader

START_S = EPOCH_S + 50  # BAD_S later, the localisers forget what is old
SECONDS, BAD_S, WAIT_S = 64, 30, 42  # the error comes at BAD_S; at WAIT_S the repair is awaited
HOSTS = [f"h{n}" for n in range(1, 7)]
FABRICS = ("good", "bad")


def said() -> list[OutMessage]:
    """Two fabrics through one partition; in each h3 loses half of its probes for ten seconds."""
    worker = PartitionWorker(0, epoch=1)
    out: list[OutMessage] = []
    for second in range(SECONDS):
        rows = [
            ping(
                50 + second + 0.2 + 0.1 * n, a, b, src_idc=fabric, src_port=50_000 + port, sent=4,
                src_asw="a1", dst_asw="a1",
                loss_rate=0.5 if "h3" in (a, b) and 12 <= second < 22 else 0.0,
            )
            for fabric in FABRICS
            for a in HOSTS
            for n, b in enumerate(HOSTS)
            for port in range(2)
            if a != b
        ]  # fmt: skip
        out += worker.feed(batch(rows), second, (START_S + second + 1) * 10**9)
    return out + worker.finish()


class Event:
    def __init__(self, message: InMessage, acked: list[int]) -> None:
        self._acked = acked
        self.value = None
        self.message = SimpleNamespace(
            partition=0, offset=message.offset, timestamp=message.time_ms / 1000,
            value=message.value, headers=message.headers,
        )  # fmt: skip

    def ack(self) -> None:
        self._acked.append(self.message.offset)


class Told(Notices):
    """What people and the controller say, without a broker."""

    def __init__(self, *docs: Notice) -> None:
        super().__init__({})
        self.docs = list(docs)

    async def begin(self) -> None:
        """There is nothing to read."""

    @property
    def known(self) -> list[Notice]:
        return self.docs


class Recorder:
    """Publishes, and remembers what."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self.sent: list[OutMessage] = []

    async def send(self, messages: Sequence[OutMessage]) -> None:
        await self._publisher.send(messages)
        self.sent += messages

    def incidents(self, fabric: str) -> list[Incident]:
        docs = [decode_incident(o.value) for o in self.sent if o.topic == topics.INCIDENTS.name]
        return [each for each in docs if each.fabric == fabric]


class Run:
    """A worker's localising stage on a broker of its own that holds the messages."""

    def __init__(self, messages: Sequence[OutMessage]) -> None:
        self.broker = EmbeddedBroker()
        self.kafka = {"bootstrap.servers": self.broker.bootstrap, "log_level": 3}
        producer = Producer(self.kafka)
        for each in messages:
            at_s = int(dict(each.headers)["end_s"])
            producer.produce(
                each.topic, each.value, each.key, partition=0, timestamp=at_s * 1000,
                headers=each.headers,
            )  # fmt: skip
        assert producer.flush(30) == 0
        self.count = len(messages)
        self.publisher = Publisher(self.broker.bootstrap, {"log_level": 3})
        self.outbox = Recorder(self.publisher)
        self.acked: list[int] = []
        self.waits: list[float] = []
        self.not_ready: list[dict[str, str]] = []

    async def sleep(self, wait_s: float) -> None:
        self.waits.append(wait_s)
        await asyncio.sleep(0)

    async def judge(self, notices: Notices | None = None) -> Localise:
        self.stage = stage = Localise(
            self.outbox, lambda _: Localizer(),
            lambda: restore.read_incidents(self.kafka), notices or Told(),
            open_reader=lambda p, offset: WindowsReader(self.kafka, p, offset), sleep=self.sleep,
        )  # fmt: skip
        reader = WindowsReader(self.kafka, 0, 0)
        waited = False
        while reader.position < self.count:
            for message in await asyncio.to_thread(reader.read):
                end_s = int(message.headers["end_s"]) - START_S
                if not waited and end_s >= WAIT_S:
                    waited = True
                    await self.until(lambda: not any(each.repairing for each in stage.fabrics))
                await stage.take(Event(message, self.acked))
                self.not_ready.append(stage.failing())
        reader.close()
        self.publisher.close()
        return stage

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.01)  # between two looks at a condition with a deadline

    def network(self, fabric: str) -> list[Incident]:
        return [each for each in self.outbox.incidents(fabric) if each.kind != "pipeline"]

    def pipeline(self, fabric: str) -> list[Incident]:
        return [each for each in self.outbox.incidents(fabric) if each.kind == "pipeline"]


@pytest.fixture(scope="module")
def messages() -> list[OutMessage]:
    return said()


@pytest.fixture(scope="module")
def undisturbed(messages: list[OutMessage]) -> Run:
    run = Run(messages)
    stage = asyncio.run(run.judge())
    assert run.network("good"), "else this proves nothing"
    assert run.network("bad"), "else this proves nothing"
    assert not stage.failures
    return run


def identity(docs: list[Incident]) -> set[tuple[str, str, str, str]]:
    last = {each.incident_id: each for each in docs}
    return {(i.incident_id, i.component, i.opened_at, i.state) for i in last.values()}


def at_bad_second(state: FabricState, at: int) -> bool:
    return state.fabric == "bad" and at == START_S + BAD_S


class Raising:
    """Stands before a function and raises, ``times`` times, where ``when`` says so."""

    def __init__(self, real: Callable[..., Any], when: Callable[..., bool], times: float) -> None:
        self.real, self.when, self.left, self.raised = real, when, times, 0

    def __get__(self, obj: Any, _: Any = None) -> Callable[..., Any]:
        return lambda *args, **more: self(obj, *args, **more)

    def __call__(self, *args: Any, **more: Any) -> Any:
        if self.left > 0 and self.when(*args, **more):
            self.left -= 1
            self.raised += 1
            raise RuntimeError("injected,\nin two lines")
        return self.real(*args, **more)


def _chunk(_: Any, header: windows.Header, *__: Any) -> bool:
    return header.fabric == "bad" and header.end_s == START_S + BAD_S + 1


def _decoded() -> Callable[[windows.Kind, bytes], bool]:
    """The pane of the bad fabric after BAD_S others; its rows do not say which second they are."""
    real, seen = windows.decode, [0]

    def when(kind: windows.Kind, raw: bytes) -> bool:
        if kind == "pane":
            seen[0] += real(kind, raw).column("fabric")[0].as_py() == "bad"
        return seen[0] == BAD_S + 1

    return when


def _second(state: FabricState, at: int, *_: Any) -> bool:
    return at_bad_second(state, at)


STAGES: dict[str, tuple[Any, str, Callable[..., bool]]] = {
    "decode": (windows, "decode", _decoded()),
    "assembler": (Assembler, "add", _chunk),
    "punctuation": (Assembler, "punctuate", _chunk),
    "taking a second in": (FabricState, "take", lambda s, f: at_bad_second(s, f.second)),
    "silence": (judge, "silent", _second),
    "scopes": (judge, "dead", _second),
    "reachability": (judge, "reachability", _second),
    "drift": (judge, "drift", _second),
    "latency": (judge, "latency", _second),
    "suppression": (judge, "told", lambda s, _, at: at_bad_second(s, at)),
    "impact": (localizer.engine, "impact", lambda s, _: s.fabric == "bad"),
    "incidents": (
        localizer.engine.IncidentBook, "step",
        lambda b, at, *_, **__: b._fabric == "bad" and at == START_S + BAD_S,  # noqa: SLF001
    ),
    "findings": (
        fabrics, "messages", lambda found: any(i.fabric == "bad" for i in found.incidents)
    ),
    "forgetting": (FabricState, "tidy", lambda s, _: s.fabric == "bad"),
}  # fmt: skip


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stage", STAGES)
def test_an_error_costs_no_other_fabric_and_is_over_soon(
    stage: str,
    messages: list[OutMessage],
    undisturbed: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner, name, when = STAGES[stage]
    raising = Raising(getattr(owner, name), when, times=1)
    monkeypatch.setattr(owner, name, raising)
    run = Run(messages)
    done = asyncio.run(run.judge())

    assert raising.raised == 1
    assert run.network("good") == undisturbed.network("good")
    assert identity(run.network("bad")) == identity(undisturbed.network("bad"))
    assert run.pipeline("good") == []
    first, *_, last = run.pipeline("bad")
    assert (first.component, first.symptom, first.state) == (
        "pipeline:bad", "judging_failed", "open",
    )  # fmt: skip
    assert first.severity == "P2"
    assert "RuntimeError: injected, in two lines" in str(first.evidence["text"])
    assert first.evidence["logged_at"]
    assert (last.incident_id, last.state) == (first.incident_id, "resolved")
    assert done.failures == {"bad": 1}
    assert {"bad"} in [set(each) for each in run.not_ready], "readiness names it"
    assert not done.failing()
    assert run.waits == [0.0], "the first attempt is made at once"
    assert done.dead_lettered == 0


@pytest.mark.timeout(300)
def test_a_message_that_fails_twice_is_a_dead_letter_and_the_next_is_judged(
    messages: list[OutMessage], undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising = Raising(Assembler.add, _chunk, times=float("inf"))
    monkeypatch.setattr(Assembler, "add", raising)
    run = Run(messages)
    done = asyncio.run(run.judge())

    [letter] = [each for each in run.outbox.sent if each.topic == topics.DEAD_LETTER.name]
    headers = dict(letter.headers)
    assert b"injected" in headers["reason"]
    assert headers["topic"] == topics.WINDOWS.name.encode()
    assert done.dead_lettered == 1
    assert raising.raised == 2
    assert run.waits == [0.0, 1.0]
    assert run.network("good") == undisturbed.network("good")
    assert run.pipeline("bad")[-1].state == "resolved"


@pytest.mark.timeout(300)
def test_a_stretch_of_seconds_that_cannot_be_judged_is_left_behind(
    messages: list[OutMessage], undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad(state: FabricState, frame: Any) -> bool:
        return state.fabric == "bad" and 28 <= frame.second - START_S < 33

    monkeypatch.setattr(FabricState, "take", Raising(FabricState.take, bad, float("inf")))
    run = Run(messages)
    done = asyncio.run(run.judge())
    assert run.network("good") == undisturbed.network("good")
    assert run.pipeline("bad")[-1].state == "resolved"
    assert run.waits[:4] == [0.0, 1.0, 2.0, 4.0]
    [fabric] = [each for each in done.fabrics if each.name == "bad"]
    assert fabric.judged_s == START_S + SECONDS - 1


def test_offsets_move_while_a_fabric_is_not_judged(messages: list[OutMessage]) -> None:
    """What it needs again is read again; the commit of the others does not wait for it."""

    async def story() -> None:
        stage = Localise(
            Recorder(SimpleNamespace(send=_nothing)),  # type: ignore[arg-type]
            broken, no_incidents, Told(), sleep=never,
        )  # fmt: skip
        acked: list[int] = []
        for offset in range(0, 2000, 2):
            for more, name in enumerate(("bad", "good")):
                header = windows.Header("punctuation", name, START_S + offset, START_S + offset)
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
            raise RuntimeError("no localiser")
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


def test_a_bad_document_costs_itself_only(undisturbed: Run) -> None:
    """Of incidents to restore, placements and maintenance: the others are taken over."""
    first = undisturbed.network("bad")[0]
    spoilt = msgspec.structs.replace(first, incident_id="spoilt", opened_at="yesterday")
    times = {"start": "2026-05-28T20:00:00Z", "until": "2026-05-28T21:00:00Z", "reason": "optics"}
    docs: list[Notice] = [
        Placement(
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
        stage = Localise(outbox, lambda _: Picky(), read, Told(*docs))
        header = windows.Header("punctuation", "bad", START_S, START_S)
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
        first = Localise(outbox, _broken, no_incidents, Told(), sleep=_never)
        await first.take(Event(_punctuation(0), []))
        first.forget()
        [opened] = outbox.incidents("bad")

        async def read() -> list[Incident]:
            return [opened, *undisturbed.network("bad")]

        second = Localise(outbox, lambda _: Localizer(), read, Told())
        assert not second.failures
        for offset in range(1, 15):
            await second.take(Event(_punctuation(offset), []))
        last = outbox.incidents("bad")[-1]
        assert (last.incident_id, last.version, last.state) == (opened.incident_id, 2, "resolved")

    asyncio.run(story())


def _broken(_: str) -> Localizer:
    raise RuntimeError("no localiser")


async def _never(_: float) -> None:
    await asyncio.Event().wait()


def _punctuation(offset: int, fabric: str = "bad") -> InMessage:
    header = windows.Header("punctuation", fabric, START_S + offset, START_S + offset)
    return InMessage(offset, (START_S + offset) * 1000, b"", dict(header.to_kafka()))


def test_failures_are_counted_by_fabric_in_the_metrics() -> None:
    def found(stage: Localise) -> Iterator[tuple[metrics.Metric, tuple[str, ...], float]]:
        worker: Any = SimpleNamespace(
            localise=stage, ingest=SimpleNamespace(tally=Tally()),
            heartbeats=SimpleNamespace(received=0, missing=0), lag_s=0.0,
            catching_up=False, commit_stalled=0,
            confluence=SimpleNamespace(waiting_bytes=0, stuck=0, early=0),
        )  # fmt: skip
        return ((each.metric, each.labels, each.value) for each in counters.samples(worker))

    async def story() -> None:
        outbox = Recorder(SimpleNamespace(send=_nothing))  # type: ignore[arg-type]
        stage = Localise(outbox, _broken, no_incidents, Told(), sleep=_never)
        await stage.take(Event(_punctuation(0), []))
        samples = list(found(stage))
        assert (metrics.STREAM_FABRIC_FAILURES, ("bad",), 1) in samples
        assert (metrics.STREAM_FABRIC_FAILING, ("bad",), True) in samples
        assert (metrics.STREAM_LOCALIZER_SIZE, ("fabrics",), 1) in samples
        stage.forget()

    asyncio.run(story())
