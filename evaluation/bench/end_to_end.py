"""Broker to incidents: agents' messages in Apache Kafka through a whole stream worker."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from evaluation.bench.input import SECOND, START_NS, busy
from evaluation.bench.method.conditions import process_cpu_s
from evaluation.bench.method.figure import figure
from schemas import topics
from streams.event_loop import run
from streams.kafka import admin
from streams.worker import StreamConfig, StreamWorker
from testbed.services import kafka_server
from testbed.services.kafka_server import KafkaServer

#: Records in flight: four seconds of them, whatever the size of messages.
_IN_FLIGHT: Final = 163_840
_WARM_S: Final = 8  # simulated seconds, after which no path is new
_JUDGED_TO_S: Final = 4  # the last seconds wait for records that do not come any more
_TIMEOUT_S: Final = 60.0
_FABRIC: Final = "bench"


class Lost(RuntimeError):
    """Records or windows did not reach the localizer, so that there is no figure."""


class _Spent(NamedTuple):
    """Of the worker and the broker: CPU time, and wall time [s]."""

    worker_s: float
    broker_s: float
    wall_s: float


def end_to_end(
    size: int, content_type: str, measured_s: int, goal: int | None = None
) -> dict[str, Any]:
    """skh.pings -> windows -> incidents through Apache Kafka, paced by the reader's lag.

    The rate is of the worker's CPU time; the broker and the agents are processes of their own.

    size        records a message
    measured_s  simulated seconds, after those in which paths are new
    goal        records a second and core
    """
    if (why := kafka_server.missing()) is not None:
        sys.exit(why)
    with tempfile.TemporaryDirectory() as folder:
        broker = KafkaServer(Path(folder))
        try:
            admin.create({"bootstrap.servers": broker.bootstrap})
            records, spent = _measured(broker, size, content_type, _WARM_S + measured_s)
        finally:
            broker.stop()
    rate = records / spent.worker_s
    result = figure(
        "{rate:,.0f} records/s/core of the worker, {broker:,.0f} of the broker "
        "({in_all:,.0f} records/s in all)",
        rate=rate, broker=records / spent.broker_s, in_all=records / spent.wall_s,
    )  # fmt: skip
    if goal is not None:
        result |= {"goal": f">= {goal:,}", "missed": rate < goal}
    return {**result, "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _measured(
    broker: KafkaServer, size: int, content_type: str, seconds: int
) -> tuple[int, _Spent]:
    command = [sys.executable, "-m", "evaluation.bench.producer", broker.bootstrap, str(size),
               content_type, str(seconds)]  # fmt: skip
    agents = subprocess.Popen(  # noqa: S603 — our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert agents.stdout is not None  # noqa: S101 — we asked for a pipe
    try:
        marks = [int(mark) for mark in agents.stdout.readline().split()]
        spent = run(_run_through(broker, agents, marks, size))
    finally:
        agents.kill()
        agents.wait()
    return size * (marks[-1] - marks[_WARM_S - 1]), spent


async def _run_through(
    broker: KafkaServer, agents: subprocess.Popen[str], marks: list[int], size: int
) -> _Spent:
    """What was spent from _WARM_S on; marks (seconds,) messages until the end of each.

    Raises Lost when a record or a window is lost.
    """
    worker = StreamWorker(StreamConfig(broker.bootstrap, topology=busy().topology))
    await worker.start()

    async def until(reached: Callable[[], int], goal: int) -> None:
        """Run the event loop, which the worker shares, until ``reached()`` is ``goal``."""
        deadline = time.monotonic() + _TIMEOUT_S
        while reached() < goal:
            if (why := worker.crashed) is not None:
                raise why
            if time.monotonic() > deadline:
                raise TimeoutError(f"the worker did not get there within {_TIMEOUT_S:.0f} s")
            await asyncio.sleep(0.01)  # counters have no event to wait for

    def read() -> int:
        return worker.ingest.counts.messages

    def judged() -> int:
        return worker.localize.judged_s(_FABRIC) or 0

    def now() -> _Spent:
        return _Spent(time.process_time(), process_cpu_s(broker.process.pid), time.monotonic())

    sent, half, before = 0, max(1, _IN_FLIGHT // size // 2), now()
    try:
        for second, mark in enumerate(marks):
            if second == _WARM_S:  # all paths are known and judged
                await until(read, sent)
                await until(judged, START_NS // SECOND + _WARM_S - _JUDGED_TO_S)
                before = now()
            while sent < mark:
                part = min(mark - sent, half)
                await asyncio.to_thread(_send, agents, part)
                sent += part
                await until(read, sent - half)
        await until(judged, START_NS // SECOND + len(marks) - _JUDGED_TO_S)
        spent = _Spent(*(after - then for after, then in zip(now(), before, strict=True)))
        counts, unread = worker.ingest.counts, worker.localize.missing
    finally:
        await worker.stop()
    if counts.gaps or counts.dead_lettered or counts.late or unread:
        raise Lost(f"{counts}; {unread} messages of {topics.WINDOWS.name} were not read")
    return spent


def _send(agents: subprocess.Popen[str], count: int) -> None:
    assert agents.stdin is not None  # noqa: S101 — we asked for pipes
    assert agents.stdout is not None  # noqa: S101
    agents.stdin.write(f"{count}\n")
    agents.stdin.flush()
    agents.stdout.readline()
