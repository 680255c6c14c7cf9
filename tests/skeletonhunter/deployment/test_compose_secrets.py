"""The secrets of an installation: made once, completed after an interruption, never shown."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from hashlib import sha256
from pathlib import Path

import pytest
from builders.command_line import Command

from api.access import tokens as api_tokens
from controller.service import tokens as controller_tokens
from schemas.secret_files import read_secret
from schemas.signing.keys import KeyRing
from skeletonhunter.deployment import secrets
from skeletonhunter.deployment.secrets import Addresses


def make(folder: Path, addresses: Addresses | None = None) -> dict[str, bytes]:
    """Every file that readers have after a start, by folder and name."""
    secrets.make(folder, addresses or Addresses(), change_owner=False)
    return {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "master"
    }


def test_a_second_start_changes_nothing_but_the_servers_certificate(tmp_path: Path) -> None:
    first, second = make(tmp_path), make(tmp_path)
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] != second[name]} == {"kafka/server.pem"}


@pytest.mark.parametrize(
    "lost", ["skeletonhunter/kafka-password", "kafka/server.properties", "grafana/admin-password"]
)
def test_a_start_that_was_interrupted_is_completed(tmp_path: Path, lost: str) -> None:
    before = make(tmp_path)
    (tmp_path / lost).unlink()
    assert make(tmp_path)[lost] == before[lost]


def test_what_operators_added_is_kept(tmp_path: Path) -> None:
    make(tmp_path)
    tokens = tmp_path / "skeletonhunter" / "api-tokens"
    more = tokens.read_text() + "# a remark\n"
    tokens.write_text(more)
    assert make(tmp_path)["skeletonhunter/api-tokens"].decode() == more


def test_the_first_tokens_are_those_of_the_files_of_hashes(tmp_path: Path) -> None:
    files = {name: text.decode().strip() for name, text in make(tmp_path).items()}
    operator = files["skeletonhunter/operator.token"]
    admin = files["skeletonhunter/api-admin.token"]
    assert operator not in files["skeletonhunter/controller-tokens"]
    hashes = controller_tokens.parse(files["skeletonhunter/controller-tokens"])
    assert hashes.operator(operator) == "operator"
    found = api_tokens.parse(files["skeletonhunter/api-tokens"]).caller(admin)
    assert found is not None
    assert found.role == "admin"
    KeyRing.parse(files["skeletonhunter/sender-keys"])


def test_clickhouse_has_no_user_without_a_password_and_a_reader_that_only_reads(
    tmp_path: Path,
) -> None:
    files = make(tmp_path)
    users = ET.fromstring(files["clickhouse/skeletonhunter.xml"]).find(  # noqa: S314 — our own text
        "users"
    )
    assert users is not None
    hashes = {user.tag: user.findtext("password_sha256_hex") for user in users}
    assert hashes == {
        "default": None,
        "skeletonhunter": sha256(files["skeletonhunter/clickhouse-password"].strip()).hexdigest(),
        "grafana": sha256(files["grafana/clickhouse-password"]).hexdigest(),
    }
    assert users.find("default").get("remove") == "remove"  # type: ignore[union-attr]
    assert users.findtext("grafana/grants/query") == "GRANT SELECT ON skeletonhunter.*"


def test_an_address_outside_is_advertised_and_in_the_certificate(tmp_path: Path) -> None:
    files = make(tmp_path, Addresses(outside="10.1.2.3:9092"))
    assert b"OUTSIDE://10.1.2.3:9092" in files["kafka/server.properties"]
    assert "IP:10.1.2.3" in (tmp_path / "master" / "server.ext").read_text()


@pytest.mark.parametrize("address", ["host", "host:", ":9092", "a b:1", "a,DNS:b:1", 'a"b:1'])
def test_an_address_that_is_none_is_refused(command: Command, tmp_path: Path, address: str) -> None:
    said = command("compose-secrets", tmp_path, "--no-change-owner", "--outside", address)
    assert said.code == 2
    assert "is not host:port" in said.error_line
    assert list(tmp_path.iterdir()) == []


def test_the_command_shows_no_secret(command: Command, tmp_path: Path) -> None:
    said = command("compose-secrets", tmp_path, "--no-change-owner")
    assert said.code == 0
    for path in (tmp_path / "master").iterdir():
        if path.name.startswith(("kafka", "clickhouse", "grafana")):
            assert read_secret(path).decode().strip() not in said.out + said.err
