"""Accepts messages and records that are their sender's own, and refuses the others. No I/O.

The stream worker and the sink use this class on the same messages, so a record that one refuses as
a dead letter is never stored as a good record by the other. The decision depends on the message,
the key ring and the topology only, not on earlier messages or on the reader's clock. Replayed
messages are the exception: the stream worker drops them; for the sink they are the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from schemas import topics
from schemas.documents import heartbeat
from schemas.documents.heartbeat import Heartbeat
from schemas.signing.headers import (
    BAD_SIGNATURE,
    FABRIC,
    FOREIGN_RECORD,
    FUTURE,
    REASONS,
    REPLAYED,
    SENDER,
    SIGNATURE,
    UNSIGNED,
    Claim,
    Refused,
)
from schemas.signing.keys import KeyRing
from schemas.signing.signature import verify
from schemas.wire.batches import BadRow, Joined, decode_all, refused
from schemas.wire.decoded import CodecError
from streams.admission.foreign import foreign
from streams.admission.ownership import Ownership
from streams.admission.parameters import DEFAULT
from streams.admission.replays import Replays
from streams.kafka.messages import InMessage

_NS: Final = 1_000_000_000


class Admission:
    """Decides for every message of skh.pings and skh.heartbeats, and counts what it refuses.

    ring      the key ring of this moment; None: there is none, and no signature is asked for
    unsigned  whether messages without a signature are accepted although there is a key ring
    refused   reason -> messages and records refused; see schemas.metrics.STREAM_REFUSED
    """

    def __init__(
        self,
        ring: Callable[[], KeyRing | None] | None = None,
        *,
        unsigned: bool = False,
        ownership: Ownership | None = None,
    ) -> None:
        self._ring = ring or (lambda: None)
        self._unsigned = unsigned
        self._ownership = ownership or Ownership()
        self.refused: Counter[str] = Counter(dict.fromkeys(REASONS, 0))

    def signed(self, message: InMessage) -> bool:
        """Whether an accepted message is known to be its sender's."""
        return self._ring() is not None and SIGNATURE in message.headers

    def sender(self, message: InMessage) -> str:
        """The sender of an accepted message, as an opaque name: its signer, else its Kafka key."""
        if self.signed(message):
            return f"{message.header(FABRIC)}/{message.header(SENDER)}"
        return message.key.decode("utf-8", "replace")

    def senders(self, messages: Sequence[InMessage]) -> tuple[list[str], list[bool]]:
        """``sender`` and ``signed`` of each of some accepted messages."""
        if self._ring() is None:
            return [each.key.decode("utf-8", "replace") for each in messages], [False] * len(
                messages
            )
        return [*map(self.sender, messages)], [*map(self.signed, messages)]

    def pings(
        self,
        messages: Sequence[InMessage],
        partitions: Sequence[int],
        replays: Mapping[int, Replays] | None = None,
    ) -> Joined:
        """``schemas.wire.batches.decode_all`` of messages of skh.pings, without what is refused.

        partitions  where each message lies
        replays     of each partition: repeated messages are dropped, and counted as replayed
        A refused message is among ``errors``, a record of another sender among ``rejects``.
        """
        claims: list[Claim | None] = []
        taken: list[int] = []
        errors: list[tuple[int, CodecError]] = []
        for index, message in enumerate(messages):
            try:
                claim = self._admit(topics.PINGS.name, partitions[index], message)
                if (
                    claim is not None
                    and replays is not None
                    and replays[partitions[index]].repeated(
                        claim, message.headers[SIGNATURE], message.time_ms * 1_000_000
                    )
                ):
                    self.refused[REPLAYED] += 1
                    continue
                claims.append(claim)
                taken.append(index)
            except Refused as why:
                self.refused[why.reason] += 1
                errors.append((index, CodecError(str(why))))
        joined = decode_all(
            [(messages[i].value, messages[i].header(topics.CONTENT_TYPE)) for i in taken]
        )
        batch, of, row = joined.batch, joined.message, joined.row
        others = foreign(batch, of, claims, self._ownership)
        self.refused[FOREIGN_RECORD] += len(others)
        bad = [BadRow(*each, f"{each.column}: a record of another sender") for each in others]
        rejects = [*joined.rejects, *refused(batch, of, row, bad)]
        if others:
            mine = np.ones(batch.num_rows, bool)
            mine[[each.row for each in others]] = False
            batch, of, row = batch.filter(pa.array(mine)), of[mine], row[mine]
        at = np.array(taken, np.int64)
        return Joined(
            batch,
            at[of] if len(of) else of,
            row,
            sorted(((taken[i], reject) for i, reject in rejects), key=lambda r: (r[0], r[1].row)),
            sorted([*errors, *((taken[i], why) for i, why in joined.errors)], key=lambda e: e[0]),
        )

    def claim(self, topic: str, message: InMessage, partition: int) -> Claim | None:
        """Who sent a message of another topic; None where no signature is needed.

        Raises Refused. What the message says must be compared with the claim by the caller.
        """
        try:
            return self._admit(topic, partition, message)
        except Refused as why:
            self.refused[why.reason] += 1
            raise

    def heartbeat(self, message: InMessage, partition: int) -> Heartbeat:
        """The heartbeat in a message of skh.heartbeats.

        Raises Refused, and what ``schemas.documents.heartbeat.decode`` raises.
        """
        try:
            claim = self._admit(topics.HEARTBEATS.name, partition, message)
            beat = heartbeat.decode(message.value)
            if claim is not None:
                _check_heartbeat(beat, claim, message)
        except Refused as why:
            self.refused[why.reason] += 1
            raise
        return beat

    def _admit(self, topic: str, partition: int, message: InMessage) -> Claim | None:
        ring = self._ring()
        if ring is None:
            return None
        try:
            claim = verify(ring, topic, partition, message.headers, message.value)
        except Refused as why:
            if why.reason == UNSIGNED and self._unsigned:
                return None
            raise
        ahead_s = claim.signed_at_ns / _NS - message.time_ms / 1000
        if ahead_s > DEFAULT.future_s:
            raise Refused(
                FUTURE,
                f"{claim.sender!r} signed it {ahead_s:.0f} s ahead of the broker's clock; "
                "set the clock of that host",
            )
        if message.key != claim.sender.encode():
            raise Refused(
                BAD_SIGNATURE,
                f"its Kafka key {message.key[:64]!r} is not its sender {claim.sender!r}",
            )
        return claim


def _check_heartbeat(beat: Heartbeat, claim: Claim, message: InMessage) -> None:
    if beat.node_sn != claim.sender or beat.fabric != claim.fabric:
        raise Refused(
            FOREIGN_RECORD,
            f"a heartbeat of {beat.node_sn[:256]!r} of fabric {beat.fabric[:256]!r} "
            f"from {claim.sender!r} of fabric {claim.fabric!r}",
        )
    if claim.client:
        raise Refused(
            FOREIGN_RECORD,
            f"a heartbeat of host {claim.sender!r} from its container {claim.client!r}",
        )
    ahead_s = beat.time / _NS - message.time_ms / 1000
    if ahead_s > DEFAULT.future_s:
        raise Refused(
            FUTURE, f"a heartbeat of {claim.sender!r} {ahead_s:.0f} s ahead of the broker's clock"
        )
