"""The ring of newest seconds: any stretch of it is what was written into it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localizer.baselines.pane_history import PaneHistory

SECONDS = 6
#: Of a path in a second, also more than 16 bits hold, in one second or in all of the ring.
COUNTS = st.sampled_from([0, 1, 9, 65_535 // SECONDS, 65_535 // SECONDS + 1, 65_535, 3_000_000])


def put(history: PaneHistory, second: int, lost: list[int]) -> None:
    rows = np.arange(len(lost))
    none = np.zeros(len(lost), np.uint32)
    history.put(
        second, rows, np.full(len(lost), 20.0, np.float32),
        sent=none + 4, lost=np.array(lost, np.uint32), refused=none,
    )  # fmt: skip


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(1, 4), st.lists(COUNTS, max_size=5)),
            st.tuples(st.just("erase"), st.integers(0, 4), st.just([])),
            st.tuples(st.just("keep"), st.integers(0, 4), st.just([])),
            st.tuples(st.just("clear"), st.just(0), st.just([])),
        ),
        max_size=30,
    ),
    st.integers(1, SECONDS),
)
@settings(deadline=None)
def test_a_stretch_of_seconds_holds_what_was_written_in_them(
    story: list[tuple[str, int, list[int]]], length: int
) -> None:
    history, now = PaneHistory(SECONDS), 1000
    by_hand: list[dict[int, int]] = []  # per path: second -> lost
    for what, number, lost in story:
        if what == "put":
            now += number  # seconds without any probe may lie in between
            history.grow(len(lost))
            by_hand += [{} for _ in range(len(lost) - len(by_hand))]
            put(history, now, lost)
            for path, count in enumerate(lost):
                by_hand[path][now] = count
        elif what == "erase":
            history.erase(np.arange(len(by_hand)) == number)
            by_hand = [{} if path == number else counts for path, counts in enumerate(by_hand)]
        elif what == "keep":
            history.retain(np.arange(len(by_hand)) != number)
            by_hand = [counts for path, counts in enumerate(by_hand) if path != number]
        else:
            history.clear()
            by_hand = [{} for _ in by_hand]
            now += 200
            put(history, now, [0] * len(by_hand))
        want = [sum(counts.get(now - back, 0) for back in range(length)) for counts in by_hand]
        assert history.total("lost", now, length).tolist() == want
        assert history.counts("lost", now, length).tolist() == [each % 2**32 for each in want]
        assert history.line("lost", now).tolist() == [counts.get(now, 0) for counts in by_hand]
        every = np.arange(len(by_hand))
        assert history.by_second("lost", now, length, every[1:]).tolist() == [
            sum(counts.get(second, 0) for counts in by_hand[1:])
            for second in range(now - length + 1, now + 1)
        ]
        assert history.any("lost", now, length, every > 0) == any(want[1:])


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 7, 42, 43, 255, 10_922, 10_923, 3_000_000]),
                       st.integers(0, 2)), min_size=1, max_size=20),
    st.integers(1, SECONDS),
)  # fmt: skip
@settings(deadline=None)
def test_sums_of_probes_sent_widen_before_a_stretch_exceeds_them(
    story: list[tuple[int, int]], length: int
) -> None:
    history = PaneHistory(SECONDS)
    history.grow(3)
    none, counts = np.zeros(1, np.uint32), np.zeros((len(story), 3), np.int64)
    for at, (sent, row) in enumerate(story):
        counts[at, row] = sent
        history.put(at, np.array([row]), none.astype(np.float32),
                    sent=none + np.uint32(sent), lost=none, refused=none)  # fmt: skip
        stretch = counts[max(at + 1 - length, 0) : at + 1]
        assert history.total("sent", at, length).tolist() == stretch.sum(axis=0).tolist()
        since = [0] * (length - len(stretch))
        by_hand = since + stretch.sum(axis=1).tolist()
        assert history.by_second("sent", at, length, np.arange(3)).tolist() == by_hand


def test_more_seconds_than_the_ring_holds_are_not_to_be_had() -> None:
    history = PaneHistory(SECONDS)
    with pytest.raises(ValueError, match="7 s asked for; the ring holds 6"):
        history.total("lost", 1000, SECONDS + 1)


def test_a_path_without_an_answer_has_no_round_trip() -> None:
    history = PaneHistory(SECONDS)
    history.grow(2)
    put(history, 1000, [0])
    put(history, 1001, [])
    assert history.rtt_us(1000).tolist() == [20.0, 0.0]
    assert history.rtt_us(1001).tolist() == [0.0, 0.0]
    assert history.last_seen.tolist() == [1000, -1]


def test_a_path_is_heard_in_a_stretch_in_which_a_probe_was_answered() -> None:
    history = PaneHistory(SECONDS)
    history.grow(3)
    put(history, 1000, [0, 4, 3])
    put(history, 1001, [4, 4, 4])
    assert history.heard(1001, 2).tolist() == [True, False, True]
    assert history.heard(1001, 1).tolist() == [False, False, False]


def test_counts_of_a_path_that_two_partitions_have_are_added() -> None:
    history = PaneHistory(SECONDS)
    history.grow(3)
    rows, one = np.array([2, 0, 2]), np.ones(3, np.uint32)
    history.put(1000, rows, np.array([5, 6, 7], np.float32), sent=2 * one, lost=one, refused=one)
    assert history.line("sent", 1000).tolist() == [2, 0, 4]
    assert history.line("lost", 1000).tolist() == [1, 0, 2]
    assert history.line("refused", 1000).tolist() == [1, 0, 2]
    assert history.rtt_us(1000).tolist() == [6.0, 0.0, 7.0]
    assert history.heard(1000, 1).tolist() == [False, False, False]


def test_what_is_rarely_probed_and_hardly_loses_takes_little_memory() -> None:
    paths, seconds = 10_000, 32
    history, rng = PaneHistory(seconds), np.random.default_rng(1)
    history.grow(paths)
    for second in range(seconds):  # each path is probed every 10 s
        rows = np.arange(second % 10, paths, 10)
        sent = np.ones(len(rows), np.uint32)
        lost = (rng.random(len(rows)) < 1e-3).astype(np.uint32)
        rtt = rng.uniform(10, 20, len(rows)).astype(np.float32)
        history.put(second, rows, rtt, sent=sent, lost=lost, refused=0 * sent)
    assert history.nbytes < 85 * paths  # 130 of round trips and 201 of counts as full lines
