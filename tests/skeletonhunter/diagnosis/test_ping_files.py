"""Files of ping records: blocks of bounded size, whatever the file's size."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from skeletonhunter.diagnosis import ping_files


def test_an_arrow_stream_may_be_larger_than_a_message_and_have_dictionaries(
    tmp_path: Path,
) -> None:
    rows = pa.RecordBatch.from_pylist([
        {"agent_type": "underlay", "dial": "success", "dst_ip": "10.0.0.2", "latency": 12.0,
         "ping_time": 1_790_000_000_000_000_000, "src_ip": "10.0.0.1", "task_type": "UDP_PING"},
    ]).take(pa.array([0] * 70_000))  # fmt: skip
    coded = pa.RecordBatch.from_arrays(
        [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in rows.columns],
        names=rows.schema.names,
    )
    file = tmp_path / "pings.arrow"
    with pa.ipc.new_stream(str(file), coded.schema) as writer:
        for _ in range(10):
            writer.write_batch(coded)
    assert file.stat().st_size > 16 * 1024 * 1024
    blocks = list(ping_files.read(str(file)))
    assert sum(block.batch.num_rows for block in blocks) == 700_000
    assert max(block.batch.num_rows for block in blocks) <= 65_536
    assert not any(block.dead_letters for block in blocks)
