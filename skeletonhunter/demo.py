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

from skeletonhunter.errors import BadInput

if TYPE_CHECKING:
    from schemas.incident import Incident
    from skeletonhunter.embedded import Embedded
    from testbed.score import Score
    from testbed.simulator import Second, Simulation

_SECOND: Final = 1_000_000_000
_PATIENCE_S: Final = 30.0  # to judge what is left once the last record is out
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
        from testbed.scenario import ScenarioError, load

        try:
            plan = load(scenario)
            start_s = time.time() - plan.duration_s + duration  # it ends now, not in the future
            simulation = plan.simulation(seed=seed, start_ns=int(start_s) * _SECOND)
        except ScenarioError as why:
            raise BadInput(str(why)) from why
        if plan.duration_s > duration * _FASTEST:
            least = plan.duration_s / _FASTEST
            raise BadInput(f"--duration {duration:g}: {scenario} needs at least {least:.0f} s")
        show = Show(simulation, plan.duration_s, duration)
        running.log_to_stderr("ERROR")
        with tempfile.TemporaryDirectory(prefix="skeletonhunter-") as data:
            return running.run(_play(show, Path(data), port, strategy, headless))


@dataclass
class Show:
    """What has happened so far, in event time."""

    simulation: Simulation
    length_s: int
    duration_s: float
    now_s: float = 0.0  # event seconds played
    records: int = 0
    incidents: dict[str, Incident] = field(default_factory=dict)

    @property
    def speed(self) -> float:
        """Event seconds per second."""
        return self.length_s / self.duration_s

    def score(self) -> Score:
        """Who was found so far."""
        from testbed.score import score

        return score(self.simulation.truths(int(self.now_s)), self.incidents.values())


async def _play(show: Show, data: Path, port: int, strategy: str, headless: bool) -> int:
    from skeletonhunter.demo_screen import Lines, Screen
    from skeletonhunter.embedded import Embedded, House
    from testbed.score import to_text

    house = House(data, port=port, topology=show.simulation.topology, strategy=strategy)
    started = time.monotonic()
    async with Embedded(house) as place:
        screen = Lines(show) if headless else Screen(show)
        with screen:
            screen.begin(place.url, time.monotonic() - started)
            reading = asyncio.create_task(_read(show, place, screen.incident))
            try:
                await _feed(show, place, screen.tick)
                await _settle(show, place)
            finally:
                reading.cancel()
        typer.echo(to_text(show.score()))
        typer.echo(f"{show.records:,} records judged at {show.speed:.1f} x event time")
    return 0 if show.score().perfect else 1


async def _feed(show: Show, place: Embedded, tick: Callable[[], None]) -> None:
    """Publish each simulated second as the agents would, at the show's speed."""
    begin = time.monotonic()
    for second in show.simulation.seconds(show.length_s):
        await asyncio.to_thread(_publish, place, second)
        show.records += second.pings.num_rows
        show.now_s = second.index + 1.0
        tick()
        ahead = begin + show.now_s / show.speed - time.monotonic()
        await asyncio.sleep(max(0.0, ahead))


def _publish(place: Embedded, second: Second) -> None:
    from schemas import heartbeat, topics
    from testbed.publish import messages

    for message in messages(second, seed=second.index, flush_s=1.0):
        headers = {topics.CONTENT_TYPE: topics.ARROW.encode()}
        place.broker.produce(topics.PINGS.name, message.node_sn, headers, message.value)
    for beat in second.heartbeats:
        place.broker.produce(topics.HEARTBEATS.name, beat.node_sn, {}, heartbeat.encode(beat))


async def _settle(show: Show, place: Embedded) -> None:
    """Wait until all that was published has been judged and read."""
    fabric = show.simulation.topology.fabric
    last_s = (
        show.simulation.start_ns // _SECOND + show.length_s - 4
    )  # lateness, and a second's rest
    deadline = time.monotonic() + _PATIENCE_S
    while (place.worker.localise.judged_s(fabric) or 0) < last_s:
        if time.monotonic() > deadline:
            typer.echo("the worker has fallen behind: the score is of what it has judged", err=True)
            return
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)  # the last documents are on their way through the broker


async def _read(show: Show, place: Embedded, tell: Callable[[Incident], None]) -> None:
    """Follow skh.incidents."""
    from schemas import topics
    from schemas.incident import decode_incident

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
