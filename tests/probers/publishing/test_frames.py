"""Frames on the relay's socket, whatever pieces the stream arrives in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probers.publishing import frames
from probers.publishing.frames import Frame, FrameError, FrameReader
from schemas import topics

PINGS = topics.PINGS.name


@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(1, 40))
def test_frames_arrive_whole_however_the_stream_is_cut(payloads: list[bytes], cut: int) -> None:
    sent = [Frame(PINGS, "host-1", topics.ARROW, payload) for payload in payloads]
    stream = b"".join(frames.pack(frame) for frame in sent)
    reader = FrameReader()
    got = [
        frame for start in range(0, len(stream), cut) for frame in reader.feed(stream[start:][:cut])
    ]
    assert got == sent
    assert reader.pending == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\x03abc",
        b"\0\0\0\x01\x90",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_bytes_that_are_no_frames_are_refused(raw: bytes) -> None:
    with pytest.raises(FrameError):
        list(FrameReader().feed(raw))
