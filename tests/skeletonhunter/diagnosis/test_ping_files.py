"""Files of ping records: blocks of bounded size, whatever the file's size."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from skeletonhunter.diagnosis import ping_files
from skeletonhunter.errors import BadInput


def dictionaries(count: int) -> pa.RecordBatch:
    """So many copies of a record, its texts by dictionary."""
    rows = pa.RecordBatch.from_pylist([
        {"agent_type": "underlay", "dial": "success", "dst_ip": "10.0.0.2", "latency": 12.0,
         "ping_time": 1_790_000_000_000_000_000, "src_ip": "10.0.0.1", "task_type": "UDP_PING"},
    ]).take(pa.array([0] * count))  # fmt: skip
    return pa.RecordBatch.from_arrays(
        [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in rows.columns],
        names=rows.schema.names,
    )


def test_an_arrow_stream_may_be_larger_than_a_message_and_have_dictionaries(
    tmp_path: Path,
) -> None:
    coded = dictionaries(70_000)
    file = tmp_path / "pings.arrow"
    with pa.ipc.new_stream(str(file), coded.schema) as writer:
        for _ in range(10):
            writer.write_batch(coded)
    assert file.stat().st_size > 16 * 1024 * 1024
    blocks = list(ping_files.read(str(file)))
    assert sum(block.batch.num_rows for block in blocks) == 700_000
    assert max(block.batch.num_rows for block in blocks) <= 65_536
    assert not any(block.dead_letters for block in blocks)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_an_arrow_file_as_pandas_writes_it_is_read(tmp_path: Path, compression: str | None) -> None:
    file = tmp_path / "pings.feather"
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(str(file), dictionaries(1).schema, options=options) as writer:
        for _ in range(2):
            writer.write_batch(dictionaries(500))
    blocks = list(ping_files.read(str(file)))
    assert [block.batch.num_rows for block in blocks] == [500, 500]
    assert not any(block.dead_letters for block in blocks)


def test_a_corrupt_or_compressed_arrow_file_is_one_line(tmp_path: Path) -> None:
    whole = tmp_path / "pings.feather"
    with pa.ipc.new_file(str(whole), dictionaries(1).schema) as writer:
        writer.write_batch(dictionaries(500))
    cut = tmp_path / "cut.feather"
    cut.write_bytes(whole.read_bytes()[:-100])
    packed = tmp_path / "pings.feather.gz"
    packed.write_bytes(gzip.compress(whole.read_bytes()))
    with pytest.raises(BadInput, match=r"cut\.feather: corrupt Arrow file: "):
        list(ping_files.read(str(cut)))
    with pytest.raises(BadInput, match="cannot be read from a pipe or a compressed file"):
        list(ping_files.read(str(packed)))
