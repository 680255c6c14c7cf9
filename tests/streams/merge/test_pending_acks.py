"""A message that waits for its acknowledgement holds neither its payload nor its headers."""

from __future__ import annotations

from builders.streams.stages import Acked, Event

from streams.kafka.messages import InMessage
from streams.merge.pending_acks import to_message


def test_payload_and_headers_move_out_of_a_pending_event() -> None:
    acked: Acked = []
    message = InMessage(7, 1_000, b"payload", {"kind": b"pane", "fabric": b"f1"}, b"key")
    event = Event(message, 3, acked)
    assert to_message(event) == message
    assert event.value is None
    assert event.message.value is None
    assert not event.message.headers
    event.ack()
    assert acked == [(3, 7)]
