"""One partition: any batching, any bad input, the same sums."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from builders.streams.ping_records import START_S, batch, content_type, message, ping
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import topics
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing.partition import PartitionWorker
from streams.windowing.path_table import PathTable

HOUR_S = 3600


def headers(out: OutMessage) -> window_chunks.Header:
    return window_chunks.Header.from_kafka(dict(out.headers))


def panes(out: list[OutMessage]) -> dict[int, int]:
    """Closed second (from START_S) -> records in its pane."""
    found: dict[int, int] = {}
    for each in out:
        if each.topic == topics.WINDOWS.name and headers(each).kind == "pane":
            rows = window_chunks.decode("pane", each.value)
            second = headers(each).start_s - START_S
            found[second] = found.get(second, 0) + sum(rows.column("records").to_pylist())
    return found


def routes(out: list[OutMessage]) -> list[int]:
    """Seconds (from START_S) whose routes are published, in order."""
    return [
        headers(each).start_s - START_S
        for each in out
        if each.topic == topics.WINDOWS.name and headers(each).kind == "routes"
    ]


def letters(out: list[OutMessage]) -> list[dict[str, str]]:
    return [
        {name: value.decode() for name, value in each.headers}
        for each in out
        if each.topic == topics.DEAD_LETTER.name
    ]


def assert_sums(worker: PartitionWorker) -> None:
    counts = worker.counts
    parts = counts.judged + counts.late + counts.duplicate + counts.dead_lettered + counts.held
    assert counts.records == parts, counts


def minute(hosts: int = 4, seconds: int = 12) -> list[InMessage]:
    """Each host sends each second's four records in a message of its own."""
    out: list[InMessage] = []
    for second in range(seconds):
        for host in range(1, hosts + 1):
            rows = [
                ping(second + k / 4, src=f"h{host}", dst=f"h{host % hosts + 1}") for k in range(4)
            ]
            out.append(message(len(out), rows, arrival_s=second + 1))
    return out


def test_panes_close_two_seconds_after_the_median_clock_and_say_so() -> None:
    worker = PartitionWorker(0, epoch=5)
    out = [o for m in minute() for o in worker.step([m])]
    assert panes(out) == dict.fromkeys(range(9), 16)
    last = headers(out[-1])
    assert (last.kind, last.fabric, last.epoch) == ("punctuation", "f1", 5)
    assert last.watermark_ms == (START_S + 9) * 1000
    assert json.loads(out[-1].value)["counts"]["judged"] == 9 * 16
    assert_sums(worker)


@given(cuts=st.lists(st.integers(1, 47), max_size=6))
@settings(deadline=None, max_examples=25)
def test_any_batching_gives_the_same_messages(cuts: list[int]) -> None:
    messages = minute()
    whole = PartitionWorker(0, epoch=1)
    single = [o for m in messages for o in whole.step([m])] + whole.finish()
    worker = PartitionWorker(0, epoch=1)
    edges = [0, *sorted(cuts), len(messages)]
    out = [o for a, b in itertools.pairwise(edges) for o in worker.step(messages[a:b])]
    out += worker.finish()

    def rows(found: list[OutMessage]) -> list[OutMessage]:
        return [each for each in found if headers(each).kind != "punctuation"]

    assert rows(out) == rows(single)


