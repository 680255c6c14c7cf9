"""The profile of a host: the responses of its rnics, in the order of their rails.

Replicas of a stage hold the same positions on the same rails, so that whole hosts are compared:
tensor-parallel ranks of a stage often carry the same traffic, and only the rail tells them apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controller.skeleton.spectra import C64, F32, F64, Drive, Frames, responses

I64 = NDArray[np.int64]


class Slots(NamedTuple):
    """Rnics by host and slot.

    rnic  (H, S) index of the rnic in the slot of the host, -1 for none
    host  (H,) the hosts' numbers, rising
    """

    rnic: I64
    host: I64


def slots(host: I64, rail: I64) -> Slots:
    """The slot of each rnic (N,) in its host: its rank among the job's rnics of the host.

    The rail's rank among all rails, where hosts have different numbers of rnics.
    """
    names, at = np.unique(host, return_inverse=True)
    order = np.lexsort((rail, at))
    count = np.bincount(at)
    if (count == count[0]).all():
        slot = np.empty(len(host), np.int64)
        slot[order] = np.tile(np.arange(count[0]), len(names))
    else:
        slot = np.unique(rail, return_inverse=True)[1]
    out = np.full((len(names), int(slot.max()) + 1), -1, np.int64)
    out[at, slot] = np.arange(len(host))
    return Slots(out, names)


def weights(given: Frames, common: Drive) -> F64:
    """(F,) inverse standard deviation of a response at each frequency, from what D leaves."""
    response = responses(given, common)
    power = (np.abs(common.course) ** 2).sum(axis=0)
    left = (np.abs(given.spectra) ** 2).sum(axis=1) - np.abs(response) ** 2 * power
    freedom = max(1, given.spectra.shape[1] - 1)
    noise = np.maximum(left, 0).mean(axis=0) / freedom / np.maximum(power, 1e-30)
    floor = 1e-6 * float(np.mean(np.abs(response) ** 2))
    out: F64 = 1 / np.sqrt(noise + floor + np.finfo(np.float32).tiny)
    return out


def profiles(response: C64, weight: F64, place: Slots) -> F32:
    """(H, S x D) profile of each host, in units of the noise of a response.

    response  (2, N, F) of what is sent and of what is received
    An rnic that is not there has the mean of its slot.
    """
    both = (response * weight).transpose(1, 0, 2).reshape(response.shape[1], -1)
    real = np.concatenate([both.real, both.imag], axis=1).astype(np.float32)
    table = real[place.rnic]  # (H, S, D)
    absent = place.rnic < 0
    if absent.any():
        table[absent] = np.nan
        table = np.where(np.isnan(table), np.nanmean(table, axis=0), table)
    whole = np.nan_to_num(table.reshape(len(table), -1))
    out: F32 = whole / np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1e-30)
    return out


def compact(whole: F32, *folds: F32, dimensions: int = 48) -> list[F32]:
    """The profiles (H, D) of the whole and of its folds along the main axes of the whole's."""
    centre = whole.mean(axis=0)
    if whole.shape[1] <= dimensions:
        return [each - centre for each in (whole, *folds)]
    spread = (whole - centre).astype(np.float64)
    if len(spread) <= spread.shape[1]:
        power, axes = np.linalg.eigh(spread @ spread.T)
        keep = power > 1e-9 * max(power[-1], 1e-300)
        axes = (spread.T @ axes[:, keep])[:, ::-1][:, :dimensions]
        axes /= np.linalg.norm(axes, axis=0)
    else:
        axes = np.linalg.eigh(spread.T @ spread)[1][:, ::-1][:, :dimensions]
    return [((each - centre) @ axes).astype(np.float32) for each in (whole, *folds)]
