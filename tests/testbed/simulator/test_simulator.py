"""Records, heartbeats and faults of simulated seconds."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.component_ids import link_ends
from schemas.documents import ping
from testbed.faults.kinds import KINDS, Fault, FaultError, check
from testbed.simulator import publish, records
from testbed.simulator.baseline import Noise
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import SECOND_NS, Simulation
from testbed.topologies import clos
from testbed.topologies.clos import ClosSpec
from testbed.workload.skeleton import OVERLAY

START_NS = 1_800_000_000 * SECOND_NS
SPEC = ClosSpec(
    name="t", hosts=16, rails=2, hosts_per_segment=4, aggs=2, pods=2, spines=2, hosts_per_job=16
)
QUIET = Noise(link_loss=(0.0, 0.0))
HEALTHY = Simulation(clos.build(SPEC, 1), seed=1, start_ns=START_NS, noise=QUIET)


def broken(kind: str, component: str, **more: object) -> Simulation:
    fault = Fault(kind=kind, component=component, start_s=10, end_s=20, **more)  # type: ignore[arg-type]  # one test's own magnitude or direction
    return HEALTHY.with_faults([fault])


def some(selector: str) -> str:
    return candidates(HEALTHY.network, HEALTHY.paths, selector)[0]


def pings(simulation: Simulation, seconds: Sequence[int]) -> pa.Table:
    """Ping records (no traceroutes) with the index of their five-tuple path."""
    parts = []
    for index in seconds:
        batch = simulation.second(index).pings
        keep = pa.compute.equal(batch.column("task_type").cast(pa.string()), "RDMA_PING")
        parts.append(records.plain(batch).filter(keep))
    return pa.Table.from_batches(parts)


def key(row: dict[str, object]) -> tuple[object, ...]:
    return row["agent_type"], row["src_ip"], row["dst_ip"], row["src_port"]


def path_keys(simulation: Simulation) -> list[tuple[object, ...]]:
    net, paths = simulation.network, simulation.paths
    above = [end.ip for box in net.topology.containers for end in box.endpoints]
    below = net.rnic_names
    return [
        ("overlay", above[paths.src_endpoint[i]], above[paths.dst_endpoint[i]], paths.src_port[i])
        if paths.layer[i] == OVERLAY
        else ("underlay", below[paths.src_rnic[i]], below[paths.dst_rnic[i]], paths.src_port[i])
        for i in range(len(paths))
    ]


def losses(simulation: Simulation, seconds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(P,) probes sent, (P,) probes lost per five-tuple path."""
    index = {path: i for i, path in enumerate(path_keys(simulation))}
    sent, lost = np.zeros(len(index), int), np.zeros(len(index), int)
    for row in pings(simulation, seconds).to_pylist():
        sent[index[key(row)]] += row["sent"]
        lost[index[key(row)]] += row["lost"]
    return sent, lost


def test_the_same_seed_gives_the_same_bytes_in_any_order() -> None:
    first = Simulation(clos.build(SPEC, 1), seed=1, start_ns=START_NS)
    again = Simulation(clos.build(SPEC, 1), seed=1, start_ns=START_NS)
    forwards = {i: publish.messages(first.second(i)) for i in (0, 1, 5)}
    for i in (5, 1, 0):
        assert publish.messages(again.second(i)) == forwards[i]
        assert again.second(i).heartbeats == first.second(i).heartbeats
    other = Simulation(clos.build(SPEC, 1), seed=2, start_ns=START_NS)
    assert publish.messages(other.second(5)) != forwards[5]


def test_records_have_the_columns_and_types_of_the_ping_record() -> None:
    schema = records.plain(HEALTHY.second(0).pings).schema
    known = {
        column.name: pa.type_for_alias(column.type) for column in (*ping.COLUMNS, *ping.EXTRA_STATS)
    }
    assert {field.name: field.type for field in schema}.items() <= known.items()
    assert set(ping.REQUIRED) <= set(schema.names)


