"""The faults of the simulator, each with its signature: component, layer, symptom, effect.

Routes are static: while a switch or link is down, ECMP keeps hashing five-tuples onto it, until an
operator drains it.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

from schemas.component_ids import kind_of
from schemas.documents.times import rfc3339
from testbed.faults.issue_types import TABLE, Effect, IssueType
from testbed.scoring.truth import Truth
from testbed.simulator.network import Network

Direction = Literal["both", "a>b", "b>a"]
_SECOND_NS: Final = 1_000_000_000
#: Effects whose magnitude is a share.
_SHARES: Final = ("loss", "starved", "crash", "host_down", "agent", "none")


class FaultError(ValueError):
    """The fault cannot be injected; one line that says what is wrong with it."""


class FaultKind(NamedTuple):
    """The signature of a kind, a row of issue_types.toml.

    on          component kinds it can be put on
    effect      what probes see: loss of a share at each crossing, added latency, ...
    issue_type  name in the catalogue of 19 issue types, None where none fits
    layer       of the truth
    magnitude   default: share lost at each crossing | added round trip [us] (half of it where only
                probe or reply crosses) | growth an hour [1] | share of seconds without CPU | clock
                offset [s]
    share       default share of five-tuples that are hit
    period_s    default flapping period, 0 = steady; present in the first ``duty`` of each period
    seen_in     layer of the probes that meet it: both | overlay
    one_way     whether it may hit packets of one direction only
    """

    on: tuple[str, ...]
    effect: Effect
    symptom: str
    issue_type: str | None
    layer: str
    magnitude: float
    share: float = 1.0
    period_s: int = 0
    duty: float = 0.5
    seen_in: str = "both"
    one_way: bool = False


def _kind(row: IssueType) -> FaultKind:
    return FaultKind(
        row.on, row.effect, row.symptom, row.catalogue_name, row.layer, row.magnitude,
        row.share, row.period_s, row.duty, row.seen_in, row.one_way,
    )  # fmt: skip


#: Every name of a fault, aliases included.
KINDS: Final[dict[str, FaultKind]] = {
    name: _kind(row) for row in TABLE for name in (row.name, *row.aliases)
}

#: The published types that probes can show.
NETWORK_KINDS: Final = tuple(row.name for row in TABLE if row.number and row.observable)


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault; it holds in the whole seconds [start_s, end_s) since the simulation began.

    end_s           None = until the end
    magnitude, share, period_s    see FaultKind; None = the kind's default
    magnitude_back  of a link: what packets from the id's second end meet, where it differs
    direction       of a link: a>b hits only packets that travel from the id's first end
    """

    kind: str
    component: str
    start_s: int
    end_s: int | None = None
    magnitude: float | None = None
    share: float | None = None
    period_s: int | None = None
    magnitude_back: float | None = None
    direction: Direction = "both"

    @property
    def signature(self) -> FaultKind:
        """Its kind with this fault's own magnitude, share and period."""
        own = {
            name: value
            for name in ("magnitude", "share", "period_s")
            if (value := getattr(self, name)) is not None
        }
        return KINDS[self.kind]._replace(**own)

    def active(self, second: int) -> bool:
        """Whether it hits probes sent in this second (a flapping one only half of the time)."""
        if second < self.start_s or (self.end_s is not None and second >= self.end_s):
            return False
        known = self.signature
        period = known.period_s
        return period == 0 or (second - self.start_s) % period < period * known.duty

    @property
    def ways(self) -> tuple[tuple[Direction, float], ...]:
        """The directions it hits and the magnitude in each."""
        magnitude = self.signature.magnitude
        if self.magnitude_back is None:
            return ((self.direction, magnitude),)
        return (("a>b", magnitude), ("b>a", self.magnitude_back))


def check(fault: Fault, network: Network) -> None:
    """Raises FaultError (one line) unless the fault can be injected into this fabric."""
    if fault.kind not in KINDS:
        raise FaultError(f"no fault named {fault.kind!r}; choose one of {', '.join(KINDS)}")
    where = f"fault {fault.kind} at {fault.component}"
    known = fault.signature
    if kind_of(fault.component) not in known.on:
        raise FaultError(f"{where}: it can only be put on a component of kind {'|'.join(known.on)}")
    if fault.component not in network.index:
        raise FaultError(
            f"{where}: no such component in fabric {network.topology.fabric!r}; "
            "take an id from its topology document"
        )
    if fault.start_s < 0 or (fault.end_s is not None and fault.end_s <= fault.start_s):
        raise FaultError(f"{where}: [{fault.start_s}, {fault.end_s}) s is empty or before 0")
    for magnitude in (size for _, size in fault.ways):
        if known.effect in _SHARES and not 0 < magnitude <= 1:
            raise FaultError(f"{where}: magnitude {magnitude} is a share; give 0 < share <= 1")
        if known.effect not in _SHARES and known.effect != "clock" and magnitude <= 0:
            raise FaultError(f"{where}: magnitude {magnitude}; give more than 0")
    if not 0 < known.share <= 1:
        raise FaultError(f"{where}: share {known.share} of five-tuples; give 0 < share <= 1")
    if known.period_s < 0 or known.period_s == 1:
        raise FaultError(f"{where}: period {known.period_s} s; give 0 (steady) or at least 2")
    one_way = fault.direction != "both" or fault.magnitude_back is not None
    if one_way and kind_of(fault.component) != "link":
        raise FaultError(f"{where}: direction {fault.direction!r} needs a link")
    if fault.magnitude_back is not None and fault.direction != "both":
        raise FaultError(f"{where}: magnitude_back needs direction 'both'")


def truth(fault: Fault, fabric: str, start_ns: int, duration_s: int | None = None) -> Truth:
    """The line of truth.json; ``end`` is null when the fault outlasts the simulation."""
    known = fault.signature
    lasts = fault.end_s is None or (duration_s is not None and fault.end_s > duration_s)
    return Truth(
        fabric=fabric,
        component=fault.component,
        issue_type=known.issue_type,
        symptom=known.symptom,
        layer=known.layer,
        direction=fault.direction,
        start=rfc3339(start_ns + fault.start_s * _SECOND_NS),
        end=None if lasts or fault.end_s is None else rfc3339(start_ns + fault.end_s * _SECOND_NS),
        magnitude=max(size for _, size in fault.ways),
    )
