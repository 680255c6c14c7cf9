"""Frames on the relay's unix socket: 4 bytes of length, then a msgpack array of four or five."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

MAX_FRAME_BYTES: Final = 8 * 1024 * 1024
_LENGTH_BYTES: Final = 4


class FrameError(ValueError):
    """The bytes are not frames; nothing more can be read from their sender."""


class Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One message for one topic. headers: its signature, when the sender signs it itself."""

    topic: str
    key: str
    content_type: str
    payload: bytes
    headers: dict[str, bytes] = {}


_decoder = msgspec.msgpack.Decoder(Frame)
_encoder = msgspec.msgpack.Encoder()


def pack(frame: Frame) -> bytes:
    """The frame's bytes; raises FrameError when it is larger than a relay accepts."""
    # Without headers, the array of four that every release reads.
    fields = (frame.topic, frame.key, frame.content_type, frame.payload)
    body = _encoder.encode(frame if frame.headers else fields)
    if len(body) > MAX_FRAME_BYTES:
        raise FrameError(f"frame of {len(body)} bytes is over {MAX_FRAME_BYTES}")
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class FrameReader:
    """Splits a byte stream, fed in any pieces, into frames."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._buffer = bytearray()
        self._max_bytes = max_bytes

    @property
    def pending(self) -> int:
        """Bytes of a frame that has not arrived in full."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete now; raises FrameError at the first invalid one."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH_BYTES:
            length = int.from_bytes(self._buffer[:_LENGTH_BYTES], "big")
            if length > self._max_bytes:
                raise FrameError(f"frame of {length} bytes is over {self._max_bytes}")
            end = _LENGTH_BYTES + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH_BYTES:end])
            del self._buffer[:end]
            try:
                yield _decoder.decode(body)
            except (msgspec.MsgspecError, UnicodeDecodeError) as why:
                raise FrameError(
                    f"frame is not [topic, key, content-type, payload, headers]: {why}"
                ) from why