def test_new_paths_of_many_messages_are_added_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Message by message, 570 messages took a worker six seconds that had just started."""
    added: list[int] = []
    add = PathTable.add

    def count(self: PathTable, ids: Any, parts: Any) -> None:
        added.append(len(ids))
        add(self, ids, parts)

    monkeypatch.setattr(PathTable, "add", count)
    worker = PartitionWorker(0, epoch=1)
    worker.step([
        message(host, [ping(0.5, src=f"h{host}", dst=f"h{host + 1}")], arrival_s=1)
        for host in range(20)
    ])  # fmt: skip
    assert added == [20]
    assert_sums(worker)


def test_a_pane_is_cut_into_chunks_per_fabric_and_the_header_counts_them() -> None:
    rows = [ping(0.5, src_port=port) for port in range(1, 5001)]
    rows += [ping(0.5, src_idc="f2", src_port=port) for port in range(1, 4)]
    worker = PartitionWorker(0, epoch=1)
    out = worker.step([message(0, rows)]) + worker.finish()
    found = [headers(each) for each in out if headers(each).kind == "pane"]
    assert [(h.fabric, h.chunk, h.chunks) for h in found] == [
        ("f1", 0, 2), ("f1", 1, 2), ("f2", 0, 1),
    ]  # fmt: skip
    assert all(len(each.value) <= window_chunks.MAX_CHUNK_BYTES for each in out)


@pytest.mark.parametrize(
    ("raw", "kind", "reason"),
    [
        (b"\xff\xfe not arrow", topics.ARROW, "corrupt Arrow stream"),
        (b"a,b\n1,2\n", topics.CSV, "lacks the columns"),
        (b"{}", "application/x-unknown", "content-type"),
        (b"", topics.ARROW, "corrupt Arrow stream"),
        (b"[1,", topics.JSON, "not a JSON array"),
        (b"x" * (17 * 1024 * 1024), topics.NDJSON, "over the limit"),
    ],
)
def test_an_unreadable_message_is_one_dead_letter(raw: bytes, kind: str, reason: str) -> None:
    worker = PartitionWorker(3, epoch=1)
    (letter,) = letters(worker.step([InMessage(9, START_S * 1000, raw, content_type(kind))]))
    assert reason in letter["reason"]
    assert (letter["topic"], letter["partition"], letter["offset"]) == ("skh.pings", "3", "9")
    assert letter["line"] == "0"
    assert worker.counts.dead_lettered == worker.counts.records == 1
    assert worker.needed_offset() == 10, "what cannot be read need not be read again"


@pytest.mark.parametrize(
    ("wrong", "column"),
    [
        ({"task_type": "PIGEON"}, "task_type"),
        ({"loss_rate": 7.0}, "loss_rate"),
        ({"latency": float("nan")}, "latency"),
        ({"latency": -1.0}, "latency"),
        ({"ping_time": -5}, "ping_time"),
        ({"dial": None}, "dial"),
        ({"task_type": "TRACEROUTE", "route": "[1"}, "route"),
    ],
)
def test_a_bad_row_costs_that_row(wrong: dict[str, Any], column: str) -> None:
    worker = PartitionWorker(0, epoch=1)
    rows = [ping(0), {**ping(0.1), **wrong}, ping(0.2)]
    out = worker.step([message(0, rows, arrival_s=1)]) + worker.finish()
    (letter,) = letters(out)
    assert (letter["column"], letter["line"]) == (column, "2")
    assert panes(out) == {0: 2}
    assert_sums(worker)


def test_duplicates_are_counted_and_judged_once() -> None:
    worker = PartitionWorker(0, epoch=1)
    again = message(1, [ping(0.1), ping(0.2)])
    out = worker.step([message(0, [ping(0.1), ping(0.2)]), again]) + worker.finish()
    assert panes(out) == {0: 2}
    assert worker.counts.duplicate == 2
    assert_sums(worker)


def test_records_ten_seconds_late_are_counted_and_reopen_nothing() -> None:
    worker = PartitionWorker(0, epoch=1)
    out = worker.step(minute(seconds=20))
    straggler = message(100, [ping(5.5, src="h1", dst="h3")], arrival_s=20)
    out += worker.step([straggler]) + worker.finish()
    assert worker.counts.late == 1
    assert panes(out)[5] == 16
    assert_sums(worker)


@pytest.mark.parametrize("wrong_by_s", [-HOUR_S, HOUR_S])
def test_a_clock_an_hour_off_blinds_no_other_source(wrong_by_s: int) -> None:
    worker = PartitionWorker(0, epoch=1)
    out: list[OutMessage] = []
    offset = 0
    for second in range(20):
        for host in range(1, 5):
            shift = wrong_by_s if host == 4 else 0
            rows = [ping(second + shift, src=f"h{host}", dst=f"h{host % 4 + 1}")]
            out += worker.step([message(offset, rows, arrival_s=second)])
            offset += 1
    right = {s: n for s, n in panes(out).items() if 0 <= s < 15}
    assert right == dict.fromkeys(range(15), 3)
    assert worker.counts.late >= 15, "its own records are counted"
    said = [json.loads(o.value) for o in out if headers(o).kind == "punctuation"]
    assert said[-1]["skewed"]["h4"] == pytest.approx(wrong_by_s, abs=2)
    assert_sums(worker)


def test_a_route_is_published_with_the_pane_of_its_second() -> None:
    worker = PartitionWorker(0, epoch=1)
    traced = message(
        0, [ping(0.3, task_type="TRACEROUTE", route='["a",null]', latency=None)], arrival_s=1
    )
    out = worker.step([traced, *(m._replace(offset=m.offset + 1) for m in minute())])
    kinds = [(headers(o).kind, headers(o).start_s - START_S) for o in out]
    assert kinds.index(("routes", 0)) == kinds.index(("pane", 0)) + 1
    (chunk,) = (o for o in out if headers(o).kind == "routes")
    assert window_chunks.decode("routes", chunk.value).column("hops").to_pylist() == [["a", None]]
    assert worker.counts.routes == 1
    assert_sums(worker)


def test_a_backlog_in_one_step_has_the_routes_that_it_has_message_by_message() -> None:
    """A route far ahead of the watermark is dropped, and at first all of a backlog are."""
    traced = {"task_type": "TRACEROUTE", "route": '["a",null]', "latency": None}
    messages = [
        message(s, [*(ping(s, src=f"h{h}") for h in (1, 2, 3)), ping(s, **traced)], arrival_s=60)
        for s in range(60)
    ]
    one_by_one, at_once = PartitionWorker(0, epoch=1), PartitionWorker(0, epoch=1)
    expected = [out for each in messages for out in one_by_one.step([each])]
    found = at_once.step(messages)
    assert routes(found) == routes(expected) == list(range(57))
    assert at_once.counts == one_by_one.counts
    assert at_once.counts.late == 0
    assert_sums(at_once)


def test_a_new_owner_that_reads_from_the_commit_closes_the_same_windows() -> None:
    messages = minute(seconds=80)
    first = PartitionWorker(0, epoch=1)
    all_of_it = {
        (h.kind, h.end_s): o.value
        for o in first.step(messages) + first.finish()
        if (h := headers(o)).kind == "window"
    }
    second = PartitionWorker(0, epoch=1)
    second.step(messages[:200])
    commit = second.needed_offset()
    assert 0 < commit < 200
    third = PartitionWorker(0, epoch=2)
    again = {
        (h.kind, h.end_s): o.value
        for o in third.step(messages[commit:]) + third.finish()
        if (h := headers(o)).kind == "window"
    }
    due = [key for key in all_of_it if key[1] * 10**9 > second.watermark_ns]
    assert due
    assert [again[key] for key in due] == [all_of_it[key] for key in due]


def test_what_the_broker_no_longer_had_is_counted() -> None:
    worker = PartitionWorker(0, epoch=1)
    worker.step([message(10, [ping(0)]), message(15, [ping(1)])])
    assert worker.counts.gaps == 4


@pytest.mark.parametrize("before", [1, 3, 6])
def test_a_broker_that_stalls_in_the_first_seconds_makes_no_record_late(before: int) -> None:
    # The agents went on meanwhile: the seconds that were interrupted are completed afterwards.
    messages = [
        m._replace(time_ms=m.time_ms + (0 if at < before else 15_000))
        for at, m in enumerate(minute())
    ]
    worker = PartitionWorker(0, epoch=1)
    out = [o for m in messages for o in worker.step([m])] + worker.finish()
    assert panes(out) == dict.fromkeys(range(12), 16)
    assert worker.counts.late == 0
    assert_sums(worker)


def test_a_silent_partition_is_closed_by_its_tick() -> None:
    worker = PartitionWorker(0, epoch=1)
    worker.step(minute())
    out = worker.tick((START_S + 60) * 10**9)
    assert panes(out) == {9: 16, 10: 16, 11: 16}
    assert json.loads(out[-1].value)["idle"] is True
    assert worker.tick((START_S + 61) * 10**9) == [], "said once is enough"
    assert_sums(worker)


def test_a_sparse_file_is_judged_whole() -> None:
    worker = PartitionWorker(0, epoch=1)
    out: list[OutMessage] = []
    for minute_of in range(30):
        at_s = 60 * minute_of
        rows = batch([ping(at_s, src=f"h{minute_of % 3 + 1}")])
        out += worker.feed(rows, minute_of, (START_S + at_s) * 10**9)
    out += worker.finish()
    assert panes(out) == {60 * k: 1 for k in range(30)}
    assert_sums(worker)


def test_one_message_that_spans_minutes_is_judged_whole() -> None:
    worker = PartitionWorker(0, epoch=1)
    rows = [ping(s, src=f"h{s % 3 + 1}") for s in range(300)]
    out = worker.step([message(0, rows)]) + worker.finish()
    assert panes(out) == dict.fromkeys(range(300), 1)
    assert_sums(worker)


def test_hours_of_new_source_ports_do_not_grow_the_memory() -> None:
    worker = PartitionWorker(0, epoch=1)
    for offset, second in enumerate(range(0, HOUR_S, 5)):
        port = 50_000 + second // 600
        rows = [ping(second, src=src, src_port=port) for src in ("h1", "h2", "h3")]
        worker.step([message(offset, rows)])
    assert worker.sizes()["paths"] <= 3 * 4
    assert worker.counts.late == worker.counts.duplicate == 0
    assert_sums(worker)


def test_the_counts_of_an_idle_punctuation_add_up() -> None:
    worker = PartitionWorker(0, epoch=1)
    for second in range(20):
        worker.step([message(second, [ping(second + 0.5, src=f"h{h}") for h in (1, 2, 3)])])
    [body] = [json.loads(each.value) for each in worker.mark_idle()]
    counts = body["counts"]
    assert body["idle"]
    assert counts["records"] == counts["judged"] + counts["held"] == 60
