"""The ring of seconds of one job: newest samples stay, whatever their order and their gaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controller.ping_lists.endpoints import Endpoint
from controller.traffic.job_series import JobSeries

KEPT_S = 10
RNICS = [
    Endpoint(f"h{host}", rail, f"10.{rail}.{host}.1", f"10.{rail}.{host}.1", "underlay",
             "", "", "", "", "")
    for host in range(2)
    for rail in range(2)
]  # fmt: skip
BEGIN_S = 1_000_000


def add(series: JobSeries, *samples: tuple[int, int, int]) -> None:
    """Samples (row, second after BEGIN_S, bytes sent); twice as much is received."""
    row, second, tx = np.array(samples, np.int64).reshape(-1, 3).T
    series.add(row, BEGIN_S + second, tx, 2 * tx)


def test_a_series_has_the_rnics_by_host_and_rail_and_nan_where_there_is_no_sample() -> None:
    series = JobSeries(RNICS, BEGIN_S, KEPT_S)
    add(series, (0, 1, 10), (1, 1, 11), (2, 3, 12), (1, 3, 13), (3, 3, 14))
    given, names = series.throughput()
    nan = np.nan
    np.testing.assert_array_equal(
        given.tx, [[10, nan, nan], [11, nan, 13], [nan, nan, 12], [nan, nan, 14]]
    )
    np.testing.assert_array_equal(given.rx, 2 * given.tx)
    assert given.host.tolist() == [0, 0, 1, 1]
    assert given.rail.tolist() == [0, 1, 0, 1]
    assert names.real_ip == [each.real_ip for each in RNICS]
    assert names.start_ns == (BEGIN_S + 1) * 1_000_000_000


def test_a_series_ends_where_half_of_the_rnics_have_samples() -> None:
    series = JobSeries(RNICS, BEGIN_S, KEPT_S)
    add(series, (0, 0, 1))
    assert series.seconds == 0, "one rnic of four"
    add(series, (1, 2, 1), (2, 5, 1), (3, 4, 1))
    assert (series.last_s - BEGIN_S, series.seconds) == (2, 3)


def test_samples_before_the_last_change_of_the_job_do_not_count() -> None:
    series = JobSeries(RNICS, BEGIN_S + 5, KEPT_S)
    add(series, *((row, 4, 1) for row in range(4)))
    assert series.seconds == 0


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 1000)), min_size=1),
    st.integers(1, 7),
)
def test_the_newest_seconds_are_held_however_samples_are_cut_into_messages(
    samples: list[tuple[int, int, int]], size: int
) -> None:
    series = JobSeries(RNICS, BEGIN_S, KEPT_S)
    expected: dict[tuple[int, int], int] = {}
    newest = -1
    for at in range(0, len(samples), size):
        part = samples[at : at + size]
        add(series, *part)
        newest = max(newest, *(second for _, second, _ in part))
        expected |= {(row, second): tx for row, second, tx in part}
        expected = {key: tx for key, tx in expected.items() if key[1] > newest - KEPT_S}
    held = {
        (row, second): tx
        for (row, second), tx in expected.items()
        if series.seconds and second <= series.last_s - BEGIN_S
    }
    if not series.seconds:
        return
    given_, names = series.throughput()
    first = names.start_ns // 1_000_000_000 - BEGIN_S
    found = {
        (row, first + at): int(given_.tx[row, at])
        for row, at in np.argwhere(~np.isnan(given_.tx)).tolist()
    }
    assert found == held


def test_a_job_on_whole_hosts_has_no_rnics_in_the_lists_and_no_throughput() -> None:
    series = JobSeries([], BEGIN_S, KEPT_S)
    assert (series.last_s, series.seconds) == (-1, 0)
