"""Throughput samples as arrays: one row per rnic, one column per second, gaps filled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from controller.skeleton.spectra import F32

I64 = NDArray[np.int64]

_NS = 1_000_000_000


class Throughput(NamedTuple):
    """N rnics over T seconds.

    tx, rx  (N, T) bytes sent and received in each second; NaN where there is no sample
    host    (N,) number of the rnic's host
    rail    (N,) its rail: rnics of the same rail of different hosts can be replicas
    """

    tx: F32
    rx: F32
    host: I64
    rail: I64

    def rows(self, chosen: NDArray[np.bool_] | I64) -> Throughput:
        """Some of the rnics."""
        return Throughput(self.tx[chosen], self.rx[chosen], self.host[chosen], self.rail[chosen])

    def seconds(self, first: int, end: int) -> Throughput:
        """Some of the time."""
        return self._replace(tx=self.tx[:, first:end], rx=self.rx[:, first:end])


class Rnics(NamedTuple):
    """Names of the rows of a Throughput, and where it begins [ns since the epoch]."""

    node_sn: list[str]
    real_ip: list[str]
    start_ns: int


def arrange(table: pd.DataFrame, rails: dict[str, int]) -> tuple[Throughput, Rnics]:
    """Samples in any order -> arrays by host, then rail.

    table  columns node_sn, real_ip, time [ns], tx_bytes, rx_bytes; of two samples of an rnic and
           second the later row counts; a time is the second that it is nearest to
    rails  rail by real_ip; the rank of the address among those of its host where it is not known
    Raises ValueError for no sample.
    """
    if not len(table):
        raise ValueError("no sample of throughput")
    second = (table["time"].to_numpy() + _NS // 2) // _NS
    named = table[["node_sn", "real_ip"]].drop_duplicates("real_ip")
    named = named.assign(rail=_rails(named, rails)).sort_values(["node_sn", "rail", "real_ip"])
    row = pd.Series(np.arange(len(named)), index=named["real_ip"].astype(str).to_numpy())
    at = row.reindex(table["real_ip"].astype(str).to_numpy()).to_numpy()
    start = int(second.min())
    shape = (len(named), int(second.max()) - start + 1)
    tx, rx = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
    tx[at, second - start] = table["tx_bytes"].to_numpy(np.float32)
    rx[at, second - start] = table["rx_bytes"].to_numpy(np.float32)
    host = np.unique(named["node_sn"].astype(str).to_numpy(), return_inverse=True)[1]
    names = Rnics(
        named["node_sn"].astype(str).tolist(), named["real_ip"].astype(str).tolist(), start * _NS
    )
    return Throughput(tx, rx, host.astype(np.int64), named["rail"].to_numpy(np.int64)), names


def _rails(named: pd.DataFrame, rails: dict[str, int]) -> I64:
    known = named["real_ip"].astype(str).map(rails)
    order = named.assign(key=[_address(ip) for ip in named["real_ip"].astype(str)])
    rank = order.groupby("node_sn", observed=True)["key"].rank(method="first") - 1
    out: I64 = known.fillna(rank).to_numpy(np.int64)
    return out


def _address(text: str) -> str:
    """Sorts addresses by the numbers in them."""
    parts = text.replace(":", ".").split(".")
    return ".".join(part.zfill(8) for part in parts)


def coverage(given: Throughput) -> NDArray[np.float64]:
    """(N,) share of the seconds of which each rnic has a sample."""
    out: NDArray[np.float64] = 1 - np.isnan(given.tx).mean(axis=1)
    return out


def filled(values: F32) -> F32:
    """(N, T) with gaps bridged by straight lines; a row without samples is 0."""
    gaps = np.isnan(values)
    out = np.where(gaps, np.float32(0), values)
    time = np.arange(values.shape[1])
    for row in np.flatnonzero(gaps.any(axis=1)):
        there = ~gaps[row]
        if there.any():
            out[row, gaps[row]] = np.interp(time[gaps[row]], time[there], values[row, there])
    return out
