"""The registry of parameters of messages, of the stream stages and of the localizer."""

from __future__ import annotations

from localizer import parameters as localizer
from schemas.limits import LIMITS
from streams import dead_letters, replay_coverage
from streams.admission import parameters as admission
from streams.kafka.faust_client import batches
from streams.localize import failures, plausible_times, retention
from streams.merge import parameters as merge
from streams.readers import parameters as readers
from streams.sink import parameters as sink
from streams.windowing import partition
from streams.windowing.path_quota import Quota


def groups() -> dict[str, object]:
    """Name -> instance with the values in force."""
    return {
        "schemas.limits": LIMITS,
        "streams.admission": admission.DEFAULT,
        "streams.windowing.quota": Quota(),
        "streams.windowing.partition": partition.DEFAULT,
        "streams.ingest": merge.INGEST,
        "streams.ingest.batches": batches.DEFAULT,
        "streams.heartbeats": merge.HEARTBEATS,
        "streams.merge": merge.MERGE,
        "streams.localize.retention": retention.RETENTION,
        "streams.localize.plausible_times": plausible_times.DEFAULT,
        "streams.localize.failures": failures.FAILURES,
        "streams.readers": readers.OPERATOR_FEED,
        "streams.readers.host_evidence": readers.HOST_EVIDENCE,
        "streams.sink": sink.DEFAULT,
        "streams.dead_letters": dead_letters.DEFAULT,
        "streams.replay_coverage": replay_coverage.DEFAULT,
        **localizer.groups(),
    }
