"""Parameters of the operator feed and of hosts' evidence: how much is held, and how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from schemas.parameters.parameter import parameter


@dataclass(frozen=True, slots=True)
class OperatorFeedParameters:
    """What is retained of placements, maintenance and topologies.

    versions       documents of one key that are retained
    retention_s    event time that a document that is over is retained for
    evict_every_s  event time from one eviction to the next
    letters        dead letters that wait to be published
    lettered       documents that had a dead letter in this process
    """

    versions: int = parameter(
        8, unit="documents",
        source="chosen: a container's last states matter to seconds that are judged late",
    )  # fmt: skip
    retention_s: int = parameter(3600, unit="s", source="chosen: as long as in a localizer")
    evict_every_s: int = parameter(60, unit="s", source="chosen: far below retention_s")
    letters: int = parameter(64, unit="messages", source="chosen: bounds the memory")
    lettered: int = parameter(65_536, unit="documents", source="chosen: bounds the memory")


OPERATOR_FEED: Final = OperatorFeedParameters()


@dataclass(frozen=True, slots=True)
class HostEvidenceParameters:
    """What is retained of the evidence of hosts.

    known  documents for localizers that are made later
    tail   newest messages of a partition that are read at the start
    """

    known: int = parameter(256, unit="documents", source="chosen: as many as a localizer holds")
    tail: int = parameter(
        1_000, unit="messages", source="chosen: more than hosts answer while an incident is open"
    )


HOST_EVIDENCE: Final = HostEvidenceParameters()
