"""skh.jobs: a training job as its sources have announced it; compacted by job.

Its containers are in ``skh.placement``.
"""

from __future__ import annotations

import msgspec

from schemas.documents.decoding import decode
from schemas.documents.ping import DEFAULT_FABRIC
from schemas.documents.tasks.claims import Statement


class Submission(Statement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The job was submitted. skeleton: False where its pairs must not be inferred."""

    fabric: str = DEFAULT_FABRIC
    tenant: str = ""
    skeleton: bool = True


class Size(Statement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From then on the job has so many containers when it is complete."""

    containers: int


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job: its newest submission, size and end; each None while it is not known."""

    job: str
    submitted: Submission | None = None
    size: Size | None = None
    ended: Statement | None = None

    def __post_init__(self) -> None:
        if not self.job:
            raise ValueError("job: the name is empty")


def parse(raw: bytes) -> Job:
    """Decode one document; raises DocumentError (a ValueError) of one line."""
    return decode(raw, Job)
