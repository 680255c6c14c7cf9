"""When probes are sent, and what the agent knows about its own health."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from probers.health.heartbeat import CpuSteal
from probers.net.five_tuple import FiveTuple
from probers.probing.schedule import Schedule
from probers.process.log import log_event
from probers.process.loop import Loop
from probers.publishing.batcher import FLUSH_NS, Batcher
from probers.publishing.destination import publish_to
from probers.publishing.publisher import Publisher

Until = Callable[[Callable[[], bool]], None]
FLOWS = [FiveTuple(("10.0.0.1", 61100 + n), ("10.0.0.2", 65300)) for n in range(20)]


def test_every_flow_has_its_turn_once_per_interval_without_drift(
    loop: Loop, run_until: Until
) -> None:
    turns: defaultdict[FiveTuple, list[float]] = defaultdict(list)
    begin = time.monotonic()
    schedule = Schedule(loop, lambda flow: turns[flow].append(time.monotonic() - begin), Random(1))
    schedule.replace(FLOWS, 0.2)
    run_until(lambda: time.monotonic() - begin > 2.0)
    assert set(turns) == set(FLOWS)
    for times in turns.values():
        assert 8 <= len(times) <= 11
        phases = [at - turn * 0.2 for turn, at in enumerate(times)]
        assert max(phases) - min(phases) < 0.3, "late by grid, jitter and load, never adding up"
    firsts = sorted(times[0] for times in turns.values())
    assert firsts[-1] - firsts[0] > 0.1, "spread over the interval"


def test_a_replaced_schedule_fires_nothing_of_the_old_one(loop: Loop, run_until: Until) -> None:
    fired: list[FiveTuple] = []
    schedule = Schedule(loop, fired.append, Random(1))
    schedule.replace(FLOWS[:10], 0.05)
    schedule.replace(FLOWS[10:], 0.05)
    run_until(lambda: len(fired) > 30)
    assert set(fired) == set(FLOWS[10:])


def test_a_schedule_of_nobody_does_nothing(loop: Loop) -> None:
    Schedule(loop, lambda _: pytest.fail("nobody is to be probed"), Random(1)).replace([], 1.0)


def test_records_leave_within_half_a_second_or_when_a_message_is_full(
    loop: Loop, run_until: Until, tmp_path: Path
) -> None:
    publisher: Publisher = publish_to(f"file:{tmp_path / 'out'}")
    publisher.connect(1.0)
    batcher = Batcher(loop, publisher, "host-1", "ndjson")
    begin = time.monotonic()
    batcher.add({"dial": "timeout", "ping_time": 1})
    assert batcher.published == 0
    run_until(lambda: batcher.published == 1)
    assert time.monotonic() - begin >= FLUSH_NS / 1e9
    for number in range(512):
        batcher.add({"dial": "timeout", "ping_time": number})
    assert batcher.published == 513
    publisher.close(1.0)


def test_stolen_cpu_time_is_a_share_of_what_passed(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 100 800 0 0 0 0 0 0\n")
    steal = CpuSteal(stat)
    stat.write_text("cpu  150 0 100 825 0 0 0 25 0 0\n")
    assert steal.read() == 0.25
    assert steal.read() == 0.0, "nothing passed since"
    stat.unlink()
    assert steal.read() == 0.0


def test_a_log_line_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    log_event("error", "thing", why='two\nlines "quoted"', count=3)
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert line.endswith("level=error event=thing why=\"two lines 'quoted'\" count=3\n")
