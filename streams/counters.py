"""The metrics of a stream worker, for /metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from localizer.suppression.log import CAUSES
from schemas import topics
from schemas.metrics import Sample
from schemas.metrics import stream as metrics

if TYPE_CHECKING:
    from streams.worker import StreamWorker

_DOCUMENTS: Final = (topics.INCIDENTS, topics.TOPOLOGY, topics.PLACEMENT, topics.MAINTENANCE)


def samples(worker: StreamWorker) -> Iterator[Sample]:
    """Metrics of one worker; records = judged + late + duplicate + dead_lettered + held."""
    records, localize = worker.ingest.counts, worker.localize.counts
    for outcome in ("judged", "late", "duplicate", "dead_lettered"):
        yield Sample(metrics.STREAM_RECORDS, getattr(records, outcome), (outcome,))
    yield Sample(metrics.STREAM_AHEAD, records.ahead)
    yield Sample(metrics.STREAM_WINDOWING_FAILURES, worker.ingest.failures)
    for what, size in sorted(worker.ingest.sizes.items()):
        yield Sample(metrics.STREAM_WINDOWER_SIZE, size, (what,))
    yield Sample(metrics.STREAM_HELD, records.held)
    for topic, missing in (
        (topics.PINGS, worker.ingest.missing),
        (topics.HEARTBEATS, worker.heartbeats.missing),
        (topics.WINDOWS, worker.localize.missing),
    ):
        yield Sample(metrics.STREAM_MISSING, missing, (topic.name,))
    yield Sample(metrics.STREAM_REPEATED, localize.repeated)
    yield Sample(metrics.STREAM_LATER, localize.later)
    yield Sample(metrics.STREAM_LAG, worker.lag_s)
    yield Sample(metrics.STREAM_CATCHING_UP, worker.catching_up)
    yield Sample(metrics.STREAM_COMMIT_STALLED, worker.commit_stalled)
    failing = worker.localize.failing()
    for fabric in sorted({*localize.failures, *failing}):
        yield Sample(metrics.STREAM_FABRIC_FAILURES, localize.failures[fabric], (fabric,))
        yield Sample(metrics.STREAM_FABRIC_FAILING, fabric in failing, (fabric,))
    for each in worker.localize.coverage():
        yield Sample(metrics.STREAM_UNCOVERED, each.uncovered, (each.fabric,))
        yield Sample(metrics.STREAM_UNTRACED, each.untraced, (each.fabric,))
    for what, size in worker.localize.sizes().items():
        yield Sample(metrics.STREAM_LOCALIZER_SIZE, size, (what,))
    yield Sample(metrics.STREAM_WAITING, worker.merger.buffered_bytes)
    yield Sample(metrics.STREAM_STUCK, worker.merger.stalled)
    yield Sample(metrics.STREAM_EARLY, worker.merger.early)
    for topic, messages in (
        (topics.PINGS, records.messages),
        (topics.HEARTBEATS, worker.heartbeats.received),
        (topics.WINDOWS, localize.messages),
    ):
        yield Sample(metrics.STREAM_MESSAGES, messages, (topic.name,))
    refused = worker.refused + worker.operator_feed.refused
    for topic, dead_lettered in (
        (topics.HEARTBEATS, worker.heartbeats.dead_lettered),
        (topics.WINDOWS, localize.dead_lettered),
        *((each, refused[each.name]) for each in _DOCUMENTS),
    ):
        yield Sample(metrics.STREAM_DEAD_LETTERS, dead_lettered, (topic.name,))
    yield Sample(metrics.STREAM_TWINS, worker.heartbeats.twins.count)
    yield Sample(metrics.STREAM_FINDINGS, localize.incidents, ("incident",))
    yield Sample(metrics.STREAM_FINDINGS, localize.anomalies, ("anomaly",))
    for reason, count in worker.admission.refused.items():
        yield Sample(metrics.STREAM_REFUSED, count, (reason,))
    for cause in CAUSES:
        yield Sample(metrics.STREAM_SUPPRESSED, localize.suppressed[cause], (cause,))
