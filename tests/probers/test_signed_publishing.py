"""What a host publishes carries its signature; what a relay's client sends carries its stamp."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from hypothesis import given
from hypothesis import strategies as st

from probers.agent import main, options
from probers.agent.options import UsageError
from probers.publishing.kafka import KafkaPublisher
from probers.publishing.partitioner import partition_of
from probers.publishing.relay import ClientIdentity, Headers, Relay
from probers.publishing.signer import SenderKeyError, Signer, read_key
from probers.publishing.unix import UnixPublisher
from schemas import topics
from schemas.signing.headers import Refused
from schemas.signing.keys import HostKey, KeyRing
from schemas.signing.signature import verify

Until = Callable[[Callable[[], bool]], None]
PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name
RING = KeyRing({"k1": b"m" * 32})
KEY = RING.host_key("f1", "host-1")


class Kept:
    def __init__(self) -> None:
        self.messages: list[tuple[str, str, Headers, bytes]] = []

    def __call__(self, topic: str, key: str, headers: Headers, payload: bytes) -> None:
        self.messages.append((topic, key, headers, payload))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relay.sock"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "sender.key"
    file.touch(mode=0o600)
    file.write_text(KEY.document() + "\n")
    return file


def sent(path: Path, signer: Signer, *, topic: str = PINGS, key: str = "host-1") -> None:
    publisher = UnixPublisher(str(path), signer=signer)
    publisher.connect(5.0)
    publisher.publish(topic, key, b"records", topics.ARROW)
    assert publisher.close(5.0) == 0


def test_a_signature_passes_through_a_relay_that_has_no_identity(path: Path) -> None:
    kept = Kept()
    with Relay(path, kept):
        sent(path, Signer(KEY))
    ((topic, key, headers, payload),) = kept.messages
    assert verify(RING, topic, 0, headers, payload).sender == key == "host-1"


def test_a_relay_with_an_identity_takes_no_signature_of_its_clients(path: Path) -> None:
    kept = Kept()
    with Relay(path, kept, node_sn="host-7", client=ClientIdentity("box-1", "t1")):
        sent(path, Signer(KEY))
    ((_, key, headers, _),) = kept.messages
    assert key == "host-7"
    assert headers == {
        "content-type": topics.ARROW.encode(), "relayed-by": b"host-7",
        "relay-client": b"box-1", "relay-tenant": b"t1",
    }  # fmt: skip


def test_a_client_with_a_socket_of_its_own_sends_no_heartbeats_for_the_host(
    path: Path, eventually: Until
) -> None:
    with Relay(path, kept := Kept(), node_sn="host-1", client=ClientIdentity("box-1")) as relay:
        sent(path, Signer(), topic=BEATS)
        eventually(lambda: relay.counts["client-heartbeat"] == 1)
    assert not kept.messages


def test_a_relays_stamp_is_part_of_what_the_host_signs() -> None:
    headers = Signer(KEY).headers(
        PINGS, topics.ARROW, b"records", {"relay-client": b"box-1", "relay-tenant": b"t1"}
    )
    claim = verify(RING, PINGS, 0, headers, b"records")
    assert (claim.client, claim.tenant) == ("box-1", "t1")
    del headers["relay-client"]
    with pytest.raises(Refused):
        verify(RING, PINGS, 0, headers, b"records")


@pytest.fixture(scope="module")
def cluster() -> Producer:
    return Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "ignored"})


@pytest.fixture(scope="module")
def brokers(cluster: Producer) -> str:
    broker = next(iter(cluster.list_topics(timeout=60).brokers.values()))
    for topic in (PINGS, BEATS):
        cluster.list_topics(topic, timeout=60)  # asking makes it
    return f"{broker.host}:{broker.port}"


def test_kafka_gets_the_signature_for_the_partition_where_the_message_lies(brokers: str) -> None:
    publisher = KafkaPublisher(brokers, signer=Signer(KEY))
    publisher.connect(10.0)
    for name in ("host-1", "host-2", "host-3"):
        assert publisher.publish(PINGS, name, b"records", topics.ARROW)
    assert publisher.close(10.0) == 0
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "signed",
                         "auto.offset.reset": "earliest"})  # fmt: skip
    consumer.subscribe([PINGS])
    for _ in range(3):
        message = consumer.poll(20.0)
        assert message is not None
        headers = dict(message.headers() or ())
        claim = verify(RING, PINGS, message.partition() or 0, headers, message.value() or b"")
        assert claim.sender == "host-1"
        assert headers["partition"] == b"%d" % (message.partition() or 0)
    consumer.close()


def test_a_key_goes_to_the_partition_that_kafkas_own_producers_choose(
    cluster: Producer, brokers: str
) -> None:
    found: dict[bytes, int] = {}
    producer = Producer({"bootstrap.servers": brokers, "partitioner": "murmur2_random"})
    keys = [b"host-%d" % n for n in range(40)] + [b"a", b"ab", b"abc", "höst".encode()]
    for key in keys:
        producer.produce(
            PINGS, value=b"", key=key,
            on_delivery=lambda _, m: found.update({m.key(): m.partition()}),
        )  # fmt: skip
    assert producer.flush(20) == 0
    count = len(cluster.list_topics(PINGS, timeout=60).topics[PINGS].partitions)
    assert found == {key: partition_of(key, count) for key in keys}


@given(st.binary(max_size=40), st.integers(1, 100))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition_of(key, partitions) < partitions


# --- the command line -------------------------------------------------------------------------


def parse(publish: str = "file:-", *more: str, node_sn: str = "host-1") -> options.Options:
    return options.parse(["--ping-list", "x", "--publish", publish, "--node-sn", node_sn, *more])


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SKH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SKH_PROBE_KEY", "a key for the tests only")


def test_the_key_file_names_the_host_and_its_fabric(
    key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = parse("kafka:broker:9092", "--sender-key-file", str(key_file))
    assert (found.sender_key, found.fabric) == (KEY, "f1")
    monkeypatch.setenv("SKH_SENDER_KEY_FILE", str(key_file))
    assert parse("kafka:broker:9092").sender_key == KEY
    assert KEY.secret.hex() not in repr(found)


def test_without_a_key_only_loopback_is_published_to_unless_that_is_asked_for() -> None:
    with pytest.raises(UsageError, match=r"without --sender-key-file.*--unsigned") as why:
        parse("kafka:broker:9092,127.0.0.1:9092")
    assert "\n" not in str(why.value)
    for place in ("kafka:127.0.0.1:9092,[::1]:9092,localhost:1", "unix:/run/relay.sock", "file:-"):
        assert parse(place).sender_key is None
    assert parse("kafka:broker:9092", "--unsigned").sender_key is None


def test_a_key_of_another_host_or_one_that_others_can_read_is_refused(
    key_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--ping-list", "x", "--publish", "file:-", "--sender-key-file", str(key_file)]
    assert main.main([*arguments, "--node-sn", "host-2"]) == 2
    assert main.main([*arguments, "--node-sn", "host-1", "--fabric", "f2"]) == 2
    key_file.chmod(0o640)
    assert main.main([*arguments, "--node-sn", "host-1"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "not of 'host-2'" in lines[0]
    assert "chmod 600" in lines[2]
    assert KEY.secret.hex() not in "".join(lines)


@pytest.mark.parametrize("text", ["", "{}", "\xff", "k1:" + "0" * 64])
def test_a_file_that_is_no_host_key_is_named_with_the_remedy(key_file: Path, text: str) -> None:
    key_file.write_text(text, encoding="latin-1")
    with pytest.raises(SenderKeyError, match="keys host"):
        read_key(key_file, "host-1", None)


def test_kafka_options_come_from_the_environment_and_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text("s3cret\n")
    monkeypatch.setenv("SKH_KAFKA_OPTIONS", '{"sasl.mechanism": "PLAIN", "linger.ms": 7}')
    monkeypatch.setenv("SKH_KAFKA_PASSWORD_FILE", str(password))
    found = parse("file:-", "--kafka-option", "linger.ms=9")
    assert found.kafka == {"sasl.mechanism": "PLAIN", "linger.ms": "9", "sasl.password": "s3cret"}
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    "pair", ["sasl.password=s3cret", "ssl.key.password=s3cret", "linger.ms", "group.id=x", "=x"]
)
def test_secrets_and_nonsense_are_refused_on_the_command_line(pair: str) -> None:
    with pytest.raises(UsageError) as why:
        parse("file:-", "--kafka-option", pair)
    assert "s3cret" not in str(why.value)


def test_an_option_that_kafkas_library_does_not_know_is_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--ping-list", "x", "--publish", "kafka:127.0.0.1:1", "--node-sn", "host-1"]
    assert main.main([*arguments, "--kafka-option", "no.such=1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no.such" in line


def test_a_socket_may_belong_to_one_container(tmp_path: Path) -> None:
    found = parse(
        "file:-", "--relay-listen", "/a", "--relay-listen", "/b=box-1,t1", "--relay-listen",
        "/c=box-2",
    )  # fmt: skip
    assert found.relay_listen == (
        ("/a", None), ("/b", ClientIdentity("box-1", "t1")), ("/c", ClientIdentity("box-2", "")),
    )  # fmt: skip


def test_hostkey_is_what_signs() -> None:
    assert Signer(HostKey("k", "f", "n", b"x" * 32)).signs
    assert not Signer().signs
