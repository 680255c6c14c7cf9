"""Panes without pings are those that pings would give."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from evaluation.scorecard.trials import healthy
from evaluation.scorecard.trials.healthy_panes import HealthyPanes, window_features
from localizer.options import Options
from schemas.wire import codecs, window_chunks
from streams.windowing import panes
from streams.windowing.chunk_writer import heartbeat_chunks
from streams.windowing.partition import PartitionWorker
from testbed.faults.kinds import Fault
from testbed.scenarios import scenario
from testbed.simulator.baseline import Noise
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec

LENGTH_S = 90
SPEC = ClosSpec(
    name="h", hosts=12, rails=2, hosts_per_segment=4, aggs=2, pods=2, spines=2, hosts_per_job=6
)


def simulated(**probing: object) -> Simulation:
    plan = replace(
        scenario.load("clean"), fabric=SPEC, noise=Noise(link_loss=(1e-3, 1e-3), burst_loss=1e-3)
    )
    plan = replace(plan, probing=replace(plan.probing, targets=3, **probing))
    return plan.simulation(seed=3, start_ns=healthy.START_S * 10**9)


def by_pings(simulation: Simulation) -> Iterator[tuple[window_chunks.Header, pa.RecordBatch]]:
    """What the windower writes of the simulator's records."""
    worker = PartitionWorker(0, 0)
    for second in simulation.seconds(LENGTH_S):
        batch = codecs.conform(second.pings).batch
        messages = worker.feed(batch, second.index, second.start_ns + 10**9)
        if second.index == LENGTH_S - 1:
            messages += worker.finish()
        for message in messages:
            header = window_chunks.Header.from_kafka(dict(message.headers))
            if header.kind != "punctuation":
                yield header, window_chunks.decode(header.kind, message.value)


def by_arrays(simulation: Simulation) -> Iterator[tuple[window_chunks.Header, pa.RecordBatch]]:
    for messages in HealthyPanes(simulation).seconds(LENGTH_S):
        for header, chunk in messages:
            if chunk is not None and header.kind != "heartbeats":
                yield header, chunk


def table(
    messages: Iterator[tuple[window_chunks.Header, pa.RecordBatch]], kind: str
) -> dict[tuple[int, int], dict[str, object]]:
    """(end of the pane or window, path id) -> its row."""
    return {
        (header.end_s, row["path_id"]): row
        for header, chunk in messages
        if header.kind == kind
        for row in chunk.to_pylist()
    }


@pytest.mark.parametrize("probing", [{}, {"every_s": (1, 7), "burst": 20, "ports_per_pair": 3}])
@pytest.mark.parametrize("kind", ["pane", "window"])
def test_the_same_paths_are_in_the_same_panes_and_windows_as_with_pings(
    probing: dict[str, object], kind: str
) -> None:
    wanted, made = (table(source(simulated(**probing)), kind) for source in (by_pings, by_arrays))
    whole = [key for key in wanted if key[0] < healthy.START_S + LENGTH_S]
    assert set(whole) == {key for key in made if key[0] < healthy.START_S + LENGTH_S}
    described = [field.name for field in window_chunks.PATH_FIELDS]
    for key in whole[:: max(len(whole) // 500, 1)]:
        same = [*described, "records", "sent", "refused"]
        assert {name: made[key][name] for name in same} == {
            name: wanted[key][name] for name in same
        }


@pytest.mark.parametrize("probing", [{}, {"every_s": 2, "burst": 20}])
def test_losses_and_round_trips_have_the_distribution_that_pings_have(
    probing: dict[str, object],
) -> None:
    rows = [[*table(source(simulated(**probing)), "window").values()]
            for source in (by_pings, by_arrays)]  # fmt: skip
    for name in ("rtt_mean_us", "rtt_p25_us", "rtt_p75_us", "rtt_min_us", "rtt_max_us"):
        medians = [np.nanmedian([row[name] for row in each]) for each in rows]
        assert medians[1] == pytest.approx(medians[0], rel=0.01)
    spread = [np.nanmedian([row["rtt_std_us"] for row in each]) for each in rows]
    assert spread[1] == pytest.approx(spread[0], rel=0.05)
    lost = [sum(row["lost"] for row in each) for each in rows]
    each_is_in_six_windows = 6
    assert abs(lost[0] - lost[1]) < 5 * np.sqrt(each_is_in_six_windows * sum(lost))
    assert min(lost) > 100


def test_features_are_those_of_the_windower() -> None:
    rng = np.random.default_rng(1)
    samples = np.round(rng.lognormal(3, 0.1, (50, 9)), 3).astype(np.float32)
    samples[rng.random(samples.shape) < 0.3] = np.nan
    samples[7] = np.nan
    count, mean, found = window_features(samples)
    path, slot = np.nonzero(~np.isnan(samples))
    times_ns = np.rint(samples[path, slot].astype(float) * 1e3).astype(np.uint64)
    keys = np.sort((path.astype(np.uint64) << np.uint64(32)) | times_ns)
    wanted = panes.features(keys, np.arange(50, dtype=np.int32))
    assert count.tolist() == (~np.isnan(samples)).sum(axis=1).tolist()
    for name, values in {"mean": mean, **found}.items():
        assert values == pytest.approx(wanted[name], rel=1e-4, abs=1e-3, nan_ok=True), name


def test_traced_routes_come_at_the_times_at_which_they_are_traced() -> None:
    seen = []
    for source in (by_pings, by_arrays):
        routes = [(header.end_s, row["src_port"], tuple(row["hops"]))
                  for header, chunk in source(simulated(traced=0.5)) if header.kind == "routes"
                  for row in chunk.to_pylist()]  # fmt: skip
        seen.append({each for each in routes if each[0] < healthy.START_S + LENGTH_S - 3})
    assert len(seen[0]) > 50
    assert len(seen[0] ^ seen[1]) < 0.02 * len(seen[0])


def test_panes_of_a_broken_network_are_refused() -> None:
    broken = simulated().with_faults([Fault(kind="tor_loss", component="tor:asw-00", start_s=0)])
    with pytest.raises(ValueError, match="healthy networks with fixed placement only"):
        HealthyPanes(broken)


def test_a_piece_of_healthy_hours_raises_no_incident_and_counts_its_tests() -> None:
    known = {"gentle": healthy.Healthy("clean", 2, 5, 1.0)}
    row = healthy.run("gentle", 1000, Options().strategy, 60, known)
    assert (row.every_s, row.burst) == (2, 5)
    assert (row.clean, row.false, row.error, row.simulated_s) == (True, [], None, 60)
    assert row.records > 5000
    assert sum(row.p_values["loss 5 s"]) > 10


def test_heartbeats_are_those_that_agents_send() -> None:
    made = simulated()
    first = next(made.seconds(1)).heartbeats
    (message,) = (m for m in next(HealthyPanes(made).seconds(1)) if m.header.kind == "heartbeats")
    (sent,) = heartbeat_chunks(0, made.topology.fabric, first)
    wanted = window_chunks.decode("heartbeats", sent.value)
    assert message.chunk is not None
    for name in ("fabric", "node_sn", "time", "alive"):
        assert message.chunk.column(name).equals(wanted.column(name))
    assert 0 <= min(message.chunk.column("cpu_steal").to_pylist()) < 0.02
