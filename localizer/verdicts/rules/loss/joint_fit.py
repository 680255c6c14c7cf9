"""How likely lost and answered probes are, if some components lose and all else is healthy."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Losses of one crossing that are tried: none, and from little more than healthy to all.
_TRIED: Final = -np.log1p(
    -np.concatenate([[0.0], np.geomspace(1e-3, 0.5, 20), [0.6, 0.7, 0.8, 0.9, 0.99, 0.9999]])
)
_LEAST: Final = 1e-6  # a loss that any path may have
_STEP: Final = 1e-3  # crossings that differ by less are alike
_SHARES: Final = 0.5 ** np.arange(8)  # of a Newton step
_STEPS: Final = 20
_PARTS: Final = np.linspace(0.1, 0.95, 10)  # shares of five-tuples that are tried
_BETWEEN: Final = 9  # losses that are tried around the best of those before,
_FINER: Final = 3  # so often
_COARSE: Final = 4  # steps of the losses that are tried first
_RIDGE: Final = 1e-9  # of the curvature
_ENOUGH: Final = 1e-3  # a step that gains less is the last [nat]
#: Components at once.
MOST: Final = 5
_AT_ONCE: Final = 3  # components whose crossings are kept in one integer beside a row's number


def log_likelihood(crossings: F64, sent: F64 | I64, lost: F64 | I64, healthy: float) -> float:
    """ln of the likelihood of counts, at the losses of one crossing that suit them best [nat].

    crossings   (n, m) how often a round trip crosses each component, m <= MOST; of a route that is
                known in part, the expected number
    sent, lost  (n,) probes
    healthy     loss of a round trip that crosses none of them [1]
    Crossings that lose independently add up in -ln of the answered share, the hazard; the
    likelihood is concave in the hazards. From the best values of a grid, component by component,
    Newton's method goes on: components that share most of their paths move together.
    """
    times, n, k = _alike(crossings, sent, lost)
    floor = -np.log1p(-max(healthy, _LEAST))
    hazards = np.zeros(times.shape[1])
    best = -np.inf
    for column in range(times.shape[1]):
        total = (times @ hazards + floor)[:, None] + times[:, column, None] * _TRIED
        likely = _likely(total, n, k)
        hazards[column] = _TRIED[likely.argmax()]
        best = float(likely.max())
    for _ in range(_STEPS):
        found = _newton(times, n, k, floor, hazards, best)
        if found is None:
            break
        hazards, before, best = found[0], best, found[1]
        if best - before < _ENOUGH:
            break
    return best


def partial_log_likelihood(
    crossed: F64, unknown: F64, sent: F64 | I64, lost: F64 | I64, healthy: float
) -> float:
    """ln of the likelihood of counts if one component loses probes of a share of the
    five-tuples that cross it, at the share and the losses that suit them best [nat].

    crossed, unknown  (n,) how often a round trip crosses it for certain, and may cross it besides
                      there, where any five-tuple may lose
    Other arguments as of ``log_likelihood``. All of the five-tuples are a share, too: in a window
    that began before the trouble, probes of the time before look like those of another share.
    """
    whole = log_likelihood(np.stack([crossed, unknown], axis=1), sent, lost, healthy)
    rows = np.stack([crossed, unknown, sent, lost], axis=1).astype(np.float64)
    (once, often, n, k), alike = _distinct(rows)
    floor = -np.log1p(-max(healthy, _LEAST))

    def best(elsewhere: float) -> float:
        """At this loss where a round trip may cross it."""
        usual = floor + elsewhere * often
        well = _likely_each(usual, n, k)
        ill = _likely_each(usual + _TRIED[:, None] * once, n, k)
        each = (np.logaddexp(np.log(s) + ill, np.log1p(-s) + well) @ alike for s in _PARTS)
        return float(np.max(list(each)))

    coarse = [best(each) for each in _TRIED[::_COARSE]]
    around = _COARSE * int(np.argmax(coarse))
    near = _TRIED[max(around - _COARSE + 1, 0) : around + _COARSE]
    return max(whole, *map(best, near))


def either_log_likelihood(
    there: F64, back: F64, sent: F64 | I64, lost: F64 | I64, healthy: float
) -> float:
    """ln of the likelihood of counts, at the loss of one crossing that suits them best [nat], where
    all probes of a path take the same route, although it is not known.

    there, back  (n,) probability that a request crosses the component, and that an answer does
    Other arguments as of ``log_likelihood``. A path that may cross a dead switch and loses nothing
    goes another way: with an expected number of crossings it would deny that the switch is dead.
    """
    (request, answer, n, k), alike = _sorts(there, back, sent, lost)
    ways = np.stack([
        (1.0 - request) * (1.0 - answer),
        request * (1.0 - answer) + answer * (1.0 - request),
        request * answer,
    ])  # fmt: skip
    with np.errstate(divide="ignore"):  # a number of crossings that is impossible
        chance = np.log(ways)
    floor = -np.log1p(-max(healthy, _LEAST))
    crossed = np.arange(3.0)[:, None]

    def likely(hazards: F64) -> F64:
        total = floor + hazards[:, None, None] * crossed
        each = chance + _likely_each(total, n, k)
        most = each.max(axis=1)
        found: F64 = (most + np.log(np.exp(each - most[:, None]).sum(axis=1))) @ alike
        return found

    tried, best = _TRIED, -np.inf
    for _ in range(_FINER):
        found = likely(tried)
        at, best = int(found.argmax()), max(best, float(found.max()))
        tried = np.linspace(tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)], _BETWEEN)
    return best


def _sorts(there: F64, back: F64, sent: F64 | I64, lost: F64 | I64) -> tuple[list[F64], I64]:
    """The distinct ones of (there, back, sent, lost) as columns (p,), and how often each occurs."""
    steps = [np.round(each / _STEP).astype(np.int64) for each in (there, back)]
    key, most = steps[0] * (int(1 / _STEP) + 1) + steps[1], int(sent.max(initial=0)) + 1
    key = (key * most + sent.astype(np.int64)) * most + lost.astype(np.int64)
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    return [each[first].astype(np.float64) for each in (there, back, sent, lost)], count


def _distinct(rows: F64) -> tuple[F64, I64]:
    """The distinct rows of a matrix (n, m), as columns (m, p), and how often each occurs (p,)."""
    found, count = np.unique(np.round(rows, 3), axis=0, return_counts=True)
    return found.T, count


def _likely_each(total: F64, n: F64, k: F64) -> F64:
    """ln of the likelihood of each path's counts (..., p), of its hazard."""
    likely: F64 = k * np.log(-np.expm1(-total)) - (n - k) * total
    return likely


