"""Makes the secrets of docker-compose.yml: generated once, handed to each container as its user.

``master/`` is read by this program only and holds what is generated. From it the other folders,
each mounted into the containers of its name only, are written at each start, so that a start that
was interrupted is completed by the next one. Files of tokens and keys, to which operators add, are
written once.
"""

from __future__ import annotations

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from api.access import tokens as api_tokens
from api.access.callers import Caller
from controller.service import tokens as controller_tokens
from schemas.secret_files import read_secret
from schemas.signing.keys import new_master
from skeletonhunter.deployment import certificates, configuration
from skeletonhunter.deployment.configuration import AGENTS, ANALYSER
from skeletonhunter.errors import BadInput

#: Folder -> user id in the container that reads it; of images' own documentation.
OWNERS: Final = {"skeletonhunter": 10001, "kafka": 1000, "clickhouse": 101, "grafana": 472}
OPERATOR: Final = "operator"
_PRIVATE: Final = 0o600
_PUBLIC: Final = 0o644


class Addresses(NamedTuple):
    """inside   host:port where containers reach Kafka
    outside  host:port where agents reach Kafka; its certificate has the host
    mounted  where Kafka's folder is mounted in its container; data: where its messages are
    """

    inside: str = "kafka:19092"
    outside: str = "localhost:9092"
    mounted: str = "/run/kafka"
    data: str = "/var/lib/kafka/data"


def make(folder: Path, addresses: Addresses, *, change_owner: bool) -> list[str]:
    """Write what is missing and what is derived; returns the files written. Raises BadInput.

    change_owner  give each folder to its container's user (needs CAP_CHOWN)
    """
    for address in (addresses.inside, addresses.outside):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or any(c.isspace() or c in ',"\\' for c in host):
            raise BadInput(f"{address!r} is not host:port")
    try:
        writer = _Writer(folder, change_owner)
        _write_all(writer, addresses)
    except OSError as why:
        raise BadInput(f"{why.filename or folder}: {why.strerror}") from why
    return writer.written


def _write_all(writer: _Writer, addresses: Addresses) -> None:
    master = writer.folder("master")
    certificates.make_authority(master)
    passwords = {name: writer.password(f"kafka-{name}") for name in (ANALYSER, AGENTS)}
    clickhouse, reader = writer.password("clickhouse"), writer.password("clickhouse-grafana")
    authority = (master / "ca.pem").read_text()
    hosts = [address.rpartition(":")[0].strip("[]") for address in addresses[:2]]
    server = certificates.server_certificate(master, [*dict.fromkeys([*hosts, "localhost"])])

    writer.derive("skeletonhunter", "kafka-password", passwords[ANALYSER] + "\n")
    writer.derive("skeletonhunter", "clickhouse-password", clickhouse + "\n")
    writer.derive("skeletonhunter", "agent-kafka-password", passwords[AGENTS] + "\n")
    writer.derive("skeletonhunter", "ca.pem", authority, _PUBLIC)
    writer.derive("kafka", "ca.pem", authority, _PUBLIC)
    writer.derive("kafka", "server.pem", server)
    writer.derive("kafka", "server.properties", configuration.kafka_properties(
        passwords, inside=addresses.inside, outside=addresses.outside,
        folder=addresses.mounted, data=addresses.data,
    ))  # fmt: skip
    users = configuration.clickhouse_users(clickhouse, reader)
    writer.derive("clickhouse", "skeletonhunter.xml", users)
    writer.derive("grafana", "clickhouse-password", reader)
    writer.derive("grafana", "admin-password", writer.password("grafana-admin"))

    name = f"{datetime.now(UTC):%Y-%m-%d}-first"
    writer.once("skeletonhunter", "sender-keys", f"{name}:{new_master().hex()}\n")
    writer.once("skeletonhunter", "probe.key", secrets.token_hex(32) + "\n")
    # The token before the file of its hash: a start between both makes both anew.
    if not writer.has("skeletonhunter", "controller-tokens"):
        token = controller_tokens.new_token()
        writer.derive("skeletonhunter", "operator.token", token + "\n")
        line = controller_tokens.operator_line(OPERATOR, token)
        writer.once("skeletonhunter", "controller-tokens", line)
    if not writer.has("skeletonhunter", "api-tokens"):
        token = api_tokens.new_token()
        writer.derive("skeletonhunter", "api-admin.token", token + "\n")
        caller = Caller(OPERATOR, "admin", ())
        writer.once("skeletonhunter", "api-tokens", api_tokens.line(caller, token))


class _Writer:
    """Writes files of the folders, each with the mode and the owner that its container needs."""

    def __init__(self, root: Path, change_owner: bool) -> None:
        self._root, self._change_owner = root, change_owner
        self.written: list[str] = []

    def folder(self, name: str) -> Path:
        path = self._root / name
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        return path

    def has(self, folder: str, name: str) -> bool:
        return (self._root / folder / name).exists()

    def password(self, name: str) -> str:
        """One of ``master/``; generated where it is missing."""
        if not self.has("master", name):
            self.derive("master", name, secrets.token_urlsafe(24) + "\n")
        return read_secret(self._root / "master" / name).decode().strip()

    def once(self, folder: str, name: str, text: str) -> None:
        """Write a file unless it is there."""
        if not self.has(folder, name):
            self.derive(folder, name, text)

    def derive(self, folder: str, name: str, text: str, mode: int = _PRIVATE) -> None:
        """Replace a file atomically."""
        place = self._root / folder
        place.mkdir(parents=True, exist_ok=True)
        temporary = place / f".{name}.new"
        temporary.unlink(missing_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        owner = OWNERS.get(folder)
        temporary.chmod(mode)
        place.chmod(0o700)
        if self._change_owner and owner is not None:
            os.chown(temporary, owner, owner)
            os.chown(place, owner, owner)
        temporary.replace(place / name)
        self.written.append(f"{folder}/{name}")
