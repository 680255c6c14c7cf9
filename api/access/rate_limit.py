"""How many requests a client may make: a token bucket for each of the latest clients."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple


class Rate(NamedTuple):
    """per_s  requests of one client that are served in the long run [1/s]
    burst     requests that it may make at once [count]
    clients   buckets that are kept [count]; the one not used for longest is forgotten
    """

    per_s: float
    burst: int
    clients: int = 4096


class RateLimit:
    """Buckets by client; no clock of its own."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # -> left, at [s]

    def __len__(self) -> int:
        return len(self._buckets)

    def wait_s(self, client: str, now_s: float) -> float:
        """0 where the request may be served, which it then counts as; else the time after which
        one may be [s].
        """
        rate = self._rate
        left, at_s = self._buckets.pop(client, (float(rate.burst), now_s))
        left = min(float(rate.burst), left + rate.per_s * max(now_s - at_s, 0.0))
        served = left >= 1
        self._buckets[client] = (left - served, now_s)
        if len(self._buckets) > rate.clients:
            self._buckets.popitem(last=False)
        return 0.0 if served else (1 - left) / rate.per_s
