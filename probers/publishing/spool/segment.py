"""One file of a spool: messages in the order in which they came, and which of them are done.

    <first>.segment   8 bytes of magic, then per message: length, CRC-32 and time [ns since the
                      epoch] (u32, u32, u64, little endian), and the message as a msgpack array
    <first>.done      u32 each: messages that need not be sent again, counted from the first

``first`` is the number of the first message, in 20 digits. A file that ends within a message was
being written when the process or the machine died: what is whole is read, the rest is cut off.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from probers.publishing.frames import MAX_FRAME_BYTES, Frame

SUFFIX: Final = ".segment"
_DONE_SUFFIX: Final = ".done"
_MAGIC: Final = b"SKHSPL1\n"
_HEAD: Final = struct.Struct("<IIQ")
_INDEX: Final = struct.Struct("<I")

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


def encode(frame: Frame, time_ns: int) -> bytes:
    """One message as it lies in a segment."""
    body = _encoder.encode(frame)
    return _HEAD.pack(len(body), crc32(body), time_ns) + body


class Segment:
    """A segment file; not thread-safe. Raises OSError from every method that writes or reads.

    first      number of its first message
    size       bytes of the file
    newest_ns  time of its newest message [ns since the epoch]; 0: empty
    torn       bytes at its end that were no whole message, when it was opened
    """

    def __init__(self, folder: Path, first: int) -> None:
        """Open the segment, or make it."""
        self.first, self.newest_ns, self.torn = first, 0, 0
        self._path = folder / f"{first:020d}{SUFFIX}"
        self._done_path = self._path.with_suffix(_DONE_SUFFIX)
        self._starts: array[int] = array("Q")
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.size = self._read() or self._write(_MAGIC, 0)
        self._done = bytearray(len(self._starts))
        self._left = len(self._starts)
        self._done_file = os.open(
            self._done_path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        self._read_done()

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def left(self) -> int:
        """Messages that are not done."""
        return self._left

    def pending(self) -> Iterator[int]:
        """Numbers of the messages that are not done, in order."""
        return (self.first + index for index, done in enumerate(self._done) if not done)

    def append(self, raw: bytes, time_ns: int) -> int:
        """Add a message (see ``encode``); returns its number."""
        start = self.size
        try:
            self.size = self._write(raw, start)
        except OSError:
            with suppress(OSError):  # the next message is written over what was
                os.ftruncate(self._file, start)
            raise
        self._starts.append(start)
        self._done.append(0)
        self._left += 1
        self.newest_ns = max(self.newest_ns, time_ns)
        return self.first + len(self._starts) - 1

    def done(self, number: int) -> bool:
        """Note that a message need not be sent again; False when that was known."""
        index = number - self.first
        if self._done[index]:
            return False
        self._done[index] = 1
        self._left -= 1
        os.write(self._done_file, _INDEX.pack(index))
        return True

    def read(self, number: int) -> Frame | None:
        """A message; None when the disk has not kept what was written."""
        start = self._starts[number - self.first]
        head = os.pread(self._file, _HEAD.size, start)
        if len(head) < _HEAD.size:
            return None
        length, check, _ = _HEAD.unpack(head)
        body = os.pread(self._file, length, start + _HEAD.size)
        if len(body) < length or crc32(body) != check:
            return None
        return _decoder.decode(body)

    def close(self) -> None:
        """Close the files."""
        os.close(self._file)
        os.close(self._done_file)

    def remove(self) -> None:
        """Close the files and delete them."""
        self.close()
        self._path.unlink(missing_ok=True)
        self._done_path.unlink(missing_ok=True)

    def _write(self, raw: bytes, start: int) -> int:
        written = os.pwrite(self._file, raw, start)
        if written < len(raw):  # the disk is full: the kernel says so only the next time
            raise OSError(f"{self._path}: {written} of {len(raw)} bytes written")
        return start + written

    def _read(self) -> int:
        """Find the messages, and cut off what is none; returns where they end, 0: no segment."""
        end = os.fstat(self._file).st_size
        if os.pread(self._file, len(_MAGIC), 0) != _MAGIC:
            self.torn = end
            os.ftruncate(self._file, 0)
            return 0
        at = len(_MAGIC)
        while at + _HEAD.size <= end:
            length, check, time_ns = _HEAD.unpack(os.pread(self._file, _HEAD.size, at))
            body = os.pread(self._file, length, at + _HEAD.size) if length <= _LONGEST else b""
            if len(body) < length or crc32(body) != check or not length:
                break
            self._starts.append(at)
            self.newest_ns = max(self.newest_ns, time_ns)
            at += _HEAD.size + length
        self.torn = end - at
        if self.torn:
            os.ftruncate(self._file, at)
        return at

    def _read_done(self) -> None:
        raw = os.read(self._done_file, len(self._done) * _INDEX.size + _INDEX.size)
        for (index,) in _INDEX.iter_unpack(raw[: len(raw) // _INDEX.size * _INDEX.size]):
            if index < len(self._done) and not self._done[index]:
                self._done[index] = 1
                self._left -= 1


_LONGEST: Final = 2 * MAX_FRAME_BYTES  # of what a damaged file may claim
