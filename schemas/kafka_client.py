"""Kafka client options for agent and analyser: librdkafka's settings, checked.

Settings have librdkafka's names and are given as a JSON object (``SKH_KAFKA_OPTIONS``) or one by
one (``--kafka-option NAME=VALUE``). Secrets come from files or the environment, never from a
command line: every user of the host can read it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from schemas.secret_files import SecretFileError, read_secret

OPTIONS_VARIABLE: Final = "SKH_KAFKA_OPTIONS"
PASSWORD_VARIABLE: Final = "SKH_KAFKA_PASSWORD_FILE"  # noqa: S105 — a name
PASSWORD: Final = "sasl.password"  # noqa: S105 — a name
#: Options whose values are secrets.
SECRETS: Final = frozenset({
    PASSWORD, "ssl.key.password", "ssl.key.pem", "ssl.keystore.password", "sasl.oauthbearer.config",
    "sasl.oauthbearer.client.secret",
})  # fmt: skip
_LAST_PORT: Final = 65_535
_RESERVED: Final = frozenset({"bootstrap.servers", "metadata.broker.list", "group.id"})


class KafkaOptionError(ValueError):
    """An option cannot be used; one line: which, why, what to do. Never its value if secret."""


def parse_json(text: str) -> dict[str, str]:
    """Options from a JSON object; numbers and booleans become texts as librdkafka reads them."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise KafkaOptionError("not JSON; give an object of librdkafka settings") from None
    if not isinstance(found, dict):
        raise KafkaOptionError("not a JSON object; give one of librdkafka settings")
    return _checked((name, _text(name, value)) for name, value in found.items())


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Options from NAME=VALUE texts of a command line; a secret is refused there."""
    out = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if name in SECRETS:
            raise KafkaOptionError(
                f"{name} is a secret, and command lines are readable by every user; "
                f"name a file in {PASSWORD_VARIABLE}, or set {OPTIONS_VARIABLE}"
            )
        if not equals or not name:
            raise KafkaOptionError(f"{name!r} is not NAME=VALUE")
        out.append((name, value))
    return _checked(out)


def with_password(options: Mapping[str, str], file: Path | str | None) -> dict[str, str]:
    """The options, with the password from a file if one is named; raises KafkaOptionError."""
    if file is None or not str(file):
        return dict(options)
    try:
        password = read_secret(file).decode().rstrip("\r\n")
    except SecretFileError as why:
        raise KafkaOptionError(str(why)) from why
    except UnicodeDecodeError:
        raise KafkaOptionError(f"{file}: the password is not UTF-8") from None
    if not password or "\n" in password:
        raise KafkaOptionError(f"{file}: does not hold one line with the password")
    return {**options, PASSWORD: password}


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Options from the agent's environment; raises KafkaOptionError that names the variable."""
    try:
        options = parse_json(environ.get(OPTIONS_VARIABLE, ""))
    except KafkaOptionError as why:
        raise KafkaOptionError(f"{OPTIONS_VARIABLE}: {why}") from why
    try:
        return with_password(options, environ.get(PASSWORD_VARIABLE))
    except KafkaOptionError as why:
        raise KafkaOptionError(f"{PASSWORD_VARIABLE}: {why}") from why


def check_bootstrap(bootstrap: str) -> None:
    """Raises KafkaOptionError unless it is ``host:port,...``."""
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) <= _LAST_PORT:
            raise KafkaOptionError(f"{address.strip()!r} is no host:port; write kafka:9092")


def is_loopback(bootstrap: str) -> bool:
    """Whether all of ``host:port,...`` are loopback addresses."""
    return all(_is_loopback(address) for address in bootstrap.split(","))


def _is_loopback(address: str) -> bool:
    address = address.strip().rpartition("://")[2]
    host = address.rpartition(":")[0].strip("[]") or address
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise KafkaOptionError(f"{name} is neither text nor a number")


def _checked(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    out = dict(pairs)
    for name in sorted(_RESERVED & out.keys()):
        raise KafkaOptionError(f"{name} is set by SkeletonHunter; leave it out")
    return out
