"""The life of an incident: open -> ongoing -> resolved, one per cause, with children. No I/O.

A verdict must be seen twice before it opens an incident (a second look costs a pane and saves a
wrong name), and an incident closes only after its paths have been clean for a while, so that
neither flickers. What is explained by a wider cause becomes its child or is renamed to it.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace

import numpy as np

from localizer.incidents import issue_type_update
from localizer.incidents.tracked_incident import Impact, TrackedIncident
from localizer.verdicts.verdict import I64, Family, Verdict
from schemas.component_ids import device
from schemas.documents.incident import Incident

#: Sightings that open an incident, and how far apart two may be [s].
SIGHTINGS: dict[Family, int] = {"reachability": 2, "latency": 2, "drift": 1, "agent": 1}
LONE_SIGHTINGS = 6  # of a host that nobody else agrees with: others may yet
MEMORY_S: dict[Family, int] = {"reachability": 3, "latency": 11, "drift": 1, "agent": 3}
#: Clean time that closes an incident [s]; where source ports change every hour, a drift shows once.
CLEAR_S: dict[Family, int] = {"reachability": 10, "latency": 16, "drift": 3660, "agent": 6}
REOPEN_S = 60  # the same trouble so soon again is the same incident, flapping
UPDATE_S = 10  # an ongoing incident is written again this often while its numbers change
STRAYED = 3  # seconds in a row under another name until that name is taken over
INSIDE = 0.8  # share of bad paths that makes one cause explain another,
#: if it was there when the other began: onsets of latency are known this well, this far back [s].
TOGETHER_S, BACK_S = 5, 25


class IncidentTracker:
    """All open and lately closed incidents of one fabric."""

    def __init__(self, fabric: str, *, lateness_s: float, strategy: str) -> None:
        self._fabric = fabric
        self._lateness_s = lateness_s
        self._strategy = strategy
        self._incidents: list[TrackedIncident] = []
        self._pending: dict[tuple[Family, str], tuple[int, int, int]] = {}
        self.silent_until_s = -1  # seconds that a former process has already spoken about

    def restore(self, incidents: list[Incident]) -> None:
        """Take over what a former process wrote (newest versions); it is not written again."""
        for doc in incidents:
            tracked = TrackedIncident.of(doc)
            self._incidents.append(tracked)
            self.silent_until_s = max(self.silent_until_s, tracked.written_s)

    def step(
        self, second: int, seen: list[tuple[Verdict, Impact]], *, close: bool = True
    ) -> list[tuple[Incident, I64]]:
        """Advance to the end of a second; returns the documents that changed, with their bad paths.

        seen   the verdicts of this second that are still bad now, strongest first
        close  whether calm may close incidents: not where nothing could be heard
        """
        changed: list[TrackedIncident] = []
        matched: set[str] = set()
        for verdict, impact in seen:
            for tracked in self._absorb(second, verdict, impact, matched):
                if tracked not in changed:
                    changed.append(tracked)
            changed += [c for c in self._adopt(verdict) if c not in changed]
        for tracked in self._incidents if close else ():
            if tracked.state != "resolved" and self._finished(second, tracked):
                tracked.state, tracked.closed_s = "resolved", tracked.last_bad_s + 1
                if tracked not in changed:
                    changed.append(tracked)
        self._drop_resolved(second)
        if second <= self.silent_until_s:
            return []
        return [
            (tracked.document(self._fabric, second, self._strategy), tracked.verdict.bad)
            for tracked in changed
        ]

    def _adopt(self, verdict: Verdict) -> list[TrackedIncident]:
        """Open incidents that a wider cause explains become its children."""
        if not verdict.covers:
            return []
        parent = next(
            (c for c in reversed(self._incidents)
             if c.verdict.component == verdict.component and c.state != "resolved"), None,
        )  # fmt: skip
        children = [
            tracked for tracked in self._incidents
            if parent is not None and tracked.parent is None and tracked.state != "resolved"
            and tracked.verdict.component in verdict.covers
        ]  # fmt: skip
        for tracked in children:
            tracked.parent = parent.incident_id if parent else None
        return children

    @property
    def open(self) -> int:
        """Incidents that are not resolved."""
        return sum(tracked.state != "resolved" for tracked in self._incidents)

    def sizes(self) -> dict[str, int]:
        """How much is remembered, by what."""
        return {"incidents": len(self._incidents), "sightings": len(self._pending)}

    def open_components(self) -> list[tuple[Family, str]]:
        """Who is under suspicion now."""
        return [
            (c.verdict.family, c.verdict.component)
            for c in self._incidents
            if c.state != "resolved"
        ]

    def moved(self, where: I64) -> None:
        """Paths were renumbered: (old P,) new row, -1 where gone."""
        for tracked in self._incidents:
            tracked.bad = where[tracked.bad]
            tracked.bad = tracked.bad[tracked.bad >= 0]

    def _absorb(
        self, second: int, verdict: Verdict, impact: Impact, matched: set[str]
    ) -> list[TrackedIncident]:
        family = verdict.family
        mine = [c for c in self._incidents if c.verdict.family == family]
        same = [
            c for c in mine
            if verdict.devices & {*c.verdict.tied_devices, *c.verdict.devices}
            and (c.state != "resolved" or second - c.last_bad_s <= REOPEN_S)
        ]  # fmt: skip
        if same:
            return self._refresh(second, same[-1], verdict, impact, matched)
        if family == "drift" and self._known_slow(verdict):
            return []
        least = LONE_SIGHTINGS if verdict.lone_witness else SIGHTINGS[family]
        times, first_s = self._sighted(second, verdict)
        if times < least or second <= self.silent_until_s:
            return []
        verdict = replace(verdict, first_s=first_s)
        inside = [
            c for c in mine
            if c.state != "resolved" and c.parent is None and c.incident_id not in matched
            and len(c.bad) and len(np.intersect1d(c.bad, verdict.bad)) >= INSIDE * len(c.bad)
            and not _begins_later(second, verdict, c)
        ]  # fmt: skip
        if inside:
            return self._rename(second, inside, verdict, impact, matched)
        within = [
            c for c in mine
            if c.state != "resolved" and len(verdict.bad)
            and len(np.intersect1d(c.bad, verdict.bad)) >= INSIDE * len(verdict.bad)
        ]  # fmt: skip
        if within:  # the same trouble under another name: rename only if it keeps that name
            tracked = within[0]
            if tracked.incident_id in matched:
                return []
            matched.add(tracked.incident_id)
            tracked.strayed += 1
            tracked.last_bad_s = second
            if tracked.strayed < STRAYED:
                return []
            return self._rename(second, [tracked], verdict, impact, matched)
        tracked = TrackedIncident(
            self._identify(verdict), verdict, verdict.first_s,
            second + 1 + self._lateness_s, second, verdict.bad,
            typed_by=verdict.effect,
            severity=impact.severity, jobs=impact.jobs, tenants=impact.tenants,
        )  # fmt: skip
        tracked.written_s = second
        self._incidents.append(tracked)
        matched.add(tracked.incident_id)
        return [tracked]

    def _known_slow(self, verdict: Verdict) -> bool:
        """Whether an open incident says already that this component is slow."""
        return any(
            tracked.verdict.family == "latency" and tracked.state != "resolved"
            and verdict.names & {*tracked.verdict.tie_set, *tracked.verdict.names}
            for tracked in self._incidents
        )  # fmt: skip

    def _refresh(
        self,
        second: int,
        tracked: TrackedIncident,
        verdict: Verdict,
        impact: Impact,
        matched: set[str],
    ) -> list[TrackedIncident]:
        known = tracked.verdict
        matched.add(tracked.incident_id)
        reopened = tracked.state == "resolved"
        tracked.last_bad_s, tracked.strayed = second, 0
        if second <= self.silent_until_s:
            tracked.bad = np.union1d(tracked.bad, verdict.bad)
            return []
        grown = len(np.setdiff1d(verdict.bad, tracked.bad)) > 0
        tracked.bad = np.union1d(tracked.bad, verdict.bad)
        worse = verdict.symptom == "unconnectivity" and known.symptom == "loss"
        kept = known.component  # the name stays unless a wider cause explains it
        due = second - tracked.written_s >= UPDATE_S and (grown or tracked.state == "open")
        found_it = known.lone_witness and not verdict.lone_witness
        better = issue_type_update.should_replace(known, verdict, tracked.typed_by, worse=worse)
        retyped = better and issue_type_update.differs(known, verdict)
        if renamed := _new_name(known, verdict):
            kept = renamed
        traced = second - tracked.written_s >= UPDATE_S and _traced(known, verdict)
        reasons = (reopened, worse, due, found_it, retyped, renamed is not None, traced)
        if not any(reasons) or tracked.written_s == second:
            return []
        symptom = known.symptom if known.symptom == "unconnectivity" else verdict.symptom
        if found_it or (worse and kept in verdict.tie_set):
            # Others see it too by now, so it is not the host that complained; or of those that no
            # probe tells apart, another is likelier to cause a silence than to cause loss.
            kept = verdict.component
        if found_it or device(verdict.component) in known.tied_devices:
            tracked.verdict = replace(
                verdict, component=kept, symptom=symptom, first_s=tracked.opened_s,
                confidence=verdict.confidence_in(kept),
            )  # fmt: skip
            if found_it or better:
                tracked.typed_by = verdict.effect
            else:
                tracked.verdict = issue_type_update.with_known_type(tracked.verdict, known)
        tracked.add_impact(impact)
        tracked.state, tracked.closed_s = "ongoing", None
        return [tracked]

    def _rename(
        self,
        second: int,
        narrower: list[TrackedIncident],
        verdict: Verdict,
        impact: Impact,
        matched: set[str],
    ) -> list[TrackedIncident]:
        """The first incident becomes the wider cause, the others its children."""
        first, *rest = narrower
        first.verdict = replace(verdict, first_s=first.opened_s)
        first.bad, first.typed_by = np.union1d(first.bad, verdict.bad), verdict.effect
        first.last_bad_s, first.strayed, first.state = second, 0, "ongoing"
        first.add_impact(impact)
        for tracked in rest:
            tracked.parent = first.incident_id
        matched.update(tracked.incident_id for tracked in narrower)
        return narrower

    def _sighted(self, second: int, verdict: Verdict) -> tuple[int, int]:
        """How often it has been seen by now, and its first bad second."""
        # The order of a tie set depends on the symptom, and what else it may be on the routes.
        key = (verdict.family, min(device(name) for name in verdict.tie_set))
        last, times, first_s = self._pending.get(key, (-(10**9), 0, verdict.first_s))
        if second - last > MEMORY_S[verdict.family]:
            times, first_s = 0, verdict.first_s
        if second != last:
            times += 1
        first_s = min(first_s, verdict.first_s)
        self._pending[key] = (second, times, first_s)
        return times, first_s

    def _finished(self, second: int, tracked: TrackedIncident) -> bool:
        if second - tracked.last_bad_s < CLEAR_S[tracked.verdict.family]:
            return False
        return second > self.silent_until_s

    def _drop_resolved(self, second: int) -> None:
        self._incidents = [
            c for c in self._incidents if c.state != "resolved" or second - c.last_bad_s <= REOPEN_S
        ]
        if len(self._pending) > 1000:
            self.drop_old_sightings(second)

    def drop_old_sightings(self, second: int) -> None:
        """Drop sightings that are too old to count."""
        self._pending = {k: v for k, v in self._pending.items() if second - v[0] <= 60}

    def _identify(self, verdict: Verdict) -> str:
        text = "\n".join((self._fabric, verdict.family, verdict.component, str(verdict.first_s)))
        return base64.b32encode(hashlib.sha256(text.encode()).digest())[:16].decode().lower()


def _new_name(known: Verdict, new: Verdict) -> str | None:
    """What the component is called by now; None where it keeps its name.

    Its switches may have turned out to be of another tier, or routes learnt since then tell it from
    another member of its tie set, which is the culprit.
    """
    if known.component in new.tied or device(new.component) not in known.tied_devices:
        return None
    same = (name for name in new.tied if device(name) == device(known.component))
    return next(same, new.component)


def _traced(known: Verdict, new: Verdict) -> bool:
    """Whether routes learnt since then leave less open."""
    if known.untraced is None:
        return False
    return new.untraced is None or {*new.possible} < {*known.possible}


def _begins_later(second: int, verdict: Verdict, tracked: TrackedIncident) -> bool:
    """Whether a wider slowness is younger than what it would explain."""
    known_from = max(tracked.opened_s, second - BACK_S)
    return verdict.family == "latency" and verdict.first_s > known_from + TOGETHER_S
