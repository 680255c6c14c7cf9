"""What counts as growth in an hour of samples."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from evaluation.chaos.churn_load import carrying, joined
from evaluation.chaos.soak import Samples, problems, slope
from schemas.documents import topology
from schemas.documents.times import seconds_of
from testbed.scenarios import scenario

AT_S = [10.0 * i for i in range(360)]
NOISE = np.random.default_rng(1).normal(0, 2, len(AT_S))


def rising(rise_mb_h: float) -> list[float]:
    return [300 + rise_mb_h * at / 3600 + noise for at, noise in zip(AT_S, NOISE, strict=True)]


def samples(
    rise_mb_h: float,
    files: list[int] | None = None,
    lag_s: float = 0.1,
    used: list[float] | None = None,
) -> Samples:
    count = len(AT_S)
    return Samples(
        AT_S, rising(rise_mb_h), files or [40] * count, [lag_s] * count,
        used or [np.nan] * count, [np.nan] * count,
    )  # fmt: skip


def test_the_slope_is_that_of_the_line_within_its_error() -> None:
    rise, error = slope(AT_S, samples(7.0).rss_mb)
    assert rise == pytest.approx(7.0, abs=error)
    assert error < 1.0
    assert slope([1, 2], [1, 2]) == pytest.approx((np.nan, np.nan), nan_ok=True)


def test_only_what_rises_beyond_its_error_is_a_problem() -> None:
    assert problems("x", samples(0.0)) == []
    assert "resident memory rises by 5.1 ± 1.3 MB/h" in problems("x", samples(5.0))[0]


def test_what_malloc_has_given_out_rises_though_resident_memory_does_not() -> None:
    (found,) = problems("x", samples(0.0, used=rising(5.0)))
    assert "what malloc has given out rises by" in found
    some = [np.nan if i % 3 else value for i, value in enumerate(rising(50.0))]
    assert len(problems("x", samples(0.0, used=some))) == 1, "a scrape may fail"
    assert problems("x", samples(0.0, used=[np.nan] * len(AT_S))) == []


def test_memory_that_is_taken_in_the_warm_up_is_no_growth() -> None:
    found = samples(0.0)
    settled = 120  # 1,200 s: paths that are no more have been dropped by then
    found.rss_mb[:settled] = [100.0] * settled
    assert problems("x", found) == []
    found.rss_mb[: settled + 30] = [100.0] * (settled + 30)
    assert len(problems("x", found)) == 1


def test_the_warm_up_of_a_short_run_is_half_of_it() -> None:
    short = Samples([10.0 * i for i in range(31)], [0.0] * 31, [40] * 31, [0.1] * 31)
    assert short.warm().at_s[0] == 150.0
    assert samples(0.0).warm().at_s[0] == 1200.0
    assert Samples().warm().at_s == []


def test_files_that_only_rise_and_a_lag_that_stays_are_problems() -> None:
    rising = [40 + i // 20 for i in range(len(AT_S))]
    assert "open files rose" in problems("x", samples(0.0, rising))[0]
    some = [40 + i % 7 for i in range(len(AT_S))]
    assert problems("x", samples(0.0, some)) == []
    assert "20 s behind" in problems("x", samples(0.0, lag_s=20.0))[0]


def test_each_host_that_joins_is_new_and_alone_in_a_valid_topology() -> None:
    fabric = scenario.load("churn").simulation(seed=1, start_ns=0).topology
    first, last = (joined(fabric, number, 10**9 * (5 + number)) for number in (0, 59))
    for each in (first, last):
        topology.parse(msgspec.json.encode(each))
    assert seconds_of(last.valid_from) == 64
    assert len(last.hosts) == len(fabric.hosts) + 1
    new, newest = first.hosts[-1], last.hosts[-1]
    assert new.node_sn != newest.node_sn
    assert not {each.real_ip for each in new.rnics} & {each.real_ip for each in newest.rnics}
    assert [each.asw for each in newest.rnics] == [each.asw for each in fabric.hosts[-1].rnics]


def test_the_load_has_the_rate_that_was_asked_for() -> None:
    plan = msgspec.structs.replace(scenario.load("churn"), duration_s=300)
    least, more = (carrying(plan, rate).simulation(seed=1, start_ns=0) for rate in (1, 2_500))
    assert len(least.topology.hosts) == 32
    assert 2_500 <= more.second(120).pings.num_rows < 5_000
    assert more.schedule.placements(more.topology.fabric, 0), "containers still come and go"
