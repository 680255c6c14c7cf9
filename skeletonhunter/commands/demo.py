"""``skeletonhunter demo``: a simulated cluster breaks in five ways; watch who is blamed."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skeletonhunter import terminal
from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from schemas.documents.incident import Incident
    from skeletonhunter.embedded.runtime import EmbeddedRuntime
    from testbed.scoring.score import Score
    from testbed.simulator.simulator import Second, Simulation

_SECOND: Final = 1_000_000_000
_PATIENCE_S: Final = 30.0  # with a worker that takes in nothing and judges nothing
_LOOK_S: Final = 0.1
#: Event time that the worker may be behind [s]; then the show waits. The broker forgets what is
#: older by not much here, and what it forgets nobody judges.
_MOST_AHEAD_S: Final = 30.0
_FASTEST: Final = 12.0  # event seconds a second; beyond, two cores no longer keep up


def register(app: typer.Typer) -> None:
    """Add ``demo``."""

    @app.command(epilog="Example: skeletonhunter demo --duration 60 --headless")
    def demo(
        duration: Annotated[
            float, typer.Option(min=1, help="Length of the show [s]; event time runs faster.")
        ] = 75.0,
        seed: Annotated[int, typer.Option(min=0, help="Where it breaks.")] = 1,
        port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page.")] = 8765,
        headless: Annotated[
            bool, typer.Option("--headless", help="Plain lines, for scripts; leaves at the end.")
        ] = False,
        scenario: Annotated[str, typer.Option(help="Shipped name, or a file.")] = "demo",
        strategy: Annotated[str, typer.Option(help="Who names the culprit.")] = "hypothesis",
    ) -> int:
        """Break a simulated cluster and name the culprits; exit code 1 if one is missed."""
        from skeletonhunter import running
        from skeletonhunter.commands.up import known_strategy
        from streams import event_loop
        from testbed.scenarios.scenario import ScenarioError, load

        known_strategy(strategy, "--strategy")
        try:
            plan = load(scenario)
            start_s = time.time() - plan.duration_s + duration  # it ends now, not in the future
            simulation = plan.simulation(seed=seed, start_ns=int(start_s) * _SECOND)
        except ScenarioError as why:
            raise BadInput(str(why)) from why
        if plan.duration_s > duration * _FASTEST:
            least = plan.duration_s / _FASTEST
            raise BadInput(f"--duration {duration:g}: {scenario} needs at least {least:.0f} s")
        show = DemoState(simulation, plan.duration_s, duration)
        running.log_to_stderr("ERROR")
        with tempfile.TemporaryDirectory(prefix="skeletonhunter-") as data:
            return event_loop.run(_play(show, Path(data), port, strategy, headless))


@dataclass
class DemoState:
    """What has happened so far, in event time."""

    simulation: Simulation
    length_s: int
    duration_s: float
    now_s: float = 0.0  # event seconds played
    records: int = 0
    judged_s: float = 0.0  # event seconds judged
    slowed_s: float = 0.0  # that the show waited for the worker
    incidents: dict[str, Incident] = field(default_factory=dict)

    @property
    def speed(self) -> float:
        """Event seconds per second."""
        return self.length_s / self.duration_s

    @property
    def lag_s(self) -> float:
        """Event seconds played and not yet judged."""
        return self.now_s - self.judged_s

    def score(self) -> Score:
        """Who was found so far."""
        from testbed.scoring.score import score

        return score(self.simulation.truths(int(self.now_s)), self.incidents.values())


async def _play(show: DemoState, data: Path, port: int, strategy: str, headless: bool) -> int:
    from skeletonhunter.embedded.demo_screen import Lines, Screen
    from skeletonhunter.embedded.runtime import EmbeddedRuntime, RuntimeOptions
    from testbed.scoring.score import to_text

    house = RuntimeOptions(data, port=port, topology=show.simulation.topology, strategy=strategy)
    started = time.monotonic()
    async with EmbeddedRuntime(house) as place:
        screen = Lines(show) if headless else Screen(show)
        with screen:
            screen.begin(place.url, time.monotonic() - started)
            reading = asyncio.create_task(_read(show, place, screen.incident))
            try:
                watch = WorkerProgress(show, place)
                if not (
                    await _feed(show, place, watch, screen.tick)
                    # But for the lateness, and a second's rest.
                    and await watch.until(show.length_s - 4, screen.tick)
                ):
                    terminal.echo(
                        "the worker stands still: the score is of what it has judged", err=True
                    )
                await asyncio.sleep(0.5)  # the last documents are on their way through the broker
            finally:
                reading.cancel()
        terminal.echo(to_text(show.score()))
        terminal.echo(_account(show, place))
    return 0 if show.score().perfect else 1


def _account(show: DemoState, place: EmbeddedRuntime) -> str:
    """How much was played how fast, and what nobody judged."""
    said = f"{show.records:,} records judged at {show.speed:.1f} x event time"
    if show.slowed_s >= 1:
        said += f"; the show waited {show.slowed_s:.0f} s for the judge"
    worker = place.worker
    missing = worker.ingest.tally.gaps + worker.heartbeats.missing + worker.localize.missing
    if missing:
        said += f"; the broker forgot {missing:,} messages before they were read"
    return said


class WorkerProgress:
    """Sees how far the worker has come. Slow is not stuck: as long as it does anything, wait."""

    def __init__(self, show: DemoState, place: EmbeddedRuntime) -> None:
        self._show = show
        self._place = place

    def look(self) -> tuple[int, ...]:
        """Note the newest second judged; returns what changes while the worker does anything."""
        show, worker = self._show, self._place.worker
        judged_s = worker.localize.judged_s(show.simulation.topology.fabric)
        if judged_s:  # 0: no second yet
            show.judged_s = judged_s + 1 - show.simulation.start_ns / _SECOND
        return (judged_s or 0, worker.localize.messages, worker.ingest.tally.messages)

    async def until(self, second: float, tick: Callable[[], None]) -> bool:
        """Wait until event time up to ``second`` is judged; False when the worker stands still."""
        seen, still = self.look(), 0
        while self._show.judged_s < second:
            if still * _LOOK_S >= _PATIENCE_S:  # a pause of all of us is one look
                return False
            await asyncio.sleep(_LOOK_S)
            tick()
            now = self.look()
            still = still + 1 if now == seen else 0
            seen = now
        return True


async def _feed(
    show: DemoState, place: EmbeddedRuntime, watch: WorkerProgress, tick: Callable[[], None]
) -> bool:
    """Publish each simulated second as the agents would, at the show's speed or as fast as the
    worker can; False when that stands still.
    """
    begin = time.monotonic()
    for second in show.simulation.seconds(show.length_s):
        await asyncio.to_thread(_publish, place, second)
        show.records += second.pings.num_rows
        show.now_s = second.index + 1.0
        watch.look()
        tick()
        ahead = begin + show.slowed_s + show.now_s / show.speed - time.monotonic()
        await asyncio.sleep(max(0.0, ahead))
        waiting = time.monotonic()
        if not await watch.until(show.now_s - _MOST_AHEAD_S, tick):
            return False
        show.slowed_s += time.monotonic() - waiting
    return True


def _publish(place: EmbeddedRuntime, second: Second) -> None:
    from schemas import topics
    from schemas.documents import heartbeat
    from testbed.simulator.publish import messages

    for message in messages(second, seed=second.index, flush_s=1.0):
        headers = {topics.CONTENT_TYPE: topics.ARROW.encode()}
        place.broker.produce(topics.PINGS.name, message.node_sn, headers, message.value)
    for beat in second.heartbeats:
        place.broker.produce(topics.HEARTBEATS.name, beat.node_sn, {}, heartbeat.encode(beat))


async def _read(show: DemoState, place: EmbeddedRuntime, tell: Callable[[Incident], None]) -> None:
    """Follow skh.incidents."""
    from schemas import topics
    from schemas.documents.incident import decode_incident

    consumer = place.consumer(topics.INCIDENTS.name, group="skh-demo")
    try:
        while True:
            message = await asyncio.to_thread(consumer.poll, 0.2)
            if message is None or message.error():
                continue
            found = decode_incident(message.value() or b"")
            show.incidents[found.incident_id] = found
            tell(found)
    finally:
        await asyncio.to_thread(consumer.close)
