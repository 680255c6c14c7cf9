"""Signing and verifying a message.

The signature is an HMAC-SHA256 with the host's key over VERSION, topic, partition, fabric, sender,
key-id, signed-at, content-type, relay-client, relay-tenant and the SHA-256 of the payload, each
preceded by its length (4 bytes, big-endian), an absent one as an empty text. So no two different
messages have the same encoding, and a signature holds for one topic, and for one partition where
the sender chose it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

from schemas import topics
from schemas.signing.headers import (
    BAD_SIGNATURE,
    FABRIC,
    KEY_ID,
    PARTITION,
    RELAY_CLIENT,
    RELAY_TENANT,
    SENDER,
    SIGNATURE,
    SIGNED_AT,
    UNKNOWN_SENDER,
    Claim,
    Refused,
    read_claim,
)
from schemas.signing.keys import HostKey, KeyRing, length_prefixed

VERSION: Final = b"skeletonhunter message 1"


def sign(
    key: HostKey,
    topic: str,
    content_type: str,
    payload: bytes,
    signed_at_ns: int,
    *,
    partition: int | None = None,
    client: str = "",
    tenant: str = "",
) -> dict[str, bytes]:
    """The headers of a message of that host, content-type included.

    signed_at_ns    now [ns since the epoch]
    partition       where it will be produced, when that is known
    client, tenant  of the relay's client, when it is not the host's own message
    """
    headers = {
        topics.CONTENT_TYPE: content_type.encode(),
        SENDER: key.node_sn.encode(),
        FABRIC: key.fabric.encode(),
        KEY_ID: key.key_id.encode(),
        SIGNED_AT: b"%d" % signed_at_ns,
    }
    chosen = b"" if partition is None else b"%d" % partition
    for name, value in (
        (PARTITION, chosen), (RELAY_CLIENT, client.encode()), (RELAY_TENANT, tenant.encode())
    ):  # fmt: skip
        if value:
            headers[name] = value
    claim = Claim(key.fabric, key.node_sn, key.key_id, signed_at_ns, client, tenant)
    headers[SIGNATURE] = _signature(key.secret, topic, chosen, claim, headers, payload)
    return headers


def verify(
    ring: KeyRing, topic: str, partition: int, headers: Mapping[str, bytes], payload: bytes
) -> Claim:
    """Who sent a message. Raises Refused: UNSIGNED, UNKNOWN_SENDER or BAD_SIGNATURE.

    partition  that the message was read from
    """
    claim, chosen = read_claim(headers)
    secret = ring.secret(claim.fabric, claim.sender, claim.key_id)
    if secret is None:
        raise Refused(UNKNOWN_SENDER, f"the key ring has no key {claim.key_id!r} for {claim}")
    signature = _signature(secret, topic, chosen, claim, headers, payload)
    if not hmac.compare_digest(signature, headers[SIGNATURE]):
        raise Refused(BAD_SIGNATURE, f"the signature is not {claim}'s")
    if chosen and chosen != b"%d" % partition:
        raise Refused(BAD_SIGNATURE, f"{claim} signed it for partition {chosen.decode()} only")
    ring.cache(claim.fabric, claim.sender, claim.key_id, secret)
    return claim


def _signature(
    secret: bytes,
    topic: str,
    chosen: bytes,
    claim: Claim,
    headers: Mapping[str, bytes],
    payload: bytes,
) -> bytes:
    fields = length_prefixed(
        VERSION,
        topic.encode(),
        chosen,
        claim.fabric.encode(),
        claim.sender.encode(),
        claim.key_id.encode(),
        b"%d" % claim.signed_at_ns,
        headers.get(topics.CONTENT_TYPE, b""),
        claim.client.encode(),
        claim.tenant.encode(),
        hashlib.sha256(payload).digest(),
    )
    return hmac.digest(secret, fields, "sha256")
