"""The key ring of the senders, read from a file that may change while a service runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas import topics
from schemas.signing.headers import Refused
from schemas.signing.keys import HostKey, KeyRing
from schemas.signing.signature import sign, verify
from streams.admission.sender_keys import KeyRingFile, SenderKeysError

MASTER = "ab" * 32


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "sender-keys"
    path.touch(mode=0o600)
    path.write_text(f"k1:{MASTER}\n")
    return path


def test_a_ring_that_changes_is_read_again_without_a_restart(
    ring: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now_s = 0.0
    current = KeyRingFile(ring, clock_s=lambda: now_s)
    first = KeyRing.parse(f"k1:{MASTER}").host_key("f1", "h1")
    second = KeyRing.parse(f"k2:{'cd' * 32}").host_key("f1", "h1")
    pings = topics.PINGS.name

    def verifies(key: HostKey) -> bool:
        try:
            verify(current(), pings, 0, sign(key, pings, "x", b"", 1), b"")
        except Refused:
            return False
        return True

    assert verifies(first)
    assert not verifies(second)
    ring.write_text(f"k2:{'cd' * 32}\nk1:{MASTER}\n")
    assert not verifies(second), "looked at once a second"
    now_s = 2.0
    assert verifies(first)
    assert verifies(second)
    ring.write_text("k2:half a fi")
    now_s = 4.0
    assert verifies(second), "an unusable ring changes nothing"
    now_s = 6.0
    assert verifies(second)
    assert caplog.text.count("stay as they were") == 1
    ring.unlink()
    now_s = 8.0
    assert verifies(second)
    with pytest.raises(SenderKeysError, match="give a readable file"):
        KeyRingFile(ring)
