"""Plays a simulated cluster into the embedded runtime and shows the incidents that come out.

First its jobs start and their skeletons are found (``start_up``); then its hosts probe what their
lists say, and components break.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

from controller.ping_lists.parameters import PingListParameters
from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.incident import Incident, decode_incident
from skeletonhunter import terminal
from skeletonhunter.embedded.demo_screen import Lines, Screen
from skeletonhunter.embedded.demo_state import DemoState
from skeletonhunter.embedded.demo_summary import summary
from skeletonhunter.embedded.progress.sink import SinkOffsets, SinkProgress
from skeletonhunter.embedded.progress.worker import WorkerProgress
from skeletonhunter.embedded.runtime import EmbeddedRuntime, RuntimeOptions
from skeletonhunter.embedded.simulated_site import SimulatedSite
from skeletonhunter.embedded.start_up import DemoJobs
from skeletonhunter.services.controller.service import ControllerOptions
from skeletonhunter.services.lifecycle import command_error, stop_signals, until_stopped
from testbed.scoring.score import to_text
from testbed.simulator.publish import messages
from testbed.simulator.simulator import Second

#: Event time that the worker may be behind [s]; then the demo waits. The embedded broker drops the
#: oldest messages of a full topic, and it holds not much more than this.
_MOST_AHEAD_S: Final = 30.0
#: Event time that need not be judged and stored yet [s]. Of skh.windows the broker holds some 16 s,
#: and the sink's client about as much again that it has fetched. A batch of the sink waits for a
#: second of wall time, in which up to 12 s are played.
_MOST_UNSTORED_S: Final = 25.0
#: The last event seconds are not judged: the windower waits for later ones [s].
_UNJUDGED_S: Final = 4
_LAST_DOCUMENTS_S: Final = 0.5
#: Between two probes of a five-tuple [s]; a pair of the overlay has two of them, and so a probe a
#: second. Two cores judge some 4,500 probes a second at four times the speed.
_INTERVAL_S: Final = 2.0
_LISTS: Final = PingListParameters(ports_per_pair=2)


def runtime_options(
    state: DemoState, site: SimulatedSite, data: Path, *, port: int, strategy: str
) -> RuntimeOptions:
    """Of the demo's runtime: its controller knows the simulated hosts, and has event time."""
    tokens = site.tokens()
    return RuntimeOptions(
        data, port=port, topology=state.simulation.topology, strategy=strategy,
        agents=False,  # its hosts are simulated; TMPDIR may be too long for a socket's path
        controller=ControllerOptions(
            feedback=False,  # simulated agents do nothing beyond their lists
            interval_s=_INTERVAL_S, lists=_LISTS, now_ms=lambda: state.event_ms
        ),
        tokens=lambda: tokens,
        sql=True,  # all that is stored is simulated
    )  # fmt: skip


async def play(
    state: DemoState,
    options: RuntimeOptions,
    site: SimulatedSite,
    *,
    headless: bool,
    stay: bool = False,
) -> int:
    """Run the demo; returns 0 when every fault is found and nothing else is blamed, else 1.

    stay  leave everything up afterwards, until SIGINT or SIGTERM
    """
    started = time.monotonic()
    async with EmbeddedRuntime(options) as runtime:
        screen: Lines | Screen = Lines(state) if headless else Screen(state)
        with screen:
            screen.begin(runtime.url, runtime.bootstrap, time.monotonic() - started)
            offsets = await asyncio.to_thread(SinkOffsets, runtime.bootstrap)
            following = asyncio.create_task(_follow(state, runtime, screen.incident))
            try:
                jobs = DemoJobs(state, runtime, site)
                await jobs.start(screen)
                judging = WorkerProgress(state, runtime.worker)
                storing = SinkProgress(judging.judged_s, offsets.ends, offsets.stored)
                if not (
                    await _feed(state, runtime, judging, storing, jobs, screen)
                    and await judging.until(state.length_s - _UNJUDGED_S, screen.tick)
                ):
                    terminal.echo(
                        "the stream worker has stopped: the score covers what it has judged",
                        err=True,
                    )
                elif not await storing.until(state.length_s - _UNJUDGED_S, screen.tick):
                    terminal.echo(
                        "the sink has stopped: page and database lack what it has not stored",
                        err=True,
                    )
                await asyncio.sleep(_LAST_DOCUMENTS_S)  # incidents are on their way to us
            finally:
                following.cancel()
        score = state.score()
        terminal.echo(to_text(score))
        terminal.echo(summary(state, runtime.worker, runtime.sink))
        if stay:
            stop = stop_signals()
            terminal.echo(_to_try(runtime))
            healthy = asyncio.create_task(_go_on(state, runtime))
            healthy.add_done_callback(lambda _: stop.set())  # it ends by an error only
            failure = await until_stopped(runtime.wait, stop)
            healthy.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await healthy
            if failure is not None:
                raise command_error(failure) from failure
    return 0 if score.perfect else 1