def _likely(total: F64, n: F64, k: F64) -> F64:
    """ln of the likelihood (q,) of q guesses of the paths' hazards (p, q)."""
    likely: F64 = k @ np.log(-np.expm1(-total)) - (n - k) @ total
    return likely


def _newton(
    times: F64, n: F64, k: F64, floor: float, hazards: F64, best: float
) -> tuple[F64, float] | None:
    """Likelier hazards (m,), none below 0, and their likelihood; None if a step finds none."""
    total = times @ hazards + floor
    answered = np.exp(-total)
    slope = times.T @ (k / -np.expm1(-total) - n)
    free = (hazards > 0) | (slope > 0)
    if not free.any():
        return None
    bend = times.T @ (times * (k * answered / np.expm1(-total) ** 2)[:, None])
    # Where all that was lost crossed two of them, only the answers tell which: a line, no parabola.
    bend += np.eye(len(hazards)) * (_RIDGE * bend.trace() + _LEAST)
    step = np.zeros(len(hazards))
    for _ in hazards:  # what would fall below 0 stays there, and the others make up for it
        rest = slope[free] - bend[np.ix_(free, ~free)] @ step[~free]
        step[free] = np.linalg.solve(bend[np.ix_(free, free)], rest)
        below = np.flatnonzero(free & (hazards + step < 0))
        if not len(below):
            break
        first = below[np.argmin(hazards[below] / -step[below])]
        step[first] = -hazards[first]
        free[first] = False
    tried = np.clip(hazards[:, None] + step[:, None] * _SHARES, 0.0, _TRIED[-1])
    likely = _likely(times @ tried + floor, n, k)
    at = int(likely.argmax())
    return (tried[:, at], float(likely[at])) if likely[at] > best else None


def _alike(crossings: F64, sent: F64 | I64, lost: F64 | I64) -> tuple[F64, F64, F64]:
    """Crossings (p, m) that differ, and the probes sent and lost over each (p,)."""
    steps = np.round(crossings / _STEP).astype(np.int64)
    base = int(steps.max(initial=0)) + 1
    key = np.zeros(len(steps), np.int64)
    for start in range(0, steps.shape[1], _AT_ONCE):
        part = steps[:, start : start + _AT_ONCE]
        if start:
            _, key = np.unique(key, return_inverse=True)
        key = key * base ** part.shape[1] + part @ base ** np.arange(part.shape[1])
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    n, k = (np.bincount(which, each, len(first)).astype(np.float64) for each in (sent, lost))
    return (steps[first] * _STEP).astype(np.float64), n, k
