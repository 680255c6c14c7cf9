"""What sources have said of jobs and of planned work: the newest statement of each kind. Pure."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from controller.tasks.claims import order
from schemas.documents.maintenance import Maintenance
from schemas.documents.tasks.claims import Statement
from schemas.documents.tasks.job import Job
from schemas.documents.times import milliseconds_of, rfc3339_of_ms

S = TypeVar("S", bound=Statement)

#: Of work whose end is reported before its plan.
UNANNOUNCED = "ended before it was announced"


def newer(old: S | None, new: S) -> S:
    """The newer of two statements; ``old`` itself where the new one says nothing newer."""
    return new if old is None or order(new) > order(old) else old


def with_statements(job: Job, **statements: Statement) -> Job:
    """The job with newer statements (submitted, size, ended); the job itself without any."""
    changed = {
        name: statement
        for name, statement in statements.items()
        if newer(getattr(job, name), statement) is not getattr(job, name)
    }
    return msgspec.structs.replace(job, **changed) if changed else job


def planned(old: Maintenance | None, new: Maintenance) -> Maintenance:
    """The maintenance with a plan that may be newer. Both have equal component, from and fabric."""
    if old is None or new.planned is None:
        return old or new
    if old.planned is not None and newer(old.planned, new.planned) is old.planned:
        return old
    return _settled(msgspec.structs.replace(new, ended=old.ended))


def ended(
    old: Maintenance | None, component: str, start: str, fabric: str, by: Statement
) -> Maintenance:
    """The maintenance, over at the time of the statement; a later plan for the same start holds."""
    if old is None:
        old = Maintenance(
            component=component, start=start, until=_after(start), reason=UNANNOUNCED, fabric=fabric
        )
    if newer(old.ended, by) is old.ended:
        return old
    return _settled(msgspec.structs.replace(old, ended=by))


def _settled(work: Maintenance) -> Maintenance:
    """With the ``until`` that follows from its statements."""
    if work.planned is None:
        return work
    until = work.planned.until
    if work.ended is not None and order(work.ended) >= order(work.planned):
        over = max(milliseconds_of(work.ended.valid_from), milliseconds_of(_after(work.start)))
        until = rfc3339_of_ms(min(over, milliseconds_of(until)))
    return msgspec.structs.replace(work, until=until)


def _after(start: str) -> str:
    """The next millisecond: work of no length cannot be stated."""
    return rfc3339_of_ms(milliseconds_of(start) + 1)
