"""skh.heartbeats: one JSON document per second and agent, outside of the probed network."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from schemas.documents.ping import DEFAULT_FABRIC
from schemas.limits import LIMITS, Limits

_MAX_RNICS: Final = 1024
_MAX_DELAY_US: Final = 1e12  # eleven days


class RnicCounts(msgspec.Struct, frozen=True):
    """Probes of one rnic since the agent started; shows whether records were lost [count]."""

    sent: int = 0
    answered: int = 0


class Heartbeat(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent's sign of life, with the CPU time that it gets.

    time                 when it was written [ns since the epoch]
    cpu_steal            share of the last second stolen by the hypervisor or a cgroup limit, 0..1
    scheduling_delay_us  largest delay of the agent's own timers in the last second [us]
    rnics                cumulative probe counts by the rnic's real_ip
    instance             random text chosen at each start: two at the same time are two agents
    started              time of that start [ns since the epoch]; 0: unknown
    scope                the part of the host that this agent serves, <layer>/<node_id>; "": all.
                         Agents of different scopes may share a node_sn
    """

    node_sn: str
    time: int
    alive: bool = True
    fabric: str = DEFAULT_FABRIC
    cpu_steal: float = 0.0
    scheduling_delay_us: float = 0.0
    rnics: dict[str, RnicCounts] = {}
    version: str = ""
    instance: str = ""
    started: int = 0
    scope: str = ""

    def __post_init__(self) -> None:
        if not self.node_sn:
            raise ValueError("heartbeat: node_sn is empty")
        if self.time <= 0:
            raise ValueError(f"heartbeat of {self.node_sn}: time {self.time} is not after 1970")


_decoder = msgspec.json.Decoder(Heartbeat)
_encoder = msgspec.json.Encoder()


def decode(raw: bytes, limits: Limits = LIMITS) -> Heartbeat:
    """Parse one heartbeat; raises ValueError that names the field, for any other bytes."""
    if len(raw) > limits.heartbeat_bytes:
        raise ValueError(f"heartbeat of {len(raw)} B; it may have {limits.heartbeat_bytes} B")
    try:
        beat = _decoder.decode(raw)
    except RecursionError as why:
        raise ValueError("heartbeat: brackets are nested too deep") from why
    _check(beat, limits)
    return beat


def _check(beat: Heartbeat, limits: Limits) -> None:
    """Refuse values that columns of skh.windows cannot hold or that no agent measures."""
    for name, text in (("node_sn", beat.node_sn), ("fabric", beat.fabric)):
        if len(text.encode()) > limits.name_bytes:
            raise ValueError(f"heartbeat: {name} is longer than {limits.name_bytes} B")
    who = beat.node_sn[:100]
    if beat.time >= 2**63:
        raise ValueError(f"heartbeat of {who}: time {str(beat.time)[:40]} is not ns of our age")
    if not 0 <= beat.cpu_steal <= 1:  # NaN is refused too
        raise ValueError(f"heartbeat of {who}: cpu_steal {beat.cpu_steal} is not a share (0..1)")
    delay_us = beat.scheduling_delay_us
    if not math.isfinite(delay_us) or not 0 <= delay_us <= _MAX_DELAY_US:
        raise ValueError(f"heartbeat of {who}: scheduling_delay_us {delay_us} is not a delay")
    if len(beat.rnics) > _MAX_RNICS:
        raise ValueError(f"heartbeat of {who}: {len(beat.rnics)} rnics; {_MAX_RNICS} may be named")


def encode(beat: Heartbeat) -> bytes:
    """One line of JSON without a newline; fields with default values are omitted."""
    return _encoder.encode(beat)
