"""Who may ask: tokens of host agents and operators, of which only hashes are stored.

The file has one token a line:

    agent FABRIC NODE_SN SHA256
    operator NAME SHA256

A token holds 256 random bits, so that its plain hash cannot be reversed by trying.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from typing import Final

from controller.service.parameters import DEFAULT
from controller.state import Host
from schemas.secret_files import SecretFileError, read_secret

_log = logging.getLogger(__name__)
_PREFIX: Final = "skh_"
_DIGEST_CHARS: Final = len(sha256().hexdigest())


class TokenError(ValueError):
    """The file of tokens cannot be used; one line: where, what, what to do."""


class Tokens:
    """The hashes of one file."""

    def __init__(self, agents: dict[Host, list[bytes]], operators: dict[str, list[bytes]]) -> None:
        self._operators = operators
        self._agents: defaultdict[str, list[tuple[Host, bytes]]] = defaultdict(list)
        for host, digests in agents.items():
            self._agents[host[1]] += [(host, digest) for digest in digests]

    def agent(self, node_sn: str, token: str) -> Host | None:
        """The host of that name, in the token's fabric; None where it is not the host's token."""
        given, found = _digest(token), None
        for host, digest in self._agents.get(node_sn, ()):
            if hmac.compare_digest(given, digest):
                found = host
        return found

    def operator(self, token: str) -> str | None:
        """The operator's name; None where it is no operator's token."""
        given, found = _digest(token), None
        for name, digests in self._operators.items():
            for digest in digests:
                if hmac.compare_digest(given, digest):
                    found = name
        return found


class TokenFile:
    """The tokens of a file, read again when it has changed; raises TokenError at first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._state()
        self._tokens = load(path)

    def __call__(self) -> Tokens:
        """The tokens of now; the last valid ones while the file cannot be used."""
        if (state := self._state()) != self._seen:
            self._seen = state
            try:
                self._tokens = load(self._path)
            except TokenError as why:
                _log.error("the last tokens stay: %s", why)
        return self._tokens

    def _state(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino


def new_token() -> str:
    """A random token."""
    return _PREFIX + secrets.token_urlsafe(DEFAULT.token_bytes)


def agent_line(host: Host, token: str) -> str:
    """The line of a host's token; raises TokenError for names that a line cannot hold."""
    return _line("agent", *host, token=token)


def operator_line(name: str, token: str) -> str:
    """The line of an operator's token; raises TokenError for names that a line cannot hold."""
    return _line("operator", name, token=token)


def load(path: Path) -> Tokens:
    """Read a file to which only its owner has access; raises TokenError."""
    try:
        return parse(read_secret(path, DEFAULT.tokens_bytes).decode(), str(path))
    except SecretFileError as why:
        raise TokenError(str(why)) from why
    except UnicodeDecodeError:
        raise TokenError(f"{path}: not UTF-8, so no file of tokens") from None


def parse(text: str, where: str = "tokens") -> Tokens:
    """Tokens of lines; raises TokenError, which never quotes a line."""
    agents: defaultdict[Host, list[bytes]] = defaultdict(list)
    operators: defaultdict[str, list[bytes]] = defaultdict(list)
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        match words:
            case ["agent", fabric, node_sn, hexadecimal]:
                agents[fabric, node_sn].append(_stored(hexadecimal, where, number))
            case ["operator", name, hexadecimal]:
                operators[name].append(_stored(hexadecimal, where, number))
            case _:
                raise TokenError(
                    f"{where}, line {number}: write 'agent FABRIC NODE_SN SHA256' or "
                    "'operator NAME SHA256'"
                )
    return Tokens(dict(agents), dict(operators))


def _stored(hexadecimal: str, where: str, number: int) -> bytes:
    if len(hexadecimal) != _DIGEST_CHARS:
        raise TokenError(f"{where}, line {number}: a SHA-256 has {_DIGEST_CHARS} digits")
    try:
        return bytes.fromhex(hexadecimal)
    except ValueError:
        raise TokenError(f"{where}, line {number}: the SHA-256 is not hexadecimal") from None


def _line(*names: str, token: str) -> str:
    for name in names:
        if name.split() != [name]:
            raise TokenError(f"name {name!r} is empty or holds a space; a line cannot hold it")
    return f"{' '.join(names)} {_digest(token).hex()}\n"


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
