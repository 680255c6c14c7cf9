"""Who sent a message: a keyed signature in its Kafka headers, and the keys for it. Pure.

Every message on skh.pings and skh.heartbeats may carry these headers, all UTF-8 text but the last:

    sender        the host's serial number (node_sn)
    fabric        the fabric that it belongs to
    key-id        which key it is signed with
    signed-at     when [ns since the epoch], decimal
    partition     the partition that the sender chose; absent when it did not choose one
    relay-client  container on whose behalf the host's relay sends; absent: the host itself
    relay-tenant  that container's tenant; absent: not stated
    signature     HMAC-SHA256, 32 bytes

The signature covers VERSION, topic, partition, fabric, sender, key-id, signed-at, content-type,
relay-client, relay-tenant and the SHA-256 of the payload, each preceded by its length (4 bytes,
big-endian), an absent one as an empty text. So no two different messages have one encoding, and a
message is good for one topic, and for one partition where the sender chose it.

A *key ring* holds master keys, newest first. A host's key is HMAC-SHA256 of the master over the
fabric's and the host's name, so that the analyser needs one small file, and a host that is broken
into can sign for no other host. Two masters in the ring at once are how keys are rotated.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from schemas import topics

SENDER: Final = "sender"
FABRIC: Final = "fabric"
KEY_ID: Final = "key-id"
SIGNED_AT: Final = "signed-at"
PARTITION: Final = "partition"
RELAY_CLIENT: Final = "relay-client"
RELAY_TENANT: Final = "relay-tenant"
SIGNATURE: Final = "signature"
HEADERS: Final = frozenset(
    {SENDER, FABRIC, KEY_ID, SIGNED_AT, PARTITION, RELAY_CLIENT, RELAY_TENANT, SIGNATURE}
)

VERSION: Final = b"skeletonhunter message 1"
_DERIVATION: Final = b"skeletonhunter host key 1"
KEY_BYTES: Final = 32
_MAX_TEXT: Final = 256  # bytes of a name in a header
_MAX_TIME: Final = 2**63
_KEY_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")


class SigningError(ValueError):
    """A key or key ring cannot be used; one line: where, what. Never a secret."""


class Refused(ValueError):
    """A message that is not accepted as its sender's; the text is one line without the payload.

    reason  one of REASONS: what is counted
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


UNSIGNED: Final = "unsigned"
BAD_SIGNATURE: Final = "bad_signature"
UNKNOWN_SENDER: Final = "unknown_sender"
FOREIGN_RECORD: Final = "foreign_record"
FUTURE: Final = "future"
REPLAYED: Final = "replayed"  # was here before: left out, without a dead letter
REASONS: Final = (UNSIGNED, BAD_SIGNATURE, UNKNOWN_SENDER, FOREIGN_RECORD, FUTURE, REPLAYED)


@dataclass(frozen=True, slots=True)
class HostKey:
    """One host's key. ``document`` is what its file holds, and a line that a ring may hold."""

    key_id: str
    fabric: str
    node_sn: str
    secret: bytes = field(repr=False)

    def document(self) -> str:
        """One line of JSON, the secret in it."""
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
            if len(value.encode(errors="replace")) > _MAX_TEXT:
                raise SigningError(f"{name} is longer than {_MAX_TEXT} bytes")
        return cls(_key_id(key_id), fabric, node_sn, _secret(key))


class Claim(NamedTuple):
    """What the headers of a message say of its sender.

    signed_at  [ns since the epoch]; client, tenant: of the relay's client, empty: the host itself
    """

    fabric: str
    sender: str
    key_id: str
    signed_at: int
    client: str = ""
    tenant: str = ""


class KeyRing:
    """Master keys by id, newest first, and explicit keys of single hosts.

    A host that has explicit keys is held to those: no master's derived key is good for it any
    more. That is how one host's stolen key is replaced without a new master.
    """

    def __init__(self, masters: Mapping[str, bytes], hosts: tuple[HostKey, ...] = ()) -> None:
        """masters  key id -> 32 bytes, newest first"""
        self._masters = dict(masters)
        self._hosts: dict[tuple[str, str], dict[str, bytes]] = {}
        for key in hosts:
            self._hosts.setdefault((key.fabric, key.node_sn), {})[key.key_id] = key.secret
        # Only of senders that were verified: invented ones must not grow it.
        self._derived: dict[tuple[str, str, str], bytes] = {}

    @classmethod
    def parse(cls, text: str) -> KeyRing:
        """Lines ``key-id:hex`` (a master) or host key documents; empty lines and # are left out.

        Raises SigningError naming the line, never what is in it.
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

    def verify(
        self, topic: str, partition: int, headers: Mapping[str, bytes], payload: bytes
    ) -> Claim:
        """Who sent a message. Raises Refused: unsigned, unknown_sender or bad_signature.

        partition  where the message lies
        """
        claim, chosen = read(headers)
        secret = self._secret_of(claim)
        signature = _signature(secret, topic, chosen, claim, headers, payload)
        if not hmac.compare_digest(signature, headers[SIGNATURE]):
            raise Refused(BAD_SIGNATURE, f"the signature is not {_who(claim)}'s")
        if chosen and chosen != b"%d" % partition:
            raise Refused(
                BAD_SIGNATURE, f"{_who(claim)} signed it for partition {chosen.decode()} only"
            )
        self._derived[claim.key_id, claim.fabric, claim.sender] = secret
        return claim

    def _secret_of(self, claim: Claim) -> bytes:
        known = self._derived.get((claim.key_id, claim.fabric, claim.sender))
        if known is not None:
            return known
        listed = self._hosts.get((claim.fabric, claim.sender))
        if listed is not None:
            secret = listed.get(claim.key_id)
        else:
            master = self._masters.get(claim.key_id)
            secret = master and derive(master, claim.fabric, claim.sender)
        if not secret:
            raise Refused(
                UNKNOWN_SENDER, f"the key ring has no key {claim.key_id!r} for {_who(claim)}"
            )
        return secret


def new_master() -> bytes:
    """A random master key."""
    return secrets.token_bytes(KEY_BYTES)


def derive(master: bytes, fabric: str, node_sn: str) -> bytes:
    """A host's key, 32 bytes."""
    return hmac.digest(master, _joined(_DERIVATION, fabric.encode(), node_sn.encode()), "sha256")


