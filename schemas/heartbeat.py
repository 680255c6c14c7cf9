"""skh.heartbeats: one JSON document a second from each agent, out of band of the probed network."""

from __future__ import annotations

import msgspec

from schemas.ping import DEFAULT_FABRIC


class RnicCounts(msgspec.Struct, frozen=True):
    """Probes of one rnic since the agent started: lets an operator check nothing was lost."""

    sent: int = 0
    answered: int = 0


class Heartbeat(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent says that it lives and how well it is served by its CPU.

    time                 when it was written [ns since the epoch]
    cpu_steal            share of the last second stolen by the hypervisor or a cgroup limit, 0..1
    scheduling_delay_us  how late the agent's own timers fired in the last second, worst case [us]
    rnics                per rnic real_ip, cumulative probe counts
    instance             random at each start of an agent: two at a time are two agents
    started              when that was [ns since the epoch]; 0: the agent does not say
    scope                the part of the host that this agent serves, <layer>/<node_id>; "": all.
                         Agents of different scopes share a node_sn rightly
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


def decode(raw: bytes) -> Heartbeat:
    """Parse one heartbeat; raises msgspec.MsgspecError (a ValueError) naming the field."""
    return _decoder.decode(raw)


def encode(beat: Heartbeat) -> bytes:
    """One line of JSON without a newline; defaults are left out except identity and time."""
    return _encoder.encode(beat)
