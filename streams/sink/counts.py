"""The metrics of a sink, for /metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from schemas.metrics import Sample
from schemas.metrics import sink as metrics
from streams.sink.batch import ReadCounts


@dataclass(slots=True)
class SinkCounts:
    """What a sink has done since it started; see schemas.metrics for the meaning.

    rows, inserts  by table; insert_s: time spent inserting [s]
    lag            by topic and partition, messages that are not stored [count]
    """

    rows: Counter[str] = field(default_factory=Counter)
    inserts: Counter[str] = field(default_factory=Counter)
    insert_s: float = 0.0
    failures: int = 0
    commit_failures: int = 0
    rebalances: int = 0
    lag: dict[tuple[str, int], int] = field(default_factory=dict)

    def samples(self, read: ReadCounts, *, waiting: bool) -> Iterator[Sample]:
        """Metrics; waiting: ClickHouse or the broker is not available just now."""
        for metric, values in (
            (metrics.SINK_MESSAGES, read.messages),
            (metrics.SINK_DEAD_LETTERS, read.dead_letters),
            (metrics.SINK_MISSING, read.missing),
            (metrics.SINK_ROWS, self.rows),
            (metrics.SINK_INSERTS, self.inserts),
        ):
            for label, value in sorted(dict(values).items()):
                yield Sample(metric, value, (label,))
        lag: Counter[str] = Counter()
        for (topic, _), behind in list(self.lag.items()):
            lag[topic] += behind
        for topic, behind in sorted(lag.items()):
            yield Sample(metrics.SINK_LAG, behind, (topic,))
        yield Sample(metrics.SINK_INSERT_SECONDS, self.insert_s)
        yield Sample(metrics.SINK_INSERT_FAILURES, self.failures)
        yield Sample(metrics.SINK_COMMIT_FAILURES, self.commit_failures)
        yield Sample(metrics.SINK_REBALANCES, self.rebalances)
        yield Sample(metrics.SINK_WAITING, waiting)
