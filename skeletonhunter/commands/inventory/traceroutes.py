"""Ping records of files -> traceroutes, for the comparison with a topology document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa

from controller.inventory.traced.routes import FiveTuple, Trace
from schemas import identity
from schemas.wire.ping_columns import column
from skeletonhunter.diagnosis import ping_files

if TYPE_CHECKING:
    from collections import Counter

_decoder: Final = msgspec.json.Decoder(list[str | None])
_TEXTS: Final = ("src_real_ip", "dst_real_ip", "route", "dial")


def read(names: Iterable[str], fabric: str, skipped: Counter[str]) -> Iterator[Trace]:
    """Traceroutes of one fabric; raises BadInput for a file that cannot be used.

    skipped  reason -> records that are left out
    """
    for name in names:
        for block in ping_files.read(name):
            skipped["invalid records"] += len(block.dead_letters)
            yield from _of_batch(block.batch, fabric, skipped)


def _of_batch(batch: pa.RecordBatch, fabric: str, skipped: Counter[str]) -> Iterator[Trace]:
    kinds = batch.column("task_type").to_numpy(zero_copy_only=False)
    rows = batch.take(pa.array(np.flatnonzero(kinds == "TRACEROUTE")))
    names = ("fabric", "src_ip", "dst_ip")
    fabrics, sources, targets = (identity.filled(rows, each).to_pylist() for each in names)
    ports = [column(rows, name, 0).to_pylist() for name in ("src_port", "dst_port")]
    src_rnics, dst_rnics, routes, dials = (column(rows, n, "").to_pylist() for n in _TEXTS)
    for n in range(rows.num_rows):
        if fabrics[n] != fabric:
            skipped[f"traceroutes of fabric {fabrics[n]}"] += 1
            continue
        try:
            hops = _decoder.decode(routes[n]) if routes[n].strip() not in ("", "null") else []
        except msgspec.MsgspecError:
            skipped["routes that are no JSON array of hop names"] += 1
            continue
        yield Trace(
            FiveTuple(sources[n], targets[n], ports[0][n], ports[1][n]),
            src_rnics[n], dst_rnics[n], tuple(hops), dials[n] in ("success", "refused"),
        )  # fmt: skip
