"""Verdicts that have not opened an incident yet: how often each has been seen. No I/O.

A verdict must be seen more than once before it opens an incident: a second look costs a pane and
saves a wrong name.
"""

from __future__ import annotations

from localizer.incidents.parameters import DEFAULT, IncidentParameters
from localizer.verdicts.verdict import Family, Verdict
from schemas.component_ids import device


class Sightings:
    """Counts of verdicts by family and likeliest components."""

    def __init__(self, parameters: IncidentParameters = DEFAULT) -> None:
        self._parameters = parameters
        #: Last second, number of seconds, first bad second, seconds until it is dropped.
        self._of: dict[tuple[Family, str], tuple[int, int, int, int]] = {}

    def __len__(self) -> int:
        return len(self._of)

    def add(self, second: int, verdict: Verdict, *, final: bool = False) -> tuple[bool, int]:
        """Count a verdict, once a second: whether it opens an incident; its first bad second.

        final  no other sighting can follow: one does that leaves no other class open

        One that is likelier to be wrong than right does not count, unless it says who complains.
        """
        likely = sum(verdict.tie_set_probability.values()) or verdict.confidence
        if likely < self._parameters.likely and not verdict.lone_witness:
            return False, verdict.first_s
        # The order of a tie set depends on the symptom, and what else it may be on the routes.
        key = (verdict.family, min(device(name) for name in verdict.tie_set))
        last, times, first_s, _ = self._of.get(key, (-(10**9), 0, verdict.first_s, 0))
        parameters = self._parameters
        apart_s = parameters.most_apart_s.of(verdict.family)
        if second - last > max(apart_s, parameters.apart_renewals * verdict.renewal_s):
            times, first_s = 0, verdict.first_s
        if second != last:
            times += 1
        first_s = min(first_s, verdict.first_s)
        kept_s = max(parameters.kept_s, int(parameters.apart_renewals * verdict.renewal_s) + 1)
        self._of[key] = (second, times, first_s, kept_s)
        least = parameters.sightings.of(verdict.family)
        measured, lossy = verdict.measured, verdict.family == "reachability"
        if lossy and measured is not None and measured.window_s >= parameters.settled_s:
            least = 1
        if final and lossy and not verdict.others:
            least = 1
        if verdict.lone_witness:
            least = parameters.lone_sightings
        return times >= least, first_s

    def drop_old(self, second: int) -> None:
        """Drop sightings that are too old to count."""
        self._of = {key: each for key, each in self._of.items() if second - each[0] <= each[3]}

    def limit(self, second: int) -> None:
        """Drop the old ones if there are many."""
        if len(self._of) > self._parameters.most_kept:
            self.drop_old(second)
