"""An error in judging one fabric is a visible state of that fabric alone, and it recovers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fabric_runs import BAD_S, SECONDS, START_S, WAIT_S, Run, said

import localizer.localizer
import localizer.verdicts.second as verdicts
from localizer.second_batch import Assembler
from localizer.state import FabricState
from schemas import topics
from schemas.documents.incident import Incident
from schemas.wire import window_chunks
from streams.kafka.messages import OutMessage
from streams.localize import fabric as fabrics
from streams.localize import restore
from streams.worker import StreamConfig, StreamWorker


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


def _chunk(_: Any, header: window_chunks.Header, *__: Any) -> bool:
    return header.fabric == "bad" and header.end_s == START_S + BAD_S + 1


def _decoded() -> Callable[[window_chunks.Kind, bytes], bool]:
    """The pane of the bad fabric after BAD_S others; its rows do not say which second they are."""
    real, seen = window_chunks.decode, [0]

    def when(kind: window_chunks.Kind, raw: bytes) -> bool:
        if kind == "pane":
            seen[0] += real(kind, raw).column("fabric")[0].as_py() == "bad"
        return seen[0] == BAD_S + 1

    return when


def _second(state: FabricState, at: int, *_: Any) -> bool:
    return at_bad_second(state, at)


STAGES: dict[str, tuple[Any, str, Callable[..., bool]]] = {
    "decode": (window_chunks, "decode", _decoded()),
    "assembler": (Assembler, "add", _chunk),
    "punctuation": (Assembler, "punctuate", _chunk),
    "taking a second in": (FabricState, "take", lambda s, f: at_bad_second(s, f.second)),
    "silence": (verdicts, "silent", _second),
    "scopes": (verdicts, "dead", _second),
    "reachability": (verdicts, "reachability", _second),
    "drift": (verdicts, "drift", _second),
    "latency": (verdicts, "latency", _second),
    "suppression": (verdicts, "reported", lambda s, _, at: at_bad_second(s, at)),
    "impact": (localizer.localizer, "impact", lambda s, _: s.fabric == "bad"),
    "incidents": (
        localizer.localizer.IncidentTracker, "step",
        lambda b, at, *_, **__: b._fabric == "bad" and at == START_S + BAD_S,  # noqa: SLF001
    ),
    "findings": (
        fabrics, "messages", lambda found: any(i.fabric == "bad" for i in found.incidents)
    ),
    "forgetting": (FabricState, "tidy", lambda s, _: s.fabric == "bad"),
}  # fmt: skip


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


def test_a_worker_names_the_fabric_that_it_cannot_judge_until_it_can(
    messages: list[OutMessage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole worker: Faust, the embedded broker, skh.incidents."""
    raising = Raising(FabricState.take, lambda s, f: at_bad_second(s, f.second), times=1)
    monkeypatch.setattr(FabricState, "take", raising)
    early = [m for m in messages if int(dict(m.headers)["end_s"]) < START_S + WAIT_S - 8]

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(600):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.05)  # between two looks at a condition with a deadline

    async def story() -> None:
        run = Run(early)
        worker = StreamWorker(StreamConfig(run.broker.bootstrap, fetch_wait_ms=20, kafka=QUIET))
        try:
            await worker.start()
            await until(lambda: "fabric bad: judging a punctuation" in (worker.not_ready() or ""))
            await until(lambda: not any(each.repairing for each in worker.localize.fabrics))
            assert "RuntimeError: injected" in (worker.not_ready() or ""), "until it is proven"
            run.say(messages[len(early) :])
            await until(lambda: worker.localize.messages == len(messages))
            assert worker.not_ready() is None
            docs = await restore.read_incidents(run.kafka)
            about_us = [each for each in docs if each.kind == "pipeline"]
            assert [(i.component, i.state) for i in about_us] == [("pipeline:bad", "resolved")]
            assert {each.fabric for each in docs if each.kind != "pipeline"} == {"good", "bad"}
        finally:
            await worker.stop()
            run.publisher.close()

    asyncio.run(story())


QUIET = {"log_level": 2}
