"""skh.windows -> incidents and anomalies: the localizer as one object. Pure.

Its state is a function of the messages it has been given, in their order, so a replay of the topic
gives the same incidents. ``verdicts.second`` holds the rules that one second is judged by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa

from localizer.baselines.clocks import ClockWatch
from localizer.explanation.impact import anomalies, impact
from localizer.incidents.tracked_incident import TrackedIncident
from localizer.incidents.tracker import IncidentTracker
from localizer.options import Options
from localizer.second_batch import Assembler, SecondBatch
from localizer.state import FabricState
from localizer.suppression import filters
from localizer.suppression.log import Cause, Suppressed
from localizer.verdicts.decision import Decision, apply
from localizer.verdicts.scope_outage import fabric_outage
from localizer.verdicts.second import second
from localizer.verdicts.verdict import Verdict
from schemas.documents.incident import Anomaly, Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.times import seconds_of
from schemas.documents.topology import Topology
from schemas.wire.window_chunks import Header

FORGET_EVERY_S = 120
FORGET_AT_LEAST = 10  # seconds judged between two times, where event time jumps
IDLE_S = 5  # without any ping: when windowers call a partition idle
FORGET_AFTER_S = 900  # a five-tuple not probed, a host not heard of for so long is history


class Punctuation(msgspec.Struct):
    """Body of a punctuation that the localizer reads; windowers may say more."""

    skewed: dict[str, float] = {}


@dataclass(slots=True)
class LocalizerOutput:
    """What changed: whole incident documents, and the bad paths behind those that opened."""

    incidents: list[Incident] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)


class Localizer:
    """Judges one fabric."""

    def __init__(self, *, topology: Topology | None = None, options: Options | None = None) -> None:
        self.options = options or Options()
        self._topology = topology
        self._assembler = Assembler()
        self._state: FabricState | None = None
        self._book: IncidentTracker | None = None
        self._restored: list[Incident] = []
        self._clocks = ClockWatch()
        self._placements: list[Placement] = []  # heard before the first message
        self._maintenance: list[Maintenance] = []
        self._vanished: Verdict | None = None  # the whole fabric fell silent
        self._forgot_s = self._since = 0  # second, and seconds judged since then

    def restore(self, incidents: list[Incident]) -> None:
        """Take over incidents that a former process wrote; call before the first message.

        Raises ValueError when one cannot be read; then none of these is taken over.
        """
        about_network = [each for each in incidents if each.kind != "pipeline"]
        for each in about_network:
            TrackedIncident.of(each)
        self._restored = [*self._restored, *about_network]

    def place(self, documents: Iterable[Placement]) -> None:
        """Learn where containers run and how they are; at any time, for any time.

        Documents of other fabrics are left out. Raises ValueError when a time cannot be read.
        """
        new = list(documents)
        for each in new:
            seconds_of(each.valid_from)
        if self._state is None:
            self._placements += new
        else:
            self._state.place([doc for doc in new if doc.fabric == self._state.fabric])

    def maintain(self, documents: Iterable[Maintenance]) -> None:
        """Learn what is being worked on; at any time, for any time."""
        new = list(documents)
        if self._state is None:
            self._maintenance += new
        else:
            self._state.maintenance.add(d for d in new if d.fabric == self._state.fabric)

    @property
    def suppressed(self) -> list[Suppressed]:
        """What was not told of, and why."""
        return [] if self._state is None else self._state.suppression_log.all

    @property
    def suppressed_s(self) -> Counter[Cause]:
        """How often something was not told of, once a second and component; only rises."""
        return Counter() if self._state is None else Counter(self._state.suppression_log.seconds)

    @property
    def open_incidents(self) -> int:
        """Incidents that are not resolved."""
        return 0 if self._book is None else self._book.open

    def sizes(self) -> dict[str, int]:
        """How much is remembered, by what."""
        if self._state is None or self._book is None:
            return {}
        return {
            **self._state.sizes(),
            **self._book.sizes(),
            **self._assembler.sizes(),
            "clocks": len(self._clocks),
        }

    @property
    def paths(self) -> int:
        """Paths watched."""
        return 0 if self._state is None else len(self._state.index)

    @property
    def hosts(self) -> int:
        """Hosts that are remembered."""
        return 0 if self._state is None else len(self._state.hosts)

    def crossed(self) -> dict[str, float]:
        """Component -> traversals by the paths that are remembered [paths], in expectation where a
        route is unknown; what a path crosses in one direction only counts half.
        """
        if self._state is None or not len(self._state.index):
            return {}
        incidence = self._state.incidence
        woven = incidence.woven()  # before the components: it makes what is missing
        expected = woven.pooled(np.ones(woven.shape[0]))
        return dict(zip(incidence.components, expected.tolist(), strict=True))

    @property
    def repeated(self) -> int:
        """Chunks not used: they were there already, or came after their second was judged."""
        return self._assembler.repeated

    @property
    def judged_s(self) -> int | None:
        """Newest second that has been judged [s since the epoch]; None before the first."""
        return self._assembler.judged_s

    def observe(
        self, header: Header, batch: pa.RecordBatch | None, body: bytes = b""
    ) -> LocalizerOutput:
        """Take one message of skh.windows, in topic order.

        batch  rows of a chunk; None for a punctuation, whose JSON is ``body``
        """
        state = self._of(header.fabric)
        if header.kind == "punctuation":
            self._assembler.punctuate(header)
            if body:
                skewed = msgspec.json.decode(body, type=Punctuation).skewed
                self._clocks.hear(header.partition, header.watermark_ms // 1000, skewed)
            findings = self._judge_all(self._assembler.ready())
            asked = self.options.miss_everyone
            if asked and self._assembler.idle and self._vanished is None:
                self._miss_everyone(findings)
            return findings
        if batch is None:
            return LocalizerOutput()
        if header.kind == "heartbeats":
            state.take_heartbeats(batch)
        elif header.kind == "routes":
            state.take_routes(batch)
        else:
            self._assembler.add(header, batch)
        return LocalizerOutput()

    def finish(self) -> LocalizerOutput:
        """Judge what is left: the input has ended."""
        return self._judge_all(self._assembler.finish())

    def _of(self, fabric: str) -> FabricState:
        if self._state is None:
            self._state = FabricState(fabric, self._topology, self.options)
            self._book = IncidentTracker(
                fabric, lateness_s=self.options.timing.lateness_s, strategy=self.options.strategy
            )
            self._book.restore(self._restored)
            self.place(self._placements)
            self.maintain(self._maintenance)
            self._restored, self._placements, self._maintenance = [], [], []
        return self._state

    def _judge_all(self, frames: object) -> LocalizerOutput:
        findings = LocalizerOutput()
        for frame in frames:  # type: ignore[attr-defined]  # an iterator of Frame
            self._judge(frame, findings)
        return findings

    def _miss_everyone(self, findings: LocalizerOutput) -> None:
        """Nothing arrives any more, so no second will be judged: the last one has to speak."""
        state, book, at = self._state, self._book, self._assembler.judged_s
        if state is None or book is None or at is None:
            return
        seen, suppressed = filters.reported(state, apply(state, at, fabric_outage(state, at)), at)
        apply(state, at, Decision(suppressed=suppressed))
        self._vanished = seen[0] if seen else None
        told = book.step(at + IDLE_S, [(each, impact(state, each)) for each in seen], close=False)
        findings.incidents += [incident for incident, _ in told]

    def _judge(self, frame: SecondBatch, findings: LocalizerOutput) -> None:
        state, book = self._state, self._book
        assert state is not None  # noqa: S101 — a frame comes from a message, which made both
        assert book is not None  # noqa: S101
        state.take(frame)
        if self._vanished is not None:  # until now
            seen_last = [(self._vanished, impact(state, self._vanished))]
            for incident, _ in book.step(frame.second, seen_last, close=False):
                findings.incidents.append(incident)
            state.silent_scopes.discard(self._vanished.component)
            self._vanished = None
        state.suspects = {name for kind, name in book.open_components() if kind == "reachability"}
        verdicts: list[Verdict] = second(
            state, frame.second, self._clocks.wrong(), self._clocks.suspects()
        )
        seen = [(verdict, impact(state, verdict)) for verdict in verdicts]
        for incident, bad in book.step(frame.second, seen):
            findings.incidents.append(incident)
            if incident.state != "resolved":
                findings.anomalies += anomalies(state, frame.second, incident, bad)
        self._forgot_s, self._since = self._forgot_s or frame.second, self._since + 1
        # Where event time jumps, no second may be a multiple; paths that come back after a hole are
        # given some seconds to do so.
        late = frame.second - self._forgot_s > FORGET_EVERY_S and self._since >= FORGET_AT_LEAST
        if frame.second % FORGET_EVERY_S == 0 or late:
            self._forget(state, book, frame.second)

    def _forget(self, state: FabricState, book: IncidentTracker, second: int) -> None:
        """Drop what has not been heard of for long; a few times in each quarter of an hour."""
        self._forgot_s, self._since = second, 0
        keep = state.history.last_seen >= second - FORGET_AFTER_S
        if not keep.all():
            state.keep(keep)
            book.moved(np.where(keep, np.cumsum(keep) - 1, -1))
        state.forget_hosts(second - FORGET_AFTER_S)
        state.tidy(second)
        book.forget(second)
        self._assembler.forget()
        self._clocks.forget(second - FORGET_EVERY_S)
