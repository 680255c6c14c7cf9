"""A replay hears the evidence of hosts, as a stream worker does."""

from __future__ import annotations

import msgspec
from builders.agents.host_evidence import counters

from controller.ping_lists.same_rail import same_rail
from probers.ping_list.document import PingList
from schemas.documents.incident import Incident
from schemas.wire import codecs
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.netns import Plan
from testbed.netns.plan.document import topology as topology_of
from testbed.simulator.simulator import Simulation
from testbed.workload.listed import listed

PLAN = Plan(hosts=8, nics=1, hosts_per_tor=4, spines=2)
TOPOLOGY = topology_of(PLAN)
RNIC = PLAN.nic_address(2, 0)
START_NS, SECOND = 1_780_000_000 * 10**9, 10**9
FAULT_S, HEARD_S, END_S = 30, 45, 60


def test_counters_that_a_replay_hears_name_the_issue_type() -> None:
    fault = Fault(kind="rnic_port_down", component=f"rnic:{RNIC}", start_s=FAULT_S)
    made = Simulation(TOPOLOGY, [fault], seed=1, start_ns=START_NS, layers=("underlay",))
    lists = [msgspec.convert(each, PingList) for each in same_rail(TOPOLOGY).values()]
    simulation = made.probing(listed(made.network, lists))
    replay, newest = Replay(topology=TOPOLOGY), dict[str, Incident]()
    for at in range(END_S):
        if at == HEARD_S:
            (before,) = newest.values()
            assert before.issue_type is None, "probes alone cannot tell"
            gone = {"device_present": 1, "admin_up": 1, "carrier": 1, "address_present": 0}
            heard = counters(RNIC, gone, gone, host="host-2", fabric=TOPOLOGY.fabric)
            replay.hear([msgspec.structs.replace(heard, incident_id=before.incident_id)])
        second = simulation.second(at)
        batch = codecs.conform(second.pings).batch
        found = replay.feed(batch, second.heartbeats, second.start_ns + SECOND)
        newest |= {each.incident_id: each for each in found.incidents}
    (after,) = newest.values()
    assert (after.component, after.issue_type) == (f"rnic:{RNIC}", "rnic_gid_change")
