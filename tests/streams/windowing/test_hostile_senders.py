"""What a sender says must not move the time of others, nor take the memory of others."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from builders.streams.pane_pings import SECOND
from builders.streams.ping_records import START_S, message, ping

from schemas import topics
from schemas.wire import window_chunks
from streams.kafka.messages import InMessage, OutMessage
from streams.windowing.partition import PartitionWorker
from streams.windowing.path_quota import Quota
from streams.windowing.source_clocks import SourceClocks

YEAR_S = 365 * 24 * 3600


def sent(offset: int, rows: list[dict[str, Any]], arrival_s: float, key: str) -> InMessage:
    return message(offset, rows, arrival_s=arrival_s)._replace(key=key.encode())


def honest(seconds: range, hosts: int = 20) -> list[InMessage]:
    """Each host sends a message of its own each second, half a second after its pings."""
    return [
        sent(0, [ping(s + 0.25, src=f"h{h}", dst=f"h{h % hosts + 1}")], s + 0.75, f"h{h}")
        for s in seconds
        for h in range(1, hosts + 1)
    ]


def invented(at_s: float, arrival_s: float, key: str, sources: int = 40) -> InMessage:
    rows = [ping(at_s, src=f"x{key}{n}", src_node_sn=f"{key}-{n}") for n in range(sources)]
    return sent(0, rows, arrival_s, key)


def judged(out: list[OutMessage]) -> int:
    found = 0
    for each in out:
        if each.topic == topics.WINDOWS.name:
            header = window_chunks.Header.from_kafka(dict(each.headers))
            if header.kind == "pane":
                rows = window_chunks.decode("pane", each.value)
                host = np.array(rows.column("src_node_sn").to_pylist())
                honest_rows = np.char.startswith(host.astype(str), "h")
                found += int(rows.column("records").to_numpy()[honest_rows].sum())
    return found


def run(messages: list[InMessage], worker: PartitionWorker | None = None) -> PartitionWorker:
    worker = worker or PartitionWorker(0, epoch=1)
    worker.out = [  # type: ignore[attr-defined]  # kept for the assertions
        out
        for offset, each in enumerate(messages)
        for out in worker.step([each._replace(offset=offset)])
    ]
    counts = worker.counts
    parts = counts.judged + counts.late + counts.duplicate + counts.dead_lettered + counts.held
    assert counts.records == parts, counts
    return worker


def published(worker: PartitionWorker) -> list[OutMessage]:
    return worker.out  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("ahead_s", [YEAR_S, 3600, 60, 6])
def test_invented_sources_ahead_of_the_broker_do_not_move_the_watermark(ahead_s: int) -> None:
    before, after = honest(range(10)), honest(range(10, 40))
    attack = [invented(10 + ahead_s, 10.0, f"m{n}") for n in range(4)]
    worker = run([*before, *attack, *after])
    assert judged(published(worker)) == judged(published(run([*before, *after])))
    assert worker.counts.ahead == 160, "each is counted as beyond the broker's time"


def test_invented_sources_within_the_skew_have_one_vote_a_sender() -> None:
    messages = honest(range(10))
    for s in range(10, 40):
        messages += [invented(s + 4.5, s + 0.1, f"m{n}") for n in range(4)]
        messages += honest(range(s, s + 1))
    assert judged(published(run(messages))) == judged(published(run(honest(range(40)))))


def test_invented_sources_a_year_behind_do_not_hold_the_watermark() -> None:
    messages = honest(range(10))
    for s in range(10, 40):
        messages += [invented(s - YEAR_S, s + 0.1, f"m{n}") for n in range(4)]
        messages += honest(range(s, s + 1))
    assert judged(published(run(messages))) == judged(published(run(honest(range(40)))))


def test_a_sender_cannot_take_over_the_vote_of_a_live_source() -> None:
    """40 hosts are named by one sender: their clocks go on as their own senders say."""
    messages = honest(range(10), hosts=40)
    for s in range(10, 40):
        forged = [ping(s + 4.9, src=f"h{n}", dst_ip="10.9.9.9") for n in range(1, 41)]
        messages += [sent(0, forged[:1], s + 0.1, "thief"), *honest(range(s, s + 1), hosts=40)]
    worker = run(messages)
    assert worker.watermark_ns <= (START_S + 38) * SECOND


def test_a_clock_ahead_of_the_broker_is_reported_and_not_judged() -> None:
    messages = [
        each
        for s in range(20)
        for each in (
            *honest(range(s, s + 1), hosts=5),
            sent(0, [ping(s + 30, src="h9")], s + 0.8, "h9"),
        )
    ]
    worker = run(messages)
    skewed = json.loads(published(worker)[-1].value)["skewed"]
    assert skewed["h9"] == pytest.approx(29, abs=1.5)
    assert worker.counts.ahead == 20


@pytest.mark.parametrize("step_s", [3600, 30, 7, -7, -30, -3600])
def test_one_of_two_clocks_that_steps_does_not_hold_the_other_host_up(step_s: int) -> None:
    messages = [
        sent(0, [ping(s + 0.5 + (step_s if host == "h2" and s >= 20 else 0), src=host)], s + 0.8,
             host)
        for s in range(60)
        for host in ("h1", "h2")
    ]  # fmt: skip
    worker = run(messages)
    assert worker.watermark_ns >= (START_S + 55) * SECOND, "judging is a few seconds behind"
    assert worker.counts.late == 40, "those of the wrong clock, from the step on"
    skewed = json.loads(published(worker)[-1].value)["skewed"]
    assert skewed == {"h2": pytest.approx(step_s, abs=2)}


def test_a_partition_whose_only_clock_is_ahead_of_the_broker_is_not_waited_for() -> None:
    right = [sent(0, [ping(s + 0.5, src="h1")], s + 0.8, "h1") for s in range(20)]
    wrong = [sent(0, [ping(s + 3600, src="h1")], s + 0.8, "h1") for s in range(20, 40)]
    worker = run([*right, *wrong])
    assert window_chunks.Header.from_kafka(dict(published(worker)[-1].headers)).idle
    assert worker.counts.judged == 20


def test_paths_of_one_sender_are_limited_and_the_rest_is_dead_lettered() -> None:
    worker = PartitionWorker(0, epoch=1, quota=Quota(paths=100))
    flood = [ping(9.5, src="h1", dst_ip=f"10.1.{n // 250}.{n % 250}") for n in range(500)]
    run([*honest(range(10)), sent(0, flood, 9.9, "h1"), *honest(range(10, 30))], worker)
    assert worker.sizes()["paths"] == 20 + 99, "the 99 that h1 may still add"
    assert worker.counts.dead_lettered == 401
    assert judged(published(worker)) >= 20 * 27, "the others are judged"


def test_fabrics_of_one_sender_are_limited() -> None:
    worker = PartitionWorker(0, epoch=1)
    flood = [ping(9.5, src="h1", src_idc=f"f{n}") for n in range(3000)]
    run([*honest(range(10)), sent(0, flood, 9.9, "h1"), *honest(range(10, 30))], worker)
    assert worker.sizes()["fabrics"] <= 8
    assert worker.counts.dead_lettered >= 2992


def test_a_quota_is_free_again_when_paths_are_evicted() -> None:
    worker = PartitionWorker(0, epoch=1, quota=Quota(paths=10, fabrics=2))
    messages = [
        sent(
            0, [ping(s + 0.25, dst_ip=f"10.1.0.{s // 900}", src_idc=f"f{s // 900}")], s + 0.75, "h1"
        )
        for s in range(0, 9000, 5)
    ]
    run(messages, worker)
    assert worker.counts.dead_lettered == 0, "no more than two fabrics live at a time"


@pytest.mark.parametrize("gap_s", [650, 900, 5000, 90_000])
@pytest.mark.parametrize("together", [True, False])
def test_a_backlog_after_a_long_pause_lands_on_its_own_paths(gap_s: int, together: bool) -> None:
    """The agents' spools arrive at once: all that was sent in the pause, then the present."""
    before, after = honest(range(60), 6), honest(range(60 + gap_s, 100 + gap_s), 6)
    backlog = honest(range(gap_s, gap_s + 60, 3), 6)
    late = [each._replace(time_ms=after[0].time_ms) for each in backlog]
    messages = [each._replace(offset=n) for n, each in enumerate([*before, *late, *after])]
    worker = PartitionWorker(0, epoch=1)
    out = []
    if together:
        out += worker.step(messages[: len(before)])
        out += worker.step(messages[len(before) :])
    else:
        out += [o for each in messages for o in worker.step([each])]
    out += worker.finish()
    records: Counter[tuple[int, str]] = Counter()
    for each in out:
        header = window_chunks.Header.from_kafka(dict(each.headers))
        if header.kind == "pane":
            for row in window_chunks.decode("pane", each.value).to_pylist():
                records[header.start_s - START_S, row["src_node_sn"]] += row["records"]
    seconds = {*range(60), *range(gap_s, gap_s + 60, 3), *range(60 + gap_s, 100 + gap_s)}
    wanted = {(s, f"h{h}"): 1 for s in seconds for h in range(1, 7)}
    assert records.items() <= wanted.items(), "each host's second holds its own one ping"
    assert records.keys() >= {key for key in wanted if key[0] < 60 or key[0] >= 60 + gap_s}
    counts = worker.counts
    assert counts.judged + counts.late + counts.duplicate == counts.records == len(messages)


