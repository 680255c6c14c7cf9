"""An error in judging one fabric is a visible state of that fabric alone, and it recovers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa
import pytest
from builders.streams.localize_runs import BAD_S, SECONDS, START_S, WAIT_S, Run, two_fabrics

from localizer.localizer import Localizer, LocalizerOutput
from schemas import topics
from schemas.documents.incident import Incident
from schemas.wire import window_chunks
from streams.kafka.messages import OutMessage
from streams.readers import incidents
from streams.worker import StreamConfig, StreamWorker


@pytest.fixture(scope="module")
def messages() -> list[OutMessage]:
    return two_fabrics()


@pytest.fixture(scope="module")
def undisturbed(messages: list[OutMessage]) -> Run:
    run = Run(messages)
    stage = asyncio.run(run.judge())
    assert run.network("good"), "else this proves nothing"
    assert run.network("bad"), "else this proves nothing"
    assert not stage.counts.failures
    return run


def identity(docs: list[Incident]) -> set[tuple[str, str, str, str]]:
    last = {each.incident_id: each for each in docs}
    return {(i.incident_id, i.component, i.opened_at, i.state) for i in last.values()}


class Failing(Localizer):
    """Raises in ``observe``, ``times`` times, where ``when`` says so.

    The error comes before the message is taken in, or after it, when the localizer's state has
    changed and what it found is lost.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault

    def observe(
        self, header: window_chunks.Header, batch: pa.RecordBatch | None, body: bytes = b""
    ) -> LocalizerOutput:
        hit = self.fault.left > 0 and self.fault.when(header)
        if hit:
            self.fault.left -= 1
            self.fault.raised += 1
        if hit and self.fault.place == "before":
            raise RuntimeError("injected,\nin two lines")
        found = super().observe(header, batch, body)
        if hit and self.fault.place == "after":
            raise RuntimeError("injected,\nin two lines")
        if hit:
            found.incidents.append(UNWRITABLE)
        return found


@dataclass(slots=True)
class Fault:
    """Where and how often a localizer of the fabric ``bad`` fails."""

    when: Callable[[window_chunks.Header], bool]
    place: Literal["before", "after", "findings"] = "before"
    left: float = 1
    raised: int = 0

    def localizer(self, fabric: str) -> Localizer:
        return Failing(self) if fabric == "bad" else Localizer()


def bad_second(kind: window_chunks.Kind) -> Callable[[window_chunks.Header], bool]:
    end_s = START_S + BAD_S + (kind != "window")
    return lambda header: header.kind == kind and header.end_s == end_s


UNWRITABLE: Final = Incident(
    incident_id="X", version=1, state="open", fabric="bad", component="tor:a1", kind="tor",
    layer="underlay", symptom="loss", issue_type=None, direction="both", opened_at="x",
    detected_at="x", updated_at="x", closed_at=None, severity="P1", confidence=0.9, p_value=1e-9,
    tie_set=["tor:a1"], parent=None, paths_bad=1, paths_total=1, evidence={"not JSON": object()},
)  # fmt: skip


@pytest.mark.parametrize("place", ["before", "after", "findings"])
@pytest.mark.parametrize("kind", ["pane", "window", "punctuation"])
def test_an_error_costs_no_other_fabric_and_is_over_soon(
    kind: window_chunks.Kind,
    place: Literal["before", "after", "findings"],
    messages: list[OutMessage],
    undisturbed: Run,
) -> None:
    fault = Fault(bad_second(kind), place)
    run = Run(messages)
    done = asyncio.run(run.judge(make=fault.localizer))

    assert fault.raised == 1
    assert run.network("good") == undisturbed.network("good")
    assert identity(run.network("bad")) == identity(undisturbed.network("bad"))
    assert run.pipeline("good") == []
    first, *_, last = run.pipeline("bad")
    assert (first.component, first.symptom, first.state) == (
        "pipeline:bad", "judging_failed", "open",
    )  # fmt: skip
    assert first.severity == "P2"
    error = "TypeError: Encoding" if place == "findings" else "RuntimeError: injected, in two lines"
    assert error in str(first.evidence["text"])
    assert first.evidence["logged_at"]
    assert (last.incident_id, last.state) == (first.incident_id, "resolved")
    assert done.counts.failures == {"bad": 1}
    assert {"bad"} in [set(each) for each in run.not_ready], "readiness names it"
    assert not done.failing()
    assert run.waits == [0.0], "the first attempt is made at once"
    assert done.counts.dead_lettered == 0


def test_a_message_that_fails_twice_is_a_dead_letter_and_the_next_is_judged(
    messages: list[OutMessage], undisturbed: Run
) -> None:
    fault = Fault(bad_second("pane"), left=math.inf)
    run = Run(messages)
    done = asyncio.run(run.judge(make=fault.localizer))

    [letter] = run.producer.dead_letters()
    headers = dict(letter.headers)
    assert b"injected" in headers["reason"]
    assert headers["topic"] == topics.WINDOWS.name.encode()
    assert done.counts.dead_lettered == 1
    assert fault.raised == 2
    assert run.waits == [0.0, 1.0]
    assert run.network("good") == undisturbed.network("good")
    assert run.pipeline("bad")[-1].state == "resolved"


def test_a_stretch_of_seconds_that_cannot_be_judged_is_left_behind(
    messages: list[OutMessage], undisturbed: Run
) -> None:
    def bad(header: window_chunks.Header) -> bool:
        return header.kind == "punctuation" and 28 < header.end_s - START_S <= 33

    fault = Fault(bad, left=math.inf)
    run = Run(messages)
    done = asyncio.run(run.judge(make=fault.localizer))
    assert run.network("good") == undisturbed.network("good")
    assert run.pipeline("bad")[-1].state == "resolved"
    assert run.waits[:4] == [0.0, 1.0, 2.0, 4.0]
    [fabric] = [each for each in done.fabrics if each.name == "bad"]
    assert fabric.judged_s == START_S + SECONDS - 1


def test_a_worker_names_the_fabric_that_it_cannot_judge_until_it_can(
    messages: list[OutMessage],
) -> None:
    """The whole worker: Faust, the embedded broker, skh.incidents."""
    fault = Fault(bad_second("punctuation"))
    early = [m for m in messages if int(dict(m.headers)["end_s"]) < START_S + WAIT_S - 8]

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(600):
            while True:
                if condition():
                    return
                await asyncio.sleep(0.05)  # between two looks at a condition with a deadline

    async def story() -> None:
        run = Run(early)
        config = StreamConfig(run.broker.bootstrap, fetch_wait_ms=20, kafka=QUIET)
        worker = StreamWorker(config, fault.localizer)
        try:
            await worker.start()
            await until(lambda: "fabric bad: judging a punctuation" in (worker.not_ready() or ""))
            await until(lambda: not any(each.rebuilding for each in worker.localize.fabrics))
            assert "RuntimeError: injected" in (worker.not_ready() or ""), "until it is proven"
            run.publish(messages[len(early) :])
            await until(lambda: worker.localize.counts.messages == len(messages))
            assert worker.not_ready() is None
            docs = await incidents.read_incidents(run.kafka)
            about_us = [each for each in docs if each.kind == "pipeline"]
            assert [(i.component, i.state) for i in about_us] == [("pipeline:bad", "resolved")]
            assert {each.fabric for each in docs if each.kind != "pipeline"} == {"good", "bad"}
        finally:
            await worker.stop()
            run.kafka_producer.close()

    asyncio.run(story())


QUIET = {"log_level": 2}
