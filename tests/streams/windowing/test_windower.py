"""The windower of a partition: event time decides, and nothing is ever lost from the count."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from builders.streams.pane_pings import SECOND, START_S, Ping, pings, plain
from builders.streams.ping_records import batch
from builders.streams.ping_records import ping as record
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import identity
from schemas.parameters.window_timing import DEFAULT_TIMING
from streams.windowing.path_table import PathTable
from streams.windowing.windower import ClosedBatch, Windower

HOUR_S = 3600.0
LATENESS_S = DEFAULT_TIMING.lateness_s


def arrival_ns(at_s: float) -> int:
    return START_S * SECOND + round(at_s * SECOND)


def beat(
    seconds: float, *, hosts: int = 3, every_s: float = 0.5, start_s: float = 0.0
) -> list[Ping]:
    """Each host sends on its own path, a little apart from the others."""
    count = round(seconds / every_s)
    return [
        Ping(path=host, at_s=start_s + n * every_s + host / 100, source=host)
        for n in range(count)
        for host in range(hosts)
    ]


class Run:
    """Feeds records in the order given, and remembers everything that closed."""

    def __init__(self) -> None:
        self.windower = Windower()
        self.closed = ClosedBatch()

    def feed(self, part: list[Ping], at_s: float | None = None) -> Run:
        newest = max((r.at_s for r in part), default=0.0) if at_s is None else at_s
        self.windower.ingest(pings(part), arrival_ns(newest))
        return self.close()

    def each(self, records: list[Ping]) -> Run:
        for r in records:
            self.feed([r])
        return self

    def close(self, *, end_of_input: bool = False) -> Run:
        closed = self.windower.close(end_of_input=end_of_input)
        self.closed.panes += closed.panes
        self.closed.windows += closed.windows
        return self

    def end(self) -> Run:
        return self.close(end_of_input=True)

    @property
    def seconds(self) -> list[int]:
        return [pane.start_s - START_S for pane in self.closed.panes]

    @property
    def ends(self) -> list[int]:
        return [window.end_s - START_S for window in self.closed.windows]

    @property
    def said(self) -> list[Any]:
        return [plain(each) for each in (*self.closed.panes, *self.closed.windows)]

    def records_of(self, path: int) -> dict[int, int]:
        """Closed second -> records of one path."""
        return {
            pane.start_s - START_S: int(pane.records[pane.path == path].sum())
            for pane in self.closed.panes
        }

    def sums(self) -> bool:
        counts = self.windower.counts
        return counts.records == (
            counts.judged + counts.late + counts.duplicate + self.windower.held()
        )


# --- when a pane closes -----------------------------------------------------------------------


def test_a_pane_closes_two_seconds_after_the_median_clock_has_passed_it() -> None:
    run = Run().each(beat(8))
    assert run.seconds == [0, 1, 2, 3, 4]
    assert run.windower.watermark_ns == arrival_ns(7.5 + 0.01 - LATENESS_S)


def test_nothing_closes_before_one_source_spans_three_seconds() -> None:
    assert Run().each(beat(3)).seconds == []
    assert Run().each(beat(4)).seconds == [0]


def test_the_end_of_input_closes_everything() -> None:
    run = Run().each(beat(8)).end()
    assert run.seconds == list(range(8))
    assert run.ends == [5]
    assert run.windower.held() == 0


def test_the_end_of_a_short_input_closes_it_too() -> None:
    run = Run().feed(beat(1)).end()
    assert (run.seconds, run.windower.counts.judged) == ([0], 6)


def test_the_end_of_nothing_is_nothing() -> None:
    run = Run().end()
    assert (run.said, run.windower.idle, run.windower.watermark_ns) == ([], True, 0)


def test_windows_of_thirty_seconds_end_every_five() -> None:
    run = Run().each(beat(42)).end()
    assert run.ends == [5, 10, 15, 20, 25, 30, 35, 40]
    spans = [(w.start_s - START_S, int(w.records.sum())) for w in run.closed.windows]
    assert spans[-2:] == [(5, 30 * 6), (10, 30 * 6)]
    assert spans[0] == (-25, 5 * 6)


def test_a_hole_in_time_closes_no_empty_windows() -> None:
    run = Run().each(beat(10)).each(beat(10, start_s=10_000)).end()
    assert all(len(window.path) for window in run.closed.windows)
    assert [s for s in run.seconds if 10 <= s < 10_000] == []
    assert run.windower.counts.judged == 120


# --- any order, any batching ------------------------------------------------------------------


@st.composite
def disordered(draw: st.DrawFn, seconds: int = 16) -> list[list[Ping]]:
    """Batches of records in their order of arrival, at most the lateness out of order."""
    seed = draw(st.integers(0, 2**32))
    rng = random.Random(seed)
    hosts = draw(st.integers(1, 4))
    steady = draw(st.floats(0, 1))
    records = [
        r._replace(rtt_us=rng.choice([None, 10.0, 20.0]), lost=rng.randint(0, 1))
        for r in beat(seconds, hosts=hosts, every_s=0.4)
        if r.at_s < 4 or rng.random() < 0.5 + steady / 2
    ]
    records += [r for r in records if rng.random() < 0.1]
    worst = draw(st.floats(0, 0.999)) * LATENESS_S
    arrivals = sorted((r.at_s + rng.random() * worst, n) for n, r in enumerate(records))
    ordered = [records[n]._replace(offset=at) for at, (_, n) in enumerate(arrivals)]
    size = draw(st.sampled_from([1, 3, 20, 200, 10_000]))
    batches, at = [], 0
    while at < len(ordered):
        step = rng.randint(1, size)
        batches.append(ordered[at : at + step])
        at += step
    return batches


def undisturbed(batches: list[list[Ping]]) -> Run:
    """The same records in order of time, one by one."""
    return Run().each(sorted((r for b in batches for r in b), key=lambda r: (r.at_s, r.path))).end()


@given(disordered())
@settings(deadline=None, max_examples=150)
def test_any_batching_and_any_disorder_within_the_lateness_closes_the_same(
    batches: list[list[Ping]],
) -> None:
    run = Run()
    for part in batches:
        run.feed(part)
    known = undisturbed(batches)
    assert run.end().said == known.said
    assert run.windower.counts == known.windower.counts
    assert run.windower.counts.late == 0


def test_records_within_one_batch_may_come_in_any_order() -> None:
    records = beat(12)
    assert Run().feed(records[::-1]).end().said == Run().feed(records).end().said


def test_a_large_first_batch_is_judged_whole() -> None:
    run = Run().feed(beat(60)).end()
    assert run.windower.counts.judged == 60 * 6
    assert run.windower.counts.late == 0


# --- what comes too late ----------------------------------------------------------------------


def test_a_record_ten_seconds_out_of_order_is_late_and_reopens_nothing() -> None:
    records = beat(20)
    known = Run().each(records).end()
    run = Run().each(records[:90]).feed([Ping(0, 4.75, source=0)], 15.0).each(records[90:]).end()
    assert run.windower.counts.late == 1
    assert run.said == known.said
    assert run.sums()


def test_a_record_within_the_lateness_is_not_late() -> None:
    records = beat(20)
    run = Run().each(records[:90]).feed([Ping(0, 14.25, source=0)], 15.0).each(records[90:]).end()
    assert (run.windower.counts.late, run.records_of(0)[14]) == (0, 3)


def test_a_copy_is_counted_as_a_duplicate_and_a_copy_of_the_past_as_late() -> None:
    records = beat(20)
    run = Run().each(records[:90]).feed([records[89], records[0]], 15.0).each(records[90:]).end()
    assert (run.windower.counts.duplicate, run.windower.counts.late) == (1, 1)
    assert run.said == Run().each(records).end().said


# --- wrong clocks -----------------------------------------------------------------------------


@pytest.mark.parametrize("off_s", [HOUR_S, -HOUR_S, 20.0, -20.0])
@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_one_wrong_clock_changes_nothing_for_its_neighbours_and_is_reported(
    off_s: float, wrong: int
) -> None:
    good = [r for r in beat(30) if r.source != wrong]
    # the wrong one in the order of arrival among the others
    mixed = [r._replace(at_s=r.at_s + off_s) if r.source == wrong else r for r in beat(30)]
    run = Run()
    for at, r in zip(beat(30), mixed, strict=True):
        run.feed([r], at.at_s)
    reported = run.windower.skewed()
    assert set(reported) == {wrong}
    assert reported[wrong] == pytest.approx(off_s, abs=1)
    known = Run().each(good).end()
    run.end()
    for host in {0, 1, 2} - {wrong}:
        assert run.records_of(host) == known.records_of(host)
    assert run.windower.counts.late == 60, "what the wrong clock said is stored, not judged"
    assert run.sums()


@pytest.mark.parametrize("off_s", [4.0, -4.0])
def test_a_clock_within_the_skew_is_not_reported(off_s: float) -> None:
    run = Run()
    for r in beat(20):
        run.feed([r._replace(at_s=r.at_s + off_s * (r.source == 2))], r.at_s)
    assert run.windower.skewed() == {}


def test_a_source_that_stopped_sending_has_no_wrong_clock() -> None:
    run = Run().each([r for r in beat(20) if r.source != 2 or r.at_s < 10])
    assert run.windower.skewed() == {}


@pytest.mark.parametrize("off_s", [-60, 60])
def test_a_source_whose_clock_was_set_right_is_heard_again(off_s: int) -> None:
    run = Run()
    for r in beat(40):
        wrong = r.source == 2 and r.at_s < 10
        run.feed([r._replace(at_s=r.at_s + off_s * wrong)], r.at_s)
    run.end()
    assert run.windower.skewed() == {}
    assert [run.records_of(2)[s] for s in (9, 10, 39)] == [0, 2, 2]


# --- silence ----------------------------------------------------------------------------------


def test_a_source_that_falls_silent_holds_time_back_for_five_seconds_only() -> None:
    both = [r for r in beat(30, hosts=2) if r.source == 0 or r.at_s < 10]
    upto = {second: Run().each([r for r in both if r.at_s < second]) for second in (14, 17, 30)}
    assert max(upto[14].seconds) == 6, "the lower median of two is the silent one"
    assert max(upto[17].seconds) == 13
    assert upto[30].end().windower.counts.late == 0


@pytest.mark.parametrize("ahead_s", [0.0, 0.4, 3.0])
def test_where_most_sources_stop_at_once_the_others_are_heard_on(ahead_s: float) -> None:
    run, reported = Run(), set[int]()
    for r in beat(30, hosts=5):
        if r.source == 0 or r.at_s < 10:
            run.feed([r._replace(at_s=r.at_s + ahead_s * (r.source == 0))], r.at_s)
            reported |= run.windower.skewed().keys()
    assert run.end().windower.counts.late == 0
    assert reported == set()


def test_a_silent_partition_closes_by_wall_clock() -> None:
    run = Run().each(beat(10))
    run.windower.tick(arrival_ns(14.0))
    assert (run.close().seconds[-1], run.windower.idle) == (6, False)
    run.windower.tick(arrival_ns(15.0))
    assert (run.close().seconds[-1], run.windower.idle) == (9, True)
    assert run.windower.held() == 0


def test_a_partition_that_speaks_again_goes_on() -> None:
    run = Run().each(beat(10))
    run.windower.tick(arrival_ns(30.0))
    run.close().each(beat(10, start_s=40)).end()
    assert run.seconds == [*range(10), *range(40, 50)]
    assert (run.windower.counts.late, run.windower.idle) == (0, False)


def test_a_source_that_joins_late_is_heard_from_its_first_second() -> None:
    run = Run().each([r for r in beat(30) if r.source != 2 or r.at_s >= 15]).end()
    assert run.records_of(2)[15] == 2
    assert run.windower.counts.late == 0


# --- garbage ----------------------------------------------------------------------------------

garbage = st.builds(
    Ping,
    path=st.integers(0, 3),
    at_s=st.one_of(
        st.floats(0, 40),
        st.floats(-HOUR_S, HOUR_S),
        st.sampled_from([-START_S + 1e-9, -START_S + 1.0, 7.4e9]),
        st.integers(0, 20).map(float),
    ),
    rtt_us=st.none() | st.floats(0, 100),
    sent=st.integers(0, 9),
    lost=st.integers(0, 9),
    refused=st.integers(0, 9),
    source=st.integers(0, 3),
    offset=st.integers(0, 50),
)


@given(
    st.lists(st.tuples(st.lists(garbage, max_size=6), st.floats(0, 60), st.booleans()), max_size=12)
)
@settings(deadline=None, max_examples=200)
def test_whatever_comes_the_counters_add_up(
    steps: list[tuple[list[Ping], float, bool]],
) -> None:
    run = Run()
    for part, at_s, tick in steps:
        run.windower.ingest(pings(part), arrival_ns(at_s))
        if tick:
            run.windower.tick(arrival_ns(at_s))
        run.close()
        assert run.sums()
    run.end()
    assert run.sums()
    assert run.windower.held() == 0
    assert run.windower.counts.judged == sum(int(p.records.sum()) for p in run.closed.panes)
    assert run.seconds == sorted(set(run.seconds)), "no pane closes twice"


# --- commits ----------------------------------------------------------------------------------


@given(disordered(seconds=50), st.floats(0, 1))
@settings(deadline=None, max_examples=100)
def test_a_replay_from_the_needed_offset_gives_the_same_later_panes_and_windows(
    batches: list[list[Ping]], where: float
) -> None:
    batches = [[r] for b in batches for r in b]
    cut = int(where * len(batches))
    run = Run()
    for part in batches[:cut]:
        run.feed(part)
    needed = run.windower.needed_offset()
    assert needed <= cut
    old_panes, old_windows = {*run.seconds}, {*run.ends}
    for part in batches[cut:]:
        run.feed(part)
    run.end()
    again = Run()
    for part in batches[needed:]:
        again.feed(part)
    again.end()

    def later(found: Run) -> list[Any]:
        panes = [p for p in found.closed.panes if p.start_s - START_S > max(old_panes, default=-1)]
        windows = [
            w for w in found.closed.windows if w.end_s - START_S > max(old_windows, default=0)
        ]
        return [plain(each) for each in (*panes, *windows)]

    assert later(again) == later(run)


def test_the_needed_offset_moves_on_with_the_windows() -> None:
    run, needed = Run(), []
    for at, r in enumerate(beat(100)):
        run.feed([r._replace(offset=at)])
        needed.append(run.windower.needed_offset())
    assert needed == sorted(needed)
    assert len(needed) - needed[-1] <= (30 + 5 + LATENESS_S + 1) * 6


def test_when_nothing_is_held_nothing_is_needed() -> None:
    run = Run().feed([Ping(0, n / 2, offset=n) for n in range(10)])
    run.windower.tick(arrival_ns(100.0))
    run.close().each([Ping(0, 200 + n / 2, offset=10 + n) for n in range(20)])
    assert run.windower.needed_offset() == 10


# --- forgotten paths --------------------------------------------------------------------------


def test_evicting_paths_that_no_pane_holds_changes_no_window() -> None:
    records = [r._replace(path=r.path + 1) for r in beat(40)]  # path 0 is never held
    known = Run().each(records).end()
    run = Run().each(records[:120])
    moved = np.array([-1, 0, 1, 2], np.int32)
    run.windower.reindex(moved)
    run.each([r._replace(path=r.path - 1) for r in records[120:]]).end()

    def of_path(found: Run) -> list[Any]:
        last = found.closed.windows[-1]
        features = {k: v.tolist() for k, v in last.features_us.items()}
        return [last.records.tolist(), features, int(found.closed.panes[-1].records.sum())]

    assert of_path(run) == of_path(known)
    assert run.closed.windows[-1].path.tolist() == [0, 1, 2]


def test_a_path_keeps_its_index_until_others_are_evicted() -> None:
    table = PathTable()
    rows = batch([record(src=f"h{n}", dst="h9") for n in range(1, 5)])
    ids = identity.path_ids(rows)
    assert table.index(rows, ids).tolist() == [0, 1, 2, 3]
    assert table.index(rows.slice(2), ids[2:]).tolist() == [2, 3]
    table.last_seen_s[:] = [5, 1, 5, 1]
    moved = table.forget(before_s=3)
    assert moved is not None
    assert moved.tolist() == [0, -1, 1, -1]
    assert table.index(rows, ids).tolist() == [0, 2, 1, 3], "the forgotten come back at the end"
    assert table.describe(np.arange(4, dtype=np.int32))[0].to_pylist() == [
        ids[0], ids[2], ids[1], ids[3],
    ]  # fmt: skip


def test_a_description_is_remembered_once_it_was_asked_for_again() -> None:
    table = PathTable()
    rows = batch([record(src=f"h{n}", dst="h9") for n in range(1, 5)])
    table.index(rows, identity.path_ids(rows))
    panes = [np.array(each, np.int32) for each in ([0, 1], [2], [0, 1, 2])]
    first, second, third = ([table.describe(pane) for pane in panes] for _ in range(3))
    assert first == second == third
    for once, twice, again in zip(first, second, third, strict=True):
        assert once[1] is not twice[1]
        assert twice[1] is again[1]


def test_no_path_is_renumbered_while_all_are_probed() -> None:
    table = PathTable()
    rows = batch([record()])
    table.index(rows, identity.path_ids(rows))
    assert table.forget(before_s=0) is None


def test_a_path_that_is_new_twice_in_one_batch_is_one_path() -> None:
    table = PathTable()
    rows = batch([record(0.1), record(0.2), record(0.3, src="h3")])
    assert table.index(rows, identity.path_ids(rows)).tolist() == [0, 0, 1]
    assert len(table) == 2


def test_only_the_rows_that_are_asked_for_are_indexed() -> None:
    table = PathTable()
    rows = batch([record(src=f"h{n}", dst="h9") for n in range(1, 5)])
    ids = identity.path_ids(rows)
    assert table.index(rows, ids, np.array([3, 1])).tolist() == [0, 1]
    assert table.ids.tolist() == [ids[3], ids[1]]
