"""The heartbeat document, and the CPU time that the hypervisor withholds from the agent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from probers.ping_list.document import Endpoint
from schemas.documents.heartbeat import Heartbeat, RnicCounts, encode

_STEAL_FIELD: Final = 7  # user nice system idle iowait irq softirq steal


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


class CpuSteal:
    """Share of CPU time that the hypervisor withheld since the last reading, 0..1."""

    def __init__(self, path: Path = Path("/proc/stat")) -> None:
        self._path = path
        self._last = self._times()

    def read(self) -> float:
        """Share since the last call; 0 where the system does not report it (not Linux)."""
        now, then = self._times(), self._last
        self._last = now
        total = sum(now) - sum(then)
        if total <= 0 or len(now) <= _STEAL_FIELD or len(then) <= _STEAL_FIELD:
            return 0.0
        return min(1.0, max(0.0, (now[_STEAL_FIELD] - then[_STEAL_FIELD]) / total))

    def _times(self) -> list[int]:
        try:
            with self._path.open() as file:
                # guest times, after steal, are already part of user and nice
                return [int(field) for field in file.readline().split()[1 : _STEAL_FIELD + 2]]
        except (OSError, ValueError):
            return []


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
