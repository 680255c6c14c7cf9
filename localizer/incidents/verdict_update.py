"""What another verdict on the trouble of a known incident changes in it. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from localizer.incidents import issue_type_update, parents, tie_set_update
from localizer.incidents.parameters import IncidentParameters
from localizer.incidents.tracked_incident import TrackedIncident
from localizer.verdicts.verdict import Verdict
from schemas.component_ids import device


@dataclass(frozen=True, slots=True)
class VerdictUpdate:
    """How a verdict differs from what its incident holds.

    worse      loss has become unreachability
    witnessed  others than the one host that complained see it too
    better     the issue types of the verdict replace the known ones
    outgrown   a child is worse than the incident around it explains
    renamed    the component that is blamed instead; None: none is
    relocated  another topology holds, and ties it to other components
    other      it differs in something that is only written again
    """

    worse: bool
    witnessed: bool
    better: bool
    outgrown: bool
    renamed: str | None
    relocated: bool
    other: bool

    @classmethod
    def of(
        cls,
        tracked: TrackedIncident,
        verdict: Verdict,
        incidents: Sequence[TrackedIncident],
        second: int,
        parameters: IncidentParameters,
        *,
        grown: bool,
        reopened: bool,
    ) -> VerdictUpdate:
        """Compare a verdict with its incident.

        incidents  all of the fabric
        grown      the verdict has bad paths that the incident had not
        reopened   the incident was resolved
        """
        known = tracked.verdict
        worse = verdict.symptom == "unconnectivity" and known.symptom == "loss"
        due = second - tracked.written_s >= parameters.update_s
        better = issue_type_update.should_replace(
            known, verdict, tracked.typed_by, parameters, worse=worse
        )
        other = (
            reopened,
            not tracked.relocated and tie_set_update.narrower(verdict, known),
            due and (grown or tracked.state == "open"),
            due and tie_set_update.better_traced(known, verdict),
            due and _moved(tracked, verdict) >= parameters.moved,
            better and issue_type_update.differs(known, verdict),
        )
        renamed = tie_set_update.new_name(known, verdict, parameters)
        if renamed is None and due:  # routes are learnt second by second
            renamed = tie_set_update.fits_better(known, verdict)
        return cls(
            worse=worse, witnessed=known.lone_witness and not verdict.lone_witness, better=better,
            outgrown=parents.outgrows(tracked, verdict, incidents, parameters),
            renamed=renamed,
            relocated=tracked.relocated and {*verdict.tie_set} != {*known.tie_set},
            other=any(other),
        )  # fmt: skip

    @property
    def due(self) -> bool:
        """Whether the incident is to be written again."""
        named = self.renamed is not None
        return (
            self.worse or self.witnessed or self.outgrown or named or self.relocated or self.other
        )

    def apply(self, tracked: TrackedIncident, verdict: Verdict, second: int) -> None:
        """Change the incident to what the verdict of a second says of it."""
        known = tracked.verdict
        name = self._name(known, verdict)
        if self.outgrown:
            tracked.parent = None
        was_relocated, tracked.relocated = tracked.relocated, False
        if self.witnessed or device(verdict.component) in known.tied_devices:
            tracked.verdict = replace(
                verdict.about(name), first_s=tracked.opened_s,
                symptom=known.symptom if known.symptom == "unconnectivity" else verdict.symptom,
            )  # fmt: skip
            other_class = name in known.undecided or name not in known.tied
            if self.witnessed or (name != known.component and other_class):
                tracked.weigh_anew(second, verdict)
            if not (self.witnessed or was_relocated):
                tracked.verdict = tie_set_update.no_wider(tracked.verdict, known)
            if self.witnessed or self.better:
                tracked.typed_by = verdict.effect
            else:
                tracked.verdict = issue_type_update.with_known_type(tracked.verdict, known)
        tracked.state, tracked.closed_s = "ongoing", None

    def _name(self, known: Verdict, verdict: Verdict) -> str:
        """The component to blame: it stays unless a wider cause explains it."""
        name = self.renamed or known.component
        if self.witnessed or (self.worse and name in verdict.tie_set):
            # Other hosts see it too by now, so it is not the host that complained; or of those that
            # no probe tells apart, another is likelier to be silent than to lose packets.
            return verdict.component
        if self.relocated and name not in verdict.tie_set:  # that component is no more
            return verdict.component
        return name


def _moved(tracked: TrackedIncident, verdict: Verdict) -> float:
    """How far the confidence has moved since it was written, if it keeps its name."""
    known = tracked.verdict
    if device(verdict.component) not in known.tied_devices:
        return 0.0
    now = tie_set_update.no_wider(verdict.about(known.component), known)
    return abs(tracked.belief.applied(now).confidence - tracked.written)
