"""Which incident is around which: children are what the cause of another one explains. No I/O."""

from __future__ import annotations

from collections.abc import Sequence

from localizer.incidents import matching
from localizer.incidents.parameters import IncidentParameters
from localizer.incidents.tracked_incident import TrackedIncident
from localizer.verdicts.verdict import Verdict


def outgrows(
    tracked: TrackedIncident,
    verdict: Verdict,
    incidents: Sequence[TrackedIncident],
    parameters: IncidentParameters,
) -> bool:
    """Whether a child is by now worse than the incident around it explains. A host that complains
    alone stays its child, and so does what that covers."""
    parents = (
        each for each in incidents
        if each.incident_id == tracked.parent and each.verdict.family == verdict.family
    )  # fmt: skip
    parent = next(parents, None)
    if parent is None or verdict.lone_witness or verdict.component in parent.verdict.covers:
        return False
    return matching.worse_than(parent.verdict, verdict, parameters)


def released(
    renamed: TrackedIncident, incidents: Sequence[TrackedIncident]
) -> list[TrackedIncident]:
    """Children of an incident that what it names by now does not contain: no longer its. A host
    that complains alone stays: whatever its paths cross explains it."""
    contains = renamed.verdict.contains
    if contains is None:
        return []
    children = [
        each for each in incidents
        if each.parent == renamed.incident_id and contains.isdisjoint(each.verdict.tie_set)
        and each.verdict.component not in renamed.verdict.covers
        and not each.verdict.lone_witness
    ]  # fmt: skip
    for each in children:
        each.parent = None
    return children


def covered(verdict: Verdict, incidents: Sequence[TrackedIncident]) -> list[TrackedIncident]:
    """Open incidents on components that a verdict covers: they become children of its incident."""
    if not verdict.covers:
        return []
    open_now = [each for each in incidents if each.state != "resolved"]
    parents = (e for e in reversed(open_now) if e.verdict.component == verdict.component)
    parent = next(parents, None)
    if parent is None:
        return []
    children = [
        each for each in open_now
        if each.parent is None and each.verdict.component in verdict.covers
    ]  # fmt: skip
    for each in children:
        each.parent = parent.incident_id
    return children
