"""Which messages a relay passes on, and the key and headers that it gives them. No I/O."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

from probers.publishing.frames import Frame
from schemas import topics
from schemas.signing.headers import HEADERS, RELAY_CLIENT, RELAY_TENANT

Headers = dict[str, bytes]

RELAYED_BY: Final = "relayed-by"  # header: the host that vouches for the message
AGENT_TOPICS: Final = frozenset({topics.PINGS.name, topics.HEARTBEATS.name, topics.EVIDENCE.name})


class ClientIdentity(NamedTuple):
    """The container, and its tenant, that a socket belongs to; an empty tenant is not checked."""

    node_id: str
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Stamping:
    """The rules of one relay socket.

    node_sn  the relay's own host: becomes the key and the header relayed-by of every message,
             whatever the sender wrote. None: keys and signatures are passed on unchanged
    client   the one container that the socket is for: stamped on every message, so that the
             analyzer accepts records of that container only, and the controller its evidence
             about its own endpoints only. Its heartbeats are dropped: they speak for the host
    """

    node_sn: str | None
    client: ClientIdentity | None
    allowed_topics: frozenset[str]

    def apply(self, frame: Frame, counts: Counter[str]) -> tuple[str, Headers] | None:
        """Key and headers of the message; None: it is dropped, the reason is in ``counts``."""
        if frame.topic not in self.allowed_topics:
            counts["forbidden-topic"] += 1
            return None
        if self.client is not None and frame.topic == topics.HEARTBEATS.name:
            counts["client-heartbeat"] += 1
            return None
        headers: Headers = {topics.CONTENT_TYPE: frame.content_type.encode()}
        key = frame.key
        if self.node_sn is not None:
            key = self.node_sn
            headers[RELAYED_BY] = key.encode()
        else:
            headers |= {n: value for n, value in frame.headers.items() if n in HEADERS}
        if self.client is not None:
            headers[RELAY_CLIENT] = self.client.node_id.encode()
            if self.client.tenant:
                headers[RELAY_TENANT] = self.client.tenant.encode()
        return key, headers
