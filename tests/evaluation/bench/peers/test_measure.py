"""CPU time is counted after the warm-up only, and windows that come out in it."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest

from evaluation.bench.peers.engine import Second
from evaluation.bench.peers.measure import Meter

EMPTY = pa.record_batch({"ping_time": pa.array([], pa.int64())})


def test_the_warm_up_is_not_counted() -> None:
    meter = Meter([Second(at, EMPTY) for at in range(4)], warm_s=2)
    for second in meter:
        meter.emit(second.start_s, b"")
        if second.start_s < 2:
            started = time.process_time()
            while time.process_time() - started < 0.1:
                pass
    assert meter.windows == {2, 3}
    assert 0 <= meter.cpu_s < 0.1


def test_what_comes_out_after_the_end_is_not_counted() -> None:
    meter = Meter([Second(0, EMPTY)], warm_s=0)
    list(meter)
    meter.emit(5, b"")
    assert not meter.windows
    assert meter.cpu_s == pytest.approx(0, abs=0.1)
