"""Keys of senders: made, handed out, asked for outside this machine, and never shown."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from schemas import topics
from schemas.signing.headers import Refused
from schemas.signing.keys import HostKey, KeyRing
from schemas.signing.signature import sign, verify
from skeletonhunter import cli, settings
from skeletonhunter.errors import BadInput, BadSettings
from skeletonhunter.services.sender_keys import key_ring
from skeletonhunter.services.stream import stream_config
from streams.admission.sender_keys import KeyRingFile, SenderKeysError

MASTER = "ab" * 32


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SKH_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "sender-keys"
    path.touch(mode=0o600)
    path.write_text(f"k1:{MASTER}\n")
    return path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main(list(arguments))
    return int(end.value.code or 0)


def read(monkeypatch: pytest.MonkeyPatch, **environ: str) -> settings.Settings:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return settings.read()


def test_a_new_key_is_put_first_and_the_old_one_stays_valid(
    ring: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("keys", "new", "--ring", str(ring), "--key-id", "k2") == 0
    said = capsys.readouterr()
    lines = ring.read_text().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["k2", "k1"]
    assert lines[0].partition(":")[2] not in said.out + said.err
    assert ring.stat().st_mode & 0o777 == 0o600
    assert run("keys", "new", "--ring", str(ring), "--key-id", "k1") == 2, "an id is used once"
    assert len(list(ring.parent.iterdir())) == 1, "nothing is left behind"


def test_a_ring_is_made_when_there_is_none_or_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ring"
    assert run("keys", "new", "--ring", str(path)) == 0
    KeyRing.parse(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600
    capsys.readouterr()
    assert run("keys", "new") == 0
    KeyRing.parse(capsys.readouterr().out)
    assert run("keys", "new", "--ring", str(tmp_path / "no" / "ring")) == 2


def test_a_hosts_key_is_printed_as_its_file_must_hold_it(
    ring: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--ring", str(ring), "--fabric", "f1", "--node-sn", "host-1")
    assert run("keys", "host", *where) == 0
    key = HostKey.parse(capsys.readouterr().out.strip())
    assert key == KeyRing.parse(ring.read_text()).host_key("f1", "host-1")
    ring.chmod(0o644)
    assert run("keys", "host", *where) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "chmod 600" in line
    assert MASTER not in line


def test_brokers_on_other_machines_are_read_only_with_sender_keys(
    ring: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    far = read(monkeypatch, SKH_KAFKA="broker:9092")
    with pytest.raises(BadSettings, match="SKH_SENDER_KEYS must be set") as why:
        stream_config(far)
    assert "\n" not in str(why.value)
    assert "keys new" in str(why.value)
    near = read(monkeypatch, SKH_KAFKA="127.0.0.1:9092")
    assert stream_config(near).sender_keys is None
    with_keys = read(monkeypatch, SKH_KAFKA="broker:9092", SKH_SENDER_KEYS=str(ring))
    assert stream_config(with_keys).sender_keys is not None
    assert not stream_config(with_keys).unsigned_senders
    monkeypatch.delenv("SKH_SENDER_KEYS")
    asked = read(monkeypatch, SKH_UNSIGNED_SENDERS="accept")
    with caplog.at_level(logging.WARNING):
        assert stream_config(asked).sender_keys is None
    assert "UNSIGNED MESSAGES ARE BELIEVED" in caplog.text


@pytest.mark.parametrize("command", ["stream", "sink"])
def test_the_parts_say_in_one_line_that_keys_are_missing(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SKH_KAFKA", "192.0.2.1:9092")  # not asked: it comes before any connection
    monkeypatch.setenv("SKH_CLICKHOUSE_URL", "chdb:/nonexistent")
    assert run(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "SKH_SENDER_KEYS" in line


@pytest.mark.parametrize("text", ["", "nonsense", f"k1:{MASTER}x", "k1:\xff"])
def test_a_ring_that_cannot_be_used_is_named_and_not_quoted(
    ring: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring.write_text(text, encoding="latin-1")
    config = read(monkeypatch, SKH_SENDER_KEYS=str(ring))
    with pytest.raises(BadInput, match=r"SKH_SENDER_KEYS: .*sender-keys") as why:
        key_ring(config, "127.0.0.1:1")
    assert MASTER not in str(why.value)


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


# --- Kafka's own security ---------------------------------------------------------------------


def test_the_password_comes_from_a_file_and_is_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.touch(mode=0o600)
    file.write_text("s3cret\n")
    config = read(
        monkeypatch,
        SKH_KAFKA="127.0.0.1:9092",
        SKH_KAFKA_OPTIONS='{"sasl.username": "skh", "linger.ms": 5}',
        SKH_KAFKA_PASSWORD_FILE=str(file),
    )
    assert config.librdkafka() == {
        "bootstrap.servers": "127.0.0.1:9092", "sasl.username": "skh", "linger.ms": "5",
        "sasl.password": "s3cret",
    }  # fmt: skip
    assert "s3cret" not in repr(config) + repr(stream_config(config))
    file.chmod(0o604)
    with pytest.raises(BadSettings, match=r"SKH_KAFKA_PASSWORD_FILE.*chmod 600"):
        config.librdkafka()


def test_options_that_cannot_be_read_are_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadSettings, match="SKH_KAFKA_OPTIONS") as why:
        read(monkeypatch, SKH_KAFKA_OPTIONS='{"sasl.password": "s3cret"')
    assert "s3cret" not in str(why.value)
    with pytest.raises(BadSettings, match=r"bootstrap\.servers is set by SkeletonHunter"):
        read(monkeypatch, SKH_KAFKA_OPTIONS='{"bootstrap.servers": "x"}')
