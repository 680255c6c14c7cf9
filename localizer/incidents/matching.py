"""Which incidents a verdict is about: the same one, narrower ones, or one under another name.

No I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from localizer.fabric.untraced_links import UNSEEN_SWITCH, between_tors
from localizer.incidents.parameters import IncidentParameters
from localizer.incidents.tracked_incident import TrackedIncident
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import device


def same(
    incidents: Iterable[TrackedIncident],
    verdict: Verdict,
    second: int,
    parameters: IncidentParameters,
    named: Collection[str] = (),
) -> TrackedIncident | None:
    """The newest incident that names this component, or one that probes cannot tell from it, or
    an open one on a rival that the verdict does not deny yet, or on what unknown routes leave
    open and the incident is surer of, or one that has left this component open.

    named  components of all verdicts of the second: what one of them is about is not left open
    """
    recent = [
        each for each in incidents
        if each.state != "resolved"
        or second - each.last_bad_s <= reopen_s(each, parameters)
        or verdict.first_s <= each.last_bad_s  # a gray loss that was not over
    ]  # fmt: skip
    for found in (
        [each for each in recent if verdict.devices & each.verdict.devices],
        [each for each in recent if verdict.devices & _decided(each.verdict)],
        [
            each for each in recent
            if each.state != "resolved" and each.verdict.component in verdict.rivals
        ],
        [
            each for each in recent
            if each.state != "resolved" and each.verdict.untraced is None
            and verdict.untraced is not None and each.verdict.devices & verdict.tied_devices
            and verdict.confidence < each.verdict.confidence
        ],
        [
            each for each in recent
            if each.state != "resolved" and verdict.component in each.verdict.undecided
            and each.verdict.component not in {*named, *verdict.beside.apart}
        ],
    ):  # fmt: skip
        if found:
            return found[-1]
    return None


def _decided(known: Verdict) -> set[str]:
    """Devices of what an incident may be, without other classes that it only leaves open."""
    return {device(name) for name in known.tied if name not in known.undecided}


def kept_s(tracked: TrackedIncident, parameters: IncidentParameters) -> float:
    """How long after its last trouble a resolved incident is kept [s]."""
    return max(parameters.look_back_s, reopen_s(tracked, parameters))


def reopen_s(tracked: TrackedIncident, parameters: IncidentParameters) -> float:
    """How long after its last trouble a resolved incident may go on as the same [s]."""
    return max(parameters.reopen_s, 2 * parameters.clear_renewals * tracked.renewal_s)


def explained(
    incidents: Iterable[TrackedIncident],
    verdict: Verdict,
    second: int,
    parameters: IncidentParameters,
) -> list[TrackedIncident]:
    """Open incidents whose bad paths a wider cause explains."""
    return [
        each for each in incidents
        if each.state != "resolved" and each.parent is None
        and len(each.bad)
        and _is_wider(verdict, each.verdict)
        and _holds(verdict, each, parameters)
        and not _begins_later(second, verdict, each, parameters)
    ]  # fmt: skip


def _holds(verdict: Verdict, known: TrackedIncident, parameters: IncidentParameters) -> bool:
    """Whether a wider cause explains what an incident showed: its probes deny the incident's
    component, or leave it nothing to explain, or most paths that were bad are bad now; of rare
    probes each second shows a few."""
    component = known.verdict.component
    if component in verdict.denied or component in verdict.beside.idle:
        return True
    return len(np.intersect1d(known.bad, verdict.bad)) >= parameters.inside * len(known.bad)


def meant_by(
    incidents: Iterable[TrackedIncident], wider: TrackedIncident, parameters: IncidentParameters
) -> list[TrackedIncident]:
    """Open incidents on a part of what an open one names, which may mean that as well: probes could
    not tell them, or routes were not traced. Not those that are worse than that explains."""
    component, contains = wider.verdict.component, wider.verdict.contains or frozenset()
    if wider.state == "resolved" or wider.verdict.possible:
        return []
    return [
        each for each in incidents
        if each.state != "resolved" and each.parent is None
        and each.verdict.component in contains
        and device(component) in each.verdict.tied_devices
        and not worse_than(wider.verdict, each.verdict, parameters)
    ]  # fmt: skip


def idle_beside(
    incidents: Iterable[TrackedIncident],
    other: TrackedIncident,
    verdict: Verdict,
    parameters: IncidentParameters,
) -> list[TrackedIncident]:
    """Open incidents that another one explains, by its newest verdict: it began no later, has their
    bad paths, and leaves their components nothing to explain. The first probes of a trouble may
    show several components where most probes show one."""
    return [
        each for each in incidents
        if each.state != "resolved" and each.parent is None
        and each.verdict.component in verdict.beside.idle
        and other.opened_s <= each.opened_s + parameters.together_s
        and len(np.intersect1d(each.bad, other.bad)) >= parameters.inside * len(each.bad)
        and not worse_than(other.verdict, each.verdict, parameters)
    ]  # fmt: skip


def around(
    incidents: Iterable[TrackedIncident], verdict: Verdict, parameters: IncidentParameters
) -> TrackedIncident | None:
    """An open incident on what contains the component, if it is hardly less bad.

    Of a switch that loses little, the luck of some seconds shows one of its links as worse.
    """
    found = (
        each for each in incidents
        if each.state != "resolved" and each.parent is None
        and not (each.verdict.contains or frozenset()).isdisjoint(verdict.tie_set)
        and not worse_than(each.verdict, verdict, parameters)
    )  # fmt: skip
    return next(found, None)


def worse_than(wider: Verdict, verdict: Verdict, parameters: IncidentParameters) -> bool:
    """Whether a component is worse than what contains it explains: it is silent where that only
    loses, or its effect is a multiple of that one's."""
    if verdict.symptom == "unconnectivity" and wider.symptom == "loss":
        return True
    return verdict.effect > parameters.worse_inside * wider.effect


