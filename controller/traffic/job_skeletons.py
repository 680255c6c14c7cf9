"""When the skeleton of each job is inferred, and whether its ping lists use it. No I/O, no clock.

Throughput of a job counts from the last change of its containers on: one that comes, goes, or
becomes ready for the first time. A skeleton is inferred when the least throughput that inference
needs is there, again each time that there is half as much more, and then at intervals. The last
inference decides: what it declines goes back to the rails, with the reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from controller.ping_lists.jobs.pairs import OPTED_OUT
from controller.ping_lists.jobs.spread import thinned
from controller.skeleton import parameters as inference
from controller.skeleton.inference import Skeleton as Inferred
from controller.skeleton.series import Rnics, Throughput
from controller.state import ControllerState, Outcome
from controller.traffic.documents import document
from controller.traffic.job_series import JobSeries
from controller.traffic.parameters import DEFAULT, TrafficParameters
from schemas.documents.tasks.skeleton import Skeleton
from schemas.documents.times import milliseconds_of

I64 = NDArray[np.int64]
Key = tuple[str, str]  # fabric, job
Rnic = tuple[str, str, str]  # fabric, node_sn, real_ip

_NS = 1_000_000_000


class Attempt(NamedTuple):
    """An inference to be made.

    generation  of the job's members when its series began
    place       of each rnic (real_ip) in the order of the job
    """

    key: Key
    generation: int
    given: Throughput
    names: Rnics
    place: dict[str, int]


class Conclusion(NamedTuple):
    """What follows from an inference.

    inferred  declined where its confidence is too low
    pairs     of them those that lists may hold
    """

    inferred: Skeleton
    pairs: list[tuple[str, str]]


class Progress(NamedTuple):
    """How far a job's inference is.

    seconds  of throughput since the last change of its containers
    next_s   of throughput at which a skeleton is inferred the next time
    waits    why no skeleton is inferred at all; empty where one is, or will be
    last     the last inference, used or declined; None before the first one
    """

    seconds: int
    next_s: int
    waits: str
    last: Skeleton | None


@dataclass(slots=True)
class _Watched:
    """A job whose throughput is held; most_ready: the most containers that were ready at once."""

    series: JobSeries
    generation: int
    most_ready: int
    next_s: int
    tried_s: int = 0  # second of the last inference; 0: none yet
    last: Skeleton | None = None


class JobSkeletons:
    """The jobs of all fabrics whose throughput is held, and their last inferences.

    samples  by outcome: kept; unknown (of no job's rnic, or of another host's); ahead (of the
             broker's clock) [count]
    outcomes  by used, declined [count]
    unread    why the service reads no throughput at all; empty where it does
    """

    def __init__(
        self, state: ControllerState, parameters: TrafficParameters = DEFAULT,
        least_s: int = inference.DEFAULT.least_s,
    ) -> None:  # fmt: skip
        self._state, self._parameters, self._least_s = state, parameters, least_s
        self._watched: dict[Key, _Watched] = {}
        self._over: set[Key] = set()  # jobs beyond ``rnics``
        self._rows: dict[Rnic, dict[Key, int]] = {}  # of each job that uses the rnic
        self.samples: Counter[str] = Counter(kept=0, unknown=0, ahead=0)
        self.outcomes: Counter[str] = Counter(used=0, declined=0)
        self.unread = ""

    def follow(self, now_ms: int) -> None:
        """Begin and end series as jobs come, change and go. Costs little for what is unchanged."""
        present = set()
        for fabric, lists in self._state.lists.items():
            for job in lists.jobs.names:
                key = fabric, job
                now = lists.jobs.membership(job)
                present.add(key)
                known = self._watched.get(key)
                if not now.allowed:
                    self._end(key)
                elif known is None:
                    self._begin(key, self._settled_ms(key, now_ms), None)
                elif known.generation != now.generation or now.ready > known.most_ready:
                    self._begin(key, now_ms, known)
        for key in self._watched.keys() - present:
            self._end(key)
        self._over &= present

    def add(
        self, fabric: str, node_sn: Sequence[str], real_ip: Sequence[str],
        time_ns: I64, tx: I64, rx: I64, now_ms: int,
    ) -> None:  # fmt: skip
        """Samples (K,) of a fabric: bytes in the second that each time is nearest to.

        now_ms  when the broker got the newest of them
        """
        second = (time_ns + _NS // 2) // _NS
        ahead = second > now_ms / 1000 + self._parameters.ahead_s
        of_job: defaultdict[Key, list[tuple[int, int]]] = defaultdict(list)  # sample, row
        unknown = 0
        for sample in np.flatnonzero(~ahead).tolist():
            used = self._rows.get((fabric, node_sn[sample], real_ip[sample]))
            unknown += not used
            for key, row in (used or {}).items():
                of_job[key].append((sample, row))
        for key, both in of_job.items():
            sample, row = np.array(both, np.int64).T
            self._watched[key].series.add(row, second[sample], tx[sample], rx[sample])
        self.samples["ahead"] += int(ahead.sum())
        self.samples["unknown"] += unknown
        self.samples["kept"] += len(second) - int(ahead.sum()) - unknown

    def due(self) -> Attempt | None:
        """What to infer from next: of the job that was tried longest ago."""
        ready = [
            (known.tried_s, key)
            for key, known in self._watched.items()
            if known.series.seconds >= known.next_s
            or (known.tried_s and known.series.last_s >= known.tried_s + self._parameters.again_s)
        ]
        if not ready:
            return None
        key = min(ready)[1]
        known = self._watched[key]
        known.tried_s = known.series.last_s
        known.next_s = round(known.next_s * self._parameters.growth)
        while known.next_s <= known.series.seconds:
            known.next_s = round(known.next_s * self._parameters.growth)
        place = self._state.lists[key[0]].jobs.places(key[1])
        return Attempt(key, known.generation, *known.series.throughput(), place)

    def conclude(self, attempt: Attempt, found: Inferred) -> Conclusion:
        """What follows from what an attempt has found. Pure, and slow: for any thread."""
        made = document(*attempt.key, found, attempt.names, attempt.given.tx.shape[1])
        if reason := made.declined or self._doubt(found):
            return Conclusion(msgspec.structs.replace(made, declined=reason), [])
        host = dict(zip(attempt.names.real_ip, attempt.names.node_sn, strict=True))
        between = [(a, b) for a, b in made.pairs if host[a] != host[b]]
        limit = self._state.parameters.skeleton_targets
        return Conclusion(made, thinned(between, limit, attempt.place))

    def holds(self, attempt: Attempt) -> bool:
        """Whether the job of an attempt is what it was: else it has ended or changed, and its lists
        with it."""
        known = self._watched.get(attempt.key)
        return known is not None and known.generation == attempt.generation

    def found(self, attempt: Attempt, what: Conclusion) -> Outcome:
        """The result of an attempt: the lists of the job use it, or its rails with the reason."""
        key = attempt.key
        if not self.holds(attempt):
            return Outcome()
        known = self._watched[key]
        known.last = what.inferred
        if what.inferred.declined:
            self.outcomes["declined"] += 1
            return self._state.no_skeleton(*key, what.inferred.declined)
        self.outcomes["used"] += 1
        whole = len(what.inferred.pairs)
        return self._state.skeleton(*key, what.pairs, attempt.generation, whole)

    def failed(self, attempt: Attempt, why: str) -> Outcome:
        """An attempt has ended with an error."""
        if not self.holds(attempt):
            return Outcome()
        self.outcomes["declined"] += 1
        return self._state.no_skeleton(*attempt.key, f"inference failed: {why}")

    def progress(self, fabric: str, job: str) -> Progress:
        """How far the inference of a job is; raises KeyError for a job without containers."""
        key = fabric, job
        if not self._state.lists[fabric].jobs.membership(job).allowed:
            return Progress(0, 0, OPTED_OUT, None)
        if self.unread:
            return Progress(0, 0, self.unread, None)
        if key in self._over:
            most = self._parameters.rnics
            return Progress(0, 0, f"the throughput of {most:,} rnics is held, at most", None)
        known = self._watched.get(key)
        if known is None:
            return Progress(0, self._least_s, "", None)
        seconds = known.series.seconds
        waits = "" if seconds else "no throughput of its rnics has come"
        return Progress(seconds, known.next_s, waits, known.last)

    def _begin(self, key: Key, since_ms: int, before: _Watched | None) -> None:
        """A new series of a job, from ``since_ms`` on."""
        fabric, job = key
        lists = self._state.lists[fabric]
        now, rnics = lists.jobs.membership(job), lists.jobs.rnics(job)
        self._end(key)
        held = sum(len(each.series.rnics) for each in self._watched.values())
        if held + len(rnics) > self._parameters.rnics:
            self._over.add(key)
            return
        self._over.discard(key)
        last = before.last if before and before.generation == now.generation else None
        self._watched[key] = _Watched(
            JobSeries(rnics, since_ms // 1000, self._parameters.kept_s),
            now.generation, now.ready, self._least_s, last=last,
        )  # fmt: skip
        for row, each in enumerate(rnics):
            self._rows.setdefault((fabric, each.node_sn, each.real_ip), {})[key] = row

    def _end(self, key: Key) -> None:
        """Drop the series of a job, where there is one."""
        known = self._watched.pop(key, None)
        for each in known.series.rnics if known is not None else ():
            place = key[0], each.node_sn, each.real_ip
            self._rows[place].pop(key)
            if not self._rows[place]:
                del self._rows[place]

    def _settled_ms(self, key: Key, now_ms: int) -> int:
        """When the containers of a job that was not watched before have changed the last time."""
        fabric, job = key
        boxes = (box for box in self._state.tasks.members(job) if box.fabric == fabric)
        return max((milliseconds_of(box.valid_from) for box in boxes), default=now_ms)

    def _doubt(self, found: Inferred) -> str:
        least = self._parameters.confidence
        if found.confidence >= least:
            return ""
        return f"confidence {found.confidence:.2f} is below {least:g}"
