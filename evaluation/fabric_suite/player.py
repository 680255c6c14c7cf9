"""Plays faults on a real fabric with agents in it, and watches the pipeline find them.

The records take the way of every other: agents, relay, codecs, PartitionWorker, Localizer. Only
Kafka between them is left out.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

import msgspec

from probers.publishing.relay import Headers, Relay
from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.documents.incident import Incident
from schemas.wire import batches
from streams.replay import Replay
from testbed.netns import Fabric, FabricError
from testbed.netns.fault_suite import PLAN, Scene
from testbed.netns.faults import actions, issues
from testbed.netns.probes.agents import start_agents
from testbed.scoring import score as scoring
from testbed.scoring import truth as truths
from testbed.scoring.score import Score
from testbed.scoring.truth import Truth

_TURN_S: Final = 0.5
#: Until routes are known; the latency detector compares with windows of 30 s that are over.
_WARM_S: Final = 25.0
_WARM_FOR_LATENCY_S: Final = 70.0
_CALM_S: Final = 60.0  # at most, until the incidents of a fault that is over have closed
_REST_S: Final = 3.0
_PRIORITY: Final = -10


class Result(NamedTuple):
    """What was broken and what was said; names: of the scenes, as the truths are ordered."""

    names: list[str]
    truths: list[Truth]
    incidents: list[Incident]
    score: Score
    records: int
    seconds: float

    def write(self, directory: Path) -> None:
        """truth.json and incidents.jsonl, for ``check score``."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "truth.json").write_bytes(truths.encode(self.truths))
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in self.incidents)
        (directory / "incidents.jsonl").write_bytes(lines)


class Inbox:
    """The relay's sink: messages until the next turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pings: list[tuple[bytes, str]] = []
        self._beats: list[Heartbeat] = []

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        """Take a message, in the relay's thread."""
        with self._lock:
            if topic == topics.PINGS.name:
                self._pings.append((payload, headers[topics.CONTENT_TYPE].decode()))
            else:
                self._beats.append(heartbeat.decode(payload))

    def take(self) -> tuple[list[tuple[bytes, str]], list[Heartbeat]]:
        """Everything since the last time."""
        with self._lock:
            taken = self._pings, self._beats
            self._pings, self._beats = [], []
        return taken


class Player:
    """A watched fabric; a context manager. say: told of each step, one line."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._inbox = Inbox()
        self._stack = ExitStack()
        self._newest: dict[str, Incident] = {}
        self.fabric = Fabric(PLAN)
        self.pipeline = Replay(topology=self.fabric.topology)

    def __enter__(self) -> Player:
        with ExitStack() as stack:
            stack.enter_context(_before_others())
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skh-")))
            stack.enter_context(Relay(directory / "relay.sock", self._inbox))
            begin = time.monotonic()
            stack.enter_context(self.fabric)
            self._say(f"{len(PLAN.nodes())} namespaces up in {time.monotonic() - begin:.1f} s")
            start_agents(
                self.fabric, directory, f"unix:{directory / 'relay.sock'}", ports_per_pair=2,
                log=directory / "agents.log",
            )  # fmt: skip
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def play(self, chosen: Sequence[Scene]) -> Result:
        """One fault after another, with calm between them. Raises FabricError."""
        begin = time.monotonic()
        slow_first = chosen[:1] and actions.symptom(chosen[0].fault) == "high_latency"
        self._until(lambda: False, _WARM_FOR_LATENCY_S if slow_first else _WARM_S)
        made: list[Truth] = []
        for scene in chosen:
            self._until(partial(self._calm_for, scene), _CALM_S)
            self._until(lambda: False, _REST_S)
            made.append(self._scene(scene))
        records = self.pipeline.tally.records
        self._keep(self.pipeline.finish().incidents)
        incidents = list(self._newest.values())
        return Result(
            [scene.name for scene in chosen], made, incidents, scoring.score(made, incidents),
            records, time.monotonic() - begin,
        )  # fmt: skip

    def _scene(self, scene: Scene) -> Truth:
        fault = self.fabric.create(scene.fault)
        made = issues.truth(fault, PLAN.fabric)
        if made is None:
            raise FabricError(f"{fault}: probes cannot see it")

        def found() -> bool:
            return bool(scoring.score([made], self._newest.values()).matched)

        self._until(found, scene.hold_s)
        self._until(lambda: False, 2.0)  # a verdict that is right only for a moment shows itself
        self.fabric.destroy(fault)
        over = msgspec.structs.replace(made, end=issues.now())
        matched = scoring.score([made], self._newest.values()).matched
        after = f"{matched[0].seconds:.1f} s" if matched else f"missed{self._instead(made)}"
        self._say(f"{scene.name:28} {fault.at:40} {after}")
        return over

    def _instead(self, missed: Truth) -> str:
        """Who was blamed while something else was broken."""
        blamed = [
            f"{incident.component} {incident.symptom}"
            for incident in self._newest.values()
            if incident.detected_at >= missed.start and not incident.parent
        ]
        return f"; blamed: {', '.join(blamed)}" if blamed else ""

    def _calm_for(self, scene: Scene) -> bool:
        """Whether what was played before is over, as far as it would be in this one's way: the
        windows of latency remember for 30 s, which is time enough for a loss."""
        waits = actions.symptom(scene.fault) == "high_latency"
        return all(
            incident.closed_at or (incident.symptom == "high_latency" and not waits)
            for incident in self._newest.values()
        )

    def _until(self, reached: Callable[[], bool], within_s: float) -> None:
        """Let the pipeline run until something is so, at most for some time."""
        give_up_at = time.monotonic() + within_s
        while time.monotonic() < give_up_at and not reached():
            time.sleep(_TURN_S)
            self._turn()

    def _turn(self) -> None:
        messages, beats = self._inbox.take()
        joined = batches.decode_all(messages)
        found = self.pipeline.feed(joined.batch, beats, time.time_ns())
        self._keep(found.incidents)

    def _keep(self, incidents: Sequence[Incident]) -> None:
        for incident in incidents:
            self._newest[incident.incident_id] = incident


@contextmanager
def _before_others() -> Iterator[None]:
    """Priority for this process and its children: what else the machine does is not to look like
    a starved agent."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):  # the fabric will say that it needs root
        os.setpriority(os.PRIO_PROCESS, 0, min(usual, _PRIORITY))
    try:
        yield
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, usual)


def table(result: Result) -> str:
    """For people: one line a fault, then what was made up, then the count."""
    lines = [f"{'issue type':28} {'component':40} {'found':6} {'named':40} seconds"]
    matches = {match.truth.start: match for match in result.score.matched}
    for name, made in zip(result.names, result.truths, strict=True):
        match = matches.get(made.start)
        how = "no" if match is None else "yes" if match.top1 else "class"
        named = match.component if match else "-"
        after = f"{match.seconds:.1f}" if match else "-"
        lines.append(f"{name:28} {made.component:40} {how:6} {named:40} {after}")
    for incident_id, component, symptom in result.score.false:
        lines.append(f"made up: {component} {symptom} ({incident_id})")
    score = result.score
    lines.append(
        f"{len(score.matched)} of {score.truths} found ({score.top1} named exactly), "
        f"{len(score.false)} false; {result.records} records in {result.seconds:.0f} s"
    )
    return "\n".join(lines)
