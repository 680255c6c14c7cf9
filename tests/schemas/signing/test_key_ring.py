"""Keys of senders: derivation, documents, and a ring's lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.signing.keys import HostKey, KeyRing, SigningError, derive

MASTER = bytes(range(32))
RING = KeyRing({"k1": MASTER})
KEY = RING.host_key("f1", "host-1")


@given(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_different_hosts_have_different_keys(
    fabric: str, host: str, fabric2: str, host2: str
) -> None:
    if (fabric, host) != (fabric2, host2):
        assert derive(MASTER, fabric, host) != derive(MASTER, fabric2, host2)


def test_a_key_document_is_read_back_and_no_repr_shows_a_secret() -> None:
    assert HostKey.parse(KEY.document()) == KEY
    assert KEY.secret.hex() not in repr(KEY) + repr(RING)


@pytest.mark.parametrize(
    "text",
    [
        "", "# nothing", "k1", "k1:", "k1:abc", f"a b:{MASTER.hex()}", f"k1:{MASTER.hex().upper()}",
        f"k1:{MASTER.hex()}\nk1:{MASTER.hex()}", "{}", "{", json.dumps({"key_id": "k"}),
        json.dumps({"key_id": "k", "fabric": "", "node_sn": "h", "key": MASTER.hex()}),
        json.dumps({"key_id": "k", "fabric": 1, "node_sn": "h", "key": MASTER.hex()}),
        "[" * 100_000,
    ],
)  # fmt: skip
def test_an_invalid_ring_is_reported_by_line_without_its_content(text: str) -> None:
    with pytest.raises(SigningError) as why:
        KeyRing.parse(text)
    assert MASTER.hex() not in str(why.value).lower()
    assert "\n" not in str(why.value)
