"""How well the agent itself is served by its CPU, and the heartbeat that says so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from probers.agent.ping_list import Endpoint
from schemas.documents.heartbeat import Heartbeat, RnicCounts, encode

_STEAL_FIELD: Final = 7  # user nice system idle iowait irq softirq steal


class CpuSteal:
    """Share of CPU time that the hypervisor took since the last reading, 0..1."""

    def __init__(self, path: Path = Path("/proc/stat")) -> None:
        self._path = path
        self._last = self._times()

    def read(self) -> float:
        """Share since the last call; 0 where the system does not say (not Linux)."""
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
    fabric: str,
    node_sn: str,
    endpoints: list[Endpoint],
    sent: Counter[str],
    answered: Counter[str],
    *,
    now_ns: int,
    cpu_steal: float,
    delay_ns: int,
    version: str,
    instance: str = "",
    started_ns: int = 0,
    scope: str = "",
    alive: bool = True,
) -> bytes:
    """One heartbeat's JSON. sent, answered: cumulative probes by own address."""
    rnics: dict[str, RnicCounts] = {}
    for own in endpoints:
        before = rnics.get(own.real_ip, RnicCounts())
        rnics[own.real_ip] = RnicCounts(
            before.sent + sent[own.ip], before.answered + answered[own.ip]
        )
    return encode(
        Heartbeat(
            node_sn=node_sn,
            time=now_ns,
            alive=alive,
            fabric=fabric,
            cpu_steal=round(cpu_steal, 4),
            scheduling_delay_us=round(delay_ns / 1e3, 1),
            rnics=rnics,
            version=version,
            instance=instance,
            started=started_ns,
            scope=scope,
        )
    )
