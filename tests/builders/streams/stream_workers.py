"""A stream worker without a broker, as far as its metrics go."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from streams.admission.admission import Admission
from streams.admission.twins import Twins
from streams.localize.stage import LocalizeStage
from streams.readers.operator_feed import OperatorFeed
from streams.windowing.record_counts import RecordCounts


def worker_of(stage: LocalizeStage, operator_feed: OperatorFeed) -> Any:
    """A worker that has a localizing stage and has read nothing else."""
    return SimpleNamespace(
        localize=stage,
        operator_feed=operator_feed,
        admission=Admission(),
        ingest=SimpleNamespace(counts=RecordCounts(), failures=0, sizes=Counter(), missing=0),
        heartbeats=SimpleNamespace(received=0, missing=0, dead_lettered=0, twins=Twins()),
        merger=SimpleNamespace(buffered_bytes=0, stalled=0, early=0),
        refused=Counter(),
        lag_s=0.0,
        catching_up=False,
        commit_stalled=0,
    )
