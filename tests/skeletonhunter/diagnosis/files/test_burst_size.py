"""Files with shares of lost probes and without counts: bursts of a size that allows the shares."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from schemas.wire import codecs
from skeletonhunter.diagnosis.files import burst_size
from streams.admission.senders import Sources
from streams.windowing import records
from streams.windowing.path_table import PathTable

ROW = {
    "agent_type": "underlay", "task_type": "UDP_PING", "dial": "success", "ping_time": 10**18,
    "dst_ip": "10.0.0.9", "src_ip": "10.0.0.1", "loss_rate": 0.0,
}  # fmt: skip


def batch(*rows: dict[str, Any]) -> pa.RecordBatch:
    return codecs.conform(pa.RecordBatch.from_pylist([{**ROW, **row} for row in rows])).batch


def counts(found: pa.RecordBatch) -> list[tuple[int, int]]:
    """Probes sent and lost of each record."""
    offsets = pa.array(range(found.num_rows), pa.int64()).to_numpy()
    pings = records.split(found, offsets, PathTable(), Sources()).pings
    return list(zip(pings.sent.tolist(), pings.lost.tolist(), strict=True))


def test_shares_without_counts_are_of_the_smallest_burst_that_allows_them() -> None:
    found, notes = burst_size.filled(
        batch(
            {"loss_rate": 0.05}, {"loss_rate": 0.15}, {}, {"loss_rate": 1.0, "dial": "timeout"},
            {"src_ip": "10.0.0.2", "loss_rate": 0.9}, {"src_ip": "10.0.0.3"},
        )
    )  # fmt: skip
    assert counts(found) == [(20, 1), (20, 3), (20, 0), (20, 20), (10, 9), (10, 0)]
    assert len(notes) == 1
    assert "bursts of 10 to 20 are assumed" in notes[0]


@pytest.mark.parametrize("count", [{"sent": 40}, {"sent": 40, "lost": 2}])
def test_counts_of_records_stand(count: dict[str, int]) -> None:
    said = batch({"loss_rate": 0.05, **count}, {"loss_rate": 0.05})
    assert burst_size.filled(said) == (said, [])


def test_records_that_lost_all_or_nothing_are_single_probes() -> None:
    said = batch({}, {"loss_rate": 1.0, "dial": "timeout"})
    assert burst_size.filled(said) == (said, [])


def test_a_share_too_small_for_a_burst_does_not_weigh_more() -> None:
    found, _ = burst_size.filled(batch({"loss_rate": 1e-7}, {"loss_rate": 0.5}))
    assert counts(found) == [(10_000, 0), (10_000, 5_000)]
