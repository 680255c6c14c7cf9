"""A line before and after each action, from which the drains of an hour are counted."""

from __future__ import annotations

import pytest

from controller.slurm_drain.audit import AuditError, drained_in_hour, line
from controller.slurm_drain.plan import Action

NOW = 1_790_000_000_000
DRAIN = Action("gpu-7", "DRAIN", "abcd", "rnic:10.0.7.1", "skeletonhunter abcd P0")
RESUME = Action("gpu-7", "RESUME", "abcd", "rnic:10.0.7.1")


def test_drains_of_an_hour_count_whatever_became_of_them() -> None:
    lines = [
        line(DRAIN, "begun", NOW - 3_600_000), line(DRAIN, "done", NOW - 3_600_000),
        line(DRAIN, "begun", NOW - 3_599_000), line(DRAIN, "failed", NOW - 3_598_000, "denied"),
        line(DRAIN, "changed", NOW - 1000),
        line(RESUME, "begun", NOW - 500), line(RESUME, "done", NOW - 400),
        line(DRAIN, "begun", NOW),
    ]  # fmt: skip
    assert drained_in_hour(lines, NOW) == 2
    assert b'"reason":"skeletonhunter abcd P0"' in lines[0]


def test_a_line_that_cannot_be_read_is_named_and_one_cut_off_is_no_action() -> None:
    good = line(DRAIN, "begun", NOW)
    assert drained_in_hour([good, good[:30]], NOW) == 1
    with pytest.raises(AuditError, match=r"line 2: .*move the file away"):
        drained_in_hour([good, b"{}\n"], NOW)
