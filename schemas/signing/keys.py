"""Keys of senders: master keys, the hosts' keys derived from them, and the key ring of both.

A host's key is HMAC-SHA256 of a master key over the fabric's and the host's name: the analyser
needs one small file, and a host that is broken into can sign for no other host. A ring holds
master keys, newest first; two of them at once make rotation possible (docs/decisions/0006).
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from schemas.signing.headers import MAX_NAME_BYTES

KEY_BYTES: Final = 32
_DERIVATION: Final = b"skeletonhunter host key 1"
_KEY_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")


class SigningError(ValueError):
    """A key or key ring cannot be used; one line: where, what. Never a secret."""


@dataclass(frozen=True, slots=True)
class HostKey:
    """The key of one host. Its ``document`` is the content of its file; a ring may list it too."""

    key_id: str
    fabric: str
    node_sn: str
    secret: bytes = field(repr=False)

    def document(self) -> str:
        """One line of JSON that contains the secret."""
        return json.dumps(
            {
                "key_id": self.key_id,
                "fabric": self.fabric,
                "node_sn": self.node_sn,
                "key": self.secret.hex(),
            }
        )

    @classmethod
    def parse(cls, text: str) -> HostKey:
        """Inverse of ``document``; raises SigningError."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise SigningError("not a host key: not one line of JSON") from None
        names = ("key_id", "fabric", "node_sn", "key")
        if not isinstance(found, dict) or set(found) != set(names):
            raise SigningError(f"not a host key: its fields are {', '.join(names)}")
        values = [found[name] for name in names]
        if not all(isinstance(value, str) and value for value in values):
            raise SigningError("not a host key: a field is empty or not text")
        key_id, fabric, node_sn, key = values
        for name, value in (("fabric", fabric), ("node_sn", node_sn)):
            if len(value.encode(errors="replace")) > MAX_NAME_BYTES:
                raise SigningError(f"{name} is longer than {MAX_NAME_BYTES} bytes")
        return cls(_key_id(key_id), fabric, node_sn, _secret(key))


class KeyRing:
    """Master keys by id, newest first, and explicit keys of single hosts.

    A host with explicit keys must use them: keys derived from a master are no longer valid for it.
    So one host's stolen key is replaced without a new master.
    """

    def __init__(self, masters: Mapping[str, bytes], hosts: tuple[HostKey, ...] = ()) -> None:
        """masters  key id -> 32 bytes, newest first"""
        self._masters = dict(masters)
        self._hosts: dict[tuple[str, str], dict[str, bytes]] = {}
        for key in hosts:
            self._hosts.setdefault((key.fabric, key.node_sn), {})[key.key_id] = key.secret
        self._cached: dict[tuple[str, str, str], bytes] = {}

    @classmethod
    def parse(cls, text: str) -> KeyRing:
        """Lines ``key-id:hex`` (a master) or host key documents; empty lines and # are ignored.

        Raises SigningError that names the line, never its content.
        """
        masters: dict[str, bytes] = {}
        hosts: list[HostKey] = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            try:
                if line.startswith("{"):
                    hosts.append(HostKey.parse(line))
                    continue
                name, _, key = line.partition(":")
                if name in masters:
                    raise SigningError(f"key id {name} is there twice")
                masters[_key_id(name)] = _secret(key)
            except SigningError as why:
                raise SigningError(f"line {number}: {why}") from None
        if not masters and not hosts:
            raise SigningError("no key in it; `skeletonhunter keys new` makes one")
        return cls(masters, tuple(hosts))

    def host_key(self, fabric: str, node_sn: str) -> HostKey:
        """The newest key of a host; raises SigningError when the ring has none for it."""
        if not fabric or not node_sn:
            raise SigningError("fabric and node_sn must not be empty")
        listed = self._hosts.get((fabric, node_sn))
        if listed is not None:
            key_id, secret = next(iter(listed.items()))
            return HostKey(key_id, fabric, node_sn, secret)
        for key_id, master in self._masters.items():
            return HostKey(key_id, fabric, node_sn, derive(master, fabric, node_sn))
        raise SigningError(f"no key for {node_sn} of fabric {fabric}")

    def secret(self, fabric: str, node_sn: str, key_id: str) -> bytes | None:
        """The key of a host under an id; None where the ring has none."""
        known = self._cached.get((key_id, fabric, node_sn))
        if known is not None:
            return known
        listed = self._hosts.get((fabric, node_sn))
        if listed is not None:
            return listed.get(key_id)
        master = self._masters.get(key_id)
        return None if master is None else derive(master, fabric, node_sn)

    def cache(self, fabric: str, node_sn: str, key_id: str, secret: bytes) -> None:
        """Cache the key of a sender that was verified; unverified names would fill the memory."""
        self._cached[key_id, fabric, node_sn] = secret


def new_master() -> bytes:
    """A random master key."""
    return secrets.token_bytes(KEY_BYTES)


def derive(master: bytes, fabric: str, node_sn: str) -> bytes:
    """A host's key, 32 bytes."""
    return hmac.digest(
        master, length_prefixed(_DERIVATION, fabric.encode(), node_sn.encode()), "sha256"
    )


def length_prefixed(*fields: bytes) -> bytes:
    """Fields in one text that no other fields have: each after its length, 4 bytes big-endian."""
    return b"".join([len(field).to_bytes(4, "big") + field for field in fields])


def _key_id(text: str) -> str:
    if not _KEY_ID.fullmatch(text):
        raise SigningError("a key id is 1 to 64 letters, digits, dots, dashes or underscores")
    return text


def _secret(text: str) -> bytes:
    if not _HEX.fullmatch(text):
        raise SigningError(f"a key is {2 * KEY_BYTES} lower-case hex digits")
    return bytes.fromhex(text)
