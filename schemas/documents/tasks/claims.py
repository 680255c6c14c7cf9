"""What one source says of a container, a job or planned work; documents carry the newest of each.

State is decided from the claims of all sources (``controller.tasks``), so a document that carries
them is enough to go on after a restart.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from schemas.documents.times import seconds_of
from schemas.documents.topology import Endpoint

Source = Literal["file", "agent", "slurm", "kubernetes", "rest"]
State = Literal["starting", "ready", "draining", "gone"]

#: From the least to the most trusted: a file is a plan, an agent knows its own container only, a
#: scheduler places and evicts, and a request over REST is somebody's explicit word.
PRECEDENCE: Final[dict[Source, int]] = {
    "file": 0,
    "agent": 1,
    "slurm": 2,
    "kubernetes": 3,
    "rest": 4,
}


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One source's newest word that a container is in a state since ``valid_from`` (RFC 3339).

    key          idempotency key of the event
    node_sn ...  what the source knows of the container; a field left empty says nothing
    """

    source: Source
    state: State
    valid_from: str
    key: str = ""
    fabric: str = ""
    node_sn: str = ""
    job: str = ""
    tenant: str = ""
    endpoints: list[Endpoint] = []

    def __post_init__(self) -> None:
        seconds_of(self.valid_from)


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who said something that holds from ``valid_from`` (RFC 3339) on."""

    source: Source
    valid_from: str
    key: str = ""

    def __post_init__(self) -> None:
        seconds_of(self.valid_from)