def test_each_pair_is_probed_once_a_second_in_each_layer_with_alternating_ports() -> None:
    even, odd = (pings(HEALTHY, [i]).to_pylist() for i in (2, 3))
    pair = [tuple(key(row)[:3]) for row in even]
    assert len(pair) == len(set(pair)) == len(HEALTHY.paths) // 2
    assert set(pair) == {tuple(key(row)[:3]) for row in odd}
    assert not {key(row) for row in even} & {key(row) for row in odd}


@settings(max_examples=15, deadline=None)
@given(index=st.integers(0, 8000), seed=st.integers(0, 3))
def test_every_name_in_a_record_is_in_the_topology(index: int, seed: int) -> None:
    document = HEALTHY.topology
    simulation = Simulation(document, seed=seed, start_ns=START_NS, noise=QUIET)
    place = {rnic.real_ip: (h, rnic) for h in document.hosts for rnic in h.rnics}
    boxes = {(b.node_id, e.ip): (b, e) for b in document.containers for e in b.endpoints}
    second = simulation.second(index)
    for row in second.pings.slice(0, 200).to_pylist():
        for side in ("src", "dst"):
            host, rnic = place[row[f"{side}_real_ip"]]
            assert (row[f"{side}_node_sn"], row[f"{side}_pod"]) == (host.node_sn, host.pod)
            assert row[f"{side}_asw"] == rnic.asw
            assert row[f"{side}_idc"] == document.fabric
            if row["agent_type"] == "overlay":
                box, end = boxes[row[f"{side}_node_id"], row[f"{side}_ip"]]
                assert (box.node_sn, end.real_ip) == (host.node_sn, rnic.real_ip)
            else:
                assert row[f"{side}_ip"] == rnic.real_ip
        assert abs(row["ping_time"] - second.start_ns - SECOND_NS / 2) < 0.51 * SECOND_NS


def test_traceroutes_have_the_route_of_every_underlay_five_tuple_and_of_its_reply() -> None:
    names = [switch.id for switch in HEALTHY.topology.switches]
    paths = HEALTHY.paths
    expected = {}
    for i, path in enumerate(path_keys(HEALTHY)):
        if path[0] == "underlay":
            for ends, route in (
                ((path[1], path[2], path[3], 65300), paths.forward_switches[i]),
                ((path[2], path[1], 65300, path[3]), paths.reply_switches[i]),
            ):
                expected[ends] = [names[s] for s in route if s >= 0]
    for seconds in (range(2), range(60, 120)):
        traced = {}
        for index in seconds:
            for row in HEALTHY.second(index).pings.to_pylist():
                if row["task_type"] == "TRACEROUTE":
                    ends = (row["src_ip"], row["dst_ip"], row["src_port"], row["dst_port"])
                    assert ends not in traced
                    traced[ends] = json.loads(row["route"])
                else:
                    assert row["route"] is None
        assert traced == expected


def test_a_healthy_network_is_quick_and_swells_with_bursts_of_a_job() -> None:
    rtt = [np.median(pings(HEALTHY, [i]).column("latency").to_numpy()) for i in range(40)]
    assert 10 < min(rtt) < 20
    assert max(rtt) > 1.05 * min(rtt)


def test_background_loss_is_that_of_the_links() -> None:
    noisy = Simulation(
        HEALTHY.topology, seed=1, start_ns=START_NS, noise=Noise(link_loss=(1e-2, 1e-2))
    )
    sent, lost = losses(noisy, range(10))
    links = [i for i, name in enumerate(noisy.network.components) if name.startswith("link:")]
    crossed = np.isin(noisy.paths.forward, links).sum() + np.isin(noisy.paths.reply, links).sum()
    expected = 1 - 0.99 ** (crossed / len(noisy.paths))
    assert lost.sum() / sent.sum() == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize(
    ("kind", "selector"),
    [
        ("rnic_down", "any rnic"), ("tor_loss", "any tor"), ("link_loss", "any tor-agg link"),
        ("link_loss", "any rnic-tor link"), ("vswitch_loss", "any vswitch"),
        ("switch_down", "any spine"), ("link_down", "any agg-spine link"),
    ],
)  # fmt: skip
def test_loss_shows_on_exactly_the_paths_that_cross_the_component(kind: str, selector: str) -> None:
    component = some(selector)
    simulation = broken(kind, component, magnitude=KINDS[kind].magnitude)
    at = simulation.network.index[component]
    paths = simulation.paths
    times = (paths.forward == at).sum(axis=1) + (paths.reply == at).sum(axis=1)
    sent, lost = losses(simulation, range(10, 20))
    assert not lost[times == 0].any()
    for crossed in np.unique(times[times > 0]):
        share = lost[times == crossed].sum() / sent[times == crossed].sum()
        expected = 1 - (1 - KINDS[kind].magnitude) ** crossed
        assert share == pytest.approx(expected, abs=0.08)
    assert not losses(simulation, [8, 9, 20, 21])[1].any(), "only while it is active"


