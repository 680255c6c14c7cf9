"""The life of incidents: open -> ongoing -> resolved, one for each cause, with children. No I/O.

An incident opens with the second sighting of a verdict and closes only after its paths have been
clean for a while, so that neither flickers. What a wider cause explains becomes its child or is
renamed to it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from localizer.host_evidence.finding import HostFinding, Question
from localizer.incidents import matching, parents, tie_set_update, undecided
from localizer.incidents.parameters import DEFAULT, IncidentParameters
from localizer.incidents.sightings import Sightings
from localizer.incidents.tracked_incident import Impact, TrackedIncident
from localizer.incidents.verdict_update import VerdictUpdate
from localizer.verdicts.verdict import I64, Family, Verdict
from schemas.documents.incident import Incident


@dataclass(frozen=True, slots=True)
class _Step:
    """One second: whether it is the last one, components of all its verdicts, and ids of the
    incidents that they are about, so far."""

    second: int
    last: bool
    named: set[str]
    matched: set[str]


class IncidentTracker:
    """All open and lately resolved incidents of one fabric."""

    def __init__(
        self,
        fabric: str,
        *,
        lateness_s: float,
        strategy: str,
        parameters: IncidentParameters = DEFAULT,
    ) -> None:
        self._parameters = parameters
        self._fabric = fabric
        self._lateness_s = lateness_s
        self._strategy = strategy
        self._incidents: list[TrackedIncident] = []
        self._sightings = Sightings(parameters)
        self.written_until_s = -1  # a former process has written up to this second

    def restore(self, incidents: list[Incident]) -> None:
        """Continue what a former process wrote (newest versions); it is not written again."""
        for doc in incidents:
            tracked = TrackedIncident.of(doc)
            self._incidents.append(tracked)
            self.written_until_s = max(self.written_until_s, tracked.written_s)

    def hold(self, incident_ids: set[str], second: int) -> None:
        """Count a second as bad for some incidents, although no verdict names them."""
        for tracked in self._incidents if incident_ids else ():
            if tracked.incident_id in incident_ids and tracked.state != "resolved":
                tracked.last_bad_s = max(tracked.last_bad_s, second)

    def step(
        self,
        second: int,
        seen: list[tuple[Verdict, Impact]],
        *,
        close: bool = True,
        last: bool = False,
    ) -> list[tuple[Incident, I64]]:
        """Advance to the end of a second; returns the documents that changed, with their bad paths.

        seen   the verdicts of this second that are still bad now, strongest first
        close  whether calm may close incidents: not where nothing could be measured
        last   there is no later second, so one sighting must do
        """
        changed: list[TrackedIncident] = []
        step = _Step(
            second, last, {verdict.component for verdict, _ in seen},
            self._confirmed(second, [verdict for verdict, _ in seen if verdict.crowded]),
        )  # fmt: skip
        for verdict, impact in seen:
            found = self._match(step, verdict, impact)
            for tracked in [*found, *parents.covered(verdict, self._incidents)]:
                if tracked not in changed:
                    changed.append(tracked)
        for tracked in self._incidents if close else ():
            if tracked.state != "resolved" and self._over(second, tracked):
                tracked.state, tracked.closed_s = "resolved", tracked.last_bad_s + 1
                if tracked not in changed:
                    changed.append(tracked)
        self._incidents = [
            each for each in self._incidents
            if each.state != "resolved"
            or second - each.last_bad_s <= matching.kept_s(each, self._parameters)
        ]  # fmt: skip
        self._sightings.limit(second)
        if second <= self.written_until_s:
            return []
        return [
            (tracked.document(self._fabric, second, self._strategy), tracked.verdict.bad)
            for tracked in changed
        ]

    def learn(
        self, second: int, find: Callable[[str, Question], HostFinding | None]
    ) -> list[tuple[Incident, I64]]:
        """Take what the evidence of hosts decides about open incidents, at the end of a second;
        returns the documents that changed, with their bad paths.

        find  id and question of an incident -> what is found that is not known; None: nothing
        What a former process has written up to a second, it has written with its own findings.
        """
        if second <= self.written_until_s:
            return []
        return [
            (tracked.document(self._fabric, second, self._strategy), tracked.verdict.bad)
            for tracked in self._incidents
            if tracked.state != "resolved"
            and tracked.learn(find(tracked.incident_id, tracked.question))
        ]

    @property
    def open(self) -> int:
        """Incidents that are not resolved."""
        return sum(each.state != "resolved" for each in self._incidents)

    def sizes(self) -> dict[str, int]:
        """Entries in memory, by kind [count]."""
        return {"incidents": len(self._incidents), "sightings": len(self._sightings)}

    def open_components(self) -> list[tuple[Family, list[str]]]:
        """Families and tie sets, component first, of the incidents that are not resolved."""
        return [
            (each.verdict.family, [each.verdict.component, *each.verdict.tie_set])
            for each in self._incidents
            if each.state != "resolved"
        ]

    def troubled_since(self, family: Family, since_s: int) -> set[str]:
        """What incidents of a family name that are open, or showed trouble in this second or later:
        components and tie sets, but not what is undecided."""
        return {
            name
            for each in self._incidents
            if each.verdict.family == family
            and (each.state != "resolved" or each.last_bad_s >= since_s)
            for name in (each.verdict.component, *each.verdict.tie_set)
            if name not in each.verdict.undecided
        }

    def ended(self, family: Family) -> dict[str, int]:
        """Component of each resolved incident of a family that is kept -> its last second of
        trouble."""
        return {
            each.verdict.component: each.last_bad_s
            for each in self._incidents
            if each.verdict.family == family and each.state == "resolved"
        }

    def renumber(self, rows: I64) -> None:
        """Follow paths to their new rows: (old P,) new row, -1 where the path was dropped."""
        for tracked in self._incidents:
            tracked.renumber(rows)

    def relocate(self) -> None:
        """Another topology holds: what open incidents name may be tied to other components now."""
        for tracked in self._incidents:
            tracked.relocated = True

    def drop_old_sightings(self, second: int) -> None:
        """Drop sightings that are too old to count."""
        self._sightings.drop_old(second)

    def _match(self, step: _Step, verdict: Verdict, impact: Impact) -> list[TrackedIncident]:
        """Give a verdict to its incident, or open one; returns the incidents that changed."""
        second, matched = step.second, step.matched
        mine = [each for each in self._incidents if each.verdict.family == verdict.family]
        known = matching.same(mine, verdict, second, self._parameters, step.named)
        if known is not None:
            changed = self._refresh(step, known, verdict, impact)
            return [*changed, *self._absorbed(step, known, verdict, mine)]
        if verdict.family == "drift" and matching.known_slow(self._incidents, verdict):
            return []
        enough, first_s = self._sightings.add(second, verdict, final=step.last)
        if not enough or second <= self.written_until_s:
            return []
        verdict = replace(verdict, first_s=first_s)
        unmatched = [each for each in mine if each.incident_id not in matched]
        if (unseen := matching.unseen_before(unmatched, verdict)) is not None:
            return self._rename(step, [unseen], verdict, impact)
        if narrower := matching.explained(unmatched, verdict, second, self._parameters):
            return self._rename(step, narrower, verdict, impact)
        others = mine if not verdict.crowded else [
            each for each in mine if each.incident_id not in matched
        ]  # fmt: skip
        renamed = matching.under_another_name(others, verdict, self._parameters)
        if renamed is not None:
            return self._stray(step, renamed, verdict, impact)
        tracked = TrackedIncident(
            self._identify(verdict), undecided.opening(verdict), verdict.first_s,
            second + 1 + self._lateness_s, second, verdict.bad,
            typed_by=verdict.effect, renewal_s=verdict.renewal_s,
            severity=impact.severity, jobs=impact.jobs, tenants=impact.tenants,
        )  # fmt: skip
        tracked.written_s = second
        tracked.weigh(second, tracked.verdict)
        around = matching.around(mine, verdict, self._parameters)
        tracked.parent = None if around is None else around.incident_id
        self._incidents.append(tracked)
        matched.add(tracked.incident_id)
        return [tracked]

    def _confirmed(self, second: int, verdicts: list[Verdict]) -> set[str]:
        """Ids of the incidents that some verdicts name."""
        found = set()
        for verdict in verdicts:
            mine = (each for each in self._incidents if each.verdict.family == verdict.family)
            known = matching.same(mine, verdict, second, self._parameters)
            if known is not None:
                found.add(known.incident_id)
        return found

    def _refresh(
        self, step: _Step, tracked: TrackedIncident, verdict: Verdict, impact: Impact
    ) -> list[TrackedIncident]:
        """The incident goes on; it is written again where the verdict adds something."""
        second = step.second
        known = tracked.verdict
        verdict = tie_set_update.shared_as(undecided.going_on(verdict, known), known)
        step.matched.add(tracked.incident_id)
        reopened = tracked.state == "resolved"
        strays = verdict.component in known.undecided
        tracked.last_bad_s, tracked.strayed = second, tracked.strayed + 1 if strays else 0
        tracked.renewal_s = verdict.renewal_s
        tracked.weigh(second, verdict)
        grown = len(np.setdiff1d(verdict.bad, tracked.bad)) > 0
        tracked.bad = np.union1d(tracked.bad, verdict.bad)
        if second <= self.written_until_s or 0 < tracked.strayed < self._parameters.strayed_s:
            return []  # one verdict, of a window that holds other faults, say, renames nothing
        update = VerdictUpdate.of(
            tracked, verdict, self._incidents, second, self._parameters,
            grown=grown, reopened=reopened,
        )  # fmt: skip
        if not update.due or tracked.written_s == second:
            return []
        update.apply(tracked, verdict, second)
        tracked.add_impact(impact)
        return [tracked]

    def _absorbed(
        self, step: _Step, known: TrackedIncident, verdict: Verdict, mine: list[TrackedIncident]
    ) -> list[TrackedIncident]:
        """Incidents that become children of one, for their evidence left open what it and the
        verdict name by now, or the verdict leaves them nothing to explain."""
        second = step.second
        if second <= self.written_until_s or known.verdict.component != verdict.component:
            return []
        others = [each for each in mine if each.incident_id not in step.matched]
        children = matching.meant_by(others, known, self._parameters)
        children += matching.idle_beside(others, known, verdict, self._parameters)
        for each in children:
            each.parent = known.incident_id
        return children

    def _stray(
        self, step: _Step, tracked: TrackedIncident, verdict: Verdict, impact: Impact
    ) -> list[TrackedIncident]:
        """The same trouble under another name: rename only if it keeps that name."""
        if tracked.incident_id in step.matched:
            return []
        step.matched.add(tracked.incident_id)
        tracked.strayed += 1
        tracked.last_bad_s, tracked.renewal_s = step.second, verdict.renewal_s
        if tracked.strayed < self._parameters.strayed_s:
            return []
        tracked.bad = verdict.bad  # other bad paths may be those of another component
        renamed = self._rename(step, [tracked], verdict, impact)
        return [*renamed, *parents.released(tracked, self._incidents)]

    def _rename(
        self, step: _Step, narrower: list[TrackedIncident], verdict: Verdict, impact: Impact
    ) -> list[TrackedIncident]:
        """The first incident becomes the wider cause, the others its children."""
        first, *rest = narrower
        first.verdict = replace(verdict, first_s=first.opened_s)
        first.bad, first.typed_by = np.union1d(first.bad, verdict.bad), verdict.effect
        first.last_bad_s, first.strayed, first.state = step.second, 0, "ongoing"
        first.renewal_s = verdict.renewal_s
        first.weigh_anew(step.second, first.verdict)
        first.add_impact(impact)
        for tracked in rest:
            tracked.parent = first.incident_id
        step.matched.update(tracked.incident_id for tracked in narrower)
        return narrower

    def _over(self, second: int, tracked: TrackedIncident) -> bool:
        """Whether the paths of an incident have been clean for long enough."""
        clean_s = second - tracked.last_bad_s
        parameters = self._parameters
        usual_s = parameters.clear_s.of(tracked.verdict.family)
        clear_s = max(usual_s, parameters.clear_renewals * tracked.renewal_s)
        return clean_s >= clear_s and second > self.written_until_s

    def _identify(self, verdict: Verdict) -> str:
        """The id follows from the cause and the first bad second, so a replay finds the same."""
        text = "\n".join((self._fabric, verdict.family, verdict.component, str(verdict.first_s)))
        return base64.b32encode(hashlib.sha256(text.encode()).digest())[:16].decode().lower()
