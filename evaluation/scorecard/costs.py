"""CPU seconds of a trial on one quiet core: for the order of trials, and for the plan."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from testbed.scenarios import scenario

#: CPU seconds, for estimates: of a record through the whole pipeline, of a path in each second,
#: probed or not, of a trial's beginning, of a second, of one in which something alarms, then for
#: each path and for each pair of faults too, of a strategy on a published setting, of all
#: strategies on a curve, and of a second without pings.
RECORD_S: Final = 1.4e-6
KNOWN_PATH_S: Final = 8e-7
TRIAL_S: Final = 0.7
SECOND_S: Final = 3e-3
ALARM_S: Final = 0.02
ALARM_PATH_S: Final = 1e-6
ALARM_FAULT_S: Final = 9e-4
PATH_S: Final = 0.1
CURVE_S: Final = 15.0
HEALTHY_S: Final = 0.022


@cache
def cost_s(name: str) -> float:
    """CPU seconds that a trial of a scenario is expected to take with the default strategy."""
    plan = scenario.load(name)
    simulation = plan.simulation(seed=0, start_ns=0)
    paths, length = len(simulation.paths), plan.duration_s
    pairs = paths / simulation.ports_per_pair
    active = np.zeros(length, np.int64)
    for fault in simulation.faults:
        if fault.signature.effect in ("loss", "latency", "queue", "crash"):
            active[fault.start_s : fault.end_s] += 1
    alarms = (active > 0) * (ALARM_S + ALARM_PATH_S * paths) + active**2 * ALARM_FAULT_S
    rounds_a_second = sum(1 / each for each in simulation.every_s) / len(simulation.every_s)
    a_second = SECOND_S + paths * KNOWN_PATH_S + pairs * rounds_a_second * RECORD_S
    return TRIAL_S + a_second * length + float(alarms.sum())
