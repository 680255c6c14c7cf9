"""The flat-out measurement drives the real engine, with the kernel's stamps."""

from __future__ import annotations

import sys

import pytest

from evaluation.bench.agent.cost import document
from evaluation.bench.agent.flat_out import flat_out

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="all of 127/8 is Linux's loopback")


def test_the_measured_list_has_8_rnics_and_512_targets_at_128_probes_a_second() -> None:
    listed = document()
    assert len(listed.endpoints) == 8
    assert len({target.ip for target in listed.targets}) == 512
    five_tuples = sum(len(target.src_ports) for target in listed.targets)
    assert listed.interval_s is not None
    assert five_tuples / listed.interval_s == 128


def test_flat_out_measures_probes_that_were_answered_and_stamped() -> None:
    result = flat_out(seconds=1)
    assert "probes/s/core" in result["figure"]
    assert result["stamped"] > 0.5
