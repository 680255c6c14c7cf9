"""Parameters of the life of incidents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schemas.parameters.parameter import parameter

if TYPE_CHECKING:
    from localizer.verdicts.verdict import Family

_TESTS: Final = "chosen: pytest tests/localizer/incidents"
_SCORED: Final = "chosen: make scorecard (false incidents, time to detection)"


class _PerFamily:
    """A value for each family of verdicts."""

    __slots__ = ()

    def of(self, family: Family) -> int:
        """The value of a family."""
        value: int = getattr(self, family)
        return value


@dataclass(frozen=True, slots=True)
class SightingCounts(_PerFamily):
    """Sightings that open an incident: a second look costs a pane and saves a wrong name."""

    reachability: int = parameter(2, unit="sightings", source=_SCORED)
    latency: int = parameter(2, unit="sightings", source=_SCORED)
    drift: int = parameter(1, unit="sightings", source=_SCORED)
    agent: int = parameter(1, unit="sightings", source=_SCORED)


@dataclass(frozen=True, slots=True)
class MostApart(_PerFamily):
    """Two sightings further apart than this are not counted together."""

    reachability: int = parameter(3, unit="s", source=_TESTS)
    latency: int = parameter(11, unit="s", source=_TESTS)
    drift: int = parameter(1, unit="s", source=_TESTS)
    agent: int = parameter(3, unit="s", source=_TESTS)


@dataclass(frozen=True, slots=True)
class ClearTimes(_PerFamily):
    """Clean time that closes an incident; where source ports change every hour, a drift shows
    once."""

    reachability: int = parameter(10, unit="s", source=_TESTS)
    latency: int = parameter(16, unit="s", source=_TESTS)
    drift: int = parameter(3660, unit="s", source=_TESTS)
    agent: int = parameter(6, unit="s", source=_TESTS)


@dataclass(frozen=True, slots=True)
class IncidentParameters:
    """When incidents open, change their name, and end.

    sightings       sightings that open an incident
    likely          probability of its tie set from which on a verdict is a sighting
    lone_sightings  of a host that complains alone: others may still see the same
    most_apart_s    two sightings further apart than this are not counted together
    clear_s         clean time that closes an incident
    reopen_s        the same trouble so soon again is the same incident, flapping
    look_back_s     so is trouble that began before that incident was resolved, at most so long ago
    update_s        an ongoing incident is written again this often while its numbers change
    moved           change of the confidence from which on it is written again
    strayed_s       seconds in a row under another name, one that it left open, too, until an
                    incident takes that name
    inside          share of an incident's bad paths from which on another cause explains it,
    together_s      if the cause was there when it began: onsets of latency are known this well,
    back_s          this far back
    faded           share of the effect it had below which a trouble is passing
    far_weaker      the same for trouble that comes and goes, which is weaker on average; but if it
                    was steady so far and is far weaker now, another trouble hit some paths
    far_likelier    a rival that is so many times likelier takes over the name
    apart_renewals, clear_renewals  the same times in renewals of the evidence, where these are
                    longer: sightings that are rarer must not be forgotten between two of them
    settled_s       losses over a window of this length open an incident at first sight
    worse_inside    of an open incident on a switch, what one of its links loses is a part, up to so
                    many times its loss
    kept_s          sightings older than this are dropped
    most_kept       at the latest when there are so many
    """

    sightings: SightingCounts = SightingCounts()
    likely: float = parameter(0.5, unit="1", source="chosen: likelier than all else together")
    lone_sightings: int = parameter(6, unit="sightings", source=_TESTS)
    most_apart_s: MostApart = MostApart()
    clear_s: ClearTimes = ClearTimes()
    reopen_s: int = parameter(60, unit="s", source=_TESTS)
    look_back_s: int = parameter(
        1350, unit="s", source="chosen: the longest window of localizer/baselines/long_counts.py"
    )
    update_s: int = parameter(10, unit="s", source=_TESTS)
    moved: float = parameter(0.1, unit="1", source="chosen: ten steps between 0 and 1")
    strayed_s: int = parameter(3, unit="s", source=_TESTS)
    inside: float = parameter(0.8, unit="1", source=_TESTS)
    together_s: int = parameter(5, unit="s", source=_TESTS)
    back_s: int = parameter(25, unit="s", source=_TESTS)
    faded: float = parameter(0.5, unit="1", source=_TESTS)
    far_weaker: float = parameter(0.25, unit="1", source=_TESTS)
    far_likelier: float = parameter(20.0, unit="1", source="chosen: 3 nats, as of all denials")
    apart_renewals: float = parameter(2.2, unit="renewals", source=_TESTS)
    clear_renewals: float = parameter(3.0, unit="renewals", source=_TESTS)
    settled_s: int = parameter(60, unit="s", source=_TESTS)
    worse_inside: float = parameter(5.0, unit="1", source=_TESTS)
    kept_s: int = parameter(60, unit="s", source=_TESTS)
    most_kept: int = parameter(1000, unit="count", source=_TESTS)


DEFAULT: Final = IncidentParameters()
