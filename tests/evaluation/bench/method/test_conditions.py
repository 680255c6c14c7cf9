"""A figure is refused where others had a part of the machine meanwhile."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evaluation.bench.method import conditions
from evaluation.bench.method.conditions import MOST_OTHERS, CpuTime, clock_mhz, described, refusal


def test_what_a_child_used_is_own_work_and_what_is_left_is_that_of_others() -> None:
    before = CpuTime(at_s=10.0, busy_s=100.0, own_s=5.0)
    assert CpuTime(20.0, 118.0, 13.0).others_since(before) == pytest.approx(1.0)
    assert CpuTime(20.0, 105.0, 11.0).others_since(before) == 0.0  # ticks are coarse


def test_a_child_that_has_ended_counts_as_own_work() -> None:
    before = CpuTime.now()
    work = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", work], check=True)
    assert CpuTime.now().own_s - before.own_s >= 0.2


def test_busy_is_all_but_idle_and_waiting_and_what_a_guest_counts_twice() -> None:
    stat = "cpu  100 20 30 5000 700 4 6 40 90 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n"
    ticks = 100 + 20 + 30 + 4 + 6 + 40
    assert conditions.busy_s(stat) == pytest.approx(ticks * conditions.TICK_S)


def test_a_figure_of_a_busy_machine_is_refused_with_what_the_others_used() -> None:
    assert refusal(MOST_OTHERS) is None
    why = refusal(1.31)
    assert why is not None
    assert "used 1.3 of" in why


def test_the_clock_is_the_median_of_the_cores_where_the_kernel_says_it() -> None:
    assert clock_mhz("cpu MHz\t\t: 2445.4\ncpu MHz : 2400.0\ncpu MHz : 3000\n") == "2,445 MHz"
    assert clock_mhz("processor : 0\n") == "clock unknown"


def test_the_conditions_are_one_line() -> None:
    said = described()
    assert "load " in said
    assert "reference work " in said
    assert "\n" not in said
