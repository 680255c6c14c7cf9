"""A worker that starts in the middle of a latency fault goes on with its incident.

Its baseline is learnt from slow windows, so that no later window deviates from it.
"""

from __future__ import annotations

import pytest

from localizer.localizer import Localizer
from schemas.documents.incident import Incident
from schemas.documents.times import seconds_of
from schemas.wire import window_chunks
from streams.windowing.partition import PartitionWorker
from testbed.faults.kinds import Fault
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec, build

START_S = 1_780_000_000
BEGINS, STARTS, ENDS = 120, 200, 320  # the fault begins, the worker starts, the fault ends


def simulation(kind: str, where: str, added_us: float) -> Simulation:
    spec = ClosSpec(hosts=8, rails=2, hosts_per_segment=4, hosts_per_job=8)
    quiet = Simulation(build(spec, 3), seed=3, start_ns=START_S * 10**9, traced=1.0)
    place = candidates(quiet.network, quiet.paths, where)[1]
    fault = Fault(kind=kind, component=place, start_s=BEGINS, end_s=ENDS, magnitude=added_us)
    return quiet.with_faults([fault])


def judged(simulated: Simulation, localizer: Localizer, seconds: range) -> dict[str, Incident]:
    """The newest document of each incident, from these seconds alone."""
    windower, newest = PartitionWorker(0, 0), {}
    for second in seconds:
        pings = simulated.second(second).pings
        for out in windower.feed(pings, second, (START_S + second + 1) * 10**9):
            header = window_chunks.Header.from_kafka(dict(out.headers))
            batch = None
            if header.kind != "punctuation":
                batch = window_chunks.decode(header.kind, out.value)
            body = out.value if batch is None else b""
            for incident in localizer.observe(header, batch, body).incidents:
                newest[incident.incident_id] = incident
    return newest


@pytest.mark.parametrize(
    ("kind", "where", "added_us"),
    [("rnic_latency", "any rnic", 60.0), ("switch_latency", "any tor", 15.0)],
)
def test_an_incident_about_latency_outlasts_the_start_of_a_worker(
    kind: str, where: str, added_us: float
) -> None:
    simulated = simulation(kind, where, added_us)
    before = Localizer(topology=simulated.topology)
    (incident,) = judged(simulated, before, range(STARTS + 5)).values()
    assert (incident.symptom, incident.state) == ("high_latency", "ongoing")

    after = Localizer(topology=simulated.topology)
    after.restore([incident])
    assert judged(simulated, after, range(STARTS, ENDS)) == {}
    assert after.open_incidents == 1

    after = Localizer(topology=simulated.topology)
    after.restore([incident])
    (over,) = judged(simulated, after, range(STARTS, ENDS + 90)).values()
    assert (over.incident_id, over.state) == (incident.incident_id, "resolved")
    assert over.closed_at is not None
    assert abs(seconds_of(over.closed_at) - START_S - ENDS) <= 30
