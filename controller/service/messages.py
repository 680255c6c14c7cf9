"""Changed documents -> messages of the compacted topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from controller.tasks.tasks import Changes, Forgotten, WorkKey
from schemas import topics
from schemas.documents.maintenance import Maintenance


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


def of_forgotten(gone: Forgotten, works: Mapping[WorkKey, Maintenance]) -> Iterator[Message]:
    """Deletions. works: the documents as they were, since operators may have written a key."""
    for name in gone.jobs:
        yield Message(topics.JOBS.name, name, None)
    for node_id in gone.containers:
        yield Message(topics.PLACEMENT.name, node_id, None)
    for key in gone.maintenance:
        yield Message(topics.MAINTENANCE.name, works[key].key, None)
