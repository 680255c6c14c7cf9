"""Loss and unreachability -> verdicts: over the newest 5 and 30 s, and over minutes.

A short window finds an outage at once. What loses little, or is probed rarely, needs a longer one:
each half minute windows of up to a quarter of an hour are judged, also against the past of each
class itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from localizer.baselines.loss import HealthyLoss
from localizer.detectors import loss
from localizer.evidence import Evidence
from localizer.fabric.observability import Classes
from localizer.state.fabric_state import FabricState
from localizer.verdicts.attribute import Unclaimed, attribute
from localizer.verdicts.build import Alarm
from localizer.verdicts.decision import Decision
from localizer.verdicts.rules.loss.containment import Containment
from localizer.verdicts.rules.loss.policy import LossPolicy
from localizer.verdicts.rules.loss.rise import PASTS, Rise, rise
from localizer.verdicts.rules.loss.significance import Significance
from localizer.verdicts.verdict import Verdict

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


def reachability(state: FabricState, at: int, judged: Bool, *, ended: bool = False) -> Decision:
    """Verdicts of all windows; a longer window adds what the shorter ones missed.

    judged  (P,) paths that may be judged
    ended   the input has ended with this second, which was judged before: windows that waited for
            more evidence get none
    A second without a verdict is healthy, and the loss baseline may learn from it, unless there
    were too many culprits to name them.
    """
    parameters = state.options.verdicts.reachability
    lengths: list[int] = []
    if state.history.any("lost", at, parameters.recent_s, judged):
        lengths += parameters.windows_s
    if (at + 1) % state.history.long.parameters.bin_s == 0:
        lengths += _long(state.history.lengths(at), parameters.longer)
    if not lengths:
        return Decision(healthy=_healthy(state, at, judged))
    groups = state.classes()
    unclaimed = Unclaimed.of(judged)
    verdicts: list[Verdict] = []
    unsettled: list[int] = []
    crowded: list[int] = []
    waiting = state.unsettled_s.keys() | state.crowded_s.keys()
    for length in lengths:
        if length in state.unsettled_s and not ended:
            unclaimed = replace(unclaimed, unsettled=unclaimed.unsettled + 1)
            continue
        # Two sightings open an incident. A longer window must know what the shorter ones explain.
        first, newest = state.crowded_s.get(length, (at, at))
        rests = first < newest and at - newest < parameters.again_s
        if rests and not ended and lengths[-1] <= max(parameters.windows_s):
            continue
        if length > state.history.seconds:
            unclaimed = replace(unclaimed, left=_steady(state, at, length, unclaimed.left))
        before, asked = unclaimed, unclaimed
        looks = length in parameters.windows_s and at % parameters.parts_s == 0
        if looks and _known(state, verdicts):
            asked = replace(unclaimed, left=judged)
        policy = _alarm(state, at, length, asked, groups)
        if policy is None:
            continue
        found, unclaimed = attribute(state, replace(policy, ended=ended), asked)
        if asked is not before:
            said = {each.component for each in verdicts}
            found = [each for each in found if each.component not in said]
            unclaimed = replace(
                unclaimed, left=unclaimed.left & before.left, culprits=before.culprits + len(found)
            )
        if not ended or length in state.unsettled_s:
            verdicts += found
        if unclaimed.unsettled > before.unsettled:
            unsettled.append(length)
        elif unclaimed.culprits - before.culprits > parameters.few_culprits:
            crowded.append(length)
    if verdicts or unsettled or not waiting.isdisjoint(lengths):
        return Decision(verdicts, unsettled=unsettled, crowded=crowded)
    return Decision(healthy=_healthy(state, at, judged))


def _known(state: FabricState, verdicts: list[Verdict]) -> bool:
    """Whether there are verdicts, and open incidents on all that they name.

    Then a longer window is asked about all paths again: what is known to lose may hide a part of it
    that loses more, which rare probes do not show in a short one.
    """
    return bool(verdicts) and all(
        each.component in state.named and not each.crowded for each in verdicts
    )


def _long(lengths: list[int], longer: float) -> list[int]:
    """Windows each of which is longer than the one before by this factor at least."""
    out: list[int] = []
    for each in lengths:
        if not out or each >= longer * out[-1]:
            out.append(each)
    return out


def _steady(state: FabricState, at: int, length: int, left: Bool) -> Bool:
    """(P,) paths that are left, without those whose rare bursts lost at some times of a long window
    only: what began or ended within it is for shorter windows to name.

    Single probes meet such a trouble in the same share on every path, but bursts do not. Nothing
    says that a five-tuple which is not probed any more still loses: it counts as if it had answered
    as many probes since.
    """
    history, parameters = state.history, state.options.detectors.loss
    lossy = np.flatnonzero(left & ~state.cadence.windowed & (history.total("lost", at, length) > 1))
    sent, lost = (history.parts(name, at, length, lossy) for name in ("sent", "lost"))
    interval_s = state.cadence.interval_s[lossy]
    bursts = np.maximum(length / np.where(interval_s > 0, interval_s, length), 1.0)
    ended = history.last_seen[lossy] <= at - length // 2
    sent[0, ended] += sent[:, ended].sum(axis=0)
    out = left.copy()
    unsteady = loss.unsteady(sent, lost, parameters)
    out[lossy] = ~unsteady | (sent.sum(axis=0) < parameters.burst * bursts)
    return out


def _healthy(state: FabricState, at: int, judged: Bool) -> HealthyLoss:
    groups = state.classes()
    sent, lost = (_masked(state.history.counts(n, at, 1), judged) for n in ("sent", "lost"))
    return HealthyLoss(
        float(sent.sum()), float(lost.sum()), groups.pooled(sent), groups.pooled(lost)
    )


def _masked(counts: U32, rows: Bool) -> U32:
    """(P,) counts, 0 for paths outside of a mask (P,), which mostly holds all of them."""
    return counts if rows.all() else counts * rows


def _counted(state: FabricState, at: int, length: int, left: Bool) -> tuple[I64 | U32, I64 | U32]:
    """(P,) probes sent and lost in a window, on the paths of a mask (P,)."""
    history = state.history
    if length > history.seconds:
        return history.total("sent", at, length) * left, history.total("lost", at, length) * left
    sent, lost = (_masked(history.counts(name, at, length), left) for name in ("sent", "lost"))
    return sent, lost


def _alarm(
    state: FabricState, at: int, length: int, unclaimed: Unclaimed, groups: Classes
) -> LossPolicy | None:
    """The policy of one window, if a class loses more than the alarm budget allows."""
    background, verdicts = state.background, state.options.verdicts
    is_long = length > state.history.seconds
    if not is_long and not state.history.any("lost", at, length, unclaimed.left):
        return None
    counted = _counted(state, at, length, unclaimed.left)
    if not counted[1].any():
        return None
    tests, every_s = len(groups.members), 1.0
    if is_long:
        long = state.history.long.parameters
        windows = len(_long(state.history.lengths(at), verdicts.reachability.longer))
        every_s = long.bin_s / (windows * PASTS)
    level = state.budget.level(tests, every_s)
    links = state.budget.level(2 * int(groups.directed.sum()), every_s)
    if not is_long and not state.suspects:  # most seconds end here: only what lost can alarm
        some = groups.crossed_by(np.flatnonzero(counted[1] != 0))
        few = _Pooled.of(groups, *counted, some)
        if not any(each.any() for each in few.alarming(state, level, links)):
            return None
    pooled = _Pooled.of(groups, *counted)
    sent, lost = (each.astype(np.int64) for each in counted)
    alarms, *alarms_one_way = pooled.alarming(state, level, links)
    parameters = state.options.detectors.loss
    risen: Rise | None = None
    if is_long:
        risen = rise(state, at, length, unclaimed.left, groups, *pooled.both_ways)
    known = groups.holding(state.suspects)
    if risen is not None:  # what is open already stays open with less evidence
        enough = np.where(known, verdicts.reachability.significant, level)
        alarms |= risen.alarming(enough, parameters)
    if not (alarms.any() or any(each.any() for each in alarms_one_way)):
        return None
    p_path = loss.excess_p_values(lost.astype(float), sent.astype(float), background.rate)
    bad = (lost > 0) & (p_path < verdicts.reachability.bad_path)
    if risen is not None and risen.alarming(enough, parameters).any():
        bad = lost > 0  # of a gray loss, no path by itself shows it
    limit = verdicts.attribution.plausible
    # Candidates cost time: of seconds, one way only where that is why. Over minutes a link that
    # lost one way for a while would look healthy, and an rnic at the end of its paths would not.
    one_way = is_long or not alarms.any()
    if risen is None:
        plausible = pooled.plausible(background.rate, limit, one_way=one_way)
    else:  # what loses little, and no more than ever, is healthy
        least = background.rate + parameters.least_excess
        plausible = pooled.plausible(background.rate, limit, least, one_way=one_way)
        plausible |= risen.p_values < limit
    evidence = Evidence(
        groups, sent, lost, np.zeros(len(sent)), np.ones(len(sent)), bad,
        state.src, state.layer == 1, background.rate,
        suspect=known, plausible=plausible | known,
    )  # fmt: skip
    alarm = Alarm(groups, evidence, sent, lost, length)
    inside = Containment(groups, sent > 0)
    significance = Significance(state, alarm, level, links, unclaimed, risen)
    return LossPolicy(state, at, alarm, significance, inside, unclaimed)


@dataclass(frozen=True, slots=True)
class _Pooled:
    """Probes sent and lost by class (K,), or by some classes.

    both_ways  of all paths, by their shares
    one_way    of the paths that certainly cross a link a>b, and b>a; 0 for other classes. A link
               that loses in one direction, on paths whose routes are half unknown, looks a quarter
               as bad as it is when all of its paths are pooled by their shares.
    """

    both_ways: tuple[F64, F64]
    one_way: list[tuple[F64, F64]]

    @classmethod
    def of(
        cls, groups: Classes, sent: I64 | U32, lost: I64 | U32, columns: I64 | None = None
    ) -> _Pooled:
        """Pool the counts of paths (P,)."""
        directed = groups.directed if columns is None else groups.directed[columns]
        (n, *n_ways), (k, *k_ways) = (
            groups.pooled_by_direction(each, columns) for each in (sent, lost)
        )
        ways = zip(n_ways, k_ways, strict=True)
        return cls((n, k), [(each * directed, of * directed) for each, of in ways])

    def alarming(self, state: FabricState, level: float, level_one_way: float) -> list[Bool]:
        """Classes whose loss is significant and material: both ways, a>b, b>a."""
        tests = zip((self.both_ways, *self.one_way), (level, *[level_one_way] * 2), strict=True)
        parameters = state.options.detectors.loss
        return [loss.alarming(n, k, state.background, each, parameters) for (n, k), each in tests]

    def plausible(self, healthy: float, limit: float, least: float = 0.0, *, one_way: bool) -> Bool:
        """(K,) classes that lose more than chance makes plausible, and than the share ``least``;
        of links also those that do one way."""
        tests = (self.both_ways, *(self.one_way if one_way else ()))
        some = [(loss.excess_p_values(k, n, healthy) < limit) & (k > least * n) for n, k in tests]
        out: Bool = np.logical_or.reduce(some)
        return out
