"""Latency, short term: each path against its own past, so that no path needs to be like another.

The value of a window is the mean of its three quartiles: it moves once a quarter of the window is
slow (P50 alone needs half), yet a burst of congestion shorter than that leaves it alone. It is
compared with the median over ten disjoint earlier windows (5 minutes, which spans the burst cycles
of training, after SkeletonHunter, SIGCOMM 2025), and what moved must not look like a few of them in
all seven features (``lof``). A path that is flagged does not teach its own reference, so a lasting
fault does not become the new normal; what came and went three times in five minutes is the rhythm
of the workload.

Memory: the references are the windows that end on multiples of 30 s, so 11 x 7 float32 a path
whatever the hop is, 308 B; with flags and the summary 335 B, 0.34 GB at a million paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from localizer.detectors.lof import in_noise_units, local_outlier_factor, median

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]

#: Columns of the features of a window, in this order.
FEATURES: Final = ("p25", "p50", "p75", "min", "mean", "std", "max")
_QUARTILES: Final = slice(0, 3)
_MAX: Final = 6

LOOK_BACK = 10  # disjoint windows
FEWEST = 3  # answered probes that make a window worth comparing: one for each quartile
SIGMAS = 4.0
EARLY = 0.1  # share of paths that are quicker than usual, for them to tell how restless all are
SMALLEST_US = 2.0  # and the shift must be of a size that matters,
SMALLEST_SHARE = 0.10  # absolutely and against the path's own round trip
#: A Local Outlier Factor below this is a window like others before it: 98 of 100 healthy windows of
#: simulated clusters are, with +10 us on a path of 15 us 99 of 100 score above 10 (above 1 where
#: bursts last up to 12 s and quadruple the round trip).
OUTLYING = 2.0
#: Share of healthy paths that may always look shifted, whatever the others of their crowd do: on
#: clean clusters it is 2e-4 on average and this at worst.
QUIETEST = 0.005
KNOWN = 4  # references that make a path's spread known,
BURSTS = 8  # and that have met the bursts of its jobs


@dataclass(frozen=True, slots=True)
class LatencyDeviation:
    """One window against the past, per path.

    valid      (P,) there was something to compare
    excess_us  (P,) value minus reference, 0 where not valid
    noise_us   (P,) robust spread of that difference while healthy, > 0
    flagged    (P,) shifted upwards: significantly, materially, and unlike the windows before
    lof        (P,) Local Outlier Factor of the paths that moved; NaN elsewhere, or without a past
    quietest   share of healthy paths that may look shifted [1]
    """

    valid: Bool
    excess_us: F64
    noise_us: F64
    flagged: Bool
    lof: F32
    quietest: float = QUIETEST


@dataclass(frozen=True, slots=True)
class _Summary:
    """What the references of a moment come to: (P,) each, NaN where unknown."""

    newest_s: int
    middle_us: F32  # median of their values
    spread_us: F32  # robust spread of their values, 0 where too few are known
    ceiling_us: F32  # the highest round trip but one among their maxima


class _Line(NamedTuple):
    """A window that may be compared with."""

    features: F32  # (P, F), NaN where nothing was answered
    odd: Bool  # (P,) flagged


class LatencyMemory:
    """Features of the disjoint windows of the last five minutes, per path."""

    def __init__(self, window_s: int = 30) -> None:
        self.window_s = window_s
        self._ring: dict[int, _Line] = {}
        self._summary = _Summary(-1, *(np.empty(0, np.float32) for _ in range(3)))
        self._reference: F32 = np.empty(0, np.float32)

    @property
    def nbytes(self) -> int:
        """What is remembered [B]."""
        known = self._summary
        lines = (known.middle_us, known.spread_us, known.ceiling_us, self._reference)
        past = [each for line in self._ring.values() for each in line]
        return sum(each.nbytes for each in (*past, *lines))

    def judge(self, end_s: int, features: F32, layer: npt.NDArray[np.int8]) -> LatencyDeviation:
        """Compare a window and remember it.

        end_s     end of the window [s]
        features  (P, F) as in FEATURES [us]; NaN where too few probes were answered
        layer     (P,) code of the layer: the cross-section of healthy shifts is taken within it
        """
        paths = len(features)
        known = self._summarise(end_s, paths)
        reference = np.where(
            np.isfinite(known.middle_us), known.middle_us, _padded(self._reference, paths)
        )
        self._reference = reference
        value = features[:, _QUARTILES].mean(axis=1, dtype=np.float64)
        valid = np.isfinite(value) & np.isfinite(reference)
        excess = np.where(valid, value - reference, 0.0)
        usual = np.nan_to_num(reference.astype(np.float64))
        noise = np.maximum(np.maximum(known.spread_us, 0.02 * usual), 0.3)
        for code in np.unique(layer[valid]):
            here = valid & (layer == code)
            noise[here] = np.maximum(noise[here], _restlessness(excess[here]))
        least = np.maximum(SMALLEST_US, SMALLEST_SHARE * usual)
        moved = np.flatnonzero(valid & (excess > np.maximum(SIGMAS * noise, least)))
        lof = np.full(paths, np.nan, np.float32)
        lof[moved] = self._factor(known.newest_s, features, moved)
        flagged = np.zeros(paths, bool)
        flagged[moved] = ~(lof[moved] < OUTLYING)  # without a factor the shift speaks alone
        if end_s % self.window_s == 0:
            self._ring[end_s] = _Line(features.astype(np.float32), flagged)
        for old in [at for at in self._ring if at < end_s - LOOK_BACK * self.window_s]:
            del self._ring[old]
        return LatencyDeviation(valid, excess, noise, flagged, lof)

    def _summarise(self, end_s: int, paths: int) -> _Summary:
        """The references of a window that ends with ``end_s``: it changes every 30 s only."""
        newest_s = (end_s // self.window_s - 1) * self.window_s
        known = self._summary
        if known.newest_s != newest_s:
            value = np.full((paths, LOOK_BACK, 1), np.nan, np.float32)
            highest = np.full((paths, LOOK_BACK), -np.inf, np.float32)
            for back, (past, odd) in self._past(newest_s):
                calm = np.flatnonzero(~odd & np.isfinite(past[:, _MAX]))
                value[calm, back, 0] = past[calm, _QUARTILES].mean(axis=1)
                highest[calm, back] = past[calm, _MAX]
            middle = median(value)
            spread = 1.4826 * median(np.abs(value - middle[:, None]))[:, 0]
            highest = np.partition(highest, -2, axis=1)[:, -2]
            count = np.isfinite(value[:, :, 0]).sum(axis=1)
            known = _Summary(
                newest_s, middle[:, 0].astype(np.float32),
                np.where(count < KNOWN, 0.0, spread).astype(np.float32),
                np.where(count < BURSTS, np.nan, highest).astype(np.float32),
            )  # fmt: skip
        self._summary = _Summary(
            newest_s, _padded(known.middle_us, paths),
            _padded(known.spread_us, paths, 0.0), _padded(known.ceiling_us, paths),
        )  # fmt: skip
        return self._summary

    def _references(self, newest_s: int, rows: I64) -> F32:
        """(n, LOOK_BACK, F) of some paths; NaN where a window is absent.

        Of flagged windows in a row only the last counts, and only once a calm one has followed: a
        fault that lasts must not be its own precedent.
        """
        stack = np.full((len(rows), LOOK_BACK, len(FEATURES)), np.nan, np.float32)
        calm, newer_odd = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
        for back, line in self._past(newest_s):
            there = np.flatnonzero(rows < len(line.odd))
            features, odd = line.features[rows[there]], line.odd[rows[there]]
            counts = ~odd | (calm[there] & ~newer_odd[there])
            stack[there[counts], back] = features[counts]
            calm[there] |= ~odd & np.isfinite(features[:, _MAX])
            newer_odd[there] = odd
        return stack

    def _past(self, newest_s: int) -> Iterator[tuple[int, _Line]]:
        for back in range(LOOK_BACK):
            if (line := self._ring.get(newest_s - back * self.window_s)) is not None:
                yield back, line

    def _factor(self, newest_s: int, features: F32, rows: I64) -> F64:
        references = self._references(newest_s, rows)
        return local_outlier_factor(*in_noise_units(references, features[rows]))

    @property
    def reference(self) -> F32:
        """(P,) what the last window was compared with [us]; NaN where unknown."""
        return self._reference

    @property
    def ceiling(self) -> F32:
        """(P,) highest round trip but one among the maxima of the references [us], or NaN."""
        return self._summary.ceiling_us

    def keep(self, rows: Bool) -> None:
        """Drop all other paths."""
        count, known = len(rows), self._summary
        for at, (features, odd) in self._ring.items():  # a line that ends early still ends early
            kept = rows[: len(odd)]
            self._ring[at] = _Line(features[kept], odd[kept])
        self._summary = replace(
            known, middle_us=_padded(known.middle_us, count)[rows],
            spread_us=_padded(known.spread_us, count, 0.0)[rows],
            ceiling_us=_padded(known.ceiling_us, count)[rows],
        )  # fmt: skip
        self._reference = _padded(self._reference, count)[rows]

    def clear(self) -> None:
        """Forget everything: event time jumped."""
        self._ring.clear()
        self._summary = _Summary(-1, *(np.empty(0, np.float32) for _ in range(3)))
        self._reference = np.empty(0, np.float32)


def comparable(features: F32, count: npt.NDArray[np.integer], whole: Bool) -> F32:
    """(n, F) with NaN where a window does not say enough.

    features (n, F) [us], count (n,) answered probes; whole (n,) answered all through the window: a
    part of it, heard from a container that has just come back, may be nothing but a training burst
    """
    out = features.astype(np.float32)
    out[(count < FEWEST) | ~whole] = np.nan
    return out


def _padded(values: F32, paths: int, fill: float = np.nan) -> F32:
    if len(values) == paths:
        return values
    return np.concatenate([values, np.full(paths - len(values), fill, np.float32)])


def _restlessness(excess_us: F64) -> float:
    """Robust spread of the healthy among these shifts [us].

    About the median while the median itself is healthy. A switch of a small fabric may slow most of
    the paths: then their excess is no spread, and those that are quicker than usual tell of it.
    """
    about = np.median(np.abs(excess_us - np.median(excess_us)))
    early = -excess_us[excess_us < 0]
    if len(early) >= EARLY * len(excess_us):
        about = min(about, np.median(early))
    return 1.4826 * float(about)
