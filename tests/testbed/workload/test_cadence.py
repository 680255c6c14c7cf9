"""When pairs are probed: rounds of several seconds, hosts of different cadence, bursts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from testbed.faults.kinds import Fault
from testbed.simulator import records
from testbed.simulator.baseline import Noise
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.topologies import clos
from testbed.topologies.clos import ClosSpec

START_NS = 1_800_000_000 * SECOND_NS
SPEC = ClosSpec(
    name="t", hosts=16, rails=2, hosts_per_segment=4, aggs=2, pods=2, spines=2, hosts_per_job=16
)
QUIET = Noise(link_loss=(0.0, 0.0))


def simulated(**probing: object) -> Simulation:
    return Simulation(
        clos.build(SPEC, 1),
        seed=1,
        start_ns=START_NS,
        **{"noise": QUIET, **probing},  # type: ignore[arg-type]  # one test's own cadence
    )


def pings(simulation: Simulation, seconds: range) -> pa.Table:
    parts = [records.plain(simulation.second(index).pings) for index in seconds]
    table = pa.Table.from_batches(parts)
    return table.filter(pc.equal(table["task_type"], "RDMA_PING"))


def five_tuples(table: pa.Table) -> Counter[tuple[str, ...]]:
    names = ("agent_type", "src_ip", "dst_ip", "src_port")
    return Counter(zip(*(map(str, table[name].to_pylist()) for name in names), strict=True))


def test_a_round_of_ten_seconds_probes_each_pair_once_and_its_five_tuples_in_turn() -> None:
    simulation = simulated(ports_per_pair=3, every_s=(10,))
    once = five_tuples(pings(simulation, range(10)))
    assert set(once.values()) == {1}
    assert len({each[:3] for each in once}) == len(once) == len(simulation.paths) // 3
    assert set(five_tuples(pings(simulation, range(30))).values()) == {1}


def test_pairs_begin_their_rounds_at_different_seconds() -> None:
    a_second = [len(pings(simulated(every_s=(10,)), range(at, at + 1))) for at in range(10)]
    assert min(a_second) > 0.5 * max(a_second)


def test_each_host_keeps_one_of_several_cadences() -> None:
    table = pings(simulated(ports_per_pair=1, every_s=(1, 4)), range(8))
    counts: dict[str, set[int]] = {}
    hosts = dict(zip(table["src_ip"].to_pylist(), table["src_node_sn"].to_pylist(), strict=True))
    for each, times in five_tuples(table).items():
        counts.setdefault(hosts[each[1]], set()).add(times)
    assert sorted(map(tuple, counts.values()))[0] == (2,)
    assert sorted(map(tuple, counts.values()))[-1] == (8,)
    assert all(len(times) == 1 for times in counts.values())


def test_a_burst_counts_its_probes_and_gives_their_median_and_99th_percentile() -> None:
    healthy = simulated(burst=50)
    lossy = healthy.with_faults(
        [Fault(kind="tor_loss", component="tor:asw-00", start_s=0, magnitude=0.1)]
    )
    table = pings(lossy, range(4))
    sent, lost = (table[name].to_numpy() for name in ("sent", "lost"))
    assert set(sent.tolist()) == {50}
    assert 0 < lost.max() < 50
    assert np.allclose(table["loss_rate"].to_numpy(), lost / sent)
    answered = table.filter(pc.is_valid(table["latency"]))
    p50, p99 = (answered[name].to_numpy() for name in ("p50_us", "p99_us"))
    assert (p50 < p99).all()
    single = pings(simulated(), range(4))["latency"].to_numpy()
    assert np.median(p50) == pytest.approx(np.median(single), rel=0.05)


def test_a_burst_to_a_dead_port_loses_every_probe_and_times_out() -> None:
    dead = simulated(burst=20).with_faults(
        [Fault(kind="switch_offline", component="tor:asw-00", start_s=0)]
    )
    table = pings(dead, range(2))
    gone = table.filter(pc.equal(table["dial"], "timeout"))
    assert len(gone) > 0
    assert gone["lost"].to_pylist() == gone["sent"].to_pylist()
    assert gone["p50_us"].null_count == len(gone)


def test_a_cadence_below_a_second_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="every_s is in whole seconds"):
        simulated(every_s=(0,))


def test_a_burst_loses_its_probes_one_by_one_to_background_loss() -> None:
    noisy = Noise(link_loss=(5e-5, 5e-5))
    table = pings(simulated(burst=100, noise=noisy), range(20))
    sent, lost = (table[name].to_numpy() for name in ("sent", "lost"))
    assert 5e-5 < lost.sum() / sent.sum() < 1e-3
    assert lost.max() < 10
