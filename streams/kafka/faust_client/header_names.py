"""Lets aiokafka read headers whose names are not UTF-8, which brokers accept.

Its consumer fails at such a record, and again at every start: one message of a foreign producer
would stop the partition. What it fetched is then read again with the bad bytes replaced.
"""

from __future__ import annotations

from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import _MemoryRecordsPy

_MemoryRecords = fetcher.MemoryRecords


class _Buffer(bytearray):
    """Bytes that decode to text whatever they are."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return _Buffer(found) if isinstance(at, slice) else found

    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:
        return super().decode(encoding, "replace")


class _Batch(_DefaultRecordBatchPy):  # type: ignore[misc]  # aiokafka's own fallback, in Python
    _buffer: Any

    def __iter__(self) -> _Batch:
        super().__iter__()  # decompresses
        self._buffer = _Buffer(self._buffer)
        return self


class _Lenient(_MemoryRecordsPy):  # type: ignore[misc]
    def next_batch(self) -> Any:
        found = self._next_slice
        batch = super().next_batch()
        # only batches of the present format (2) have headers
        return _Batch(found) if found is not None and found[self.MAGIC_OFFSET] >= 2 else batch


class _Kept:
    """aiokafka's records of one answer, and the bytes that they are read from."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        records = _MemoryRecords(raw)
        self.has_next, self.next_batch = records.has_next, records.next_batch
        self.size_in_bytes = records.size_in_bytes


class _Records(fetcher.PartitionRecords):  # type: ignore[misc]
    _records: Any

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except (UnicodeDecodeError, CorruptRecordException) as why:
            records = self._records
            if not isinstance(records, _Kept) or not _is_text(why):
                raise
        self._records = _Lenient(records.raw)
        self._records_iterator = self._unpack_records()  # passes over what has been read
        return super().__next__()


def _is_text(why: BaseException) -> bool:
    return isinstance(why, UnicodeDecodeError) or isinstance(why.__cause__, UnicodeDecodeError)


def tolerate() -> None:
    """Let every consumer of this process read such records; may be called again."""
    fetcher.MemoryRecords = _Kept
    fetcher.PartitionRecords = _Records
