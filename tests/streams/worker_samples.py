"""A stream worker without a broker, as far as its counters go."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from streams.admission.admission import Admission
from streams.admission.twins import Twins
from streams.localize.operator_feed import OperatorFeed
from streams.localize.stage import LocalizeStage
from streams.windowing.record_counts import RecordCounts


def worker_of(stage: LocalizeStage, notices: OperatorFeed) -> Any:
    """One that has a localize stage and has read nothing else."""
    return SimpleNamespace(
        localize=stage,
        notices=notices,
        admission=Admission(),
        ingest=SimpleNamespace(tally=RecordCounts(), failures=0, sizes=Counter()),
        heartbeats=SimpleNamespace(received=0, missing=0, dead_lettered=0, twins=Twins()),
        confluence=SimpleNamespace(waiting_bytes=0, stuck=0, early=0),
        refused=Counter(),
        lag_s=0.0,
        catching_up=False,
        commit_stalled=0,
    )
