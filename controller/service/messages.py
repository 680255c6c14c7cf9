"""Changed documents -> messages of the compacted topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from controller.tasks.tasks import Changes, Forgotten, WorkKey
from schemas import topics
from schemas.documents.maintenance import Maintenance
from schemas.documents.tasks import skeleton
from schemas.documents.tasks.skeleton import Skeleton
from schemas.limits import LIMITS


class Message(NamedTuple):
    """A document under its key; value None deletes the key."""

    topic: str
    key: str
    value: bytes | None


def of_changes(changes: Changes) -> Iterator[Message]:
    """One message for each changed document."""
    for job in changes.jobs:
        yield Message(topics.JOBS.name, job.job, msgspec.json.encode(job))
    for _, box in changes.containers:
        yield Message(topics.PLACEMENT.name, box.node_id, msgspec.json.encode(box))
    for work in changes.maintenance:
        yield Message(topics.MAINTENANCE.name, work.key, msgspec.json.encode(work))


#: Of a skeleton [B]; what a broker takes in one message has key and headers in it too.
_MOST_BYTES: Final = LIMITS.incident_bytes * 9 // 10


def of_skeleton(found: Skeleton, most_bytes: int = _MOST_BYTES) -> Iterator[Message]:
    """One message; without the pairs where it would be larger, and none where it still is."""
    for each in (found, msgspec.structs.replace(found, pairs=[])):
        if len(value := skeleton.encode(each)) <= most_bytes:
            yield Message(topics.SKELETONS.name, found.key, value)
            return


def of_forgotten_skeletons(jobs: Iterable[str], fabrics: Iterable[str]) -> Iterator[Message]:
    """Deletions: a job may have had containers in any fabric."""
    known = list(fabrics)
    for job in jobs:
        for fabric in known:
            yield Message(topics.SKELETONS.name, skeleton.key(fabric, job), None)


def of_forgotten(gone: Forgotten, works: Mapping[WorkKey, Maintenance]) -> Iterator[Message]:
    """Deletions. works: the documents as they were, since operators may have written a key."""
    for name in gone.jobs:
        yield Message(topics.JOBS.name, name, None)
    for node_id in gone.containers:
        yield Message(topics.PLACEMENT.name, node_id, None)
    for key in gone.maintenance:
        yield Message(topics.MAINTENANCE.name, works[key].key, None)