def test_a_day_of_churn_leaves_nothing_behind() -> None:
    """Hosts, containers and pods are replaced every ten minutes, for a day."""
    worker = PartitionWorker(0, epoch=1)
    sizes = []
    offset = itertools.count()
    for s in range(0, 86_400, 120):
        life = s // 600
        rows = [
            ping(
                s + k / 4, src_node_sn=f"h{life}-{k}", src_ip=f"10.0.0.{k}", src_pod=f"p{life}",
                src_node_id=f"c{life}-{k}", dst_node_id=f"d{life}", src_idc=f"f{life // 6 % 24}",
            )
            for k in range(8)
        ]  # fmt: skip
        worker.step(
            [sent(next(offset), [row], s + 2.0, f"h{life}-{k}") for k, row in enumerate(rows)]
        )
        if s % 3600 == 0:
            sizes.append(worker.sizes())
    for name in sizes[0]:
        largest = max(each[name] for each in sizes[4:])
        assert largest <= 3 * max(each[name] for each in sizes[:4]), (name, sizes)


def test_a_fabric_that_leaves_a_partition_gets_an_idle_punctuation() -> None:
    first = [ping(s + 0.25, src_idc="leaves") for s in range(60)]
    stays = [ping(s + 0.25, src="h5") for s in range(2000)]
    worker = run([message(0, [row]) for row in [*first, *stays]])
    last = [
        window_chunks.Header.from_kafka(dict(each.headers))
        for each in published(worker)
        if dict(each.headers).get("fabric") == b"leaves"
    ][-1]
    assert (last.kind, last.idle) == ("punctuation", True)
    assert worker.sizes()["fabrics"] == 1


