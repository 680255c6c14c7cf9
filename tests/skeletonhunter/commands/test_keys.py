"""keys: master keys are created, host keys are printed, and no message shows a secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.command_line import Command

from api.access.callers import Caller
from api.access.tokens import TokenFile
from schemas.signing.keys import HostKey, KeyRing

MASTER = "ab" * 32


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "sender-keys"
    path.touch(mode=0o600)
    path.write_text(f"k1:{MASTER}\n")
    return path


def test_a_new_key_is_put_first_and_the_old_one_stays_valid(command: Command, ring: Path) -> None:
    done = command("keys", "new", "--ring", ring, "--key-id", "k2")
    assert done.code == 0
    lines = ring.read_text().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["k2", "k1"]
    assert lines[0].partition(":")[2] not in done.out + done.err
    assert ring.stat().st_mode & 0o777 == 0o600
    again = command("keys", "new", "--ring", ring, "--key-id", "k1")
    assert again.code == 2, "an id is used once"
    assert len(list(ring.parent.iterdir())) == 1, "no temporary file is left behind"


def test_a_ring_is_created_when_there_is_none(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "ring"
    assert command("keys", "new", "--ring", path).code == 0
    KeyRing.parse(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600
    assert command("keys", "new", "--ring", tmp_path / "no" / "ring").code == 2


def test_a_new_key_is_printed_where_no_ring_is_given(command: Command) -> None:
    done = command("keys", "new")
    assert done.code == 0
    KeyRing.parse(done.out)


def test_a_host_key_is_printed_as_its_file_must_hold_it(command: Command, ring: Path) -> None:
    where = ("--ring", ring, "--fabric", "f1", "--node-sn", "host-1")
    done = command("keys", "host", *where)
    assert done.code == 0
    key = HostKey.parse(done.out.strip())
    assert key == KeyRing.parse(ring.read_text()).host_key("f1", "host-1")


def test_a_ring_that_others_can_read_is_refused_and_not_quoted(
    command: Command, ring: Path
) -> None:
    ring.chmod(0o644)
    done = command("keys", "host", "--ring", ring, "--node-sn", "host-1")
    assert done.code == 2
    assert "chmod 600" in done.error_line
    assert MASTER not in done.err


def test_an_api_token_is_printed_once_and_its_file_has_the_hash(
    command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "api-tokens"
    where = ("--tokens", file, "--name", "alice", "--role", "operator", "--tenant", "blue")
    token = command("keys", "api-token", *where).out.strip()
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    found = TokenFile(file)().caller(token)
    assert found == Caller("alice", "operator", ("blue",))


def test_an_api_token_of_an_unknown_role_is_not_made(command: Command, tmp_path: Path) -> None:
    done = command("keys", "api-token", "--tokens", tmp_path / "t", "--name", "a", "--role", "root")
    assert (done.code, "operator" in done.err) == (2, True)
    assert not (tmp_path / "t").exists()
