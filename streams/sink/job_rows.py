"""Jobs and their skeletons -> rows. Pure; BadMessage as in ``streams.sink.rows``."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.documents.tasks import job as jobs
from schemas.documents.tasks import skeleton as skeletons
from schemas.documents.times import milliseconds_of
from schemas.limits import LIMITS
from streams.sink.rows import BadMessage

_MILLISECONDS: Final = pa.timestamp("ms", "UTC")
_TEXTS: Final = pa.list_(pa.string())
_NUMBERS: Final = pa.list_(pa.int32())
_LAST_MS: Final = 1000 * 2**32  # as other times of the store
_MOST: Final = 2**31 - 1

_JOB: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("job", "fabric", "tenant", "submitted_by", "ended_by")),
        ("containers", pa.uint32()),
        ("skeleton", pa.bool_()),
        *((name, _MILLISECONDS) for name in ("submitted", "ended", "updated")),
    ]
)
_SKELETON: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("fabric", "job", "declined")),
        ("since", _MILLISECONDS),
        ("until", _MILLISECONDS),
        *((name, pa.uint32()) for name in ("period_s", "dp", "tp_pp", "stages", "unresolved")),
        *((name, pa.float32()) for name in ("confidence", "fidelity", "targets")),
        ("later_s", pa.list_(pa.float32())),
        *((name, _TEXTS) for name in ("hosts", "rnics")),
        *((name, _NUMBERS) for name in ("clusters", "stage_of", "experts")),
        ("exceptions", pa.list_(pa.bool_())),
        *((name, _TEXTS) for name in ("pairs_a", "pairs_b")),
    ]
)


def job(raw: bytes, time_ms: int) -> pa.Table:
    """One row of ``jobs`` from a message that arrived at ``time_ms``; raises BadMessage."""
    if len(raw) > LIMITS.document_bytes:
        raise BadMessage(f"job of {len(raw)} B; it may have {LIMITS.document_bytes} B")
    try:
        known = jobs.parse(raw)
    except ValueError as why:
        raise BadMessage(f"job: {why}") from why
    submitted, size, ended = known.submitted, known.size, known.ended
    return pa.Table.from_pylist([{
        "job": known.job,
        "fabric": submitted.fabric if submitted else "",
        "tenant": submitted.tenant if submitted else "",
        "skeleton": submitted.skeleton if submitted else True,
        "submitted": _time(submitted.valid_from) if submitted else None,
        "submitted_by": submitted.source if submitted else "",
        "containers": min(max(size.containers, 0), _MOST) if size else 0,
        "ended": _time(ended.valid_from) if ended else None,
        "ended_by": ended.source if ended else "",
        "updated": time_ms,
    }], _JOB)  # fmt: skip


def skeleton(raw: bytes) -> pa.Table:
    """One row of ``job_skeletons``; raises BadMessage."""
    if len(raw) > LIMITS.incident_bytes:
        raise BadMessage(f"skeleton of {len(raw)} B; it may have {LIMITS.incident_bytes} B")
    try:
        found = skeletons.parse(raw)
    except ValueError as why:
        raise BadMessage(f"skeleton: {why}") from why
    counts = {name: getattr(found, name) for name in ("period_s", "dp", "tp_pp", "stages",
                                                      "unresolved")}  # fmt: skip
    for name, value in counts.items():
        if not 0 <= value <= _MOST:
            raise BadMessage(f"skeleton: {name} is {value}")
    return pa.Table.from_pylist([{
        **counts, "fabric": found.fabric, "job": found.job, "declined": found.declined or "",
        "since": _time(found.start), "until": _time(found.end),
        "confidence": found.confidence, "fidelity": found.fidelity, "targets": found.targets,
        "later_s": found.later_s,
        "hosts": [each.node_sn for each in found.rnics],
        "rnics": [each.real_ip for each in found.rnics],
        "clusters": [_number(each.cluster) for each in found.rnics],
        "stage_of": [_number(each.stage) for each in found.rnics],
        "experts": [_number(each.expert) for each in found.rnics],
        "exceptions": [each.exception for each in found.rnics],
        "pairs_a": [a for a, _ in found.pairs], "pairs_b": [b for _, b in found.pairs],
    }], _SKELETON)  # fmt: skip


def _number(value: int | None) -> int:
    """-1: not known."""
    return -1 if value is None or not 0 <= value <= _MOST else value


def _time(text: str) -> int:
    found = milliseconds_of(text)
    if not 0 <= found < _LAST_MS:
        raise BadMessage(f"time {text!r} is not of our age")
    return found
