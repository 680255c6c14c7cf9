"""Which messages a relay passes on, and the identity that it stamps on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.agents.relay_messages import StoredMessages, connected
from builders.agents.waiting import Until

from probers.publishing.relay import ClientIdentity, Relay
from probers.publishing.signer import Signer
from probers.publishing.unix import UnixPublisher
from schemas import topics
from schemas.signing.headers import RELAY_CLIENT
from schemas.signing.keys import KeyRing
from schemas.signing.signature import verify

PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name
RING = KeyRing({"k1": b"m" * 32})
KEY = RING.host_key("f1", "host-1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relay.sock"


def test_a_relay_with_an_identity_stamps_it_on_every_message(path: Path) -> None:
    stored = StoredMessages()
    with Relay(path, stored, node_sn="host-7"):
        publisher = connected(path)
        publisher.publish(PINGS, "i am host-1", b"", topics.ARROW)
        publisher.close(60.0)
    ((_, key, headers, _),) = stored.messages
    assert (key, headers["relayed-by"]) == ("host-7", b"host-7")


def test_messages_for_topics_that_agents_do_not_write_are_dropped(
    path: Path, eventually: Until
) -> None:
    with Relay(path, stored := StoredMessages()) as relay:
        publisher = connected(path)
        publisher.publish(topics.INCIDENTS.name, "x", b"{}", topics.JSON)
        eventually(lambda: relay.counts["forbidden-topic"] == 1)
        publisher.close(60.0)
    assert not stored.messages


def test_evidence_of_a_container_says_whose_it_is(path: Path) -> None:
    stored = StoredMessages()
    with Relay(path, stored, node_sn="host-7", client=ClientIdentity("c1")):
        publisher = connected(path)
        publisher.publish(topics.EVIDENCE.name, "host-9", b"{}", topics.JSON)
        publisher.close(60.0)
    ((_, key, headers, _),) = stored.messages
    assert (key, headers[RELAY_CLIENT]) == ("host-7", b"c1")


def sent(path: Path, signer: Signer, *, topic: str = PINGS, key: str = "host-1") -> None:
    publisher = UnixPublisher(str(path), signer=signer)
    publisher.connect(60.0)
    publisher.publish(topic, key, b"records", topics.ARROW)
    assert publisher.close(60.0) == 0


def test_a_signature_passes_through_a_relay_that_has_no_identity(path: Path) -> None:
    stored = StoredMessages()
    with Relay(path, stored):
        sent(path, Signer(KEY))
    ((topic, key, headers, payload),) = stored.messages
    assert verify(RING, topic, 0, headers, payload).sender == key == "host-1"


def test_a_relay_with_an_identity_drops_the_signatures_of_its_clients(path: Path) -> None:
    stored = StoredMessages()
    with Relay(path, stored, node_sn="host-7", client=ClientIdentity("box-1", "t1")):
        sent(path, Signer(KEY))
    ((_, key, headers, _),) = stored.messages
    assert key == "host-7"
    assert headers == {
        "content-type": topics.ARROW.encode(), "relayed-by": b"host-7",
        "relay-client": b"box-1", "relay-tenant": b"t1",
    }  # fmt: skip


def test_heartbeats_from_a_clients_own_socket_are_dropped(path: Path, eventually: Until) -> None:
    with Relay(
        path, stored := StoredMessages(), node_sn="host-1", client=ClientIdentity("box-1")
    ) as relay:
        sent(path, Signer(), topic=BEATS)
        eventually(lambda: relay.counts["client-heartbeat"] == 1)
    assert not stored.messages


def test_a_client_is_identified_by_its_connection_whatever_its_messages_say(path: Path) -> None:
    stored = StoredMessages()
    box = ClientIdentity("box-1", "t1")
    with Relay(path, stored, node_sn="host-7", identify=lambda _: box) as relay:
        sent(path, Signer(KEY), key="host-1")
        sent(path, Signer(), topic=BEATS)
    ((_, key, headers, _),) = stored.messages
    assert (key, headers["relay-client"], headers["relay-tenant"]) == ("host-7", b"box-1", b"t1")
    assert relay.counts["client-heartbeat"] == 1


def test_frames_of_a_client_that_is_not_known_are_dropped(path: Path, eventually: Until) -> None:
    stored, asked = StoredMessages(), []
    with Relay(path, stored, node_sn="host-7", identify=asked.append) as relay:
        publisher = connected(path)
        for _ in range(5):
            publisher.publish(PINGS, "host-1", b"records", topics.ARROW)
        eventually(lambda: relay.counts["unknown-client"] == 5)
        publisher.close(60.0)
    assert not stored.messages
    assert 1 <= len(asked) < 5, "not for each frame"