def _is_wider(verdict: Verdict, known: Verdict) -> bool:
    """Whether a verdict's component contains one that an incident names.

    Links of one switch share many bad paths, and none explains another. A host that complains alone
    is explained by whatever its paths cross.
    """
    if verdict.contains is None or known.lone_witness:
        return True
    return not verdict.contains.isdisjoint(known.tie_set)


def under_another_name(
    incidents: Iterable[TrackedIncident], verdict: Verdict, parameters: IncidentParameters
) -> TrackedIncident | None:
    """The oldest open incident that has the bad paths of the verdict already, or whose losses are
    those of the verdict."""
    found = (
        each for each in incidents
        if each.state != "resolved" and len(verdict.bad)
        and (_replaces(verdict, each, parameters) or _covers(each, verdict, parameters))
    )  # fmt: skip
    return next(found, None)


def _covers(known: TrackedIncident, verdict: Verdict, parameters: IncidentParameters) -> bool:
    """Whether an incident has most bad paths of a verdict that does not lose beside it. Only a part
    of what the incident names does, or what began later: what began together may be one trouble on
    routes that have changed since."""
    part = not verdict.names.isdisjoint(known.verdict.contains or ())
    later = verdict.first_s > known.opened_s + parameters.together_s
    if (part or later) and known.verdict.component in verdict.beside.apart:
        return False
    inside = len(np.intersect1d(known.bad, verdict.bad))
    return inside >= parameters.inside * len(verdict.bad)


def _replaces(verdict: Verdict, known: TrackedIncident, parameters: IncidentParameters) -> bool:
    """Whether a verdict inside what an incident names leaves it nothing to explain, from its
    beginning on."""
    inside = verdict.component in (known.verdict.contains or ())
    idle = known.verdict.component in verdict.beside.idle
    return inside and idle and _began(verdict) <= known.opened_s + parameters.together_s


def unseen_before(incidents: Iterable[TrackedIncident], verdict: Verdict) -> TrackedIncident | None:
    """The open incident on an unseen switch, if the verdict names what lies above the ToRs: routes
    that have come since show which switch or link it is."""
    if verdict.kind == "tor" or not between_tors(verdict.component):
        return None
    found = (e for e in incidents if e.state != "resolved" and e.verdict.component == UNSEEN_SWITCH)
    return next(found, None)


def known_slow(incidents: Iterable[TrackedIncident], verdict: Verdict) -> bool:
    """Whether an open incident about latency names the component of a drift already."""
    return any(
        each.verdict.family == "latency" and each.state != "resolved"
        and verdict.names & {*each.verdict.tie_set, *each.verdict.names}
        for each in incidents
    )  # fmt: skip


def _begins_later(
    second: int, verdict: Verdict, tracked: TrackedIncident, parameters: IncidentParameters
) -> bool:
    """Whether a wider trouble is younger than the incident that it would explain: its probes deny
    that it was there when that began."""
    known_from = max(tracked.opened_s, second - parameters.back_s)
    return verdict.family != "agent" and _began(verdict) > known_from + parameters.together_s


def _began(verdict: Verdict) -> int:
    """Second from which on a component may have been bad."""
    return min(
        verdict.first_s, verdict.first_s if verdict.earliest_s is None else verdict.earliest_s
    )
