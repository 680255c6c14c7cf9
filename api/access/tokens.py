"""Tokens of the API, of which only hashes are stored.

The file has one token a line, and after its hash the tenants that it is limited to, if any:

    ROLE NAME SHA256 [TENANT ...]

A token holds 256 random bits, so that its plain hash cannot be reversed by trying.
"""

from __future__ import annotations

import logging
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Final, get_args

from api.access.callers import Caller, Role
from schemas.secret_files import SecretFileError, read_secret

_log = logging.getLogger(__name__)
_PREFIX: Final = "skh_"
_TOKEN_BYTES: Final = 32
_FILE_BYTES: Final = 4 * 1024 * 1024
_DIGEST_CHARS: Final = 64
_ROLES: Final[dict[str, Role]] = {role: role for role in get_args(Role)}


class TokenError(ValueError):
    """The file of tokens cannot be used; one line: where, what, what to do."""


class Tokens:
    """The hashes of one file. They are found by value: what the time of a look-up tells about a
    hash of random bits is no help in finding the token.
    """

    def __init__(self, callers: dict[bytes, Caller]) -> None:
        self._callers = callers

    def caller(self, token: str) -> Caller | None:
        """Whose token it is; None: of no caller."""
        return self._callers.get(_digest(token))


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
    return _PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def line(caller: Caller, token: str) -> str:
    """The line of a caller's token; raises TokenError for names that a line cannot hold."""
    for name in (caller.name, *caller.tenants):
        if name.split() != [name]:
            raise TokenError(f"name {name!r} is empty or holds a space; a line cannot hold it")
    return f"{' '.join([caller.role, caller.name, _digest(token).hex(), *caller.tenants])}\n"


def load(path: Path) -> Tokens:
    """Read a file to which only its owner has access; raises TokenError."""
    try:
        return parse(read_secret(path, _FILE_BYTES).decode(), str(path))
    except SecretFileError as why:
        raise TokenError(str(why)) from why
    except UnicodeDecodeError:
        raise TokenError(f"{path}: not UTF-8, so no file of tokens") from None


def parse(text: str, where: str = "tokens") -> Tokens:
    """Tokens of lines; raises TokenError, which never quotes a line."""
    callers: dict[bytes, Caller] = {}
    for number, each in enumerate(text.splitlines(), 1):
        words = each.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 3 or words[0] not in _ROLES:
            raise TokenError(
                f"{where}, line {number}: write 'ROLE NAME SHA256 [TENANT ...]' with a role of "
                f"{', '.join(_ROLES)}"
            )
        role, name, digest, *tenants = words
        callers[_stored(digest, where, number)] = Caller(name, _ROLES[role], tuple(tenants))
    return Tokens(callers)


def _stored(hexadecimal: str, where: str, number: int) -> bytes:
    try:
        digest = bytes.fromhex(hexadecimal)
    except ValueError:
        digest = b""
    if len(hexadecimal) != _DIGEST_CHARS or not digest:
        raise TokenError(f"{where}, line {number}: a SHA-256 has {_DIGEST_CHARS} hex digits")
    return digest


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()
