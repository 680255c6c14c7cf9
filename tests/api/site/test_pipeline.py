"""How far windows are, how much comes in, what could not be used, and what is not known."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
from builders.api_service import served
from builders.monitoring.path_windows import window

from schemas.metrics import Sample, sink, stream
from store.client import Store

PutWindows = Callable[..., None]


def test_the_watermark_and_rates_come_from_windows(
    client: httpx.Client, put_windows: PutWindows
) -> None:
    minute = int(time.time()) // 60 * 60 - 120
    put_windows(
        window(minute, 1), window(minute + 5, 1), window(minute + 30, 1), window(minute, 2, sent=60)
    )
    found = client.get("/api/v1/pipeline").json()
    (fabric,) = found["fabrics"]
    assert fabric["fabric"] == "f1"
    assert fabric["paths"] == 2
    assert 0 < fabric["age_s"] < 600
    assert found["rates"] == {"times": [minute], "records": [90], "probes": [120]}


def test_dead_letters_are_counted_by_topic_and_reason(client: httpx.Client, store: Store) -> None:
    for offset, count in ((1, 5), (2, 2)):
        store.execute(
            "INSERT INTO dead_letters (topic, offset, reason, count)"
            f" VALUES ('skh.pings', {offset}, 'no dst_ip', {count})"
        )
    (letters,) = client.get("/api/v1/pipeline").json()["dead_letters"]
    assert (letters["topic"], letters["reason"], letters["records"]) == (
        "skh.pings",
        "no dst_ip",
        7,
    )


def test_what_this_process_cannot_know_is_said(client: httpx.Client) -> None:
    found = client.get("/api/v1/pipeline").json()
    assert found["process"] == []
    assert len(found["unknown"]) == 3
    assert "`skeletonhunter stream`" in " ".join(found["unknown"])


def test_counters_of_this_process_are_shown_where_it_has_them(store: Store) -> None:
    samples = [
        Sample(stream.STREAM_RECORDS, 7, ("late",)), Sample(sink.SINK_WAITING, 0),
        Sample(sink.SINK_REBALANCES, 1),
    ]  # fmt: skip
    with served(store, counters=[lambda: samples]) as client:
        found = client.get("/api/v1/pipeline").json()
    assert found["process"] == [
        ["skh_stream_records_total", {"outcome": "late"}, 7.0], ["skh_sink_waiting", {}, 0.0],
    ]  # fmt: skip
    assert found["unknown"] == ["How far judging is: no window was stored in the last hour."]