def test_long_names_make_more_chunks_and_none_is_too_large_for_the_broker() -> None:
    rows = [
        ping(s + 0.25, src=f"h{n % 250}", src_node_id=f"{n:04d}".rjust(65, "c"), src_port=1024 + n,
             dst_node_id=f"{n:04d}".rjust(65, "d"))
        for s in (0, 1, 2, 3, 4)
        for n in range(4096)
    ]  # fmt: skip
    worker = PartitionWorker(0, epoch=1)
    out = worker.step([message(0, rows)]) + worker.finish()
    assert max(len(each.value) for each in out) <= window_chunks.MAX_CHUNK_BYTES
    assert judged(out) == len(rows)


# --- clocks alone ---------------------------------------------------------------------------------


def test_what_a_right_clock_shows_is_never_behind_the_median() -> None:
    rng = np.random.default_rng(4)
    for hosts in (1, 2, 3, 8):
        clocks = SourceClocks(skew_s=5.0, idle_s=5.0)
        for at in range(40):
            now_ns = START_S * SECOND + at * SECOND
            clocks.tick(now_ns)
            source = rng.integers(0, hosts, 2, dtype=np.int32)
            clocks.observe(source, now_ns + rng.integers(-8, 8, 2) * SECOND, None)
            assert clocks.median_ns <= clocks.expected_ns or not clocks.median_ns


def test_the_median_of_senders_is_the_median_of_sources_where_each_host_sends_its_own() -> None:
    rng = np.random.default_rng(3)
    for hosts in (1, 2, 3, 8, 101):
        time_ns = START_S * SECOND + rng.integers(0, 4 * SECOND, hosts)
        source = np.arange(hosts, dtype=np.int32)
        said = []
        for sender in (None, source, np.zeros(hosts, np.int32)):
            clocks = SourceClocks(skew_s=5.0, idle_s=5.0)
            clocks.tick((START_S + 4) * SECOND)
            clocks.observe(source, time_ns, sender)
            said.append(clocks.median_ns)
        assert said == [int(np.sort(time_ns)[(hosts - 1) // 2])] * 3
