"""The settings decide whether senders must sign: for brokers of other machines they must."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from skeletonhunter import settings
from skeletonhunter.errors import BadInput, BadSettings
from skeletonhunter.services.sender_keys import key_ring
from skeletonhunter.services.stream import stream_config

MASTER = "ab" * 32
FAR = {"SKH_KAFKA": "broker:9092"}


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "sender-keys"
    path.touch(mode=0o600)
    path.write_text(f"k1:{MASTER}\n")
    return path


def test_brokers_of_other_machines_are_not_read_without_sender_keys() -> None:
    with pytest.raises(BadSettings, match="SKH_SENDER_KEYS must be set") as why:
        stream_config(settings.read(FAR))
    assert "\n" not in str(why.value)
    assert "keys new" in str(why.value)


def test_brokers_of_other_machines_are_read_with_sender_keys(ring: Path) -> None:
    config = stream_config(settings.read({**FAR, "SKH_SENDER_KEYS": str(ring)}))
    assert config.sender_keys is not None
    assert not config.unsigned_senders


def test_a_broker_of_this_machine_is_read_without_sender_keys() -> None:
    assert stream_config(settings.read({"SKH_KAFKA": "127.0.0.1:9092"})).sender_keys is None


def test_unsigned_senders_are_accepted_on_request_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = settings.read({**FAR, "SKH_UNSIGNED_SENDERS": "accept"})
    with caplog.at_level(logging.WARNING):
        assert stream_config(asked).sender_keys is None
    assert "UNSIGNED MESSAGES ARE BELIEVED" in caplog.text


@pytest.mark.parametrize("text", ["", "nonsense", f"k1:{MASTER}x", "k1:\xff"])
def test_an_unusable_ring_is_named_and_not_quoted(ring: Path, text: str) -> None:
    ring.write_text(text, encoding="latin-1")
    config = settings.read({"SKH_SENDER_KEYS": str(ring)})
    with pytest.raises(BadInput, match=r"SKH_SENDER_KEYS: .*sender-keys") as why:
        key_ring(config, "127.0.0.1:1")
    assert MASTER not in str(why.value)
