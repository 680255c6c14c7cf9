"""Short-time spectra of throughput, and what all rnics of a job have in common in them.

Every rnic of a training job is driven by the same iterations. In each frame k and at each
frequency f its spectrum is X_n(k, f) = H_n(f) D(k, f) + noise: D is common to the job, however its
iterations vary, and H_n is the rnic's *response*: its magnitude says how much of that rhythm the
rnic carries, its phase how much earlier or later. D is the leading right singular vector of
X(., f).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
C64 = NDArray[np.complex64]
I64 = NDArray[np.int64]

#: Rows whose spectra are computed at once.
_BLOCK = 512
#: Of the power method: enough for a second singular value of nine tenths of the first.
_ITERATIONS = 60


class Frames(NamedTuple):
    """Spectra of M series in K frames at F frequencies.

    spectra  (M, K, F) complex; constant parts are removed
    start_s  (K,) first second of each frame
    window_s length of a frame [s]; frequency j is (j + 1) / window_s [Hz]
    """

    spectra: C64
    start_s: I64
    window_s: int

    @property
    def frequency_hz(self) -> F64:
        """(F,) frequencies."""
        out: F64 = np.arange(1, self.spectra.shape[2] + 1) / self.window_s
        return out

    def select(self, frames: NDArray[np.bool_]) -> Frames:
        """Some of the frames (K,)."""
        return Frames(self.spectra[:, frames], self.start_s[frames], self.window_s)

    def rows(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Frames:
        """Some of the series."""
        return self._replace(spectra=self.spectra[rows])


class Drive(NamedTuple):
    """What M series have in common.

    course  (K, F) of unit power at each frequency
    share   part of all power that it explains, 0..1
    """

    course: C64
    share: float


def frames(series: F32, window_s: int, hop_s: int) -> Frames:
    """Short-time Fourier transform of (M, T) gapless series at 1 s, Hann windows.

    The frequency 0 is left out: a constant rate is no rhythm. Raises ValueError when the series
    are shorter than a window.
    """
    seconds = series.shape[1]
    if seconds < window_s:
        raise ValueError(f"{seconds} s are shorter than a window of {window_s} s")
    taper = np.hanning(window_s + 1)[:window_s].astype(np.float32)
    start = np.arange(0, seconds - window_s + 1, hop_s)
    out = np.empty((len(series), len(start), window_s // 2), np.complex64)
    for first in range(0, len(series), _BLOCK):
        block = series[first : first + _BLOCK]
        cut = np.lib.stride_tricks.sliding_window_view(block, window_s, axis=1)[:, start]
        tapered = (cut - cut.mean(axis=2, keepdims=True)) * taper
        out[first : first + _BLOCK] = np.fft.rfft(tapered, axis=2)[:, :, 1:]
    return Frames(out, start, window_s)


def drive(given: Frames) -> Drive:
    """The common course: at each frequency the leading right singular vector over the series.

    By power iteration on the (K, K) products of the frames.
    """
    spectra = given.spectra
    product = np.stack([
        rows.conj().T @ rows
        for rows in (np.ascontiguousarray(spectra[:, :, f]) for f in range(spectra.shape[2]))
    ]).astype(np.complex128)  # fmt: skip
    total = float(np.trace(product, axis1=1, axis2=2).real.sum())
    vector = product @ np.ones((product.shape[1], 1))
    for _ in range(_ITERATIONS):
        vector = product @ vector
        vector /= np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-300)
    explained = float((vector.conj() * (product @ vector)).real.sum())
    course = vector[:, :, 0].conj().T.astype(np.complex64)
    return Drive(course, explained / total if total > 0 else 0.0)


def responses(given: Frames, common: Drive) -> C64:
    """(M, F) response of each series: least squares of X on D, over the frames that are given.

    ``common`` may span more frames: those of ``given`` are its first ones or all of them.
    """
    course = common.course
    power = np.maximum((np.abs(course) ** 2).sum(axis=0), np.finfo(np.float32).tiny)
    out: C64 = (np.einsum("mkf,kf->mf", given.spectra, course.conj()) / power).astype(np.complex64)
    return out


def coherence(given: Frames, common: Drive) -> F64:
    """(M,) share of each series' power that the common course explains, 0..1."""
    response = responses(given, common)
    power = (np.abs(common.course) ** 2).sum(axis=0)
    explained = (np.abs(response) ** 2 * power).sum(axis=1)
    total = (np.abs(given.spectra) ** 2).sum(axis=(1, 2))
    out: F64 = np.where(total > 0, explained / np.maximum(total, np.finfo(float).tiny), 0.0)
    return out


def repetition(given: F32, shortest_s: int, longest_s: int, nearly: float) -> tuple[int, float]:
    """(period [s], autocorrelation there) of the rounds of (M, T) series.

    The mean of the series' autocorrelations: shifts between series do not blur it. At each lag it
    is averaged over a fortieth of the lag either way, at least a second, and compared with the same
    average around lag 0: rounds that vary in length repeat as well as exact ones. The period is the
    shortest lag that repeats ``nearly`` (a share) as well as the best one does: micro-batches
    repeat less well than rounds, two rounds no better than one. (0, 0.0) where nothing repeats.
    """
    seconds = given.shape[1]
    power = np.zeros(seconds + 1)
    for first in range(0, len(given), _BLOCK):
        block = given[first : first + _BLOCK]
        block = block - block.mean(axis=1, keepdims=True)
        power += (np.abs(np.fft.rfft(block, 2 * seconds, axis=1)) ** 2).sum(axis=0)
    sides = np.fft.irfft(power)[:seconds] / np.arange(seconds, 0, -1)  # unbiased
    total = np.concatenate([[0.0], np.cumsum(np.concatenate([sides[:0:-1], sides]))])
    lag = np.arange(shortest_s, min(longest_s, seconds // 2 - 1))
    if sides[0] <= 0 or not len(lag):
        return 0, 0.0
    wide = np.maximum(1, lag // 40)
    zero = seconds - 1

    def mean(at: NDArray[np.int64]) -> F64:
        out: F64 = (total[zero + at + wide + 1] - total[zero + at - wide]) / (2 * wide + 1)
        return out

    around = mean(0 * lag)
    curve = np.where(around > 0, mean(lag), 0.0) / np.where(around > 0, around, 1.0)
    inner = np.arange(1, len(lag) - 1)
    inner = inner[(curve[inner] >= curve[inner - 1]) & (curve[inner] >= curve[inner + 1])]
    if not len(inner) or curve[inner].max() <= 0:
        return 0, 0.0
    found = inner[curve[inner] >= nearly * curve[inner].max()][0]
    return int(lag[found]), float(curve[found])
