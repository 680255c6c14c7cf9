"""How far judging is, how much comes in, and what was lost on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from api.documents import finite
from api.queries.database import DatabaseRefused, Store
from api.site_documents import (
    DeadLetterCount,
    FabricProgress,
    PipelineView,
    ProcessMetric,
    Rates,
    TableSize,
)
from schemas.documents.times import rfc3339_of_ms
from schemas.metrics import Sample, Source, sink, stream

_RATE_S: Final = 1800
_PROGRESS: Final = (
    "SELECT fabric, toUnixTimestamp(max(window_end)) AS newest,"
    " toUnixTimestamp(now()) - newest AS age,"
    " quantileIf(0.5)(toInt64(toUnixTimestamp(ingested_at)) - toUnixTimestamp(window_end),"
    " ingested_at > now() - 300) AS lag, uniqIf(path_id, ingested_at > now() - 300) AS paths"
    " FROM path_windows WHERE ingested_at > now() - 3600 GROUP BY fabric ORDER BY fabric LIMIT 64"
)
_RATES: Final = (
    "WITH (SELECT toUnixTimestamp(max(window_end)) FROM path_windows"  # noqa: S608  # fixed
    " WHERE ingested_at > now() - 3600) AS newest"
    " SELECT toUnixTimestamp(toStartOfMinute(window_start)) AS at, sum(w.records) AS all_records,"
    " sum(w.sent) AS all_sent FROM path_windows AS w WHERE ingested_at > now() - 7200"
    f" AND window_start >= toDateTime(newest - {_RATE_S})"
    " AND toUnixTimestamp(window_start) % 30 = 0 GROUP BY at ORDER BY at"
)
_DEAD: Final = (
    "SELECT topic, if(length(reason) > 120, concat(substringUTF8(reason, 1, 117), '...'), reason)"
    " AS why, sum(letters.count) AS records, toUnixTimestamp(max(ingested_at)) AS newest"
    " FROM dead_letters AS letters FINAL WHERE ingested_at > now() - 86400"
    " GROUP BY topic, why ORDER BY records DESC, topic, why LIMIT 50"
)
_TABLES: Final = (
    "SELECT table, sum(rows) AS all_rows, sum(bytes_on_disk) AS bytes FROM system.parts"
    " WHERE active AND database = currentDatabase() GROUP BY table ORDER BY bytes DESC, table"
)
#: Metrics of this process that say how the pipeline is.
_SHOWN: Final = (
    stream.STREAM_LAG, stream.STREAM_CATCHING_UP, stream.STREAM_STUCK, stream.STREAM_RECORDS,
    stream.STREAM_AHEAD, stream.STREAM_MESSAGES, stream.STREAM_MISSING, stream.STREAM_REPEATED,
    stream.STREAM_EARLY, stream.STREAM_DEAD_LETTERS, stream.STREAM_REFUSED,
    stream.STREAM_SUPPRESSED, sink.SINK_MESSAGES, sink.SINK_MISSING, sink.SINK_LAG, sink.SINK_ROWS,
    sink.SINK_DEAD_LETTERS, sink.SINK_INSERT_FAILURES, sink.SINK_WAITING,
)  # fmt: skip
_NO_STREAM: Final = (
    "Late and duplicate records, what the broker deleted unread, and the lag of verdicts: this"
    " process has no stream worker; ask /metrics of `skeletonhunter stream` (port 8767)."
)
_NO_SINK: Final = (
    "Messages that are not stored yet or were deleted unread: this process has no sink; ask"
    " /metrics of `skeletonhunter sink` (port 8768)."
)
_NO_TABLES: Final = "Sizes of the tables: this user of the database may not read system.parts."
_NO_WINDOWS: Final = "How far judging is: no window was stored in the last hour."


def pipeline(store: Store, sources: Sequence[Source]) -> PipelineView:
    """What tables and this process know.

    sources  of metrics of this process
    """
    process = [*_process(sample for source in sources for sample in source())]
    names = {each.name for each in process}
    fabrics = [
        FabricProgress(
            fabric=row["fabric"], watermark=rfc3339_of_ms(1000 * int(row["newest"])),
            age_s=float(row["age"]), stored_lag_s=finite(row["lag"]), paths=int(row["paths"]),
        )
        for row in store.rows(_PROGRESS)
    ]  # fmt: skip
    rates = store.rows(_RATES) if fabrics else []
    tables = _tables(store)
    unknown = [
        text for text, known in (
            (_NO_WINDOWS, fabrics), (_NO_STREAM, stream.STREAM_RECORDS.name in names),
            (_NO_SINK, sink.SINK_WAITING.name in names), (_NO_TABLES, tables),
        ) if not known
    ]  # fmt: skip
    return PipelineView(
        fabrics=fabrics,
        rates=Rates(
            times=[int(row["at"]) for row in rates],
            records=[int(row["all_records"]) for row in rates],
            probes=[int(row["all_sent"]) for row in rates],
        ),
        dead_letters=[
            DeadLetterCount(
                topic=row["topic"], reason=row["why"], records=int(row["records"]),
                newest=rfc3339_of_ms(1000 * int(row["newest"])),
            )
            for row in store.rows(_DEAD)
        ],
        tables=tables, process=process, unknown=unknown,
    )  # fmt: skip


def _process(samples: Iterable[Sample]) -> Iterable[ProcessMetric]:
    for metric, value, labels in samples:
        if metric in _SHOWN:
            yield ProcessMetric(
                metric.name, dict(zip(metric.labels, labels, strict=True)), float(value)
            )


def _tables(store: Store) -> list[TableSize]:
    try:
        rows = store.rows(_TABLES)
    except DatabaseRefused:  # a read-only user; said in the answer
        return []
    return [
        TableSize(table=row["table"], rows=int(row["all_rows"]), bytes=int(row["bytes"]))
        for row in rows
    ]
