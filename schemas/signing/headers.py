"""The headers of a signed message, and the reasons to refuse one.

A message on skh.pings or skh.heartbeats may carry these headers, UTF-8 text but for the last:

    sender        the host's serial number (node_sn)
    fabric        the fabric of the host
    key-id        the key that it is signed with
    signed-at     time of signing [ns since the epoch], decimal
    partition     the partition that the sender chose; absent when it did not choose one
    relay-client  container on whose behalf the host's relay sends; absent: the host itself
    relay-tenant  that container's tenant; absent: unknown
    signature     HMAC-SHA256, 32 bytes
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

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

#: Longest name in a header [B].
MAX_NAME_BYTES: Final = 256
_END_NS: Final = 2**63

UNSIGNED: Final = "unsigned"
BAD_SIGNATURE: Final = "bad_signature"
UNKNOWN_SENDER: Final = "unknown_sender"
FOREIGN_RECORD: Final = "foreign_record"
FUTURE: Final = "future"
REPLAYED: Final = "replayed"  # a copy of an earlier message: ignored, without a dead letter
REASONS: Final = (UNSIGNED, BAD_SIGNATURE, UNKNOWN_SENDER, FOREIGN_RECORD, FUTURE, REPLAYED)


class Refused(ValueError):
    """A message is not accepted as its sender's; the text is one line without the payload.

    reason  one of REASONS, the label under which it is counted
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Claim(NamedTuple):
    """What the headers of a message state about its sender.

    signed_at_ns    time of signing [ns since the epoch]
    client, tenant  container and tenant behind the host's relay; empty: the host itself
    """

    fabric: str
    sender: str
    key_id: str
    signed_at_ns: int
    client: str = ""
    tenant: str = ""

    def __str__(self) -> str:
        return f"{self.sender!r} of fabric {self.fabric!r}"


def read_claim(headers: Mapping[str, bytes]) -> tuple[Claim, bytes]:
    """What the headers state, *not yet verified*, and the chosen partition (b"": none).

    Raises Refused: UNSIGNED without a signature, BAD_SIGNATURE when a header is missing or invalid.
    """
    if SIGNATURE not in headers:
        raise Refused(UNSIGNED, "the message carries no signature")
    fabric, sender, key_id, client, tenant = (
        _text(headers, name) for name in (FABRIC, SENDER, KEY_ID, RELAY_CLIENT, RELAY_TENANT)
    )
    if not (fabric and sender and key_id):
        raise Refused(BAD_SIGNATURE, f"one of the headers {FABRIC}, {SENDER}, {KEY_ID} is missing")
    time = headers.get(SIGNED_AT, b"")
    if not (
        time.isdigit() and len(time) <= 19 and int(time) < _END_NS and time == b"%d" % int(time)
    ):
        raise Refused(BAD_SIGNATURE, f"header {SIGNED_AT} is not ns since the epoch")
    partition = headers.get(PARTITION, b"")
    if len(partition) > 10 or (partition and not partition.isdigit()):
        raise Refused(BAD_SIGNATURE, f"header {PARTITION} is not a partition")
    return Claim(fabric, sender, key_id, int(time), client, tenant), partition


def _text(headers: Mapping[str, bytes], name: str) -> str:
    raw = headers.get(name, b"")
    if len(raw) > MAX_NAME_BYTES:
        raise Refused(BAD_SIGNATURE, f"header {name} is longer than {MAX_NAME_BYTES} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Refused(BAD_SIGNATURE, f"header {name} is not UTF-8") from None
