"""The faults that can be injected, each with its signature: component, layer, symptom, effect.

Nothing reroutes: while a switch or link is down, ECMP keeps hashing five-tuples onto it, as
static routes do until somebody drains them.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

from schemas.components import kind_of
from testbed.network import Network
from testbed.truth import Truth, rfc3339

Effect = Literal["loss", "latency", "crash", "host", "agent", "starved", "clock"]
Direction = Literal["both", "a>b", "b>a"]
_SECOND_NS: Final = 1_000_000_000


class FaultError(ValueError):
    """The fault cannot be injected; one line that says what is wrong with it."""


class FaultKind(NamedTuple):
    """The signature of a kind.

    on          component kinds it can be put on
    effect      what probes see: loss of a share at each crossing, added latency, ...
    issue_type  name in the catalogue of 19 issue types, None where none fits
    layer       of the truth
    magnitude   default: share lost at each crossing | added round trip [us] (half of it where only
                probe or reply crosses) | share of seconds without CPU | clock offset [s]
    share       default share of five-tuples that are hit
    period_s    default flapping period, 0 = steady; down in the first half of each period
    """

    on: tuple[str, ...]
    effect: Effect
    symptom: str
    issue_type: str | None
    layer: str
    magnitude: float
    share: float = 1.0
    period_s: int = 0


_SWITCH: Final = ("tor", "agg", "spine")
_LINK: Final = ("link",)
_RNIC: Final = ("rnic",)
_OPEN: Final = "unconnectivity"

KINDS: Final[dict[str, FaultKind]] = {
    "rnic_down": FaultKind(_RNIC, "loss", _OPEN, "rnic_port_down", "underlay", 1.0),
    "rnic_flap": FaultKind(
        _RNIC, "loss", "loss", "rnic_port_flapping", "underlay", 1.0, period_s=4
    ),
    "rnic_latency": FaultKind(
        _RNIC, "latency", "high_latency", "rnic_firmware_not_responding", "underlay", 30.0
    ),
    "tor_loss": FaultKind(("tor",), "loss", "loss", None, "underlay", 0.3),
    "switch_loss": FaultKind(_SWITCH, "loss", "loss", None, "underlay", 0.3),
    "switch_down": FaultKind(_SWITCH, "loss", _OPEN, "switch_offline", "underlay", 1.0),
    "switch_latency": FaultKind(
        _SWITCH, "latency", "high_latency", "congestion_control_disabled", "underlay", 30.0
    ),
    "link_loss": FaultKind(_LINK, "loss", "loss", "crc_error", "underlay", 0.1),
    "link_down": FaultKind(_LINK, "loss", _OPEN, "switch_port_down", "underlay", 1.0),
    "link_flap": FaultKind(
        _LINK, "loss", "loss", "switch_port_flapping", "underlay", 1.0, period_s=4
    ),
    "five_tuple_blackhole": FaultKind(_LINK, "loss", "loss", None, "underlay", 1.0, share=0.25),
    "vswitch_latency": FaultKind(
        ("vswitch",), "latency", "high_latency", "repetitive_flow_offloading", "overlay", 30.0
    ),
    "vswitch_loss": FaultKind(("vswitch",), "loss", "loss", None, "overlay", 0.3),
    "container_crash": FaultKind(("container",), "crash", _OPEN, "container_crash", "overlay", 1.0),
    "host_down": FaultKind(("host",), "host", "host_down", None, "host", 1.0),
    "agent_crash": FaultKind(("agent",), "agent", "agent_down", None, "agent", 1.0),
    "agent_starved": FaultKind(("agent",), "starved", "agent_starved", None, "agent", 0.5),
    "clock_skew": FaultKind(("agent",), "clock", "clock_skewed", None, "agent", 3600.0),
}


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fault; it holds in the whole seconds [start_s, end_s) since the simulation began.

    end_s        None = until the end
    magnitude, share, period_s    see FaultKind; None = the kind's default
    direction    of a link: a>b hits only packets that travel from the id's first end
    """

    kind: str
    component: str
    start_s: int
    end_s: int | None = None
    magnitude: float | None = None
    share: float | None = None
    period_s: int | None = None
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
        period = self.signature.period_s
        return period == 0 or (second - self.start_s) % period < period / 2


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
    if known.effect not in ("latency", "clock") and not 0 < known.magnitude <= 1:
        raise FaultError(f"{where}: magnitude {known.magnitude} is a share; give 0 < share <= 1")
    if known.effect == "latency" and known.magnitude <= 0:
        raise FaultError(f"{where}: magnitude {known.magnitude} us; give more than 0")
    if not 0 < known.share <= 1:
        raise FaultError(f"{where}: share {known.share} of five-tuples; give 0 < share <= 1")
    if known.period_s < 0 or known.period_s == 1:
        raise FaultError(f"{where}: period {known.period_s} s; give 0 (steady) or at least 2")
    if fault.direction != "both" and known.on != _LINK:
        raise FaultError(f"{where}: direction {fault.direction!r} needs a link")


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
        magnitude=known.magnitude,
    )
