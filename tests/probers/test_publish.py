"""Publishers and the relay: what is published arrives, what cannot is counted."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from hypothesis import given
from hypothesis import strategies as st

from probers.publishing import frames
from probers.publishing.destination import publish_to
from probers.publishing.file import FilePublisher
from probers.publishing.frames import Frame, FrameError, FrameReader
from probers.publishing.kafka import KafkaPublisher
from probers.publishing.publisher import Publisher, PublishError, PublishUsageError
from probers.publishing.relay import Headers, Relay, RelayError
from probers.publishing.unix import UnixPublisher
from schemas import topics

Until = Callable[[Callable[[], bool]], None]
PINGS = topics.PINGS.name


class Kept:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str, Headers, bytes]] = []

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        self.messages.append((topic, key, headers, payload))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relay.sock"


def connected(path: Path, **options: int) -> UnixPublisher:
    publisher = UnixPublisher(str(path), **options)
    publisher.connect(5.0)
    return publisher


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
def test_other_bytes_are_no_frames(raw: bytes) -> None:
    with pytest.raises(FrameError):
        list(FrameReader().feed(raw))


def test_messages_pass_through_the_relay_with_topic_key_and_content_type(path: Path) -> None:
    kept = Kept()
    with Relay(path, kept) as relay:
        publisher = connected(path)
        for number in range(100):
            assert publisher.publish(PINGS, "host-1", b"%d" % number, topics.ARROW)
        assert publisher.close(5.0) == 0
    assert [payload for *_, payload in kept.messages] == [b"%d" % n for n in range(100)]
    assert kept.messages[0][:3] == (PINGS, "host-1", {"content-type": topics.ARROW.encode()})
    assert publisher.counts["delivered"] == relay.counts["frames"] == 100


def test_a_relay_with_an_identity_stamps_it_on_every_message(path: Path) -> None:
    kept = Kept()
    with Relay(path, kept, node_sn="host-7"):
        publisher = connected(path)
        publisher.publish(PINGS, "i am host-1", b"", topics.ARROW)
        publisher.close(5.0)
    ((_, key, headers, _),) = kept.messages
    assert (key, headers["relayed-by"]) == ("host-7", b"host-7")


def test_only_this_user_reaches_the_socket_and_nothing_stays_behind(path: Path) -> None:
    with Relay(path, Kept()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_a_stale_socket_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    with Relay(path, Kept()):
        connected(path).close(1.0)


def test_a_socket_in_use_or_another_file_is_left_alone(path: Path, tmp_path: Path) -> None:
    with Relay(path, Kept()), pytest.raises(RelayError, match="another relay serves it"):
        Relay(path, Kept()).start()
    file = tmp_path / "notes.txt"
    file.write_text("dear diary")
    with pytest.raises(RelayError, match="not a socket"):
        Relay(file, Kept()).start()
    assert file.read_text() == "dear diary"


def test_a_malformed_frame_ends_its_connection_and_no_other(path: Path, eventually: Until) -> None:
    kept = Kept()
    with Relay(path, kept) as relay, socket.socket(socket.AF_UNIX) as bad:
        good = connected(path)
        bad.settimeout(300.0)
        bad.connect(str(path))
        bad.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert bad.recv(1) == b"", "closed by the relay"
        good.publish(PINGS, "host-1", b"still here", topics.ARROW)
        eventually(lambda: bool(kept.messages))
        good.close(5.0)
        assert relay.counts["malformed"] == 1


def test_topics_that_are_no_agents_business_are_refused(path: Path, eventually: Until) -> None:
    with Relay(path, kept := Kept()) as relay:
        publisher = connected(path)
        publisher.publish(topics.INCIDENTS.name, "x", b"{}", topics.JSON)
        eventually(lambda: relay.counts["forbidden-topic"] == 1)
        publisher.close(5.0)
    assert not kept.messages


def test_a_sink_that_fails_loses_one_message_and_is_counted(path: Path, eventually: Until) -> None:
    def sink(topic: str, key: str, headers: Headers, payload: bytes) -> None:
        if payload == b"bad":
            raise RuntimeError("no")

    with Relay(path, sink) as relay:
        publisher = connected(path)
        publisher.publish(PINGS, "x", b"bad", topics.ARROW)
        publisher.publish(PINGS, "x", b"good", topics.ARROW)
        eventually(lambda: relay.counts["frames"] == 1)
        publisher.close(5.0)
        assert relay.counts["sink-failed"] == 1


def test_a_publisher_survives_the_relays_restart(path: Path, eventually: Until) -> None:
    kept = Kept()
    with Relay(path, kept):
        publisher = connected(path)
        publisher.publish(PINGS, "x", b"before", topics.ARROW)
        eventually(lambda: len(kept.messages) == 1)
    with Relay(path, kept):

        def arrived() -> bool:
            # What the kernel took for the dead relay is gone; the next one must get through.
            publisher.publish(PINGS, "x", b"after", topics.ARROW)
            return any(payload == b"after" for *_, payload in kept.messages)

        eventually(arrived)
        publisher.close(5.0)


def test_overflow_while_the_relay_is_away_is_counted_and_the_newest_are_kept(
    path: Path, eventually: Until
) -> None:
    kept = Kept()
    with Relay(path, kept):
        publisher = connected(path, max_bytes=10_000)
    payloads = [b"%04d" % number + b"x" * 996 for number in range(50)]
    for payload in payloads:
        assert publisher.publish(PINGS, "x", payload, topics.ARROW)
    with Relay(path, kept):
        eventually(lambda: any(payload == payloads[-1] for *_, payload in kept.messages))
        assert publisher.close(5.0) == 0
    assert publisher.counts["overflow"] >= 39
    assert publisher.counts["queued"] == 50
    assert publisher.counts["delivered"] + publisher.counts["overflow"] == 50


def test_what_could_not_be_sent_before_closing_is_reported(path: Path) -> None:
    with Relay(path, Kept()):
        publisher = connected(path)
    publisher.publish(PINGS, "x", b"1", topics.ARROW)
    publisher.publish(PINGS, "x", b"2", topics.ARROW)
    assert 1 <= publisher.close(0.3) <= 2  # the first write may still meet the dead socket


def test_a_relay_that_is_not_there_is_said_in_one_line(path: Path) -> None:
    with pytest.raises(PublishError, match="is the relay") as why:
        UnixPublisher(str(path)).connect(0.0)
    assert "\n" not in str(why.value)


def test_a_file_holds_one_json_line_per_message(tmp_path: Path) -> None:
    publisher = publish_to(f"file:{tmp_path / 'out.ndjson'}")
    assert isinstance(publisher, FilePublisher)
    publisher.connect(1.0)
    publisher.publish(topics.HEARTBEATS.name, "host-1", b'{"a":1}', topics.JSON)
    publisher.close(1.0)
    (line,) = (tmp_path / "out.ndjson").read_text().splitlines()
    assert json.loads(line)["payload"] == '{"a":1}'


@pytest.mark.parametrize("place", ["", "unix:", "kafka", "ftp:host", "/tmp/x"])  # noqa: S108  # a spelling, not a file
def test_a_place_spelt_wrongly_is_named(place: str) -> None:
    with pytest.raises(PublishUsageError, match="give unix:PATH, kafka:HOST:PORT or file:PATH"):
        publish_to(place)


@pytest.fixture(scope="module")
def brokers() -> str:
    """librdkafka's in-process cluster: the real protocol on loopback."""
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "ignored"})
    metadata = cluster.list_topics(timeout=60)
    broker = next(iter(metadata.brokers.values()))
    globals()["_keep_the_cluster"] = cluster
    return f"{broker.host}:{broker.port}"


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_kafka_gets_key_content_type_and_payload(brokers: str, compression: str) -> None:
    publisher: Publisher = publish_to(f"kafka:{brokers}", compression=compression)
    publisher.connect(10.0)
    topic = f"{PINGS}.{compression}"
    assert publisher.publish(topic, "host-1", b"records", topics.ARROW)
    assert publisher.close(10.0) == 0
    assert publisher.counts["delivered"] == 1
    consumer = Consumer(
        {"bootstrap.servers": brokers, "group.id": compression, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    message = consumer.poll(20.0)
    consumer.close()
    assert message is not None
    assert message.error() is None
    assert (message.key(), message.value()) == (b"host-1", b"records")
    assert message.headers() == [("content-type", topics.ARROW.encode())]


def test_kafka_overflow_and_delivery_failures_are_counted() -> None:
    publisher = KafkaPublisher("127.0.0.1:1", max_messages=5, give_up_s=0.3)
    taken = [publisher.publish(PINGS, "x", b"", topics.ARROW) for _ in range(8)]
    assert taken == [True] * 5 + [False] * 3
    left = publisher.close(5.0)
    assert publisher.counts["overflow"] == 3
    assert publisher.counts["failed"] == 5, left


def test_a_broker_that_is_not_there_is_said_in_one_line() -> None:
    with pytest.raises(PublishError, match="no broker answered") as why:
        KafkaPublisher("127.0.0.1:1").connect(0.2)
    assert "\n" not in str(why.value)
