"""Several links of one spine lose packets, and others elsewhere; only requests are traced.

An answer may come back over any of them, so all that crosses the spine loses something.
"""

from __future__ import annotations

import pytest

from schemas.documents.incident import Incident
from streams.replay import Replay
from testbed.faults.kinds import Fault
from testbed.simulator.fault_effects import candidates
from testbed.simulator.simulator import Simulation
from testbed.topologies.clos import ClosSpec, build

START_S, FAULT_S, UPTO_S = 1_780_000_000, 60, 120
SPEC = ClosSpec(hosts=16, rails=2, hosts_per_segment=4, pods=1, hosts_per_job=16)


def named(seed: int, bad: list[tuple[int, int]]) -> tuple[set[str], set[str]]:
    """The links (spine, number) that lose 30 %, and what incidents name that are no consequence."""
    quiet = Simulation(
        build(SPEC, seed), seed=seed, start_ns=START_S * 10**9, ports_per_pair=3,
        replies_traced=False,
    )  # fmt: skip
    by_spine: dict[str, list[str]] = {}
    for link in sorted(candidates(quiet.network, quiet.paths, "any link")):
        for end in link.removeprefix("link:").split("|"):
            if end.startswith("agg:"):
                by_spine.setdefault(end, []).append(link)
    spines = sorted(by_spine)
    links = [by_spine[spines[spine]][number] for spine, number in bad]
    faults = [Fault(kind="crc_error", component=each, start_s=FAULT_S, magnitude=0.3)
              for each in links]  # fmt: skip
    judge, found = Replay(topology=quiet.topology), dict[str, Incident]()
    for second in quiet.with_faults(faults).seconds(UPTO_S):
        said = judge.feed(second.pings, second.heartbeats, second.start_ns + 10**9)
        found |= {each.incident_id: each for each in said.incidents}
    return set(links), {each.component for each in found.values() if not each.parent}


@pytest.mark.parametrize("seed", [3, 4])
def test_each_bad_link_is_named_and_no_switch(seed: int) -> None:
    links, components = named(seed, [(0, 0), (0, 1), (0, 3), (1, 2), (2, 0)])
    assert components == links
