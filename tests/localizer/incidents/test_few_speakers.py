"""Five of eight hosts fall silent before a link begins to lose, and half of the routes are unknown.

The first losses of the few paths that speak may fit another link better than the bad one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from builders.simulated_fabrics import TWO_TIERS, broken, last_versions

from streams.replay import Replay
from testbed.simulator.simulator import Second

SILENT_S, FAULT_S, UPTO_S = 14, 20, 32
SPEAKING = 3


def left(second: Second, speaking: pa.Array) -> pa.RecordBatch:
    """Records of the hosts that speak, and traceroutes of half of their five-tuples."""
    pings = second.pings
    if second.index >= SILENT_S:
        pings = pings.filter(pc.is_in(pings["src_node_sn"].cast(pa.string()), speaking))
    trace = pc.equal(pings["task_type"].cast(pa.string()), "TRACEROUTE")
    ports = sum(pings[f"{side}_port"].to_numpy().astype(np.int64) for side in ("src", "dst"))
    half = pa.array(ports * 7919 % 100 < 50)
    return pings.filter(pc.or_(pc.invert(trace), half))


# Four of the hundred seeds 1..100; in the others the bad link was the likelier one at once.
@pytest.mark.parametrize("seed", [7, 30, 35, 82])
def test_the_bad_link_is_in_the_first_document_and_the_only_name_at_last(seed: int) -> None:
    simulation = broken(
        TWO_TIERS, seed, [("crc_error", "any tor-spine link", FAULT_S, UPTO_S, 0.3)]
    )
    culprit = simulation.faults[0].component
    hosts = sorted(each.node_sn for each in simulation.topology.hosts)
    speaking = pa.array(hosts[:SPEAKING] if seed % 2 else hosts[-SPEAKING:])
    judge, found = Replay(topology=simulation.topology), []
    for second in simulation.seconds(UPTO_S):
        pings = left(second, speaking)
        found += judge.feed(pings, second.heartbeats, second.start_ns + 10**9).incidents
    found += judge.finish().incidents
    lossy = [each for each in found if each.symptom == "loss"]
    assert culprit in lossy[0].tie_set
    assert [(each.component, each.tie_set[0]) for each in last_versions(lossy)] == [
        (culprit, culprit)
    ]
