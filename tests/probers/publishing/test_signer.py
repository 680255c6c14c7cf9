"""What a host publishes carries its signature."""

from __future__ import annotations

from pathlib import Path

import pytest

from probers.publishing.signer import SenderKeyError, Signer, read_key
from schemas import topics
from schemas.signing.headers import Refused
from schemas.signing.keys import HostKey, KeyRing
from schemas.signing.signature import verify

PINGS, BEATS = topics.PINGS.name, topics.HEARTBEATS.name
RING = KeyRing({"k1": b"m" * 32})
KEY = RING.host_key("f1", "host-1")


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "sender.key"
    file.touch(mode=0o600)
    file.write_text(KEY.document() + "\n")
    return file


def test_a_relays_stamp_is_covered_by_the_hosts_signature() -> None:
    headers = Signer(KEY).headers(
        PINGS, topics.ARROW, b"records", {"relay-client": b"box-1", "relay-tenant": b"t1"}
    )
    claim = verify(RING, PINGS, 0, headers, b"records")
    assert (claim.client, claim.tenant) == ("box-1", "t1")
    del headers["relay-client"]
    with pytest.raises(Refused):
        verify(RING, PINGS, 0, headers, b"records")


@pytest.mark.parametrize("text", ["", "{}", "\xff", "k1:" + "0" * 64])
def test_a_file_without_a_host_key_is_an_error_that_names_the_remedy(
    key_file: Path, text: str
) -> None:
    key_file.write_text(text, encoding="latin-1")
    with pytest.raises(SenderKeyError, match="keys host"):
        read_key(key_file, "host-1", None)


def test_a_signer_without_a_host_key_does_not_sign() -> None:
    assert Signer(HostKey("k", "f", "n", b"x" * 32)).signs
    assert not Signer().signs