def test_a_one_way_link_fault_spares_packets_that_travel_the_other_way() -> None:
    component = some("any tor-agg link")
    a, b = (HEALTHY.network.index[end] for end in link_ends(component))
    at, paths = HEALTHY.network.index[component], HEALTHY.paths
    hit = np.zeros(len(paths), bool)
    for route in (paths.forward, paths.reply):
        hit |= ((route[:, 1:-1] == at) & (route[:, :-2] == a) & (route[:, 2:] == b)).any(axis=1)
    assert 0 < hit.sum() < paths.visits(at).sum()
    _, lost = losses(broken("link_down", component, direction="a>b"), range(10, 12))
    assert ((lost > 0) == hit).all()


def test_a_black_hole_swallows_some_five_tuples_whole_and_spares_the_others() -> None:
    component = some("any tor-agg link")
    sent, lost = losses(broken("five_tuple_blackhole", component), range(10, 20))
    crossing = HEALTHY.paths.visits(HEALTHY.network.index[component])
    assert set(np.unique(lost / sent)) == {0.0, 1.0}
    assert not lost[~crossing].any()
    assert 0.1 < (lost[crossing] > 0).mean() < 0.8


def test_a_slow_vswitch_adds_its_delay_to_overlay_probes_of_its_host_only() -> None:
    component = some("any vswitch")
    slow, well = broken("vswitch_latency", component, magnitude=30.0), HEALTHY
    host = component.partition(":")[2]
    for row, same in zip(pings(slow, [12]).to_pylist(), pings(well, [12]).to_pylist(), strict=True):
        hit = row["agent_type"] == "overlay" and host in (row["src_node_sn"], row["dst_node_sn"])
        assert row["latency"] - same["latency"] == pytest.approx(30.0 if hit else 0.0, abs=0.01)


def test_a_crashed_agent_is_silent_and_its_kernel_refuses_probes() -> None:
    component = some("any agent")
    host = component.partition(":")[2]
    simulation = broken("agent_crash", component)
    rows = simulation.second(12).pings.to_pylist()
    assert all(row["src_node_sn"] != host for row in rows)
    for row in rows:
        assert row["dial"] == ("refused" if row["dst_node_sn"] == host else "success")
        assert (row["latency"] is None) == (row["dial"] == "refused")
        assert row["lost"] == 0
    assert host not in {beat.node_sn for beat in simulation.second(12).heartbeats}
    assert host in {beat.node_sn for beat in simulation.second(20).heartbeats}


def test_a_dead_host_is_silent_and_times_out_in_both_layers() -> None:
    component = some("any host")
    host = component.partition(":")[2]
    simulation = broken("host_down", component)
    second = simulation.second(12)
    assert host not in {beat.node_sn for beat in second.heartbeats}
    dials = {
        (row["agent_type"], row["dial"])
        for row in second.pings.to_pylist()
        if row["dst_node_sn"] == host
    }
    assert dials == {("overlay", "timeout"), ("underlay", "timeout")}


