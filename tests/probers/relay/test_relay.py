"""The relay: messages arrive with topic, key and content type; only this user reaches it."""

from __future__ import annotations

import os
import resource
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders.agents.relay_messages import StoredMessages, connected, frame
from builders.agents.waiting import Until

from probers.publishing.relay import Headers, Relay, RelayError
from schemas import topics

PINGS = topics.PINGS.name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relay.sock"


def test_messages_pass_through_the_relay_with_topic_key_and_content_type(path: Path) -> None:
    stored = StoredMessages()
    with Relay(path, stored) as relay:
        publisher = connected(path)
        for number in range(100):
            assert publisher.publish(PINGS, "host-1", b"%d" % number, topics.ARROW)
        assert publisher.close(60.0) == 0
    assert [payload for *_, payload in stored.messages] == [b"%d" % n for n in range(100)]
    assert stored.messages[0][:3] == (PINGS, "host-1", {"content-type": topics.ARROW.encode()})
    assert publisher.counts["delivered"] == relay.counts["frames"] == 100


def test_only_this_user_reaches_the_socket_and_nothing_stays_behind(path: Path) -> None:
    with Relay(path, StoredMessages()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_a_stale_socket_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    with Relay(path, StoredMessages()):
        connected(path).close(1.0)


def test_a_relay_does_not_replace_a_socket_in_use_or_another_file(
    path: Path, tmp_path: Path
) -> None:
    with (
        Relay(path, StoredMessages()),
        pytest.raises(RelayError, match="another process serves it"),
    ):
        Relay(path, StoredMessages()).start()
    file = tmp_path / "notes.txt"
    file.write_text("dear diary")
    with pytest.raises(RelayError, match="not a socket"):
        Relay(file, StoredMessages()).start()
    assert file.read_text() == "dear diary"


def test_a_malformed_frame_ends_its_connection_and_no_other(path: Path, eventually: Until) -> None:
    stored = StoredMessages()
    with Relay(path, stored) as relay, socket.socket(socket.AF_UNIX) as bad:
        good = connected(path)
        bad.settimeout(300.0)
        bad.connect(str(path))
        bad.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert bad.recv(1) == b"", "closed by the relay"
        good.publish(PINGS, "host-1", b"still here", topics.ARROW)
        eventually(lambda: bool(stored.messages))
        good.close(60.0)
        assert relay.counts["malformed"] == 1


def test_a_sink_that_fails_loses_one_message_and_is_counted(path: Path, eventually: Until) -> None:
    def sink(topic: str, key: str, headers: Headers, payload: bytes) -> None:
        if payload == b"bad":
            raise RuntimeError("no")

    with Relay(path, sink) as relay:
        publisher = connected(path)
        publisher.publish(PINGS, "x", b"bad", topics.ARROW)
        publisher.publish(PINGS, "x", b"good", topics.ARROW)
        eventually(lambda: relay.counts["frames"] == 1)
        publisher.close(60.0)
        assert relay.counts["sink-failed"] == 1


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """This process can open nothing more: the soft limit is the number of the next descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.dup(0)
    os.close(spare)
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_relay_without_free_descriptors_serves_the_connected_clients(
    tmp_path: Path, eventually: Until
) -> None:
    served: list[bytes] = []
    gate = threading.Event()

    def sink(_topic: str, _key: str, _headers: Headers, payload: bytes) -> None:
        served.append(payload)
        gate.set()

    path = str(tmp_path / "relay.sock")
    with Relay(path, sink) as relay, socket.socket(socket.AF_UNIX) as early:
        early.connect(path)
        early.sendall(frame(b"early"))
        assert gate.wait(300.0)
        late = socket.socket(socket.AF_UNIX)
        with no_descriptors_left():
            late.connect(path)  # into the backlog
            eventually(lambda: relay.counts["no-descriptor"] > 0)
            for number in range(20):
                early.sendall(frame(b"%d" % number))
            eventually(lambda: len(served) == 21)
        late.sendall(frame(b"late"))
        eventually(lambda: b"late" in served)
        late.close()
