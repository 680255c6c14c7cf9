"""Readings of counters become bytes of seconds, and everything else a gap that is counted."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probers.throughput.seconds import MAX_OFFSET_NS, NS, Reading, Sample, Seconds

START: Final = 1_700_000_000
LATE: Final = MAX_OFFSET_NS + 1


class Rnic:
    """An rnic that is read at times of a test's choice [s since START]."""

    def __init__(self) -> None:
        self.seconds = Seconds()
        self.bytes = 0

    def read(
        self, second: float, sent: int | None, *, source: str = "net:nic0", took_ns: int = 0,
        stepped_ns: int = 0,
    ) -> Sample | None:  # fmt: skip
        """sent: the counter, None: unreadable; stepped_ns: by which the wall clock was set."""
        running_ns = round(second * NS)
        reading = None if sent is None else Reading(source, sent, 2 * sent)
        wall_ns = START * NS + running_ns + stepped_ns
        return self.seconds.take("10.0.0.1", reading, wall_ns, running_ns, took_ns)

    @property
    def counts(self) -> dict[str, int]:
        return {name: count for name, count in self.seconds.counts.items() if count}


@pytest.fixture
def rnic() -> Rnic:
    return Rnic()


def test_the_difference_of_two_readings_is_the_throughput_of_the_second_between_them(
    rnic: Rnic,
) -> None:
    assert rnic.read(0, 1_000) is None, "a counter says nothing of the time before it was read"
    assert rnic.read(1.05, 1_500) == Sample("10.0.0.1", START, 500, 1_000)
    assert rnic.read(1.999, 1_500) == Sample("10.0.0.1", START + 1, 0, 0)
    assert rnic.counts == {"missed": 1, "sampled": 2}


def test_a_counter_that_falls_is_a_gap_of_one_second_and_no_burst(rnic: Rnic) -> None:
    rnic.read(0, 2**32 - 10)
    assert rnic.read(1, 20) is None, "reset, or wrapped at whatever width: unknown"
    assert rnic.read(2, 50) == Sample("10.0.0.1", START + 1, 30, 60)
    assert rnic.counts == {"missed": 1, "reset": 1, "sampled": 1}


def test_seconds_without_a_reading_in_time_are_gaps_and_not_one_long_burst(rnic: Rnic) -> None:
    rnic.read(0, 0)
    rnic.read(1, 100)
    assert rnic.read(4, 700) is None, "two whole seconds were missed: which had the bytes?"
    assert rnic.read(5, 800) == Sample("10.0.0.1", START + 4, 100, 200)
    assert rnic.counts == {"missed": 4, "sampled": 2}


@pytest.mark.parametrize("late", [{"took_ns": LATE}, {"stepped_ns": LATE}, {"stepped_ns": -LATE}])
def test_a_reading_that_is_not_at_the_end_of_its_second_belongs_to_neither_second(
    rnic: Rnic, late: dict[str, int]
) -> None:
    rnic.read(0, 0)
    assert rnic.read(1, 100, **late) is None
    assert rnic.read(2, 200) is None
    assert rnic.read(3, 300) is not None
    assert rnic.counts == {"missed": 3, "sampled": 1}


def test_a_second_in_which_the_clock_was_set_is_a_gap(rnic: Rnic) -> None:
    rnic.read(0, 0)
    assert rnic.read(1.5, 100, stepped_ns=-NS // 2) is None, "it lasted one and a half"
    assert rnic.read(2.5, 200, stepped_ns=-NS // 2) is not None


def test_another_counter_begins_anew(rnic: Rnic) -> None:
    rnic.read(0, 100, source="net:nic0#3")
    assert rnic.read(1, 900, source="net:nic0#7") is None, "the interface was made again"
    assert rnic.read(2, 950, source="net:nic0#7") is not None


def test_an_unreadable_counter_is_a_gap_until_two_readings_follow(rnic: Rnic) -> None:
    rnic.read(0, 0)
    assert rnic.read(1, None) is None
    assert rnic.read(2, 500) is None
    assert rnic.read(3, 600) is not None
    assert rnic.counts == {"missed": 2, "unreadable": 1, "sampled": 1}


def test_an_rnic_that_no_job_uses_any_more_is_forgotten(rnic: Rnic) -> None:
    rnic.read(0, 0)
    rnic.seconds.retain(())
    assert rnic.read(1, 100) is None


STEP = st.tuples(
    st.integers(0, 2**40),  # bytes of the second
    st.sampled_from(["in time", "late", "skipped", "unreadable", "reset"]),
)


@given(st.lists(STEP, max_size=40))
def test_whatever_goes_wrong_samples_are_the_bytes_of_their_second_and_counts_add_up(
    steps: list[tuple[int, str]],
) -> None:
    rnic, counter, true, last = Rnic(), 10, {}, -1
    found = [rnic.read(0, counter)]
    for second, (bytes_sent, fate) in enumerate(steps, start=1):
        counter += bytes_sent
        true[START + second - 1] = bytes_sent
        if fate == "reset":
            counter = 0
            true[START + second - 1] = 0  # a reset of a counter that stood at 0 is not seen
        if fate == "skipped":
            continue
        last = second
        reading = None if fate == "unreadable" else counter
        found.append(rnic.read(second, reading, took_ns=LATE * (fate == "late")))
    samples = [each for each in found if each is not None]
    assert all(each.tx <= true[each.second] or not each.tx for each in samples)
    assert len(samples) == rnic.seconds.counts["sampled"]
    assert rnic.seconds.counts.total() == max(last, 0) + 1