def sign(
    key: HostKey,
    topic: str,
    content_type: str,
    payload: bytes,
    signed_at: int,
    *,
    partition: int | None = None,
    client: str = "",
    tenant: str = "",
) -> dict[str, bytes]:
    """The headers of a message of that host, content-type included.

    signed_at       now [ns since the epoch]
    partition       where it will be produced, when that is known
    client, tenant  of the relay's client, when it is not the host's own message
    """
    headers = {
        topics.CONTENT_TYPE: content_type.encode(),
        SENDER: key.node_sn.encode(),
        FABRIC: key.fabric.encode(),
        KEY_ID: key.key_id.encode(),
        SIGNED_AT: b"%d" % signed_at,
    }
    chosen = b"" if partition is None else b"%d" % partition
    for name, value in (
        (PARTITION, chosen), (RELAY_CLIENT, client.encode()), (RELAY_TENANT, tenant.encode())
    ):  # fmt: skip
        if value:
            headers[name] = value
    claim = Claim(key.fabric, key.node_sn, key.key_id, signed_at, client, tenant)
    headers[SIGNATURE] = _signature(key.secret, topic, chosen, claim, headers, payload)
    return headers


def read(headers: Mapping[str, bytes]) -> tuple[Claim, bytes]:
    """What the headers say, *not yet verified*, and the partition in them.

    Raises Refused: unsigned when there is no signature, bad_signature when one cannot be meant.
    """
    if SIGNATURE not in headers:
        raise Refused(UNSIGNED, "the message carries no signature")
    fabric, sender, key_id, client, tenant = (
        _text(headers, name) for name in (FABRIC, SENDER, KEY_ID, RELAY_CLIENT, RELAY_TENANT)
    )
    if not (fabric and sender and key_id):
        raise Refused(BAD_SIGNATURE, f"one of the headers {FABRIC}, {SENDER}, {KEY_ID} is missing")
    at = headers.get(SIGNED_AT, b"")
    if not (at.isdigit() and len(at) <= 19 and int(at) < _MAX_TIME and at == b"%d" % int(at)):
        raise Refused(BAD_SIGNATURE, f"header {SIGNED_AT} is not ns since the epoch")
    chosen = headers.get(PARTITION, b"")
    if len(chosen) > 10 or (chosen and not chosen.isdigit()):
        raise Refused(BAD_SIGNATURE, f"header {PARTITION} is not a partition")
    return Claim(fabric, sender, key_id, int(at), client, tenant), chosen


def _text(headers: Mapping[str, bytes], name: str) -> str:
    raw = headers.get(name, b"")
    if len(raw) > _MAX_TEXT:
        raise Refused(BAD_SIGNATURE, f"header {name} is longer than {_MAX_TEXT} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Refused(BAD_SIGNATURE, f"header {name} is not UTF-8") from None


def _signature(
    secret: bytes,
    topic: str,
    chosen: bytes,
    claim: Claim,
    headers: Mapping[str, bytes],
    payload: bytes,
) -> bytes:
    return hmac.digest(
        secret,
        _joined(
            VERSION,
            topic.encode(),
            chosen,
            claim.fabric.encode(),
            claim.sender.encode(),
            claim.key_id.encode(),
            b"%d" % claim.signed_at,
            headers.get(topics.CONTENT_TYPE, b""),
            claim.client.encode(),
            claim.tenant.encode(),
            hashlib.sha256(payload).digest(),
        ),
        "sha256",
    )


def _joined(*fields: bytes) -> bytes:
    return b"".join([len(field).to_bytes(4, "big") + field for field in fields])


def _who(claim: Claim) -> str:
    return f"{claim.sender!r} of fabric {claim.fabric!r}"


def _key_id(text: str) -> str:
    if not _KEY_ID.fullmatch(text):
        raise SigningError("a key id is 1 to 64 letters, digits, dots, dashes or underscores")
    return text


def _secret(text: str) -> bytes:
    if not _HEX.fullmatch(text):
        raise SigningError(f"a key is {2 * KEY_BYTES} lower-case hex digits")
    return bytes.fromhex(text)
