"""What a stream worker has done, for the api's /metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from localizer.suppression.log import CAUSES
from schemas import metrics, topics
from schemas.metrics import Sample

if TYPE_CHECKING:
    from streams.worker import StreamWorker

_DOCUMENTS: Final = (topics.INCIDENTS, topics.PLACEMENT, topics.MAINTENANCE)


def samples(worker: StreamWorker) -> Iterator[Sample]:
    """Counters of one worker; records in = judged + late + duplicate + dead_lettered + held."""
    tally = worker.ingest.tally
    for outcome in ("judged", "late", "duplicate", "dead_lettered"):
        yield Sample(metrics.STREAM_RECORDS, getattr(tally, outcome), (outcome,))
    yield Sample(metrics.STREAM_AHEAD, tally.ahead)
    yield Sample(metrics.STREAM_WINDOWING_FAILURES, worker.ingest.failures)
    for what, size in sorted(worker.ingest.sizes.items()):
        yield Sample(metrics.STREAM_WINDOWER_SIZE, size, (what,))
    yield Sample(metrics.STREAM_HELD, tally.held)
    for topic, missing in (
        (topics.PINGS, tally.gaps),
        (topics.HEARTBEATS, worker.heartbeats.missing),
        (topics.WINDOWS, worker.localize.missing),
    ):
        yield Sample(metrics.STREAM_MISSING, missing, (topic.name,))
    yield Sample(metrics.STREAM_REPEATED, worker.localize.repeated)
    yield Sample(metrics.STREAM_LAG, worker.lag_s)
    yield Sample(metrics.STREAM_CATCHING_UP, worker.catching_up)
    yield Sample(metrics.STREAM_COMMIT_STALLED, worker.commit_stalled)
    failing = worker.localize.failing()
    failures = worker.localize.failures
    for fabric in sorted({*failures, *failing}):
        yield Sample(metrics.STREAM_FABRIC_FAILURES, failures[fabric], (fabric,))
        yield Sample(metrics.STREAM_FABRIC_FAILING, fabric in failing, (fabric,))
    for what, size in worker.localize.sizes().items():
        yield Sample(metrics.STREAM_LOCALIZER_SIZE, size, (what,))
    yield Sample(metrics.STREAM_WAITING, worker.confluence.waiting_bytes)
    yield Sample(metrics.STREAM_STUCK, worker.confluence.stuck)
    yield Sample(metrics.STREAM_EARLY, worker.confluence.early)
    for topic, messages in (
        (topics.PINGS, tally.messages),
        (topics.HEARTBEATS, worker.heartbeats.received),
        (topics.WINDOWS, worker.localize.messages),
    ):
        yield Sample(metrics.STREAM_MESSAGES, messages, (topic.name,))
    for topic, dead in (
        (topics.HEARTBEATS, worker.heartbeats.dead_lettered),
        (topics.WINDOWS, worker.localize.dead_lettered),
        *((each, (worker.refused + worker.notices.refused)[each.name]) for each in _DOCUMENTS),
    ):
        yield Sample(metrics.STREAM_DEAD_LETTERS, dead, (topic.name,))
    yield Sample(metrics.STREAM_TWINS, worker.heartbeats.twins.count)
    yield Sample(metrics.STREAM_FINDINGS, worker.localize.incidents, ("incident",))
    yield Sample(metrics.STREAM_FINDINGS, worker.localize.anomalies, ("anomaly",))
    for reason, refused in worker.admission.refused.items():
        yield Sample(metrics.STREAM_REFUSED, refused, (reason,))
    for cause in CAUSES:
        yield Sample(metrics.STREAM_SUPPRESSED, worker.localize.suppressed[cause], (cause,))
