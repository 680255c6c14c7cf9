"""skh.windows -> incidents and anomalies: the localizer as one object. No I/O, no clock.

Its state is a function of the messages it has been given, in their order, so a replay of the topic
gives the same incidents. ``verdicts.second`` applies the rules to one second, and
``incidents.tracker`` makes incidents of its verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import pyarrow as pa

from localizer.baselines.clocks import ClockWatch
from localizer.coverage import coverage
from localizer.explanation.impact import anomalies, impact
from localizer.fabric.incidence.incidence import Incidence
from localizer.fabric.topology_versions import TopologyVersions
from localizer.host_evidence.collected import CollectedEvidence
from localizer.host_evidence.finding import HostFinding, Question
from localizer.incidents.tracked_incident import TrackedIncident
from localizer.incidents.tracker import IncidentTracker
from localizer.options import Options
from localizer.restored.incidents import RestoredIncidents
from localizer.second_batch import Assembler, SecondBatch
from localizer.state.fabric_state import FabricState
from localizer.state.inventory import rnic_hosts
from localizer.state.retention import CleanUps, clean_up
from localizer.suppression import filters
from localizer.suppression.log import Cause, Suppressed
from localizer.verdicts.decision import Decision, apply
from localizer.verdicts.rules.scope_outage import fabric_outage
from localizer.verdicts.second import at_end, second
from localizer.verdicts.verdict import Family, Verdict
from schemas.documents.coverage import Coverage
from schemas.documents.incident import Anomaly, Incident
from schemas.documents.maintenance import Maintenance
from schemas.documents.placement import Placement
from schemas.documents.requests.evidence import Evidence
from schemas.documents.times import seconds_of
from schemas.documents.topology import Topology
from schemas.wire.window_chunks import Header


class Punctuation(msgspec.Struct):
    """What the localizer reads of a punctuation's body; windowers may write more."""

    skewed: dict[str, float] = {}


@dataclass(slots=True)
class LocalizerOutput:
    """Whole incident documents that changed, and the bad paths behind those that are open."""

    incidents: list[Incident] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)


