"""What an attribution of loss says: how much is lost, since when, whether all of it, and still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlogy

from localizer.detectors import loss
from localizer.explanation.issue_features import OWNS
from localizer.state.fabric_state import FabricState
from localizer.verdicts.parameters import ReachabilityParameters
from localizer.verdicts.rules.loss.containment import Containment
from schemas.documents.incident import Symptom

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def effect_since(state: FabricState, at: int, since_s: int, share: F64, fitted: float) -> float:
    """Loss since the first bad second; that second itself counts only while it is the only one.

    share   (P,) of the paths in question; those that cross the component fully count
    fitted  what the strategy found over the whole window, for want of such paths
    """
    length = without_first(state, since_s)
    counts = np.flatnonzero(share >= OWNS)
    sent = int(state.history.total("sent", at, length, counts).sum())
    lost = int(state.history.total("lost", at, length, counts).sum())
    return lost / sent if sent else fitted


def without_most_answered(state: FabricState, at: int, since_s: int, share: F64) -> float:
    """The same without the source host that reports most answers: one host that claims answers does
    not make a component reachable that is silent to all others. 0 where too few hosts are left, or
    where that host does not stand out: of few probes, one answer is always some host's.
    """
    length = without_first(state, since_s)
    counts = np.flatnonzero(share >= OWNS)
    sent = state.history.total("sent", at, length, counts)
    lost = state.history.total("lost", at, length, counts)
    source = state.src[counts]
    if not len(source):
        return 0.0
    rest = source != int(np.argmax(np.bincount(source, sent - lost)))
    if len(np.unique(source[rest & (lost > 0)])) < state.options.observers:
        return 0.0
    apart = _nats_of_one_host(sent, lost, rest, len(np.unique(source)))
    if apart < state.options.verdicts.reachability.certain_nats:
        return 0.0
    return float(lost[rest].sum() / max(int(sent[rest].sum()), 1))


def _nats_of_one_host(sent: I64, lost: I64, rest: Bool, hosts: int) -> float:
    """How much more probable counts are if the paths of one host lose otherwise than the rest than
    if all lose alike [nats], less what there is to choose from: which of the hosts it is."""
    one, two = (_best_fit(int(lost[each].sum()), int(sent[each].sum())) for each in (~rest, rest))
    return one + two - _best_fit(int(lost.sum()), int(sent.sum())) - float(np.log(hosts))


def certain_loss(state: FabricState, at: int, since_s: int, certain: Bool, effect: float) -> float:
    """Loss since the first bad second of the paths that cross a component for certain [1]; 0 where
    it does not stand out against that of all paths which cross it by half or more.

    certain  (P,) paths
    effect   loss of all of them [1]
    Of an rnic's two ToRs half of its requests and half of its answers take either. Where a route is
    unknown a path crosses the ToR by half, and a quarter of such paths by neither way: they are
    answered, though nothing gets through it.
    """
    length = without_first(state, since_s)
    rows = np.flatnonzero(certain)
    sent = float(state.history.total("sent", at, length, rows).sum())
    lost = float(state.history.total("lost", at, length, rows).sum())
    alike = max(effect, state.background.rate)
    if not sent or lost / sent <= alike:
        return 0.0
    apart = loss.log_likelihood_ratio(lost, sent, lost / sent, alike)
    stands_out = apart >= state.options.verdicts.reachability.certain_nats
    return lost / sent if stands_out else 0.0


def without_first(state: FabricState, since_s: int) -> int:
    """The seconds that are counted of so many since the first loss; bins are counted whole."""
    return max(1, since_s - 1) if since_s <= state.history.seconds else since_s


def symptom_of(
    sent: I64, lost: I64, bad: Bool, owned: Bool, effect: float, parameters: ReachabilityParameters
) -> Symptom:
    """Unreachability when nothing gets through, or nothing of some five-tuples.

    owned  (P,) whether a path crosses the component fully
    One lost probe of one says nothing about a five-tuple, so only those with more count; and some
    that lost all of a few probes are no sign of their own where all of the paths lose that much.
    """
    if effect >= parameters.total:
        return "unconnectivity"
    probed = bad & (sent >= parameters.silent_probes)
    silent = probed & (lost >= sent)
    if not probed.any() or silent.sum() < parameters.total * probed.sum():
        return "loss"
    if not silent[owned].any():
        return "unconnectivity"
    return "unconnectivity" if _nats_apart(sent[owned], lost[owned], silent[owned]) > 0 else "loss"


def _nats_apart(sent: I64, lost: I64, silent: Bool) -> float:
    """How much more probable counts are if the silent paths are dead and the others lose alike than
    if all lose alike [nats], less what there is to choose from: which of the paths are dead."""
    rest = ~silent
    among = int(silent.sum()), int(rest.sum())
    choice = float(gammaln(sum(among) + 1) - gammaln(among[0] + 1) - gammaln(among[1] + 1))
    one = int(lost.sum()), int(sent.sum())
    two = int(lost[rest].sum()), int(sent[rest].sum())
    return _best_fit(*two) - _best_fit(*one) - choice


def _best_fit(lost: int, sent: int) -> float:
    """Log-likelihood of so many probes lost of those sent, at the rate that fits best [nats]."""
    answered = sent - lost
    return float(xlogy(lost, lost) + xlogy(answered, answered) - xlogy(sent, sent))


def bad_for(state: FabricState, at: int, length: int, bad: I64) -> int:
    """Seconds since the bad paths began to lose as they did later, not by chance."""
    history = state.history
    onset = state.options.verdicts.reachability.onset
    if length > history.seconds:
        lengths = [history.seconds, *(each for each in history.lengths(at) if each <= length)]
        upto = np.array([int(history.total("lost", at, each, bad).sum()) for each in lengths])
        rate = np.diff(upto, prepend=0) / np.diff(lengths, prepend=0)
        return lengths[int(np.flatnonzero(rate >= onset * rate.max())[-1])]
    lost = history.by_second("lost", at, length, bad)
    return length - int(np.argmax(lost >= max(1.0, onset * lost.max())))


def lasting_s(state: FabricState, at: int, bad: I64) -> int:
    """Seconds since the bad paths began to lose as they do now: they lost less for a while before,
    as after another trouble that a few of them shared, or all windows of seconds are full of it."""
    parameters = state.options.verdicts.reachability
    longest_s = max(parameters.windows_s)
    lost = state.history.by_second("lost", at, longest_s, bad)
    lossy = np.flatnonzero(lost >= max(1.0, parameters.onset * lost.max(initial=0)))
    if not len(lossy):
        return 1
    begins = np.flatnonzero(np.diff(lossy, prepend=-longest_s) > parameters.recent_s)
    return longest_s - int(lossy[begins[-1]])


def earliest_s(state: FabricState, at: int, rows: I64, first_s: int, effect: float) -> int:
    """Second from which on some paths may have lost as they do since ``first_s``; that second
    itself where the probes before it deny any earlier one, or are out of reach.

    rows    (n,) paths of the component, good and bad
    effect  their loss since then [1]
    Few probes may lose nothing by chance for some seconds, and the loss then seems to begin late.
    """
    since_s = at - first_s + 1
    earlier_s = state.history.seconds - since_s
    if earlier_s <= 0 or not len(rows):
        return first_s
    sent, lost = (
        state.history.by_second(name, first_s - 1, earlier_s, rows)[::-1].tolist()
        for name in ("sent", "lost")
    )
    healthy = state.background.rate
    nats = np.cumsum(
        [
            loss.log_likelihood_ratio(k, n, max(effect, 2 * healthy), healthy)
            for n, k in zip(sent, lost, strict=True)
        ]
    )
    denied = nats <= -state.options.verdicts.reachability.rival_nats
    return first_s - (int(np.argmax(denied)) if denied.any() else earlier_s)


def significant(state: FabricState, lost: float, sent: float, healthy: float) -> bool:
    """Whether so many probes lost are more than chance takes at the healthy loss [1]."""
    p = loss.excess_p_values(
        np.array([lost]), np.array([sent]), healthy, state.background.dispersion
    )
    return bool(p[0] < state.options.verdicts.reachability.significant)


def ended_already(
    state: FabricState, at: int, window_s: int, containment: Containment, column: int
) -> bool:
    """Whether a class lies inside a component whose incident ended within this window of minutes,
    and no open incident names it.

    What it lost then is known; windows that begin later show whether it loses by itself.
    """
    if window_s <= state.history.seconds:
        return False
    if not state.suspects.isdisjoint(containment.groups.members[column]):
        return False
    ended = {name for name, last_s in state.ended.items() if last_s > at - window_s}
    return containment.is_within(column, ended)


@dataclass(frozen=True, slots=True)
class Recency:
    """Whether what lost in a window loses in its newest seconds too.

    window_s, sent  length of the window, and (P,) probes sent in it
    elsewhere       (P,) paths that cross nothing which a shorter window blamed
    """

    state: FabricState
    at: int
    window_s: int
    sent: I64
    elsewhere: Bool

    def still_loses(
        self, share: F64, losses_per_s: float, healthy_per_s: float, healthy: float
    ) -> bool:
        """Whether a component loses in the newest seconds too, more than chance would.

        share         (P,) of all paths that cross it: the bad ones alone were chosen because they
                      lost, and chance would always look guilty
        losses_per_s, healthy_per_s  over the window, and of them those that are no sign of
                      trouble: what loses rarely, or little more, is looked at for longer
        """
        parameters, recent_s = self._parameters, self._recent_s(share)
        newest_s = recent_s // 2 if recent_s == parameters.recent_s else recent_s
        lost, sent, newest = self._counts(share, recent_s, newest_s)
        usual = max(healthy, self._rest(share, recent_s))
        if newest > 0 and significant(self.state, lost, sent, usual):
            return True
        excess = max(losses_per_s - healthy_per_s, 1e-9)
        needed_s = (
            parameters.recent_losses
            / excess
            * max(1.0, parameters.recent_losses * healthy_per_s / excess)
        )  # as many as are seen among the healthy ones, by five standard deviations
        if needed_s <= recent_s:
            return False
        # Trouble that is over still fills a long window: the newer part must show it by itself,
        # and no still newer part may deny it.
        longer = (2 * parameters.recent_s, *self.state.history.lengths(self.at))
        lengths = [recent_s, *(each for each in longer if each > recent_s)]
        within = [each for each in lengths if each <= self.window_s / 2] or [recent_s]
        length = next((each for each in within if each >= needed_s), within[-1])
        nats = [self._nats(share, each, losses_per_s, healthy) for each in within if each <= length]
        return nats[-1] > parameters.still_nats and min(nats) > -parameters.still_nats

    def _recent_s(self, share: F64) -> int:
        """Seconds that count as the newest: where bursts are rare, as many as bring some probes."""
        rows, recent_s = np.flatnonzero(share), self._parameters.recent_s
        sent = float(share[rows] @ self.sent[rows])
        for length in (recent_s, 2 * recent_s):
            if self._counts(share, length, 1)[1] >= sent * length / self.window_s / 2:
                return length
        return max(recent_s, min(self.window_s, self.state.history.seconds))

    def _nats(self, share: F64, length: int, losses_per_s: float, healthy: float) -> float:
        """Log-likelihood ratio of the newest ``length`` seconds: it loses as in the window against
        it loses as what is healthy or the rest of the fabric [nats]."""
        lost, sent, _ = self._counts(share, length, length)
        rate = losses_per_s / max(sent / length, 1e-9)
        healthy = max(healthy, self._rest(share, length))
        return loss.log_likelihood_ratio(lost, sent, rate, healthy) if rate > healthy else 0.0

    def _rest(self, share: F64, length: int) -> float:
        """Loss of the paths that cross neither this component nor what shorter windows blamed [1],
        in the newest seconds: trouble elsewhere must not pass for trouble that lasts."""
        if self.window_s <= self.state.history.seconds:
            return 0.0
        lost, sent, _ = self._counts((self.elsewhere & (share == 0)).astype(float), length, 1)
        return lost / sent if sent else 0.0

    def _counts(self, share: F64, length: int, newest_s: int) -> tuple[float, float, float]:
        """Probes lost and sent in the newest ``length`` seconds, and lost in ``newest_s``."""
        history, at, rows = self.state.history, self.at, np.flatnonzero(share)
        lost, sent, newest = (
            float(share[rows] @ history.total(name, at, seconds, rows))
            for name, seconds in (("lost", length), ("sent", length), ("lost", newest_s))
        )
        return lost, sent, newest

    @property
    def _parameters(self) -> ReachabilityParameters:
        return self.state.options.verdicts.reachability
