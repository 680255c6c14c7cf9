"""skh.windows -> incidents and anomalies: the localiser as one object. Pure.

Its state is a function of the messages it has been given, in their order, so a replay of the topic
gives the same incidents. ``judge`` holds what one second is judged by.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np
import pyarrow as pa

from localizer import judge
from localizer.assemble import Assembler, Frame
from localizer.clocks import ClockWatch
from localizer.incidents import IncidentBook
from localizer.state import FabricState, Options
from localizer.verdict import Verdict
from schemas.incident import Anomaly, Incident
from schemas.topology import Topology
from schemas.windows import Header

FORGET_EVERY_S = 120
FORGET_AFTER_S = 900  # a five-tuple not probed for so long is history


class Punctuation(msgspec.Struct):
    """Body of a punctuation that the localiser reads; windowers may say more."""

    skewed: dict[str, float] = {}


@dataclass(slots=True)
class Findings:
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
        self._book: IncidentBook | None = None
        self._restored: list[Incident] = []
        self._clocks = ClockWatch()

    def restore(self, incidents: list[Incident]) -> None:
        """Take over incidents that a former process wrote; call before the first message."""
        self._restored = incidents

    @property
    def paths(self) -> int:
        """Paths watched."""
        return 0 if self._state is None else len(self._state.index)

    @property
    def judged_s(self) -> int | None:
        """Newest second that has been judged [s since the epoch]; None before the first."""
        return self._assembler.judged_s

    def observe(self, header: Header, batch: pa.RecordBatch | None, body: bytes = b"") -> Findings:
        """Take one message of skh.windows, in topic order.

        batch  rows of a chunk; None for a punctuation, whose JSON is ``body``
        """
        state = self._of(header.fabric)
        if header.kind == "punctuation":
            self._assembler.punctuate(header)
            if body:
                skewed = msgspec.json.decode(body, type=Punctuation).skewed
                self._clocks.hear(header.partition, header.watermark_ms // 1000, skewed)
            return self._judge_all(self._assembler.ready())
        if batch is None:
            return Findings()
        if header.kind == "heartbeats":
            state.take_heartbeats(batch)
        elif header.kind == "routes":
            state.take_routes(batch)
        else:
            self._assembler.add(header, batch)
        return Findings()

    def finish(self) -> Findings:
        """Judge what is left: the input has ended."""
        return self._judge_all(self._assembler.finish())

    def _of(self, fabric: str) -> FabricState:
        if self._state is None:
            self._state = FabricState(fabric, self._topology, self.options)
            self._book = IncidentBook(
                fabric, lateness_s=self.options.lateness_s, strategy=self.options.strategy
            )
            self._book.restore(self._restored)
        return self._state

    def _judge_all(self, frames: object) -> Findings:
        findings = Findings()
        for frame in frames:  # type: ignore[attr-defined]  # an iterator of Frame
            self._judge(frame, findings)
        return findings

    def _judge(self, frame: Frame, findings: Findings) -> None:
        state, book = self._state, self._book
        assert state is not None  # noqa: S101 — a frame comes from a message, which made both
        assert book is not None  # noqa: S101
        state.take(frame)
        state.suspects = {name for kind, name in book.open_components() if kind == "reachability"}
        verdicts: list[Verdict] = judge.second(
            state, frame.second, self._clocks.wrong(), self._clocks.suspects()
        )
        seen = [(verdict, state.impact(verdict)) for verdict in verdicts]
        for incident, bad in book.step(frame.second, seen):
            findings.incidents.append(incident)
            if incident.state != "resolved":
                findings.anomalies += state.anomalies(frame.second, incident, bad)
        if frame.second % FORGET_EVERY_S == 0:
            keep = state.history.last_seen >= frame.second - FORGET_AFTER_S
            if not keep.all():
                state.keep(keep)
                book.moved(np.where(keep, np.cumsum(keep) - 1, -1))
