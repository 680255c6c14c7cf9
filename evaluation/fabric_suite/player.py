"""Plays faults on a real fabric with agents in it and measures how the pipeline reports them.

The records take the way of production: agents, relay, codecs, PartitionWorker, Localizer. So does
the evidence of hosts: incidents, feedback loop, requests to agents, their answers, Localizer. Only
Kafka between them is left out.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from evaluation.fabric_suite.controller import SuiteController, controlled
from evaluation.fabric_suite.inbox import Inbox
from evaluation.fabric_suite.result import Result, incidents_during, scored
from evaluation.fabric_suite.scheduling_delay import SchedulingDelay
from probers.publishing.relay import Relay
from schemas.documents.incident import Incident
from schemas.wire import batches
from streams.readers.host_evidence import UsableEvidence
from streams.replay import Replay
from testbed.netns import Fabric, FabricError
from testbed.netns.fault_suite import PLAN, SuiteFault
from testbed.netns.faults import actions, issues
from testbed.netns.probes.agents import start_agents
from testbed.scoring import score as scoring
from testbed.scoring.truth import Truth

_TURN_S: Final = 0.5
#: Longest wait for the route of every five-tuple, and the quiet seconds after it.
_ROUTES_S: Final = 60.0
_WARM_S: Final = 10.0
#: The latency detector compares with earlier windows of 30 s: it needs so much input in all.
_WARM_FOR_LATENCY_S: Final = 70.0
#: Longest wait until the incidents of a destroyed fault are closed, and the pause after it.
_CALM_S: Final = 60.0
_REST_S: Final = 3.0
#: How long a fault stays after it is found: an incident that names it for a moment only shows. One
#: that comes and goes stays for so many of its periods, so that its seconds show it.
_STAYS_S: Final = 2.0
_STAYS_PERIODS: Final = 2.0
#: Longest wait until hosts are asked about themselves, and until they have answered: two readings
#: of counters, 30 s apart. Then until the localizer has judged a second with them.
_ASKED_S: Final = 3.0
_ANSWERED_S: Final = 45.0
_JUDGED_S: Final = 4.0
_PORTS_PER_PAIR: Final = 2
_PRIORITY: Final = -10

#: Destination port and protocol are those of all probes.
_FIVE_TUPLE: Final = ("src_ip", "src_port", "dst_ip")
FiveTuple = tuple[str, int, str]


class Player:
    """A fabric whose agents feed the pipeline; a context manager.

    report    receives one line about each step
    evidence  a controller asks hosts about incidents, and each fault stays until they have answered
    """

    def __init__(self, report: Callable[[str], None], *, evidence: bool = True) -> None:
        self._report = report
        self._evidence = evidence
        self._controller: SuiteController | None = None
        self._usable = UsableEvidence()
        self._inbox = Inbox()
        self._stack = ExitStack()
        self._newest: dict[str, Incident] = {}
        self._probed: set[FiveTuple] = set()
        self._traced: set[FiveTuple] = set()
        self._started_s = 0.0
        self._warm = False
        self.fabric = Fabric(PLAN)
        self.pipeline = Replay(topology=self.fabric.topology)

    def __enter__(self) -> Player:
        with ExitStack() as stack:
            self._delay = stack.enter_context(SchedulingDelay())
            stack.enter_context(_high_priority())
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="skh-")))
            stack.enter_context(Relay(directory / "relay.sock", self._inbox))
            begin = time.monotonic()
            stack.enter_context(self.fabric)
            self._report(f"{len(PLAN.nodes())} namespaces up in {time.monotonic() - begin:.1f} s")
            publish = f"unix:{directory / 'relay.sock'}"
            if self._evidence:
                self._controller = stack.enter_context(
                    controlled(self.fabric, directory, publish, ports_per_pair=_PORTS_PER_PAIR)
                )
            else:
                start_agents(
                    self.fabric, directory, publish, ports_per_pair=_PORTS_PER_PAIR,
                    log=directory / "agents.log",
                )  # fmt: skip
            self._started_s = time.monotonic()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def play(self, rounds: Sequence[Sequence[SuiteFault]]) -> Result:
        """Play rounds one after another, with calm between them; raises FabricError.

        rounds  the faults of a round are in place at the same time, so they should not share
                components or paths
        """
        begin = time.monotonic()
        self._run_until(self._routes_known, _ROUTES_S)
        self._run(_WARM_S)
        self._warm = True
        names: list[str] = []
        made: list[Truth] = []
        for faults in rounds:
            latency = any(map(_raises_latency, faults))
            if latency:
                self._run(self._started_s + _WARM_FOR_LATENCY_S - time.monotonic())
            self._run_until(partial(self._calm, wait_for_latency=latency), _CALM_S)
            self._run(_REST_S)
            names += [each.name for each in faults]
            made += self._play_round(faults)
        records = self.pipeline.counts.records
        self._keep_newest(self.pipeline.finish().incidents)
        return scored(
            names, made, list(self._newest.values()), records, time.monotonic() - begin,
            self._delay.complaint(begin),
        )  # fmt: skip

    def _play_round(self, faults: Sequence[SuiteFault]) -> list[Truth]:
        created = [self.fabric.create(each.fault) for each in faults]
        made = []
        for fault in created:
            truth = issues.truth(fault, PLAN.fabric)
            if truth is None:
                raise FabricError(f"{fault}: probes cannot see it")
            made.append(truth)

        def all_found() -> bool:
            return not scoring.score(made, self._newest.values()).missed

        self._run_until(all_found, max(each.timeout_s for each in faults))
        periods_s = [each.fault.period_s or 0.0 for each in faults]
        self._run(max(_STAYS_S, _STAYS_PERIODS * max(periods_s)))
        if self._controller is not None:
            self._await_facts(self._controller)
        for fault in reversed(created):
            self.fabric.destroy(fault)
        matched = scoring.score(made, self._newest.values()).matched
        ended = [msgspec.structs.replace(truth, end=issues.now()) for truth in made]
        for each, truth in zip(faults, ended, strict=True):
            after = [match.seconds for match in matched if match.truth.component == each.fault.at]
            outcome = f"{after[0]:.1f} s" if after else "missed"
            if not after and (opened := incidents_during(truth, [*self._newest.values()])):
                outcome += f"; incidents meanwhile: {', '.join(opened)}"
            self._report(f"{each.name:28} {each.fault.at:40} {outcome}")
        return ended

    def _await_facts(self, controller: SuiteController) -> None:
        """Let the pipeline run until hosts have answered what they were asked about themselves."""
        self._run_until(controller.awaits_facts, _ASKED_S)
        if controller.awaits_facts():
            self._run_until(lambda: not controller.awaits_facts(), _ANSWERED_S)
            self._run(_JUDGED_S)

    def _routes_known(self) -> bool:
        """Whether every NIC probes and every five-tuple of the underlay has been traced."""
        nics = {rnic.real_ip for host in self.fabric.topology.hosts for rnic in host.rnics}
        return {source for source, _, _ in self._probed} == nics and self._probed <= self._traced

    def _calm(self, *, wait_for_latency: bool) -> bool:
        """Whether the incidents of earlier rounds are closed. A latency incident closes when its
        windows of 30 s have passed, which only another latency fault has to wait for."""
        return all(
            incident.closed_at or (incident.symptom == "high_latency" and not wait_for_latency)
            for incident in self._newest.values()
        )

    def _run(self, seconds: float) -> None:
        """Let the pipeline run for so long."""
        self._run_until(lambda: False, seconds)

    def _run_until(self, reached: Callable[[], bool], timeout_s: float) -> None:
        """Let the pipeline run until ``reached()``, or until the time is over."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not reached():
            time.sleep(_TURN_S)
            self._turn()

    def _turn(self) -> None:
        pings, beats, answers = self._inbox.drain()
        batch = batches.decode_all(pings).batch
        if not self._warm:
            self._note_routes(batch)
        if self._controller is not None:
            self.pipeline.hear(self._usable.of(answers))
        incidents = self.pipeline.feed(batch, beats, time.time_ns()).incidents
        self._keep_newest(incidents)
        if self._controller is not None:
            self._controller.follow(incidents, answers)

    def _note_routes(self, batch: pa.RecordBatch) -> None:
        """Remember which five-tuples of the underlay were probed, and which were traced."""
        if not {*_FIVE_TUPLE, "agent_type"} <= {*batch.schema.names}:
            return  # no message has come yet
        under = batch.filter(pc.equal(batch.column("agent_type"), "underlay"))
        traces = pc.equal(under.column("task_type"), "TRACEROUTE")
        self._traced |= _five_tuples(under.filter(traces))
        self._probed |= _five_tuples(under.filter(pc.invert(traces)))

    def _keep_newest(self, incidents: Sequence[Incident]) -> None:
        for incident in incidents:
            self._newest[incident.incident_id] = incident


def _five_tuples(rows: pa.RecordBatch) -> set[FiveTuple]:
    columns = (rows.column(name).to_pylist() for name in _FIVE_TUPLE)
    return set(zip(*columns, strict=True))


def _raises_latency(each: SuiteFault) -> bool:
    return actions.symptom(each.fault) == "high_latency"


@contextmanager
def _high_priority() -> Iterator[None]:
    """Raise the priority of this process and its children, so that the load of other processes
    does not starve the agents."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):  # the fabric will report that it needs root
        os.setpriority(os.PRIO_PROCESS, 0, min(usual, _PRIORITY))
    try:
        yield
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, usual)
