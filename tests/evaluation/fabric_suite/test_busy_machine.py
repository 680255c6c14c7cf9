"""A claim that fails on a busy machine is a gap with a figure; on an idle one it is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluation.fabric_suite.scheduling_delay import BUSY_MS, SchedulingDelay, worst_median

TESTS = Path(__file__).parents[2]
MODULE = """
import pytest
from evaluation.fabric_suite.scheduling_delay import SchedulingDelay

pytestmark = pytest.mark.netns
SchedulingDelay.complaint = lambda self, since_s: {complaint!r}

def test_a_dead_agent_is_found():
    assert False, "agent crash is missed"

def test_a_broken_test():
    raise KeyError("not a claim")
"""


def outcome(directory: Path, complaint: str) -> str:
    """The output of a run of ``MODULE`` with this repository's conftest, with CI=true."""
    (directory / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (directory / "test_claims.py").write_text(MODULE.format(complaint=complaint))
    (directory / "pytest.ini").write_text("[pytest]\nmarkers =\n  netns: real packets\n")
    environment = {**os.environ, "CI": "true", "PYTHONPATH": str(TESTS.parent)}
    environment.pop("PYTEST_GAPS_FILE", None)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(directory)],
        capture_output=True, text=True, check=False, cwd=directory, env=environment,
    )  # fmt: skip
    return run.stdout


def test_a_failed_claim_is_a_gap_with_the_figure_where_the_machine_is_busy(tmp_path: Path) -> None:
    said = outcome(tmp_path, "machine too busy, measured: 9 ms")
    assert "1 failed, 1 skipped" in said, said
    assert "could not run on this machine" in said
    assert (
        "test_a_dead_agent_is_found: machine too busy, measured: 9 ms; untested claim: "
        "AssertionError: agent crash is missed"
    ) in said


def test_a_failed_claim_is_a_failure_where_the_machine_is_idle(tmp_path: Path) -> None:
    assert "2 failed" in outcome(tmp_path, "")


@pytest.mark.parametrize(
    ("seconds", "worst"),
    [
        ([], 0.0),
        ([0.1, 5.0, 0.1], 0.1),
        ([0.1] * 100 + [5.0] * 10, 0.1),
        ([0.1] * 100 + [5.0] * 20 + [0.1] * 100, 5.0),
    ],
    ids=["nothing measured", "short", "a burst of 10 s", "20 busy seconds"],
)
def test_the_delay_is_the_median_of_the_worst_30_s(seconds: list[float], worst: float) -> None:
    assert worst_median(seconds) == worst


def test_the_delay_of_timers_is_measured_and_reported_with_its_limit() -> None:
    with SchedulingDelay() as delay:
        deadline = time.monotonic() + 300
        while not delay.worst_ms():
            assert time.monotonic() < deadline, "a second has a median"
            time.sleep(0.1)  # between two looks
        measured = delay.worst_ms()
        assert (measured > BUSY_MS) == bool(delay.complaint())
        assert delay.worst_ms(since_s=time.monotonic() + 60) == 0.0, "nothing measured yet"
