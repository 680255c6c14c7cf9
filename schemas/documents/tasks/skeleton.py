"""The traffic skeleton of a job: ``skh.skeletons``, and what ``skeletonhunter skeleton --json``
prints.

It says which pairs of rnics may carry traffic of the job, a superset of those that do, and in which
position of the job each rnic is. It must not be used where ``declined`` gives a reason.
"""

from __future__ import annotations

import msgspec

from schemas.documents.decoding import decode
from schemas.documents.times import seconds_of


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """An rnic in its job.

    cluster    replicas of a position share it; null where none was found
    stage      pipeline stage in the order of bursts, 0 first; null where none was found
    expert     rnics of a number exchange tokens of experts; null where no group was seen
    exception  whether the rnic fits its cluster badly: a straggler, or a wrong assignment
    """

    node_sn: str
    real_ip: str
    cluster: int | None = None
    stage: int | None = None
    expert: int | None = None
    exception: bool = False


class Skeleton(msgspec.Struct, frozen=True, kw_only=True):
    """The skeleton of one job.

    job         "" where it is not known: rnics that share a rhythm
    declined    why there is no skeleton to use; null = it may be used
    start, end  of the throughput that was read, RFC 3339 UTC
    period_s    length of a round [s]
    dp          rnics of a position; tp_pp: positions; stages: pipeline stages that are told apart
    unresolved  positions that share a cluster with others
    later_s     how much later than the first each group of hosts bursts [s]
    confidence, fidelity  0..1
    targets     mean number of other rnics that an rnic may exchange traffic with
    pairs       [real_ip, real_ip], either direction; on the topic left out where they are too many
                for a message
    """

    fabric: str
    job: str
    declined: str | None
    start: str
    end: str
    period_s: int
    dp: int
    tp_pp: int
    stages: int
    unresolved: int
    later_s: list[float]
    confidence: float
    fidelity: float
    targets: float
    rnics: list[Position]
    pairs: list[tuple[str, str]]

    def __post_init__(self) -> None:
        seconds_of(self.start)
        seconds_of(self.end)

    @property
    def key(self) -> str:
        """Key of its message on the topic."""
        return key(self.fabric, self.job)


def key(fabric: str, job: str) -> str:
    """Key on the topic of a job's skeleton."""
    return f"{fabric} {job}"


def parse(raw: bytes) -> Skeleton:
    """Decode one document; raises DocumentError (a ValueError) of one line."""
    return decode(raw, Skeleton)


def encode(document: Skeleton) -> bytes:
    """One line of JSON, without its end."""
    return msgspec.json.encode(document)
