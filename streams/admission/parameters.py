"""Parameters of admission: whose messages are refused, and how much is remembered of senders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter

_MEMORY: Final = "chosen: what senders call themselves must not exhaust the memory"


@dataclass(frozen=True, slots=True)
class ReplayParameters:
    """When a signed message counts as a replay.

    kept_s   a sender's signatures are remembered for so long, by its own clock
    fresh_s  an older message is accepted if it was signed within so long of its arrival; less than
             ``kept_s``
    senders  whose signatures are remembered
    """

    kept_s: int = parameter(120, unit="s", source="chosen: pytest tests/streams/admission")
    fresh_s: int = parameter(60, unit="s", source="chosen: half of kept_s: must be less than it")
    senders: int = parameter(65_536, unit="senders", source=_MEMORY)


@dataclass(frozen=True, slots=True)
class TwinParameters:
    """When two agents send heartbeats under one name.

    returns    returns of an instance that another had replaced are no restart from so many on,
    recent_s   none later than this after the one before
    kept_s     a name that is not heard for so long is forgotten
    names      that are remembered
    instances  of one name that are remembered
    """

    returns: int = parameter(
        3, unit="returns", source="chosen: pytest tests/streams/admission (restarts, twins)"
    )
    recent_s: int = parameter(
        60, unit="s", source="chosen: pytest tests/streams/admission (restarts, twins)"
    )
    kept_s: int = parameter(
        3600, unit="s", source="chosen: as long as what is over is remembered elsewhere"
    )
    names: int = parameter(65_536, unit="names", source=_MEMORY)
    instances: int = parameter(8, unit="instances", source=_MEMORY)


@dataclass(frozen=True, slots=True)
class AdmissionParameters:
    """Of signatures, clocks and owners.

    future_s         how far a sender's clock may be ahead of the broker's
    hosts            hosts of one container that are remembered
    over_s           event time for which a container that is gone, and what a topology leaves out,
                     keeps its owner
    ring_every_s     from one look at the key ring's file to the next
    name_characters  of a refused name that its reason shows
    """

    future_s: int = parameter(
        86_400, unit="s",
        source="chosen: clocks that are wrong by hours (a time zone in a real-time clock) are for "
        "the localizer to name; beyond a day a time is no clock's",
    )  # fmt: skip
    hosts: int = parameter(
        8, unit="hosts", source="chosen: a container moves, and its records may be late"
    )
    over_s: int = parameter(
        14_400, unit="s",
        source="chosen: readers that are further behind take what such a container sent by its "
        "signature alone",
    )  # fmt: skip
    ring_every_s: float = parameter(
        1.0, unit="s", source="chosen: keys are rotated without a restart"
    )
    name_characters: int = parameter(256, unit="characters", source="chosen: a DNS name has 253")
    replays: ReplayParameters = ReplayParameters()
    twins: TwinParameters = TwinParameters()


DEFAULT: Final = AdmissionParameters()