class Localizer:
    """Judges one fabric."""

    def __init__(self, *, topology: Topology | None = None, options: Options | None = None) -> None:
        self.options = options or Options()
        self._topologies = TopologyVersions(topology)
        self._assembler = Assembler()
        self._state: FabricState | None = None
        self._tracker: IncidentTracker | None = None
        self._restored: list[Incident] = []
        self._former = RestoredIncidents(self.options)
        self._evidence = CollectedEvidence(self.options.host_evidence)
        self._clocks = ClockWatch(self.options.baselines.clocks)
        self._placements: list[Placement] = []  # given before the first message
        self._maintenance: list[Maintenance] = []
        self._outage: Verdict | None = None  # of the whole fabric, until a second is judged again
        self._clean_ups = CleanUps(self.options.retention)
        self._routes: list[pa.RecordBatch] = []  # of traceroutes, read before the next second

    def restore(self, incidents: list[Incident]) -> None:
        """Continue incidents that a former process wrote; call before the first message.

        Raises ValueError when one cannot be read; then none of these is continued.
        """
        about_network = [each for each in incidents if each.kind != "pipeline"]
        for each in about_network:
            TrackedIncident.of(each)
        self._restored = [*self._restored, *about_network]

    def place(self, documents: Iterable[Placement]) -> None:
        """Add where containers run and how they are; at any time, for any time.

        Documents of other fabrics are left out. Raises ValueError when a time cannot be read.
        """
        new = list(documents)
        for each in new:
            seconds_of(each.valid_from)
        if self._state is None:
            self._placements += new
        else:
            self._state.learn_placements([doc for doc in new if doc.fabric == self._state.fabric])

    def maintain(self, documents: Iterable[Maintenance]) -> None:
        """Add maintenance windows; at any time, for any time.

        Documents of other fabrics are left out. Raises ValueError when a time cannot be read.
        """
        new = list(documents)
        if self._state is None:
            self._maintenance += new
        else:
            self._state.maintenance.add(d for d in new if d.fabric == self._state.fabric)

    def follow(self, documents: Iterable[Topology]) -> None:
        """Add topology documents; each holds from its ``valid_from`` on, in event time.

        Documents of other fabrics are left out. One that comes after a second at which it holds has
        been judged, holds from the next second on. Raises ValueError when a time cannot be read.
        """
        self._topologies.add(documents)

    def hear(self, documents: Iterable[Evidence]) -> None:
        """Add what agents answered to requests about incidents; at any time, in any order.

        What it decides shows at the end of the next second that is judged. Documents of other
        fabrics decide nothing. Raises ValueError when a time cannot be read.
        """
        for each in documents:
            self._evidence.add(each)

    @property
    def suppressed(self) -> list[Suppressed]:
        """The suppression log: what was not reported, and why."""
        return [] if self._state is None else self._state.suppression_log.all

    @property
    def suppressed_s(self) -> Counter[Cause]:
        """Suppressed reports by cause, once for each second and component; only rises."""
        return Counter() if self._state is None else Counter(self._state.suppression_log.seconds)

    @property
    def open_incidents(self) -> int:
        """Incidents that are not resolved."""
        return 0 if self._tracker is None else self._tracker.open

    def sizes(self) -> dict[str, int]:
        """How much is remembered, by what."""
        if self._state is None or self._tracker is None:
            return {}
        return {
            **self._state.sizes(),
            **self._tracker.sizes(),
            **self._assembler.sizes(),
            "topologies": len(self._topologies),
            "host_evidence": len(self._evidence),
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

    def coverage(self) -> Coverage | None:
        """What the paths that are remembered cross of the topology; None where there is none.

        Call it when a second has just been judged.
        """
        state, judged_s = self._state, self.judged_s
        if state is None or state.topology is None or judged_s is None or not len(state.index):
            return None
        return coverage(state.fabric, judged_s, len(state.index), state.topology, state.incidence)

    @property
    def incidence(self) -> Incidence | None:
        """What the paths that are remembered cross; None where there are none."""
        if self._state is None or not len(self._state.index):
            return None
        return self._state.incidence

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
        """Judge one message of skh.windows; call in topic order.

        batch  rows of a chunk; None for a punctuation, whose JSON is ``body``
        """
        state = self._of(header.fabric)
        if header.kind == "punctuation":
            self._assembler.punctuate(header)
            if body:
                skewed = msgspec.json.decode(body, type=Punctuation).skewed
                self._clocks.observe(header.partition, header.watermark_ms // 1000, skewed)
            return self._judge_all(self._assembler.ready())
        if batch is None:
            return LocalizerOutput()
        if header.kind == "heartbeats":
            state.learn_heartbeats(batch)
        elif header.kind == "routes":  # many small chunks: a call of its own costs more than rows
            self._routes.append(batch)
        else:
            self._assembler.add(header, batch)
        return LocalizerOutput()

    def judges_at(self, header: Header) -> bool:
        """Whether ``observe`` would judge seconds at this message, which takes time."""
        return header.kind == "punctuation" and self._assembler.completes(header)

    def finish(self) -> LocalizerOutput:
        """Judge what is left at the end of the input."""
        output = self._judge_all(self._assembler.finish())
        if self._state is not None:
            self._learn_routes(self._state)
        state, tracker, at = self._state, self._tracker, self.judged_s
        if state is not None and tracker is not None and at is not None and state.unsettled_s:
            verdicts = at_end(state, at, self._clocks.suspects())
            self._track(state, tracker, at, verdicts, output, last=True)
        return output

    def report_silence(self) -> LocalizerOutput:
        """The outage of the whole fabric, if that is why no message comes any more.

        Without messages no second is judged, so the caller must know that none has come for
        ``ScopeOutageParameters.unseen_s`` and that none is on its way: at the end of a file, or
        while the broker is away, silence shows nothing. No effect while a partition is not idle,
        nor when the outage has been reported.
        """
        state, tracker, at = self._state, self._tracker, self._assembler.judged_s
        if state is None or tracker is None or at is None:
            return LocalizerOutput()
        if self._outage is not None or not self._assembler.idle:
            return LocalizerOutput()
        unseen_s = self.options.verdicts.scope_outage.unseen_s
        known_s = at + int(unseen_s + self.options.timing.idle_s)
        verdicts = apply(state, at, fabric_outage(state, at, known_s))
        found = filters.reported(state, verdicts, at)
        apply(state, at, Decision(suppressed=found.suppressed))
        if not found.verdicts:
            return LocalizerOutput()
        (self._outage,) = found.verdicts
        seen = [(self._outage, impact(state, self._outage))]
        documents = tracker.step(known_s, seen, close=False)
        return LocalizerOutput([incident for incident, _ in documents])

    def _of(self, fabric: str) -> FabricState:
        if self._state is None:
            self._state = FabricState(fabric, self._topologies.initial, self.options)
            self._tracker = IncidentTracker(
                fabric,
                lateness_s=self.options.timing.lateness_s,
                strategy=self.options.strategy,
                parameters=self.options.incidents,
            )
            self._tracker.restore(self._restored)
            self._former.add(self._restored, self._state.history.seconds)
            self.place(self._placements)
            self.maintain(self._maintenance)
            self._restored, self._placements, self._maintenance = [], [], []
        return self._state

    def _judge_all(self, batches: Iterable[SecondBatch]) -> LocalizerOutput:
        output = LocalizerOutput()
        for batch in batches:
            self._judge(batch, output)
        return output

    def _judge(self, batch: SecondBatch, output: LocalizerOutput) -> None:
        state, tracker = self._state, self._tracker
        assert state is not None  # noqa: S101 — a batch comes from a message, which made both
        assert tracker is not None  # noqa: S101
        topology = self._topologies.at(state.fabric, batch.second)
        if topology is not None and topology is not state.topology:
            state.follow(topology)
            tracker.relocate()
        self._former.restore_silence(state)
        self._learn_routes(state)
        state.ingest(batch)
        if self._outage is not None:
            seen = [(self._outage, impact(state, self._outage))]
            documents = tracker.step(batch.second, seen, close=False)
            output.incidents += [incident for incident, _ in documents]
            if not batch.panes:  # time has passed, but the fabric is silent still
                return
            self._outage = None
        open_now = tracker.open_components()

        def named(family: Family) -> set[str]:
            return {name for each, names in open_now if each == family for name in names}

        state.suspects, state.slow = named("reachability"), named("latency")
        longest_s = max(self.options.verdicts.reachability.windows_s)
        state.troubled = tracker.troubled_since("reachability", batch.second - longest_s + 1)
        state.ended = tracker.ended("reachability")
        state.named, state.drifting = (
            {names[0] for family, names in open_now if family == each}
            for each in ("reachability", "drift")
        )
        verdicts = second(state, batch.second, self._clocks.wrong(), self._clocks.suspects())
        held = self._former.open_without_verdict(state, batch.second, verdicts, jumped=batch.jumped)
        tracker.hold(held, batch.second)
        self._track(state, tracker, batch.second, verdicts, output)
        output.incidents += [incident for incident, _ in tracker.learn(batch.second, self._decided)]
        if self._clean_ups.due(batch.second):
            if (moved := clean_up(state, batch.second)) is not None:
                tracker.renumber(moved)
            tracker.drop_old_sightings(batch.second)
            self._topologies.drop_old(state.fabric, batch.second)
            self._assembler.drop_old()
            self._clocks.drop_before(batch.second - self.options.retention.every_s)

    def _learn_routes(self, state: FabricState) -> None:
        """Read the traceroutes that have come since the last second."""
        if self._routes:
            batches, self._routes = self._routes, []
            state.learn_routes(pa.concat_batches(batches) if len(batches) > 1 else batches[0])

    def _track(
        self, state: FabricState, tracker: IncidentTracker, at: int, verdicts: list[Verdict],
        output: LocalizerOutput, *, last: bool = False,
    ) -> None:  # fmt: skip
        """Give the verdicts of a second to their incidents; last: see ``IncidentTracker.step``."""
        seen = [(verdict, impact(state, verdict)) for verdict in verdicts]
        for incident, bad in tracker.step(at, seen, close=not last, last=last):
            output.incidents.append(incident)
            if incident.state != "resolved":
                output.anomalies += anomalies(state, at, incident, bad)

    def _decided(self, incident_id: str, question: Question) -> HostFinding | None:
        """What the evidence of hosts decides, where it has not been asked that yet."""
        if self._state is None or not self._evidence.has_news(incident_id, question):
            return None
        known = self._state
        owners = rnic_hosts(known.index.paths)
        return self._evidence.answer(incident_id, question, known.fabric, owners)
