"""The list of one host: active entries, its version and ETag, and what changed lately."""

from __future__ import annotations

from collections import Counter, deque
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from controller.ping_lists.endpoints import Endpoint
from controller.ping_lists.parameters import PingListParameters

Key = tuple[str, str]  # address of the source, address of the target
_MODULUS = 2**128
_SERVED, _IN_JOB = 0, 1  # what ``_hashed`` gets in place of ports for the host's own endpoints


class Edit(NamedTuple):
    """An entry that appeared (ports > 0) or disappeared."""

    key: Key
    ports: int


class HostList:
    """Active entries of a host. The ETag depends on the content alone, whatever its history.

    version  rises with each change, while the process runs
    entries  (source, target) -> source ports [count]
    """

    def __init__(self, parameters: PingListParameters, interval_s: float, version: int = 1) -> None:
        self.version = version
        self.entries: dict[Key, int] = {}
        self._parameters = parameters
        self._interval_s = interval_s
        self._of_rnic: Counter[str] = Counter()
        self._content = 0
        self._pending: list[Edit] = []
        self._log: deque[tuple[str, list[Edit]]] = deque(maxlen=parameters.remembered)
        self.etag = self._compute()

    @property
    def five_tuples(self) -> int:
        """Five-tuples of the active entries."""
        return self._of_rnic.total()

    @property
    def interval_s(self) -> float:
        """Time between two probes of a five-tuple [s]: as planned, or longer to keep the caps."""
        busiest = max(self._of_rnic.values(), default=0)
        return max(
            self._interval_s,
            self.five_tuples / self._parameters.agent_rate,
            busiest / self._parameters.rnic_rate,
        )

    def add(self, source: Endpoint, peer: Endpoint, ports: int) -> None:
        """Activate an entry; ``settle`` makes it count."""
        key = source.ip, peer.ip
        self.entries[key] = ports
        self._of_rnic[source.real_ip] += ports
        self._content += _hashed(source, peer, ports)
        self._pending.append(Edit(key, ports))

    def remove(self, source: Endpoint, peer: Endpoint) -> None:
        """Deactivate an entry; ``settle`` makes it count."""
        key = source.ip, peer.ip
        ports = self.entries.pop(key)
        self._of_rnic[source.real_ip] -= ports
        self._content -= _hashed(source, peer, ports)
        self._pending.append(Edit(key, 0))

    def serve(self, own: Endpoint, *, added: bool) -> None:
        """The agent binds an endpoint more or less; ``settle`` makes it count."""
        self._content += _hashed(own, own, _SERVED) * (1 if added else -1)

    def use(self, rnic: Endpoint, *, added: bool) -> None:
        """A job more or less uses an rnic of the host by its own address."""
        self._content += _hashed(rnic, rnic, _IN_JOB) * (1 if added else -1)

    def settle(self) -> bool:
        """End of an event: a new version if the content has changed; returns whether it has."""
        before, self.etag = self.etag, self._compute()
        edits, self._pending = self._pending, []
        if self.etag == before:
            return False
        self._log.append((before, edits))
        self.version += 1
        return True

    def edits_since(self, etag: str) -> list[Edit] | None:
        """The last edit of each entry since the list had this ETag; None if too long ago."""
        if etag == self.etag:
            return []
        found: list[list[Edit]] = []
        for before, edits in reversed(self._log):
            found.append(edits)
            if before == etag:
                return list({edit.key: edit for part in reversed(found) for edit in part}.values())
        return None

    def _compute(self) -> str:
        text = f"{self._content % _MODULUS:x} {self.interval_s:.6f}"
        return blake2b(text.encode(), digest_size=12).hexdigest()


def _hashed(source: Endpoint, peer: Endpoint, ports: int) -> int:
    """Summed over the entries, in any order, it identifies the list (Bellare & Micciancio 1997)."""
    both = _digest(source) + _digest(peer) + ports.to_bytes(4, "little")
    return int.from_bytes(blake2b(both, digest_size=16).digest(), "little")


@lru_cache(maxsize=262_144)
def _digest(endpoint: Endpoint) -> bytes:
    return blake2b("\0".join(map(str, endpoint)).encode(), digest_size=16).digest()
