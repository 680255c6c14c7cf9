"""Parameters of the rules: which evidence a verdict takes."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.parameters.parameter import parameter

_CHOSEN = "chosen: make scorecard (right verdicts, false incidents)"


@dataclass(frozen=True, slots=True)
class AttributionParameters:
    """Of the attribution pipeline.

    plausible          a class whose paths chance makes so bad with this probability is no candidate
    least_alternative  classes less probable than this are not named as alternatives
    """

    plausible: float = parameter(1e-2, unit="1", source=_CHOSEN)
    least_alternative: float = parameter(
        0.01, unit="1", source="chosen: less than one in a hundred is not looked into"
    )


@dataclass(frozen=True, slots=True)
class ContainmentParameters:
    """When the losses of a switch are those of a few of its links.

    least_inside  classes inside a class that make the question sensible
    worst         share of them that may be the cause
    certain       share from which on a path counts as crossing a class
    denied_nats   paths that certainly cross none of these deny that all of it loses, if by so much
    far_less      it is likelier that they lose this part of its rate only
    """

    least_inside: int = parameter(3, unit="classes", source=_CHOSEN)
    worst: float = parameter(0.4, unit="1", source=_CHOSEN)
    certain: float = parameter(0.5, unit="1", source=_CHOSEN)
    denied_nats: float = parameter(3.0, unit="nat", source="chosen: twenty times less likely")
    far_less: float = parameter(0.33, unit="1", source=_CHOSEN)


@dataclass(frozen=True, slots=True)
class ReachabilityParameters:
    """Of verdicts on loss and unreachability.

    windows_s      lengths of the windows over which losses are counted, each a family of the alarm
                   budget and judged every second: one bad pane is enough to alarm; for the name,
                   five-tuples that take turns must all have had theirs
    parts_s        while all that the first names has an incident, the second is asked about all
                   paths in one of so many seconds: no more than sightings may be apart
    longer         of the windows of minutes each is longer by this factor at least
    recent_s       a component must still lose in so many of the newest seconds,
    significant    at this p-value,
    recent_losses  or in as many seconds as bring so many losses at the rate of the window: there
                   they must be likelier at that rate than in a healthy network,
    still_nats     by so much, and in no shorter newest part less likely by as much
    renewal_losses losses that renew the evidence: a verdict that loses less often is waited for
    bad_path       p-value below which a path counts as bad
    rival_nats     of a link and a switch at its end, the less likely one is denied by so much
    idle_nats      a component that explains less beside others has nothing left to explain
    inside         links of a switch that are compared with it: those that explain most losses
    several        links of a switch that are compared with it together
    waiting_s      a switch waits so long at most while several of its links explain more
    apart          share of a component's probes that must be apart from those of other culprits,
                   so that it can be told from them
    contradicted   where one host alone sees losses, p-value below which the others contradict it
    total          share of lost probes, or of silent five-tuples, that makes it unreachability
    certain_nats   paths that cross it for certain decide instead of all, if by so much they lose
                   more
    onset          share of the worst second's losses that marks the first bad second
    silent_probes  that a five-tuple must have sent to be called silent
    few_culprits   more culprits at once than this in a window shorter than
    settled_s      this are named only if each has
    bad_paths_each so many bad paths
    losses_each    and so many lost probes on average,
    heard          and such a share of the paths has been probed since the losses began, else a
                   longer window tells; lossy switches after settled_s of losses at the earliest,
    known_before   several culprits, if few, are named once such a share of the paths is not new,
    again_s        or the same one again after so long; a window in which many were named twice is
                   judged again as late, too
    """

    windows_s: tuple[int, int] = parameter((5, 30), unit="s", source=_CHOSEN)
    parts_s: int = parameter(
        3, unit="s", source="chosen: a third of the CPU time; pytest -k fault_inside_a_fault"
    )
    longer: float = parameter(
        1.5, unit="1", source="chosen: windows closer to each other tell nothing new"
    )
    recent_s: int = parameter(10, unit="s", source=_CHOSEN)
    significant: float = parameter(1e-4, unit="1", source=_CHOSEN)
    recent_losses: float = parameter(
        5.0, unit="probes", source="chosen: of five expected losses none comes in 0.7 % of cases"
    )
    still_nats: float = parameter(
        3.0, unit="nat", source="chosen: twenty times likelier; trouble that lasts reaches 12"
    )
    renewal_losses: float = parameter(
        2.0, unit="probes", source="chosen: pytest tests/localizer/verdicts (loss)"
    )
    bad_path: float = parameter(0.01, unit="1", source=_CHOSEN)
    rival_nats: float = parameter(
        7.0,
        unit="nat",
        source="chosen: 1,100 times likelier; pytest tests/localizer/incidents (small fabric)",
    )
    idle_nats: float = parameter(
        1.0, unit="nat", source="chosen: twice what one free parameter gains by chance"
    )
    inside: int = parameter(3, unit="links", source=_CHOSEN)
    several: int = parameter(
        8, unit="links", source="chosen: pytest tests/localizer/situations (bad links of one spine)"
    )
    waiting_s: int = parameter(
        20, unit="s", source="chosen: pytest tests/localizer/situations (bad links of one spine)"
    )
    apart: float = parameter(0.2, unit="1", source=_CHOSEN)
    contradicted: float = parameter(
        0.01, unit="1", source="chosen: pytest tests/localizer/verdicts (one witness)"
    )
    total: float = parameter(0.95, unit="1", source=_CHOSEN)
    certain_nats: float = parameter(3.0, unit="nat", source="chosen: twenty times likelier")
    onset: float = parameter(0.25, unit="1", source=_CHOSEN)
    silent_probes: int = parameter(4, unit="probes", source=_CHOSEN)
    few_culprits: int = parameter(6, unit="culprits", source=_CHOSEN)
    settled_s: int = parameter(60, unit="s", source=_CHOSEN)
    bad_paths_each: float = parameter(8.0, unit="paths", source=_CHOSEN)
    again_s: int = parameter(5, unit="s", source="chosen: the shortest window holds new panes")
    losses_each: float = parameter(
        32.0, unit="probes", source="chosen: make scorecard (sparse-probes at 30 s, precision)"
    )
    known_before: float = parameter(
        0.75, unit="1", source="chosen: make scorecard (sparse-bursts: false incidents at 15 s)"
    )
    heard: float = parameter(0.9, unit="1", source=_CHOSEN)


@dataclass(frozen=True, slots=True)
class LatencyVerdictParameters:
    """Of verdicts on latency.

    most_moved  share of a component's paths that must have moved, of those that the fault can hit
    one_way_moved    the same of paths that certainly cross a link in the direction that is slow
    pace        paths whose evidence spans so many times as long are judged apart from quicker ones
    draws_in_span    sparse paths: answers within this part of the evidence are one draw,
    shortest_draw_s  or within so long
    least_draws      draws in which answers must be slow
    rounds           the newest of so many parts of the evidence must be slow, too,
    lasting          in this share of the rate of all of it
    """

    most_moved: float = parameter(0.5, unit="1", source=_CHOSEN)
    one_way_moved: float = parameter(
        0.9, unit="1",
        source="chosen: certainty leaves no room for paths elsewhere; pytest -k one_direction",
    )  # fmt: skip
    pace: float = parameter(2.5, unit="1", source=_CHOSEN)
    draws_in_span: float = parameter(16.0, unit="draws", source=_CHOSEN)
    shortest_draw_s: float = parameter(2.0, unit="s", source=_CHOSEN)
    least_draws: int = parameter(3, unit="draws", source=_CHOSEN)
    rounds: float = parameter(4.0, unit="rounds", source=_CHOSEN)
    lasting: float = parameter(0.5, unit="1", source=_CHOSEN)


@dataclass(frozen=True, slots=True)
class SilentHostParameters:
    """Of verdicts on silent and on starved hosts.

    rnics_at_once   that must time out together before starvation explains it
    contradicted_s  one host's answers from a silent host contradict all others for so long
    """

    rnics_at_once: int = parameter(2, unit="rnics", source=_CHOSEN)
    contradicted_s: float = parameter(
        8.0, unit="s", source="chosen: longer than all others take to see a dead host"
    )


@dataclass(frozen=True, slots=True)
class ScopeOutageParameters:
    """Of verdicts on a pod or a fabric.

    fewest_hosts   a scope with fewer hosts has no outage of its own
    pod_share, fabric_share  of the hosts of a pod, or fabric, must fall silent
    at_once_s      within so long of each other
    back_share     the outage is over when this share of the hosts is back
    unseen_s       hosts that no other host probes must be silent for so long
    most_lit       share of the silent hosts that may still answer another host
    recent_s       hosts that have been silent for longer are not counted
    """

    fewest_hosts: int = parameter(3, unit="hosts", source=_CHOSEN)
    pod_share: float = parameter(0.5, unit="1", source=_CHOSEN)
    fabric_share: float = parameter(0.8, unit="1", source=_CHOSEN)
    at_once_s: float = parameter(15.0, unit="s", source=_CHOSEN)
    back_share: float = parameter(0.5, unit="1", source=_CHOSEN)
    unseen_s: float = parameter(
        30.0, unit="s", source="chosen: agents connect again sooner after a broker was away"
    )
    most_lit: float = parameter(0.2, unit="1", source=_CHOSEN)
    recent_s: float = parameter(3600.0, unit="s", source=_CHOSEN)


@dataclass(frozen=True, slots=True)
class VerdictParameters:
    """One for each family of rules."""

    attribution: AttributionParameters = AttributionParameters()
    containment: ContainmentParameters = ContainmentParameters()
    reachability: ReachabilityParameters = ReachabilityParameters()
    latency: LatencyVerdictParameters = LatencyVerdictParameters()
    silent_hosts: SilentHostParameters = SilentHostParameters()
    scope_outage: ScopeOutageParameters = ScopeOutageParameters()


DEFAULT = VerdictParameters()
