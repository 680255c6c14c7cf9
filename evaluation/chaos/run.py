"""One fault, from the start of all processes to what came out; and what has to hold then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from evaluation.chaos import load, reference
from evaluation.chaos.faults import LEAD_S, Fault
from evaluation.chaos.observer import Identity, Observer, identities
from evaluation.chaos.site.pipeline import Pipeline
from evaluation.chaos.site.process import LONG_S, Unfinished, wait_for
from schemas import topics
from schemas.documents.incident import Incident
from schemas.documents.times import rfc3339
from testbed.scenarios import scenario
from testbed.scenarios.scenario import Scenario
from testbed.topologies.clos import ClosSpec

#: The network fault begins so many seconds after the time that steps count from [s].
NETWORK_FAULT_S: Final = 40
#: A long past is simulated, published and judged within this time [s].
_CATCH_UP_S: Final = 60
_AFTER_S: Final = 15
_SHORTEST_S: Final = 90
_LOOK_S: Final = 0.25
_SEED: Final = 3
_MOST_RESTARTS: Final = 20
_MISSING: Final = 'skh_stream_missing_messages_total{topic="skh.pings"}'


@dataclass(slots=True)
class Outcome:
    """What became of the records [count], and of the incidents, under one fault.

    published   records that the broker has stored; repeated: of those, exact copies
    stored      rows of the store, each once
    judged      records in panes, each once; late, duplicate: as counted by all workers
    overtaken   records that the broker deleted before they were read
    missing     messages that workers report as deleted; overtaken_messages: as many were
    letters     dead letters by place; poison: messages published that cannot be read
    named_s     from the network fault to the first version of its incident in the broker [s]
    again_s     from the end of the fault until every worker judges the present [s]; 0: always did
    restarts    processes that ended by themselves and were started again
    answered    requests of the API's clients; failed: what became of each other one
    lists_read  by agents; lists_failed: readings that no controller answered; lists_lost: lists
                that an agent gave up since that went on
    problems    what does not hold, a line each
    """

    fault: Fault
    published: int = 0
    repeated: int = 0
    stored: int = 0
    judged: int = 0
    late: int = 0
    duplicate: int = 0
    overtaken: int = 0
    overtaken_messages: int = 0
    missing: int = 0
    letters: int = 0
    poison: int = 0
    named_s: float | None = None
    again_s: float | None = None
    restarts: int = 0
    answered: int = 0
    failed: list[str] = field(default_factory=list)
    lists_read: int = 0
    lists_failed: int = 0
    lists_lost: int = 0
    found: set[Identity] = field(default_factory=set)
    expected: set[Identity] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def check(outcome: Outcome) -> Iterator[str]:
    """What does not hold: records that are not accounted for, incidents that differ."""
    o, fault = outcome, outcome.fault
    if o.stored != o.published - o.repeated:
        yield f"{o.published - o.repeated} records were published, {o.stored} are stored"
    if o.letters != o.poison:
        yield f"{o.poison} messages cannot be read, {o.letters} are dead letters"
    explained = o.late * fault.late + o.duplicate * fault.duplicate + o.overtaken
    if o.judged > o.published or o.judged + explained < o.published:
        yield (
            f"of {o.published} records {o.judged} were judged, {o.late} late, {o.duplicate} "
            f"duplicate, {o.overtaken} deleted unread"
        )
    if o.missing != o.overtaken_messages:
        yield f"{o.overtaken_messages} messages were deleted unread, {o.missing} are reported"
    if fault.overtaken:
        invented = {i.component for i in o.found} - {i.component for i in o.expected}
        if invented:
            yield f"incidents on {sorted(invented)}"
    elif o.found != o.expected:
        yield f"incidents differ: {sorted(o.found ^ o.expected)}"
    if o.again_s is None:
        yield "judging did not go on"
    if o.failed:
        yield f"{len(o.failed)} requests of the API failed, {o.failed[0]}"
    if o.lists_lost:
        yield f"agents gave up {o.lists_lost} ping lists"
    if fault.replicas and not (o.answered and o.lists_read):
        yield "no request of the API was answered, or no ping list read"


def play(
    fault: Fault,
    folder: Path,
    report: Callable[[str], None] = lambda _: None,
    other: Path | None = None,
) -> Outcome:
    """Run the pipeline in a folder, disturb it, wait until it is quiet, and check.

    other  tree of another release, for faults that change from one to the other
    """
    outcome = Outcome(fault)
    plan = _plan(fault)
    topology = plan.simulation(seed=_SEED, start_ns=0).topology
    pipeline = Pipeline(
        folder, topology, brokers=fault.brokers, small_disk=fault.small_disk,
        before=fault.before, other=other,
    )  # fmt: skip
    observer = Observer(pipeline.brokers.bootstrap)
    try:
        for number in range(fault.workers):
            pipeline.start_worker(instance=f"worker-{number}" if fault.named else None)
        wait_for(lambda: _ready(pipeline), "workers are ready")
        if fault.replicas:
            pipeline.start_replicas()
        if fault.written_s:
            pipeline.brokers.keep_times(topics.PINGS, topics.HEARTBEATS)
        lead_s = (-_CATCH_UP_S if fault.history_s else LEAD_S) + fault.written_s
        start_ns = (time.time_ns() // load.SECOND_NS - lead_s) * load.SECOND_NS
        simulation = plan.simulation(
            seed=_SEED, start_ns=start_ns - fault.history_s * load.SECOND_NS
        )
        length_s = fault.history_s + max(_SHORTEST_S, fault.ends_s + _AFTER_S)
        seconds = [*simulation.seconds(length_s)]
        usable = messages = load.load(seconds)
        if fault.usable is not None:
            usable = fault.usable(messages, start_ns)
        if fault.disturb is not None:
            plain = load.records(messages)
            messages = fault.disturb(messages, start_ns)
            outcome.repeated = (load.records(messages) - plain) * fault.duplicate
            pings = [each for each in messages if each.topic == topics.PINGS.name]
            outcome.poison = sum(not each.records for each in pings)
        ended = rfc3339(seconds[-1].start_ns)
        report("the cluster is simulated")
        publisher = load.Publisher(pipeline.brokers.bootstrap, messages)
        try:
            _disturb(pipeline, publisher, start_ns, outcome, report)
            report("everything is published")
            judged = reference.judge(topology, usable)
            outcome.expected = identities(judged)
            last = {each.incident_id: each.state for each in judged}
            lasting = {known for known, state in last.items() if state != "resolved"}
            wait_for(
                lambda: _quiet(observer, publisher, ended, outcome, lasting), "everything is judged"
            )
        finally:
            publisher.cancel()
            _measure(pipeline, observer, publisher, start_ns, outcome)
            outcome.found = identities(_during(observer.incidents, ended))
    except Unfinished as why:
        outcome.problems.append(str(why))
    finally:
        observer.close()
        pipeline.close()
    outcome.problems += check(outcome)
    return outcome


def _plan(fault: Fault) -> Scenario:
    """The simulated cluster, as large and with as long a past as the fault needs."""
    plan = scenario.load("small")
    faults = [msgspec.structs.replace(each, at=each.at + fault.history_s) for each in plan.faults]
    plan = msgspec.structs.replace(plan, faults=faults)
    if not fault.large or not isinstance(plan.fabric, ClosSpec):
        return plan
    fabric = msgspec.structs.replace(plan.fabric, hosts=64, hosts_per_job=64, hosts_per_segment=16)
    probing = msgspec.structs.replace(plan.probing, targets=24)
    return msgspec.structs.replace(plan, fabric=fabric, probing=probing)


def _ready(pipeline: Pipeline) -> bool:
    """Whether every worker is ready; raises Unfinished where one has ended, before any fault."""
    if not all(each.running for each in pipeline.workers):
        raise Unfinished(f"a worker ended at its start: {pipeline.last_words()}")
    return all(each.ready() for each in pipeline.workers)


def _disturb(
    pipeline: Pipeline,
    publisher: load.Publisher,
    start_ns: int,
    outcome: Outcome,
    report: Callable[[str], None],
) -> None:
    """Take each step at its time, until everything is published and judging goes on."""
    steps = [*outcome.fault.steps]
    healed_s: float | None = None
    deadline_s = time.monotonic() + outcome.fault.ends_s - outcome.fault.written_s + LONG_S
    while publisher.is_alive() or outcome.again_s is None:
        if time.monotonic() > deadline_s:
            return
        if steps and time.time_ns() >= start_ns + steps[0].at_s * load.SECOND_NS:
            steps.pop(0).act(pipeline)
            if not steps:
                healed_s = time.monotonic()
                report("the fault is over")
            continue
        outcome.restarts += pipeline.supervise()
        if outcome.restarts > _MOST_RESTARTS:
            raise Unfinished(f"processes end again and again: {pipeline.last_words()}")
        if healed_s is not None:
            if not pipeline.judging():
                outcome.again_s = None
            elif outcome.again_s is None:
                outcome.again_s = time.monotonic() - healed_s
        time.sleep(_LOOK_S)  # between two looks


def _during(incidents: list[Incident], ended: str) -> list[Incident]:
    """Incidents from before the load ended: to the pipeline that is the death of all agents."""
    return [each for each in [*incidents] if each.opened_at < ended]


def _quiet(
    observer: Observer, publisher: load.Publisher, ended: str, outcome: Outcome, lasting: set[str]
) -> bool:
    """Whether every record is in a closed pane or counted, and every incident is over.

    lasting  ids of incidents that are not over when the load ends
    """
    last = {each.incident_id: each.state for each in _during(observer.incidents, ended)}
    open_now = {known for known, state in last.items() if state != "resolved"}
    over = open_now <= lasting and len(last) >= len(outcome.expected)
    published = publisher.published
    gaps = observer.counted("late") + observer.counted("duplicate")
    accounted = observer.judged.records + gaps >= published.records
    return over and (accounted or outcome.fault.overtaken)


def _measure(
    pipeline: Pipeline,
    observer: Observer,
    publisher: load.Publisher,
    start_ns: int,
    outcome: Outcome,
) -> None:
    """Stop everything in the order of the data, and count."""
    if (replicas := pipeline.replicas) is not None:
        replicas.close()
        outcome.answered, outcome.failed = replicas.api.answered, replicas.api.failed
        agents = replicas.agents
        outcome.lists_read, outcome.lists_failed = agents.read, agents.failed
        outcome.lists_lost = agents.lost
    outcome.missing = int(pipeline.workers_metric(_MISSING))
    for worker in pipeline.workers:
        if worker.stop():
            outcome.problems.append(f"a worker ended with {worker.process.returncode}")
    wait_for(lambda: pipeline.brokers.sink_lag() == 0, "everything is stored", 90)
    pipeline.sink.stop()
    pipeline.store.kill()
    stored, *_ = pipeline.query("SELECT count() AS n FROM pings_unique")
    outcome.stored = stored[0]["n"]
    outcome.published = publisher.published.records
    outcome.judged = observer.judged.records
    outcome.late, outcome.duplicate = observer.counted("late"), observer.counted("duplicate")
    outcome.letters = len(observer.dead_letters)
    for partition, offsets in enumerate(pipeline.brokers.overtaken):
        outcome.overtaken_messages += len(offsets)
        places = ((topics.PINGS.name, partition, offset) for offset in offsets)
        outcome.overtaken += sum(publisher.published.by_place.get(at, 0) for at in places)
    if observer.first_ms:
        began_ms = start_ns / 1e6 + NETWORK_FAULT_S * 1000
        outcome.named_s = (min(observer.first_ms.values()) - began_ms) / 1000
