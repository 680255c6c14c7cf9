"""Nothing is broken and yet nothing is still: losses, bursts, agents that are late."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from testbed.simulator.baseline import Noise, job_burst, link_loss
from testbed.simulator.records import plain
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.topologies import clos
from testbed.topologies.clos import ClosSpec
from testbed.workload.skeleton import OVERLAY

START_NS = 1_800_000_000 * SECOND_NS
SPEC = ClosSpec(
    name="t", hosts=16, rails=2, hosts_per_segment=4, aggs=2, pods=2, spines=2, hosts_per_job=16
)


def simulation(**noise: object) -> Simulation:
    return Simulation(
        clos.build(SPEC, 1), seed=1, start_ns=START_NS, noise=msgspec.convert(noise, Noise)
    )


def test_a_link_loses_differently_in_each_direction() -> None:
    well = simulation(link_loss=[1e-4, 1e-2])
    there, back = link_loss(well.network, well.noise, seed=1)
    links = there > 0
    assert (there[links] != back[links]).all()
    assert min(there[links].min(), back[links].min()) >= 1e-4
    paths, keep = well.paths, well.baseline.log_keep
    one = int(np.flatnonzero(paths.layer == OVERLAY)[0])
    expected = 0.0
    for route in (paths.forward[one], paths.reply[one]):
        crossed = route[route >= 0]
        for before, here, after in zip(crossed, crossed[1:], crossed[2:], strict=False):
            expected += np.log1p(-(there if before < after else back)[here])
    assert keep[one] == pytest.approx(expected)


def test_background_loss_from_zero_is_uniform() -> None:
    well = simulation(link_loss=[0.0, 5e-4])
    loss = link_loss(well.network, well.noise, seed=1)
    drawn = loss[loss > 0]
    assert drawn.mean() == pytest.approx(2.5e-4, rel=0.15)
    assert drawn.max() < 5e-4


def test_bursts_may_cost_packets_and_only_then() -> None:
    lossy = simulation(link_loss=[0.0, 0.0], burst_loss=0.1)
    hit = 0
    for second in range(60):
        batch = plain(lossy.second(second).pings)
        lost = sum(batch.column("lost").to_pylist())
        burst = job_burst(lossy.noise, 1, 1, second).any()
        assert burst or not lost
        hit += bool(lost)
    assert hit >= 3


def test_late_agents_publish_the_same_records_five_seconds_later() -> None:
    quiet, slow = simulation(), simulation(late_agents=0.2, late_s=5)
    late = {
        host for host, is_late in zip(slow.network.hosts, slow.baseline.late, strict=True)
        if is_late
    }  # fmt: skip
    assert 1 <= len(late) <= 6
    said = {
        (row["src_node_sn"], row["src_ip"], row["dst_ip"], row["src_port"])
        for row in plain(quiet.second(7).pings).to_pylist()
        if row["src_node_sn"] in late
    }
    late_rows = [
        row for row in plain(slow.second(12).pings).to_pylist() if row["src_node_sn"] in late
    ]
    assert {(r["src_node_sn"], r["src_ip"], r["dst_ip"], r["src_port"]) for r in late_rows} == said
    assert {row["task_start_time"] for row in late_rows} == {START_NS + 7 * SECOND_NS}
    assert late <= {beat.node_sn for beat in slow.second(12).heartbeats}
    early = plain(slow.second(3).pings).to_pylist()
    assert not late & {row["src_node_sn"] for row in early}


@pytest.mark.parametrize(
    ("noise", "reason"),
    [
        ({"burst_loss": 0.9}, "give at most 0.5"),
        ({"late_agents": 0.7}, "share below 0.5"),
        ({"late_s": 0}, "at least 1"),
    ],
)
def test_invalid_noise_is_refused(noise: dict[str, object], reason: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=reason):
        msgspec.convert(noise, Noise)
