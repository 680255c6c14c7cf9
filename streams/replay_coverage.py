"""The seconds, hosts and components that a replay has judged: how much "no incidents" means."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from localizer.localizer import Localizer
from localizer.second_batch import JUMP_S

_SAMPLE_EVERY_S: Final = 60  # well before a localizer evicts a path that is not probed
#: Half a traversal is one direction of one path: what is expected less often counts as not crossed.
_CROSSED: Final = 0.5 - 1e-6


class Judged:
    """Seconds, source hosts and components of one fabric that judged probes have covered."""

    def __init__(self) -> None:
        self.seconds: set[int] = set()
        self.hosts: set[str] = set()
        self.components: set[str] = set()
        self._sampled_s = 0

    def add_pane(self, second: int, batch: pa.RecordBatch) -> None:
        """Record a chunk of a pane that the localizer was given; it may be empty."""
        if not batch.num_rows:
            return
        self.seconds.add(second)
        self.hosts.update(batch.column("src_node_sn").unique().to_pylist())

    def sample(self, localizer: Localizer, *, last: bool = False) -> None:
        """Record the components that the localizer's paths cross, at most once in a minute.

        Call it when a second has just been judged: all paths have their segments then, so that
        reading them changes nothing.
        """
        judged_s = localizer.judged_s or 0
        if not last and abs(judged_s - self._sampled_s) < _SAMPLE_EVERY_S:
            return
        self._sampled_s = judged_s
        crossed = localizer.crossed()
        self.components |= {name for name, times in crossed.items() if times >= _CROSSED}

    def stretch(self) -> tuple[int, int]:
        """First second and length [s] of the longest time without a jump of event time."""
        best, start, last = (0, 0), None, 0
        for second in sorted(self.seconds):
            if start is None or second - last > JUMP_S:
                start = second
            last = second
            if last - start + 1 > best[1]:
                best = (start, last - start + 1)
        return best
