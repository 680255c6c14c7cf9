"""The seconds, hosts and components that a replay has judged: how much "no incidents" means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from localizer.coverage import crossed, crossed_for_certain
from localizer.localizer import Localizer
from localizer.second_batch import DEFAULT as ASSEMBLY
from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class CoverageParameters:
    """How often coverage is read.

    sample_every_s  from one reading of the crossed components to the next
    """

    sample_every_s: int = parameter(
        60, unit="s",
        source="chosen: well before a localizer evicts a path that is not probed",
    )  # fmt: skip


DEFAULT: Final = CoverageParameters()


class Stretch(NamedTuple):
    """A time without a jump: first second, length [s], seconds of it with a judged probe."""

    start: int
    length: int
    judged: int


class Judged:
    """Seconds, source hosts and components of one fabric that judged probes have covered.

    components  crossed, in expectation where routes are unknown
    certain     of them, crossed on a known route
    answered    whether a record had a latency
    """

    def __init__(self) -> None:
        self.seconds: set[int] = set()
        self.hosts: set[str] = set()
        self.components: set[str] = set()
        self.certain: set[str] = set()
        self.answered = False
        self._sampled_s = 0

    def add_pane(self, second: int, batch: pa.RecordBatch) -> None:
        """Record a chunk of a pane that the localizer was given; it may be empty."""
        if not batch.num_rows:
            return
        self.seconds.add(second)
        self.hosts.update(batch.column("src_node_sn").unique().to_pylist())
        self.answered = self.answered or bool(pc.max(batch.column("rtt_count")).as_py())

    def sample(self, localizer: Localizer, *, last: bool = False) -> None:
        """Record the components that the localizer's paths cross, at most once in a minute.

        Call it when a second has just been judged: all paths have their segments then, so that
        reading them changes nothing.
        """
        judged_s = localizer.judged_s or 0
        if not last and abs(judged_s - self._sampled_s) < DEFAULT.sample_every_s:
            return
        self._sampled_s = judged_s
        if (incidence := localizer.incidence) is not None:
            self.certain |= crossed_for_certain(incidence)
            self.components |= crossed(incidence)

    def stretches(self) -> list[Stretch]:
        """The times between jumps of event time, in order; judging begins anew after each."""
        out: list[Stretch] = []
        last = 0
        for second in sorted(self.seconds):
            if not out or second - last > ASSEMBLY.jump_s:
                out.append(Stretch(second, 0, 0))
            start, _, judged = out[-1]
            out[-1] = Stretch(start, second - start + 1, judged + 1)
            last = second
        return out
