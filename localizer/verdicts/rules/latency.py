"""Windows in which paths are slower than their own past -> verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from localizer.detectors import peer_groups, spike
from localizer.detectors.change_point import change_of_level
from localizer.detectors.latency.deviation import LatencyDeviation
from localizer.evidence import Attribution, Evidence
from localizer.state.fabric_state import FabricState
from localizer.verdicts.attribute import Candidate, Over, Unclaimed, attribute
from localizer.verdicts.build import Alarm, Finding
from localizer.verdicts.decision import Decision
from localizer.verdicts.rules import quorum
from localizer.verdicts.rules.answers import by_pace, newest_slow, timing
from localizer.verdicts.rules.latency_tests import (
    Sample,
    Slow,
    looks,
    p_value,
    p_values,
    tests,
)
from localizer.verdicts.verdict import Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

_WAYS: Final = ("a>b", "b>a")


def latency(state: FabricState, at: int, judged: Bool) -> Decision:
    """Components whose paths are shifted far more often than their jobs' other paths are.

    judged  (P,) paths that may be judged
    Large steps show in five seconds, all others in a window of 30 s, or of some rounds of sparse
    paths, and what two or three pairs cross in several windows in a row; each adds what the shorter
    ones missed.
    """
    left = judged
    verdicts: list[Verdict] = []
    window, sudden = state.latency.deviation, _sudden(state, at)
    times = state.options.timing
    spans: list[tuple[LatencyDeviation, int, float]] = []
    if sudden is not None:
        spans.append((sudden, state.options.detectors.spike.recent_s, 1.0))
    shifts = [each for each in (window, state.latency.persistent) if each is not None]
    paces = [
        pace for each in shifts
        for pace in by_pace(each, times.window_s, state.options.verdicts.latency)
    ]  # fmt: skip
    spans += [(shift, length_s, times.hop_s / len(paces)) for shift, length_s in paces]
    if state.latency.lasting is not None:
        length_s = state.options.detectors.latency.lasting * times.window_s
        spans.append((state.latency.lasting, length_s, float(times.window_s)))
    for shift, length_s, every_s in spans:
        policy = _alarm(state, at, shift, judged, left, length_s, every_s)
        if policy is not None:
            found, rest = attribute(state, policy, Unclaimed.of(left))
            left = rest.left
            verdicts += found
    return Decision(verdicts, deviation=sudden if window is None else None)


def _sudden(state: FabricState, at: int) -> LatencyDeviation | None:
    baseline, paths = state.latency.baseline, len(state.index)
    if len(baseline.reference) < paths:
        return None  # paths joined since the last window: the next one is near
    parameters = state.options.detectors.spike
    rows, newest = state.history.probed_rtt_us(at)
    usual, ceiling = baseline.reference[rows], baseline.ceiling[rows]
    if not spike.any_slow(newest, usual, ceiling, parameters):
        return None
    lines = [state.history.rtt_us(at - back) for back in reversed(range(parameters.recent_s))]
    return spike.spike(
        np.stack(lines), baseline.reference, baseline.ceiling, state.layer, parameters
    )


def _alarm(
    state: FabricState, at: int, shift: LatencyDeviation, judged: Bool, left: Bool,
    length: int, every_s: float,
) -> LatencyPolicy | None:  # fmt: skip
    """The policy of one set of shifts, if a class moves more often than the alarm budget allows.

    judged   (P,) all that may be judged: what a shorter window has explained is no verdict again,
             but its culprit may be that of other paths, too; left (P,) those not explained yet
    length   seconds that were compared; every_s: how often such a test is made
    """
    valid, flagged = shift.valid & judged, shift.flagged & judged
    if not (flagged & left).any():
        return None
    groups, overlay = state.classes(), state.layer == 1
    peers = peer_groups.peer_groups(state.src, state.dst, overlay)
    vote = quorum.per_pair(state.pair, valid)  # a pair's five-tuples share its fate: one vote
    every = Sample(state.pair, peers, overlay, valid, vote)
    slow = [each._replace(paths=each.paths & judged) for each in looks(state, at, shift, length)]
    level = state.budget.level(tests(state, groups, length), every_s)
    parameters = state.options.detectors.peer_groups
    unexplained = every._replace(valid=valid & left, vote=vote * left)
    if not (p_values(state, groups, unexplained, slow, level) < level).any():
        return None
    p = p_values(state, groups, every, slow, 1.0)
    noise = np.where(shift.noise_us > 0, shift.noise_us, 1.0)
    excess = peer_groups.without_common_shift(shift.excess_us, peers, valid, parameters)
    evidence = Evidence(
        groups, valid.astype(np.int64), flagged.astype(np.int64), excess, noise, flagged,
        state.src, overlay, state.background.rate, latency=True,
        plausible=p < state.options.verdicts.attribution.plausible,
    )  # fmt: skip
    ring_s = min(length, state.options.timing.window_s)
    sent, lost = (state.history.total(name, at, ring_s) for name in ("sent", "lost"))
    if shift.sparse is not None:
        sent = np.maximum(sent, np.bincount(shift.sparse.answers.row, minlength=len(sent)) * valid)
    alarm = Alarm(groups, evidence, sent, lost, length, shift.excess_us)
    mine = every._replace(vote=quorum.per_pair(state.pair, left & valid))
    return LatencyPolicy(state, at, alarm, level, shift, mine, slow)


@dataclass(frozen=True, slots=True)
class LatencyPolicy:
    """An attribution stands if most of the paths left to it moved, more often than their peers.

    every  paths whose shift is known, the votes those of the paths that are left
    slow   paths that look slow: what is flagged, and what is slow outright if any is
    """

    state: FabricState
    at: int
    alarm: Alarm
    level: float
    shift: LatencyDeviation
    every: Sample
    slow: list[Slow]

    def measured(self) -> Bool:
        """(P,) paths whose shift is known."""
        return self.every.valid

    def scope(self, attribution: Attribution) -> Bool:
        """(P,) paths whose shift is known, of the overlay alone where only that is hit."""
        valid = self.every.valid
        return valid & self.alarm.evidence.overlay if attribution.tunnelled else valid

    def leaves_to_owners(self, _: list[Attribution]) -> bool:
        """No."""
        return False

    def refuted(self, _: list[Attribution]) -> None:
        """All classes may be culprits."""

    def may_replace(self, *_: object) -> bool:
        """Nothing is refuted."""
        return True

    def settled(self, _: list[Attribution]) -> bool:
        """Always: culprits of latency are few at once."""
        return True

    def _slower(self, candidate: Candidate) -> Bool:
        """(P,) paths of a candidate that are probed too rarely to have been measured by now."""
        scope = ~self.every.valid & (candidate.share > 0)
        if candidate.attribution.tunnelled:
            scope &= self.alarm.evidence.overlay
        return scope & self.state.probed(self.at, self.alarm.window_s)

    def _slow_just_now(self, candidate: Candidate) -> Bool:
        """(P,) of those, paths whose newest answer was slow: no test stands on it, but one of their
        hosts sees the trouble, too."""
        slower = self._slower(candidate)
        if self.shift.sparse is None or not slower.any():
            return np.zeros(len(slower), bool)
        return slower & newest_slow(self.shift.sparse.answers, len(slower))

    def _seen_by_each(self, rows: Bool, share: F64, hit: float) -> bool:
        """Whether so large a share of the paths of each source host is slow: where only two probe a
        component, one of them must not convict it with a path of the other that is slow by chance.
        """
        source, weight = self.state.src, self.every.vote * share * rows
        probes = np.bincount(source, weights=weight)
        slow = np.bincount(source, weights=weight * self.alarm.evidence.bad)
        return bool((slow >= hit * probes).all())

    def validate(self, candidate: Candidate) -> Finding | Over | None:
        """See ``attribute.Policy``.

        A link that is slow in one direction looks half as slow over all paths that cross it, and
        every component less so where routes are unknown, so that the paths that certainly cross it
        decide, too: in the direction that is slow, or in any.
        """
        parameters = self.state.options.verdicts.latency
        direction, column = candidate.attribution.direction, candidate.attribution.column
        ways = self.alarm.groups.certain(column)
        every = ways[0] | ways[1]
        finding = self._validated(
            candidate, candidate.share, every, self.level, parameters.most_moved
        )
        if finding is not None:
            return finding
        if direction in _WAYS and self.alarm.groups.directed[column]:
            way = ways[_WAYS.index(direction)]
        else:
            way = every
        certain = way.astype(np.float64)
        if (certain == candidate.share).all():
            return None
        return self._validated(
            candidate, certain, way, self.level / len(_WAYS), parameters.one_way_moved
        )

    def _validated(
        self, candidate: Candidate, share: F64, certain: Bool, level: float, moved: float
    ) -> Finding | Over | None:
        """The finding by paths of these weights (P,), or by those that certainly cross the class
        among the five-tuples of their pairs.

        level  largest p-value; moved: share of them that must have moved
        """
        state, shift, vote = self.state, self.shift, self.every.vote
        flagged, window_s = self.alarm.evidence.bad, self.alarm.window_s
        rows = candidate.rows & (share > 0)
        n, k = float((vote * share * rows).sum()), float((vote * share * (rows & flagged)).sum())
        counted = self.every._replace(valid=candidate.counts, vote=vote * candidate.counts)
        usual, *outright = (
            p_value(state, share, certain, rows, counted, each) for each in self.slow
        )
        p = min([usual, *outright])
        mine = np.flatnonzero(rows & flagged)
        witnesses = quorum.hosts(state.src, rows & flagged | self._slow_just_now(candidate))
        # Five seconds are too short to tell some five-tuples from a rush of some pairs.
        hit = candidate.attribution.share if window_s >= state.options.timing.window_s else 1.0
        hit *= moved
        probing = quorum.hosts(state.src, rows | self._slower(candidate))
        needed = quorum.needed(probing, state.options.observers)
        if not p < level or k < hit * n or witnesses < needed:
            return None
        if needed < state.options.observers and not self._seen_by_each(rows, share, hit):
            return None
        renewal_s = state.options.timing.hop_s
        if shift.sparse is not None:
            parameters = state.options.verdicts.latency
            found = timing(
                shift, shift.sparse, self.at, share * rows, candidate.counts, vote,
                self.every.peers, parameters,
            )  # fmt: skip
            if found is not None:
                by_answers = max(usual, found.p_value)
                if not min([by_answers, *outright]) < level or found.draws < parameters.least_draws:
                    return None
                if not found.lasting:
                    return Over()
                p, renewal_s = min([by_answers, *outright]), max(renewal_s, found.round_s)
        lof = None
        if np.isfinite(shift.lof[mine]).any():
            lof = round(float(np.nanmedian(shift.lof[mine])), 2)
        size = float(np.median(shift.excess_us[mine]))
        first_s = _onset(state, self.at, mine)
        if window_s > state.history.seconds and shift.sparse is None:  # it began before the ring
            times = state.options.timing
            first_s = self.at + 1 - (window_s - times.window_s + times.third_s)
        return Finding("high_latency", mine, p, size, first_s, lof=lof, renewal_s=renewal_s)


def _onset(state: FabricState, at: int, bad: I64) -> int:
    """First second from which the bad paths' answers are late: the likeliest change of their level.

    Over what the ring of panes holds; the level of a second is the mean over the bad paths that
    were answered in it of ln(round trip / reference).
    """
    sparse = state.latency.sparse_rows(bad)
    if len(sparse) and len(sparse) > len(bad) // 2:
        return _onset_of_answers(state, bad[sparse])
    seconds = range(at - state.history.seconds + 1, at + 1)
    rtt = np.stack([state.history.rtt_us(second)[bad] for second in seconds])
    heard = rtt > 0
    ratio = np.log(np.where(heard, rtt, 1.0) / state.latency.baseline.reference[bad], where=heard,
                   out=np.zeros_like(rtt))  # fmt: skip
    count = heard.sum(axis=1).astype(np.float64)
    level = ratio.sum(axis=1, dtype=np.float64) / np.maximum(count, 1.0)
    return seconds[change_of_level(level, count)]


def _onset_of_answers(state: FabricState, bad: I64) -> int:
    """The same of sparse paths, over the answers of each that are kept."""
    rtt, second = state.latency.answers.answers(bad)
    heard = rtt > 0
    usual = np.broadcast_to(state.latency.baseline.reference[bad][:, None], rtt.shape)
    seconds, of = np.unique(second[heard], return_inverse=True)
    ratio = np.log(rtt[heard] / usual[heard]).astype(np.float64)
    count = np.bincount(of).astype(np.float64)
    first = seconds[change_of_level(np.bincount(of, ratio) / count, count)]
    return state.latency.answers.epoch_s + int(first)
