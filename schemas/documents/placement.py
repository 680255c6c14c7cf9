"""skh.placement: where a container runs and for which job; compacted by container.

Only verdicts on ``ready`` containers are reported: probes of a container that is starting, draining
or gone, or that has left the host, do not reflect the network. A container without a document
counts as ready.
A file of them (``diagnose --placement``) is NDJSON or a JSON array.
"""

from __future__ import annotations

import msgspec

from schemas.documents.decoding import decode
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.tasks.claims import Claim, State
from schemas.documents.times import seconds_of
from schemas.documents.topology import Endpoint


class Placement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A container from ``valid_from`` on (RFC 3339 UTC), until the next document of its node_id.

    claims  of the sources from which the controller decided the state; may be left out
    """

    node_id: str
    node_sn: str
    state: State
    valid_from: str
    fabric: str = DEFAULT_FABRIC
    job: str = ""
    tenant: str = ""
    endpoints: list[Endpoint] = []
    claims: list[Claim] = []

    def __post_init__(self) -> None:
        if not self.node_id or "|" in self.node_id:
            raise ValueError(f"placement: node_id {self.node_id!r} is empty or holds '|'")
        if not self.node_sn and self.state != "gone":
            raise ValueError(f"placement of {self.node_id}: node_sn is empty; name its host")
        if not self.fabric:
            raise ValueError(f"placement of {self.node_id}: fabric is empty; leave it out")
        try:
            seconds_of(self.valid_from)
        except ValueError as why:
            raise ValueError(f"placement of {self.node_id}: valid_from: {why}") from None


def parse(raw: bytes) -> Placement:
    """Decode one document; raises DocumentError (a ValueError) of one line."""
    return decode(raw, Placement)
