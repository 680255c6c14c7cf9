"""What rnics carry, by their position in the job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from schemas.documents import throughput as schema
from testbed.simulator import files
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.topologies import clos
from testbed.topologies.clos import ClosSpec
from testbed.workload.churn import deal
from testbed.workload.jobs import JobsPlan
from testbed.workload.layouts import ranks
from testbed.workload.throughput import LINE_RATE, Throughput

START_NS = 1_800_000_000 * SECOND_NS
FABRIC = clos.build(ClosSpec(name="t", hosts=24, rails=2, hosts_per_segment=6, aggs=2), 1)


def simulation(**plan: object) -> Simulation:
    topology, schedule = deal(FABRIC, JobsPlan(**plan), 600, 1)  # type: ignore[arg-type]  # a test's own choice
    return Simulation(topology, seed=1, start_ns=START_NS, schedule=schedule)


ONE_JOB = simulation(hosts=(16,), pp=4)
SENT = np.array([Throughput(ONE_JOB).rates(second)[0] for second in range(180)])
PHASE = ONE_JOB.schedule.phases[0]
PLACE = ranks(PHASE.layout)
RNIC = np.array([
    ONE_JOB.network.endpoint_rnic[ONE_JOB.network.endpoint_container == member]
    for member in PHASE.members
])  # fmt: skip
#: (seconds, H, rails) bytes/s of the job's rnics
SERIES = SENT[:, RNIC]


def burst_starts(series: np.ndarray) -> np.ndarray:
    high = series > 0.5 * LINE_RATE
    return np.flatnonzero(high[1:] & ~high[:-1]) + 1


def test_bursts_come_once_an_iteration_at_nearly_line_rate() -> None:
    starts = burst_starts(SERIES[:, 0, 0])
    gaps = np.diff(starts)
    assert len(starts) >= 5
    assert 26 <= gaps.mean() <= 34
    assert gaps.max() - gaps.min() <= 1
    assert SENT.max() <= LINE_RATE


def test_earlier_stages_burst_first() -> None:
    cycle = slice(burst_starts(SERIES[:, 0, 0])[0] - 5, burst_starts(SERIES[:, 0, 0])[0] + 20)
    seconds = np.arange(cycle.start, cycle.stop)
    weight = np.where(SERIES[cycle] > 0.3 * LINE_RATE, SERIES[cycle], 0)
    centre = (weight * seconds[:, None, None]).sum(axis=0) / weight.sum(axis=0)
    by_stage = [centre[PLACE.pp == stage].mean() for stage in range(4)]
    assert (np.diff(by_stage) > 0.8).all()


def test_replicas_of_a_position_are_alike_and_stages_are_not() -> None:
    def likeness(a: tuple[int, int], b: tuple[int, int]) -> float:
        return float(np.corrcoef(SERIES[:, *a], SERIES[:, *b])[0, 1])

    first, replica, next_stage = (0, 0), (1, 0), (4, 0)
    assert likeness(first, replica) > 0.99
    assert likeness(first, next_stage) < 0.95


def test_rnics_without_a_job_are_all_but_idle() -> None:
    idle = np.setdiff1d(np.arange(SENT.shape[1]), RNIC)
    assert len(idle) == 16
    assert SENT[:, idle].mean() < 0.001 * LINE_RATE


def test_a_job_whose_containers_are_not_all_ready_does_not_train() -> None:
    fresh = simulation(hosts=(16,), fresh=1.0, spread_s=100)
    ready = max(life.ready_s for life in fresh.schedule.lives)
    made = Throughput(fresh)
    before = np.array([made.rates(second)[0] for second in range(ready)])
    after = np.array([made.rates(second)[0] for second in range(ready, ready + 40)])
    assert before.max() < 0.01 * LINE_RATE
    assert after.max() > 0.5 * LINE_RATE


def test_seconds_come_in_any_order() -> None:
    one, other = Throughput(ONE_JOB), Throughput(ONE_JOB)
    forwards = [one.second(index) for index in range(5)]
    assert [other.second(index) for index in (4, 3, 2, 1, 0)][::-1] == forwards


def test_the_file_has_a_row_per_rnic_and_second_in_the_columns_of_the_topic(
    tmp_path: Path,
) -> None:
    table = pa.parquet.read_table(files.write_throughput(ONE_JOB, tmp_path, 7))
    assert table.num_rows == 7 * len(ONE_JOB.network.rnic_host)
    plain = {
        field.name: field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        for field in table.schema
    }
    assert plain == {column.name: pa.type_for_alias(column.type) for column in schema.COLUMNS}
    third = table.filter(pa.compute.equal(table["time"], START_NS + 3 * SECOND_NS))
    assert third["tx_bytes"].to_pylist() == SENT[3].tolist()
