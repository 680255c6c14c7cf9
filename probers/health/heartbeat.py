"""The heartbeat document."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from probers.ping_list.document import Endpoint
from schemas.documents.heartbeat import Heartbeat, RnicCounts, encode


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """Which agent this is.

    scope       layer and container that it is restricted to, such as overlay/box-1; "": all
    instance    random, so that a second agent of the same host can be distinguished
    started_ns  wall clock
    """

    node_sn: str
    scope: str
    instance: str
    started_ns: int
    version: str


def heartbeat(
    identity: AgentIdentity,
    fabric: str,
    endpoints: list[Endpoint],
    sent: Counter[str],
    answered: Counter[str],
    *,
    now_ns: int,
    cpu_steal: float,
    delay_ns: int,
    alive: bool = True,
) -> bytes:
    """One heartbeat as JSON.

    sent, answered  probes by own address since the agent started
    delay_ns        worst delay of a timer since the last heartbeat
    alive           False in the last heartbeat of an agent that ends in order
    """
    rnics: dict[str, RnicCounts] = {}
    for own in endpoints:
        before = rnics.get(own.real_ip, RnicCounts())
        rnics[own.real_ip] = RnicCounts(
            before.sent + sent[own.ip], before.answered + answered[own.ip]
        )
    return encode(
        Heartbeat(
            node_sn=identity.node_sn,
            time=now_ns,
            alive=alive,
            fabric=fabric,
            cpu_steal=round(cpu_steal, 4),
            scheduling_delay_us=round(delay_ns / 1e3, 1),
            rnics=rnics,
            version=identity.version,
            instance=identity.instance,
            started=identity.started_ns,
            scope=identity.scope,
        )
    )