def test_a_crashed_container_is_silent_in_the_overlay_only() -> None:
    component = some("any container")
    box = component.partition(":")[2]
    rows = pings(broken("container_crash", component), [12]).to_pylist()
    assert all(row["src_node_id"] != box for row in rows)
    for row in rows:
        assert row["dial"] == ("timeout" if row["dst_node_id"] == box else "success")


def test_a_starved_agent_times_out_on_several_rnics_at_once_and_its_heartbeat_says_why() -> None:
    component = some("any agent")
    host = component.partition(":")[2]
    simulation = broken("agent_starved", component)
    moments = 0
    for index in range(10, 20):
        second = simulation.second(index)
        beat = next(beat for beat in second.heartbeats if beat.node_sn == host)
        bad = [row for row in second.pings.to_pylist() if row["dial"] == "timeout"]
        assert (beat.cpu_steal > 0.4) == bool(bad)
        assert (beat.scheduling_delay_us > 40_000) == bool(bad)
        assert all(host in (row["src_node_sn"], row["dst_node_sn"]) for row in bad)
        if bad:
            moments += 1
            assert len({row["src_real_ip"] for row in bad if row["src_node_sn"] == host}) >= 2
    assert 2 <= moments <= 8


def test_a_wrong_clock_moves_the_time_stamps_of_one_host_only() -> None:
    component = some("any agent")
    host = component.partition(":")[2]
    second = broken("clock_skew", component, magnitude=-3600.0).second(12)
    for row in second.pings.to_pylist():
        late = (row["ping_time"] - second.start_ns) / SECOND_NS
        assert late == pytest.approx(-3599.5 if row["src_node_sn"] == host else 0.5, abs=0.51)
    assert {beat.time < second.start_ns - SECOND_NS for beat in second.heartbeats} == {True, False}


def test_a_flapping_rnic_is_down_for_half_of_each_period() -> None:
    simulation = broken("rnic_flap", some("any rnic"), period_s=4)
    down = [bool(losses(simulation, [index])[1].any()) for index in range(10, 18)]
    assert down == [True, True, False, False] * 2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(kind="gremlin", component="tor:x", start_s=0), "no fault named 'gremlin'"),
        (Fault(kind="tor_loss", component="tor:nowhere", start_s=0), "no such component"),
        (Fault(kind="tor_loss", component="rnic:10.0.0.1", start_s=0), "of kind tor"),
        (Fault(kind="tor_loss", component="T", start_s=5, end_s=5), "is empty"),
        (Fault(kind="tor_loss", component="T", start_s=0, magnitude=30), "is a share"),
        (Fault(kind="tor_loss", component="T", start_s=0, direction="a>b"), "needs a link"),
        (Fault(kind="tor_loss", component="T", start_s=0, period_s=1), "at least 2"),
    ],
)
def test_an_invalid_simulated_fault_is_refused_with_one_line(fault: Fault, reason: str) -> None:
    if fault.component == "T":
        fault = msgspec.structs.replace(fault, component=some("any tor"))
    with pytest.raises(FaultError, match=reason) as caught:
        check(fault, HEALTHY.network)
    assert "\n" not in str(caught.value)


def test_truth_names_each_fault_with_its_time_and_issue() -> None:
    rnic, agent = some("any rnic"), some("any agent")
    simulation = HEALTHY.with_faults(
        [
            Fault(kind="rnic_down", component=rnic, start_s=5, end_s=30),
            Fault(kind="agent_crash", component=agent, start_s=10, end_s=90),
            Fault(kind="agent_crash", component=agent, start_s=70),
        ]
    )
    first, second = simulation.truths(duration_s=60)
    assert (first.component, first.issue_type, first.symptom) == (
        rnic, "rnic_port_down", "unconnectivity",
    )  # fmt: skip
    assert (first.start, first.end) == ("2027-01-15T08:00:05.000Z", "2027-01-15T08:00:30.000Z")
    assert (second.component, second.layer, second.end) == (agent, "agent", None)


def test_a_dictionary_holds_no_name_twice() -> None:
    batch = HEALTHY.second(0).pings
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            values = column.dictionary.to_pylist()
            assert len(values) == len(set(values)), name
