"""How many probes a record stands for, where a file gives shares of lost probes and no counts.

A record without ``sent`` is one probe, and of one probe no twentieth can be lost: it would count as
answered. Of n probes at least one is lost or none, so the smallest share that a sender reports says
how many probes its bursts have at least.

Example: a sender with losses of 0, 0.05 and 0.1 sends bursts of 20 probes or more; 20 are assumed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from schemas.wire.ping_columns import TYPES, column

#: Smaller shares are no counts of a burst, but averages of something [probes].
_MOST: Final = 10_000
_COUNTS: Final = ("sent", "lost")


def filled(records: pa.RecordBatch) -> tuple[pa.RecordBatch, list[str]]:
    """The records with ``sent`` where no record has it and some lose a share; and a note of it.

    All records of a sender get the same count, so that what share of its probes is lost is as it
    was; a sender whose bursts lost nothing, or all, gets the smallest count of the others.
    """
    if any(_has(records, name) for name in _COUNTS) or not _has(records, "loss_rate"):
        return records, []
    rate = column(records, "loss_rate", 0.0).to_numpy(zero_copy_only=False)
    partly = (rate > 0) & (rate < 1)
    if not partly.any():
        return records, []
    sender = records.column("src_ip").dictionary_encode().indices.to_numpy(zero_copy_only=False)
    sent = _fewest(rate[partly], sender[partly], int(sender.max()) + 1)
    known = sent[np.isfinite(sent)].astype(np.int64)
    sent = np.where(np.isfinite(sent), sent, known.min()).astype(np.int64)
    names = [name for name in records.schema.names if name != "sent"]
    columns = [*records.select(names).columns, pa.array(sent[sender], TYPES["sent"])]
    few, many = int(known.min()), int(known.max())
    bursts = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    note = (
        "loss_rate has shares and no record says how many probes it sent: bursts of "
        f"{bursts} are assumed, the smallest that can lose so little; give sent in extra_stats"
    )
    return pa.RecordBatch.from_arrays(columns, [*names, "sent"]), [note]


def _fewest(
    rate: npt.NDArray[np.float64], sender: npt.NDArray[np.int32], senders: int
) -> npt.NDArray[np.float64]:
    """(senders,) probes that the bursts of each have at least; inf where no share says it."""
    least = np.full(senders, np.inf)
    np.minimum.at(least, sender, np.minimum(rate, 1.0 - rate))
    sent = np.where(np.isfinite(least), np.ceil(1.0 / least - 1e-6), np.inf)
    return np.where(np.isfinite(sent), np.minimum(sent, _MOST), np.inf)


def _has(records: pa.RecordBatch, name: str) -> bool:
    at = records.schema.get_field_index(name)
    return bool(at >= 0 and records.column(at).null_count < records.num_rows)
