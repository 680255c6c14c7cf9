"""Faults one after the other: each kind of a mix once, with time to heal between."""

from __future__ import annotations

import msgspec
import numpy as np

from testbed.faults.arrivals import Arrival
from testbed.faults.kinds import KINDS, NETWORK_KINDS

_OBSERVABLE = "observable"


class InTurn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario's single faults, in an order that the seed chooses.

    mix                "observable": each of the published types that probes can show; or kinds
    start_s            the first one begins
    lasting_s          how long each lasts; latency_lasting_s: those that slow probes down
    gap_s              between a fault's end and the next one's start
    """

    mix: str | tuple[str, ...] = _OBSERVABLE
    start_s: int
    lasting_s: int
    latency_lasting_s: int
    gap_s: int

    def __post_init__(self) -> None:
        if min(self.start_s, self.lasting_s, self.latency_lasting_s, self.gap_s) < 1:
            raise ValueError("in_turn: times are in whole seconds, at least 1")
        for name in self.kinds:
            if name not in KINDS:
                raise ValueError(
                    f"in_turn: no mix or kind {name!r}; use one of "
                    f"{', '.join((_OBSERVABLE, *KINDS))}"
                )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of faults."""
        if self.mix == _OBSERVABLE:
            return NETWORK_KINDS
        return (self.mix,) if isinstance(self.mix, str) else self.mix

    @property
    def end_s(self) -> int:
        """The second after the last gap."""
        return self.start_s + sum(self._lasting_s(kind) + self.gap_s for kind in self.kinds)

    def draw(self, seed: int) -> list[Arrival]:
        """The faults in order of their start."""
        order = np.random.default_rng([seed, 42]).permutation(len(self.kinds))
        out, at = [], self.start_s
        for number in order.tolist():
            kind = self.kinds[number]
            end = at + self._lasting_s(kind)
            out.append(Arrival(kind, at, end))
            at = end + self.gap_s
        return out

    def _lasting_s(self, kind: str) -> int:
        slow = KINDS[kind].symptom == "high_latency"
        return self.latency_lasting_s if slow else self.lasting_s
