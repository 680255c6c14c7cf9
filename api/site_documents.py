"""Response bodies about the site: topology, agents, pipeline, jobs."""

from __future__ import annotations

from typing import Final

import msgspec


class SwitchNode(msgspec.Struct, frozen=True, array_like=True):
    """[component, name, pod, sent, lost, rtt_us]: a switch; the kind in its id is its tier. Probes
    whose paths cross it in the time that is added up, by their traced routes (of a ToR all of its
    rnics'), without those of rnics that lose by themselves; 0 where none is known to; and the
    median of their round trips [us] or null.
    """

    component: str
    name: str
    pod: str
    sent: int = 0
    lost: int = 0
    rtt_us: float | None = None


class HostNode(msgspec.Struct, frozen=True, array_like=True):
    """[name, pod]: a host."""

    name: str
    pod: str


class RnicNode(msgspec.Struct, frozen=True, array_like=True):
    """[name, host, rail, tor, sent, lost, rtt_us]: an rnic; host and tor are numbers of the host
    and of the switch, -1 where none is known. Probes over it in the time that is added up, and the
    median of their paths' round trips [us] or null.
    """

    name: str
    host: int
    rail: int
    tor: int
    sent: int
    lost: int
    rtt_us: float | None


class Marked(msgspec.Struct, frozen=True, kw_only=True):
    """An incident on the drawing.

    marks  components of the drawing that it names; ties: those that probes cannot tell from them
    """

    incident_id: str
    component: str
    marks: list[str]
    ties: list[str]
    severity: str
    state: str
    symptom: str
    opened_at: str
    text: str


class DrawnPath(msgspec.Struct, frozen=True, kw_only=True):
    """A five-tuple path over the drawing.

    src, dst  addresses of its rnics
    hops      names of the switches that it crosses; only the ToRs where no route is traced
    traced    whether a traceroute of the same five-tuple showed them
    """

    src: str
    dst: str
    layer: str
    hops: list[str]
    traced: bool
    sent: int
    lost: int
    rtt_us: float | None


class IncidentPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Some of an incident's bad paths, and of the others of the same source hosts.

    bad_total  bad paths that are stored [count]
    """

    incident: Marked
    bad: list[DrawnPath]
    good: list[DrawnPath]
    bad_total: int


class TopologyView(msgspec.Struct, frozen=True, kw_only=True):
    """A fabric, the health of its rnics, and its active incidents.

    source            document (skh.topology), records (learnt from windows) or none
    missing           what is not known and what would tell it, in sentences
    links             numbers of two switches each
    since_s, until_s  the time over which probes are added up, since the epoch [s]
    uncovered         components that no probe crosses, by the newest coverage
    """

    fabric: str
    fabrics: list[str]
    source: str
    missing: list[str]
    valid_from: str | None
    since_s: int | None
    until_s: int | None
    switches: list[SwitchNode]
    links: list[tuple[int, int]]
    hosts: list[HostNode]
    rnics: list[RnicNode]
    incidents: list[Marked]
    uncovered: list[str]
    paths: IncidentPaths | None


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent by its heartbeats.

    state      active; silent (no heartbeat for 10 s while others send); or the symptom of an active
               incident: agent_down, host_down, agent_starved, clock_skewed
    last       newest heartbeat (RFC 3339, the agent's clock)
    cpu_steal, scheduling_delay_us  largest of its newest minute
    clock_ms   how far its clock is behind those of the fabric's other agents (their median), by
               when its heartbeats arrive [ms]; negative: ahead; null while it sends none
    """

    fabric: str
    node_sn: str
    scope: str
    state: str
    incident_id: str | None
    version: str
    last: str
    started: str | None
    cpu_steal: float
    scheduling_delay_us: float
    clock_ms: int | None
    rnics: int
    sent: int
    answered: int


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """Agents, those with trouble first.

    total       agents that match
    states, versions  agents by state and by version, of all that match but the state [count]
    arrival_s   from the agents' clocks to the broker's on arrival, median [s]; null without any
    newest_age_s  time since the newest heartbeat arrived [s], by the database's clock; null without
    hosts       hosts of the newest topology documents [count]; null without a document
    silent_hosts  the first of those hosts without any agent; silent_total: how many
    """

    agents: list[Agent]
    total: int
    states: dict[str, int]
    versions: dict[str, int]
    newest_age_s: float | None
    arrival_s: float | None
    hosts: int | None
    silent_hosts: list[str]
    silent_total: int


class FabricProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a fabric is judged.

    watermark   end of the newest stored window (RFC 3339, event time)
    age_s       from there to now, by the database's clock [s]
    stored_lag_s  from the end of a window until it is stored, median of the last five minutes [s]
    """

    fabric: str
    watermark: str
    age_s: float
    stored_lag_s: float | None
    paths: int


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """By minute of event time: its begin [s since the epoch], records and probes in windows."""

    times: list[int]
    records: list[int]
    probes: list[int]


class DeadLetterCount(msgspec.Struct, frozen=True, kw_only=True):
    """Records that could not be used in the last day, by topic and reason."""

    topic: str
    reason: str
    records: int
    newest: str


class TableSize(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the store: its rows [count] and bytes on disk [B]."""

    table: str
    rows: int
    bytes: int


class ProcessMetric(msgspec.Struct, frozen=True, array_like=True):
    """[name, labels, value] of a metric of this process."""

    name: str
    labels: dict[str, str]
    value: float


class PipelineView(msgspec.Struct, frozen=True, kw_only=True):
    """What the tables know of the pipeline, and what this process counts.

    unknown  what cannot be known here, in sentences
    """

    fabrics: list[FabricProgress]
    rates: Rates
    dead_letters: list[DeadLetterCount]
    tables: list[TableSize]
    process: list[ProcessMetric]
    unknown: list[str]


class JobLine(msgspec.Struct, frozen=True, kw_only=True):
    """A job in the list; containers that are ready, and all that are not gone [count]."""

    job: str
    fabric: str
    tenants: list[str]
    ready: int
    containers: int
    hosts: int
    active: dict[str, int]


class JobList(msgspec.Struct, frozen=True):
    """Jobs with containers or with incidents, those with active incidents first."""

    items: list[JobLine]
    total: int


class JobContainer(msgspec.Struct, frozen=True, kw_only=True):
    """A container of a job, with the probes from and to it in the last minutes.

    rtt_us    median over its paths of their median round trip [us]
    slowness  that, over the median of the job's containers [1]
    """

    node_id: str
    node_sn: str
    state: str
    rnics: list[str]
    sent: int
    lost: int
    rtt_us: float | None
    slowness: float | None


class JobIncident(msgspec.Struct, frozen=True, kw_only=True):
    """An incident that affects the job."""

    incident_id: str
    component: str
    kind: str
    symptom: str
    severity: str
    state: str
    opened_at: str
    closed_at: str | None
    text: str


class JobSeries(msgspec.Struct, frozen=True):
    """Windows of 30 s of all paths of the job: begin, probes, share that was lost, round trip."""

    times: list[int]
    sent: list[int]
    loss: list[float | None]
    rtt_us: list[float | None]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Is it the network? answer: yes, no or unknown; text: one sentence with its basis."""

    answer: str
    text: str


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job: is it the network, where it runs, who is slow.

    as_of  end of the newest window of its paths (RFC 3339); null where none is stored
    """

    job: str
    fabrics: list[str]
    tenants: list[str]
    verdict: Verdict
    as_of: str | None
    paths: int
    containers: list[JobContainer]
    containers_total: int
    incidents: list[JobIncident]
    series: JobSeries


ALL: Final = (TopologyView, FleetView, PipelineView, JobList, JobView)
