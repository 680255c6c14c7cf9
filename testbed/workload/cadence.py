"""When each five-tuple is probed: pairs in rounds of whole seconds, their five-tuples in turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.simulator.counter_rng import mix, uniform
from testbed.simulator.network import I32


class Cadence:
    """The five-tuples (P,) that are due in each second.

    With ``every_s`` = 10 and two five-tuples a pair, a pair is probed each 10 s and each of its
    five-tuples each 20 s; pairs begin at different seconds.
    """

    def __init__(
        self,
        turn: I32,
        pair: I32,
        host: I32,
        ports_per_pair: int,
        every_s: tuple[int, ...],
        seed: int,
    ) -> None:
        """turn (P,) of the five-tuple within its pair; pair, host (P,) codes

        every_s  time between two probes of a pair; of several, each host has one by its hash
        """
        choice = mix(seed, 28, host) % np.uint64(len(every_s))
        every = np.array(every_s)[choice.astype(np.int64)]
        begins = np.floor(every * uniform(seed, 29, pair)).astype(np.int64)
        slot = turn.astype(np.int64) * every + begins
        self._due: dict[int, list[NDArray[np.int64]]] = {}  # length of a cycle -> by second
        for each in sorted({*every.tolist()}):
            mine = np.flatnonzero(every == each)
            order = mine[np.argsort(slot[mine], kind="stable")]
            cycle = each * ports_per_pair
            edges = np.searchsorted(slot[order], np.arange(1, cycle))
            self._due[cycle] = np.split(order, edges)

    def cycles(self, paths: int) -> NDArray[np.int64]:
        """(P,) time between two probes of each five-tuple [s]; paths: P."""
        out = np.zeros(paths, np.int64)
        for cycle, slots in self._due.items():
            out[np.concatenate(slots)] = cycle
        return out

    def due(self, second: int) -> NDArray[np.int64]:
        """(N,) rising indices of the five-tuples that are probed in a second."""
        parts = [slots[second % cycle] for cycle, slots in self._due.items()]
        return parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