async def _feed(
    state: DemoState,
    runtime: EmbeddedRuntime,
    judging: WorkerProgress,
    storing: SinkProgress,
    jobs: DemoJobs,
    screen: Lines | Screen,
) -> bool:
    """Publish each simulated second as the agents would, no faster than it is judged and stored.

    Returns False when the worker has stopped.
    """
    begin = time.monotonic()
    for index in range(state.length_s):
        await jobs.second(index, screen)
        second = await asyncio.to_thread(state.simulation.second, index)
        await asyncio.to_thread(_publish, runtime, second)
        state.records += second.pings.num_rows
        state.now_s = second.index + 1.0
        await storing.update()
        screen.tick()
        ahead = begin + state.waited_s + state.pace.wall_s(state.now_s) - time.monotonic()
        await asyncio.sleep(max(0.0, ahead))
        waiting = time.monotonic()
        if not await judging.until(state.now_s - _MOST_AHEAD_S, screen.tick):
            return False
        await storing.until(state.now_s - _MOST_UNSTORED_S, screen.tick)
        now = time.monotonic()
        state.waited_s += now - waiting
        state.played_s = now - begin
    return True


async def _go_on(state: DemoState, runtime: EmbeddedRuntime) -> None:
    """Publish further seconds in which nothing breaks, one each second: silence would be reported
    as an outage of the whole fabric."""
    begin = time.monotonic()
    for index in count(state.length_s):
        second = await asyncio.to_thread(state.simulation.second, index)
        await asyncio.to_thread(_publish, runtime, second)
        state.now_s = second.index + 1.0
        await asyncio.sleep(max(0.0, begin + state.now_s - state.length_s - time.monotonic()))


def _publish(runtime: EmbeddedRuntime, second: Second) -> None:
    for message in messages(second, seed=second.index, flush_s=1.0):
        headers = {topics.CONTENT_TYPE: topics.ARROW.encode()}
        runtime.broker.produce(topics.PINGS.name, message.node_sn, headers, message.value)
    for beat in second.heartbeats:
        runtime.broker.produce(topics.HEARTBEATS.name, beat.node_sn, {}, heartbeat.encode(beat))


async def _follow(
    state: DemoState, runtime: EmbeddedRuntime, show: Callable[[Incident], None]
) -> None:
    """Read skh.incidents, until cancelled."""
    consumer = runtime.consumer(topics.INCIDENTS.name, group="skh-demo")
    try:
        while True:
            message = await asyncio.to_thread(consumer.poll, 0.2)
            if message is None or message.error():
                continue
            found = decode_incident(message.value() or b"")
            state.incidents[found.incident_id] = found
            show(found)
    finally:
        await asyncio.to_thread(consumer.close)


def _to_try(runtime: EmbeddedRuntime) -> str:
    """What is up, and how it is asked."""
    url = runtime.url
    return (
        f"page      {url}   (who loses how much to whom: {url}matrix)\n"
        f"kafka     {runtime.bootstrap}   (skh.incidents, skh.windows, ...; this machine only)\n"
        f"database  chdb:{runtime.data}   (open in this process; docs/sql.md has queries)\n"
        "try\n"
        f"  curl -s '{url}api/v1/incidents?order=urgent'\n"
        f"  curl -s '{url}api/v1/matrix?by=pod'\n"
        f"  kcat -C -b {runtime.bootstrap} -t skh.incidents -o beginning\n"
        "stop with Ctrl-C"
    )
